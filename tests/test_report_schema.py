"""Reports against their schema, and the schema against the records that reports are made of."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from distcycle import findings, sightings
from distcycle.cli import main
from distcycle.codes import OF_MODULES
from distcycle.findings import CODES, Severity
from distcycle.imports.fixes import FixKind
from distcycle.imports.loops import VIEWS as IMPORT_VIEWS
from distcycle.imports.records import Kind
from distcycle.model import Origin
from distcycle.readers import READERS
from distcycle.reporters import json_report
from distcycle.reporters.modules import VIEWS
from distcycle.reporters.origins import ORIGINS
from distcycle.targets import MARKER_VARIABLES

ROOT = Path(__file__).resolve().parents[1]
PATH = Path(json_report.__file__).with_name("report.schema.json")
SCHEMA: dict[str, Any] = json.loads(PATH.read_text("utf-8"))
SAMPLES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.lock", "*.txt", "pylock.toml", "pip-report.json")
    for path in (ROOT / "sample_locks").rglob(pattern)
)
TARGETS = ("cp311-linux_x86_64", "cp311-macos_arm64")
RECORDS = {
    "input": findings.Input,
    "target": findings.TargetRow,
    "summary": findings.Summary,
    "component": findings.Component,
    "member": findings.Member,
    "rule": findings.Rule,
    "opened": findings.Opened,
    "change": findings.Change,
    "edge": findings.Edge,
    "cycle": findings.Cycle,
    "variant": findings.Variant,
    "finding": findings.Finding,
    "missing": findings.Missing,
    "near_miss": findings.NearMiss,
    "site": sightings.Site,
    "evidence": sightings.Evidence,
    "survey": sightings.Survey,
    "import_view": sightings.ImportView,
    "loop_detail": sightings.LoopDetail,
    "mixed_import": sightings.MixedImport,
    "import_fix": sightings.ImportFix,
    "entry_failure": sightings.EntryFailure,
}


def objects(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "report", schema
    yield from ((k, d) for k, d in schema["$defs"].items() if d.get("type") == "object")


def report_of(sample: str) -> str:
    """What the lock says of itself, without a look at any wheel."""
    words = ["audit", sample, "--edges", "lock", "--offline", "--no-cache", "--no-policy"]
    words += [word for name in TARGETS for word in ("--platform", name)]
    out = io.StringIO()
    with redirect_stdout(out):
        main([*words, "--format", "json"])
    return re.sub(r'(?<="version": )"[^"]+"', '"*"', out.getvalue(), count=1)


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports name inputs as they were given, so all runs start at the same place."""
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA)


# Samples -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", SAMPLES)
def test_sample(
    sample: str,
    agree: Callable[[Path, str], None],
    validator: jsonschema.Draft202012Validator,
) -> None:
    text = report_of(sample)
    assert [error.message for error in validator.iter_errors(json.loads(text))] == []
    name = sample.removeprefix("sample_locks/").replace("/", "-")
    agree(ROOT / "tests" / "golden" / f"{name}.json", text)


def test_every_golden_file_has_a_sample() -> None:
    names = {sample.removeprefix("sample_locks/").replace("/", "-") for sample in SAMPLES}
    assert {path.stem for path in (ROOT / "tests" / "golden").iterdir()} == names


def test_goldens_show_every_part() -> None:
    texts = [path.read_text("utf-8") for path in (ROOT / "tests" / "golden").iterdir()]
    reports = [json.loads(text) for text in texts]
    assert {c["code"] for r in reports for c in r["components"]} == {"wheel-cycle", "extra-cycle"}
    for key in ("components", "findings", "unknown", "notes"):
        assert any(report[key] for report in reports), key


def test_of_the_wheels_own_word(
    distcycle: Callable[..., Any], validator: jsonschema.Draft202012Validator
) -> None:
    words = ("--offline", "--no-cache", "--bundle", "tests/data/torch-2.0.bundle.json")
    done = distcycle("audit", "sample_locks/torch-2.0.txt", *words, "--format", "json", cwd=ROOT)
    report = json.loads(done.stdout)
    assert [error.message for error in validator.iter_errors(report)] == []
    assert {edge["origin"] for c in report["components"] for edge in c["edges"]} == {"wheel"}


# The schema --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "record"), list(RECORDS.items()))
def test_schema_has_exactly_the_records_fields(name: str, record: type) -> None:
    assert list(SCHEMA["$defs"][name]["properties"]) == [field.name for field in fields(record)]


def test_schema_has_exactly_the_reports_keys() -> None:
    known = [field.name for field in fields(findings.Report) if field.name != "command"]
    assert list(SCHEMA["properties"]) == ["schema", "tool", *known]
    assert SCHEMA["properties"]["schema"]["const"] == json_report.SCHEMA


@pytest.mark.parametrize(("name", "schema"), list(objects(SCHEMA)))
def test_every_key_is_required_and_no_other_allowed(name: str, schema: dict[str, Any]) -> None:
    assert schema["required"] == list(schema["properties"])
    assert schema["additionalProperties"] is False


def test_enumerations_are_the_codes_own() -> None:
    defs = SCHEMA["$defs"]
    assert defs["code"]["enum"] == list(CODES)
    assert defs["severity"]["enum"] == [severity.value for severity in Severity]
    origins = [*get_args(Origin), *get_args(Kind)]
    assert defs["edge"]["properties"]["origin"]["enum"] == origins
    assert set(ORIGINS) == set(origins)
    component = defs["component"]
    own = [part["properties"]["edges"]["items"] for part in (component["then"], component["else"])]
    assert [edge["properties"]["origin"]["enum"] for edge in own] == [
        list(get_args(Kind)),
        list(get_args(Origin)),
    ]
    assert set(defs["finding"]["if"]["properties"]["code"]["enum"]) == OF_MODULES
    assert defs["site"]["properties"]["kind"]["enum"] == list(get_args(Kind))
    assert defs["import_view"]["properties"]["name"]["enum"] == list(VIEWS) == list(IMPORT_VIEWS)
    assert defs["import_fix"]["properties"]["kind"]["enum"] == list(get_args(FixKind))
    assert list(defs["environment"]["properties"]) == list(MARKER_VARIABLES)
    kinds = {reader.kind for reader in READERS} | {
        "bazel",
        "environment",
        "modules",
        "requirement",
        "wheelhouse",
    }
    assert defs["input"]["properties"]["kind"]["enum"] == sorted(kinds)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "distcycle-report/2"),
        (("more",), 1),
        (("components", 0, "severity"), "fatal"),
        (("components", 0, "edges", 0, "line"), 0),
        (("components", 0, "edges", 0, "origin"), "guess"),
        (("components", 0, "packages", 0, "name"), "Not_Normal"),
        (("findings", 0, "code"), "wheel-loop"),
        (("targets", 0, "environment", "os_name"), None),
    ],
)
def test_what_is_wrong_is_refused(
    path: tuple[Any, ...], value: object, validator: jsonschema.Draft202012Validator
) -> None:
    report = json.loads(report_of("sample_locks/sphinx-7.2-uv/uv.lock"))
    validator.validate(report)
    place = report
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert not validator.is_valid(report)

"""SARIF against the schema that OASIS publishes, and what GitHub asks for beside it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hostile import EMPTY, HOSTILE, HOSTILE_MODULES, many, unjudged

from distcycle.api import audit, read, render
from distcycle.findings import CODES, Finding, Report, Rule, Severity
from distcycle.reporters import View

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((Path(__file__).parent / "data" / "sarif-schema-2.1.0.json").read_text("utf-8"))
TORCH = Finding(
    code="wheel-cycle",
    severity=Severity.DENY,
    message="torch -> triton -> torch",
    packages=("torch", "triton"),
    path="uv.lock",
    line=12,
)


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft4Validator:
    jsonschema.Draft4Validator.check_schema(SCHEMA)
    return jsonschema.Draft4Validator(SCHEMA)


def run_of(report: Report, view: View | None = None) -> dict[str, Any]:
    (run,) = json.loads(render(report, "sarif", view))["runs"]
    return run  # type: ignore[no-any-return]


def results_of(*findings: Finding) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = run_of(replace(EMPTY, findings=findings))["results"]
    return results


@pytest.mark.parametrize(
    "report",
    [EMPTY, HOSTILE, HOSTILE_MODULES, unjudged(), many()],
    ids=["empty", "hostile", "modules", "unjudged", "1000"],
)
def test_valid(report: Report, validator: jsonschema.Draft4Validator) -> None:
    log = json.loads(render(report, "sarif"))
    assert [error.message for error in validator.iter_errors(log)] == []
    assert log["$schema"] == SCHEMA["id"]
    assert len(log["runs"][0]["results"]) == len(report.findings)


def test_the_schema_refuses_what_is_wrong(validator: jsonschema.Draft4Validator) -> None:
    log = json.loads(render(HOSTILE, "sarif"))
    log["runs"][0]["results"][0]["level"] = "deny"
    assert not validator.is_valid(log)


def test_a_rule_for_every_code() -> None:
    rules = run_of(EMPTY)["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(CODES)
    levels = {Severity.DENY: "error", Severity.WARN: "warning", Severity.ALLOW: "note"}
    for rule, code in zip(rules, CODES.values(), strict=True):
        assert rule["defaultConfiguration"]["level"] == levels[code.severity]
        assert code.advice in rule["help"]["text"]
        assert code.advice in rule["help"]["markdown"]


def test_rule_level_and_place() -> None:
    severities = (Severity.DENY, Severity.WARN, Severity.ALLOW)
    results = results_of(*(replace(TORCH, severity=severity) for severity in severities))
    assert [result["level"] for result in results] == ["error", "warning", "note"]
    for result in results:
        assert list(CODES)[result["ruleIndex"]] == result["ruleId"] == "wheel-cycle"
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "uv.lock"
        assert place["region"]["startLine"] == 12


def test_an_unknown_line_is_the_first() -> None:
    (result,) = results_of(replace(TORCH, line=None))
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


def test_fingerprints_outlive_versions_lines_and_order() -> None:
    other = replace(TORCH, packages=("a", "b"))
    moved = replace(TORCH, line=99, message="other words", targets=("cp311-linux_x86_64",))
    (first,) = results_of(TORCH)
    _, second = results_of(other, moved)
    assert first["partialFingerprints"] == second["partialFingerprints"]


@pytest.mark.parametrize(
    "changed",
    [
        replace(TORCH, code="extra-cycle"),
        replace(TORCH, packages=("torch", "tritons")),
        replace(TORCH, subject="an-extra"),
    ],
)
def test_fingerprints_tell_findings_apart(changed: Finding) -> None:
    first, second = results_of(TORCH, changed)
    assert first["partialFingerprints"] != second["partialFingerprints"]


def test_the_same_twice_in_one_file_is_numbered() -> None:
    results = results_of(TORCH, TORCH, replace(TORCH, path="poetry.lock"))
    hashes = [r["partialFingerprints"]["primaryLocationLineHash"] for r in results]
    assert [text.rpartition(":")[2] for text in hashes] == ["1", "2", "1"]


def test_what_is_accepted_is_suppressed_and_says_why() -> None:
    rule = Rule(kind="waive", path="distcycle.toml", line=4, reason="fixed in 2.1")
    open_, accepted = results_of(TORCH, replace(TORCH, accepted_by=rule))
    assert "suppressions" not in open_
    (suppression,) = accepted["suppressions"]
    assert suppression["kind"] == "external"
    assert suppression["justification"] == "fixed in 2.1"
    assert suppression["location"]["physicalLocation"]["region"]["startLine"] == 4


def test_every_hop_of_a_loop_is_a_related_location() -> None:
    path = ROOT / "sample_locks" / "sphinx-7.2-poetry" / "poetry.lock"
    report = audit(read(str(path)), edges="lock")
    (result,) = (r for r in run_of(report)["results"] if r["ruleId"].endswith("-cycle"))
    texts = [location["message"]["text"] for location in result["relatedLocations"]]
    assert len(texts) == len(report.components[0].cycles[0].packages)
    lines = [
        location["physicalLocation"]["region"]["startLine"]
        for location in result["relatedLocations"]
    ]
    source = path.read_text("utf-8").lower().splitlines()
    for text, line in zip(texts, lines, strict=True):
        required = re.search(r" requires ([\w-]+)", text)
        assert required
        assert source[line - 1].startswith(required[1].lower())


@pytest.mark.parametrize(
    ("path", "root", "uri"),
    [
        ("uv.lock", "/home/me/project", "uv.lock"),
        ("./locks/uv.lock", "/home/me/project", "locks/uv.lock"),
        ("/home/me/project/a b/uv.lock", "/home/me/project", "a%20b/uv.lock"),
        ("/elsewhere/é.lock", "/home/me/project", "file:///elsewhere/%C3%A9.lock"),
        ("../uv.lock", "/home/me/project", "../uv.lock"),
        ("c:uv#1?.lock", "", "c%3Auv%231%3F.lock"),
        ("a\\b.lock", "/home/me/project", "a%5Cb.lock"),
        ("locks\\uv.lock", "C:\\project", "locks/uv.lock"),
        ("c:\\Project\\locks\\uv.lock", "C:\\project", "locks/uv.lock"),
        ("D:\\uv.lock", "C:\\project", "file:///D:/uv.lock"),
    ],
)
def test_paths_are_uris(path: str, root: str, uri: str) -> None:
    report = replace(EMPTY, findings=(replace(TORCH, path=path),))
    place = run_of(report, View(root=root))["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == uri


def test_a_run_that_could_judge_nothing_did_not_succeed() -> None:
    (good,), (bad,) = run_of(EMPTY)["invocations"], run_of(unjudged())["invocations"]
    assert (good["executionSuccessful"], good["exitCode"]) == (True, 0)
    assert (bad["executionSuccessful"], bad["exitCode"]) == (False, 2)


def test_the_loops_of_two_inputs_are_not_mixed_up() -> None:
    first, second = HOSTILE.components
    second = replace(
        second,
        id=first.id,
        input="b",
        edges=tuple(replace(edge, path="b", line=5) for edge in second.edges),
    )
    finding = replace(HOSTILE.findings[0], path="b")
    report = replace(HOSTILE, components=(first, second), findings=(finding,))
    (result,) = run_of(report)["results"]
    uris = {
        location["physicalLocation"]["artifactLocation"]["uri"]
        for location in result["relatedLocations"]
    }
    assert uris == {"b"}

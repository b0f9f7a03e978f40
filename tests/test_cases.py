"""End-to-end cases: every file of tests/cases, on a host that cannot be asked anything."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NoReturn

import packaging.markers
import packaging.tags
import pytest
from case_files import audit_case, exit_code, find_cases, read_case, read_input, shuffle

from distcycle.codes import OF_MODULES
from distcycle.findings import CODES, Component, Finding, NearMiss, Report

CASES = find_cases()
ROOT = Path(__file__).resolve().parents[1]
cases = pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])

HOST = [
    *((packaging.markers, name) for name in ("default_environment",)),
    *((packaging.tags, name) for name in ("sys_tags", "platform_tags", "interpreter_version")),
    *(
        (platform, name)
        for name in (
            *("architecture", "machine", "platform", "processor", "release", "system", "uname"),
            *("version", "python_version", "python_implementation", "mac_ver", "libc_ver"),
        )
    ),
]


@pytest.fixture(autouse=True)
def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing about this machine can be asked; a judgement that needs it fails."""

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise AssertionError("the host was asked")

    for module, name in HOST:
        monkeypatch.setattr(module, name, refuse)


def test_the_host_is_out_of_sight() -> None:
    with pytest.raises(AssertionError, match="the host was asked"):
        packaging.markers.Marker('os_name == "posix"').evaluate()


def shown_component(component: Component) -> dict[str, Any]:
    return {
        "code": component.code,
        "packages": [member.name for member in component.packages],
        "targets": list(component.targets),
        "condition": component.condition,
        "cycles": [list(cycle.packages) for cycle in component.cycles],
        "requested-by": list(component.requested_by),
        "capped": component.capped,
        "origins": sorted({edge.origin for edge in component.edges}),
        "lines": [edge.line for edge in component.edges],
    }


def shown_finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "packages": list(finding.packages),
        "severity": str(finding.severity),
        "line": finding.line,
        "targets": list(finding.targets),
        "condition": finding.condition,
        "says": "\n".join([finding.message, *finding.details]),
        "path": finding.path,
    }


def shown_near_miss(near: NearMiss) -> dict[str, Any]:
    return {"packages": list(near.packages), "because": list(near.reasons)}


def holds(text: str, expected: str) -> bool:
    """Whether a text has, in order, the parts that an expected one has between its ``...``."""
    pattern = ".*".join(re.escape(part.strip()) for part in expected.split("..."))
    return re.search(pattern, text, re.DOTALL) is not None


def agreed(actual: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    """What a report says under the keys that a case names, as the case has it where they agree."""
    said = {key: actual[key] for key in expected}
    if "says" in expected and holds(actual["says"], expected["says"]):
        said["says"] = expected["says"]
    if "because" in expected:
        pairs = zip(actual["because"], expected["because"], strict=False)
        agreeing = [parts if holds(text, parts) else text for text, parts in pairs]
        said["because"] = agreeing + actual["because"][len(agreeing) :]
    return said


def compare(shown: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    width = max(len(shown), len(expected))
    wanted = [*expected, *[{}] * (width - len(expected))]
    brief = [agreed(a, e or a) for a, e in zip(shown, wanted, strict=False)]
    assert brief == expected


@cases
def test_case(path: Path) -> None:
    case = read_case(path)
    report = audit_case(case)
    components = [shown_component(c) for c in report.components]
    compare(components, case.expect.get("components", []))
    findings = [shown_finding(f) for f in report.findings if f.component is None]
    compare(findings, case.expect.get("findings", []))
    near = [shown_near_miss(n) for n in report.near_misses]
    compare(near, case.expect.get("near", []))
    assert exit_code(report) == case.expect["exit"]


@cases
def test_every_component_has_its_finding(path: Path) -> None:
    report = audit_case(read_case(path))
    ids = [finding.component for finding in report.findings if finding.component]
    assert set(ids) == {component.id for component in report.components}


@cases
def test_wheels_are_asked_for_once_and_only_where_they_count(path: Path) -> None:
    case = read_case(path)
    audit_case(case)
    asked = case.library.asked
    assert len(asked) == len(set(asked))
    assert asked == [] or case.request.edges == "wheel"


def loops_and_statements(report: Report) -> tuple[object, ...]:
    return (report.components, set(report.findings), report.near_misses, report.summary)


@cases
def test_order_of_the_input_does_not_matter(path: Path) -> None:
    case = read_case(path)
    snapshot = read_input(case)
    straight = loops_and_statements(audit_case(case, snapshot))
    for seed in range(3):
        mixed = shuffle(snapshot, Random(seed))
        assert loops_and_statements(audit_case(case, mixed)) == straight


def loops_by_target(report: Report) -> set[tuple[object, ...]]:
    return {
        (component.code, cycle.packages, target)
        for component in report.components
        for cycle in component.cycles
        for target in cycle.targets
    }


def statements_by_target(report: Report) -> set[tuple[object, ...]]:
    return {
        (finding.code, finding.severity, finding.packages, finding.line, target)
        for finding in report.findings
        if finding.component is None
        for target in finding.targets
    }


@cases
def test_all_environments_at_once_hold_each_target(path: Path) -> None:
    case = replace(read_case(path), targets=(), pythons=())
    whole = audit_case(case)
    targets = [row.name for row in whole.targets]
    if not targets:
        pytest.skip("no target Python satisfies its requires-python")
    if not whole.whole:
        pytest.skip("taken in one environment")
    listed = audit_case(replace(case, targets=targets))
    assert loops_by_target(listed) == loops_by_target(whole)
    assert statements_by_target(listed) == statements_by_target(whole)
    assert all(component.condition is not None for component in whole.components)
    assert all(component.condition is None for component in listed.components)


SCRIPT = """
import sys
from distcycle import api
from distcycle.selection import Request

for path in sys.argv[1:]:
    report = api.audit(api.read(path), edges="lock")
    sys.stdout.write(api.render(report, "json"))
"""


def test_hash_seed_does_not_reach_a_report() -> None:
    samples = ["airflow-3/uv.lock", "sphinx-7.2-poetry/poetry.lock", "torch-2.0.txt"]
    paths = [str(Path("sample_locks", sample)) for sample in samples]
    outputs = []
    for seed in ("1", "2"):
        command = [sys.executable, "-c", SCRIPT, *paths]
        environ = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        outputs.append(
            subprocess.run(command, check=False, cwd=ROOT, env=environ, capture_output=True)
        )
    assert [output.stderr for output in outputs] == [b"", b""]
    assert b"wheel-cycle" in outputs[0].stdout
    assert outputs[0].stdout == outputs[1].stdout


def test_cases_speak_of_every_code() -> None:
    said = {
        finding["code"]
        for path in CASES
        for name in ("components", "findings")
        for finding in read_case(path).expect.get(name, ())
    }
    of_bazel_files = {code for code in CODES if code.startswith("group-")}
    # No modules are looked at for cases: test_module_gate.py and test_witnesses.py do.
    of_modules = OF_MODULES | {"cut-unsafe", "undeclared-import"}
    # Cases have no source distributions: test_builds.py makes them.
    of_others = {"unreadable-metadata", "build-cycle", *of_bazel_files, *of_modules}
    assert CODES.keys() - said <= of_others

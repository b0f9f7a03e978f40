"""JUnit XML against the schema of Jenkins' xUnit plugin, and by another reader."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import lxml.etree
import pytest
from hostile import EMPTY, HOSTILE, HOSTILE_MODULES, many, unjudged
from junitparser import Error, Failure, JUnitXml, Skipped
from reading_back import junit_cases

from distcycle.api import render
from distcycle.findings import Finding, Input, Report, Rule, Severity

XSD = Path(__file__).parent / "data" / "junit-10.xsd"
LOOP = Finding(
    code="wheel-cycle",
    severity=Severity.DENY,
    message="a -> b -> a",
    packages=("a", "b"),
    targets=("cp311-linux_x86_64", "cp312-linux_x86_64"),
    path="uv.lock",
    line=3,
)


def cases_of(report: Report) -> dict[tuple[str, str, str], type | None]:
    """What came of each case, by suite, class and name."""
    cases = junit_cases(render(report, "junit"))
    found = {(s, c.classname, c.name): type(c.result[0]) if c.result else None for s, c in cases}
    assert len(found) == len(cases), "two cases of one name"
    return found


@pytest.mark.parametrize(
    "report",
    [EMPTY, HOSTILE, HOSTILE_MODULES, unjudged(), many(), replace(EMPTY, inputs=(), targets=())],
    ids=["empty", "hostile", "modules", "unjudged", "1000", "nothing at all"],
)
def test_valid(report: Report) -> None:
    schema = lxml.etree.XMLSchema(lxml.etree.parse(str(XSD)))
    document = lxml.etree.fromstring(render(report, "junit").encode())
    schema.assertValid(document)


def test_the_schema_refuses_what_is_wrong() -> None:
    schema = lxml.etree.XMLSchema(lxml.etree.parse(str(XSD)))
    document = lxml.etree.fromstring(render(EMPTY, "junit").encode())
    document.set("verdict", "good")
    assert not schema.validate(document)


def test_a_clean_run_passes_a_case_for_every_target() -> None:
    cases = cases_of(EMPTY)
    assert set(cases.values()) == {None}
    names = {("uv.lock", f"distcycle.{row.name}", "nothing found") for row in EMPTY.targets}
    assert set(cases) == names


def test_a_case_for_each_finding_and_target() -> None:
    cases = cases_of(replace(EMPTY, findings=(LOOP,)))
    assert cases["uv.lock", "distcycle.cp311-linux_x86_64", "wheel-cycle:a+b"] is Failure
    assert cases["uv.lock", "distcycle.cp312-linux_x86_64", "wheel-cycle:a+b"] is Failure
    assert ("uv.lock", "distcycle.cp312-linux_x86_64", "nothing found") not in cases
    assert cases["uv.lock", "distcycle.cp310-linux_x86_64", "nothing found"] is None
    assert len(cases) == len(EMPTY.targets)


def test_only_deny_fails() -> None:
    rule = Rule(kind="waive", path="distcycle.toml", line=2, reason="known")
    findings = (
        replace(LOOP, subject="1"),
        replace(LOOP, subject="2", severity=Severity.WARN),
        replace(LOOP, subject="3", severity=Severity.ALLOW),
        replace(LOOP, subject="4", accepted_by=rule),
    )
    text = render(replace(EMPTY, findings=findings), "junit")
    by_name = {case.name: case for _, case in junit_cases(text)}
    assert isinstance(by_name["wheel-cycle:a+b (1)"].result[0], Failure)
    assert by_name["wheel-cycle:a+b (2)"].system_out.startswith("warn: a -> b -> a")
    assert by_name["wheel-cycle:a+b (3)"].system_out.startswith("allow: ")
    skipped = by_name["wheel-cycle:a+b (4)"].result[0]
    assert isinstance(skipped, Skipped)
    assert skipped.message == "waived by distcycle.toml:2: known"
    document = JUnitXml.fromstring(text.encode())
    assert (document.failures, document.errors) == (2, 0)
    assert document.tests == len(EMPTY.targets) + 6


def test_what_has_no_target_has_one_case() -> None:
    finding = replace(LOOP, targets=(), code="unreadable-metadata")
    cases = cases_of(replace(EMPTY, findings=(finding,)))
    assert cases["uv.lock", "distcycle.any", "unreadable-metadata:a+b"] is Failure


def test_the_same_twice_is_numbered() -> None:
    cases = cases_of(replace(EMPTY, findings=(LOOP, replace(LOOP, message="other"))))
    assert ("uv.lock", "distcycle.cp311-linux_x86_64", "wheel-cycle:a+b (2)") in cases


def test_nothing_judged_is_an_error_not_a_pass() -> None:
    assert set(cases_of(unjudged()).values()) == {Error}


def test_a_suite_for_each_input_and_for_a_policy() -> None:
    inputs = (
        Input(path="uv.lock", kind="uv-lock", packages=1),
        Input(path="env", kind="x", packages=1),
    )
    findings = (
        LOOP,
        replace(LOOP, path="env/lib/a.dist-info/METADATA"),
        replace(LOOP, path="distcycle.toml", code="unused-rule", targets=()),
    )
    report = replace(EMPTY, inputs=inputs, findings=findings)
    suites = {suite: 0 for suite, _, _ in cases_of(report)}
    assert list(suites) == ["uv.lock", "env", "distcycle.toml"]
    one = replace(report, inputs=inputs[:1], findings=findings[2:])
    assert {suite for suite, _, _ in cases_of(one)} == {"uv.lock"}

"""JUnit XML as Jenkins and GitLab read it.

A suite for each input; in it a case for each finding on each target where it holds, and a case that
passes for each target on which nothing was found, so that a clean run shows tests too. A case's
class is its target, or ``any`` where none is named. Names hold no versions: a case has one history
through all upgrades.

Written with the standard library, which escapes and nests: junitparser would save no line here, and
lets characters through that XML cannot hold. It reads the files back in the tests.

Source: ``junit-10.xsd`` of the Jenkins xUnit plugin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

from distcycle.findings import Finding, Report, Severity
from distcycle.reporters import View
from distcycle.reporters.escape import printable
from distcycle.reporters.identity import component_of, file_path, number_repeats
from distcycle.reporters.phrases import (
    ACCEPTED,
    describe_rule,
    describe_where,
    hops_of,
    verdict_of,
)

__all__ = ["render"]

_NO_TARGET = "any"
_CLEAN = "nothing found"


def render(report: Report, view: View) -> str:
    """Show a report as JUnit XML."""
    suites = [_suite(suite, report, view.root) for suite in _suites_of(report)]
    root = ET.Element("testsuites", name="distcycle")
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in suites)))
    root.extend(suites)
    ET.indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ET.tostring(root, encoding='unicode')}\n"


@dataclass(slots=True)
class _Suite:
    """The findings of one input, or of a file that is no input, such as a policy."""

    path: str
    is_input: bool
    findings: list[Finding] = field(default_factory=list)


def _suites_of(report: Report) -> Iterable[_Suite]:
    suites = {entry.path: _Suite(entry.path, is_input=True) for entry in report.inputs}
    for finding in report.findings:
        path = _input_of(finding, report)
        suites.setdefault(path, _Suite(path, is_input=False)).findings.append(finding)
    return suites.values()


def _input_of(finding: Finding, report: Report) -> str:
    """The input that a finding is of; its own file when that is not certain."""
    paths = [entry.path for entry in report.inputs]
    component = component_of(finding, report)
    if component is not None:
        return component.input
    if len(paths) == 1:
        return paths[0]
    inside = (path for path in paths if finding.path.startswith((f"{path}/", f"{path}\\")))
    return finding.path if finding.path in paths else next(inside, finding.path)


def _suite(suite: _Suite, report: Report, root: str) -> ET.Element:
    names = number_repeats(map(_name_of, suite.findings))
    cases: list[ET.Element] = []
    found: set[str] = set()
    for finding, (name, time) in zip(suite.findings, names, strict=True):
        found.update(finding.targets)
        unique = name if time == 1 else f"{name} ({time})"
        cases += _cases(unique, finding, report)
    if suite.is_input:
        cases += [_clean(row.name, report) for row in report.targets if row.name not in found]
        if not cases:
            cases.append(_clean(_NO_TARGET, report))
    element = ET.Element("testsuite", name=printable(file_path(suite.path, root)))
    element.set("tests", str(len(cases)))
    for key, child in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(key, str(sum(case.find(child) is not None for case in cases)))
    element.extend(cases)
    return element


def _name_of(finding: Finding) -> str:
    if finding.component is not None:
        return finding.component
    subject = f" ({finding.subject})" if finding.subject else ""
    return f"{finding.code}:{'+'.join(finding.packages)}{subject}"


def _cases(name: str, finding: Finding, report: Report) -> Iterator[ET.Element]:
    message = printable(finding.message)
    text = "\n".join(map(printable, _lines(finding, report)))
    for target in finding.targets or (_NO_TARGET,):
        case = _named(name, target)
        if finding.accepted_by is not None:
            skipped = ET.SubElement(case, "skipped", type=ACCEPTED[finding.accepted_by.kind])
            skipped.set("message", printable(describe_rule(finding.accepted_by)))
            skipped.text = message
        elif finding.severity is Severity.DENY:
            failure = ET.SubElement(case, "failure", type=finding.code, message=message)
            failure.text = text
        else:
            ET.SubElement(case, "system-out").text = f"{finding.severity}: {message}\n{text}"
        yield case


def _clean(target: str, report: Report) -> ET.Element:
    """A case that passes, or could not run where nothing could be judged."""
    case = _named(_CLEAN, target)
    if report.judged_nothing:
        ET.SubElement(case, "error", type="unknown", message=verdict_of(report))
    return case


def _named(name: str, target: str) -> ET.Element:
    # Jenkins takes what stands before the last dot for a Java package.
    classname = f"distcycle.{target.replace('.', '_')}"
    return ET.Element("testcase", name=printable(name), classname=printable(classname))


def _lines(finding: Finding, report: Report) -> Iterator[str]:
    where = f"{finding.path}:{finding.line}" if finding.line else finding.path
    yield f"{where}: {describe_where(finding, report)}".removesuffix(": ")
    yield from map(str, hops_of(component_of(finding, report)))
    yield from finding.details

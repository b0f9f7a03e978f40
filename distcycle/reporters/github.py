"""Workflow commands of GitHub Actions: an annotation for each finding that counts.

GitHub shows ten errors and ten warnings of a step; the job summary, which the command line writes
where ``GITHUB_STEP_SUMMARY`` says, has them all.

Source: GitHub documentation, "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

from collections.abc import Iterator

from distcycle.findings import Finding, Report, Severity
from distcycle.reporters import View
from distcycle.reporters.escape import printable
from distcycle.reporters.identity import component_of, file_path
from distcycle.reporters.phrases import describe_where, hops_of, verdict_of

__all__ = ["render"]

_COMMANDS = {Severity.DENY: "error", Severity.WARN: "warning"}


def render(report: Report, view: View) -> str:
    """Show a report as workflow commands, with the verdict as the last line."""
    lines = [
        _annotation(finding, report, view.root)
        for finding in report.findings
        if finding.accepted_by is None and finding.severity in _COMMANDS
    ]
    verdict = f"distcycle: {verdict_of(report)}"
    lines.append(f"::error title=distcycle::{verdict}" if report.judged_nothing else verdict)
    return "\n".join(lines) + "\n"


def _annotation(finding: Finding, report: Report, root: str) -> str:
    properties = {"file": file_path(finding.path, root)}
    if finding.line:
        properties["line"] = str(finding.line)
    properties["title"] = finding.code
    shown = ",".join(f"{key}={_escape_property(value)}" for key, value in properties.items())
    message = "\n".join(map(printable, _lines(finding, report)))
    return f"::{_COMMANDS[finding.severity]} {shown}::{_escape_data(message)}"


def _lines(finding: Finding, report: Report) -> Iterator[str]:
    yield finding.message
    where = describe_where(finding, report)
    if where:
        yield where
    yield from map(str, hops_of(component_of(finding, report)))
    yield from finding.details


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(printable(text)).replace(":", "%3A").replace(",", "%2C")

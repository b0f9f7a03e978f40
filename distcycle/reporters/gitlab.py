"""GitLab's Code Quality report: what counts, each at its file and line.

The form has no way to say that a finding is accepted, so what a policy or a baseline accepts is
left out: it counts as mended there.

Source: GitLab documentation, "Code Quality report format".
"""

from __future__ import annotations

import json
from typing import Any

from distcycle.findings import Finding, Report, Severity
from distcycle.reporters import View
from distcycle.reporters.escape import printable
from distcycle.reporters.identity import file_path, fingerprint_of, number_repeats
from distcycle.reporters.phrases import describe_where
from distcycle.reporters.words import IMPORT_CYCLE

__all__ = ["render"]

_SEVERITIES = {Severity.DENY: "critical", Severity.WARN: "minor", Severity.ALLOW: "info"}


def render(report: Report, view: View) -> str:
    """Show a report as a list of Code Quality issues."""
    findings = [finding for finding in report.findings if finding.accepted_by is None]
    # Of issues with one fingerprint GitLab shows the first only.
    repeats = number_repeats((_place(f, view), fingerprint_of(f)) for f in findings)
    issues = []
    for finding, ((place, fingerprint), time) in zip(findings, repeats, strict=True):
        path = printable(file_path(finding.path, view.root))
        issues.append(_issue(finding, path, f"{place}:{fingerprint}:{time}", report))
    return json.dumps(issues, indent=2, ensure_ascii=True) + "\n"


def _place(finding: Finding, view: View) -> str:
    """What tells a finding from the same of another input.

    A loop of modules is shown in whichever file its shortest way round begins; that file may become
    another one while the loop stays.
    """
    if finding.code == IMPORT_CYCLE:
        return "modules"
    return printable(file_path(finding.path, view.root))


def _issue(finding: Finding, path: str, fingerprint: str, report: Report) -> dict[str, Any]:
    where = describe_where(finding, report)
    return {
        "description": printable(f"{finding.message}, {where}" if where else finding.message),
        "check_name": finding.code,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {"path": path, "lines": {"begin": finding.line or 1}},
    }

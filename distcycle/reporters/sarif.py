"""SARIF 2.1.0, for code scanning.

Written by hand: sarif-om has had no release since 2019, and sarif-pydantic brings pydantic and its
compiled core for what is a few dictionaries here.

Source: OASIS Static Analysis Results Interchange Format 2.1.0 with Errata 01.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from distcycle.codes import OF_MODULES
from distcycle.findings import CODES, Code, Finding, Report, Rule, Severity
from distcycle.reporters import View
from distcycle.reporters.escape import printable
from distcycle.reporters.identity import (
    component_of,
    file_uri,
    fingerprint_of,
    number_repeats,
)
from distcycle.reporters.phrases import describe_where, hops_of, verdict_of
from distcycle.reporters.words import words_of
from distcycle.version import __version__

__all__ = ["render"]

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {Severity.DENY: "error", Severity.WARN: "warning", Severity.ALLOW: "note"}
_OF_IMPORTS = OF_MODULES | {"undeclared-import"}
_INDICES = {name: index for index, name in enumerate(CODES)}


def render(report: Report, view: View) -> str:
    """Show a report as a SARIF log of one run."""
    run = {
        "tool": {
            "driver": {
                "name": "distcycle",
                "version": __version__,
                "rules": [_rule(code) for code in CODES.values()],
            }
        },
        "invocations": [_invocation(report)],
        "columnKind": "unicodeCodePoints",
        "results": list(_results(report, view.root)),
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=True) + "\n"


def _rule(code: Code) -> dict[str, Any]:
    return {
        "id": code.name,
        "shortDescription": {"text": code.meaning},
        "fullDescription": {"text": code.meaning},
        "help": {
            "text": "\n".join(code.explain()),
            "markdown": "\n\n".join(code.explain()),
        },
        "defaultConfiguration": {"level": _LEVELS[code.severity]},
        "properties": {"tags": ["imports" if code.name in _OF_IMPORTS else "dependencies"]},
    }


def _invocation(report: Report) -> dict[str, Any]:
    exit_code = 2 if report.judged_nothing else int(not report.ok)
    invocation: dict[str, Any] = {
        "executionSuccessful": not report.judged_nothing,
        "exitCode": exit_code,
        "exitCodeDescription": verdict_of(report),
        "toolExecutionNotifications": [
            {"level": "note", "message": _message(note)} for note in report.notes
        ],
    }
    if report.command:
        invocation["commandLine"] = printable(report.command)
    return invocation


def _results(report: Report, root: str) -> Iterator[dict[str, Any]]:
    repeats = number_repeats((f.path, fingerprint_of(f)) for f in report.findings)
    for finding, ((_, fingerprint), time) in zip(report.findings, repeats, strict=True):
        result: dict[str, Any] = {
            "ruleId": finding.code,
            "ruleIndex": _INDICES[finding.code],
            "level": _LEVELS[finding.severity],
            "message": _message(*_lines(finding, report)),
            "locations": [_finding_location(finding, root)],
            "partialFingerprints": {
                "distcycle/v1": fingerprint,
                # The only one that GitHub looks at. Without it the line's text would be hashed, and
                # an upgrade, which changes that text, would close an alert and open another.
                "primaryLocationLineHash": f"{fingerprint}:{time}",
            },
        }
        related = list(_related(finding, report, root))
        if related:
            result["relatedLocations"] = related
        if finding.accepted_by:
            result["suppressions"] = [_suppression(finding.accepted_by, root)]
        yield result


def _lines(finding: Finding, report: Report) -> Iterator[str]:
    yield finding.message
    where = describe_where(finding, report)
    if where:
        yield where
    yield from finding.details


def _related(finding: Finding, report: Report, root: str) -> Iterator[dict[str, Any]]:
    """Where each hop of the loop stands that the message names."""
    for number, hop in enumerate(hops_of(component_of(finding, report))):
        location = _location(hop.edge.path, hop.edge.line, root)
        yield {"id": number, **location, "message": _message(str(hop))}


def _suppression(rule: Rule, root: str) -> dict[str, Any]:
    return {
        "kind": "external",
        "status": "accepted",
        "justification": printable(rule.reason),
        "location": _location(rule.path, rule.line, root),
    }


def _finding_location(finding: Finding, root: str) -> dict[str, Any]:
    location = _location(finding.path, finding.line, root)
    kind = words_of(finding).noun
    names = [{"name": printable(name), "kind": kind} for name in finding.packages]
    return location | ({"logicalLocations": names} if names else {})


def _location(path: str, line: int | None, root: str) -> dict[str, Any]:
    """A place in a file. GitHub refuses a result without a line: the first stands for unknown."""
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": file_uri(path, root)},
            "region": {"startLine": line or 1},
        }
    }


def _message(*lines: str) -> dict[str, str]:
    """A plain message; what reads as a placeholder (3.11.5) or a link (3.11.6) is data here."""
    text = "\n".join(map(printable, lines)).replace("{", "{{").replace("}", "}}")
    return {"text": re.sub(r"\](?=\()", "] ", text)}

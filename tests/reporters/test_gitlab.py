"""GitLab's Code Quality report against the keys that GitLab documents."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hostile import EMPTY, HOSTILE, HOSTILE_MODULES, many, unjudged

from distcycle.api import render
from distcycle.findings import Finding, Report, Severity
from distcycle.reporters import View

SCHEMA = Path(__file__).parent / "data" / "gitlab-code-quality.schema.json"
FINDING = Finding(
    code="missing-package",
    severity=Severity.DENY,
    message="a requires b, which is not there",
    packages=("a", "b"),
    path="/builds/group/project/locks/uv.lock",
    line=None,
)


@pytest.mark.parametrize(
    "report",
    [EMPTY, HOSTILE, HOSTILE_MODULES, unjudged(), many()],
    ids=["empty", "hostile", "modules", "unjudged", "1000"],
)
def test_valid(report: Report) -> None:
    issues = json.loads(render(report, "gitlab"))
    jsonschema.validate(issues, json.loads(SCHEMA.read_text("utf-8")))
    prints = [issue["fingerprint"] for issue in issues]
    assert len(set(prints)) == len(prints)
    assert len(issues) == sum(f.accepted_by is None for f in report.findings)


def test_severities() -> None:
    findings = tuple(replace(FINDING, severity=severity) for severity in Severity)
    issues = json.loads(render(replace(EMPTY, findings=findings), "gitlab"))
    assert [issue["severity"] for issue in issues] == ["info", "minor", "critical"]


def test_place() -> None:
    report = replace(EMPTY, findings=(FINDING, replace(FINDING, path="./uv.lock", line=5)))
    first, second = json.loads(render(report, "gitlab", View(root="/builds/group/project")))
    assert first["location"] == {"path": "locks/uv.lock", "lines": {"begin": 1}}
    assert second["location"] == {"path": "uv.lock", "lines": {"begin": 5}}


def test_fingerprints_outlive_lines() -> None:
    prints = [
        json.loads(render(replace(EMPTY, findings=(finding,)), "gitlab"))[0]["fingerprint"]
        for finding in (FINDING, replace(FINDING, line=8, message="other"))
    ]
    assert prints[0] == prints[1]

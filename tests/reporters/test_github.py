"""Workflow commands by the rules of the runner that reads them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hostile import EMPTY, unjudged
from reading_back import commands_in

from distcycle.api import render
from distcycle.findings import Finding, Rule, Severity
from distcycle.reporters import View

FINDING = Finding(
    code="version-conflict",
    severity=Severity.DENY,
    message="100% wrong: a, b::c",
    packages=("a",),
    path="/runner/work/a,b:c/uv.lock",
    line=5,
    details=("first", "second"),
)


def test_an_annotation() -> None:
    text = render(replace(EMPTY, findings=(FINDING,)), "github", View(root="/runner/work"))
    assert text.split("\n")[0] == (
        "::error file=a%2Cb%3Ac/uv.lock,line=5,title=version-conflict::"
        "100%25 wrong: a, b::c%0Afirst%0Asecond"
    )
    (command,) = commands_in(text)
    assert command.properties["file"] == "a,b:c/uv.lock"
    assert command.message == "100% wrong: a, b::c\nfirst\nsecond"


def test_without_a_line() -> None:
    (command,) = commands_in(
        render(replace(EMPTY, findings=(replace(FINDING, line=None),)), "github")
    )
    assert set(command.properties) == {"file", "title"}


@pytest.mark.parametrize(
    ("severity", "is_accepted", "names"),
    [
        (Severity.DENY, False, ["error"]),
        (Severity.WARN, False, ["warning"]),
        (Severity.ALLOW, False, []),
        (Severity.DENY, True, []),
    ],
)
def test_what_counts_is_annotated(severity: Severity, is_accepted: bool, names: list[str]) -> None:
    rule = Rule(kind="group", path="p", line=1, reason="") if is_accepted else None
    finding = replace(FINDING, severity=severity, accepted_by=rule)
    text = render(replace(EMPTY, findings=(finding,)), "github")
    assert [command.name for command in commands_in(text)] == names


def test_the_verdict_is_the_last_line() -> None:
    assert render(EMPTY, "github") == "distcycle: no loops, 0 denied, no warnings\n"
    (command,) = commands_in(render(unjudged(), "github"))
    assert (command.name, command.message) == ("error", "distcycle: nothing could be judged")

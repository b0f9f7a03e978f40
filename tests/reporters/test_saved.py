"""A saved JSON report comes back as it was, or is refused with the place that is wrong."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hostile import EMPTY, HOSTILE, HOSTILE_MODULES, many, unjudged
from hypothesis import given, settings
from hypothesis import strategies as st

from distcycle.api import render
from distcycle.errors import InputError
from distcycle.findings import CODES, Report, Severity
from distcycle.reporters import REPORTERS
from distcycle.reporters.saved import parse_report

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = sorted((ROOT / "tests" / "golden").glob("*.json"))


def document_of(report: Report) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(render(report, "json"))
    return document


def error_of(document: object) -> InputError:
    with pytest.raises(InputError) as caught:
        parse_report(json.dumps(document), path="report.json")
    assert caught.value.path == "report.json"
    return caught.value


@pytest.mark.parametrize(
    "report",
    [EMPTY, HOSTILE, HOSTILE_MODULES, unjudged(), many()],
    ids=["empty", "hostile", "modules", "unjudged", "1000"],
)
def test_what_was_written_comes_back(report: Report) -> None:
    text = render(report, "json")
    again = parse_report(text, path="report.json")
    assert again == report
    assert render(again, "json") == text


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_reports_come_back(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    again = document_of(parse_report(json.dumps(document), path=path.name))
    again["tool"]["version"] = document["tool"]["version"]
    assert again == document


@pytest.mark.parametrize("form", REPORTERS)
@pytest.mark.parametrize("report", [HOSTILE, HOSTILE_MODULES], ids=["packages", "modules"])
def test_every_form_is_the_same_from_the_saved_report(form: str, report: Report) -> None:
    saved = parse_report(render(report, "json"), path="report.json")
    assert render(saved, form) == render(report, form)


@pytest.mark.parametrize(
    ("place", "value", "key", "problem"),
    [
        (("schema",), "distcycle-report/2", "schema", "not a report"),
        (("tool",), [], "tool", "expected an object, found an array"),
        (("tool", "command"), 3, "tool.command", "expected a string, found an integer"),
        (("command",), "x", "command", "is not known"),
        (("more",), 1, "more", "is not known"),
        (("whole",), 1, "whole", "expected a boolean, found an integer"),
        (("inputs",), None, "inputs", "expected an array, found null"),
        (("inputs", 0, "packages"), True, "inputs[0].packages", "expected an integer"),
        (("inputs", 0, "packages"), -1, "inputs[0].packages", "expected no less than 0"),
        (("summary", "deny"), 1.0, "summary.deny", "expected an integer, found a number"),
        (("targets", 0, "environment"), [], "targets[0].environment", "expected an object"),
        (("targets", 0, "environment", "a"), 1, "targets[0].environment.a", "expected a string"),
        (("components", 0, "severity"), "fatal", "components[0].severity", "allow, warn, deny"),
        (("components", 0, "severity"), [], "components[0].severity", "allow, warn, deny"),
        (("components", 0, "code"), "self-cycle", "components[0].code", "is no code"),
        (("components", 0, "edges", 1, "line"), 0, "components[0].edges[1].line", "no less than 1"),
        (("components", 0, "edges", 1, "more"), 0, "components[0].edges[1].more", "is not known"),
        (
            ("components", 0, "cycles", 0, "hops", 0, 0),
            2,
            "components[0].cycles[0].hops",
            "numbers",
        ),
        (("components", 0, "cycles", 0, "hops", 0), [], "components[0].cycles[0].hops", "numbers"),
        (("components", 0, "cycles", 0, "hops"), [[0]], "components[0].cycles[0].hops", "each"),
        (("components", 0, "breakers", 0, 0), ["a"], "components[0].breakers[0][0]", "2 values"),
        (("components", 0, "targets", 0), "x", "components[0].targets", "'x' is none of"),
        (("findings", 0, "code"), "wheel-loop", "findings[0].code", "'wheel-loop' is no code"),
        (("findings", 1, "accepted_by", "kind"), "x", "findings[1].accepted_by.kind", "is no kind"),
        (("findings", 1, "accepted_by"), "x", "findings[1].accepted_by", "expected an object"),
        (("opened", 0, "cuts"), [], "opened[0].reasons", "expected one for each cut"),
        (("targets",), [], "components[0].targets", "none of"),
        (("surveys", 0, "imports", "lazy"), "1", "surveys[0].imports.lazy", "an integer"),
        (
            ("surveys", 0, "loops", 0, "fixes", 0, "site", "line"),
            0,
            "surveys[0].loops[0].fixes[0].site.line",
            "no less than 1",
        ),
        (
            ("surveys", 0, "failing", 0, "bound_line"),
            0,
            "surveys[0].failing[0].bound_line",
            "no less than 1",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_key(
    place: tuple[Any, ...], value: object, key: str, problem: str
) -> None:
    document = document_of(HOSTILE_MODULES if place[0] == "surveys" else HOSTILE)
    at: Any = document
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    error = error_of(document)
    assert error.key == key
    assert problem in error.problem


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '"x"', "[" * 100_000, "9" * 5000, "NaN", "{}"]
)
def test_no_report_at_all(text: str) -> None:
    with pytest.raises(InputError):
        parse_report(text, path="report.json")


def test_a_required_key_that_is_missing() -> None:
    document = document_of(EMPTY)
    del document["summary"]
    error = error_of(document)
    assert (error.key, error.problem) == ("summary", "is missing")


def test_a_report_from_before_a_key_was_added() -> None:
    document = document_of(EMPTY)
    del document["changes"], document["opened"], document["summary"]["known"]
    assert parse_report(json.dumps(document), path="report.json") == EMPTY


_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from([*CODES, *Severity]),
    st.text(max_size=5),
    st.lists(st.one_of(st.integers(), st.text(max_size=3)), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
_DOCUMENTS = [document_of(HOSTILE), document_of(HOSTILE_MODULES)]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_whatever_stands_there_it_is_refused_or_every_form_can_show_it(data: st.DataObject) -> None:
    document = copy.deepcopy(data.draw(st.sampled_from(_DOCUMENTS)))
    at: Any = document
    while True:
        keys = sorted(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if not isinstance(at[key], dict | list) or data.draw(st.integers(0, 3)) == 0:
            break
        at = at[key]
    if data.draw(st.booleans()):
        at[key] = data.draw(_VALUES)
    else:
        del at[key]
    try:
        report = parse_report(json.dumps(document), path="report.json")
    except InputError:
        return
    for form in REPORTERS:
        assert render(report, form).encode()

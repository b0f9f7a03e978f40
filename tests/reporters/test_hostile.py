"""Every form of one hostile report: what was read from a file is data in all of them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable

import lxml.etree
import pytest
from hostile import EMPTY, HOSTILE, HOSTILE_MODULES, NASTY, many, unjudged
from reading_back import commands_in, junit_cases, rendered

from distcycle.api import render
from distcycle.findings import Report
from distcycle.reporters import REPORTERS, View
from distcycle.reporters.escape import printable

SEEN = printable(NASTY)
"""What people see of it."""
BOTH = (HOSTILE, HOSTILE_MODULES)


# Every form in the table, also those that are added later ----------------------------------------


@pytest.mark.parametrize("form", REPORTERS)
@pytest.mark.parametrize("report", BOTH, ids=["packages", "modules"])
def test_nothing_that_obeys_or_hides_gets_out(form: str, report: Report) -> None:
    text = render(report, form, View(verbosity=1))
    text.encode("utf-8")
    kinds = {unicodedata.category(char) for char in text if char != "\n"}
    assert kinds.isdisjoint({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})


@pytest.mark.parametrize("form", REPORTERS)
@pytest.mark.parametrize("report", BOTH, ids=["packages", "modules"])
def test_no_line_is_a_workflow_command_that_we_did_not_write(form: str, report: Report) -> None:
    text = render(report, form, View(verbosity=1))
    for line in text.split("\n"):
        assert not re.match(r"\s*(::error::|##\[error\])", line)


@pytest.mark.parametrize("form", REPORTERS)
@pytest.mark.parametrize(
    "report",
    [*BOTH, EMPTY, unjudged(), many(50)],
    ids=["packages", "modules", "empty", "unjudged", "many"],
)
def test_same_bytes_every_time(form: str, report: Report) -> None:
    first = render(report, form)
    assert first == render(report, form)
    assert first.endswith("\n")


# In these a tag is no markup: a terminal shows it, and who reads JSON or DOT escapes it.
_NO_MARKUP = {"text", "github", "json", "sarif", "gitlab", "dot"}


@pytest.mark.parametrize("form", sorted(set(REPORTERS) - _NO_MARKUP))
@pytest.mark.parametrize("report", BOTH, ids=["packages", "modules"])
def test_no_markup_gets_through(form: str, report: Report) -> None:
    text = render(report, form, View(verbosity=1))
    for mark in ("<script>alert", "<img src=x", "]]>"):
        assert mark not in text


# Each form by its consumer's rules ----------------------------------------------------------------


def _sarif(text: str) -> list[str]:
    results = json.loads(text)["runs"][0]["results"]
    texts = [result["message"]["text"] for result in results]
    for shown in texts:
        assert re.search(r"(?<!\{)(\{\{)*\{\d", shown) is None, "a placeholder"
        assert "](" not in shown, "a link"
    assert all(re.fullmatch(r"[!-~]+", _uri(result)) for result in results)
    return [t.replace("{{", "{").replace("}}", "}").replace("] (", "](") for t in texts]


def _uri(result: dict[str, object]) -> str:
    location = result["locations"][0]["physicalLocation"]  # type: ignore[index]
    return str(location["artifactLocation"]["uri"])


def _junit(text: str) -> list[str]:
    return [case.name for _, case in junit_cases(text) if case.name != "nothing found"]


def _github(text: str) -> list[str]:
    commands = commands_in(text)
    assert {command.name for command in commands} == {"error", "warning"}
    assert all(set(c.properties) <= {"file", "line", "title"} for c in commands)
    as_path = SEEN.replace("//", "/")
    assert any(as_path in command.properties["file"] for command in commands)
    return [command.message for command in commands]


def _gitlab(text: str) -> list[str]:
    return [issue["description"] for issue in json.loads(text)]


def _markdown(text: str) -> list[str]:
    page = rendered(text)
    allowed = {"html", "body", "h3", "p", "strong", "code", "table", "thead", "tbody", "tr", "th"}
    allowed |= {"td", "details", "summary", "b", "ul", "li"}
    assert {element.tag for element in page.iter()} <= allowed
    widths = {len(row) for row in page.iter("tr")}
    assert len(widths) == 1, "a pipe in a name made a column"
    assert all(element.getparent().tag == "body" for element in page.iter("details"))
    # Where GitHub looks for people, issues and addresses: all text that is not in <code>.
    outside = [e.text or "" for e in page.iter() if e.tag != "code"]
    outside += [e.tail or "" for e in page.iter()]
    assert not re.search(r"[@#!$:]\w|www\.|https?:", "".join(outside).replace("distcycle:", ""))
    return [" ".join("".join(li.itertext()).split()) for li in page.iter("li")]


CHECKS: dict[str, Callable[[str], list[str]]] = {
    "sarif": _sarif,
    "junit": _junit,
    "github": _github,
    "gitlab": _gitlab,
    "markdown": _markdown,
}


@pytest.mark.parametrize("form", CHECKS)
@pytest.mark.parametrize("report", BOTH, ids=["packages", "modules"])
def test_the_value_arrives_whole(form: str, report: Report) -> None:
    texts = CHECKS[form](render(report, form))
    assert texts
    wanted = " ".join(SEEN.split()) if form == "markdown" else SEEN
    whole = [text for text in texts if wanted in text]
    # Some findings have no packages to be named by, some lists are of plain names.
    assert len(whole) >= len(texts) / 2


def test_text_of_hostile_markdown_stays_in_its_list() -> None:
    page = rendered(render(HOSTILE, "markdown"))
    assert [e.text for e in page.iter("h3")] == [
        "distcycle: 2 loops, 2 denied, 2 warnings, 3 accepted by policy, 1 known finding ignored"
    ]
    assert page.find(".//h1") is None


def test_junit_is_one_document() -> None:
    page = lxml.etree.fromstring(render(HOSTILE, "junit").encode())
    assert page.tag == "testsuites"
    tags = {"testsuites", "testsuite", "testcase", "failure", "skipped", "system-out"}
    assert {element.tag for element in page.iter()} == tags

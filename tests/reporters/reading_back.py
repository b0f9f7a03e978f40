"""Reads forms back, each by its consumer's rules, for the tests that compare them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import lxml.etree
from junitparser import Error, Failure, JUnitXml, Skipped
from markdown_it import MarkdownIt

__all__ = ["Command", "commands_in", "count_junit", "junit_cases", "markdown_text", "rendered"]


@dataclass(frozen=True, slots=True)
class Command:
    """A workflow command as the GitHub runner understands it."""

    name: str
    properties: dict[str, str]
    message: str


def commands_in(text: str) -> list[Command]:
    """Take the lines that the runner takes for commands; all others it prints."""
    commands = []
    for line in text.split("\n"):
        if not line.startswith("::"):
            assert "##[" not in line, "an old-style command"
            continue
        head, _, message = line[2:].partition("::")
        name, _, rest = head.partition(" ")
        pairs = dict(pair.split("=", 1) for pair in rest.split(",")) if rest else {}
        properties = {key: _unescape(value) for key, value in pairs.items()}
        commands.append(Command(name, properties, _unescape(message)))
    return commands


def _unescape(text: str) -> str:
    codes = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}
    return re.sub("%(?:0D|0A|3A|2C|25)", lambda match: codes[match[0]], text)


def junit_cases(text: str) -> list[tuple[str, Any]]:
    """Suite's name and case, for each case."""
    return [(suite.name, case) for suite in JUnitXml.fromstring(text.encode()) for case in suite]


def count_junit(text: str) -> Counter[tuple[str, str]]:
    """Findings by code and fate, whatever the number of targets of each."""
    fates: dict[tuple[str, str], str] = {}
    for suite, case in junit_cases(text):
        results = case.result
        assert len(results) <= 1
        if not results:
            printed = case.system_out or ""
            fate = printed.partition(":")[0] or "passed"
        else:
            assert isinstance(results[0], Failure | Error | Skipped)
            fate = "deny" if isinstance(results[0], Failure) else results[0].type
        assert fates.setdefault((suite, case.name), fate) == fate or case.name == "nothing found"
    found = {key: fate for key, fate in fates.items() if key[1] != "nothing found"}
    return Counter((name.partition(":")[0], fate) for (_, name), fate in found.items())


def rendered(text: str) -> lxml.etree._Element:
    """Markdown as GitHub shows it: CommonMark with tables, and HTML let through."""
    html = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    return lxml.etree.fromstring(f"<html>{html}</html>", lxml.etree.HTMLParser())


def markdown_text(text: str) -> str:
    """What a reader of the Markdown sees."""
    return "".join(rendered(text).itertext())

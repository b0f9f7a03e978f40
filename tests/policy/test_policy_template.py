"""The policy to begin with has every key, and means nothing until one is used."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli

from distcycle import policy
from distcycle.cli.arguments import build_parser
from distcycle.findings import CODES
from distcycle.policy import Policy
from distcycle.policy.options import OPTIONS
from distcycle.policy.parse import parse_policy
from distcycle.policy.template import render_template

SCHEMA = json.loads(Path(policy.__file__).with_name("policy.schema.json").read_text("utf-8"))
KEY = r"(?m)^#(?=[\w\[])"


def keys_of_schema() -> Iterator[tuple[str, str]]:
    for name, value in SCHEMA["properties"].items():
        yield "", name
        table = value.get("items", value)
        yield from ((name, key) for key in table.get("properties", ()))


def keys_of(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in document.items():
        yield "", name
        table = value[0] if isinstance(value, list) else value
        if isinstance(table, dict):
            yield from ((name, key) for key in table)


def test_decides_nothing() -> None:
    assert parse_policy(render_template(), path="distcycle.toml") == Policy()


def test_has_every_key_of_the_schema_and_all_can_be_used() -> None:
    text = re.sub(KEY, "", render_template())
    assert list(keys_of(tomli.loads(text))) == list(keys_of_schema())
    used = parse_policy(text, path="distcycle.toml")
    assert used.severities == {code.name: code.severity for code in CODES.values()}
    assert len(used.waivers) == len(used.cuts) == len(used.groups) == len(used.denials) == 1


def test_every_key_can_be_used_alone() -> None:
    text = render_template()
    for match in re.finditer(r"(?m)^#[\w-]+ = .*$", text):
        section = text.rfind("\n[", 0, match.start()), text.rfind("\n#[[", 0, match.start())
        if section[0] >= section[1]:
            one = text[: match.start()] + text[match.start() + 1 :]
            parse_policy(one, path="distcycle.toml")


def test_reads_well() -> None:
    lines = render_template().splitlines()
    assert all(len(line) <= 100 for line in lines)
    assert all(not line.startswith("#") or line[1] in " [" or "=" in line for line in lines)


# Options -----------------------------------------------------------------------------------------

# What belongs to one run, or has a table of its own.
NOT_IN_A_POLICY = {
    *("allow", "warn", "deny", "help", "input-kind", "no-policy", "policy", "python", "quiet"),
    *("show-config", "show-targets", "today", "verbose", "write-baseline"),
}


@pytest.fixture
def flags() -> set[str]:
    """The long flags of the audit command line."""
    parser = build_parser(["audit"])
    (commands,) = (a for a in parser._actions if isinstance(a.choices, dict))
    audit = commands.choices["audit"]
    shown = [action for action in audit._actions if action.help != argparse.SUPPRESS]
    return {flag[2:] for action in shown for flag in action.option_strings if flag[:2] == "--"}


def test_options_are_flags_of_audit(flags: set[str]) -> None:
    assert {option.name for option in OPTIONS} <= flags


def test_every_flag_of_audit_is_an_option_or_is_not_meant_to_be(flags: set[str]) -> None:
    assert flags - {option.name for option in OPTIONS} <= NOT_IN_A_POLICY

"""The schema of policies and their reader agree."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import jsonschema
import policy_schema
import pytest
import tomli
from hypothesis import given, settings
from hypothesis import strategies as st

from distcycle import policy
from distcycle.errors import PolicyError
from distcycle.findings import CODES
from distcycle.policy.parse import parse_policy
from distcycle.policy.sections import SECTIONS, TOP

DATA = Path(__file__).with_name("data")
PATH = Path(policy.__file__).with_name("policy.schema.json")


def files(kind: str) -> list[Path]:
    return sorted((DATA / kind).glob("*.toml"))


def readable(text: str) -> bool:
    try:
        parse_policy(text, path="policy.toml")
    except PolicyError:
        return False
    return True


def as_json(text: str) -> Any:
    return json.loads(json.dumps(tomli.loads(text), default=_as_text))


def _as_text(value: object) -> str:
    assert isinstance(value, (date, datetime, time))
    return value.isoformat()


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(PATH.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    formats = jsonschema.FormatChecker(formats=["date"])
    return jsonschema.Draft202012Validator(schema, format_checker=formats)


def test_schema_follows_the_table_of_keys(agree: Callable[[Path, str], None]) -> None:
    agree(PATH, policy_schema.render_schema())


@pytest.mark.parametrize("path", files("valid"), ids=lambda path: path.stem)
def test_valid(path: Path, validator: jsonschema.Draft202012Validator) -> None:
    text = path.read_text("utf-8")
    assert [error.message for error in validator.iter_errors(as_json(text))] == []
    parse_policy(text, path=path.name)


@pytest.mark.parametrize("path", files("invalid"), ids=lambda path: path.stem)
def test_invalid(path: Path, validator: jsonschema.Draft202012Validator) -> None:
    text = path.read_text("utf-8")
    assert not validator.is_valid(as_json(text))
    assert not readable(text)


@pytest.mark.parametrize("path", files("beyond"), ids=lambda path: path.stem)
def test_what_no_schema_can_say(path: Path, validator: jsonschema.Draft202012Validator) -> None:
    """The reader knows more than patterns do; what it refuses then, an editor does not see."""
    text = path.read_text("utf-8")
    assert validator.is_valid(as_json(text))
    assert not readable(text)


def test_valid_files_show_every_key() -> None:
    documents = [tomli.loads(path.read_text("utf-8")) for path in files("valid")]
    shown = {("", key) for document in documents for key in document}
    for section in SECTIONS:
        for document in documents:
            tables = document.get(section.name, [])
            for table in tables if isinstance(tables, list) else [tables]:
                shown |= {(section.name, key) for key in table}
    wanted = {
        (section.name, key.name)
        for section in (TOP, *SECTIONS)
        for key in section.keys
        if key.name not in CODES
    }
    assert wanted - shown == set()


# Tables of the policy's own keys, with values that are right, nearly right and wrong.

VALUES = [
    *(1, 0, 100, 101, -1, True, False, 0.5, "", " ", "a", "a-*", "A_b.c", "a[b]", "-a", "a-"),
    *("wheel-cycle", "deny", "fatal", "lock", "never", ">=1,<2", "<3,", "3.11", "==3.*", "~= 3.1"),
    *("linux_*", "linux", "macos_arm64", "2027-03-01", "2027-13-01", date(2027, 3, 1)),
    *([], {}, ["a"], [1], ["linux_*"], ["linux"], ["a", ""], "sys_platform == 'linux'", "a\nb"),
]


def tables(section: Any) -> st.SearchStrategy[dict[str, Any]]:
    names = [key.name for key in section.keys]
    values = st.dictionaries(st.sampled_from([*names, "other"]), st.sampled_from(VALUES))
    good = {key.name: tomli.loads(f"_ = {key.example}")["_"] for key in section.keys}
    wanted = {key.name for key in section.keys if key.required}
    known = st.sets(st.sampled_from(names)).map(lambda s: {n: good[n] for n in s | wanted})
    return st.one_of(known, values, st.tuples(known, values).map(lambda t: {**t[0], **t[1]}))


def sections() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            section.name: st.lists(tables(section), max_size=2)
            if section.repeated
            else tables(section)
            for section in SECTIONS
        },
    )


def toml(value: Any) -> str:
    """A value as TOML writes it, all in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, date):
        return value.isoformat()
    return json.dumps(value)


@given(tables(TOP), sections())
@settings(max_examples=150, deadline=None)
def test_whatever_the_reader_takes_the_schema_takes(
    validator: jsonschema.Draft202012Validator, top: dict[str, Any], rest: dict[str, Any]
) -> None:
    text = "\n".join(f"{key} = {toml(value)}" for key, value in {**top, **rest}.items())
    problems: tuple[Any, ...] = ()
    try:
        parse_policy(text, path="policy.toml")
    except PolicyError as error:
        problems = error.problems
    valid = validator.is_valid(as_json(text))
    beyond = all("marker" in str(p.key) or "group[" in str(p.key) for p in problems)
    assert valid == (not problems) or (valid and beyond)

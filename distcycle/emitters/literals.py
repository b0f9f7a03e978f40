"""Strings and tables of the formats that emitters write, TOML above all.

Source: TOML 1.0, https://toml.io/en/v1.0.0
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import tomli
from packaging.utils import NormalizedName, canonicalize_name

__all__ = ["dig", "load_toml", "name_in", "names_in", "quote", "tables_in"]

_NAME = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")


def quote(text: str) -> str:
    """A string in double quotes, as TOML and Starlark read it."""
    return f'"{"".join(map(_escape, text))}"'


def _escape(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    if 0xD800 <= code < 0xE000:  # half a pair of JSON's: no text can hold it
        return "\ufffd"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def load_toml(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises:
        ValueError: It is none; the text says why, in one line.
    """
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        problem = f"cannot be told: not valid TOML: {error}"
    except (RecursionError, ValueError):
        problem = "cannot be told: not valid TOML: nested too deeply, or a number too long"
    raise ValueError(problem)


def dig(value: object, *keys: str) -> object:
    """What stands at a path of keys; None where there is nothing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def tables_in(value: object) -> Iterator[dict[str, Any]]:
    """The tables of an array; nothing of anything else."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def names_in(value: object) -> set[NormalizedName]:
    """The project names with which the strings of an array begin."""
    if not isinstance(value, list):
        return set()
    return {name for item in value if (name := name_in(item)) is not None}


def name_in(value: object) -> NormalizedName | None:
    """The project name with which a string begins; None where it has none."""
    match = _NAME.match(value) if isinstance(value, str) else None
    return None if match is None else canonicalize_name(match[1])

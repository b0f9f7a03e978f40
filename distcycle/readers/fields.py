"""Typed access to tables of TOML and JSON inputs; every error names the key it is about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import tomli

from distcycle.errors import InputError
from distcycle.model import Place

__all__ = ["Fields", "parse_json", "parse_toml"]

T = TypeVar("T")

_NOUNS = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    dict: "a table",
    list: "an array",
    type(None): "null",
}


def describe(value: object) -> str:
    """The noun for a value's type in an error, such as ``an integer``."""
    return _NOUNS.get(type(value), type(value).__name__)


class Fields:
    """One table of an input, and the path to it.

    Args:
        value: The table; anything else is an error that names ``key``.
        path: The file, as the user named it.
        key: The path to this table, ``""`` for the top.

    Raises:
        InputError: ``value`` is not a table.
    """

    __slots__ = ("key", "path", "value")

    def __init__(self, value: object, *, path: str, key: str = "") -> None:
        self.path = path
        self.key = key
        if not isinstance(value, dict):
            raise self.error(f"expected a table, found {describe(value)}")
        self.value: Mapping[str, Any] = value

    def __contains__(self, name: str) -> bool:
        return name in self.value

    def key_of(self, name: str | int | None = None) -> str:
        """The path to a member of this table (or to the table itself)."""
        if name is None:
            return self.key
        if isinstance(name, int):
            return f"{self.key}[{name}]"
        return f"{self.key}.{name}" if self.key else name

    def place(self, name: str | int | None = None) -> Place:
        """Where a member of this table (or the table itself) stands."""
        return Place(path=self.path, key=self.key_of(name) or None)

    def error(self, problem: str, name: str | int | None = None) -> InputError:
        """An error about a member of this table, or about the table itself."""
        return InputError(problem, path=self.path, key=self.key_of(name) or None)

    def get(self, name: str, kind: type[T]) -> T | None:
        """A member of the given type, None when absent.

        Raises:
            InputError: It is there and has another type.
        """
        value = self.value.get(name)
        if value is None and name not in self.value:
            return None
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.error(f"expected {_NOUNS[kind]}, found {describe(value)}", name)
        return value

    def need(self, name: str, kind: type[T]) -> T:
        """A member of the given type that must be there.

        Raises:
            InputError: It is absent or has another type.
        """
        value = self.get(name, kind)
        if value is None:
            raise self.error(f"expected {_NOUNS[kind]}, found nothing", name)
        return value

    def table(self, name: str) -> Fields:
        """A member table; an empty one when absent."""
        return Fields(self.value.get(name, {}), path=self.path, key=self.key_of(name))

    def tables(self, name: str) -> list[Fields]:
        """A member array of tables; empty when absent."""
        values = self.get(name, list) or []
        key = self.key_of(name)
        return [Fields(v, path=self.path, key=f"{key}[{i}]") for i, v in enumerate(values)]

    def strings(self, name: str) -> list[str]:
        """A member array of strings; empty when absent."""
        values = self.get(name, list) or []
        for i, value in enumerate(values):
            if not isinstance(value, str):
                raise self.error(f"expected a string, found {describe(value)}", f"{name}[{i}]")
        return values


def parse_toml(text: str, *, path: str) -> Fields:
    """Parse a whole TOML file.

    Raises:
        InputError: The text is not TOML; the line is given.
    """
    try:
        return Fields(tomli.loads(text), path=path)
    except tomli.TOMLDecodeError as error:
        raise InputError(f"not valid TOML: {error.msg}", path=path, line=error.lineno) from None
    except (RecursionError, ValueError):
        raise InputError(
            "not valid TOML: nested too deeply or a number too long", path=path
        ) from None


def parse_json(text: str, *, path: str) -> Fields:
    """Parse a whole JSON file whose top is an object.

    Raises:
        InputError: The text is not JSON, or its top is not an object.
    """
    try:
        return Fields(json.loads(text), path=path)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error.msg}", path=path, line=error.lineno) from None
    except (RecursionError, ValueError):
        raise InputError(
            "not valid JSON: nested too deeply or a number too long", path=path
        ) from None

"""Markers as expressions over atoms, read from what packaging prints.

Source: PEP 508, https://packaging.python.org/specifications/dependency-specifiers/
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName

__all__ = ["Atom", "Combination", "Expression", "UnreadableMarker", "atoms_of", "parse_expression"]


class UnreadableMarker(ValueError):
    """packaging parses the marker but cannot evaluate it, such as ``python_version ~= "3"``."""


@dataclass(frozen=True, slots=True)
class Atom:
    """One comparison of a marker variable with a literal.

    Attributes:
        text: The comparison as it stands in the marker.
        variable: The marker variable.
        operator: The comparison operator, ``in`` and ``not in`` included.
        literal: What the variable is compared with.
        reversed: Whether the literal stands on the left (``"linux" in sys_platform``).
    """

    text: str
    variable: str
    operator: str
    literal: str
    reversed: bool

    def holds(self, value: str | frozenset[str]) -> bool:
        """Whether packaging finds the comparison true when the variable has this value.

        Raises:
            UnreadableMarker: packaging refuses to compare the two.
        """
        return _holds(self.text, self.variable, value)


@functools.lru_cache(maxsize=65536)
def _holds(text: str, variable: str, value: str | frozenset[str]) -> bool:
    try:
        return Marker(text).evaluate_prepared({variable: value})
    except (UndefinedComparison, UndefinedEnvironmentName, ValueError) as error:
        raise UnreadableMarker(str(error).partition("\n")[0]) from None


@dataclass(frozen=True, slots=True)
class Combination:
    """Several expressions joined by ``and`` or ``or``."""

    operator: Literal["and", "or"]
    parts: tuple[Expression, ...]


Expression = Atom | Combination

_TOKEN = re.compile(r"""\s*([()]|"[^"]*"|'[^']*'|[A-Za-z_.]+|===|[=~!<>]=|[<>])""")


@functools.lru_cache(maxsize=16384)
def parse_expression(text: str) -> Expression:
    """Read the text of a marker that packaging has accepted.

    Args:
        text: ``str(marker)``.

    Returns:
        Its atoms, joined by ``and`` and ``or``.

    Raises:
        UnreadableMarker: Two literals are compared, or the text is no marker after all.
    """
    tokens = _TOKEN.findall(text)
    try:
        expression, rest = _parse_or(tokens, 0)
    except IndexError:
        raise UnreadableMarker(f"{text!r} ends too early") from None
    if rest != len(tokens):
        raise UnreadableMarker(f"unexpected {tokens[rest]!r} in marker")
    return expression


def _parse_or(tokens: Sequence[str], at: int) -> tuple[Expression, int]:
    return _parse_joined(tokens, at, "or")


def _parse_joined(
    tokens: Sequence[str], at: int, operator: Literal["and", "or"]
) -> tuple[Expression, int]:
    parts = []
    while True:
        if operator == "or":
            part, at = _parse_joined(tokens, at, "and")
        elif tokens[at] == "(":
            part, at = _parse_or(tokens, at + 1)
            at += 1
        else:
            part, at = _parse_atom(tokens, at)
        parts.append(part)
        if at >= len(tokens) or tokens[at] != operator:
            break
        at += 1
    return (parts[0] if len(parts) == 1 else Combination(operator, tuple(parts))), at


def _parse_atom(tokens: Sequence[str], at: int) -> tuple[Expression, int]:
    left, operator = tokens[at], tokens[at + 1]
    if operator == "not":
        at += 1
        operator = "not in"
    right = tokens[at + 2]
    text = f"{left} {operator} {right}"
    if left[0] not in "\"'":
        # packaging takes a variable on the right for the literal text of its name.
        return Atom(text, left, operator, right.strip("\"'"), False), at + 3
    if right[0] in "\"'":
        raise UnreadableMarker(f"{text} compares two literals")
    return Atom(text, right, operator, left[1:-1], True), at + 3


def atoms_of(expression: Expression) -> Iterator[Atom]:
    """All atoms of an expression, from left to right."""
    if isinstance(expression, Atom):
        yield expression
    else:
        for part in expression.parts:
            yield from atoms_of(part)

"""Requirement lines and extras: put under one, freed of one, joined with other conditions.

Source: PEP 508, https://packaging.python.org/specifications/dependency-specifiers/
"""

from __future__ import annotations

from packaging.markers import Marker
from packaging.utils import canonicalize_name

from distcycle.errors import InputError
from distcycle.markers import (
    Atom,
    Combination,
    Expression,
    UnreadableMarker,
    atoms_of,
    parse_expression,
)
from distcycle.model import Extra, Requirement

__all__ = ["assume_extra", "holds_without_extra", "mentions_extra", "on_condition", "under_extra"]

_OPERATORS = {"==": True, "!=": False}


def mentions_extra(marker: Marker | None) -> bool:
    """Whether a marker asks for an extra at all."""
    if marker is None:
        return False
    return any(atom.variable == "extra" for atom in atoms_of(_expression(marker)))


def holds_without_extra(marker: Marker | None) -> bool:
    """Whether a marker can hold where no extra is requested."""
    return assume_extra(marker, None) is not False


def assume_extra(marker: Marker | None, extra: Extra | None) -> str | bool:
    """What is left of a marker where one extra is requested.

    Args:
        marker: The marker; None for everywhere.
        extra: The extra; None for none.

    Returns:
        What the marker still asks for, or whether it holds whatever else is so.
    """
    if marker is None:
        return True
    left = _assume(_expression(marker), extra)
    return left if isinstance(left, bool) else _spell(left)


def under_extra(requirement: Requirement, extra: Extra) -> str:
    """A requirement line that holds only where an extra is requested.

    Args:
        requirement: The requirement.
        extra: The extra.

    Returns:
        The line as declared, its marker joined with the extra.

    Raises:
        InputError: Its marker cannot be read.
    """
    front, marker = _split(requirement)
    own = f"{_grouped(requirement.marker, marker)} and " if marker else ""
    return f'{front}; {own}extra == "{extra}"'


def on_condition(requirement: Requirement, *conditions: str | bool) -> str:
    """A requirement line that holds where all of some conditions do.

    Args:
        requirement: The requirement; its own marker is left out.
        conditions: Markers, or True for what asks nothing.

    Returns:
        The line.
    """
    asked = list(dict.fromkeys(c for c in conditions if isinstance(c, str)))
    front = _split(requirement)[0]
    if not asked:
        return front.rstrip()
    if len(asked) == 1:
        return f"{front}; {asked[0]}"
    return f"{front}; " + " and ".join(_grouped(Marker(text), text) for text in asked)


def _split(requirement: Requirement) -> tuple[str, str]:
    """A line as declared, without its marker; and the marker, ``""`` for none.

    The first part ends in white space where what is put after it must be set apart.
    """
    if requirement.problem is not None and ";" in requirement.text and requirement.marker is None:
        raise InputError(f"unreadable requirement: {requirement.problem}", key="METADATA")
    if requirement.url is None:
        front, _, marker = requirement.text.partition(";")
        return front, marker.strip()
    # A URL may hold ";", so a marker after one is set apart by white space.
    front, _, marker = requirement.text.partition(" ;")
    return f"{front} ", marker.strip()


def _grouped(marker: Marker | None, text: str) -> str:
    """The text of a marker such that ``and`` can follow."""
    expression = None if marker is None else _expression(marker)
    is_or = isinstance(expression, Combination) and expression.operator == "or"
    return f"({text})" if is_or else text


def _expression(marker: Marker) -> Expression:
    try:
        return parse_expression(str(marker))
    except UnreadableMarker as error:
        raise InputError(f"unreadable marker: {error}", key="METADATA") from None


def _assume(expression: Expression, extra: Extra | None) -> Expression | bool:
    if isinstance(expression, Atom):
        if expression.variable != "extra" or expression.operator not in _OPERATORS:
            return expression
        named = canonicalize_name(expression.literal) == extra
        return named is _OPERATORS[expression.operator]
    return _join(expression, [_assume(part, extra) for part in expression.parts])


def _join(whole: Combination, parts: list[Expression | bool]) -> Expression | bool:
    decisive = whole.operator == "or"
    if any(part is decisive for part in parts):
        return decisive
    open_parts = [part for part in parts if not isinstance(part, bool)]
    if not open_parts:
        return not decisive
    if len(open_parts) == 1:
        return open_parts[0]
    return Combination(whole.operator, tuple(open_parts))


def _spell(expression: Expression) -> str:
    if isinstance(expression, Atom):
        return expression.text
    parts = (
        f"({_spell(part)})" if isinstance(part, Combination) else _spell(part)
        for part in expression.parts
    )
    return f" {expression.operator} ".join(parts)

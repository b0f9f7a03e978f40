"""Requirement lines, read leniently: an edge needs name, extras and marker, not the specifier.

Source: PEP 508, https://packaging.python.org/specifications/dependency-specifiers/
"""

from __future__ import annotations

import functools
import re
from dataclasses import replace

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as _Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from distcycle.model import Extra, Place, Requirement

__all__ = ["parse_marker", "parse_requirement", "parse_specifier"]

_HEAD = re.compile(
    r"\s*(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[(?P<extras>[^\]]*)\])?"
)
# Python refuses to write numbers of more than 4300 digits, and no release has a tenth of that.
_LONGEST_VERSION = 400
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\Z")


def parse_requirement(
    text: str,
    *,
    extra: Extra | None = None,
    package: int | None = None,
    place: Place | None = None,
) -> Requirement:
    """Read one requirement line; what cannot be read is named in ``problem``, and the edge kept.

    Args:
        text: The line in PEP 508 syntax; folded white space is allowed.
        extra: The extra under which the format lists it, if any.
        package: The package entry that the lock binds it to, if any.
        place: Where it stands in the input.

    Returns:
        The requirement. With an unreadable marker the requirement holds everywhere.

    Raises:
        ValueError: Not even a project name could be found.
    """
    requirement = _parse(" ".join(text.split()))
    if extra is None and package is None and place is None:
        return requirement
    return replace(requirement, extra=extra, package=package, place=place)


@functools.lru_cache(maxsize=65536)
def _parse(text: str) -> Requirement:
    try:
        parsed = _Requirement(text)
    except (InvalidRequirement, ValueError, RecursionError) as error:
        return _salvage(text, str(error).partition("\n")[0])
    if any(len(specifier.version) > _LONGEST_VERSION for specifier in parsed.specifier):
        return _salvage(text, f"a version of more than {_LONGEST_VERSION} characters")
    return Requirement(
        name=canonicalize_name(parsed.name),
        extras=tuple(sorted({canonicalize_name(name) for name in parsed.extras})),
        specifier=parsed.specifier,
        marker=parsed.marker,
        url=parsed.url,
        text=text,
    )


def _salvage(text: str, problem: str) -> Requirement:
    """Keep name, extras and, where it stands on its own after a ``;``, the marker."""
    head = _HEAD.match(text)
    if head is None:
        raise ValueError(f"no project name in {text[:100]!r}")
    names = [name.strip() for name in (head["extras"] or "").split(",")]
    extras = sorted({canonicalize_name(name) for name in names if _NAME.match(name)})
    rest = text[head.end() :].strip()
    url = None
    if rest.startswith("@"):
        # A URL may hold ";", so a marker after one must be set apart by white space.
        target, _, tail = rest[1:].strip().partition(" ")
        url, _, marker_text = target, *tail.partition(";")[1:]
    else:
        marker_text = rest.partition(";")[2]
    marker = parse_marker(marker_text) if marker_text.strip() else None
    return Requirement(
        name=canonicalize_name(head["name"]),
        extras=tuple(extras),
        marker=None if isinstance(marker, str) else marker,
        url=url,
        text=text,
        problem=problem,
    )


@functools.lru_cache(maxsize=16384)
def parse_marker(text: str) -> Marker | str:
    """Read a marker.

    Args:
        text: The marker, without ``;``.

    Returns:
        The marker, or what is wrong with the text in one line.
    """
    try:
        return Marker(text.strip())
    except (InvalidMarker, ValueError, RecursionError) as error:
        return str(error).partition("\n")[0] or "invalid marker"


@functools.lru_cache(maxsize=16384)
def parse_specifier(text: str) -> SpecifierSet | None:
    """Read a version specifier set (PEP 440), such as Requires-Python.

    Args:
        text: Comma-separated specifiers.

    Returns:
        The set, or None when it cannot be read.
    """
    try:
        return SpecifierSet(text)
    except (InvalidSpecifier, ValueError):
        return None

"""Dependencies as Poetry writes them, in poetry.lock and in pyproject.toml alike.

A dependency is a constraint, a table, or an array of either: several constraints of one name, told
apart by their markers.

Source: https://python-poetry.org/docs/dependency-specification/
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from distcycle.errors import InputError
from distcycle.model import Extra, Place, Requirement
from distcycle.readers.fields import Fields, describe
from distcycle.readers.poetry_constraint import parse_constraint, python_markers
from distcycle.requirements import parse_marker, parse_requirement

__all__ = [
    "Dependency",
    "build_requirement",
    "join_markers",
    "parse_extra_text",
    "read_dependency",
    "vcs_url",
]

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\Z")
_EXTRA_TEXT = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[(?P<extras>[^\]]*)\])?\s*"
    r"(?:\((?P<constraint>[^()]*)\))?\s*(?:;\s*(?P<marker>.+))?\Z"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """One constraint of a dependency.

    Attributes:
        requirement: What it says, read as a requirement.
        optional: Only an extra asks for it.
        spec: The table it came from, for what binds it to one source; empty for a plain constraint.
    """

    requirement: Requirement
    optional: bool = False
    spec: Mapping[str, Any]


def read_dependency(fields: Fields, name: str) -> Iterator[Dependency]:
    """Read all constraints of one dependency.

    Args:
        fields: The table of dependencies.
        name: The member to read, as it is spelled there.

    Yields:
        Each constraint; one that cannot be read has ``requirement.problem`` and holds everywhere.

    Raises:
        ValueError: ``name`` is not a project name.
    """
    if not _NAME.match(name):
        raise ValueError(f"expected a project name, found {name[:100]!r}")
    value = fields.value[name]
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield _read_constraint(name, item, fields.place(f"{name}[{i}]"))
    else:
        yield _read_constraint(name, value, fields.place(name))


def _read_constraint(name: str, value: object, place: Place) -> Dependency:
    if isinstance(value, str):
        return Dependency(requirement=build_requirement(name, value, place=place), spec={})
    if not isinstance(value, dict):
        problem = f"expected a string or a table, found {describe(value)}"
        return Dependency(requirement=_unreadable(name, problem, place), spec={})
    table = Fields(value, path=place.path, key=place.key or "")
    try:
        return _read_table(name, table, place)
    except InputError as error:
        where = Place(path=place.path, key=error.key)
        return Dependency(requirement=_unreadable(name, error.problem, where), spec={})


def _read_table(name: str, table: Fields, place: Place) -> Dependency:
    requirement = build_requirement(
        name,
        table.get("version", str) or "*",
        extras=table.strings("extras"),
        marker=table.get("markers", str) or "",
        python=table.get("python", str) or "*",
        url=_direct_reference(table),
        place=place,
    )
    optional = table.get("optional", bool) or False
    return Dependency(requirement=requirement, optional=optional, spec=table.value)


def _unreadable(name: str, problem: str, place: Place) -> Requirement:
    return Requirement(name=canonicalize_name(name), text=name, problem=problem, place=place)


def _direct_reference(table: Fields) -> str | None:
    git = table.get("git", str)
    if git is not None:
        reference = next((r for k in ("rev", "tag", "branch") if (r := table.get(k, str))), None)
        return vcs_url("git", git, reference, table.get("subdirectory", str))
    path = table.get("path", str) or table.get("file", str)
    return table.get("url", str) if path is None else f"file:{path}"


def vcs_url(
    vcs: str, url: str, reference: str | None = None, subdirectory: str | None = None
) -> str:
    """A repository as a direct reference (PEP 440), such as ``git+https://…@REV#subdirectory=DIR``.

    Args:
        vcs: The tool, such as ``git``.
        url: The repository.
        reference: The commit, tag or branch.
        subdirectory: The folder of the project in it.
    """
    revision = f"@{reference}" if reference else ""
    fragment = f"#subdirectory={subdirectory}" if subdirectory else ""
    return f"{vcs}+{url}{revision}{fragment}"


def build_requirement(
    name: str,
    constraint: str,
    *,
    extras: Collection[str] = (),
    marker: str = "",
    python: str = "*",
    url: str | None = None,
    extra: Extra | None = None,
    place: Place | None = None,
) -> Requirement:
    """Put a requirement together from the parts that Poetry keeps apart.

    Args:
        name: The project.
        constraint: The versions, as a Poetry constraint.
        extras: The extras of it that are requested.
        marker: A marker, ``""`` for none.
        python: A Poetry constraint on Python, which must hold too.
        url: A direct reference.
        extra: The extra of the declaring package under which it is listed.
        place: Where it stands.

    Returns:
        The requirement. Constraints that one specifier set cannot say stand in ``text`` alone.
    """
    terms = _read_terms(constraint, marker, python)
    requested = tuple(sorted({canonicalize_name(item) for item in extras})) if extras else ()
    text = f"{name}[{','.join(requested)}]" if requested else name
    text += f" @ {url}" if url else terms.versions
    return Requirement(
        name=canonicalize_name(name),
        extras=requested,
        specifier=terms.specifier,
        marker=terms.marker,
        url=url,
        text=f"{text} ; {terms.condition}" if terms.condition else text,
        problem=terms.problem,
        extra=extra,
        place=place,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Terms:
    """The parts of a requirement that many requirements share, and what is wrong with them."""

    specifier: SpecifierSet
    versions: str
    marker: Marker | None
    condition: str
    problem: str | None


@functools.lru_cache(maxsize=16384)
def _read_terms(constraint: str, marker: str, python: str) -> _Terms:
    specifier, versions, problem = _read_versions(constraint)
    alternatives: tuple[str, ...] = ()
    try:
        alternatives = python_markers(python)
    except ValueError as error:
        problem = problem or f"python: {error}"
    condition = join_markers("and", (join_markers("or", alternatives), marker))
    parsed = parse_marker(condition) if condition else None
    if isinstance(parsed, str):
        parsed, problem = None, problem or parsed
    return _Terms(
        specifier=specifier,
        versions=versions,
        marker=parsed,
        condition=condition,
        problem=problem,
    )


def _read_versions(constraint: str) -> tuple[SpecifierSet, str, str | None]:
    """The specifier of a constraint, its text as a requirement writes it, and what is wrong."""
    try:
        parsed = parse_constraint(constraint)
    except ValueError as error:
        return SpecifierSet(), f" ({constraint})", str(error)
    if parsed.specifier is None:
        return SpecifierSet(), f" ({parsed.text})", None
    return parsed.specifier, parsed.text, None


def join_markers(operator: str, markers: Iterable[str]) -> str:
    """Join markers with ``and`` or ``or``; empty ones count for nothing.

    Args:
        operator: ``and`` or ``or``.
        markers: Markers as text.
    """
    present = [marker for marker in markers if marker]
    if operator == "and" and len(present) > 1:
        present = [f"({marker})" if " or " in marker else marker for marker in present]
    return f" {operator} ".join(present)


def parse_extra_text(text: str, *, extra: Extra, place: Place) -> Requirement:
    """Read a requirement that ``[package.extras]`` lists, such as ``alpha[foo] (>=1) ; marker``.

    Args:
        text: The requirement; its versions may be a Poetry constraint.
        extra: The extra that lists it.
        place: Where it stands.

    Raises:
        ValueError: Not even a project name could be found.
    """
    match = _EXTRA_TEXT.match(text)
    if match is None:
        return parse_requirement(text, extra=extra, place=place)
    extras = (match["extras"] or "").replace(",", " ").split()
    return build_requirement(
        match["name"],
        match["constraint"] or "*",
        extras=extras,
        marker=match["marker"] or "",
        extra=extra,
        place=place,
    )

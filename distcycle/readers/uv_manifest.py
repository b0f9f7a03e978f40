"""What a uv.lock says beside its packages: requests, amendments, conflicts and default groups.

Requirements stand here as a person declared them, with a specifier, and not as uv resolved them.

Source: https://docs.astral.sh/uv/reference/settings/ (``override-dependencies``,
``exclude-dependencies``, ``dependency-metadata``, ``conflicts``, ``default-groups``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from packaging.utils import NormalizedName, canonicalize_name

from distcycle.errors import InputError
from distcycle.model import Amendment, Requirement
from distcycle.readers import Document, decode_utf8
from distcycle.readers.entries import (
    Problems,
    elements,
    members,
    read_name,
    read_names,
    read_version,
)
from distcycle.readers.fields import Fields, parse_toml
from distcycle.requirements import parse_requirement

__all__ = [
    "DEV_ONLY",
    "Groups",
    "name_choice",
    "read_amendments",
    "read_conflicts",
    "read_default_groups",
    "read_project_default_groups",
    "read_requests",
]

# The names of groups that uv installs when no flag is given; None for all.
Groups: TypeAlias = frozenset[NormalizedName] | None

# What uv takes where nothing else is said.
DEV_ONLY: Groups = frozenset({canonicalize_name("dev")})


def read_default_groups(fields: Fields, otherwise: Groups) -> Groups:
    """The member ``default-groups`` of a table; ``otherwise`` where the table has none.

    Raises:
        InputError: It is neither an array of strings nor ``"all"``.
    """
    if "default-groups" not in fields:
        return otherwise
    if fields.value["default-groups"] == "all":
        return None
    return frozenset(canonicalize_name(name) for name in fields.strings("default-groups"))


def read_project_default_groups(document: Document, problems: Problems) -> Groups:
    """The default groups that the pyproject.toml beside a lock sets."""
    beside = document.beside("pyproject.toml")
    if beside is None:
        return DEV_ONLY
    path, data = beside
    with problems.tolerate():
        top = parse_toml(decode_utf8(Document(path=path, data=data)), path=path)
        return read_default_groups(top.table("tool").table("uv"), DEV_ONLY)
    return DEV_ONLY


def read_requests(fields: Fields, name: str, problems: Problems) -> Iterator[Requirement]:
    """The requirements that a member array declares; unreadable ones become problems."""
    listed: list[tuple[str, Any]] = []
    with problems.tolerate(code="unreadable-requirement"):
        listed = members(fields, name)
    for key, value in listed:
        with problems.tolerate(code="unreadable-requirement"):
            yield _read_requirement(value, path=fields.path, key=key)


def _read_requirement(value: object, *, path: str, key: str) -> Requirement:
    """Read ``"name>=1 ; marker"`` or ``{ name = "name", specifier = ">=1", marker = "..." }``."""
    if isinstance(value, str):
        text, place = value, Fields({}, path=path, key=key).place()
    else:
        fields = Fields(value, path=path, key=key)
        text, place = _requirement_text(fields), fields.place()
    try:
        return parse_requirement(text, place=place)
    except ValueError as error:
        raise InputError(str(error), path=path, key=key) from None


def _requirement_text(fields: Fields) -> str:
    text: str = read_name(fields)
    if extras := read_names(fields, "extras"):
        text += f"[{','.join(extras)}]"
    if url := fields.get("url", str):
        text += f" @ {url}"
    elif git := fields.get("git", str):
        text += f" @ git+{git}"
    else:
        text += fields.get("specifier", str) or ""
    marker = fields.get("marker", str)
    return f"{text} ; {marker}" if marker else text


def read_amendments(top: Fields, problems: Problems) -> tuple[Amendment, ...]:
    """Collect what uv takes out and replaces: overrides, excludes, dependency-metadata.

    An override's ``adds`` stand where ``removes`` removed something, and nowhere else. Constraints
    are not amendments: they neither remove nor add an edge.
    """
    found: list[Amendment] = []
    with problems.tolerate():
        manifest = top.table("manifest")
        for read_one, name in (
            (_read_override, "overrides"),
            (_read_exclude, "excludes"),
            (_read_metadata, "dependency-metadata"),
        ):
            for key, value in members(manifest, name):
                with problems.tolerate():
                    found.append(read_one(value, top.path, key, problems))
    return tuple(_merge_overrides(found))


def _read_override(value: object, path: str, key: str, problems: Problems) -> Amendment:
    fields = Fields(value, path=path, key=key)
    if "package" not in fields:
        override = _read_requirement(value, path=path, key=key)
        return Amendment(
            package=None, removes=(override.name,), adds=(override,), place=fields.place()
        )
    target = fields.table("package")
    adds = tuple(read_requests(fields, "dependencies", problems))
    return Amendment(
        package=read_name(target),
        version=read_version(target),
        removes=tuple(dict.fromkeys(requirement.name for requirement in adds)),
        adds=adds,
        place=fields.place(),
    )


def _read_exclude(value: object, path: str, key: str, _problems: Problems) -> Amendment:
    if isinstance(value, str):
        named = Fields({"name": value}, path=path, key=key)
        return Amendment(package=None, removes=(read_name(named),), place=named.place())
    fields = Fields(value, path=path, key=key)
    target = fields.table("package")
    return Amendment(
        package=read_name(target),
        version=read_version(target),
        removes=read_names(fields, "dependencies"),
        place=fields.place(),
    )


def _read_metadata(value: object, path: str, key: str, problems: Problems) -> Amendment:
    fields = Fields(value, path=path, key=key)
    return Amendment(
        package=read_name(fields),
        version=read_version(fields),
        removes=None,
        adds=tuple(read_requests(fields, "requires-dist", problems)),
        place=fields.place(),
    )


def _merge_overrides(found: list[Amendment]) -> Iterator[Amendment]:
    """Several overrides of one project replace a requirement together, each under its marker."""
    merged: dict[object, Amendment] = {}
    for amendment in found:
        unscoped = amendment.package is None and amendment.adds
        key = amendment.removes if unscoped else id(amendment)
        first = merged.get(key)
        merged[key] = (
            amendment if first is None else replace(first, adds=first.adds + amendment.adds)
        )
    yield from merged.values()


def read_conflicts(top: Fields, problems: Problems) -> tuple[tuple[str, ...], ...]:
    """Sets of choices of which at most one can be made, named as :func:`name_choice` does."""
    found: list[tuple[str, ...]] = []
    with problems.tolerate():
        for key, value in members(top, "conflicts"):
            with problems.tolerate():
                items = elements(value, path=top.path, key=key)
                found.append(tuple(_conflict_name(item, top.path, key) for key, item in items))
    return tuple(found)


def _conflict_name(value: object, path: str, key: str) -> str:
    item = Fields(value, path=path, key=key)
    package = read_name(item, "package")
    for kind in ("extra", "group"):
        if kind in item:
            return name_choice(package, kind, read_name(item, kind))
    return name_choice(package)


def name_choice(package: NormalizedName, kind: str = "project", name: str = "") -> str:
    """The ``extra`` by which uv's markers say that a project, or a part of it, was chosen.

    It holds the length of the project's name, for ``-`` may stand in all its parts.

    Args:
        package: The project.
        kind: ``project``, ``extra`` or ``group``.
        name: The extra or group.
    """
    choice = f"{kind}-{len(package)}-{package}"
    return f"{choice}-{name}" if name else choice

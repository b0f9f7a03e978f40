"""One requirement of a requirements file: what it asks for, and the package that it stands for.

Source: PEP 508; pip, "Requirement Specifiers" and "VCS Support",
https://pip.pypa.io/reference/requirement-specifiers/
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import tomli
from packaging.utils import NormalizedName, canonicalize_name

from distcycle.errors import InputError
from distcycle.model import Package, Place, Requirement, SourceKind
from distcycle.readers import Document
from distcycle.readers.pyproject import read_static
from distcycle.readers.references import (
    Reference,
    is_reference,
    parse_reference,
    pinned_version,
    refer,
)
from distcycle.readers.requirement_lines import Command
from distcycle.requirements import parse_requirement

__all__ = ["Entry", "NamelessError", "NotARequirementError", "parse_entry"]

_NAMED_REFERENCE = re.compile(
    r"(?P<head>[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[^\]]*\])?)\s*@\s*"
    r"(?P<target>\S*[:/.\\]\S*)(?P<tail>.*)\Z",
    re.DOTALL,
)
# What packaging refuses is still a requirement if its name stands alone or an operator follows.
_LIKE_REQUIREMENT = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[^\]]*\]\s*)?(?:\(\s*)?(?:===?|[~!<>]=|[<>;@]|\Z)"
)
_MARKER_AFTER_URL = re.compile(r"\s;|;\s|;\Z")


class NotARequirementError(ValueError):
    """The line is no requirement at all."""


class NamelessError(ValueError):
    """The line leads somewhere, but what project is there cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A requirement, and the package that it stands for unless another line pins it."""

    requirement: Requirement
    package: Package


def parse_entry(
    command: Command,
    *,
    place: Place,
    hashes: tuple[tuple[str, str], ...] = (),
    via: tuple[NormalizedName, ...] = (),
    asked: bool = False,
    beside: Callable[[str], tuple[str, bytes] | None] = lambda _name: None,
) -> Entry:
    """Read one requirement in any of the forms that pip accepts.

    Args:
        command: The line; its requirement is not empty.
        place: Where it stands.
        hashes: What ``--hash`` says.
        via: Who requires it, as the compiler's comments say.
        asked: Whether the compiler's comments say that a file asks for it.
        beside: Finds the pyproject.toml of a local project whose name nothing else tells.

    Raises:
        NotARequirementError: The line is none.
        NamelessError: It is a direct reference that does not tell its project.
    """
    requirement, reference = _parse(command, beside)
    requirement = replace(requirement, place=place)
    package = Package(
        name=requirement.name,
        version=None if requirement.problem else pinned_version(requirement.specifier),
        hashes=hashes,
        marker=requirement.marker,
        via=via,
        asked=asked,
        place=place,
    )
    if reference:
        package = _with_project(refer(package, reference), beside)
    return Entry(requirement=requirement, package=package)


def _parse(
    command: Command, beside: Callable[[str], tuple[str, bytes] | None]
) -> tuple[Requirement, Reference | None]:
    text = command.requirement
    named = _NAMED_REFERENCE.match(text)
    if named:
        return _parse_named(named, editable=command.editable)
    if not command.editable and not is_reference(text.partition(";")[0].strip()):
        if not _LIKE_REQUIREMENT.match(text):
            raise NotARequirementError("expected a requirement or one of pip's options")
        return parse_requirement(text), None
    target, marker = _split_marker(text)
    if re.search(r"\s", target):
        raise NotARequirementError("expected a requirement, a URL or a path")
    reference = parse_reference(target, editable=command.editable)
    name = reference.name or _name_in_project(reference, beside)
    if name is None:
        raise NamelessError(
            "no project name can be told from the reference; write it as 'name @ reference'"
        )
    extras = f"[{','.join(reference.extras)}]" if reference.extras else ""
    requirement = parse_requirement(f"{name}{extras}{marker}")
    return replace(requirement, url=reference.target), reference


def _with_project(package: Package, beside: Callable[[str], tuple[str, bytes] | None]) -> Package:
    """A local project with what its pyproject.toml says it requires, where that is static."""
    found = _beside_project(package.source, package.url or "", beside)
    try:
        project = read_static(Document(path=found[0], data=found[1])) if found else None
    except InputError:
        return package
    if project is None:
        return package
    roots = [root for root in project.roots if root.group is None]
    extras = dict.fromkeys(root.extra for root in roots if root.extra is not None)
    return replace(
        package,
        requirements=tuple(replace(root.requirement, extra=root.extra) for root in roots),
        provides_extra=tuple(extras),
    )


def _beside_project(
    source: SourceKind, target: str, beside: Callable[[str], tuple[str, bytes] | None]
) -> tuple[str, bytes] | None:
    """The pyproject.toml of a local project, where it has one."""
    if source not in ("directory", "editable"):
        return None
    folder = re.sub(r"\Afile:(?://)?", "", target).replace("\\", "/")
    return beside(posixpath.normpath(posixpath.join(folder, "pyproject.toml")))


def _name_in_project(
    reference: Reference, beside: Callable[[str], tuple[str, bytes] | None]
) -> NormalizedName | None:
    """The name that a local project's pyproject.toml gives it, where there is one."""
    found = _beside_project(reference.source, reference.target, beside)
    try:
        project = tomli.loads(found[1].decode("utf-8"))["project"] if found else {}
        return canonicalize_name(project["name"], validate=True)
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _parse_named(named: re.Match[str], *, editable: bool) -> tuple[Requirement, Reference]:
    # packaging needs white space before the marker's ";", pip does not.
    target, marker = _split_marker(named["target"] + named["tail"])
    requirement = parse_requirement(f"{named['head']} @ {target}{marker}")
    reference = parse_reference(target.partition(" ")[0], editable=editable)
    return replace(requirement, url=reference.target), reference


def _split_marker(text: str) -> tuple[str, str]:
    """Take a reference and its marker apart; the marker comes with its ``;``."""
    separator = _MARKER_AFTER_URL.search(text)
    if separator is None:
        return text.strip(), ""
    marker = text[separator.end() :].strip()
    return text[: separator.start()].strip(), f" ; {marker}" if marker else ""

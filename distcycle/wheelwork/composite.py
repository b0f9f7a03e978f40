"""What a composite wheel of several projects says of itself, and what its stand-ins say.

Source: Core metadata specifications, https://packaging.python.org/specifications/core-metadata/
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.errors import InputError
from distcycle.metadata.core import parse_metadata
from distcycle.model import Extra, Metadata, Requirement
from distcycle.requirements import parse_requirement
from distcycle.version import __version__
from distcycle.wheelwork.conditions import assume_extra, mentions_extra, on_condition

__all__ = [
    "Member",
    "composite_metadata",
    "member_lines",
    "read_member",
    "stand_in_lines",
    "wheel_text",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A project that goes into a composite.

    Attributes:
        project: The project.
        version: Its version.
        metadata: What its wheel says.
    """

    project: NormalizedName
    version: Version
    metadata: Metadata


Members = Mapping[NormalizedName, Member]


def read_member(project: NormalizedName, version: Version, text: bytes) -> Member:
    """Read what a wheel says of itself.

    Args:
        project: The project.
        version: Its version.
        text: Its METADATA.

    Returns:
        The member.

    Raises:
        InputError: A header that must be carried over cannot be read.
    """
    metadata = parse_metadata(text)
    unreadable = [r.problem for r in metadata.requires if r.problem]
    if metadata.problems or unreadable:
        raise InputError((*metadata.problems, *unreadable)[0] or "", key="METADATA")
    return Member(project=project, version=version, metadata=metadata)


def member_lines(member: Member, members: Members) -> tuple[str, ...]:
    """What a member requires from outside.

    A requirement of another member goes, for its files are in the composite. Where it requests an
    extra of it, what that extra requires takes its place.

    Args:
        member: The member.
        members: All members.

    Returns:
        The requirement lines, in file order, each once.

    Raises:
        InputError: It always requires a member at another version.
    """
    lines: dict[str, str] = {}
    for requirement in member.metadata.requires:
        sibling = members.get(requirement.name)
        if sibling is None:
            lines.setdefault(_key(requirement.text), requirement.text)
            continue
        _expect_version(member, requirement, sibling)
        condition = str(requirement.marker) if requirement.marker else True
        for extra in requirement.extras:
            for line in _extra_lines(sibling, extra, (condition,), members, ()):
                lines.setdefault(_key(line), line)
    return tuple(lines.values())


def _key(line: str) -> str:
    """Equal for lines that differ in quotes and white space only."""
    return "".join(line.split()).replace("'", '"').lower()


def _expect_version(member: Member, requirement: Requirement, sibling: Member) -> None:
    # A line with a marker may be meant for environments that are not judged here.
    fits = requirement.specifier.contains(sibling.version, prereleases=True)
    if requirement.marker is None and not fits:
        raise InputError(
            f"{member.project} {member.version} requires {requirement.text}, "
            f"and {sibling.project} is {sibling.version}"
        )


def _extra_lines(
    member: Member,
    extra: Extra,
    conditions: tuple[str | bool, ...],
    members: Members,
    path: tuple[tuple[NormalizedName, Extra], ...],
) -> Iterator[str]:
    """What an extra of a member adds from outside, on conditions; extras of members followed."""
    here = (member.project, extra)
    if here in path:
        return
    for requirement in member.metadata.requires:
        left = assume_extra(requirement.marker, extra)
        if left is False or not mentions_extra(requirement.marker):
            continue
        sibling = members.get(requirement.name)
        if sibling is None:
            yield on_condition(requirement, *conditions, left)
            continue
        for further in requirement.extras:
            yield from _extra_lines(sibling, further, (*conditions, left), members, (*path, here))


def stand_in_lines(lines: Iterable[str], composite: str) -> tuple[str, ...]:
    """What a member's stand-in requires.

    Args:
        lines: What the member requires from outside.
        composite: The requirement of the composite.

    Returns:
        The composite, and what the member's own extras add.
    """
    added = (line for line in lines if mentions_extra(parse_requirement(line).marker))
    return (composite, *added)


def composite_metadata(
    name: NormalizedName, version: Version, members: Sequence[Member], licences: Iterable[str]
) -> bytes:
    """METADATA of a composite.

    Args:
        name: Its project.
        version: Its version.
        members: What is in it, sorted.
        licences: The licence files in its ``licenses`` folder.

    Returns:
        The file.

    Raises:
        InputError: No Python, or no version of a member, is what all members require.
    """
    by_name = {member.project: member for member in members}
    required = {_key(line): line for m in members for line in member_lines(m, by_name)}
    extras = dict.fromkeys(extra for m in members for extra in m.metadata.provides_extra)
    labels = [f"{member.project} {member.version}" for member in members]
    fields = [
        ("Metadata-Version", "2.4"),
        ("Name", name),
        ("Version", str(version)),
        ("Summary", f"{', '.join(labels[:-1])} and {labels[-1]} in one wheel"),
        *(("License-File", path) for path in licences),
        *(("Requires-Python", text) for text in _pythons(members)),
        *(("Provides-Dist", f"{m.project} ({m.version})") for m in members),
        *(("Requires-Dist", line) for line in required.values()),
        *(("Provides-Extra", extra) for extra in extras),
    ]
    return "".join(f"{field}: {value}\n" for field, value in fields).encode()


def _pythons(members: Iterable[Member]) -> tuple[str, ...]:
    """What all members require of Python, as one specifier; none when they require nothing."""
    specifiers = [m.metadata.requires_python for m in members]
    joined = functools.reduce(operator.and_, (s for s in specifiers if s), SpecifierSet())
    if joined.is_unsatisfiable():
        raise InputError(f"no Python is what all of them require: {joined}")
    return (str(joined),) if joined else ()


def wheel_text(tags: Iterable[Tag], *, purelib: bool) -> bytes:
    """The WHEEL file of a composite or a stand-in.

    Args:
        tags: Its tags.
        purelib: Whether its root is installed where pure modules are.
    """
    lines = [
        "Wheel-Version: 1.0",
        f"Generator: distcycle {__version__}",
        f"Root-Is-Purelib: {str(purelib).lower()}",
        *(f"Tag: {tag}" for tag in sorted(map(str, tags))),
    ]
    return "".join(f"{line}\n" for line in lines).encode()

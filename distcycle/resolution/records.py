"""What a resolution is asked, asks, and answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Literal, Protocol

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.model import (
    Artefact,
    Extra,
    Facts,
    FileRules,
    Metadata,
    Requirement,
    Snapshot,
    Unknown,
)

__all__ = [
    "Candidate",
    "Identifier",
    "Need",
    "Preference",
    "Resolution",
    "Rules",
    "Source",
    "names_project",
    "needs_of",
]

Preference = Literal["highest", "lowest", "locked"]
Identifier = tuple[str, str]
"""A project and an extra of it, ``""`` for the project itself."""


def names_project(names: Collection[str], project: str, unless: Collection[str] = ()) -> bool:
    """Whether a list of projects of pip's format control has a project in it.

    Args:
        names: The list; ``:all:`` stands for every project.
        project: The project.
        unless: The opposite list, in which a project's own name counts for more than ``:all:``.
    """
    return project in names or (":all:" in names and project not in unless)


class Source(Protocol):
    """Where releases are looked up; :class:`distcycle.metadata.releases.Releases` is one."""

    def versions(self, project: NormalizedName) -> tuple[Version, ...] | Unknown:
        """The versions of a project, newest first, or why none is known."""

    def files(self, project: NormalizedName, version: Version) -> tuple[Artefact, ...] | Unknown:
        """The files of a version, or why there are none."""

    def metadata(self, artefact: Artefact) -> Metadata | Unknown:
        """What a file says of itself, or why that cannot be had."""

    def file_at(self, url: str) -> Artefact | None:
        """The wheel or source distribution that a URL leads to."""

    def version_at(self, url: str) -> Version | None:
        """The version that a URL's file name says; None when it says none."""

    def ahead(self, job: Callable[[], None]) -> None:
        """Do a job in the background, or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What may be chosen, and what first.

    Attributes:
        files: What the input and the user say about files.
        exclude_newer: Files that the index got later, or says no date of, do not count.
        prefer: ``highest`` for the newest version first, ``lowest`` for the oldest, ``locked`` for
            the one in ``locked``, then the newest.
        locked: Versions to keep where they are possible.
        most_rounds: How many choices to make and take back before giving up.
    """

    files: FileRules = field(default_factory=FileRules)
    exclude_newer: datetime | None = None
    prefer: Preference = "highest"
    locked: Mapping[NormalizedName, Version] = field(default_factory=lambda: MappingProxyType({}))
    most_rounds: int = 20_000

    def admits_early(self, project: str) -> bool:
        """Whether versions of a project before a release are as good as releases."""
        return names_project(self.files.pre, project)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One version of a project, or of an extra of it, that may be chosen.

    Attributes:
        name: The project; ``""`` for Python itself.
        extra: The extra, ``""`` for the project itself.
        version: The version; None for what comes from a place that says none.
        url: Where it comes from, when a direct reference says so.
    """

    name: str
    extra: str = ""
    version: Version | None
    url: str | None = None

    def __str__(self) -> str:
        name = f"{self.name}[{self.extra}]" if self.extra else self.name
        return f"{name} {self.version}" if self.version else name


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Need:
    """A requirement as the resolver sees it: one project, or one extra of it.

    Attributes:
        name: The project; ``""`` for Python itself.
        extra: The extra, ``""`` for the project itself.
        specifier: The versions that will do.
        exact: The one version that will do, where that is decided; None otherwise.
        url: The one place that will do, where a direct reference names it.
        parent: What requires it; None for what the input asks for.
        requirement: As declared; None for what is understood: the base of an extra, a Python.
        refusal: Why nothing will do; ``""`` where something may.
    """

    name: str
    extra: str = ""
    specifier: SpecifierSet = field(default_factory=SpecifierSet)
    exact: Version | None = None
    url: str | None = None
    parent: Candidate | None = None
    requirement: Requirement | None = None
    refusal: str = ""

    @property
    def identifier(self) -> Identifier:
        """What it is a requirement of."""
        return (self.name, self.extra)

    def admits(self, version: Version | None) -> bool:
        """Whether a version will do; one that is not known has to."""
        if version is None:
            return True
        if self.exact is not None and version != self.exact:
            return False
        return not self.specifier or self.specifier.contains(version, prereleases=True)


def needs_of(requirement: Requirement, parent: Candidate | None) -> Iterator[Need]:
    """A requirement as the resolver sees it: of the project, and of each extra that it names.

    Args:
        requirement: As declared.
        parent: What declares it; None for the input.
    """
    for extra in ("", *requirement.extras):
        yield Need(
            name=requirement.name,
            extra=extra,
            specifier=requirement.specifier,
            url=requirement.url,
            parent=parent,
            requirement=requirement,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What is installed on some targets.

    Attributes:
        targets: The names of the targets, all of which resolve to this.
        snapshot: The input with the packages that were chosen, each with its files.
        extras: For each package by name the extras that were asked for.
        facts: What was found out on the way.
        notes: What else a reader should know, a line each.
    """

    targets: tuple[str, ...]
    snapshot: Snapshot
    extras: Mapping[NormalizedName, tuple[Extra, ...]]
    facts: Facts
    notes: tuple[str, ...] = ()

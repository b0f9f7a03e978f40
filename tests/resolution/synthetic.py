"""A small index that is held in memory, and what brute force finds in it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.metadata.archive import name_and_version
from distcycle.model import Artefact, Metadata, Place, Requirement, Root, Snapshot, Unknown
from distcycle.requirements import parse_requirement

Index = Mapping[str, Mapping[str, tuple[str, ...]]]
"""For each project and version its Requires-Dist lines."""


class MemorySource:
    """Releases that are pure wheels, each with a METADATA of its own; counts what is asked."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.asked: list[str] = []

    def versions(self, project: NormalizedName) -> tuple[Version, ...] | Unknown:
        self.asked.append(project)
        if project not in self.index:
            return Unknown(reason="not on the index")
        return tuple(sorted(map(Version, self.index[project]), reverse=True))

    def files(self, project: NormalizedName, version: Version) -> tuple[Artefact, ...] | Unknown:
        return (Artefact(filename=f"{project}-{version}-py3-none-any.whl"),)

    def metadata(self, artefact: Artefact) -> Metadata | Unknown:
        name, version, *_ = artefact.filename.split("-")
        requires = tuple(map(parse_requirement, self.index[name][version]))
        extras = dict.fromkeys(e for line in requires for e in extras_named(str(line.marker)))
        return Metadata(
            name=NormalizedName(name),
            version=version,
            requires=requires,
            provides_extra=tuple(map(NormalizedName, extras)),
            metadata_version="2.1",
        )

    def file_at(self, url: str) -> Artefact | None:
        return None

    def version_at(self, url: str) -> Version | None:
        return None

    def ahead(self, job: Callable[[], None]) -> None:
        return


def extras_named(marker: str) -> tuple[str, ...]:
    """The extras that a marker of the form ``extra == "x"`` names."""
    return tuple(marker.split('"')[1::2]) if "extra" in marker else ()


def ask(*lines: str) -> Snapshot:
    """An input that asks for something, each requirement on a line of its own."""
    roots = [
        Root(requirement=parse_requirement(line, place=Place(path="x.in", line=i)))
        for i, line in enumerate(lines, start=1)
    ]
    return Snapshot(path="x.in", kind="requirements", packages=(), roots=tuple(roots))


@dataclass(frozen=True)
class Solution:
    """A set of versions, and the extras that are asked for."""

    versions: Mapping[str, str]
    extras: frozenset[tuple[str, str]]


def solutions(index: Index, roots: tuple[str, ...]) -> Iterator[Solution]:
    """Every set of versions that meets all requirements and has nothing that nobody requires."""
    projects = sorted(index)
    for picks in itertools.product(*((None, *index[p]) for p in projects)):
        versions = {p: v for p, v in zip(projects, picks, strict=True) if v is not None}
        extras = closed(index, versions, roots)
        if extras is not None:
            yield Solution(versions, extras)


def closed(
    index: Index, versions: Mapping[str, str], roots: tuple[str, ...]
) -> frozenset[tuple[str, str]] | None:
    """The nodes that are reached when all is met and nothing is idle; None when it is not so."""
    reached: set[tuple[str, str]] = set()
    pending = [parse_requirement(line) for line in roots]
    while pending:
        requirement = pending.pop()
        version = versions.get(requirement.name)
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            return None
        for extra in ("", *requirement.extras):
            if (requirement.name, extra) not in reached:
                reached.add((requirement.name, extra))
                pending += required(index, requirement.name, version, extra)
    if {name for name, _ in reached} != set(versions):
        return None
    return frozenset(reached)


def required(index: Index, name: str, version: str, extra: str) -> list[Requirement]:
    """What a project itself requires, or what an extra of it adds."""
    lines = map(parse_requirement, index[name][version])
    wanted = (extra,) if extra else ()
    return [line for line in lines if extras_named(str(line.marker)) == wanted]


class Stock(MemorySource):
    """Releases given file by file: any name, hash, date and METADATA.

    Args:
        files: The files, with what METADATA each has; None where none can be had.
    """

    def __init__(self, files: Mapping[Artefact, Metadata | Unknown]) -> None:
        super().__init__({})
        self.said = {file.filename: metadata for file, metadata in files.items()}
        self.listed: dict[str, dict[Version, list[Artefact]]] = {}
        for file in files:
            named = name_and_version(file.filename)
            assert named is not None
            self.listed.setdefault(named[0], {}).setdefault(named[1], []).append(file)

    def versions(self, project: NormalizedName) -> tuple[Version, ...] | Unknown:
        self.asked.append(project)
        if project not in self.listed:
            return Unknown(reason="not on the index")
        return tuple(sorted(self.listed[project], reverse=True))

    def files(self, project: NormalizedName, version: Version) -> tuple[Artefact, ...] | Unknown:
        return tuple(self.listed[project][version])

    def metadata(self, artefact: Artefact) -> Metadata | Unknown:
        self.asked.append(artefact.filename)
        return self.said[artefact.filename]

    def file_at(self, url: str) -> Artefact | None:
        filename = url.rpartition("/")[2]
        return Artefact(filename=filename, url=url) if filename in self.said else None

    def version_at(self, url: str) -> Version | None:
        named = name_and_version(url.rpartition("/")[2])
        return None if named is None else named[1]


def says(filename: str, *requires: str, python: str | None = None, **more: Any) -> Metadata:
    """METADATA of a file, by its name."""
    named = name_and_version(filename)
    assert named is not None
    values = {"name": named[0], "version": str(named[1]), "metadata_version": "2.1", **more}
    return Metadata(
        requires=tuple(map(parse_requirement, requires)),
        requires_python=None if python is None else SpecifierSet(python),
        **values,
    )

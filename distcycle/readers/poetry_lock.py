"""Reads poetry.lock: every version from the first, which names none, to 2.1.

``[package.dependencies]`` is what Poetry resolved; ``[package.extras]`` is what the package
declares. An optional dependency stands in both, and is taken from the first. What stands in the
second alone (the extras that nobody requested, and references of a package to its own extras) is
read from its text.

Source: https://python-poetry.org/docs/basic-usage/#installing-with-poetrylock; Poetry publishes no
specification of the file, so its versions were compared on files that each of them wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import (
    NormalizedName,
    canonicalize_name,
)
from packaging.version import Version

from distcycle.errors import UnsupportedLockVersion
from distcycle.model import (
    Extra,
    Package,
    Place,
    Problem,
    ProblemCode,
    Requirement,
    Snapshot,
)
from distcycle.readers import Document, decode_utf8
from distcycle.readers.entries import Problems, read_name, read_names, read_version
from distcycle.readers.fields import Fields, parse_toml
from distcycle.readers.poetry_constraint import parse_constraint, python_markers
from distcycle.readers.poetry_dependency import (
    Dependency,
    join_markers,
    parse_extra_text,
    read_dependency,
)
from distcycle.readers.poetry_files import FileLists, is_source, source_kind, source_url
from distcycle.readers.pyproject import Project, parse_pyproject, read_poetry_project
from distcycle.requirements import parse_marker

__all__ = ["read"]

_SUPPORTED = ("1.0", "1.1", "2.0", "2.1")
_EXTRA_ATOM = re.compile(r"""\bextra\s*==\s*(["'])(?P<name>[^"']+)\1""")
# In an entry's own marker an extra is the project's. The roots say which of those are requested;
# where the entry stands is what the rest of its marker says.
_ANYWHERE = 'python_version >= "0"'


# What Poetry before 1.3 held to belong to every environment.
_LEFT_OUT = frozenset(map(canonicalize_name, ("distribute", "pip", "setuptools", "wheel")))


def read(document: Document) -> Snapshot:
    """Read a poetry.lock, and the pyproject.toml beside it when there is one.

    Args:
        document: The lock.

    Returns:
        The snapshot. Without a pyproject.toml its roots are None, to be computed.

    Raises:
        InputError: It is not a poetry.lock, or not valid.
        UnsupportedLockVersion: Its lock-version is not known.
    """
    text = decode_utf8(document)
    fields = parse_toml(text, path=document.path)
    metadata = _check(fields)
    lock = _Lock(fields, metadata)
    packages = [lock.read_package(i) for i in range(len(lock.entries))]
    project = _read_project(document, lock)
    own = project.as_package(packages) if project else None
    requires_python, environments = _read_python(lock, metadata)
    return Snapshot(
        path=document.path,
        kind="poetry-lock",
        packages=(*packages, own) if own else tuple(packages),
        roots=tuple(project.roots) if project else None,
        requires_python=requires_python,
        environments=environments,
        left_out=frozenset() if _lists_all(metadata) else _LEFT_OUT,
        problems=(*lock.problems.found, *(project.problems if project else ())),
        syntax="toml",
        text=text,
    )


def _check(fields: Fields) -> Fields:
    """The ``[metadata]`` of a lock whose version is known."""
    if "metadata" not in fields:
        raise fields.error("expected a poetry.lock with a table [metadata]")
    metadata = fields.table("metadata")
    version = metadata.get("lock-version", str)
    if version is not None and version not in _SUPPORTED:
        raise UnsupportedLockVersion(
            f"lock-version {version!r} is not supported; expected {', '.join(_SUPPORTED)} or none",
            path=fields.path,
            key="metadata.lock-version",
        )
    return metadata


def _lists_all(metadata: Fields) -> bool:
    """Whether the Poetry that made the lock left no project out."""
    return (metadata.get("lock-version", str) or "0").partition(".")[0] not in {"0", "1"}


def _read_project(document: Document, lock: _Lock) -> Project | None:
    pyproject = parse_pyproject(document)
    return None if pyproject is None else read_poetry_project(pyproject, lock.bind)


def _read_python(lock: _Lock, metadata: Fields) -> tuple[SpecifierSet | None, tuple[Marker, ...]]:
    """The Pythons of the project: as one specifier, or, where none says it, as markers."""
    specifier = lock.read_python(metadata)
    if specifier is not None or "python-versions" not in metadata:
        return specifier, ()
    try:
        markers = python_markers(metadata.need("python-versions", str))
    except ValueError:
        return None, ()  # already a problem
    parsed = [parse_marker(marker) for marker in markers]
    return None, tuple(marker for marker in parsed if isinstance(marker, Marker))


class _Lock:
    """The parts of a lock that its entries refer to.

    Args:
        fields: The whole file.
        metadata: Its ``[metadata]``; before 2.0 the files are listed there, by name alone.
    """

    def __init__(self, fields: Fields, metadata: Fields) -> None:
        self.entries = fields.tables("package")
        self.problems = Problems(fields.path)
        self.names = [read_name(entry) for entry in self.entries]
        self.indices: dict[NormalizedName, list[int]] = {}
        for index, name in enumerate(self.names):
            self.indices.setdefault(name, []).append(index)
        self.files = FileLists(metadata)

    def read_package(self, index: int) -> Package:
        """Read one ``[[package]]``."""
        entry, name = self.entries[index], self.names[index]
        source = entry.table("source")
        version = None
        with self.problems.tolerate(package=name):
            version = read_version(entry)
        groups = read_names(entry, "groups") or read_names(entry, "category")
        dependencies = list(self._dependencies(index))
        return Package(
            name=name,
            version=version,
            source=source_kind(entry, source),
            url=source_url(source),
            artefacts=self.files.read(entry, name, self._shared_by(name, version)),
            hashes=self.files.read_hashes(name),
            requirements=self._requirements(index, dependencies),
            provides_extra=tuple(canonicalize_name(x) for x in entry.table("extras").value),
            requested_extras=_requested_extras(dependencies),
            marker=self._marker(entry, name, groups),
            requires_python=self.read_python(entry, name),
            optional=entry.get("optional", bool) or False,
            groups=groups,
            place=entry.place(),
        )

    def _shared_by(self, name: NormalizedName, version: Version | None) -> Version | None:
        """The version whose files to pick from a list that several entries share; None for all."""
        return version if len(self.indices[name]) > 1 else None

    def read_python(
        self, fields: Fields, package: NormalizedName | None = None
    ) -> SpecifierSet | None:
        """``python-versions`` as one specifier; None when absent, or when none can say it."""
        text = fields.get("python-versions", str)
        try:
            specifier = None if text is None else parse_constraint(text).specifier
        except ValueError as error:
            self._report(str(error), fields.place("python-versions"), package)
            return None
        return specifier or None

    def _marker(
        self, entry: Fields, name: NormalizedName, groups: tuple[NormalizedName, ...]
    ) -> Marker | None:
        """Where an entry stands: in any group's environments, where each group has its own."""
        member = "markers" if "markers" in entry else "marker"
        if isinstance(entry.value.get(member), dict):
            by_group = entry.table(member)
            texts = {canonicalize_name(g): by_group.need(g, str) for g in by_group.value}
            everywhere = not all(group in texts for group in groups)
            text = "" if everywhere else join_markers("or", texts.values())
        else:
            text = entry.get(member, str) or ""
        text = _EXTRA_ATOM.sub(_ANYWHERE, text)
        marker = parse_marker(text) if text not in {"", _ANYWHERE} else None
        if isinstance(marker, str):
            self._report(marker, entry.place(member), name)
            return None
        return marker

    def _requirements(self, index: int, dependencies: list[Dependency]) -> tuple[Requirement, ...]:
        requirements = [d.requirement for d in dependencies if not _waits_for_extra(d)]
        requirements += self._extra_requirements(index, dependencies)
        for requirement in requirements:
            if requirement.problem is not None and requirement.place is not None:
                self._report_requirement(index, requirement.problem, requirement.place)
        return tuple(requirements)

    def _report(
        self,
        message: str,
        place: Place,
        package: NormalizedName | None,
        code: ProblemCode = "unreadable-metadata",
    ) -> None:
        self.problems.found.append(
            Problem(code=code, message=message, package=package, place=place)
        )

    def _report_requirement(self, index: int, message: str, place: Place) -> None:
        self._report(message, place, self.names[index], "unreadable-requirement")

    def _dependencies(self, index: int) -> Iterator[Dependency]:
        table = self.entries[index].table("dependencies")
        folder = self.entries[index].table("source").get("url", str) or ""
        for name in table.value:
            try:
                found = list(read_dependency(table, name))
            except ValueError as error:
                self._report_requirement(index, str(error), table.place(name))
                continue
            for dependency in found:
                bound = self.bind(dependency, folder) if dependency.spec else None
                yield replace(dependency, requirement=bound) if bound else dependency

    def _extra_requirements(
        self, index: int, dependencies: list[Dependency]
    ) -> Iterator[Requirement]:
        """What the extras of a package add to the edges that Poetry resolved."""
        waiting: dict[NormalizedName, list[Requirement]] = {}
        resolved: set[Extra] = set()
        for dependency in dependencies:
            resolved.update(_extras_in_marker(dependency.requirement.marker))
            if _waits_for_extra(dependency):
                waiting.setdefault(dependency.requirement.name, []).append(dependency.requirement)
        for extra, declared in self._declared(index):
            if declared.name in waiting:
                yield from (replace(r, extra=extra) for r in waiting[declared.name])
            elif extra not in resolved or declared.name == self.names[index]:
                yield declared

    def _declared(self, index: int) -> Iterator[tuple[Extra, Requirement]]:
        extras = self.entries[index].table("extras")
        for name in extras.value:
            extra = canonicalize_name(name)
            for i, text in enumerate(extras.strings(name)):
                place = extras.place(f"{name}[{i}]")
                try:
                    yield extra, parse_extra_text(text, extra=extra, place=place)
                except ValueError as error:
                    self._report_requirement(index, str(error), place)

    def bind(self, dependency: Dependency, folder: str = "") -> Requirement:
        """Join a dependency to the one entry of its name that has the source it tells.

        Args:
            dependency: The dependency.
            folder: Where a relative path in it starts, from the lock's own folder.
        """
        requirement, spec = dependency.requirement, dependency.spec
        if not spec.keys() & {"url", "git", "path", "file", "source"}:
            return requirement
        indices = self.indices.get(requirement.name, ())
        matches = [
            i for i in indices if is_source(self.entries[i].table("source").value, spec, folder)
        ]
        return replace(requirement, package=matches[0]) if len(matches) == 1 else requirement


def _extras_in_marker(marker: Marker | None) -> list[Extra]:
    text = "" if marker is None else str(marker)
    if "extra" not in text:
        return []
    return [canonicalize_name(match["name"]) for match in _EXTRA_ATOM.finditer(text)]


def _requested_extras(dependencies: list[Dependency]) -> tuple[Extra, ...]:
    """The extras without which an entry would not have these dependencies, sorted."""
    found = set()
    for dependency in dependencies:
        marker = dependency.requirement.marker
        extras = _extras_in_marker(marker) if dependency.optional else []
        if len(extras) == 1 and " or " not in str(marker):
            found.update(extras)
    return tuple(sorted(found))


def _waits_for_extra(dependency: Dependency) -> bool:
    """Whether only ``[package.extras]`` says which extra asks for an optional dependency."""
    return dependency.optional and not _extras_in_marker(dependency.requirement.marker)

"""pylock.toml (PEP 751), lock-version 1.

A pylock lists what an installer installs, and each entry's marker says where: every entry is a
root. Requirements are optional, and the specified ``dependencies`` only name other entries, without
marker or extra; PDM adds PEP 508 lines, which say more and are taken instead. Where no entry of a
file has any, as pip and uv write it, no edges are known, which is not the same as none.

``packaging.pylock`` is not used: it refuses a whole file for one bad entry, and an audit wants the
rest; nor does it keep key paths, which findings point at.

Source: https://packaging.python.org/en/latest/specifications/pylock-toml/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.errors import InputError, UnsupportedLockVersion
from distcycle.model import Artefact, Package, Requirement, Root, Snapshot, SourceKind
from distcycle.readers import Document, decode_utf8
from distcycle.readers.entries import (
    Problems,
    filename_of,
    read_marker,
    read_markers,
    read_name,
    read_names,
    read_specifier,
    read_version,
)
from distcycle.readers.fields import Fields, parse_toml
from distcycle.requirements import parse_requirement, parse_specifier

__all__ = ["read"]


def read(document: Document) -> Snapshot:
    """Read a pylock.toml.

    Markers of entries may ask ``extras`` and ``dependency_groups``; they are kept as they are.

    Raises:
        UnsupportedLockVersion: Its lock-version is not 1.x.
        InputError: It is not a pylock.toml.
    """
    text = decode_utf8(document)
    top = parse_toml(text, path=document.path)
    problems = Problems(document.path)
    _check_version(top, problems)
    top.need("packages", list)
    packages = _Packages(top, problems).read()
    requires_python: SpecifierSet | None = None
    environments: tuple[Marker, ...] = ()
    default_groups: tuple[NormalizedName, ...] = ()
    with problems.tolerate():
        requires_python = read_specifier(top, "requires-python")
    with problems.tolerate():
        environments = read_markers(top, "environments")
    with problems.tolerate():
        default_groups = read_names(top, "default-groups")
    return Snapshot(
        path=document.path,
        kind="pylock",
        packages=packages,
        roots=tuple(_root(index, package) for index, package in enumerate(packages)),
        requires_python=requires_python,
        environments=environments,
        default_groups=default_groups,
        problems=tuple(problems.found),
        syntax="toml",
        text=text,
    )


def _check_version(top: Fields, problems: Problems) -> None:
    """Refuse other formats than 1.x; a file that has packages and names none is read as 1.0."""
    version: str | None = None
    with problems.tolerate():
        version = top.need("lock-version", str)
    if version is not None and version.partition(".")[0] != "1":
        raise UnsupportedLockVersion(
            f"expected lock-version 1.x, found {version[:100]!r}",
            path=top.path,
            key="lock-version",
        )


def _root(index: int, package: Package) -> Root:
    text = _pinned_text(package.name, package.version)
    return Root(
        requirement=Requirement(
            name=package.name,
            specifier=_pinned(package.version),
            marker=package.marker,
            text=f"{text} ; {package.marker}" if package.marker else text,
            package=index,
            place=package.place,
        )
    )


def _pinned(version: Version | None) -> SpecifierSet:
    return (parse_specifier(f"=={version}") if version else None) or SpecifierSet()


def _pinned_text(name: str, version: Version | None) -> str:
    return name if version is None else f"{name}=={version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """What the ``dependencies`` of other entries can refer to."""

    fields: Fields
    name: NormalizedName
    version: Version | None


class _Packages:
    """The entries of one file."""

    def __init__(self, top: Fields, problems: Problems) -> None:
        self.problems = problems
        self.heads = list(problems.read_each(top, "packages", self._read_head))
        self.has_edges = any(map(_has_edges, self.heads))
        self._by_name: dict[str, list[int]] = {}
        for index, head in enumerate(self.heads):
            self._by_name.setdefault(head.name, []).append(index)

    def read(self) -> tuple[Package, ...]:
        return tuple(map(self._read_package, self.heads))

    def _read_head(self, fields: Fields) -> _Head:
        name = read_name(fields)
        version: Version | None = None
        with self.problems.tolerate(package=name):
            version = read_version(fields)
        return _Head(fields=fields, name=name, version=version)

    def _read_package(self, head: _Head) -> Package:
        source: SourceKind = "registry"
        url: str | None = None
        marker: Marker | None = None
        requires_python: SpecifierSet | None = None
        with self.problems.tolerate(package=head.name):
            source, url = _read_source(head.fields)
        with self.problems.tolerate(package=head.name):
            marker = read_marker(head.fields)
        with self.problems.tolerate(package=head.name):
            requires_python = read_specifier(head.fields, "requires-python")
        return Package(
            name=head.name,
            version=head.version,
            source=source,
            url=url,
            artefacts=self._read_artefacts(head, source, url),
            requirements=tuple(self._read_requirements(head)) if self.has_edges else None,
            marker=marker,
            requires_python=requires_python,
            place=head.fields.place(),
        )

    def _read_artefacts(
        self, head: _Head, source: SourceKind, index: str | None
    ) -> tuple[Artefact, ...] | None:
        fields = head.fields
        if source == "registry" and not fields.value.keys() & {"sdist", "wheels"}:
            return None
        registry = index if source == "registry" else None
        artefacts: list[Artefact] = []
        for name in ("archive", "sdist"):
            if name in fields:
                with self.problems.tolerate(package=head.name):
                    artefacts.append(_read_artefact(fields.table(name), registry))
        artefacts += self.problems.read_each(
            fields, "wheels", lambda wheel: _read_artefact(wheel, registry), package=head.name
        )
        return tuple(artefacts)

    def _read_requirements(self, head: _Head) -> Iterator[Requirement]:
        pdm = _pdm(head.fields)
        if pdm is not None and "dependencies" in pdm:
            yield from self._read_lines(head, pdm)
            return
        yield from self.problems.read_each(
            head.fields,
            "dependencies",
            self._read_reference,
            code="unreadable-requirement",
            package=head.name,
        )

    def _read_lines(self, head: _Head, pdm: Fields) -> Iterator[Requirement]:
        with self.problems.tolerate(code="unreadable-requirement", package=head.name) as tolerance:
            for i, text in enumerate(pdm.strings("dependencies")):
                with tolerance:
                    yield _read_line(pdm, f"dependencies[{i}]", text)

    def _read_reference(self, reference: Fields) -> Requirement:
        name = read_name(reference)
        index = self._find(name, reference.value)
        version = read_version(reference) if index is None else self.heads[index].version
        return Requirement(
            name=name,
            specifier=_pinned(version),
            text=_pinned_text(name, version),
            package=index,
            place=reference.place(),
        )

    def _find(self, name: NormalizedName, wanted: Mapping[str, Any]) -> int | None:
        """The one entry that has all that a reference says; None when none or several have."""
        said = [(key, value) for key, value in wanted.items() if key != "name"]
        fitting = [
            index
            for index in self._by_name.get(name, ())
            if all(_agrees(self.heads[index].fields.value.get(key), value) for key, value in said)
        ]
        return fitting[0] if len(fitting) == 1 else None


def _agrees(value: object, wanted: object) -> bool:
    """Whether a value is the wanted one; of a table, the members that are wanted count."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        return all(_agrees(value.get(key), member) for key, member in wanted.items())
    return value == wanted


def _has_edges(head: _Head) -> bool:
    pdm = _pdm(head.fields)
    return "dependencies" in head.fields or (pdm is not None and "dependencies" in pdm)


def _pdm(fields: Fields) -> Fields | None:
    """What PDM adds to an entry; ``tool`` tables are free in form, so another form is no error."""
    try:
        return fields.table("tool").table("pdm")
    except InputError:
        return None


def _read_line(pdm: Fields, name: str, text: str) -> Requirement:
    try:
        return parse_requirement(text, place=pdm.place(name))
    except ValueError as error:
        raise pdm.error(str(error), name) from None


def _read_source(fields: Fields) -> tuple[SourceKind, str | None]:
    if "vcs" in fields:
        return "vcs", _location(fields.table("vcs"))
    if "directory" in fields:
        directory = fields.table("directory")
        editable = directory.get("editable", bool)
        return ("editable" if editable else "directory"), directory.get("path", str)
    if "archive" in fields:
        archive = fields.table("archive")
        return ("url" if "url" in archive else "file"), _location(archive)
    return "registry", fields.get("index", str)


def _location(fields: Fields) -> str | None:
    return fields.get("url", str) or fields.get("path", str)


def _read_artefact(fields: Fields, registry: str | None) -> Artefact:
    url, path = fields.get("url", str), fields.get("path", str)
    filename = fields.get("name", str) or filename_of(url or path or "")
    if not filename:
        raise fields.error("expected a name, a url or a path, found none")
    return Artefact(
        filename=filename,
        url=url,
        path=path,
        registry=registry,
        hashes=_read_hashes(fields),
        size_bytes=fields.get("size", int),
    )


def _read_hashes(fields: Fields) -> tuple[tuple[str, str], ...]:
    hashes = fields.table("hashes")
    pairs = ((name.lower(), hashes.need(name, str).lower()) for name in hashes.value)
    return tuple(sorted(pairs))

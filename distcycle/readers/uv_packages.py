"""Package entries of a uv.lock.

uv writes a dependency's version and source only where its name alone would not tell the entry, so
most edges are bound by name. The spellings of uv before 0.3 are read too: ``[[distribution]]`` for
``[[package]]``, sources as one string (``registry+https://...``, ``direct+...``),
``[[distribution.wheel]]``, one string for ``extra``, ``environment-markers`` or one ``marker`` for
``resolution-markers``.
"""

from __future__ import annotations

import functools
import operator
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from distcycle.model import Artefact, Extra, Package, Requirement, SourceKind
from distcycle.readers.entries import (
    Problems,
    filename_of,
    members,
    read_marker,
    read_markers,
    read_name,
    read_names,
    read_version,
)
from distcycle.readers.fields import Fields
from distcycle.requirements import parse_marker, parse_specifier

__all__ = ["Entries", "Entry"]

_SOURCES: dict[str, SourceKind] = {
    "registry": "registry",
    "url": "url",
    "direct": "url",
    "git": "vcs",
    "path": "file",
    "directory": "directory",
    "editable": "editable",
    "virtual": "virtual",
}
# No quoted value of a marker that uv writes holds a parenthesis; other markers are read whole.
_ALTERNATIVE = re.compile(r"(?:\A| or )((?:\([^()]*\)|(?! or )[^()])+)")
_ANY: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The head of a package entry: what others refer to it by.

    Attributes:
        fields: The whole entry.
        name: The project.
        version: None where the lock gives none (dynamic versions of source trees).
        source: What kind of place it comes from.
        url: That place: an index, a URL, a path or a repository.
    """

    fields: Fields
    name: NormalizedName
    version: Version | None
    source: SourceKind
    url: str | None


class Entries:
    """All entries of one lock; knows their heads, and so can bind what refers to them.

    Args:
        top: The lock.
        problems: Takes what cannot be read.

    Raises:
        InputError: The packages are not an array.
    """

    def __init__(self, top: Fields, problems: Problems) -> None:
        self.problems = problems
        self.heads = [
            head
            for name in ("package", "distribution")
            if members(top, name)
            for head in problems.read_each(top, name, self._read_head)
        ]
        self._by_name: dict[str, list[int]] = {}
        for index, head in enumerate(self.heads):
            self._by_name.setdefault(head.name, []).append(index)

    def _read_head(self, fields: Fields) -> Entry:
        name = read_name(fields)
        version: Version | None = None
        source: SourceKind = "registry"
        url: str | None = None
        with self.problems.tolerate(package=name):
            version = read_version(fields)
        with self.problems.tolerate(package=name):
            source, url = _read_source(fields)
        return Entry(fields=fields, name=name, version=version, source=source, url=url)

    def find(self, name: NormalizedName, pin: Mapping[str, object] = _ANY) -> int | None:
        """The entry of that name with the pin's version and source, where it states them.

        Returns:
            The entry's index; None when no entry fits, or several do.
        """
        fitting = self._by_name.get(name, [])
        for member in ("version", "source"):
            if member in pin:
                wanted = pin[member]
                fitting = [i for i in fitting if self.heads[i].fields.value.get(member) == wanted]
        return fitting[0] if len(fitting) == 1 else None

    def read_packages(self) -> tuple[Package, ...]:
        """The packages, in file order; :meth:`find` answers with indices into them."""
        return tuple(map(self._read_package, self.heads))

    def _read_package(self, entry: Entry) -> Package:
        marker: Marker | None = None
        with self.problems.tolerate(package=entry.name):
            marker = _read_reach(entry.fields)
        return Package(
            name=entry.name,
            version=entry.version,
            source=entry.source,
            url=entry.url,
            artefacts=self._read_artefacts(entry),
            requirements=tuple(self._read_requirements(entry)),
            provides_extra=self._read_extras(entry),
            marker=marker,
            place=entry.fields.place(),
        )

    def _read_extras(self, entry: Entry) -> tuple[Extra, ...]:
        """Those the project declares, where the lock says, and those that something requests."""
        names: list[Extra] = []
        with self.problems.tolerate(package=entry.name):
            names += read_names(entry.fields.table("metadata"), "provides-extras")
        with self.problems.tolerate(package=entry.name):
            names += map(canonicalize_name, entry.fields.table("optional-dependencies").value)
        return tuple(dict.fromkeys(names))

    def _read_requirements(self, entry: Entry) -> Iterator[Requirement]:
        yield from self.read_dependencies(entry, entry.fields, "dependencies")
        with self.problems.tolerate(package=entry.name):
            optional = entry.fields.table("optional-dependencies")
            for name in optional.value:
                extra = canonicalize_name(name)
                yield from self.read_dependencies(entry, optional, name, extra=extra)

    def read_dependencies(
        self, entry: Entry, fields: Fields, name: str, *, extra: Extra | None = None
    ) -> Iterator[Requirement]:
        """Read one array of dependencies.

        Args:
            entry: The package whose dependencies they are.
            fields: The table that holds the array.
            name: The array's key in it.
            extra: The extra of the package under which they are listed.
        """
        return self.problems.read_each(
            fields,
            name,
            functools.partial(self._read_dependency, extra),
            code="unreadable-requirement",
            package=entry.name,
        )

    def _read_dependency(self, extra: Extra | None, pin: Fields) -> Requirement:
        name = read_name(pin)
        extras = tuple(sorted(set(read_names(pin, "extra"))))
        index = self.find(name, pin.value)
        version = pin.get("version", str)
        if version is None and index is not None and (bound := self.heads[index].version):
            version = str(bound)
        marker_text = pin.get("marker", str)
        marker = _parse_marker(marker_text) if marker_text else None
        return Requirement(
            name=name,
            extras=extras,
            specifier=_pinned(version),
            marker=None if isinstance(marker, str) else marker,
            text=_requirement_text(name, extras, version, marker_text),
            problem=marker if isinstance(marker, str) else None,
            extra=extra,
            package=index,
            place=pin.place(),
        )

    def _read_artefacts(self, entry: Entry) -> tuple[Artefact, ...] | None:
        fields = entry.fields
        if entry.source == "registry" and not fields.value.keys() & {"sdist", "wheels", "wheel"}:
            return None
        read_one = functools.partial(_read_artefact, entry)
        artefacts: list[Artefact] = []
        if "sdist" in fields:
            with self.problems.tolerate(package=entry.name):
                artefacts.append(read_one(fields.table("sdist")))
        for name in ("wheels", "wheel"):
            artefacts += self.problems.read_each(fields, name, read_one, package=entry.name)
        return tuple(artefacts)


def _read_source(fields: Fields) -> tuple[SourceKind, str | None]:
    """Read ``{ registry = "https://..." }``, or ``"registry+https://..."`` as uv 0.2 wrote it."""
    value = fields.value.get("source")
    if isinstance(value, str):
        scheme, _, url = value.partition("+")
    else:
        table = fields.table("source")
        scheme = next((name for name in _SOURCES if name in table), "")
        url = table.need(scheme, str) if scheme else ""
    if scheme not in _SOURCES:
        known = ", ".join(_SOURCES)
        raise fields.error(f"expected one of {known}, found {str(value)[:100]!r}", "source")
    return _SOURCES[scheme], url


def _read_reach(fields: Fields) -> Marker | None:
    """The environments in which this entry, and not another of its name, was chosen."""
    for name in ("resolution-markers", "environment-markers"):
        if name in fields:
            return _join_markers(read_markers(fields, name))
    return read_marker(fields)


@functools.lru_cache(maxsize=1024)
def _join_markers(markers: tuple[Marker, ...]) -> Marker | None:
    return functools.reduce(operator.or_, markers) if markers else None


@functools.lru_cache(maxsize=16384)
def _parse_marker(text: str) -> Marker | str:
    """Read a marker by its alternatives, which conflicts repeat in every marker of a lock.

    Returns:
        The marker, or what is wrong with it.
    """
    alternatives = _ALTERNATIVE.findall(text)
    if " or ".join(alternatives) != text:
        return parse_marker(text)
    markers = [parse_marker(alternative) for alternative in alternatives]
    if any(isinstance(marker, str) for marker in markers):
        return parse_marker(text)
    return functools.reduce(operator.or_, cast("list[Marker]", markers))


def _pinned(version: str | None) -> SpecifierSet:
    return (parse_specifier(f"=={version}") if version else None) or SpecifierSet()


def _requirement_text(
    name: str, extras: Sequence[str], version: str | None, marker: str | None
) -> str:
    text = f"{name}[{','.join(extras)}]" if extras else name
    if version:
        text += f"=={version}"
    return f"{text} ; {marker}" if marker else text


def _read_artefact(entry: Entry, fields: Fields) -> Artefact:
    """Read one file; that of a URL or a path source does not repeat where it is."""
    url, path = fields.get("url", str), fields.get("path", str)
    registry = entry.url if entry.source == "registry" else None
    if entry.source == "url":
        url = url or entry.url
    elif entry.source == "file":
        path = path or entry.url
    elif path is not None and registry is not None:
        path = posixpath.join(registry, path)
    filename = fields.get("filename", str) or filename_of(url or path or "")
    if not filename:
        raise fields.error("expected a url, a path or a filename, found none")
    return Artefact(
        filename=filename,
        url=url,
        path=path,
        registry=registry,
        hashes=_read_hash(fields),
        size_bytes=fields.get("size", int),
    )


def _read_hash(fields: Fields) -> tuple[tuple[str, str], ...]:
    text = fields.get("hash", str)
    if text is None:
        return ()
    algorithm, colon, digest = text.lower().partition(":")
    if not colon:
        raise fields.error(f"expected algorithm:digest, found {text[:100]!r}", "hash")
    return ((algorithm, digest),)

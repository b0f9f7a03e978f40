"""Pipfile.lock: what Pipenv writes, one section for each category of packages.

The format carries no edges: every entry is a root of its section, and what it requires must be
asked of its files. ``default`` is installed without flags; ``develop`` and the categories that a
project names itself are groups.

Source: Pipenv, "Pipfile & Pipfile.lock", https://pipenv.pypa.io/en/stable/pipfile.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidName, NormalizedName, canonicalize_name

from distcycle.errors import UnsupportedLockVersion
from distcycle.model import Package, Requirement, Root, Snapshot
from distcycle.readers import Document, decode_utf8
from distcycle.readers.entries import Problems
from distcycle.readers.fields import Fields, parse_json
from distcycle.readers.references import (
    Reference,
    parse_digest,
    parse_reference,
    pinned_version,
    refer,
    without_credentials,
)
from distcycle.requirements import parse_marker, parse_requirement, parse_specifier
from distcycle.targets import MARKER_VARIABLES

__all__ = ["read"]

_KNOWN_SPEC = 6
_DEFAULT = "default"
_REPOSITORIES = ("git", "hg", "svn", "bzr")
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)\}|(?P<bare>\w+))")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lock:
    """What entries refer to, and what could not be read of them."""

    sources: Mapping[str, str]
    problems: Problems


def read(document: Document) -> Snapshot:
    """Read a Pipfile.lock.

    Args:
        document: The file; its ``environ`` fills the variables in the URLs of its sources.

    Raises:
        InputError: It is not JSON, or not a Pipfile.lock.
        UnsupportedLockVersion: Its format is newer than those that are known.
    """
    text = decode_utf8(document)
    top = parse_json(text, path=document.path)
    meta = _read_meta(top)
    sources = _read_sources(meta, document.environ)
    lock = _Lock(sources=sources, problems=Problems(document.path))
    packages: dict[tuple[object, ...], Package] = {}
    roots = []
    for section in (name for name in top.value if name != "_meta"):
        group = None if section == _DEFAULT else canonicalize_name(section)
        for requirement, package in _read_section(top.table(section), lock):
            roots.append(Root(requirement=requirement, group=group, default=group is None))
            _add(packages, package)
    return Snapshot(
        path=document.path,
        kind="pipfile-lock",
        packages=tuple(packages.values()),
        roots=tuple(roots),
        requires_python=_read_requires_python(meta, lock),
        problems=tuple(lock.problems.found),
        syntax="json",
        text=text,
    )


# What the lock says of itself ---------------------------------------------------------------------


def _read_meta(top: Fields) -> Fields:
    if "_meta" not in top:
        raise top.error("not a Pipfile.lock: expected a table, found nothing", "_meta")
    meta = top.table("_meta")
    spec = meta.get("pipfile-spec", int)
    if spec is not None and spec > _KNOWN_SPEC:
        raise UnsupportedLockVersion(
            f"expected a version up to {_KNOWN_SPEC}, found {spec}",
            path=top.path,
            key=meta.key_of("pipfile-spec"),
        )
    return meta


def _read_sources(meta: Fields, environ: Mapping[str, str]) -> dict[str, str]:
    """The URLs of the indexes by name, in order; variables are filled as Pipenv does."""
    sources = {}
    for source in meta.tables("sources"):
        url = source.need("url", str)
        filled = _VARIABLE.sub(
            lambda match: environ.get(match["braced"] or match["bare"]) or match[0], url
        )
        sources[source.get("name", str) or url] = filled
    return sources


def _read_requires_python(meta: Fields, lock: _Lock) -> SpecifierSet | None:
    with lock.problems.tolerate():
        requires = meta.table("requires")
        for key, suffix in (("python_full_version", ""), ("python_version", ".*")):
            wanted = requires.get(key, str) or "*"
            if wanted != "*":
                specifier = parse_specifier(f"=={wanted}{suffix}")
                if specifier is None:
                    raise requires.error(f"expected a version, found {wanted[:100]!r}", key)
                return specifier
    return None


# Entries ------------------------------------------------------------------------------------------


def _read_section(section: Fields, lock: _Lock) -> Iterator[tuple[Requirement, Package]]:
    for name, value in section.value.items():
        with lock.problems.tolerate(code="unreadable-requirement"):
            entry = Fields(value, path=section.path, key=section.key_of(name))
            try:
                project = canonicalize_name(name, validate=True)
            except InvalidName:
                raise entry.error("expected a project name as key") from None
            yield _read_entry(project, entry, lock)


def _read_entry(name: NormalizedName, entry: Fields, lock: _Lock) -> tuple[Requirement, Package]:
    reference = _read_reference(entry)
    requirement = _read_requirement(name, entry, reference)
    if requirement.problem:
        with lock.problems.tolerate(code="unreadable-requirement", package=name):
            raise entry.error(without_credentials(requirement.problem))
    package = Package(
        name=name,
        version=pinned_version(requirement.specifier),
        url=_registry_of(entry, lock, name),
        hashes=_read_hashes(entry, lock, name),
        marker=requirement.marker,
        place=entry.place(),
    )
    return requirement, refer(package, reference) if reference else package


def _read_reference(entry: Fields) -> Reference | None:
    for kind in _REPOSITORIES:
        if url := entry.get(kind, str):
            ref = entry.get("ref", str)
            return parse_reference(f"{kind}+{url}@{ref}" if ref else f"{kind}+{url}")
    for key in ("file", "path"):
        if target := entry.get(key, str):
            return parse_reference(target, editable=entry.get("editable", bool) or False)
    return None


def _read_requirement(
    name: NormalizedName, entry: Fields, reference: Reference | None
) -> Requirement:
    extras = ",".join(sorted(entry.strings("extras")))
    version = entry.get("version", str) or "*"
    tail = "" if version == "*" else version
    marker = _read_marker(entry)
    text = f"{name}{f'[{extras}]' if extras else ''}{'' if reference else tail}"
    if reference:
        text = f"{text} @ {reference.target}"
    return parse_requirement(f"{text} ; {marker}" if marker else text, place=entry.place())


def _read_marker(entry: Fields) -> str:
    # A Pipfile may give each variable of a marker a key of its own, and the lock repeats it.
    clauses = [f"{key} {value}" for key in MARKER_VARIABLES if (value := entry.get(key, str))]
    if written := entry.get("markers", str):
        clauses.append(f"({written})" if clauses else written)
    return " and ".join(clauses)


def _read_hashes(entry: Fields, lock: _Lock, name: NormalizedName) -> tuple[tuple[str, str], ...]:
    digests = set()
    for i, value in enumerate(entry.strings("hashes")):
        with lock.problems.tolerate(package=name):
            digest = parse_digest(value)
            if digest is None:
                message = f"expected sha256: and hex digits, found {value[:100]!r}"
                raise entry.error(message, f"hashes[{i}]")
            digests.add(digest)
    return tuple(sorted(digests))


def _registry_of(entry: Fields, lock: _Lock, name: NormalizedName) -> str | None:
    """The index an entry names, else the first of the lock, which Pipenv takes by default."""
    index = entry.get("index", str)
    if index is not None and index not in lock.sources:
        with lock.problems.tolerate(package=name):
            raise entry.error(f"expected the name of a source, found {index[:100]!r}", "index")
    if index is None:
        return next(iter(lock.sources.values()), None)
    return lock.sources.get(index)


def _add(packages: dict[tuple[object, ...], Package], package: Package) -> None:
    """Add a package; what stands in two sections is one package, and stands where either does."""
    key = (package.name, package.version, package.source, package.url, package.artefacts)
    same = packages.get(key)
    if same is not None:
        package = replace(
            same,
            hashes=tuple(sorted({*same.hashes, *package.hashes})),
            marker=_either(same.marker, package.marker),
        )
    packages[key] = package


def _either(first: Marker | None, second: Marker | None) -> Marker | None:
    if first is None or second is None:
        return None
    if first == second:
        return first
    marker = parse_marker(f"({first}) or ({second})")
    return None if isinstance(marker, str) else marker

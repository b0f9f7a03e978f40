"""uv.lock, version 1: all revisions, and what earlier releases of uv wrote under that version.

What uv does to requirements before it writes them is kept: requirements on extras of the same
project are flattened, markers are simplified to what matters where the parent is reached, and
``extra`` in a marker may name a choice among conflicting extras (``extra-7-project-cpu``), of which
:attr:`~distcycle.model.Snapshot.conflicts` has the sets.

The format has no specification; it was studied on files of uv 0.1.45 to 0.13.

Source: https://docs.astral.sh/uv/concepts/projects/layout/#the-lockfile
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name

from distcycle.errors import UnsupportedLockVersion
from distcycle.model import PROJECT_SOURCES, Extra, Package, Requirement, Root, Snapshot
from distcycle.readers import Document, decode_utf8
from distcycle.readers.entries import Problems, read_markers, read_names, read_specifier
from distcycle.readers.fields import Fields, parse_toml
from distcycle.readers.uv_manifest import (
    DEV_ONLY,
    Groups,
    name_choice,
    read_amendments,
    read_conflicts,
    read_default_groups,
    read_project_default_groups,
    read_requests,
)
from distcycle.readers.uv_packages import Entries

__all__ = ["read"]


def read(document: Document) -> Snapshot:
    """Read a uv.lock.

    The roots are the members of the workspace, each with its default groups, and, switched off,
    its other groups and its extras; for a script, the script's own requirements. Every member is a
    root: which of them gets installed is not said by the lock.

    Args:
        document: The lock; the pyproject.toml beside it is read for ``default-groups``, which locks
            of older revisions do not say.

    Raises:
        UnsupportedLockVersion: Its version is not 1.
        InputError: It is not a uv.lock.
    """
    text = decode_utf8(document)
    top = parse_toml(text, path=document.path)
    _check_version(top)
    problems = Problems(document.path)
    entries = Entries(top, problems)
    packages = entries.read_packages()
    roots = _read_roots(document, top, entries, packages)
    requires_python, environments = _read_bounds(top, problems)
    return Snapshot(
        path=document.path,
        kind="uv-lock",
        packages=packages,
        roots=roots,
        requires_python=requires_python,
        environments=environments,
        conflicts=read_conflicts(top, problems),
        amendments=read_amendments(top, problems),
        problems=tuple(problems.found),
        syntax="toml",
        text=text,
    )


def _check_version(top: Fields) -> None:
    version = top.need("version", int)
    if version != 1:
        raise UnsupportedLockVersion(
            f"expected version 1 of uv.lock, found {version}", path=top.path, key="version"
        )


def _read_bounds(top: Fields, problems: Problems) -> tuple[SpecifierSet | None, tuple[Marker, ...]]:
    """What the lock is for; ``required-markers`` ask for wheels and bound nothing."""
    requires_python: SpecifierSet | None = None
    environments: tuple[Marker, ...] = ()
    with problems.tolerate():
        requires_python = read_specifier(top, "requires-python")
    with problems.tolerate():
        environments = read_markers(top, "supported-markers")
    return requires_python, environments


def _read_roots(
    document: Document, top: Fields, entries: Entries, packages: Sequence[Package]
) -> tuple[Root, ...] | None:
    """The members, and what the manifest itself requests; None when there are neither."""
    manifest = Fields({}, path=top.path)
    with entries.problems.tolerate():
        manifest = top.table("manifest")
    indices = _member_indices(manifest, entries)
    tables = [manifest, *(entries.heads[index].fields for index in indices)]
    defaults = DEV_ONLY
    if not any("default-groups" in table for table in tables):
        defaults = read_project_default_groups(document, entries.problems)
    roots = list(_manifest_roots(manifest, defaults, entries))
    for index in indices:
        roots += _member_roots(index, packages[index], defaults, entries)
    return tuple(roots) or None


def _member_indices(manifest: Fields, entries: Entries) -> list[int]:
    """The workspace's members; a lock of one project names none, and has it at ``"."``."""
    names: set[NormalizedName] = set()
    with entries.problems.tolerate():
        names.update(read_names(manifest, "members"))
    return [
        index
        for index, head in enumerate(entries.heads)
        if (head.name in names if names else head.source in PROJECT_SOURCES and head.url == ".")
    ]


def _member_roots(
    index: int, package: Package, defaults: Groups, entries: Entries
) -> Iterator[Root]:
    entry = entries.heads[index]
    yield Root(requirement=_member(index, package), choice=name_choice(entry.name))
    for extra in package.provides_extra:
        yield Root(
            requirement=_member(index, package, extra),
            extra=extra,
            default=False,
            choice=name_choice(entry.name, "extra", extra),
        )
    with entries.problems.tolerate(package=entry.name):
        defaults = read_default_groups(entry.fields, defaults)
    with entries.problems.tolerate(package=entry.name):
        groups = entry.fields.table("dev-dependencies")
        for name in groups.value:
            listed = entries.read_dependencies(entry, groups, name)
            choice = name_choice(entry.name, "group", canonicalize_name(name))
            yield from _group_roots(name, listed, defaults, choice)


def _member(index: int, package: Package, extra: Extra | None = None) -> Requirement:
    text = f"{package.name}[{extra}]" if extra else package.name
    return Requirement(
        name=package.name,
        extras=(extra,) if extra else (),
        text=text if package.version is None else f"{text}=={package.version}",
        package=index,
        place=package.place,
    )


def _manifest_roots(manifest: Fields, defaults: Groups, entries: Entries) -> Iterator[Root]:
    """The requirements of a script, and the groups of a workspace whose root is no project."""
    for requirement in _requests(manifest, "requirements", entries):
        yield Root(requirement=requirement)
    with entries.problems.tolerate():
        defaults = read_default_groups(manifest, defaults)
    with entries.problems.tolerate():
        groups = manifest.table("dependency-groups")
        for name in groups.value:
            yield from _group_roots(name, _requests(groups, name, entries), defaults)


def _requests(fields: Fields, name: str, entries: Entries) -> Iterator[Requirement]:
    for request in read_requests(fields, name, entries.problems):
        yield replace(request, package=entries.find(request.name))


def _group_roots(
    name: str, requirements: Iterator[Requirement], defaults: Groups, choice: str | None = None
) -> Iterator[Root]:
    group = canonicalize_name(name)
    default = defaults is None or group in defaults
    for requirement in requirements:
        yield Root(requirement=requirement, group=group, default=default, choice=choice)

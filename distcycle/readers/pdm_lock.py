"""Reads pdm.lock: versions 3.1 to 4.5.

A package with extras is an entry of its own, which requires its own base: here it is merged into
the base, and what it requires is listed under the extra.

Source: https://pdm-project.org/latest/usage/lockfile/ and, for overrides and excludes,
https://pdm-project.org/latest/usage/config/; PDM publishes no specification of the file, so its
versions were compared on files that each of them wrote.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from distcycle.errors import UnsupportedLockVersion
from distcycle.model import (
    Amendment,
    Artefact,
    Package,
    Place,
    Problem,
    Requirement,
    Root,
    Snapshot,
    SourceKind,
)
from distcycle.readers import Document, decode_utf8
from distcycle.readers.entries import (
    Problems,
    filename_of,
    read_marker,
    read_name,
    read_names,
    read_version,
)
from distcycle.readers.fields import Fields, describe, parse_toml
from distcycle.readers.pdm_extras import Entry, merge_extras
from distcycle.readers.pdm_target import target_marker
from distcycle.readers.poetry_constraint import parse_constraint
from distcycle.readers.poetry_dependency import vcs_url
from distcycle.readers.pyproject import (
    Project,
    parse_pyproject,
    read_pdm_project,
    unwrap_editable,
)
from distcycle.requirements import parse_requirement, parse_specifier

__all__ = ["read"]

_OLDEST, _TOO_NEW = Version("3.1"), Version("4.6")
_VCS = ("git", "hg", "svn", "bzr")
_HERE = "${PROJECT_ROOT}"


def read(document: Document) -> Snapshot:
    """Read a pdm.lock, and the pyproject.toml beside it when there is one.

    Args:
        document: The lock.

    Returns:
        The snapshot. Without a pyproject.toml its roots are None, to be computed.

    Raises:
        InputError: It is not a pdm.lock, or not valid.
        UnsupportedLockVersion: Its lock_version is not known.
    """
    text = decode_utf8(document)
    fields = parse_toml(text, path=document.path)
    metadata = _check(fields)
    pyproject = parse_pyproject(document)
    excluded = _read_excludes(pyproject) if pyproject else frozenset()
    lock = _Lock(fields, metadata, excluded)
    packages = merge_extras([lock.read_entry(entry) for entry in fields.tables("package")])
    project = None if pyproject is None else read_pdm_project(pyproject)
    own = project.as_package(packages) if project else None
    requires_python, environments = _read_targets(metadata, pyproject, lock.problems)
    return Snapshot(
        path=document.path,
        kind="pdm-lock",
        packages=(*packages, own) if own else tuple(packages),
        roots=_locked_roots(project, metadata, excluded) if project else None,
        requires_python=requires_python,
        environments=environments,
        amendments=tuple(_read_amendments(pyproject, lock.problems)) if pyproject else (),
        problems=(*lock.problems.found, *(project.problems if project else ())),
        syntax="toml",
        text=text,
    )


def _check(fields: Fields) -> Fields:
    """The ``[metadata]`` of a lock whose version is known."""
    metadata = fields.table("metadata")
    if "lock_version" not in metadata:
        raise metadata.error("expected a pdm.lock with lock_version in [metadata]")
    text = metadata.need("lock_version", str)
    try:
        known = _OLDEST <= Version(text) < _TOO_NEW
    except ValueError:
        known = False
    if not known:
        raise UnsupportedLockVersion(
            f"lock_version {text[:100]!r} is not supported; expected 3.1 to 4.5",
            path=fields.path,
            key="metadata.lock_version",
        )
    return metadata


class _Lock:
    """The parts of a lock that its entries refer to.

    Args:
        fields: The whole file.
        metadata: Its ``[metadata]``; before 4.3 the files are listed there, by name and version.
        excluded: Projects that PDM installs for nobody; requirements on them stay in the lock.
    """

    def __init__(
        self, fields: Fields, metadata: Fields, excluded: frozenset[NormalizedName]
    ) -> None:
        self.excluded = excluded
        self.problems = Problems(fields.path)
        self.folder = posixpath.dirname(fields.path.replace("\\", "/"))
        self.files = metadata.table("files")
        self.listed = {_file_key(key): key for key in self.files.value}

    def read_entry(self, entry: Fields) -> Entry:
        """Read one ``[[package]]``."""
        name = read_name(entry)
        version, marker, requires_python = None, None, None
        with self.problems.tolerate(package=name):
            version = read_version(entry)
        with self.problems.tolerate(package=name):
            marker = read_marker(entry)
        with self.problems.tolerate(package=name):
            requires_python = _read_python(entry)
        source, url = _read_source(entry)
        package = Package(
            name=name,
            version=version,
            source=source,
            url=url,
            artefacts=self._artefacts(entry, source),
            requirements=tuple(self._requirements(entry, name)),
            marker=marker,
            requires_python=requires_python,
            groups=read_names(entry, "groups"),
            place=entry.place(),
        )
        return Entry(package=package, extras=read_names(entry, "extras"))

    def _requirements(self, entry: Fields, name: NormalizedName) -> Iterator[Requirement]:
        for i, text in enumerate(entry.get("dependencies", list) or ()):
            place = entry.place(f"dependencies[{i}]")
            requirement = _read_requirement(text, place)
            if isinstance(requirement, str):
                problem: str | None = requirement
            else:
                problem = requirement.problem
                if requirement.name not in self.excluded:
                    yield requirement
            if problem is not None:
                self.problems.found.append(_unreadable(problem, place, name))

    def _artefacts(self, entry: Fields, source: SourceKind) -> tuple[Artefact, ...] | None:
        """The files of an entry; None when the lock lists none and an index has to."""
        key = self.listed.get(_file_key(f"{entry.value.get('name')} {entry.value.get('version')}"))
        if "files" not in entry and key is not None:
            files = self.files.tables(key)
        else:
            files = entry.tables("files")
        found = tuple(self._artefact(file, entry, source) for file in files)
        return found if found or source != "registry" else None

    def _artefact(self, file: Fields, entry: Fields, source: SourceKind) -> Artefact:
        url, path = file.get("url", str), entry.get("path", str)
        name = file.get("file", str) or filename_of(url or "") or file.need("file", str)
        algorithm, _, digest = (file.get("hash", str) or "").rpartition(":")
        own = path if source == "file" and path and filename_of(path) == name else None
        return Artefact(
            filename=name,
            url=url or (entry.get("url", str) if source == "url" else None),
            path=None if own is None else posixpath.join(self.folder, _local(own)),
            hashes=((algorithm or "sha256", digest.lower()),) if digest else (),
        )


def _read_requirement(text: object, place: Place) -> Requirement | str:
    """A requirement, or what is wrong where there is not even a name."""
    if not isinstance(text, str):
        return f"expected a string, found {describe(text)}"
    try:
        return parse_requirement(unwrap_editable(text), place=place)
    except ValueError as error:
        return str(error)


def _unreadable(message: str, place: Place, package: NormalizedName | None = None) -> Problem:
    return Problem(code="unreadable-requirement", message=message, package=package, place=place)


def _file_key(key: str) -> tuple[str, str]:
    """The project and version that a key of ``[metadata.files]`` names."""
    name, _, version = key.partition(" ")
    return canonicalize_name(name.partition("[")[0]), version


def _local(path: str) -> str:
    """A path from the lock's folder, from any of PDM's spellings of it."""
    for prefix in (f"file:///{_HERE}/", f"{_HERE}/"):
        path = path.removeprefix(prefix)
    return posixpath.normpath(path)


def _read_python(entry: Fields) -> SpecifierSet | None:
    """The entry's requires_python; a mistake that installers forgive (``>=3.5.*``) is forgiven."""
    text = entry.get("requires_python", str)
    try:
        return parse_constraint(text).specifier if text else None
    except ValueError as error:
        raise entry.error(str(error), "requires_python") from None


def _read_source(entry: Fields) -> tuple[SourceKind, str | None]:
    for vcs in _VCS:
        if (repository := entry.get(vcs, str)) is not None:
            reference = entry.get("revision", str) or entry.get("ref", str)
            return "vcs", vcs_url(vcs, repository, reference, entry.get("subdirectory", str))
    if (path := entry.get("path", str)) is not None:
        if path.endswith((".whl", ".tar.gz", ".zip")):
            return "file", _local(path)
        return "editable" if entry.get("editable", bool) else "directory", _local(path)
    url = entry.get("url", str)
    if url is not None and url.startswith(f"file:///{_HERE}"):
        return "editable" if entry.get("editable", bool) else "directory", _local(url)
    return ("registry", None) if url is None else ("url", url)


def _read_targets(
    metadata: Fields, pyproject: Fields | None, problems: Problems
) -> tuple[SpecifierSet | None, tuple[Marker, ...]]:
    """The Pythons that all targets share, and the targets as markers.

    A target that no marker can say leaves the lock's environments unbounded.
    """
    targets = metadata.tables("targets")
    pythons = {target.get("requires_python", str) or "" for target in targets}
    shared = pythons.pop() if len(pythons) == 1 else ""
    if not shared and pyproject is not None:
        shared = pyproject.table("project").get("requires-python", str) or ""
    markers: list[Marker] = []
    for target in targets:
        marker = None
        with problems.tolerate():
            marker = target_marker(target)
        if marker is None:
            return _specifier(shared), ()
        markers.append(marker)
    alone = len(targets) == 1 and targets[0].value.keys() <= {"requires_python"}
    return _specifier(shared), () if alone else tuple(markers)


def _specifier(text: str) -> SpecifierSet | None:
    return parse_specifier(text) if text else None


def _locked_roots(
    project: Project, metadata: Fields, excluded: frozenset[NormalizedName]
) -> tuple[Root, ...]:
    """The roots of the groups that the lock was made for; an extra counts as a group."""
    roots = tuple(root for root in project.roots if root.requirement.name not in excluded)
    locked = metadata.strings("groups")
    names = {canonicalize_name(name) for name in locked}
    if not names or any(name in {"*", ":all"} for name in locked):
        return roots
    return tuple(root for root in roots if (root.extra or root.group or "default") in names)


def _read_excludes(pyproject: Fields) -> frozenset[NormalizedName]:
    resolution = pyproject.table("tool").table("pdm").table("resolution")
    return frozenset(map(canonicalize_name, resolution.strings("excludes")))


def _read_amendments(pyproject: Fields, problems: Problems) -> Iterator[Amendment]:
    """What PDM takes out and replaces: ``[tool.pdm.resolution]`` excludes and overrides."""
    pdm = pyproject.table("tool").table("pdm")
    resolution = pdm.table("resolution")
    for i, name in enumerate(resolution.strings("excludes")):
        yield Amendment(
            package=None,
            removes=(canonicalize_name(name),),
            place=resolution.place(f"excludes[{i}]"),
        )
    for table in (resolution.table("overrides"), pdm.table("overrides")):
        for name in table.value:
            place = table.place(name)
            text = _override_text(name, table.need(name, str))
            requirement = _read_requirement(text, place)
            problem = requirement if isinstance(requirement, str) else requirement.problem
            if problem is not None:
                problems.found.append(_unreadable(problem, place))
            if not isinstance(requirement, str):
                removes = (requirement.name,)
                yield Amendment(package=None, removes=removes, adds=(requirement,), place=place)


def _override_text(name: str, value: str) -> str:
    """An override as a requirement: it is a version, a specifier, or a URL."""
    if "://" in value:
        return f"{name} @ {value}"
    if value.strip() == "*":
        return name
    return f"{name}=={value}" if value[:1].isdigit() else f"{name}{value}"

"""Reads what is installed: a virtual environment, a site-packages folder, or an interpreter's own.

This reader looks at the disk, for there is no one file to be handed; it runs nothing of what is
installed.

Source: https://packaging.python.org/specifications/recording-installed-packages/
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from importlib_metadata import distributions
from packaging.utils import InvalidName, NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

from distcycle.errors import InputError
from distcycle.metadata.core import parse_metadata
from distcycle.model import Metadata, Package, Place, Problem, Requirement, Root, Snapshot, Unknown
from distcycle.readers.interpreter import (
    ask_interpreter,
    guess_environment,
    search_path,
    site_folders,
)
from distcycle.requirements import parse_requirement

__all__ = ["is_environment", "read_environment"]

_INFO_FOLDER = re.compile(r"(?P<name>[^-]+)(?:-(?P<version>[^-]+))?.*\.(?:dist|egg)-info\Z")


def is_environment(path: str) -> bool:
    """Whether a folder holds installed distributions, or an environment that may."""
    folder = Path(path)
    return folder.is_dir() and bool(site_folders(folder))


def read_environment(path: str | None, *, python: str | None = None) -> Snapshot:
    """Read the distributions that are installed in an environment.

    Args:
        path: A virtual environment, a conda prefix or a site-packages folder; None for the
            environment of ``python``.
        python: An interpreter to ask for its folders and its marker environment, or its
            environment's folder. The user's own site-packages are left out.

    Returns:
        The snapshot; every distribution is a root. Its ``environment`` is the interpreter's where
        one was asked; else what ``pyvenv.cfg`` and this machine tell; else None.

    Raises:
        InputError: There is no such environment, or the interpreter cannot be run.
    """
    if path is None and python is not None and Path(python).is_dir():
        path, python = python, None
    if path is None:
        python = python or sys.executable
        environment, folders = ask_interpreter(python)
        return _snapshot(python, search_path(folders), environment)
    folders = site_folders(Path(path))
    if not folders:
        problem = "not an environment: expected pyvenv.cfg or .dist-info folders in it"
        raise InputError(problem, path=path)
    asked = None if python is None else ask_interpreter(python)[0]
    return _snapshot(path, search_path(folders), asked or guess_environment(Path(path), folders))


def _snapshot(
    path: str, folders: Iterable[Path], environment: Mapping[str, str] | None
) -> Snapshot:
    problems: list[Problem] = []
    packages: dict[NormalizedName, Package] = {}
    for folder in folders:
        for package in _installed(folder, problems):
            first = packages.setdefault(package.name, package)
            if first is not package:
                problems.append(_shadowed(package, first))
    return Snapshot(
        path=path,
        kind="environment",
        packages=tuple(packages.values()),
        roots=tuple(_root(package, i) for i, package in enumerate(packages.values())),
        complete=True,
        problems=tuple(problems),
        environment=environment,
        syntax="none",
    )


def _root(package: Package, index: int) -> Root:
    version = f"=={package.version}" if package.version is not None else ""
    requirement = parse_requirement(f"{package.name}{version}", package=index, place=package.place)
    return Root(requirement=requirement)


def _shadowed(package: Package, first: Package) -> Problem:
    message = f"installed twice: {first.version} in {first.place.path} comes first and counts"
    return Problem(
        code="unreadable-metadata", message=message, package=package.name, place=package.place
    )


# One distribution


class _Declaring(Protocol):
    """What is asked of importlib-metadata's distributions."""

    @property
    def requires(self) -> list[str] | None: ...


def _installed(folder: Path, problems: list[Problem]) -> Iterator[Package]:
    """The distributions in one folder, by name: the file system's order means nothing."""
    found = [(_info_path(each), each) for each in distributions(path=[str(folder)])]
    for info, distribution in sorted(found, key=lambda pair: str(pair[0])):
        package = _package(info, distribution, problems)
        if package is not None:
            yield package


def _info_path(distribution: object) -> Path:
    # There is no public name for the folder; pip takes it the same way.
    path: Path = getattr(distribution, "_path")  # noqa: B009
    return path


def _package(info: Path, distribution: _Declaring, problems: list[Problem]) -> Package | None:
    place = Place(path=str(info))
    if info.name.startswith("~"):
        message = "left behind by an installer that was interrupted; it does not count"
        problems.append(Problem(code="unreadable-metadata", message=message, place=place))
        return None
    metadata = _read_metadata(info, distribution)
    name, version = _name_and_version(info, metadata)
    if name is None:
        message = "not a distribution: neither its metadata nor the folder's name gives a project"
        problems.append(Problem(code="unreadable-metadata", message=message, place=place))
        return None
    if isinstance(metadata, Unknown):
        problems.append(_problem(metadata.reason, name, place))
    parsed = _parse_version(version)
    if parsed is None:
        problems.append(_problem(f"expected a version, found {version!r}", name, place))
    return Package(
        name=name,
        version=parsed,
        source="installed",
        artefacts=(),
        metadata=metadata,
        place=place,
    )


def _problem(message: str, name: NormalizedName, place: Place) -> Problem:
    return Problem(code="unreadable-metadata", message=message, package=name, place=place)


def _read_metadata(info: Path, distribution: _Declaring) -> Metadata | Unknown:
    try:
        data = _metadata_bytes(info)
    except OSError as error:
        return Unknown(reason=f"its metadata cannot be read: {error.strerror or error}")
    if data is None:
        return Unknown(reason="no METADATA file")
    metadata = parse_metadata(data)
    if metadata.name is None and metadata.version is None:
        return Unknown(reason="its metadata has neither Name nor Version")
    if metadata.requires or info.suffix == ".dist-info":
        return metadata
    # Old setuptools wrote the requirements of an egg to a file of their own.
    return _with_requires(metadata, distribution)


def _metadata_bytes(info: Path) -> bytes | None:
    """METADATA, PKG-INFO, or the file itself (an ``.egg-info`` of distutils)."""
    if info.is_file():
        return info.read_bytes()
    for name in ("METADATA", "PKG-INFO"):
        if (info / name).is_file():
            return (info / name).read_bytes()
    return None


def _with_requires(metadata: Metadata, distribution: _Declaring) -> Metadata:
    try:
        lines = distribution.requires or []
    except UnicodeDecodeError:
        return replace(metadata, problems=(*metadata.problems, "its requirements are not UTF-8"))
    parsed = [_requirement(line) for line in lines]
    return replace(
        metadata,
        requires=tuple(each for each in parsed if isinstance(each, Requirement)),
        problems=(*metadata.problems, *(each for each in parsed if isinstance(each, str))),
    )


def _requirement(line: str) -> Requirement | str:
    """The requirement, or what is wrong with the line."""
    try:
        return parse_requirement(line)
    except ValueError as error:
        return f"requires.txt: {error}"


def _name_and_version(
    info: Path, metadata: Metadata | Unknown
) -> tuple[NormalizedName | None, str | None]:
    """Name and version, from the folder's name where the metadata does not give them."""
    match = _INFO_FOLDER.match(info.name)
    name, version = (match["name"], match["version"]) if match else ("", None)
    if isinstance(metadata, Metadata):
        version = metadata.version or version
        if metadata.name is not None:
            return metadata.name, version
    try:
        return canonicalize_name(name, validate=True), version
    except InvalidName:
        return None, version


def _parse_version(text: str | None) -> Version | None:
    try:
        return Version(text or "")
    except InvalidVersion:
        return None

"""Reads a folder of wheels and source distributions, as ``pip download`` or a build leaves it.

Only the names of the files are read here, and the disk is looked at for them; METADATA is read
later, from those that some environment would choose.

Source: https://packaging.python.org/specifications/binary-distribution-format/ and
https://packaging.python.org/specifications/source-distribution-format/
"""

from __future__ import annotations

import os
from pathlib import Path

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    NormalizedName,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from distcycle.errors import InputError
from distcycle.model import Artefact, Package, Place, Problem, Root, Snapshot
from distcycle.requirements import parse_requirement

__all__ = ["is_wheelhouse", "read_wheelhouse"]

_SUFFIXES = (".whl", ".tar.gz", ".zip")


def is_wheelhouse(path: str) -> bool:
    """Whether a folder holds at least one wheel."""
    folder = Path(path)
    return folder.is_dir() and next(folder.glob("*.whl"), None) is not None


def read_wheelhouse(path: str) -> Snapshot:
    """Read a folder of wheels and source distributions; folders within it are not entered.

    Args:
        path: The folder, as the user named it.

    Returns:
        The snapshot: one package for each project and version, in that order, all of them roots.
        The artefacts have a path and a size and, as the files may be large, no hashes.

    Raises:
        InputError: It is not a folder that can be read, or there is no distribution in it.
    """
    problems: list[Problem] = []
    found: dict[tuple[NormalizedName, Version], list[Artefact]] = {}
    for artefact in _artefacts(path):
        key = _parse_filename(artefact.filename)
        if isinstance(key, str):
            problems.append(_problem(artefact, key))
        else:
            found.setdefault(key, []).append(artefact)
    if not found and not problems:
        raise InputError("no wheels or source distributions in this folder", path=path)
    packages = [_package(*key, artefacts) for key, artefacts in sorted(found.items())]
    return Snapshot(
        path=path,
        kind="wheelhouse",
        packages=tuple(packages),
        roots=tuple(_root(package, i) for i, package in enumerate(packages)),
        complete=False,
        problems=tuple(problems),
        syntax="none",
    )


def _artefacts(path: str) -> list[Artefact]:
    """The files in a folder that look like distributions, by name."""
    try:
        with os.scandir(path) as entries:
            files = [e for e in entries if e.name.lower().endswith(_SUFFIXES) and e.is_file()]
            return [
                Artefact(filename=entry.name, path=entry.path, size_bytes=entry.stat().st_size)
                for entry in sorted(files, key=lambda entry: entry.name)
            ]
    except OSError as error:
        problem = f"the folder cannot be read: {error.strerror or error}"
        raise InputError(problem, path=path) from None


def _parse_filename(filename: str) -> tuple[NormalizedName, Version] | str:
    """Project and version, or what is wrong with the name."""
    try:
        if filename.lower().endswith(".whl"):
            return parse_wheel_filename(filename)[:2]
        return parse_sdist_filename(filename)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion) as error:
        return str(error)


def _problem(artefact: Artefact, message: str) -> Problem:
    place = Place(path=artefact.path or artefact.filename)
    return Problem(code="unreadable-metadata", message=message, place=place)


def _package(name: NormalizedName, version: Version, artefacts: list[Artefact]) -> Package:
    return Package(
        name=name,
        version=version,
        source="file",
        artefacts=tuple(artefacts),
        place=Place(path=artefacts[0].path or artefacts[0].filename),
    )


def _root(package: Package, index: int) -> Root:
    text = f"{package.name}=={package.version}"
    return Root(requirement=parse_requirement(text, package=index, place=package.place))

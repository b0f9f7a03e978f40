"""What the folders of an input need to be built: its own project's, and those of its packages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import tomli
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from distcycle.builds import Own
from distcycle.errors import MetadataError
from distcycle.lines import find_lines
from distcycle.metadata.sources import parse_build_system
from distcycle.metadata.urls import is_url, local_path
from distcycle.model import PROJECT_SOURCES, BuildSystem, Place, Snapshot, Unknown

__all__ = ["read_folders", "read_own"]

_NAME = "pyproject.toml"


def read_folders(snapshot: Snapshot) -> Mapping[int, BuildSystem | Unknown]:
    """Read what the packages that are folders need to be built.

    Args:
        snapshot: The input; paths in it are meant from its own folder.

    Returns:
        For each such package's index that, or why it could not be had.
    """
    beside = os.path.dirname(snapshot.path)
    folders: dict[int, BuildSystem | Unknown] = {}
    for i, package in enumerate(snapshot.packages):
        if package.source not in {"directory", "editable"} or not package.url:
            continue
        path = local_path(package.url) if is_url(package.url) else Path(beside, package.url)
        if path is not None:
            folders[i] = _build_system(path)
    return folders


def _build_system(folder: Path) -> BuildSystem | Unknown:
    if not folder.is_dir():
        return Unknown(reason=f"{folder} is no folder")
    data = _read(folder / _NAME)
    return data if isinstance(data, Unknown) else _parse(data)


def _read(path: Path) -> bytes | Unknown | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or "cannot be read"
        return Unknown(reason=f"{path}: {problem}")


def _parse(data: bytes | None) -> BuildSystem | Unknown:
    try:
        return parse_build_system(data)
    except MetadataError as error:
        return Unknown(reason=str(error))


def read_own(snapshot: Snapshot) -> Own | None:
    """Read the pyproject.toml beside an input, or the input itself when it is one.

    Args:
        snapshot: The input.

    Returns:
        The project; None when there is none with a ``[build-system]``, or when it is a package of
        the input.
    """
    here = Path(os.path.dirname(snapshot.path))
    if snapshot.kind in {"environment", "wheelhouse"} or snapshot.path.startswith("<"):
        return None
    if any(
        _is_here(package.url) for package in snapshot.packages if package.source in PROJECT_SOURCES
    ):
        return None
    path = os.path.join(here, _NAME) if here.name else _NAME
    data = _read(Path(path))
    if data is None or isinstance(data, Unknown):
        return None
    text = data.decode("utf-8", "replace")
    try:
        document = tomli.loads(text)
    except (ValueError, RecursionError):
        document = {"build-system": {}}
    if "build-system" not in document:
        return None
    line = find_lines(text, "toml", ["build-system"]).get("build-system")
    name, version = _declared(document, "name"), _declared(document, "version")
    return Own(
        name=None if name is None else canonicalize_name(name),
        version=_version(version),
        build=_parse(data),
        place=Place(path=path, line=line),
    )


def _is_here(url: str | None) -> bool:
    return url is not None and os.path.normpath(url or ".") == "."


def _declared(document: Mapping[str, object], key: str) -> str | None:
    project = document.get("project")
    tool = document.get("tool")
    poetry = tool.get("poetry") if isinstance(tool, dict) else None
    for table in (project, poetry):
        if isinstance(table, dict) and isinstance(table.get(key), str):
            return str(table[key])
    return None


def _version(text: str | None) -> Version | None:
    try:
        return None if text is None else Version(text)
    except InvalidVersion:
        return None

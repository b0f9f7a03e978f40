"""Where the entries of a poetry.lock come from, and the files that it lists for them.

Files stand in the entry; before 2.0 in ``[metadata.files]``, by name, for all versions together; in
the first locks there are digests only, in ``[metadata.hashes]``.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    NormalizedName,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from distcycle.model import Artefact, SourceKind
from distcycle.readers.entries import filename_of
from distcycle.readers.fields import Fields
from distcycle.readers.poetry_dependency import vcs_url

__all__ = ["FileLists", "is_source", "source_kind", "source_url"]

_SOURCES: Mapping[str, SourceKind] = {
    "legacy": "registry",
    "git": "vcs",
    "url": "url",
    "file": "file",
    "directory": "directory",
}


class FileLists:
    """The files and digests that ``[metadata]`` lists for packages, by name.

    Args:
        metadata: The lock's ``[metadata]``.
    """

    def __init__(self, metadata: Fields) -> None:
        self._files, self._hashes = metadata.table("files"), metadata.table("hashes")
        self._listed = {canonicalize_name(name): name for name in self._files.value}
        self._hashed = {canonicalize_name(name): name for name in self._hashes.value}

    def read(
        self, entry: Fields, name: NormalizedName, version: Version | None
    ) -> tuple[Artefact, ...] | None:
        """Read the files of an entry.

        Args:
            entry: The entry.
            name: Its project.
            version: The version to pick files of from a list by name; None to take all.

        Returns:
            The files; None when the lock lists none and an index has to.

        Raises:
            InputError: A file has no name, or a member has another type.
        """
        source = entry.table("source")
        found: tuple[Artefact, ...] = ()
        if "files" in entry:
            found = _read_files(entry, "files", source)
        elif name in self._listed:
            found = _read_files(self._files, self._listed[name], source)
            if version is not None:
                found = tuple(f for f in found if _file_version(f.filename) in {version, None})
        return found if found or source_kind(entry, source) != "registry" else None

    def read_hashes(self, name: NormalizedName) -> tuple[tuple[str, str], ...]:
        """The digests given in place of files; they are of sha256, and of all versions together."""
        if name not in self._hashed:
            return ()
        digests = self._hashes.strings(self._hashed[name])
        return tuple(sorted(("sha256", digest.lower()) for digest in digests))


def source_kind(entry: Fields, source: Fields) -> SourceKind:
    """What kind of place an entry comes from.

    Raises:
        InputError: Its type is none that Poetry writes.
    """
    kind = source.get("type", str)
    if kind is None:
        return "registry"
    if kind not in _SOURCES:
        raise source.error(f"expected one of {', '.join(_SOURCES)}, found {kind!r}", "type")
    editable = kind == "directory" and entry.get("develop", bool)
    return "editable" if editable else _SOURCES[kind]


def source_url(source: Fields) -> str | None:
    """The registry, file, folder or repository that an entry comes from; None when not said."""
    url = source.get("url", str)
    if url is None or source.get("type", str) != "git":
        return url
    reference = source.get("resolved_reference", str) or source.get("reference", str)
    return vcs_url("git", url, reference, source.get("subdirectory", str))


def is_source(source: Mapping[str, Any], spec: Mapping[str, Any], folder: str) -> bool:
    """Whether a dependency that tells its source means the entry with this one.

    Args:
        source: The entry's source.
        spec: The dependency's table.
        folder: Where a relative path in it starts, from the lock's own folder.
    """
    path = spec.get("path", spec.get("file"))
    if path is not None:
        here = posixpath.normpath(posixpath.join(folder, str(path)))
        return here == posixpath.normpath(str(source.get("url")))
    direct = spec.get("url", spec.get("git"))
    if direct is not None:
        return bool(direct == source.get("url"))
    return bool(spec.get("source") == source.get("reference"))


def _read_files(fields: Fields, name: str, source: Fields) -> tuple[Artefact, ...]:
    kind, url = source.get("type", str), source.get("url", str)
    own = filename_of(url) if url is not None and kind in {"url", "file"} else None
    base = posixpath.dirname(fields.path.replace("\\", "/"))
    found = []
    for i, value in enumerate(fields.get(name, list) or ()):
        filename, hashes = _read_file(value, fields, f"{name}[{i}]")
        is_own = url is not None and filename == own
        found.append(
            Artefact(
                filename=filename,
                url=url if is_own and kind == "url" else None,
                path=posixpath.join(base, url or "") if is_own and kind == "file" else None,
                registry=url if kind == "legacy" else None,
                hashes=hashes,
            )
        )
    return tuple(found)


def _read_file(value: object, fields: Fields, name: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The name and hashes of a file; there are thousands, so :class:`Fields` is for errors only."""
    if isinstance(value, dict):
        filename, digest = value.get("file"), value.get("hash")
        if isinstance(filename, str) and isinstance(digest, str):
            algorithm, _, hexadecimal = digest.rpartition(":")
            return filename, ((algorithm or "sha256", hexadecimal.lower()),)
    file = Fields(value, path=fields.path, key=fields.key_of(name))
    file.get("hash", str)
    return file.need("file", str), ()


def _file_version(filename: str) -> Version | None:
    """The version in a file's name; None when it cannot be told."""
    try:
        if filename.endswith(".whl"):
            return parse_wheel_filename(filename)[1]
        return parse_sdist_filename(filename)[1]
    except (InvalidSdistFilename, InvalidWheelFilename, ValueError):
        return None

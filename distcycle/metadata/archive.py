"""METADATA out of a wheel; PKG-INFO and pyproject.toml out of a source distribution; nothing else.

Archives come from anywhere, so every size is bounded and every way in which ``zipfile`` and
``tarfile`` fail on hostile bytes becomes one :class:`~distcycle.errors.MetadataError`.

Source: Binary distribution format and source distribution format,
https://packaging.python.org/specifications/binary-distribution-format/
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    NormalizedName,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from distcycle.errors import MetadataError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = [
    "HOSTILE_ZIP",
    "METADATA_LIMIT_BYTES",
    "name_and_version",
    "read_pyproject",
    "read_sdist",
    "read_wheel",
]

METADATA_LIMIT_BYTES = 8 * 2**20
_PYPROJECT_LIMIT_BYTES = 2**20
_MEMBERS_LIMIT = 250_000
_UNPACKED_LIMIT_BYTES = 512 * 2**20
# What the standard library raises on archives that are damaged or made to harm.
HOSTILE_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    IndexError,
    ValueError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
)
_HOSTILE = (*HOSTILE_ZIP, tarfile.TarError, OSError, KeyError)


def name_and_version(filename: str) -> tuple[NormalizedName, Version] | None:
    """The project and version that a file name says.

    Args:
        filename: The name of a wheel or source distribution.

    Returns:
        Both, or None when the name is of neither kind or cannot be read.
    """
    try:
        if filename.endswith(".whl"):
            return parse_wheel_filename(filename)[:2]
        return parse_sdist_filename(filename)
    except (InvalidWheelFilename, InvalidSdistFilename, ValueError):
        return None


def read_wheel(file: BinaryIO, filename: str) -> bytes:
    """Read a wheel's METADATA.

    Args:
        file: The wheel, seekable; only its directory and that one member are read.
        filename: Its name, which decides whose ``.dist-info`` folder counts.

    Returns:
        The member's bytes.

    Raises:
        MetadataError: It is no such wheel, or a size exceeds what a wheel may have.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            if len(names) > _MEMBERS_LIMIT:
                raise MetadataError(f"more than {_MEMBERS_LIMIT} members")
            return _read_member(archive, _metadata_member(names, filename))
    except _HOSTILE as error:
        raise MetadataError(f"not a readable wheel: {_say(error)}") from None


def read_texts(file: BinaryIO, filename: str) -> tuple[bytes, bytes]:
    """Read METADATA and RECORD of a wheel whole.

    Args:
        file: The wheel.
        filename: Its name.

    Raises:
        MetadataError: It is no such wheel, or a text in it is too large.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            name = _metadata_member(archive.namelist(), filename)
            record = f"{name.rpartition('/')[0]}/RECORD"
            return _read_member(archive, name), _read_member(archive, record)
    except _HOSTILE as error:
        raise MetadataError(f"not a readable wheel: {_say(error)}") from None


def read_sdist(file: BinaryIO, filename: str) -> bytes:
    """Read a source distribution's PKG-INFO, the one in its top folder.

    Args:
        file: The archive; a tar archive is read as a stream, up to that member.
        filename: Its name, which decides the kind of archive.

    Returns:
        The member's bytes.

    Raises:
        MetadataError: It is no such archive, or a size exceeds what one may have.
    """
    try:
        if filename.lower().endswith(".zip"):
            return _read_zip_sdist(file)
        return _read_tar_sdist(_decompressed(file, filename.lower()))
    except _HOSTILE as error:
        raise MetadataError(f"not a readable source distribution: {_say(error)}") from None


def read_pyproject(file: BinaryIO, filename: str) -> bytes | None:
    """Read a source distribution's pyproject.toml, the one in its top folder.

    Args:
        file: The archive; a tar archive is read as a stream, to its end: of two members of one
            name the last is what an installer would unpack.
        filename: Its name, which decides the kind of archive.

    Returns:
        The member's bytes; None when it has none.

    Raises:
        MetadataError: It is no such archive, has more than one such member in different folders,
            or a size exceeds what one may have.
    """
    try:
        if filename.lower().endswith(".zip"):
            found = _pyprojects_in_zip(file)
        else:
            found = _pyprojects_in_tar(_decompressed(file, filename.lower()))
    except _HOSTILE as error:
        raise MetadataError(f"not a readable source distribution: {_say(error)}") from None
    if len(found) > 1:
        raise MetadataError(
            f"pyproject.toml in several top folders: {', '.join(sorted(found)[:3])}"
        )
    return next(iter(found.values()), None)


def _say(error: BaseException) -> str:
    """An error in one line that does not vary between runs."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def _metadata_member(names: list[str], filename: str) -> str:
    """Source: pip and uv alike take the folder by project name, whatever the version's spelling."""
    found = [name for name in dict.fromkeys(names) if _is_metadata(name)]
    project = canonicalize_name(filename.partition("-")[0])
    own = [name for name in found if canonicalize_name(name.partition("-")[0]) == project]
    if len(own) == 1:
        return own[0]
    if own:
        raise MetadataError(f"several .dist-info folders: {', '.join(sorted(own)[:3])}")
    raise MetadataError(f"no {filename.partition('-')[0]}-*.dist-info/METADATA in it")


def _is_metadata(name: str) -> bool:
    folder, _, member = name.partition("/")
    return member == "METADATA" and folder.endswith(".dist-info")


def _read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    # A directory may understate a member's size, so what is really read is bounded too.
    with archive.open(name) as member:
        return _bounded(member)


def _bounded(
    member: IO[bytes], limit_bytes: int = METADATA_LIMIT_BYTES, noun: str = "metadata"
) -> bytes:
    data = member.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise MetadataError(f"{noun} larger than {limit_bytes // 2**20} MiB")
    return data


def _bounded_pyproject(member: IO[bytes]) -> bytes:
    return _bounded(member, _PYPROJECT_LIMIT_BYTES, "pyproject.toml")


def _is_pkg_info(name: str) -> bool:
    folder, _, member = name.removeprefix("./").partition("/")
    return member == "PKG-INFO" and folder != ""


def _top_folder(name: str, member: str) -> str | None:
    """The top folder in which a member of that name lies; None for any other path."""
    folder, _, rest = name.removeprefix("./").partition("/")
    return folder if rest == member and folder not in {"", ".", ".."} else None


def _pyprojects_in_zip(file: BinaryIO) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        if len(names) > _MEMBERS_LIMIT:
            raise MetadataError(f"more than {_MEMBERS_LIMIT} members")
        if not any("/" in name for name in names):
            raise MetadataError("no top folder in it")
        for name in dict.fromkeys(names):
            folder = _top_folder(name, "pyproject.toml")
            if folder is not None:
                with archive.open(name) as member:
                    found[folder] = _bounded_pyproject(member)
    return found


def _pyprojects_in_tar(stream: BinaryIO) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    has_folder = False
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for count, member in enumerate(archive):
            if count > _MEMBERS_LIMIT:
                raise MetadataError(f"more than {_MEMBERS_LIMIT} members")
            has_folder = has_folder or "/" in member.name or member.isdir()
            folder = _top_folder(member.name, "pyproject.toml")
            if folder is None:
                continue
            if not member.isfile():
                raise MetadataError("its pyproject.toml is not a regular file")
            found[folder] = _bounded_pyproject(cast("IO[bytes]", archive.extractfile(member)))
    if not has_folder:
        raise MetadataError("no top folder in it")
    return found


def _read_zip_sdist(file: BinaryIO) -> bytes:
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist()[:_MEMBERS_LIMIT]:
            if _is_pkg_info(name):
                return _read_member(archive, name)
    raise MetadataError("no PKG-INFO in its top folder")


def _read_tar_sdist(stream: BinaryIO) -> bytes:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for count, member in enumerate(archive):
            if count > _MEMBERS_LIMIT:
                raise MetadataError(f"more than {_MEMBERS_LIMIT} members")
            if member.isfile() and _is_pkg_info(member.name):
                return _bounded(cast("IO[bytes]", archive.extractfile(member)))
    raise MetadataError("no PKG-INFO in its top folder")


def _decompressed(file: BinaryIO, filename: str) -> BinaryIO:
    if filename.endswith((".tar.gz", ".tgz")):
        return _capped(cast("IO[bytes]", gzip.GzipFile(fileobj=file)))
    if filename.endswith((".tar.bz2", ".tbz")):
        return _capped(bz2.BZ2File(file))
    if filename.endswith((".tar.xz", ".txz", ".tar.lzma", ".tlz")):
        return _capped(lzma.LZMAFile(file))
    if filename.endswith(".tar"):
        return file
    raise MetadataError("neither a wheel nor a source distribution, by its name")


def _capped(stream: IO[bytes]) -> BinaryIO:
    return io.BufferedReader(_Capped(stream))


class _Capped(io.RawIOBase):
    """A decompressed stream that ends in an error where a bomb would go on."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._left = _UNPACKED_LIMIT_BYTES

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill a buffer as far as the file goes."""
        view = memoryview(buffer).cast("B")
        data = self._stream.read(len(view))
        self._left -= len(data)
        if self._left < 0:
            raise MetadataError(f"unpacks to more than {_UNPACKED_LIMIT_BYTES // 2**20} MiB")
        view[: len(data)] = data
        return len(data)

"""Zip archives written member by member, with the compressed bytes of others as they stand.

``zipfile`` can only unpack and pack again, which changes bytes with every release of zlib and takes
minutes for a wheel of gigabytes. It reads and checks the directory here; what is written is ours.

Source: APPNOTE.TXT 6.3, sections 4.3 to 4.5
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterator
from typing import BinaryIO

from distcycle.errors import InputError

__all__ = ["EARLIEST", "ArchiveWriter", "extra_fields", "plain_member"]

EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The earliest date that a zip archive can tell; what has no date of its own gets it."""

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s4B4H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")
_FIELD = struct.Struct("<2H")

_SIZES_FOLLOW = 0x08
_UTF8 = 0x800
_ZIP64_FIELD = 0x0001
_ZIP64_VERSION = 45
_LIMIT_32 = 0xFFFFFFFF
_LIMIT_16 = 0xFFFF
_CHUNK_BYTES = 2**20


def plain_member(name: str) -> zipfile.ZipInfo:
    """What to write for a file that no archive had before: deflated, ``rw-r--r--``, undated."""
    info = zipfile.ZipInfo(name, EARLIEST)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3
    info.external_attr = 0o100644 << 16
    return info


def extra_fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a member's extra data; padding that is no field ends them."""
    at = 0
    while at + _FIELD.size <= len(extra):
        kind, size = _FIELD.unpack_from(extra, at)
        at += _FIELD.size
        if at + size > len(extra):
            return
        yield kind, extra[at : at + size]
        at += size


class ArchiveWriter:
    """Writes one archive; it is complete only after :meth:`finish`.

    Args:
        file: Where; written from its present place on, which must be its start.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._offset = 0
        self._directory: list[bytes] = []

    def copy(self, source: BinaryIO, info: zipfile.ZipInfo, name: str) -> None:
        """Append another archive's member, its compressed bytes untouched.

        Args:
            source: That archive.
            info: The member, out of its directory.
            name: What it is to be called.

        Raises:
            InputError: The archive ends early, or calls the member otherwise in its own header.
        """
        local_extra = _enter(source, info)
        raw_name = _encode(name, info)
        offset = self._offset
        self._put(_local_header(info, raw_name, local_extra))
        left = info.compress_size
        while left:
            chunk = source.read(min(left, _CHUNK_BYTES))
            if not chunk:
                raise InputError("the archive ends within this member", key=info.filename)
            self._put(chunk)
            left -= len(chunk)
        self._directory.append(_central_header(info, raw_name, offset))

    def add(self, data: bytes, like: zipfile.ZipInfo, name: str) -> None:
        """Append a new member, compressed, dated and permitted like another.

        Args:
            data: Its content.
            like: The member whose place it takes.
            name: What it is to be called.
        """
        info = zipfile.ZipInfo(name, like.date_time)
        for attribute in ("compress_type", "create_system", "internal_attr", "external_attr"):
            setattr(info, attribute, getattr(like, attribute))
        info.extra = _without_zip64(like.extra)
        info.comment = like.comment
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(info, data)
        self.copy(packed, info, name)

    def finish(self, comment: bytes = b"") -> None:
        """Write the directory.

        Args:
            comment: The archive's comment.
        """
        start = self._offset
        for entry in self._directory:
            self._put(entry)
        size, count = self._offset - start, len(self._directory)
        if count >= _LIMIT_16 or start >= _LIMIT_32 or size >= _LIMIT_32:
            self._put_end64(count, size, start)
        clipped = min(count, _LIMIT_16)
        sizes = (min(size, _LIMIT_32), min(start, _LIMIT_32))
        self._put(_END.pack(b"PK\5\6", 0, 0, clipped, clipped, *sizes, len(comment)) + comment)

    def _put_end64(self, count: int, size: int, start: int) -> None:
        end = self._offset
        versions = (_ZIP64_VERSION, _ZIP64_VERSION)
        where = (0, 0, count, count, size, start)
        self._put(_END64.pack(b"PK\6\6", _END64.size - 12, *versions, *where))
        self._put(_LOCATOR64.pack(b"PK\6\7", 0, end, 1))

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._offset += len(data)


def _enter(source: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    """Go to a member's data; return the extra data of its own header."""
    source.seek(info.header_offset)
    header = source.read(_LOCAL.size)
    if len(header) < _LOCAL.size or header[:4] != b"PK\3\4":
        raise InputError("the archive has no such member where it says", key=info.filename)
    name_size, extra_size = _LOCAL.unpack(header)[-2:]
    if source.read(name_size) != _encode(info.orig_filename, info):
        raise InputError("the archive calls this member by two names", key=info.filename)
    return source.read(extra_size)


def _encode(name: str, info: zipfile.ZipInfo) -> bytes:
    return name.encode("utf-8" if info.flag_bits & _UTF8 else "cp437")


def _local_header(info: zipfile.ZipInfo, name: bytes, extra: bytes) -> bytes:
    # The sizes are known, so they stand here and not after the data as in a stream.
    big = max(info.file_size, info.compress_size) >= _LIMIT_32
    sizes = (info.compress_size, info.file_size)
    extra = _without_zip64(extra)
    if big:
        extra = _FIELD.pack(_ZIP64_FIELD, 16) + struct.pack("<2Q", *reversed(sizes)) + extra
    return (
        _LOCAL.pack(
            b"PK\3\4",
            max(info.extract_version, _ZIP64_VERSION if big else 0),
            info.flag_bits & ~_SIZES_FOLLOW,
            info.compress_type,
            *_dos_time(info),
            info.CRC,
            *((_LIMIT_32, _LIMIT_32) if big else sizes),
            len(name),
            len(extra),
        )
        + name
        + extra
    )


def _central_header(info: zipfile.ZipInfo, name: bytes, offset: int) -> bytes:
    sizes = (info.compress_size, info.file_size, offset)
    # The order of the field: size, compressed size, offset; each only where it overflows.
    large = [n for n in (info.file_size, info.compress_size, offset) if n >= _LIMIT_32]
    extra = _without_zip64(info.extra)
    if large:
        field = struct.pack(f"<{len(large)}Q", *large)
        extra = _FIELD.pack(_ZIP64_FIELD, len(field)) + field + extra
    packed_size, size, start = (min(n, _LIMIT_32) for n in sizes)
    return (
        _CENTRAL.pack(
            b"PK\1\2",
            info.create_version,
            info.create_system,
            max(info.extract_version, _ZIP64_VERSION if large else 0),
            info.reserved,
            info.flag_bits & ~_SIZES_FOLLOW,
            info.compress_type,
            *_dos_time(info),
            info.CRC,
            packed_size,
            size,
            len(name),
            len(extra),
            len(info.comment),
            0,
            info.internal_attr,
            info.external_attr,
            start,
        )
        + name
        + extra
        + info.comment
    )


def _dos_time(info: zipfile.ZipInfo) -> tuple[int, int]:
    year, month, day, hour, minute, second = info.date_time
    return hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day


def _without_zip64(extra: bytes) -> bytes:
    kept = (field for field in extra_fields(extra) if field[0] != _ZIP64_FIELD)
    return b"".join(_FIELD.pack(kind, len(data)) + data for kind, data in kept)

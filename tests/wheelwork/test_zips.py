"""Archives of any size are written such that ``zipfile`` reads them."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from distcycle.errors import InputError
from distcycle.wheelwork.zips import ArchiveWriter, extra_fields, plain_member

HUGE = 2**32 + 2**20
ZEROS = bytes(2**20)


class Sparse(io.RawIOBase):
    """A file that keeps only what is not zero."""

    def __init__(self) -> None:
        self._blocks: dict[int, bytes] = {}
        self._at = self._size = 0

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def write(self, data: bytes) -> int:
        if data is not ZEROS:
            self._blocks[self._at] = bytes(data)
        self._at += len(data)
        self._size = max(self._size, self._at)
        return len(data)

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._size, self._at + size)
        if size == len(ZEROS) and not any(self._at - 99 < at < end for at in self._blocks):
            self._at = end
            return ZEROS
        data = bytearray(max(0, end - self._at))
        for start, block in self._blocks.items():
            low, high = max(start, self._at), min(start + len(block), end)
            if low < high:
                data[low - self._at : high - self._at] = block[low - start : high - start]
        self._at = max(self._at, end)
        return bytes(data)


def test_member_of_more_than_four_gibibytes() -> None:
    source = Sparse()
    source.write(struct.pack("<4s5H3L2H", b"PK\3\4", 45, 0, 0, 0, 33, 0, 0, 0, 3, 0) + b"big")
    source.seek(33 + HUGE - 1)
    source.write(b"\1")
    info = plain_member("big")
    info.compress_type = zipfile.ZIP_STORED
    info.compress_size = info.file_size = HUGE
    info.header_offset = info.CRC = 0
    target = Sparse()
    writer = ArchiveWriter(target)  # type: ignore[arg-type]
    writer.copy(source, info, "huge")  # type: ignore[arg-type]
    writer.add(b"after it", plain_member("small"), "small")
    writer.finish()
    with zipfile.ZipFile(target) as archive:  # type: ignore[call-overload]
        huge, small = archive.infolist()
        assert (huge.filename, huge.file_size, huge.compress_size) == ("huge", HUGE, HUGE)
        assert small.header_offset > HUGE
        assert archive.read(small) == b"after it"
        with archive.open(huge) as member:
            assert member.read(3) == b"\0\0\0"


def test_more_members_than_sixteen_bits_count() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo("x"), b"")
    info = zipfile.ZipFile(packed).infolist()[0]
    target = io.BytesIO()
    writer = ArchiveWriter(target)
    writer.copy(packed, info, "x")
    writer._directory *= 65_536
    writer.finish(b"comment")
    with zipfile.ZipFile(target) as archive:
        assert len(archive.infolist()) == 65_536
        assert archive.comment == b"comment"


def test_names_keep_their_encoding() -> None:
    """Without the flag for UTF-8 a name is in code page 437."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo("\xe9"), b"utf-8")
        archive.writestr(zipfile.ZipInfo("AA"), b"cp437")
    data = packed.getvalue().replace(b"AA", b"\x82A")
    source = io.BytesIO(data)
    target = io.BytesIO()
    writer = ArchiveWriter(target)
    for info in zipfile.ZipFile(source).infolist():
        writer.copy(source, info, f"d/{info.filename}")
    writer.finish()
    assert b"d/\xc3\xa9" in target.getvalue()
    assert b"d/\x82A" in target.getvalue()
    with zipfile.ZipFile(target) as archive:
        assert archive.read("d/\xe9A") == b"cp437"
        assert archive.read("d/\xe9") == b"utf-8"


@pytest.mark.parametrize("method", [0, 8, 12, 14])
def test_added_member_looks_like_the_one_before(method: int) -> None:
    like = plain_member("old")
    like.compress_type = method
    like.date_time = (2021, 2, 3, 4, 5, 6)
    like.external_attr = 0o100755 << 16
    like.extra = b"\x01\0\x10\0" + b"\xff" * 16 + b"UT\x05\0\1abcd" + b"pad"
    like.comment = b"said"
    target = io.BytesIO()
    writer = ArchiveWriter(target)
    writer.add(b"data" * 100, like, "new")
    writer.finish()
    with zipfile.ZipFile(target) as archive:
        (info,) = archive.infolist()
        assert archive.read(info) == b"data" * 100
    assert (info.compress_type, info.date_time) == (method, like.date_time)
    assert (info.external_attr, info.comment) == (like.external_attr, b"said")
    assert info.extra == b"UT\x05\0\1abcd"


def test_truncated_source() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo("x"), b"12345678")
    info = zipfile.ZipFile(packed).infolist()[0]
    short = io.BytesIO(packed.getvalue()[: info.header_offset + 34])
    with pytest.raises(InputError, match="x: the archive ends within this member"):
        ArchiveWriter(io.BytesIO()).copy(short, info, "x")
    with pytest.raises(InputError, match="x: the archive has no such member"):
        ArchiveWriter(io.BytesIO()).copy(io.BytesIO(b"PK"), info, "x")


def test_extra_fields() -> None:
    assert list(extra_fields(b"\1\0\2\0ab\3\0\0\0pad")) == [(1, b"ab"), (3, b"")]
    assert list(extra_fields(b"\1\0\x20\0ab")) == []

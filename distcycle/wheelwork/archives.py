"""A wheel as an archive: opened, its members judged, its own folders found.

What an installer could be made to write outside its folders, or what two programs could read
differently, is refused here, before anything is copied.

Source: Binary distribution format,
https://packaging.python.org/specifications/binary-distribution-format/
"""

from __future__ import annotations

import hashlib
import io
import re
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from packaging.tags import Tag
from packaging.utils import (
    InvalidWheelFilename,
    NormalizedName,
    canonicalize_name,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from distcycle.errors import InputError
from distcycle.metadata.archive import HOSTILE_ZIP
from distcycle.metadata.core import parse_metadata
from distcycle.wheelwork.edits import Header, split_headers
from distcycle.wheelwork.zips import extra_fields

__all__ = ["Wheel", "naming", "open_wheel", "parse_filename"]

_TEXT_LIMIT_BYTES = 64 * 2**20
_MEMBERS_LIMIT = 250_000
_CHUNK_BYTES = 2**20

# Encrypted, strongly encrypted, patched, header masked: installers read none of these.
_UNREADABLE_FLAGS = 0x1 | 0x20 | 0x40 | 0x2000
_UNICODE_PATH = 0x7075
_DRIVE = re.compile(r"[A-Za-z]:")
_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]*\Z")
_SIGNATURES = ("RECORD.jws", "RECORD.p7s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """An open wheel whose members are safe to unpack.

    Attributes:
        path: The file, as the user named it.
        project: Its project.
        version: Its version.
        tags: Its tags.
        info: Its ``.dist-info`` folder.
        data: Its ``.data`` folder; None when it has none.
        members: Its members, in the order of its directory.
        file: The file itself, whose bytes are copied.
        archive: The same as an archive.
    """

    path: Path
    project: NormalizedName
    version: Version
    tags: frozenset[Tag]
    info: str
    data: str | None
    members: tuple[zipfile.ZipInfo, ...]
    file: BinaryIO
    archive: zipfile.ZipFile

    @property
    def signatures(self) -> tuple[str, ...]:
        """The members that sign its RECORD."""
        signing = {f"{self.info}/{name}" for name in _SIGNATURES}
        return tuple(member.filename for member in self.members if member.filename in signing)

    @property
    def label(self) -> str:
        """Project and version, for people."""
        return f"{self.project} {self.version}"

    def has(self, name: str) -> bool:
        """Whether there is a text of this name in its ``.dist-info`` folder."""
        return f"{self.info}/{name}" in self.archive.NameToInfo

    def read(self, name: str) -> bytes:
        """A text in its ``.dist-info`` folder.

        Args:
            name: The text's name in there.

        Raises:
            InputError: It is not there, damaged or far too large.
        """
        path = f"{self.info}/{name}"
        if not self.has(name):
            raise self.error(f"no {path} in it")
        return self.read_member(path, _TEXT_LIMIT_BYTES)

    def read_member(self, path: str, limit_bytes: int) -> bytes:
        """Any of its members.

        Args:
            path: Its path in the archive.
            limit_bytes: How large it may be, whatever the archive's directory says.

        Raises:
            InputError: It is damaged or larger.
        """
        with naming(self.path), _hostile(path), self.archive.open(path) as member:
            data = member.read(limit_bytes + 1)
        if len(data) > limit_bytes:
            raise self.error(f"larger than {limit_bytes // 2**20} MiB", key=path)
        return data

    def headers(self, name: str) -> list[Header]:
        """The headers of a text in its ``.dist-info`` folder."""
        return split_headers(self.read(name))[1]

    def digest(self, member: zipfile.ZipInfo) -> bytes:
        """The sha256 of a member's content.

        Raises:
            InputError: It is damaged.
        """
        sha256 = hashlib.sha256()
        with naming(self.path), _hostile(member.filename), self.archive.open(member) as content:
            while chunk := content.read(_CHUNK_BYTES):
                sha256.update(chunk)
        return sha256.digest()

    def error(self, problem: str, *, key: str | None = None) -> InputError:
        """An error about this wheel."""
        return InputError(problem, path=str(self.path), key=key)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the wheel in errors that do not name a file yet."""
    try:
        yield
    except InputError as error:
        error.path = error.path or str(path)
        raise


@contextmanager
def _hostile(key: str | None = None) -> Iterator[None]:
    try:
        yield
    except HOSTILE_ZIP as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"not a readable wheel: {said}", key=key) from None


def parse_filename(filename: str) -> tuple[NormalizedName, Version, frozenset[Tag]]:
    """Project, version and tags out of a wheel's name.

    Raises:
        InputError: It is none.
    """
    try:
        project, version, _, tags = parse_wheel_filename(filename)
    except (InvalidWheelFilename, InvalidVersion) as error:
        raise InputError(f"not the name of a wheel: {error}") from None
    return project, version, tags


@contextmanager
def open_wheel(path: Path) -> Iterator[Wheel]:
    """Open a wheel and judge what is in it; no content is read but METADATA.

    Args:
        path: The wheel.

    Yields:
        The wheel, for as long as the context lasts.

    Raises:
        InputError: It cannot be opened, is no wheel of that name, or a member must not be unpacked.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(error.strerror or str(error), path=str(path)) from None
    with file:
        with naming(path):
            wheel = _judged(path, file)
        yield wheel


def _judged(path: Path, file: BinaryIO) -> Wheel:
    project, version, tags = parse_filename(path.name)
    with _hostile():
        archive = zipfile.ZipFile(file)
        members = tuple(archive.infolist())
    _judge_members(members, file.seek(0, io.SEEK_END))
    info = _own_folder(members, ".dist-info", project)
    if info is None:
        raise InputError(f"no .dist-info folder of {project} in it")
    wheel = Wheel(
        path=path,
        project=project,
        version=version,
        tags=tags,
        info=info,
        data=_own_folder(members, ".data", project),
        members=members,
        file=file,
        archive=archive,
    )
    _expect_same_identity(wheel)
    return wheel


def _expect_same_identity(wheel: Wheel) -> None:
    claimed = parse_metadata(wheel.read("METADATA"))
    try:
        same = claimed.name == wheel.project and Version(claimed.version or "") == wheel.version
    except InvalidVersion:
        same = False
    if not same:
        said = f"{claimed.name} {claimed.version}"
        raise InputError(f"expected METADATA of {wheel.label}, found that of {said}")


def _judge_members(members: tuple[zipfile.ZipInfo, ...], size_bytes: int) -> None:
    if len(members) > _MEMBERS_LIMIT:
        raise InputError(f"more than {_MEMBERS_LIMIT} members")
    if sum(member.compress_size for member in members) > size_bytes:
        raise InputError("refused: members that overlap")
    seen: set[str] = set()
    for member in members:
        name = member.orig_filename
        problem = _problem(member, name) or ("a member twice" if name in seen else None)
        if problem:
            raise InputError(f"refused: {problem}", key=repr(name)[1:-1][:200])
        seen.add(name)


def _problem(member: zipfile.ZipInfo, name: str) -> str | None:
    """Why a member must not be unpacked."""
    if member.flag_bits & _UNREADABLE_FLAGS:
        return "an encrypted member"
    if stat.S_IFMT(member.external_attr >> 16) not in {0, stat.S_IFREG, stat.S_IFDIR}:
        return "neither a file nor a folder (a symbolic link, perhaps)"
    if any(kind == _UNICODE_PATH and data[5:] != name.encode() for kind, data in _fields(member)):
        return "a member with two names"
    return _path_problem(name)


def _fields(member: zipfile.ZipInfo) -> Iterator[tuple[int, bytes]]:
    return extra_fields(member.extra)


def _path_problem(name: str) -> str | None:
    if name.startswith("/") or _DRIVE.match(name):
        return "an absolute path"
    if any(char == "\\" or char < " " for char in name):
        return "a backslash or a control character in a path"
    if any(part in {"", ".", ".."} for part in name.removesuffix("/").split("/")):
        return "a path that is not plain: '', '.' or '..' in it"
    return None


def _own_folder(
    members: tuple[zipfile.ZipInfo, ...], suffix: str, project: NormalizedName
) -> str | None:
    """Source: installers take the folder by project name, whatever the version's spelling."""
    tops = dict.fromkeys(m.filename.partition("/")[0] for m in members if "/" in m.filename)
    own = [
        top
        for top in tops
        if top.endswith(suffix) and canonicalize_name(top.partition("-")[0]) == project
    ]
    if len(own) > 1:
        raise InputError(f"several {suffix} folders: {', '.join(sorted(own)[:3])}")
    if own and not _FOLDER.match(own[0]):
        raise InputError(f"not a name for a folder: {own[0]!r}")
    return own[0] if own else None

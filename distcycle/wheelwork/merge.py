"""One wheel of several, and stand-ins under their names that require it.

Bazel, Nix and their like build one distribution after the other; a loop among some of them is none
once their files are one distribution. The stand-ins let installers find every project that other
packages require.
"""

from __future__ import annotations

import functools
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.errors import InputError
from distcycle.wheelwork.archives import Wheel, naming, open_wheel
from distcycle.wheelwork.composite import (
    Member,
    composite_metadata,
    member_lines,
    read_member,
    stand_in_lines,
    wheel_text,
)
from distcycle.wheelwork.edits import replace_requirements
from distcycle.wheelwork.entry_points import SCRIPT_GROUPS, dump_entry_points, merge_entry_points
from distcycle.wheelwork.layout import is_purelib, lay_out, top_level, unlike
from distcycle.wheelwork.outputs import write_files
from distcycle.wheelwork.records import Row, dump_record, hash_of, row_of
from distcycle.wheelwork.tags import compress_tags, intersect_tags
from distcycle.wheelwork.zips import ArchiveWriter, plain_member

__all__ = ["write_merged"]

_LICENCES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS")
_KEPT_FOLDERS = ("licenses", "sboms")
_REPLACED = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "top_level.txt")


def write_merged(
    paths: Sequence[Path],
    *,
    name: NormalizedName,
    version: Version,
    out: Path,
    allow_signed: bool = False,
) -> tuple[Path, ...]:
    """Write a composite wheel of several, and a stand-in for each of them.

    Args:
        paths: The wheels, one of each project; they are not changed.
        name: The composite's project, none of theirs.
        version: Its version.
        out: The folder for the new wheels; made when missing.
        allow_signed: Whether to take signed wheels and leave their signatures out.

    Returns:
        The composite, then the stand-ins, sorted. The same wheels give the same bytes, in
        whatever order they are named.

    Raises:
        InputError: A wheel cannot be read, must not be unpacked or is signed; two wheels have
            different files or entry points of one name; no environment takes all of them; or the
            disk refuses. Nothing is left half-written.
    """
    with ExitStack() as stack:
        wheels = [_open(path, stack, allow_signed=allow_signed) for path in paths]
        wheels.sort(key=lambda wheel: wheel.project)
        merge = _Merge(wheels, name, version)
        contents = merge.contents()
        for path in paths:
            target = out / path.name
            if path.name in contents and target.exists() and target.samefile(path):
                raise InputError(
                    "a stand-in would replace it; choose another folder", path=str(path)
                )
        return write_files(out, contents, like=paths[0])


def _open(path: Path, stack: ExitStack, *, allow_signed: bool) -> Wheel:
    wheel = stack.enter_context(open_wheel(path))
    if wheel.signatures and not allow_signed:
        raise wheel.error("signed, and the signature would not hold", key=wheel.signatures[0])
    return wheel


class _Archive:
    """A wheel in the making: its members, and the rows of its RECORD."""

    def __init__(self, file: BinaryIO, info: str) -> None:
        self._writer = ArchiveWriter(file)
        self._info = info
        self._rows: list[Row] = []

    def copy(self, wheel: Wheel, member: zipfile.ZipInfo, name: str, digest: bytes) -> None:
        with naming(wheel.path):
            self._writer.copy(wheel.file, member, name)
        self._rows.append(Row(name, hash_of(digest), str(member.file_size)))

    def add(self, name: str, data: bytes) -> None:
        path = f"{self._info}/{name}"
        self._writer.add(data, plain_member(path), path)
        self._rows.append(row_of(path, data))

    def finish(self) -> None:
        path = f"{self._info}/RECORD"
        record = dump_record((*self._rows, Row(path, "", "")))
        self._writer.add(record, plain_member(path), path)
        self._writer.finish()


class _Merge:
    """What goes where: all that can be refused is refused when it is made."""

    def __init__(self, wheels: Sequence[Wheel], name: NormalizedName, version: Version) -> None:
        _expect_distinct(wheels, name)
        self._wheels = wheels
        self._requirement = f"{name}=={version}"
        self._stem = f"{name.replace('-', '_')}-{version}"
        self._purelib = all(map(is_purelib, wheels))
        self._tags = intersect_tags(wheel.tags for wheel in wheels)
        if not self._tags:
            raise InputError(
                f"no environment takes all of {', '.join(w.path.name for w in wheels)}"
            )
        self._suffix = f"{compress_tags(self._tags)}.whl"
        self._members = {w.project: _member_of(w) for w in wheels}
        self._files = lay_out(wheels)
        self._licences = {label: at for wheel in wheels for label, at in _kept(wheel)}
        self._texts = self._compose(name, version)

    def contents(self) -> dict[str, Callable[[BinaryIO], None]]:
        """What writes each wheel, by its name."""
        composite = f"{self._stem}-{self._suffix}"
        contents: dict[str, Callable[[BinaryIO], None]] = {composite: self._write_composite}
        for wheel in self._wheels:
            stem = "-".join(wheel.path.name.split("-")[:2])
            contents[f"{stem}-{self._suffix}"] = functools.partial(self._write_stand_in, wheel)
        return contents

    def _compose(self, name: NormalizedName, version: Version) -> dict[str, bytes]:
        """The texts of the composite's ``.dist-info`` folder."""
        entry_points = merge_entry_points(
            {w.label: w.read("entry_points.txt") for w in self._wheels if w.has("entry_points.txt")}
        )
        unlike((n for group, n in entry_points if group in SCRIPT_GROUPS), self._files)
        texts = {
            "METADATA": composite_metadata(
                name,
                version,
                tuple(self._members.values()),
                [path.partition("/")[2] for path in self._licences if path.startswith("licenses/")],
            ),
            "WHEEL": wheel_text(self._tags, purelib=self._purelib),
            "entry_points.txt": dump_entry_points(entry_points),
            "top_level.txt": self._top_level(),
        }
        return {name: text for name, text in texts.items() if text}

    def _top_level(self) -> bytes:
        names = {
            name
            for wheel in self._wheels
            for name in top_level(wheel, (f for f in self._files if f.wheel is wheel))
        }
        return "".join(f"{name}\n" for name in sorted(names)).encode()

    def _write_composite(self, file: BinaryIO) -> None:
        archive = _Archive(file, f"{self._stem}.dist-info")
        root = "purelib" if self._purelib else "platlib"
        for own in self._files:
            name = own.name(root, f"{self._stem}.data")
            archive.copy(own.wheel, own.member, name, own.digest)
        for path, (wheel, member) in self._licences.items():
            name = f"{self._stem}.dist-info/{path}"
            archive.copy(wheel, member, name, wheel.digest(member))
        for path, text in self._texts.items():
            archive.add(path, text)
        archive.finish()

    def _write_stand_in(self, wheel: Wheel, file: BinaryIO) -> None:
        archive = _Archive(file, wheel.info)
        for member in _own_info(wheel):
            archive.copy(wheel, member, member.filename, wheel.digest(member))
        lines = member_lines(self._members[wheel.project], self._members)
        required = stand_in_lines(lines, self._requirement)
        archive.add("METADATA", replace_requirements(wheel.read("METADATA"), required))
        archive.add("WHEEL", wheel_text(self._tags, purelib=True))
        archive.finish()


def _expect_distinct(wheels: Sequence[Wheel], name: NormalizedName) -> None:
    projects = [wheel.project for wheel in wheels]
    if len(set(projects)) < max(2, len(projects)):
        raise InputError(f"expected wheels of several projects, found {', '.join(projects)}")
    if name in projects:
        raise InputError(f"{name} is the name of a member; the composite needs one of its own")


def _member_of(wheel: Wheel) -> Member:
    with naming(wheel.path):
        return read_member(wheel.project, wheel.version, wheel.read("METADATA"))


def _info_files(wheel: Wheel) -> Iterator[tuple[str, zipfile.ZipInfo]]:
    """The files of its ``.dist-info`` folder, by their paths in there."""
    for member in wheel.members:
        top, _, path = member.filename.partition("/")
        if top == wheel.info and not member.is_dir():
            yield path, member


def _own_info(wheel: Wheel) -> Iterator[zipfile.ZipInfo]:
    """What a stand-in takes over as it is."""
    for path, member in _info_files(wheel):
        if path not in _REPLACED and member.filename not in wheel.signatures:
            yield member


def _kept(wheel: Wheel) -> Iterator[tuple[str, tuple[Wheel, zipfile.ZipInfo]]]:
    """Licences and bills of materials, by where the composite's ``.dist-info`` folder has them."""
    declared = {h.value for h in wheel.headers("METADATA") if h.name == "license-file"}
    for path, member in _info_files(wheel):
        folder, _, rest = path.partition("/")
        if rest and folder in _KEPT_FOLDERS:
            yield f"{folder}/{wheel.project}/{rest}", (wheel, member)
        elif path in declared or path.upper().startswith(_LICENCES):
            yield f"licenses/{wheel.project}/{path}", (wheel, member)

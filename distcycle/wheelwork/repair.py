"""A wheel with requirements taken out or put under an extra: METADATA and RECORD change, no more.

``wheel``, ``installer`` and the tools on them unpack and pack again: new dates, new compression,
another order. Here every other member is copied as it stands.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from packaging.version import Version

from distcycle.errors import InputError
from distcycle.wheelwork.archives import Wheel, naming, open_wheel
from distcycle.wheelwork.edits import Edit, edit_metadata
from distcycle.wheelwork.outputs import write_files
from distcycle.wheelwork.records import rewrite_record, row_of
from distcycle.wheelwork.zips import ArchiveWriter

__all__ = ["Texts", "edit_texts", "repaired_version", "write_repaired"]

_LABEL = "distcycle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The two texts of a wheel that say what it requires and what is in it."""

    metadata: bytes
    record: bytes


def repaired_version(version: Version) -> Version:
    """The local version of a repaired wheel.

    Args:
        version: The wheel's version.

    Returns:
        ``+distcycle.1`` or, after a local part of its own, ``.distcycle.1``; the next number where
        the wheel is a repaired one already.
    """
    local = version.local.split(".") if version.local else []
    if local[-2:-1] == [_LABEL] and local[-1].isdigit():
        local[-1] = str(int(local[-1]) + 1)
    else:
        local += [_LABEL, "1"]
    return Version(f"{version.public}+{'.'.join(local)}")


def edit_texts(
    texts: Texts,
    info: str,
    edits: Sequence[Edit],
    *,
    version: Version | None = None,
    rename: Callable[[str], str] = str,
    dropped: Sequence[str] = (),
) -> Texts:
    """Carry out edits.

    Args:
        texts: The wheel's texts.
        info: Its ``.dist-info`` folder.
        edits: What is to be done.
        version: The version to claim; None for the one that stands.
        rename: The new path of a present one.
        dropped: Files that go.

    Returns:
        The new texts.

    Raises:
        InputError: An edit means no requirement of this wheel, or a text cannot be read.
    """
    path = f"{info}/METADATA"
    metadata = edit_metadata(texts.metadata, edits, version)
    changed = {**dict.fromkeys(dropped), path: row_of(path, metadata)}
    return Texts(metadata=metadata, record=rewrite_record(texts.record, changed, rename))


def write_repaired(
    path: Path,
    edits: Sequence[Edit],
    out: Path,
    *,
    keep_version: bool = False,
    allow_signed: bool = False,
) -> Path:
    """Write a wheel that requires less.

    Args:
        path: The wheel; it is not changed.
        edits: What is to be done; at least one.
        out: The folder for the new wheel; made when missing.
        keep_version: Whether to do without a local version. The new wheel then has the name of the
            old one, and other bytes.
        allow_signed: Whether to take a signed wheel and leave its signature out.

    Returns:
        The new wheel. The same wheel and edits give the same bytes.

    Raises:
        InputError: It cannot be read, must not be unpacked, is signed, does not require what an
            edit names, or the disk refuses. Nothing is left half-written.
    """
    with open_wheel(path) as wheel, naming(path):
        repair = _Repair(wheel, edits, keep_version=keep_version, allow_signed=allow_signed)
        if (out / repair.filename).exists() and (out / repair.filename).samefile(path):
            raise InputError("the new wheel would replace it; choose another folder")
        return write_files(out, {repair.filename: repair.write}, like=path)[0]


class _Repair:
    """What becomes of each member of a wheel."""

    def __init__(
        self, wheel: Wheel, edits: Sequence[Edit], *, keep_version: bool, allow_signed: bool
    ) -> None:
        if wheel.signatures and not allow_signed:
            raise InputError("signed, and the signature would not hold", key=wheel.signatures[0])
        self._wheel = wheel
        self._version = None if keep_version else repaired_version(wheel.version)
        self._renamed = {folder: self._rename_folder(folder) for folder in self._folders()}
        self._texts = self._edit(edits)

    @property
    def filename(self) -> str:
        """The new wheel's name."""
        if self._version is None:
            return self._wheel.path.name
        project, _, *rest = self._wheel.path.name.split("-")
        return "-".join([project, str(self._version), *rest])

    def write(self, file: BinaryIO) -> None:
        """Write the new wheel."""
        writer = ArchiveWriter(file)
        for member in self._wheel.members:
            self._put(member, writer)
        writer.finish(self._wheel.archive.comment)

    def _put(self, member: zipfile.ZipInfo, writer: ArchiveWriter) -> None:
        name = self._rename(member.filename)
        if member.filename in self._wheel.signatures:
            return
        if member.filename in self._texts:
            writer.add(self._texts[member.filename], member, name)
        else:
            writer.copy(self._wheel.file, member, name)

    def _edit(self, edits: Sequence[Edit]) -> dict[str, bytes]:
        """The new texts, by the present paths."""
        wheel = self._wheel
        texts = edit_texts(
            Texts(metadata=wheel.read("METADATA"), record=wheel.read("RECORD")),
            wheel.info,
            edits,
            version=self._version,
            rename=self._rename,
            dropped=wheel.signatures,
        )
        return {f"{wheel.info}/METADATA": texts.metadata, f"{wheel.info}/RECORD": texts.record}

    def _folders(self) -> list[str]:
        return [self._wheel.info, *([self._wheel.data] if self._wheel.data else [])]

    def _rename_folder(self, folder: str) -> str:
        if self._version is None:
            return folder
        return f"{folder.partition('-')[0]}-{self._version}.{folder.rpartition('.')[2]}"

    def _rename(self, path: str) -> str:
        top, slash, rest = path.partition("/")
        return self._renamed.get(top, top) + slash + rest

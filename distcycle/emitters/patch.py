"""Patches of METADATA and RECORD for rules_python, which reads a wheel's requirements patched.

Unlike the other emitters this one needs the wheels' own texts, and gives files beside the snippet.

Source: rules_python, ``pip.override`` of its module extension, and ``patch_whl.bzl``
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from packaging.utils import canonicalize_name

from distcycle.errors import InputError
from distcycle.plan import PlannedCut
from distcycle.wheelwork import Edit
from distcycle.wheelwork.records import split_rows
from distcycle.wheelwork.repair import Texts, edit_texts

__all__ = ["Patches", "edits_of", "patch_names", "patches_for_wheel", "snippet"]

_INFO = re.compile(r"([A-Za-z0-9][A-Za-z0-9._+!-]*\.dist-info)/METADATA\Z")
_UNENDED = b"\\ No newline at end of file\n"
_CONTEXTS = (3, 2, 1)


class Patches(NamedTuple):
    """The patches of one wheel, to be applied with one leading folder stripped."""

    metadata: bytes
    record: bytes


def edits_of(cuts: Iterable[PlannedCut]) -> tuple[Edit, ...]:
    """Cuts of one package as edits of a wheel."""
    return tuple(Edit(requires=c.requires, extra=c.extra, lines=c.removed) for c in cuts)


def patches_for_wheel(
    filename: str, metadata: bytes, record: bytes, cuts: Sequence[PlannedCut]
) -> Patches:
    """Make a wheel's patches.

    Args:
        filename: The wheel's name.
        metadata: Its METADATA.
        record: Its RECORD.
        cuts: All cuts of its package: the second patch of one file would not apply.

    Returns:
        Unified diffs; the patched texts are those of a wheel repaired with ``keep_version``.

    Raises:
        InputError: A text cannot be read, or the wheel does not declare what a cut removes.
    """
    info = _info_folder(filename, record)
    old = Texts(metadata=metadata, record=record)
    new = edit_texts(old, info, edits_of(cuts))
    return Patches(
        metadata=_diff(old.metadata, new.metadata, f"{info}/METADATA"),
        record=_diff(old.record, new.record, f"{info}/RECORD"),
    )


def _info_folder(filename: str, record: bytes) -> str:
    project = canonicalize_name(filename.partition("-")[0])
    matches = (_INFO.match(row.path) for row in split_rows(record))
    folders = {match[1] for match in matches if match}
    own = [name for name in folders if canonicalize_name(name.partition("-")[0]) == project]
    if len(own) != 1:
        raise InputError(f"expected one row for the METADATA of {project}", key="RECORD")
    return own[0]


def _diff(old: bytes, new: bytes, path: str) -> bytes:
    """Source: Bazel before 9.3 stops at the line that says that a file does not end in one.

    So the context is made narrower where that spares the line.
    """
    diffs = [_unified(old, new, path, context) for context in _CONTEXTS]
    return next((diff for diff in diffs if _UNENDED not in diff), diffs[0])


def _unified(old: bytes, new: bytes, path: str, context: int) -> bytes:
    names = (f"a/{path}".encode(), f"b/{path}".encode())
    lines = difflib.diff_bytes(difflib.unified_diff, _lines(old), _lines(new), *names, n=context)
    return b"".join(line if line.endswith(b"\n") else line + b"\n" + _UNENDED for line in lines)


def _lines(data: bytes) -> list[bytes]:
    """A carriage return is part of a line, as it is for ``patch``."""
    *lines, last = data.split(b"\n")
    return [line + b"\n" for line in lines] + ([last] if last else [])


def patch_names(filename: str) -> tuple[str, str]:
    """The names of the files for a wheel's patches of METADATA and RECORD."""
    stem = filename.removesuffix(".whl")
    return f"{stem}.metadata.patch", f"{stem}.record.patch"


def snippet(wheels: Mapping[str, Sequence[PlannedCut]], *, folder: str = "//patches") -> str:
    """What MODULE.bazel says of the patches.

    Args:
        wheels: By the name of each patched wheel, the cuts of its package.
        folder: The Bazel package in which the patches lie, under :func:`patch_names`.

    Returns:
        One ``pip.override`` for each wheel, with why in a comment.
    """
    parts = [line for filename in sorted(wheels) for line in _override(filename, wheels, folder)]
    return "".join(f"{line}\n" for line in [*_PREFACE, *parts])


_PREFACE = (
    "# For MODULE.bazel, where `pip` is the extension that rules_python offers. The patches need a",
    "# BUILD file beside them. Each is for one wheel file: make them anew with every upgrade.",
)


def _override(
    filename: str, wheels: Mapping[str, Sequence[PlannedCut]], folder: str
) -> Iterator[str]:
    yield ""
    for cut in wheels[filename]:
        yield from (f"# {_printable(line)}" for line in _reasons(cut))
    yield "pip.override("
    yield f"    file = {json.dumps(filename)},"
    yield "    patch_strip = 1,"
    yield "    patches = ["
    yield from (f"        {json.dumps(f'{folder}:{name}')}," for name in patch_names(filename))
    yield "    ],"
    yield ")"


def _reasons(cut: PlannedCut) -> Iterator[str]:
    kept = f", but under its extra {cut.extra}" if cut.extra else ""
    yield (
        f"{cut.package} {cut.version or ''}".rstrip() + f" requires {cut.requires} no longer{kept}."
    )
    yield from (f"Lost: {loss}" for loss in cut.loses)


def _printable(text: str) -> str:
    """Text of an input, which must not end the comment that it stands in."""
    return "".join(c if c.isprintable() else " " for c in text)

"""METADATA with requirements taken out or put under an extra, every other byte as it was.

Header lines are cut at the bytes: ``email`` would fold long lines, decode and encode the
description, and unify line ends.

Source: Core metadata specifications, https://packaging.python.org/specifications/core-metadata/
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from distcycle.errors import InputError
from distcycle.model import Extra, Requirement
from distcycle.requirements import parse_requirement
from distcycle.wheelwork.conditions import holds_without_extra, under_extra

__all__ = [
    "Edit",
    "Header",
    "edit_metadata",
    "join_headers",
    "replace_requirements",
    "split_headers",
]

_START = re.compile(rb"(?:\xef\xbb\xbf)?[\r\n]*")
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_FIELD = re.compile(rb"([!-9;-~]+):")
_LINE_END = re.compile(rb"(?:\r\n|\r|\n)\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One project that a wheel is to require no longer.

    Attributes:
        requires: The project.
        extra: The extra under which the requirement is kept; None when it just goes.
        lines: The requirement lines that are meant, as declared; all that require the project when
            there are none.
    """

    requires: NormalizedName
    extra: Extra | None = None
    lines: tuple[str, ...] = ()

    def means(self, requirement: Requirement) -> bool:
        """Whether this is about a requirement."""
        if requirement.name != self.requires:
            return False
        return not self.lines or requirement.text in {" ".join(x.split()) for x in self.lines}


@dataclass(frozen=True, slots=True)
class Header:
    """One header with its folded lines and line end, as it stands."""

    raw: bytes

    @property
    def name(self) -> str:
        """The field, in lower case."""
        return self.raw.partition(b":")[0].decode("ascii").lower()

    @property
    def value(self) -> str:
        """The value, white space collapsed."""
        return " ".join(_decode(self.raw.partition(b":")[2]).split())

    @property
    def requirement(self) -> Requirement | None:
        """What a Requires-Dist says; None for other headers and what names no project."""
        if self.name != "requires-dist":
            return None
        try:
            return parse_requirement(self.value)
        except ValueError:
            return None

    def with_value(self, value: str) -> Header:
        """The same field with another value, on one line."""
        field = self.raw.partition(b":")[0]
        return Header(field + b": " + value.encode() + self._line_end())

    def like_this(self, field: str, value: str) -> Header:
        """Another field with this one's line end."""
        return Header(f"{field}: {value}".encode() + self._line_end())

    def ended(self) -> Header:
        """The same header with a line end, which the last one of a file may lack."""
        return self if _LINE_END.search(self.raw) else Header(self.raw + b"\n")

    def _line_end(self) -> bytes:
        match = _LINE_END.search(self.raw)
        return match[0] if match else b"\n"


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def split_headers(data: bytes) -> tuple[bytes, list[Header], bytes]:
    """Cut a METADATA or WHEEL file into its headers.

    Args:
        data: The file.

    Returns:
        What stands before the headers, the headers, and the rest; joined, they are the file.
    """
    start = at = _START.match(data).end()  # type: ignore[union-attr]
    headers: list[bytes] = []
    while match := _LINE.match(data, at):
        line = match[0]
        if line[:1] in {b" ", b"\t"} and headers:
            headers[-1] += line
        elif _FIELD.match(line):
            headers.append(line)
        else:
            break
        at = match.end()
    return data[:start], [Header(raw) for raw in headers], data[at:]


def join_headers(start: bytes, headers: Iterable[Header], rest: bytes) -> bytes:
    """The file that :func:`split_headers` cut."""
    return start + b"".join(header.raw for header in headers) + rest


def edit_metadata(data: bytes, edits: Sequence[Edit], version: Version | None = None) -> bytes:
    """Take requirements out of METADATA, or put them under an extra.

    A requirement that holds under an extra only is not put under another one.

    Args:
        data: METADATA.
        edits: What to do; the first that means a requirement decides.
        version: The version to claim; None for the one that stands.

    Returns:
        METADATA in which only the lines concerned differ.

    Raises:
        InputError: An edit means no requirement of this file, or an unreadable one.
    """
    start, headers, rest = split_headers(data)
    _expect_effect(headers, edits)
    declared = {canonicalize_name(h.value) for h in headers if h.name == "provides-extra"}
    edited: list[Header] = []
    for header in headers:
        if header.name == "version" and version is not None:
            edited.append(header.with_value(str(version)))
        else:
            edited += _edit(header, edits, declared)
    return join_headers(start, edited, rest)


def _edit(header: Header, edits: Sequence[Edit], declared: set[Extra]) -> list[Header]:
    """The headers that take a header's place."""
    requirement = header.requirement
    edit = None if requirement is None else next((e for e in edits if e.means(requirement)), None)
    if requirement is None or edit is None:
        return [header]
    if edit.extra is None:
        return []
    if not holds_without_extra(requirement.marker):
        return [header]
    moved = header.with_value(under_extra(requirement, edit.extra))
    if edit.extra in declared:
        return [moved]
    declared.add(edit.extra)
    return [header.like_this("Provides-Extra", edit.extra), moved]


def _expect_effect(headers: Iterable[Header], edits: Iterable[Edit]) -> None:
    requirements = [r for r in (header.requirement for header in headers) if r is not None]
    for edit in edits:
        meant = [r for r in requirements if edit.means(r)]
        if not meant:
            raise InputError(f"no such requirement of {edit.requires}", key="METADATA")
        if edit.extra and not any(holds_without_extra(r.marker) for r in meant):
            raise InputError(f"{edit.requires} is required under an extra only", key="METADATA")


def replace_requirements(data: bytes, lines: Iterable[str]) -> bytes:
    """Give METADATA other requirements.

    Args:
        data: METADATA.
        lines: All that it is to require.

    Returns:
        METADATA with these lines where the first of its own stood, else after all headers.
    """
    start, headers, rest = split_headers(data)
    at = next((i for i, h in enumerate(headers) if h.name == "requires-dist"), len(headers))
    kept = [header.ended() for header in headers if header.name != "requires-dist"]
    model = headers[0] if headers else Header(b"\n")
    kept[at:at] = [model.like_this("Requires-Dist", line) for line in lines]
    return join_headers(start, kept, rest)

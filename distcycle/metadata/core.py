"""METADATA and PKG-INFO texts, read leniently: one bad field never hides the others.

The header block is scanned here, not by ``email``, which costs fifty times as much and lets every
field vanish without a word behind a byte order mark or a blank first line.

Source: Core metadata specifications, https://packaging.python.org/specifications/core-metadata/
"""

from __future__ import annotations

import re

from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidName, NormalizedName, canonicalize_name

from distcycle.metadata.urls import without_credentials
from distcycle.model import Metadata, Requirement
from distcycle.requirements import parse_requirement, parse_specifier

__all__ = ["header_block", "parse_metadata"]

_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANK = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")
_FIELD = re.compile(r"(?P<name>[!-9;-~]+):(?P<value>.*)\Z", re.DOTALL)


def header_block(data: bytes) -> bytes:
    """The part of a METADATA file before the description.

    Args:
        data: The whole file.

    Returns:
        Its headers, without byte order mark and leading blank lines.
    """
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    return _BLANK.split(start, maxsplit=1)[0].rstrip(b"\r\n") + b"\n"


def parse_metadata(data: bytes) -> Metadata:
    """Read what an artefact says of itself.

    Args:
        data: METADATA or PKG-INFO; the description is not looked at.

    Returns:
        What could be read; the rest is named in ``problems``. Never fails.
    """
    problems: list[str] = []
    fields = _fields(_decode(header_block(data)), problems)
    return Metadata(
        name=_project(_first(fields, "name"), problems),
        version=_first(fields, "version"),
        requires=_requirements(fields.get("requires-dist", []), problems),
        provides_extra=tuple(
            dict.fromkeys(canonicalize_name(name) for name in fields.get("provides-extra", []))
        ),
        requires_python=_specifier(_first(fields, "requires-python"), problems),
        metadata_version=_first(fields, "metadata-version") or "",
        dynamic=frozenset(name.lower() for name in fields.get("dynamic", [])),
        problems=tuple(problems),
    )


def _decode(data: bytes) -> str:
    """Old tools wrote authors in latin-1; what matters here is ASCII either way."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _fields(text: str, problems: list[str]) -> dict[str, list[str]]:
    """Header values by lower-case name, unfolded, white space collapsed, empty ones left out."""
    fields: dict[str, list[str]] = {}
    for header in _unfold(text):
        match = _FIELD.match(header)
        if match is None:
            # Installers, whose parser is email's, take what follows for the description too.
            problems.append(f"not a header, nothing after it was read: {header[:80]!r}")
            break
        value = " ".join(match["value"].split())
        if value:
            fields.setdefault(match["name"].lower(), []).append(value)
    return fields


def _unfold(text: str) -> list[str]:
    headers: list[str] = []
    for line in _LINE_END.split(text):
        if line[:1] in {" ", "\t"} and headers:
            headers[-1] += " " + line
        elif line:
            headers.append(line)
    return headers


def _first(fields: dict[str, list[str]], name: str) -> str | None:
    return next(iter(fields.get(name, [])), None)


def _project(text: str | None, problems: list[str]) -> NormalizedName | None:
    if text is None:
        problems.append("no Name field")
        return None
    try:
        return canonicalize_name(text, validate=True)
    except InvalidName:
        problems.append(f"Name: not a project name: {text[:100]!r}")
        return None


def _requirements(lines: list[str], problems: list[str]) -> tuple[Requirement, ...]:
    read = (_requirement(line, problems) for line in lines)
    return tuple(requirement for requirement in read if requirement is not None)


def _requirement(line: str, problems: list[str]) -> Requirement | None:
    try:
        return parse_requirement(without_credentials(line))
    except ValueError as error:
        problems.append(f"Requires-Dist: {error}")
        return None


def _specifier(text: str | None, problems: list[str]) -> SpecifierSet | None:
    if text is None:
        return None
    specifier = parse_specifier(text)
    if specifier is None:
        problems.append(f"Requires-Python: not a version specifier: {text[:100]!r}")
    return specifier

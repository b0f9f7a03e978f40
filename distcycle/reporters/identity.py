"""What other systems tell files and findings by: relative paths, URIs and fingerprints."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from pathlib import PurePosixPath, PureWindowsPath
from typing import TypeVar
from urllib.parse import quote

from distcycle.findings import Component, Finding, Report

__all__ = ["component_of", "file_path", "file_uri", "fingerprint_of", "number_repeats"]

_Key = TypeVar("_Key", bound=Hashable)


def fingerprint_of(finding: Finding) -> str:
    """Identify a finding by code, projects and subject; never by versions, lines or file order.

    Args:
        finding: The finding.

    Returns:
        Hexadecimal digits.
    """
    text = "\n".join((finding.code, ",".join(finding.packages), finding.subject))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def number_repeats(keys: Iterable[_Key]) -> Iterator[tuple[_Key, int]]:
    """Count, beside each key, how often it came up to here: 1, then 2 when it comes again."""
    seen: Counter[_Key] = Counter()
    for key in keys:
        seen[key] += 1
        yield key, seen[key]


def file_path(path: str, root: str) -> str:
    """Name a file from a folder, with forward slashes.

    Args:
        path: The file, as the user named it.
        root: The folder, absolute; ``""`` when there is none.

    Returns:
        The relative path, or the whole one when the file is not in the folder.
    """
    # The root is of this machine; without one a backslash is taken for part of a name.
    flavour = PureWindowsPath if PureWindowsPath(root).drive else PurePosixPath
    place = flavour(path)
    if root and place.is_relative_to(root):
        place = place.relative_to(root)
    return place.as_posix()


def file_uri(path: str, root: str) -> str:
    """Name a file by a URI reference, relative where :func:`file_path` is.

    Source: RFC 3986, section 4.2: a colon in the first segment would be taken for a scheme.
    """
    name = file_path(path, root)
    if name.startswith("/"):
        return "file://" + quote(name, errors="surrogatepass")
    if PureWindowsPath(name).is_absolute() and PureWindowsPath(root).drive:
        return "file:///" + quote(name, safe="/:", errors="surrogatepass")
    return quote(name, errors="surrogatepass")


def component_of(finding: Finding, report: Report) -> Component | None:
    """Find the loop that a finding is about; two inputs can have loops of one id.

    A finding on packages names its input. One on modules names a file, which two inputs can have
    too: findings and loops then stand in one order.
    """
    same = [c for c in report.components if c.id == finding.component]
    if len(same) < 2:
        return same[0] if same else None
    own = next((c for c in same if c.input == finding.path), None)
    if own is not None:
        return own
    alike = [f for f in report.findings if f.component == finding.component]
    at = next((at for at, other in enumerate(alike) if other is finding), 0)
    return same[min(at, len(same) - 1)]

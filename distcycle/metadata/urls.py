"""URLs as this floor needs them: credentials set apart, local files recognised."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit
from urllib.request import url2pathname

__all__ = [
    "filename_of",
    "is_url",
    "local_path",
    "origin_of",
    "redact_url",
    "same_index",
    "split_credentials",
    "with_suffix",
    "without_credentials",
]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_USER = re.compile(r"(?<=//)[^/@\s]*@")


def is_url(location: str) -> bool:
    """Whether a location is a URL; a Windows drive letter is no scheme."""
    return _SCHEME.match(location) is not None


def split_credentials(url: str) -> tuple[str, tuple[str, str] | None]:
    """Set the user name and password of a URL apart.

    Args:
        url: Any URL.

    Returns:
        The URL without them, and the pair, unquoted; None when it has none.
    """
    parts = _split(url)
    if parts is None or "@" not in parts.netloc:
        return url, None
    user, _, host = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    return urlunsplit(parts._replace(netloc=host)), (unquote(name), unquote(password))


def without_credentials(url: str) -> str:
    """A URL, or any text that holds one, without user names and passwords."""
    return _USER.sub("", url)


def redact_url(url: str) -> str:
    """A URL as it may appear in a message: without user, password, query and fragment.

    Query and fragment go as well, because signed URLs carry their signature there.
    """
    parts = _split(url)
    if parts is None:
        return without_credentials(url)
    return without_credentials(urlunsplit(parts._replace(query="", fragment="")))


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL, in lower case; ``""`` for what has no host."""
    parts = _split(url)
    if parts is None or not parts.netloc:
        return ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".lower()


def same_index(one: str | None, other: str | None) -> bool:
    """Whether two texts name one index: credentials and a last slash make no difference."""
    if one is None or other is None:
        return one is other
    return without_credentials(one).rstrip("/") == without_credentials(other).rstrip("/")


def filename_of(url: str) -> str:
    """The last part of a URL's path, unquoted."""
    parts = _split(url)
    return unquote(parts.path.rpartition("/")[2]) if parts else ""


def with_suffix(url: str, suffix: str) -> str:
    """A URL with a suffix on its path; the query is kept and the fragment dropped."""
    parts = _split(url)
    if parts is None:
        return url + suffix
    return urlunsplit(parts._replace(path=parts.path + suffix, fragment=""))


def local_path(location: str) -> Path | None:
    """The file or folder that a path or a ``file:`` URL names; None for other URLs."""
    if not is_url(location):
        return Path(os.path.expanduser(location))
    parts = _split(location)
    if parts is None or parts.scheme.lower() != "file":
        return None
    host = "" if parts.netloc in {"", "localhost"} else f"//{parts.netloc}"
    return Path(host + url2pathname(parts.path))


def _split(url: str) -> SplitResult | None:
    try:
        return urlsplit(url)
    except ValueError:
        return None

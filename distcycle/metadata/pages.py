"""Pages of the Simple API, JSON and HTML, as artefacts; a bad entry is left out, not the page.

``pypi_simple`` reads the entries. It takes half a second to import (pydantic, Beautiful Soup), so
this module is imported only when a page has really to be parsed; the cache keeps parsed pages.

Source: Simple repository API,
https://packaging.python.org/specifications/simple-repository-api/
"""

from __future__ import annotations

import json
import re
import threading
import warnings
from collections.abc import Mapping
from datetime import datetime, timezone
from email.message import Message
from typing import Any

from pypi_simple import (
    ACCEPT_JSON_PREFERRED,
    PYPI_SIMPLE_ENDPOINT,
    DistributionPackage,
    Link,
    RepositoryPage,
    UnexpectedRepoVersionWarning,
    UnsupportedRepoVersionError,
)

from distcycle.errors import MetadataError
from distcycle.metadata.hashes import ALGORITHMS
from distcycle.metadata.urls import filename_of, redact_url, without_credentials
from distcycle.model import Artefact
from distcycle.requirements import parse_specifier

__all__ = ["ACCEPT", "DEFAULT_INDEX", "parse_html", "parse_page"]

ACCEPT = ACCEPT_JSON_PREFERRED
DEFAULT_INDEX = PYPI_SIMPLE_ENDPOINT

_ARCHIVE = re.compile(r".+\.(whl|zip|tar|tgz|tbz|txz|tlz|tar\.(gz|bz2|xz|lzma))\Z", re.IGNORECASE)
_HEX = re.compile(r"[0-9a-f]{32,128}\Z")
# Filters for warnings belong to the whole process; two threads must not swap them at once.
_FILTERS = threading.Lock()


def parse_page(data: bytes, content_type: str, *, url: str, project: str) -> tuple[Artefact, ...]:
    """Read a page as an index answered with it.

    Args:
        data: The body.
        content_type: The header that says what it is.
        url: Where it was found, after redirects; links are relative to it.
        project: The project it is for.

    Returns:
        The archives that it lists, in page order.

    Raises:
        MetadataError: It is no page of the Simple API, or of a version that is not known.
    """
    header = Message()
    header["Content-Type"] = content_type or "text/html"
    kind = header.get_content_type()
    if kind == "application/vnd.pypi.simple.v1+json":
        return _parse_json(data, url=url, project=project)
    if kind in {"application/vnd.pypi.simple.v1+html", "text/html"}:
        return parse_html(data, url=url, charset=header.get_content_charset())
    raise MetadataError(f"expected a page of the Simple API, found {kind}", url=redact_url(url))


def parse_html(data: bytes, *, url: str, charset: str | None = None) -> tuple[Artefact, ...]:
    """Read an HTML page of the Simple API, or any page with links to archives (``--find-links``).

    Args:
        data: The page.
        url: Where it was found; links are relative to it.
        charset: What its header says.

    Returns:
        The archives that it links to, in page order.

    Raises:
        MetadataError: It is of a version of the Simple API that is not known.
    """
    try:
        with _FILTERS, warnings.catch_warnings():
            warnings.simplefilter("ignore", UnexpectedRepoVersionWarning)
            page = RepositoryPage.from_html(data, base_url=url, from_encoding=charset)
    except (UnsupportedRepoVersionError, ValueError, RecursionError, AssertionError) as error:
        raise MetadataError(_one_line(error), url=redact_url(url)) from None
    return tuple(artefact for link in page.links if (artefact := _from_link(link)) is not None)


def _parse_json(data: bytes, *, url: str, project: str) -> tuple[Artefact, ...]:
    try:
        page = json.loads(data)
        version = str(page["meta"]["api-version"])
        entries = list(page["files"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise MetadataError("not a JSON page of the Simple API", url=redact_url(url)) from None
    if version.partition(".")[0] != "1":
        raise MetadataError(f"Simple API version {version} is not known", url=redact_url(url))
    found = (_from_entry(entry, url=url, project=project) for entry in entries)
    return tuple(artefact for artefact in found if artefact is not None)


def _from_entry(entry: Any, *, url: str, project: str) -> Artefact | None:
    try:
        # PEP 714: the key was renamed; some servers have only the old one.
        entry.setdefault("core-metadata", entry.get("dist-info-metadata"))
        package = DistributionPackage.from_json_data(entry, project, url)
    except (ValueError, AttributeError, TypeError):
        return None
    return _artefact(package, package.filename)


def _from_link(link: Link) -> Artefact | None:
    try:
        if "data-dist-info-metadata" in link.attrs:
            link.attrs.setdefault("data-core-metadata", link.attrs["data-dist-info-metadata"])
        package = DistributionPackage.from_link(link)
    except (ValueError, AssertionError):
        return None
    return _artefact(package, filename_of(package.url))


def _artefact(package: DistributionPackage, filename: str) -> Artefact | None:
    if not _ARCHIVE.match(filename) or "/" in filename or "\\" in filename:
        return None
    python = package.requires_python
    return Artefact(
        filename=filename,
        url=without_credentials(package.url),
        hashes=_hashes(package.digests),
        size_bytes=package.size,
        requires_python=parse_specifier(python) if python else None,
        yanked=(package.yanked_reason or "") if package.is_yanked else None,
        metadata_hashes=_hashes(package.metadata_digests or {}) if package.has_metadata else None,
        uploaded=_aware(package.upload_time),
    )


def _aware(moment: datetime | None) -> datetime | None:
    """A moment with its zone; PEP 700 knows no other than UTC."""
    if moment is None or moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=timezone.utc)


def _hashes(digests: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """A link's fragment may be something else than a hash, such as ``egg=name``."""
    pairs = ((name.lower(), digest.lower()) for name, digest in digests.items())
    return tuple(
        sorted(
            (name, digest) for name, digest in pairs if name in ALGORITHMS and _HEX.match(digest)
        )
    )


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or "not a readable page"

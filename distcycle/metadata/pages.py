"""Pages of the Simple API, JSON and HTML, as artefacts; a bad entry is left out, not the page.

``pypi_simple`` says what an entry means. It takes half a second to import (pydantic, Beautiful
Soup), and more for a file than all the rest, where popular projects have ten thousand. So entries
of a JSON page that are as the specification has them are read here; it is asked for all others, and
for HTML.

Source: Simple repository API,
https://packaging.python.org/specifications/simple-repository-api/
"""

from __future__ import annotations

import functools
import json
import re
import threading
import warnings
from collections.abc import Mapping
from datetime import datetime, timezone
from email.message import Message
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from distcycle.errors import MetadataError
from distcycle.metadata.hashes import ALGORITHMS
from distcycle.metadata.urls import filename_of, redact_url, without_credentials
from distcycle.model import Artefact
from distcycle.requirements import parse_specifier

if TYPE_CHECKING:
    from pypi_simple import DistributionPackage, Link

__all__ = ["ACCEPT", "default_index", "parse_html", "parse_page"]

_JSON = "application/vnd.pypi.simple.v1+json"
_HTML = "application/vnd.pypi.simple.v1+html"
ACCEPT = f"{_JSON}, {_HTML};q=0.5, text/html;q=0.01"

_ARCHIVE = re.compile(r".+\.(whl|zip|tar|tgz|tbz|txz|tlz|tar\.(gz|bz2|xz|lzma))\Z", re.IGNORECASE)
_HEX = re.compile(r"[0-9a-f]{32,128}\Z")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z\Z", re.ASCII)
_WEB = re.compile(r"https?://[A-Za-z0-9.-]+(:\d{1,4})?/[A-Za-z0-9/._~%+-]*\Z", re.ASCII)
_RELATIVE = re.compile(
    r"(?P<folder>/?([A-Za-z0-9._~%+-]+/)+)(?P<name>[A-Za-z0-9][A-Za-z0-9._~%+-]*)\Z", re.ASCII
)
# pypi_simple takes these as well, under names that the specification does not know.
_OTHER_NAMES = frozenset({"requires_python", "core_metadata", "gpg_sig", "upload_time"})
# Filters for warnings belong to the whole process; two threads must not swap them at once.
_FILTERS = threading.Lock()


def default_index() -> str:
    """The index that is asked where none is named."""
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    return PYPI_SIMPLE_ENDPOINT


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
    if kind == _JSON:
        return _parse_json(data, url=url, project=project)
    if kind in {_HTML, "text/html"}:
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
    from pypi_simple import (
        RepositoryPage,
        UnexpectedRepoVersionWarning,
        UnsupportedRepoVersionError,
    )

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
    except AttributeError:
        return None
    if _is_plain(entry):
        try:
            return _from_plain(entry, url)
        except ValueError:
            pass  # pypi_simple decides on URLs and dates that the standard library refuses
    return _from_odd(entry, url=url, project=project)


def _is_plain(entry: dict[str, Any]) -> bool:
    """Whether all that an entry says is as the specification has it, and in ASCII.

    Source: PEP 691, 700 and 740
    """
    get = entry.get
    digests, moment, proof = get("core-metadata"), get("upload-time"), get("provenance")
    return (
        _is_text(get("filename"))
        and _is_text(get("url"))
        and _is_digests(get("hashes"))
        and (get("requires-python") is None or _is_text(get("requires-python")))
        and (digests is None or type(digests) is bool or _is_digests(digests))
        and (type(get("yanked", False)) is bool or _is_text(get("yanked")))
        and (get("size") is None or type(get("size")) is int)
        and (moment is None or (type(moment) is str and _MOMENT.match(moment) is not None))
        and (proof is None or (type(proof) is str and _WEB.match(proof) is not None))
        and (get("gpg-sig") is None or type(get("gpg-sig")) is bool)
        and _OTHER_NAMES.isdisjoint(entry)
    )


def _is_text(value: object) -> bool:
    return type(value) is str and value.isascii()


def _is_digests(value: object) -> bool:
    return type(value) is dict and all(map(_is_text, value.values()))


def _from_plain(entry: dict[str, Any], base: str) -> Artefact | None:
    filename: str = entry["filename"]
    if not _is_archive(filename):
        return None
    python, yanked = entry.get("requires-python"), entry.get("yanked", False)
    digests, moment = entry["core-metadata"], entry.get("upload-time")
    if digests is True:
        digests = {}
    return Artefact(
        filename=filename,
        url=without_credentials(_absolute(base, entry["url"])),
        hashes=_hashes(entry["hashes"]),
        size_bytes=entry.get("size"),
        requires_python=parse_specifier(python) if python else None,
        yanked=yanked if type(yanked) is str else "" if yanked else None,
        metadata_hashes=_hashes(digests) if type(digests) is dict else None,
        uploaded=datetime.fromisoformat(f"{moment[:-1]}+00:00") if moment else None,
    )


def _absolute(base: str, url: str) -> str:
    """What ``urljoin`` says, which takes half of the time that a page takes when it is asked."""
    if _WEB.match(url):
        return url
    match = _RELATIVE.match(url)
    if match:
        return f"{_folder(base, match['folder'])}{match['name']}"
    return urljoin(base, url)


@functools.lru_cache(maxsize=64)
def _folder(base: str, folder: str) -> str:
    return urljoin(base, folder)


def _from_odd(entry: dict[str, Any], *, url: str, project: str) -> Artefact | None:
    from pypi_simple import DistributionPackage

    try:
        package = DistributionPackage.from_json_data(entry, project, url)
    except (ValueError, AttributeError, TypeError):
        return None
    return _artefact(package, package.filename)


def _from_link(link: Link) -> Artefact | None:
    from pypi_simple import DistributionPackage

    try:
        if "data-dist-info-metadata" in link.attrs:
            link.attrs.setdefault("data-core-metadata", link.attrs["data-dist-info-metadata"])
        package = DistributionPackage.from_link(link)
    except (ValueError, AssertionError):
        return None
    return _artefact(package, filename_of(package.url))


def _artefact(package: DistributionPackage, filename: str) -> Artefact | None:
    if not _is_archive(filename):
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


def _is_archive(filename: str) -> bool:
    return bool(_ARCHIVE.match(filename)) and "/" not in filename and "\\" not in filename


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

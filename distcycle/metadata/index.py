"""What an index or a place for ``--find-links`` lists: asked once, revalidated when it is old.

Source: Simple repository API,
https://packaging.python.org/specifications/simple-repository-api/
"""

from __future__ import annotations

import hashlib
import importlib
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.utils import NormalizedName

from distcycle.errors import MetadataError
from distcycle.metadata.archive import name_and_version
from distcycle.metadata.cache import Cache, CachedPage
from distcycle.metadata.errors import Unreachable
from distcycle.metadata.locations import Location
from distcycle.metadata.urls import local_path, redact_url, without_credentials
from distcycle.model import Artefact

if TYPE_CHECKING:
    from distcycle.metadata.http import Answer, Client

__all__ = ["OFFLINE", "PAGE_LIMIT_BYTES", "Listings", "hash_file"]

OFFLINE = "not in the cache, and offline"
PAGE_LIMIT_BYTES = 64 * 2**20
_FRESH_S = 600.0


class Listings:
    """Pages of indexes and places for ``--find-links``, each read at most once in a run.

    Args:
        client: Gives the client, when the network is needed.
        cache: Where pages are kept between runs.
        offline: Whether the network must not be used; pages of any age will do then.
    """

    def __init__(self, client: Callable[[], Client], cache: Cache, *, offline: bool) -> None:
        self._client = client
        self._cache = cache
        self._offline = offline
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._guard = threading.Lock()
        self._read: dict[str, CachedPage | MetadataError] = {}

    def project(
        self, project: NormalizedName, index: Location, *, wanted: Iterable[str] = ()
    ) -> tuple[Artefact, ...]:
        """List what an index has of a project, all versions.

        Args:
            project: The project.
            index: The index.
            wanted: Digests (sha256); a page that has them all need not be current. Without any,
                a page older than ten minutes is asked for again.

        Raises:
            Unreachable: The index does not have the project (status 404), or cannot be asked.
            MetadataError: The index answers with something else than a page.
        """
        return self._listing(index.url, project, frozenset(wanted))

    def links(self, place: Location) -> tuple[Artefact, ...]:
        """List all that a place for ``--find-links`` has.

        Raises:
            Unreachable: It is not there, or cannot be asked.
            MetadataError: It answers with something else than a page.
        """
        url = place.url or ""
        if name_and_version(redact_url(url).rpartition("/")[2]) is not None:
            return (_archive_link(url),)
        return self._listing(url, None, frozenset())

    def _listing(
        self, url: str | None, project: NormalizedName | None, wanted: frozenset[str]
    ) -> tuple[Artefact, ...]:
        key = f"{without_credentials(url or 'default')} {project or ''}"
        with self._guard:
            lock = self._locks[key]
        with lock:
            known = self._read.get(key)
            if isinstance(known, MetadataError):
                raise known
            if known is None or not _suffices(known, wanted):
                try:
                    known = self._page(url, project, wanted, key)
                except MetadataError as error:
                    self._read[key] = error
                    raise
                self._read[key] = known
            return known.files

    def _page(
        self, url: str | None, project: NormalizedName | None, wanted: frozenset[str], key: str
    ) -> CachedPage:
        path = None if url is None else local_path(url)
        if path is not None:
            files = _local_links(path) if project is None else _local_project(path / project)
            return CachedPage(files=files, fetched_s=int(time.time()))
        cached = self._cache.load_page(key)
        if cached is not None and (self._offline or _suffices(cached, wanted)):
            return cached
        if self._offline:
            raise Unreachable(OFFLINE, url=None if url is None else redact_url(url))
        page = self._fetch(url, project, cached)
        self._cache.store_page(key, page)
        return page

    def _fetch(
        self, url: str | None, project: NormalizedName | None, cached: CachedPage | None
    ) -> CachedPage:
        pages = _pages()
        target = url or str(pages.DEFAULT_INDEX)
        if project is not None:
            target = f"{target.rstrip('/')}/{project}/"
        headers = {"Accept": pages.ACCEPT, **_conditions(cached)}
        answer = self._client().get(target, limit_bytes=PAGE_LIMIT_BYTES, headers=headers)
        if answer.status == 304 and cached is not None:
            return replace(cached, fetched_s=int(time.time()))
        if answer.status != 200:
            raise Unreachable(f"HTTP {answer.status}", url=redact_url(target), status=answer.status)
        return _parsed(answer, project)


def hash_file(path: Path, algorithm: str = "sha256") -> str:
    """The hex digest of a file.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        digest = hashlib.new(algorithm, usedforsecurity=False)
        while chunk := file.read(2**20):
            digest.update(chunk)
    return digest.hexdigest()


def _pages() -> Any:
    return importlib.import_module("distcycle.metadata.pages")


def _suffices(page: CachedPage, wanted: frozenset[str]) -> bool:
    if page.age_s < _FRESH_S:
        return True
    if not wanted:
        return False
    return wanted <= {digest for file in page.files for _, digest in file.hashes}


def _conditions(cached: CachedPage | None) -> dict[str, str]:
    """Source: RFC 9110, section 13.1."""
    if cached is None:
        return {}
    conditions = {"If-None-Match": cached.etag, "If-Modified-Since": cached.last_modified}
    return {name: value for name, value in conditions.items() if value}


def _parsed(answer: Answer, project: NormalizedName | None) -> CachedPage:
    content_type = answer.headers.get("Content-Type", "")
    return CachedPage(
        files=_pages().parse_page(answer.body, content_type, url=answer.url, project=project or ""),
        fetched_s=int(time.time()),
        etag=answer.headers.get("ETag"),
        last_modified=answer.headers.get("Last-Modified"),
    )


def _archive_link(url: str) -> Artefact:
    filename = redact_url(url).rpartition("/")[2]
    path = local_path(url)
    return Artefact(
        filename=filename,
        url=without_credentials(url) if path is None else None,
        path=None if path is None else str(path),
    )


def _local_project(folder: Path) -> tuple[Artefact, ...]:
    """A project of a ``file:`` index: its index.html, as in pip."""
    page = folder / "index.html"
    if not page.is_file():
        raise Unreachable("no such project", url=str(folder), status=404)
    return _html_file(page)


def _local_links(path: Path) -> tuple[Artefact, ...]:
    if path.is_dir():
        files = sorted(entry for entry in path.iterdir() if entry.is_file())
        return tuple(_local_artefact(file) for file in files if name_and_version(file.name))
    if path.is_file():
        return _html_file(path)
    raise Unreachable("no such file or folder", url=str(path), status=404)


def _local_artefact(path: Path) -> Artefact:
    return Artefact(filename=path.name, path=str(path), size_bytes=path.stat().st_size)


def _html_file(page: Path) -> tuple[Artefact, ...]:
    try:
        data = page.read_bytes()
    except OSError as error:
        raise Unreachable(error.strerror or "cannot be read", url=str(page)) from None
    files: tuple[Artefact, ...] = _pages().parse_html(data, url=page.absolute().as_uri())
    return files

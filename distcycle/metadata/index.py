"""What an index or a place for ``--find-links`` lists: asked once, revalidated when it is old.

Source: Simple repository API,
https://packaging.python.org/specifications/simple-repository-api/
"""

from __future__ import annotations

import importlib
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.errors import MetadataError
from distcycle.metadata.archive import name_and_version
from distcycle.metadata.cache import Cache
from distcycle.metadata.errors import Unreachable
from distcycle.metadata.listing import Listing, list_files
from distcycle.metadata.locations import Location
from distcycle.metadata.urls import filename_of, local_path, redact_url, without_credentials
from distcycle.model import Artefact

if TYPE_CHECKING:
    from distcycle.metadata.http import Client

__all__ = ["OFFLINE", "PAGE_LIMIT_BYTES", "Listings"]

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
        self._locks: defaultdict[_Page, threading.Lock] = defaultdict(threading.Lock)
        self._guard = threading.Lock()
        self._read: dict[_Page, Listing | MetadataError] = {}

    def on_index(
        self, project: NormalizedName, version: Version, index: Location, *, wanted: str | None
    ) -> tuple[Artefact, ...]:
        """List what an index has of a version.

        Args:
            project: The project.
            version: The version.
            index: The index.
            wanted: The digest (sha256) of a file; a page that has it need not be current. When
                None, a page older than ten minutes is asked for again.

        Raises:
            Unreachable: The index does not have the project (status 404), or cannot be asked.
            MetadataError: The index answers with something else than a page.
        """
        return self._files(project, version, _Page(index.url, project), wanted)

    def versions(self, project: NormalizedName, index: Location) -> tuple[Version, ...]:
        """List the versions that an index has of a project.

        Raises:
            Unreachable: The index does not have the project (status 404), or cannot be asked.
            MetadataError: The index answers with something else than a page.
        """
        return self._versions(project, _Page(index.url, project))

    def versions_in_links(self, project: NormalizedName, place: Location) -> tuple[Version, ...]:
        """List the versions that a place for ``--find-links`` has of a project.

        Raises:
            Unreachable: It is not there, or cannot be asked.
            MetadataError: It answers with something else than a page.
        """
        url = place.url or ""
        named = name_and_version(filename_of(url))
        if named is not None:
            return (named[1],) if named[0] == project else ()
        return self._versions(project, _Page(url, None))

    def _versions(self, project: NormalizedName, page: _Page) -> tuple[Version, ...]:
        with self._guard:
            lock = self._locks[page]
        with lock:
            known = self._read.get(page)
            if known is None:
                known = self._listing(page, project, Version("0"), None)
        if isinstance(known, MetadataError):
            raise known
        return known.versions(project)

    def in_links(
        self, project: NormalizedName, version: Version, place: Location
    ) -> tuple[Artefact, ...]:
        """List what a place for ``--find-links`` has of a version.

        Raises:
            Unreachable: It is not there, or cannot be asked.
            MetadataError: It answers with something else than a page.
        """
        url = place.url or ""
        named = name_and_version(filename_of(url))
        if named is not None:
            return (_archive_link(url),) if named == (project, version) else ()
        return self._files(project, version, _Page(url, None), None)

    def _files(
        self, project: NormalizedName, version: Version, page: _Page, wanted: str | None
    ) -> tuple[Artefact, ...]:
        with self._guard:
            lock = self._locks[page]
        with lock:
            known = self._read.get(page)
            if isinstance(known, MetadataError):
                raise known
            files = () if known is None else known.of(project, version)
            if known is None or not _suffices(known, files, wanted):
                files = self._listing(page, project, version, wanted).of(project, version)
        return files

    def _listing(
        self, page: _Page, project: NormalizedName, version: Version, wanted: str | None
    ) -> Listing:
        """Read a page and remember it, or why it cannot be read."""
        try:
            path = None if page.url is None else local_path(page.url)
            if path is not None:
                listing = list_files(_local_files(path, page.project))
            else:
                listing = self._remote(page, project, version, wanted)
        except MetadataError as error:
            self._read[page] = error
            raise
        self._read[page] = listing
        return listing

    def _remote(
        self, page: _Page, project: NormalizedName, version: Version, wanted: str | None
    ) -> Listing:
        cached = self._cache.load_listing(page.key)
        if cached is not None:
            files = cached.of(project, version)
            if self._offline or _suffices(cached, files, wanted):
                return cached
        if self._offline:
            raise Unreachable(OFFLINE, url=None if page.url is None else redact_url(page.url))
        listing = self._fetch(page, cached)
        self._cache.store_listing(page.key, listing)
        return listing

    def _fetch(self, page: _Page, cached: Listing | None) -> Listing:
        pages = _pages()
        url = page.url or pages.default_index()
        if page.project is not None:
            url = f"{url.rstrip('/')}/{page.project}/"
        headers = {"Accept": pages.ACCEPT, **_conditions(cached)}
        answer = self._client().get(url, limit_bytes=PAGE_LIMIT_BYTES, headers=headers)
        if answer.status == 304 and cached is not None:
            return replace(cached, fetched_s=int(time.time()))
        if answer.status != 200:
            raise Unreachable(f"HTTP {answer.status}", url=redact_url(url), status=answer.status)
        content_type = answer.headers.get("Content-Type", "")
        return list_files(
            pages.parse_page(answer.body, content_type, url=answer.url, project=page.project or ""),
            etag=answer.headers.get("ETag"),
            last_modified=answer.headers.get("Last-Modified"),
        )


class _Page(NamedTuple):
    """A project's page on an index; for a place of links, which has one page, no project."""

    url: str | None
    project: NormalizedName | None

    @property
    def key(self) -> str:
        """Its name in the cache, where no credentials may stand."""
        return f"{without_credentials(self.url or 'default')} {self.project or ''}"


def _pages() -> Any:
    return importlib.import_module("distcycle.metadata.pages")


def _suffices(listing: Listing, files: tuple[Artefact, ...], wanted: str | None) -> bool:
    if listing.age_s < _FRESH_S:
        return True
    return wanted is not None and any(("sha256", wanted) in file.hashes for file in files)


def _conditions(cached: Listing | None) -> dict[str, str]:
    """Source: RFC 9110, section 13.1."""
    if cached is None:
        return {}
    conditions = {"If-None-Match": cached.etag, "If-Modified-Since": cached.last_modified}
    return {name: value for name, value in conditions.items() if value}


def _archive_link(url: str) -> Artefact:
    filename = filename_of(url)
    path = local_path(url)
    return Artefact(
        filename=filename,
        url=without_credentials(url) if path is None else None,
        path=None if path is None else str(path),
    )


def _local_files(path: Path, project: NormalizedName | None) -> tuple[Artefact, ...]:
    return _local_links(path) if project is None else _local_project(path / project)


def _local_project(folder: Path) -> tuple[Artefact, ...]:
    """A project of a ``file:`` index: its index.html, as in pip."""
    page = folder / "index.html"
    if not page.is_file():
        raise Unreachable("no such project", url=str(folder), status=404)
    return _html_file(page)


def _local_links(path: Path) -> tuple[Artefact, ...]:
    if path.is_dir():
        return _folder(path)
    if path.is_file():
        return _html_file(path)
    raise Unreachable("no such file or folder", url=str(path), status=404)


def _folder(path: Path) -> tuple[Artefact, ...]:
    try:
        return tuple(
            Artefact(filename=file.name, path=str(file), size_bytes=file.stat().st_size)
            for file in sorted(path.iterdir())
            if name_and_version(file.name) is not None
        )
    except OSError as error:
        raise Unreachable(error.strerror or "cannot be read", url=str(path)) from None


def _html_file(page: Path) -> tuple[Artefact, ...]:
    try:
        data = page.read_bytes()
    except OSError as error:
        raise Unreachable(error.strerror or "cannot be read", url=str(page)) from None
    files: tuple[Artefact, ...] = _pages().parse_html(data, url=page.absolute().as_uri())
    return files

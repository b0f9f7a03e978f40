"""Whole files, where METADATA does not serve: wheels to be rewritten, merged or patched."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar, cast

from distcycle.errors import MetadataError
from distcycle.metadata.archive import name_and_version
from distcycle.metadata.errors import Unreachable
from distcycle.metadata.hashes import bytes_match, file_matches
from distcycle.metadata.index import Listings
from distcycle.metadata.locations import Locations
from distcycle.metadata.urls import local_path, redact_url
from distcycle.model import Artefact

if TYPE_CHECKING:
    from distcycle.metadata.http import Client

__all__ = ["Whole"]

T = TypeVar("T")

LIMIT_BYTES = 2 << 30


class Whole:
    """Finds whole files.

    Args:
        client: Gives the client, when the network is needed; None when it must not be used.
        listings: What indexes and places for ``--find-links`` list.
        locations: Which of them to ask.
    """

    def __init__(
        self, client: Callable[[], Client] | None, listings: Listings, locations: Locations
    ) -> None:
        self._client = client
        self._listings = listings
        self._locations = locations

    def fetch(self, artefact: Artefact, folder: Path) -> Path:
        """Find a file on this machine, or fetch it.

        Args:
            artefact: The file.
            folder: Where a fetched one is put.

        Returns:
            Where it is; its hash is the one that the input gives.

        Raises:
            MetadataError: It is not to be had, is not allowed to be fetched, or has another hash.
        """
        for path in self._local(artefact):
            if path.is_file() and file_matches(path, artefact.hashes):
                return path
        if self._client is None:
            size = f" of {_megabytes(artefact.size_bytes)}" if artefact.size_bytes else ""
            raise MetadataError(
                f"{artefact.filename} is not on this machine; give its folder with --find-links, "
                f"or allow the download{size} with --allow-download"
            )
        return self._first(artefact, lambda url: self._download(artefact, url, folder))

    def open(self, artefact: Artefact) -> BinaryIO:
        """Open a wheel for reading some of its members; of a remote one, only those are fetched.

        Args:
            artefact: The wheel.

        Raises:
            MetadataError: It is not to be had.
        """
        for path in self._local(artefact):
            if path.is_file() and file_matches(path, artefact.hashes):
                return path.open("rb")
        client = self._client
        if client is None:
            raise MetadataError(f"{artefact.filename} is not on this machine")
        return self._first(artefact, lambda url: _open_remote(client(), url))

    def _first(self, artefact: Artefact, get: Callable[[str], T]) -> T:
        """What the first URL gives that answers."""
        reasons: list[str] = []
        for url in self._urls(artefact):
            with contextlib.suppress(Unreachable):
                return get(url)
            reasons.append(redact_url(url))
        problem = f"{artefact.filename} is not on the index"
        raise MetadataError(f"no answer from {', '.join(reasons)}" if reasons else problem)

    def _local(self, artefact: Artefact) -> Iterator[Path]:
        if artefact.path is not None:
            yield Path(artefact.path)
        named = name_and_version(artefact.filename)
        for place in self._locations.find_links if named else ():
            for file in self._listings.in_links(*named, place) if named else ():
                if file.filename == artefact.filename and file.path is not None:
                    yield Path(file.path)

    def _urls(self, artefact: Artefact) -> Iterator[str]:
        if artefact.url is not None and local_path(artefact.url) is None:
            yield artefact.url
        named = name_and_version(artefact.filename)
        indexes = (*self._locations.named(artefact.registry), *self._locations.indexes)
        for index in indexes if named else ():
            try:
                listed = self._listings.on_index(*named, index, wanted=None) if named else ()
            except Unreachable:
                continue
            for file in listed:
                if file.filename == artefact.filename and file.url not in (None, artefact.url):
                    yield str(file.url)

    def _download(self, artefact: Artefact, url: str, folder: Path) -> Path:
        assert self._client is not None
        answer = self._client().get(url, limit_bytes=LIMIT_BYTES)
        if answer.status != 200:
            raise Unreachable(f"HTTP {answer.status}", url=redact_url(url), status=answer.status)
        if not bytes_match(answer.body, artefact.hashes):
            problem = f"{artefact.filename} does not have the hash that is recorded for it"
            raise MetadataError(problem, url=redact_url(url))
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as file:
            file.write(answer.body)
        os.replace(file.name, folder / artefact.filename)
        return folder / artefact.filename


def _open_remote(client: Client, url: str) -> BinaryIO:
    from distcycle.metadata.ranges import open_remote

    opened = open_remote(client, url, whole_limit_bytes=LIMIT_BYTES)
    return io.BytesIO(opened) if isinstance(opened, bytes) else cast("BinaryIO", opened)


def _megabytes(size_bytes: int | None) -> str:
    return f"{(size_bytes or 0) / 1e6:.1f} MB"

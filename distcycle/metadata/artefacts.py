"""One artefact's METADATA, or another part of it, sought where it costs least first.

Order: cache, the file on this machine, a file of that name in a place for ``--find-links``, its own
URL (the metadata file beside it, then a part of it, then the whole if small), and last the same
file on the index.
"""

from __future__ import annotations

import io
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from distcycle.errors import MetadataError
from distcycle.metadata.archive import (
    METADATA_LIMIT_BYTES,
    name_and_version,
    read_sdist,
    read_wheel,
)
from distcycle.metadata.cache import Cache
from distcycle.metadata.core import header_block, parse_metadata
from distcycle.metadata.errors import HashMismatch, Unreachable
from distcycle.metadata.hashes import bytes_match, file_matches
from distcycle.metadata.index import OFFLINE, Listings
from distcycle.metadata.locations import Location, Locations
from distcycle.metadata.ranges import open_remote
from distcycle.metadata.urls import local_path, origin_of, redact_url, with_suffix
from distcycle.model import Artefact, Metadata, Unknown

if TYPE_CHECKING:
    from distcycle.metadata.http import Client

__all__ = ["METADATA", "Artefacts", "Part"]

_WHOLE_WHEEL_LIMIT_BYTES = 5 * 2**20
_WHOLE_SDIST_LIMIT_BYTES = 30 * 2**20
_ABSENT_LIMIT = 3


@dataclass(frozen=True, slots=True)
class Part:
    """What is read out of an artefact.

    Attributes:
        name: What the cache keeps it under.
        read: Reads it out of a whole file of a given name; raises MetadataError where it cannot.
        is_beside: Whether an index may serve it beside the file (PEP 658).
    """

    name: str
    read: Callable[[BinaryIO, str], bytes]
    is_beside: bool = False


def _read_headers(file: BinaryIO, filename: str) -> bytes:
    is_wheel = filename.endswith(".whl")
    return header_block(read_wheel(file, filename) if is_wheel else read_sdist(file, filename))


METADATA = Part("metadata", _read_headers, is_beside=True)


class Artefacts:
    """Finds METADATA, or another part of artefacts; safe to use from several threads.

    Args:
        client: Gives the client, when the network is needed.
        cache: Where parts are kept between runs.
        listings: What indexes and places for ``--find-links`` list.
        locations: Which of them to ask.
        offline: Whether the network must not be used.
        part: What is read out of each.
    """

    def __init__(
        self,
        client: Callable[[], Client],
        cache: Cache,
        listings: Listings,
        locations: Locations,
        *,
        offline: bool,
        part: Part = METADATA,
    ) -> None:
        self._part = part
        self._client = client
        self._cache = cache
        self._listings = listings
        self._locations = locations
        self._offline = offline
        self._absent: Counter[str] = Counter()
        self._guard = threading.Lock()

    def metadata(self, artefact: Artefact) -> Metadata | Unknown:
        """What an artefact says of itself.

        Returns:
            That, or why it could not be had: one reason for each way that was tried.

        Raises:
            MetadataError: A whole file was read whose hash is not the one that the input gives.
        """
        headers = self.find(artefact)
        return headers if isinstance(headers, Unknown) else parse_metadata(headers)

    def find(self, artefact: Artefact) -> bytes | Unknown:
        """The part of an artefact that is sought, as it stands there; see :meth:`metadata`."""
        reasons: dict[str, None] = {}
        passing = False
        for way in self._ways(artefact):
            try:
                headers = way()
            except HashMismatch:
                raise
            except MetadataError as error:
                reasons[str(error)] = None
                passing |= isinstance(error, Unreachable) and error.status != 404
                continue
            if headers is not None:
                return headers
        reason = "; ".join(reasons) or f"{artefact.filename} is not on the index"
        return Unknown(reason=reason, passing=passing)

    def _ways(self, artefact: Artefact) -> Iterator[Callable[[], bytes | None]]:
        yield partial(self._cached, artefact)
        yield partial(self._on_disk, artefact)
        for place in self._locations.find_links:
            yield partial(self._from_links, artefact, place)
        yield partial(self._remote, artefact)
        for index in self._indexes(artefact):
            yield partial(self._from_index, artefact, index)

    def _cached(self, artefact: Artefact) -> bytes | None:
        digest = _sha256(artefact)
        if digest is None:
            return None
        origins = [origin_of(artefact.url)] if artefact.url else []
        return self._cache.load_metadata(digest, origins, kind=self._part.name)

    def _on_disk(self, artefact: Artefact) -> bytes | None:
        path = _path(artefact)
        if path is None:
            return None
        headers = self._read_file(path, artefact)
        self._keep(artefact, headers, origin="")
        return headers

    def _from_links(self, artefact: Artefact, place: Location) -> bytes | None:
        """A file of the same name in a place for links; another build of it is passed over."""
        named = name_and_version(artefact.filename)
        if named is None:
            return None
        try:
            listed = self._listings.in_links(*named, place)
            return self._from_listing(artefact, listed, trusted=place.trusted)
        except HashMismatch:
            return None
        except Unreachable as error:
            if error.status == 404:
                return None
            raise

    def _indexes(self, artefact: Artefact) -> tuple[Location, ...]:
        return (*self._locations.named(artefact.registry), *self._locations.indexes)

    def _from_index(self, artefact: Artefact, index: Location) -> bytes | None:
        named = name_and_version(artefact.filename)
        if named is None:
            return None
        try:
            listed = self._listings.on_index(*named, index, wanted=_sha256(artefact))
        except Unreachable as error:
            if error.status == 404:
                return None
            raise
        return self._from_listing(artefact, listed, trusted=index.trusted)

    def _from_listing(
        self, artefact: Artefact, listed: tuple[Artefact, ...], *, trusted: bool
    ) -> bytes | None:
        for file in listed:
            same = file.filename == artefact.filename and _agree(artefact, file)
            if not same or (file.url, file.path) == (artefact.url, artefact.path):
                continue
            # The input's hashes are the ones to hold a file to; the index's only fill a gap.
            sought = replace(file, hashes=artefact.hashes or file.hashes)
            vouched = trusted and _sha256(file) == _sha256(sought)
            headers = self._cached(sought) or self._on_disk(sought)
            return headers or self._remote(sought, trusted=vouched)
        return None

    def _remote(self, artefact: Artefact, *, trusted: bool = False) -> bytes | None:
        url = artefact.url
        if url is None or local_path(url) is not None:
            return None
        if self._offline:
            raise Unreachable(OFFLINE, url=redact_url(url))
        if not url.lower().startswith(("http://", "https://")):
            raise MetadataError("not an http, https or file URL", url=redact_url(url))
        headers = self._metadata_file(artefact, url) if self._part.is_beside else None
        headers = headers or self._from_archive(artefact, url)
        self._keep(artefact, headers, origin="" if trusted else origin_of(url))
        return headers

    def _metadata_file(self, artefact: Artefact, url: str) -> bytes | None:
        """The file beside the wheel (PEP 658), asked for even when it is not advertised."""
        advertised = artefact.metadata_hashes is not None
        origin = origin_of(url)
        if not advertised and (not artefact.is_wheel or self._absent[origin] >= _ABSENT_LIMIT):
            return None
        try:
            answer = self._client().get(
                with_suffix(url, ".metadata"), limit_bytes=METADATA_LIMIT_BYTES
            )
        except Unreachable as error:
            if error.status is not None:
                return None
            raise Unreachable(error.problem, url=redact_url(url)) from None
        present = answer.status == 200 and parse_metadata(answer.body).name is not None
        if not advertised:
            with self._guard:
                self._absent[origin] = 0 if present else self._absent[origin] + 1
        if not present:
            return None
        if not bytes_match(answer.body, artefact.metadata_hashes or ()):
            raise MetadataError(
                f"the metadata file of {artefact.filename} does not match its hash",
                url=redact_url(answer.url),
            )
        return header_block(answer.body)

    def _from_archive(self, artefact: Artefact, url: str) -> bytes:
        if artefact.is_wheel:
            opened = open_remote(self._client(), url, whole_limit_bytes=_WHOLE_WHEEL_LIMIT_BYTES)
            if not isinstance(opened, bytes):
                return self._read(cast("BinaryIO", opened), artefact, url)
            return self._read_whole(opened, artefact, url)
        answer = self._client().get(
            url, limit_bytes=_WHOLE_SDIST_LIMIT_BYTES, headers={"Accept-Encoding": "identity"}
        )
        if answer.status != 200:
            raise Unreachable(f"HTTP {answer.status}", url=redact_url(url), status=answer.status)
        return self._read_whole(answer.body, artefact, url)

    def _keep(self, artefact: Artefact, headers: bytes, *, origin: str) -> None:
        digest = _sha256(artefact)
        if digest is not None:
            self._cache.store_metadata(digest, headers, origin=origin, kind=self._part.name)

    def _read(self, file: BinaryIO, artefact: Artefact, where: str) -> bytes:
        try:
            return self._part.read(file, artefact.filename)
        except MetadataError as error:
            if error.url is not None:
                raise
            raise MetadataError(error.problem, url=redact_url(where)) from None

    def _read_whole(self, data: bytes, artefact: Artefact, url: str) -> bytes:
        if not bytes_match(data, artefact.hashes):
            raise _mismatch(artefact, redact_url(url))
        return self._read(io.BytesIO(data), artefact, url)

    def _read_file(self, path: Path, artefact: Artefact) -> bytes:
        try:
            if not file_matches(path, artefact.hashes):
                raise _mismatch(artefact, str(path))
            with path.open("rb") as file:
                return self._read(file, artefact, str(path))
        except (OSError, ValueError) as error:
            problem = getattr(error, "strerror", None) or "cannot be read"
            raise MetadataError(problem, url=str(path)) from None


def _path(artefact: Artefact) -> Path | None:
    if artefact.path is not None:
        return Path(artefact.path)
    return None if artefact.url is None else local_path(artefact.url)


def _sha256(artefact: Artefact) -> str | None:
    return next((digest for name, digest in artefact.hashes if name == "sha256"), None)


def _agree(artefact: Artefact, file: Artefact) -> bool:
    """Whether two records can be of one file: no algorithm that both know says otherwise."""
    known = dict(artefact.hashes)
    return all(known.get(name, digest) == digest for name, digest in file.hashes)


def _mismatch(artefact: Artefact, where: str) -> HashMismatch:
    problem = f"{artefact.filename} does not have the hash that is recorded for it"
    return HashMismatch(problem, url=where)

"""What was fetched or read before: METADATA for ever, project pages until they are old.

METADATA, and what a source distribution needs to be built, is kept under the artefact's sha256. One
that came from where the input's own text points is kept apart under the host that sent it: else a
lock that names a hostile host beside the hash of a well-known wheel could plant that wheel's
METADATA for every later run. The imports of modules are kept under the digests of their files.

Entries are written to a temporary name and then moved, so two processes never see half of one.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from distcycle.metadata.listing import Listing, dump_listing, load_listing
from distcycle.metadata.records import BadRecord

__all__ = ["Cache", "default_cache_dir"]

_LAYOUT = "v2"


def default_cache_dir() -> Path:
    """The platform's folder for this program's cache."""
    # A tenth of the start-up time of a run that needs no network, so imported only here.
    platformdirs = importlib.import_module("platformdirs")
    return Path(platformdirs.user_cache_dir("distcycle", False))


class Cache:
    """A folder of entries. What cannot be read or written there is as if it were not cached.

    Args:
        folder: Where; None for no cache at all.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else folder / _LAYOUT

    def load_metadata(
        self, sha256: str, origins: Sequence[str] = (), *, kind: str = "metadata"
    ) -> bytes | None:
        """Look up an artefact's header block, or another part of it.

        Args:
            sha256: The artefact's digest, in hex.
            origins: Hosts whose word the caller would take anyway.
            kind: Which part.

        Returns:
            The part, or None.
        """
        for origin in ("", *origins):
            content = self._read(_metadata_key(sha256, origin, kind))
            if content is not None:
                return content
        return None

    def store_metadata(
        self, sha256: str, headers: bytes, *, origin: str, kind: str = "metadata"
    ) -> None:
        """Keep an artefact's header block, or another part of it.

        Args:
            sha256: The artefact's digest, in hex.
            headers: The block.
            origin: The host that sent it; ``""`` when it is verified, or comes from where the
                user's own configuration points.
            kind: Which part.
        """
        self._write(_metadata_key(sha256, origin, kind), headers)

    def load_listing(self, key: str) -> Listing | None:
        """Look up a page."""
        content = self._read(_page_key(key))
        if content is None:
            return None
        try:
            return load_listing(json.loads(content))
        except (BadRecord, ValueError, RecursionError):
            return None

    def store_listing(self, key: str, listing: Listing) -> None:
        """Keep a page."""
        text = json.dumps(dump_listing(listing), separators=(",", ":"))
        self._write(_page_key(key), text.encode())

    def load_imports(self, key: str) -> bytes | None:
        """Look up what was read of a distribution's modules."""
        return self._read(_imports_key(key))

    def store_imports(self, key: str, content: bytes) -> None:
        """Keep what was read of a distribution's modules."""
        self._write(_imports_key(key), content)

    def _read(self, key: str) -> bytes | None:
        if self._folder is None:
            return None
        try:
            digest, _, content = (self._folder / key).read_bytes().partition(b"\n")
        except OSError:
            return None
        return content if digest == _digest(content) else None

    def _write(self, key: str, content: bytes) -> None:
        """A full disk or a read-only home must not end a run that needs no cache."""
        if self._folder is None:
            return
        path = self._folder / key
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_digest(content) + b"\n" + content)
                Path(temporary).replace(path)
            except OSError:
                Path(temporary).unlink(missing_ok=True)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _metadata_key(sha256: str, origin: str, kind: str) -> str:
    # The digest comes from an input, so it is hashed: nothing in it can name another folder.
    name = hashlib.sha256(f"{sha256.lower()}\n{origin}".encode()).hexdigest()
    return f"{kind}/{name[:2]}/{name}"


def _page_key(key: str) -> str:
    name = hashlib.sha256(key.encode()).hexdigest()
    return f"pages/{name[:2]}/{name}"


def _imports_key(key: str) -> str:
    name = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
    return f"imports/{name[:2]}/{name}"

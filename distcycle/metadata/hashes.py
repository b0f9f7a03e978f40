"""Digests of files, and whether they are the ones that are recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

__all__ = ["ALGORITHMS", "bytes_match", "file_matches", "hash_file"]

# Those of variable length have no one digest to compare with.
ALGORITHMS = frozenset(
    name for name in hashlib.algorithms_guaranteed if not name.startswith("shake")
)


def bytes_match(data: bytes, hashes: Iterable[tuple[str, str]]) -> bool:
    """Whether bytes have all recorded digests; algorithms that are not known are passed over."""
    return all(
        hashlib.new(name, data, usedforsecurity=False).hexdigest() == digest
        for name, digest in hashes
        if name in ALGORITHMS
    )


def file_matches(path: Path, hashes: Iterable[tuple[str, str]]) -> bool:
    """Whether a file has all recorded digests; algorithms that are not known are passed over.

    Raises:
        OSError: It cannot be read.
    """
    return all(hash_file(path, name) == digest for name, digest in hashes if name in ALGORITHMS)


def hash_file(path: Path, algorithm: str = "sha256") -> str:
    """The hex digest of a file.

    Raises:
        OSError: It cannot be read.
    """
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(2**20):
            digest.update(chunk)
    return digest.hexdigest()

"""What an index or a place for ``--find-links`` lists, kept by project and version.

Popular projects have ten thousand files, of which a run wants a dozen. So file names are taken
apart once, when a page is fetched, and of a page in the cache only the version that is asked for
becomes records.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.utils import NormalizedName, canonicalize_version
from packaging.version import InvalidVersion, Version

from distcycle.metadata.archive import name_and_version
from distcycle.metadata.records import BadRecord, dump_artefact, expect, load_artefact
from distcycle.model import Artefact

__all__ = ["Listing", "dump_listing", "list_files", "load_listing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One page, as it was last sent.

    Attributes:
        files: Artefacts as JSON, by project and version.
        spelled: How the first of these files spells its version.
        fetched_s: When it was last known to be current, in seconds since 1970.
        etag: The index's name for this state of the page (RFC 9110, section 8.8.3).
        last_modified: Likewise, as a date.
    """

    files: Mapping[str, list[Any]]
    spelled: Mapping[str, str]
    fetched_s: int
    etag: str | None = None
    last_modified: str | None = None

    @property
    def age_s(self) -> float:
        """Its age in seconds; a date in the future counts as infinitely old."""
        age = time.time() - self.fetched_s
        return age if age >= 0 else float("inf")

    def of(self, project: NormalizedName, version: Version) -> tuple[Artefact, ...]:
        """The files of a version, in page order."""
        key = _key(project, version)
        return tuple(load_artefact(record, key) for record in self.files.get(key, ()))

    def versions(self, project: NormalizedName) -> tuple[Version, ...]:
        """The versions of a project, in page order."""
        prefix = f"{project} "
        return tuple(Version(v) for key, v in self.spelled.items() if key.startswith(prefix))


def list_files(
    files: Iterable[Artefact], *, etag: str | None = None, last_modified: str | None = None
) -> Listing:
    """A listing that is current now.

    Args:
        files: What is listed; a file whose name says no project and version is left out.
        etag: The page's, if it has one.
        last_modified: Likewise.
    """
    groups: dict[str, list[Any]] = {}
    spelled: dict[str, str] = {}
    for file in files:
        named = name_and_version(file.filename)
        if named is not None:
            key = _key(*named)
            groups.setdefault(key, []).append(dump_artefact(file))
            spelled.setdefault(key, str(named[1]))
    return Listing(
        files=groups,
        spelled=spelled,
        fetched_s=int(time.time()),
        etag=etag,
        last_modified=last_modified,
    )


def dump_listing(listing: Listing) -> dict[str, Any]:
    """A listing as JSON."""
    return {
        "fetched_s": listing.fetched_s,
        "etag": listing.etag,
        "last_modified": listing.last_modified,
        "files": listing.files,
        "spelled": listing.spelled,
    }


def load_listing(value: object) -> Listing:
    """A listing from JSON.

    Raises:
        BadRecord: It is none.
    """
    record = expect(value, dict, "")
    files = expect(record.get("files"), dict, "files")
    for name in ("etag", "last_modified"):
        if not isinstance(record.get(name), str | None):
            raise BadRecord(name, "expected a string")
    spelled = expect(record.get("spelled"), dict, "spelled")
    return Listing(
        files={key: expect(group, list, f"files.{key}") for key, group in files.items()},
        spelled={key: _version(text, f"spelled.{key}") for key, text in spelled.items()},
        fetched_s=expect(record.get("fetched_s"), int, "fetched_s"),
        etag=record.get("etag"),
        last_modified=record.get("last_modified"),
    )


def _version(value: object, key: str) -> str:
    text = expect(value, str, key)
    try:
        Version(text)
    except InvalidVersion:
        raise BadRecord(key, "expected a version") from None
    return text


def _key(project: NormalizedName, version: Version) -> str:
    """Equal for equal versions, however they are spelled."""
    return f"{project} {canonicalize_version(version)}"

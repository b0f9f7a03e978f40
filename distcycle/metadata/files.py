"""The files of one version of a project, as indexes and places for ``--find-links`` list them.

As in pip, every place counts and none is preferred; of two files of one name the first found
stands. Also as in pip, an index that does not answer hides nothing that another one lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.errors import MetadataError
from distcycle.metadata.errors import Unreachable
from distcycle.metadata.hashes import hash_file
from distcycle.metadata.index import Listings
from distcycle.metadata.locations import Location, Locations
from distcycle.model import Artefact, Unknown

__all__ = ["Files"]


class Files:
    """Finds the files of packages; safe to use from several threads.

    Args:
        listings: What indexes and places for ``--find-links`` list.
        locations: Which of them to ask.
    """

    def __init__(self, listings: Listings, locations: Locations) -> None:
        self._listings = listings
        self._locations = locations

    def of(
        self, project: NormalizedName, version: Version, registry: str | None
    ) -> tuple[Artefact, ...] | Unknown:
        """List the files of exactly one version.

        Args:
            project: The project.
            version: The version; a local version is another version.
            registry: The index that the input names for it; the configured ones are asked when
                that one does not answer. None for the configured ones.

        Returns:
            The files by name, or why there are none.
        """
        named = self._locations.named(registry)
        found, failures = self._search(project, version, named)
        if not found and (failures or not named):
            more, further = self._search(project, version, self._locations.indexes)
            found, failures = more, failures | further
        for file in self._linked(project, version, failures):
            found.setdefault(file.filename, file)
        if found:
            return tuple(found[filename] for filename in sorted(found))
        if failures:
            return Unknown(reason="; ".join(failures), passing=True)
        return Unknown(reason=f"{project} {version} is not on the index")

    def versions(self, project: NormalizedName) -> tuple[Version, ...] | Unknown:
        """The versions of a project, newest first, or why none is known.

        A place that does not answer hides all the others' versions: what is newest would depend on
        the weather.
        """
        found: dict[Version, None] = {}
        failures: dict[str, None] = {}
        for index in self._locations.indexes:
            found.update(_try(self._listings.versions, project, index, failures))
        for place in self._locations.find_links:
            found.update(_try(self._listings.versions_in_links, project, place, failures))
        if failures:
            return Unknown(reason="; ".join(failures), passing=True)
        if found:
            return tuple(sorted(found, reverse=True))
        return Unknown(reason=f"{project} is not on the index")

    def _search(
        self, project: NormalizedName, version: Version, indexes: tuple[Location, ...]
    ) -> tuple[dict[str, Artefact], dict[str, None]]:
        """Files by name, and why indexes failed: a set that keeps its order."""
        found: dict[str, Artefact] = {}
        failures: dict[str, None] = {}
        for index in indexes:
            try:
                listed = self._listings.on_index(project, version, index, wanted=None)
            except MetadataError as error:
                _note(error, failures)
                continue
            for file in listed:
                found.setdefault(file.filename, file)
        return found, failures

    def _linked(
        self, project: NormalizedName, version: Version, failures: dict[str, None]
    ) -> Iterator[Artefact]:
        for place in self._locations.find_links:
            try:
                listed = self._listings.in_links(project, version, place)
            except MetadataError as error:
                _note(error, failures)
                continue
            yield from map(_identified, listed)


def _try(
    list_versions: Callable[[NormalizedName, Location], tuple[Version, ...]],
    project: NormalizedName,
    place: Location,
    failures: dict[str, None],
) -> dict[Version, None]:
    try:
        return dict.fromkeys(list_versions(project, place))
    except MetadataError as error:
        _note(error, failures)
        return {}


def _note(error: MetadataError, failures: dict[str, None]) -> None:
    """What is not there is no failure: no place need have every project."""
    if not (isinstance(error, Unreachable) and error.status == 404):
        failures[str(error)] = None


def _identified(file: Artefact) -> Artefact:
    """Give a local file its hash: facts about it then hold wherever the file lies."""
    if file.path is None or file.hashes:
        return file
    try:
        return replace(file, hashes=(("sha256", hash_file(Path(file.path))),))
    except OSError:
        return file

"""What an input and its facts say about environments: markers, versions of Python, wheel tags.

The space of all environments is made just fine enough to tell apart what these do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet

from distcycle.model import Artefact, Facts, Metadata, Requirement, Snapshot

__all__ = ["Vocabulary", "vocabulary_of"]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Everything in use that can tell environments apart.

    Attributes:
        markers: The texts of markers, each once.
        specifiers: Every Requires-Python, each once.
        wheel_tags: The compressed tags of all wheels, such as ``py3-none-any``.
    """

    markers: tuple[str, ...]
    specifiers: tuple[SpecifierSet, ...]
    wheel_tags: frozenset[str] = frozenset()

    def __or__(self, other: Vocabulary) -> Vocabulary:
        """What either tells apart."""
        return Vocabulary(
            tuple(dict.fromkeys((*self.markers, *other.markers))),
            tuple(dict.fromkeys((*self.specifiers, *other.specifiers))),
            self.wheel_tags | other.wheel_tags,
        )


def vocabulary_of(snapshot: Snapshot, facts: Facts) -> Vocabulary:
    """Collect what is in use, in a fixed order.

    Args:
        snapshot: The input.
        facts: What is known of its artefacts.
    """
    markers = dict.fromkeys(str(marker) for marker in _markers(snapshot, facts))
    artefacts = list(_artefacts(snapshot, facts))
    specifiers = {
        str(specifier): specifier
        for specifier in (
            *(artefact.requires_python for artefact in artefacts),
            *(package.requires_python for package in snapshot.packages),
            *(metadata.requires_python for metadata in _known(facts)),
            *(
                package.metadata.requires_python
                for package in snapshot.packages
                if isinstance(package.metadata, Metadata)
            ),
        )
        if specifier is not None
    }
    tags = frozenset(_tags(artefact) for artefact in artefacts if artefact.is_wheel)
    return Vocabulary(tuple(markers), tuple(specifiers.values()), tags)


def _markers(snapshot: Snapshot, facts: Facts) -> Iterator[Marker]:
    yield from snapshot.environments
    for root in snapshot.roots or ():
        yield from _markers_of((root.requirement,))
    for amendment in snapshot.amendments:
        yield from _markers_of(amendment.adds)
    for package in snapshot.packages:
        if package.marker is not None:
            yield package.marker
        yield from _markers_of(package.requirements or ())
        if isinstance(package.metadata, Metadata):
            yield from _markers_of(package.metadata.requires)
    for metadata in _known(facts):
        yield from _markers_of(metadata.requires)


def _known(facts: Facts) -> Iterator[Metadata]:
    for identity in sorted(facts.metadata):
        metadata = facts.metadata[identity]
        if isinstance(metadata, Metadata):
            yield metadata


def _markers_of(requirements: Iterable[Requirement]) -> Iterator[Marker]:
    return (r.marker for r in requirements if r.marker is not None)


def _artefacts(snapshot: Snapshot, facts: Facts) -> Iterator[Artefact]:
    for package in snapshot.packages:
        yield from package.artefacts or ()
    for files in facts.files.values():
        if isinstance(files, tuple):
            yield from files


def _tags(artefact: Artefact) -> str:
    return "-".join(artefact.filename[: -len(".whl")].lower().split("-")[-3:])

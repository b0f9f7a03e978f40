"""What each package requires where, and who says so: its wheels, else the next best witness."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from packaging.utils import NormalizedName

from distcycle.markers import Condition, Space
from distcycle.model import (
    Amendment,
    Artefact,
    Facts,
    Metadata,
    Origin,
    Package,
    Requirement,
    Snapshot,
    Unknown,
)
from distcycle.selection.records import Offer, Request
from distcycle.wheels import Choice, Lack, choose

__all__ = ["Offers"]


class Offers:
    """The requirements of an input's packages, found for each when it is first asked for.

    Args:
        snapshot: The input.
        space: The environments.
        facts: What is known of its artefacts.
        request: Whether wheels or the lock are believed.

    Attributes:
        choices: For every package asked for that comes as files, the file for each cell.
        found: For every package asked for, what it requires.
    """

    def __init__(self, snapshot: Snapshot, space: Space, facts: Facts, request: Request) -> None:
        self._snapshot = snapshot
        self._space = space
        self._facts = facts
        self._request = request
        self._via = _sources_of_via(snapshot)
        self.choices: dict[int, tuple[Choice, ...]] = {}
        self.found: dict[int, tuple[Offer, ...]] = {}

    def of(self, index: int) -> tuple[Offer, ...]:
        """What a package requires: for each choice of file its METADATA, else the second best."""
        if index not in self.found:
            self.found[index] = tuple(self._find(index))
        return self.found[index]

    def _find(self, index: int) -> Iterator[Offer]:
        package = self._snapshot.packages[index]
        everywhere = self._space.full
        if isinstance(package.metadata, Metadata):
            origin: Origin = "installed" if package.source == "installed" else "wheel"
            artefact = package.artefacts[0] if package.artefacts else None
            requires = self._amend(package, package.metadata.requires)
            admitted = self._space.python(package.metadata.requires_python)
            pythons = (str(package.metadata.requires_python),)
            yield Offer(requires, admitted, origin, artefact)
            if refused := everywhere & ~admitted:
                # It stands all the same, and requires what it requires.
                lack: Lack = "requires-python"
                yield Offer(requires, refused, origin, artefact, lack=lack, pythons=pythons)
        elif isinstance(package.metadata, Unknown):
            yield self._second_best(index, everywhere, package.metadata.reason)
        elif self._request.edges == "lock":
            yield self._second_best(index, everywhere, "the input carries no edges")
        else:
            yield from self._by_file(index)

    def _by_file(self, index: int) -> Iterator[Offer]:
        files = self._files_of(self._snapshot.packages[index])
        if isinstance(files, Unknown):
            is_listed = self._snapshot.packages[index].source == "registry"
            yield self._second_best(index, self._space.full, files.reason, missed=is_listed)
            return
        choices = self.choices[index] = choose(files, self._space)
        for choice in choices:
            if choice.artefact is None:
                yield Offer(
                    (), choice.cells, "lock", None, lack=choice.lack, pythons=choice.pythons
                )
            else:
                yield from self._of_choice(index, choice.artefact, choice.cells)

    def _of_choice(self, index: int, artefact: Artefact, cells: Condition) -> Iterator[Offer]:
        package = self._snapshot.packages[index]
        if not artefact.is_wheel and package.requirements is not None:
            yield self._second_best(index, cells, "")
            return
        metadata = self._facts.metadata.get(artefact.identity, Unknown(reason="not asked for yet"))
        if isinstance(metadata, Unknown):
            reason = f"{artefact.filename}: {metadata.reason}"
            yield self._second_best(index, cells, reason, missed=True)
            return
        # Indexes repeat Requires-Python beside each file; most locks do not.
        admitted = cells & self._space.python(metadata.requires_python)
        if cells != admitted:
            pythons = (str(metadata.requires_python),)
            refused = cells & ~admitted
            yield Offer((), refused, "lock", artefact, lack="requires-python", pythons=pythons)
        if not admitted:
            return
        if not artefact.is_wheel and not metadata.is_static:
            reason = f"{artefact.filename}: a source distribution whose requirements are not static"
            yield self._second_best(index, admitted, reason)
            return
        origin: Origin = "wheel" if artefact.is_wheel else "sdist"
        yield Offer(self._amend(package, metadata.requires), admitted, origin, artefact)

    def _second_best(
        self, index: int, cells: Condition, reason: str, *, missed: bool = False
    ) -> Offer:
        """What serves where no METADATA can be had: the lock's edges, else ``# via`` comments."""
        package = self._snapshot.packages[index]
        if package.requirements is not None:
            return Offer(package.requirements, cells, "lock", None, reason, missed)
        if self._via is not None:
            return Offer(self._via.get(package.name, ()), cells, "via", None, reason, missed)
        return Offer(None, cells, "lock", None, reason, missed)

    def _files_of(self, package: Package) -> tuple[Artefact, ...] | Unknown:
        """The files of a package, by the input or else by an index."""
        if package.artefacts:
            return _with_python(package)
        if package.source != "registry":
            return Unknown(
                reason=f"comes from a {package.source} source, whose metadata is not built"
            )
        if package.version is None:
            return Unknown(reason="is not pinned to a version; --resolve finds one")
        files = self._facts.files.get((package.name, package.version))
        if files is None:
            return Unknown(reason="not asked for yet")
        if isinstance(files, Unknown) or not package.hashes:
            return files
        allowed = set(package.hashes)
        kept = tuple(f for f in files if not allowed.isdisjoint(f.hashes))
        return kept or Unknown(reason="no file of the index has one of the hashes in the input")

    def _amend(
        self, package: Package, requirements: tuple[Requirement, ...]
    ) -> tuple[Requirement, ...]:
        for amendment in self._snapshot.amendments:
            if _concerns(amendment, package):
                requirements = _apply(amendment, requirements)
        return requirements


def _with_python(package: Package) -> tuple[Artefact, ...]:
    """The files of a package; what the lock says of its Python holds for those that say nothing."""
    artefacts = package.artefacts or ()
    if package.requires_python is None:
        return artefacts
    return tuple(
        replace(a, requires_python=package.requires_python) if a.requires_python is None else a
        for a in artefacts
    )


def _concerns(amendment: Amendment, package: Package) -> bool:
    return amendment.package in (None, package.name) and amendment.version in (
        None,
        package.version,
    )


def _apply(amendment: Amendment, requirements: tuple[Requirement, ...]) -> tuple[Requirement, ...]:
    if amendment.removes is None:
        return amendment.adds
    gone = {r.name for r in requirements} & set(amendment.removes)
    kept = tuple(r for r in requirements if r.name not in gone)
    return kept + tuple(
        r for r in amendment.adds if r.name in gone or r.name not in amendment.removes
    )


def _sources_of_via(
    snapshot: Snapshot,
) -> dict[NormalizedName, tuple[Requirement, ...]] | None:
    """Turn ``# via`` comments around: for each project what it requires; None without comments."""
    required: dict[NormalizedName, list[Requirement]] = defaultdict(list)
    for package in snapshot.packages:
        for parent in package.via:
            required[parent].append(
                Requirement(name=package.name, text=str(package.name), place=package.place)
            )
    return {name: tuple(rs) for name, rs in required.items()} or None

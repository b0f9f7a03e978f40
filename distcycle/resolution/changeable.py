"""A lock whose packages may get other versions: which ones, at what cost, and what it then is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.errors import MetadataError
from distcycle.model import Package, Place, Snapshot
from distcycle.resolution.shelf import Shelf, View
from distcycle.selection import Selection

__all__ = ["Changeable", "Changes", "Cost", "Variable", "add_costs"]

Variable = int | str
"""A package of the lock by its index, or one that comes by its name."""
Changes = frozenset[tuple[Variable, Version]]


class Cost(NamedTuple):
    """What a change of versions costs, in the order in which it counts.

    Attributes:
        goes_back: Whether any package gets an older version: nobody asks for an upgrade to be given
            an older release while newer ones do.
        changed: Packages of the lock that get another version, and members of the loop that leave.
        left: Members of the loop that leave.
        steps: Releases between the old versions and the new, over all packages.
        downgrades: Packages that get an older version.
    """

    goes_back: bool = False
    changed: int = 0
    left: int = 0
    steps: int = 0
    downgrades: int = 0


class Changeable:
    """A lock whose packages may get other versions, and what that costs.

    Args:
        selection: What is selected of it, with the roots that bind.
        shelf: What there is to choose from.
        most_versions: How many versions of a project to look at on either side of its own.

    Attributes:
        start: What is selected of it as it is.
        packages: Its packages.
        ranges: For each project of which other versions were looked at, the oldest and the newest.
    """

    def __init__(self, selection: Selection, shelf: Shelf, most_versions: int) -> None:
        self.start = selection
        self.packages = selection.snapshot.packages
        self.ranges: dict[NormalizedName, tuple[Version, Version]] = {}
        self._shelf = shelf
        self._views = [View(shelf, cell) for cell in range(len(shelf.targets))]
        self._most_versions = most_versions
        self._bounds = _root_bounds(selection)
        self._candidates: dict[Variable, tuple[Version, ...]] = {}

    def cost(self, changes: Changes, left: int, owed: Iterable[Cost] = ()) -> Cost:
        """What changes cost.

        Args:
            changes: The changes.
            left: How many members of the loop leave.
            owed: What must be paid besides.
        """
        cost = Cost(changed=left, left=left)
        for further in owed:
            cost = add_costs(cost, further)
        for variable, version in changes:
            if isinstance(variable, int):
                cost = add_costs(cost, self.price(variable, version))
        return cost

    def price(self, variable: int, version: Version) -> Cost:
        """What it costs to give a package of the lock another version."""
        old = self.packages[variable].version
        is_older = old is not None and version < old
        steps = _distance(self.candidates(variable), old, version)
        return Cost(is_older, 1, 0, steps, int(is_older))

    def name_of(self, variable: Variable) -> str:
        """The project of a variable."""
        return variable if isinstance(variable, str) else self.packages[variable].name

    def build(self, changes: Changes) -> tuple[Snapshot, list[Variable]]:
        """The lock after some changes, and what each of its packages is."""
        changed = {v: version for v, version in changes if isinstance(v, int)}
        packages = [
            self._changed(package, changed[i]) if i in changed else package
            for i, package in enumerate(self.packages)
        ]
        coming = sorted((v, version) for v, version in changes if isinstance(v, str))
        place = Place(path=self.start.snapshot.path)
        for name, version in coming:
            packages.append(
                Package(
                    name=NormalizedName(name),
                    version=version,
                    artefacts=self._shelf.files(name, version),
                    place=place,
                )
            )
        variables: list[Variable] = [*range(len(self.packages)), *(name for name, _ in coming)]
        return replace(self.start.snapshot, packages=tuple(packages)), variables

    def _changed(self, package: Package, version: Version) -> Package:
        return Package(
            name=package.name,
            version=version,
            artefacts=self._shelf.files(package.name, version),
            marker=package.marker,
            groups=package.groups,
            optional=package.optional,
            place=package.place,
        )

    def view_of(self, cell: int) -> View:
        """What the target of a cell sees; a lock's alternatives are cells of one target."""
        return self._views[self.start.space.index(self.start.space.axes[0], cell)]

    def candidates(self, variable: Variable) -> tuple[Version, ...]:
        """The versions that a package may get, newest first, with the one that it has."""
        if variable not in self._candidates:
            name = self.name_of(variable)
            own = None if isinstance(variable, str) else self.packages[variable].version
            bounds = self._bounds.get(name, ())
            versions = [
                version
                for version in self._shelf.versions(name)
                if version == own
                or (
                    _is_like(version, own)
                    and all(bound.contains(version, prereleases=True) for bound in bounds)
                    and any(view.standing(name, version) for view in self._views)
                )
            ]
            if own is not None and own not in versions:
                versions = sorted([*versions, own], reverse=True)
            at = versions.index(own) if own is not None else 0
            kept = tuple(versions[max(0, at - self._most_versions) : at + self._most_versions + 1])
            self._candidates[variable] = kept
            if isinstance(variable, int):
                self._fetch_ahead(name, kept)
            if kept:
                self.ranges[NormalizedName(name)] = (kept[-1], kept[0])
        return self._candidates[variable]

    def _fetch_ahead(self, name: str, versions: Iterable[Version]) -> None:
        """Begin to fetch METADATA of versions that are all looked at in the end."""
        for version in versions:
            for cell in range(len(self._views)):
                self._shelf.source.ahead(partial(self._fetch, name, version, cell))

    def _fetch(self, name: str, version: Version, cell: int) -> None:
        with contextlib.suppress(MetadataError):
            self._shelf.said(name, version, cell)


def add_costs(one: Cost, other: Cost) -> Cost:
    """What two changes cost together."""
    return Cost(
        one.goes_back or other.goes_back,
        one.changed + other.changed,
        one.left + other.left,
        one.steps + other.steps,
        one.downgrades + other.downgrades,
    )


def _root_bounds(selection: Selection) -> dict[str, list[SpecifierSet]]:
    bounds: dict[str, list[SpecifierSet]] = {}
    for root, _ in selection.roots:
        if root.requirement.specifier:
            bounds.setdefault(root.requirement.name, []).append(root.requirement.specifier)
    for constraint in selection.snapshot.constraints:
        if not selection.space.condition(constraint.marker):
            continue
        bounds.setdefault(constraint.name, []).append(constraint.specifier)
    return bounds


def _is_like(version: Version, own: Version | None) -> bool:
    """Whether a version is one that whoever has the own may be given: a release, no local build."""
    if version.is_prerelease and not (own is not None and own.is_prerelease):
        return False
    return version.local is None or (own is not None and own.local is not None)


def _distance(versions: Sequence[Version], old: Version | None, new: Version) -> int:
    if old is None:
        return len(versions)
    return abs(versions.index(new) - versions.index(old))

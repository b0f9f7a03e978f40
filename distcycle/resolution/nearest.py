"""The nearest versions without a loop: the smallest change of a lock after which none remains.

A search from the cheapest change on. A set of versions is judged by the same selection as the input
itself. What is wrong with it (a loop, a conflict, something missing) can only be mended by a change
of one of the few packages that take part, to a version that has not the requirement in question, so
only those are tried next: the search learns from what it refuses, and never tries all pairs. The
first set with nothing wrong is the smallest, for costs only grow.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.cycles import Component, find_components
from distcycle.model import Package, Place, Requirement, Snapshot
from distcycle.resolution.shelf import Shelf, View
from distcycle.selection import Edge, Node, Selection, Unmet

__all__ = ["Cost", "Nearest", "Found", "find_nearest"]

Variable = int | str
"""A package of the lock by its index, or one that comes by its name."""
Changes = frozenset[tuple[Variable, Version]]


class Cost(NamedTuple):
    """What a change of versions costs, in the order in which it counts.

    Attributes:
        changed: Packages of the lock that get another version, and members of the loop that leave.
        left: Members of the loop that leave.
        steps: Releases between the old versions and the new, over all packages.
        downgrades: Packages that get an older version.
        newness: For packages that come, how many newer releases there are that would do as well.
    """

    changed: int = 0
    left: int = 0
    steps: int = 0
    downgrades: int = 0
    newness: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A set of versions without the loop.

    Attributes:
        snapshot: The lock with these versions, and with the packages that come.
        selection: What is selected of it.
        cost: What the change costs.
    """

    snapshot: Snapshot
    selection: Selection
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """What came of a search.

    Attributes:
        found: The smallest change; None when there is none, or none was found.
        tried: How many sets of versions were judged.
        exhausted: Whether everything was tried that could have been smaller.
        ranges: For each project of which versions were tried, the oldest and the newest of them.
    """

    found: Found | None
    tried: int
    exhausted: bool
    ranges: Mapping[NormalizedName, tuple[Version, Version]]


def find_nearest(
    component: Component,
    selection: Selection,
    shelf: Shelf,
    select: Callable[[Snapshot], Selection],
    *,
    most_tried: int = 400,
    most_versions: int = 60,
) -> Nearest:
    """Find the smallest change of versions after which a loop is gone and no other has come.

    Args:
        component: The loop.
        selection: What is selected of the lock, on the targets of the shelf; its roots say what
            must stay.
        shelf: What there is to choose from.
        select: Selects, with all METADATA.
        most_tried: How many sets of versions to judge before giving up.
        most_versions: How many versions of a project to look at on either side of its own.

    Returns:
        The smallest change by :class:`Cost`, or that there is none.

    Raises:
        MetadataError: Something that had to be asked did not answer.
    """
    return _Search(component, selection, shelf, select, most_versions).run(most_tried)


@dataclass(frozen=True, slots=True)
class _Option:
    """One way in which something wrong may be mended: a package gets another version."""

    variable: Variable
    versions: tuple[Version, ...]
    owed: int = 0


@dataclass(order=True, slots=True)
class _Entry:
    """A set of changes in the queue."""

    bound: Cost
    key: tuple[tuple[str, str], ...]
    changes: Changes = field(compare=False)
    owed: int = field(compare=False, default=0)
    found: Found | None = field(compare=False, default=None)


class _Search:
    """The working state of one search."""

    def __init__(
        self,
        component: Component,
        selection: Selection,
        shelf: Shelf,
        select: Callable[[Snapshot], Selection],
        most_versions: int,
    ) -> None:
        self.component = component
        self.start = selection
        self.packages = selection.snapshot.packages
        self.shelf = shelf
        self.views = [View(shelf, cell) for cell in range(len(shelf.targets))]
        self.select = select
        self.most_versions = most_versions
        self.members = frozenset(component.packages)
        self.known_loops = {
            _names(c, self.packages)
            for c in self._components(selection)
            if c.packages != component.packages
        }
        self.known_faults = {_key_of(u, selection) for u in selection.unmet}
        self.bounds = _root_bounds(selection)
        self.ranges: dict[NormalizedName, tuple[Version, Version]] = {}
        self._candidates: dict[Variable, tuple[Version, ...]] = {}

    def run(self, most_tried: int) -> Nearest:
        queue = [_Entry(Cost(), (), frozenset())]
        seen: set[Changes] = {frozenset()}
        tried = 0
        while queue:
            entry = heapq.heappop(queue)
            if entry.found is not None:
                return Nearest(found=entry.found, tried=tried, exhausted=True, ranges=self.ranges)
            if tried >= most_tried:
                return Nearest(found=None, tried=tried, exhausted=False, ranges=self.ranges)
            tried += 1
            snapshot, variables = self._build(entry.changes)
            selection = self.select(snapshot)
            fault = self._find_fault(selection, variables, entry.changes)
            if fault is None:
                if self._is_idle(selection, variables, entry.changes):
                    continue
                cost = self._cost(entry.changes, self._left(selection))
                found = Found(snapshot=snapshot, selection=selection, cost=cost)
                heapq.heappush(queue, replace(entry, bound=cost, found=found))
                continue
            for option in fault:
                for version in option.versions:
                    changes = entry.changes | {(option.variable, version)}
                    if changes not in seen:
                        seen.add(changes)
                        heapq.heappush(queue, self._entry(changes, option.owed))
        return Nearest(found=None, tried=tried, exhausted=True, ranges=self.ranges)

    # Sets of versions -----------------------------------------------------------------------------

    def _entry(self, changes: Changes, owed: int) -> _Entry:
        key = tuple(sorted((self._name(v), str(version)) for v, version in changes))
        return _Entry(self._cost(changes, owed), key, changes, owed)

    def _cost(self, changes: Changes, left: int) -> Cost:
        changed = steps = downgrades = newness = 0
        for variable, version in changes:
            versions = self.candidates(variable)
            if isinstance(variable, str):
                newness += versions.index(version)
                continue
            old = self.packages[variable].version
            changed += 1
            steps += _distance(versions, old, version)
            downgrades += old is not None and version < old
        return Cost(changed + left, left, steps, downgrades, newness)

    def _name(self, variable: Variable) -> str:
        return variable if isinstance(variable, str) else self.packages[variable].name

    def _build(self, changes: Changes) -> tuple[Snapshot, list[Variable]]:
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
                    artefacts=self.shelf.files(name, version),
                    place=place,
                )
            )
        variables: list[Variable] = [*range(len(self.packages)), *(name for name, _ in coming)]
        return replace(self.start.snapshot, packages=tuple(packages)), variables

    def _changed(self, package: Package, version: Version) -> Package:
        return Package(
            name=package.name,
            version=version,
            artefacts=self.shelf.files(package.name, version),
            marker=package.marker,
            groups=package.groups,
            optional=package.optional,
            place=package.place,
        )

    def candidates(self, variable: Variable) -> tuple[Version, ...]:
        """The versions that a package may get, newest first, with the one that it has."""
        if variable not in self._candidates:
            name = self._name(variable)
            own = None if isinstance(variable, str) else self.packages[variable].version
            bounds = self.bounds.get(name, ())
            versions = [
                version
                for version in self.shelf.versions(name)
                if version == own
                or (
                    (not version.is_prerelease or (own is not None and own.is_prerelease))
                    and all(bound.contains(version, prereleases=True) for bound in bounds)
                    and any(view.standing(name, version) for view in self.views)
                )
            ]
            if own is not None and own not in versions:
                versions = sorted([*versions, own], reverse=True)
            at = versions.index(own) if own is not None else 0
            kept = tuple(versions[max(0, at - self.most_versions) : at + self.most_versions + 1])
            self._candidates[variable] = kept
            if kept:
                self.ranges[NormalizedName(name)] = (kept[-1], kept[0])
        return self._candidates[variable]

    # What is wrong --------------------------------------------------------------------------------

    def _find_fault(
        self, selection: Selection, variables: Sequence[Variable], changes: Changes
    ) -> list[_Option] | None:
        """What may be done about the first thing that is wrong; None when nothing is."""
        decided = dict(changes)
        judge = _Judgement(self, selection, variables, decided)
        for unmet in selection.unmet:
            if _key_of(unmet, selection) not in self.known_faults:
                return judge.about_unmet(unmet)
        if judge.has_lacks():
            return []
        for component in self._components(selection):
            names = _names(component, selection.snapshot.packages)
            if component.kind == self.component.kind and names not in self.known_loops:
                return judge.about_loop(component)
        return None

    def _components(self, selection: Selection) -> list[Component]:
        names = [package.name for package in selection.snapshot.packages]
        return find_components(selection.edges, names, selection.space.full, max_cycles=1)

    def _left(self, selection: Selection) -> int:
        return sum(not selection.reached.get((i, "")) for i in self.members)

    def _is_idle(
        self, selection: Selection, variables: Sequence[Variable], changes: Changes
    ) -> bool:
        """Whether something was changed that is not installed after all."""
        changed = {variable for variable, _ in changes}
        return any(
            variable in changed and not selection.reached.get((i, ""))
            for i, variable in enumerate(variables)
        )


class _Judgement:
    """One set of versions: what is wrong with it, and what could be done about that."""

    def __init__(
        self,
        search: _Search,
        selection: Selection,
        variables: Sequence[Variable],
        decided: Mapping[Variable, Version],
    ) -> None:
        self.search = search
        self.selection = selection
        self.variables = variables
        self.decided = decided

    def has_lacks(self) -> bool:
        """Whether a version that was chosen cannot be installed, or nobody knows what it requires."""
        for i, variable in enumerate(self.variables):
            if variable not in self.decided:
                continue
            reached = self.selection.reached.get((i, ""), 0)
            for offer in self.selection.offers.get(i, ()):
                if not offer.cells & reached:
                    continue
                if offer.requirements is None or (offer.lack and self._is_new(i, offer.cells)):
                    return True
        return False

    def _is_new(self, index: int, cells: int) -> bool:
        """Whether the package could be installed in some of these cells before."""
        lacked = 0
        for offer in self.search.start.offers.get(index, ()):
            if offer.lack:
                lacked |= offer.cells
        return bool(cells & ~lacked)

    def about_unmet(self, unmet: Unmet) -> list[_Option]:
        """What may be done where a requirement is not met."""
        cell = _first_cell(unmet.cells)
        requirement = unmet.requirement
        options: list[_Option] = []
        if unmet.package is not None:
            options += self._other_versions(self.variables[unmet.package], requirement.specifier)
        elif requirement.name not in {p.name for p in self.selection.snapshot.packages}:
            options += self._arrivals(requirement)
        if unmet.source is None:
            return options
        source = self.variables[unmet.source[0]]
        stands = None if unmet.package is None else self.selection.snapshot.packages[unmet.package]
        fixed = stands is not None and self.variables[unmet.package or 0] in self.decided
        if source not in self.decided:
            versions = tuple(
                version
                for version in self._others(source)
                if not fixed or self._admits(source, version, unmet.source[1], stands, cell)
            )
            options.append(_Option(source, versions))
        options += self._ways_around(unmet.source, cell, owed=0)
        return options

    def about_loop(self, component: Component) -> list[_Option]:
        """What may be done about a loop: one of its edges goes, or nothing leads to it any more."""
        cycle = component.cycles[0]
        cell = _first_cell(cycle.cells)
        options: list[_Option] = []
        for i, hop in zip(cycle.packages, cycle.hops, strict=True):
            live = [edge for edge in hop if edge.cells >> cell & 1]
            target = self.selection.snapshot.packages[live[0].target].name
            extras = {edge.source[1] for edge in live}
            variable = self.variables[i]
            if variable not in self.decided:
                versions = tuple(
                    version
                    for version in self._others(variable)
                    if not any(
                        self._requires(variable, version, extra, target, cell) for extra in extras
                    )
                )
                options.append(_Option(variable, versions))
            for extra in sorted(extras - {""}):
                options += self._ways_around((i, extra), cell, owed=0)
        owed = sum(self.variables[i] in self.search.members for i in cycle.packages)
        for i in cycle.packages:
            options += self._ways_around((i, ""), cell, owed=owed, inside=cycle.packages)
        return options

    def _ways_around(
        self, node: Node, cell: int, *, owed: int, inside: Iterable[int] = ()
    ) -> Iterator[_Option]:
        """Changes after which one way to a node is gone; every way must go for it to leave."""
        path = _path_to(self.selection, node, cell)
        for edge in path:
            variable = self.variables[edge.source[0]]
            if variable in self.decided or edge.source[0] in inside:
                continue
            last = edge.target == node[0] and node[1] != ""
            target = self.selection.snapshot.packages[edge.target].name
            versions = tuple(
                version
                for version in self._others(variable)
                if not self._requires(
                    variable, version, edge.source[1], target, cell, node[1] if last else ""
                )
            )
            yield _Option(variable, versions, owed)

    def _arrivals(self, requirement: Requirement) -> Iterator[_Option]:
        """The versions in which a package may come: what all that requires it admits."""
        name = requirement.name
        asked = [u.requirement for u in self.selection.unmet if u.requirement.name == name]
        versions = tuple(
            version
            for version in self.search.candidates(name)
            if all(r.specifier.contains(version, prereleases=True) for r in asked)
        )
        yield _Option(str(name), versions)

    def _other_versions(self, variable: Variable, specifier: SpecifierSet) -> Iterator[_Option]:
        if variable not in self.decided:
            versions = tuple(
                version
                for version in self._others(variable)
                if specifier.contains(version, prereleases=True)
            )
            yield _Option(variable, versions)

    def _others(self, variable: Variable) -> Iterator[Version]:
        """The versions that a package of the lock may get instead of its own."""
        if isinstance(variable, str):
            return
        own = self.search.packages[variable].version
        if own is None or self.search.packages[variable].source not in ("registry", "installed"):
            return
        for version in self.search.candidates(variable):
            if version != own:
                yield version

    # What versions require ------------------------------------------------------------------------

    def _lines(
        self, variable: Variable, version: Version, extra: str, cell: int
    ) -> Iterator[Requirement]:
        view = self.search.views[cell]
        said = view.said(self.search._name(variable), version)
        for requirement in view.requirements(said, extra):
            yield requirement

    def _requires(
        self,
        variable: Variable,
        version: Version,
        extra: str,
        target: str,
        cell: int,
        asks: str = "",
    ) -> bool:
        """Whether a version requires a project, and there asks for an extra if one is meant."""
        return any(
            line.name == target and (not asks or asks in line.extras)
            for line in self._lines(variable, version, extra, cell)
        )

    def _admits(
        self,
        variable: Variable,
        version: Version,
        extra: str,
        stands: Package | None,
        cell: int,
    ) -> bool:
        """Whether a version gets along with what stands."""
        if stands is None or stands.version is None:
            return True
        return all(
            line.specifier.contains(stands.version, prereleases=True)
            for line in self._lines(variable, version, extra, cell)
            if line.name == stands.name
        )


# Parts -------------------------------------------------------------------------------------------


def _names(component: Component, packages: Sequence[Package]) -> frozenset[str]:
    return frozenset(packages[i].name for i in component.packages)


def _key_of(unmet: Unmet, selection: Selection) -> tuple[object, ...]:
    """What makes an unmet requirement the one that was there before."""
    packages = selection.snapshot.packages
    source = None if unmet.source is None else packages[unmet.source[0]]
    stands = None if unmet.package is None else packages[unmet.package]
    return (
        source and (source.name, source.version),
        unmet.source and unmet.source[1],
        unmet.requirement.text,
        stands and stands.version,
    )


def _root_bounds(selection: Selection) -> dict[str, list[SpecifierSet]]:
    bounds: dict[str, list[SpecifierSet]] = {}
    for root, _ in selection.roots:
        if root.requirement.specifier:
            bounds.setdefault(root.requirement.name, []).append(root.requirement.specifier)
    for constraint in selection.snapshot.constraints:
        bounds.setdefault(constraint.name, []).append(constraint.specifier)
    return bounds


def _distance(versions: Sequence[Version], old: Version | None, new: Version) -> int:
    if old is None:
        return len(versions)
    return abs(versions.index(new) - versions.index(old))


def _first_cell(cells: int) -> int:
    return (cells & -cells).bit_length() - 1


def _path_to(selection: Selection, node: Node, cell: int) -> list[Edge]:
    """The edges of a shortest way from a root to a node, in one cell."""
    came: dict[Node, Edge | None] = {}
    queue: deque[Node] = deque()
    for requirement, index, cells in selection.entries:
        if cells >> cell & 1:
            for extra in ("", *requirement.extras):
                if (index, extra) not in came:
                    came[index, extra] = None
                    queue.append((index, extra))
    while queue and node not in came:
        current = queue.popleft()
        for edge in selection.edges_from(current[0]):
            if edge.source != current or not edge.cells >> cell & 1:
                continue
            for extra in ("", *edge.requirement.extras):
                if (edge.target, extra) not in came:
                    came[edge.target, extra] = edge
                    queue.append((edge.target, extra))
    path: list[Edge] = []
    last = came.get(node)
    while last is not None:
        path.append(last)
        last = came[last.source]
    return path

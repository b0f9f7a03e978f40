"""The nearest versions without a loop: the smallest change of a lock after which none remains.

A search from the cheapest change on. A set of versions is judged by the same selection as the input
itself. What is wrong with it (a loop, a conflict, something missing) can only be mended by a change
of one of the few packages that take part, to a version that has not the requirement in question, so
only those are tried next: the search learns from what it refuses, and never tries all pairs. It
dives for a first set with nothing wrong, and then goes on from the cheapest change: costs only
grow, so that it can tell when nothing smaller is left.
"""

from __future__ import annotations

import contextlib
import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.cycles import Component, find_components
from distcycle.errors import MetadataError
from distcycle.model import Package, Place, Requirement, Snapshot
from distcycle.resolution.shelf import Shelf, View
from distcycle.selection import Edge, Node, Selection, Unmet

__all__ = ["Cost", "Found", "Nearest", "find_nearest"]

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
        found: The smallest change that was found; None when there is none, or none was found.
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
    most_tried: int = 600,
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


@dataclass(frozen=True, slots=True)
class _Link:
    """A requirement of a package, or of an extra of it, on a project, or on an extra of that."""

    variable: Variable
    extra: str
    target: str
    asks: str = ""


@dataclass(slots=True)
class _Entry:
    """A set of changes in the queue.

    Attributes:
        bound: What it, and all that comes of it, costs at least.
        changes: The changes.
        age: How far what comes is from being the newest.
        key: The changes in a fixed order, to settle ties.
        is_diving: Whether what owes the least, then what has most decided, comes first; else what
            costs least.
        fault: What may be done about what is wrong with it, once that is known.
        owed: What must be paid at least for each package that does not suit what was decided.
        found: What it comes to, when nothing is wrong with it.
    """

    bound: Cost
    changes: Changes
    age: int = 0
    key: tuple[tuple[str, str], ...] = ()
    is_diving: bool = True
    fault: list[_Option] | None = None
    owed: Mapping[Variable, Cost] = field(default_factory=dict)
    found: Found | None = None

    def __lt__(self, other: _Entry) -> bool:
        return self._rank() < other._rank()

    def _rank(self) -> tuple[object, ...]:
        settled = sum(isinstance(variable, int) for variable, _ in self.changes)
        depth = len(self.changes)
        dive = (self.bound.goes_back, self.bound.changed - settled, -depth)
        first = dive if self.is_diving else ()
        return (*first, self.bound, self.age, -depth, self.key)


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
            for c in self.components(selection)
            if c.packages != component.packages
        }
        self.known_faults = {_key_of(u, selection) for u in selection.unmet}
        self.bounds = _root_bounds(selection)
        self.ranges: dict[NormalizedName, tuple[Version, Version]] = {}
        self._candidates: dict[Variable, tuple[Version, ...]] = {}

    def run(self, most_tried: int) -> Nearest:
        """Dive for a set that changes as few packages as can be; then look for fewer steps."""
        queue = [_Entry(Cost(), frozenset())]
        seen: set[Changes] = {frozenset()}
        best: Found | None = None
        tried = 0
        while queue:
            entry = heapq.heappop(queue)
            if best is not None and entry.bound >= best.cost:
                break
            if entry.fault is not None:
                for further in self._expand(entry, entry.fault, seen):
                    heapq.heappush(queue, further)
                continue
            if tried >= most_tried:
                return self._result(best, tried, exhausted=False)
            tried += 1
            judged = self._judge(entry)
            if judged is None:
                continue
            if judged.found is None:
                heapq.heappush(queue, judged)
            elif best is None:
                # What is left is in the order of a dive: from now on what costs least comes first.
                best = judged.found
                queue = [replace(further, is_diving=False) for further in queue]
                heapq.heapify(queue)
            else:
                best = min(best, judged.found, key=lambda found: found.cost)
        return self._result(best, tried, exhausted=True)

    def _result(self, found: Found | None, tried: int, *, exhausted: bool) -> Nearest:
        return Nearest(found=found, tried=tried, exhausted=exhausted, ranges=self.ranges)

    def _judge(self, entry: _Entry) -> _Entry | None:
        """The set of changes with what is wrong with it, or with what it comes to."""
        snapshot, variables = self._build(entry.changes)
        selection = self.select(snapshot)
        judgement = _Judgement(self, selection, variables, dict(entry.changes))
        fault = judgement.first_fault()
        if fault is not None:
            owed = judgement.owed()
            bound = max(entry.bound, self._cost(entry.changes, 0, owed.values()))
            return replace(entry, bound=bound, fault=fault, owed=owed) if fault else None
        if judgement.is_idle():
            return None
        cost = self._cost(entry.changes, self._left(selection))
        found = Found(snapshot=snapshot, selection=selection, cost=cost)
        return replace(entry, bound=cost, found=found)

    def _expand(
        self, entry: _Entry, fault: Sequence[_Option], seen: set[Changes]
    ) -> Iterator[_Entry]:
        """The sets of changes that mend what is wrong with one."""
        for option in fault:
            kept = frozenset(c for c in entry.changes if c[0] != option.variable)
            for rank, version in enumerate(option.versions):
                changes = kept | {(option.variable, version)}
                if changes not in seen:
                    seen.add(changes)
                    # Of what comes the newest is taken that will do, the next one if it must.
                    age = entry.age + (rank if isinstance(option.variable, str) else 0)
                    rest = [c for v, c in entry.owed.items() if v != option.variable]
                    bound = max(entry.bound, self._cost(changes, option.owed, rest))
                    key = tuple(sorted((self.name_of(v), str(version)) for v, version in changes))
                    yield _Entry(bound, changes, age=age, key=key, is_diving=entry.is_diving)

    # Sets of versions -----------------------------------------------------------------------------

    def _cost(self, changes: Changes, left: int, owed: Iterable[Cost] = ()) -> Cost:
        cost = Cost(changed=left, left=left)
        for further in owed:
            cost = _add(cost, further)
        for variable, version in changes:
            if isinstance(variable, int):
                cost = _add(cost, self.price(variable, version))
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

    def view_of(self, cell: int) -> View:
        """What the target of a cell sees; a lock's alternatives are cells of one target."""
        return self.views[self.start.space.index(self.start.space.axes[0], cell)]

    def candidates(self, variable: Variable) -> tuple[Version, ...]:
        """The versions that a package may get, newest first, with the one that it has."""
        if variable not in self._candidates:
            name = self.name_of(variable)
            own = None if isinstance(variable, str) else self.packages[variable].version
            bounds = self.bounds.get(name, ())
            versions = [
                version
                for version in self.shelf.versions(name)
                if version == own
                or (
                    _is_like(version, own)
                    and all(bound.contains(version, prereleases=True) for bound in bounds)
                    and any(view.standing(name, version) for view in self.views)
                )
            ]
            if own is not None and own not in versions:
                versions = sorted([*versions, own], reverse=True)
            at = versions.index(own) if own is not None else 0
            kept = tuple(versions[max(0, at - self.most_versions) : at + self.most_versions + 1])
            self._candidates[variable] = kept
            if isinstance(variable, int):
                self._fetch_ahead(name, kept)
            if kept:
                self.ranges[NormalizedName(name)] = (kept[-1], kept[0])
        return self._candidates[variable]

    def _fetch_ahead(self, name: str, versions: Iterable[Version]) -> None:
        """Begin to fetch METADATA of versions that are all looked at in the end."""
        for version in versions:
            for cell in range(len(self.views)):
                self.shelf.source.ahead(partial(self._fetch, name, version, cell))

    def _fetch(self, name: str, version: Version, cell: int) -> None:
        with contextlib.suppress(MetadataError):
            self.shelf.said(name, version, cell)

    # What is wrong --------------------------------------------------------------------------------

    def components(self, selection: Selection) -> list[Component]:
        """The loops of a selection."""
        names = [package.name for package in selection.snapshot.packages]
        return find_components(selection.edges, names, selection.space.full, max_cycles=1)

    def _left(self, selection: Selection) -> int:
        return sum(not selection.reached.get((i, "")) for i in self.members)


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

    def first_fault(self) -> list[_Option] | None:
        """What may be done about one thing that is wrong; None when nothing is.

        Of unmet requirements it is the one that leaves the least choice: where there is none left,
        nothing else need be tried.
        """
        search, selection = self.search, self.selection
        if (lacking := self._first_lack()) is not None:
            return [_Option(lacking, tuple(self._others(lacking)))]
        new = list(self._new_unmet())
        faults = [self.about_unmet(u) for u in new if u.package is not None]
        faults = faults or [self.about_unmet(unmet) for unmet in new]
        if faults:
            return min(faults, key=lambda options: sum(len(o.versions) for o in options))
        for component in search.components(selection):
            names = _names(component, selection.snapshot.packages)
            if component.kind == search.component.kind and names not in search.known_loops:
                return self.about_loop(component)
        return None

    def _new_unmet(self) -> Iterator[Unmet]:
        for unmet in self.selection.unmet:
            if _key_of(unmet, self.selection) not in self.search.known_faults:
                yield unmet

    def is_idle(self) -> bool:
        """Whether something was changed that is not installed after all."""
        return any(
            self._is_settled(variable) and not self.selection.reached.get((i, ""))
            for i, variable in enumerate(self.variables)
        )

    def _is_settled(self, variable: Variable) -> bool:
        """Whether a package of the lock has been given a version; what comes may get another."""
        return isinstance(variable, int) and variable in self.decided

    def owed(self) -> dict[Variable, Cost]:
        """What must be paid at least: packages that do not suit what was decided have to change."""
        bounds: dict[int, list[SpecifierSet]] = {}
        for unmet in self._new_unmet():
            if unmet.package is None or unmet.source is None:
                continue
            variable = self.variables[unmet.package]
            decides = self._is_settled(self.variables[unmet.source[0]])
            if decides and isinstance(variable, int) and variable not in self.decided:
                bounds.setdefault(variable, []).append(unmet.requirement.specifier)
        owed: dict[Variable, Cost] = {}
        for variable, specifiers in bounds.items():
            prices = [
                self.search.price(variable, version)
                for version in self._others(variable)
                if all(s.contains(version, prereleases=True) for s in specifiers)
            ]
            owed[variable] = min(prices, default=Cost(changed=1))
        return owed

    def _first_lack(self) -> Variable | None:
        """A package whose chosen version cannot be installed, or says nothing of itself."""
        for i, variable in enumerate(self.variables):
            if variable not in self.decided:
                continue
            reached = self.selection.reached.get((i, ""), 0)
            for offer in self.selection.offers.get(i, ()):
                if not offer.cells & reached:
                    continue
                if offer.requirements is None or (offer.lack and self._is_new(i, offer.cells)):
                    return variable
        return None

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
        if not self._is_settled(source):
            options.append(_Option(source, tuple(self._at_peace(source, unmet, cell))))
        options += self._ways_around(unmet.source, cell, owed=0)
        return options

    def _at_peace(self, source: Variable, unmet: Unmet, cell: int) -> Iterator[Version]:
        """The versions of what requires that get along with what stands, where that is settled."""
        is_settled = unmet.package is not None and self._is_settled(self.variables[unmet.package])
        for version in self._others(source):
            if not is_settled or unmet.package is None or unmet.source is None:
                yield version
                continue
            stands = self.selection.snapshot.packages[unmet.package]
            link = _Link(source, unmet.source[1], stands.name)
            if self._admits(link, version, stands, cell):
                yield version

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
            if not self._is_settled(variable):
                versions = tuple(
                    version
                    for version in self._others(variable)
                    if not any(
                        self._has(_Link(variable, extra, target), version, cell) for extra in extras
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
            if self._is_settled(variable) or edge.source[0] in inside:
                continue
            target = self.selection.snapshot.packages[edge.target].name
            asks = node[1] if edge.target == node[0] else ""
            link = _Link(variable, edge.source[1], target, asks)
            versions = tuple(v for v in self._others(variable) if not self._has(link, v, cell))
            yield _Option(variable, versions, owed)

    def _arrivals(self, requirement: Requirement) -> Iterator[_Option]:
        """The version in which a package comes: the newest that all or at least one admits.

        When something else turns out not to suit it, it may get another.
        """
        name = requirement.name
        asked = [u.requirement for u in self.selection.unmet if u.requirement.name == name]
        for bounds in (asked, [requirement]):
            for version in self.search.candidates(name):
                if all(r.specifier.contains(version, prereleases=True) for r in bounds):
                    yield _Option(str(name), (version,))
                    return

    def _other_versions(self, variable: Variable, specifier: SpecifierSet) -> Iterator[_Option]:
        if not self._is_settled(variable):
            versions = tuple(
                version
                for version in self._others(variable)
                if specifier.contains(version, prereleases=True)
            )
            yield _Option(variable, versions)

    def _others(self, variable: Variable) -> Iterator[Version]:
        """The versions that a package may get instead of its own."""
        if isinstance(variable, str):
            chosen = self.decided[variable]
            yield from (v for v in self.search.candidates(variable) if v != chosen)
            return
        if self._is_settled(variable):
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
        view = self.search.view_of(cell)
        said = view.said(self.search.name_of(variable), version)
        yield from view.requirements(said, extra)

    def _has(self, link: _Link, version: Version, cell: int) -> bool:
        """Whether a version of a package has a link."""
        return any(
            line.name == link.target and (not link.asks or link.asks in line.extras)
            for line in self._lines(link.variable, version, link.extra, cell)
        )

    def _admits(self, link: _Link, version: Version, stands: Package, cell: int) -> bool:
        """Whether a version of a package gets along with what stands."""
        return stands.version is None or all(
            line.specifier.contains(stands.version, prereleases=True)
            for line in self._lines(link.variable, version, link.extra, cell)
            if line.name == link.target
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


def _add(one: Cost, other: Cost) -> Cost:
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

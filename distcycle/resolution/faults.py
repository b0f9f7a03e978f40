"""What is wrong with a set of versions, and which changes could mend it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.cycles import Component, find_components
from distcycle.model import Package, Requirement
from distcycle.resolution.changeable import Changeable, Cost, Variable
from distcycle.selection import Edge, Node, Selection, Unmet

__all__ = ["Goal", "Judgement", "Option", "find_loops", "names_of"]


@dataclass(frozen=True, slots=True)
class Option:
    """One way in which something wrong may be mended: a package gets another version."""

    variable: Variable
    versions: tuple[Version, ...]
    owed: int = 0


@dataclass(frozen=True, slots=True)
class Link:
    """A requirement of a package, or of an extra of it, on a project, or on an extra of that."""

    variable: Variable
    extra: str
    target: str
    asks: str = ""


class Goal:
    """What is wanted: no loop of a kind but those that were there besides, and no new conflict.

    Args:
        component: The loop that is to go.
        selection: What is selected of the lock as it is.

    Attributes:
        members: Its members.
        known_faults: Requirements that were not met before.
    """

    def __init__(self, component: Component, selection: Selection) -> None:
        self.members = frozenset(component.packages)
        self.known_faults = {_key_of(unmet, selection) for unmet in selection.unmet}
        self._kind = component.kind
        self._known_loops = {
            names_of(loop, selection)
            for loop in find_loops(selection)
            if loop.kind == component.kind and loop.packages != component.packages
        }

    def forbids(self, component: Component, selection: Selection) -> bool:
        """Whether a loop must not be."""
        is_known = names_of(component, selection) in self._known_loops
        return component.kind == self._kind and not is_known


class Judgement:
    """One set of versions: what is wrong with it, and what could be done about that.

    Args:
        lock: The lock.
        goal: What is wanted of it.
        selection: What is selected with these versions.
        variables: What each package of the selection is.
        decided: The versions that were given.
    """

    def __init__(
        self,
        lock: Changeable,
        goal: Goal,
        selection: Selection,
        variables: Sequence[Variable],
        decided: Mapping[Variable, Version],
    ) -> None:
        self.lock = lock
        self.goal = goal
        self.selection = selection
        self.variables = variables
        self.decided = decided

    def first_fault(self) -> list[Option] | None:
        """What may be done about one thing that is wrong; None when nothing is.

        Of unmet requirements it is the one that leaves the least choice: where there is none left,
        nothing else need be tried.
        """
        selection = self.selection
        if (lacking := self._first_lack()) is not None:
            return [Option(lacking, tuple(self._others(lacking)))]
        new = list(self._new_unmet())
        faults = [self.about_unmet(u) for u in new if u.package is not None]
        faults = faults or [self.about_unmet(unmet) for unmet in new]
        if faults:
            return min(faults, key=lambda options: sum(len(o.versions) for o in options))
        for component in find_loops(selection):
            if self.goal.forbids(component, selection):
                return self.about_loop(component)
        return None

    def _new_unmet(self) -> Iterator[Unmet]:
        for unmet in self.selection.unmet:
            if _key_of(unmet, self.selection) not in self.goal.known_faults:
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
            # What an extra requires is owed to nobody: the extra may cease to be asked for.
            decides = self._is_settled(self.variables[unmet.source[0]]) and not unmet.source[1]
            if decides and isinstance(variable, int) and variable not in self.decided:
                bounds.setdefault(variable, []).append(unmet.requirement.specifier)
        owed: dict[Variable, Cost] = {}
        for variable, specifiers in bounds.items():
            prices = [
                self.lock.price(variable, version)
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
        for offer in self.lock.start.offers.get(index, ()):
            if offer.lack:
                lacked |= offer.cells
        return bool(cells & ~lacked)

    def about_unmet(self, unmet: Unmet) -> list[Option]:
        """What may be done where a requirement is not met."""
        cell = _first_cell(unmet.cells)
        requirement = unmet.requirement
        options: list[Option] = []
        if unmet.package is not None:
            options += self._other_versions(self.variables[unmet.package], requirement.specifier)
        elif requirement.name not in {p.name for p in self.selection.snapshot.packages}:
            options += self._arrivals(requirement)
        if unmet.source is None:
            return options
        source = self.variables[unmet.source[0]]
        if not self._is_settled(source):
            options.append(Option(source, tuple(self._at_peace(source, unmet, cell))))
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
            link = Link(source, unmet.source[1], stands.name)
            if self._admits(link, version, stands, cell):
                yield version

    def about_loop(self, component: Component) -> list[Option]:
        """What may be done about a loop: one of its edges goes, or nothing leads to it any more."""
        cycle = component.cycles[0]
        cell = _first_cell(cycle.cells)
        options: list[Option] = []
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
                        self._has(Link(variable, extra, target), version, cell) for extra in extras
                    )
                )
                options.append(Option(variable, versions))
            for extra in sorted(extras - {""}):
                options += self._ways_around((i, extra), cell, owed=0)
        owed = sum(self.variables[i] in self.goal.members for i in cycle.packages)
        for i in cycle.packages:
            options += self._ways_around((i, ""), cell, owed=owed, inside=cycle.packages)
        return options

    def _ways_around(
        self, node: Node, cell: int, *, owed: int, inside: Iterable[int] = ()
    ) -> Iterator[Option]:
        """Changes after which one way to a node is gone; every way must go for it to leave."""
        path = _path_to(self.selection, node, cell)
        for edge in path:
            variable = self.variables[edge.source[0]]
            if self._is_settled(variable) or edge.source[0] in inside:
                continue
            target = self.selection.snapshot.packages[edge.target].name
            asks = node[1] if edge.target == node[0] else ""
            link = Link(variable, edge.source[1], target, asks)
            versions = tuple(v for v in self._others(variable) if not self._has(link, v, cell))
            yield Option(variable, versions, owed)

    def _arrivals(self, requirement: Requirement) -> Iterator[Option]:
        """The version in which a package comes: the newest that all or at least one admits.

        When something else turns out not to suit it, it may get another.
        """
        name = requirement.name
        asked = [u.requirement for u in self.selection.unmet if u.requirement.name == name]
        for bounds in (asked, [requirement]):
            for version in self.lock.candidates(name):
                if all(r.specifier.contains(version, prereleases=True) for r in bounds):
                    yield Option(str(name), (version,))
                    return

    def _other_versions(self, variable: Variable, specifier: SpecifierSet) -> Iterator[Option]:
        if not self._is_settled(variable):
            versions = tuple(
                version
                for version in self._others(variable)
                if specifier.contains(version, prereleases=True)
            )
            yield Option(variable, versions)

    def _others(self, variable: Variable) -> Iterator[Version]:
        """The versions that a package may get instead of its own."""
        if isinstance(variable, str):
            chosen = self.decided[variable]
            yield from (v for v in self.lock.candidates(variable) if v != chosen)
            return
        if self._is_settled(variable):
            return
        own = self.lock.packages[variable].version
        if own is None or self.lock.packages[variable].source not in ("registry", "installed"):
            return
        for version in self.lock.candidates(variable):
            if version != own:
                yield version

    # What versions require ------------------------------------------------------------------------

    def _lines(
        self, variable: Variable, version: Version, extra: str, cell: int
    ) -> Iterator[Requirement]:
        view = self.lock.view_of(cell)
        said = view.said(self.lock.name_of(variable), version)
        yield from view.requirements(said, extra)

    def _has(self, link: Link, version: Version, cell: int) -> bool:
        """Whether a version of a package has a link."""
        return any(
            line.name == link.target and (not link.asks or link.asks in line.extras)
            for line in self._lines(link.variable, version, link.extra, cell)
        )

    def _admits(self, link: Link, version: Version, stands: Package, cell: int) -> bool:
        """Whether a version of a package gets along with what stands."""
        return stands.version is None or all(
            line.specifier.contains(stands.version, prereleases=True)
            for line in self._lines(link.variable, version, link.extra, cell)
            if line.name == link.target
        )


def find_loops(selection: Selection) -> list[Component]:
    """The loops of a selection."""
    names = [package.name for package in selection.snapshot.packages]
    return find_components(selection.edges, names, selection.space.full, max_cycles=1)


def names_of(component: Component, selection: Selection) -> frozenset[NormalizedName]:
    """The projects of a loop."""
    return frozenset(selection.snapshot.packages[i].name for i in component.packages)


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

"""From cells and indices to words: the records of a report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from distcycle import findings
from distcycle.breakers import Breakers, break_component
from distcycle.cycles import Component, Cycle
from distcycle.drafts import Draft, Way, describe_node
from distcycle.findings import (
    Finding,
    Member,
    Rule,
    Severity,
    TargetRow,
    Variant,
    abbreviate_targets,
    describe_condition,
    fingerprint,
)
from distcycle.lines import find_lines
from distcycle.markers import Condition, Speller
from distcycle.model import Place, Snapshot
from distcycle.selection import Edge, Selection
from distcycle.targets import Target

__all__ = ["Lines", "Statements", "row_of"]


def row_of(target: Target) -> TargetRow:
    """A target as a report shows it."""
    return TargetRow(
        name=target.name,
        platform=target.platform,
        python=target.python,
        environment=dict(target.environment),
        assumed=target.assumed,
    )


class Lines:
    """The lines of places, looked up together in one scan of the input's text.

    Args:
        snapshot: The input.
        places: Every place whose line will be asked for.
    """

    def __init__(self, snapshot: Snapshot, places: Iterable[Place]) -> None:
        keys = {p.key for p in places if p.line is None and p.key and p.path == snapshot.path}
        self._path = snapshot.path
        self._lines = find_lines(snapshot.text, snapshot.syntax, keys) if keys else {}

    def line(self, place: Place) -> int | None:
        """The line of a place, counted from 1; None when unknown."""
        if place.line is not None or place.path != self._path:
            return place.line
        return self._lines.get(place.key or "")


class Statements:
    """Makes a report's records out of one selection.

    Args:
        selection: What was selected.
        targets: The targets to name, in order, with the cells that each stands for.
    """

    def __init__(
        self,
        selection: Selection,
        targets: Iterable[tuple[TargetRow, Condition]],
    ) -> None:
        self._selection = selection
        self._packages = selection.snapshot.packages
        self._targets = tuple(targets)
        self._lines = Lines(selection.snapshot, ())
        self._breakers: dict[int, Breakers] = {}
        self._named: dict[Condition, tuple[str, ...]] = {}
        space = selection.space
        self._speller = Speller(space, selection.bounds) if space.is_whole else None

    def look_up(self, places: Iterable[Place]) -> None:
        """Find the lines of all places that are about to be shown."""
        self._lines = Lines(self._selection.snapshot, places)

    def show_place(self, place: Place | None) -> str:
        """File and line, as far as known."""
        if place is None:
            return self._selection.snapshot.path
        line = self._lines.line(place)
        return place.path if line is None else f"{place.path}:{line}"

    def targets_in(self, cells: Condition) -> tuple[str, ...]:
        """The names of the targets that have a cell in a condition, in order."""
        if cells not in self._named:
            self._named[cells] = tuple(row.name for row, own in self._targets if own & cells)
        return self._named[cells]

    def condition(self, cells: Condition) -> str | None:
        """A condition as a marker; None when only targets are judged."""
        if self._speller is None:
            return None
        spelled = self._speller.spell(cells)
        return self._speller.sample(cells) if spelled is None else spelled

    def show(self, cells: Condition) -> str:
        """A condition for people, such as ``on linux_x86_64`` or ``where os_name == 'nt'``."""
        condition = self.condition(cells)
        if condition is not None:
            return describe_condition(condition)
        rows = [row for row, _ in self._targets]
        return f"on {abbreviate_targets(self.targets_in(cells), rows)}"

    def finding(
        self,
        draft: Draft,
        severity: Severity,
        cells: Condition | None,
        accepted_by: Rule | None = None,
    ) -> Finding:
        """A finding with its line and targets.

        Args:
            draft: What is said.
            severity: What it weighs.
            cells: Where it is said; None when that has no meaning.
            accepted_by: The rule that accepts or contains it.
        """
        return Finding(
            code=draft.code,
            severity=severity,
            message=draft.message,
            packages=draft.packages,
            targets=() if cells is None else self.targets_in(cells),
            condition=None if cells is None or draft.by_target else self.condition(cells),
            path=draft.place.path,
            line=self._lines.line(draft.place),
            details=(*self._tell_way(draft.way), *draft.details),
            component=draft.component,
            accepted_by=accepted_by,
            subject=draft.subject,
        )

    def _tell_way(self, way: Way | None) -> Iterator[str]:
        if way is not None:
            yield f"asked for at {self.show_place(way.start)}: {' -> '.join(way.hops)}"

    def draft_of(self, component: Component) -> Draft:
        """The finding that says that a component exists."""
        names = self._names(component.packages)
        shown = component.cycles[0].packages if component.cycles else component.packages
        first = self._packages[shown[0]]
        loop = " -> ".join([self._packages[i].name for i in (*shown, shown[0])])
        size = f"{len(names)} packages require each other, such as " if len(names) > 2 else ""
        through = "" if component.kind == "wheel-cycle" else ", through an extra"
        return Draft(
            code=component.kind,
            message=f"{size}{loop}{through}",
            packages=names,
            cells=component.cells,
            place=first.place,
            component=self.id_of(component),
            subject=",".join(_extras_of(component)),
        )

    def id_of(self, component: Component) -> str:
        """The fingerprint: code, sorted names and extras, cut to a digest when long."""
        names = self._names(component.packages)
        return fingerprint(component.kind, names, _extras_of(component))

    def names_of(self, component: Component) -> tuple[str, ...]:
        """The projects of a component, sorted."""
        return self._names(component.packages)

    def _names(self, indices: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted({self._packages[i].name for i in indices}))

    def component(
        self, component: Component, severity: Severity, accepted_by: Rule | None = None
    ) -> findings.Component:
        """A component with its edges and cycles."""
        edges = sorted(component.edges, key=self._edge_order)
        index = {id(edge): at for at, edge in enumerate(edges)}
        breakers = self.breakers_of(component)
        return findings.Component(
            id=self.id_of(component),
            input=self._selection.snapshot.path,
            code=component.kind,
            severity=severity,
            packages=tuple(self._members(component)),
            requested_by=tuple(self._requested_by(component)),
            targets=self.targets_in(component.cells),
            condition=self.condition(component.cells),
            variants=self._variants(component),
            edges=tuple(map(self.edge, edges)),
            cycles=tuple(self._cycle(cycle, index) for cycle in component.cycles),
            capped=component.capped,
            breakers=tuple(
                tuple((self._packages[u].name, self._packages[v].name) for u, v in pairs)
                for pairs in breakers.sets
            ),
            breakers_exact=breakers.exact,
            accepted_by=accepted_by,
        )

    def breakers_of(self, component: Component) -> Breakers:
        """What opens a component, found once."""
        if id(component) not in self._breakers:
            self._breakers[id(component)] = break_component(component, self._selection.space.full)
        return self._breakers[id(component)]

    def _variants(self, component: Component) -> tuple[Variant, ...]:
        if len(component.variants) == 1:
            return ()
        return tuple(
            Variant(
                packages=self._names(members),
                targets=self.targets_in(cells),
                condition=self.condition(cells),
            )
            for members, cells in component.variants
        )

    def _members(self, component: Component) -> Iterable[Member]:
        extras: dict[int, set[str]] = defaultdict(set)
        for edge in component.edges:
            if edge.source[1]:
                extras[edge.source[0]].add(edge.source[1])
        for index in component.packages:
            package = self._packages[index]
            version = None if package.version is None else str(package.version)
            active = tuple(sorted(extras[index]))
            yield Member(name=package.name, version=version, extras=active)

    def _requested_by(self, component: Component) -> Iterable[str]:
        """Who requests the extras through which a component closes."""
        nodes = sorted({edge.source for edge in component.edges if edge.source[1]})
        for index, extra in nodes:
            name = f"{self._packages[index].name}[{extra}]"
            for root, _ in self._selection.roots:
                requirement = root.requirement
                if requirement.name == self._packages[index].name and extra in requirement.extras:
                    yield f"{name} is requested by {self.show_place(requirement.place)}"
            askers = {
                describe_node(self._packages[edge.source[0]], edge.source[1])
                for edge in self._selection.edges_into(index)
                if extra in edge.requirement.extras and edge.source[0] != index
            }
            for asker in sorted(askers):
                yield f"{name} is requested by {asker}"

    def _edge_order(self, edge: Edge) -> tuple[str, str, str, str, int]:
        wheel = edge.artefact.filename if edge.artefact else ""
        source = self._packages[edge.source[0]].name
        target = self._packages[edge.target].name
        return (source, edge.source[1], target, wheel + edge.requirement.text, edge.cells)

    def place_of(self, edge: Edge) -> Place:
        """What an edge points at: its own line in a lock, else its source's."""
        return edge.requirement.place or self._packages[edge.source[0]].place

    def edge(self, edge: Edge) -> findings.Edge:
        """An edge with its evidence."""
        name = self._packages[edge.source[0]].name
        place = self.place_of(edge)
        return findings.Edge(
            source=f"{name}[{edge.source[1]}]" if edge.source[1] else name,
            target=self._packages[edge.target].name,
            requirement=edge.requirement.text,
            marker=str(edge.requirement.marker) if edge.requirement.marker else "",
            origin=edge.origin,
            wheel=edge.artefact.filename if edge.artefact else None,
            path=place.path,
            line=self._lines.line(place),
            targets=self.targets_in(edge.cells),
            condition=self.condition(edge.cells),
        )

    def _cycle(self, cycle: Cycle, index: dict[int, int]) -> findings.Cycle:
        hops = tuple(tuple(sorted(index[id(edge)] for edge in hop)) for hop in cycle.hops)
        return findings.Cycle(
            packages=tuple(self._packages[i].name for i in cycle.packages),
            hops=hops,
            targets=self.targets_in(cycle.cells),
            condition=self.condition(cycle.cells),
        )


def _extras_of(component: Component) -> list[str]:
    """The extras through which an extra cycle closes."""
    if component.kind != "extra-cycle":
        return []
    return sorted({edge.source[1] for edge in component.edges if edge.source[1]})

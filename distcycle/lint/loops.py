"""The loops of a lock as a build system sees them that has one unit for each wheel.

rules_python flattens extras, and its groups hold on every platform and share no member: loops that
share a project are one, whichever extra closes them and wherever they exist.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from distcycle.findings import (
    Component,
    Cycle,
    Report,
    TargetRow,
    abbreviate_targets,
    describe_condition,
)
from distcycle.selection import Selection

__all__ = ["Lock", "Loop", "merge_components"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Projects that have to be one group.

    Attributes:
        packages: Their names, sorted.
        components: The components of the report that make them one.
    """

    packages: tuple[str, ...]
    components: tuple[Component, ...]

    def by_demand(self) -> list[str]:
        """The members, those first that most others require."""
        askers: dict[str, set[str]] = defaultdict(set)
        for component in self.components:
            for edge in component.edges:
                askers[edge.target].add(edge.source.partition("[")[0])
        return sorted(self.packages, key=lambda name: (-len(askers[name]), name))

    def targets_of(self, names: Iterable[str]) -> frozenset[str]:
        """The judged targets on which any of these members is in a loop."""
        wanted = set(names)
        found: set[str] = set()
        for component in self.components:
            for variant in component.variants:
                if wanted.intersection(variant.packages):
                    found.update(variant.targets)
            if not component.variants and wanted & {m.name for m in component.packages}:
                found.update(component.targets)
        return frozenset(found)

    def conditions(self) -> tuple[str, ...]:
        """Where its parts exist, in words; nothing where one exists everywhere, or none is told."""
        known = [c.condition for c in self.components if c.condition is not None]
        return () if "" in known else tuple(dict.fromkeys(map(describe_condition, known)))

    def evidence(self, names: Iterable[str]) -> Iterator[str]:
        """Say for each of these members of a shortest loop with it, each loop once."""
        said: set[tuple[str, ...]] = set()
        for name in names:
            for component in self.components:
                cycle = next((c for c in component.cycles if name in c.packages), None)
                if cycle is not None:
                    if cycle.packages not in said:
                        said.add(cycle.packages)
                        yield _describe(cycle, component)
                    break

    def requests(self) -> tuple[str, ...]:
        """Who requests the extras that close it."""
        lines = [line for component in self.components for line in component.requested_by]
        return tuple(dict.fromkeys(lines))


def _describe(cycle: Cycle, component: Component) -> str:
    """A loop hop by hop: who requires what, and where that stands."""
    hops = []
    for hop in cycle.hops:
        edge = component.edges[hop[0]]
        where = f"{edge.path}:{edge.line}" if edge.line else edge.path
        hops.append(f"{edge.source} requires {edge.requirement} ({where})")
    return ", ".join(hops)


def merge_components(components: Iterable[Component]) -> tuple[Loop, ...]:
    """Merge components that share a project.

    Args:
        components: Components of wheels and of extras.

    Returns:
        Loops that share none, by their members.
    """
    loops: list[tuple[set[str], list[Component]]] = []
    for component in components:
        names, parts = {member.name for member in component.packages}, [component]
        apart = []
        for others, its_parts in loops:
            if names.isdisjoint(others):
                apart.append((others, its_parts))
            else:
                names, parts = names | others, its_parts + parts
        loops = [*apart, (names, parts)]
    merged = [Loop(packages=tuple(sorted(n)), components=tuple(c)) for n, c in loops]
    return tuple(sorted(merged, key=lambda loop: loop.packages))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """What groups are compared with.

    Attributes:
        path: The lock.
        packages: The projects that it has.
        installed: The judged targets on which each project is installed that is installed at all.
        targets: The judged targets, in order.
        loops: Its loops.
        location: Its whole path, where ``path`` is a part of it.
    """

    path: str
    packages: frozenset[str]
    installed: Mapping[str, frozenset[str]]
    targets: tuple[TargetRow, ...]
    loops: tuple[Loop, ...]
    location: str = ""

    @classmethod
    def of_report(
        cls,
        report: Report,
        selections: Sequence[Selection],
        location: str = "",
    ) -> Lock:
        """Take the loops out of a report.

        Args:
            report: The report on one lock.
            selections: What was selected for it; at least one.
            location: As the attribute.
        """
        return cls(
            path=report.inputs[0].path,
            packages=frozenset(package.name for package in selections[0].snapshot.packages),
            installed=_find_installed(selections),
            targets=report.targets,
            loops=merge_components(report.components),
            location=location,
        )

    def in_order(self, names: Iterable[str]) -> tuple[str, ...]:
        """Names of targets, in the report's order."""
        wanted = set(names)
        return tuple(row.name for row in self.targets if row.name in wanted)

    def show_targets(self, names: Iterable[str]) -> str:
        """Targets in few words."""
        return abbreviate_targets(tuple(names), self.targets)


def _find_installed(selections: Sequence[Selection]) -> dict[str, frozenset[str]]:
    installed: dict[str, frozenset[str]] = {}
    for selection in selections:
        for (index, extra), cells in selection.reached.items():
            if cells and not extra:
                name = selection.snapshot.packages[index].name
                here = {p.target.name for p in selection.space.named if p.cells & cells}
                installed[name] = installed.get(name, frozenset()) | here
    return installed

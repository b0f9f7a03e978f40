"""What an installer stops at: requirements that nothing meets, and versions at odds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import or_

from packaging.version import Version

from distcycle.closing import advise_conflict, advise_double, advise_missing
from distcycle.drafts import Draft, Way, describe_node, describe_package
from distcycle.findings import Severity
from distcycle.markers import Condition
from distcycle.model import Place, Requirement
from distcycle.routes import Routes
from distcycle.selection import Node, Selection, Unmet

__all__ = ["find_unmet"]

_NOTHING_IS_ASKED_FOR = frozenset(("environment", "wheelhouse"))
"""Inputs that have no roots but their packages, so that no way leads anywhere."""


def find_unmet(selection: Selection) -> Iterator[Draft]:
    """Find requirements that no package meets, and packages of one project that exclude each other.

    Each requirement of a package is told once, however many of its wheels declare it.
    """
    routes = Routes(selection)
    merged: dict[tuple[object, ...], list[Unmet]] = defaultdict(list)
    for unmet in selection.unmet:
        source = unmet.source[0] if unmet.source else None
        merged[
            source, unmet.package, unmet.requirement.name, str(unmet.requirement.specifier)
        ].append(unmet)
    for same in merged.values():
        yield _draft_unmet(selection, routes, same)
    # Of several wheels in a folder an installer takes the one that suits it.
    if selection.snapshot.kind != "wheelhouse":
        yield from _find_doubles(selection, routes)


def _draft_unmet(selection: Selection, routes: Routes, same: list[Unmet]) -> Draft:
    packages, snapshot = selection.snapshot.packages, selection.snapshot
    unmet = same[0]
    requirement = unmet.requirement
    source = packages[unmet.source[0]] if unmet.source else None
    who = describe_package(source) if source else snapshot.path
    place = requirement.place or (source.place if source else None)
    leads_to: str = requirement.name
    if unmet.package is None:
        code, message = "missing-package", f"{who} requires {requirement.text}, which is not here"
        advice = advise_missing(snapshot, requirement)
    else:
        stands = leads_to = describe_package(packages[unmet.package])
        code = "version-conflict"
        message = f"{who} requires {requirement.text}, but {stands} stands"
        advice = advise_conflict(snapshot, requirement)
    sources = [(each.source, each.cells) for each in same if each.source is not None]
    lenient = code == "missing-package" and not snapshot.complete
    return Draft(
        code=code,
        message=message,
        packages=tuple(sorted({requirement.name, *((source.name,) if source else ())})),
        cells=reduce(or_, (each.cells for each in same)),
        place=place or Place(path=snapshot.path),
        way=_find_way(selection, routes, sources, leads_to),
        details=(advice, *_tell_problem(requirement)),
        subject=requirement.name,
        severity=Severity.WARN if lenient else None,
    )


def _tell_problem(requirement: Requirement) -> Iterator[str]:
    if requirement.problem is not None:
        yield f"part of it cannot be read: {requirement.problem}"


def _find_way(
    selection: Selection,
    routes: Routes,
    sources: Iterable[tuple[Node, Condition]],
    leads_to: str,
) -> Way | None:
    """The shortest way to any of some nodes, and from there to what they require."""
    if selection.snapshot.kind in _NOTHING_IS_ASKED_FOR:
        return None
    packages = selection.snapshot.packages
    ways = []
    for node, cells in sources:
        route = routes.to(node, cells)
        if route is not None:
            nodes = [*(edge.source for edge in route.edges), node]
            hops = tuple(describe_node(packages[index], extra) for index, extra in nodes)
            start = route.root.place or packages[route.start].place
            ways.append(Way(start=start, hops=(*hops, leads_to)))
    return min(ways, key=lambda way: (len(way.hops), way.hops), default=None)


# Two versions of one project ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Need:
    """A requirement that one of two packages meets and the other does not.

    Attributes:
        requirement: As declared.
        source: The node that requires; None for a root.
        cells: Where.
    """

    requirement: Requirement
    source: Node | None
    cells: Condition


def _find_doubles(selection: Selection, routes: Routes) -> Iterator[Draft]:
    """Find two packages of one project that are both required where one alone can be installed."""
    packages = selection.snapshot.packages
    by_name: dict[str, list[tuple[Version, int]]] = defaultdict(list)
    for index, package in enumerate(packages):
        if package.version is not None and (index, "") in selection.reached:
            by_name[package.name].append((package.version, index))
    for name in sorted(by_name):
        for (older, a), (newer, b) in combinations(sorted(by_name[name]), 2):
            both = selection.reached[a, ""] & selection.reached[b, ""]
            if older == newer or not both:
                continue
            of_older = _needs(selection, a, newer, both)
            of_newer = _needs(selection, b, older, _union(of_older))
            of_older = [need for need in of_older if need.cells & _union(of_newer)]
            if of_older:
                yield _draft_double(selection, routes, (a, of_older), (b, of_newer))


def _union(needs: Iterable[_Need]) -> Condition:
    return reduce(or_, (need.cells for need in needs), 0)


def _needs(selection: Selection, index: int, other: Version, cells: Condition) -> list[_Need]:
    """What a package meets and another version of it would not, in some cells."""
    found = [
        _Need(requirement, None, where)
        for requirement, target, where in selection.entries
        if target == index
    ]
    found += [
        _Need(edge.requirement, edge.source, edge.cells) for edge in selection.edges_into(index)
    ]
    excluding = [
        _Need(need.requirement, need.source, need.cells & cells)
        for need in found
        if need.cells & cells and not need.requirement.specifier.contains(other, prereleases=True)
    ]
    return sorted(excluding, key=lambda need: (_who(selection, need), need.requirement.text))


def _who(selection: Selection, need: _Need) -> str:
    if need.source is None:
        return selection.snapshot.path
    return describe_package(selection.snapshot.packages[need.source[0]])


def _draft_double(selection: Selection, routes: Routes, *sides: tuple[int, list[_Need]]) -> Draft:
    snapshot = selection.snapshot
    firsts = [needs[0] for _, needs in sides]
    stand = " and ".join(describe_package(snapshot.packages[index]) for index, _ in sides)
    asked = ", ".join(f"{need.requirement.text} by {_who(selection, need)}" for need in firsts)
    last, newest = firsts[-1], snapshot.packages[sides[-1][0]]
    sources = [] if last.source is None else [(last.source, last.cells)]
    names = {snapshot.packages[n.source[0]].name for n in firsts if n.source is not None}
    return Draft(
        code="version-conflict",
        message=f"{stand} stand together, and each is required: {asked}",
        packages=tuple(sorted({newest.name, *names})),
        cells=_union(sides[0][1]) & _union(sides[1][1]),
        place=newest.place,
        way=_find_way(selection, routes, sources, describe_package(newest)),
        details=(advise_double(snapshot, last.requirement),),
        subject=newest.name,
    )

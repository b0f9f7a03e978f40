"""Loops that names alone would close, and what opens them in the judged environments."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from packaging.utils import NormalizedName

from distcycle.checks import describe_package
from distcycle.graph import shortest_cycle, strong_components
from distcycle.markers import Condition
from distcycle.model import Package, Requirement
from distcycle.selection import Offer, Selection

__all__ = ["find_near_misses", "find_way_back"]

Name = NormalizedName
_STARTS = 64


def find_near_misses(
    selection: Selection,
    loops: Iterable[frozenset[str]],
    show: Callable[[Condition], str],
) -> Iterator[tuple[tuple[Name, ...], tuple[str, ...]]]:
    """Find loops of names that exist in no cell, and say of each hop where it holds or why not.

    What counts for a name-level loop: every requirement that the lock, a compiler's comment or a
    wheel that was read declares, whatever its marker; extras only where something requests them.

    Args:
        selection: What was selected.
        loops: The member names of the components that were found; loops within them are none.
        show: Names a condition for people.

    Yields:
        The names of a shortest loop of each such component, and a line for each hop.
    """
    successors = _name_graph(selection)
    known = list(loops)
    for names in sorted(strong_components(successors), key=sorted):
        if len(names) < 2 or any(names & loop for loop in known):
            continue
        inner = {u: sorted(successors[u] & names) for u in sorted(names)}
        cycle = _shortest(inner)
        if cycle is not None:
            yield cycle, tuple(_reasons(selection, cycle, show))


def find_way_back(
    selection: Selection, name: Name, show: Callable[[Condition], str]
) -> tuple[tuple[Name, ...], tuple[str, ...]] | None:
    """Find the nearest loop of names through a project, and say of each hop why it is none.

    Args:
        selection: What was selected.
        name: The project.
        show: Names a condition for people.

    Returns:
        The names of the loop and a line for each hop; None when nothing leads back.
    """
    successors = {u: sorted(targets) for u, targets in _name_graph(selection).items()}
    cycle = shortest_cycle(name, successors)
    if cycle is None:
        return None
    turned = tuple(cycle)
    return turned, tuple(_reasons(selection, turned, show))


def _name_graph(selection: Selection) -> dict[Name, set[Name]]:
    present = {package.name for package in selection.snapshot.packages}
    requested: dict[Name, set[str]] = defaultdict(set)
    declared: dict[Name, list[Requirement]] = defaultdict(list)
    for index, package in enumerate(selection.snapshot.packages):
        for parent in package.via:
            declared[parent].append(Requirement(name=package.name, text=package.name))
        declared[package.name] += package.requirements or ()
        for offer in selection.offers.get(index, ()):
            declared[package.name] += offer.requirements or ()
    for requirements in declared.values():
        for requirement in requirements:
            requested[requirement.name].update(requirement.extras)
    return {
        name: {r.name for r in requirements if r.name in present and _counts(r, requested[name])}
        for name, requirements in list(declared.items())
    }


def _counts(requirement: Requirement, extras: set[str]) -> bool:
    if requirement.extra is not None:
        return requirement.extra in extras
    text = str(requirement.marker) if requirement.marker else ""
    return "extra" not in text or any(f'"{extra}"' in text for extra in extras)


def _shortest(successors: dict[Name, list[Name]]) -> tuple[Name, ...] | None:
    """A shortest loop through one of the first names."""
    starts = itertools.islice(successors, _STARTS)
    cycles = [cycle for start in starts if (cycle := shortest_cycle(start, successors))]
    return min(map(_turned, cycles), key=lambda cycle: (len(cycle), cycle), default=None)


def _turned(cycle: list[Name]) -> tuple[Name, ...]:
    first = cycle.index(min(cycle))
    return (*cycle[first:], *cycle[:first])


def _reasons(
    selection: Selection, cycle: tuple[Name, ...], show: Callable[[Condition], str]
) -> Iterator[str]:
    for source, target in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
        yield from dict.fromkeys(_reasons_of_hop(selection, source, target, show))


def _reasons_of_hop(
    selection: Selection, source: Name, target: Name, show: Callable[[Condition], str]
) -> Iterator[str]:
    live = 0
    for edge in selection.edges:
        packages = selection.snapshot.packages
        if edge.judged and packages[edge.source[0]].name == source:
            live |= edge.cells if packages[edge.target].name == target else 0
    if live:
        yield f"{source} requires {target} {show(live)}"
    for index, package in enumerate(selection.snapshot.packages):
        if package.name == source:
            reached = selection.reached.get((index, ""), 0)
            if reached:
                offers = selection.offers.get(index, ())
                yield from _reasons_of_offers(package, offers, target, reached & ~live, show)
            else:
                yield f"{describe_package(package)} is not reached from what is asked for"


def _reasons_of_offers(
    package: Package,
    offers: Iterable[Offer],
    target: Name,
    cells: Condition,
    show: Callable[[Condition], str],
) -> Iterator[str]:
    """Say why a package does not require another in some cells, once for all files alike."""
    groups: dict[str, list[Offer]] = defaultdict(list)
    for offer in offers:
        if offer.cells & cells:
            groups[_reason_of_offer(offer, target)].append(offer)
    for reason, alike in groups.items():
        where = 0
        for offer in alike:
            where |= offer.cells & cells
        files = [offer.artefact.filename for offer in alike if offer.artefact]
        who = describe_package(package)
        if files:
            who = files[0] + (f" and {len(files) - 1} more" if len(files) > 1 else "")
        yield f"{who}: {reason}, {show(where)}"


def _reason_of_offer(offer: Offer, target: Name) -> str:
    if offer.requirements is None:
        return "requirements unknown"
    if offer.lack == "requires-python":
        return f"requires Python {' or '.join(offer.pythons)}"
    if offer.lack is not None:
        return "no wheel fits, and there is no source distribution"
    named = [r for r in offer.requirements if r.name == target]
    if not named:
        return f"does not require {target}"
    return f"requires {named[0].text}, which does not hold"

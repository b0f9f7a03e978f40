"""Loops that names alone would close, and what opens them in the judged environments."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from packaging.utils import NormalizedName

from distcycle.drafts import describe_package
from distcycle.graph import shortest_cycle, strong_components
from distcycle.markers import Condition
from distcycle.model import Extra, Package, Requirement
from distcycle.selection import Offer, Selection, may_hold

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
    known = frozenset().union(*loops)
    reasons = _Reasons(selection, show)
    for names in sorted(strong_components(successors), key=min):
        if len(names) < 2 or not known.isdisjoint(names):
            continue
        inner = {u: sorted(successors[u] & names) for u in sorted(names)}
        cycle = _shortest(inner)
        if cycle is not None:
            yield cycle, tuple(reasons.of_loop(cycle))


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
    return turned, tuple(_Reasons(selection, show).of_loop(turned))


def _name_graph(selection: Selection) -> dict[Name, set[Name]]:
    present = {package.name for package in selection.snapshot.packages}
    requested: dict[Name, set[Extra]] = defaultdict(set)
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
        name: {r.name for r in requirements if r.name in present and may_hold(r, requested[name])}
        for name, requirements in list(declared.items())
    }


def _shortest(successors: dict[Name, list[Name]]) -> tuple[Name, ...] | None:
    """A shortest loop through one of the first names."""
    starts = itertools.islice(successors, _STARTS)
    cycles = [cycle for start in starts if (cycle := shortest_cycle(start, successors))]
    return min(map(_turned, cycles), key=lambda cycle: (len(cycle), cycle), default=None)


def _turned(cycle: list[Name]) -> tuple[Name, ...]:
    first = cycle.index(min(cycle))
    return (*cycle[first:], *cycle[:first])


class _Reasons:
    """Says of hops between projects where they hold, and why they do not elsewhere."""

    def __init__(self, selection: Selection, show: Callable[[Condition], str]) -> None:
        self._selection = selection
        self._show = show
        self._packages = selection.snapshot.packages
        self._indices: dict[Name, list[int]] = defaultdict(list)
        for index, package in enumerate(self._packages):
            self._indices[package.name].append(index)
        self._live: dict[tuple[Name, Name], Condition] = defaultdict(int)
        for edge in selection.edges:
            if edge.judged:
                source, target = self._packages[edge.source[0]], self._packages[edge.target]
                self._live[source.name, target.name] |= edge.cells

    def of_loop(self, cycle: tuple[Name, ...]) -> Iterator[str]:
        """The lines for all hops of a loop, none twice for one hop."""
        for source, target in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            yield from dict.fromkeys(self._of_hop(source, target))

    def _of_hop(self, source: Name, target: Name) -> Iterator[str]:
        live = self._live.get((source, target), 0)
        if live:
            yield f"{source} requires {target} {self._show(live)}"
        for index in self._indices[source]:
            package = self._packages[index]
            reached = self._selection.reached.get((index, ""), 0)
            if reached:
                offers = self._selection.offers.get(index, ())
                cells = reached & ~live
                yield from _reasons_of_offers(package, offers, target, cells, self._show)
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

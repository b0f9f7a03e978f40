"""The nearest versions without a loop against brute force, on indexes small enough for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import networkx as nx
from hypothesis import HealthCheck, assume, example, given, note, settings
from hypothesis import strategies as st
from packaging.version import Version
from synthetic import Index, MemorySource, Solution, ask, required, solutions
from test_resolver_laws import TARGET, indexes

from distcycle.cycles import find_components
from distcycle.markers import Space
from distcycle.model import Facts, Package, Place, Snapshot
from distcycle.resolution import Rules
from distcycle.resolution.changeable import Cost
from distcycle.resolution.nearest import find_nearest
from distcycle.resolution.shelf import Shelf
from distcycle.selection import Request, Selection, select


def lock_of(solution: Solution, roots: tuple[str, ...], source: MemorySource) -> Snapshot:
    """A lock of these versions, each of its requirements as asked for."""
    packages = tuple(
        Package(
            name=name,
            version=Version(version),
            artefacts=source.files(name, Version(version)),
            place=Place(path="x.in"),
        )
        for name, version in sorted(solution.versions.items())
    )
    snapshot = ask(*roots)
    return Snapshot(path="x.in", kind="requirements", packages=packages, roots=snapshot.roots)


def selecting(source: MemorySource) -> Callable[[Snapshot], Selection]:
    """Selects, with the METADATA of an index that is held in memory."""

    def run(snapshot: Snapshot) -> Selection:
        facts = Facts()
        while True:
            selection = select(snapshot, Space.of_targets(TARGET), facts, Request())
            if not selection.needs:
                return selection
            found = {a.identity: source.metadata(a) for a in selection.needs.metadata}
            facts = Facts(metadata={**facts.metadata, **found})

    return run


def loops(index: Index, versions: Mapping[str, str]) -> set[frozenset[str]]:
    """The components among base requirements."""
    graph = nx.DiGraph()
    for name, version in versions.items():
        graph.add_edges_from((name, line.name) for line in required(index, name, version, ""))
    return {frozenset(c) for c in nx.strongly_connected_components(graph) if len(c) > 1}


def cost_of(
    index: Index,
    roots: tuple[str, ...],
    old: Mapping[str, str],
    new: Mapping[str, str],
    members: frozenset[str],
) -> Cost:
    """What a change costs, by the definition."""
    bounds = [root.requirement for root in ask(*roots).roots]
    changed = {n for n in old if n in new and new[n] != old[n]}
    left = len(members - new.keys())
    steps = 0
    for name in changed:
        versions = {
            v
            for v in map(Version, index[name])
            if all(r.specifier.contains(v) for r in bounds if r.name == name)
        }
        order = sorted({*versions, Version(old[name])})
        steps += abs(order.index(Version(new[name])) - order.index(Version(old[name])))
    downgrades = sum(Version(new[name]) < Version(old[name]) for name in changed)
    return Cost(downgrades > 0, len(changed) + left, left, steps, downgrades)


def age_of(index: Index, old: Mapping[str, str], new: Mapping[str, str]) -> int:
    """How many newer versions there are of what comes."""
    return sum(
        sum(Version(other) > Version(version) for other in index[name])
        for name, version in new.items()
        if name not in old
    )


def better(
    index: Index, roots: tuple[str, ...], lock: Solution, members: frozenset[str]
) -> Iterator[tuple[Cost, Mapping[str, str]]]:
    """Every consistent set of versions without the loop and without new ones, and its cost.

    Only where no part of its changes would do by itself: nothing is upgraded just to keep a package
    in the lock that nothing would require any more.
    """
    known = loops(index, lock.versions) - {members}
    found: dict[frozenset[tuple[str, str]], list[tuple[Cost, Mapping[str, str]]]] = {}
    for solution in solutions(index, roots):
        if not loops(index, solution.versions) - known:
            new = solution.versions
            changes = frozenset((n, v) for n, v in new.items() if lock.versions.get(n, v) != v)
            cost = cost_of(index, roots, lock.versions, new, members)
            found.setdefault(changes, []).append((cost, new))
    for changes, entries in found.items():
        if not any(fewer < changes for fewer in found):
            # What comes is as new as can be, and not older just to keep a member in the lock.
            ages = [age_of(index, lock.versions, new) for _, new in entries]
            yield from (e for e, age in zip(entries, ages, strict=True) if age == min(ages))


@st.composite
def looping(draw: st.DrawFn) -> tuple[Index, tuple[str, ...]]:
    """An index in which a loop can be had."""
    index, roots = draw(indexes())
    closing = {"a": ("b",), "b": ("a",)}
    index = {
        name: {
            version: (*requires, *(closing.get(name, ()) if draw(st.integers(0, 3)) else ()))
            for version, requires in versions.items()
        }
        for name, versions in index.items()
    }
    return index, ("a", *roots[: draw(st.integers(0, 2))])


# What would keep b in the lock is an older e, which comes: e is taken in its newest version.
OLDER_ARRIVAL = {
    "a": {"1": (), "2": ("b",), "3": ("e",)},
    "b": {"1": ("a",), "2": ("a",), "3": (), "4": ()},
    "c": {"1": ('b; extra == "x"',), "2": (), "3": ()},
    "d": {"1": ()},
    "e": {"1": ("c[x]",), "2": (), "3": ()},
    "f": {"1": (), "2": (), "3": ()},
}


@example((OLDER_ARRIVAL, ("a",)), 0)
@given(looping(), st.integers(0, 40))
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_it_finds_the_smallest_change(case: tuple[Index, tuple[str, ...]], pick: int) -> None:
    index, roots = case
    with_loops = [s for s in solutions(index, roots) if loops(index, s.versions)]
    assume(with_loops)
    lock = with_loops[pick % len(with_loops)]
    source = MemorySource(index)
    snapshot = lock_of(lock, roots, source)
    run = selecting(source)
    selection = run(snapshot)
    names = [package.name for package in snapshot.packages]
    component = find_components(selection.edges, names, selection.space.full, max_cycles=1)[0]
    if component.kind != "wheel-cycle":
        return
    members = frozenset(names[i] for i in component.packages)
    note(f"{index}\n{roots}\n{lock.versions}\n{members}")
    shelf = Shelf(ask(*roots), TARGET, source, Rules())
    nearest = find_nearest(component, selection, shelf, run, most_tried=20_000)
    best = min(better(index, roots, lock, members), key=lambda entry: entry[0], default=None)
    if best is None:
        assert nearest.found is None
        assert nearest.exhausted
    else:
        assert nearest.found is not None, best
        assert nearest.found.cost == best[0], (nearest.found.snapshot.packages, best)

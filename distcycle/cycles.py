"""Components and cycles of the live edges, each with exactly the cells in which it exists."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from packaging.utils import NormalizedName

from distcycle.graph import CycleSearch, shortest_cycle, strong_components
from distcycle.markers import Condition
from distcycle.selection import Edge

__all__ = [
    "Component",
    "Cycle",
    "TooManySets",
    "exact_components",
    "find_components",
    "find_self_edges",
]

Kind = Literal["wheel-cycle", "extra-cycle"]
Conditions = dict[int, dict[int, Condition]]
"""From package to package, the cells in which an edge is live."""

_MOST_SETS = 2_000
_STEPS_PER_CYCLE = 5_000
_MOST_ALIKE = 20


@dataclass(frozen=True, slots=True)
class Cycle:
    """One elementary loop, in canonical rotation: the smallest name comes first.

    Attributes:
        packages: The indices of its packages, in order.
        cells: Where all its edges are live.
        hops: For each package the edges to the next one.
    """

    packages: tuple[int, ...]
    cells: Condition
    hops: tuple[tuple[Edge, ...], ...]


@dataclass(frozen=True, slots=True)
class Component:
    """A strongly connected set of packages, and the loops in it.

    Where the set differs from environment to environment, overlapping sets are one component, so
    that one loop is reported once.

    Attributes:
        kind: ``wheel-cycle`` when base requirements close it, ``extra-cycle`` when only extras do.
        packages: The indices of its members, by name and version.
        cells: Where any of its loops exists.
        variants: The exact sets, and where each is the whole component.
        edges: The live edges between members.
        cycles: Its loops, shortest first.
        capped: Whether there may be more loops than were listed.
    """

    kind: Kind
    packages: tuple[int, ...]
    cells: Condition
    variants: tuple[tuple[tuple[int, ...], Condition], ...]
    edges: tuple[Edge, ...]
    cycles: tuple[Cycle, ...]
    capped: bool


def find_components(
    edges: Iterable[Edge],
    names: Sequence[NormalizedName],
    full: Condition,
    *,
    max_cycles: int,
) -> list[Component]:
    """Find what closes a loop among base requirements, then what closes one only through extras.

    Extra nodes count as the wheel that they belong to, as a build system sees them.

    Args:
        edges: The live edges.
        names: The project of each package.
        full: All cells of the space.
        max_cycles: How many loops to list in each component.

    Returns:
        The components: wheel cycles first, then by the names of their members.
    """
    judged = [e for e in edges if e.judged and names[e.source[0]] != names[e.target]]
    base = [e for e in judged if not e.source[1]]
    closed = exact_components(_conditions(base), full)
    found = _describe_all("wheel-cycle", closed, base, names, max_cycles)
    if len(base) < len(judged):
        with_extras = exact_components(_conditions(judged), full)
        through_extras = {
            members: rest
            for members, cells in with_extras.items()
            if (rest := cells & ~closed.get(members, 0))
        }
        found += _describe_all("extra-cycle", through_extras, judged, names, max_cycles)
    return sorted(found, key=lambda c: (c.kind != "wheel-cycle", [names[i] for i in c.packages]))


def find_self_edges(edges: Iterable[Edge], names: Sequence[NormalizedName]) -> list[Edge]:
    """Find packages that require themselves with no extra on either side."""
    return [
        e
        for e in edges
        if e.judged
        and not e.source[1]
        and names[e.source[0]] == names[e.target]
        and not e.requirement.extras
    ]


def _conditions(edges: Iterable[Edge]) -> Conditions:
    conditions: Conditions = defaultdict(dict)
    for edge in edges:
        targets = conditions[edge.source[0]]
        targets[edge.target] = targets.get(edge.target, 0) | edge.cells
    return conditions


# Exact components --------------------------------------------------------------------------------


class TooManySets(ValueError):
    """The components differ from environment to environment in more ways than can be told."""


def exact_components(
    conditions: Mapping[int, Mapping[int, Condition]],
    full: Condition,
    *,
    most: int = _MOST_SETS,
) -> dict[frozenset[int], Condition]:
    """Find the strongly connected sets of every cell at once.

    Args:
        conditions: From node to node, where the edge exists; no node to itself.
        full: All cells.
        most: How many sets there may be among nodes that form one in all cells taken together;
            more only where there are more nodes.

    Returns:
        Every set of two or more nodes that is strongly connected in some cell and not part of a
        larger one there, with those cells.

    Raises:
        TooManySets: There are more.
    """
    found: dict[frozenset[int], Condition] = {}
    for nodes in strong_components(conditions):
        inner = {
            u: {v: c for v, c in conditions[u].items() if v in nodes and c} for u in sorted(nodes)
        }
        sets: dict[frozenset[int], Condition] = {}
        for part in _split(inner, full):
            for members, cells in _sets_of(part):
                sets[members] = sets.get(members, 0) | cells
                if len(sets) > max(most, len(nodes)):
                    raise TooManySets(f"more than {most} sets of packages are components somewhere")
        found.update(sets)
    return found


def _split(edges: Conditions, full: Condition) -> Iterable[dict[int, Condition]]:
    """Yield, for one pivot after another, where each node shares a component with the pivot.

    Forward and backward reach from a pivot meet in its component, in all cells at once. What is
    on no loop in a cell is trimmed off there first, and again after each component is taken out.
    """
    back: Conditions = {u: {} for u in edges}
    for u, targets in edges.items():
        for v, cells in targets.items():
            back[v][u] = cells
    alive = dict.fromkeys(edges, full)
    _trim(alive, edges, back, edges)
    widest = [(-cells.bit_count(), u) for u, cells in alive.items()]
    heapq.heapify(widest)
    while widest:
        width, pivot = heapq.heappop(widest)
        if width != -alive[pivot].bit_count():
            heapq.heappush(widest, (-alive[pivot].bit_count(), pivot))
            continue
        if not alive[pivot]:
            return
        ahead = _reach(pivot, edges, alive)
        behind = _reach(pivot, back, alive)
        part = {u: both for u, c in ahead.items() if (both := c & behind.get(u, 0))}
        touched: set[int] = set()
        for u, cells in part.items():
            alive[u] &= ~cells
            touched.update((u, *edges[u], *back[u]))
        yield part
        _trim(alive, edges, back, touched)
        heapq.heappush(widest, (-alive[pivot].bit_count(), pivot))


def _trim(
    alive: dict[int, Condition], edges: Conditions, back: Conditions, start: Iterable[int]
) -> None:
    """Take a node out of the cells in which it has no live edge in, or none out."""
    queue = deque(start)
    queued = set(queue)
    while queue:
        u = queue.popleft()
        queued.discard(u)
        keep = alive[u]
        for neighbours in (back[u], edges[u]):
            live = 0
            for v, cells in neighbours.items():
                live |= cells & alive[v]
            keep &= live
        if keep != alive[u]:
            alive[u] = keep
            for v in (*edges[u], *back[u]):
                if alive[v] and v not in queued:
                    queue.append(v)
                    queued.add(v)


def _reach(start: int, edges: Conditions, alive: Mapping[int, Condition]) -> dict[int, Condition]:
    """Find where each node is reached from a start, along edges between live nodes."""
    reached = {start: alive[start]}
    pending = {start: alive[start]}
    queue = deque([start])
    while queue:
        u = queue.popleft()
        delta = pending.pop(u)
        for v, cells in edges[u].items():
            new = delta & cells & alive[v] & ~reached.get(v, 0)
            if new:
                reached[v] = reached.get(v, 0) | new
                if v not in pending:
                    queue.append(v)
                pending[v] = pending.get(v, 0) | new
    return reached


def _sets_of(part: Mapping[int, Condition]) -> Iterable[tuple[frozenset[int], Condition]]:
    """Split a pivot's component, which differs from cell to cell, into exact sets."""
    alike: dict[Condition, list[int]] = defaultdict(list)
    for u, own in part.items():
        alike[own].append(u)
    sets: list[tuple[tuple[Condition, ...], Condition]] = [((), _union(alike))]
    for own in alike:
        split = []
        for present, cells in sets:
            if cells & own:
                split.append(((*present, own), cells & own))
            if cells & ~own:
                split.append((present, cells & ~own))
        sets = split
    for present, cells in sets:
        members = frozenset().union(*(alike[own] for own in present))
        if len(members) > 1:
            yield members, cells


# From sets to components -------------------------------------------------------------------------

Family = dict[frozenset[int], Condition]


def _families(exact: Mapping[frozenset[int], Condition], names: Sequence[str]) -> list[Family]:
    """Put sets together that share a project."""
    leader: dict[str, str] = {}

    def lead(name: str) -> str:
        while leader.setdefault(name, name) != name:
            leader[name] = name = leader[leader[name]]
        return name

    for members in exact:
        first, *others = (names[i] for i in members)
        for other in others:
            leader[lead(other)] = lead(first)
    families: dict[str, Family] = defaultdict(dict)
    for members, cells in exact.items():
        families[lead(names[next(iter(members))])][members] = cells
    return list(families.values())


def _describe_all(
    kind: Kind,
    exact: Mapping[frozenset[int], Condition],
    edges: Iterable[Edge],
    names: Sequence[str],
    max_cycles: int,
) -> list[Component]:
    families = _families(exact, names)
    home = {i: at for at, family in enumerate(families) for members in family for i in members}
    inner: list[list[Edge]] = [[] for _ in families]
    for edge in edges:
        at = home.get(edge.source[0], -1)
        if at >= 0 and home.get(edge.target) == at:
            inner[at].append(edge)
    return [
        _describe(kind, family, own, names, max_cycles)
        for family, own in zip(families, inner, strict=True)
    ]


def _describe(
    kind: Kind, family: Family, edges: Iterable[Edge], names: Sequence[str], max_cycles: int
) -> Component:
    together: dict[tuple[int, int], Condition] = {}
    inner = []
    members = frozenset().union(*family)
    for edge in edges:
        pair = (edge.source[0], edge.target)
        if pair not in together:
            together[pair] = _union(c for s, c in family.items() if s.issuperset(pair))
        if edge.cells & together[pair]:
            inner.append(edge)
    cycles, capped = _list_cycles(kind, inner, together, names, max_cycles)
    order = sorted(members, key=lambda i: (names[i], i))
    position = {i: at for at, i in enumerate(order)}
    variants = sorted(
        ((tuple(sorted(s, key=position.__getitem__)), c) for s, c in family.items()),
        key=lambda variant: [position[i] for i in variant[0]],
    )
    return Component(
        kind=kind,
        packages=tuple(order),
        cells=_union(family.values()),
        variants=tuple(variants),
        edges=tuple(inner),
        cycles=cycles,
        capped=capped,
    )


def _union(conditions: Iterable[Condition]) -> Condition:
    union = 0
    for condition in conditions:
        union |= condition
    return union


def _list_cycles(
    kind: Kind,
    edges: Sequence[Edge],
    together: Mapping[tuple[int, int], Condition],
    names: Sequence[str],
    max_cycles: int,
) -> tuple[tuple[Cycle, ...], bool]:
    """List the shortest loops; in an extra cycle only those that need an extra."""
    hops: dict[tuple[int, int], list[Edge]] = defaultdict(list)
    live: Conditions = defaultdict(dict)
    for edge in edges:
        pair = (edge.source[0], edge.target)
        hops[pair].append(edge)
        cells = live[pair[0]].get(pair[1], 0) | (edge.cells & together[pair])
        live[pair[0]][pair[1]] = cells
    ranks = {i: (names[i], i) for i in live}
    by_name = {
        u: {v: live[u][v] for v in sorted(live[u], key=ranks.__getitem__)}
        for u in sorted(live, key=ranks.__getitem__)
    }
    search = CycleSearch(by_name, steps=_STEPS_PER_CYCLE * max_cycles)
    found: list[Cycle] = []
    for nodes in search:
        cycle = _cycle_of(kind, nodes, hops, together, names)
        if cycle is not None:
            found.append(cycle)
        if len(found) > max_cycles and len(nodes) > len(found[max_cycles].packages):
            break
        if len(found) > _MOST_ALIKE * max_cycles:
            break
    if not found:
        found = _any_cycle(kind, by_name, hops, together, names)
    capped = search.exhausted or len(found) > max_cycles
    return _in_order(found, names)[:max_cycles], capped


def _any_cycle(
    kind: Kind,
    live: Conditions,
    hops: Mapping[tuple[int, int], Sequence[Edge]],
    together: Mapping[tuple[int, int], Condition],
    names: Sequence[str],
) -> list[Cycle]:
    """One loop, where the search for the shortest was too long: along the first edge that can."""
    for u, targets in live.items():
        for v, cells in targets.items():
            base = _union(e.cells for e in hops[u, v] if not e.source[1])
            closing = cells & ~base if kind == "extra-cycle" else cells
            cell = closing & -closing
            if not cell:
                continue
            there = {w: [x for x in live[w] if live[w][x] & cell] for w in live}
            there[u] = [v]
            nodes = shortest_cycle(u, there)
            cycle = nodes and _cycle_of(kind, nodes, hops, together, names)
            if cycle:
                return [cycle]
    return []


def _cycle_of(
    kind: Kind,
    nodes: Sequence[int],
    hops: Mapping[tuple[int, int], Sequence[Edge]],
    together: Mapping[tuple[int, int], Condition],
    names: Sequence[str],
) -> Cycle | None:
    first = min(range(len(nodes)), key=lambda i: (names[nodes[i]], nodes[i]))
    turned = (*nodes[first:], *nodes[:first])
    pairs = list(zip(turned, (*turned[1:], turned[0]), strict=True))
    cells = base = -1
    for pair in pairs:
        cells &= together[pair] & _union(e.cells for e in hops[pair])
        base &= _union(e.cells for e in hops[pair] if not e.source[1])
    if kind == "extra-cycle":
        cells &= ~base
    if not cells:
        return None
    live = tuple(tuple(e for e in hops[pair] if e.cells & cells) for pair in pairs)
    return Cycle(turned, cells, live)


def _in_order(cycles: Iterable[Cycle], names: Sequence[str]) -> tuple[Cycle, ...]:
    return tuple(
        sorted(cycles, key=lambda c: (len(c.packages), [names[i] for i in c.packages], c.packages))
    )

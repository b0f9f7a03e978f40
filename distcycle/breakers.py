"""The smallest sets of edges whose removal leaves no loop: minimum feedback arc sets.

A set breaks a component when it has an edge of every loop. Loops are found lazily: a smallest set
that hits the known loops is sought by branch and bound; while something still closes without it,
one more loop becomes known. Loops that have no edge in common bound the size from below.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from distcycle.cycles import Component, Conditions, exact_components
from distcycle.markers import Condition

__all__ = ["Breakers", "Pair", "break_component", "find_breakers"]

Pair = tuple[int, int]
"""Two packages, the first of which requires the second."""

_MOST_LOOPS = 2_000
_STARTS = 16
_MOST_PAIRS = 500
_SEARCHES = 20
_MOST_VISITS = 5_000_000


@dataclass(frozen=True, slots=True)
class Breakers:
    """What opens a component.

    Attributes:
        sets: The sets of edges, each sorted, all of one size, those that cost least first.
        exact: Whether no smaller set exists; else the first one is just small.
    """

    sets: tuple[tuple[Pair, ...], ...]
    exact: bool


def find_breakers(
    edges: Mapping[Pair, Condition],
    loops: Iterable[Sequence[Pair]],
    full: Condition,
    *,
    costs: Mapping[Pair, int] | None = None,
    most: int = 5,
    effort: int = 2_000,
) -> Breakers:
    """Find the smallest sets of edges that open every loop in every cell.

    Args:
        edges: From package to package, where the edge is live.
        loops: Loops that are known already.
        full: All cells.
        costs: What removing an edge costs, 0 when nothing; decides between sets of equal size.
        most: How many sets to give.
        effort: How many steps each search may take. Components of more than 500 edges are not
            searched: a small set is built, and made irredundant.

    Returns:
        The sets. Where the search was too long, one set from which no edge can be left out.
    """
    price = dict.fromkeys(edges, 0) | dict(costs or {})
    known = [tuple(loop) for loop in loops]
    room = effort * _SEARCHES
    while len(edges) <= _MOST_PAIRS and len(known) <= _MOST_LOOPS and room > 0:
        search = _Search(known, price, effort)
        best = search.smallest()
        room -= search.steps
        if best is None:
            break
        more = list(_loops_left(edges, best, full))
        if not more:
            return Breakers(
                _alternatives(edges, known, best, full, price, most=most, effort=effort), exact=True
            )
        known += more
    return Breakers((_without_spare(edges, _greedy(edges, full, price), full, price),), exact=False)


def break_component(
    component: Component,
    full: Condition,
    *,
    costs: Mapping[Pair, int] | None = None,
    effort: int = 2_000,
) -> Breakers:
    """Find the smallest sets of edges that open a component; see :func:`find_breakers`."""
    # By rank among the members, for indices depend on the order of the input.
    rank = {index: at for at, index in enumerate(component.packages)}
    edges: dict[Pair, Condition] = {}
    for edge in component.edges:
        pair = (rank[edge.source[0]], rank[edge.target])
        edges[pair] = edges.get(pair, 0) | edge.cells
    loops = []
    for cycle in component.cycles:
        ranks = [rank[index] for index in cycle.packages]
        loops.append(tuple(zip(ranks, (*ranks[1:], ranks[0]), strict=True)))
    prices = {
        (rank[u], rank[v]): cost
        for (u, v), cost in (costs or {}).items()
        if u in rank and v in rank
    }
    found = find_breakers(edges, loops, full, costs=prices, effort=effort)
    members = component.packages
    sets = tuple(tuple((members[u], members[v]) for u, v in pairs) for pairs in found.sets)
    return Breakers(sets, found.exact)


class _Search:
    """Branch and bound for a smallest set that hits all known loops."""

    def __init__(
        self, loops: Sequence[Sequence[Pair]], price: Mapping[Pair, int], effort: int
    ) -> None:
        self._effort = effort
        self._loops = sorted({tuple(sorted(loop)) for loop in loops}, key=lambda x: (len(x), x))
        self._price = price
        self.steps = 0

    def smallest(self) -> tuple[Pair, ...] | None:
        """A smallest set, cheapest among the first found; None when the search is too long."""
        size = self._disjoint(self._loops)
        while True:
            found = next(self.of_size(size), None)
            if found is not None or self.steps > self._effort:
                return found
            size += 1

    def of_size(self, size: int) -> Iterator[tuple[Pair, ...]]:
        """All hitting sets of a size, cheap edges tried first; some may come more than once."""
        yield from self._extend((), frozenset(), self._loops, size)

    def _extend(
        self,
        chosen: tuple[Pair, ...],
        banned: frozenset[Pair],
        loops: Sequence[tuple[Pair, ...]],
        room: int,
    ) -> Iterator[tuple[Pair, ...]]:
        self.steps += 1
        if not loops:
            yield tuple(sorted(chosen))
            return
        if self.steps > self._effort or self._disjoint(loops) > room:
            return
        for pair in sorted(loops[0], key=lambda p: (self._price[p], -_count(p, loops), p)):
            if pair not in banned:
                rest = [loop for loop in loops if pair not in loop]
                yield from self._extend((*chosen, pair), banned, rest, room - 1)
                banned |= {pair}

    @staticmethod
    def _disjoint(loops: Iterable[Sequence[Pair]]) -> int:
        """How many loops are found that share no edge: no smaller set can hit them all."""
        used: set[Pair] = set()
        count = 0
        for loop in loops:
            if used.isdisjoint(loop):
                used.update(loop)
                count += 1
        return count


def _count(pair: Pair, loops: Iterable[Sequence[Pair]]) -> int:
    return sum(pair in loop for loop in loops)


def _alternatives(
    edges: Mapping[Pair, Condition],
    loops: Sequence[Sequence[Pair]],
    first: tuple[Pair, ...],
    full: Condition,
    price: Mapping[Pair, int],
    *,
    most: int,
    effort: int,
) -> tuple[tuple[Pair, ...], ...]:
    """The sets of the same size that open everything too, as far as the search goes."""
    found = {first}
    for other in _Search(loops, price, effort).of_size(len(first)):
        if other not in found and not any(_loops_left(edges, other, full)):
            found.add(other)
        if len(found) >= most * 4:
            break
    ordered = sorted(found, key=lambda pairs: (sum(price[p] for p in pairs), pairs))
    return tuple(ordered[:most])


def _loops_left(
    edges: Mapping[Pair, Condition], removed: Iterable[Pair], full: Condition
) -> Iterator[tuple[Pair, ...]]:
    """A shortest loop of each component that closes although some edges are removed."""
    gone = set(removed)
    left: Conditions = {}
    for (u, v), cells in edges.items():
        left.setdefault(u, {})
        left.setdefault(v, {})
        if (u, v) not in gone:
            left[u][v] = cells
    for members, cells in exact_components(left, full).items():
        yield _shortest_loop(left, members, cells & -cells)


def _shortest_loop(edges: Conditions, members: frozenset[int], cell: Condition) -> tuple[Pair, ...]:
    """A shortest loop in one cell among members that are strongly connected there."""
    best: tuple[Pair, ...] = ()
    for start in sorted(members)[:_STARTS]:
        loop = _loop_from(start, edges, members, cell)
        if not best or len(loop) < len(best):
            best = loop
    return best


def _loop_from(
    start: int, edges: Conditions, members: frozenset[int], cell: Condition
) -> tuple[Pair, ...]:
    came_from: dict[int, int] = {}
    queue = deque([start])
    while start not in came_from:
        u = queue.popleft()
        for v in sorted(edges[u]):
            if v in members and edges[u][v] & cell and v not in came_from:
                came_from[v] = u
                queue.append(v)
    loop = [(came_from[start], start)]
    while loop[-1][0] != start:
        loop.append((came_from[loop[-1][0]], loop[-1][0]))
    return tuple(reversed(loop))


# When the search is too long ---------------------------------------------------------------------


def _greedy(
    edges: Mapping[Pair, Condition], full: Condition, price: Mapping[Pair, int]
) -> tuple[Pair, ...]:
    """Order the packages so that few edges lead back (Eades, Lin and Smyth); those are the set."""
    order = {node: at for at, node in enumerate(_order(edges))}
    back = [pair for pair in edges if order[pair[0]] >= order[pair[1]] and edges[pair] & full]
    return tuple(sorted(back, key=lambda pair: (price[pair], pair)))


def _order(edges: Mapping[Pair, Condition]) -> list[int]:
    """Sinks last, sources first, and in between whoever gives more than it takes."""
    out: dict[int, set[int]] = defaultdict(set)
    into: dict[int, set[int]] = defaultdict(set)
    for u, v in edges:
        out[u].add(v)
        into[v].add(u)
    left = dict.fromkeys(sorted({*out, *into}))
    balance = [(len(into[u]) - len(out[u]), u) for u in left]
    heapq.heapify(balance)
    ends = deque(u for u in left if not out[u] or not into[u])
    first: list[int] = []
    last: list[int] = []
    while left:
        u = ends.popleft() if ends else heapq.heappop(balance)[1]
        if u not in left:
            continue
        del left[u]
        (first if out[u] else last).append(u)
        for v in sorted(out[u] | into[u]):
            out[v].discard(u)
            into[v].discard(u)
            if v in left:
                heapq.heappush(balance, (len(into[v]) - len(out[v]), v))
                if not out[v] or not into[v]:
                    ends.append(v)
    return first + last[::-1]


def _without_spare(
    edges: Mapping[Pair, Condition],
    pairs: tuple[Pair, ...],
    full: Condition,
    price: Mapping[Pair, int],
) -> tuple[Pair, ...]:
    """Leave out edges, the dearest first, as long as nothing closes without them."""
    kept = set(pairs)
    left: Conditions = {}
    for (u, v), cells in edges.items():
        if (u, v) not in kept:
            left.setdefault(u, {})[v] = cells & full
    dearest = sorted(pairs, key=lambda p: (-price[p], p))
    for u, v in dearest[: _MOST_VISITS // max(len(edges), 1)]:
        cells = edges[u, v] & full
        if not _leads(left, v, u, cells):
            kept.discard((u, v))
            left.setdefault(u, {})[v] = cells
    return tuple(sorted(kept))


def _leads(edges: Conditions, start: int, end: int, cells: Condition) -> bool:
    """Whether a path leads from one package to another in some of the cells."""
    reached = {start: cells}
    queue = deque([start])
    while queue and end not in reached:
        u = queue.popleft()
        for v, live in edges.get(u, {}).items():
            new = reached[u] & live & ~reached.get(v, 0)
            if new:
                reached[v] = reached.get(v, 0) | new
                queue.append(v)
    return end in reached

"""Loops that close through a build requirement, and what to take as wheels so that none does."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from distcycle.builds.records import Builds, Link
from distcycle.cycles import exact_components
from distcycle.markers import Condition

__all__ = ["BuildLoop", "find_build_loops", "smallest_bootstraps"]

_EFFORT = 20_000
_SETS_SEEN = 200
_SETS_GIVEN = 3

Needs = Mapping[int, Mapping[int, Condition]]
"""For each package, those that must be built before it, and where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildLoop:
    """Packages of which none can be built from source before another one is.

    Attributes:
        members: Their indices.
        cells: Where.
        links: What joins them: build requirements, and requirements of these to run.
        shortest: The links of a shortest loop with a build requirement in it, in its order.
        bootstraps: Smallest sets of members that leave no loop once they are taken as wheels, the
            best first: those that have such wheels, and those that the input has.
        has_wheels: Whether every member of every set has a wheel wherever the loop is.
        is_exact: Whether no smaller set serves as well.
    """

    members: tuple[int, ...]
    cells: Condition
    links: tuple[Link, ...]
    shortest: tuple[Link, ...]
    bootstraps: tuple[tuple[int, ...], ...]
    has_wheels: bool
    is_exact: bool


def find_build_loops(builds: Builds) -> list[BuildLoop]:
    """Find what cannot be built from source in any order; sorted by the names of the members."""
    found = [_describe(builds, nodes, cells) for nodes, cells in _components(builds)]
    return sorted(found, key=lambda loop: (builds.names(loop.members), loop.members))


def _components(builds: Builds) -> list[tuple[set[int], Condition]]:
    """Strongly connected packages with a build requirement among them; one set where they meet."""
    nodes: dict[tuple[int, str], int] = {}
    conditions: dict[int, dict[int, Condition]] = defaultdict(dict)
    for link in builds.links:
        u = nodes.setdefault(link.source, len(nodes))
        for extra in ("", *link.requirement.extras):
            v = nodes.setdefault((link.target, extra), len(nodes))
            if u != v:
                conditions[u][v] = conditions[u].get(v, 0) | link.cells
    packages = [index for index, _ in nodes]
    found: list[tuple[set[int], Condition]] = []
    full = builds.space.full
    for members, cells in exact_components(conditions, full, most=full.bit_count()).items():
        where = 0
        inside = {packages[n] for n in members}
        for link in builds.links:
            if link.is_build and nodes[link.source] in members:
                ends = {nodes[link.target, extra] for extra in ("", *link.requirement.extras)}
                where |= link.cells & cells if ends & members else 0
        if where:
            found.append((inside, where))
    found += [
        ({link.target}, link.cells)
        for link in builds.links
        if link.is_build and link.source[0] == link.target
    ]
    return _merge(found)


def _merge(found: Sequence[tuple[set[int], Condition]]) -> list[tuple[set[int], Condition]]:
    merged: list[tuple[set[int], Condition]] = []
    for members, cells in found:
        apart = []
        for others, where in merged:
            if members & others:
                members, cells = members | others, cells | where  # noqa: PLW2901
            else:
                apart.append((others, where))
        merged = [*apart, (members, cells)]
    return merged


def _describe(builds: Builds, members: set[int], cells: Condition) -> BuildLoop:
    links = tuple(
        sorted(
            (
                link
                for link in builds.links
                if link.source[0] in members and link.target in members and link.cells & cells
            ),
            key=lambda link: _order(builds, link),
        )
    )
    needs = _must_precede(links, cells)
    with_wheels = {i for i in needs if not cells & ~builds.sources[i].fits}
    costs = {i: 0 if builds.sources[i].place is not None else 1 for i in needs}
    sets, is_exact = smallest_bootstraps(needs, with_wheels, costs)
    has_wheels = bool(sets)
    if not sets:
        costs = {i: costs[i] + (0 if i in with_wheels else 2 * len(needs)) for i in needs}
        sets, is_exact = smallest_bootstraps(needs, set(needs), costs)
    return BuildLoop(
        members=tuple(sorted(members, key=lambda i: (builds.sources[i].name, i))),
        cells=cells,
        links=links,
        shortest=_shortest(links, cells),
        bootstraps=tuple(sets),
        has_wheels=has_wheels,
        is_exact=is_exact,
    )


def _order(builds: Builds, link: Link) -> tuple[object, ...]:
    source, target = builds.sources[link.source[0]], builds.sources[link.target]
    return (source.name, link.source, not link.is_build, target.name, link.requirement.text)


def _must_precede(links: Sequence[Link], cells: Condition) -> Needs:
    """For each package that is built: its build requirements, and what these require to run."""
    run: dict[tuple[int, str], list[Link]] = defaultdict(list)
    for link in links:
        if not link.is_build:
            run[link.source].append(link)
    needs: dict[int, dict[int, Condition]] = {}
    builders = {link.source[0] for link in links if link.is_build}
    for builder in sorted(builders):
        reached: dict[tuple[int, str], Condition] = {}
        queue: deque[tuple[tuple[int, str], Condition]] = deque()
        for link in links:
            if link.is_build and link.source[0] == builder:
                queue += (
                    ((link.target, extra), link.cells & cells)
                    for extra in ("", *link.requirement.extras)
                )
        while queue:
            node, where = queue.popleft()
            new = where & ~reached.get(node, 0)
            if not new:
                continue
            reached[node] = reached.get(node, 0) | new
            for link in run[node]:
                for extra in ("", *link.requirement.extras):
                    queue.append(((link.target, extra), link.cells & new))
        before: dict[int, Condition] = {}
        for (index, _), where in reached.items():
            if index in builders:
                before[index] = before.get(index, 0) | where
        needs[builder] = before
    return needs


def _shortest(links: Sequence[Link], cells: Condition) -> tuple[Link, ...]:
    """A shortest loop that has a build requirement in it, beginning with that."""
    best: tuple[Link, ...] = ()
    for first in links:
        if not first.is_build:
            continue
        rest = _path(first, links, first.cells & cells)
        if rest is not None and (not best or len(rest) + 1 < len(best)):
            best = (first, *rest)
    return best


def _path(first: Link, links: Sequence[Link], cells: Condition) -> tuple[Link, ...] | None:
    """The fewest links back from the end of one to its start, in one cell of some."""
    cell = cells & -cells
    outgoing: dict[int, list[Link]] = defaultdict(list)
    for link in links:
        if link.cells & cell:
            outgoing[link.source[0]].append(link)
    start, goal = first.target, first.source[0]
    came: dict[int, Link | None] = {start: None}
    queue = deque([start])
    while queue and goal not in came:
        u = queue.popleft()
        for link in outgoing[u]:
            if link.target not in came:
                came[link.target] = link
                queue.append(link.target)
    if goal not in came:
        return None
    path: list[Link] = []
    while (link_in := came[goal]) is not None:
        path.append(link_in)
        goal = link_in.source[0]
    return tuple(reversed(path))


# Bootstraps --------------------------------------------------------------------------------------


def smallest_bootstraps(
    needs: Needs,
    allowed: Collection[int],
    costs: Mapping[int, int],
    *,
    effort: int = _EFFORT,
) -> tuple[list[tuple[int, ...]], bool]:
    """Find the smallest sets of packages to take as wheels: minimum feedback vertex sets.

    A package that is taken as a wheel needs nothing to be built; it is then gone from every loop.

    Args:
        needs: For each package those that must be built before it, and where.
        allowed: The packages that can be taken as wheels.
        costs: What each costs; decides between sets of one size.
        effort: How many steps the search may take; beyond, one set is built that has none to
            spare.

    Returns:
        The sets, each sorted, the cheapest first, and whether no smaller one exists; no set when
        those that are allowed leave a loop.
    """
    if next(_loops(needs, frozenset(allowed)), None) is not None:
        return [], True
    search = _Search(needs, frozenset(allowed), costs, effort)
    for size in range(len(allowed) + 1):
        sets = set(islice(search.of_size(size), _SETS_SEEN))
        if search.steps > effort:
            break
        if sets:
            ordered = sorted(sets, key=lambda chosen: (sum(costs[i] for i in chosen), chosen))
            return ordered[:_SETS_GIVEN], True
    return [_irredundant(needs, allowed, costs)], False


class _Search:
    """Takes one package of a loop after another, until no loop is left or no room is."""

    def __init__(
        self, needs: Needs, allowed: frozenset[int], costs: Mapping[int, int], effort: int
    ) -> None:
        self._needs = needs
        self._allowed = allowed
        self._costs = costs
        self._effort = effort
        self.steps = 0

    def of_size(self, size: int) -> Iterator[tuple[int, ...]]:
        """All sets of a size; some may come more than once."""
        yield from self._extend(frozenset(), frozenset(), size)

    def _extend(
        self, taken: frozenset[int], left_out: frozenset[int], room: int
    ) -> Iterator[tuple[int, ...]]:
        self.steps += 1
        if self.steps > self._effort:
            return
        loop = next(_loops(self._needs, taken), None)
        if loop is None:
            if not room:
                yield tuple(sorted(taken))
            return
        if not room:
            return
        for i in sorted(loop, key=lambda i: (self._costs[i], i)):
            if i in self._allowed and i not in left_out:
                yield from self._extend(taken | {i}, left_out, room - 1)
                left_out |= {i}


def _loops(needs: Needs, taken: frozenset[int]) -> Iterator[frozenset[int]]:
    """The members of a short loop of each cell in which any is left."""
    for i in sorted(needs):
        if i not in taken and needs[i].get(i, 0):
            yield frozenset((i,))
    left = {
        i: {j: cells for j, cells in before.items() if j not in taken and j != i and cells}
        for i, before in needs.items()
        if i not in taken
    }
    full = 0
    for before in left.values():
        for cells in before.values():
            full |= cells
    for members, cells in exact_components(left, full, most=full.bit_count() + 1).items():
        yield _short_loop(left, members, cells & -cells)


def _short_loop(needs: Needs, members: frozenset[int], cell: Condition) -> frozenset[int]:
    best: list[int] = []
    for start in sorted(members):
        came: dict[int, int] = {}
        queue = deque([start])
        while queue and start not in came:
            u = queue.popleft()
            for v in sorted(needs[u]):
                if v in members and needs[u][v] & cell and v not in came:
                    came[v] = u
                    queue.append(v)
        loop = [start]
        while (before := came[loop[-1]]) != start:
            loop.append(before)
        if not best or len(loop) < len(best):
            best = loop
    return frozenset(best)


def _irredundant(
    needs: Needs, allowed: Collection[int], costs: Mapping[int, int]
) -> tuple[int, ...]:
    """Leave out what is not needed, the dearest first."""
    taken = set(allowed)
    for i in sorted(allowed, key=lambda i: (-costs[i], i)):
        if next(_loops(needs, frozenset(taken - {i})), None) is None:
            taken.discard(i)
    return tuple(sorted(taken))

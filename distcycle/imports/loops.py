"""Modules that import each other, in three views, the hardest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from distcycle.breakers import Breakers, find_breakers
from distcycle.graph import CycleSearch, shortest_cycle, strong_components
from distcycle.imports.graph import ImportEdge, ImportGraph

__all__ = [
    "VIEWS",
    "MixedPair",
    "ModuleLoop",
    "ModulePair",
    "View",
    "break_loop",
    "cheapest_cut",
    "find_cycles",
    "find_loops",
    "find_mixed",
    "in_view",
    "reaches",
    "successors_in",
]

View = Literal["names", "executed", "all"]
"""``names``: ``from X import name`` at import time; ``executed``: all that runs at import time;
``all``: what stands in functions and is for type checkers too."""

VIEWS: tuple[View, ...] = get_args(View)
"""The views, the hardest first."""

ModulePair = tuple[str, str]
"""Two modules, the first of which imports the second."""


def in_view(edge: ImportEdge, view: View) -> bool:
    """Whether an edge counts: what a statement names does, the packages around it do not."""
    if edge.implied:
        return False
    if view == "all":
        return True
    return edge.record.runs_at_import and (view == "executed" or edge.needs_names)


def successors_in(graph: ImportGraph, view: View) -> dict[str, list[str]]:
    """For each module that imports any, what it imports in a view, sorted."""
    found: dict[str, set[str]] = defaultdict(set)
    for edge in graph.edges:
        if in_view(edge, view):
            found[edge.source].add(edge.target)
    return {source: sorted(targets) for source, targets in sorted(found.items())}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleLoop:
    """Modules that import each other: a strongly connected component.

    Attributes:
        view: In which view.
        modules: The modules, sorted.
        edges: Every edge between them that a statement names, in whatever view, by source and line.
    """

    view: View
    modules: tuple[str, ...]
    edges: tuple[ImportEdge, ...]

    def pairs(self, view: View) -> tuple[ModulePair, ...]:
        """Which module imports which in a view, sorted."""
        return tuple(sorted({(e.source, e.target) for e in self.edges if in_view(e, view)}))

    def count_kinds(self) -> dict[str, int]:
        """How many pairs are joined at import time, how many only lazily, how many by less."""
        kinds: dict[ModulePair, set[str]] = defaultdict(set)
        for edge in self.edges:
            kind = "static" if edge.record.runs_at_import else edge.record.kind
            kinds[edge.source, edge.target].add(kind)
        counts = {"static": 0, "lazy": 0, "type-checking": 0}
        for found in kinds.values():
            least = "static" if "static" in found else "lazy" if "lazy" in found else ""
            counts[least or "type-checking"] += 1
        return counts


def find_loops(graph: ImportGraph, view: View) -> tuple[ModuleLoop, ...]:
    """Find the components of a view, the large ones first.

    Args:
        graph: Which modules import which.
        view: What counts.
    """
    components = strong_components(successors_in(graph, view))
    member_of = {module: i for i, members in enumerate(components) for module in members}
    edges: dict[int, list[ImportEdge]] = defaultdict(list)
    for edge in graph.edges:
        at = member_of.get(edge.source)
        if at is not None and at == member_of.get(edge.target) and not edge.implied:
            edges[at].append(edge)
    loops = [
        ModuleLoop(view=view, modules=tuple(sorted(members)), edges=tuple(edges[i]))
        for i, members in enumerate(components)
    ]
    return tuple(sorted(loops, key=lambda loop: (-len(loop.modules), loop.modules)))


def find_cycles(loop: ModuleLoop, *, most: int, steps: int = 200_000) -> list[tuple[str, ...]]:
    """The elementary loops of a component, the short ones first.

    Args:
        loop: The component.
        most: How many to give.
        steps: How many edges may be looked at.
    """
    edges: dict[str, dict[str, int]] = {module: {} for module in loop.modules}
    for source, target in loop.pairs(loop.view):
        edges[source][target] = 1
    cycles = []
    for cycle in CycleSearch(edges, steps=steps):
        cycles.append(tuple(cycle))
        if len(cycles) >= most:
            break
    if not cycles:
        # Of a wide ring the search by length finds none in time; one loop there always is.
        found = shortest_cycle(loop.modules[0], edges)
        cycles = [tuple(found)] if found else []
    return cycles


def break_loop(
    loop: ModuleLoop,
    cycles: Iterable[Sequence[str]],
    costs: Mapping[ModulePair, int] | None = None,
) -> tuple[tuple[tuple[ModulePair, ...], ...], bool]:
    """Find the smallest sets of pairs whose imports, if they went, would leave no loop.

    Args:
        loop: The component.
        cycles: Loops of it that are known.
        costs: What it takes to mend a pair; decides between sets of equal size.

    Returns:
        The sets, and whether no smaller one exists.
    """
    rank = {module: i for i, module in enumerate(loop.modules)}
    edges = {(rank[u], rank[v]): 1 for u, v in loop.pairs(loop.view)}
    known = [
        tuple(zip(ranks, (*ranks[1:], ranks[0]), strict=True))
        for ranks in ([rank[module] for module in cycle] for cycle in cycles)
    ]
    prices = {(rank[u], rank[v]): cost for (u, v), cost in (costs or {}).items()}
    found: Breakers = find_breakers(edges, known, 1, costs=prices)
    names = loop.modules
    sets = tuple(tuple((names[u], names[v]) for u, v in pairs) for pairs in found.sets)
    return sets, found.exact


def cheapest_cut(loop: ModuleLoop, prices: Mapping[ModulePair, int]) -> tuple[ModulePair, ...]:
    """Find a set of pairs that opens a component and of which none can be spared.

    Where the smallest sets are hard to mend, more pairs that are easy to mend may be better: pairs
    are put back one after the other, the dear ones first, as long as nothing closes.

    Args:
        loop: The component.
        prices: What it takes to mend each pair.
    """
    pairs = sorted(loop.pairs(loop.view), key=lambda pair: (-prices.get(pair, 0), pair))
    kept: dict[str, list[str]] = {module: [] for module in loop.modules}
    cut = []
    for source, target in pairs:
        if reaches(kept, target, source):
            cut.append((source, target))
        else:
            kept[source].append(target)
    return tuple(sorted(cut))


def reaches(
    successors: Mapping[str, Sequence[str]],
    start: str,
    end: str,
    without: ModulePair | None = None,
) -> bool:
    """Whether a way leads from one module to another, maybe without one pair."""
    seen, todo = {start}, [start]
    while todo:
        module = todo.pop()
        if module == end:
            return True
        for other in successors.get(module, ()):
            if other not in seen and (module, other) != without:
                seen.add(other)
                todo.append(other)
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedPair:
    """A module imports another both while it is imported and later.

    That is often the trace of a way round a loop: what is fetched later is bound too late.

    Attributes:
        source: The module that imports.
        target: The module that is imported.
        static: The edges at import time.
        lazy: The edges in functions.
        back: Where the target imports what leads back, while it is imported itself; None when
            nothing does.
        early: The names that are taken at import time, and the lines on which the target binds
            them, those before ``back``.
        late: The same of names that the target binds only after ``back``, taken at either time.
    """

    source: str
    target: str
    static: tuple[ImportEdge, ...]
    lazy: tuple[ImportEdge, ...]
    back: ImportEdge | None = None
    early: tuple[tuple[str, int], ...] = ()
    late: tuple[tuple[str, int], ...] = ()


def find_mixed(
    loop: ModuleLoop, bound: Callable[[str], Mapping[str, int]]
) -> tuple[MixedPair, ...]:
    """Find the pairs of a component that are joined at import time and lazily.

    Args:
        loop: The component.
        bound: Gives the names that a module binds and the first line of each; asked for the
            targets of such pairs only.
    """
    static: dict[ModulePair, list[ImportEdge]] = defaultdict(list)
    lazy: dict[ModulePair, list[ImportEdge]] = defaultdict(list)
    for edge in loop.edges:
        if edge.record.runs_at_import:
            static[edge.source, edge.target].append(edge)
        elif edge.record.kind == "lazy":
            lazy[edge.source, edge.target].append(edge)
    return tuple(
        _explain_mixed(pair, static, lazy, bound) for pair in sorted(static) if pair in lazy
    )


def _explain_mixed(
    pair: ModulePair,
    static: Mapping[ModulePair, list[ImportEdge]],
    lazy: Mapping[ModulePair, list[ImportEdge]],
    bound: Callable[[str], Mapping[str, int]],
) -> MixedPair:
    source, target = pair
    back = next(iter(static.get((target, source), ())), None)
    early: dict[str, int] = {}
    late: dict[str, int] = {}
    if back is not None:
        lines = bound(target)
        for edge in (*static[pair], *lazy[pair]):
            for name in edge.names:
                if name in lines:
                    is_late = lines[name] > back.record.line
                    (late if is_late else early).setdefault(name, lines[name])
    return MixedPair(
        source=source,
        target=target,
        static=tuple(static[pair]),
        lazy=tuple(lazy[pair]),
        back=back,
        early=_by_line(early),
        late=_by_line(late),
    )


def _by_line(names: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(names.items(), key=lambda item: (item[1], item[0])))

"""Shortest ways: as long as networkx says, open where they are asked for, the same in any order."""

from __future__ import annotations

from random import Random
from typing import cast

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import NormalizedName, canonicalize_name

from distcycle.markers import Space
from distcycle.model import Package, Place, Requirement, Snapshot
from distcycle.routes import Route, Routes
from distcycle.selection import Edge, Selection

SIZE = 7
CELLS = 4
FULL = (1 << CELLS) - 1
NAMES = [canonicalize_name(f"p{i}") for i in range(SIZE)]

nodes = st.integers(0, SIZE - 1)
conditions = st.integers(1, FULL)


def requirement(index: int, extras: tuple[NormalizedName, ...] = ()) -> Requirement:
    return Requirement(name=NAMES[index], extras=extras, text=NAMES[index])


def edge(source: int, target: int, cells: int = FULL, extra: str = "", asks: str = "") -> Edge:
    extras = (canonicalize_name(asks),) if asks else ()
    return Edge((source, extra), target, requirement(target, extras), cells, "wheel")


def selection_of(
    edges: list[Edge], entries: list[tuple[int, int]], via: dict[int, str] | None = None
) -> Selection:
    packages = tuple(
        Package(
            name=name,
            version=None,
            via=(canonicalize_name(via[i]),) if via and i in via else (),
            place=Place(path="lock", line=i + 1),
        )
        for i, name in enumerate(NAMES)
    )
    snapshot = Snapshot(path="lock", kind="requirements", packages=packages, roots=None)
    selection = Selection(snapshot, cast("Space", None), FULL)
    selection.edges = edges
    selection.entries = [(requirement(index), index, cells) for index, cells in entries]
    return selection


def hops(route: Route | None) -> list[str] | None:
    return None if route is None else [NAMES[route.start], *(NAMES[e.target] for e in route.edges)]


@given(
    st.lists(st.tuples(nodes, nodes, conditions), max_size=16),
    st.lists(st.tuples(nodes, conditions), min_size=1, max_size=3),
    nodes,
    st.integers(0, CELLS - 1),
    st.integers(0, 99),
)
def test_ways_are_as_short_as_they_can_be_in_every_cell(
    arcs: list[tuple[int, int, int]],
    entries: list[tuple[int, int]],
    to: int,
    cell: int,
    seed: int,
) -> None:
    edges, cells = [edge(*arc) for arc in arcs], 1 << cell
    route = Routes(selection_of(edges, entries)).to((to, ""), cells)
    graph: nx.DiGraph[int] = nx.DiGraph([(u, v) for u, v, where in arcs if where & cells])
    graph.add_nodes_from(range(SIZE))
    starts = {index for index, where in entries if where & cells}
    lengths = nx.multi_source_dijkstra_path_length(graph, starts) if starts else {}
    assert (None if route is None else len(route.edges)) == lengths.get(to)
    if route is not None:
        assert all(each.cells & cells for each in route.edges)
        assert route.start in starts
    Random(seed).shuffle(edges)
    Random(seed).shuffle(entries)
    assert hops(Routes(selection_of(edges, entries)).to((to, ""), cells)) == hops(route)


def test_an_extra_is_reached_by_who_requests_it() -> None:
    edges = [edge(0, 1), edge(0, 2), edge(2, 1, asks="x"), edge(1, 3, extra="x")]
    routes = Routes(selection_of(edges, [(0, FULL)]))
    assert hops(routes.to((1, ""), FULL)) == ["p0", "p1"]
    assert hops(routes.to((1, "x"), FULL)) == ["p0", "p2", "p1"]
    assert hops(routes.to((3, ""), FULL)) == ["p0", "p2", "p1", "p3"]
    assert routes.to((3, "x"), FULL) is None


def test_ways_begin_at_what_no_comment_explains() -> None:
    """In a compiled file every line is a root; what is there for another is reached from it."""
    edges, entries = [edge(2, 1), edge(1, 0)], [(i, FULL) for i in range(SIZE)]
    via = {0: "p1", 1: "p2", 3: "p9"}
    routes = Routes(selection_of(edges, entries, via))
    assert hops(routes.to((0, ""), FULL)) == ["p2", "p1", "p0"]
    assert hops(routes.to((3, ""), FULL)) == ["p3"]
    assert hops(Routes(selection_of(edges, entries)).to((0, ""), FULL)) == ["p0"]

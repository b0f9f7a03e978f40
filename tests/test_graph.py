"""The graph engine, held to networkx."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from distcycle.graph import CycleSearch, shortest_cycle, strong_components

ROOT = Path(__file__).resolve().parents[1]
Graph = dict[int, set[int]]

graphs = st.dictionaries(st.integers(0, 9), st.sets(st.integers(0, 9), max_size=4), max_size=10)


def as_networkx(graph: Graph) -> nx.DiGraph[int]:
    return nx.DiGraph([(u, v) for u, targets in graph.items() for v in targets])


def looping(graph: Graph) -> set[frozenset[int]]:
    return {
        frozenset(nodes)
        for nodes in nx.strongly_connected_components(as_networkx(graph))
        if len(nodes) > 1 or any(v in graph.get(v, ()) for v in nodes)
    }


@settings(deadline=None)
@given(graphs)
def test_components_are_those_of_networkx(graph: Graph) -> None:
    found = strong_components(graph)
    assert len(found) == len(set(found))
    assert set(found) == looping(graph)


@settings(deadline=None)
@given(graphs)
def test_the_graph_is_left_as_it_is(graph: Graph) -> None:
    before = {u: set(targets) for u, targets in graph.items()}
    strong_components(graph)
    assert graph == before


def turned(cycle: list[int]) -> tuple[int, ...]:
    first = cycle.index(min(cycle))
    return (*cycle[first:], *cycle[:first])


@settings(deadline=None, max_examples=50)
@given(graphs, st.integers(1, 7))
def test_cycles_are_those_of_networkx_the_short_ones_first(graph: Graph, where: int) -> None:
    nodes = sorted({*graph, *(v for targets in graph.values() for v in targets)})
    edges = {u: {v: 1 + (u * where + v) % 7 for v in graph.get(u, ()) if v != u} for u in nodes}
    found = list(CycleSearch(edges, steps=10**6))
    assert [len(cycle) for cycle in found] == sorted(map(len, found))
    every = [c for c in nx.simple_cycles(as_networkx(graph)) if len(c) > 1 and exists(c, edges)]
    assert sorted(map(turned, found)) == sorted(map(turned, every))


def exists(cycle: list[int], edges: dict[int, dict[int, int]]) -> bool:
    cells = -1
    for u, v in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        cells &= edges[u][v]
    return bool(cells)


def test_a_search_that_is_cut_short_says_so() -> None:
    dense = {u: {v: 1 for v in range(12) if v != u} for u in range(12)}
    search = CycleSearch(dense, steps=2_000)
    found = list(search)
    assert search.exhausted
    assert {len(cycle) for cycle in found} >= {2}
    assert not CycleSearch({0: {1: 1}, 1: {0: 1}}, steps=100).exhausted


@settings(deadline=None, max_examples=50)
@given(graphs)
def test_a_shortest_cycle_through_a_node(graph: Graph) -> None:
    for start in sorted(graph):
        cycle = shortest_cycle(start, graph)
        lengths = [len(c) for c in nx.simple_cycles(as_networkx(graph)) if start in c]
        assert (cycle is None) == (not lengths)
        if cycle is not None:
            assert cycle[0] == start
            assert len(cycle) == min(lengths)


def test_targets_without_an_entry_end_nothing() -> None:
    assert strong_components({"a": ["b", "c"], "b": ["a"]}) == [frozenset("ab")]
    assert strong_components({"a": ["a"]}) == [frozenset("a")]
    assert strong_components({"a": ["b"]}) == []
    assert strong_components({}) == []


def test_long_chains_and_rings_need_no_recursion_and_no_networkx() -> None:
    script = (
        "import sys; from distcycle.graph import strong_components as find\n"
        "assert find({i: [i + 1] for i in range(50_000)}) == []\n"
        "assert len(find({i: [(i + 1) % 50_000] for i in range(50_000)})) == 1\n"
        "assert 'networkx' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False)
    assert done.returncode == 0

"""The graph engine: what is peeled off before networkx is asked is on no loop."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from distcycle.graph import elementary_cycles, strong_components

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


@settings(deadline=None, max_examples=50)
@given(graphs, st.integers(1, 5))
def test_cycles_of_one_length_are_all_of_them(graph: Graph, length: int) -> None:
    def turned(cycle: list[int]) -> tuple[int, ...]:
        first = cycle.index(min(cycle))
        return (*cycle[first:], *cycle[:first])

    found = [turned(cycle) for cycle in elementary_cycles(graph, length)]
    every = [turned(cycle) for cycle in nx.simple_cycles(as_networkx(graph), length_bound=length)]
    assert sorted(found) == sorted(cycle for cycle in every if len(cycle) == length)


def test_targets_without_an_entry_end_nothing() -> None:
    assert strong_components({"a": ["b", "c"], "b": ["a"]}) == [frozenset("ab")]
    assert strong_components({"a": ["a"]}) == [frozenset("a")]
    assert strong_components({"a": ["b"]}) == []
    assert strong_components({}) == []


def test_a_long_chain_is_peeled_without_recursion_and_without_networkx() -> None:
    script = (
        "import sys; from distcycle.graph import strong_components as find\n"
        "assert find({i: [i + 1] for i in range(50_000)}) == []\n"
        "assert 'networkx' not in sys.modules\n"
        "assert find({0: [1], 1: [0]}) and 'networkx' in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False)
    assert done.returncode == 0

"""Breakers: the smallest sets of edges that leave no loop anywhere, held to brute force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from random import Random

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st
from marker_samples import examples
from packaging.utils import canonicalize_name

from distcycle.breakers import Breakers, break_component, find_breakers
from distcycle.cycles import find_components
from distcycle.markers import Condition
from distcycle.model import Requirement
from distcycle.selection import Edge

CELLS = 4
FULL = (1 << CELLS) - 1
Pair = tuple[int, int]
Edges = dict[Pair, Condition]


def closes(edges: Mapping[Pair, Condition], removed: Iterable[Pair] = ()) -> bool:
    """Whether a loop is left in any cell, by networkx."""
    gone = set(removed)
    return any(
        not nx.is_directed_acyclic_graph(
            nx.DiGraph([pair for pair, c in edges.items() if c >> cell & 1 and pair not in gone])
        )
        for cell in range(CELLS)
    )


def smallest(edges: Edges) -> list[tuple[Pair, ...]]:
    """Every smallest set that opens all loops, by trying all."""
    for size in range(len(edges) + 1):
        found = [pairs for pairs in combinations(sorted(edges), size) if not closes(edges, pairs)]
        if found:
            return found
    raise AssertionError("without edges nothing closes")


def pairs_up_to(nodes: int) -> st.SearchStrategy[Pair]:
    return st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(
        lambda pair: pair[0] != pair[1]
    )


def graphs(nodes: int, edges: int) -> st.SearchStrategy[Edges]:
    return st.dictionaries(pairs_up_to(nodes), st.integers(1, FULL), max_size=edges)


SMALL = graphs(8, 14)


@examples(40)
@given(SMALL)
def test_sets_are_the_smallest_there_are(edges: Edges) -> None:
    breakers = find_breakers(edges, [], FULL, most=1_000)
    every = smallest(edges)
    assert breakers.exact
    assert set(breakers.sets) <= set(every)
    assert breakers.sets[0] in every
    assert len(breakers.sets) == len(set(breakers.sets))


@examples(30)
@given(SMALL)
def test_all_smallest_sets_are_given_when_there_is_room(edges: Edges) -> None:
    every = smallest(edges)
    breakers = find_breakers(edges, [], FULL, most=10_000)
    assert list(breakers.sets) == sorted(every)


@examples(30)
@given(SMALL, st.randoms(use_true_random=False))
def test_the_cheapest_set_comes_first(edges: Edges, random: Random) -> None:
    costs = {pair: random.randint(0, 3) for pair in sorted(edges)}
    breakers = find_breakers(edges, [], FULL, costs=costs, most=10_000)

    def price(pairs: tuple[Pair, ...]) -> int:
        return sum(costs[pair] for pair in pairs)

    prices = list(map(price, breakers.sets))
    assert prices == sorted(prices)
    assert prices[0] == min(map(price, smallest(edges)))


@examples(30)
@given(SMALL, st.randoms(use_true_random=False))
def test_order_of_edges_and_what_is_known_do_not_matter(edges: Edges, random: Random) -> None:
    straight = find_breakers(edges, [], FULL)
    mixed = list(edges.items())
    random.shuffle(mixed)
    assert find_breakers(dict(mixed), [], FULL) == straight
    graph = nx.DiGraph(list(edges))
    loops = [list(zip(c, [*c[1:], c[0]], strict=True)) for c in nx.simple_cycles(graph)]
    # A loop of names that no cell has must not count.
    loops = [loop for loop in loops if closes({pair: edges[pair] for pair in loop})]
    random.shuffle(loops)
    assert len(find_breakers(edges, loops, FULL).sets[0]) == len(straight.sets[0])


@examples(40)
@given(graphs(8, 20))
def test_a_search_that_is_cut_short_still_opens_everything_and_spares_nothing(edges: Edges) -> None:
    check_inexact(edges, find_breakers(edges, [], FULL, effort=0))


def check_inexact(edges: Edges, breakers: Breakers) -> None:
    (pairs,) = breakers.sets[:1]
    assert not closes(edges, pairs)
    if not breakers.exact:
        assert len(breakers.sets) == 1
        assert all(closes(edges, set(pairs) - {pair}) for pair in pairs)


def dense(nodes: int, seed: int = 1) -> Edges:
    random = Random(seed)
    pairs = [(u, v) for u in range(nodes) for v in range(nodes) if u != v]
    return {pair: random.randint(1, FULL) for pair in random.sample(pairs, nodes * 6)}


def test_a_dense_component_is_opened_although_not_exactly() -> None:
    edges = dense(60)
    breakers = find_breakers(edges, [], FULL, effort=200)
    assert not breakers.exact
    check_inexact(edges, breakers)
    shuffled = list(edges.items())
    Random(2).shuffle(shuffled)
    assert find_breakers(dict(shuffled), [], FULL, effort=200) == breakers


def test_loops_in_different_environments_may_share_an_edge() -> None:
    edges = {(0, 1): 0b11, (1, 0): 0b01, (1, 2): 0b10, (2, 0): 0b10}
    assert find_breakers(edges, [], 0b11) == Breakers((((0, 1),),), exact=True)


def test_a_loop_that_no_environment_has_needs_no_breaker() -> None:
    assert find_breakers({(0, 1): 0b01, (1, 0): 0b10}, [], 0b11) == Breakers(((),), exact=True)


def test_only_so_many_sets_are_given() -> None:
    ring = {(i, (i + 1) % 7): FULL for i in range(7)}
    assert find_breakers(ring, [], FULL, most=3).sets == (((0, 1),), ((1, 2),), ((2, 3),))


# Components --------------------------------------------------------------------------------------

NAMES = [canonicalize_name(name) for name in ("f", "e", "d", "c", "b", "a")]


def edge(source: int, target: int, cells: Condition = FULL, extra: str = "") -> Edge:
    requirement = Requirement(name=NAMES[target], text=NAMES[target])
    return Edge((source, extra), target, requirement, cells, "wheel")


def test_members_are_ordered_by_name_and_costs_are_by_package() -> None:
    found = [edge(0, 1), edge(1, 2), edge(2, 0)]
    (component,) = find_components(found, NAMES, FULL, max_cycles=10)
    assert break_component(component, FULL).sets == (((2, 0),), ((1, 2),), ((0, 1),))
    dear = break_component(component, FULL, costs={(2, 0): 2, (0, 1): 1, (3, 4): 9})
    assert dear.sets == (((1, 2),), ((0, 1),), ((2, 0),))


def test_edges_of_one_pair_go_together() -> None:
    found = [edge(0, 1, 0b01), edge(0, 1, 0b10, "x"), edge(1, 0)]
    components = find_components(found, NAMES, FULL, max_cycles=10)
    for component in components:
        assert [len(pairs) for pairs in break_component(component, FULL).sets] == [1, 1]


@examples(40)
@given(
    st.lists(
        st.builds(edge, st.integers(0, 5), st.integers(0, 5), st.integers(1, FULL)), max_size=18
    )
)
def test_without_its_breakers_no_component_is_left(found: list[Edge]) -> None:
    components = find_components(found, NAMES, FULL, max_cycles=3)
    removed = {
        pair for component in components for pair in break_component(component, FULL).sets[0]
    }
    rest = [e for e in found if (e.source[0], e.target) not in removed]
    assert find_components(rest, NAMES, FULL, max_cycles=3) == []

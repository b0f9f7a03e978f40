"""Components and cycles: exact in every cell, each loop once, whatever order edges come in."""

from __future__ import annotations

from collections import defaultdict
from random import Random

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.utils import NormalizedName, canonicalize_name

from distcycle.cycles import (
    Component,
    TooManySets,
    exact_components,
    find_components,
    find_self_edges,
)
from distcycle.model import Requirement
from distcycle.selection import Edge

NAMES = [canonicalize_name(f"p{i}") for i in range(8)]
CELLS = 6
FULL = (1 << CELLS) - 1

conditions = st.integers(1, FULL)
arcs = st.tuples(st.integers(0, 7), st.integers(0, 7), conditions)


def edge(source: int, target: int, cells: int = FULL, extra: str = "", asks: str = "") -> Edge:
    name = NAMES[target % len(NAMES)]
    extras = (canonicalize_name(asks),) if asks else ()
    return Edge(
        source=(source, extra),
        target=target,
        requirement=Requirement(name=name, extras=extras, text=name),
        cells=cells,
        origin="wheel",
    )


edges = st.builds(
    lambda arc, extra: edge(*arc, extra=extra),
    arcs.filter(lambda arc: arc[0] != arc[1]),
    st.sampled_from(["", "", "x"]),
)


def find(
    found: list[Edge], *, names: list[NormalizedName] = NAMES, max_cycles: int = 1000
) -> list[Component]:
    return find_components(found, names, FULL, max_cycles=max_cycles)


def graph_of(found: list[Edge], cell: int) -> nx.DiGraph[int]:
    return nx.DiGraph([(e.source[0], e.target) for e in found if e.cells >> cell & 1])


# Exact components --------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(st.lists(arcs.filter(lambda arc: arc[0] != arc[1]), max_size=30))
def test_components_are_those_of_networkx_in_every_cell(listed: list[tuple[int, int, int]]) -> None:
    by_pair: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for source, target, cells in listed:
        by_pair[source][target] |= cells
    exact = exact_components(by_pair, FULL)
    assert all(exact.values())
    for cell in range(CELLS):
        graph = graph_of([edge(*arc) for arc in listed], cell)
        expected = {frozenset(s) for s in nx.strongly_connected_components(graph) if len(s) > 1}
        assert {members for members, cells in exact.items() if cells >> cell & 1} == expected


def test_no_cell_has_the_loop_that_names_alone_would_close() -> None:
    assert exact_components({0: {1: 0b01}, 1: {0: 0b10}}, 0b11) == {}


# Components --------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(st.lists(edges, max_size=25))
def test_wheel_cycles_are_what_base_edges_close_and_extra_cycles_the_rest(
    found: list[Edge],
) -> None:
    components = find(found)
    for cell in range(CELLS):
        closed = {
            kind: {
                frozenset(members)
                for component in components
                if component.kind == kind
                for members, cells in component.variants
                if cells >> cell & 1
            }
            for kind in ("wheel-cycle", "extra-cycle")
        }
        base, every = (
            {frozenset(s) for s in nx.strongly_connected_components(graph) if len(s) > 1}
            for graph in (
                graph_of([e for e in found if not e.source[1]], cell),
                graph_of(found, cell),
            )
        )
        assert closed["wheel-cycle"] == base
        assert closed["extra-cycle"] == every - base


@settings(max_examples=100, deadline=None)
@given(st.lists(edges, max_size=25))
def test_cycles_are_elementary_canonical_unique_and_shortest_first(found: list[Edge]) -> None:
    for component in find(found):
        shown = [cycle.packages for cycle in component.cycles]
        assert shown
        assert len(shown) == len(set(shown))
        assert shown == sorted(shown, key=lambda packages: (len(packages), packages))
        for cycle in component.cycles:
            assert len(set(cycle.packages)) == len(cycle.packages)
            assert cycle.packages[0] == min(cycle.packages)
            assert set(cycle.packages) <= set(component.packages)
            assert cycle.cells
            assert cycle.cells & ~component.cells == 0


@settings(max_examples=100, deadline=None)
@given(st.lists(edges, max_size=20))
def test_cycles_are_all_that_networkx_finds_in_every_cell(found: list[Edge]) -> None:
    found = [e for e in found if not e.source[1]]
    components = find(found)
    for cell in range(CELLS):
        listed = {
            cycle.packages
            for component in components
            for cycle in component.cycles
            if cycle.cells >> cell & 1
        }
        every = nx.simple_cycles(graph_of(found, cell))
        turned = {tuple(c[c.index(min(c)) :] + c[: c.index(min(c))]) for c in every}
        capped = any(component.capped for component in components)
        assert listed <= turned
        assert capped or listed == turned


@settings(max_examples=100, deadline=None)
@given(st.lists(edges, max_size=20))
def test_every_hop_is_live_wherever_its_cycle_is(found: list[Edge]) -> None:
    for component in find(found):
        for cycle in component.cycles:
            for source, target, hop in zip(
                cycle.packages,
                (*cycle.packages[1:], cycle.packages[0]),
                cycle.hops,
                strict=True,
            ):
                assert {(e.source[0], e.target) for e in hop} == {(source, target)}
                live = 0
                for e in hop:
                    live |= e.cells
                assert cycle.cells & ~live == 0
            extras = [e.source[1] for hop in cycle.hops for e in hop]
            assert any(extras) or component.kind == "wheel-cycle"


def outline(components: list[Component]) -> list[object]:
    return [
        (
            c.kind,
            c.packages,
            c.cells,
            c.variants,
            c.capped,
            [(y.packages, y.cells) for y in c.cycles],
        )
        for c in components
    ]


@settings(max_examples=100, deadline=None)
@given(st.lists(edges, max_size=25), st.randoms(use_true_random=False))
def test_order_of_edges_does_not_matter(found: list[Edge], random: Random) -> None:
    straight = outline(find(found))
    mixed = list(found)
    random.shuffle(mixed)
    assert outline(find(mixed)) == straight
    few = outline(find(found, max_cycles=2))
    assert outline(find(mixed, max_cycles=2)) == few


def test_no_loop_is_in_two_components_of_one_kind() -> None:
    found = [edge(0, 1), edge(1, 0), edge(0, 2, 0b1), edge(2, 0, 0b1), edge(4, 5), edge(5, 4)]
    assert [c.packages for c in find(found)] == [(0, 1, 2), (4, 5)]


def test_members_are_in_the_order_of_names_not_of_indices() -> None:
    names = [canonicalize_name(name) for name in ("zebra", "ant", "mole")]
    (component,) = find([edge(0, 1), edge(1, 2), edge(2, 0)], names=names)
    assert component.packages == (1, 2, 0)
    assert component.cycles[0].packages == (1, 2, 0)


def test_versions_of_one_project_share_a_component_and_close_no_loop_with_each_other() -> None:
    names = [canonicalize_name(name) for name in ("a", "a", "b")]
    found = [edge(0, 2, 0b01), edge(2, 0, 0b01), edge(1, 2, 0b10), edge(2, 1, 0b10), edge(0, 1)]
    (component,) = find(found, names=names)
    assert component.packages == (0, 1, 2)
    assert component.variants == (((0, 2), 0b01), ((1, 2), 0b10))


def test_edges_that_only_the_lock_has_are_not_judged() -> None:
    back = edge(1, 0)
    unjudged = Edge(back.source, back.target, back.requirement, FULL, "lock", judged=False)
    assert find([edge(0, 1), unjudged]) == []


def test_many_small_loops_are_as_many_components() -> None:
    names = [canonicalize_name(f"p{i:05}") for i in range(6_000)]
    found = [e for i in range(0, 6_000, 2) for e in (edge(i, i + 1), edge(i + 1, i))]
    members = [component.packages for component in find(found, names=names)]
    assert members == [(i, i + 1) for i in range(0, 6_000, 2)]


def test_components_that_differ_in_too_many_ways_are_refused() -> None:
    """A hub and four spokes, every choice of which is the component in some cell."""
    cells = range(1 << 4)
    live = {i: sum(1 << cell for cell in cells if cell >> i & 1) for i in range(4)}
    wheel = {4: live, **{i: {4: live[i]} for i in live}}
    assert len(exact_components(wheel, (1 << 16) - 1)) == 15
    with pytest.raises(TooManySets):
        exact_components(wheel, (1 << 16) - 1, most=10)


# Capping -----------------------------------------------------------------------------------------


def complete(size: int) -> list[Edge]:
    return [edge(u, v) for u in range(size) for v in range(size) if u != v]


def test_the_cap_is_said_and_keeps_the_shortest() -> None:
    (component,) = find(complete(5), max_cycles=3)
    assert component.capped
    assert [cycle.packages for cycle in component.cycles] == [(0, 1), (0, 2), (0, 3)]


def test_all_loops_are_listed_and_no_cap_is_said() -> None:
    (component,) = find(complete(4))
    assert not component.capped
    assert len(component.cycles) == 6 + 8 + 6
    (component,) = find(complete(4), max_cycles=20)
    assert not component.capped


def test_many_loops_of_two_around_one_package_are_all_there_are() -> None:
    names = [canonicalize_name(f"p{i:02}") for i in range(40)]
    spokes = [e for i in range(1, 40) for e in (edge(0, i), edge(i, 0))]
    (component,) = find(spokes, names=names)
    assert len(component.cycles) == 39
    assert not component.capped


def test_a_dense_component_ends() -> None:
    names = [canonicalize_name(f"p{i:02}") for i in range(40)]
    found = [edge(u, v) for u in range(40) for v in range(40) if u != v]
    (component,) = find(found, names=names, max_cycles=10)
    assert component.capped
    assert len(component.cycles) == 10


def test_a_loop_that_no_short_loop_leads_to_is_found() -> None:
    names = [canonicalize_name(f"p{i:02}") for i in range(30)]
    (component,) = find([edge(i, (i + 1) % 30) for i in range(30)], names=names)
    assert [len(cycle.packages) for cycle in component.cycles] == [30]
    assert not component.capped


# Loops of one ------------------------------------------------------------------------------------


def test_self_edges_have_no_extra_on_either_side() -> None:
    plain = edge(0, 0)
    found = [plain, edge(0, 0, extra="x"), edge(0, 0, asks="x"), edge(0, 1)]
    assert find_self_edges(found, NAMES) == [plain]
    assert find(found) == []

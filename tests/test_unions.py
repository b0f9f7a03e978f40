"""A component of two sets of targets: nothing of either is lost, and nothing is made up."""

from __future__ import annotations

from dataclasses import replace

from distcycle.findings import Component, Cycle, Edge, Member, Severity, Variant
from distcycle.unions import unite_components


def edge(
    source: str, target: str, *targets: str, wheel: str = "", where: str | None = None
) -> Edge:
    return Edge(
        source=source,
        target=target,
        requirement=target,
        marker="",
        origin="wheel",
        wheel=wheel or None,
        path="lock",
        line=1,
        targets=targets,
        condition=where,
    )


def component(edges: tuple[Edge, ...], cycles: tuple[Cycle, ...], *targets: str) -> Component:
    names = sorted({name for e in edges for name in (e.source, e.target)})
    return Component(
        id="wheel-cycle:a+b",
        input="lock",
        code="wheel-cycle",
        severity=Severity.DENY,
        packages=tuple(Member(name=name, version="1") for name in names),
        requested_by=(),
        targets=targets,
        condition=None,
        variants=(),
        edges=edges,
        cycles=cycles,
        capped=False,
    )


def cycle(packages: str, hops: tuple[tuple[int, ...], ...], *targets: str) -> Cycle:
    return Cycle(packages=tuple(packages), hops=hops, targets=targets)


GLIBC = component(
    (edge("a", "b", "glibc", wheel="w1", where=""), edge("b", "a", "glibc", where="")),
    (replace(cycle("ab", ((0,), (1,)), "glibc"), condition=""),),
    "glibc",
)
MUSL = component(
    (edge("a", "b", "musl", wheel="w2"), edge("b", "a", "musl")),
    (cycle("ab", ((0,), (1,)), "musl"),),
    "musl",
)


def test_edges_of_both_are_kept_and_the_same_edge_is_one() -> None:
    united = unite_components(GLIBC, MUSL)
    assert united.edges == (
        edge("a", "b", "glibc", wheel="w1", where=""),
        edge("b", "a", "glibc", "musl", where=""),
        edge("a", "b", "musl", wheel="w2"),
    )
    assert united.targets == ("glibc", "musl")


def test_a_loop_of_both_has_the_hops_and_targets_of_both() -> None:
    [united] = unite_components(GLIBC, MUSL).cycles
    assert united == replace(cycle("ab", ((0, 2), (1,)), "glibc", "musl"), condition="")


def test_a_loop_of_the_second_alone_is_added_in_order() -> None:
    ring = (edge("a", "b", "m"), edge("b", "c", "m"), edge("c", "a", "m"), edge("b", "a", "m"))
    both = (cycle("ab", ((0,), (3,)), "m"), cycle("abc", ((0,), (1,), (2,)), "m"))
    long = component(ring[:3], (cycle("abc", ((0,), (1,), (2,)), "m"),), "m")
    united = unite_components(long, component(ring, both, "n"))
    assert [c.packages for c in united.cycles] == [("a", "b"), ("a", "b", "c")]
    for loop in united.cycles:
        for source, hop in zip(loop.packages, loop.hops, strict=True):
            assert {united.edges[at].source for at in hop} == {source}


def test_equal_member_sets_are_one_and_no_variant() -> None:
    assert unite_components(GLIBC, MUSL).variants == ()


def test_member_sets_that_differ_are_variants() -> None:
    parts = (
        Variant(packages=("a", "b"), targets=("musl",)),
        Variant(packages=("a", "b", "c"), targets=("other",)),
    )
    united = unite_components(GLIBC, replace(MUSL, variants=parts))
    assert united.variants == (
        Variant(packages=("a", "b"), targets=("glibc", "musl")),
        Variant(packages=("a", "b", "c"), targets=("other",)),
    )


def test_the_cap_of_either_is_said() -> None:
    assert unite_components(GLIBC, replace(MUSL, capped=True)).capped

"""One component as it was found on two sets of targets: every environment, and targets beside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from distcycle.findings import Component, Cycle, Edge, Variant

__all__ = ["unite_components"]


def unite_components(first: Component, second: Component) -> Component:
    """Put together what is known of a component on two sets of targets.

    Args:
        first: The component on one set; its conditions stand, for the targets of the second are
            those that no marker can tell.
        second: The same component, by its id, on another set.

    Returns:
        The component with the members, targets, edges, loops and exact member sets of both.
    """
    edges, moved = _unite_edges(first.edges, second.edges)
    members = {(m.name, m.version or ""): m for m in (*second.packages, *first.packages)}
    return replace(
        first,
        packages=tuple(members[key] for key in sorted(members)),
        targets=first.targets + second.targets,
        variants=tuple(_unite_variants(first, second)),
        edges=edges,
        cycles=_unite_cycles(first.cycles, second.cycles, moved),
        capped=first.capped or second.capped,
    )


def _unite_edges(
    first: tuple[Edge, ...], second: tuple[Edge, ...]
) -> tuple[tuple[Edge, ...], list[int]]:
    """The edges of both, and for each of the second where it now stands."""
    edges = list(first)
    places = {_anywhere(edge): i for i, edge in enumerate(edges)}
    moved = []
    for edge in second:
        place = places.setdefault(_anywhere(edge), len(edges))
        if place == len(edges):
            edges.append(edge)
        else:
            edges[place] = replace(edges[place], targets=edges[place].targets + edge.targets)
        moved.append(place)
    return tuple(edges), moved


def _anywhere(edge: Edge) -> Edge:
    """An edge without where it is live."""
    return replace(edge, targets=(), condition=None)


def _unite_cycles(
    first: tuple[Cycle, ...], second: tuple[Cycle, ...], moved: list[int]
) -> tuple[Cycle, ...]:
    cycles = {cycle.packages: cycle for cycle in first}
    for cycle in second:
        hops = tuple(tuple(moved[edge] for edge in hop) for hop in cycle.hops)
        own = cycles.get(cycle.packages)
        if own is None:
            cycles[cycle.packages] = replace(cycle, hops=hops)
        else:
            pairs = zip(own.hops, hops, strict=True)
            cycles[cycle.packages] = replace(
                own,
                targets=own.targets + cycle.targets,
                hops=tuple(tuple(dict.fromkeys(a + b)) for a, b in pairs),
            )
    return tuple(sorted(cycles.values(), key=lambda cycle: (len(cycle.packages), cycle.packages)))


def _unite_variants(first: Component, second: Component) -> Iterator[Variant]:
    """The exact member sets of both; none when there is just one."""
    variants = {variant.packages: variant for variant in _exact_sets(first)}
    for variant in _exact_sets(second):
        own = variants.get(variant.packages)
        variants[variant.packages] = (
            variant if own is None else replace(own, targets=own.targets + variant.targets)
        )
    if len(variants) > 1:
        yield from (variants[packages] for packages in sorted(variants))


def _exact_sets(component: Component) -> tuple[Variant, ...]:
    names = tuple(sorted({member.name for member in component.packages}))
    whole = Variant(packages=names, targets=component.targets, condition=component.condition)
    return component.variants or (whole,)

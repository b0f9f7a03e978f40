"""The part of a large loop that a drawing can show."""

from __future__ import annotations

from dataclasses import replace

from distcycle.findings import Component

__all__ = ["find_excerpt"]


def find_excerpt(component: Component, most: int) -> Component:
    """Take the members of a loop that are best drawn where all are too many.

    Those are the members of the loops that are listed, the short ones first, each whole; then what
    the edges join that open it.

    Args:
        component: The loop.
        most: How many members can be drawn.

    Returns:
        The loop of these members with their edges, and only the listed loops that are within; the
        loop itself where it is small enough.
    """
    if len(component.packages) <= most:
        return component
    names: set[str] = set()
    for cycle in component.cycles:
        if len(names.union(cycle.packages)) <= most:
            names.update(cycle.packages)
    for pair in component.breakers[0] if component.breakers else ():
        if len(names.union(pair)) <= most:
            names.update(pair)
    if not names:
        names.update(member.name for member in component.packages[:most])
    kept = [
        at
        for at, edge in enumerate(component.edges)
        if edge.source in names and edge.target in names
    ]
    place = {at: new for new, at in enumerate(kept)}
    return replace(
        component,
        packages=tuple(member for member in component.packages if member.name in names),
        edges=tuple(component.edges[at] for at in kept),
        cycles=tuple(
            replace(cycle, hops=tuple(tuple(place[at] for at in hop) for hop in cycle.hops))
            for cycle in component.cycles
            if names.issuperset(cycle.packages)
            and all(at in place for hop in cycle.hops for at in hop)
        ),
    )

"""What is lost when an edge goes: version bounds, and reach."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from distcycle.markers import Condition
from distcycle.selection import Node, Selection, flow_along

__all__ = ["lost_bounds", "reach_without"]


def reach_without(
    selection: Selection, removed: Collection[tuple[int, int]]
) -> dict[Node, Condition]:
    """Find where each node would be reached if some packages did not require some others.

    Args:
        selection: What was selected.
        removed: Pairs of the package that requires and the one that is required.
    """
    gone = frozenset(removed)
    return flow_along(selection, lambda edge: (edge.source[0], edge.target) not in gone)


def lost_bounds(
    selection: Selection, source: int, target: int, reached: Mapping[Node, Condition]
) -> tuple[str, ...]:
    """Find the version bounds on a package that only one other package holds.

    Args:
        selection: What was selected.
        source: The package that requires.
        target: The package that is required.
        reached: Where each node is reached without the edge.

    Returns:
        The specifiers that no other live requirement on the target has, sorted.
    """
    own: set[str] = set()
    others: set[str] = set()
    for edge in selection.edges:
        # What a lock binds an edge to is its pin, and no bound of the package's own.
        is_pin = edge.origin == "lock" and edge.requirement.package is not None
        if edge.target == target and edge.judged and not is_pin:
            specifiers = {str(specifier) for specifier in edge.requirement.specifier}
            if edge.source[0] == source:
                own |= specifiers
            elif edge.cells & reached.get(edge.source, 0):
                others |= specifiers
    for requirement, index, _ in selection.entries:
        if index == target:
            others |= {str(specifier) for specifier in requirement.specifier}
    return tuple(sorted(own - others))

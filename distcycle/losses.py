"""What is lost when an edge goes: version bounds, and reach."""

from __future__ import annotations

from collections.abc import Mapping

from distcycle.markers import Condition
from distcycle.selection import Node, Selection, flow_along

__all__ = ["lost_bounds", "reach_without"]


def reach_without(selection: Selection, source: int, target: int) -> dict[Node, Condition]:
    """Find where each node would be reached if one package did not require another.

    Args:
        selection: What was selected.
        source: The package that requires.
        target: The package that is required.
    """
    return flow_along(selection, lambda edge: (edge.source[0], edge.target) != (source, target))


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
        if edge.target == target and edge.judged:
            specifiers = {str(specifier) for specifier in edge.requirement.specifier}
            if edge.source[0] == source:
                own |= specifiers
            elif edge.cells & reached.get(edge.source, 0):
                others |= specifiers
    for requirement, index, _ in selection.entries:
        if index == target:
            others |= {str(specifier) for specifier in requirement.specifier}
    return tuple(sorted(own - others))

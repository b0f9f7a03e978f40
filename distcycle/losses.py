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
    selection: Selection,
    pair: tuple[int, int],
    removed: Collection[tuple[int, int]],
    reached: Mapping[Node, Condition],
) -> tuple[str, ...]:
    """Find the version bounds that go with an edge.

    Args:
        selection: What was selected.
        pair: The package that requires and the one that is required.
        removed: All pairs that go together, ``pair`` among them.
        reached: Where each node is reached without them.

    Returns:
        The specifiers of the edge that no requirement which stays has, sorted.
    """
    gone = {*removed, pair}
    own: set[str] = set()
    others: set[str] = set()
    for edge in selection.edges_into(pair[1]):
        # What a lock binds an edge to is its pin, and no bound of the package's own.
        is_pin = edge.origin == "lock" and edge.requirement.package is not None
        if not edge.judged or is_pin:
            continue
        ends = (edge.source[0], edge.target)
        specifiers = {str(specifier) for specifier in edge.requirement.specifier}
        if ends == pair:
            own |= specifiers
        elif ends not in gone and edge.cells & reached.get(edge.source, 0):
            others |= specifiers
    for requirement, index, _ in selection.entries:
        if index == pair[1]:
            others |= {str(specifier) for specifier in requirement.specifier}
    return tuple(sorted(own - others))

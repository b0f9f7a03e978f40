"""The graph engine, behind one door: components and elementary cycles by networkx.

networkx takes longer to import than a small input takes to judge, so what cannot be on any loop is
peeled off first, and networkx is imported only when something is left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

__all__ = ["elementary_cycles", "strong_components"]

Node = TypeVar("Node", bound=Hashable)


def strong_components(successors: Mapping[Node, Iterable[Node]]) -> list[frozenset[Node]]:
    """Strongly connected sets of two or more nodes, or of one with an edge to itself.

    Args:
        successors: For each node the nodes it has an edge to; a node without edges may be left out.

    Returns:
        The sets, in no particular order.
    """
    core = _peel(successors)
    if not core:
        return []
    import networkx as nx

    graph: nx.DiGraph[Node] = nx.DiGraph()
    graph.add_edges_from((u, v) for u, targets in core.items() for v in targets)
    return [
        frozenset(nodes)
        for nodes in nx.strongly_connected_components(graph)
        if len(nodes) > 1 or any(v in core[v] for v in nodes)
    ]


def _peel(successors: Mapping[Node, Iterable[Node]]) -> dict[Node, set[Node]]:
    """Take away, again and again, nodes without an edge in or without an edge out."""
    out = {u: set(targets) for u, targets in successors.items()}
    for targets in list(out.values()):
        for v in targets:
            out.setdefault(v, set())
    into: dict[Node, set[Node]] = {u: set() for u in out}
    for u, targets in out.items():
        for v in targets:
            into[v].add(u)
    queue = deque(u for u in out if not out[u] or not into[u])
    while queue:
        u = queue.popleft()
        if u not in out:
            continue
        for v in out.pop(u):
            into[v].discard(u)
            if not into[v] and v in out:
                queue.append(v)
        for v in into.pop(u):
            if v in out:
                out[v].discard(u)
                if not out[v]:
                    queue.append(v)
    return out


def elementary_cycles(
    successors: Mapping[Node, Iterable[Node]], length: int | None = None
) -> Iterator[list[Node]]:
    """Every elementary cycle, or every one of exactly the given length, each once.

    Args:
        successors: For each node the nodes it has an edge to.
        length: The number of edges, at least 1; None for any, in no particular order.
    """
    import networkx as nx

    graph: nx.DiGraph[Node] = nx.DiGraph()
    graph.add_edges_from((u, v) for u, targets in successors.items() for v in targets)
    cycles: Iterator[list[Node]] = nx.simple_cycles(graph, length_bound=length)
    return (c for c in cycles if length is None or len(c) == length)

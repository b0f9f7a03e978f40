"""The graph engine, behind one door: components, and elementary cycles, the short ones first.

It does what networkx does for components, without an import that takes longer than most inputs take
to judge; for cycles it goes by length and under conditions, which networkx cannot: with a bound on
the length it looks for components again after every node.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

__all__ = ["CycleSearch", "shortest_cycle", "strong_components"]

Node = TypeVar("Node", bound=Hashable)


def strong_components(successors: Mapping[Node, Iterable[Node]]) -> list[frozenset[Node]]:
    """Strongly connected sets of two or more nodes, or of one with an edge to itself.

    Args:
        successors: For each node the nodes it has an edge to; a node without edges may be left out.

    Returns:
        The sets, in no particular order.

    Source: R. Tarjan, Depth-first search and linear graph algorithms, 1972; without recursion.
    """
    number: dict[Node, int] = {}
    lowest: dict[Node, int] = {}
    stack: list[Node] = []
    open_nodes: set[Node] = set()
    found: list[frozenset[Node]] = []
    for root in successors:
        if root in number:
            continue
        work = [(root, iter(successors[root]))]
        number[root] = lowest[root] = len(number)
        stack.append(root)
        open_nodes.add(root)
        while work:
            u, targets = work[-1]
            for v in targets:
                if v not in number:
                    number[v] = lowest[v] = len(number)
                    stack.append(v)
                    open_nodes.add(v)
                    work.append((v, iter(successors.get(v, ()))))
                    break
                if v in open_nodes:
                    lowest[u] = min(lowest[u], number[v])
            else:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[u])
                if lowest[u] == number[u]:
                    members = _pop_to(u, stack, open_nodes)
                    if len(members) > 1 or u in set(successors.get(u, ())):
                        found.append(members)
    return found


def _pop_to(last: Node, stack: list[Node], open_nodes: set[Node]) -> frozenset[Node]:
    members: list[Node] = []
    while not members or members[-1] != last:
        members.append(stack.pop())
        open_nodes.discard(members[-1])
    return frozenset(members)


def shortest_cycle(start: Node, successors: Mapping[Node, Iterable[Node]]) -> list[Node] | None:
    """A shortest cycle through a node, from there on; None when nothing leads back.

    Args:
        start: The node.
        successors: For each node the nodes it has an edge to; the order decides between cycles of
            equal length.
    """
    came_from: dict[Node, Node] = {}
    queue = deque([start])
    while queue and start not in came_from:
        u = queue.popleft()
        for v in successors.get(u, ()):
            if v not in came_from:
                came_from[v] = u
                queue.append(v)
    if start not in came_from:
        return None
    cycle = [came_from[start]]
    while cycle[-1] != start:
        cycle.append(came_from[cycle[-1]])
    return cycle[::-1]


class CycleSearch(Generic[Node]):
    """Every elementary cycle that exists somewhere, each once, the short ones first.

    For one length after another, and for each node as the first of its cycles, a search in depth
    goes only where the way back still fits the length, and only where all edges so far exist
    together.

    Args:
        edges: From node to node, where the edge exists, one bit for each environment.
        steps: How many edges may be looked at; as many cycles can be exponential in their length,
            the search then stops.
    """

    def __init__(self, edges: Mapping[Node, Mapping[Node, int]], *, steps: int) -> None:
        self._edges = edges
        self._order = {node: i for i, node in enumerate(edges)}
        self._back: dict[Node, list[Node]] = {node: [] for node in edges}
        for u, targets in edges.items():
            for v in targets:
                self._back[v].append(u)
        self._steps = steps
        self.exhausted = False
        """Whether the search stopped before it had seen every cycle."""

    def __iter__(self) -> Iterator[list[Node]]:
        for length in range(2, len(self._edges) + 1):
            for start in self._edges:
                yield from self._from(start, length)
                if self._steps < 0:
                    self.exhausted = True
                    return

    def _from(self, start: Node, length: int) -> Iterator[list[Node]]:
        """The cycles of a length whose first node, in the order of all nodes, is the start."""
        back = self._distances(start, length)
        path = [start]
        cells = [-1]
        work = [iter(self._edges[start].items())]
        while work:
            for v, where in work[-1]:
                self._steps -= 1
                here = cells[-1] & where
                if not here:
                    continue
                if v == start and len(path) == length:
                    yield list(path)
                elif v != start and back.get(v, length) <= length - len(path) and v not in path:
                    path.append(v)
                    cells.append(here)
                    work.append(iter(self._edges[v].items()))
                    break
            else:
                work.pop()
                path.pop()
                cells.pop()
            if self._steps < 0:
                return

    def _distances(self, start: Node, length: int) -> dict[Node, int]:
        """How many edges lead at least from each later node back to the start, up to a length."""
        first = self._order[start]
        distances: dict[Node, int] = {}
        layer = [start]
        for distance in range(1, length):
            following = []
            for v in layer:
                self._steps -= len(self._back[v])
                for u in self._back[v]:
                    if u not in distances and self._order[u] > first:
                        distances[u] = distance
                        following.append(u)
            layer = following
        return distances

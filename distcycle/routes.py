"""How packages are reached: a shortest way from what is asked for to each, in one search."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from distcycle.markers import Condition
from distcycle.model import Place, Requirement
from distcycle.selection import Edge, Node, Selection

__all__ = ["Route", "Routes"]


@dataclass(frozen=True, slots=True)
class Route:
    """A way from what is asked for to a package.

    Attributes:
        root: What is asked for.
        start: The index of the package that the root means.
        edges: From there, to the package that is reached; each is live where the next one is.
    """

    root: Requirement
    start: int
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """A node as it is first reached in some cells."""

    node: Node
    cells: Condition
    root: Requirement
    before: _Step | None = None
    edge: Edge | None = None


class Routes:
    """The shortest ways to every node, and of several those that come first by name.

    All are found in one breadth-first search, which is made when a way is first asked for. In a
    compiled file every line is a root; ways begin at lines that no ``# via`` comment explains by
    another package, as far as these lead.

    Args:
        selection: What was selected.
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._steps: dict[Node, list[_Step]] | None = None

    def to(self, node: Node, cells: Condition) -> Route | None:
        """Find a shortest way to a node that is open in some of a condition's cells.

        Args:
            node: A package's index and an extra of it, or ``""``.
            cells: Where; the way is open in at least one of them, not necessarily in all.

        Returns:
            The way; None where the node is not reached.
        """
        if self._steps is None:
            self._steps = self._search()
        for step in self._steps.get(node, ()):
            if step.cells & cells:
                return _route(step)
        return None

    def _search(self) -> dict[Node, list[_Step]]:
        steps: dict[Node, list[_Step]] = defaultdict(list)
        seen: dict[Node, Condition] = defaultdict(int)
        outgoing = self._outgoing()
        for first in self._first_steps():
            pending = deque(first)
            while pending:
                step = pending.popleft()
                if new := step.cells & ~seen[step.node]:
                    seen[step.node] |= new
                    step = replace(step, cells=new)
                    steps[step.node].append(step)
                    pending += _next_steps(step, outgoing.get(step.node, ()))
        return steps

    def _first_steps(self) -> Iterator[list[_Step]]:
        """What is asked for; then what is so only because a compiler wrote down everything."""
        packages = self._selection.snapshot.packages
        entries = sorted(
            self._selection.entries,
            key=lambda entry: (self._order(entry[1]), _place_order(entry[0].place), entry[0].text),
        )
        for is_asked_for in (True, False):
            yield [
                _Step((index, extra), cells, root)
                for root, index, cells in entries
                for extra in ("", *root.extras)
                if is_asked_for is not bool(packages[index].via)
            ]

    def _outgoing(self) -> dict[Node, list[Edge]]:
        outgoing: dict[Node, list[Edge]] = defaultdict(list)
        for edge in self._selection.edges:
            outgoing[edge.source].append(edge)
        for edges in outgoing.values():
            edges.sort(key=lambda edge: (self._order(edge.target), edge.requirement.text))
        return outgoing

    def _order(self, index: int) -> tuple[object, ...]:
        """Sorts packages by what they are, not by where the input has them."""
        package = self._selection.snapshot.packages[index]
        return (package.name, str(package.version), _place_order(package.place))


def _place_order(place: Place | None) -> tuple[str, int, str]:
    return ("", 0, "") if place is None else (place.path, place.line or 0, place.key or "")


def _next_steps(step: _Step, edges: Iterable[Edge]) -> Iterator[_Step]:
    for edge in edges:
        if cells := step.cells & edge.cells:
            for extra in ("", *edge.requirement.extras):
                yield _Step((edge.target, extra), cells, step.root, step, edge)


def _route(step: _Step) -> Route:
    edges: list[Edge] = []
    while step.before is not None and step.edge is not None:
        edges.append(step.edge)
        step = step.before
    return Route(step.root, step.node[0], tuple(reversed(edges)))

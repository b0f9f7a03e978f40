"""In which order packages stand around a drawing, and which one stands in its middle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from distcycle.reporters.html.shapes import Pair

__all__ = ["find_hub", "find_neighbours", "order_nodes"]

_MOST_SWAPPED = 12  # every pair is tried, so that many take long


def find_neighbours(names: Iterable[str], pairs: Iterable[Pair]) -> dict[str, set[str]]:
    """Say of each package which others an arrow joins it to, in whichever direction."""
    neighbours: dict[str, set[str]] = {name: set() for name in sorted(names)}
    for source, target in pairs:
        if source != target:
            neighbours[source].add(target)
            neighbours[target].add(source)
    return neighbours


def find_hub(neighbours: Mapping[str, set[str]]) -> str | None:
    """The package that most others are joined to, when no other comes near it."""
    if len(neighbours) < 4:
        return None
    second, first = sorted(neighbours, key=lambda name: (len(neighbours[name]), name))[-2:]
    most = len(neighbours[first])
    wide = most >= 0.6 * (len(neighbours) - 1)
    return first if wide and len(neighbours[second]) <= most / 2 else None


def order_nodes(neighbours: Mapping[str, set[str]], hub: str | None) -> list[str]:
    """Around a hub by name, as names are what people seek there; else neighbours side by side."""
    if hub is not None:
        return sorted(neighbours)
    order = _walk(neighbours)
    if len(order) <= _MOST_SWAPPED:
        _shorten(order, neighbours)
    first = order.index(min(order))
    return order[first:] + order[:first]


def _walk(neighbours: Mapping[str, set[str]]) -> list[str]:
    """Depth first from the package with most neighbours; a plain loop comes out in its order."""
    by_weight = sorted(neighbours, key=lambda name: (-len(neighbours[name]), name))
    order: dict[str, None] = {}
    stack = by_weight[::-1]
    while stack:
        name = stack.pop()
        if name not in order:
            order[name] = None
            stack += [other for other in reversed(by_weight) if other in neighbours[name]]
    return list(order)


def _shorten(order: list[str], neighbours: Mapping[str, set[str]]) -> None:
    """Swap packages while that makes the arrows shorter, in steps around the circle."""
    best = _steps(order, neighbours)
    improved = True
    while improved:
        improved = False
        for i in range(len(order)):
            for j in range(i):
                order[i], order[j] = order[j], order[i]
                steps = _steps(order, neighbours)
                if steps < best:
                    best, improved = steps, True
                else:
                    order[i], order[j] = order[j], order[i]


def _steps(order: Sequence[str], neighbours: Mapping[str, set[str]]) -> int:
    place = {name: at for at, name in enumerate(order)}
    gaps = (abs(place[a] - place[b]) for a in order for b in neighbours[a])
    return sum(min(gap, len(order) - gap) for gap in gaps)

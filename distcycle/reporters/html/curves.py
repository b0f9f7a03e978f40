"""How arrows go from one package to another."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from distcycle.reporters.html.shapes import Curve, Node, Pair, Point

__all__ = ["Curves"]

_GAP = 2.0  # between the edge of a package and its arrows
_ROUNDS = 24  # of halving, which is finer than any screen

Bezier = tuple[Point, Point, Point]


@dataclass(frozen=True, slots=True)
class Curves:
    """Draws the arrows between packages that have their places.

    Attributes:
        nodes: The packages.
        hub: The one in the middle, if any.
        center: The middle.
        pairs: All arrows.
    """

    nodes: Mapping[str, Node]
    hub: str | None
    center: Point
    pairs: frozenset[Pair]

    def draw(self, pair: Pair) -> Curve:
        """Draw an arrow from the edge of one package to the edge of the other."""
        source, target = self.nodes[pair[0]], self.nodes[pair[1]]
        if pair[0] == pair[1]:
            return _ear(source)
        small = source.round or target.round
        points = (source.x, source.y), self._bend(pair, small=small), (target.x, target.y)
        return _trim(points, source, target, 6.5 if small else 10.0)

    def _bend(self, pair: Pair, *, small: bool) -> Point:
        """The point that an arrow is drawn towards on its way.

        Arrows of a pair each keep to one side. They bend to the middle, past what stands between
        their ends, or, where a package stands in the middle, around it.
        """
        source, target = self.nodes[pair[0]], self.nodes[pair[1]]
        x, y = (source.x + target.x) / 2, (source.y + target.y) / 2
        length = math.dist((source.x, source.y), (target.x, target.y)) or 1.0
        if self.hub not in (*pair, None):
            x, y = _around(source, target, self.center)
        elif self.hub is None:
            pull = 0.55 if small else 0.3
            x, y = x + pull * (self.center[0] - x), y + pull * (self.center[1] - y)
        if (pair[1], pair[0]) not in self.pairs:
            return x, y
        aside = min(0.1 * length, 10.0) if small else min(0.22 * length, 60.0)
        dx, dy = (target.x - source.x) / length, (target.y - source.y) / length
        return x + aside * dy, y - aside * dx


def _around(source: Node, target: Node, center: Point) -> Point:
    """The bend of an arrow that passes the middle at a distance."""
    first = math.atan2(source.y - center[1], source.x - center[0])
    turn = math.atan2(target.y - center[1], target.x - center[0]) - first
    turn = (turn + math.pi) % (2 * math.pi) - math.pi
    angle = first + turn / 2
    radius = 0.85 * math.dist((source.x, source.y), center)
    return center[0] + radius * math.cos(angle), center[1] + radius * math.sin(angle)


def _ear(node: Node) -> Curve:
    """The arrow from a package to itself."""
    x, y = node.x, node.y - node.height / 2
    ends = (x - 12, y), (x - 30, y - 34), (x + 30, y - 34), (x + 14, y - 6)
    first, *rest = (f"{_number(a)} {_number(b)}" for a, b in ends)
    return Curve(path=f"M{first}C{' '.join(rest)}", head=_head((x + 16, y - 8), (x + 11, y), 8.0))


def _trim(points: Bezier, source: Node, target: Node, size: float) -> Curve:
    """Let an arrow begin and end at the edge of what it joins, and its line within its head."""
    back = points[2], points[1], points[0]
    tip = 1 - _leave(back, lambda point: target.contains(point, _GAP))
    end = _at(points, tip)
    base = 1 - _leave(
        back,
        lambda point: target.contains(point, _GAP) or math.dist(point, end) < 0.8 * size,
    )
    start = min(_leave(points, lambda point: source.contains(point, _GAP)), base)
    first, *rest = (f"{_number(x)} {_number(y)}" for x, y in _part(points, start, base))
    return Curve(path=f"M{first}Q{' '.join(rest)}", head=_head(_at(points, base), end, size))


def _leave(points: Bezier, is_within: Callable[[Point], bool]) -> float:
    """How far along a curve it leaves what it begins in, from 0 to 1."""
    low, high = 0.0, 1.0
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        if is_within(_at(points, middle)):
            low = middle
        else:
            high = middle
    return high


def _at(points: Bezier, t: float) -> Point:
    (ax, ay), (bx, by), (cx, cy) = points
    a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t * t
    return a * ax + b * bx + c * cx, a * ay + b * by + c * cy


def _part(points: Bezier, start: float, end: float) -> Bezier:
    """The part of a curve between two places on it: its ends, and its bend by blossoming."""
    (ax, ay), (bx, by), (cx, cy) = points
    u, v = (1 - start) * (1 - end), start * (1 - end) + end * (1 - start)
    w = start * end
    bend = u * ax + v * bx + w * cx, u * ay + v * by + w * cy
    return _at(points, start), bend, _at(points, end)


def _head(base: Point, tip: Point, size: float) -> str:
    length = math.dist(base, tip) or 1.0
    dx, dy = (tip[0] - base[0]) / length, (tip[1] - base[1]) / length
    half = 0.4 * size
    x, y = tip[0] - size * dx, tip[1] - size * dy
    corners = (tip, (x - half * dy, y + half * dx), (x + half * dy, y - half * dx))
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in corners)


def _number(value: float) -> str:
    """A coordinate to a tenth, without a minus before zero."""
    return f"{round(value, 1) + 0.0:g}"

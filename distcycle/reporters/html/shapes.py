"""What a drawing is made of: packages, as boxes and dots, and arrows between them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from distcycle.reporters.html.lettering import FONT_SIZE, LINE_HEIGHT

__all__ = ["Curve", "Node", "Pair", "Point"]

Pair = tuple[str, str]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A package in a drawing; lengths are in the drawing's units, about a pixel each.

    Attributes:
        x: Its middle.
        y: Its middle.
        width: Of its box, or the diameter of its dot.
        height: Of its box, or the diameter of its dot.
        round: Whether it is a dot or a disc.
        lines: Its label, line by line.
        version: The last line, smaller; ``""`` for none.
        angle: Degrees by which a label beside a dot is turned; None for a label in the middle.
        flipped: Whether a label beside a dot ends at it, rather than begins.
    """

    x: float
    y: float
    width: float
    height: float
    round: bool = False
    lines: tuple[str, ...]
    version: str
    angle: float | None = None
    flipped: bool = False

    def contains(self, point: Point, margin: float) -> bool:
        """Whether a point is in its box or dot, or within a margin of it."""
        dx, dy = abs(point[0] - self.x), abs(point[1] - self.y)
        if self.round:
            return math.hypot(dx, dy) < self.width / 2 + margin
        return dx < self.width / 2 + margin and dy < self.height / 2 + margin

    def baseline(self, line: int) -> float:
        """Where a line of a label in the middle stands, from the middle."""
        lines = len(self.lines) + bool(self.version)
        return (line - (lines - 1) / 2) * LINE_HEIGHT + 0.34 * FONT_SIZE


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """An arrow in a drawing.

    Attributes:
        path: Its line, as the ``d`` of an SVG path.
        head: Its tip, as the ``points`` of an SVG polygon.
    """

    path: str
    head: str

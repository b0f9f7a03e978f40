"""Where the packages and arrows of a loop stand in its drawing; the same loop, the same drawing.

Up to twelve packages are boxes on an ellipse. More are dots on a circle, with their names written
outwards, so that a hundred can be read. A package that most others are joined to stands in the
middle.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from distcycle.reporters.escape import printable
from distcycle.reporters.html.curves import Curves
from distcycle.reporters.html.lettering import FONT_SIZE, LINE_HEIGHT, cut, text_width, wrap
from distcycle.reporters.html.order import find_hub, find_neighbours, order_nodes
from distcycle.reporters.html.shapes import Curve, Node, Pair, Point

__all__ = ["LONGEST_NAME", "Drawing", "lay_out"]

_MOST_BOXES = 12
_BOX_GAP = 56.0
_PAIR_GAP = 120.0  # two packages have one gap to show both arrows in
_SMALL_FONT = 11.5
_RING_STEP = 16.0  # along the circle, from one name to the next
_HEAD_STEP = 7.0  # along the edge of the package in the middle, from one arrow to the next
_DOT_RADIUS = 4.0
LONGEST_NAME = 46  # beside a dot, in columns
_MARGIN = 16.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Where everything is.

    Attributes:
        width: Of the whole.
        height: Of the whole.
        nodes: The packages.
        curves: The arrows.
    """

    width: float
    height: float
    nodes: Mapping[str, Node]
    curves: Mapping[Pair, Curve]


def lay_out(
    labels: Mapping[str, str],
    pairs: Collection[Pair],
    *,
    shown: Mapping[str, str] | None = None,
    ring_by_name: bool = False,
) -> Drawing:
    """Find a place for every package or module, and for every arrow.

    Args:
        labels: The members, each with what stands below its name: its version.
        pairs: The arrows, from member to member; both ends are in ``labels``.
        shown: What is written instead of the name; None for the names.
        ring_by_name: Whether dots on a circle stand in the order of their names, so that modules of
            one package stand together, rather than neighbours side by side.

    Returns:
        The drawing, with every coordinate positive.
    """
    neighbours = find_neighbours(labels, pairs)
    hub = find_hub(neighbours)
    small = len(labels) <= _MOST_BOXES
    by_name = ring_by_name and not small
    order = sorted(neighbours) if by_name else order_nodes(neighbours, hub)
    around = [name for name in order if name != hub]
    names = {name: printable((shown or {}).get(name, name)) for name in labels}
    if small:
        nodes = _boxes(around, hub, labels, names)
    else:
        nodes = _ring(around, hub, labels, names, least=120.0 + min(len(pairs) / 3, 110.0))
    nodes, width, height = _shift(nodes)
    curves = Curves(nodes, hub=hub, center=_center(nodes, around), pairs=frozenset(pairs))
    return Drawing(
        width=width,
        height=height,
        nodes=nodes,
        curves={pair: curves.draw(pair) for pair in sorted(pairs)},
    )


def _boxes(
    around: Sequence[str], hub: str | None, labels: Mapping[str, str], names: Mapping[str, str]
) -> dict[str, Node]:
    """Boxes on the smallest ellipse on which none touches another."""
    boxes = {name: _box(names[name], labels[name]) for name in (*around, *([hub] if hub else []))}
    radius = 60.0
    while True:
        radius *= 1.04
        for at, name in enumerate(around):
            x, y = _on_ellipse(at, len(around), radius)
            boxes[name] = replace(boxes[name], x=x, y=y)
        if _are_apart(list(boxes.values())):
            return boxes


def _box(name: str, version: str) -> Node:
    lines, version = wrap(name), cut(printable(version), 24)
    width = max(text_width(line, FONT_SIZE) for line in (*lines, version)) + 26
    height = (len(lines) + bool(version)) * LINE_HEIGHT + 16
    return Node(x=0, y=0, width=max(width, 84), height=height, lines=lines, version=version)


def _on_ellipse(at: int, count: int, radius: float) -> Point:
    if count == 2:
        return (radius if at else -radius), 0.0
    angle = 2 * math.pi * at / count - math.pi / 2
    return 1.3 * radius * math.cos(angle), radius * math.sin(angle)


def _are_apart(boxes: Sequence[Node]) -> bool:
    gap = _PAIR_GAP if len(boxes) == 2 else _BOX_GAP
    return all(
        abs(a.x - b.x) > (a.width + b.width) / 2 + gap
        or abs(a.y - b.y) > (a.height + b.height) / 2 + _BOX_GAP
        for at, a in enumerate(boxes)
        for b in boxes[:at]
    )


def _ring(
    around: Sequence[str],
    hub: str | None,
    labels: Mapping[str, str],
    names: Mapping[str, str],
    *,
    least: float,
) -> dict[str, Node]:
    """Dots on a circle that is wide enough for their names, and for all arrows of the hub."""
    disc = max(56.0, len(around) * _HEAD_STEP / (2 * math.pi)) if hub else 0.0
    radius = max(len(around) * _RING_STEP / (2 * math.pi), disc + 130, least)
    nodes = {}
    for at, name in enumerate(around):
        angle = 2 * math.pi * at / len(around) - math.pi / 2
        flipped = math.cos(angle) < -1e-9
        nodes[name] = Node(
            x=radius * math.cos(angle),
            y=radius * math.sin(angle),
            width=2 * _DOT_RADIUS,
            height=2 * _DOT_RADIUS,
            round=True,
            lines=(cut(names[name], LONGEST_NAME),),
            version="",
            angle=math.degrees(angle) + (180 if flipped else 0),
            flipped=flipped,
        )
    if hub is not None:
        box = _box(names[hub], labels[hub])
        size = max(2 * disc, box.width + 24)
        nodes[hub] = replace(box, width=size, height=size, round=True)
    return nodes


def _shift(nodes: Mapping[str, Node]) -> tuple[dict[str, Node], float, float]:
    """Move everything so that no coordinate is negative."""
    corners = [corner for node in nodes.values() for corner in _corners(node)]
    left, top = min(x for x, _ in corners) - _MARGIN, min(y for _, y in corners) - _MARGIN
    width = max(x for x, _ in corners) + _MARGIN - left
    height = max(y for _, y in corners) + _MARGIN - top
    moved = {name: replace(node, x=node.x - left, y=node.y - top) for name, node in nodes.items()}
    return moved, width, height


def _corners(node: Node) -> Iterable[Point]:
    bulge = 0.0 if node.round else 22.0  # arrows bend out beyond the outermost boxes
    for sign in (-1, 1):
        yield node.x + sign * (node.width / 2), node.y + sign * (node.height / 2 + bulge)
    if node.angle is not None:
        angle = math.radians(node.angle + (180 if node.flipped else 0))
        reach = text_width(node.lines[0], _SMALL_FONT) + 14
        yield node.x + reach * math.cos(angle), node.y + reach * math.sin(angle)


# Arrows ------------------------------------------------------------------------------------------


def _center(nodes: Mapping[str, Node], around: Sequence[str]) -> Point:
    xs, ys = [nodes[name].x for name in around], [nodes[name].y for name in around]
    return (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2

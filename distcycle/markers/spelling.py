"""From a condition back to a marker: the shortest spelling found, checked before it is shown.

A condition is covered with as few boxes as are found, each a choice of values on every axis; a box
is spelled axis by axis. Cells outside the space's bounds are don't-cares: whatever makes the text
shorter is taken of them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from packaging.markers import InvalidMarker, Marker

from distcycle.markers import axes
from distcycle.markers.expressions import Atom
from distcycle.markers.space import Axis, Condition, Space

__all__ = ["EVERYWHERE", "NOWHERE", "Speller"]

EVERYWHERE = ""
NOWHERE = "python_version < '0'"
"""A marker that holds nowhere; people are told ``in no environment``."""

_MOST_TERMS = 8
_MOST_BOXES = _MOST_TERMS + 4
_MOST_ORDERS = 24
Values = frozenset[int]


@dataclass(frozen=True, slots=True)
class _Box:
    """Values on every axis, and the cells that have them."""

    values: tuple[Values, ...]
    cells: Condition


@dataclass(frozen=True, slots=True)
class _Text:
    """A spelling of one axis, and whether it must be put in brackets beside others."""

    text: str
    loose: bool = False
    length: int = 1


class Speller:
    """Spells the conditions of one space.

    Args:
        space: The space.
        within: The cells that matter; what holds on all of them holds everywhere.
    """

    def __init__(self, space: Space, within: Condition) -> None:
        self._space = space
        self._within = within
        self._spelled: dict[Condition, str | None] = {}
        self._covers: dict[Condition, list[_Box]] = {}
        self._masks = [
            [space.mask(axis, (k,)) for k in range(len(axis.values))] for axis in space.axes
        ]
        self._literals: dict[str, list[tuple[Values, str]]] = {}

    def spell(self, condition: Condition) -> str | None:
        """Spell a condition as a marker.

        Args:
            condition: The cells; those that do not matter are left out of account.

        Returns:
            The marker; ``""`` when it holds everywhere, :data:`NOWHERE` when it holds nowhere;
            None when no marker of eight terms or fewer was found that says just this.
        """
        care = condition & self._within
        if care not in self._spelled:
            self._spelled[care] = self._spell(care)
        return self._spelled[care]

    def sample(self, condition: Condition) -> str:
        """Spell a condition that has no short marker by its first terms, and say so."""
        care = condition & self._within
        boxes = self._cover(care, care | (self._space.full & ~self._within))[:_MOST_TERMS]
        terms = [self._term(box, box.cells & care) for box in boxes]
        return f"{_spell_terms(terms)} or more"

    def _spell(self, care: Condition) -> str | None:
        if not care:
            return NOWHERE
        if care == self._within:
            return EVERYWHERE
        boxes = self._cover(care, care | (self._space.full & ~self._within))
        if len(boxes) > _MOST_TERMS:
            return None
        terms = [self._term(box, box.cells & care) for box in boxes]
        text = min(_spell_terms(terms), _spell_factored(terms), key=len)
        return text if self._says(text, boxes, care) else None

    def _says(self, text: str, boxes: Iterable[_Box], care: Condition) -> bool:
        """Whether a text means just these cells, by packaging and the axes.

        The opposite of some comparisons has no marker; then the boxes themselves are checked.
        """
        if any(self._denies(box) for box in boxes):
            said = functools.reduce(int.__or__, (box.cells for box in boxes))
            return said & self._within == care
        try:
            return self._space.condition(Marker(text)) & self._within == care
        except InvalidMarker:
            return False

    def _denies(self, box: _Box) -> bool:
        pairs = zip(self._space.axes, box.values, strict=True)
        return any(axis.free is not None and values == {0} for axis, values in pairs)

    # Covering

    def _cover(self, care: Condition, allowed: Condition) -> list[_Box]:
        """Cover the cells that matter by boxes of allowed cells, greedily, none of them idle."""
        if care not in self._covers:
            self._covers[care] = self._find_cover(care, allowed)
        return self._covers[care]

    def _find_cover(self, care: Condition, allowed: Condition) -> list[_Box]:
        boxes: list[_Box] = []
        todo = care
        while todo and len(boxes) <= _MOST_BOXES:
            box = self._best_box(next(self._space.cells(todo)), todo, allowed)
            boxes.append(box)
            todo &= ~box.cells
        return _without_idle(boxes, care)

    def _best_box(self, cell: int, todo: Condition, allowed: Condition) -> _Box:
        """Grow one cell along the axes, in several orders; few spelled axes and much new win."""
        many = [i for i, axis in enumerate(self._space.axes) if len(axis.values) > 1]
        orders = itertools.islice(itertools.permutations(many), _MOST_ORDERS)
        forbidden = self._space.full & ~allowed
        grown = (self._grow(cell, order, forbidden) for order in orders)
        return min(
            grown, key=lambda box: (self._spelled_axes(box), -(box.cells & todo).bit_count())
        )

    def _spelled_axes(self, box: _Box) -> int:
        sizes = zip(box.values, self._space.axes, strict=True)
        return sum(len(values) < len(axis.values) for values, axis in sizes)

    def _grow(self, cell: int, order: Iterable[int], forbidden: Condition) -> _Box:
        space = self._space
        values = [frozenset((space.index(axis, cell),)) for axis in space.axes]
        cells = [masks[next(iter(own))] for masks, own in zip(self._masks, values, strict=True)]
        for i in order:
            rest = forbidden
            for j, own_cells in enumerate(cells):
                if j != i:
                    rest &= own_cells
            free = [k for k, mask in enumerate(self._masks[i]) if not rest & mask]
            values[i] = frozenset(free)
            cells[i] = functools.reduce(int.__or__, (self._masks[i][k] for k in free), 0)
        return _Box(tuple(values), functools.reduce(int.__and__, cells, space.full))

    # Spelling

    def _term(self, box: _Box, live: Condition) -> list[_Text]:
        """The spellings of the axes on which a box says anything."""
        parts = []
        for axis, allowed in zip(self._space.axes, box.values, strict=True):
            if len(allowed) == len(axis.values):
                continue
            masks = self._masks[axis.number]
            needed = frozenset(k for k in allowed if live & masks[k])
            parts.append(self._axis_text(axis, needed, allowed))
        return parts

    def _axis_text(self, axis: Axis, needed: Values, allowed: Values) -> _Text:
        if axis.free is not None:
            # packaging's "!=" is not the opposite of its "==" for what may be no version.
            return _Text(axis.free.text if 1 in allowed else f"not ({axis.free.text})")
        if axis.name == "python":
            return _spell_python(axis, needed, allowed)
        return self._spell_names(axis, needed, allowed)

    def _spell_names(self, axis: Axis, needed: Values, allowed: Values) -> _Text:
        """Spell a set of names: an ``or`` of equalities, or an ``and`` of inequalities."""
        if axis.name not in self._literals:
            self._literals[axis.name] = list(self._literals_of(axis))
        literals = self._literals[axis.name]
        either = _union(literals, needed, allowed)
        both = _intersection(literals, needed, allowed, len(axis.values))
        if either is not None and (both is None or len(either) <= len(both)):
            return _Text(" or ".join(either), loose=len(either) > 1, length=len(either))
        if both is not None:
            return _Text(" and ".join(both), length=len(both))
        parts = [
            _intersection(literals, frozenset((k,)), allowed, len(axis.values)) for k in needed
        ]
        texts = [f"({' and '.join(part)})" for part in parts if part]
        return _Text(" or ".join(texts), loose=True, length=len(texts))

    def _literals_of(self, axis: Axis) -> Iterator[tuple[Values, str]]:
        """Comparisons that have one truth on each value of an axis, the usual ones first."""
        every = frozenset(range(len(axis.values)))
        for variable in _PREFERENCE.get(axis.name, sorted(axis.variables)):
            words = {str(m[variable]): None for members in axis.members for m in members}
            for word in words:
                held = [{m[variable] == word for m in members} for members in axis.members]
                if axes.OTHER in word or any(len(truths) > 1 for truths in held):
                    continue
                own = frozenset(k for k, truths in enumerate(held) if True in truths)
                if own and own != every:
                    yield own, f"{variable} == '{word}'"
                    yield every - own, f"{variable} != '{word}'"
        for atom in self._space.atoms_on(axis):
            own = frozenset(axis.holding(atom))
            if own and own != every:
                yield own, atom.text
                if atom.operator in _OPPOSITE:
                    yield every - own, _negated(atom)


_PREFERENCE = {
    "platform": ("sys_platform", "platform_system", "os_name"),
    "machine": ("platform_machine",),
    "implementation": ("implementation_name", "platform_python_implementation"),
}
_OPPOSITE = {"==": "!=", "!=": "==", "in": "not in", "not in": "in"}


def _negated(atom: Atom) -> str:
    """The opposite of an atom on names."""
    return atom.text.replace(f" {atom.operator} ", f" {_OPPOSITE[atom.operator]} ", 1)


def _without_idle(boxes: list[_Box], care: Condition) -> list[_Box]:
    kept = list(boxes)
    for box in boxes:
        others = 0
        for other in kept:
            others |= other.cells if other is not box else 0
        if not care & box.cells & ~others:
            kept.remove(box)
    return kept


def _bracketed(parts: Sequence[_Text]) -> Iterator[str]:
    for part in parts:
        yield f"({part.text})" if part.loose and len(parts) > 1 else part.text


def _spell_terms(terms: Sequence[Sequence[_Text]]) -> str:
    """Join terms by ``or``; what holds an ``and`` is bracketed for the reader."""
    texts = [" and ".join(_bracketed(parts)) for parts in terms]
    if len(texts) == 1:
        return texts[0]
    return " or ".join(f"({text})" if " and " in text else text for text in texts)


def _spell_factored(terms: Sequence[Sequence[_Text]]) -> str:
    """Say only once what all terms have in common."""
    shared = [part for part in terms[0] if all(part in parts for parts in terms)]
    rests = [[part for part in parts if part not in shared] for parts in terms]
    if len(terms) == 1 or not shared or not all(rests):
        return _spell_terms(terms)
    return " and ".join(_bracketed([*shared, _Text(_spell_terms(rests), loose=True)]))


Literals = Sequence[tuple[Values, str]]


def _union(literals: Literals, needed: Values, allowed: Values) -> list[str] | None:
    """As few comparisons as are found of which one holds on all that is needed, none elsewhere."""
    fitting = [literal for literal in literals if literal[0] <= allowed]
    return _greedy(needed, fitting, lambda own, rest: own & rest)


def _intersection(
    literals: Literals, needed: Values, allowed: Values, size: int
) -> list[str] | None:
    """As few comparisons as are found that all hold on what is needed, and not all elsewhere."""
    fitting = [literal for literal in literals if literal[0] >= needed]
    return _greedy(frozenset(range(size)) - allowed, fitting, lambda own, rest: rest - own)


def _greedy(
    rest: Values, literals: Literals, gain: Callable[[Values, Values], Values]
) -> list[str] | None:
    picked = []
    while rest:
        best = max(literals, key=lambda literal: len(gain(literal[0], rest)), default=None)
        won = gain(best[0], rest) if best else frozenset()
        if best is None or not won:
            return None
        picked.append(best[1])
        rest -= won
    return picked


# Versions of Python ------------------------------------------------------------------------------

Release = tuple[int, int, int]


def _spell_python(axis: Axis, needed: Values, allowed: Values) -> _Text:
    """Spell a set of releases as spans, or as all but some minor versions."""
    points = sorted(
        (_release(str(member["python_full_version"])), k)
        for k, members in enumerate(axis.members)
        for member in members
    )
    first = points[0][0]
    spans = list(_spans(points, allowed))
    useful = [span for span in spans if any(k in needed and _in(p, span) for p, k in points)]
    parts = [_spell_span(span, first) for span in useful]
    holes = list(_spans(points, frozenset(range(len(axis.values))) - allowed))
    if len(parts) > 1 and useful == spans and all(map(_is_minor, holes)):
        texts = [f"python_version != '{a[0]}.{a[1]}'" for a, _ in holes]
        return _Text(" and ".join(texts), length=len(texts))
    text = " or ".join(f"({p})" if " and " in p and len(parts) > 1 else p for p in parts)
    return _Text(text, loose=len(parts) > 1, length=len(parts))


def _release(text: str) -> Release:
    major, minor, micro = (int(part) for part in text.split("."))
    return major, minor, micro


Span = tuple[Release, Release | None]


def _spans(points: Sequence[tuple[Release, int]], wanted: Values) -> Iterator[Span]:
    """The runs of releases whose values are wanted, each up to the first that is not."""
    start: Release | None = None
    for point, k in points:
        if k in wanted:
            start = start or point
        elif start is not None:
            yield start, point
            start = None
    if start is not None:
        yield start, None


def _in(point: Release, span: Span) -> bool:
    return span[0] <= point and (span[1] is None or point < span[1])


def _is_minor(span: Span) -> bool:
    """Whether a span is just one minor version."""
    start, end = span
    return start[2] == 0 and end == (start[0], start[1] + 1, 0)


def _spell_span(span: Span, first: Release) -> str:
    start, end = span
    if _is_minor(span):
        return f"python_version == '{start[0]}.{start[1]}'"
    parts = [] if start == first else [_compare(">=", start)]
    parts += [] if end is None else [_compare("<", end)]
    return " and ".join(parts)


def _compare(operator: str, release: Release) -> str:
    major, minor, micro = release
    if micro == 0:
        return f"python_version {operator} '{major}.{minor}'"
    return f"python_full_version {operator} '{major}.{minor}.{micro}'"

"""The space of environments: markers as sets of cells, one bit a cell.

A space is a product of axes. Each value of an axis assigns a group of coupled marker variables at
once, so that `os_name == "nt"` and `sys_platform == "linux"` can never both hold. A cell is one
choice on every axis, and a condition is an ``int`` with one bit for each cell: and, or, not, empty
and equal are ``&``, ``|``, ``^``, ``== 0`` and ``==``, exact whatever the markers look like.

What an atom such as ``python_version < "3.11"`` means is asked of packaging, once for each value
on its axis; only the axes are ours.

Source: PEP 508, PEP 685 and PEP 751 (``extras``, ``dependency_groups``),
https://packaging.python.org/specifications/dependency-specifiers/#environment-markers
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from distcycle.markers.expressions import (
    Atom,
    Expression,
    UnreadableMarker,
    parse_expression,
)
from distcycle.targets import Target

__all__ = ["Axis", "Condition", "Profile", "Space"]

Condition = int
Value = Mapping[str, str | frozenset[str]]

_USUAL = {"implementation_version": "3.10.0", "python_full_version": "3.10.0"}
"""The value of a free variable on most targets, where it is not ``""``."""


class Axis:
    """One group of coupled marker variables and the values that it takes.

    Args:
        name: What the axis is about.
        values: The assignments, each to the same variables.
        literals: The literals of the only atoms that the axis decides; None when it decides every
            atom on its variables.
        members: For each value, those that nothing tells from it, itself included, under what
            tells them from the others.
        classify: Gives what tells a value from others, for values that are not listed.
    """

    __slots__ = (
        "_classify",
        "_index",
        "_literals",
        "free",
        "members",
        "name",
        "number",
        "stride",
        "values",
        "variables",
    )

    def __init__(
        self,
        name: str,
        values: Sequence[Value],
        literals: Collection[str] | None = None,
        *,
        members: Mapping[tuple[object, ...], Sequence[Value]] | None = None,
        classify: Callable[[Value], tuple[object, ...]] | None = None,
    ) -> None:
        self.name = name
        self.values = tuple(values)
        self.members = tuple(members.values()) if members else tuple((v,) for v in self.values)
        self._classify = classify
        self._index = {key: i for i, key in enumerate(members)} if members else {}
        self.free: Atom | None = None
        self.variables = frozenset(values[0]) if values else frozenset()
        self.number = 0
        self.stride = 1
        self._literals = literals

    @classmethod
    def free_for(cls, atom: Atom) -> Axis:
        """An axis on which an atom is false, or true, and nothing else is said."""
        axis = cls(atom.text, [{}, {}])
        axis.free = atom
        return axis

    def decides(self, atom: Atom) -> bool:
        """Whether the truth of an atom follows from this axis's value."""
        if self.free is not None:
            return atom.text == self.free.text
        return atom.variable in self.variables and (
            self._literals is None or atom.literal in self._literals
        )

    def locate(self, environment: Value) -> tuple[int, ...]:
        """The indices of the values that an environment may have."""
        if self.free is not None:
            try:
                return (int(self.free.holds(environment[self.free.variable])),)
            except UnreadableMarker:
                return (0, 1)
        if self._classify is not None:
            index = self._index.get(self._classify(environment))
            return () if index is None else (index,)
        if self.variables <= environment.keys():
            return tuple(
                i
                for i, value in enumerate(self.values)
                if all(environment[name] == value[name] for name in self.variables)
            )
        return tuple(range(len(self.values)))

    def like(self, values: Value) -> tuple[int, ...]:
        """The indices of the values that agree with some variables, as far as they are here."""
        shared = self.variables & values.keys()
        return self.admitting(lambda member: all(member[name] == values[name] for name in shared))

    def admitting(self, admits: Callable[[Value], bool]) -> tuple[int, ...]:
        """The indices of the values all of whose members are admitted.

        What the axis was made for has one answer for all members. Of anything else, such as a
        waiver's marker, the space must not claim more than is true.
        """
        return tuple(i for i, members in enumerate(self.members) if all(map(admits, members)))

    def holding(self, atom: Atom) -> tuple[int, ...]:
        """The indices of the values for which an atom is true, see :meth:`admitting`."""
        if self.free is not None:
            # What packaging refuses to compare with the usual value is as unreadable here as it is
            # on a target.
            self.free.holds(_USUAL.get(atom.variable, ""))
            return (1,)
        return self.admitting(lambda member: atom.holds(member[atom.variable]))


@dataclass(frozen=True, slots=True)
class Profile:
    """Cells that prefer wheels alike.

    Attributes:
        target: A target whose tags all these cells have.
        cells: The cells.
    """

    target: Target
    cells: Condition


class Space:
    """A set of environments, considered all at once.

    Attributes:
        full: All cells.
        profiles: Disjoint sets of cells, each with the target whose wheels they take; together they
            are the space, unless no wheel is chosen.
        named: The targets to name when a condition is told, each with its cells.
        is_whole: Whether a condition stands for all environments, and so can be told as a marker.
        unreadable: Markers that packaging cannot evaluate, and why.
        note: What else to know of the space, ``""`` for nothing.

    Args:
        axes: The axes; every marker variable that a condition is asked for must be on one of them.
        extras: Extras of the input itself that are requested (``"x" in extras``, PEP 751).
        groups: Dependency groups of the input that are requested (``dependency_groups``).
    """

    def __init__(
        self,
        axes: Sequence[Axis],
        *,
        extras: Iterable[str] = (),
        groups: Iterable[str] = (),
    ) -> None:
        self.axes = tuple(axes)
        self.size = 1
        for number, axis in enumerate(self.axes):
            axis.number = number
            axis.stride = self.size
            self.size *= len(axis.values)
        self.full: Condition = (1 << self.size) - 1
        self.profiles: tuple[Profile, ...] = ()
        self.named: tuple[Profile, ...] = ()
        self.is_whole = False
        self.note = ""
        self._constants: Value = {
            "extras": frozenset(map(canonicalize_name, extras)),
            "dependency_groups": frozenset(map(canonicalize_name, groups)),
        }
        self._masks: dict[tuple[int, tuple[int, ...]], Condition] = {}
        self._conditions: dict[tuple[str, str], Condition] = {}
        self._pythons: dict[str, Condition] = {}
        self._atoms: dict[int, dict[str, Atom]] = {}
        self.unreadable: dict[str, str] = {}

    @classmethod
    def of_targets(
        cls,
        targets: Sequence[Target],
        *,
        choices: Sequence[frozenset[str]] = (frozenset(),),
        extras: Iterable[str] = (),
        groups: Iterable[str] = (),
    ) -> Space:
        """A space of just these targets.

        Args:
            targets: The targets; none twice.
            choices: Alternatives of a lock (uv's conflicts): in each, the extras that hold.
            extras: As for the class.
            groups: As for the class.
        """
        axes = [Axis("target", [target.environment for target in targets])]
        literals = frozenset().union(*choices)
        if literals:
            axes.append(Axis("choice", [{"extra": choice} for choice in choices], literals))
        space = cls(axes, extras=extras, groups=groups)
        space.profiles = tuple(
            Profile(target, space.mask(axes[0], (i,))) for i, target in enumerate(targets)
        )
        space.named = space.profiles
        return space

    def condition(self, marker: Marker | None, extra: str = "") -> Condition:
        """The cells in which a marker holds.

        A marker that packaging cannot evaluate holds everywhere; :attr:`unreadable` then says why.
        One that tells apart what the space does not holds only in the cells that are wholly in it.

        Args:
            marker: The marker; None holds everywhere.
            extra: The extra in whose name the marker is read, ``""`` for none.

        Returns:
            One bit for each cell.
        """
        if marker is None:
            return self.full
        key = (str(marker), extra)
        condition = self._conditions.get(key)
        if condition is None:
            try:
                condition = self._evaluate(parse_expression(key[0]), extra)
            except UnreadableMarker as error:
                self.unreadable[key[0]] = str(error)
                condition = self.full
            self._conditions[key] = condition
        return condition

    def _evaluate(self, expression: Expression, extra: str) -> Condition:
        if isinstance(expression, Atom):
            return self._cells_of(expression, extra)
        parts = (self._evaluate(part, extra) for part in expression.parts)
        if expression.operator == "and":
            return functools.reduce(int.__and__, parts, self.full)
        return functools.reduce(int.__or__, parts, 0)

    def _cells_of(self, atom: Atom, extra: str) -> Condition:
        # Values of Python are not told apart by what is free: the free axes go first.
        for axis in sorted(self.axes, key=lambda axis: axis.free is None):
            if axis.decides(atom):
                cells = self.mask(axis, axis.holding(atom))
                self._atoms.setdefault(axis.number, {}).setdefault(atom.text, atom)
                return cells
        constants = {**self._constants, "extra": extra}
        # What is on no axis was not told apart, so that it holds in no cell for certain.
        is_constant = atom.variable in constants
        return self.full if is_constant and atom.holds(constants[atom.variable]) else 0

    def python(self, specifier: SpecifierSet | None) -> Condition:
        """The cells whose Python a version specifier (Requires-Python) admits.

        Args:
            specifier: The specifier; None admits every Python.
        """
        if specifier is None:
            return self.full
        text = str(specifier)
        if text not in self._pythons:
            axis = next(a for a in self.axes if "python_full_version" in a.variables)
            admitted = axis.admitting(
                lambda member: specifier.contains(
                    str(member["python_full_version"]), prereleases=True
                )
            )
            self._pythons[text] = self.mask(axis, admitted)
        return self._pythons[text]

    def mask(self, axis: Axis, indices: tuple[int, ...]) -> Condition:
        """The cells whose value on an axis is one of those at the given indices."""
        key = (axis.number, indices)
        mask = self._masks.get(key)
        if mask is None:
            run = (1 << axis.stride) - 1
            block = sum(run << (i * axis.stride) for i in indices)
            period = (1 << (axis.stride * len(axis.values))) - 1
            mask = self._masks[key] = block * (self.full // period) if indices else 0
        return mask

    def locate(self, target: Target) -> Condition:
        """The cells of a target: one for each of the lock's alternatives.

        Returns:
            The cells; none when no value of some axis is like the target's.
        """
        cells = self.full
        for axis in self.axes:
            found = axis.locate(target.environment)
            cells &= self.mask(axis, found)
        return cells

    def cells_like(self, values: Value) -> Condition:
        """The cells that have these values of some variables, whatever the others are."""
        cells = self.full
        for axis in self.axes:
            cells &= self.mask(axis, axis.like(values))
        return cells

    def atoms_on(self, axis: Axis) -> tuple[Atom, ...]:
        """The atoms that markers were seen to have on an axis, in order of appearance."""
        return tuple(self._atoms.get(axis.number, {}).values())

    def index(self, axis: Axis, cell: int) -> int:
        """The index of the value that a cell has on an axis."""
        return cell // axis.stride % len(axis.values)

    def cells(self, condition: Condition) -> Iterator[int]:
        """The numbers of a condition's cells, ascending."""
        while condition:
            low = condition & -condition
            yield low.bit_length() - 1
            condition ^= low

"""The space of every environment that the markers of an input can tell apart."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from packaging.specifiers import SpecifierSet

from distcycle.markers import axes
from distcycle.markers.expressions import Atom, UnreadableMarker, atoms_of, parse_expression
from distcycle.markers.space import Axis, Condition, Profile, Space, Value
from distcycle.targets import (
    PLATFORMS,
    PYTHONS,
    Platform,
    Python,
    Target,
    expand_tags,
    make_target,
)

__all__ = ["MOST_CELLS", "TooManyCells", "whole_space"]

MOST_CELLS = 1 << 17

_ANY_MINOR = frozenset(("py3-none-any", "py2.py3-none-any", "py2-none-any"))
"""Wheels that fit all minor versions of Python alike."""

_BUILDS = tuple(p for p in PLATFORMS if p.family != "musllinux" and "simulator" not in p.name)
_NEWEST = max((p for p in PYTHONS if p.default), key=lambda p: p.minor)


class TooManyCells(ValueError):
    """The markers tell more environments apart than are judged at once."""


def whole_space(
    markers: Iterable[str],
    specifiers: Iterable[SpecifierSet] = (),
    *,
    admits: SpecifierSet | None = None,
    wheel_tags: Collection[str] | None = None,
    named: Iterable[Target] = (),
    choices: Sequence[frozenset[str]] = (frozenset(),),
    extras: Iterable[str] = (),
    groups: Iterable[str] = (),
    most_cells: int = MOST_CELLS,
) -> Space:
    """Make the space of all environments, as coarse as what is in use allows.

    Values that no marker, no specifier and no wheel's tags can tell apart are one. Wheels are those
    of standard builds: CPython with its global lock and PyPy, glibc on Linux, the newest known
    version of each system library.

    Args:
        markers: The texts of all markers in use.
        specifiers: All Requires-Python in use.
        admits: The versions of Python that the space is bounded by; None for all.
        wheel_tags: The compressed tags of all wheels in use, such as ``py3-none-any``; None when
            no wheel is chosen.
        named: Targets to name when a condition is told.
        choices: Alternatives of a lock, see :meth:`Space.of_targets`.
        extras: Extras of the input itself that are requested.
        groups: Dependency groups of the input that are requested.
        most_cells: How many cells the space may have.

    Returns:
        The space.

    Raises:
        TooManyCells: It would have more.
    """
    conflicts = frozenset().union(*choices)
    atoms = _atoms_in(markers, conflicts)
    platform_tags = _platform_tags(wheel_tags or ())
    builds = _builds_for(platform_tags)
    made = [
        _platform_axis(_on(atoms, axes.PLATFORM), builds),
        _machine_axis(_on(atoms, axes.MACHINE), builds),
        _python_axis(_on(atoms, axes.PYTHON), specifiers, admits, wheel_tags),
        _implementation_axis(_on(atoms, axes.IMPLEMENTATION), builds),
        *(Axis.free_for(atom) for atom in atoms if _is_free(atom)),
    ]
    if conflicts:
        made.append(Axis("choice", [{"extra": choice} for choice in choices], conflicts))
    size = functools.reduce(lambda n, axis: n * len(axis.values), made, 1)
    if size > most_cells:
        raise TooManyCells(f"{size} environments are told apart, more than {most_cells}")
    space = Space(made, extras=extras, groups=groups)
    space.is_whole = True
    if wheel_tags is not None:
        space.profiles = tuple(_profiles(space, builds))
    tags_in_use = frozenset(tag for tags in wheel_tags or () for tag in expand_tags(tags))
    space.named = tuple(
        Profile(target, cells)
        for target in named
        if (cells := space.locate(target)) and _is_standard(target, cells, space, tags_in_use)
    )
    return space


def _is_standard(
    target: Target, cells: Condition, space: Space, tags_in_use: frozenset[str]
) -> bool:
    """Whether a target prefers, of the wheels in use, the same as its cells' profile."""
    return all(
        profile.target.name == target.name
        or _preferred(profile.target, tags_in_use) == _preferred(target, tags_in_use)
        for profile in space.profiles
        if profile.cells & cells
    )


@functools.lru_cache(maxsize=1024)
def _preferred(target: Target, tags_in_use: frozenset[str]) -> list[str]:
    return [tag for tag in target.tags if tag in tags_in_use]


def _platform_tags(wheel_tags: Iterable[str]) -> frozenset[str]:
    tags = {tag for tags in wheel_tags for tag in tags.rpartition("-")[2].split(".")}
    return frozenset(tags - {"any"})


def _builds_for(platform_tags: Collection[str]) -> tuple[Platform, ...]:
    """The platforms for which there are wheels; on all others only pure ones fit."""
    wanted = set(platform_tags)
    return tuple(
        platform
        for platform in _BUILDS
        if any(wanted.intersection(platform.tags(p)) for p in PYTHONS if platform.has(p))
    )


def _atoms_in(markers: Iterable[str], conflicts: frozenset[str]) -> list[Atom]:
    """The atoms on environments; extras are nodes, and packaging must know what an atom means."""
    atoms: dict[str, Atom] = {}
    for marker in markers:
        for atom in _atoms_of(marker):
            atoms.setdefault(atom.text, atom)
    never = {"extra", "extras", "dependency_groups"}
    return [a for a in atoms.values() if a.variable not in never and a.literal not in conflicts]


@functools.lru_cache(maxsize=16384)
def _atoms_of(marker: str) -> tuple[Atom, ...]:
    try:
        return tuple(atoms_of(parse_expression(marker)))
    except UnreadableMarker:
        return ()


# Axes --------------------------------------------------------------------------------------------

Question = Callable[[Value], object]


def _on(atoms: Iterable[Atom], variables: Sequence[str]) -> list[Atom]:
    return [atom for atom in atoms if atom.variable in variables and not _is_free(atom)]


def _is_free(atom: Atom) -> bool:
    """Whether nothing else bears on an atom, so that it is true or false by itself."""
    if atom.variable in {"platform_release", "platform_version", "implementation_version"}:
        return True
    return atom.variable == "python_full_version" and atom.operator in {"in", "not in"}


def _axis(name: str, values: Iterable[Value], atoms: Iterable[Atom], *questions: Question) -> Axis:
    """An axis with one value for all that no atom and no other question tells apart."""
    asked = [*map(_holds, atoms), *questions]

    def classify(value: Value) -> tuple[object, ...]:
        return tuple(question(value) for question in asked)

    classes: dict[tuple[object, ...], list[Value]] = defaultdict(list)
    for value in values:
        classes[classify(value)].append(value)
    first = [members[0] for members in classes.values()]
    return Axis(name, first, members=classes, classify=classify)


def _holds(atom: Atom) -> Question:
    def ask(value: Value) -> object:
        try:
            return atom.holds(value[atom.variable])
        except UnreadableMarker:
            return None

    return ask


def _platform_axis(atoms: Sequence[Atom], builds: Iterable[Platform]) -> Axis:
    rows = {_row(platform) for platform in builds}

    def known(value: Value) -> object:
        row = tuple(value[name] for name in axes.PLATFORM)
        return row if row in rows else None

    return _axis("platform", axes.platforms(atoms), atoms, known)


def _machine_axis(atoms: Sequence[Atom], builds: Iterable[Platform]) -> Axis:
    names = {platform.machine for platform in builds}

    def known(value: Value) -> object:
        machine = value["platform_machine"]
        return machine if machine in names else None

    return _axis("machine", axes.machines(atoms), atoms, known)


def _python_axis(
    atoms: Sequence[Atom],
    specifiers: Iterable[SpecifierSet],
    admits: SpecifierSet | None,
    wheel_tags: Collection[str] | None,
) -> Axis:
    wanted = {str(specifier): specifier for specifier in specifiers}
    literals = [*(atom.literal for atom in atoms), *wanted, str(admits or "")]
    values: list[dict[str, str]] = axes.pythons(literals)
    if admits is not None:
        values = [value for value in values if _admits(admits)(value)] or values
    questions = [_admits(specifier) for specifier in (*wanted.values(), admits) if specifier]
    if wheel_tags is not None:
        pure = _ANY_MINOR.issuperset(wheel_tags)
        questions.append(_major if pure else _minor_with_wheels)
    return _axis("python", values, atoms, *questions)


def _implementation_axis(atoms: Sequence[Atom], builds: Sequence[Platform]) -> Axis:
    names = {"cpython", "pypy"} if builds else set()

    def known(value: Value) -> object:
        name = value["implementation_name"]
        return name if name in names else None

    return _axis("implementation", axes.implementations(atoms), atoms, known)


def _admits(specifier: SpecifierSet) -> Question:
    return lambda value: specifier.contains(str(value["python_full_version"]), prereleases=True)


def _minor(value: Value) -> tuple[int, int]:
    major, minor = str(value["python_version"]).split(".")
    return int(major), int(minor)


def _major(value: Value) -> object:
    return _minor(value)[0]


def _minor_with_wheels(value: Value) -> object:
    """The minor version as far as wheels may be built for it; the next one stands for all later."""
    return min(_minor(value), (_NEWEST.minor[0], _NEWEST.minor[1] + 1))


# Profiles ----------------------------------------------------------------------------------------


def _row(platform: Platform) -> tuple[str, ...]:
    python = max((p for p in PYTHONS if platform.has(p)), key=lambda p: p.minor)
    environment = platform.environment(python)
    return tuple(environment[name] for name in axes.PLATFORM)


def _profiles(space: Space, builds: Iterable[Platform]) -> Iterator[Profile]:
    """For each platform, machine, Python and implementation the tags of a standard build."""
    platform, machine, python, implementation = space.axes[:4]
    places = [(build, _cells_of_build(space, build, platform, machine)) for build in builds]
    for k, version in enumerate(python.values):
        for m, kind in enumerate(implementation.values):
            rest = space.mask(python, (k,)) & space.mask(implementation, (m,))
            interpreter = _interpreter(_minor(version), str(kind["implementation_name"]))
            for build, place in places:
                if interpreter is not None and build.has(interpreter) and rest & place:
                    yield Profile(make_target(build, interpreter), rest & place)
                    rest &= ~place
            if rest:
                yield Profile(_pure_target(_minor(version), _prefix(kind)), rest)


def _cells_of_build(space: Space, build: Platform, platform: Axis, machine: Axis) -> Condition:
    row = dict(zip(axes.PLATFORM, _row(build), strict=True))
    rows = tuple(i for i, value in enumerate(platform.values) if value == row)
    kinds = tuple(
        i for i, value in enumerate(machine.values) if value["platform_machine"] == build.machine
    )
    return space.mask(platform, rows) & space.mask(machine, kinds)


def _prefix(kind: Value) -> str:
    return {"cpython": "cp", "pypy": "pp"}.get(str(kind["implementation_name"]), "py")


@functools.lru_cache(maxsize=256)
def _interpreter(minor: tuple[int, int], implementation: str) -> Python | None:
    """The standard build of a Python; one of a version yet to come is like the newest."""
    for python in PYTHONS:
        standard = not python.name.endswith("t")
        if standard and (python.minor, python.implementation) == (minor, implementation):
            return python
    if implementation != "cpython" or minor < _NEWEST.minor:
        return None
    name = f"cp{minor[0]}{minor[1]}"
    version = f"{minor[0]}.{minor[1]}.0"
    return replace(
        _NEWEST, name=name, tag=name, abi=name, minor=minor, full_version=version, default=False
    )


@functools.lru_cache(maxsize=256)
def _pure_target(minor: tuple[int, int], prefix: str) -> Target:
    """An environment of which no more is known than that wheels of Python code fit."""
    name = f"{prefix}{minor[0]}{minor[1]}"
    heads = [name, f"py{minor[0]}{minor[1]}", f"py{minor[0]}"]
    heads += [f"py{minor[0]}{older}" for older in range(minor[1] - 1, -1, -1)]
    return replace(
        make_target(PLATFORMS[0], _NEWEST),
        name=f"{name}-any",
        platform="any",
        python=name,
        tags=tuple(f"{head}-none-any" for head in dict.fromkeys(heads)),
        tier=3,
    )

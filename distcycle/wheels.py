"""Which file of a package an installer would take in each environment, and why not the others.

Source: https://packaging.python.org/specifications/binary-distribution-format/ and
https://packaging.python.org/specifications/platform-compatibility-tags/
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from distcycle.markers import Condition, Space
from distcycle.model import Artefact
from distcycle.targets import Target, expand_tags, tag_ranks

__all__ = ["Choice", "Lack", "Refusal", "choose", "explain_refusals"]

Lack = Literal["no-wheel-for-target", "requires-python"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What an installer takes in some cells.

    Attributes:
        artefact: The wheel, or the source distribution where no wheel fits; None when nothing does.
        cells: Where.
        lack: Why nothing fits, when nothing does.
        pythons: The versions of Python that what would fit is for, when that is what is lacking.
    """

    artefact: Artefact | None
    cells: Condition
    lack: Lack | None = None
    pythons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a file is not taken on a target."""

    artefact: Artefact
    reason: str


def choose(artefacts: Sequence[Artefact], space: Space) -> tuple[Choice, ...]:
    """Choose a file of one package for every cell.

    As installers do: the wheel whose best tag comes first in the target's order, then the higher
    build number, never one whose Requires-Python excludes the Python; a withdrawn file only when
    no other fits; the source distribution when no wheel does.

    Args:
        artefacts: The files of the package.
        space: The environments.

    Returns:
        Disjoint choices that together cover the space, in the order of ``artefacts``.
    """
    wheels = [a for a in artefacts if a.is_wheel]
    admitted = [space.python(a.requires_python) for a in wheels]
    taken = [0] * len(wheels)
    refused = rest = 0
    orders = _orders(tuple(_traits(a) for a in wheels), tuple(p.target for p in space.profiles))
    for profile, order in zip(space.profiles, orders, strict=True):
        open_cells = profile.cells
        for i in order:
            taken[i] |= open_cells & admitted[i]
            open_cells &= ~admitted[i]
        rest |= open_cells
        if order:
            refused |= open_cells
    chosen = [Choice(a, cells) for a, cells in zip(wheels, taken, strict=True) if cells]
    return (*chosen, *_choose_source(artefacts, space, rest, refused))


def _choose_source(
    artefacts: Sequence[Artefact], space: Space, rest: Condition, refused: Condition
) -> Iterable[Choice]:
    """Choose for the cells in which no wheel fits; in ``refused`` one fits but for its Python."""
    for artefact in sorted(artefacts, key=lambda a: a.yanked is not None):
        cells = rest & space.python(artefact.requires_python)
        if not artefact.is_wheel:
            if cells:
                yield Choice(artefact, cells)
            refused |= rest & ~cells
            rest &= ~cells
    if rest & refused:
        yield Choice(None, rest & refused, "requires-python", _pythons(artefacts, space, rest))
    if rest & ~refused:
        yield Choice(None, rest & ~refused, "no-wheel-for-target")


def _pythons(artefacts: Iterable[Artefact], space: Space, refused: Condition) -> tuple[str, ...]:
    """The versions of Python that files are for which exclude some of these cells."""
    specifiers = {str(a.requires_python): a.requires_python for a in artefacts}
    return tuple(sorted(s for s in specifiers if refused & ~space.python(specifiers[s])))


@dataclass(frozen=True, slots=True)
class _Traits:
    """What decides between wheels: their names beyond project and version, and withdrawal."""

    build: tuple[int, str, str]
    tags: str
    yanked: bool


_BUILD = re.compile(r"0*([0-9]+)(.*)", re.DOTALL)
"""A build tag, which starts with a digit: its number, and the rest."""


def _traits(artefact: Artefact) -> _Traits:
    parts = artefact.filename[: -len(".whl")].split("-")
    found = _BUILD.match(parts[2]) if len(parts) == 6 else None
    # Of numbers without leading zeros the longer is the higher; int() refuses very long ones.
    build = (len(found[1]), found[1], found[2]) if found else (0, "", "")
    return _Traits(build, "-".join(parts[-3:]), artefact.yanked is not None)


@functools.lru_cache(maxsize=16384)
def _orders(
    wheels: tuple[_Traits, ...], targets: tuple[Target, ...]
) -> tuple[tuple[int, ...], ...]:
    """For each target the indices of the wheels that fit it, best first.

    Cached, since most packages of an input have wheels of the very same traits.
    """
    orders = []
    tags = [expand_tags(wheel.tags) for wheel in wheels]
    by_build = sorted(range(len(wheels)), key=lambda i: wheels[i].build, reverse=True)
    for target in targets:
        ranks = tag_ranks(target)
        fitting = []
        for i in by_build:
            best = min((ranks[tag] for tag in tags[i] if tag in ranks), default=None)
            if best is not None:
                fitting.append((wheels[i].yanked, best, i))
        fitting.sort(key=lambda entry: entry[:2])
        orders.append(tuple(i for _, _, i in fitting))
    return tuple(orders)


def explain_refusals(artefacts: Sequence[Artefact], target: Target) -> tuple[Refusal, ...]:
    """Say of each file why it is not the one taken on a target.

    Args:
        artefacts: The files of one package.
        target: The target.

    Returns:
        One refusal for each file but the one taken, in the order of ``artefacts``.
    """
    space = Space.of_targets([target])
    taken = choose(artefacts, space)[0].artefact
    return tuple(
        Refusal(artefact, _reason(artefact, taken, target, space))
        for artefact in artefacts
        if artefact is not taken
    )


def _reason(artefact: Artefact, taken: Artefact | None, target: Target, space: Space) -> str:
    if not space.python(artefact.requires_python):
        return f"requires Python {artefact.requires_python}"
    if not artefact.is_wheel:
        return "a wheel fits"
    tags = _traits(artefact).tags
    if not any(tag in tag_ranks(target) for tag in expand_tags(tags)):
        return f"its tags ({tags}) are not among those of {target.name}"
    if artefact.yanked is not None and taken is not None and taken.yanked is None:
        return "withdrawn (yanked)"
    return f"{taken.filename} comes first" if taken else "refused"

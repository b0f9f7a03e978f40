"""Waivers that end once versions without the loop exist (``until-fixed``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from packaging.utils import NormalizedName

from distcycle.cycles import find_components
from distcycle.limits import matches
from distcycle.model import Unknown
from distcycle.policy import Policy, Waiver
from distcycle.selection import Selection

__all__ = ["Look", "end_waivers"]

Look: TypeAlias = "Callable[[str, tuple[NormalizedName, ...]], str | Unknown]"
"""Given a loop's kind and members, says the versions without it, ``""`` when there are none, or why
that is not known."""

_LOOPS = frozenset(("wheel-cycle", "extra-cycle"))


def end_waivers(
    policy: Policy, selection: Selection, look: Look | None
) -> tuple[Policy, tuple[str, ...]]:
    """Look for each waiver that holds until its loop is fixed whether there are versions without.

    Args:
        policy: The policy.
        selection: What was selected of the input.
        look: Finds them; None when nothing may be looked up.

    Returns:
        The policy with ``fixed_by`` set where a waiver has ended, and a line for each waiver of
        which that could not be found out.
    """
    waivers, notes = [], []
    for waiver in policy.waivers:
        outcome: str | Unknown = ""
        if waiver.until_fixed and waiver.code in _LOOPS:
            outcome = _look(waiver, selection, look)
        if isinstance(outcome, Unknown):
            names = ", ".join(waiver.packages)
            notes.append(
                f"could not look for releases of {names} without the loop: {outcome.reason}"
            )
            outcome = ""
        waivers.append(replace(waiver, fixed_by=outcome))
    return replace(policy, waivers=tuple(waivers)), tuple(notes)


def _look(waiver: Waiver, selection: Selection, look: Look | None) -> str | Unknown:
    """The versions without the loop, as text; ``""`` when all have it, or nothing is waived."""
    packages = selection.snapshot.packages
    names = [package.name for package in packages]
    full = selection.space.full
    for component in find_components(selection.edges, names, full, max_cycles=1):
        members = tuple(sorted({packages[i].name for i in component.packages}))
        if component.kind == waiver.code and all(matches(m, waiver.packages) for m in members):
            return (
                Unknown(reason="no index is asked") if look is None else look(waiver.code, members)
            )
    return ""

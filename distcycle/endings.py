"""Waivers that end once a set of releases without the loop exists (``until-fixed``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.checks import find_unknown
from distcycle.cycles import find_components
from distcycle.drafts import describe_package
from distcycle.limits import matches
from distcycle.model import Package, Place, Requirement, Root, Snapshot, Unknown
from distcycle.policy import Policy, Waiver
from distcycle.selection import Selection

__all__ = ["Newest", "end_waivers"]

_MOST_MEMBERS = 30
_LOOPS = frozenset(("wheel-cycle", "extra-cycle"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """Where the newest releases are looked up.

    Attributes:
        versions_of: The versions of a project that an index has, or why that is not known.
        select: What is selected of an input, on the targets that are judged.
    """

    versions_of: Callable[[NormalizedName], tuple[Version, ...] | Unknown]
    select: Callable[[Snapshot], Selection]


def end_waivers(
    policy: Policy, selection: Selection, newest: Newest | None
) -> tuple[Policy, tuple[str, ...]]:
    """Look for each waiver that holds until its loop is fixed whether the newest releases have it.

    Args:
        policy: The policy.
        selection: What was selected of the input.
        newest: Where to look; None when nothing may be looked up.

    Returns:
        The policy with ``fixed_by`` set where a waiver has ended, and a line for each waiver of
        which that could not be found out.
    """
    waivers, notes = [], []
    for waiver in policy.waivers:
        outcome: str | Unknown = ""
        if waiver.until_fixed and waiver.code in _LOOPS:
            outcome = _look(waiver, selection, newest)
        if isinstance(outcome, Unknown):
            names = ", ".join(waiver.packages)
            notes.append(
                f"could not look for releases of {names} without the loop: {outcome.reason}"
            )
            outcome = ""
        waivers.append(replace(waiver, fixed_by=outcome))
    return replace(policy, waivers=tuple(waivers)), tuple(notes)


def _look(waiver: Waiver, selection: Selection, newest: Newest | None) -> str | Unknown:
    """The releases without the loop, as text; ``""`` when they have it, or nothing is waived."""
    packages = selection.snapshot.packages
    names = [package.name for package in packages]
    full = selection.space.full
    for component in find_components(selection.edges, names, full, max_cycles=1):
        members = sorted({packages[i].name for i in component.packages})
        if all(matches(name, waiver.packages) for name in members):
            return _releases_without(members, newest)
    return ""


def _releases_without(members: Iterable[NormalizedName], newest: Newest | None) -> str | Unknown:
    names = list(members)
    if newest is None:
        return Unknown(reason="no index is asked")
    if len(names) > _MOST_MEMBERS:
        return Unknown(reason=f"more than {_MOST_MEMBERS} projects")
    released = _release(names, newest)
    if isinstance(released, Unknown):
        return released
    selection = newest.select(_snapshot(released))
    for reason, _ in find_unknown(selection).values():
        return Unknown(reason=reason)
    full = selection.space.full
    still = find_components(selection.edges, names, full, max_cycles=1)
    return "" if still else ", ".join(map(describe_package, released))


def _release(names: Iterable[NormalizedName], newest: Newest) -> list[Package] | Unknown:
    """The newest final release of each project."""
    released = []
    for name in names:
        versions = newest.versions_of(name)
        if isinstance(versions, Unknown):
            return versions
        final = [version for version in versions if not version.is_prerelease]
        if not final:
            return Unknown(reason=f"{name} has no final release")
        released.append(_package(name, max(final)))
    return released


def _package(name: NormalizedName, version: Version) -> Package:
    return Package(name=name, version=version, place=Place(path="the newest releases"))


def _snapshot(packages: list[Package]) -> Snapshot:
    """An input of these packages and nothing else; what else they require is of no interest."""
    return Snapshot(
        path="the newest releases",
        kind="releases",
        packages=tuple(packages),
        roots=tuple(
            Root(requirement=Requirement(name=p.name, text=str(p.name), package=i))
            for i, p in enumerate(packages)
        ),
        complete=False,
    )

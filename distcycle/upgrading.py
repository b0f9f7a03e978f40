"""Looks for versions without loops: for people who ask, and for waivers that end with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from packaging.utils import NormalizedName

from distcycle.cycles import Component
from distcycle.errors import DistcycleError, InputError
from distcycle.model import PROJECT_SOURCES, Facts, Snapshot, Unknown
from distcycle.plan import Pin, UpgradePlan
from distcycle.policy import Policy
from distcycle.scope import Scope
from distcycle.selection import Selection, select

if TYPE_CHECKING:
    from distcycle.metadata import Library
    from distcycle.resolution import Rules
    from distcycle.resolution.shelf import Shelf
    from distcycle.resolution.upgrades import Upgrade

__all__ = ["find_upgrades", "look_for_fix"]


def find_upgrades(
    scope: Scope,
    library: Library,
    policy: Policy,
    rules: Rules,
    *,
    resolved: Facts | None = None,
    allow_pins: bool = False,
) -> tuple[tuple[Upgrade, ...], UpgradePlan]:
    """Find for each loop that a policy's cuts leave the nearest versions without it.

    Args:
        scope: What is judged; where every environment is, its named targets count.
        library: Where releases and METADATA come from.
        policy: Its cuts are left as they are.
        rules: What may be chosen.
        resolved: What was found out when the input was resolved; None where it is as it was read.
        allow_pins: Whether versions that people pinned may change.

    Returns:
        One upgrade for each loop, and what the input comes to by all of them.

    Raises:
        InputError: Something in it has no version yet.
        MetadataError: Something that had to be asked did not answer.
    """
    from distcycle.resolution.upgrades import find_pins
    from distcycle.verdicts import apply_cuts

    _expect_versions(scope.snapshot)

    def choose(selection: Selection, loops: list[Component]) -> Sequence[Component]:
        return apply_cuts(selection, loops, policy.cuts, 1).components

    compiled = resolved is None and _is_compiled(scope.snapshot)
    upgrades, (read, after) = _find_upgrades(
        scope,
        library,
        rules,
        resolved or Facts(),
        choose,
        compiled=compiled,
        allow_pins=allow_pins,
    )
    plan = _plan_upgrade(read, after)
    changed = {pin.name for pin in plan.pins if pin.is_new}
    pins = {} if compiled else find_pins(read)
    pinned = tuple(text for name, text in sorted(pins.items()) if name in changed)
    return upgrades, replace(plan, pinned=pinned)


def _is_compiled(snapshot: Snapshot) -> bool:
    return snapshot.kind == "requirements" and snapshot.complete


def _find_upgrades(
    scope: Scope,
    library: Library,
    rules: Rules,
    facts: Facts,
    choose: Callable[[Selection, list[Component]], Sequence[Component]],
    *,
    compiled: bool | None = None,
    allow_pins: bool = True,
) -> tuple[tuple[Upgrade, ...], tuple[Selection, Selection]]:
    """Find the nearest versions without the loops that are chosen, on the targets of a scope.

    Returns:
        One upgrade for each, and what is selected of the input as it was read, and after all.
    """
    from distcycle.resolution.faults import find_loops
    from distcycle.resolution.shelf import Shelf
    from distcycle.resolution.upgrades import find_upgrades, loosen

    snapshot = scope.snapshot
    compiled = _is_compiled(snapshot) if compiled is None else compiled
    # The hashes of an input are those of its own versions.
    rules = replace(rules, files=replace(rules.files, require_hashes=False))
    scope = scope.listed(scope.targets)
    with library.releases(index=snapshot.index) as source:
        shelf = Shelf(replace(snapshot, packages=()), scope.targets, source, rules)
        select = _selecting(scope, library, facts, shelf)
        read = select(snapshot)
        before = select(loosen(read, compiled=compiled, allow_pins=allow_pins))
        loops = choose(before, find_loops(before))
        upgrades, after = find_upgrades(before, loops, shelf, select)
    return upgrades, (read, after)


def _expect_versions(snapshot: Snapshot) -> None:
    for package in snapshot.packages:
        if package.version is None and package.source == "registry":
            problem = f"{package.name} is not pinned to a version; --resolve finds one"
            raise InputError(problem, path=snapshot.path)


def _selecting(
    scope: Scope, library: Library, facts: Facts, shelf: Shelf
) -> Callable[[Snapshot], Selection]:
    """What selects of one input after another, on the same targets, and asks nothing twice."""
    space = scope.space(facts)

    standing: Sequence[int] = ()

    def run(snapshot: Snapshot) -> Selection:
        nonlocal facts, standing
        while True:
            selection = select(snapshot, space, facts, scope.request, standing=standing)
            if not selection.needs:
                standing = standing or selection.standing
                return selection
            facts = replace(facts, metadata={**facts.metadata, **shelf.metadata_read})
            facts = library.gather(selection.needs, facts, index=snapshot.index)

    return run


def _plan_upgrade(before: Selection, after: Selection) -> UpgradePlan:
    """What to write down of an input after its upgrades: all that is still installed."""
    known = {(package.name, package.version) for package in before.snapshot.packages}
    has_hashes = any(package.hashes for package in before.snapshot.packages)
    gone = {i for i in before.reached if not i[1]} - {i for i in after.reached if not i[1]}
    staying = [p for i, p in enumerate(after.snapshot.packages) if (i, "") not in gone]
    pins = []
    for package in sorted(staying, key=lambda p: (p.name, str(p.version))):
        if package.source in PROJECT_SOURCES:
            continue
        files = {pair for file in package.artefacts or () for pair in file.hashes}
        hashes = package.hashes or tuple(sorted(files))
        pin = Pin(
            name=package.name,
            version=package.version,
            url=None if package.source in {"registry", "installed"} else package.url,
            marker=str(package.marker or ""),
            hashes=hashes if has_hashes else (),
            is_new=(package.name, package.version) not in known,
        )
        pins.append(pin)
    return UpgradePlan(input=before.snapshot.path, pins=tuple(pins))


def look_for_fix(
    scope: Scope, library: Library, kind: str, members: tuple[NormalizedName, ...]
) -> str | Unknown:
    """Look for versions without a loop, whatever people pinned.

    Args:
        scope: What is judged; where every environment is, its named targets count.
        library: Where releases and METADATA come from.
        kind: What kind of loop it is.
        members: Its members.

    Returns:
        The versions, as text; ``""`` when there are none, or why that is not known.
    """
    from distcycle.resolution import Rules

    rules = Rules(files=scope.snapshot.rules)
    try:
        _expect_versions(scope.snapshot)
        upgrades, _ = _find_upgrades(scope, library, rules, Facts(), _only(kind, members))
    except DistcycleError as error:
        return Unknown(reason=str(error))
    for upgrade in upgrades:
        if upgrade.changes is not None:
            return ", ".join(f"{c.name} {c.new}" for c in upgrade.changes if c.new is not None)
        if not upgrade.exhausted:
            return Unknown(reason=f"gave up after {upgrade.tried} sets of versions")
    return ""


def _only(kind: str, members: tuple[NormalizedName, ...]) -> Callable[..., list[Component]]:
    from distcycle.resolution.faults import names_of

    def choose(selection: Selection, loops: list[Component]) -> list[Component]:
        return [
            loop
            for loop in loops
            if loop.kind == kind and names_of(loop, selection) <= set(members)
        ]

    return choose

"""Upgrades that open loops: for each loop the nearest versions, told so that people can decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.cycles import Component
from distcycle.model import PROJECT_SOURCES, Extra, Package, Requirement, Snapshot
from distcycle.resolution.faults import find_loops, names_of
from distcycle.resolution.nearest import Found, Nearest, find_nearest
from distcycle.resolution.shelf import Said, Shelf, View
from distcycle.selection import Selection

_PINS = frozenset(("==", "==="))

__all__ = ["Change", "Upgrade", "find_pins", "find_upgrades", "loosen"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A package that gets another version, comes or goes.

    Attributes:
        name: The project.
        old: Its version before; None for one that comes.
        new: Its version after; None for one that goes.
        why: What opens the loop, and since which release, a line each.
    """

    name: NormalizedName
    old: Version | None
    new: Version | None
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """What can be done about one loop by other versions.

    Attributes:
        kind: What kind of loop it is.
        packages: Its members, sorted.
        changes: Packages that get another version, and members that leave; None when no set of
            versions without the loop was found.
        follows: Packages that come or go with that.
        loses: Version bounds that nothing holds any more, a line each.
        tried: How many sets of versions were judged.
        exhausted: Whether everything that could have been smaller was tried; when nothing was
            found, whether there is nothing within the ranges.
        ranges: For each project of which other versions were tried, the oldest and the newest.
        is_gone: Whether an upgrade for an earlier loop opens this one as well.
        pinned: Members that people pinned and that therefore stay, as they are pinned.
    """

    kind: str
    packages: tuple[NormalizedName, ...]
    changes: tuple[Change, ...] | None
    follows: tuple[Change, ...] = ()
    loses: tuple[str, ...] = ()
    tried: int = 0
    exhausted: bool = True
    ranges: Mapping[NormalizedName, tuple[Version, Version]]
    is_gone: bool = False
    pinned: tuple[str, ...] = ()


def loosen(selection: Selection, *, compiled: bool, allow_pins: bool) -> Snapshot:
    """The input with those roots alone that bind: what people ask for, not what a tool wrote down.

    Args:
        selection: What is selected of the input.
        compiled: Whether a tool wrote every version down, so that no pin was asked for.
        allow_pins: Whether even pins that people wrote may go.

    Returns:
        The input; in a compiled file only lines that somebody asked for are roots, at any version.
    """
    roots = [root for root, _ in selection.roots]
    if compiled:
        asked = _asked_for(selection)
        roots = [root for root in roots if root.requirement.name in asked]
    packages = selection.snapshot.packages
    if compiled or allow_pins:
        roots = [replace(root, requirement=_without_pin(root.requirement)) for root in roots]
        packages = tuple(_without_pins(package) for package in packages)
    return replace(selection.snapshot, roots=tuple(roots), packages=packages)


def _asked_for(selection: Selection) -> set[NormalizedName]:
    """The projects of a compiled file that somebody asked for, by its comments or by its edges."""
    packages = selection.snapshot.packages
    if any(package.via or package.asked for package in packages):
        return {package.name for package in packages if package.asked or not package.via}
    required: dict[int, set[int]] = {}
    for edge in selection.edges:
        if edge.judged and edge.source[0] != edge.target:
            required.setdefault(edge.target, set()).add(edge.source[0])
    inside = {i: set(loop.packages) for loop in find_loops(selection) for i in loop.packages}
    return {
        package.name
        for i, package in enumerate(packages)
        if not required.get(i, set()) - inside.get(i, set())
    }


def _without_pins(package: Package) -> Package:
    """A package of the lock; where it is the project itself, without what people pinned."""
    if package.source not in PROJECT_SOURCES or package.requirements is None:
        return package
    return replace(package, requirements=tuple(map(_without_pin, package.requirements)))


def _without_pin(requirement: Requirement) -> Requirement:
    kept = [s for s in requirement.specifier if s.operator not in _PINS]
    return replace(requirement, specifier=SpecifierSet(",".join(map(str, kept))))


def find_pins(selection: Selection) -> dict[NormalizedName, str]:
    """What people pinned, by project, as they wrote it.

    Args:
        selection: What is selected of the input, with the roots that it was read with.
    """
    asked = [root.requirement for root, _ in selection.roots]
    for package in selection.snapshot.packages:
        if package.source in PROJECT_SOURCES:
            asked += package.requirements or ()
    return {
        r.name: f"{r.name}{r.specifier}"
        for r in asked
        if any(s.operator in _PINS for s in r.specifier)
    }


def find_upgrades(
    selection: Selection,
    loops: Iterable[Component],
    shelf: Shelf,
    select: Callable[[Snapshot], Selection],
) -> tuple[tuple[Upgrade, ...], Selection]:
    """Find for each loop the nearest versions without it; each on what the one before comes to.

    Args:
        selection: What is selected of the input on the targets of the shelf, with roots that bind.
        loops: The loops to open, of this selection.
        shelf: What there is to choose from.
        select: Selects, with all METADATA.

    Returns:
        One upgrade for each loop, and what is selected after all of them.

    Raises:
        MetadataError: Something that had to be asked did not answer.
    """
    upgrades = []
    current = selection
    for loop in loops:
        names = tuple(sorted(names_of(loop, selection)))
        component = _find_again(loop.kind, names, current)
        if component is None:
            gone = Upgrade(kind=loop.kind, packages=names, changes=(), ranges={}, is_gone=True)
            upgrades.append(gone)
            continue
        nearest = find_nearest(component, current, shelf, select)
        upgrades.append(_describe(component, current, nearest, shelf))
        if nearest.found is not None:
            current = nearest.found.selection
    return tuple(upgrades), current


def _find_again(
    kind: str, names: Sequence[NormalizedName], selection: Selection
) -> Component | None:
    for component in find_loops(selection):
        if component.kind == kind and not names_of(component, selection).isdisjoint(names):
            return component
    return None


# Telling -----------------------------------------------------------------------------------------


def _describe(component: Component, before: Selection, nearest: Nearest, shelf: Shelf) -> Upgrade:
    names = tuple(sorted(names_of(component, before)))
    found = nearest.found
    if found is None:
        pinned = find_pins(before)
        return Upgrade(
            kind=component.kind,
            packages=names,
            pinned=tuple(pinned[name] for name in names if name in pinned),
            changes=None,
            tried=nearest.tried,
            exhausted=nearest.exhausted,
            ranges=nearest.ranges,
        )
    changes, follows = [], []
    for i, package in enumerate(before.snapshot.packages):
        stays = bool(found.selection.reached.get((i, "")))
        new = found.snapshot.packages[i].version if stays else None
        if not before.reached.get((i, "")) or (stays and new == package.version):
            continue
        change = Change(name=package.name, old=package.version, new=new)
        if stays:
            changes.append(replace(change, why=tuple(_why(i, component, before, found, shelf))))
        elif package.name in names:
            changes.append(change)
        else:
            follows.append(change)
    coming = found.snapshot.packages[len(before.snapshot.packages) :]
    follows += [Change(name=package.name, old=None, new=package.version) for package in coming]
    return Upgrade(
        kind=component.kind,
        packages=names,
        changes=tuple(sorted(changes, key=lambda change: change.name)),
        follows=tuple(sorted(follows, key=lambda change: change.name)),
        loses=tuple(_losses(component, before, found)),
        tried=nearest.tried,
        exhausted=nearest.exhausted,
        ranges=nearest.ranges,
    )


def _why(
    index: int, component: Component, before: Selection, found: Found, shelf: Shelf
) -> Iterator[str]:
    """Which requirements on other members a package has no more, and since which release."""
    packages = before.snapshot.packages
    name, new = packages[index].name, found.snapshot.packages[index].version
    old = packages[index].version
    still = {e.requirement.name for e in found.selection.edges_from(index) if e.judged}
    gone = {
        (e.requirement.name, e.source[1])
        for e in component.edges
        if e.source[0] == index and e.requirement.name not in still
    }
    if old is None or new is None:
        return
    # From the new version back towards the old one: what was dropped and taken up again is not
    # what opened the loop.
    back = [v for v in shelf.versions(name) if min(old, new) <= v <= max(old, new) and v != old]
    if new < old:
        back.reverse()
    cell = next(before.space.cells(component.cells))
    view = View(shelf, before.space.index(before.space.axes[0], cell))
    for target, extra in sorted(gone):
        since = new
        for version in back:
            if view.standing(name, version) is not True:
                continue
            if _holds(view.said(name, version), view, target, extra):
                break
            since = version
        yield f"{name} {since} {_what_became(view.said(name, since), target, extra)}"


def _holds(said: Said, view: View, target: str, extra: str) -> bool:
    """Whether something requires a project, or does not say what it requires."""
    return bool(said.unknown or said.broken) or any(
        line.name == target for line in view.requirements(said, extra)
    )


def _what_became(said: Said, target: str, extra: str) -> str:
    lines = [r for r in said.requires if r.name == target]
    under = {e for line in lines for e in said.provides_extra if _is_under(line, e)}
    extras = sorted(under - {extra})
    if extras:
        noun = "extra" if len(extras) == 1 else "extras"
        return f"requires {target} only with the {noun} {', '.join(extras)}"
    if lines:
        return f"requires {target} only where {lines[0].marker}"
    return f"no longer requires {target}"


def _is_under(line: Requirement, extra: Extra) -> bool:
    quoted = (f'extra == "{extra}"', f"extra == '{extra}'")
    return line.marker is not None and any(text in str(line.marker) for text in quoted)


def _losses(component: Component, before: Selection, found: Found) -> Iterator[str]:
    """The bounds of requirements inside the loop that go, and that nothing else has."""
    packages = before.snapshot.packages
    held: dict[NormalizedName, set[str]] = {}
    for edge in found.selection.edges:
        if edge.judged:
            name = edge.requirement.name
            held.setdefault(name, set()).update(map(str, edge.requirement.specifier))
    for root, _ in found.selection.roots:
        held.setdefault(root.requirement.name, set()).update(map(str, root.requirement.specifier))
    staying = {
        p.name
        for i, p in enumerate(found.snapshot.packages)
        if found.selection.reached.get((i, ""))
    }
    still = {
        (found.snapshot.packages[edge.source[0]].name, edge.requirement.name)
        for edge in found.selection.edges
        if edge.judged
    }
    lost: dict[str, set[str]] = {}
    for edge in component.edges:
        name = edge.requirement.name
        holder = packages[edge.source[0]].name
        if not {name, holder} <= staying or (holder, name) in still:
            continue
        for specifier in map(str, edge.requirement.specifier):
            if specifier not in held.get(name, set()):
                lost.setdefault(f"{name}{specifier}", set()).add(holder)
    for bound, holders in sorted(lost.items()):
        yield f"{bound}, which {', '.join(sorted(holders))} held"

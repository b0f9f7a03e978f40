"""What an upgrade did to the loops of an input: which came, went, grew, and which edge did it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from packaging.markers import InvalidMarker, Marker
from packaging.version import Version

from distcycle.checks import describe_package
from distcycle.findings import Change, Component, Report, abbreviate_targets, describe_condition
from distcycle.markers import NOWHERE, Speller, TooManyCells, whole_space
from distcycle.selection import Selection

__all__ = ["find_changes"]


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two states of an input."""

    selection: Selection
    report: Report

    def versions(self) -> dict[str, list[Version | None]]:
        versions: dict[str, list[Version | None]] = {}
        for package in self.selection.snapshot.packages:
            versions.setdefault(package.name, []).append(package.version)
        return versions

    def edges(self) -> set[tuple[str, str]]:
        """Pairs of projects of which the first requires the second, somewhere."""
        packages = self.selection.snapshot.packages
        return {
            (packages[edge.source[0]].name, packages[edge.target].name)
            for edge in self.selection.edges
            if edge.judged
        }


def find_changes(
    old: tuple[Selection, Report], new: tuple[Selection, Report]
) -> tuple[Change, ...]:
    """Compare the loops of two states of one input.

    Args:
        old: What was selected and found before.
        new: What is selected and found now.

    Returns:
        Loops that were added, have grown, hold in more environments, hold in fewer, have shrunk,
        or are gone, in this order.
    """
    before, after = _Side(*old), _Side(*new)
    changes: list[Change] = []
    matched: set[str] = set()
    for component in after.report.components:
        names = _names(component)
        same = [
            c
            for c in before.report.components
            if c.code == component.code and not names.isdisjoint(_names(c))
        ]
        matched.update(c.id for c in same)
        changes += _changes_of(component, same, before, after)
    for component in before.report.components:
        if component.id not in matched:
            changes.append(_gone(component, before, after))
    order = ("added", "grown", "widened", "narrowed", "shrunk", "gone")
    return tuple(sorted(changes, key=lambda c: (order.index(c.kind), c.code, c.packages)))


def _names(component: Component) -> frozenset[str]:
    return frozenset(package.name for package in component.packages)


def _changes_of(
    component: Component, same: Sequence[Component], before: _Side, after: _Side
) -> Iterator[Change]:
    names = _names(component)
    known = frozenset().union(*map(_names, same))
    causes = tuple(_causes(component, before, after))
    if not same:
        yield _change("added", component, causes, after)
        return
    if names - known:
        joined = f"joined by {', '.join(sorted(names - known))}"
        yield _change("grown", component, (joined, *causes), after)
    elif known - names:
        left = f"without {', '.join(sorted(known - names))}"
        yield _change("shrunk", component, (left,), after)
    more, fewer = _compare_conditions(component, same, before, after)
    if more:
        yield _change("widened", component, (f"now also {more}", *causes), after)
    if fewer:
        yield _change("narrowed", component, (f"no longer {fewer}",), after)


def _change(kind: str, component: Component, details: tuple[str, ...], side: _Side) -> Change:
    return Change(
        kind=kind,
        code=component.code,
        component=component.id,
        packages=tuple(sorted(_names(component))),
        where=_where(component, side.report),
        details=details,
    )


def _where(component: Component, report: Report) -> str:
    if component.condition is not None:
        return describe_condition(component.condition)
    return f"on {abbreviate_targets(component.targets, report.targets)}"


def _gone(component: Component, before: _Side, after: _Side) -> Change:
    names = _names(component)
    now, then = after.versions(), before.versions()
    moved = [_moved(n, then.get(n), now.get(n)) for n in sorted(names)]
    return _change("gone", component, tuple(text for text in moved if text), before)


def _moved(
    name: str, old: list[Version | None] | None, new: list[Version | None] | None
) -> str | None:
    if old is None:
        return f"{name} {_shown(new)} is new".replace("  ", " ")
    if new is None:
        return f"{name} {_shown(old)} is gone".replace("  ", " ")
    if old != new:
        return f"{name} {_shown(old)} -> {_shown(new)}"
    return None


def _shown(versions: Iterable[Version | None] | None) -> str:
    return ", ".join(str(version) for version in versions or () if version is not None)


def _causes(component: Component, before: _Side, after: _Side) -> Iterator[str]:
    """For each edge of a loop that is new: which package brought it, and by which change."""
    then, now = before.versions(), after.versions()
    known = before.edges()
    packages = after.selection.snapshot.packages
    described = {str(package.name): describe_package(package) for package in packages}
    seen: set[tuple[str, str]] = set()
    for edge in component.edges:
        source = edge.source.partition("[")[0]
        pair = (source, edge.target)
        if pair in seen or pair in known:
            continue
        seen.add(pair)
        moved = _moved(source, then.get(source), now.get(source)) or described[source]
        where = edge.condition
        shown = (
            describe_condition(where)
            if where is not None
            else f"on {abbreviate_targets(edge.targets, after.report.targets)}"
        )
        yield f"{moved} adds {source} -> {edge.target} {shown}"


def _compare_conditions(
    component: Component, same: Sequence[Component], before: _Side, after: _Side
) -> tuple[str, str]:
    """Where a loop holds that it did not, and where it no longer does, for people."""
    old_texts = [c.condition for c in same if c.condition is not None]
    if component.condition is not None and len(old_texts) == len(same):
        try:
            return _compare_markers(component.condition, old_texts)
        except (InvalidMarker, TooManyCells):
            pass
    rows = after.report.targets
    judged = {row.name for row in rows} & {row.name for row in before.report.targets}
    old = {target for c in same for target in c.targets} & judged
    new = set(component.targets) & judged
    more = f"on {abbreviate_targets(new - old, rows)}" if new - old else ""
    fewer = f"on {abbreviate_targets(old - new, rows)}" if old - new else ""
    return more, fewer


def _compare_markers(new: str, old: Sequence[str]) -> tuple[str, str]:
    markers = [Marker(text) for text in (new, *old) if text and text != NOWHERE]
    space = whole_space([str(marker) for marker in markers])

    def cells(text: str) -> int:
        if text == NOWHERE:
            return 0
        return space.condition(Marker(text)) if text else space.full

    then = 0
    for text in old:
        then |= cells(text)
    now = cells(new)
    speller = Speller(space, space.full)

    def show(condition: int) -> str:
        if not condition:
            return ""
        spelled = speller.spell(condition)
        return describe_condition(speller.sample(condition) if spelled is None else spelled)

    return show(now & ~then), show(then & ~now)

"""What an upgrade did to the loops of an input: which came, went, grew, and which edge did it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from packaging.markers import InvalidMarker, Marker
from packaging.version import Version

from distcycle.findings import (
    Change,
    Component,
    Edge,
    Report,
    abbreviate_targets,
    describe_condition,
    list_names,
)
from distcycle.markers import NOWHERE, Speller, TooManyCells, whole_space
from distcycle.selection import Selection

__all__ = ["find_changes", "find_module_changes"]

_ANY = Version("0")
_ORDER = ("added", "grown", "widened", "narrowed", "shrunk", "gone")
_NAMED = 12


class _Side:
    """One of the two states of an input.

    Attributes:
        selection: What was selected; the first, where the state resolves in several ways.
        report: What was found.
        versions: The versions of each project, ascending; None, for one that is not said, last.
        edges: Pairs of projects of which the first requires the second, somewhere.
    """

    def __init__(self, selections: Sequence[Selection], report: Report) -> None:
        self.selection = selections[0]
        self.report = report
        self.versions: dict[str, list[Version | None]] = defaultdict(list)
        packages = {(p.name, p.version) for s in selections for p in s.snapshot.packages}
        for name, version in sorted(packages, key=lambda p: (p[1] is None, p[1] or _ANY)):
            self.versions[name].append(version)
        self.edges = {
            (s.snapshot.packages[edge.source[0]].name, s.snapshot.packages[edge.target].name)
            for s in selections
            for edge in s.edges
            if edge.judged
        }


def find_changes(
    old: tuple[Sequence[Selection], Report], new: tuple[Sequence[Selection], Report]
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
    known = _by_member(before.report.components)
    for component in after.report.components:
        same = {c.id: c for name in sorted(_names(component)) for c in known[component.code, name]}
        matched.update(same)
        changes += _changes_of(component, list(same.values()), before, after)
    for component in before.report.components:
        if component.id not in matched:
            changes.append(_gone(component, before, after))
    return _sort(changes)


def _sort(changes: Iterable[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda c: (_ORDER.index(c.kind), c.code, c.packages)))


def find_module_changes(before: Report, after: Report) -> tuple[Change, ...]:
    """Compare the loops of modules of two states.

    Args:
        before: What was found before.
        after: What is found now.

    Returns:
        Loops that were added, have grown, have shrunk or are gone, in this order.
    """
    changes: list[Change] = []
    matched: set[tuple[str, str]] = set()
    looped = {(edge.source, edge.target) for c in before.components for edge in c.edges}
    known = _by_member(before.components)
    for component in after.components:
        names = _names(component)
        same = [c for name in sorted(names) for c in known[component.code, name]]
        matched.update((c.id, c.input) for c in same)
        then = frozenset().union(*map(_names, same))
        causes = tuple(_new_imports(component, looped))
        if not same:
            changes.append(_module_change("added", component, causes))
        elif names - then:
            joined = f"joined by {list_names(sorted(names - then), _NAMED)}"
            changes.append(_module_change("grown", component, (joined, *causes)))
        elif then - names:
            left = f"without {list_names(sorted(then - names), _NAMED)}"
            changes.append(_module_change("shrunk", component, (left,)))
    changes += (
        _module_change("gone", component, ())
        for component in before.components
        if (component.id, component.input) not in matched
    )
    return _sort(changes)


def _new_imports(component: Component, looped: Collection[tuple[str, str]]) -> Iterator[str]:
    """The imports of a loop that were in none, each at its place."""
    new = {
        (edge.source, edge.target): edge
        for edge in reversed(component.edges)
        if edge.origin == "static" and (edge.source, edge.target) not in looped
    }
    shown = sorted(new)[:_NAMED]
    for pair in shown:
        edge = new[pair]
        yield f"now in the loop: {edge.source} imports {edge.target} at {edge.path}:{edge.line}"
    if len(new) > len(shown):
        yield f"and {len(new) - len(shown)} more imports"


def _module_change(kind: str, component: Component, details: tuple[str, ...]) -> Change:
    return Change(
        kind=kind,
        code=component.code,
        component=component.id,
        packages=tuple(sorted(_names(component))),
        where=f"in {component.input}",
        details=details,
    )


def _by_member(components: Iterable[Component]) -> Mapping[tuple[str, str], list[Component]]:
    found: dict[tuple[str, str], list[Component]] = defaultdict(list)
    for component in components:
        for name in _names(component):
            found[component.code, name].append(component)
    return found


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


def _where(live: Component | Edge, report: Report) -> str:
    if live.condition is not None:
        return describe_condition(live.condition)
    return f"on {abbreviate_targets(live.targets, report.targets)}"


def _gone(component: Component, before: _Side, after: _Side) -> Change:
    names = _names(component)
    moved = [_moved(n, before.versions.get(n), after.versions.get(n)) for n in sorted(names)]
    return _change("gone", component, tuple(text for text in moved if text), before)


def _moved(
    name: str, old: list[Version | None] | None, new: list[Version | None] | None
) -> str | None:
    if old is None:
        return " ".join(filter(None, (name, _shown(new), "is new")))
    if new is None:
        return " ".join(filter(None, (name, _shown(old), "is gone")))
    if old != new:
        return f"{name} {_shown(old)} -> {_shown(new)}"
    return None


def _shown(versions: Iterable[Version | None] | None) -> str:
    return ", ".join(str(version) for version in versions or () if version is not None)


def _causes(component: Component, before: _Side, after: _Side) -> Iterator[str]:
    """For each edge of a loop that is new: which package brought it, and by which change."""
    seen: set[tuple[str, str]] = set()
    for edge in component.edges:
        source = edge.source.partition("[")[0]
        pair = (source, edge.target)
        if pair in seen or pair in before.edges:
            continue
        seen.add(pair)
        versions = after.versions[source]
        moved = _moved(source, before.versions.get(source), versions)
        who = moved or f"{source} {_shown(versions)}".strip()
        yield f"{who} adds {source} -> {edge.target} {_where(edge, after.report)}"


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

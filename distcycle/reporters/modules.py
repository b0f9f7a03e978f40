"""What the text says of loops of modules, and of what was read to find them: lines with indents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from distcycle.findings import Component, Cycle, Survey
from distcycle.reporters.phrases import count, list_names, shorten_statement
from distcycle.sightings import ImportView

__all__ = ["VIEWS", "describe_hops", "describe_survey", "join_counts", "title_modules"]

VIEWS: Mapping[str, str] = {
    "names": "names taken at import time",
    "executed": "all that runs at import time",
    "all": "all, in functions and for type checkers too",
}
"""What each view counts."""

_UNREAD_SHOWN = 5

Line = tuple[int, str]
"""How far a line is indented, and what it says."""


def describe_survey(survey: Survey, *, whole: bool) -> Iterator[Line]:
    """Say what was read, and how many loops there are in each view.

    Args:
        survey: What was found.
        whole: Whether to list everything.
    """
    total = sum(survey.imports.values())
    kinds = join_counts(survey.modules)
    yield 0, f"{survey.name}: {count(sum(survey.modules.values()), 'module')} ({kinds})"
    for place in survey.read_from:
        yield 2, f"read from {place}"
    kinds = f": {join_counts(survey.imports)}" if total else ""
    yield 0, f"{total:,} import{'' if total == 1 else 's'}{kinds}"
    if survey.modifiers:
        yield 2, f"of these {join_counts(survey.modifiers)}"
    shown = survey.unread if whole else survey.unread[:_UNREAD_SHOWN]
    for line in shown:
        yield 0, f"not read: {line}"
    if len(survey.unread) > len(shown):
        yield 0, f"not read: {len(survey.unread) - len(shown)} more"
    if survey.entries:
        number = len(survey.failing)
        verb = "fails" if number == 1 else "fail"
        yield 0, f"{count(number, 'module')} of {survey.entries:,} {verb} when imported first"
    yield 0, ""
    yield from _table(survey.views)


def join_counts(counts: Mapping[str, int]) -> str:
    """Say how many there are of each kind, of which there are most first."""
    most_first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{number:,} {kind}" for kind, number in most_first)


def _table(views: Sequence[ImportView]) -> Iterator[Line]:
    width = max(map(len, VIEWS.values()))
    yield 0, f"{'':<{width}}  loops  modules  largest"
    for view in views:
        largest = max(view.loops, default=0)
        numbers = f"{len(view.loops):>5}  {sum(view.loops):>7,}  {largest:>7,}"
        yield 0, f"{VIEWS.get(view.name, view.name):<{width}}  {numbers}"


def describe_hops(component: Component, cycle: Cycle) -> Iterator[Line]:
    """Say for each hop of a loop of modules where the import stands.

    Args:
        component: The component.
        cycle: One of its loops.
    """
    for hop in cycle.hops:
        first = component.edges[hop[0]]
        more = f" and {len(hop) - 1} more" if len(hop) > 1 else ""
        yield 4, f"{first.path}:{first.line}  {shorten_statement(first.requirement)}{more}"


def title_modules(component: Component, most: int) -> str:
    """Name a loop of modules: the way round where it is short, else its members."""
    names = [member.name for member in component.packages]
    if len(names) == 2:
        return " -> ".join((*names, names[0]))
    return f"{len(names)} modules import each other: {list_names(names, most)}"

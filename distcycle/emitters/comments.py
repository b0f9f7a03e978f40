"""The comments of emitted texts: why, on which targets, what is lost and what cannot be said.

All that is shown came out of files of strangers, so that nothing may end a comment's line.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from packaging.utils import NormalizedName

from distcycle.emitters import EMITTERS
from distcycle.plan import Plan, PlannedCut, PlannedGroup

__all__ = ["comment", "describe_cut", "describe_group", "describe_plan", "members_of", "name_cut"]

_WIDTH = 100
_MOST = 12


def comment(paragraphs: Iterable[str], *, sign: str = "#", indent: str = "") -> list[str]:
    """Lines of a comment.

    Args:
        paragraphs: Its paragraphs; those that begin with spaces keep them on every line, and
            ``""`` is an empty line.
        sign: What begins a comment.
        indent: What stands before the sign.
    """
    lines: list[str] = []
    for paragraph in paragraphs:
        text = paragraph.lstrip(" ")
        margin = f"{indent}{sign} {' ' * (len(paragraph) - len(text))}"
        lines += textwrap.wrap(
            _printable(text),
            _WIDTH,
            initial_indent=margin,
            subsequent_indent=margin,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [f"{indent}{sign}"]
    return lines


def _printable(text: str) -> str:
    """Escape what could end a line, hide, or turn around what follows."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def describe_plan(plan: Plan, tool: str, *hints: str) -> Iterator[str]:
    """The head of an emitted text.

    Args:
        plan: What the text carries out.
        tool: The emitter's name.
        hints: Where the text goes and what to heed, a paragraph each.
    """
    yield f"Written by distcycle for {plan.input} (fix --emit {tool})."
    yield from hints
    if cannot := EMITTERS[tool].cannot:
        yield f"What cannot be said here: {cannot}."


def describe_cut(plan: Plan, cut: PlannedCut, *, keeps: bool = False) -> Iterator[str]:
    """Why an edge goes, where the loop is, and what is lost.

    Args:
        plan: The plan.
        cut: A cut of it.
        keeps: Whether the tool can keep a requirement under an extra.
    """
    only = f" only with the extra {cut.extra}" if cut.extra and keeps else ""
    verb = "requires" if only else "no longer requires"
    loop = _list(members_of(plan, cut))
    yield f"{_named(cut)} {verb} {cut.requires}{only}, which opens the loop of {loop}."
    for line in cut.removed:
        yield f"  Declared: {line}"
    yield from _describe_extent(cut.condition, cut.targets)
    for line in cut.loses:
        yield f"  Lost: {line}"
    if cut.extra and not keeps:
        yield f"  Lost: the extra {cut.extra}, under which the requirement was to be kept"


def describe_group(group: PlannedGroup) -> Iterator[str]:
    """Why packages are built as one unit, and where that is needed."""
    yield f"The loop of {_list(group.packages)}, built as one unit."
    yield from _describe_extent(group.condition, group.targets)


def _describe_extent(condition: str | None, targets: tuple[str, ...]) -> Iterator[str]:
    if condition is not None:
        yield f"  The loop is: {f'where {condition}' if condition else 'everywhere'}"
    if targets:
        yield f"  On: {_list(targets)}"


def members_of(plan: Plan, cut: PlannedCut) -> tuple[NormalizedName, ...]:
    """The projects of the loops that a cut opens."""
    ends = {cut.package, cut.requires}
    for group in plan.groups:
        if ends <= set(group.packages):
            return group.packages
    return tuple(sorted(ends))


def name_cut(cut: PlannedCut) -> str:
    """A cut in a few words, as checks name it."""
    return f"{_named(cut)} -> {cut.requires}"


def _named(cut: PlannedCut) -> str:
    return cut.package if cut.version is None else f"{cut.package} {cut.version}"


def _list(names: Sequence[str]) -> str:
    shown, more = list(names[:_MOST]), len(names) - _MOST
    last = f"{more} more" if more > 0 else shown.pop()
    return f"{', '.join(shown)} and {last}" if shown else last

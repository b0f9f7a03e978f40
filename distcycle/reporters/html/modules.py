"""What the page says of loops of modules beside their drawing, and of what was read for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from distcycle.findings import Component, Report, Survey
from distcycle.reporters.html.layout import LONGEST_NAME
from distcycle.reporters.html.lettering import cut_middle
from distcycle.reporters.modules import VIEWS, join_counts
from distcycle.reporters.phrases import count, list_names, shorten_statement
from distcycle.sightings import EntryFailure, ImportFix, LoopDetail, MixedImport, Site

__all__ = [
    "DetailPart",
    "FailurePart",
    "FixPart",
    "MixedPart",
    "SitePart",
    "SurveyPart",
    "ViewPart",
    "describe_detail",
    "describe_surveys",
    "find_prefix",
    "shorten_names",
]

_CHAIN_SHOWN = 8
_ENTRIES_SHOWN = 5
_FIXES = {
    "drop": "drop",
    "retarget": "name what defines it",
    "type-checking": "for type checkers",
    "lazy": "import lazily",
    "move": "move",
    "restructure": "restructure",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewPart:
    """A row of the table of views."""

    text: str
    pairs: int
    loops: int
    modules: int
    largest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyPart:
    """What was read: how many modules and imports of which kinds, and the loops in each view."""

    name: str
    read_from: tuple[str, ...]
    modules: str
    imports: str
    modifiers: str
    views: tuple[ViewPart, ...]
    unread: tuple[str, ...]
    failing: str
    blind_to: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePart:
    """An import: where it stands and what it says."""

    place: str
    text: str
    condition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FixPart:
    """How to do without an import: in a word, at which place, and what to do."""

    word: str
    site: SitePart
    pair: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailurePart:
    """Modules that cannot be imported first for one cause, and the way to it from one of them."""

    entries: tuple[str, ...]
    more: tuple[str, ...]
    site: SitePart
    why: str
    chain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedPart:
    """A pair of modules that is joined at import time and in functions too."""

    pair: str
    static: tuple[SitePart, ...]
    lazy: tuple[SitePart, ...]
    back: SitePart | None
    early: str
    late: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailPart:
    """What else is said of a loop of modules."""

    numbers: str
    fixes: tuple[FixPart, ...]
    failures: int
    failing: tuple[FailurePart, ...]
    mixed: tuple[MixedPart, ...]


# What was read -----------------------------------------------------------------------------------


def describe_surveys(report: Report) -> Iterator[SurveyPart]:
    """Say what was read of each group of modules."""
    for survey in report.surveys:
        yield SurveyPart(
            name=survey.name,
            read_from=tuple(place for place in survey.read_from if place != survey.name),
            modules=_count_kinds(survey.modules, "module"),
            imports=_count_kinds(survey.imports, "import"),
            modifiers=join_counts(survey.modifiers),
            views=tuple(
                ViewPart(
                    text=VIEWS.get(view.name, view.name),
                    pairs=view.pairs,
                    loops=len(view.loops),
                    modules=sum(view.loops),
                    largest=max(view.loops, default=0),
                )
                for view in survey.views
            ),
            unread=survey.unread,
            failing=_tried(survey),
            blind_to=survey.blind_to,
        )


def _count_kinds(counts: Mapping[str, int], noun: str) -> str:
    total = sum(counts.values())
    kinds = f": {join_counts(counts)}" if len(counts) > 1 else ""
    return f"{total:,} {noun}{'' if total == 1 else 's'}{kinds}"


def _tried(survey: Survey) -> str:
    if not survey.entries:
        return ""
    fail = count(len(survey.failing), "module")
    return f"{fail} of {survey.entries} that were tried cannot be imported first"


# What is known of a loop -------------------------------------------------------------------------


def describe_detail(component: Component, report: Report) -> DetailPart | None:
    """Say what else is known of a loop of modules; None where nothing is.

    Args:
        component: The loop.
        report: The report that it is in.
    """
    for survey, entry in zip(report.surveys, report.inputs, strict=False):
        if entry.path != component.input and len(report.surveys) > 1:
            continue
        detail = next((d for d in survey.loops if d.component == component.id), None)
        if detail is not None:
            members = {member.name for member in component.packages}
            failing = [each for each in survey.failing if each.partial in members]
            causes: dict[tuple[Site, str, str], list[EntryFailure]] = {}
            for each in failing:
                causes.setdefault((each.site, each.symbol, each.partial), []).append(each)
            return DetailPart(
                numbers=_numbers(detail),
                fixes=tuple(map(_fix, detail.fixes)),
                failures=len(failing),
                failing=tuple(map(_failure, causes.values())),
                mixed=tuple(map(_mixed, detail.mixed)),
            )
    return None


def _numbers(detail: LoopDetail) -> str:
    parts = [f"{detail.static} at import time"]
    parts += [f"{detail.lazy} in functions only"] if detail.lazy else []
    parts += [f"{detail.type_checking} for type checkers only"] if detail.type_checking else []
    needing = (
        f"; {count(detail.names, 'module')} need names of each other at once"
        if detail.names
        else "; none needs names of another at once"
    )
    return f"pairs of modules: {', '.join(parts)}{needing}"


def _site(site: Site) -> SitePart:
    return SitePart(
        place=f"{site.path}:{site.line}",
        text=shorten_statement(site.text),
        condition=site.condition,
    )


def _fix(fix: ImportFix) -> FixPart:
    return FixPart(
        word=_FIXES.get(fix.kind, fix.kind),
        site=_site(fix.site),
        pair=f"{fix.site.module} imports {fix.target}",
        text=fix.text,
    )


def _failure(same: Sequence[EntryFailure]) -> FailurePart:
    """What modules have in common that fail for one cause."""
    first = min(same, key=lambda failure: len(failure.chain))
    names = tuple(failure.entry for failure in same)
    bound, back = first.bound_line, first.back_line
    where = "never binds it" if bound is None else f"binds it at line {bound}"
    after = "" if back is None else f", after it imports back at line {back}"
    chain = first.chain[:_CHAIN_SHOWN]
    more = len(first.chain) - len(chain)
    return FailurePart(
        entries=names[:_ENTRIES_SHOWN],
        more=names[_ENTRIES_SHOWN:],
        site=_site(first.site),
        why=f"takes {first.symbol} out of {first.partial}, which {where}{after}",
        chain=" \N{RIGHTWARDS ARROW} ".join(chain) + (f" and {more} more" if more else ""),
    )


def _mixed(mixed: MixedImport) -> MixedPart:
    return MixedPart(
        pair=f"{mixed.source} imports {mixed.target}",
        static=tuple(map(_site, mixed.static)),
        lazy=tuple(map(_site, mixed.lazy)),
        back=None if mixed.back is None else _site(mixed.back),
        early=list_names(mixed.early, 6),
        late=list_names(mixed.late, 6),
    )


# Names in a drawing ------------------------------------------------------------------------------


def find_prefix(names: Sequence[str]) -> str:
    """The package that all modules are in, or are; ``""`` for none."""
    if len(names) < 2:
        return ""
    parts = [name.split(".") for name in names]
    prefix: list[str] = []
    for each in zip(*parts, strict=False):
        if len(set(each)) > 1:
            break
        prefix.append(each[0])
    return ".".join(prefix)


def shorten_names(names: Sequence[str]) -> dict[str, str]:
    """What a drawing writes for modules: what follows their common package, after a dot.

    The package itself keeps its name. What is still too long is cut in its middle.
    """
    prefix = find_prefix(names)
    shown = {
        name: name.removeprefix(prefix) if prefix and name != prefix else name for name in names
    }
    return {name: cut_middle(text, LONGEST_NAME) for name, text in shown.items()}

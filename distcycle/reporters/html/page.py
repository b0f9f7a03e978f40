"""What the page says, part by part, in the words and numbers that its template puts in place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from distcycle.findings import Finding, Report, TargetRow
from distcycle.reporters.html.loops import Index, describe_component, order_pythons, weigh
from distcycle.reporters.html.modules import SurveyPart, describe_surveys
from distcycle.reporters.html.parts import ComponentPart
from distcycle.reporters.identity import component_of
from distcycle.reporters.phrases import describe_rule, describe_where, verdict_of
from distcycle.reporters.words import Words, words_of_report

__all__ = ["Page", "describe_page"]

_KINDS = ("deny", "warn", "allow", "accepted")


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingPart:
    """A finding, the word and class of its weight, and the set of targets on which it holds."""

    finding: Finding
    word: str
    kind: str
    where: str
    place: str
    rule: str
    link: str
    on: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The whole page.

    Attributes:
        verdict: The verdict in one line.
        mood: ``bad``, ``good``, ``warn`` or ``none``; a class for its colour.
        words: The words for what was counted.
        pythons: The columns of every heat map.
        platforms: The choices of target, by platform.
        surveys: What was read of modules.
        components: The loops.
        findings: Everything with a code.
        codes: The codes that occur.
        kinds: The weights that occur, with how often.
        sets: Sets of targets that parts refer to, as positions in the list of targets.
    """

    verdict: str
    mood: str
    words: Words
    pythons: tuple[str, ...]
    platforms: Mapping[str, tuple[TargetRow, ...]]
    surveys: tuple[SurveyPart, ...]
    components: tuple[ComponentPart, ...]
    findings: tuple[FindingPart, ...]
    codes: tuple[str, ...]
    kinds: Mapping[str, int]
    sets: tuple[tuple[int, ...], ...]


def describe_page(report: Report) -> Page:
    """Say everything that the page of a report shows."""
    sets = _Sets(report.targets)
    components = tuple(
        describe_component(number, component, report, sets.index)
        for number, component in enumerate(report.components, 1)
    )
    links = {id(part.component): part.id for part in components}
    findings = tuple(_finding(item, report, links, sets.index) for item in report.findings)
    platforms: dict[str, list[TargetRow]] = defaultdict(list)
    for row in report.targets:
        platforms[row.platform].append(row)
    kinds = [part.kind for part in findings]
    return Page(
        verdict=verdict_of(report),
        mood=_mood(report),
        words=words_of_report(report),
        pythons=order_pythons(report.targets),
        platforms={platform: tuple(rows) for platform, rows in platforms.items()},
        surveys=tuple(describe_surveys(report)),
        components=components,
        findings=findings,
        codes=tuple(sorted({part.finding.code for part in findings})),
        kinds={kind: kinds.count(kind) for kind in _KINDS if kind in kinds},
        sets=sets.listed(),
    )


class _Sets:
    """Numbers each set of targets, as hundreds of parts share a few of them."""

    def __init__(self, rows: Sequence[TargetRow]) -> None:
        self.places = {row.name: at for at, row in enumerate(rows)}
        self.numbers: dict[tuple[str, ...], int] = {}

    def index(self, targets: Sequence[str]) -> int | None:
        """The number of a set; None where targets have no meaning."""
        return self.numbers.setdefault(tuple(targets), len(self.numbers)) if targets else None

    def listed(self) -> tuple[tuple[int, ...], ...]:
        """Each set as positions in the list of targets."""
        return tuple(
            tuple(self.places[name] for name in names if name in self.places)
            for names in self.numbers
        )


def _mood(report: Report) -> str:
    if report.judged_nothing:
        return "none"
    if not report.ok:
        return "bad"
    return "warn" if report.summary.warn else "good"


def _finding(
    finding: Finding, report: Report, links: Mapping[int, str], index: Index
) -> FindingPart:
    word, kind = weigh(finding)
    component = component_of(finding, report)
    return FindingPart(
        finding=finding,
        word=word,
        kind=kind,
        where=describe_where(finding, report),
        place=f"{finding.path}:{finding.line}" if finding.line else finding.path,
        rule=describe_rule(finding.accepted_by) if finding.accepted_by else "",
        link="" if component is None else links[id(component)],
        on=index(finding.targets),
    )

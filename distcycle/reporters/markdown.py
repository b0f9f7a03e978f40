"""Markdown for a comment on a pull request, and for the job summary of GitHub Actions.

What was read from a file stands in ``<code>`` with every mark as a numeric reference: so it is text
in a table cell, in a ``<summary>`` and in a list, whatever pipes, backticks or tags it holds, and
names nobody and no issue. A comment has at most 65,536 characters; what does not fit is counted.

Source: GitHub Flavored Markdown, sections 4.10 (tables), 6.2 (references), 6.9 (autolinks).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from distcycle.findings import (
    Change,
    Component,
    Finding,
    Opened,
    Report,
    Severity,
    Survey,
    abbreviate_targets,
)
from distcycle.reporters import View
from distcycle.reporters.escape import printable
from distcycle.reporters.identity import component_of
from distcycle.reporters.modules import VIEWS, join_counts
from distcycle.reporters.phrases import (
    ACCEPTED,
    choose_evidence,
    count,
    describe_breakers,
    describe_evidence,
    describe_rule,
    describe_where,
    first_loop,
    hops_of,
    list_names,
    verdict_of,
)
from distcycle.reporters.words import IMPORT_CYCLE, words_of, words_of_report

__all__ = ["render"]

_MOST = 65_000
_LONGEST = 400
_EVIDENCE_SHOWN = 8
_LEFT_OUT = "\n{} more left out"
# No number that would begin a list, and no address that would become a link.
_PLAIN = re.compile(
    r"(?!\d+\.\Z)(?!www\.)[a-z0-9][a-z0-9.-]*[,.;:]?|\d{1,3}(,\d{3})+|->|",
    re.IGNORECASE | re.ASCII,
)
# An underscore between letters or digits means nothing, and targets are full of them.
_MARKS = re.compile(
    r"[^a-z0-9_ .,;/=()'\"-]|(?<![a-z0-9])_|_(?![a-z0-9])|(?<=www)\.", re.IGNORECASE | re.ASCII
)


def render(report: Report, view: View) -> str:
    """Show a report as Markdown."""
    del view
    head, foot = f"### distcycle: {verdict_of(report)}\n", _foot(report)
    lines = [head]
    room = _MOST - len(head) - len(foot) - len(_LEFT_OUT) - 10
    whole_sections = 0
    for section in _sections(report):
        # Half of what is left, so that no section keeps all others out.
        shown = list(section.fit(room // 2))
        room -= sum(len(line) + 1 for line in shown)
        whole_sections += not shown
        lines += shown
    if whole_sections:
        lines.append(_LEFT_OUT.format(count(whole_sections, "section")) + "\n")
    return "\n".join([*lines, foot]) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """Items that may be left out between lines that belong together."""

    opening: tuple[str, ...]
    items: tuple[str, ...]
    closing: tuple[str, ...] = ("",)

    def fit(self, room: int) -> Iterator[str]:
        """The lines that fit, with a count of the items that do not; nothing if not one does."""
        room -= sum(len(line) + 1 for line in (*self.opening, *self.closing, _LEFT_OUT)) + 10
        if not self.items or len(self.items[0]) >= room:
            return
        yield from self.opening
        for number, item in enumerate(self.items):
            room -= len(item) + 1
            if room < 0:
                yield _LEFT_OUT.format(len(self.items) - number)
                break
            yield item
        yield from self.closing


def _sections(report: Report) -> Iterator[_Section]:
    if report.changes:
        yield _Section(opening=("**Changes**", ""), items=tuple(map(_change, report.changes)))
    for survey in report.surveys:
        yield _survey(survey)
    if report.components:
        by_target = [c for c in report.components if c.code != IMPORT_CYCLE]
        if by_target and report.targets:
            yield _table(by_target, report)
        for component in report.components:
            yield _details(_loop_title(component), tuple(_loop_lines(component, report)))
    others = [finding for finding in report.findings if finding.component is None]
    for title, findings in _piles(others).items():
        if findings:
            items = tuple(_finding(finding, report) for finding in findings)
            yield _details(f"{title} ({len(findings)})", items)
    if report.opened:
        items = tuple(map(_opened, report.opened))
        yield _details(f"Loops that the policy opened ({len(items)})", items)
    if report.notes:
        items = tuple(f"- {_prose(note)}" for note in report.notes)
        yield _details(f"Notes ({len(items)})", items)


def _details(title: str, items: tuple[str, ...]) -> _Section:
    opening = (f"<details><summary>{title}</summary>", "")
    return _Section(opening=opening, items=items, closing=("", "</details>", ""))


# Data --------------------------------------------------------------------------------------------


def _code(text: str) -> str:
    """Text from a file, as it stands there."""
    shown = printable(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")
    return f"<code>{_MARKS.sub(lambda mark: f'&#{ord(mark[0])};', shown)}</code>"


def _prose(text: str) -> str:
    """A sentence with words from a file in it: all that is no plain word is shown as code."""
    words = printable(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...").split(" ")
    shown = [word.replace(">", "&gt;") if _PLAIN.fullmatch(word) else _code(word) for word in words]
    return " ".join(shown).replace("</code> <code>", " ")


# Loops -------------------------------------------------------------------------------------------


def _table(components: Sequence[Component], report: Report) -> _Section:
    """Loops against platforms, with the Pythons on which each exists."""
    platforms = list(dict.fromkeys(row.platform for row in report.targets))
    header = " | ".join(["loop", *map(_code, platforms)])
    rows = [
        f"| {_code(_members(component))} | "
        f"{' | '.join(_pythons(component, platform, report) for platform in platforms)} |"
        for component in components
    ]
    opening = (f"| {header} |", f"|{'---|' * (len(platforms) + 1)}")
    return _Section(opening=opening, items=tuple(rows))


def _members(component: Component) -> str:
    return list_names([package.name for package in component.packages], 4)


def _pythons(component: Component, platform: str, report: Report) -> str:
    rows = [row for row in report.targets if row.platform == platform]
    held = [row.name for row in rows if row.name in component.targets]
    if not held:
        return "-"
    if len(held) == len(rows):
        return "all"
    shown = abbreviate_targets(held, rows).removeprefix(platform)
    return _code(shown.strip(" ()"))


def _label(severity: Severity, accepted: str | None) -> str:
    return accepted or {"deny": "denied", "warn": "warning", "allow": "allowed"}[severity]


def _loop_title(component: Component) -> str:
    rule = component.accepted_by
    label = _label(component.severity, ACCEPTED[rule.kind] if rule else None)
    return f"<b>{label}</b> {_code(component.code)} {_code(first_loop(component))}"


def _loop_lines(component: Component, report: Report) -> Iterator[str]:
    if len(component.packages) > 2:
        names = [package.name for package in component.packages]
        words = words_of(component)
        many = f"{count(len(names), words.noun)} {words.verbs} each other"
        yield f"- {many}: {_prose(list_names(names, 40))}"
    where = _where(component, report)
    if where:
        yield f"- {where}"
    yield from (f"- {_prose(line)}" for line in component.requested_by)
    for hop in hops_of(component):
        by = f" ({_prose(hop.evidence)})" if component.code != IMPORT_CYCLE else ""
        said = f"{_prose(f'{hop.source} {hop.what}')} {_code(hop.text)}"
        yield f"- {said}{by} at {_code(hop.place)}"
    if len(component.cycles) > 1 or component.capped:
        least = "at least " if component.capped else ""
        yield f"- and {least}{count(max(len(component.cycles) - 1, 1), 'more loop')}"
    breakers = describe_breakers(component)
    if breakers:
        yield f"- {_prose(breakers)}"
    shown, rest = choose_evidence(component, _EVIDENCE_SHOWN)
    yield from (f"- {_prose(describe_evidence(each))}" for each in shown)
    yield from ([f"- {_prose(rest)}"] if rest else ())
    if component.code == IMPORT_CYCLE:
        yield from _details_of(component, report)
    for finding in report.findings:
        if finding.component == component.id and finding.accepted_by:
            yield f"- {_prose(describe_rule(finding.accepted_by))}"


def _details_of(component: Component, report: Report) -> Iterator[str]:
    """What the finding says of a loop of modules: who fails, and what opens it."""
    finding = next((f for f in report.findings if component_of(f, report) is component), None)
    yield from (f"- {_prose(line)}" for line in (finding.details if finding else ()))


def _survey(survey: Survey) -> _Section:
    """What was read, and the loops in each view."""
    modules = count(sum(survey.modules.values()), "module")
    imports = count(sum(survey.imports.values()), "import")
    opening = (
        f"{_prose(survey.name)}: {modules} ({_prose(join_counts(survey.modules))}), "
        f"{imports} ({_prose(join_counts(survey.imports))})",
        "",
        "| imports | pairs | loops | modules in loops | largest |",
        "|---|---:|---:|---:|---:|",
    )
    items = tuple(
        f"| {_prose(VIEWS.get(view.name, view.name))} | {view.pairs} | {len(view.loops)} | "
        f"{sum(view.loops)} | {max(view.loops, default=0)} |"
        for view in survey.views
    )
    return _Section(opening=opening, items=items)


# The rest ----------------------------------------------------------------------------------------


def _piles(findings: list[Finding]) -> dict[str, list[Finding]]:
    piles: dict[str, list[Finding]] = {"Denied": [], "Warnings": [], "Allowed": [], "Accepted": []}
    titles = dict(zip((Severity.DENY, Severity.WARN, Severity.ALLOW), piles, strict=False))
    for finding in findings:
        piles["Accepted" if finding.accepted_by else titles[finding.severity]].append(finding)
    return piles


def _finding(finding: Finding, report: Report) -> str:
    place = f"{finding.path}:{finding.line}" if finding.line else finding.path
    where = _where(finding, report)
    text = f"- {_code(finding.code)} {_prose(finding.message)} at {_code(place)}"
    text += f", {where}" if where else ""
    if finding.accepted_by:
        text += f": {_prose(describe_rule(finding.accepted_by))}"
    return text


def _change(change: Change) -> str:
    names = _code(list_names(change.packages, 12))
    text = f"- **{_prose(change.kind)}** {_code(change.code)} {names}, {_prose(change.where)}"
    return "\n".join([text, *(f"  - {_prose(detail)}" for detail in change.details)])


def _where(thing: Component | Finding, report: Report) -> str:
    word, _, condition = describe_where(thing, report).partition(" ")
    if word == "where":
        return f"where {_code(condition)}"
    return _prose(f"{word} {condition}".strip()) if word else ""


def _opened(opened: Opened) -> str:
    names = _code(list_names(opened.packages, 12))
    cuts = zip(opened.cuts, opened.reasons, strict=False)
    by = "; ".join(f"{_code(cut)}: {_prose(reason)}" for cut, reason in cuts)
    return f"- {_code(opened.code)} {names} by {by}"


def _foot(report: Report) -> str:
    summary = report.summary
    inputs = _code(list_names([entry.path for entry in report.inputs], 4))
    noun = words_of_report(report).noun
    text = f"{summary.judged} of {count(summary.packages, noun)} judged in {inputs}"
    return f"{text}, by {_code(report.command)}" if report.command else text

"""What a person needs to act, in the width of a terminal, the important first."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from distcycle.explanations import Explanation, Opening, Path
from distcycle.findings import (
    Component,
    Cycle,
    Edge,
    Evidence,
    Finding,
    Report,
    Rule,
    Severity,
    Summary,
    TargetRow,
    abbreviate_targets,
    describe_condition,
)
from distcycle.remedies import Remedy
from distcycle.reporters import View
from distcycle.reporters.escape import printable
from distcycle.reporters.modules import describe_hops, describe_survey, title_modules
from distcycle.reporters.phrases import (
    ACCEPTED,
    choose_evidence,
    count,
    describe_evidence,
    describe_rule,
    describe_site,
    list_names,
    name_witness,
    verdict_of,
)
from distcycle.reporters.words import IMPORT_CYCLE, MODULES, words_of_report

if TYPE_CHECKING:
    # Only what resolves loads the resolver.
    from distcycle.resolution.upgrades import Upgrade

__all__ = ["render", "render_explanation", "render_remedies", "render_upgrades"]

_STYLES = {Severity.DENY: "1;31", Severity.WARN: "33", Severity.ALLOW: "2"}
_CYCLES_SHOWN = 3
_MEMBERS_SHOWN = 12
_LIKE_FINDINGS_SHOWN = 3
_NEAR_MISSES_SHOWN = 3
_BREAKERS_SHOWN = 6
_DETAILS_SHOWN = 6
_LONGEST_REQUIREMENT = 160
_SITES_SHOWN = 12
_EVIDENCE_SHOWN = 8


def render(report: Report, view: View) -> str:
    """Show a report as text."""
    if view.verbosity < 0:
        return verdict_of(report) + "\n"
    return "\n".join(_Page(report, view).lines()) + "\n"


def render_explanation(explanation: Explanation, targets: Sequence[TargetRow], view: View) -> str:
    """Show why a project is in a loop, or that it is in none.

    Args:
        explanation: What is known of it.
        targets: The targets that conditions are told by.
        view: Width, colours and verbosity.
    """
    page = _Page(Report(inputs=(), targets=tuple(targets), summary=Summary()), view)
    page.sites = 10**9 if page.all else _SITES_SHOWN
    return "\n".join(page.explanation(explanation)) + "\n"


def render_remedies(remedies: Iterable[Remedy], view: View) -> str:
    """Show what can be done about each loop, and what it costs.

    Args:
        remedies: The remedies, component by component.
        view: Width, colours and verbosity.
    """
    page = _Page(Report(inputs=(), targets=(), summary=Summary()), view)
    return "\n".join(page.remedies(remedies)) + "\n"


def render_upgrades(upgrades: Iterable[Upgrade], view: View) -> str:
    """Show for each loop the nearest versions without it.

    Args:
        upgrades: What was found.
        view: Width, colours and verbosity.
    """
    page = _Page(Report(inputs=(), targets=(), summary=Summary()), view)
    return "\n".join(page.upgrades(upgrades)) + "\n"


class _Page:
    """The lines of one report."""

    def __init__(self, report: Report, view: View) -> None:
        self.report = report
        self.view = view
        self.all = view.verbosity > 0
        self.sites = 10**9 if self.all else 0

    def lines(self) -> Iterator[str]:
        yield from self._head()
        yield from self._changes()
        yield from self._opened()
        shown = [c for c in self.report.components if self.all or not _is_known(c)]
        for component in shown:
            yield ""
            yield from self._component(component)
        by_target = [c for c in shown if c.code != IMPORT_CYCLE]
        if by_target and self.report.targets:
            yield ""
            yield from self._table(by_target)
        yield from self._findings()
        yield from self._near_misses()
        yield ""
        yield from self._foot()

    def explanation(self, explanation: Explanation) -> Iterator[str]:
        """The lines of an explanation."""
        yield from self._wrap(", ".join(explanation.packages))
        if not explanation.reached:
            yield from self._wrap("not reached from what is asked for", 2)
        for path in explanation.paths:
            yield from self._path(path, explanation.reached)
        for component, openings in zip(explanation.components, explanation.openings, strict=True):
            yield ""
            yield from self._component(component)
            for opening in openings:
                yield from self._opening(opening)
        if not explanation.components:
            yield from self._way_back(explanation)
        if explanation.unknown:
            names = list_names(explanation.unknown, self._most())
            yield from self._wrap(
                f"requirements unknown, so that loops would not be seen: {names}", 2
            )

    def remedies(self, remedies: Iterable[Remedy]) -> Iterator[str]:
        """The lines of a list of remedies, numbered within each component."""
        numbers: dict[str, int] = defaultdict(int)
        for remedy in remedies:
            if not numbers[remedy.component]:
                yield from self._wrap(list_names(remedy.packages, self._most()))
            numbers[remedy.component] += 1
            title = f"{numbers[remedy.component]}. {remedy.kind}"
            if remedy.edges:
                edges = [f"{source} -> {target}" for source, target in remedy.edges]
                size = "" if remedy.exact else " (a smaller set may exist)"
                title += f" {list_names(edges, _BREAKERS_SHOWN)}{size}"
            yield from self._wrap(title, 2, 5)
            for cost in remedy.costs:
                yield from self._wrap(f"costs: {cost}", 5)
            for each in remedy.evidence:
                yield from self._wrap(f"imports: {describe_evidence(each)}", 5)
        if not numbers:
            yield "nothing to mend: no loop"

    def upgrades(self, upgrades: Iterable[Upgrade]) -> Iterator[str]:
        """The lines of the upgrades that open loops."""
        some = False
        for upgrade in upgrades:
            some = True
            members = list_names(upgrade.packages, self._most())
            yield from self._wrap(f"{upgrade.kind}: {members}")
            yield from self._upgrade(upgrade)
        if not some:
            yield "nothing to mend: no loop"

    def _upgrade(self, upgrade: Upgrade) -> Iterator[str]:
        if upgrade.is_gone:
            yield from self._wrap("opened by what is said above", 2)
            return
        if upgrade.changes is None:
            said = "no versions are without it" if upgrade.exhausted else "gave up"
            yield from self._wrap(f"{said}; tried: {_count_sets(upgrade.tried)}", 2)
        for change in upgrade.changes or ():
            new = str(change.new) if change.new else "goes, as nothing requires it any more"
            yield from self._wrap(f"{change.name} {change.old} -> {new}", 2)
            for why in change.why:
                yield from self._wrap(why, 4)
        come = [f"{c.name} {c.new}" for c in upgrade.follows if c.old is None]
        go = [f"{c.name} {c.old}" for c in upgrade.follows if c.new is None]
        for verb, names in (("comes", come), ("goes", go)):
            if names:
                yield from self._wrap(f"{verb}: {', '.join(names)}", 2)
        for bound in upgrade.loses:
            yield from self._wrap(f"loses the bound {bound}", 2)
        if upgrade.changes and not upgrade.exhausted:
            said = f"nearer versions may exist; tried: {_count_sets(upgrade.tried)}"
            yield from self._wrap(said, 2)
        if upgrade.pinned:
            kept = f"kept as asked for: {', '.join(upgrade.pinned)}; --allow-pins lets that change"
            yield from self._wrap(kept, 2)
        if upgrade.changes is None or self.all:
            ranges = (f"{n} {old} to {new}" for n, (old, new) in sorted(upgrade.ranges.items()))
            yield from self._wrap(f"looked at: {', '.join(ranges) or 'nothing'}", 2)

    def _path(self, path: Path, reached: str) -> Iterator[str]:
        yield from self._wrap(f"asked for as {path.root} ({path.asked}); reached {reached}", 2)
        for edge in path.edges:
            yield from self._wrap(f"{edge.source} requires {edge.requirement}", 4)
            yield from self._wrap(_evidence([edge]), 6)

    def _opening(self, opening: Opening) -> Iterator[str]:
        yield from self._wrap(f"without {opening.source} -> {opening.target}:", 2)
        if opening.bounds:
            yield from self._wrap(
                f"the bound {opening.target} {', '.join(opening.bounds)} is held by nothing else", 4
            )
        if opening.lost:
            yield from self._wrap(f"{opening.target} would not be reached {opening.lost}", 4)
        else:
            yield from self._wrap(f"{opening.target} would still be reached wherever it is", 4)

    def _way_back(self, explanation: Explanation) -> Iterator[str]:
        if explanation.way_back is None:
            known = " known" if explanation.unknown else ""
            yield from self._wrap(
                f"in no{known} loop: nothing that it requires leads back to it", 2
            )
            return
        names, reasons = explanation.way_back
        yield from self._wrap("in no loop; the nearest way back is", 2)
        yield from self._wrap(" -> ".join((*names, names[0])), 4)
        for reason in reasons:
            yield from self._wrap(reason, 6)

    # Shapes

    def _wrap(self, text: str, indent: int = 0, hang: int | None = None) -> list[str]:
        return textwrap.wrap(
            printable(text),
            self.view.width,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + 2 if hang is None else hang),
            break_on_hyphens=False,
            break_long_words=False,
        )

    def _paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.view.color else text

    def _headline(
        self, severity: Severity, code: str, text: str, accepted_by: Rule | None = None
    ) -> Iterator[str]:
        word = ACCEPTED[accepted_by.kind] if accepted_by else str(severity)
        label = f"{word}[{code}]"
        style = _STYLES[Severity.ALLOW if accepted_by else severity]
        first, *rest = self._wrap(f"{label} {text}")
        yield first.replace(label, self._paint(label, style), 1)
        yield from rest

    def _where(self, thing: Component | Cycle | Finding) -> str:
        if thing.condition is not None:
            return describe_condition(thing.condition)
        return f"on {self._targets(thing.targets)}"

    def _targets(self, names: Sequence[str]) -> str:
        return abbreviate_targets(names, self.report.targets)

    # Parts

    def _surveys(self) -> Iterator[str]:
        """What was read of modules."""
        for survey in self.report.surveys:
            for indent, line in describe_survey(survey, whole=self.all):
                yield from self._wrap(line, indent) or [""]

    def _head(self) -> Iterator[str]:
        if words_of_report(self.report) is MODULES:
            yield from self._surveys()
            if self.report.targets:
                yield from self._wrap(f"judged on {', '.join(_platforms(self.report.targets))}")
            yield from self._notes()
            return
        for entry in self.report.inputs:
            yield from self._wrap(f"{entry.path}: {count(entry.packages, 'package')}")
        named = ", ".join(_platforms(self.report.targets))
        if self.report.whole:
            named = f"; named: {named}" if named else ""
            yield from self._wrap(f"judged on every environment{named}")
        else:
            yield from self._wrap(f"judged on {named}")
        yield from self._notes()

    def _notes(self) -> Iterator[str]:
        for note in self.report.notes:
            yield from self._wrap(f"note: {note}")

    def _changes(self) -> Iterator[str]:
        """What happened to loops since the state that the input is compared with."""
        for change in self.report.changes:
            yield ""
            names = list_names(change.packages, self._most())
            yield from self._wrap(f"{change.kind}[{change.code}] {names}")
            yield from self._wrap(change.where, 2)
            for detail in change.details:
                yield from self._wrap(detail, 4)

    def _opened(self) -> Iterator[str]:
        """Loops that were there before the policy's cuts."""
        for opened in self.report.opened:
            yield ""
            names = list_names(opened.packages, self._most())
            yield from self._wrap(f"opened[{opened.code}] {names}")
            for cut, reason in zip(opened.cuts, opened.reasons, strict=True):
                yield from self._wrap(f"by the cut {cut}: {reason}", 2)

    def _modules(self, component: Component) -> Iterator[str]:
        """A loop of modules, and what would open it."""
        title = title_modules(component, self._most())
        rule = component.accepted_by
        yield from self._headline(component.severity, component.code, title, rule)
        for accepted in self._accepted_parts(component):
            yield from accepted
        shown = component.cycles if self.all else component.cycles[:_CYCLES_SHOWN]
        for cycle in shown:
            if len(component.packages) > 2:
                yield from self._wrap(" -> ".join((*cycle.packages, cycle.packages[0])), 2)
            for indent, line in describe_hops(component, cycle):
                yield from self._wrap(line, indent)
        more = len(component.cycles) - len(shown)
        if more or component.capped:
            least = "at least " if component.capped else ""
            yield from self._wrap(f"and {least}{count(max(more, 1), 'more loop')}", 2)
        yield from self._breakers(component)
        details = [
            detail
            for finding in self.report.findings
            if finding.component == component.id
            for detail in finding.details
        ]
        for detail in details if self.all else details[:_DETAILS_SHOWN]:
            yield from self._wrap(detail, 2)
        if len(details) > _DETAILS_SHOWN and not self.all:
            yield from self._wrap(
                f"and {len(details) - _DETAILS_SHOWN} more lines; -v shows them", 2
            )

    def _component(self, component: Component) -> Iterator[str]:
        if component.code == IMPORT_CYCLE:
            yield from self._modules(component)
            return
        names = [package.name for package in component.packages]
        if len(names) == 2 and component.cycles:
            title = " -> ".join((*component.cycles[0].packages, component.cycles[0].packages[0]))
        else:
            title = f"{len(names)} packages require each other: {list_names(names, self._most())}"
        rule = component.accepted_by
        yield from self._headline(component.severity, component.code, title, rule)
        for accepted in self._accepted_parts(component):
            yield from accepted
        yield from self._wrap(self._where(component), 2)
        for line in component.requested_by:
            yield from self._wrap(line, 2)
        shown = component.cycles if self.all else component.cycles[:_CYCLES_SHOWN]
        for cycle in shown:
            yield from self._cycle(component, cycle, titled=len(names) > 2)
        more = len(component.cycles) - len(shown)
        if more or component.capped:
            least = "at least " if component.capped else ""
            yield from self._wrap(f"and {least}{count(max(more, 1), 'more loop')}", 2)

        yield from self._breakers(component)
        yield from self._imports(component)

    def _imports(self, component: Component) -> Iterator[str]:
        """What imports say of cutting each edge."""
        shown, rest = choose_evidence(component, 10**9 if self.sites else _EVIDENCE_SHOWN)
        for evidence in shown:
            yield from self._wrap(describe_evidence(evidence), 2)
            if self.sites:
                yield from self._sites(evidence)
        if rest:
            yield from self._wrap(f"{rest}; -v shows them", 2)

    def _sites(self, evidence: Evidence) -> Iterator[str]:
        """What was read, where the target is imported, and what that does not tell."""
        if evidence.read_from:
            yield from self._wrap(f"read: {evidence.read_from}", 4)
        if len(evidence.path) > 1:
            yield from self._wrap("the way to what fails:", 4)
            for step in evidence.path:
                yield from self._wrap(step, 6)
        for site in evidence.sites[: self.sites]:
            yield from self._wrap(describe_site(site), 4)
        if len(evidence.sites) > self.sites:
            yield from self._wrap(f"and {len(evidence.sites) - self.sites} more imports", 4)
        for note in evidence.notes:
            yield from self._wrap(f"note: {note}", 4)

    def _accepted_parts(self, component: Component) -> Iterator[list[str]]:
        """Which rules accept the loop, and where, when not everywhere."""
        for finding in self.report.findings:
            rule = finding.accepted_by
            if finding.component == component.id and rule and rule.kind != "baseline":
                part = "" if component.accepted_by else f" ({self._where(finding)})"
                yield self._wrap(f"{describe_rule(rule)}{part}", 2)

    def _breakers(self, component: Component) -> Iterator[str]:
        """Say how few edges need go, in the words of those who would take them out."""
        if not component.breakers:
            return
        size = len(component.breakers[0])
        at_most = "" if component.breakers_exact else "at most "
        sets = [
            ", ".join(f"{source} -> {target}" for source, target in pairs[:_BREAKERS_SHOWN])
            + (f" and {size - _BREAKERS_SHOWN} more" if size > _BREAKERS_SHOWN else "")
            for pairs in component.breakers[: 2 if size < 3 or self.all else 1]
        ]
        text = f"opened by removing {at_most}{count(size, 'edge')}: {'; or '.join(sets)}"
        yield from self._wrap(text, 2)

    def _most(self) -> int:
        return 10**9 if self.all else _MEMBERS_SHOWN

    def _cycle(self, component: Component, cycle: Cycle, *, titled: bool) -> Iterator[str]:
        if titled:
            loop = " -> ".join((*cycle.packages, cycle.packages[0]))
            yield from self._wrap(loop, 2)
            if (cycle.targets, cycle.condition) != (component.targets, component.condition):
                yield from self._wrap(self._where(cycle), 4)
        versions = {package.name: package.version for package in component.packages}
        for hop in cycle.hops:
            by_text: dict[tuple[str, str], list[Edge]] = defaultdict(list)
            for at in hop:
                edge = component.edges[at]
                by_text[edge.source, edge.requirement].append(edge)
            for (source, requirement), edges in by_text.items():
                version = versions.get(source.partition("[")[0])
                text = requirement if self.all else _cut(requirement)
                yield from self._wrap(f"{source} {version or ''} requires {text}", 4)
                yield from self._wrap(_evidence(edges), 6)

    def _table(self, components: Sequence[Component]) -> Iterator[str]:
        """Loops against platforms, with the Pythons on which each exists."""
        platforms = list(dict.fromkeys(row.platform for row in self.report.targets))
        for component in components:
            names = [package.name for package in component.packages]
            yield from self._wrap(f"where {list_names(names, 4)}:", 0)
            width = max(map(len, platforms))
            for platform in platforms:
                rows = [row for row in self.report.targets if row.platform == platform]
                held = [row.name for row in rows if row.name in component.targets]
                pythons = "no loop"
                if held:
                    pythons = _pythons(held, rows)
                yield from self._wrap(f"{platform:<{width}}  {pythons}", 2, width + 6)

    def _findings(self) -> Iterator[str]:
        groups: dict[tuple[Severity, str], list[Finding]] = defaultdict(list)
        for finding in self.report.findings:
            counts = finding.severity is not Severity.ALLOW and finding.accepted_by is None
            if finding.component is None and (self.all or counts):
                groups[finding.severity, finding.code].append(finding)
        for (severity, code), group in groups.items():
            yield ""
            shown = group if self.all else group[:_LIKE_FINDINGS_SHOWN]
            for finding in shown:
                where = f"{finding.path}:{finding.line}" if finding.line else finding.path
                yield from self._headline(severity, code, finding.message, finding.accepted_by)
                targets = f" on {self._targets(finding.targets)}" if finding.targets else ""
                yield from self._wrap(f"{where}{targets}", 2)
                for detail in finding.details if self.all else finding.details[:2]:
                    yield from self._wrap(detail, 4)
            rest = [name for finding in group[len(shown) :] for name in _subject_of(finding)]
            if rest:
                names = list_names(list(dict.fromkeys(rest)), _MEMBERS_SHOWN)
                yield from self._wrap(f"{severity}[{code}] and {len(rest)} more: {names}")

    def _near_misses(self) -> Iterator[str]:
        misses = self.report.near_misses
        if not misses or (self.report.components and not self.all):
            return
        shown = misses if self.all else misses[:_NEAR_MISSES_SHOWN]
        for miss in shown:
            yield ""
            loop = " -> ".join((*miss.packages, miss.packages[0]))
            yield from self._wrap(f"no loop here: {loop}")
            for reason in miss.reasons:
                yield from self._wrap(reason, 2)
        if len(misses) > len(shown):
            yield f"and {len(misses) - len(shown)} more that only names would close; -v shows them"

    def _foot(self) -> Iterator[str]:
        summary = self.report.summary
        style = "1;31" if summary.deny else "1;32"
        if words_of_report(self.report) is MODULES:
            yield self._paint(verdict_of(self.report), style)
            return
        judged = f"{summary.judged} of {summary.packages} packages judged"
        parts = [judged, f"{count(summary.wheels_read, 'wheel')} read"]
        if summary.by_lock:
            parts.append(f"{summary.by_lock} by the lock's word only")
        if summary.via:
            parts.append(f"{summary.via} by '# via' comments only")
        if summary.unknown:
            parts.append(f"{summary.unknown} unknown")
        yield from self._wrap(", ".join(parts))
        yield self._paint(verdict_of(self.report), style)


def _cut(requirement: str) -> str:
    """A requirement without the tail of a marker that nobody would read."""
    if len(requirement) <= _LONGEST_REQUIREMENT:
        return requirement
    return requirement[: _LONGEST_REQUIREMENT - 4].rpartition(" ")[0] + " ..."


def _subject_of(finding: Finding) -> Sequence[str]:
    """What to call a finding by: the project that is required, else the first of its projects."""
    return (finding.subject,) if finding.subject else finding.packages[:1]


def _is_known(component: Component) -> bool:
    return component.accepted_by is not None and component.accepted_by.kind == "baseline"


def _evidence(edges: Sequence[Edge]) -> str:
    """Who declares a requirement, and where its package stands in the input."""
    first = edges[0]
    where = f"{first.path}:{first.line}" if first.line else first.path
    wheels = list(dict.fromkeys(edge.wheel for edge in edges if edge.wheel))
    if not wheels:
        return f"{where}, {name_witness(first)}"
    more = f" and {len(wheels) - 1} more" if len(wheels) > 1 else ""
    return f"{where}, {wheels[0]}{more}"


def _platforms(rows: Sequence[TargetRow]) -> Iterable[str]:
    """Each platform with its Pythons, unless all have the same."""
    pythons: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        pythons[row.platform].append(row.python)
    if len({tuple(own) for own in pythons.values()}) == 1:
        own = next(iter(pythons.values()))
        yield f"{', '.join(pythons)} with {own[0]}{' to ' + own[-1] if len(own) > 1 else ''}"
        return
    for platform, own in pythons.items():
        yield f"{platform} ({own[0]}{'-' + own[-1] if len(own) > 1 else ''})"


def _count_sets(count: int) -> str:
    return "1 set of versions" if count == 1 else f"{count} sets of versions"


def _pythons(held: Sequence[str], rows: Sequence[TargetRow]) -> str:
    text = abbreviate_targets(held, [*rows, *rows[:0]])
    if len(held) == len(rows):
        return (
            ", ".join(row.python for row in rows)
            if len(rows) < 3
            else (f"{rows[0].python}-{rows[-1].python}")
        )
    return text.partition("(")[2].rstrip(")")

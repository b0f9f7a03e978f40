"""The whole judgement: a snapshot, a space, a policy and the facts give a report. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from packaging.version import Version

from distcycle import findings
from distcycle.baseline import Baseline
from distcycle.builds import Builds, draft_builds
from distcycle.checks import find_all, find_unknown
from distcycle.cycles import Component, find_components
from distcycle.drafts import Draft, describe_package
from distcycle.findings import (
    Finding,
    Missing,
    NearMiss,
    Report,
    Severity,
    Summary,
    count_findings,
)
from distcycle.markers import Condition, Space
from distcycle.model import Facts, Package, Snapshot
from distcycle.nearmisses import find_near_misses
from distcycle.policy import Cut, Policy, Waiver
from distcycle.selection import Request, Selection, select
from distcycle.statements import Statements, row_of
from distcycle.unions import unite_components
from distcycle.verdicts import Acceptance, Judge, Verdict, apply_cuts
from distcycle.weighing import Imports

__all__ = ["Options", "add_targets", "audit", "combine", "judge", "unite_resolved"]


_UNUSED = frozenset(("unused-waiver", "unused-rule"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to judge.

    Attributes:
        request: What is asked for beyond what the input's tool installs.
        policy: What weighs how much.
        max_cycles: How many loops to list in each component.
        today: The date on which waivers are judged.
        baseline: What is known already.
        build: Whether loops of build requirements are sought as well.
        imports: Whether it is read what imports say about cutting edges.
    """

    request: Request = field(default_factory=Request)
    policy: Policy = field(default_factory=Policy)
    max_cycles: int = 100
    today: date = date.max
    baseline: Baseline | None = None
    build: bool = False
    imports: bool = False


def audit(
    snapshot: Snapshot,
    space: Space,
    facts: Facts,
    options: Options,
    bounds: Condition | None = None,
) -> Report:
    """Judge one input.

    Args:
        snapshot: The input.
        space: The environments to judge.
        facts: What is known of the input's artefacts.
        options: How to judge.
        bounds: The cells that the input is for; all when None.

    Returns:
        The report; components and findings are sorted, so that equal inputs give equal reports.
    """
    return judge(select(snapshot, space, facts, options.request, bounds), options)


def judge(
    selection: Selection,
    options: Options,
    builds: Builds | None = None,
    imports: Imports | None = None,
) -> Report:
    """Judge what was selected; see :func:`audit`.

    Args:
        selection: What was selected.
        options: How to judge.
        builds: What must be built before what; None when that is of no interest.
        imports: What imports say of the edges of loops; None when that is of no interest.
    """
    names = [package.name for package in selection.snapshot.packages]
    full = selection.space.full
    components = find_components(selection.edges, names, full, max_cycles=options.max_cycles)
    unsafe = {} if imports is None else imports.unsafe
    cut = apply_cuts(selection, components, options.policy.cuts, options.max_cycles, unsafe=unsafe)
    judgement = _Judgement(cut.selection, options, builds, imports)
    drafts = [*cut.drafts, *find_all(cut.selection)]
    if builds is not None:
        drafts += draft_builds(builds, selection.space)
    if imports is not None:
        drafts += imports.drafts
    judgement.consider(cut.components, drafts)
    return judgement.report(cut.opened)


class _Judgement:
    """One input's components and findings, with the policy's word on each."""

    def __init__(
        self,
        selection: Selection,
        options: Options,
        builds: Builds | None,
        imports: Imports | None,
    ) -> None:
        self.selection = selection
        self.builds = builds
        self.imports = imports
        self.judge = Judge(
            options.policy,
            selection,
            options.today,
            options.baseline,
            None if builds is None else frozenset(source.name for source in builds.sources),
            has_imports=imports is not None,
        )
        rows = [(row_of(profile.target), profile.cells) for profile in selection.space.named]
        self.rows = tuple(row for row, _ in rows)
        self.statements = Statements(selection, rows)
        self.loops: list[Component] = []
        self.components: list[findings.Component] = []
        self.findings: list[Finding] = []

    def consider(self, components: Sequence[Component], drafts: Sequence[Draft]) -> None:
        """Judge loops and what else was found, then the policy's own rules."""
        places = [draft.place for draft in drafts]
        places += [draft.way.start for draft in drafts if draft.way and draft.way.start]
        places += [self.statements.place_of(e) for c in components for e in c.edges]
        places += [
            root.requirement.place for root, _ in self.selection.roots if root.requirement.place
        ]
        places += [package.place for c in components for package in self._members(c)]
        self.statements.look_up(places)
        self.loops = list(components)
        for component in components:
            self._consider_component(component)
        for draft in drafts:
            self._add(draft, self.judge.judge_draft(draft))
        for draft in self.judge.find_unused():
            self._add(draft, self.judge.judge_draft(draft))
        self.findings.sort(key=_importance)

    def _members(self, component: Component) -> Iterator[Package]:
        return (self.selection.snapshot.packages[i] for i in component.packages)

    def _consider_component(self, component: Component) -> None:
        draft = self.statements.draft_of(component)
        verdict = self.judge.judge_component(component, draft.subject)
        self._add(draft, verdict)
        rule = _rule(verdict.accepted[0][0]) if verdict.is_accepted else None
        shown = self.statements.component(component, verdict.severity, rule)
        if self.imports is not None:
            shown = self.imports.attach(shown, component)
        self.components.append(shown)

    def _add(self, draft: Draft, verdict: Verdict) -> None:
        """Add what a rule accepts, rule by rule, and what is left."""
        finding = self.statements.finding
        for rule, cells in verdict.accepted:
            self.findings.append(finding(draft, verdict.severity, cells, _rule(rule)))
        if not verdict.is_accepted:
            self.findings.append(finding(draft, verdict.severity, verdict.left))

    def report(self, opened: Sequence[tuple[Component, tuple[Cut, ...]]]) -> Report:
        """Put everything together."""
        snapshot = self.selection.snapshot
        return Report(
            inputs=(
                findings.Input(
                    path=snapshot.path, kind=snapshot.kind, packages=len(snapshot.packages)
                ),
            ),
            targets=self.rows,
            whole=self.selection.space.is_whole,
            summary=_summarise(self.selection, self.findings, self.components),
            components=tuple(self.components),
            findings=tuple(self.findings),
            unknown=_list_unknown(self.selection),
            near_misses=_list_near_misses(
                self.selection, [*self.loops, *(gone for gone, _ in opened)], self.statements
            ),
            opened=tuple(self._opened(component, cuts) for component, cuts in opened),
            notes=(
                *_notes(self.selection, self.statements),
                *_find_flips(self.selection, self.loops),
                *(self.builds.notes if self.builds else ()),
            ),
        )

    def _opened(self, component: Component, cuts: Sequence[Cut]) -> findings.Opened:
        return findings.Opened(
            input=self.selection.snapshot.path,
            code=component.kind,
            packages=tuple(sorted({package.name for package in self._members(component)})),
            cuts=tuple(f"{cut.package} -> {cut.requires}" for cut in cuts),
            reasons=tuple(cut.reason for cut in cuts),
        )


def _rule(rule: Acceptance) -> findings.Rule:
    if isinstance(rule, Baseline):
        return findings.Rule(kind="baseline", path=rule.path, line=None, reason="known")
    kind = "waive" if isinstance(rule, Waiver) else "group"
    return findings.Rule(kind=kind, path=rule.place.path, line=rule.place.line, reason=rule.reason)


def _importance(finding: Finding) -> tuple[object, ...]:
    order = (Severity.DENY, Severity.WARN, Severity.ALLOW).index(finding.severity)
    codes = list(findings.CODES)
    return (
        finding.accepted_by is not None,
        order,
        codes.index(finding.code),
        finding.packages,
        finding.line or 0,
        finding.message,
    )


def _summarise(
    selection: Selection, found: Sequence[Finding], components: Sequence[object]
) -> Summary:
    unknown = find_unknown(selection)
    offers = selection.offers
    second_best = {
        origin: sum(
            any(offer.origin == origin and offer.unknown for offer in offers[i])
            for i in offers
            if i not in unknown
        )
        for origin in ("lock", "via")
    }
    return Summary(
        packages=len(selection.snapshot.packages),
        judged=len(offers) - len(unknown),
        by_lock=second_best["lock"],
        via=second_best["via"],
        unknown=len(unknown),
        edges=sum(edge.judged for edge in selection.edges),
        wheels_read=len(_files_read(selection)),
        components=len(components),
        **count_findings(found),
    )


def _files_read(selection: Selection) -> set[str]:
    """The files whose own METADATA was read, by what identifies them."""
    return {
        offer.artefact.identity
        for i, offers in selection.offers.items()
        for offer in offers
        if offer.artefact and offer.cells & selection.reached.get((i, ""), 0)
    }


def _list_unknown(selection: Selection) -> tuple[Missing, ...]:
    packages = selection.snapshot.packages
    return tuple(
        Missing(input=selection.snapshot.path, package=describe_package(packages[i]), reason=reason)
        for i, (reason, _) in find_unknown(selection).items()
    )


def _list_near_misses(
    selection: Selection, components: Sequence[Component], statements: Statements
) -> tuple[NearMiss, ...]:
    packages = selection.snapshot.packages
    loops = [frozenset(packages[i].name for i in c.packages) for c in components]
    return tuple(
        NearMiss(input=selection.snapshot.path, packages=names, reasons=reasons)
        for names, reasons in find_near_misses(selection, loops, statements.show)
    )


def _notes(selection: Selection, statements: Statements) -> Sequence[str]:
    """Say which judged targets the lock was not made for."""
    snapshot, space = selection.snapshot, selection.space
    notes = [space.note] if space.note else []
    outside = selection.bounds & ~space.python(snapshot.requires_python)
    if outside:
        where = statements.show(outside)
        notes.append(
            f"{snapshot.path} is for Python {snapshot.requires_python}; judged also {where}"
        )
    if snapshot.environments:
        declared = 0
        for marker in snapshot.environments:
            declared |= space.condition(marker)
        if selection.bounds & ~declared:
            where = statements.show(selection.bounds & ~declared)
            notes.append(f"{snapshot.path} was made for other environments; judged also {where}")
    return notes


def _find_flips(selection: Selection, components: Sequence[Component]) -> Iterator[str]:
    """Say which loops come or go between patch releases of a named minor version of Python."""
    space, packages = selection.space, selection.snapshot.packages
    if not space.is_whole:
        return
    axis = next(axis for axis in space.axes if axis.name == "python")
    named = {p.target.environment["python_version"] for p in space.named}
    for component in components:
        seen: dict[str, set[int]] = defaultdict(set)
        for k, members in enumerate(axis.members):
            cells = component.cells & selection.bounds & space.mask(axis, (k,))
            for member in members:
                seen[str(member["python_version"])].add(cells >> (k * axis.stride))
        flips = sorted((m for m in seen if m in named and len(seen[m]) > 1), key=Version)
        if flips:
            names = ", ".join(sorted({packages[i].name for i in component.packages})[:4])
            yield (
                f"the loop of {names} comes or goes between patch releases of Python "
                f"{', '.join(flips)}; the table shows the newest"
            )


def add_targets(report: Report, beside: Report, order: Sequence[str]) -> Report:
    """Add to a report what the same input is found to have on further targets.

    Args:
        report: The report on every environment.
        beside: The report on the further targets.
        order: The names of all targets, in the order in which they are shown.

    Returns:
        One report: what both have has the targets of both, what the second alone has is added.
    """
    others = {component.id: component for component in beside.components}
    known = {component.id for component in report.components}
    components = tuple(
        unite_components(c, others[c.id]) if c.id in others else c for c in report.components
    )
    components += tuple(c for c in beside.components if c.id not in known)
    found = sorted(_unite_findings(report.findings, beside.findings), key=_importance)
    unknown = tuple(dict.fromkeys(report.unknown + beside.unknown))
    summary = replace(
        report.summary,
        unknown=len({missing.package for missing in unknown}),
        components=len(components),
        **count_findings(found),
    )
    loops = [{member.name for member in component.packages} for component in components]
    return replace(
        report,
        targets=tuple(
            sorted(report.targets + beside.targets, key=lambda row: order.index(row.name))
        ),
        components=components,
        findings=tuple(found),
        unknown=unknown,
        near_misses=tuple(
            miss
            for miss in report.near_misses
            if not any(loop >= {*miss.packages} for loop in loops)
        ),
        opened=tuple(dict.fromkeys(report.opened + beside.opened)),
        summary=summary,
        notes=tuple(dict.fromkeys(report.notes + beside.notes)),
    )


def unite_resolved(
    judged: Sequence[tuple[Report, Selection]], order: Sequence[str], notes: Sequence[str]
) -> Report:
    """Put together the reports on one input that resolves in several ways.

    Args:
        judged: For each way the report on its targets, and what was selected there; at least one.
        order: The names of all targets, in the order in which they are shown.
        notes: What else is to be said.

    Returns:
        One report. A package that is chosen in several ways, at one version, counts once.
    """
    report = judged[0][0]
    for beside, _ in judged[1:]:
        report = add_targets(report, beside, order)
    packages: set[object] = set()
    edges: set[object] = set()
    wheels: set[str] = set()
    for _, selection in judged:
        entries = [(p.name, p.version) for p in selection.snapshot.packages]
        packages.update(entries)
        edges.update(
            (entries[e.source[0]], e.source[1], entries[e.target], e.requirement.text)
            for e in selection.edges
            if e.judged
        )
        wheels.update(_files_read(selection))
    summary = replace(
        report.summary,
        packages=len(packages),
        judged=len(packages) - report.summary.unknown,
        edges=len(edges),
        wheels_read=len(wheels),
    )
    first = replace(report.inputs[0], packages=len(packages))
    return replace(report, inputs=(first,), summary=summary, notes=(*notes, *report.notes))


def _unite_findings(findings: Iterable[Finding], others: Iterable[Finding]) -> Iterator[Finding]:
    """Add the targets of what is said twice, and what only the others say."""
    further = {_statement(finding): finding for finding in others}
    for finding in findings:
        same = further.pop(_statement(finding), None)
        yield finding if same is None else replace(finding, targets=finding.targets + same.targets)
    yield from further.values()


def _statement(finding: Finding) -> tuple[object, ...]:
    """What makes two findings one statement, wherever each holds."""
    about = finding.component or finding.message
    return (finding.code, finding.path, finding.line, about, finding.accepted_by)


def combine(reports: Sequence[Report]) -> Report:
    """Put the reports of several inputs together; nothing is judged across inputs.

    Args:
        reports: At least one report.

    Returns:
        One report.
    """
    targets = {row.name: row for report in reports for row in report.targets}
    counts = {
        name: sum(getattr(report.summary, name) for report in reports)
        for name in Summary.__dataclass_fields__
    }
    found = sorted(_findings_of(reports), key=_importance)
    return Report(
        inputs=tuple(i for report in reports for i in report.inputs),
        targets=tuple(targets.values()),
        whole=any(report.whole for report in reports),
        summary=Summary(**{**counts, **count_findings(found)}),
        components=tuple(c for report in reports for c in report.components),
        findings=tuple(found),
        unknown=tuple(u for report in reports for u in report.unknown),
        near_misses=tuple(n for report in reports for n in report.near_misses),
        opened=tuple(o for report in reports for o in report.opened),
        changes=tuple(c for report in reports for c in report.changes),
        notes=tuple(n for report in reports for n in report.notes),
        surveys=tuple(s for report in reports for s in report.surveys),
    )


def _findings_of(reports: Sequence[Report]) -> Iterator[Finding]:
    """All findings; a rule of the policy is unused only when no input has a use for it."""
    unused = Counter(_statement(f) for r in reports for f in r.findings if f.code in _UNUSED)
    said = set()
    for report in reports:
        for finding in report.findings:
            statement = _statement(finding)
            if finding.code not in _UNUSED:
                yield finding
            elif unused[statement] == len(reports) and statement not in said:
                said.add(statement)
                yield finding

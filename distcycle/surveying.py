"""From the study of a tree of modules to a report: components, findings and what else is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from distcycle.advice import advise, describe_loop, title_of
from distcycle.baseline import Baseline
from distcycle.codes import OF_MODULES
from distcycle.findings import (
    Component,
    Cycle,
    Edge,
    Finding,
    Input,
    Member,
    Report,
    Rule,
    Severity,
    Summary,
    TargetRow,
    count_findings,
    fingerprint,
)
from distcycle.imports import ImportEdge, ImportRecord
from distcycle.imports.fixes import Fix
from distcycle.imports.loops import MixedPair, in_view
from distcycle.imports.replay import LIMITS, Cause, Entry
from distcycle.imports.spelling import site_of, spell_record
from distcycle.imports.study import StudiedLoop, Study
from distcycle.limits import matches
from distcycle.policy import Policy, Waiver, Where
from distcycle.sightings import (
    EntryFailure,
    ImportFix,
    ImportView,
    LoopDetail,
    MixedImport,
    Site,
    Survey,
)

__all__ = ["ModuleJudge", "Subject", "report_study"]

CODE = "import-cycle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What was studied.

    Attributes:
        label: What the user calls it.
        projects: The distributions in it, each with its version, None when it has none.
        read_from: What was read.
        place_of: Gives the file of a module, as people would open it.
        row: The target for which it was studied; None when no import is left out for any.
    """

    label: str
    projects: tuple[tuple[str, str | None], ...]
    read_from: tuple[str, ...]
    place_of: Callable[[str], str]
    row: TargetRow | None = None

    @property
    def name(self) -> str:
        """The distributions, for people."""
        return ", ".join(" ".join(filter(None, pair)) for pair in self.projects)


@dataclass(slots=True)
class ModuleJudge:
    """Applies a policy and a baseline to loops of modules, and remembers which rules were of use.

    Attributes:
        policy: The policy; its names and patterns are compared with modules' names.
        baseline: What is known already.
        today: The date on which waivers are judged.
    """

    policy: Policy
    baseline: Baseline | None
    today: date
    _used: set[int] = field(default_factory=set)

    def judge(
        self, modules: Sequence[str], subject: Subject, code: str = CODE
    ) -> tuple[Severity, Rule | None]:
        """Decide on a finding: what it weighs, and the rule that accepts it.

        Args:
            modules: The modules of a loop, sorted, or those that another finding is about.
            subject: What it was found in; what limits a waiver to environments holds only where a
                target is named.
            code: The finding's code.
        """
        severity = self.policy.judge_severity(code)
        for waiver in self.policy.waivers:
            if waiver.code == code and self._holds(waiver, modules, subject):
                self._used.add(id(waiver))
                place = waiver.place
                rule = Rule(kind="waive", path=place.path, line=place.line, reason=waiver.reason)
                return severity, rule
        is_loop = code == CODE
        if self.baseline and self.baseline.covering(code, modules, "", is_loop=is_loop):
            return severity, Rule(
                kind="baseline", path=self.baseline.path, line=None, reason="known"
            )
        return severity, None

    def _holds(self, waiver: Waiver, modules: Sequence[str], subject: Subject) -> bool:
        if waiver.until is not None and waiver.until < self.today:
            return False
        if not all(matches(name, waiver.packages) for name in modules):
            return False
        where = waiver.where
        if where.versions is not None and not all(
            _is_within(version, where.versions) for _, version in subject.projects
        ):
            return False
        if subject.row is None:
            return not where.platforms and where.python is None and where.marker is None
        return _holds_on(where, subject.row)

    def conclude(self, report: Report) -> Report:
        """Add to the report on all that was judged what is to be said of the policy itself."""
        findings = (*report.findings, *self._find_unused())
        summary = replace(report.summary, **count_findings(findings))
        return replace(report, findings=findings, summary=summary)

    def _find_unused(self) -> Iterator[Finding]:
        """Find waivers of what is said of modules that are past their date, or accept nothing."""
        for waiver in self.policy.waivers:
            if waiver.code not in OF_MODULES or id(waiver) in self._used:
                continue
            is_over = waiver.until is not None and waiver.until < self.today
            code = "expired-waiver" if is_over else "unused-waiver"
            label = f"the waiver of {waiver.code} for {', '.join(waiver.packages)}"
            what = f"ended on {waiver.until}" if is_over else "matches nothing"
            yield Finding(
                code=code,
                severity=self.policy.judge_severity(code),
                message=f"{label} {what}",
                packages=(),
                path=waiver.place.path,
                line=waiver.place.line,
            )


def _is_within(version: str | None, specifiers: SpecifierSet) -> bool:
    try:
        return version is not None and specifiers.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


def _holds_on(where: Where, row: TargetRow) -> bool:
    """Whether a rule holds on a target, as far as environments go."""
    if where.platforms and not matches(row.platform, where.platforms):
        return False
    python = row.environment["python_full_version"]
    if where.python is not None and not where.python.contains(python, prereleases=True):
        return False
    return where.marker is None or where.marker.evaluate_prepared(dict(row.environment))


def report_study(
    study: Study, subject: Subject, judge: ModuleJudge, entries: Sequence[Entry] = ()
) -> Report:
    """Make the report on the modules of one tree.

    Args:
        study: What was found.
        subject: In what.
        judge: Decides what counts.
        entries: What happens when each module is imported first.
    """
    return _Surveyor(study, subject, judge, entries).report()


class _Surveyor:
    def __init__(
        self,
        study: Study,
        subject: Subject,
        judge: ModuleJudge,
        entries: Sequence[Entry],
    ) -> None:
        self.study = study
        self.subject = subject
        self.judge = judge
        self.entries = entries
        causes = [(entry.name, entry.cause) for entry in entries if entry.outcome == "circular"]
        self.failing = [self._failure(name, cause) for name, cause in causes if cause is not None]

    def report(self) -> Report:
        judged = [self._judged(loop) for loop in self.study.loops]
        components = tuple(component for component, _, _ in judged)
        findings = (*(finding for _, finding, _ in judged), *self._unread())
        modules = len(self.study.tree.modules)
        row = self.subject.row
        return Report(
            inputs=(Input(path=self.subject.label, kind="modules", packages=modules),),
            targets=() if row is None else (row,),
            summary=Summary(
                packages=modules,
                judged=modules,
                edges=self.study.views["all"].pairs,
                components=len(components),
                **count_findings(findings),
            ),
            components=components,
            findings=findings,
            surveys=(self._survey(tuple(detail for _, _, detail in judged)),),
        )

    def _unread(self) -> Iterator[Finding]:
        for module, file in self.study.tree.files.items():
            if file.fault is not None:
                severity, rule = self.judge.judge((module,), self.subject, "unreadable-module")
                yield Finding(
                    code="unreadable-module",
                    severity=severity,
                    message=f"{module}: {file.fault}",
                    packages=(module,),
                    path=self.subject.place_of(module),
                    line=file.fault_line,
                    accepted_by=rule,
                )

    # Loops --------------------------------------------------------------------------------------

    def _judged(self, studied: StudiedLoop) -> tuple[Component, Finding, LoopDetail]:
        modules = studied.loop.modules
        severity, rule = self.judge.judge(modules, self.subject)
        component = self._component(studied, severity, rule)
        detail = self._detail(studied, component.id)
        first = component.edges[component.cycles[0].hops[0][0]]
        finding = Finding(
            code=CODE,
            severity=severity,
            message=title_of(studied),
            packages=modules,
            targets=component.targets,
            path=first.path,
            line=first.line,
            details=tuple(describe_loop(detail, self._failing_in(modules))),
            component=component.id,
            accepted_by=rule,
        )
        return component, finding, detail

    def _component(self, studied: StudiedLoop, severity: Severity, rule: Rule | None) -> Component:
        loop = studied.loop
        edges = tuple(self._edge(edge) for edge in loop.edges)
        at: dict[tuple[str, str], list[int]] = {}
        for i, edge in enumerate(loop.edges):
            if in_view(edge, loop.view):
                at.setdefault((edge.source, edge.target), []).append(i)
        cycles = tuple(
            Cycle(
                packages=cycle,
                hops=tuple(
                    tuple(at[pair]) for pair in zip(cycle, (*cycle[1:], cycle[0]), strict=True)
                ),
                targets=self._targets(),
            )
            for cycle in studied.cycles
        )
        return Component(
            id=fingerprint(CODE, loop.modules),
            input=self.subject.label,
            code=CODE,
            severity=severity,
            packages=tuple(Member(name=module, version=None) for module in loop.modules),
            requested_by=(),
            targets=self._targets(),
            condition=None,
            variants=(),
            edges=edges,
            cycles=cycles,
            capped=studied.capped,
            breakers=studied.cuts,
            breakers_exact=studied.exact,
            accepted_by=rule,
        )

    def _targets(self) -> tuple[str, ...]:
        return () if self.subject.row is None else (self.subject.row.name,)

    def _edge(self, edge: ImportEdge) -> Edge:
        record = edge.record
        return Edge(
            source=edge.source,
            target=edge.target,
            requirement=spell_record(record),
            marker=record.condition or "",
            origin="static" if record.runs_at_import else record.kind,
            wheel=None,
            path=self.subject.place_of(edge.source),
            line=record.line,
            targets=self._targets(),
        )

    def _site(self, module: str, record: ImportRecord) -> Site:
        return site_of(module, self.subject.place_of(module), record)

    # What else is known -------------------------------------------------------------------------

    def _detail(self, studied: StudiedLoop, component: str) -> LoopDetail:
        kinds = studied.loop.count_kinds()
        return LoopDetail(
            component=component,
            static=kinds["static"],
            lazy=kinds["lazy"],
            type_checking=kinds["type-checking"],
            names=studied.names,
            mixed=tuple(map(self._mixed, studied.mixed)),
            fixes=tuple(self._fix(fix) for fix in studied.fixes),
        )

    def _mixed(self, pair: MixedPair) -> MixedImport:
        def sites(edges: Sequence[ImportEdge]) -> tuple[Site, ...]:
            return tuple(self._site(edge.source, edge.record) for edge in edges)

        return MixedImport(
            source=pair.source,
            target=pair.target,
            static=sites(pair.static),
            lazy=sites(pair.lazy),
            back=None if pair.back is None else self._site(pair.back.source, pair.back.record),
            early=tuple(f"{name}:{line}" for name, line in pair.early),
            late=tuple(f"{name}:{line}" for name, line in pair.late),
        )

    def _fix(self, fix: Fix) -> ImportFix:
        return ImportFix(
            kind=fix.kind,
            site=self._site(fix.edge.source, fix.edge.record),
            target=fix.edge.target,
            text=advise(fix),
        )

    def _failure(self, entry: str, cause: Cause) -> EntryFailure:
        return EntryFailure(
            entry=entry,
            site=self._site_at(cause.importer, cause.line),
            symbol=cause.symbol or "",
            partial=cause.module,
            bound_line=cause.bound_line,
            back_line=cause.back_line,
            chain=tuple(step.module for step in cause.chain),
        )

    def _site_at(self, module: str, line: int) -> Site:
        """The import on a line, or the use of a module's attribute, which no record is of."""
        path = self.subject.place_of(module)
        file = self.study.tree.files.get(module)
        for record in file.records if file is not None else ():
            if record.line <= line <= record.end_line:
                return site_of(module, path, record)
        return Site(module=module, path=path, line=line, text="", kind="static")

    def _failing_in(self, modules: Sequence[str]) -> list[EntryFailure]:
        members = set(modules)
        return [failure for failure in self.failing if failure.partial in members]

    def _survey(self, loops: tuple[LoopDetail, ...]) -> Survey:
        tree = self.study.tree
        records = [record for file in tree.files.values() for record in file.records]
        return Survey(
            name=self.subject.name,
            read_from=self.subject.read_from,
            modules=_count(module.kind for module in self.study.graph.modules.values()),
            imports=_count(record.kind for record in records),
            modifiers=_count(each for record in records for each in set(record.modifiers)),
            unread=tuple(
                f"{self.subject.place_of(name)}: {file.fault}"
                for name, file in tree.files.items()
                if file.fault is not None
            ),
            views=tuple(
                ImportView(
                    name=view,
                    pairs=counted.pairs,
                    loops=tuple(len(loop.modules) for loop in counted.loops),
                )
                for view, counted in self.study.views.items()
            ),
            loops=loops,
            failing=tuple(self.failing),
            entries=len(self.entries),
            blind_to=LIMITS if self.entries else (),
        )


def _count(kinds: Iterator[str]) -> Mapping[str, int]:
    return dict(sorted(Counter(kinds).items()))

"""What a policy says of an input: which edges go, which findings are accepted, what is unused."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fnmatch import fnmatchcase

from distcycle.baseline import Baseline
from distcycle.codes import OF_MODULES
from distcycle.cycles import Component, find_components
from distcycle.drafts import Draft, describe_package
from distcycle.findings import Severity
from distcycle.limits import cells_of_where, matches
from distcycle.losses import lost_bounds
from distcycle.markers import Condition
from distcycle.model import Place
from distcycle.policy import Cut, Group, Policy, Waiver
from distcycle.selection import Edge, Selection, flow_along

__all__ = ["OF_IMPORTS", "Acceptance", "CutOutcome", "Judge", "Verdict", "apply_cuts"]

Acceptance = Waiver | Group | Baseline

OF_IMPORTS = frozenset(("cut-unsafe", "undeclared-import"))
"""Codes that only a run can give that looks at what modules import."""


# Cuts --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CutOutcome:
    """What the cuts of a policy did.

    Attributes:
        selection: The selection without the edges that went.
        components: The loops that are left.
        opened: For each loop that was there before and is gone or smaller, the cuts that meet it.
        drafts: What is to be said of the cuts.
    """

    selection: Selection
    components: list[Component]
    opened: list[tuple[Component, tuple[Cut, ...]]]
    drafts: list[Draft]


def apply_cuts(
    selection: Selection,
    components: list[Component],
    cuts: Sequence[Cut],
    max_cycles: int,
    *,
    unsafe: Mapping[tuple[int, int], str] | None = None,
) -> CutOutcome:
    """Take the edges of some cuts out, and judge again.

    Args:
        selection: What was selected.
        components: The loops before.
        cuts: The cuts.
        max_cycles: How many loops to list in each component.
        unsafe: Pairs of packages of which the first cannot do without the second, and why.

    Returns:
        What is left, and what is to be said of cuts that do nothing, or break or lose something.
    """
    if not cuts:
        return CutOutcome(selection, components, [], [])
    matched = {i: _edges_of_cut(selection, cut) for i, cut in enumerate(cuts)}
    after = _without(selection, list(matched.values()))
    left = _components_of(after, max_cycles)
    drafts: list[Draft] = []
    for i, cut in enumerate(cuts):
        if not matched[i]:
            drafts.append(_draft_cut("unused-rule", cut, "matches no requirement of the input"))
            continue
        others = [edges for j, edges in matched.items() if j != i]
        if _signature(_components_of(_without(selection, others), max_cycles)) == _signature(left):
            drafts.append(_draft_cut("cut-ineffective", cut, "opens no loop"))
        drafts += _broken_imports(selection, cut, matched[i], unsafe or {})
        drafts += _lost_bounds(selection, after, cut, matched[i])
    opened = _find_opened(components, left, cuts, matched, selection.edges)
    return CutOutcome(after, left, opened, drafts)


Matched = dict[int, Condition]
"""The edges that a cut meets, by their number in the selection, and where they go."""


def _edges_of_cut(selection: Selection, cut: Cut) -> Matched:
    where = cells_of_where(cut.where, selection.space)
    packages = selection.snapshot.packages
    matched: Matched = {}
    for i, edge in enumerate(selection.edges):
        package = packages[edge.source[0]]
        if edge.requirement.name != cut.requires or not fnmatchcase(package.name, cut.package):
            continue
        versions = cut.where.versions
        if versions and not (
            package.version and versions.contains(package.version, prereleases=True)
        ):
            continue
        if edge.cells & where:
            matched[i] = where
    return matched


def _without(selection: Selection, matched: Iterable[Matched]) -> Selection:
    """The selection as it would be without some edges: reach first, then what is live."""
    gone: Matched = {}
    for some in matched:
        for i, cells in some.items():
            gone[i] = gone.get(i, 0) | cells
    if not gone:
        return selection
    edges = [
        replace(edge, cells=edge.cells & ~gone.get(i, 0)) for i, edge in enumerate(selection.edges)
    ]
    thinned = replace(selection, edges=[edge for edge in edges if edge.cells])
    reached = flow_along(thinned, lambda _edge: True)
    live = [replace(e, cells=e.cells & reached.get(e.source, 0)) for e in thinned.edges]
    return replace(thinned, edges=[edge for edge in live if edge.cells], reached=reached)


def _components_of(selection: Selection, max_cycles: int) -> list[Component]:
    names = [package.name for package in selection.snapshot.packages]
    return find_components(selection.edges, names, selection.space.full, max_cycles=max_cycles)


def _signature(components: Iterable[Component]) -> list[object]:
    """What a cut that opens a loop changes: every edge inside a component is on some loop."""
    return [(c.kind, c.packages, c.variants, _live_pairs(c)) for c in components]


def _live_pairs(component: Component) -> dict[tuple[int, int], Condition]:
    live: dict[tuple[int, int], Condition] = defaultdict(int)
    for edge in component.edges:
        live[edge.source[0], edge.target] |= edge.cells & component.cells
    return live


def _find_opened(
    before: Iterable[Component],
    after: Iterable[Component],
    cuts: Sequence[Cut],
    matched: dict[int, Matched],
    edges: Sequence[Edge],
) -> list[tuple[Component, tuple[Cut, ...]]]:
    left = {(c.kind, c.packages, c.cells) for c in after}
    opened = []
    for component in before:
        if (component.kind, component.packages, component.cells) in left:
            continue
        inside = {(edge.source[0], edge.target) for edge in component.edges}
        by = tuple(
            cut
            for i, cut in enumerate(cuts)
            if any((edges[n].source[0], edges[n].target) in inside for n in matched[i])
        )
        opened.append((component, by))
    return opened


def _broken_imports(
    selection: Selection, cut: Cut, matched: Matched, unsafe: Mapping[tuple[int, int], str]
) -> Iterator[Draft]:
    packages = selection.snapshot.packages
    edges = (selection.edges[i] for i in matched)
    for source, target in sorted({(edge.source[0], edge.target) for edge in edges}):
        if (source, target) in unsafe:
            yield Draft(
                code="cut-unsafe",
                message=f"cutting {describe_package(packages[source])} -> {packages[target].name} "
                f"breaks an import: {unsafe[source, target]}",
                packages=tuple(sorted({packages[source].name, packages[target].name})),
                place=cut.place,
            )


def _lost_bounds(
    before: Selection, after: Selection, cut: Cut, matched: Matched
) -> Iterator[Draft]:
    packages = before.snapshot.packages
    pairs = sorted({(before.edges[i].source[0], before.edges[i].target) for i in matched})
    for source, target in pairs:
        bounds = lost_bounds(before, (source, target), pairs, after.reached)
        if bounds and (target, "") in after.reached:
            yield Draft(
                code="cut-loses-bound",
                message=f"cutting {describe_package(packages[source])} -> {packages[target].name} "
                f"loses the bound {', '.join(bounds)}, which nothing else holds",
                packages=tuple(sorted({packages[source].name, packages[target].name})),
                place=cut.place,
            )


def _draft_cut(code: str, cut: Cut, what: str) -> Draft:
    return Draft(
        code=code,
        message=f"the cut {cut.package} -> {cut.requires} {what}",
        packages=tuple(sorted({cut.package, cut.requires})),
        place=cut.place,
    )


# Verdicts ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a policy says of one finding.

    Attributes:
        severity: What it weighs.
        accepted: The parts of its condition that a waiver accepts or a group contains.
        left: What remains of its condition; None when the finding has none and is not accepted.
        is_accepted: Whether nothing remains of it.
    """

    severity: Severity
    accepted: tuple[tuple[Acceptance, Condition | None], ...] = ()
    left: Condition | None = None
    is_accepted: bool = False


@dataclass(slots=True)
class Judge:
    """Applies a policy's rules to the findings of one input, and remembers which were of use.

    Attributes:
        policy: The policy.
        selection: What was selected.
        today: The date on which waivers are judged.
        baseline: What is known already.
        builds: What is needed to build the input; None when that was not looked at.
        has_imports: Whether it was looked at what modules import.
    """

    policy: Policy
    selection: Selection
    today: date
    baseline: Baseline | None = None
    builds: frozenset[str] | None = None
    has_imports: bool = False
    _used: set[int] = field(default_factory=set)
    _expired: set[int] = field(default_factory=set)
    _indices: dict[str, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self._indices = defaultdict(list)
        for i, package in enumerate(self.selection.snapshot.packages):
            self._indices[package.name].append(i)

    def judge_component(self, component: Component, subject: str) -> Verdict:
        """Decide on a loop: denied, contained by a group, accepted by waivers, or neither."""
        packages = self.selection.snapshot.packages
        names = {packages[i].name for i in component.packages}
        severity = self._severity_of(component.kind)
        for rule in self.policy.denials:
            if any(matches(name, rule.packages) for name in names):
                self._used.add(id(rule))
                return Verdict(Severity.DENY, left=component.cells)
        for group in self.policy.groups:
            if all(matches(name, group.packages) for name in names):
                self._used.add(id(group))
                return Verdict(severity, ((group, component.cells),), 0, is_accepted=True)
        verdict = self._waive(component.kind, component.packages, component.cells, severity)
        return self._know(verdict, component.kind, sorted(names), subject, is_loop=True)

    def judge_draft(self, draft: Draft) -> Verdict:
        """Decide on any other finding."""
        severity = self.policy.judge_severity(draft.code, default=draft.severity)
        indices = [i for name in draft.packages for i in self._indices.get(name, ())]
        verdict = self._waive(draft.code, indices, draft.cells, severity, names=draft.packages)
        return self._know(verdict, draft.code, draft.packages, draft.subject, is_loop=False)

    def _know(
        self, verdict: Verdict, code: str, packages: Sequence[str], subject: str, *, is_loop: bool
    ) -> Verdict:
        """Take out of what is left what the baseline knows; the rest is new."""
        if self.baseline is None or verdict.is_accepted:
            return verdict
        entries = self.baseline.covering(code, packages, subject, is_loop=is_loop)
        if not entries:
            return verdict
        if verdict.left is None:
            accepted = (*verdict.accepted, (self.baseline, None))
            return replace(verdict, accepted=accepted, is_accepted=True)
        known = 0
        for entry in entries:
            known |= entry.cells(self.selection.space)
        if not verdict.left & known:
            return verdict
        accepted = (*verdict.accepted, (self.baseline, verdict.left & known))
        left = verdict.left & ~known
        return replace(verdict, accepted=accepted, left=left, is_accepted=not left)

    def _severity_of(self, kind: str) -> Severity:
        if kind == "extra-cycle" and self.policy.flatten_extras:
            default = self.policy.judge_severity("wheel-cycle")
            return self.policy.judge_severity(kind, default=default)
        return self.policy.judge_severity(kind)

    def _waive(
        self,
        code: str,
        indices: Iterable[int],
        cells: Condition | None,
        severity: Severity,
        *,
        names: Iterable[str] | None = None,
    ) -> Verdict:
        packages = self.selection.snapshot.packages
        members = [packages[i] for i in indices]
        wanted = {package.name for package in members} if names is None else set(names)
        accepted: list[tuple[Acceptance, Condition | None]] = []
        left = cells
        for waiver in self.policy.waivers:
            if waiver.code != code or not wanted:
                continue
            if not all(matches(name, waiver.packages) for name in wanted):
                continue
            versions = waiver.where.versions
            if versions is not None and not all(
                p.version and versions.contains(p.version, prereleases=True) for p in members
            ):
                continue
            where = cells_of_where(waiver.where, self.selection.space)
            if left is not None and not left & where:
                continue
            is_over = waiver.until is not None and waiver.until < self.today
            if is_over or waiver.fixed_by:
                self._expired.add(id(waiver))
                continue
            self._used.add(id(waiver))
            accepted.append((waiver, None if left is None else left & where))
            if left is None:
                return Verdict(severity, tuple(accepted), None, is_accepted=True)
            left &= ~where
        return Verdict(severity, tuple(accepted), left, is_accepted=bool(accepted) and not left)

    def _looks_for(self, code: str) -> bool:
        """Whether what a waiver accepts is sought at all in this run."""
        if code == "build-cycle":
            return self.builds is not None
        return code not in OF_MODULES and (code not in OF_IMPORTS or self.has_imports)

    def find_unused(self) -> Iterator[Draft]:
        """Find rules that matched nothing, and waivers that are past their date."""
        present: set[str] = {package.name for package in self.selection.snapshot.packages}
        of_builds = present | (self.builds or frozenset())
        for waiver in self.policy.waivers:
            if not self._looks_for(waiver.code):
                continue
            known = of_builds if waiver.code == "build-cycle" else present
            absent = [n for n in waiver.packages if not _is_pattern(n) and n not in known]
            label = f"the waiver of {waiver.code} for {', '.join(waiver.packages)}"
            if id(waiver) in self._expired:
                ended = f"on {waiver.until}"
                if waiver.fixed_by:
                    ended = f"with releases that have no such loop: {waiver.fixed_by}"
                yield _draft_rule("expired-waiver", f"{label} ended {ended}", waiver.place)
            elif absent:
                message = f"{label} names what is not in the input: {', '.join(absent)}"
                yield _draft_rule("unused-waiver", message, waiver.place)
            elif id(waiver) not in self._used:
                yield _draft_rule("unused-waiver", f"{label} matches nothing", waiver.place)
        for group in self.policy.groups:
            if id(group) not in self._used:
                message = f"the group {group.name} contains no loop"
                yield _draft_rule("unused-rule", message, group.place)
        for deny in self.policy.denials:
            if id(deny) not in self._used:
                message = f"the denial of {', '.join(deny.packages)} meets no loop"
                yield _draft_rule("unused-rule", message, deny.place)


def _is_pattern(name: str) -> bool:
    return any(mark in name for mark in "*?[")


def _draft_rule(code: str, message: str, place: Place) -> Draft:
    return Draft(code=code, message=message, packages=(), place=place)

"""What a run says: findings, components and the report.

A report holds plain text and numbers only, so that every reporter, and a report read back from
JSON, shows the same thing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from distcycle.codes import CODES, Code, Severity
from distcycle.sightings import Evidence, Site, Survey

__all__ = [
    "CODES",
    "Change",
    "Code",
    "Component",
    "Cycle",
    "Edge",
    "Evidence",
    "Finding",
    "Input",
    "Member",
    "Missing",
    "NearMiss",
    "Opened",
    "Report",
    "Rule",
    "Severity",
    "Site",
    "Summary",
    "Survey",
    "TargetRow",
    "Variant",
    "abbreviate_targets",
    "count_findings",
    "describe_condition",
    "fingerprint",
    "list_names",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One input of the run."""

    path: str
    kind: str
    packages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRow:
    """A judged target: its name, its parts, its environment, and what was assumed of it."""

    name: str
    platform: str
    python: str
    environment: Mapping[str, str]
    assumed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A package of a component, and the extras of it that are active in its loops."""

    name: str
    version: str | None
    extras: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The policy's rule that decided on a finding.

    Attributes:
        kind: ``waive`` or ``group``, or ``baseline`` for what is known.
        path: The policy or baseline file.
        line: Where in it, counted from 1.
        reason: The reason that it gives.
    """

    kind: str
    path: str
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A live edge of a component.

    Attributes:
        source: The node that requires, such as ``fsspec[s3]``.
        target: The project that is required.
        requirement: The requirement as declared.
        marker: Its marker, ``""`` when it holds everywhere.
        origin: Who says so: ``wheel``, ``sdist``, ``lock``, ``installed``, ``via`` or ``policy``.
        wheel: The file that says so, if any.
        path: The input in which the source stands.
        line: Where in it, counted from 1.
        targets: The judged targets on which it is live.
        condition: Where it is live, as a marker; None when only targets were judged.
    """

    source: str
    target: str
    requirement: str
    marker: str
    origin: str
    wheel: str | None
    path: str
    line: int | None
    targets: tuple[str, ...]
    condition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """One elementary loop: its nodes in canonical rotation, and the edges of each hop.

    Attributes:
        packages: Project names; the last requires the first.
        hops: For each package, the indices in :attr:`Component.edges` of the edges to the next.
        targets: The judged targets on which the loop exists.
        condition: Where it exists, as a marker; None when only targets were judged.
    """

    packages: tuple[str, ...]
    hops: tuple[tuple[int, ...], ...]
    targets: tuple[str, ...]
    condition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """An exact member set, where the set differs from target to target."""

    packages: tuple[str, ...]
    targets: tuple[str, ...]
    condition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """Packages that require each other.

    Attributes:
        id: Its fingerprint: code, sorted project names and extras; the same in every version.
        input: The input's path.
        code: ``wheel-cycle`` or ``extra-cycle``.
        severity: What it weighs.
        packages: Its members.
        requested_by: For an extra cycle, who requests the extra, one line each.
        targets: The judged targets on which any of its loops exists.
        condition: Where any exists, as a marker; None when only targets were judged.
        variants: The exact member sets, when there is more than one.
        edges: The live edges between members.
        cycles: The loops, shortest first.
        capped: Whether there may be more loops than are listed.
        breakers: Sets of edges, each a pair of projects, that open every loop; the smallest that
            were found, those that cost least first.
        breakers_exact: Whether no smaller set exists.
        accepted_by: The rule that accepts or contains it wholly; None for none.
        evidence: What imports say about cutting its edges, where that was asked for.
    """

    id: str
    input: str
    code: str
    severity: Severity
    packages: tuple[Member, ...]
    requested_by: tuple[str, ...]
    targets: tuple[str, ...]
    condition: str | None
    variants: tuple[Variant, ...]
    edges: tuple[Edge, ...]
    cycles: tuple[Cycle, ...]
    capped: bool
    breakers: tuple[tuple[tuple[str, str], ...], ...] = ()
    breakers_exact: bool = True
    accepted_by: Rule | None = None
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A loop that a policy's cuts opened: its members, and the edges that went.

    Attributes:
        input: The input's path.
        code: What kind of loop it was.
        packages: Its members.
        cuts: The edges that went, such as ``triton -> torch``.
        reasons: The reasons that the cuts give.
    """

    input: str
    code: str
    packages: tuple[str, ...]
    cuts: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One coded statement about an input.

    Attributes:
        code: A key of :data:`CODES`.
        severity: What it weighs.
        message: What it says, in one line.
        packages: The projects that it is about, sorted.
        targets: The judged targets on which it holds; empty when that has no meaning.
        condition: Where it holds, as a marker; None when only targets were judged, or when that
            has no meaning.
        path: The input.
        line: Where in it, counted from 1; None when unknown.
        details: Further lines.
        component: The id of the component that the finding is about.
        accepted_by: The rule that accepts or contains it, so that it does not count; None for none.
        subject: What beside code and projects tells it from others: the extras of a loop, or
            the project that is required.
    """

    code: str
    severity: Severity
    message: str
    packages: tuple[str, ...]
    targets: tuple[str, ...] = ()
    condition: str | None = None
    path: str
    line: int | None = None
    details: tuple[str, ...] = ()
    component: str | None = None
    accepted_by: Rule | None = None
    subject: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What happened to a loop between two states of an input.

    Attributes:
        kind: ``added``, ``grown``, ``widened`` (it holds in more environments), ``narrowed``,
            ``shrunk`` or ``gone``.
        code: The loop's code.
        component: The loop's id.
        packages: Its members, now or, when it is gone, before.
        where: Where it holds, or held.
        details: The cause, or what else is to be said, one line each.
    """

    kind: str
    code: str
    component: str
    packages: tuple[str, ...]
    where: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A package whose requirements could not be had, and why."""

    input: str
    package: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMiss:
    """A loop of names that exists on no judged target, and what opens it there, hop by hop."""

    input: str
    packages: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Counts over all inputs.

    Attributes:
        packages: Packages of the inputs.
        judged: Packages that are reached and whose requirements are known.
        by_lock: Of these, packages judged by the lock's word where their wheels could not be
            asked.
        via: Of these, packages judged by a compiler's comments only.
        unknown: Packages that are reached and whose requirements could not be had.
        edges: Live edges along which loops were sought.
        wheels_read: Wheels whose own METADATA was read.
        components: Components found.
        deny: Findings at ``deny``.
        warn: Findings at ``warn``.
        accepted: Findings that a waiver accepts or a group contains; counted nowhere else.
        known: Findings that the baseline knows; counted nowhere else.
    """

    packages: int = 0
    judged: int = 0
    by_lock: int = 0
    via: int = 0
    unknown: int = 0
    edges: int = 0
    wheels_read: int = 0
    components: int = 0
    deny: int = 0
    warn: int = 0
    accepted: int = 0
    known: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that a run has to say.

    Attributes:
        inputs: What was judged.
        targets: The judged targets, in order.
        whole: Whether every environment was judged, and the targets are only named.
        summary: Counts over all inputs.
        components: Loops.
        findings: Everything with a code, the important first.
        unknown: Packages whose requirements could not be had.
        near_misses: Loops of names that exist on no judged target.
        opened: Loops that the policy's cuts opened.
        changes: What happened to loops since the state that the input is compared with.
        notes: What else to know of the inputs.
        surveys: What was found in the modules of distributions, where that was asked for.
        command: The command that makes this report again, ``""`` when made from Python.
    """

    inputs: tuple[Input, ...]
    targets: tuple[TargetRow, ...]
    whole: bool = False
    summary: Summary
    components: tuple[Component, ...] = ()
    findings: tuple[Finding, ...] = ()
    unknown: tuple[Missing, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    opened: tuple[Opened, ...] = ()
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    surveys: tuple[Survey, ...] = ()
    command: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing is at ``deny``."""
        return self.summary.deny == 0

    @property
    def judged_nothing(self) -> bool:
        """Whether there were packages, or lines that could be none, and nothing is said of any."""
        unread = any(finding.code == "unreadable-requirement" for finding in self.findings)
        return (self.summary.packages > 0 or unread) and self.summary.judged == 0


_LONGEST_ID = 100


def fingerprint(code: str, names: Collection[str], extras: Collection[str] = ()) -> str:
    """Identify a component by its code, members and extras, cut to a digest when long.

    Args:
        code: Its code.
        names: Its members, sorted.
        extras: The extras that are active in it, sorted.
    """
    text = "+".join(names)
    if extras:
        text += f"[{','.join(extras)}]"
    if len(text) > _LONGEST_ID:
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        text = f"{text.partition('+')[0]}+{len(names) - 1}@{digest}"
    return f"{code}:{text}"


def count_findings(found: Iterable[Finding]) -> dict[str, int]:
    """Count what is denied, warned of and accepted; what is accepted counts as nothing else."""
    found = tuple(found)
    open_findings = [finding for finding in found if finding.accepted_by is None]
    accepted = [finding.accepted_by for finding in found if finding.accepted_by is not None]
    known = [rule for rule in accepted if rule.kind == "baseline"]
    return {
        "deny": sum(finding.severity is Severity.DENY for finding in open_findings),
        "warn": sum(finding.severity is Severity.WARN for finding in open_findings),
        "accepted": len(accepted) - len(known),
        "known": len(known),
    }


def list_names(names: Sequence[str], most: int) -> str:
    """Join names, and say how many are left out beyond ``most``."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def describe_condition(condition: str) -> str:
    """Say a condition in words people use: ``in every environment``, ``where ...``.

    Args:
        condition: A marker, ``""`` for everywhere; see :mod:`distcycle.markers.spelling`.
    """
    if not condition:
        return "in every environment"
    if condition == "python_version < '0'":
        return "in no environment"
    return f"where {condition}"


def abbreviate_targets(names: Collection[str], rows: Sequence[TargetRow]) -> str:
    """Name targets in few words: ``linux_x86_64 (cp38-cp311), windows_amd64``.

    Args:
        names: The targets to name.
        rows: All judged targets, in order; a platform on whose every Python something holds is
            named without them.
    """
    wanted = set(names)
    platforms: dict[str, list[TargetRow]] = {}
    for row in rows:
        platforms.setdefault(row.platform, []).append(row)
    if len(platforms) > 1 and len(wanted) == len(rows):
        return "every judged target"
    held = {
        platform: tuple(row.python for row in group if row.name in wanted)
        for platform, group in platforms.items()
    }
    if len(held) > 1 and len(set(held.values())) == 1 and all(held.values()):
        pythons = [row.python for row in next(iter(platforms.values()))]
        return f"every platform ({', '.join(_runs(held[rows[0].platform], pythons))})"
    parts = []
    for platform, group in platforms.items():
        if len(held[platform]) == len(group):
            parts.append(platform)
        elif held[platform]:
            runs = _runs(held[platform], [row.python for row in group])
            parts.append(f"{platform} ({', '.join(runs)})")
    return ", ".join(parts)


def _runs(held: Sequence[str], pythons: Sequence[str]) -> Iterator[str]:
    """Join neighbours: ``cp38, cp39, cp310`` is ``cp38-cp310``."""
    run: list[str] = []
    for python in pythons:
        if python in held:
            run.append(python)
        elif run:
            yield run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}"
            run = []
    if run:
        yield run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}"

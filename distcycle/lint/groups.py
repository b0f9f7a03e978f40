"""Declared groups against the loops of a lock. Pure.

Source: rules_python, ``python/private/pypi/hub_builder.bzl`` (MODULE.bazel) and
``pip_repository.bzl`` (WORKSPACE): edges between members of a group are dropped and no others, so
that a group which lacks one member of its loop is in a loop still.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from packaging.utils import canonicalize_name

from distcycle.findings import Finding
from distcycle.lint.loops import Lock, Loop
from distcycle.lint.starlark import Cycles, Declaration, Group, Member
from distcycle.lint.tokens import Span
from distcycle.policy import Policy

__all__ = ["Comparison", "find_faults", "find_uninstalled", "match_groups"]

_OVERDONE = "whoever depends on one member of a group gets all of them"


def match_groups(groups: Sequence[Group], loops: Sequence[Loop]) -> dict[int, int]:
    """Decide which group is meant for which loop: those first that have most in common.

    Args:
        groups: Groups as declared.
        loops: Loops that share no member.

    Returns:
        For each loop's index that of its group, each group once; a loop without is left out.
    """
    pairs = []
    for at, group in enumerate(groups):
        names = {_normal(member) for member in group.members}
        for number, loop in enumerate(loops):
            common = len(names.intersection(loop.packages))
            if common:
                pairs.append((-common, at, number))
    matched: dict[int, int] = {}
    taken: set[int] = set()
    for _, at, number in sorted(pairs):
        if number not in matched and at not in taken:
            matched[number] = at
            taken.add(at)
    return matched


def find_uninstalled(group: Group, lock: Lock) -> list[str]:
    """Find members that the lock has, but nothing that is asked for installs.

    Their loops are not seen, so of no member of the group can it be said that it is in none.

    Args:
        group: A group as declared.
        lock: The lock.

    Returns:
        Their names, in the order of the group.
    """
    names = map(_normal, group.members)
    return [name for name in names if name in lock.packages and name not in lock.installed]


def find_faults(
    declaration: Declaration, lock: Lock, policy: Policy, *, path: str, remarks: Sequence[str] = ()
) -> list[Finding]:
    """Compare one declaration with a lock.

    Args:
        declaration: A declaration whose groups can be told.
        lock: The lock.
        policy: What weighs how much.
        path: The Bazel file.
        remarks: What else to say where a loop is in no group.

    Returns:
        The findings, in the order of the file.
    """
    comparison = Comparison(declaration, lock, policy, path)
    found = [
        *comparison.overlaps(),
        *comparison.absentees(),
        *comparison.excess(),
        *comparison.gaps(tuple(remarks)),
    ]
    return sorted(found, key=lambda finding: (finding.line or 0, finding.code, finding.packages))


def _normal(member: Member) -> str:
    return canonicalize_name(member.name)


@dataclass(frozen=True, slots=True)
class _Mention:
    """One time that a group names a project."""

    group: Group
    member: Member


class Comparison:
    """One declaration beside a lock.

    Args:
        declaration: The declaration.
        lock: The lock.
        policy: What weighs how much.
        path: The Bazel file.
    """

    def __init__(self, declaration: Declaration, lock: Lock, policy: Policy, path: str) -> None:
        cycles: Cycles | None = declaration.cycles
        self._declaration = declaration
        self._lock = lock
        self._policy = policy
        self._path = path
        self._groups = cycles.groups if cycles else ()
        self._matched = match_groups(self._groups, lock.loops)
        self._mentions: dict[str, list[_Mention]] = defaultdict(list)
        for group in self._groups:
            for member in group.members:
                self._mentions[_normal(member)].append(_Mention(group, member))
        self._looped = {name for loop in lock.loops for name in loop.packages}

    def _finding(
        self,
        code: str,
        message: str,
        packages: Iterable[str],
        place: Span,
        *,
        targets: Iterable[str] = (),
        details: Iterable[str] = (),
    ) -> Finding:
        return Finding(
            code=code,
            severity=self._policy.judge_severity(code),
            message=message,
            packages=tuple(sorted(packages)),
            targets=self._lock.in_order(targets),
            path=self._path,
            line=place.line,
            details=tuple(details),
        )

    # One name in two groups

    def overlaps(self) -> Iterator[Finding]:
        """Yield names that more than one group has, or one group more than once."""
        for name, (first, *others) in self._mentions.items():
            for other in others:
                if other.group is first.group:
                    where = f"twice in group {first.group.name!r}"
                else:
                    where = f"in group {first.group.name!r} and in group {other.group.name!r}"
                yield self._finding(
                    "group-overlap",
                    f"{name} is {where}",
                    [name],
                    other.member.span,
                    details=self._about_overlap(first, other),
                )

    def _about_overlap(self, first: _Mention, other: _Mention) -> Iterator[str]:
        spelled = first.member.name, other.member.name
        line = first.member.span.line
        if spelled[0] == spelled[1]:
            yield f"it stands on line {line} already"
        else:
            yield f"it stands on line {line} already, as {spelled[0]!r}; here as {spelled[1]!r}"
        if other.group is first.group:
            return
        if self._declaration.kind == "bzlmod":
            yield "pip.parse takes the last of them and says nothing"
        elif spelled[0] == spelled[1]:
            yield "pip_parse refuses it"
        else:
            yield "pip_parse compares names as spelled, and so does not see it"

    # Names that have no business in a group

    def absentees(self) -> Iterator[Finding]:
        """Yield names that the lock does not have."""
        for name, mentions in self._mentions.items():
            if name not in self._lock.packages:
                first = mentions[0]
                yield self._finding(
                    "group-absent",
                    f"group {first.group.name!r} names {name}, which {self._lock.path} does not"
                    " have",
                    [name],
                    first.member.span,
                    details=self._about_absentee(name),
                )

    def _about_absentee(self, name: str) -> Iterator[str]:
        near = difflib.get_close_matches(name, sorted(self._lock.packages), 1)
        if near:
            yield f"did you mean {near[0]}?"
        if self._declaration.kind == "bzlmod":
            yield "pip.parse keeps it in the group, which then names a target that does not exist"
        elif self._declaration.kind == "workspace":
            yield "pip_parse leaves it out of the group"

    def excess(self) -> Iterator[Finding]:
        """Yield members that are in no loop, or in another than most of their group."""
        for name, mentions in self._mentions.items():
            first = mentions[0]
            if name in self._lock.packages and name not in self._looped:
                if find_uninstalled(first.group, self._lock):
                    continue
                yield self._finding(
                    "group-excess",
                    f"group {first.group.name!r} names {name}, which is in no loop of"
                    f" {self._lock.path}",
                    [name],
                    first.member.span,
                    details=[_OVERDONE],
                )
        yield from self._joined()
        for group in self._groups:
            if not group.members:
                message = f"group {group.name!r} has no members"
                yield self._finding("group-excess", message, [], group.label.span)

    def _joined(self) -> Iterator[Finding]:
        """Yield loops that stand whole in the group of another."""
        homes = {at: number for number, at in self._matched.items()}
        for at, group in enumerate(self._groups):
            names = {_normal(member) for member in group.members}
            for number, loop in enumerate(self._lock.loops):
                if homes.get(at, number) == number or not names.issuperset(loop.packages):
                    continue
                first = next(m for m in group.members if _normal(m) in loop.packages)
                home = self._lock.loops[homes[at]].packages
                yield self._finding(
                    "group-excess",
                    f"group {group.name!r} joins loops that have nothing in common:"
                    f" {', '.join(loop.packages)} and {', '.join(sorted(names & set(home)))}",
                    loop.packages,
                    first.span,
                    details=[_OVERDONE],
                )

    # Loops that no group holds

    def gaps(self, remarks: Sequence[str]) -> Iterator[Finding]:
        """Yield loops that no group holds as a whole."""
        for number, loop in enumerate(self._lock.loops):
            if self._is_held(loop):
                continue
            at = self._matched.get(number)
            if at is None:
                yield self._uncovered(loop, remarks)
            else:
                yield self._incomplete(self._groups[at], loop)

    def _is_held(self, loop: Loop) -> bool:
        groups = ({_normal(member) for member in group.members} for group in self._groups)
        return any(names.issuperset(loop.packages) for names in groups)

    def _incomplete(self, group: Group, loop: Loop) -> Finding:
        names = {_normal(member) for member in group.members}
        missing = [name for name in loop.packages if name not in names]
        return self._finding(
            "group-incomplete",
            f"group {group.name!r} lacks {', '.join(missing)}, in one loop with its members by"
            f" {self._lock.path}",
            missing,
            group.label.span,
            targets=loop.targets_of(missing),
            details=[*self._elsewhere(missing), *self._about_loop(loop, missing)],
        )

    def _uncovered(self, loop: Loop, remarks: Sequence[str]) -> Finding:
        cycles = self._declaration.cycles
        return self._finding(
            "group-incomplete",
            f"no group holds {', '.join(loop.packages)}, which require each other by"
            f" {self._lock.path}",
            loop.packages,
            cycles.span if cycles else self._declaration.span,
            targets=loop.targets_of(loop.packages),
            details=[
                *remarks,
                *self._elsewhere(loop.packages),
                *self._about_loop(loop, loop.packages),
            ],
        )

    def _elsewhere(self, names: Iterable[str]) -> Iterator[str]:
        for name in names:
            for mention in self._mentions.get(name, ()):
                yield (
                    f"{name} is in group {mention.group.name!r} (line {mention.member.span.line});"
                    " one group must hold the whole loop"
                )

    def _about_loop(self, loop: Loop, names: Iterable[str]) -> Iterator[str]:
        yield from loop.evidence(names)
        yield from loop.requests()
        yield from (f"the loop exists {where}" for where in loop.conditions())

    # What is no fault and yet worth to know

    def notes(self) -> Iterator[str]:
        """Say which groups are judged in part, or needed on some targets only, or thinner there."""
        loops = {at: self._lock.loops[number] for number, at in self._matched.items()}
        for at, group in enumerate(self._groups):
            for remark in self._remarks(group, loops.get(at)):
                yield f"{self._path}:{group.label.span.line}: group {group.name!r} {remark}"

    def _remarks(self, group: Group, loop: Loop | None) -> Iterator[str]:
        uninstalled = find_uninstalled(group, self._lock)
        if uninstalled:
            yield (
                f"is judged in part: {', '.join(uninstalled)} not installed by what is asked for;"
                " --all-extras, --extra, --group and --platform ask for more"
            )
        if loop is None:
            return
        held = loop.targets_of(loop.packages)
        if held and len(held) < len(self._lock.targets):
            need = f"on {self._lock.show_targets(held)}"
        else:
            need = " or ".join(loop.conditions())
        if need:
            yield f"is needed {need} only; a group holds on every platform"
        installed = [n for n in map(_normal, group.members) if n in self._lock.installed]
        away = [name for name in installed if self._is_away(name)]
        if away:
            yield self._describe_away(away)

    def _is_away(self, name: str) -> bool:
        return len(self._lock.installed[name]) < len(self._lock.targets)

    def _describe_away(self, names: Sequence[str]) -> str:
        everywhere = {row.name for row in self._lock.targets}
        absent = [everywhere - self._lock.installed[name] for name in names]
        targets = self._lock.show_targets(self._lock.in_order(set().union(*absent)))
        keeps = "leaves out there" if self._declaration.kind == "workspace" else "keeps there"
        call = "pip_parse" if self._declaration.kind == "workspace" else "pip.parse"
        return f"has {', '.join(names)}, not installed on {targets}, which {call} {keeps}"

"""Groups of wheels in a Bazel file: which of them count, what is wrong with them, mending. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from packaging.utils import canonicalize_name

from distcycle.errors import InputError
from distcycle.findings import Finding, Input, Report, Severity
from distcycle.lint.groups import Comparison, find_faults
from distcycle.lint.loops import Lock
from distcycle.lint.rewrite import plan_groups, write_literal
from distcycle.lint.starlark import ATTRIBUTE, Cycles, Declaration, parse_declarations
from distcycle.policy import Policy

__all__ = ["Linted", "lint_bazel", "report_of"]

_OF_THE_LOCK = frozenset({"edges-unknown", "unreadable-metadata", "unreadable-requirement"})

_LABEL = re.compile(r"(?:@{0,2}[^/:]*//)?(?P<package>[^:]*):?(?P<name>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Linted:
    """What one Bazel file is found to have.

    Attributes:
        text: Its text: as it was, or mended.
        members: How many projects it names in groups.
        findings: What is wrong in that text.
        notes: What else to know of it.
    """

    text: str
    members: int
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


def lint_bazel(
    text: str,
    lock: Lock,
    policy: Policy,
    *,
    path: str,
    hubs: Sequence[str] = (),
    fix: bool = False,
) -> Linted:
    """Compare the groups of a MODULE.bazel, WORKSPACE or .bzl file with a lock.

    Args:
        text: The file's text.
        lock: The lock.
        policy: What weighs how much.
        path: The file, as findings name it.
        hubs: The hubs that the lock is for; without any, those whose lock file has its name, or
            all when none has.
        fix: Whether to write the literals that have faults anew.

    Returns:
        The text and what is found in it.

    Raises:
        InputError: The file cannot be read, has no such hub, or computes the groups.
    """
    file = _File(text, lock, policy, path, hubs)
    if not fix:
        return file.linted()
    mended, lines = file.mend()
    done = _File(mended, lock, policy, path, hubs).linted()
    notes = [f"{path}:{line}: the groups are written anew" for line in lines]
    return replace(done, notes=(*notes, *done.notes))


def report_of(linted: Linted, report: Report, *, path: str) -> Report:
    """Report on a Bazel file; of its lock only what may have hidden a loop.

    Args:
        linted: What was found in the file.
        report: The report on the lock.
        path: The Bazel file.
    """
    found = [*linted.findings, *(f for f in report.findings if f.code in _OF_THE_LOCK)]
    found.sort(key=lambda f: (f.accepted_by is not None, list(Severity)[::-1].index(f.severity)))
    counted = [finding.severity for finding in found if finding.accepted_by is None]
    summary = replace(
        report.summary,
        deny=counted.count(Severity.DENY),
        warn=counted.count(Severity.WARN),
        accepted=len(found) - len(counted),
    )
    file = Input(path=path, kind="bazel", packages=linted.members)
    return replace(
        report,
        inputs=(file, *report.inputs),
        summary=summary,
        components=(),
        findings=tuple(found),
        near_misses=(),
        notes=(*report.notes, *linted.notes),
    )


class _File:
    """The declarations of one file that count for a lock."""

    def __init__(
        self, text: str, lock: Lock, policy: Policy, path: str, hubs: Sequence[str]
    ) -> None:
        self.text = text
        self.lock = lock
        self.policy = policy
        self.path = path
        self.declared = parse_declarations(text, path=path)
        wanted = _choose(self.declared, lock.location or lock.path, hubs, path)
        last = {_key(declaration): declaration for declaration in self.declared}
        self.counted = [d for key, d in last.items() if key in wanted]
        self.overruled = [d for d in self.declared if _key(d) in wanted and last[_key(d)] is not d]
        self.left_out = [d for key, d in last.items() if key not in wanted]
        for declaration in self.counted:
            if declaration.computed:
                problem = f"the groups cannot be told: {declaration.computed}"
                raise InputError(problem, path=path, line=declaration.span.line)

    def linted(self) -> Linted:
        found = [finding for d in self.counted for finding in self._faults(d)]
        names = {
            canonicalize_name(member.name)
            for d in self.counted
            if d.cycles
            for group in d.cycles.groups
            for member in group.members
        }
        return Linted(
            text=self.text,
            members=len(names),
            findings=tuple(dict.fromkeys(found)),
            notes=tuple(dict.fromkeys(self._notes())),
        )

    def _faults(self, declaration: Declaration) -> list[Finding]:
        return find_faults(
            declaration,
            self.lock,
            self.policy,
            path=self.path,
            remarks=tuple(self._remarks(declaration)),
        )

    def _remarks(self, declaration: Declaration) -> Iterator[str]:
        """Say why a declaration has no groups."""
        for other in self.overruled:
            if other.cycles and _key(other) == _key(declaration) and not declaration.cycles:
                yield (
                    f"the groups of line {other.cycles.span.line} do not count: the last"
                    f" {declaration.call} on a hub wins"
                )
        if declaration.cycles is None:
            yield f"{ATTRIBUTE} is left out; where it stands, if only as {{}}, --fix fills it"

    def _notes(self) -> Iterator[str]:
        for declaration in self.counted:
            yield from Comparison(declaration, self.lock, self.policy, self.path).notes()
        for declaration in self.overruled:
            last = next(d for d in self.counted if _key(d) == _key(declaration))
            if declaration.cycles and _contents(declaration) != _contents(last):
                yield (
                    f"{self.path}:{declaration.span.line}: the groups of this {declaration.call}"
                    f" do not count: that of line {last.span.line} on the same hub is the last"
                )
        for declaration in self.left_out:
            hub = declaration.hub or f"of this {declaration.call}"
            yield (
                f"{self.path}:{declaration.span.line}: hub {hub} is not judged: it does not read"
                f" {self.lock.path}"
            )

    # Mending

    def _faulty(self) -> dict[int, Cycles]:
        """The literals with faults, by where they begin."""
        return {
            d.cycles.span.start: d.cycles
            for d in self.counted
            if d.cycles and any(f.severity is not Severity.ALLOW for f in self._faults(d))
        }

    def mend(self) -> tuple[str, list[int]]:
        """Write every faulty literal anew.

        Returns:
            The text, and the lines on which its new literals begin.
        """
        codes = ("group-excess", "group-absent")
        allowed = {c for c in codes if self.policy.judge_severity(c) is Severity.ALLOW}
        newline = "\r\n" if "\r\n" in self.text else "\n"
        text, lines, at = "", [], 0
        for start, cycles in sorted(self._faulty().items()):
            groups = plan_groups(cycles.groups, self.lock, allowed)
            text += self.text[at:start]
            lines.append(text.count("\n") + 1)
            text += newline.join(write_literal(cycles, groups))
            at = cycles.span.end
        return text + self.text[at:], lines


def _key(declaration: Declaration) -> tuple[str, str | int]:
    """What the last declaration of wins over the others: a hub, or a call on its own."""
    hub = declaration.span.start if declaration.hub is None else declaration.hub
    return (declaration.kind, hub)


def _contents(declaration: Declaration) -> dict[str, list[str]]:
    groups = declaration.cycles.groups if declaration.cycles else ()
    return {group.name: [member.name for member in group.members] for group in groups}


# Which hub reads which lock ----------------------------------------------------------------------


def _choose(
    declared: Sequence[Declaration], lock: str, hubs: Sequence[str], path: str
) -> set[tuple[str, str | int]]:
    """Find the hubs that a lock is for."""
    known = {d.hub for d in declared}
    for hub in hubs:
        if hub not in known:
            names = ", ".join(sorted(name for name in known if name)) or "none by a literal name"
            raise InputError(f"no hub {hub!r} in it; it has {names}", path=path)
    if hubs:
        return {_key(d) for d in declared if d.hub in hubs}
    scores = {
        id(d): max((_likeness(label, lock) for label in d.locks), default=0) for d in declared
    }
    best = max(scores.values())
    return {_key(d) for d in declared if scores[id(d)] == best}


def _likeness(label: str, lock: str) -> int:
    """How many of the last parts of a path a label and a file have in common."""
    match = _LABEL.fullmatch(label)
    package, name = (match["package"], match["name"]) if match else ("", label)
    ours = [part for part in f"{package}/{name}".split("/") if part]
    theirs = lock.replace("\\", "/").split("/")
    common = 0
    while common < min(len(ours), len(theirs)) and ours[-1 - common] == theirs[-1 - common]:
        common += 1
    return common

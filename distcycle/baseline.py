"""Known findings: by fingerprint, and by the condition under which each was known.

A finding is known when the baseline has one of its code and projects, and only where that one
held; a loop of fewer packages than the known one is known too, a loop of more is new.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from packaging.markers import InvalidMarker, Marker

from distcycle.errors import InputError
from distcycle.findings import Finding, Report
from distcycle.markers import NOWHERE, Condition, Space

__all__ = ["SCHEMA", "Baseline", "Entry", "baseline_of", "dump_baseline", "parse_baseline"]

SCHEMA = "distcycle-baseline/1"


@dataclass(frozen=True, slots=True)
class Entry:
    """One known finding.

    Attributes:
        code: Its code.
        packages: The projects that it is about, sorted.
        subject: What else tells it from others: a loop's extras, or the project that is required.
        condition: Where it held, as a marker; None when only targets were judged.
        targets: The named targets on which it held, sorted.
    """

    code: str
    packages: tuple[str, ...]
    subject: str = ""
    condition: str | None = None
    targets: tuple[str, ...] = ()

    def covers(self, code: str, packages: Iterable[str], subject: str, *, is_loop: bool) -> bool:
        """Whether a finding is this one, or a loop within this one."""
        if self.code != code:
            return False
        names = set(packages)
        if is_loop:
            extras = set(subject.split(",")) if subject else set()
            return names <= set(self.packages) and extras <= {*self.subject.split(",")}
        # What was stored before findings named the project that is required has no subject.
        return names == set(self.packages) and self.subject in ("", subject)

    def cells(self, space: Space) -> Condition:
        """Where it held, in a space."""
        cells = 0
        for profile in space.named:
            if profile.target.name in self.targets:
                cells |= profile.cells
        if self.condition is None:
            return cells
        if not self.condition:
            return space.full
        try:
            return cells | space.condition(Marker(self.condition))
        except InvalidMarker:
            # Too long to be told as a marker: known wherever no named target says otherwise.
            named = 0
            for profile in space.named:
                named |= profile.cells
            return cells | (space.full & ~named)


@dataclass(frozen=True, slots=True)
class Baseline:
    """All known findings.

    Attributes:
        path: The file.
        entries: Sorted.
    """

    path: str
    entries: tuple[Entry, ...] = ()
    _alike: Mapping[tuple[str, frozenset[str]], list[Entry]] = field(
        init=False, repr=False, compare=False
    )
    _of_code: Mapping[str, list[Entry]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        alike: dict[tuple[str, frozenset[str]], list[Entry]] = defaultdict(list)
        of_code: dict[str, list[Entry]] = defaultdict(list)
        for entry in self.entries:
            alike[entry.code, frozenset(entry.packages)].append(entry)
            of_code[entry.code].append(entry)
        object.__setattr__(self, "_alike", alike)
        object.__setattr__(self, "_of_code", of_code)

    def covering(
        self, code: str, packages: Iterable[str], subject: str, *, is_loop: bool
    ) -> tuple[Entry, ...]:
        """The entries that cover a finding, wherever they held."""
        names = frozenset(packages)
        # Only a loop may be known by an entry of more packages.
        entries = self._of_code.get(code) if is_loop else self._alike.get((code, names))
        return tuple(e for e in entries or () if e.covers(code, names, subject, is_loop=is_loop))

    def gone(self, report: Report) -> tuple[Entry, ...]:
        """The entries that nothing in a report is covered by any more."""
        covering = {
            entry
            for f in report.findings
            for entry in self.covering(
                f.code, f.packages, f.subject, is_loop=f.component is not None
            )
        }
        return tuple(entry for entry in self.entries if entry not in covering)


def baseline_of(findings: Iterable[Finding], *, path: str = "") -> Baseline:
    """Make a baseline of what a report says, but for what a waiver accepts or a group contains.

    Args:
        findings: The findings; those about the policy itself are left out.
        path: What to call the baseline.
    """
    merged: dict[tuple[str, tuple[str, ...], str], list[Finding]] = defaultdict(list)
    for finding in findings:
        is_of_policy = finding.accepted_by is not None and finding.accepted_by.kind != "baseline"
        if not is_of_policy and finding.code not in _OF_POLICY:
            merged[finding.code, finding.packages, finding.subject].append(finding)
    entries = [
        _merge(code, packages, subject, same) for (code, packages, subject), same in merged.items()
    ]
    return Baseline(path, tuple(sorted(entries, key=_order)))


_OF_POLICY = frozenset(
    ("unused-waiver", "unused-rule", "expired-waiver", "cut-ineffective", "cut-loses-bound")
)


def _merge(code: str, packages: tuple[str, ...], subject: str, same: list[Finding]) -> Entry:
    conditions = list(dict.fromkeys(f.condition for f in same if f.condition is not None))
    conditions = [c for c in conditions if c != NOWHERE] or conditions
    condition: str | None = None
    if conditions:
        condition = "" if "" in conditions else " or ".join(_bracket(conditions))
    targets = sorted({target for f in same for target in f.targets})
    return Entry(code, packages, subject, condition, tuple(targets))


def _bracket(conditions: list[str]) -> list[str]:
    return conditions if len(conditions) == 1 else [f"({c})" for c in sorted(conditions)]


def _order(entry: Entry) -> tuple[object, ...]:
    return (entry.code, entry.packages, entry.subject)


def dump_baseline(baseline: Baseline) -> str:
    """Write a baseline as JSON, one entry a line group, sorted, so that it diffs well."""
    entries = []
    for entry in baseline.entries:
        value: dict[str, object] = {"code": entry.code, "packages": list(entry.packages)}
        if entry.subject:
            value["subject"] = entry.subject
        if entry.condition is not None:
            value["condition"] = entry.condition
        value["targets"] = list(entry.targets)
        entries.append(value)
    return json.dumps({"schema": SCHEMA, "findings": entries}, indent=1) + "\n"


def parse_baseline(text: str, *, path: str) -> Baseline:
    """Read a baseline.

    Raises:
        InputError: It is not one.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error.msg}", path=path, line=error.lineno) from None
    except (RecursionError, ValueError):
        raise InputError("not valid JSON: nested too deeply", path=path) from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InputError(f"not a baseline: expected {SCHEMA!r}", path=path, key="schema")
    findings = document.get("findings")
    if not isinstance(findings, list):
        raise InputError("expected an array", path=path, key="findings")
    entries = [_parse_entry(value, path, f"findings[{i}]") for i, value in enumerate(findings)]
    return Baseline(path, tuple(sorted(entries, key=_order)))


def _parse_entry(value: object, path: str, key: str) -> Entry:
    if not isinstance(value, dict):
        raise InputError("expected an object", path=path, key=key)
    for name in ("code", "subject", "condition"):
        if not isinstance(value.get(name, ""), str):
            raise InputError("expected a string", path=path, key=f"{key}.{name}")
    for name in ("packages", "targets"):
        items = value.get(name, [])
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise InputError("expected an array of strings", path=path, key=f"{key}.{name}")
    if not value.get("code"):
        raise InputError("expected a string, found nothing", path=path, key=f"{key}.code")
    return Entry(
        value["code"],
        tuple(sorted(value.get("packages", []))),
        value.get("subject", ""),
        value.get("condition"),
        tuple(sorted(value.get("targets", []))),
    )

"""Case files: one input, what is known of its files, what is asked, and what must be reported.

Keys of a case file, beside ``about``:

``input``
    The file to read, one of ``[files]``; ``kind`` where its name does not tell.
``targets``, ``pythons``
    As for ``--platform`` and ``--python-version``; without any, all environments at once.
``[files]``
    Name and text of the input and of what lies beside it.
``[request]``
    ``extras``, ``groups``, ``all-extras``, ``edges``.
``policy``, ``today``
    The text of a policy file, and the date on which its waivers are judged.
``[severity]``
    Code to severity, as ``-A``, ``-W`` and ``-D`` give it.
``[metadata]``
    For a wheel or source distribution by name: its Requires-Dist lines, or the whole METADATA.
``[index]``
    For ``project version``: file names, or tables with ``filename``, ``yanked``,
    ``requires-python``. What is not listed cannot be had.
``[expect]``
    ``exit``; ``components``, ``findings`` (but those that only say that a component exists) and
    ``near``, each complete and in the report's order, each with the keys that matter. In ``says``
    and ``because``, ``...`` stands for any words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import tomli
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from distcycle import api
from distcycle.findings import Report, Severity
from distcycle.metadata.core import parse_metadata
from distcycle.model import (
    Artefact,
    Facts,
    IndexOptions,
    Metadata,
    Needs,
    Requirement,
    Snapshot,
    Unknown,
)
from distcycle.policy import Policy
from distcycle.policy.parse import parse_policy
from distcycle.readers import Document, find_reader
from distcycle.requirements import parse_specifier
from distcycle.selection import Request

FOLDER = Path(__file__).parent / "cases"

_KEYS = {
    "case": {
        *("about", "input", "kind", "targets", "pythons", "files", "request", "severity"),
        *("policy", "today"),
        *("metadata", "index", "expect"),
    },
    "request": {"extras", "groups", "all-extras", "edges"},
    "expect": {"exit", "components", "findings", "near"},
    "expect.components": {
        *("code", "packages", "targets", "condition", "cycles", "requested-by", "capped"),
        *("origins", "lines"),
    },
    "expect.findings": {
        *("code", "packages", "severity", "line", "targets", "condition", "says", "path"),
    },
    "expect.near": {"packages", "because"},
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A case file as read."""

    name: str
    input: str
    kind: str | None
    targets: Sequence[str]
    pythons: Sequence[str]
    files: Mapping[str, str]
    request: Request
    policy: Policy
    today: date | None
    library: CaseLibrary
    expect: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class CaseLibrary:
    """Stands for the index and the caches: knows what the case file says, and nothing else."""

    metadata: Mapping[str, Metadata]
    index: Mapping[tuple[NormalizedName, Version], tuple[Artefact, ...]]
    asked: list[str] = field(default_factory=list)

    def gather(self, needs: Needs, facts: Facts, *, index: IndexOptions) -> Facts:
        """Answer every need, as the real library does."""
        self.asked.extend(artefact.filename for artefact in needs.metadata)
        files = {
            key: self.index.get(key, Unknown(reason="no index lists it in this case"))
            for key in needs.files
        }
        metadata = {
            artefact.identity: self.metadata.get(
                artefact.filename, Unknown(reason="no METADATA of it in this case")
            )
            for artefact in needs.metadata
        }
        return Facts(files={**facts.files, **files}, metadata={**facts.metadata, **metadata})


def find_cases() -> list[Path]:
    """All case files, by name."""
    return sorted(FOLDER.glob("*.toml"))


def read_case(path: Path) -> Case:
    """Read a case file; a key that is not known is an error, for it would test nothing."""
    values = tomli.loads(path.read_text("utf-8"))
    _check_keys(values, "case")
    asked = values.get("request", {})
    _check_keys(asked, "request")
    _check_keys(values["expect"], "expect")
    for name in ("components", "findings", "near"):
        for entry in values["expect"].get(name, ()):
            _check_keys(entry, f"expect.{name}")
    return Case(
        name=path.stem,
        input=values["input"],
        kind=values.get("kind"),
        targets=values.get("targets", ()),
        pythons=values.get("pythons", ()),
        files=values["files"],
        request=Request(
            extras=frozenset(asked.get("extras", ())),
            groups=frozenset(asked.get("groups", ())),
            all_extras=asked.get("all-extras", False),
            edges=asked.get("edges", "wheel"),
        ),
        policy=_policy(values),
        today=values.get("today"),
        library=CaseLibrary(
            metadata={k: _metadata(k, v) for k, v in values.get("metadata", {}).items()},
            index=dict(_listing(k, v) for k, v in values.get("index", {}).items()),
        ),
        expect=values["expect"],
    )


def _policy(values: Mapping[str, Any]) -> Policy:
    severities = {k: Severity(v) for k, v in values.get("severity", {}).items()}
    if "policy" not in values:
        return Policy(severities=severities)
    policy = parse_policy(values["policy"], path="distcycle.toml")
    return replace(policy, severities={**policy.severities, **severities})


def _check_keys(table: Mapping[str, Any], kind: str) -> None:
    unknown = table.keys() - _KEYS[kind]
    assert not unknown, f"unknown keys in {kind}: {sorted(unknown)}"


def _metadata(filename: str, value: Any) -> Metadata:
    if isinstance(value, str):
        return parse_metadata(value.encode())
    name, version = filename.split("-")[:2]
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    return parse_metadata("\n".join([*lines, *(f"Requires-Dist: {r}" for r in value)]).encode())


def _listing(
    key: str, files: list[Any]
) -> tuple[tuple[NormalizedName, Version], tuple[Artefact, ...]]:
    name, version = key.split()
    tables = [{"filename": file} if isinstance(file, str) else file for file in files]
    artefacts = tuple(
        Artefact(
            filename=table["filename"],
            yanked=table.get("yanked"),
            requires_python=parse_specifier(table.get("requires-python", "")),
        )
        for table in tables
    )
    return (canonicalize_name(name), Version(version)), artefacts


def read_input(case: Case) -> Snapshot:
    """Read a case's input, as the API would from disk."""
    document = Document(
        path=case.input,
        data=case.files[case.input].encode(),
        beside=lambda name: (name, case.files[name].encode()) if name in case.files else None,
    )
    return find_reader(document, case.kind).read(document)


def audit_case(case: Case, snapshot: Snapshot | None = None) -> Report:
    """Judge a case's input, or the snapshot given instead."""
    return api.audit(
        snapshot or read_input(case),
        targets=case.targets,
        python_versions=case.pythons,
        policy=case.policy,
        today=case.today,
        extras=case.request.extras,
        groups=case.request.groups,
        all_extras=case.request.all_extras,
        edges=case.request.edges,
        library=case.library,  # type: ignore[arg-type]
    )


def exit_code(report: Report) -> int:
    """The exit code that DESIGN gives a report."""
    return 2 if report.judged_nothing else int(not report.ok)


def shuffle(snapshot: Snapshot, random: Random) -> Snapshot:
    """The same input with packages, requirements, files and roots in another order."""
    order = list(range(len(snapshot.packages)))
    random.shuffle(order)
    at = {old: new for new, old in enumerate(order)}

    def moved(requirement: Requirement) -> Requirement:
        index = requirement.package
        return requirement if index is None else replace(requirement, package=at[index])

    def mixed(items: Any) -> Any:
        return None if items is None else tuple(random.sample(items, len(items)))

    packages = tuple(
        replace(
            package,
            requirements=mixed(
                None if package.requirements is None else list(map(moved, package.requirements))
            ),
            artefacts=mixed(package.artefacts),
        )
        for package in (snapshot.packages[old] for old in order)
    )
    roots = None
    if snapshot.roots is not None:
        roots = mixed([replace(r, requirement=moved(r.requirement)) for r in snapshot.roots])
    return replace(snapshot, packages=packages, roots=roots)

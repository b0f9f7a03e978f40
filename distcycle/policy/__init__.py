"""What the user has decided: severities, waivers, cuts, groups and denials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from distcycle.findings import CODES, Severity
from distcycle.model import Place

__all__ = ["Cut", "Deny", "Group", "Policy", "Where", "Waiver"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The environments and versions in which a rule holds; everywhere when nothing is said.

    Attributes:
        versions: Versions of the packages that the rule names.
        platforms: Patterns of target platforms, such as ``linux_*``.
        python: Versions of Python.
        marker: Any other limit.
    """

    versions: SpecifierSet | None = None
    platforms: tuple[str, ...] = ()
    python: SpecifierSet | None = None
    marker: Marker | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """Accepts findings of one code.

    Attributes:
        code: The code.
        packages: Names and patterns (``sphinxcontrib-*``); together they must cover all packages
            of a finding. Those of modules are kept as written: ``torch._*`` is not ``torch.*``.
        where: Where it holds.
        reason: Why the finding is accepted.
        until: The last day on which it holds.
        until_fixed: Whether it ends once a release set without the loop exists.
        fixed_by: That set, once it was found; ``""`` as long as the waiver holds.
        place: Where it stands.
    """

    code: str
    packages: tuple[str, ...]
    where: Where = field(default_factory=Where)
    reason: str = ""
    until: date | None = None
    until_fixed: bool = False
    fixed_by: str = ""
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Takes one edge out of the metadata.

    Attributes:
        package: The project whose requirement goes, or a pattern.
        requires: The project that is no longer required.
        where: Where; its versions are those of ``package``.
        move_to_extra: The extra under which the requirement is kept, if any.
        reason: Why the edge can go.
        place: Where it stands.
    """

    package: str
    requires: NormalizedName
    where: Where = field(default_factory=Where)
    move_to_extra: NormalizedName | None = None
    reason: str = ""
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Contains loops whose members it covers: they are built as one unit.

    Attributes:
        name: The group's name.
        packages: Names and patterns.
        reason: Why they belong together.
        place: Where it stands.
    """

    name: str
    packages: tuple[str, ...]
    reason: str = ""
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Deny:
    """Denies every loop that a package of it is in, whatever the severity.

    Attributes:
        packages: Names and patterns.
        reason: Why.
        place: Where it stands.
    """

    packages: tuple[str, ...]
    reason: str = ""
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Decisions of the user about findings.

    Attributes:
        severities: Codes that weigh other than by default.
        waivers: Findings that are accepted.
        cuts: Edges that are taken out.
        groups: Loops that are contained.
        denials: Loops that are never accepted.
        droppable: What removing an edge costs, by the project that requires and the one that is
            required (patterns); 0 costs nothing, 100 is the most.
        options: Options of commands, by their names in ``[audit]``.
        option_places: Where each of them stands.
        flatten_extras: Whether a loop through an extra counts like one without, as for Bazel.
    """

    severities: Mapping[str, Severity] = field(default_factory=dict)
    waivers: tuple[Waiver, ...] = ()
    cuts: tuple[Cut, ...] = ()
    groups: tuple[Group, ...] = ()
    denials: tuple[Deny, ...] = ()
    droppable: Mapping[tuple[str, str], int] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    option_places: Mapping[str, Place] = field(default_factory=dict)
    flatten_extras: bool = False

    def judge_severity(self, code: str, *, default: Severity | None = None) -> Severity:
        """Decide what a finding weighs.

        Args:
            code: Its code.
            default: What it weighs by default, where that depends on more than the code.
        """
        return self.severities.get(code, default or CODES[code].severity)

"""A remedy made concrete: which edges go, which packages are grouped; what emitters write out."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.model import Artefact, Extra

__all__ = ["Pin", "Plan", "PlannedCut", "PlannedGroup", "UpgradePlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCut:
    """One edge between two projects that is taken out, with all that tools need to know of it.

    Attributes:
        package: The project whose requirement goes.
        version: Its version in the input.
        requires: The project that is no longer required.
        removed: The requirement lines that go, as declared.
        remaining: The Requires-Dist lines that stay, over all wheels of the package, as declared.
        agreed: Whether all wheels that were read declare the same; tools that believe one of them
            lock too little otherwise.
        provides_extra: The extras that the package declares.
        extra: The extra under which the requirement is kept, None when it just goes.
        wheels: The wheels of the package that declare the requirement.
        condition: Where the loop is that the cut opens, as a marker; None when only targets were
            judged, ``""`` everywhere.
        targets: The judged targets on which that loop exists.
        loses: What is lost by it, one line each.
    """

    package: NormalizedName
    version: Version | None
    requires: NormalizedName
    removed: tuple[str, ...]
    remaining: tuple[str, ...]
    agreed: bool = True
    provides_extra: tuple[Extra, ...] = ()
    extra: Extra | None = None
    wheels: tuple[Artefact, ...] = ()
    condition: str | None = None
    targets: tuple[str, ...] = ()
    loses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedGroup:
    """Projects that are built as one unit.

    Attributes:
        name: The group's name: the member that most others require, else the first.
        packages: Their names, sorted; groups of one plan have none in common.
        targets: The judged targets on which the group is needed.
        condition: Where, as a marker; None when only targets were judged.
    """

    name: str
    packages: tuple[NormalizedName, ...]
    targets: tuple[str, ...] = ()
    condition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done about the loops of one input.

    Attributes:
        input: The input's path.
        kind: Its reader.
        cuts: Edges that go; enough to open every loop.
        groups: Groups that contain every loop; an alternative to the cuts.
    """

    input: str
    kind: str
    cuts: tuple[PlannedCut, ...]
    groups: tuple[PlannedGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One package of an input after an upgrade.

    Attributes:
        name: The project.
        version: Its version; None for what comes from a place that says none.
        url: The place it comes from, where that is no index.
        marker: Where it stands, ``""`` everywhere.
        hashes: Pairs of algorithm and digest of its files, where the input gives hashes.
        is_new: Whether it came, or has another version than in the input.
    """

    name: NormalizedName
    version: Version | None
    url: str | None = None
    marker: str = ""
    hashes: tuple[tuple[str, str], ...] = ()
    is_new: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradePlan:
    """What an input comes to by upgrades.

    Attributes:
        input: The input's path.
        pins: All its packages, by name.
        pinned: What people pinned to a version that is no longer the one, as they wrote it.
    """

    input: str
    pins: tuple[Pin, ...]
    pinned: tuple[str, ...] = ()

"""What a walk along build requirements finds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.markers import Condition, Space
from distcycle.model import Artefact, BuildSystem, Needs, Place, Requirement, Unknown

__all__ = ["Builds", "Doubt", "Link", "Own", "Source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """The project of which the input is the lock, or which is the input.

    Attributes:
        name: The project; None when its pyproject.toml names none.
        version: Its version, when that is written there.
        build: What it needs to be built.
        place: Where it says so.
    """

    name: NormalizedName | None
    version: Version | None
    build: BuildSystem | Unknown
    place: Place


@dataclass(slots=True, kw_only=True)
class Source:
    """A package that would be built from source.

    Attributes:
        name: The project; ``""`` for an input's own project without a name.
        version: Its version, None when unknown.
        place: Where the input has it; None when only a requirement brings it in.
        sdist: Its source distribution, None when it has none or when it is a folder.
        wheels: Its wheels that fit some target.
        fits: Where one of its wheels fits.
    """

    name: str
    version: Version | None
    place: Place | None = None
    sdist: Artefact | None = None
    wheels: tuple[Artefact, ...] = ()
    fits: Condition = 0

    def __str__(self) -> str:
        name = self.name or "the project"
        return name if self.version is None else f"{name} {self.version}"


@dataclass(frozen=True, slots=True)
class Link:
    """A requirement joined to the package that would meet it.

    Attributes:
        source: The index of the package that requires, and the extra of it that does.
        target: The index of the package that is required; with ``requirement.extras``.
        requirement: As declared.
        cells: Where.
        is_build: Whether it is needed to build the source, and not to run it.
        is_default: Whether nothing is declared, so that the specification's default holds.
    """

    source: tuple[int, str]
    target: int
    requirement: Requirement
    cells: Condition
    is_build: bool
    is_default: bool = False


@dataclass(frozen=True, slots=True)
class Doubt:
    """What could not be had of a package, so that loops through it would not be seen.

    Attributes:
        source: The index of the package.
        problem: What, and why.
        cells: Where.
        code: The code of the finding that says so.
    """

    source: int
    problem: str
    cells: Condition
    code: str = "edges-unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Builds:
    """What must be there before what can be built.

    Attributes:
        path: The input.
        space: The targets.
        sources: The packages: those of the input first, in its order.
        links: The live requirements.
        doubts: What could not be had.
        notes: What else to know, one line each.
        needs: Facts that are missing; while there are any, the rest is provisional.
    """

    path: str
    space: Space
    sources: tuple[Source, ...]
    links: tuple[Link, ...]
    doubts: tuple[Doubt, ...] = ()
    notes: tuple[str, ...] = ()
    needs: Needs = field(default_factory=lambda: Needs(files={}, metadata=()))

    def names(self, members: Iterable[int]) -> tuple[str, ...]:
        """The projects of some packages, sorted."""
        return tuple(sorted({self.sources[i].name for i in members}))

    def target_names(self, cells: Condition) -> frozenset[str]:
        """The targets that have a cell in a condition."""
        return frozenset(p.target.name for p in self.space.named if p.cells & cells)

"""What a selection is made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from distcycle.markers import Condition, Space
from distcycle.model import Artefact, Needs, Origin, Requirement, Root, Snapshot
from distcycle.wheels import Choice, Lack

__all__ = ["Edge", "Node", "Offer", "Request", "Selection", "Unmet"]

Node = tuple[int, str]
"""A package's index and an extra of it, ``""`` for the package itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of an input beyond what its tool installs without flags.

    Attributes:
        extras: Extras of the project.
        groups: Dependency groups of the project.
        all_extras: Every extra of the project, and optional packages.
        edges: ``wheel`` to ask each wheel what it requires, ``lock`` to believe the lock.
    """

    extras: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    all_extras: bool = False
    edges: Literal["wheel", "lock"] = "wheel"


@dataclass(frozen=True, slots=True)
class Offer:
    """What a package requires in some cells, and who says so.

    Attributes:
        requirements: The requirements; None when they could not be had.
        cells: Where.
        origin: Who says so.
        artefact: The file that says so.
        unknown: Why no METADATA could be had, and so something less serves, or nothing.
        missed: Whether a file or an index should have told, and could not be had.
        lack: Why nothing can be installed there, and so nothing is required, but by what stands
            there all the same.
        pythons: The versions of Python that the package is for, when that is what is lacking.
    """

    requirements: tuple[Requirement, ...] | None
    cells: Condition
    origin: Origin
    artefact: Artefact | None = None
    unknown: str = ""
    missed: bool = False
    lack: Lack | None = None
    pythons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """A requirement joined to the package that meets it.

    Attributes:
        source: The node that requires.
        target: The index of the package that is required; ``requirement.extras`` says which of
            its extra nodes are.
        requirement: As declared.
        cells: Where the edge is live.
        origin: Who says so.
        artefact: The file that says so.
        judged: Whether loops are sought along it. An edge that only the lock has, where a wheel
            speaks for itself, says what gets installed and no more.
    """

    source: Node
    target: int
    requirement: Requirement
    cells: Condition
    origin: Origin
    artefact: Artefact | None = None
    judged: bool = True


@dataclass(frozen=True, slots=True)
class Unmet:
    """A requirement that no package meets.

    Attributes:
        source: The node that requires; None for a root.
        requirement: As declared.
        cells: Where.
        package: The package of that name that stands there all the same, outside the specifier.
        artefact: The file that declares it.
    """

    source: Node | None
    requirement: Requirement
    cells: Condition
    package: int | None
    artefact: Artefact | None


@dataclass(slots=True)
class Selection:
    """What was selected.

    Attributes:
        snapshot: The input.
        space: The environments.
        bounds: The cells that the input is for.
        standing: For each package the cells in which it may be what is installed.
        roots: The requirements from which reach began, with where.
        entries: Where reach begins: for each root's requirement the package it means, and where.
        reached: For every node that is reached, where.
        choices: For every package that is reached and comes as files, the file for each cell.
        offers: For every package that is reached, what it requires.
        edges: The live edges.
        unmet: Requirements that no package meets.
        needs: Facts that are missing; while there are any, the rest is provisional.
    """

    snapshot: Snapshot
    space: Space
    bounds: Condition
    standing: Sequence[Condition] = ()
    roots: tuple[tuple[Root, Condition], ...] = ()
    entries: list[tuple[Requirement, int, Condition]] = field(default_factory=list)
    reached: dict[Node, Condition] = field(default_factory=dict)
    choices: dict[int, tuple[Choice, ...]] = field(default_factory=dict)
    offers: dict[int, tuple[Offer, ...]] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    unmet: list[Unmet] = field(default_factory=list)
    needs: Needs = field(default_factory=lambda: Needs(files={}, metadata=()))

    _incoming: dict[int, list[Edge]] | None = field(default=None, init=False, repr=False)
    _outgoing: dict[int, list[Edge]] | None = field(default=None, init=False, repr=False)

    def edges_into(self, target: int) -> Sequence[Edge]:
        """The live edges to a package, in the order of all edges."""
        if self._incoming is None:
            self._incoming = defaultdict(list)
            for edge in self.edges:
                self._incoming[edge.target].append(edge)
        return self._incoming.get(target, ())

    def edges_from(self, source: int) -> Sequence[Edge]:
        """The live edges from a package and its extras, in the order of all edges."""
        if self._outgoing is None:
            self._outgoing = defaultdict(list)
            for edge in self.edges:
                self._outgoing[edge.source[0]].append(edge)
        return self._outgoing.get(source, ())

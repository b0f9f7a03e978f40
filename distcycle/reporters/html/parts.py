"""What the template puts in place of a loop: its drawing's parts, proofs, loops and cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from distcycle.findings import Component
from distcycle.reporters.arrows import Arrow
from distcycle.reporters.html.layout import Drawing
from distcycle.reporters.html.modules import DetailPart
from distcycle.reporters.html.shapes import Curve, Node
from distcycle.reporters.origins import Origin
from distcycle.reporters.words import Words

__all__ = [
    "ArrowPart",
    "Cell",
    "ComponentPart",
    "HeatRow",
    "LoopPart",
    "NodePart",
    "Proof",
    "Statement",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Who declares a requirement: a wheel or other source, where it stands, and where it holds.

    Of an import: when it runs, where it stands, and under which tests.
    """

    origin: str
    wheel: str
    place: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A requirement as declared, or an import statement, and all who declare it so."""

    source: str
    requirement: str
    proofs: tuple[Proof, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowPart:
    """An arrow: its line, what it says, its classes, and the set of targets on which it is live."""

    id: str
    arrow: Arrow
    curve: Curve
    label: str
    statements: tuple[Statement, ...]
    kind: str
    on: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePart:
    """A package or module: its place, what it says, and the arrows that go out from it."""

    id: str
    text: str
    node: Node
    label: str
    going: tuple[ArrowPart, ...]
    on: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPart:
    """An elementary loop, where it holds, and the set of targets on which it does."""

    text: str
    where: str
    on: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """How many loops there are on a target, and how warm that is, from 0 to 4."""

    target: str
    text: str
    level: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatRow:
    """A platform with a cell for each Python; None where that pair was not judged."""

    platform: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentPart:
    """All that is said of one component.

    Of a large loop of modules a part is drawn: ``left_out`` names the others. Names in a drawing of
    modules that begin with a dot are within ``prefix``.
    """

    id: str
    component: Component
    words: Words
    of_modules: bool
    word: str
    kind: str
    title: str
    members: str
    where: str
    rules: tuple[str, ...]
    drawing: Drawing
    nodes: tuple[NodePart, ...]
    arrows: tuple[ArrowPart, ...]
    ids: Mapping[str, str]
    with_extras: bool
    origins: tuple[Origin, ...]
    prefix: str
    left_out: tuple[str, ...]
    detail: DetailPart | None
    loops: tuple[LoopPart, ...]
    loops_shown: int
    loops_said: str
    variants: tuple[LoopPart, ...]
    breakers: str
    breaker_sets: tuple[tuple[str, ...], ...]
    evidence: tuple[str, ...]
    cuts: tuple[str, ...]
    group: tuple[str, ...]
    waiver: tuple[str, ...]
    heat: tuple[HeatRow, ...]
    on: int | None
    open: bool

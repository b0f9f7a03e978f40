"""Everything that can be said of the loops of one tree of modules."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from distcycle.imports.bindings import bound_names
from distcycle.imports.extraction import parse_source
from distcycle.imports.fixes import Fix, Mender
from distcycle.imports.graph import ImportGraph, Tree, join
from distcycle.imports.loops import (
    VIEWS,
    MixedPair,
    ModuleLoop,
    ModulePair,
    View,
    break_loop,
    find_cycles,
    find_loops,
    find_mixed,
    successors_in,
)
from distcycle.imports.uses import Uses, read_uses

__all__ = ["Source", "StudiedLoop", "Study", "ViewCount", "study_tree"]

Source = Callable[[str], bytes | None]
"""Gives the source of a module; None when it cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudiedLoop:
    """A component of modules that import each other while they are imported.

    Attributes:
        loop: The component, in the view of what is executed.
        names: How many of its modules need names of each other at once.
        cycles: Its elementary loops, the short ones first.
        capped: Whether there may be more.
        cuts: The smallest sets of pairs that open it.
        exact: Whether no smaller set exists.
        mixed: Pairs that are joined both at import time and in functions.
        fixes: How to do without the imports of a set that opens it and is easy to mend.
    """

    loop: ModuleLoop
    names: int
    cycles: tuple[tuple[str, ...], ...]
    capped: bool
    cuts: tuple[tuple[ModulePair, ...], ...]
    exact: bool
    mixed: tuple[MixedPair, ...]
    fixes: tuple[Fix, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewCount:
    """How many pairs and components one view has.

    Attributes:
        pairs: Pairs of modules that are joined.
        loops: Its components, the large ones first.
    """

    pairs: int
    loops: tuple[ModuleLoop, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """The loops of a tree.

    Attributes:
        tree: The modules and their imports.
        graph: Which modules import which.
        views: The three views, the hardest first.
        loops: What is executed in a loop, the large ones first.
    """

    tree: Tree
    graph: ImportGraph
    views: Mapping[View, ViewCount]
    loops: tuple[StudiedLoop, ...]


def study_tree(
    tree: Tree,
    source_of: Source,
    *,
    environment: Mapping[str, str] | None = None,
    most_cycles: int = 100,
) -> Study:
    """Find the loops of a tree, and what would open them.

    Args:
        tree: The modules and their imports.
        source_of: Gives the source of a module, which is read for members of loops only.
        environment: A target's marker variables, so that imports for other targets do not count;
            None to count all.
        most_cycles: How many elementary loops to list of each component.
    """
    graph = join(tree, environment)
    views = {view: _count(graph, view) for view in VIEWS}
    reading = _Reading(source_of)
    mender = Mender(tree, graph, reading.uses)
    needing = [set(loop.modules) for loop in views["names"].loops]
    loops = [
        _study_loop(loop, mender, reading, needing, most_cycles) for loop in views["executed"].loops
    ]
    return Study(tree=tree, graph=graph, views=views, loops=tuple(loops))


def _count(graph: ImportGraph, view: View) -> ViewCount:
    pairs = sum(map(len, successors_in(graph, view).values()))
    return ViewCount(pairs=pairs, loops=find_loops(graph, view))


def _study_loop(
    loop: ModuleLoop, mender: Mender, reading: _Reading, needing: list[set[str]], most: int
) -> StudiedLoop:
    members = set(loop.modules)
    cycles = find_cycles(loop, most=most + 1)
    is_ring = len(cycles) == 1 and len(loop.pairs(loop.view)) > len(cycles[0])
    prices = mender.price(loop)
    cuts, exact = break_loop(loop, cycles, prices)
    return StudiedLoop(
        loop=loop,
        names=sum(len(members & names) for names in needing),
        cycles=tuple(cycles[:most]),
        capped=len(cycles) > most or is_ring,
        cuts=cuts,
        exact=exact,
        mixed=find_mixed(loop, reading.bound),
        fixes=mender.mend(loop, mender.choose(loop, cuts[0], prices)),
    )


class _Reading:
    """Parses modules when they are asked for, each once."""

    def __init__(self, source_of: Source) -> None:
        self._source_of = source_of
        self.uses = functools.cache(self._uses)
        self.bound = functools.cache(self._bound)

    def _parse(self, module: str) -> ast.Module | None:
        source = self._source_of(module)
        try:
            return None if source is None else parse_source(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def _uses(self, module: str) -> Uses | None:
        tree = self._parse(module)
        return None if tree is None else read_uses(tree)

    def _bound(self, module: str) -> Mapping[str, int]:
        tree = self._parse(module)
        return {} if tree is None else bound_names(tree.body)

"""What would open a loop of modules: for each import that must go, the cheapest way to do without.

In order: leave out what is not used, take a name from where it is defined, import for type checkers
only, import when a function needs it, and move what both modules need into one of its own. A module
that is imported for its own sake at once leaves no simple way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from distcycle.imports.graph import ImportEdge, ImportGraph, Tree, resolve_name
from distcycle.imports.loops import ModuleLoop, ModulePair, cheapest_cut, in_view, reaches
from distcycle.imports.spelling import spell_from
from distcycle.imports.uses import Uses

__all__ = ["Fix", "FixKind", "Mender"]

FixKind = Literal["drop", "retarget", "type-checking", "lazy", "move", "restructure"]

_ORDER: tuple[FixKind, ...] = get_args(FixKind)
_MOST_PARSED = 60
"""Components of more modules are priced by their records alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """How to do without one import.

    Attributes:
        kind: The way.
        edge: The import.
        names: The names that it binds.
        instead: The statements to write instead; ``()`` when there are none.
        unevaluated: Whether ``from __future__ import annotations`` is needed with it.
    """

    kind: FixKind
    edge: ImportEdge
    names: tuple[str, ...]
    instead: tuple[str, ...] = ()
    unevaluated: bool = False


class Mender:
    """Finds the cheapest fix of imports.

    Args:
        tree: The modules.
        graph: Which of them import which.
        uses_of: Gives for what a module needs its names; None where its file cannot be read.
    """

    def __init__(
        self, tree: Tree, graph: ImportGraph, uses_of: Callable[[str], Uses | None]
    ) -> None:
        self._tree = tree
        self._uses_of = uses_of
        self._ahead: tuple[ModuleLoop | None, Mapping[str, Sequence[str]]] = None, {}
        self._taken: dict[str, set[str]] = defaultdict(set)
        for edge in graph.edges:
            self._taken[edge.target].update(edge.names)

    def choose(
        self, loop: ModuleLoop, smallest: Sequence[ModulePair], prices: Mapping[ModulePair, int]
    ) -> tuple[ModulePair, ...]:
        """Choose between a smallest set and one that may be larger, but is easier to mend.

        Args:
            loop: The component.
            smallest: One of the smallest sets that open it.
            prices: What it takes to mend each pair.
        """
        if len(loop.modules) > _MOST_PARSED:
            return tuple(smallest)
        other = cheapest_cut(loop, prices)
        sets = (tuple(smallest), other)
        return min(sets, key=lambda pairs: (max(prices[p] for p in pairs), len(pairs)))

    def price(self, loop: ModuleLoop) -> dict[ModulePair, int]:
        """What it takes to mend each pair of a component, 0 the least."""
        parses = len(loop.modules) <= _MOST_PARSED
        prices: dict[ModulePair, int] = {}
        for pair, edges in _by_pair(loop).items():
            kinds = [
                self._kind_of(edge, loop)[0] if parses else self._recorded_kind(edge, loop)
                for edge in edges
            ]
            prices[pair] = max(map(_ORDER.index, kinds))
        return prices

    def mend(self, loop: ModuleLoop, pairs: Iterable[ModulePair]) -> tuple[Fix, ...]:
        """Find a fix for every import of some pairs.

        Args:
            loop: The component.
            pairs: What is to be cut.
        """
        by_pair = _by_pair(loop)
        return tuple(self._mend(edge, loop) for pair in pairs for edge in by_pair.get(pair, ()))

    def _mend(self, edge: ImportEdge, loop: ModuleLoop) -> Fix:
        kind, instead = self._kind_of(edge, loop)
        uses = self._uses_of(edge.source) if kind == "type-checking" else None
        names = _bound_by(edge)
        return Fix(
            kind=kind,
            edge=edge,
            names=names,
            instead=instead,
            unevaluated=uses is not None and any("evaluated" in uses.of[name] for name in names),
        )

    def _recorded_kind(self, edge: ImportEdge, loop: ModuleLoop) -> FixKind:
        return "retarget" if self._retarget(edge, loop) else "lazy"

    def _kind_of(self, edge: ImportEdge, loop: ModuleLoop) -> tuple[FixKind, tuple[str, ...]]:
        uses = self._uses_of(edge.source)
        names = _bound_by(edge)
        if uses is not None and self._is_spare(edge, names, uses):
            return "drop", ()
        if instead := self._retarget(edge, loop):
            return "retarget", instead
        # What a package only passes on is there for others: nothing of it can be moved away.
        passes_on = self._tree.modules[edge.source].is_package and not (
            uses and any("now" in uses.of.get(name, ()) for name in names)
        )
        moves = edge.names and "*" not in names and not passes_on
        at_once: FixKind = "move" if moves else "restructure"
        if uses is None or edge.record.scope or self._is_taken(edge.source, names):
            return at_once, ()
        if uses.all_in(names, "annotation", "evaluated"):
            return "type-checking", ()
        if uses.all_in(names, "annotation", "later"):
            return "lazy", ()
        return at_once, ()

    def _is_spare(self, edge: ImportEdge, names: Sequence[str], uses: Uses) -> bool:
        """Whether nobody needs the names: a package's are there for others."""
        if self._tree.modules[edge.source].is_package or "*" in names:
            return False
        return not any(uses.of.get(n) for n in names) and not self._is_taken(edge.source, names)

    def _is_taken(self, module: str, names: Iterable[str]) -> bool:
        taken = self._taken.get(module, set())
        return "*" in taken or not taken.isdisjoint(names)

    # From where it is defined -------------------------------------------------------------------

    def _retarget(self, edge: ImportEdge, loop: ModuleLoop) -> tuple[str, ...]:
        """What to write to take names from where they are defined, where that leads out."""
        if edge.record.form != "from" or not edge.names:
            return ()
        homes: dict[str, list[tuple[str, str | None]]] = defaultdict(list)
        for name, alias in edge.record.names:
            home = self._home_of(edge.target, name) if name in edge.names else None
            if home is None or self._leads_back(home[0], edge, loop):
                return ()
            homes[home[0]].append((home[1], alias or (name if name != home[1] else None)))
        return tuple(spell_from(home, names) for home, names in sorted(homes.items()))

    def _home_of(self, package: str, name: str) -> tuple[str, str] | None:
        """The module that defines what a package only passes on, and its name there."""
        seen = {package}
        home: tuple[str, str] | None = None
        while True:
            found = next(self._passed_on(package, name), None)
            if found is None or found[0] in seen:
                return home
            package, name = home = found
            seen.add(package)

    def _passed_on(self, package: str, name: str) -> Iterator[tuple[str, str]]:
        file = self._tree.files.get(package)
        for record in file.records if file is not None else ():
            if record.form == "from" and record.kind == "static":
                origin = resolve_name(self._tree.modules[package], record)
                for old, new in record.names:
                    if (new or old) == name and origin in self._tree.modules:
                        yield str(origin), old

    def _leads_back(self, home: str, edge: ImportEdge, loop: ModuleLoop) -> bool:
        """Whether a module leads to the importing one by other ways than the edge's own."""
        if home not in loop.modules:
            return False
        if self._ahead[0] is not loop:
            ahead: dict[str, list[str]] = defaultdict(list)
            for source, target in loop.pairs(loop.view):
                ahead[source].append(target)
            self._ahead = loop, ahead
        return reaches(self._ahead[1], home, edge.source, without=(edge.source, edge.target))


def _by_pair(loop: ModuleLoop) -> Mapping[ModulePair, list[ImportEdge]]:
    found: dict[ModulePair, list[ImportEdge]] = defaultdict(list)
    for edge in loop.edges:
        if in_view(edge, loop.view):
            found[edge.source, edge.target].append(edge)
    return found


def _bound_by(edge: ImportEdge) -> tuple[str, ...]:
    """The names that an import binds in its module."""
    if edge.record.form == "import":
        return tuple(new or old.partition(".")[0] for old, new in edge.record.names)
    if edge.record.form in ("from", "star"):
        wanted = set(edge.names) or {edge.target.rpartition(".")[2]}
        return tuple(new or old for old, new in edge.record.names if old in wanted or old == "*")
    return ()

"""What imports say about the edges of loops: verdicts on cuts, and requirements that are missing.

Pure: what was read of files is handed in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from packaging.utils import NormalizedName

from distcycle import findings
from distcycle.cycles import Component
from distcycle.drafts import Draft, describe_package
from distcycle.findings import Evidence
from distcycle.imports.evidence import Dependence, Place, is_hard_on
from distcycle.imports.spelling import site_of, spell_record
from distcycle.losses import reach_without
from distcycle.markers import Condition
from distcycle.model import Package, Unknown
from distcycle.routes import Routes
from distcycle.selection import Selection
from distcycle.statements import Statements, row_of

__all__ = ["VERDICTS", "Imports", "Reading", "Weighing", "declared_by", "pairs_of"]

Pair = tuple[int, int]
"""Two packages, the first of which requires the second."""

VERDICTS = ("safe", "safe-partly", "safe-if-co-installed", "unknown", "unsafe")
"""Verdicts on a cut, from the one that costs least to the one that costs most."""

_NAMED = 3
_SITES_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Imports:
    """What imports say of one input.

    Attributes:
        evidence: For pairs of packages what modules say about cutting the edge between them.
        drafts: Imports that no requirement declares.
    """

    evidence: Mapping[Pair, Evidence] = field(default_factory=dict)
    drafts: tuple[Draft, ...] = ()

    @property
    def unsafe(self) -> Mapping[Pair, str]:
        """The edges whose cut breaks an import, and which."""
        found = self.evidence.items()
        return {pair: each.reason for pair, each in found if each.verdict == "unsafe"}

    def attach(self, component: findings.Component, loop: Component) -> findings.Component:
        """A component with what imports say of its edges; of several versions, the worst."""
        by_names: dict[tuple[str, str], Evidence] = {}
        for pair in pairs_of([loop]):
            each = self.evidence.get(pair)
            if each is None:
                continue
            known = by_names.setdefault((each.source, each.target), each)
            if VERDICTS.index(each.verdict) > VERDICTS.index(known.verdict):
                by_names[each.source, each.target] = each
        return replace(component, evidence=tuple(by_names[key] for key in sorted(by_names)))


def pairs_of(components: Iterable[Component]) -> dict[Pair, Condition]:
    """The pairs of packages that the edges of some loops join, and where any is live."""
    pairs: dict[Pair, Condition] = defaultdict(int)
    for component in components:
        for edge in component.edges:
            if edge.source[0] != edge.target:
                pairs[edge.source[0], edge.target] |= edge.cells
    return dict(sorted(pairs.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read of one package to weigh an edge.

    Attributes:
        dependence: What its modules do with what it requires.
        read_from: What was read, for people.
        files: How many files may import anything.
        names: The names by which what it requires is imported.
        compiled: How many modules are compiled, so that nothing is known of what they import.
        unused: Those of the sites that import a module and never name it again.
        notes: What else is to be known of what was read.
    """

    dependence: Dependence
    read_from: str
    files: int
    names: tuple[str, ...]
    compiled: int = 0
    unused: tuple[Place, ...] = ()
    notes: tuple[str, ...] = ()


class Weighing:
    """Weighs the edges of one selection.

    Args:
        selection: What was selected.
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._packages = selection.snapshot.packages
        rows = [(row_of(profile.target), profile.cells) for profile in selection.space.named]
        self._statements = Statements(selection, rows)
        places = [package.place for package in self._packages]
        places += [r.requirement.place for r, _ in selection.roots if r.requirement.place]
        self._statements.look_up(places)

    def environments(self, cells: Condition) -> list[Mapping[str, str]]:
        """The marker variables of the named targets that have a cell in a condition."""
        named = self._selection.space.named
        return [profile.target.environment for profile in named if profile.cells & cells]

    def weigh(self, pair: Pair, cells: Condition, reading: Reading | Unknown) -> Evidence:
        """Say what becomes of a package when its edge to another goes.

        Args:
            pair: The edge.
            cells: Where it is live.
            reading: What was read of the package that requires; or why nothing was.
        """
        source, target = (self._packages[index].name for index in pair)
        if isinstance(reading, Unknown):
            return Evidence(source=source, target=target, verdict="unknown", reason=reading.reason)
        found = reading.dependence
        verdict, reason = _judge(reading, target)
        if verdict == "unsafe":
            other = self._other_way(pair, cells)
            if other:
                verdict, reason = "safe-if-co-installed", f"{reason}; {other}"
        return Evidence(
            source=source,
            target=target,
            verdict=verdict,
            reason=reason,
            read_from=reading.read_from,
            files=reading.files,
            sites=tuple(site_of(p.module.name, p.module.path, p.record) for p in found.sites),
            failing=found.failing,
            path=tuple(f"{_where(place)}: {spell_record(place.record)}" for place in found.way),
            notes=(*reading.notes, *_notes(reading, target)),
        )

    def _other_way(self, pair: Pair, cells: Condition) -> str:
        """How the target is reached without the edge, if it is wherever the source then is."""
        here = cells & self._selection.bounds
        reached = reach_without(self._selection, [pair])
        source, target = (reached.get((index, ""), 0) for index in pair)
        needed = (source or self._selection.reached.get((pair[0], ""), 0)) & here
        if not needed or needed & ~target:
            return ""
        edges = [e for e in self._selection.edges if (e.source[0], e.target) != pair]
        route = Routes(replace(self._selection, edges=edges)).to((pair[1], ""), needed)
        if route is None:
            return ""
        names = [self._packages[i].name for i in (route.start, *(e.target for e in route.edges))]
        asked = self._statements.show_place(route.root.place or self._packages[route.start].place)
        way = f" ({' -> '.join(names)})" if route.edges else ""
        full = target & self._selection.bounds == self._selection.bounds
        condition = "" if full else f" ({self._statements.show(target)})"
        ends = [self._packages[index].name for index in pair]
        return f"{asked}{way} brings {ends[1]}{condition} wherever {ends[0]} is"

    # What no requirement declares

    def draft_undeclared(
        self, index: int, project: NormalizedName, places: Sequence[Place]
    ) -> Draft:
        """The finding that a package imports a project that it does not require.

        Args:
            index: The package.
            project: The project.
            places: Where its modules import it.
        """
        package = self._packages[index]
        cells = self._selection.reached.get((index, ""), 0)
        environments = self.environments(cells)
        hard = [place for place in places if is_hard_on(place.record, environments)]
        soft = [place for place in places if place not in hard]
        modules = list(dict.fromkeys(place.module.name for place in hard))
        need = (
            f"{_list(modules)} cannot be imported without it"
            if modules
            else "none needed at import time"
        )
        lines = [f"{_where(place)}: {spell_record(place.record)}" for place in (*hard, *soft)]
        more = len(lines) - _SITES_NAMED
        if more > 0:
            lines = [*lines[:_SITES_NAMED], f"(and {more} more)"]
        return Draft(
            code="undeclared-import",
            message=f"{describe_package(package)} imports {project}, which none of its "
            f"requirements names: {_count(len(places), 'import')}, {need}",
            packages=tuple(sorted({package.name, project})),
            cells=cells or None,
            place=package.place,
            details=tuple(lines),
            subject=project,
        )


def declared_by(selection: Selection, index: int) -> frozenset[NormalizedName]:
    """The projects that a package requires, whatever the extra or the environment; and itself."""
    package: Package = selection.snapshot.packages[index]
    requirements = list(package.requirements or ())
    for offer in selection.offers.get(index, ()):
        requirements += offer.requirements or ()
    if package.metadata is not None and not isinstance(package.metadata, Unknown):
        requirements += package.metadata.requires
    return frozenset((package.name, *(requirement.name for requirement in requirements)))


# Verdicts ----------------------------------------------------------------------------------------


def _judge(reading: Reading, target: str) -> tuple[str, str]:
    """The verdict, as far as the source's own modules give it, and why."""
    found = reading.dependence
    faults = [(module, why) for module, why in found.faults if module.is_package]
    tops = [(module, why) for module, why in faults if "." not in module.name]
    if found.outermost:
        return "unsafe", _tell_way(found.way, found.outermost[0], target)
    if tops:
        module, why = tops[0]
        return "unknown", f"{module.path} could not be parsed: {why}"
    if found.failing:
        needing = f"{len(found.failing)} of {_count(reading.files, 'module')} need {target}"
        return "safe-partly", f"public entry points work; {needing}: {_list(found.failing)}"
    if not reading.names:
        return "safe", f"{target} has no module that could be imported"
    if not found.sites:
        return "safe", f"no module imports {target}"
    files = len({place.module.path for place in found.sites})
    sites = f"{_count(len(found.sites), 'import')} in {_count(files, 'file')}"
    return "safe", f"{sites}, none needed at import time"


def _tell_way(way: Sequence[Place], start: str, target: str) -> str:
    if not way:
        return f"{start} cannot be imported without {target}"
    last = f"{_where(way[-1])} imports {target}"
    return last if len(way) == 1 else f"importing {start} comes to {last}"


def _notes(reading: Reading, target: str) -> Iterator[str]:
    """What a verdict does not say."""
    sites = reading.dependence.sites
    lazy = sum(p.record.kind == "lazy" and not p.record.runs_at_import for p in sites)
    if lazy:
        verb = "is" if lazy == 1 else "are"
        yield f"{_count(lazy, 'import')} {verb} made when a function is called, and fail there"
    for place in reading.unused:
        yield (
            f"{_where(place)}: {spell_record(place.record)} is never used by name, so it may be "
            f"there for what importing {target} does"
        )
    opaque = [_where(place) for place in reading.dependence.opaque]
    if opaque:
        yield f"imports whose name is computed are not seen: {_list(opaque)}"
    for module, why in reading.dependence.faults:
        yield f"{module.path} could not be parsed: {why}"
    if reading.compiled:
        yield f"what {_count(reading.compiled, 'compiled module')} may import is not known"


# Words -------------------------------------------------------------------------------------------


def _where(place: Place) -> str:
    return f"{place.module.path}:{place.record.line}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _list(names: Collection[str]) -> str:
    shown = list(names)
    if len(shown) <= _NAMED:
        return ", ".join(shown)
    return f"{', '.join(shown[:_NAMED])} (and {len(shown) - _NAMED} more)"

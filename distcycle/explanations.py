"""Why a package is in a loop: who asks for it, which requirements close the loop, what opens it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from packaging.utils import NormalizedName

from distcycle import findings
from distcycle.checks import find_unknown
from distcycle.cycles import Component, find_components
from distcycle.drafts import describe_package
from distcycle.findings import CODES
from distcycle.losses import lost_bounds, reach_without
from distcycle.model import Place
from distcycle.nearmisses import find_way_back
from distcycle.routes import Route, Routes
from distcycle.selection import Selection
from distcycle.statements import Statements, row_of
from distcycle.weighing import Imports

__all__ = ["Explanation", "Opening", "Path", "explain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """How a package is reached: the root that is asked for, and the edges from there.

    Attributes:
        root: What is asked for.
        asked: Where: file and line, as far as known.
        edges: The edges, from the root's package to the one that is explained.
    """

    root: str
    asked: str
    edges: tuple[findings.Edge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What would change if an edge were removed.

    Attributes:
        source: The project that requires.
        target: The project that is required.
        bounds: Version bounds on the target that only this edge holds.
        lost: Where the target would no longer be reached, for people; ``""`` for nowhere.
    """

    source: str
    target: str
    bounds: tuple[str, ...]
    lost: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything known of one project.

    Attributes:
        name: The project.
        packages: Its packages in the input, such as ``torch 2.0.0``.
        reached: Where it is reached, for people; ``""`` when nowhere.
        paths: A shortest way from a root to it, for each of its packages.
        components: The components that it is in, their cycles only those through it.
        openings: What the edges of the first set of breakers would change, for each component.
        way_back: The nearest loop of names, with what opens it, when it is in no component.
        unknown: What is reached and whose requirements could not be had, so that loops through it
            are not seen; the project's own packages with the reason, then the rest by name.
    """

    name: NormalizedName
    packages: tuple[str, ...]
    reached: str
    paths: tuple[Path, ...]
    components: tuple[findings.Component, ...]
    openings: tuple[tuple[Opening, ...], ...]
    way_back: tuple[tuple[str, ...], tuple[str, ...]] | None
    unknown: tuple[str, ...] = ()


def explain(
    selection: Selection,
    names: Iterable[NormalizedName],
    *,
    max_cycles: int,
    imports: Imports | None = None,
) -> tuple[Explanation, ...]:
    """Explain what is known of some projects.

    Args:
        selection: What was selected.
        names: The projects.
        max_cycles: How many loops to look through in each component.
        imports: What imports say of the edges of loops, where that is asked for.

    Returns:
        One explanation for each, in the order given.
    """
    return _Explainer(selection, max_cycles, imports).explain(names)


class _Explainer:
    def __init__(self, selection: Selection, max_cycles: int, imports: Imports | None) -> None:
        self.selection = selection
        self.imports = imports
        self.packages = selection.snapshot.packages
        names = [package.name for package in self.packages]
        full = selection.space.full
        self.components = find_components(selection.edges, names, full, max_cycles=max_cycles)
        rows = [(row_of(profile.target), profile.cells) for profile in selection.space.named]
        self.statements = Statements(selection, rows)

    def explain(self, names: Iterable[NormalizedName]) -> tuple[Explanation, ...]:
        names = tuple(names)
        search, full = Routes(self.selection), self.selection.space.full
        own = [i for i, package in enumerate(self.packages) if package.name in names]
        routes = {i: route for i in own if (route := search.to((i, ""), full)) is not None}
        places = [self.statements.place_of(e) for route in routes.values() for e in route.edges]
        places += [root.requirement.place or Place(path="") for root, _ in self.selection.roots]
        for component in self.components:
            places += [self.statements.place_of(edge) for edge in component.edges]
        self.statements.look_up(places)
        return tuple(self._explain(name, routes) for name in names)

    def _explain(self, name: NormalizedName, routes: dict[int, Route]) -> Explanation:
        own = [i for i, package in enumerate(self.packages) if package.name == name]
        reached = [self.selection.reached.get((i, ""), 0) for i in own]
        cells = 0
        for condition in reached:
            cells |= condition
        inside = [c for c in self.components if not set(own).isdisjoint(c.packages)]
        return Explanation(
            name=name,
            packages=tuple(describe_package(self.packages[i]) for i in own),
            reached=self.statements.show(cells) if cells else "",
            paths=tuple(
                self._path(routes[i]) for i, where in zip(own, reached, strict=True) if where
            ),
            components=tuple(self._through(component, name) for component in inside),
            openings=tuple(self._openings(component) for component in inside),
            way_back=None if inside else find_way_back(self.selection, name, self.statements.show),
            unknown=tuple(self._unknown(own)),
        )

    def _unknown(self, own: Sequence[int]) -> Iterator[str]:
        unknown = find_unknown(self.selection)
        for index in own:
            if index in unknown:
                yield f"{describe_package(self.packages[index])} ({unknown.pop(index)[0]})"
        yield from sorted({self.packages[index].name for index in unknown})

    def _through(self, component: Component, name: NormalizedName) -> findings.Component:
        shown = self.statements.component(component, CODES[component.kind].severity)
        if self.imports is not None:
            shown = self.imports.attach(shown, component)
        cycles = tuple(cycle for cycle in shown.cycles if name in cycle.packages)
        return replace(shown, cycles=cycles)

    # Paths

    def _path(self, route: Route) -> Path:
        place = route.root.place or self.packages[route.start].place
        return Path(
            root=route.root.text,
            asked=self.statements.show_place(place),
            edges=tuple(self.statements.edge(edge) for edge in route.edges),
        )

    # Openings

    def _openings(self, component: Component) -> tuple[Opening, ...]:
        breakers = self.statements.breakers_of(component)
        return tuple(self._opening(u, v) for u, v in (breakers.sets[0] if breakers.sets else ()))

    def _opening(self, source: int, target: int) -> Opening:
        without = reach_without(self.selection, [(source, target)])
        before = self.selection.reached.get((target, ""), 0)
        lost = before & ~without.get((target, ""), 0)
        return Opening(
            source=self.packages[source].name,
            target=self.packages[target].name,
            bounds=lost_bounds(self.selection, (source, target), (), without),
            lost=self.statements.show(lost) if lost else "",
        )

"""What can be done about a loop, ranked by what it costs, and one plan for a whole input."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from packaging.utils import NormalizedName

from distcycle.breakers import Breakers, Pair, break_component
from distcycle.cycles import Component
from distcycle.losses import lost_bounds, reach_without
from distcycle.model import Requirement
from distcycle.plan import Plan, PlannedCut, PlannedGroup
from distcycle.policy import Policy
from distcycle.selection import Selection
from distcycle.statements import Statements

__all__ = ["Loss", "Remedy", "find_remedies", "make_plan"]

Kind = Literal["upgrade", "cut", "move-to-extra", "group", "merge"]

_EFFORT = 20_000
_COST_OF_REACH = 50
_COST_OF_BOUND = 30
_COST_OF_PLAIN_EDGE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What taking one edge out loses.

    Attributes:
        source: The project that requires.
        target: The project that is required.
        lines: What is lost, one line each; empty when nothing.
        cost: How much that weighs, from 0; between sets of equal size the cheaper comes first.
    """

    source: NormalizedName
    target: NormalizedName
    lines: tuple[str, ...]
    cost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One way to deal with one component.

    Attributes:
        kind: What is done.
        component: The component's id.
        packages: Its members.
        edges: The edges that go; empty for groups and merges.
        exact: Whether no smaller set of edges does it.
        costs: What it costs, one line each.
    """

    kind: Kind
    component: str
    packages: tuple[str, ...]
    edges: tuple[tuple[str, str], ...] = ()
    exact: bool = True
    costs: tuple[str, ...] = ()


class _Costs:
    """What each edge of a component costs, found when it is asked for."""

    def __init__(self, selection: Selection, statements: Statements, policy: Policy) -> None:
        self._selection = selection
        self._statements = statements
        self._policy = policy
        self._losses: dict[Pair, Loss] = {}

    def loss(self, pair: Pair) -> Loss:
        if pair not in self._losses:
            self._losses[pair] = self._find(*pair)
        return self._losses[pair]

    def _find(self, source: int, target: int) -> Loss:
        packages = self._selection.snapshot.packages
        names = (packages[source].name, packages[target].name)
        reached = reach_without(self._selection, source, target)
        lost = self._selection.reached.get((target, ""), 0) & ~reached.get((target, ""), 0)
        bounds = lost_bounds(self._selection, source, target, reached)
        lines = []
        if bounds:
            lines.append(f"the bound {names[1]} {', '.join(bounds)}, which nothing else holds")
        if lost:
            lines.append(f"{names[1]} itself {self._statements.show(lost)}")
        cost = _COST_OF_BOUND * bool(bounds) + _COST_OF_REACH * bool(lost)
        cost += _COST_OF_PLAIN_EDGE * self._is_plain(source, target)
        return Loss(
            source=names[0], target=names[1], lines=tuple(lines), cost=self._set(names, cost)
        )

    def _is_plain(self, source: int, target: int) -> bool:
        """Whether the requirement holds whatever the environment."""
        return any(
            edge.requirement.marker is None
            for edge in self._selection.edges
            if edge.judged and (edge.source[0], edge.target) == (source, target)
        )

    def _set(self, names: tuple[str, str], cost: int) -> int:
        """What the policy says that the edge costs, else what was found."""
        for (source, target), said in self._policy.droppable.items():
            if fnmatchcase(names[0], source) and fnmatchcase(names[1], target):
                return said
        return cost


def find_remedies(
    selection: Selection,
    components: Iterable[Component],
    statements: Statements,
    policy: Policy,
) -> list[Remedy]:
    """Find the remedies for every component, those that change least first.

    Args:
        selection: What was selected.
        components: The loops.
        statements: Names conditions.
        policy: What it says that edges cost.

    Returns:
        For each component its cuts, the same as moves to an extra, the group, and the merge.
    """
    costs = _Costs(selection, statements, policy)
    remedies: list[Remedy] = []
    for component in components:
        breakers = _break(component, selection, costs)
        remedies += _remedies_of(component, breakers, selection, statements, costs)
    return remedies


def _break(component: Component, selection: Selection, costs: _Costs) -> Breakers:
    pairs = {(edge.source[0], edge.target) for edge in component.edges}
    prices = {pair: costs.loss(pair).cost for pair in sorted(pairs)}
    return break_component(component, selection.space.full, costs=prices, effort=_EFFORT)


def _remedies_of(
    component: Component,
    breakers: Breakers,
    selection: Selection,
    statements: Statements,
    costs: _Costs,
) -> Iterator[Remedy]:
    identity = statements.id_of(component)
    names = statements.names_of(component)
    for kind in ("cut", "move-to-extra"):
        for pairs in breakers.sets if kind == "cut" else breakers.sets[:1]:
            losses = [costs.loss(pair) for pair in pairs]
            yield Remedy(
                kind=kind,
                component=identity,
                packages=names,
                edges=tuple((loss.source, loss.target) for loss in losses),
                exact=breakers.exact,
                costs=tuple(_costs_of_cut(kind, losses)),
            )
    outside = sorted(
        {
            selection.snapshot.packages[edge.target].name
            for edge in selection.edges
            if edge.judged
            and edge.source[0] in component.packages
            and edge.target not in component.packages
        }
    )
    pulled = (
        f"whoever needs one member gets all {len(names)}, "
        f"and the {len(outside)} others that they require"
    )
    where = f"needed {statements.show(component.cells)}; groups are global in most tools"
    yield Remedy(kind="group", component=identity, packages=names, costs=(pulled, where))
    yield Remedy(
        kind="merge",
        component=identity,
        packages=names,
        costs=(pulled, "the composite is yours to rebuild at every upgrade of a member"),
    )


def _costs_of_cut(kind: str, losses: Sequence[Loss]) -> Iterator[str]:
    for loss in losses:
        for line in loss.lines:
            if kind == "cut":
                yield f"{loss.source} -> {loss.target} loses {line}"
            else:
                yield f"{loss.source} -> {loss.target} leaves to the user {line}"
    if not any(loss.lines for loss in losses):
        yield "nothing here: what is required stays reached, within the same bounds"


# Plan --------------------------------------------------------------------------------------------


def make_plan(
    selection: Selection,
    components: Sequence[Component],
    statements: Statements,
    policy: Policy,
    *,
    to_extra: bool = False,
) -> Plan:
    """Choose for every loop the cheapest cut, and put groups together that share a member.

    Args:
        selection: What was selected.
        components: The loops.
        statements: Names conditions.
        policy: What it says that edges cost.
        to_extra: Whether requirements are kept under an extra named after what they require.

    Returns:
        The plan: cuts that open every loop, and groups that contain every loop.
    """
    costs = _Costs(selection, statements, policy)
    cuts: dict[Pair, list[Component]] = defaultdict(list)
    for component in components:
        for pair in _break(component, selection, costs).sets[0]:
            cuts[pair].append(component)
    return Plan(
        input=selection.snapshot.path,
        kind=selection.snapshot.kind,
        cuts=tuple(
            sorted(
                (
                    _planned_cut(pair, inside, selection, statements, costs, to_extra=to_extra)
                    for pair, inside in cuts.items()
                ),
                key=lambda cut: (cut.package, cut.requires, str(cut.version)),
            )
        ),
        groups=tuple(_planned_groups(components, selection, statements)),
    )


def _planned_cut(
    pair: Pair,
    components: Iterable[Component],
    selection: Selection,
    statements: Statements,
    costs: _Costs,
    *,
    to_extra: bool,
) -> PlannedCut:
    source, target = pair
    packages = selection.snapshot.packages
    cells = 0
    for component in components:
        cells |= component.cells
    name = packages[target].name
    declared = list(_requirements_of(selection, source))
    wheels = {
        edge.artefact.filename: edge.artefact
        for edge in selection.edges
        if edge.judged
        and (edge.source[0], edge.requirement.name) == (source, name)
        and edge.artefact is not None
        and edge.artefact.is_wheel
    }
    return PlannedCut(
        package=packages[source].name,
        version=packages[source].version,
        requires=name,
        removed=tuple(dict.fromkeys(r.text for r in declared if r.name == name)),
        remaining=tuple(dict.fromkeys(_plain(r) for r in declared if r.name != name)),
        provides_extra=packages[source].provides_extra,
        extra=name if to_extra else None,
        wheels=tuple(wheels[filename] for filename in sorted(wheels)),
        condition=statements.condition(cells),
        targets=statements.targets_in(cells),
        loses=costs.loss(pair).lines,
    )


def _requirements_of(selection: Selection, index: int) -> Iterator[Requirement]:
    for offer in selection.offers.get(index, ()):
        yield from offer.requirements or ()


def _plain(requirement: Requirement) -> str:
    """A requirement as declared; what a lock lists under an extra gets its marker."""
    if requirement.extra is None:
        return requirement.text
    text, separator, marker = requirement.text.partition(";")
    extra = f'extra == "{requirement.extra}"'
    return f"{text.strip()} ; ({marker.strip()}) and {extra}" if separator else f"{text} ; {extra}"


def _planned_groups(
    components: Iterable[Component], selection: Selection, statements: Statements
) -> Iterator[PlannedGroup]:
    """One group for all loops that share a project: no tool admits a name in two groups."""
    packages = selection.snapshot.packages
    merged: list[tuple[set[NormalizedName], int]] = []
    for component in components:
        names, cells = {packages[i].name for i in component.packages}, component.cells
        for other in [m for m in merged if not names.isdisjoint(m[0])]:
            merged.remove(other)
            names, cells = names | other[0], cells | other[1]
        merged.append((names, cells))
    for names, cells in sorted(merged, key=lambda group: sorted(group[0])):
        yield PlannedGroup(
            name=_most_required(names, selection),
            packages=tuple(sorted(names)),
            targets=statements.targets_in(cells),
            condition=statements.condition(cells),
        )


def _most_required(names: set[NormalizedName], selection: Selection) -> NormalizedName:
    packages = selection.snapshot.packages
    askers: Mapping[NormalizedName, set[NormalizedName]] = {name: set() for name in names}
    for edge in selection.edges:
        source, target = packages[edge.source[0]].name, packages[edge.target].name
        if edge.judged and source in names and target in names:
            askers[target].add(source)
    return max(sorted(names), key=lambda name: len(askers[name]))

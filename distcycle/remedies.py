"""What can be done about a loop, ranked by what it costs, and one plan for a whole input."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

from packaging.utils import NormalizedName, canonicalize_name

from distcycle.breakers import Breakers, Pair, break_component
from distcycle.cycles import Component
from distcycle.findings import Evidence
from distcycle.losses import lost_bounds, reach_without
from distcycle.markers import Condition, UnreadableMarker, atoms_of, parse_expression
from distcycle.model import Extra, Requirement
from distcycle.plan import Plan, PlannedCut, PlannedGroup
from distcycle.policy import Policy
from distcycle.selection import Node, Selection
from distcycle.statements import Statements
from distcycle.weighing import VERDICTS, Imports

__all__ = ["Remedy", "find_remedies", "make_plan"]

Kind = Literal["upgrade", "cut", "move-to-extra", "group", "merge"]

_EFFORT = 20_000
_MOST_WEIGHED = 500
_COST_OF_REACH = 50
_COST_OF_BOUND = 30
_COST_OF_PLAIN_EDGE = 10
_COST_OF_VERDICT = 1_000  # more than all else together


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
        evidence: What imports say of the edges that go, where that was asked for.
    """

    kind: Kind
    component: str
    packages: tuple[str, ...]
    edges: tuple[tuple[str, str], ...] = ()
    exact: bool = True
    costs: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class _Costs:
    """What edges cost: by themselves, to choose between sets; together, to be said."""

    def __init__(
        self,
        selection: Selection,
        statements: Statements,
        policy: Policy,
        imports: Imports | None,
    ) -> None:
        self._selection = selection
        self._evidence = {} if imports is None else imports.evidence
        self._packages = selection.snapshot.packages
        self._statements = statements
        self._policy = policy

    def price(self, pair: Pair, *, weighed: bool) -> int:
        """What an edge costs by itself: 0 for nothing, by what is found or by what policy says.

        Args:
            pair: The edge.
            weighed: Whether to find out what is lost with it, which takes a walk from all roots.
        """
        names = self.names(pair)
        for (source, target), said in self._policy.droppable.items():
            if fnmatchcase(names[0], source) and fnmatchcase(names[1], target):
                return said
        price = _COST_OF_PLAIN_EDGE * self._is_plain(pair)
        if pair in self._evidence:
            price += _COST_OF_VERDICT * VERDICTS.index(self._evidence[pair].verdict)
        if weighed:
            reached = reach_without(self._selection, [pair])
            price += _COST_OF_BOUND * bool(lost_bounds(self._selection, pair, (), reached))
            price += _COST_OF_REACH * bool(self._lost_reach(pair, reached))
        return price

    def evidence(self, pairs: Iterable[Pair]) -> tuple[Evidence, ...]:
        """What imports say of some edges."""
        return tuple(self._evidence[pair] for pair in pairs if pair in self._evidence)

    def losses(self, removed: Iterable[Pair]) -> dict[Pair, tuple[str, ...]]:
        """What is lost when edges go together, for each of them, one line each."""
        removed = list(removed)
        reached = reach_without(self._selection, removed)
        losses: dict[Pair, tuple[str, ...]] = {}
        for pair in removed:
            bounds = lost_bounds(self._selection, pair, removed, reached)
            lost = self._lost_reach(pair, reached)
            target = self.names(pair)[1]
            lines = []
            if bounds:
                lines.append(f"the bound {target} {', '.join(bounds)}, which nothing else holds")
            if lost:
                lines.append(f"{target} itself {self._statements.show(lost)}")
            losses[pair] = tuple(lines)
        return losses

    def _lost_reach(self, pair: Pair, reached: Mapping[Node, Condition]) -> Condition:
        """Where what an edge requires was reached, and no longer is."""
        here = (pair[1], "")
        return self._selection.reached.get(here, 0) & ~reached.get(here, 0)

    def _is_plain(self, pair: Pair) -> bool:
        """Whether the requirement holds whatever the environment."""
        return any(
            edge.requirement.marker is None
            for edge in self._selection.edges_into(pair[1])
            if edge.judged and edge.source[0] == pair[0]
        )

    def names(self, pair: Pair) -> tuple[NormalizedName, NormalizedName]:
        """The projects of an edge."""
        return self._packages[pair[0]].name, self._packages[pair[1]].name


def find_remedies(
    selection: Selection,
    components: Iterable[Component],
    statements: Statements,
    policy: Policy,
    imports: Imports | None = None,
) -> list[Remedy]:
    """Find the remedies for every component, those that change least first.

    Args:
        selection: What was selected.
        components: The loops.
        statements: Names conditions.
        policy: What it says that edges cost.
        imports: What imports say of the edges, which then comes first.

    Returns:
        For each component its cuts, the same as moves to an extra, the group, and the merge.
    """
    costs = _Costs(selection, statements, policy, imports)
    remedies: list[Remedy] = []
    for component in components:
        breakers = _break(component, selection, costs)
        remedies += _remedies_of(component, breakers, selection, statements, costs)
    return remedies


def _break(component: Component, selection: Selection, costs: _Costs) -> Breakers:
    pairs = {(edge.source[0], edge.target) for edge in component.edges}
    weighed = len(pairs) <= _MOST_WEIGHED
    prices = {pair: costs.price(pair, weighed=weighed) for pair in sorted(pairs)}
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
            yield Remedy(
                kind=kind,
                component=identity,
                packages=names,
                edges=tuple(map(costs.names, pairs)),
                exact=breakers.exact,
                costs=tuple(_costs_of_cut(kind, pairs, costs)),
                evidence=costs.evidence(pairs),
            )
    members = frozenset(component.packages)
    outside = {
        selection.snapshot.packages[edge.target].name
        for index in members
        for edge in selection.edges_from(index)
        if edge.judged and edge.target not in members
    }
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


def _costs_of_cut(kind: str, pairs: Iterable[Pair], costs: _Costs) -> Iterator[str]:
    losses = costs.losses(pairs)
    verb = "loses" if kind == "cut" else "leaves to the user"
    for pair, lines in losses.items():
        source, target = costs.names(pair)
        yield from (f"{source} -> {target} {verb} {line}" for line in lines)
    if not any(losses.values()):
        yield "nothing here: what is required stays reached, within the same bounds"


# Plan --------------------------------------------------------------------------------------------


def make_plan(
    selection: Selection,
    components: Sequence[Component],
    statements: Statements,
    policy: Policy,
    *,
    to_extra: bool = False,
    imports: Imports | None = None,
) -> Plan:
    """Choose for every loop the cheapest cut, and put groups together that share a member.

    Args:
        selection: What was selected.
        components: The loops.
        statements: Names conditions.
        policy: What it says that edges cost.
        to_extra: Whether requirements are kept under an extra named after what they require.
        imports: What imports say of the edges, which then comes first.

    Returns:
        The plan: cuts that open every loop, and groups that contain every loop.
    """
    costs = _Costs(selection, statements, policy, imports)
    cuts: dict[Pair, list[Component]] = defaultdict(list)
    for component in components:
        for pair in _break(component, selection, costs).sets[0]:
            cuts[pair].append(component)
    losses = costs.losses(cuts)
    planned = [
        _planned_cut(pair, inside, selection, statements, losses[pair])
        for pair, inside in cuts.items()
    ]
    if to_extra:
        planned = [replace(cut, extra=cut.requires) for cut in planned]
    planned.sort(key=lambda cut: (cut.package, cut.requires, str(cut.version)))
    return Plan(
        input=selection.snapshot.path,
        kind=selection.snapshot.kind,
        cuts=tuple(planned),
        groups=tuple(_planned_groups(components, selection, statements)),
    )


def _planned_cut(
    pair: Pair,
    components: Iterable[Component],
    selection: Selection,
    statements: Statements,
    loses: tuple[str, ...],
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
        for edge in selection.edges_from(source)
        if edge.judged
        and edge.requirement.name == name
        and edge.artefact is not None
        and edge.artefact.is_wheel
    }
    return PlannedCut(
        package=packages[source].name,
        version=packages[source].version,
        requires=name,
        removed=tuple(dict.fromkeys(r.text for r in declared if r.name == name)),
        remaining=tuple(dict.fromkeys(_plain(r) for r in declared if r.name != name)),
        agreed=len(set(_declarations(selection, source))) < 2,
        provides_extra=tuple(sorted({*packages[source].provides_extra, *_extras_in(declared)})),
        wheels=tuple(wheels[filename] for filename in sorted(wheels)),
        condition=statements.condition(cells),
        targets=statements.targets_in(cells),
        loses=loses,
    )


def _requirements_of(selection: Selection, index: int) -> Iterator[Requirement]:
    for offer in selection.offers.get(index, ()):
        yield from offer.requirements or ()


def _extras_in(requirements: Iterable[Requirement]) -> Iterator[Extra]:
    """The extras under which requirements are declared."""
    for requirement in requirements:
        if requirement.extra is not None:
            yield requirement.extra
        if requirement.marker is not None:
            with contextlib.suppress(UnreadableMarker):
                for atom in atoms_of(parse_expression(str(requirement.marker))):
                    if atom.variable == "extra":
                        yield canonicalize_name(atom.literal)


def _declarations(selection: Selection, index: int) -> Iterator[frozenset[str]]:
    """What each file of a package that was read declares."""
    for offer in selection.offers.get(index, ()):
        if offer.artefact is not None and offer.requirements is not None and offer.lack is None:
            yield frozenset(requirement.text for requirement in offer.requirements)


def _plain(requirement: Requirement) -> str:
    """A requirement as declared; what a lock lists under an extra gets its marker."""
    if requirement.extra is None:
        return requirement.text
    extra = f'extra == "{requirement.extra}"'
    if requirement.marker is None:
        return f"{requirement.text} ; {extra}"
    # A URL may hold a semicolon of its own; a marker's is the last.
    text, _, marker = requirement.text.rpartition(";")
    return f"{text.strip()} ; ({marker.strip()}) and {extra}"


def _planned_groups(
    components: Iterable[Component], selection: Selection, statements: Statements
) -> Iterator[PlannedGroup]:
    """One group for all loops that share a project: no tool admits a name in two groups."""
    packages = selection.snapshot.packages
    merged: list[tuple[set[NormalizedName], set[int], Condition]] = []
    for component in components:
        names = {packages[i].name for i in component.packages}
        indices, cells = set(component.packages), component.cells
        for other in [m for m in merged if not names.isdisjoint(m[0])]:
            merged.remove(other)
            names, indices, cells = names | other[0], indices | other[1], cells | other[2]
        merged.append((names, indices, cells))
    for names, indices, cells in sorted(merged, key=lambda group: min(group[0])):
        yield PlannedGroup(
            name=_most_required(indices, selection),
            packages=tuple(sorted(names)),
            targets=statements.targets_in(cells),
            condition=statements.condition(cells),
        )


def _most_required(indices: Iterable[int], selection: Selection) -> NormalizedName:
    packages = selection.snapshot.packages
    askers: dict[NormalizedName, set[NormalizedName]] = {packages[i].name: set() for i in indices}
    for index in indices:
        for edge in selection.edges_from(index):
            target = packages[edge.target].name
            if edge.judged and target in askers:
                askers[target].add(packages[index].name)
    return max(sorted(askers), key=lambda name: len(askers[name]))

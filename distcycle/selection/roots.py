"""Where reach begins: what is asked for, or, where a lock does not say, what nothing requires."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable

from packaging.utils import NormalizedName

from distcycle.graph import strong_components
from distcycle.markers import Atom, Expression, UnreadableMarker, parse_expression
from distcycle.model import Extra, Requirement, Root, Snapshot
from distcycle.selection.records import Request

__all__ = ["MOST_CHOICES", "find_choices", "find_roots", "is_requested", "may_hold"]

MOST_CHOICES = 64


def is_requested(root: Root, request: Request) -> bool:
    """Whether reach begins at a root, with what is asked for."""
    if root.extra is not None:
        return request.all_extras or root.extra in request.extras
    return root.default or (root.group is not None and root.group in request.groups)


def find_choices(snapshot: Snapshot, request: Request) -> tuple[frozenset[str], ...]:
    """Find the alternatives among extras and groups of which a lock admits only one at a time.

    Args:
        snapshot: The lock.
        request: What is asked for.

    Returns:
        For each alternative the names, as the lock's markers have them, that are chosen. With no
        conflict among what is asked for there is one alternative.
    """
    roots = snapshot.roots or ()
    asked = {root.choice for root in roots if root.choice and is_requested(root, request)}
    options = []
    for conflict in snapshot.conflicts:
        wanted = sorted(asked.intersection(conflict))
        options.append(wanted or [""])
    free = asked.difference(*snapshot.conflicts)
    picks = itertools.islice(itertools.product(*options), MOST_CHOICES)
    return tuple(dict.fromkeys(frozenset({*free, *pick} - {""}) for pick in picks))


def find_roots(snapshot: Snapshot, *, all_extras: bool = False) -> tuple[Root, ...]:
    """Find the roots of a lock that does not say them, from its own edges.

    Roots are what no other package requires, every component that nothing outside reaches, and
    extras that were requested although nothing in the lock does. Markers are left out of account;
    optional packages are roots only with all extras.

    Args:
        snapshot: The lock.
        all_extras: Whether optional packages are asked for.

    Returns:
        One root for each, bound to its package entry.
    """
    requested = _extras_requested(snapshot)
    names = _sources(_names_required(snapshot, requested))
    return tuple(
        _root_at(snapshot, i, tuple(sorted(extras)))
        for i, package in enumerate(snapshot.packages)
        for extras in (set(package.requested_extras) - requested[package.name],)
        if (package.name in names or extras) and (all_extras or not package.optional)
    )


def _root_at(snapshot: Snapshot, index: int, extras: tuple[Extra, ...]) -> Root:
    package = snapshot.packages[index]
    name = f"{package.name}[{','.join(extras)}]" if extras else package.name
    requirement = Requirement(
        name=package.name,
        extras=extras,
        text=name if package.version is None else f"{name}=={package.version}",
        marker=package.marker,
        package=index,
        place=package.place,
    )
    return Root(requirement=requirement)


def _sources(successors: dict[NormalizedName, set[NormalizedName]]) -> set[NormalizedName]:
    """Projects that nothing else requires, and components that nothing outside requires."""
    required = {v for u, targets in successors.items() for v in targets if v != u}
    sources = {name for name in successors if name not in required}
    reached = _closure(successors, sources)
    rest = {u: targets for u, targets in successors.items() if u not in reached}
    for component in strong_components(rest) if rest else ():
        if not any(component & targets for u, targets in rest.items() if u not in component):
            sources |= component
    return sources


def _extras_requested(snapshot: Snapshot) -> dict[NormalizedName, set[Extra]]:
    requested: dict[NormalizedName, set[Extra]] = defaultdict(set)
    for package in snapshot.packages:
        for requirement in package.requirements or ():
            requested[requirement.name].update(requirement.extras)
    return requested


def _names_required(
    snapshot: Snapshot, requested: dict[NormalizedName, set[Extra]]
) -> dict[NormalizedName, set[NormalizedName]]:
    """Project to projects, as the lock has it, with extras only where something requests them."""
    successors: dict[NormalizedName, set[NormalizedName]] = {}
    for package in snapshot.packages:
        targets = successors.setdefault(package.name, set())
        for requirement in package.requirements or ():
            if may_hold(requirement, requested[package.name]):
                targets.add(requirement.name)
    return {u: {v for v in targets if v in successors} for u, targets in successors.items()}


def may_hold(requirement: Requirement, extras: Collection[Extra]) -> bool:
    """Whether a requirement holds in some environment, with these extras of its package or none.

    Args:
        requirement: The requirement.
        extras: The extras that something requests; of the environment nothing is known.
    """
    if requirement.extra is not None:
        return requirement.extra in extras
    if requirement.marker is None:
        return True
    try:
        expression = parse_expression(str(requirement.marker))
        return any(_is_possible(expression, extra) for extra in ("", *extras))
    except UnreadableMarker:
        return True


def _is_possible(expression: Expression, extra: str) -> bool:
    if isinstance(expression, Atom):
        return expression.variable != "extra" or expression.holds(extra)
    parts = (_is_possible(part, extra) for part in expression.parts)
    return all(parts) if expression.operator == "and" else any(parts)


def _closure(
    successors: dict[NormalizedName, set[NormalizedName]], start: Iterable[NormalizedName]
) -> set[NormalizedName]:
    reached = set(start)
    stack = list(reached)
    while stack:
        for v in successors[stack.pop()] - reached:
            reached.add(v)
            stack.append(v)
    return reached

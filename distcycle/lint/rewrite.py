"""The literals of groups, written anew as the lock has them. Pure.

The form is that of buildifier: four spaces a level, double quotes, a comma behind everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from packaging.utils import canonicalize_name

from distcycle.lint.groups import find_uninstalled, match_groups
from distcycle.lint.loops import Lock, Loop
from distcycle.lint.starlark import Cycles, Group, Member

__all__ = ["plan_groups", "write_literal"]

_INDENT = 4 * " "


@dataclass(slots=True)
class _Planned:
    """A group as it should be: the loops that it holds, and what else may stay in it."""

    name: str
    packages: set[str] = field(default_factory=set)


def plan_groups(
    groups: Sequence[Group], lock: Lock, allowed: Collection[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Make every loop of a lock one group.

    Args:
        groups: The groups as declared; one that comes nearest to a loop gives it its name.
        lock: The lock.
        allowed: Codes of findings that are no fault: what they would find stays.

    Returns:
        For each group's name its members; no member is in two.
    """
    matched = match_groups(groups, lock.loops)
    planned = [_Planned(group.name) for group in groups]
    for number, at in matched.items():
        planned[at].packages.update(lock.loops[number].packages)
    looped = {name for loop in lock.loops for name in loop.packages}
    seen = set(looped)
    for group, plan in zip(groups, planned, strict=True):
        unsure = {"group-excess"} if find_uninstalled(group, lock) else set()
        for member in group.members:
            project = canonicalize_name(member.name)
            code = "group-excess" if project in lock.packages else "group-absent"
            if project not in seen and code in unsure.union(allowed):
                plan.packages.add(project)
                seen.add(project)
    used = {plan.name for plan in planned if plan.packages}
    for number, loop in enumerate(lock.loops):
        if number not in matched:
            name = _name(loop, used)
            used.add(name)
            planned.append(_Planned(name, set(loop.packages)))
    kept = sorted((plan for plan in planned if plan.packages), key=lambda plan: plan.name)
    return {plan.name: tuple(sorted(plan.packages)) for plan in kept}


def _name(loop: Loop, used: Collection[str]) -> str:
    """Name a group after the member that most others require."""
    names = loop.by_demand()
    free = [name for name in names if name not in used]
    return free[0] if free else "+".join(names)


def write_literal(cycles: Cycles, groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Write a literal anew.

    Comments inside it stay with the names that stay; those of names that go, go.

    Args:
        cycles: The literal as it stands.
        groups: For each group's name its members.

    Returns:
        Lines; the first belongs behind what stands before the literal.
    """
    if not groups and not cycles.tail:
        yield "{}"
        return
    labels = {group.name: group.label for group in cycles.groups}
    members: dict[str, Member] = {}
    for group in cycles.groups:
        for member in group.members:
            members.setdefault(canonicalize_name(member.name), member)
    entry = cycles.indent + _INDENT
    yield "{"
    for name, packages in groups.items():
        yield from _line(f'{entry}"{name}": [', labels.get(name))
        for package in packages:
            yield from _line(f'{entry}{_INDENT}"{package}",', members.get(package))
        yield f"{entry}],"
    yield from (entry + comment for comment in cycles.tail)
    yield cycles.indent + "}"


def _line(text: str, declared: Member | None) -> Iterator[str]:
    """A line with the comments that stood around its name."""
    if declared is None:
        yield text
        return
    indent = text[: len(text) - len(text.lstrip())]
    yield from (indent + comment for comment in declared.before)
    yield "  ".join((text, *declared.after))

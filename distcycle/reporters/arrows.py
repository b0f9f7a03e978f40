"""What drawings show of a loop: one arrow for all edges from one member to another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from distcycle.findings import (
    Component,
    Edge,
    Report,
    TargetRow,
    abbreviate_targets,
    describe_condition,
)
from distcycle.reporters.origins import strength_of
from distcycle.reporters.phrases import ACCEPTED, count, describe_where
from distcycle.reporters.words import IMPORT_CYCLE, words_of

__all__ = [
    "Arrow",
    "describe_arrow",
    "describe_edges",
    "find_arrows",
    "find_nodes",
    "title_of",
]

_LONGEST_CONDITION = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """All edges of a loop from one member to another.

    Attributes:
        source: The project that requires, or the module that imports.
        target: The project or module that is required or imported.
        edges: The edges.
        origin: The strongest word for it, of :data:`~distcycle.reporters.origins.ORIGINS`.
        extras: The extras of the source under which alone it stands; empty when one edge is plain.
        breaker: Whether it is in the first set of edges that opens the loop.
        targets: The judged targets on which it is live, in the report's order.
        where: Where it is live, in few words; ``""`` for everywhere.
    """

    source: str
    target: str
    edges: tuple[Edge, ...]
    origin: str
    extras: tuple[str, ...]
    breaker: bool
    targets: tuple[str, ...]
    where: str


def find_arrows(component: Component, rows: Sequence[TargetRow]) -> tuple[Arrow, ...]:
    """Join the edges of a loop that have the same ends.

    Args:
        component: The loop.
        rows: All judged targets.

    Returns:
        The arrows, sorted by source and target.
    """
    pairs: dict[tuple[str, str], list[Edge]] = defaultdict(list)
    for edge in component.edges:
        pairs[_split(edge.source, component)[0], edge.target].append(edge)
    first = set(component.breakers[0]) if component.breakers else set()
    return tuple(
        Arrow(
            source=source,
            target=target,
            edges=tuple(edges),
            origin=min((edge.origin for edge in edges), key=strength_of),
            extras=_extras(edges, component),
            breaker=(source, target) in first,
            targets=_targets(edges, rows),
            where=describe_edges(edges, rows),
        )
        for (source, target), edges in sorted(pairs.items())
    )


def _split(node: str, component: Component) -> tuple[str, str]:
    """The project of a node, and its extra: ``fsspec`` and ``s3`` of ``fsspec[s3]``."""
    if component.code == IMPORT_CYCLE or any(m.name == node for m in component.packages):
        return node, ""
    project, _, extra = node.partition("[")
    return project, extra.removesuffix("]")


def _extras(edges: Sequence[Edge], component: Component) -> tuple[str, ...]:
    extras = {_split(edge.source, component)[1] for edge in edges}
    return () if "" in extras else tuple(sorted(extras))


def _targets(edges: Sequence[Edge], rows: Sequence[TargetRow]) -> tuple[str, ...]:
    live = {name for edge in edges for name in edge.targets}
    return tuple(row.name for row in rows if row.name in live)


def describe_edges(edges: Sequence[Edge], rows: Sequence[TargetRow]) -> str:
    """Say in few words where any of some edges is live; ``""`` for everywhere.

    That is the condition, or the targets' names where it is long or several conditions meet. An
    import of which neither is said holds wherever its module is.
    """
    targets = _targets(edges, rows)
    conditions = {edge.condition for edge in edges}
    if conditions == {None} and not any(edge.targets for edge in edges):
        return ""
    if "" in conditions or (None in conditions and len(targets) == len(rows)):
        return ""
    condition = conditions.pop()
    if condition and not conditions and (len(condition) <= _LONGEST_CONDITION or not targets):
        return describe_condition(condition)
    return f"on {abbreviate_targets(targets, rows)}" if targets else "on no target that is named"


def title_of(component: Component, report: Report) -> str:
    """Say in one line what a loop is: its weight, its code, its input and where it holds."""
    rule = component.accepted_by
    word = ACCEPTED[rule.kind] if rule else component.severity
    what = describe_where(component, report)
    if component.code == IMPORT_CYCLE:
        what = f"{count(len(component.packages), words_of(component).noun)} {what}".strip()
    return f"{word}[{component.code}] {component.input}: {what}"


def describe_arrow(arrow: Arrow) -> str:
    """Say in few words what kind of edge it is: ``lock [s3] on linux_x86_64``, or ``lazy``.

    What is imported at import time needs no word where the line itself says so.
    """
    if arrow.origin == "static":
        return ""
    extras = f"[{','.join(arrow.extras)}]" if arrow.extras else ""
    return " ".join(filter(None, (arrow.origin, extras, arrow.where)))


def find_nodes(component: Component) -> dict[str, str]:
    """Name what is drawn, and say it: the member with its extras and its version.

    An edge's end that is no member, as a report made elsewhere may have it, is drawn too.
    """
    nodes = {}
    for member in component.packages:
        extras = f"[{','.join(member.extras)}]" if member.extras else ""
        version = f" {member.version}" if member.version else ""
        nodes[member.name] = f"{member.name}{extras}{version}"
    for edge in component.edges:
        for name in (_split(edge.source, component)[0], edge.target):
            nodes.setdefault(name, name)
    return nodes

"""What the page says of each loop: its drawing, its proofs, where it holds and what opens it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from distcycle.findings import (
    Component,
    Cycle,
    Edge,
    Finding,
    Report,
    TargetRow,
    Variant,
    abbreviate_targets,
    describe_condition,
)
from distcycle.reporters.arrows import Arrow, describe_edges, find_arrows, find_nodes
from distcycle.reporters.excerpts import find_excerpt
from distcycle.reporters.html.layout import Drawing, lay_out
from distcycle.reporters.html.modules import describe_detail, find_prefix, shorten_names
from distcycle.reporters.html.parts import (
    ArrowPart,
    Cell,
    ComponentPart,
    HeatRow,
    LoopPart,
    NodePart,
    Proof,
    Statement,
)
from distcycle.reporters.html.shapes import Node
from distcycle.reporters.html.snippets import write_cuts, write_group, write_waiver
from distcycle.reporters.identity import component_of
from distcycle.reporters.origins import ORIGINS, strength_of
from distcycle.reporters.phrases import (
    ACCEPTED,
    count,
    describe_breakers,
    describe_evidence,
    describe_rule,
    describe_where,
    first_loop,
    list_names,
)
from distcycle.reporters.words import IMPORT_CYCLE, words_of

__all__ = ["Index", "describe_component", "order_pythons", "weigh"]

_LOOPS_SHOWN = 8
_MOST_OPEN = 12  # members whose requirements are listed without being asked for
_LEVELS = 4
_BREAKER_SETS = 3
_MOST_DRAWN = 120  # members; a ring of more is a disc of ink
_LONGEST_STATEMENT = 200

Index = Callable[[Sequence[str]], int | None]
"""Gives each set of targets a number; None where targets have no meaning."""


def describe_component(
    number: int, component: Component, report: Report, index: Index
) -> ComponentPart:
    """Say everything that the page shows of a loop.

    Args:
        number: Its place in the page, counted from 1.
        component: The loop.
        report: The report that it is in.
        index: Gives sets of targets their numbers.
    """
    return _Describer(number, component, report, index).describe()


class _Describer:
    """Holds what all parts of one loop refer to."""

    def __init__(self, number: int, component: Component, report: Report, index: Index) -> None:
        self.id = f"c{number}"
        self.component = component
        self.report = report
        self.index = index
        self.of_modules = component.code == IMPORT_CYCLE
        self.words = words_of(component)
        self.drawn = find_excerpt(component, _MOST_DRAWN) if self.of_modules else component
        self.names = find_nodes(self.drawn)
        self.ids = {name: f"{self.id}n{at}" for at, name in enumerate(self.names)}

    def describe(self) -> ComponentPart:
        component = self.component
        arrows = find_arrows(self.drawn, self.report.targets)
        drawing = self._drawing(arrows)
        # What is drawn last lies on top: the strongest.
        layers = sorted(arrows, key=lambda arrow: (arrow.breaker, -strength_of(arrow.origin)))
        ordered = layers if self.of_modules else arrows
        parts = tuple(self._arrow(at, arrow, drawing) for at, arrow in enumerate(ordered))
        word, kind = weigh(component)
        return ComponentPart(
            id=self.id,
            component=component,
            words=self.words,
            of_modules=self.of_modules,
            word=word,
            kind=kind,
            title=_title(component),
            members=list_names([member.name for member in component.packages], 8),
            where=describe_where(component, self.report),
            rules=tuple(self._rules()),
            drawing=drawing,
            nodes=tuple(self._node(name, parts, drawing.nodes[name]) for name in self.names),
            arrows=parts,
            ids=self.ids,
            with_extras=any(arrow.extras for arrow in arrows),
            origins=tuple(
                origin
                for origin in ORIGINS.values()
                if any(arrow.origin == origin.name for arrow in arrows)
            ),
            prefix=find_prefix(list(self.names)) if self.of_modules else "",
            left_out=tuple(m.name for m in component.packages if m.name not in self.names),
            detail=describe_detail(component, self.report) if self.of_modules else None,
            loops=tuple(map(self._loop, component.cycles)),
            loops_shown=_LOOPS_SHOWN,
            loops_said=_loops_said(component),
            variants=tuple(map(self._variant, component.variants)),
            breakers=describe_breakers(component),
            breaker_sets=tuple(
                tuple(f"{source} -> {target}" for source, target in pairs)
                for pairs in component.breakers[:_BREAKER_SETS]
            ),
            evidence=tuple(map(describe_evidence, component.evidence)),
            cuts=() if self.of_modules else tuple(write_cuts(component)),
            group=() if self.of_modules else tuple(write_group(component)),
            waiver=tuple(write_waiver(component)) if self.of_modules else (),
            heat=() if self.of_modules else tuple(_heat(component, self.report)),
            on=self.index(component.targets),
            open=len(self.names) <= _MOST_OPEN,
        )

    def _drawing(self, arrows: Sequence[Arrow]) -> Drawing:
        below = dict.fromkeys(self.names, "")
        for member in self.drawn.packages:
            extras = f"[{','.join(member.extras)}]" if member.extras else ""
            below[member.name] = f"{member.version or ''} {extras}".strip()
        pairs = {(arrow.source, arrow.target) for arrow in arrows}
        if not self.of_modules:
            return lay_out(below, pairs)
        return lay_out(below, pairs, shown=shorten_names(list(below)), ring_by_name=True)

    def _arrow(self, at: int, arrow: Arrow, drawing: Drawing) -> ArrowPart:
        verb = self.words.verb
        parts = [f"{self.names[arrow.source]} {verb} {self.names[arrow.target]}", arrow.where]
        parts += [ORIGINS[arrow.origin].legend] if self._runs(arrow) else []
        parts += [f"only with [{', '.join(arrow.extras)}]"] if arrow.extras else []
        parts += ["one of the edges that open the loop"] if arrow.breaker else []
        return ArrowPart(
            id=f"{self.id}a{at}",
            arrow=arrow,
            curve=drawing.curves[arrow.source, arrow.target],
            label=", ".join(filter(None, parts)),
            statements=tuple(self._statements(arrow.edges)),
            kind=" ".join(self._classes(arrow)),
            on=self.index(arrow.targets),
        )

    def _runs(self, arrow: Arrow) -> bool:
        """Whether the origin says when an import runs."""
        return self.of_modules and arrow.origin in ORIGINS

    def _classes(self, arrow: Arrow) -> Iterator[str]:
        """How an arrow looks; among modules dashes say when an import runs."""
        yield f"o-{arrow.origin}"
        if arrow.breaker:
            yield "cut" if self.of_modules else "breaker"
        if arrow.extras:
            yield "extra"

    def _statements(self, edges: Sequence[Edge]) -> Iterator[Statement]:
        """Put together what is declared in the same words."""
        by_text: dict[tuple[str, str], list[Edge]] = defaultdict(list)
        for edge in edges:
            by_text[edge.source, edge.requirement].append(edge)
        for (source, requirement), group in by_text.items():
            proofs = dict.fromkeys(self._proof(edge) for edge in group)
            is_long = self.of_modules and len(requirement) > _LONGEST_STATEMENT
            yield Statement(
                source=self.names.get(source, source),
                requirement=f"{requirement[:_LONGEST_STATEMENT]}..." if is_long else requirement,
                proofs=tuple(proofs),
            )

    def _proof(self, edge: Edge) -> Proof:
        where = describe_edges([edge], self.report.targets)
        if self.of_modules and edge.marker:
            where = f"if {edge.marker} {where}".strip()
        return Proof(
            origin=edge.origin,
            wheel=edge.wheel or "",
            place=f"{edge.path}:{edge.line}" if edge.line else edge.path,
            where=where,
        )

    def _node(self, name: str, arrows: Sequence[ArrowPart], node: Node) -> NodePart:
        going = tuple(
            sorted(
                (part for part in arrows if part.arrow.source == name),
                key=lambda part: part.arrow.target,
            )
        )
        coming = tuple(part for part in arrows if part.arrow.target == name)
        requires = list_names([part.arrow.target for part in going], 8)
        required = list_names([part.arrow.source for part in coming], 8)
        verb, passive = self.words.verb, self.words.passive
        return NodePart(
            id=self.ids[name],
            text=self.names[name],
            node=node,
            label=f"{self.names[name]}: {verb} {requires}; {passive} by {required}",
            going=going,
            on=self.index(self._targets_of(name)),
        )

    def _targets_of(self, name: str) -> tuple[str, ...]:
        """Where a package is a member: the set differs from target to target only with variants."""
        if not self.component.variants:
            return self.component.targets
        held: set[str] = set()
        for variant in self.component.variants:
            held.update(variant.targets if name in variant.packages else ())
        return tuple(target for target in self.component.targets if target in held)

    def _loop(self, cycle: Cycle) -> LoopPart:
        return LoopPart(
            text=" \N{RIGHTWARDS ARROW} ".join((*cycle.packages, cycle.packages[0])),
            where=self._where(cycle),
            on=self.index(cycle.targets),
        )

    def _variant(self, variant: Variant) -> LoopPart:
        return LoopPart(
            text=", ".join(variant.packages),
            where=self._where(variant),
            on=self.index(variant.targets),
        )

    def _where(self, thing: Cycle | Variant) -> str:
        if thing.condition is not None:
            return describe_condition(thing.condition)
        on = abbreviate_targets(thing.targets, self.report.targets)
        return f"on {on}" if on else ""

    def _rules(self) -> Iterator[str]:
        """The rules that accept the loop or a part of it, and where."""
        for finding in self.report.findings:
            if finding.accepted_by and component_of(finding, self.report) is self.component:
                where = f", {describe_where(finding, self.report)}"
                yield describe_rule(finding.accepted_by) + (
                    "" if self.component.accepted_by else where
                )


def _title(component: Component) -> str:
    if len(component.packages) == 2:
        return first_loop(component)
    words = words_of(component)
    return f"{count(len(component.packages), words.noun)} {words.verbs} each other"


def _loops_said(component: Component) -> str:
    least = "at least " if component.capped else ""
    return f"{least}{count(len(component.cycles), 'loop')}"


def _heat(component: Component, report: Report) -> Iterator[HeatRow]:
    """How many of the loops that are listed hold on each target."""
    numbers = {
        row.name: sum(row.name in cycle.targets for cycle in component.cycles)
        for row in report.targets
    }
    most = max(numbers.values(), default=0)
    rows = {(row.platform, row.python): row for row in report.targets}
    for platform in dict.fromkeys(row.platform for row in report.targets):
        judged = [rows.get((platform, python)) for python in order_pythons(report.targets)]
        yield HeatRow(
            platform=platform,
            cells=tuple(
                None if row is None else _cell(row, component, numbers[row.name], most)
                for row in judged
            ),
        )


def _cell(row: TargetRow, component: Component, number: int, most: int) -> Cell:
    if row.name not in component.targets:
        return Cell(target=row.name, text="\N{MIDDLE DOT}", level=0, label=f"{row.name}: no loop")
    plus = "+" if component.capped else ""
    loops = f"{max(number, 1)} or more loops" if plus else count(number, "loop")
    return Cell(
        target=row.name,
        text=f"{max(number, 1)}{plus}",
        level=max(1, round(_LEVELS * number / most)) if most else 1,
        label=f"{row.name}: {loops}",
    )


def order_pythons(rows: Sequence[TargetRow]) -> tuple[str, ...]:
    """The Pythons of all platforms, those that stand beside each other in one kept so."""
    pythons = dict.fromkeys(row.python for row in rows)
    return tuple(sorted(pythons, key=_python_key))


def _python_key(python: str) -> tuple[str, int, str]:
    """Order ``cp39`` before ``cp310``, and CPython before others."""
    kind, minor = re.match(r"(\D*)\d?(\d*)", python, re.ASCII).groups()  # type: ignore[union-attr]
    return kind, int(minor[:9] or 0), python


def weigh(thing: Component | Finding) -> tuple[str, str]:
    """The word for what a thing weighs, and its class."""
    if thing.accepted_by is not None:
        return ACCEPTED[thing.accepted_by.kind], "accepted"
    return str(thing.severity), str(thing.severity)

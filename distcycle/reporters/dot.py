"""The loops as a drawing for Graphviz.

Source: Graphviz, "The DOT Language", and its attribute type ``escString``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from distcycle.findings import Component, Report
from distcycle.reporters import View
from distcycle.reporters.arrows import Arrow, describe_arrow, find_arrows, find_nodes, title_of
from distcycle.reporters.escape import printable
from distcycle.reporters.origins import ORIGINS
from distcycle.reporters.phrases import verdict_of
from distcycle.reporters.words import IMPORT_CYCLE, words_of

__all__ = ["render"]


def render(report: Report, _view: View) -> str:
    """Show the loops of a report as a Graphviz drawing, one cluster for each loop."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield "digraph distcycle {"
    yield f"  graph [label={_quote(verdict_of(report))}, labelloc=t, fontname=sans]"
    yield "  node [shape=box, style=rounded, fontname=monospace]"
    yield "  edge [fontname=sans, fontsize=10]"
    for number, component in enumerate(report.components):
        yield from _cluster(number, component, report)
    yield "}"


def _cluster(number: int, component: Component, report: Report) -> Iterator[str]:
    names = {name: f"c{number}n{at}" for at, name in enumerate(find_nodes(component))}
    yield f"  subgraph cluster_{number} {{"
    yield f"    label={_quote(title_of(component, report))}"
    for name, text in find_nodes(component).items():
        yield f"    {names[name]} [label={_quote(text)}]"
    for arrow in find_arrows(component, report.targets):
        attributes = _attributes(arrow, component)
        yield f"    {names[arrow.source]} -> {names[arrow.target]} [{attributes}]"
    yield "  }"


def _attributes(arrow: Arrow, component: Component) -> str:
    origin = ORIGINS.get(arrow.origin)
    return ", ".join(
        (
            f"label={_quote(describe_arrow(arrow))}",
            f"style={_style(arrow, component)}",
            f'color="{origin.color if origin else "#000000"}"',
            f"tooltip={_quote('; '.join(_statements(arrow, component)))}",
        )
    )


def _style(arrow: Arrow, component: Component) -> str:
    """Dashes are of what opens a loop of packages; among modules they say when an import runs."""
    if component.code != IMPORT_CYCLE:
        return "dashed" if arrow.breaker else "dotted" if arrow.extras else "solid"
    if arrow.breaker:
        return "bold"
    return ORIGINS[arrow.origin].line if arrow.origin in ORIGINS else "solid"


def _statements(arrow: Arrow, component: Component) -> Iterable[str]:
    """What is declared; of an import, where it stands too."""
    if component.code == IMPORT_CYCLE:
        return (f"{edge.path}:{edge.line} {edge.requirement}" for edge in arrow.edges)
    verb = words_of(component).verb
    return dict.fromkeys(f"{e.source} {verb} {e.requirement}" for e in arrow.edges)


def _quote(text: str) -> str:
    r"""Spell a text as a label: ``\N`` and ``&lt;`` would stand for something else."""
    escaped = printable(text).replace("\\", r"\\").replace('"', r"\"").replace("&", "&amp;")
    return f'"{escaped}"'

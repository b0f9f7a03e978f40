"""The loops as a drawing for Graphviz.

Source: Graphviz, "The DOT Language", and its attribute type ``escString``.
"""

from __future__ import annotations

from collections.abc import Iterator

from distcycle.findings import Component, Report
from distcycle.reporters import View
from distcycle.reporters.arrows import Arrow, describe_arrow, find_arrows, find_nodes, title_of
from distcycle.reporters.escape import printable
from distcycle.reporters.phrases import verdict_of

__all__ = ["render"]

_COLORS = {
    "wheel": "#1d4ed8",
    "sdist": "#0e7490",
    "installed": "#15803d",
    "lock": "#6d28d9",
    "policy": "#be185d",
    "via": "#b45309",
}


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
        yield f"    {names[arrow.source]} -> {names[arrow.target]} [{_attributes(arrow)}]"
    yield "  }"


def _attributes(arrow: Arrow) -> str:
    style = "dashed" if arrow.breaker else "dotted" if arrow.extras else "solid"
    color = _COLORS.get(arrow.origin, "#000000")
    requirements = dict.fromkeys(f"{e.source} requires {e.requirement}" for e in arrow.edges)
    return ", ".join(
        (
            f"label={_quote(describe_arrow(arrow))}",
            f"style={style}",
            f'color="{color}"',
            f"tooltip={_quote('; '.join(requirements))}",
        )
    )


def _quote(text: str) -> str:
    r"""Spell a text as a label: ``\N`` and ``&lt;`` would stand for something else."""
    escaped = printable(text).replace("\\", r"\\").replace('"', r"\"").replace("&", "&amp;")
    return f'"{escaped}"'

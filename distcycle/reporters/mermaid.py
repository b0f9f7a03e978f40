"""The loops as a Mermaid flowchart, as GitHub and GitLab draw it in Markdown.

Source: Mermaid, "Flowcharts - Basic Syntax", sections "Special characters that break syntax" and
"Entity codes to escape characters".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from distcycle.findings import Component, Report
from distcycle.reporters import View
from distcycle.reporters.arrows import Arrow, describe_arrow, find_arrows, find_nodes, title_of
from distcycle.reporters.escape import printable
from distcycle.reporters.phrases import verdict_of

__all__ = ["render"]

# Whatever is neither letter, digit nor one of these is written by its number: quotes end a label,
# backticks make it Markdown, '%%{' is a directive and 'style:' a statement wherever they stand.
_SPECIAL = re.compile(r"[^\w .,=()\[\]/*+!~-]", re.ASCII)


def render(report: Report, _view: View) -> str:
    """Show the loops of a report as a Mermaid flowchart, one subgraph for each loop."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"%% {verdict_of(report)}"
    yield "flowchart LR"
    dashed: list[int] = []
    drawn = 0
    for number, component in enumerate(report.components):
        arrows = find_arrows(component, report.targets)
        yield from _subgraph(number, component, report, arrows)
        dashed += (drawn + at for at, arrow in enumerate(arrows) if arrow.breaker)
        drawn += len(arrows)
    if dashed:
        yield f"  linkStyle {','.join(map(str, dashed))} stroke-dasharray:8 4"


def _subgraph(
    number: int, component: Component, report: Report, arrows: Iterable[Arrow]
) -> Iterator[str]:
    nodes = find_nodes(component)
    names = {name: f"c{number}n{at}" for at, name in enumerate(nodes)}
    yield f"  subgraph c{number}[{_quote(title_of(component, report))}]"
    for name, text in nodes.items():
        yield f"    {names[name]}[{_quote(text)}]"
    for arrow in arrows:
        line = "-.->" if arrow.extras and not arrow.breaker else "-->"
        label = _quote(describe_arrow(arrow))
        yield f"    {names[arrow.source]} {line}|{label}| {names[arrow.target]}"
    yield "  end"


def _quote(text: str) -> str:
    return f'"{_SPECIAL.sub(lambda match: f"#{ord(match[0])};", printable(text))}"'

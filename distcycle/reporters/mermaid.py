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
from distcycle.reporters.excerpts import find_excerpt
from distcycle.reporters.origins import ORIGINS
from distcycle.reporters.phrases import verdict_of
from distcycle.reporters.words import IMPORT_CYCLE

__all__ = ["render"]

# Whatever is neither letter, digit nor one of these is written by its number: quotes end a label,
# backticks make it Markdown, '%%{' is a directive and 'style:' a statement wherever they stand.
_SPECIAL = re.compile(r"[^\w .,=()\[\]/*+!~-]", re.ASCII)

_MOST_ARROWS = 500  # Mermaid's own bound, "maxEdges": it draws nothing of what has more
_DASHES = {"dashed": "8 4", "dotted": "2 4"}


def render(report: Report, _view: View) -> str:
    """Show the loops of a report as a Mermaid flowchart, one subgraph for each loop."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"%% {verdict_of(report)}"
    yield "flowchart LR"
    marked: dict[str, list[int]] = {style: [] for style in _DASHES.values()}
    drawn = 0
    for number, component in enumerate(report.components):
        part = _fitting(component, report, _MOST_ARROWS - drawn)
        arrows = find_arrows(part, report.targets)
        title = title_of(component, report)
        if not part.packages:
            yield f"  %% a loop of {len(component.packages)} modules is not drawn: too many arrows"
            continue
        if len(part.packages) < len(component.packages):
            title += f", {len(part.packages)} of them drawn"
        yield from _subgraph(number, title, part, arrows)
        for at, arrow in enumerate(arrows, drawn):
            style = _dash_of(arrow, component)
            if style:
                marked[style].append(at)
        drawn += len(arrows)
    for style, places in marked.items():
        if places:
            yield f"  linkStyle {','.join(map(str, places))} stroke-dasharray:{style}"


def _fitting(component: Component, report: Report, room: int) -> Component:
    """A loop of modules, or as much of it as Mermaid will draw; those of packages are small."""
    if component.code != IMPORT_CYCLE:
        return component
    for most in (100, 60, 40, 20, 10):
        part = find_excerpt(component, most)
        if len(find_arrows(part, report.targets)) <= room:
            return part
    return find_excerpt(component, 0)


def _dash_of(arrow: Arrow, component: Component) -> str:
    if component.code != IMPORT_CYCLE:
        return _DASHES["dashed"] if arrow.breaker else ""
    return _DASHES.get(ORIGINS[arrow.origin].line, "") if arrow.origin in ORIGINS else ""


def _subgraph(
    number: int, title: str, component: Component, arrows: Iterable[Arrow]
) -> Iterator[str]:
    nodes = find_nodes(component)
    names = {name: f"c{number}n{at}" for at, name in enumerate(nodes)}
    yield f"  subgraph c{number}[{_quote(title)}]"
    for name, text in nodes.items():
        yield f"    {names[name]}[{_quote(text)}]"
    for arrow in arrows:
        label = describe_arrow(arrow)
        shown = f"|{_quote(label)}|" if label else ""
        yield f"    {names[arrow.source]} {_line(arrow, component)}{shown} {names[arrow.target]}"
    yield "  end"


def _line(arrow: Arrow, component: Component) -> str:
    if component.code == IMPORT_CYCLE:
        return "==>" if arrow.breaker else "-->" if arrow.origin == "static" else "-.->"
    return "-.->" if arrow.extras and not arrow.breaker else "-->"


def _quote(text: str) -> str:
    return f'"{_SPECIAL.sub(lambda match: f"#{ord(match[0])};", printable(text))}"'

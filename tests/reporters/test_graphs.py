"""The drawings for Graphviz and Mermaid: what they draw, and that any name can stand in them.

Mermaid's own parser is written in JavaScript; what is held here is the part of its grammar that the
reporter uses, with labels decoded as Mermaid decodes them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace

import lxml.etree
import pytest
from hostile import EMPTY, HOSTILE, HOSTILE_MODULES, NASTY
from hypothesis import given
from hypothesis import strategies as st
from sample_reports import airflow, sphinx, torch

from distcycle.api import render
from distcycle.findings import Component, Cycle, Edge, Member, Report, Severity, TargetRow
from distcycle.reporters.arrows import Arrow, describe_arrow, find_arrows, find_nodes
from distcycle.reporters.escape import printable
from distcycle.reporters.phrases import verdict_of

_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_DOT = re.compile(
    rf"digraph distcycle \{{|"
    rf"  graph \[label={_QUOTED}, labelloc=t, fontname=sans\]|"
    r"  node \[shape=box, style=rounded, fontname=monospace\]|"
    r"  edge \[fontname=sans, fontsize=10\]|"
    r"  subgraph cluster_\d+ \{|"
    rf"    label={_QUOTED}|"
    rf"    (?P<node>c\d+n\d+) \[label={_QUOTED}\]|"
    rf"    (?P<source>c\d+n\d+) -> (?P<target>c\d+n\d+) "
    rf'\[label={_QUOTED}, style=(?P<style>\w+), color="#[0-9a-f]{{6}}", tooltip={_QUOTED}\]|'
    r"  \}|\}"
)
_LABEL = r'"((?:[^"#;&%`<>{}|@:\\\n]|#\d+;)*)"'
_MERMAID = re.compile(
    r"%% [\w ,]+|flowchart LR|"
    rf"  subgraph c\d+\[{_LABEL}\]|"
    rf"    (?P<node>c\d+n\d+)\[{_LABEL}\]|"
    rf"    (?P<source>c\d+n\d+) (?P<line>-->|==>|-\.->)(?:\|{_LABEL}\|)? (?P<target>c\d+n\d+)|"
    r"  end|"
    r"  linkStyle (?P<dashed>[\d,]+) stroke-dasharray:8 4|"
    r"  linkStyle (?P<dotted>[\d,]+) stroke-dasharray:2 4"
)
_ROWS = tuple(
    TargetRow(name=f"{python}-{platform}", platform=platform, python=python, environment={})
    for platform in ("linux_x86_64", "macos_arm64")
    for python in ("cp310", "cp311")
)
_NAMES = tuple(row.name for row in _ROWS)


def edge(source: str, target: str, **more: object) -> Edge:
    values: dict[str, object] = {
        "requirement": target,
        "marker": "",
        "origin": "lock",
        "wheel": None,
        "path": "uv.lock",
        "line": 1,
        "targets": _NAMES,
        "condition": "",
    }
    return Edge(source=source, target=target, **(values | more))  # type: ignore[arg-type]


def component(*edges: Edge, breakers: tuple[tuple[str, str], ...] = ()) -> Component:
    return Component(
        id="extra-cycle:a",
        input="uv.lock",
        code="extra-cycle",
        severity=Severity.WARN,
        packages=(Member(name="a", version="1", extras=("x",)), Member(name="b", version=None)),
        requested_by=(),
        targets=_NAMES,
        condition="",
        variants=(),
        edges=edges,
        cycles=(Cycle(packages=("a", "b"), hops=((0,), (1,)), targets=_NAMES, condition=""),),
        capped=False,
        breakers=(breakers,) if breakers else (),
    )


def report(*components: Component) -> Report:
    return replace(EMPTY, targets=_ROWS, components=components)


def arrows(*edges: Edge) -> tuple[Arrow, ...]:
    return find_arrows(component(*edges), _ROWS)


# Arrows ------------------------------------------------------------------------------------------


def test_edges_with_the_same_ends_are_one_arrow_of_the_strongest_word() -> None:
    (arrow,) = arrows(
        edge("a", "b", origin="via"), edge("a", "b", origin="wheel", wheel="a.whl"), edge("a", "b")
    )
    assert (arrow.source, arrow.target, arrow.origin, len(arrow.edges)) == ("a", "b", "wheel", 3)


def test_arrow_is_of_an_extra_only_when_no_plain_edge_is_beside_it() -> None:
    assert arrows(edge("a[x]", "b"))[0].extras == ("x",)
    assert arrows(edge("a[x]", "b"), edge("a[y]", "b"))[0].extras == ("x", "y")
    assert arrows(edge("a[x]", "b"), edge("a", "b"))[0].extras == ()


def test_place_is_said_in_few_words() -> None:
    here = "sys_platform == 'linux'"
    assert describe_arrow(arrows(edge("a", "b"))[0]) == "lock"
    assert describe_arrow(arrows(edge("a", "b", condition=here))[0]) == f"lock where {here}"
    two = [
        edge("a[x]", "b", targets=(name,), condition=f"{here} and python_version == '{python}'")
        for name, python in zip(_NAMES[:2], ("3.10", "3.11"), strict=True)
    ]
    assert describe_arrow(arrows(*two)[0]) == "lock [x] on linux_x86_64"
    far = edge("a", "b", targets=(), condition=" or ".join([here] * 9))
    assert describe_arrow(arrows(far)[0]).startswith("lock where sys_platform")
    plain = [edge("a", "b", condition=None), edge("b", "a", condition=None, targets=_NAMES[:1])]
    assert [arrow.where for arrow in arrows(*plain)] == ["", "on linux_x86_64 (cp310)"]


def test_ends_that_are_no_members_are_drawn() -> None:
    assert find_nodes(component(edge("a", "c"))) == {"a": "a[x] 1", "b": "b", "c": "c"}


# Graphviz ----------------------------------------------------------------------------------------


def dot_lines(of: Report) -> list[re.Match[str]]:
    matches = [_DOT.fullmatch(line) for line in render(of, "dot").splitlines()]
    assert all(matches)
    return [match for match in matches if match]


def mermaid_lines(of: Report) -> list[re.Match[str]]:
    matches = [_MERMAID.fullmatch(line) for line in render(of, "mermaid").splitlines()]
    assert all(matches)
    return [match for match in matches if match]


@pytest.mark.parametrize("lines", [dot_lines, mermaid_lines])
@pytest.mark.parametrize(
    "sample", [torch, sphinx, airflow, lambda: HOSTILE, lambda: HOSTILE_MODULES, lambda: EMPTY]
)
def test_every_package_and_arrow_is_drawn_once(lines: object, sample: object) -> None:
    of: Report = sample()  # type: ignore[operator]
    matches = lines(of)  # type: ignore[operator]
    nodes = Counter(match["node"] for match in matches if match["node"])
    drawn = Counter((m["source"], m["target"]) for m in matches if m["source"])
    assert set(nodes.values()) <= {1}
    assert set(drawn.values()) <= {1}
    assert len(nodes) == sum(len(part.packages) for part in of.components)
    assert len(drawn) == sum(len(find_arrows(part, of.targets)) for part in of.components)
    assert {end for pair in drawn for end in pair} <= set(nodes)


def test_breakers_are_dashed_and_extras_dotted() -> None:
    of = report(
        component(edge("a", "b"), edge("b", "a"), breakers=(("b", "a"),)),
        component(edge("a[x]", "b"), edge("b", "a"), breakers=(("b", "a"),)),
        component(edge("a[x]", "b"), edge("b", "a"), breakers=(("a", "b"),)),
    )
    styles = [match["style"] for match in dot_lines(of) if match["style"]]
    assert styles == ["solid", "dashed", "dotted", "dashed", "dashed", "solid"]
    matches = mermaid_lines(of)
    kinds = [match["line"] for match in matches if match["line"]]
    assert kinds == ["-->", "-->", "-.->", "-->", "-->", "-->"]
    assert matches[-1]["dashed"] == "1,3,4"


def test_verdict_is_said() -> None:
    for of in (torch(), HOSTILE, EMPTY):
        assert f'graph [label="{verdict_of(of)}"' in render(of, "dot")
        assert render(of, "mermaid").startswith(f"%% {verdict_of(of)}\n")


def test_accepted_loop_says_so() -> None:
    for form, text in (("dot", 'label="waived[extra-cycle]'), ("mermaid", '["waived[extra-cycle]')):
        assert text in render(HOSTILE, form)


@given(st.text(max_size=40))
def test_any_name_arrives_in_both(name: str) -> None:
    part = replace(
        component(edge(name, "b"), edge("b", name)),
        packages=(Member(name=name, version=None), Member(name="b", version=None)),
    )
    seen = printable(name)
    dot = [match for match in dot_lines(report(part)) if match["node"]]
    assert undot(dot[0][4]) == seen
    mermaid = [match for match in mermaid_lines(report(part)) if match["node"]]
    assert unmermaid(mermaid[0][3]) == seen


def undot(label: str) -> str:
    """A label as Graphviz shows it: escapes first, then entities."""
    plain = re.sub(r"\\(.)", r"\1", label)
    assert not re.search(r"&(?!amp;)", plain)
    return plain.replace("&amp;", "&")


def unmermaid(label: str) -> str:
    """A label as Mermaid shows it."""
    return re.sub(r"#(\d+);", lambda match: chr(int(match[1])), label)


def test_graphviz_draws_hostile_names_as_text() -> None:
    program = shutil.which("dot")
    if program is None:
        pytest.skip("Graphviz is not installed: its drawing was not looked at")
    done = subprocess.run(
        [program, "-Tsvg"], input=render(HOSTILE, "dot").encode(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    drawing = lxml.etree.fromstring(done.stdout)
    texts = [
        " ".join("".join(text.itertext()).split())
        for text in drawing.iter("{http://www.w3.org/2000/svg}text")
    ]
    seen = " ".join(printable(NASTY).split())
    assert sum(text == f"b {seen}" for text in texts) == 2
    assert not list(drawing.iter("{http://www.w3.org/2000/svg}script"))

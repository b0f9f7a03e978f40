"""The HTML report as a document: what it says, what it loads, what it escapes, how it is drawn.

``test_html_in_browser.py`` looks at the same page with a browser's eyes.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import lxml.html
import pytest
from corpus import CORPUS
from hostile import EMPTY, HOSTILE, HOSTILE_MODULES, NASTY, many, unjudged
from hypothesis import given
from hypothesis import strategies as st
from sample_reports import ROOT, airflow, sphinx, torch

from distcycle.api import audit, read, render
from distcycle.findings import Change, Report
from distcycle.reporters.escape import printable
from distcycle.reporters.html.layout import lay_out
from distcycle.reporters.html.lettering import cut, text_width, wrap
from distcycle.reporters.html.loops import order_pythons
from distcycle.reporters.phrases import verdict_of


def parsed(report: Report) -> lxml.html.HtmlElement:
    return lxml.html.document_fromstring(render(report, "html"))


def says(element: lxml.html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


SAMPLES: dict[str, Callable[[], Report]] = {
    "torch": torch,
    "airflow": airflow,
    "sphinx": sphinx,
    "hostile": lambda: HOSTILE,
    "modules": lambda: HOSTILE_MODULES,
    "empty": lambda: EMPTY,
    "unjudged": unjudged,
    "many": lambda: many(200),
}


@pytest.fixture(scope="module", params=SAMPLES)
def page(request: pytest.FixtureRequest) -> tuple[Report, lxml.html.HtmlElement]:
    report = SAMPLES[request.param]()
    return report, parsed(report)


Page = tuple[Report, lxml.html.HtmlElement]


# What it says ------------------------------------------------------------------------------------


def test_verdict_stands_in_heading_and_title(page: Page) -> None:
    report, document = page
    assert says(document.find(".//h1")) == verdict_of(report)
    assert says(document.find(".//title")) == f"distcycle: {verdict_of(report)}"


def test_findings_agree_with_the_report(page: Page) -> None:
    report, document = page
    shown = Counter(
        (card.get("data-code"), card.get("data-kind"))
        for card in document.xpath("//article[contains(@class, 'finding')]")
    )
    meant = Counter(
        (finding.code, "accepted" if finding.accepted_by else str(finding.severity))
        for finding in report.findings
    )
    assert shown == meant
    loops = document.xpath("//section[@class='loop']")
    assert len(loops) == len(report.components)


def test_heat_map_has_a_row_for_each_platform_and_warms_where_loops_are() -> None:
    report = torch()
    document = parsed(report)
    table = document.xpath("//table[@class='heat']")[0]
    assert [says(cell) for cell in table.xpath("thead//th[@scope='col']")] == list(
        order_pythons(report.targets)
    )
    platforms = list(dict.fromkeys(row.platform for row in report.targets))
    assert [says(cell) for cell in table.xpath("tbody//th[@scope='row']")] == platforms
    warm = table.xpath(".//td[not(@class='h0') and @data-target]/@data-target")
    assert set(warm) == set(report.components[0].targets)


def test_pythons_stand_in_order() -> None:
    rows = torch().targets
    strange = [
        replace(rows[0], python=python) for python in ("pp310", "cp313t", "cp39", "cp310", "x")
    ]
    assert order_pythons(strange) == ("cp39", "cp310", "cp313t", "pp310", "x")


def test_every_requirement_is_in_the_list_and_on_its_arrow() -> None:
    report = torch()
    document = parsed(report)
    for edge in report.components[0].edges:
        assert edge.wheel is not None
        assert edge.wheel in says(document.xpath("//details[@class='members']")[0])
    titles = " ".join(says(title) for title in document.xpath("//svg//title"))
    assert 'triton (==2.0.0) ; platform_system == "Linux"' in titles
    classes = [arrow.get("class") for arrow in document.xpath("//svg/a[@data-ends]")]
    assert classes == ["arrow o-wheel breaker", "arrow o-wheel"]


def test_what_can_be_copied_is_a_policy(tmp_path: Path) -> None:
    from distcycle.api import read_policy

    document = parsed(sphinx())
    cuts, group = document.xpath("//pre[@id='c1p']")[0], document.xpath("//pre[@id='c1g']")[0]
    path = tmp_path / "distcycle.toml"
    path.write_text(f"version = 1\n{cuts.text_content()}\n{group.text_content()}")
    policy = read_policy(str(path))
    component = sphinx().components[0]
    assert [(cut.package, cut.requires) for cut in policy.cuts] == list(component.breakers[0])
    assert len(policy.groups) == 1


def test_changes_near_misses_and_rules_are_shown() -> None:
    change = Change(
        kind="grown",
        code="wheel-cycle",
        component="x",
        packages=("a", "b"),
        where="w",
        details=("d",),
    )
    document = parsed(replace(HOSTILE, changes=(change,)))
    assert says(document.xpath("//section[@aria-labelledby='changes']//h3")[0]) == (
        "grown wheel-cycle a, b"
    )
    assert document.xpath("//section[@aria-labelledby='near']//article")
    assert document.xpath("//section[@aria-labelledby='unknown']//tbody/tr")
    assert document.xpath("//section[@aria-labelledby='opened']//article")
    rules = [says(rule) for rule in document.xpath("//*[@class='rule']")]
    assert any(rule.startswith("waived by policy.toml") for rule in rules)
    assert any(rule.startswith("known by") for rule in rules)


# What it loads and escapes -----------------------------------------------------------------------


def test_nothing_comes_from_elsewhere(page: Page) -> None:
    _, document = page
    assert not document.xpath("//@src | //link | //iframe | //object | //img | //base | //@style")
    ids = document.xpath("//@id")
    assert len(ids) == len(set(ids))
    for reference in document.xpath("//@href"):
        assert reference[:1] == "#"
        assert reference[1:] in ids
    handlers = [name for e in document.iter() for name in e.keys() if name.startswith("on")]  # noqa: SIM118
    assert not handlers


def test_policy_admits_the_one_style_and_script(page: Page) -> None:
    _, document = page
    policy = document.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    (style,) = document.xpath("//style")
    (script,) = document.xpath("//script[not(@type)]")
    for kind, element in (("style", style), ("script", script)):
        digest = base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_script_puts_no_text_in_as_markup() -> None:
    script = (ROOT / "distcycle" / "reporters" / "html" / "page.js").read_text("utf-8")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|Function", script
    )


def test_hostile_text_is_text() -> None:
    document = parsed(HOSTILE)
    assert not document.xpath("//img")
    assert len(document.xpath("//script")) == 2
    seen = " ".join(printable(NASTY).split())
    nodes = document.xpath("//svg//a[contains(@class, 'node')]/@aria-label")
    assert nodes
    assert all(seen in " ".join(label.split()) for label in nodes)
    assert seen in says(document.xpath("//select[@id='target']")[0])


def test_sets_of_targets_are_those_of_the_report(page: Page) -> None:
    report, document = page
    sets = json.loads(document.xpath("//script[@id='data']")[0].text)["sets"]
    names = [row.name for row in report.targets]
    assert all(int(place) < len(sets) for place in document.xpath("//@data-on"))
    for component, section in zip(
        report.components, document.xpath("//section[@class='loop']"), strict=True
    ):
        on = section.get("data-on")
        held = set() if on is None else {names[place] for place in sets[int(on)]}
        assert held == set(component.targets)


def test_other_forms_do_not_wait_for_jinja() -> None:
    code = (
        "import sys, distcycle.cli, distcycle.api, distcycle.reporters.text;"
        "sys.exit('jinja2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == 0


def test_ninety_one_packages_fit_in_one_file() -> None:
    lock = CORPUS / "req" / "airflow-uv-compiled-579.txt"
    if not lock.exists():
        pytest.skip("the corpus of real files is not beside this repository")
    report = audit(read(str(lock)), edges="lock")
    text = render(report, "html")
    assert len(report.components[0].packages) == 91
    assert len(text.encode()) < 500_000
    document = lxml.html.document_fromstring(text)
    assert len(document.xpath("//svg//a[contains(@class, 'node')]")) == 91


# How it is drawn ---------------------------------------------------------------------------------

Pairs = set[tuple[str, str]]


def circle(names: list[str]) -> Pairs:
    return set(itertools.pairwise([*names, names[0]]))


def star(names: list[str]) -> Pairs:
    return {pair for name in names[1:] for pair in ((names[0], name), (name, names[0]))}


def all_pairs(names: list[str]) -> Pairs:
    return set(itertools.permutations(names, 2))


def numbers(text: str) -> list[tuple[float, float]]:
    values = [float(value) for value in re.findall(r"-?[\d.]+", text)]
    return list(zip(values[::2], values[1::2], strict=True))


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 12, 13, 20, 50, 100])
@pytest.mark.parametrize("shape", [circle, star, all_pairs], ids=["circle", "star", "all"])
def test_drawing_is_legible(count: int, shape: Callable[[list[str]], Pairs]) -> None:
    names = [f"apache-airflow-providers-number-{at:03}" for at in range(count)]
    pairs = shape(names)
    drawing = lay_out(dict.fromkeys(names, "1.0.0"), pairs)
    assert set(drawing.nodes) == set(names)
    assert set(drawing.curves) == pairs
    assert drawing.width < 1_300
    for a, b in itertools.combinations(drawing.nodes.values(), 2):
        if a.angle is None or b.angle is None:
            apart = abs(a.x - b.x) > (a.width + b.width) / 2
            assert apart or abs(a.y - b.y) > (a.height + b.height) / 2
        else:
            assert math.dist((a.x, a.y), (b.x, b.y)) > 13  # a line of the small font
    for curve in drawing.curves.values():
        for x, y in numbers(curve.path) + numbers(curve.head):
            assert -20 <= x <= drawing.width + 20
            assert -20 <= y <= drawing.height + 20


@pytest.mark.parametrize("count", [2, 5, 8, 30])
def test_arrows_go_from_edge_to_edge(count: int) -> None:
    names = [f"p{at}" for at in range(count)]
    drawing = lay_out(dict.fromkeys(names, ""), all_pairs(names))
    for (source, target), curve in drawing.curves.items():
        start, *_, end = numbers(curve.path)
        tip = numbers(curve.head)[0]
        assert not drawing.nodes[source].contains(start, 0)
        assert drawing.nodes[source].contains(start, 3.5)
        assert not drawing.nodes[target].contains(tip, 0)
        assert drawing.nodes[target].contains(tip, 3.5)
        assert 1 < math.dist(end, tip) < 10


def test_pairs_in_both_directions_are_two_lines() -> None:
    for count in (2, 6, 40):
        names = [f"p{at}" for at in range(count)]
        for pair in star(names):
            curves = lay_out(dict.fromkeys(names, ""), star(names)).curves
            there, back = (numbers(curves[p].path)[1] for p in (pair, pair[::-1]))
            assert math.dist(there, back) > 4
            break


def test_loop_stands_in_its_own_order() -> None:
    names = [f"p{at}" for at in (3, 0, 7, 5, 1, 6, 2, 4)]
    nodes = lay_out(dict.fromkeys(names, ""), circle(names)).nodes
    x, y = (sum(node.x for node in nodes.values()) / 8, sum(node.y for node in nodes.values()) / 8)
    around = sorted(names, key=lambda name: math.atan2(nodes[name].y - y, nodes[name].x - x))
    neighbours = circle(around) | {pair[::-1] for pair in circle(around)}
    assert circle(names) <= neighbours


def test_what_all_are_joined_to_stands_in_the_middle() -> None:
    for count in (6, 60):
        names = [f"p{at:02}" for at in range(count)]
        drawing = lay_out(dict.fromkeys(names, ""), star(names))
        hub = drawing.nodes["p00"]
        distances = [math.dist((hub.x, hub.y), (n.x, n.y)) for n in drawing.nodes.values()]
        assert sum(distance < 60 for distance in distances) == 1


@given(
    st.integers(2, 16).flatmap(
        lambda count: st.tuples(
            st.just(count),
            st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=40),
        )
    ),
    st.randoms(use_true_random=False),
)
def test_same_loop_same_drawing(
    loop: tuple[int, set[tuple[int, int]]], chance: random.Random
) -> None:
    count, numbered = loop
    names = [f"p{at}" for at in range(count)]
    pairs = [(names[a], names[b]) for a, b in sorted(numbered)]
    first = lay_out(dict.fromkeys(names, "1"), pairs)
    chance.shuffle(names)
    chance.shuffle(pairs)
    again = lay_out(dict.fromkeys(names, "1"), pairs)
    assert (first.width, first.height) == (again.width, again.height)
    assert first.nodes == again.nodes
    assert first.curves == again.curves


@given(st.text(max_size=60), st.integers(2, 30))
def test_cut_fits_and_says_that_it_cut(text: str, cells: int) -> None:
    short = cut(text, cells)
    assert text_width(short, 1) <= text_width("x" * cells, 1) + 1e-9
    assert short == text or short.endswith("\N{HORIZONTAL ELLIPSIS}")


@given(st.text(st.characters(min_codepoint=33), min_size=1, max_size=120))
def test_wrapped_name_fits_its_box(name: str) -> None:
    lines = wrap(name)
    assert 1 <= len(lines) <= 3
    assert all(text_width(line, 1) <= text_width("x" * 20, 1) + 1e-9 for line in lines)
    joined = "".join(lines)
    assert joined == name or name.startswith(joined.removesuffix("\N{HORIZONTAL ELLIPSIS}"))

"""Loops of modules in every form: words, places, classes of imports, and what is drawn."""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import lxml.html
import pytest
from module_reports import FARM, report_of, ring_of, write_tree
from reading_back import commands_in, junit_cases, markdown_text

from distcycle.api import find_target, read_policy, render
from distcycle.findings import Input, Report
from distcycle.importing import survey_imports
from distcycle.policy import Policy
from distcycle.reporters import REPORTERS, View, json_report
from distcycle.reporters.arrows import find_arrows
from distcycle.reporters.excerpts import find_excerpt
from distcycle.reporters.html.modules import find_prefix, shorten_names
from distcycle.reporters.identity import component_of
from distcycle.reporters.saved import parse_report
from distcycle.sightings import EntryFailure, Site
from distcycle.surveying import ModuleJudge

DATA = Path(__file__).parent / "data"
SCHEMA = json.loads(Path(json_report.__file__).with_name("report.schema.json").read_text("utf-8"))
_TODAY = date(2026, 12, 1)
# What is wrong to say of modules.
_OF_PACKAGES = re.compile(
    r"\brequires?\b|\bno packages|packages (judged|require)|\d packages?\b|\bwheels? read"
)


@pytest.fixture
def farm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """The report on a small tree, made beside it."""
    monkeypatch.chdir(tmp_path)
    return report_of(Path("src"))


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """One loop of 200 modules, too large to be drawn, with two short ways round in it."""
    monkeypatch.chdir(tmp_path)
    files = ring_of(200)
    files["ring/m001.py"] += "import ring.m000\n"
    files["ring/m101.py"] += "import ring.m100\n"
    return report_of(Path("src"), files)


# Every form --------------------------------------------------------------------------------------


def test_report_is_valid_and_comes_back(farm: Report) -> None:
    text = render(farm, "json")
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(text))
    again = parse_report(text, path="report.json")
    assert again == farm
    for form in REPORTERS:
        assert render(again, form) == render(farm, form)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("components", 0, "edges", 0, "origin"), "wheel"),
        (("components", 0, "code"), "wheel-cycle"),
        (("components", 0, "edges", 0, "line"), 0),
        (("surveys", 0, "imports", "lazy"), "1"),
        (("surveys", 0, "views", 0, "name"), "some"),
        (("surveys", 0, "loops", 0, "fixes", 0, "kind"), "hope"),
    ],
)
def test_what_is_wrong_is_refused_by_the_schema(
    place: tuple[Any, ...], value: object, farm: Report
) -> None:
    document = json.loads(render(farm, "json"))
    at = document
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(document)


def test_sarif_and_gitlab_are_valid(farm: Report) -> None:
    for form, name, draft in (
        ("sarif", "sarif-schema-2.1.0.json", jsonschema.Draft4Validator),
        ("gitlab", "gitlab-code-quality.schema.json", jsonschema.Draft202012Validator),
    ):
        schema = json.loads((DATA / name).read_text("utf-8"))
        problems = draft(schema).iter_errors(json.loads(render(farm, form)))
        assert [error.message for error in problems] == []


@pytest.mark.parametrize("form", sorted(set(REPORTERS) - {"json", "sarif"}))
@pytest.mark.parametrize("platform", [None, "linux_x86_64"])
def test_no_form_speaks_of_packages(platform: str | None, form: str, tmp_path: Path) -> None:
    target = None if platform is None else find_target(platform, None)
    report = report_of(tmp_path, target=target)
    text = render(report, form, View(verbosity=1))
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(render(report, "json")))
    if form == "html":
        document = lxml.html.document_fromstring(text)
        for part in document.xpath("//script | //style"):
            part.drop_tree()
        text = document.text_content()
    assert not _OF_PACKAGES.search(text)


def test_places_are_those_of_the_imports(farm: Report) -> None:
    (run,) = json.loads(render(farm, "sarif", View(root="/x")))["runs"]
    result = next(r for r in run["results"] if r["ruleId"] == "import-cycle")
    assert _place(result["locations"][0]) == ("src/farm/egg.py", 2)
    assert [_place(where) for where in result["relatedLocations"]] == [
        ("src/farm/egg.py", 2),
        ("src/farm/hen.py", 1),
    ]
    assert result["relatedLocations"][0]["message"]["text"] == (
        "farm.egg imports farm.hen: from farm.hen import Hen (src/farm/egg.py:2)"
    )
    kinds = {name["kind"] for name in result["locations"][0]["logicalLocations"]}
    assert kinds == {"module"}
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert (rule["id"], rule["properties"]["tags"]) == ("import-cycle", ["imports"])


def _place(location: dict[str, Any]) -> tuple[str, int]:
    physical = location["physicalLocation"]
    return physical["artifactLocation"]["uri"], physical["region"]["startLine"]


def test_annotations_name_each_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_tree(tmp_path, {"p.toml": 'version = 1\n[severity]\nimport-cycle = "deny"\n'})
    report = report_of(Path("src"), policy=read_policy("p.toml"))
    commands = {c.properties["title"]: c for c in commands_in(render(report, "github"))}
    assert set(commands) == {"import-cycle", "unreadable-module"}
    loop = commands["import-cycle"]
    assert (loop.name, loop.properties["file"], loop.properties["line"]) == (
        "error",
        "src/farm/egg.py",
        "2",
    )
    assert "farm.hen imports farm.egg: from farm.egg import Egg (src/farm/hen.py:1)" in (
        loop.message.splitlines()
    )


def test_junit_has_a_case_for_each_loop_and_one_where_there_is_none(
    farm: Report, tmp_path: Path
) -> None:
    names = [(suite, case.name) for suite, case in junit_cases(render(farm, "junit"))]
    assert ("src", "import-cycle:farm.barn+farm.egg+farm.hen") in names
    clean = report_of(tmp_path / "clean", {"one/__init__.py": ""})
    ((_, case),) = junit_cases(render(clean, "junit"))
    assert (case.name, case.result) == ("nothing found", [])


def test_markdown_shows_the_views_and_how_to_open_the_loop(farm: Report) -> None:
    text = markdown_text(render(farm, "markdown"))
    for said in (
        "src: 5 modules",
        "all that runs at import time",
        "farm.egg imports farm.hen: from farm.hen import Hen at src/farm/egg.py:2",
        "3 modules import each other",
        "to open it, src/farm/egg.py:2: drop Hen",
        "5 of 5 modules judged",
    ):
        assert said in text


def test_fingerprints_stay_when_lines_and_imports_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = report_of(Path("src"))
    moved = {name: f"# Moved.\n\n{textwrap.dedent(text)}" for name, text in FARM.items()}
    # The shortest way round begins in another file now.
    moved["farm/barn.py"] = "import farm.egg\nfrom farm.hen import Hen\n"
    after = report_of(Path("src"), moved)
    loops = [
        next(f for f in report.findings if f.code == "import-cycle") for report in (before, after)
    ]
    assert loops[0].path != loops[1].path
    assert _prints(before) == _prints(after)


def _prints(report: Report) -> list[set[str]]:
    (run,) = json.loads(render(report, "sarif"))["runs"]
    return [
        {i["fingerprint"] for i in json.loads(render(report, "gitlab"))},
        {r["partialFingerprints"]["primaryLocationLineHash"] for r in run["results"]},
        {case.name for _, case in junit_cases(render(report, "junit"))},
    ]


def test_loops_of_two_trees_of_the_same_modules_are_told_apart(tmp_path: Path) -> None:
    folders = [tmp_path / "old", tmp_path / "new"]
    for number, folder in enumerate(folders):
        write_tree(folder, ring_of(3))
        (folder / "ring" / "m000.py").write_text("\n" * number + "import ring.m001\n")
    report = survey_imports(
        [str(folder) for folder in folders], ModuleJudge(Policy(), None, _TODAY)
    )
    assert len({component.id for component in report.components}) == 2
    found = [component_of(f, report) for f in report.findings]
    assert sorted(c.input for c in found if c) == sorted(map(str, folders))
    prints = [issue["fingerprint"] for issue in json.loads(render(report, "gitlab"))]
    assert len(set(prints)) == 2
    page = lxml.html.document_fromstring(render(report, "html"))
    assert page.xpath("//article//a/@href") == ["#c1", "#c2"]


# Drawings ----------------------------------------------------------------------------------------


def test_lines_say_when_an_import_runs(farm: Report) -> None:
    dot = re.findall(r'(c0n\d) -> (c0n\d) \[label="(.*?)", style=(\w+)', render(farm, "dot"))
    assert dot == [
        ("c0n0", "c0n1", "", "solid"),
        ("c0n0", "c0n2", "lazy", "dashed"),
        ("c0n1", "c0n0", "type-checking", "dotted"),
        ("c0n1", "c0n2", "", "bold"),
        ("c0n2", "c0n0", "", "solid"),
        ("c0n2", "c0n1", "", "solid"),
    ]
    mermaid = render(farm, "mermaid")
    assert "c0n1 ==> c0n2" in mermaid
    assert 'c0n0 -.->|"lazy"| c0n2' in mermaid
    assert "linkStyle 1 stroke-dasharray:8 4\n  linkStyle 2 stroke-dasharray:2 4" in mermaid


def test_page_draws_modules_and_says_everything_of_their_imports(farm: Report) -> None:
    document = lxml.html.document_fromstring(render(farm, "html"))
    (section,) = document.xpath("//section[@class='loop']")
    classes = sorted(arrow.get("class") for arrow in section.xpath(".//svg/a[@data-ends]"))
    assert classes == [
        "arrow o-lazy",
        "arrow o-static",
        "arrow o-static",
        "arrow o-static",
        "arrow o-static cut",
        "arrow o-type-checking",
    ]
    legend = " ".join(section.xpath(".//ul[@class='legend']")[0].text_content().split())
    assert legend == (
        "at import time in functions only for type checkers only without these, no loop is left"
    )
    texts = [" ".join(text.split()) for text in section.xpath(".//svg//text/text()")]
    assert texts == [".barn", ".egg", ".hen"]
    assert "Names that begin with a dot are within farm." in section.text_content()
    listed = " ".join(section.xpath(".//details[@class='members']")[0].text_content().split())
    assert "static import farm.egg src/farm/barn.py:3 if sys.platform == 'win32'" in listed
    for edge in farm.components[0].edges:
        assert f"{edge.origin} {edge.requirement} {edge.path}:{edge.line}" in listed
    assert not section.xpath(".//table[contains(@class, 'heat')]")
    assert not document.xpath("//label[not(@hidden)]/select[@id='target']")
    assert "[[cut]]" not in section.text_content()


def test_page_shows_what_the_survey_knows(farm: Report) -> None:
    document = lxml.html.document_fromstring(render(farm, "html"))
    (table,) = document.xpath("//table[@class='views']")
    rows = [[" ".join(cell.text_content().split()) for cell in row] for row in table.xpath(".//tr")]
    assert rows[1:] == [
        ["names taken at import time", "2", "1", "2", "2"],
        ["all that runs at import time", "4", "1", "3", "3"],
        ["all, in functions and for type checkers too", "6", "1", "3", "3"],
    ]
    (fixes,) = document.xpath("//details[@class='fixes']")
    assert "drop Hen: not used there" in fixes.text_content()
    (mixed,) = document.xpath("//details[@class='mixed']")
    assert "farm.egg imports farm.hen" in mixed.text_content()
    assert "bound after: Hen:4" in mixed.text_content()
    assert "src/farm/broken.py: invalid syntax" in document.text_content()


def test_modules_that_fail_for_one_cause_stand_together(farm: Report) -> None:
    site = Site(module="farm.egg", path="src/farm/egg.py", line=2, text="", kind="static")
    failing = tuple(
        EntryFailure(
            entry=f"farm.m{at}",
            site=site,
            symbol="Hen",
            partial="farm.hen",
            bound_line=4,
            back_line=1,
            chain=(f"farm.m{at}", "farm.hen", "farm.egg"),
        )
        for at in range(7)
    )
    (survey,) = farm.surveys
    report = replace(farm, surveys=(replace(survey, failing=failing, entries=9),))
    document = lxml.html.document_fromstring(render(report, "html"))
    assert "7 modules of 9 that were tried cannot be imported first" in document.text_content()
    (part,) = document.xpath("//details[@class='failing']")
    text = " ".join(part.text_content().split())
    assert text.startswith("7 modules cannot be imported first, for 1 cause")
    assert "2 more" in text
    why = "takes Hen out of farm.hen, which binds it at line 4, after it imports back at line 1"
    assert f"src/farm/egg.py:2 {why}" in text
    assert text.endswith("farm.m0 \N{RIGHTWARDS ARROW} farm.hen \N{RIGHTWARDS ARROW} farm.egg")


def test_waiver_to_copy_accepts_the_loop(farm: Report) -> None:
    document = lxml.html.document_fromstring(render(farm, "html"))
    snippet = document.xpath("//pre[@id='c1w']")[0].text_content()
    Path("distcycle.toml").write_text(f"version = 1\n{snippet}", "utf-8")
    report = report_of(Path("src"), policy=read_policy("distcycle.toml"))
    assert report.components[0].accepted_by is not None
    page = lxml.html.document_fromstring(render(report, "html"))
    assert page.xpath("//section[@class='loop']//*[@class='rule']")


def test_large_loop_is_drawn_in_part(large: Report) -> None:
    (component,) = large.components
    assert len(component.packages) == 200
    part = find_excerpt(component, 120)
    names = {member.name for member in part.packages}
    assert names >= {"ring.m000", "ring.m001", "ring.m100", "ring.m101"}
    assert len(names) <= 120
    assert [cycle.packages for cycle in part.cycles] == [
        ("ring.m000", "ring.m001"),
        ("ring.m100", "ring.m101"),
    ]
    for cycle in part.cycles:
        for at, hop in enumerate(cycle.hops):
            ends = cycle.packages[at], cycle.packages[(at + 1) % len(cycle.packages)]
            assert {(part.edges[i].source, part.edges[i].target) for i in hop} == {ends}
    document = lxml.html.document_fromstring(render(large, "html"))
    assert len(document.xpath("//svg//a[@data-name]")) == len(names)
    assert f"Drawn are {len(names)} modules of 200" in document.text_content()
    assert "ring.m150" in document.xpath("//figcaption/details")[0].text_content()


def test_page_of_a_large_loop_stays_small(tmp_path: Path) -> None:
    names = [f"module_with_a_name_{at:03}" for at in range(400)]
    files = {
        f"net/{name}.py": "import net\n"
        + "".join(f"import net.{names[(at * 7 + by) % 400]}\n" for by in range(1, 7))
        for at, name in enumerate(names)
    }
    files["net/__init__.py"] = "".join(f"from net import {name}\n" for name in names)
    report = report_of(tmp_path, files)
    assert len(report.components[0].packages) == 401
    assert len(report.components[0].edges) > 2_000
    assert len(render(report, "html").encode()) < 2_000_000


def test_excerpt_of_a_small_loop_is_the_loop(large: Report, tmp_path: Path) -> None:
    farm = report_of(tmp_path / "farm")
    assert find_excerpt(farm.components[0], 120) is farm.components[0]
    bare = replace(large.components[0], cycles=(), breakers=())
    assert len(find_excerpt(bare, 120).packages) == 120


def test_mermaid_stays_below_its_own_bound(tmp_path: Path) -> None:
    names = [f"m{at:02}" for at in range(40)]
    files = {f"net/{name}.py": "".join(f"import net.{n}\n" for n in names) for name in names}
    report = report_of(tmp_path, files | {"net/__init__.py": ""}, most_cycles=30)
    assert len(find_arrows(report.components[0], ())) >= 40 * 39
    text = render(report, "mermaid")
    assert 2 <= len(re.findall(r"-->|==>|-\.->", text)) <= 500
    assert re.search(r"40 modules, \d+ of them drawn", text)


@pytest.mark.parametrize(
    ("names", "prefix", "shown"),
    [
        (["a.b", "a.b.c"], "a.b", ["a.b", ".c"]),
        (["a.b.d", "a.b.c"], "a.b", [".d", ".c"]),
        (["ab.c", "a.b"], "", ["ab.c", "a.b"]),
        (["a.bc", "a.b"], "a", [".bc", ".b"]),
        (["a", "a.b"], "a", ["a", ".b"]),
    ],
)
def test_common_package_is_said_once(names: list[str], prefix: str, shown: list[str]) -> None:
    assert find_prefix(names) == prefix
    assert list(shorten_names(names).values()) == shown


def test_long_names_are_cut_in_their_middle() -> None:
    name = f"a.{'very_' * 12}long.module_with_a_name"
    short, _ = shorten_names([name, "b"]).values()
    assert len(short) == 46
    assert short.startswith("a.very_")
    assert short.endswith("module_with_a_name")


def test_words_follow_what_was_looked_at(farm: Report) -> None:
    assert farm.inputs == (Input(path="src", kind="modules", packages=5),)
    empty = replace(farm, components=(), findings=())
    page = lxml.html.document_fromstring(render(empty, "html")).text_content()
    assert "No modules import each other" in page

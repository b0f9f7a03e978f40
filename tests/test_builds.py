"""Loops of build requirements: the walk, the loops, what to take as wheels, and the command."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from itertools import combinations
from pathlib import Path

import networkx as nx
import pytest
from documentation import console, fits
from hypothesis import given
from hypothesis import strategies as st
from marker_samples import examples
from packaging.utils import canonicalize_name
from packaging.version import Version
from sdists import make_sdist, pyproject

import distcycle as package
from distcycle import api
from distcycle.builds import find_build_loops, smallest_bootstraps, walk_builds
from distcycle.builds.records import Builds, Link, Source
from distcycle.errors import InputError
from distcycle.judgement import Options as JudgementOptions
from distcycle.markers import Space
from distcycle.metadata import Library, Options
from distcycle.model import Facts, Requirement
from distcycle.targets import make_targets

Run = Callable[..., "subprocess.CompletedProcess[str]"]
MakeWheel = Callable[..., Path]
Looked = tuple[Builds, list[str]]
ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "build.md"
HERE = ("--platform", "linux_x86_64", "--python-version", "3.12")


@pytest.fixture
def sdist(tmp_path: Path) -> Callable[..., Path]:
    """Makes source distributions in ``tmp_path/sdists``."""
    return lambda *words, **more: make_sdist(tmp_path / "sdists", *words, **more)


@pytest.fixture
def look(tmp_path: Path, make_wheel: MakeWheel) -> Callable[..., Looked]:
    """Walks along what an input needs, with what lies in ``sdists`` and ``wheels``."""

    def look(lines: str, *, pythons: Iterable[str] = ("3.12",), **more: object) -> Looked:
        (tmp_path / "sdists").mkdir(exist_ok=True)
        path = tmp_path / "requirements.txt"
        path.write_text(lines.replace(" ", "\n"))
        links = (str(tmp_path / "sdists"), str(tmp_path / "wheels"))
        options = Options(no_index=True, find_links=links, cache_dir=None)
        snapshot = package.read(str(path))
        scope = api.make_scope(snapshot, platforms=["linux_x86_64"], python_versions=[*pythons])
        with Library(options, environ={"PIP_CONFIG_FILE": os.devnull}) as library:
            selection, facts = api.gather(scope, library)
            while (found := walk_builds(selection, facts, folders={}, **more)).needs:  # type: ignore[arg-type]
                facts = library.gather(found.needs, facts, index=snapshot.index)
        return found, [say(found, loop.members) for loop in find_build_loops(found)]

    return look


def say(builds: Builds, members: Iterable[int]) -> str:
    return " ".join(str(builds.sources[i]) for i in members)


def links_of(builds: Builds) -> set[str]:
    return {
        f"{builds.sources[link.source[0]]} {'<' if link.is_build else '-'} "
        f"{builds.sources[link.target]}"
        for link in builds.links
    }


def doubts_of(builds: Builds) -> list[str]:
    return [f"{builds.sources[doubt.source]}: {doubt.problem}" for doubt in builds.doubts]


# The walk ----------------------------------------------------------------------------------------


def test_two_that_build_with_each_other(sdist: MakeWheel, look: Callable[..., Looked]) -> None:
    sdist("hen", builds_with=["egg"])
    sdist("egg", builds_with=["hen>=1"])
    builds, loops = look("hen==1.0")
    assert loops == ["egg 1.0 hen 1.0"]
    assert links_of(builds) == {"hen 1.0 < egg 1.0", "egg 1.0 < hen 1.0"}
    assert not builds.doubts


def test_a_loop_may_close_through_what_a_build_requirement_requires_to_run(
    sdist: MakeWheel, look: Callable[..., Looked]
) -> None:
    sdist("hen", builds_with=["coop"])
    sdist("coop", builds_with=[], requires=["straw"])
    sdist("straw", builds_with=["hen"])
    builds, loops = look("hen==1.0")
    assert loops == ["coop 1.0 hen 1.0 straw 1.0"]
    (loop,) = find_build_loops(builds)
    # coop needs nothing to be built: only hen or straw opens it.
    assert {say(builds, chosen) for chosen in loop.bootstraps} == {"hen 1.0", "straw 1.0"}


def test_loops_of_run_time_requirements_alone_are_no_build_loops(
    sdist: MakeWheel, look: Callable[..., Looked]
) -> None:
    sdist("hen", builds_with=["tool"], requires=["egg"])
    sdist("egg", builds_with=["tool"], requires=["hen"])
    sdist("tool", builds_with=[])
    assert look("hen==1.0 egg==1.0")[1] == []


def test_an_extra_counts_only_where_it_is_asked_for(
    sdist: MakeWheel, look: Callable[..., Looked], make_wheel: MakeWheel
) -> None:
    make_wheel("tool", requires=('hen ; extra == "x"',), extras=("x",))
    sdist("tool", builds_with=[])
    sdist("hen", builds_with=["tool"])
    assert look("hen==1.0")[1] == []
    sdist("hen", builds_with=["tool[x]"])
    assert look("hen==1.0")[1] == ["hen 1.0 tool 1.0"]


def test_markers_decide_by_target(sdist: MakeWheel, look: Callable[..., Looked]) -> None:
    """As importlib-metadata 8.5.0, setuptools-scm 8.3.1 and zipp 3.23.1 on Python 3.9."""
    scm = "setuptools-scm[toml]>=3.4.1"
    sdist("importlib-metadata", "8.5.0", builds_with=[scm], requires=["zipp>=3.20"])
    sdist(
        "setuptools-scm",
        "8.3.1",
        builds_with=['tomli<=2.0.2 ; python_version < "3.11"'],
        requires=['importlib-metadata>=4.6 ; python_version < "3.10"'],
    )
    sdist("zipp", "3.23.1", builds_with=[scm])
    sdist("tomli", "2.0.2", builds_with=[])
    builds, loops = look("importlib-metadata==8.5.0", pythons=("3.9", "3.12"))
    assert loops == ["importlib-metadata 8.5.0 setuptools-scm 8.3.1 zipp 3.23.1"]
    (loop,) = find_build_loops(builds)
    assert builds.target_names(loop.cells) == {"cp39-linux_x86_64"}
    # A wheel of setuptools-scm would still require importlib-metadata.
    assert [say(builds, chosen) for chosen in loop.bootstraps] == [
        "importlib-metadata 8.5.0 zipp 3.23.1"
    ]
    assert not loop.has_wheels


def test_setuptools_builds_with_itself_where_nothing_is_said(
    sdist: MakeWheel, look: Callable[..., Looked]
) -> None:
    """As setuptools 40.8.0 to 47.3.2 do on the index: their archives have no pyproject.toml."""
    sdist("setuptools", "47.3.2", builds_with=None)
    sdist("wheel", "0.34.2", builds_with=None)
    builds, loops = look("setuptools==47.3.2 wheel==0.34.2")
    assert loops == ["setuptools 47.3.2"]
    assert all(link.is_default for link in builds.links)


def test_tomli_and_flit_core(sdist: MakeWheel, look: Callable[..., Looked]) -> None:
    """As tomli 1.2.2 and flit-core 3.4.0 do on the index: one builds with the other."""
    sdist("tomli", "1.2.2", builds_with=["flit_core>=3.2.0,<4"])
    sdist("flit-core", "3.4.0", text='[build-system]\nrequires = []\nbackend-path = ["."]\n')
    assert look("tomli==1.2.2")[1] == []
    sdist("flit-core", "3.4.0", builds_with=[], requires=["tomli"])
    builds, loops = look("tomli==1.2.2")
    assert loops == ["flit-core 3.4.0 tomli 1.2.2"]
    assert say(builds, find_build_loops(builds)[0].bootstraps[0]) == "tomli 1.2.2"


def test_the_inputs_own_version_stands_where_it_fits(
    sdist: MakeWheel, look: Callable[..., Looked]
) -> None:
    for version in ("1.0", "2.0", "3.0"):
        sdist("tool", version, builds_with=[])
    sdist("hen", builds_with=["tool"])
    sdist("egg", builds_with=["tool>=2"])
    sdist("chick", builds_with=["tool<3,>1"])
    builds, _ = look("hen==1.0 egg==1.0 chick==1.0 tool==1.0")
    assert links_of(builds) == {"hen 1.0 < tool 1.0", "egg 1.0 < tool 3.0", "chick 1.0 < tool 2.0"}


def test_an_older_version_of_a_project_closes_no_loop(
    sdist: MakeWheel, look: Callable[..., Looked]
) -> None:
    sdist("hen", "2.0", builds_with=["hen<2"])
    sdist("hen", "1.0", builds_with=[])
    assert look("hen==2.0")[1] == []


def test_pre_releases_only_where_they_are_asked_for(
    sdist: MakeWheel, look: Callable[..., Looked]
) -> None:
    sdist("tool", "1.0", builds_with=[])
    sdist("tool", "2.0a1", builds_with=[])
    sdist("hen", builds_with=["tool"])
    sdist("egg", builds_with=["tool>=2.0a0"])
    builds, _ = look("hen==1.0 egg==1.0")
    assert links_of(builds) == {"hen 1.0 < tool 1.0", "egg 1.0 < tool 2.0a1"}


def test_wheels_alone_end_the_walk(
    sdist: MakeWheel, look: Callable[..., Looked], make_wheel: MakeWheel
) -> None:
    make_wheel("tool", requires=("hen",))
    sdist("hen", builds_with=["stick"])
    make_wheel("stick")
    builds, loops = look("hen==1.0")
    assert (loops, builds.doubts) == ([], ())
    # hen builds with tool's wheel, which requires hen to run.
    sdist("hen", builds_with=["tool"])
    builds, loops = look("hen==1.0")
    assert loops == ["hen 1.0 tool 1.0"]


def test_what_could_not_be_had_has_a_reason(sdist: MakeWheel, look: Callable[..., Looked]) -> None:
    sdist("hen", builds_with=["tool>=9", "absent", "far @ https://files.example/far-1.0.tar.gz"])
    sdist("tool", builds_with=[])
    sdist("egg", text="[build-system]\nrequires = 3\n")
    sdist("odd", builds_with=["tool>=1,,<2"])
    builds, _ = look("hen==1.0 egg==1.0 odd==1.0")
    said = doubts_of(builds)
    assert "hen 1.0: builds with tool>=9, and no release meets that" in said
    assert any(line.startswith("hen 1.0: builds with absent, which could not") for line in said)
    assert any("URLs are not followed" in line for line in said)
    assert any(re.search(r"egg 1\.0: build requirements unknown: .*array", line) for line in said)
    assert any("the edge to tool is kept" in line for line in said)
    assert "odd 1.0 < tool 1.0" in links_of(builds)


def test_a_long_walk_is_cut_and_says_so(sdist: MakeWheel, look: Callable[..., Looked]) -> None:
    sdist("hen", builds_with=["t0"])
    for i in range(5):
        sdist(f"t{i}", builds_with=[f"t{i + 1}"])
    sdist("t5", builds_with=["hen"])
    assert look("hen==1.0", most_others=6)[1] != []
    builds, loops = look("hen==1.0", most_others=5)
    assert loops == []
    assert "more than 5 packages" in builds.notes[0]


def test_an_archive_that_names_the_whole_index_does_not_have_it_asked(
    sdist: MakeWheel, look: Callable[..., Looked]
) -> None:
    sdist("hen", builds_with=[f"t{i}" for i in range(100)])
    builds, _ = look("hen==1.0", most_others=5)
    assert len(builds.doubts) == 10
    assert builds.notes


# Loops, held to brute force ----------------------------------------------------------------------

NODES = 6
SPACE = Space.of_targets(make_targets(["linux_x86_64", "windows_amd64"], ["3.12"]))
Edges = dict[tuple[int, int, bool], int]

graphs: st.SearchStrategy[Edges] = st.dictionaries(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.booleans()),
    st.integers(1, SPACE.full),
    max_size=14,
)


def builds_of(edges: Edges, wheels: Iterable[int] = ()) -> Builds:
    sources = tuple(
        Source(name=f"p{i}", version=Version("1"), fits=SPACE.full if i in wheels else 0)
        for i in range(NODES)
    )
    links = tuple(
        Link(
            (u, ""), v, Requirement(name=canonicalize_name(f"p{v}"), text=f"p{v}"), cells, is_build
        )
        for (u, v, is_build), cells in edges.items()
    )
    return Builds(path="x", space=SPACE, sources=sources, links=links)


def closed(edges: Edges, taken: Iterable[int] = ()) -> dict[int, set[int]]:
    """For each cell the packages of components that a build requirement is in, by networkx."""
    found = {}
    for cell in range(SPACE.size):
        kept = [
            (u, v, b) for (u, v, b), c in edges.items() if c >> cell & 1 and not (b and u in taken)
        ]
        graph = nx.DiGraph([(u, v) for u, v, _ in kept])
        members: set[int] = set()
        for component in nx.strongly_connected_components(graph):
            if any(b and u in component and v in component for u, v, b in kept):
                members |= component
        found[cell] = members
    return found


@examples(150)
@given(graphs)
def test_every_loop_with_a_build_requirement_is_found(edges: Edges) -> None:
    loops = find_build_loops(builds_of(edges))
    expected: set[int] = set().union(*closed(edges).values())
    assert {i for loop in loops for i in loop.members} == expected
    for cell, members in closed(edges).items():
        assert bool(members) == any(loop.cells >> cell & 1 for loop in loops)
    for loop in loops:
        ends = [(link.source[0], link.target) for link in loop.shortest]
        assert any(link.is_build for link in loop.shortest)
        assert [v for _, v in ends] == [u for u, _ in (*ends[1:], ends[0])]


@examples(150)
@given(graphs, st.sets(st.integers(0, NODES - 1)))
def test_bootstraps_are_smallest_and_leave_no_loop(edges: Edges, wheels: set[int]) -> None:
    loops = find_build_loops(builds_of(edges, wheels))
    for loop in loops:
        inside = {
            key: c & loop.cells
            for key, c in edges.items()
            if key[0] in loop.members and key[1] in loop.members
        }
        usable = [i for i in loop.members if i in wheels]
        candidates = usable if loop.has_wheels else [*loop.members]
        assert loop.is_exact
        assert loop.has_wheels == (not any(closed(inside, usable).values()))
        smallest = next(
            size
            for size in range(len(candidates) + 1)
            if any(not any(closed(inside, s).values()) for s in combinations(candidates, size))
        )
        assert loop.bootstraps
        for chosen in loop.bootstraps:
            assert len(chosen) == smallest
            assert set(chosen) <= set(candidates)
            assert not any(closed(inside, chosen).values())


def test_a_search_that_is_too_long_gives_a_set_without_spare() -> None:
    needs: Mapping[int, Mapping[int, int]] = {
        i: {j: 1 for j in range(8) if j != i} for i in range(8)
    }
    costs = dict.fromkeys(needs, 0)
    sets, is_exact = smallest_bootstraps(needs, set(needs), costs, effort=3)
    assert (len(sets), len(sets[0]), is_exact) == (1, 7, False)
    assert smallest_bootstraps(needs, set(), costs) == ([], True)


# The command -------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, make_wheel: MakeWheel) -> tuple[str, ...]:
    """A folder in which hen 1.0 is pinned, and the words that audit it."""
    make_sdist(tmp_path / "sdists", "hen", builds_with=["egg"])
    make_sdist(tmp_path / "sdists", "egg", "2.0", builds_with=["hen>=1"])
    # Wheels of both, so that the run-time judgement needs no source distribution.
    for wheel in (make_wheel("hen"), make_wheel("egg", "2.0")):
        wheel.rename(tmp_path / "sdists" / wheel.name)
    (tmp_path / "requirements.txt").write_text("hen==1.0\n")
    return ("audit", "requirements.txt", "--build", "--no-index", "--find-links", "sdists", *HERE)


def findings(text: str, code: str = "build-cycle") -> list[dict[str, object]]:
    return [finding for finding in json.loads(text)["findings"] if finding["code"] == code]


def test_audit_reports_it(distcycle: Run, project: tuple[str, ...]) -> None:
    done = distcycle(*project, "--format", "json")
    assert (done.returncode, done.stderr) == (1, "")
    (found,) = findings(done.stdout)
    assert found["packages"] == ["egg", "hen"]
    assert found["targets"] == ["cp312-linux_x86_64"]
    assert found["condition"] is None
    assert found["line"] == 1
    details = found["details"]
    assert isinstance(details, list)
    assert details[0] == "to begin, take hen 1.0; or egg 2.0 as a wheel"
    assert "hen 1.0 (hen-1.0.tar.gz) builds with egg" in details


def test_without_the_flag_nothing_is_asked(distcycle: Run, project: tuple[str, ...]) -> None:
    done = distcycle(*project, "--no-build", "--format", "json")
    assert (done.returncode, findings(done.stdout)) == (0, [])


def test_it_is_judged_on_named_targets_where_the_rest_is_on_every_environment(
    distcycle: Run, project: tuple[str, ...]
) -> None:
    done = distcycle(*project[:-4], "--targets", "linux_x86_64", "--format", "json")
    (found,) = findings(done.stdout)
    assert json.loads(done.stdout)["whole"]
    assert found["condition"] is None
    assert found["targets"]


@pytest.mark.parametrize("form", ["sarif", "junit", "github", "gitlab", "markdown", "html"])
def test_every_form_says_it(form: str, distcycle: Run, project: tuple[str, ...]) -> None:
    done = distcycle(*project, "--format", form)
    assert done.returncode == 1
    assert "build-cycle" in done.stdout
    if form == "sarif":
        results = json.loads(done.stdout)["runs"][0]["results"]
        assert [r["level"] for r in results if r["ruleId"] == "build-cycle"] == ["error"]


def test_policy_weighs_and_waives(distcycle: Run, project: tuple[str, ...], tmp_path: Path) -> None:
    assert distcycle(*project, "-W", "build-cycle").returncode == 0
    policy = tmp_path / "distcycle.toml"
    text = re.search(r"^```toml\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert text is not None
    policy.write_text(text[1])
    quiet = [word for word in project if word != "--build"]
    done = distcycle(*quiet, "--format", "json")
    (found,) = findings(done.stdout)
    assert (done.returncode, found["accepted_by"] is not None) == (0, True)
    assert not findings(done.stdout, "unused-waiver")
    # Where builds are not looked at, nobody can say that the waiver is of no use.
    done = distcycle(*quiet, "--no-build", "--format", "json")
    assert json.loads(done.stdout)["findings"] == []
    # The whole loop must be covered.
    policy.write_text(text[1].replace('"egg", "hen"', '"hen"'))
    assert distcycle(*quiet).returncode == 1


def test_a_baseline_knows_it(distcycle: Run, project: tuple[str, ...]) -> None:
    assert distcycle(*project, "--write-baseline", "known.json").returncode == 0
    done = distcycle(*project, "--baseline", "known.json", "--format", "json")
    assert done.returncode == 0
    assert findings(done.stdout)
    done = distcycle(*project, "--no-build", "--baseline", "known.json")
    assert "no longer occurs" not in done.stdout


def test_unknown_is_not_clean(distcycle: Run, project: tuple[str, ...], tmp_path: Path) -> None:
    make_sdist(tmp_path / "sdists", "egg", "2.0", text="[build-system]\n")
    done = distcycle(*project, "--format", "json")
    (found,) = findings(done.stdout, "edges-unknown")
    assert "egg 2.0: build requirements unknown" in str(found["message"])
    assert found["details"] == ["needed, for hen builds with egg"]
    assert done.returncode == 0
    assert distcycle(*project, "--fail-on-unknown").returncode == 1


def test_the_inputs_own_project_is_built_as_well(
    distcycle: Run, project: tuple[str, ...], tmp_path: Path
) -> None:
    make_sdist(tmp_path / "sdists", "egg", "2.0", builds_with=["farm"])
    text = f'[project]\nname = "farm"\nversion = "3"\n\n{pyproject(["egg"])}'
    (tmp_path / "pyproject.toml").write_text(text)
    done = distcycle(*project, "--format", "json")
    loops = findings(done.stdout)
    assert [found["packages"] for found in loops] == [["egg", "farm", "hen"]]
    assert (loops[0]["path"], loops[0]["line"]) == ("pyproject.toml", 5)


def test_a_lock_that_is_believed_is_built_all_the_same(
    distcycle: Run, project: tuple[str, ...]
) -> None:
    done = distcycle(*project, "--edges", "lock", "--format", "json")
    assert len(findings(done.stdout)) == 1


def test_a_folder_of_wheels_is_asked_about_by_its_names(
    distcycle: Run, project: tuple[str, ...], tmp_path: Path, make_wheel: MakeWheel
) -> None:
    wheels = make_wheel("hen").parent
    done = distcycle(project[0], wheels, *project[2:], "--format", "json")
    assert len(findings(done.stdout)) == 1


def test_from_python(project: tuple[str, ...], tmp_path: Path) -> None:
    snapshot = package.read(str(tmp_path / "requirements.txt"))
    options = Options(no_index=True, find_links=(str(tmp_path / "sdists"),), cache_dir=None)
    with Library(options, environ={"PIP_CONFIG_FILE": os.devnull}) as library:
        for build in (True, False):
            report = package.audit(
                snapshot, targets=["cp312-linux_x86_64"], build=build, library=library
            )
            assert report.ok is not build
    scope = api.make_scope(snapshot, platforms=["linux_x86_64"], python_versions=["3.12"])
    with pytest.raises(InputError, match="nothing may be read"):
        api.judge_scope(scope, None, JudgementOptions(today=date(2026, 1, 1), build=True))


def test_commands_of_the_page(distcycle: Run, project: tuple[str, ...]) -> None:
    blocks = console(PAGE)
    assert blocks
    for [(command, output)] in blocks:
        program, *words = shlex.split(command)
        assert program == "distcycle"
        assert fits(distcycle(*words).stdout, output)


@pytest.mark.network
@pytest.mark.parametrize(
    ("lines", "python", "members"),
    [
        ("tomli==1.2.2 flit-core==3.4.0", "3.9", [["flit-core", "tomli"]]),
        ("setuptools==47.3.2 wheel==0.34.2", "3.9", [["setuptools"]]),
        (
            "importlib-metadata==8.5.0 setuptools-scm==8.3.1 zipp==3.23.1",
            "3.9",
            [["importlib-metadata", "setuptools-scm", "zipp"]],
        ),
        ("hatchling==1.27.0 flit-core==3.12.0", "3.12", []),
    ],
)
def test_real_releases(lines: str, python: str, members: list[list[str]], tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text(lines.replace(" ", "\n"))
    with Library(Options(cache_dir=None)) as library:
        report = package.audit(
            package.read(str(path)),
            targets=["linux_x86_64"],
            python_versions=[python],
            build=True,
            library=library,
        )
    unknown = [f.message for f in report.findings if f.code == "edges-unknown"]
    if unknown:
        pytest.skip(f"needs a package index: {unknown[0]}")
    assert [list(f.packages) for f in report.findings if f.code == "build-cycle"] == members


def test_facts_are_empty_by_default() -> None:
    assert (Facts().versions, Facts().builds) == ({}, {})

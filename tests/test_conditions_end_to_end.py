"""Conditions of whole inputs: sample locks target by target, real files, and what is too much."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import networkx as nx
import pytest
import tomli
from case_files import CaseLibrary
from corpus import CORPUS, needs_corpus
from marker_samples import TABLE, holds
from packaging.markers import Marker
from packaging.utils import canonicalize_name
from packaging.version import Version

from distcycle import api
from distcycle.cycles import find_components
from distcycle.findings import Component, Report
from distcycle.judgement import Options
from distcycle.metadata import Library
from distcycle.metadata import Options as FactOptions
from distcycle.metadata.bundle import read_bundle
from distcycle.metadata.core import parse_metadata
from distcycle.model import Artefact
from distcycle.scope import Scope
from distcycle.selection import Request
from distcycle.targets import Target

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "sample_locks"
BUNDLE = ROOT / "tests" / "data" / "torch-2.0.bundle.json"

LOCK = Request(edges="lock")


def offline() -> Library:
    """Knows what the bundle has, and nothing else."""
    bundle = read_bundle(BUNDLE.read_text("utf-8"), path=BUNDLE.name)
    return Library(FactOptions(offline=True, bundle=bundle, cache_dir=None))


def audit(path: Path, *targets: str, request: Request = LOCK, named: Iterable[str] = ()) -> Report:
    scope = api.make_scope(
        api.read(str(path)), platforms=targets, named=list(named), request=request
    )
    options = Options(request=request)
    if request.edges == "lock":
        return api.judge_scope(scope, None, options)
    with offline() as library:
        return api.judge_scope(scope, library, options)


# Target by target --------------------------------------------------------------------------------


def member_sets(report: Report) -> set[tuple[object, ...]]:
    """For every component and target its exact members there."""
    found = set()
    for component in report.components:
        whole = (tuple(sorted({p.name for p in component.packages})), component.targets)
        exact = [(v.packages, v.targets) for v in component.variants] or [whole]
        found |= {
            (component.code, packages, target) for packages, targets in exact for target in targets
        }
    return found


def loops(report: Report) -> set[tuple[object, ...]]:
    return {
        (component.code, cycle.packages, target)
        for component in report.components
        for cycle in component.cycles
        for target in cycle.targets
    }


def edges_by_target(report: Report) -> set[tuple[object, ...]]:
    """For every hop of a loop and target the edges that close it there."""
    return {
        (cycle.packages, edge.source, edge.target, edge.requirement, edge.wheel, target)
        for component in report.components
        for cycle in component.cycles
        for hop in cycle.hops
        for edge in (component.edges[at] for at in hop)
        for target in edge.targets
    }


def statements(report: Report) -> set[tuple[object, ...]]:
    return {
        (f.code, f.severity, f.packages, f.line, target)
        for f in report.findings
        if f.component is None
        for target in f.targets
    }


INPUTS = sorted(
    path.relative_to(SAMPLES).as_posix()
    for path in SAMPLES.rglob("*")
    if path.suffix in {".lock", ".txt"} or path.name == "pylock.toml"
)


JUDGED = [(name, "lock") for name in INPUTS if not name.startswith("large/")]
# What the wheels of the others say is in no bundle.
JUDGED += [(name, "wheel") for name in INPUTS if name.startswith("torch")]


@pytest.mark.parametrize(("name", "edges"), JUDGED)
def test_the_space_holds_what_each_target_has(name: str, edges: str) -> None:
    request = Request(edges=edges)
    whole = audit(SAMPLES / name, request=request)
    names = [row.name for row in whole.targets]
    listed = audit(SAMPLES / name, *names, request=request)
    assert whole.whole
    assert not listed.whole
    assert member_sets(listed) == member_sets(whole)
    assert loops(listed) == loops(whole)
    assert statements(listed) == statements(whole)
    assert [row.name for row in listed.targets] == names


@pytest.mark.parametrize("name", ["sphinx-7.2-uv/uv.lock", "torch-2.0-uv/uv.lock", "torch-2.0.txt"])
def test_conditions_hold_just_on_the_targets_that_are_named(name: str) -> None:
    edges = "wheel" if name.startswith("torch") else "lock"
    report = audit(SAMPLES / name, request=Request(edges=edges))
    assert report.components
    for component in report.components:
        assert_holds_on(component, component.condition, component.targets, report)
        for part in (*component.cycles, *component.edges, *component.variants):
            assert_holds_on(component, part.condition, part.targets, report)


def assert_holds_on(
    component: Component, condition: str | None, targets: tuple[str, ...], report: Report
) -> None:
    assert condition is not None
    marker = Marker(condition) if condition else None
    by_packaging = [
        row.name
        for row in report.targets
        if marker is None or marker.evaluate_prepared(dict(row.environment))
    ]
    assert by_packaging == list(targets), (component.id, condition)


# torch and triton --------------------------------------------------------------------------------

TORCH = (
    "sys_platform == 'linux' and platform_machine == 'x86_64'"
    " and python_version >= '3.8' and python_version < '3.12'"
    " and implementation_name == 'cpython'"
)
TORCH_BOUNDED = (
    "sys_platform == 'linux' and platform_machine == 'x86_64' and implementation_name == 'cpython'"
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch-2.0.txt", TORCH),
        # These are for Python 3.8 to 3.11, and what lies outside the bounds is not said.
        ("torch-2.0-uv/uv.lock", TORCH_BOUNDED),
        ("torch-2.0-poetry/poetry.lock", TORCH_BOUNDED),
        ("torch-2.0-pdm/pdm.lock", TORCH_BOUNDED),
    ],
)
def test_torch_and_triton(name: str, expected: str) -> None:
    [component] = audit(SAMPLES / name, request=Request()).components
    assert component.condition == expected
    assert [cycle.condition for cycle in component.cycles] == [expected]


def test_torch_on_builds_that_are_not_standard() -> None:
    report = audit(SAMPLES / "torch-2.0.txt", request=Request(), named=["all"])
    [component] = report.components
    assert component.condition == TORCH
    names = {row.name for row in report.targets}
    assert {"cp311-musllinux_x86_64", "cp311-linux_x86_64", "cp311-windows_x86"} <= names
    assert len(names) == len(report.targets)
    # glibc alone: triton has no wheel for musl, and torch none either.
    assert component.targets == tuple(f"cp{v}-linux_x86_64" for v in (38, 39, 310, 311))


def test_targets_beside_the_space_are_judged_like_any_other() -> None:
    named = ["cp311-musllinux_x86_64", "manylinux_2_17_x86_64", "cp313t-linux_x86_64"]
    beside = audit(SAMPLES / "torch-2.0.txt", request=Request(), named=named)
    alone = audit(SAMPLES / "torch-2.0.txt", *named, request=Request())
    assert {row.name for row in beside.targets} == {row.name for row in alone.targets}
    assert member_sets(beside) == member_sets(alone)
    assert loops(beside) == loops(alone)
    assert edges_by_target(beside) == edges_by_target(alone)
    held = {target.partition("-")[2] for _, _, target in member_sets(alone)}
    assert held == {"manylinux_2_17_x86_64"}


FOR_LINUX = """
version = 1
revision = 3
requires-python = ">=3.9"
supported-markers = ["sys_platform == 'linux'"]

[[package]]
name = "a"
version = "1"
source = { registry = "https://pypi.example/simple" }
dependencies = [{ name = "b" }]

[[package]]
name = "b"
version = "1"
source = { registry = "https://pypi.example/simple" }
dependencies = [{ name = "a" }]
"""


def test_what_the_lock_is_not_for_is_judged_beside_it_and_noted(tmp_path: Path) -> None:
    path = tmp_path / "uv.lock"
    path.write_text(FOR_LINUX, "utf-8")
    named = ["cp38-linux_x86_64", "cp312-linux_x86_64", "cp312-windows_amd64"]
    report = audit(path, named=named)
    assert report.whole
    [component] = report.components
    assert set(component.targets) == set(named)
    assert component.condition == ""
    assert sorted(note.removeprefix(f"{path} ") for note in report.notes) == [
        "is for Python >=3.9; judged also on linux_x86_64",
        "was made for other environments; judged also on windows_amd64",
    ]


# Real files --------------------------------------------------------------------------------------


@needs_corpus
def test_hello_robot() -> None:
    # The extra's own line says it: `sys_platform == 'linux' and extra == 'stretch'`; both hops hold
    # on every Python below 4.0.
    request = Request(edges="lock", extras=frozenset({"stretch"}))  # type: ignore[arg-type]
    [component] = audit(CORPUS / "uv" / "r0-hello-robot.lock", request=request).components
    assert component.condition == "sys_platform == 'linux'"
    assert {edge.condition for edge in component.edges} == {"sys_platform == 'linux'"}


@needs_corpus
def test_private_gpt() -> None:
    path = CORPUS / "poetry" / "p20-privategpt-torch200-dups.lock"
    [component] = audit(path).components
    assert component.condition == "sys_platform == 'linux' and platform_machine == 'x86_64'"
    assert component.targets == ("cp311-linux_x86_64",)


@needs_corpus
def test_airflow_has_eight_members_everywhere() -> None:
    [component] = audit(CORPUS / "uv" / "r3-airflow3.lock").components
    assert len(component.packages) == 8
    assert component.condition == ""
    assert {cycle.condition for cycle in component.cycles} == {""}
    assert not component.capped


@needs_corpus
def test_stress_mixed() -> None:
    [component] = audit(CORPUS / "uv" / "r3-uv-cycle-stress-mixed.lock").components
    assert component.condition == ""
    through = {
        "stress-provider-io": "python_version >= '3.11'",
        "stress-provider-sql": "sys_platform == 'linux'",
    }
    assert len(component.cycles) == 13
    for cycle in component.cycles:
        expected = [text for name, text in through.items() if name in cycle.packages]
        if (
            "stress-provider-smtp" in cycle.packages
            and "stress-provider-compat" not in cycle.packages
        ):
            expected = ["sys_platform == 'win32'"]
        assert [cycle.condition] == (expected or [""])
    exact = {frozenset(v.packages) for v in component.variants}
    members = {p.name for p in component.packages}
    gated = {"stress-provider-io", "stress-provider-sql"}
    assert exact == {frozenset(members - gone) for gone in (set(), *({g} for g in gated), gated)}


PLAIN_LOCKS = ["r3-uv-cycle-stress-mixed.lock", "r3-airflow3.lock", "r1-kedro-telemetry.lock"]


@cache
def edges_of(path: Path) -> dict[str, list[tuple[str, Marker | None]]]:
    """A uv.lock as plainly as it stands: name to names, extras left out of account."""
    lock = tomli.loads(path.read_text("utf-8"))
    return {
        package["name"]: [
            (entry["name"], Marker(entry["marker"]) if "marker" in entry else None)
            for entry in package.get("dependencies", ())
        ]
        for package in lock["package"]
    }


def loops_on(path: Path, target: Target, project: str) -> set[tuple[str, ...]]:
    """The loops of one environment, by walking from the project and by networkx."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    stack, seen = [project], {project}
    while stack:
        source = stack.pop()
        for name, marker in edges_of(path)[source]:
            if marker is None or holds(marker, target):
                graph.add_edge(source, name)
                if name not in seen:
                    seen.add(name)
                    stack.append(name)
    return {
        tuple(c[c.index(min(c)) :] + c[: c.index(min(c))])
        for c in map(list, nx.simple_cycles(graph))
    }


@needs_corpus
@pytest.mark.parametrize("name", PLAIN_LOCKS)
def test_loops_are_those_of_each_environment_alone(name: str) -> None:
    path = CORPUS / "uv" / name
    lock = tomli.loads(path.read_text("utf-8"))
    [project] = [p["name"] for p in lock["package"] if {"virtual", "editable"} & p["source"].keys()]
    snapshot = api.read(str(path))
    [component] = audit(path).components
    for target in Random(3).sample(TABLE, 60):
        version = target.environment["python_full_version"]
        if snapshot.requires_python is None or snapshot.requires_python.contains(version):
            held = {
                cycle.packages
                for cycle in component.cycles
                if not cycle.condition or holds(Marker(cycle.condition), target)
            }
            assert held == loops_on(path, target, project)


SPHINX = """
sphinx==7.2.6
sphinxcontrib-applehelp==1.0.8
sphinxcontrib-qthelp==1.0.7
"""
SPHINX_METADATA = {
    "sphinx-7.2.6": (">=3.9", ["sphinxcontrib-applehelp", "sphinxcontrib-qthelp"]),
    "sphinxcontrib_applehelp-1.0.8": (">=3.9", ["Sphinx >=5"]),
    "sphinxcontrib_qthelp-1.0.7": (">=3.10.2", ["Sphinx >=5"]),
}


def test_the_pythons_of_wheels_bound_a_loop(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text(SPHINX, "utf-8")
    index, metadata = {}, {}
    for stem, (python, requires) in SPHINX_METADATA.items():
        name, version = stem.split("-")
        filename = f"{stem}-py3-none-any.whl"
        index[canonicalize_name(name), Version(version)] = (Artefact(filename=filename),)
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Python: {python}", *(f"Requires-Dist: {r}" for r in requires)]
        metadata[filename] = parse_metadata("\n".join(lines).encode())
    library = CaseLibrary(index=index, metadata=metadata)
    scope = api.make_scope(api.read(str(path)))
    report = api.judge_scope(scope, library, Options())  # type: ignore[arg-type]
    [component] = report.components
    assert component.condition == "python_version >= '3.9'"
    assert {cycle.packages[1]: cycle.condition for cycle in component.cycles} == {
        "sphinxcontrib-applehelp": "python_version >= '3.9'",
        "sphinxcontrib-qthelp": "python_full_version >= '3.10.2'",
    }


# What is too much --------------------------------------------------------------------------------


def uv_lock(requirements: dict[str, list[str]]) -> str:
    """A lock of packages `name -> inline tables`, all asked for by the project."""
    header = 'version = 1\nrevision = 3\nrequires-python = ">=3.8"\n'
    app = [f'{{ name = "{name}" }}' for name in requirements]
    entries = [("app", "{ virtual = '.' }", app)]
    source = "{ registry = 'https://pypi.example/simple' }"
    entries += [(name, source, own) for name, own in requirements.items()]
    return header + "".join(
        f'\n[[package]]\nname = "{name}"\nversion = "1"\nsource = {place}\n'
        f"dependencies = [{', '.join(own)}]\n"
        for name, place, own in entries
    )


def markers(count: int, *, opaque: int = 0) -> list[str]:
    """Distinct markers as they occur: platforms, machines, Pythons, and those that nothing ties."""
    systems = ["linux", "darwin", "win32", "cygwin", "emscripten"]
    machines = ["x86_64", "aarch64", "arm64", "AMD64", "ARM64", "i686"]
    every = [f"sys_platform == '{s}'" for s in systems]
    every += [f"platform_machine != '{m}'" for m in machines]
    every += [f"python_full_version >= '3.{m}'" for m in range(8, 15)]
    every += [
        f"sys_platform != '{s}' and python_full_version < '3.{m}'"
        for s in systems
        for m in range(9, 16)
    ]
    every += [
        f"platform_machine == '{m}' or sys_platform == '{s}'" for s in systems for m in machines
    ]
    free = [f"platform_release == '{i}'" for i in range(opaque)]
    return free + every[: count - opaque]


def random_lock(nodes: int, seed: int, texts: list[str]) -> str:
    random = Random(seed)
    names = [f"p{i:03}" for i in range(nodes)]
    requirements: dict[str, list[str]] = {name: [] for name in names}
    for i, name in enumerate(names):
        requirements[name].append(f'{{ name = "{names[(i + 1) % nodes]}" }}')
        for other in random.sample(names, 3):
            if other != name:
                marker = random.choice(texts)
                requirements[name].append(f'{{ name = "{other}", marker = "{marker}" }}')
    return uv_lock(requirements)


@pytest.fixture
def scope_of(tmp_path: Path) -> Callable[..., Scope]:
    def make(text: str, **options: Any) -> Scope:
        path = tmp_path / "uv.lock"
        path.write_text(text, "utf-8")
        scope = api.make_scope(api.read(str(path)), request=LOCK)
        return replace(scope, **options)

    return make


def test_a_component_of_300_with_50_markers(scope_of: Callable[..., Scope]) -> None:
    scope = scope_of(random_lock(300, 1, markers(50)))
    selection, _ = api.gather(scope, None)
    assert selection.space.is_whole
    assert selection.space.size < 5_000
    names = [package.name for package in scope.snapshot.packages]
    [component] = find_components(selection.edges, names, selection.space.full, max_cycles=10)
    assert len(component.packages) == 300
    report = api.judge_scope(scope, None, Options(request=LOCK, max_cycles=10))
    assert report.whole
    assert [len(c.packages) for c in report.components] == [300]
    assert report.components[0].condition == ""
    assert report.notes == ()


def test_a_component_of_120_with_opaque_atoms_stays_within_the_limits(
    scope_of: Callable[..., Scope],
) -> None:
    scope = scope_of(random_lock(120, 2, markers(60, opaque=12)))
    report = api.judge_scope(scope, None, Options(request=LOCK, max_cycles=10))
    [component] = report.components
    assert len(component.packages) == 120
    assert not report.whole
    assert component.condition is None
    assert [n for n in report.notes if n.endswith("judged on the named targets only")]
    assert component.targets == tuple(row.name for row in report.targets)


def test_too_many_cells_fall_back_to_the_named_targets(scope_of: Callable[..., Scope]) -> None:
    text = random_lock(6, 3, markers(10))
    whole = api.judge_scope(scope_of(text), None, Options(request=LOCK))
    few = api.judge_scope(scope_of(text, most_cells=8), None, Options(request=LOCK))
    assert (whole.whole, few.whole) == (True, False)
    assert whole.notes == ()
    [note] = few.notes
    assert note.endswith(
        "environments are told apart, more than 8; judged on the named targets only"
    )
    assert loops(few) == loops(whole)


def test_too_many_sets_fall_back_to_the_named_targets(scope_of: Callable[..., Scope]) -> None:
    # Each of twelve packages is in the component by an atom of its own: 4,096 sets.
    parts = {"hub": [f'{{ name = "p{i}" }}' for i in range(12)]}
    for i in range(12):
        parts[f"p{i}"] = [f'{{ name = "hub", marker = "platform_release == \'{i}\'" }}']
    report = api.judge_scope(scope_of(uv_lock(parts)), None, Options(request=LOCK))
    assert not report.whole
    [note] = report.notes
    assert note.startswith("more than 2000 sets of packages are components somewhere; judged on")
    assert report.components == ()


def test_a_loop_that_flips_within_a_minor_version_is_said(scope_of: Callable[..., Scope]) -> None:
    text = uv_lock(
        {
            "a": ['{ name = "b", marker = "python_full_version >= \'3.11.4\'" }'],
            "b": ['{ name = "a" }'],
        }
    )
    report = api.judge_scope(scope_of(text), None, Options(request=LOCK))
    assert report.components[0].condition == "python_full_version >= '3.11.4'"
    assert report.notes == (
        "the loop of a, b comes or goes between patch releases of Python 3.11;"
        " the table shows the newest",
    )


def test_a_report_of_conditions_is_plain_data() -> None:
    report = audit(SAMPLES / "sphinx-7.2-uv" / "uv.lock")
    data = json.loads(api.render(report, "json"))
    assert [c["condition"] for c in data["components"]] == [c.condition for c in report.components]

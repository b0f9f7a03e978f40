"""What is written for uv, and the locks that uv makes with it, from a folder of wheels."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import tomli
from packaging.version import Version
from torch_plans import FROM_TORCH, FROM_TRITON, TORCH, make_cut, make_plan
from uv import find_uv_bin

from distcycle import api
from distcycle.emitters import uv
from distcycle.findings import Report
from distcycle.metadata import Library
from distcycle.metadata.library import Options
from distcycle.plan import Plan

PROJECT = """
[project]
name = "torch-sample"
version = "1.0"
requires-python = ">=3.10"
dependencies = ["torch==2.0.0", "triton==2.0.0"]

[[tool.uv.index]]
url = "wheels"
format = "flat"
default = true

"""
Lock = Callable[[str], Path]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def lock(tmp_path: Path, wheels: Path) -> Lock:
    """Writes a pyproject.toml with what was emitted in it, and has uv lock it."""

    def make(emitted: str) -> Path:
        (tmp_path / "pyproject.toml").write_text(PROJECT + emitted, encoding="utf-8")
        words = ["--offline", "--python", sys.executable, "--cache-dir", str(tmp_path / "cache")]
        done = subprocess.run(
            [find_uv_bin(), "lock", *words],
            cwd=tmp_path,
            capture_output=True,
            check=False,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return tmp_path / "uv.lock"

    return make


def uncommented(text: str, after: str) -> str:
    """The alternative that stands in comments below a line."""
    lines = text.partition(after)[2].split("\n")[1:]
    return "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines if line != "#")


def codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


def test_the_loop_is_there_without(lock: Lock, audit_lock: Callable[[Path], Report]) -> None:
    """uv takes one wheel's word for all, here that of macOS; the wheel for Linux says otherwise."""
    assert "wheel-cycle" in codes(audit_lock(lock("")))


def test_a_lock_with_the_exclude_audits_clean(
    plan: Plan, lock: Lock, audit_lock: Callable[[Path], Report]
) -> None:
    path = lock(uv.emit(plan))
    [exclude] = tomli.loads(path.read_text("utf-8"))["manifest"]["excludes"]
    assert exclude == {
        "package": {"name": "torch", "version": "2.0.0"},
        "dependencies": ["triton"],
    }
    assert codes(audit_lock(path)) == []


def test_a_lock_with_the_other_cut_audits_clean(
    lock: Lock, audit_lock: Callable[[Path], Report]
) -> None:
    path = lock(uv.emit(make_plan(replace(FROM_TRITON, extra=None), groups=(TORCH,))))
    assert codes(audit_lock(path)) == []


def test_a_lock_with_a_move_to_an_extra_audits_clean(
    moving_plan: Plan, lock: Lock, audit_lock: Callable[[Path], Report]
) -> None:
    path = lock(uv.emit(moving_plan))
    [entry] = tomli.loads(path.read_text("utf-8"))["manifest"]["dependency-metadata"]
    assert entry["requires-dist"] == ["cmake", "filelock", "torch ; extra == 'torch'"]
    assert entry["provides-extras"] == ["torch"]
    assert codes(audit_lock(path)) == []


def test_the_alternatives_in_comments_audit_clean(
    plan: Plan, moving_plan: Plan, lock: Lock, audit_lock: Callable[[Path], Report]
) -> None:
    metadata = uncommented(uv.emit(plan), "were not judged:")
    assert uv.check(plan, metadata) == ()
    assert codes(audit_lock(lock(metadata))) == []
    excludes = uncommented(uv.emit(moving_plan), "takes the edges out:")
    assert uv.check(moving_plan, excludes) == (
        "triton 2.0.0 -> torch: excluded, so that no extra brings it",
    )
    assert codes(audit_lock(lock(excludes))) == []


def test_wheels_that_disagree_are_restated(
    lock: Lock, audit_lock: Callable[[Path], Report]
) -> None:
    """What only the wheel for Linux requires is in no lock unless it is said for all of them."""
    cut = replace(FROM_TORCH, remaining=("filelock", "cmake ; os_name == 'posix'"), agreed=False)
    emitted = uv.emit(make_plan(cut, groups=(TORCH,)))
    assert "The wheels declare different requirements" in emitted
    path = lock(emitted)
    [torch] = [p for p in tomli.loads(path.read_text("utf-8"))["package"] if p["name"] == "torch"]
    assert [entry["name"] for entry in torch["dependencies"]] == ["cmake", "filelock"]
    assert codes(audit_lock(path)) == []


def test_cuts_of_one_package_are_one_entry() -> None:
    one = make_cut("a", "b", remaining=("c", "d"), provides_extra=("x",))
    two = make_cut("a", "c", remaining=("b", "d"), provides_extra=("x",))
    document = tomli.loads(uv.emit(make_plan(one, two)))
    assert document["tool"]["uv"]["exclude-dependencies"] == [
        {"package": {"name": "a", "version": "2.0.0"}, "dependencies": ["b", "c"]}
    ]
    moved = tomli.loads(uv.emit(make_plan(one, replace(two, extra="loop"))))
    assert moved["tool"]["uv"]["dependency-metadata"] == [
        {
            "name": "a",
            "version": "2.0.0",
            "requires-dist": ["d", 'c; extra == "loop"'],
            "provides-extra": ["x", "loop"],
        }
    ]


def test_versions_of_one_package_are_entries_of_their_own() -> None:
    two = replace(FROM_TORCH, version=Version("2.0.1"))
    document = tomli.loads(uv.emit(make_plan(two, FROM_TORCH)))
    packages = [entry["package"] for entry in document["tool"]["uv"]["exclude-dependencies"]]
    assert [package["version"] for package in packages] == ["2.0.0", "2.0.1"]


def test_what_files_say_stays_within_its_string() -> None:
    line = 'x @ file:///"\\a\n"]\nrequires-dist = ["evil'
    cut = make_cut("a", "b", remaining=(line,), extra="loop")
    [entry] = tomli.loads(uv.emit(make_plan(cut)))["tool"]["uv"]["dependency-metadata"]
    assert entry["requires-dist"] == [" ".join(line.split()), 'b; extra == "loop"']


def test_a_marker_that_nobody_can_read_is_left_out() -> None:
    cut = make_cut("a", "b", removed=("b ; nonsense == 'x'",), extra="loop")
    [entry] = tomli.loads(uv.emit(make_plan(cut)))["tool"]["uv"]["dependency-metadata"]
    assert entry["requires-dist"] == ['b; extra == "loop"']


def exclude(package: str, *names: str) -> str:
    return (
        f"[tool.uv]\nexclude-dependencies = [{{ package = {package}, dependencies = {[*names]} }}]"
    )


def metadata(*lines: str, version: str = "2.0.0") -> str:
    return (
        f"[[tool.uv.dependency-metadata]]\nname = 'Torch'\nversion = '{version}'\n"
        f"requires-dist = {[*lines]}\n"
    )


@pytest.mark.parametrize(
    ("text", "lack"),
    [
        (exclude("{ name = 'Torch' }", "cmake", "Triton"), ""),
        (exclude("{ name = 'torch', version = '2.0' }", "triton"), ""),
        (exclude("{ name = 'torch', version = '2.0.1' }", "triton"), "neither excluded nor"),
        (exclude("{ name = 'triton' }", "triton"), "neither excluded nor"),
        ("[tool.uv]\nexclude-dependencies = ['triton']", ""),
        ("exclude-dependencies = ['triton']", ""),  # uv.toml
        (metadata("filelock"), ""),
        (metadata("filelock", version="2.0.1"), "neither excluded nor"),
        (metadata("Triton>=2"), "dependency-metadata requires it still"),
        (metadata("triton; extra == 'x'"), ""),
        (metadata("filelock") + "[[tool.uv.dependency-metadata]]\nname = 'torch'\n", ""),
        ("tool = 3", "neither excluded nor"),
        ("[tool", "not valid TOML"),
    ],
)
def test_check_reads_what_stands(plan: Plan, text: str, lack: str) -> None:
    lacks = uv.check(plan, text)
    assert len(lacks) == bool(lack)
    assert all(lack in line for line in lacks)


@pytest.mark.parametrize(
    ("lines", "extras", "held"),
    [
        (["torch; extra == 'torch'"], ["torch"], True),
        (["torch; extra == 'torch'"], [], False),
        (["filelock"], ["torch"], False),
    ],
)
def test_check_wants_the_extra(
    moving_plan: Plan, lines: list[str], extras: list[str], held: bool
) -> None:
    text = (
        "[[tool.uv.dependency-metadata]]\nname = 'triton'\n"
        f"requires-dist = {lines}\nprovides-extra = {extras}\n"
    )
    lacks = uv.check(moving_plan, text)
    assert lacks == (
        () if held else ("triton 2.0.0 -> torch: dependency-metadata lacks the extra",)
    )


DROPPABLE = """
version = 1
[[droppable]]
package = "torch"
requires = "triton"
cost = 0
[[droppable]]
package = "triton"
requires = "torch"
cost = 100
"""


@pytest.mark.parametrize(
    ("words", "restated"), [((), True), (("--platform", "linux_x86_64"), False)]
)
def test_a_plan_knows_whether_wheels_agree(
    words: tuple[str, ...],
    restated: bool,
    tmp_path: Path,
    distcycle: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """Only where several platforms are judged, the wheels of torch 2.0.0 are seen to disagree."""
    (tmp_path / "policy.toml").write_text(DROPPABLE, encoding="utf-8")
    facts = ("--offline", "--no-cache", "--bundle", ROOT / "tests/data/torch-2.0.bundle.json")
    lock = ROOT / "sample_locks/torch-2.0-uv/uv.lock"
    done = distcycle("fix", lock, *facts, "--policy", "policy.toml", "--emit", "uv", *words)
    assert done.returncode == 0, done.stderr
    settings = tomli.loads(done.stdout)["tool"]["uv"]
    assert list(settings) == ["dependency-metadata" if restated else "exclude-dependencies"]
    if restated:
        [entry] = settings["dependency-metadata"]
        assert sum(line.startswith("nvidia-") for line in entry["requires-dist"]) == 11


# With an index -----------------------------------------------------------------------------------


@pytest.fixture
def lock_sample(tmp_path: Path) -> Lock:
    """Has uv lock the sample project with torch 2.0.0 anew, by what the index says today."""
    if sys.version_info >= (3, 12):
        pytest.skip("THE SAMPLE NEEDS PYTHON 3.11 OR OLDER, so it was not locked anew")
    project = (ROOT / "sample_locks/torch-2.0-uv/pyproject.toml").read_text("utf-8")

    def make(emitted: str) -> Path:
        # As the emitted text asks: where there is a [tool.uv] already, the keys go into it.
        body = emitted.replace("\n[tool.uv]\n", "\n")
        (tmp_path / "pyproject.toml").write_text(project + body, encoding="utf-8")
        words = ["lock", "--python", sys.executable, "--cache-dir", str(tmp_path / "cache")]
        done = subprocess.run(
            [find_uv_bin(), *words], cwd=tmp_path, capture_output=True, check=False, text=True
        )
        if done.returncode and re.search(r"Failed to fetch|error sending request", done.stderr):
            pytest.skip(f"NO INDEX ANSWERS, so nothing was locked: {done.stderr[:200]}")
        assert done.returncode == 0, done.stderr
        return tmp_path / "uv.lock"

    return make


def audit_online(path: Path) -> Report:
    with Library(Options(cache_dir=None)) as library:
        return api.audit(api.read(str(path)), targets=["linux_x86_64"], library=library)


@pytest.mark.network
def test_the_sample_with_the_exclude_has_no_loop(lock_sample: Lock) -> None:
    """What uv did not lock for believing the wheel for macOS is missing before and after."""
    cut = replace(FROM_TRITON, extra=None, remaining=("cmake", "filelock", "lit"))
    report = audit_online(lock_sample(uv.emit(make_plan(cut, groups=(TORCH,)))))
    missing = [f.message for f in report.findings if f.code == "missing-package"]
    assert len(missing) == 11
    assert all("requires nvidia-" in message for message in missing)
    rest = [f for f in report.findings if f.code != "missing-package"]
    assert [(f.code, f.message.partition(" (")[0]) for f in rest] == [
        ("lock-edge-missing", "torch 2.0.0 requires triton")
    ]


@pytest.mark.network
def test_the_sample_with_the_metadata_restated_audits_clean(lock_sample: Lock) -> None:
    bundle = json.loads((ROOT / "tests/data/torch-2.0.bundle.json").read_text("utf-8"))
    lines = {
        line
        for metadata in bundle["metadata"].values()
        if (metadata["name"], metadata["version"]) == ("torch", "2.0.0")
        for line in metadata.get("requires", ())
    }
    remaining = tuple(sorted(line for line in lines if not line.startswith("triton")))
    cut = replace(FROM_TORCH, remaining=remaining, provides_extra=("opt-einsum",), agreed=False)
    report = audit_online(lock_sample(uv.emit(make_plan(cut, groups=(TORCH,)))))
    assert codes(report) == []

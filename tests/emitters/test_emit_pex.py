"""What is written for pex; where ``pex`` is on the path, what pex makes of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from torch_plans import FROM_TORCH, FROM_TRITON, TORCH, make_cut, make_group, make_plan

from distcycle.emitters import pex
from distcycle.plan import Plan, PlannedCut

Run = Callable[..., None]


def words_of(text: str) -> list[str]:
    """The options, as the command in the head of the text has them."""
    return [word for line in text.split("\n") if line[:1] not in {"#", ""} for word in line.split()]


def test_what_stands_in_is_in_no_loop() -> None:
    """``b`` would bring a loop of its own, and a marker could hold nowhere."""
    plan = make_plan(
        make_cut("a", "c", remaining=("b", "x ; os_name == 'nt'", "z>=1", "y[all]")),
        groups=(make_group("a", "c"), make_group("b", "d")),
    )
    assert words_of(pex.emit(plan)) == ["--override", "c=y"]


def test_where_nothing_can_stand_in() -> None:
    assert words_of(pex.emit(make_plan(make_cut("a", "b")))) == ["--exclude", "b"]


def test_one_option_for_each_project_that_is_cut_off() -> None:
    """pex refuses two overrides of one project."""
    plan = make_plan(
        make_cut("a", "hub"), make_cut("b", "hub", remaining=("y",)), make_cut("c", "d")
    )
    assert words_of(pex.emit(plan)) == ["--exclude", "d", "--override", "hub=y"]


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("pex torch --exclude triton -o x", True),
        ("pex torch --exclude=Triton", True),
        ("pex torch \\\n  --override 'triton=filelock>=3'", True),
        ("pex --override=triton=filelock", True),
        ("pex --exclude 'triton<2'", False),
        ("pex --exclude tritonclient", False),
        ("pex --override triton==2.0.0", False),
        ("pex --override 'triton=triton>=2'", False),
        ("pex --override triton", False),
        ("pex --exclude", False),
        ("# --exclude triton", False),
    ],
)
def test_check_reads_options(plan: Plan, text: str, held: bool) -> None:
    lacks = pex.check(plan, text)
    assert lacks == (() if held else ("torch 2.0.0 -> triton: neither overridden nor excluded",))


def test_check_says_what_cannot_be_told(plan: Plan) -> None:
    assert pex.check(plan, "pex 'torch") == (
        "cannot be told: not words of a shell: No closing quotation",
    )


# With the tool -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs pex, pex3 or what they made; what they unpack for themselves is kept for all tests."""
    found = shutil.which("pex3")
    if found is None:
        pytest.skip("NO pex3 ON THE PATH, so nothing was built with what is written for it")
    root = tmp_path_factory.mktemp("root")
    environ = {**os.environ, "PEX_ROOT": str(root), "PIP_NO_INDEX": "1"}

    def start(cwd: Path, tool: str, *words: str | Path) -> None:
        done = subprocess.run(
            [str(Path(found).parent / tool), *map(str, words)],
            cwd=cwd,
            env=environ,
            capture_output=True,
            check=False,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr

    return start


def requirements_in(path: Path) -> dict[str, set[str]]:
    """For each project that a lock of pex holds, what it requires once overridden."""
    lock = json.loads(path.read_text("utf-8"))
    swaps = dict(text.split("=") for text in lock["overridden"])
    [resolve] = lock["locked_resolves"]
    return {
        package["project_name"]: {
            swaps.get(name, name)
            for line in package["requires_dists"]
            if (name := re.split(r"[^\w.-]", line)[0]) not in lock["excluded"]
        }
        for package in resolve["locked_requirements"]
    }


@pytest.mark.network
@pytest.mark.parametrize("cut", [FROM_TORCH, FROM_TRITON], ids=["torch", "triton"])
def test_pex_locks_without_the_loop(
    cut: PlannedCut, run: Run, wheels: Path, tmp_path: Path
) -> None:
    options = words_of(pex.emit(make_plan(cut, groups=(TORCH,))))
    words = ("torch==2.0.0", "triton==2.0.0", "--no-pypi", "--find-links", wheels, *options)
    run(tmp_path, "pex3", "lock", "create", *words, "-o", "x.json")
    required = requirements_in(tmp_path / "x.json")
    assert "filelock" in required["torch"]
    assert not ("triton" in required["torch"] and "torch" in required["triton"])


@pytest.mark.network
def test_pex_keeps_what_is_named(plan: Plan, run: Run, wheels: Path, tmp_path: Path) -> None:
    """An exclude would leave triton out, although it is named."""
    words = ("torch==2.0.0", "triton==2.0.0", "--no-pypi", "--find-links", wheels)
    run(tmp_path, "pex", *words, *words_of(pex.emit(plan)), "-o", "x.pex")
    with zipfile.ZipFile(tmp_path / "x.pex") as archive:
        info = json.loads(archive.read("PEX-INFO"))
    assert info["overridden"] == ["triton=filelock"]
    assert {name.partition("-")[0] for name in info["distributions"]} == {
        "cmake",
        "filelock",
        "torch",
        "triton",
    }
    run(tmp_path, str(tmp_path / "x.pex"), "-c", "pass")

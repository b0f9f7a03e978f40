"""What is written for PDM; where ``pdm`` is on the path, what PDM makes of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import tomli
from packaging.version import Version
from torch_plans import TORCH, make_cut, make_plan, write_wheel

from distcycle.emitters import pdm
from distcycle.findings import Report
from distcycle.plan import Plan

PROJECT = """
[project]
name = "torch-sample"
version = "1.0"
requires-python = "==3.{minor}.*"
dependencies = ["torch==2.0.0", "triton==2.0.0"]

[[tool.pdm.source]]
name = "pypi"
type = "find_links"
url = "file:///${{PROJECT_ROOT}}/wheels"

"""
Lock = Callable[[str], Path]


@pytest.fixture
def lock(tmp_path: Path, wheels: Path) -> Lock:
    """Writes a pyproject.toml with what was emitted in it, and has PDM lock it."""
    tool = shutil.which("pdm")
    if tool is None:
        pytest.skip("NO pdm ON THE PATH, so nothing was locked with what is written for it")

    def make(emitted: str) -> Path:
        project = PROJECT.format(minor=sys.version_info.minor)
        (tmp_path / "pyproject.toml").write_text(project + emitted, encoding="utf-8")
        environ = {**os.environ, "PDM_CHECK_UPDATE": "0", "PDM_CACHE_DIR": str(tmp_path / "cache")}
        for words in (["use", "--first", sys.executable], ["lock"]):
            done = subprocess.run(
                [tool, *words],
                cwd=tmp_path,
                env=environ,
                capture_output=True,
                check=False,
                text=True,
                timeout=300,
            )
            assert done.returncode == 0, done.stderr
        return tmp_path / "pdm.lock"

    return make


def codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


def versions_in(path: Path) -> dict[str, str]:
    packages = tomli.loads(path.read_text("utf-8"))["package"]
    return {package["name"]: package["version"] for package in packages}


@pytest.mark.network
def test_the_loop_is_there_without(lock: Lock, audit_lock: Callable[[Path], Report]) -> None:
    assert "wheel-cycle" in codes(audit_lock(lock("")))


@pytest.mark.network
def test_a_lock_with_the_exclude_audits_clean(
    plan: Plan, lock: Lock, audit_lock: Callable[[Path], Report]
) -> None:
    """What the project itself requires is locked all the same, and installed for nobody."""
    path = lock(pdm.emit(plan))
    assert "triton" in versions_in(path)
    assert codes(audit_lock(path)) == []


@pytest.mark.network
def test_a_lock_with_repaired_wheels_audits_clean(
    plan: Plan, wheels: Path, lock: Lock, audit_lock: Callable[[Path], Report]
) -> None:
    """The alternative in comments: as ``fix --write-wheels`` makes them, one edge is gone."""
    write_wheel(wheels, "torch", "2.0.0+distcycle.1", ("filelock",), "py3-none-manylinux1_x86_64")
    overrides = alternative(pdm.emit(plan)).partition("[[tool.pdm.source]]")[0]
    assert pdm.check(plan, overrides) == ()
    path = lock(overrides)
    assert versions_in(path)["torch"] == "2.0.0+distcycle.1"
    assert codes(audit_lock(path)) == []


def alternative(text: str) -> str:
    lines = text.partition("# [tool.pdm.resolution.overrides]")[2].split("\n")
    return "\n".join(
        ["[tool.pdm.resolution.overrides]", *(line.removeprefix("#").lstrip() for line in lines)]
    )


def test_excludes_are_names_once(plan: Plan) -> None:
    again = replace(plan, cuts=(*plan.cuts, make_cut("other", "triton", version=None)))
    document = tomli.loads(pdm.emit(again))
    assert document["tool"]["pdm"]["resolution"]["excludes"] == ["triton"]


def test_the_alternative_names_repaired_versions() -> None:
    plan = make_plan(
        make_cut("a", "x"),
        make_cut("b", "x", version=Version("1+cu118")),
        make_cut("c", "x", version=None),
        groups=(TORCH,),
    )
    tables = tomli.loads(alternative(pdm.emit(plan)))["tool"]["pdm"]
    assert tables["resolution"]["overrides"] == {
        "a": "==2.0.0+distcycle.1",
        "b": "==1+cu118.distcycle.1",
        "c": "*",
    }
    assert tables["source"][0]["type"] == "find_links"


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("excludes = ['Triton']", True),
        ("excludes = ['torch']", False),
        ("excludes = 'triton'", False),
        ("[tool.pdm.resolution.overrides]\ntorch = '==2.0.0+distcycle.2'", True),
        ("[tool.pdm.resolution.overrides]\nTorch = '2.0.0+cu118.distcycle.1'", True),
        ("[tool.pdm.resolution.overrides]\ntorch = '==2.0.0+cu118'", False),
        ("[tool.pdm.resolution.overrides]\ntriton = '==2.0.0+distcycle.1'", False),
    ],
)
def test_check_reads_what_stands(plan: Plan, text: str, held: bool) -> None:
    lacks = pdm.check(plan, f"[tool.pdm.resolution]\n{text}\n")
    expected = "torch 2.0.0 -> triton: neither excluded nor overridden by a repaired wheel"
    assert lacks == (() if held else (expected,))


def test_check_says_what_cannot_be_told(plan: Plan) -> None:
    [lack] = pdm.check(plan, "[tool.pdm")
    assert lack.startswith("cannot be told: not valid TOML")

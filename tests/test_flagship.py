"""torch 2.0.0 and triton 2.0.0, the best-known loop: where it is, where not, and why.

``data/torch-2.0.bundle.json`` holds what the wheels say, so that no network is needed; see
``data/README.md``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUNDLE = ROOT / "tests" / "data" / "torch-2.0.bundle.json"
OFFLINE = ("--offline", "--no-cache", "--bundle", BUNDLE)
PINS = "sample_locks/torch-2.0.txt"
LOCKS = (
    "sample_locks/torch-2.0-poetry/poetry.lock",
    "sample_locks/torch-2.0-uv/uv.lock",
    "sample_locks/torch-2.0-pdm/pdm.lock",
)
TIER_1 = {"linux_x86_64", "linux_aarch64", "macos_arm64", "macos_x86_64", "windows_amd64"}

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def audit(distcycle: Run) -> Run:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return distcycle("audit", *words, *OFFLINE, cwd=ROOT)

    return run


def report_of(audit: Run, path: str, *words: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(audit(path, *words, "--format", "json").stdout)
    return report


def line_of(path: str, text: str) -> int:
    return (ROOT / path).read_text("utf-8").splitlines().index(text) + 1


def entry_line(path: str, name: str) -> int:
    """The line of a package's table in a TOML lock: its header, above its name."""
    return line_of(path, f'name = "{name}"') - 1


def plain(text: str) -> str:
    """Text without its line breaks."""
    return re.sub(r"\s+", " ", text)


def test_bundle_names_no_index() -> None:
    text = BUNDLE.read_text("utf-8")
    assert set(re.findall(r"\w://([^/\"]*)", text)) == {"files.pypi.example"}
    assert len(text) < 300_000


def test_both_hops_with_requirement_marker_wheel_and_line(audit: Run) -> None:
    done = audit(PINS, "--platform", "linux_x86_64")
    assert (done.returncode, done.stderr) == (1, "")
    assert "deny[wheel-cycle] torch -> triton -> torch\n" in done.stdout
    assert (
        'torch 2.0.0 requires triton (==2.0.0) ; platform_system == "Linux" and platform_machine =='
        f' "x86_64" {PINS}:{line_of(PINS, "torch==2.0.0")},'
        " torch-2.0.0-cp310-cp310-manylinux1_x86_64.whl and 3 more"
    ) in plain(done.stdout)
    assert (
        f"triton 2.0.0 requires torch {PINS}:{line_of(PINS, 'triton==2.0.0')},"
        " triton-2.0.0-1-cp310-cp310-manylinux2014_x86_64.manylinux_2_17_x86_64.whl and 3 more"
    ) in plain(done.stdout)


def test_edges_as_data(audit: Run) -> None:
    report = report_of(audit, PINS, "--platform", "linux_x86_64", "--python-version", "3.11")
    [component] = report["components"]
    assert component["code"] == "wheel-cycle"
    assert component["targets"] == ["cp311-linux_x86_64"]
    marker = 'platform_system == "Linux" and platform_machine == "x86_64"'
    edges = {(edge["source"], edge["target"]): edge for edge in component["edges"]}
    out, back = edges["torch", "triton"], edges["triton", "torch"]
    assert (out["marker"], out["origin"]) == (marker, "wheel")
    assert out["wheel"] == "torch-2.0.0-cp311-cp311-manylinux1_x86_64.whl"
    assert (back["marker"], back["requirement"]) == ("", "torch")
    assert [cycle["packages"] for cycle in component["cycles"]] == [["torch", "triton"]]


def test_macos_is_told_apart(audit: Run) -> None:
    done = audit(PINS, "--platform", "macosx_11_0_arm64")
    assert (done.returncode, done.stderr) == (0, "")
    told = plain(done.stdout.partition("no loop here: torch -> triton -> torch\n")[2])
    assert re.search(
        r"torch-2\.0\.0-cp310-none-macosx_11_0_arm64\.whl[ \w]*:? does not require triton", told
    )
    assert re.search(r"triton 2\.0\.0:? (has )?no wheel", told)


@pytest.mark.parametrize("lock", LOCKS)
def test_locks_that_lack_the_edge(audit: Run, lock: str) -> None:
    report = report_of(audit, lock)
    assert {row["platform"] for row in report["targets"]} == TIER_1
    [component] = report["components"]
    assert [member["name"] for member in component["packages"]] == ["torch", "triton"]
    assert {target.partition("-")[2] for target in component["targets"]} == {"linux_x86_64"}
    assert len(component["targets"]) == 4
    missing = [
        finding
        for finding in report["findings"]
        if finding["code"] == "lock-edge-missing" and "triton" in finding["message"]
    ]
    assert [finding["line"] for finding in missing] == [entry_line(lock, "torch")]
    assert missing[0]["targets"] == component["targets"]


@pytest.mark.parametrize("lock", LOCKS)
def test_the_locks_alone_look_clean(audit: Run, lock: str) -> None:
    done = audit(lock, "--edges", "lock")
    assert done.returncode == 0
    assert "no loops, 0 denied" in done.stdout


@pytest.mark.network
@pytest.mark.parametrize("path", [PINS, LOCKS[0]])
def test_online(path: str, tmp_path: Path, audit: Run) -> None:
    """The same judgement, by what the configured index says today."""
    words = ("audit", path, "--platform", "linux_x86_64", "--cache-dir", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "distcycle", *words, "--format", "json"],
        capture_output=True,
        check=False,
        text=True,
        cwd=ROOT,
        timeout=300,
    )
    report = json.loads(done.stdout)
    if report["summary"]["unknown"]:
        reason = report["unknown"][0]["reason"]
        pytest.skip(f"NO INDEX ANSWERS, so nothing was checked online: {reason}")
    assert done.returncode == 1
    assert (
        report["components"] == report_of(audit, path, "--platform", "linux_x86_64")["components"]
    )

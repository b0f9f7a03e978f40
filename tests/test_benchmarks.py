"""``python -m benchmarks`` runs, and its table is the documentation's; no time is asserted."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the benchmarks are for POSIX")


def benchmarks(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def test_every_listed_case_is_documented() -> None:
    names = re.findall(r"^(\S+) .*; goal: at most \d", benchmarks("--list"), re.MULTILINE)
    assert "start-up-version" in names
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    assert names == re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)


def test_a_quick_run_prints_and_writes_a_ratio(tmp_path: Path) -> None:
    file = tmp_path / "runs.json"
    text = benchmarks("--quick", "--only", "start-up-version", "--json", str(file))
    [row] = json.loads(file.read_text("utf-8"))["rows"]
    assert (row["case"], len(row["runs"])) == ("start-up-version", 1)
    assert row["ratio"] == row["runs"][0]["seconds"] / row["against"][0]["seconds"]
    assert row["peak_bytes"] > 1_000_000
    assert f"{row['ratio']:.2f}" in text


def test_a_command_that_dies_is_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.runner import Failed, Goal, Runner, Trial

    runner = Runner(ROOT, turns=1, limit_s=20)
    trial = Trial(title="dies", command=(sys.executable, "-c", "1 / 0"))
    with pytest.raises(Failed, match=r"exit code 1: .*ZeroDivisionError"):
        runner.measure(trial, Goal())

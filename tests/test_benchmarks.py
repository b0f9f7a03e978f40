"""``python -m benchmarks`` runs, and its table is the documentation's; no time is asserted."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.asking import main as ask
from benchmarks.recorded_index import Server, read_index
from benchmarks.resolving import ask_distcycle, ask_pip, ask_uv, find_inputs, resolve_with
from benchmarks.runner import Failed, Goal, Measurement, Run, Runner, Skipped, Trial

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
    names = re.findall(
        r"^(\S+) .*; (?:goal: at most \d|no goal)", benchmarks("--list"), re.MULTILINE
    )
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


def test_a_command_that_dies_is_no_measurement() -> None:
    runner = Runner(ROOT, turns=1, limit_s=20)
    trial = Trial(title="dies", command=(sys.executable, "-c", "1 / 0"))
    with pytest.raises(Failed, match=r"exit code 1: .*ZeroDivisionError"):
        runner.measure(trial, Goal())


# Resolution --------------------------------------------------------------------------------------

GET = "import sys, urllib.request as r; [r.urlopen(url).read() for url in sys.argv[1:]]"


def test_what_a_command_asks_an_index_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Server(read_index()) as server:
        words = ["--index", server.url, "--folder", str(tmp_path), "--", sys.executable, "-c"]
        page = f"{server.url}flask/"
        for _ in range(2):  # each counts for itself
            assert ask([*words, GET, page, page]) == 0
            said = json.loads(capfd.readouterr().out)
            assert (said["requests"], said["notes"]) == (2, ["2 pages"])
        assert ask([*words, "raise SystemExit(3)"]) == 3
        assert json.loads(capfd.readouterr().out)["notes"] == []


def test_the_runner_reads_what_was_counted(tmp_path: Path) -> None:
    with Server(read_index()) as server:
        start = (sys.executable, "-m", "benchmarks.asking", "--index", server.url)
        command = (*start, "--folder", str(tmp_path), "--", sys.executable, "-c", "pass")
        run = Runner(tmp_path, turns=1, limit_s=20).run(command)
    assert run.requests == 0
    assert 0 < run.seconds < 20


@pytest.mark.parametrize(
    ("ours", "theirs", "ratio", "is_met"),
    [(3, 2, 1.5, True), (4, 2, 2.0, False), (None, 2, None, True), (0, 0, 0.0, True)],
)
def test_a_goal_of_requests(
    ours: int | None, theirs: int, ratio: float | None, is_met: bool
) -> None:
    runs = [Run(seconds=1, cpu_seconds=1, peak_bytes=1, requests=n) for n in (ours, theirs)]
    goal = Goal(requests=1.5)
    measured = Measurement(title="", goal=goal, runs=(runs[0],), against=(runs[1],))
    assert (measured.requests_ratio, measured.met) == (ratio, is_met)
    assert str(goal) == "1.5 x requests"


def test_every_recorded_case_with_an_answer_is_resolved(tmp_path: Path) -> None:
    names = [case.name for case in find_inputs()]
    assert names == sorted(names)
    assert {"airflow", "backtracking", "dependency-group", "find-links"} <= set(names)
    assert {"conflict", "torch-without-wheel"}.isdisjoint(names)
    trials = resolve_with(lambda *_: "there is none", delay_s=0, cached=False)
    made = list(trials(tmp_path))
    assert [trial.title for trial in made] == names
    assert all(isinstance(trial, Skipped) for trial in made)
    assert (tmp_path / "flask" / "requirements.in").is_file()


def test_caches_are_used_or_not_by_all_programs(tmp_path: Path) -> None:
    case = next(case for case in find_inputs() if case.name == "flask")
    for program in (ask_distcycle, ask_uv, ask_pip):
        cold = program(case, "http://127.0.0.1/simple/", tmp_path, None)
        warm = program(case, "http://127.0.0.1/simple/", tmp_path, tmp_path / "cache")
        if isinstance(cold, str) or isinstance(warm, str):
            continue  # not here, and it says so
        assert any(word.startswith("--no-cache") for word in cold)
        assert warm[warm.index("--cache-dir") + 1] == str(tmp_path / "cache")


def test_pip_is_given_the_dependencies_and_the_group(tmp_path: Path) -> None:
    case = next(case for case in find_inputs() if case.name == "dependency-group")
    (tmp_path / case.input).write_text(case.files[case.input], encoding="utf-8")
    words = ask_pip(case, "http://127.0.0.1/simple/", tmp_path, None)
    if isinstance(words, str):
        pytest.skip(words)
    assert words[-4:] == [
        *("-r", str(tmp_path / "dependencies.txt")),
        *("--group", "pyproject.toml:test"),
    ]
    assert (tmp_path / "dependencies.txt").read_text("utf-8") == "httpx[http2]>=0.27\n"

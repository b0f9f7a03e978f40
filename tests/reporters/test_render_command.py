"""``distcycle render``, and the job summary that goes with annotations."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import EMPTY, many

from distcycle.api import render
from distcycle.reporters import REPORTERS

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "report.json"
    path.write_text(render(many(20), "json"), encoding="utf-8")
    return path


def test_a_report_that_denies_still_exits_0(distcycle: Run, saved: Path) -> None:
    done = distcycle("render", saved.name, "--format", "junit")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == render(many(20), "junit")


def test_to_files_and_from_standard_input(distcycle: Run, saved: Path) -> None:
    words = [word for form in REPORTERS for word in ("--format", f"{form}:out.{form}")]
    done = distcycle("render", "-", *words, stdin=saved.read_text())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (saved.parent / "out.json").read_text() == saved.read_text()
    assert all((saved.parent / f"out.{form}").stat().st_size for form in REPORTERS)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "report.json:1: not valid JSON"),
        ("{}", "report.json: schema: not a report: expected 'distcycle-report/1'"),
    ],
)
def test_no_report(distcycle: Run, saved: Path, text: str, error: str) -> None:
    saved.write_text(text)
    done = distcycle("render", saved.name)
    assert done.returncode == 2
    assert done.stderr.startswith(f"distcycle: error: {error}")


def test_no_such_form(distcycle: Run, saved: Path) -> None:
    done = distcycle("render", saved.name, "--format", "sarfi")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown format 'sarfi'" in done.stderr


def test_annotations_come_with_a_job_summary(distcycle: Run, saved: Path) -> None:
    summary = saved.parent / "summary.md"
    summary.write_text("# before\n")
    variables = {"GITHUB_STEP_SUMMARY": str(summary)}
    done = distcycle("render", saved.name, "--format", "github", environ=variables)
    assert done.stdout == render(many(20), "github")
    assert summary.read_text() == "# before\n" + render(many(20), "markdown")


def test_only_annotations_do(distcycle: Run, saved: Path) -> None:
    summary = saved.parent / "summary.md"
    variables = {"GITHUB_STEP_SUMMARY": str(summary)}
    distcycle("render", saved.name, "--format", "markdown", environ=variables)
    assert not summary.exists()


def test_a_summary_that_cannot_be_written(distcycle: Run, saved: Path) -> None:
    variables = {"GITHUB_STEP_SUMMARY": str(saved.parent / "no" / "summary.md")}
    done = distcycle("render", saved.name, "--format", "github", environ=variables)
    assert done.returncode == 2
    assert "cannot be written" in done.stderr


def test_paths_are_told_from_the_working_directory(distcycle: Run, tmp_path: Path) -> None:
    lock = tmp_path / "locks" / "requirements.txt"
    lock.parent.mkdir()
    lock.write_text("absent==1.0\n")
    done = distcycle("audit", lock, "--offline", "--format", "gitlab", "--platform", "linux_x86_64")
    assert '"path": "locks/requirements.txt"' in done.stdout


def test_an_empty_report(distcycle: Run, saved: Path) -> None:
    saved.write_text(render(EMPTY, "json"))
    done = distcycle("render", saved.name, "--format", "markdown")
    assert done.stdout.startswith("### distcycle: no loops, 0 denied, no warnings\n")

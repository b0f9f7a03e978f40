"""The gate: from one git revision to the next, only what a change adds fails the run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import upgrades

from distcycle.cli import main

Run = Callable[..., tuple[int, str, str]]
Git = Callable[..., str]
MakeWheel = Callable[..., Path]

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

LOCK = "requirements.txt"
HERE = ("--platform", "linux_x86_64", "--python-version", "3.11")


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Runs git in a new repository, which is the working directory and knows no other settings."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    settings = ("-c", "user.name=A", "-c", "user.email=a@mail.example", "-c", "gc.auto=0")

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *settings, *words], check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q", "-b", "main")
    return git


@pytest.fixture
def commit(git: Git) -> Callable[..., None]:
    """Writes files and commits all that stands there."""

    def commit(**files: str) -> None:
        for name, text in files.items():
            Path(name).with_suffix(".txt").write_text(text, encoding="utf-8")
        git("add", "--all")
        git("commit", "-q", "--allow-empty", "-m", "x")

    return commit


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command: exit code, standard output and error."""

    def run(*words: str | Path) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        return (code, *capsys.readouterr())

    return run


def error_of(done: tuple[int, str, str]) -> str:
    """The one line of a run that could not be done."""
    code, out, err = done
    assert (code, out, err.count("\n")) == (2, "", 1), done
    return err.removeprefix("distcycle: error: ").rstrip("\n")


# An upgrade that brings torch 2.0.0 --------------------------------------------------------------


@pytest.fixture
def facts(tmp_path: Path) -> tuple[str, ...]:
    """The words that judge without a network, by the facts of both bundles."""
    path = upgrades.write_facts(tmp_path / "facts.json")
    return (*HERE, "--bundle", str(path), "--offline", "--no-cache")


@pytest.fixture
def upgrade(commit: Callable[..., None], git: Git) -> None:
    """A lock without a loop on main, and its upgrade on a branch, which is checked out."""
    commit(requirements=upgrades.OLD)
    git("switch", "-q", "-c", "upgrade")
    commit(requirements=upgrades.NEW)


@pytest.mark.usefixtures("upgrade")
def test_an_upgrade_that_brings_a_loop_fails_and_is_named(run: Run, facts: tuple[str, ...]) -> None:
    code, out, err = run("diff", LOCK, "--since", "main", *facts)
    assert (code, err) == (1, "")
    said = " ".join(out.split())
    assert "added[wheel-cycle] torch, triton on linux_x86_64 " in said
    assert "triton 2.1.0 -> 2.0.0 adds triton -> torch on linux_x86_64" in said
    assert "torch 1.13.1 -> 2.0.0 adds torch -> triton on linux_x86_64" in said
    assert "deny[wheel-cycle] torch -> triton -> torch" in said
    assert "distcycle" not in said


@pytest.mark.usefixtures("upgrade")
def test_main_itself_passes(run: Run, git: Git, facts: tuple[str, ...]) -> None:
    git("switch", "-q", "main")
    code, out, _ = run("diff", LOCK, "--since", "main", *facts)
    assert code == 0
    assert "no loops, 0 denied" in out


@pytest.mark.usefixtures("upgrade")
def test_a_finding_of_the_baseline_passes_and_is_counted(run: Run, facts: tuple[str, ...]) -> None:
    assert run("audit", LOCK, "--write-baseline", "known.json", *facts)[0] == 0
    baseline = json.loads(Path("known.json").read_text("utf-8"))
    baseline["findings"] = [f for f in baseline["findings"] if f["code"] == "wheel-cycle"]
    Path("known.json").write_text(json.dumps(baseline), encoding="utf-8")
    code, out, _ = run("diff", LOCK, "--since", "main", "--baseline", "known.json", *facts)
    assert code == 0
    assert out.splitlines()[-1].startswith("1 loop, 0 denied, ")
    assert out.splitlines()[-1].endswith(", 1 known finding ignored")


@pytest.mark.usefixtures("upgrade")
def test_a_loop_that_was_there_before_passes_and_one_that_went_is_said(
    run: Run, git: Git, facts: tuple[str, ...]
) -> None:
    code, out, _ = run("diff", LOCK, "--since", "HEAD", *facts)
    assert code == 0
    assert " known finding" in out.splitlines()[-1]
    git("switch", "-q", "main")
    code, out, _ = run("diff", LOCK, "--since", "upgrade", *facts)
    assert code == 0
    assert "gone[wheel-cycle] torch, triton" in out
    assert "torch 2.0.0 -> 1.13.1" in out


# Several files, renamed and new files, and what cannot be compared --------------------------------


@pytest.fixture
def wheels(make_wheel: MakeWheel) -> tuple[str, ...]:
    """A ring of egg and hen, one of fox and owl, and egg 2.0, which brings chick into the first."""
    make_wheel("egg", requires=("hen",))
    make_wheel("hen", requires=("egg",))
    make_wheel("egg", "2.0", requires=("hen", "chick"))
    make_wheel("chick", requires=("egg",))
    make_wheel("fox", requires=("owl",))
    make_wheel("stone")
    folder = make_wheel("owl", requires=("fox",)).parent
    return ("--find-links", str(folder), "--no-index", "--no-cache", *HERE)


RING = "egg==1.0\nhen==1.0\n"
GROWN = "egg==2.0\nhen==1.0\nchick==1.0\n"
OTHER = "fox==1.0\nowl==1.0\n"


def test_several_files_are_each_compared_with_themselves(
    run: Run, commit: Callable[..., None], wheels: tuple[str, ...]
) -> None:
    commit(one=RING, two="stone==1.0\n")
    Path("two.txt").write_text(RING)
    words = ("diff", "one.txt", "two.txt", "--since", "HEAD", *wheels)
    code, out, _ = run(*words, "--format", "json")
    report = json.loads(out)
    assert code == 1
    found = [(c["input"], c["accepted_by"] is not None) for c in report["components"]]
    assert found == [("one.txt", True), ("two.txt", False)]
    assert [change["kind"] for change in report["changes"]] == ["added"]
    Path("two.txt").write_text("stone==1.0\n")
    assert run(*words)[0] == 0


def test_a_renamed_file_is_compared_with_its_old_name(
    run: Run, commit: Callable[..., None], git: Git, wheels: tuple[str, ...]
) -> None:
    commit(old=RING + "stone==1.0\n")
    git("mv", "old.txt", "new.txt")
    code, out, _ = run("diff", "new.txt", "--since", "HEAD", *wheels)
    assert code == 0
    assert "known[wheel-cycle]" in run("diff", "new.txt", "--since", "HEAD", *wheels, "-v")[1]
    assert out.splitlines()[-1] == "1 loop, 0 denied, no warnings, 1 known finding ignored"
    Path("new.txt").write_text(RING + OTHER + "stone==1.0\n")
    code, out, _ = run("diff", "new.txt", "--since", "HEAD", *wheels)
    assert code == 1
    assert "added[wheel-cycle] fox, owl" in out
    assert "added[wheel-cycle] egg, hen" not in out


def test_of_a_file_that_did_not_exist_everything_is_added(
    run: Run, commit: Callable[..., None], wheels: tuple[str, ...]
) -> None:
    commit(one="stone==1.0\n")
    Path("new.txt").write_text(RING)
    code, out, _ = run("diff", "new.txt", "--since", "HEAD", *wheels)
    assert code == 1
    assert "added[wheel-cycle] egg, hen" in out


def test_without_an_input_the_one_lock_that_stands_here_is_meant(
    run: Run, commit: Callable[..., None], wheels: tuple[str, ...]
) -> None:
    commit(requirements=RING)
    for words in ((), (".",)):
        code, out, _ = run("diff", *words, "--since", "HEAD", *wheels, "-q")
        assert (code, out) == (0, "1 loop, 0 denied, no warnings, 1 known finding ignored\n")


def test_a_folder_below_the_root_and_a_file_beside(
    run: Run, commit: Callable[..., None], monkeypatch: pytest.MonkeyPatch, wheels: tuple[str, ...]
) -> None:
    Path("deep").mkdir()
    Path("deep/more.txt").write_text("hen==1.0\n")
    Path("deep/all.txt").write_text("-r more.txt\negg==1.0\n")
    commit()
    Path("deep/more.txt").write_text("stone==1.0\n")
    monkeypatch.chdir("deep")
    _, out, _ = run("diff", "all.txt", "--since", "HEAD", *wheels)
    assert "gone[wheel-cycle] egg, hen" in out
    assert "hen 1.0 is gone" in out


def test_the_index_and_the_working_tree_are_left_alone(
    run: Run, commit: Callable[..., None], git: Git, wheels: tuple[str, ...]
) -> None:
    commit(one=RING)
    Path("one.txt").write_text(GROWN)
    Path("untracked").touch()
    before = git("status", "--porcelain=v2", "--branch")
    run("diff", "one.txt", "--since", "HEAD", *wheels)
    assert git("status", "--porcelain=v2", "--branch") == before


@pytest.mark.parametrize("revision", ["nowhere", "--output=x", "HEAD:one.txt", "HEAD~1", ""])
def test_a_revision_that_does_not_exist(
    run: Run, commit: Callable[..., None], revision: str
) -> None:
    commit(one=RING)
    done = run("diff", "one.txt", f"--since={revision}", "--offline")
    if revision:
        assert error_of(done) == f"one.txt: git knows no revision {revision!r}"
    else:
        assert error_of(done) == "expected the old and the new input, or --since REV"
    assert not Path("x").exists()


def test_no_repository(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    Path(LOCK).write_text(RING)
    line = error_of(run("diff", LOCK, "--since", "main", "--offline"))
    assert line == f"{LOCK}: is not in a git repository, and --since needs one"


def test_no_git(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    Path(LOCK).write_text(RING)
    line = error_of(run("diff", LOCK, "--since", "main", "--offline"))
    assert line == "git is not installed, and --since needs it"


def test_what_has_no_older_state(run: Run, commit: Callable[..., None]) -> None:
    commit(one=RING)
    said = error_of(run("diff", "-", "--since", "HEAD"))
    assert said == "standard input has no state at a revision"
    said = error_of(run("diff", "one.txt"))
    assert said == "expected the old and the new input, or --since REV"
    said = error_of(run("diff", "one.txt", "--since", "HEAD", "--python", "python3"))
    assert said == "--python names an environment as it is; diff needs two states"


# Kinds of change ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        (RING, GROWN, 1, ["grown[wheel-cycle] chick, egg, hen", "joined by chick"]),
        (GROWN, RING, 0, ["shrunk[wheel-cycle] egg, hen", "without chick"]),
        (RING, RING + OTHER, 1, ["added[wheel-cycle] fox, owl", "fox 1.0 is new adds fox -> owl"]),
        (RING + OTHER, RING, 0, ["gone[wheel-cycle] fox, owl", "fox 1.0 is gone"]),
        (
            RING.replace("hen==1.0", "hen==1.0 ; python_version < '3.11'"),
            RING,
            1,
            ["widened[wheel-cycle] egg, hen", "now also where python_version >= '3.11'"],
        ),
        (
            RING,
            RING.replace("hen==1.0", "hen==1.0 ; python_version < '3.11'"),
            0,
            ["narrowed[wheel-cycle] egg, hen", "no longer where python_version >= '3.11'"],
        ),
    ],
)
def test_kinds(
    run: Run,
    tmp_path: Path,
    wheels: tuple[str, ...],
    old: str,
    new: str,
    code: int,
    said: list[str],
) -> None:
    for name, text in (("old.txt", old), ("new.txt", new)):
        (tmp_path / name).write_text(text)
    whole = wheels[: -len(HERE)]
    words = ("diff", tmp_path / "old.txt", tmp_path / "new.txt", *whole, "-A", "missing-package")
    found, out, _ = run(*words)
    for text in said:
        assert text in " ".join(out.split())
    assert found == code, out

"""The commands ``distcycle policy init``, ``check`` and ``list``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from distcycle.cli import main
from distcycle.policy.find import list_builtins
from distcycle.policy.template import render_template

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a policy command in an empty folder: exit code, standard output and error."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["policy", *words])
        return (code, *capsys.readouterr())

    return run


def test_init_writes_the_template(run: Run, tmp_path: Path) -> None:
    code, out, err = run("init")
    assert (code, out) == (0, "")
    assert err == "distcycle.toml: written; every key is in it, as a comment\n"
    assert (tmp_path / "distcycle.toml").read_text("utf-8") == render_template()
    assert run("check") == (0, "distcycle.toml: valid, rules: 0\n", "")


def test_init_writes_over_nothing_unless_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text("mine")
    said = "distcycle: error: p.toml: is there already; --force writes over it\n"
    assert run("init", "-o", "p.toml") == (2, "", said)
    assert (tmp_path / "p.toml").read_text() == "mine"
    assert run("init", "-o", "p.toml", "--force")[0] == 0
    assert (tmp_path / "p.toml").read_text("utf-8") == render_template()


def test_init_where_nothing_can_be_written(run: Run) -> None:
    code, _, err = run("init", "-o", "no/folder/p.toml")
    assert (code, err.count("\n")) == (2, 1)
    assert "cannot be written" in err


def test_check_says_every_problem_in_a_line_of_its_own(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('version = 2\nx = "\\u001b[31m"\n"\\u001by" = 1\n')
    code, out, err = run("check", "p.toml")
    assert (code, out) == (1, "")
    first, second, third = err.splitlines()
    assert first == "p.toml:1: version: expected 1, found 2"
    assert second.startswith("p.toml:2: x: unknown key")
    assert third.startswith("p.toml:3: ")
    assert "\x1b" not in err


def test_check_of_many_goes_on_and_answers_with_the_worst(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("version = 2")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    code, out, err = run("check", "bad.toml", "builtin:torch")
    assert (code, out) == (1, "builtin:torch: valid, rules: 1\n")
    code, out, err = run("check", "none.toml", "bytes.toml", "builtin:x", "bad.toml")
    assert (code, out) == (2, "")
    none, not_text, builtin, bad = err.splitlines()
    assert none.startswith("distcycle: error: none.toml: cannot be read")
    assert not_text.startswith("distcycle: error: bytes.toml:1: expected UTF-8 text")
    assert builtin.startswith("distcycle: error: unknown ready-made policy 'x'")
    assert bad == "bad.toml:1: version: expected 1, found 2"


def test_check_finds_the_policy_of_pyproject(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.distcycle]\nversion = 1\nwave = 1\n")
    said = "pyproject.toml:3: tool.distcycle.wave: unknown key; did you mean 'waive'?\n"
    assert run("check") == (1, "", said)


def test_check_where_there_is_none(run: Run) -> None:
    assert run("check") == (2, "", "distcycle: error: no policy is found from here; name a file\n")


def test_list_names_every_ready_made_policy(run: Run) -> None:
    code, out, err = run("list")
    assert (code, err) == (0, "")
    assert [line.split(maxsplit=1) for line in out.splitlines()] == [
        [name, purpose] for name, purpose in list_builtins().items()
    ]


def test_without_a_command(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run()
    assert caught.value.code == 2
    assert "COMMAND" in capsys.readouterr().err

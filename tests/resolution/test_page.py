"""The commands of docs/resolution.md, on the recorded index."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from documentation import Shown, console, fits

from benchmarks.recorded_index import Server, read_index
from distcycle.emitters.pins import PIN_EMITTERS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "resolution.md"


@pytest.mark.parametrize("commands", console(PAGE), ids=lambda commands: commands[0].command)
def test_commands_print_what_is_shown(
    commands: list[Shown],
    tmp_path: Path,
    distcycle: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    (tmp_path / "sphinx-theme.in").write_text("sphinx>=7.2\nsphinx-rtd-theme==1.0.0\n")
    with Server(read_index()) as server:
        environ = {"PIP_INDEX_URL": server.url, "PIP_NO_INDEX": "0"}
        for command, output in commands:
            program, *words = shlex.split(command)
            assert program == "distcycle"
            done = distcycle(*words, environ=environ)
            printed = done.stdout or done.stderr
            assert fits(printed, output), printed


def test_every_form_of_the_pins_is_listed() -> None:
    text = PAGE.read_text("utf-8")
    assert all(f"\n| `{name}` | " in text for name in PIN_EMITTERS)

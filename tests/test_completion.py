"""The scripts of ``distcycle completion``, sourced by the shells that are here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from distcycle.cli import main

COMPLETE = """
source {script}
COMP_WORDS=({words} "{last}")
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
"$(complete -p distcycle | sed 's/.*-F \\([^ ]*\\) .*/\\1/')"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def shell_of(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture
def script(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Path:
    """The script for a shell, as a file."""
    assert main(["completion", request.param]) == 0
    path = tmp_path / f"completion.{request.param}"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    return path


@pytest.mark.parametrize("script", ["bash"], indirect=True)
def test_bash_knows_the_command(script: Path) -> None:
    program = f"source <(cat {script}); complete -p distcycle"
    done = subprocess.run(
        [shell_of("bash"), "-c", program], capture_output=True, check=False, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(" distcycle\n")


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(
    ("words", "last", "expected"),
    [
        ("distcycle", "ex", {"explain"}),
        ("distcycle policy", "", {"init", "check", "list"}),
        ("distcycle audit", "--show-c", {"--show-config"}),
        ("distcycle audit x.txt --format", "sar", {"sarif"}),
        ("distcycle audit --platform", "windows_a", {"windows_amd64", "windows_arm64"}),
        ("distcycle codes", "wheel", {"wheel-cycle", "wheels-disagree"}),
        ("distcycle fix uv.lock --emit", "pd", {"pdm"}),
    ],
)
def test_bash_completes(script: Path, words: str, last: str, expected: set[str]) -> None:
    program = COMPLETE.format(script=script, words=words, last=last)
    done = subprocess.run(
        [shell_of("bash"), "-c", program], capture_output=True, check=False, text=True
    )
    assert done.stderr == ""
    assert set(done.stdout.split()) == expected


@pytest.mark.parametrize("script", ["zsh", "fish"], indirect=True)
def test_other_shells_read_it(script: Path) -> None:
    shell = shell_of(script.suffix[1:])
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("script", ["zsh", "fish"], indirect=True)
def test_every_command_is_in_it(script: Path) -> None:
    text = script.read_text("utf-8")
    for command in ("audit", "diff", "explain", "fix", "lint", "policy", "codes", "completion"):
        assert command in text

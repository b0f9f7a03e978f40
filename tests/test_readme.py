"""The README: its commands are run and its tables compared.

In a block marked ``console`` a line that begins with ``$`` is run, and what it prints must be what
is shown, but for ``[...]``, which stands for lines left out. No network is used: ``pip install`` is
left to ``.ci/run``, and commands that ask an index get the bundles of ``tests/data`` besides, or
the recorded index where they ask what is released. They run in a repository whose
``requirements.txt`` was upgraded from its ``main`` to torch 2.0.0. The block marked ``sh`` is not
run here, because it runs the tests; ``.ci/run`` runs it.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import documentation
import pytest
import upgrades
from documentation import Shown, console, fits

from benchmarks.recorded_index import Server, read_index

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
ASKS_RELEASES = ("--resolve", "--upgrade")


def words_of(command: str, facts: Path) -> list[str]:
    """The words after ``distcycle``, with paths and facts that need no network."""
    first, *words = shlex.split(command.removeprefix("pip install . && "))
    assert first == "distcycle"
    asks = words[0] in {"audit", "bundle", "diff", "explain", "fix", "lint"}
    if asks and not {"--bundle", *ASKS_RELEASES} & set(words):
        words += ["--bundle", str(facts), "--no-cache", "--offline"]
    return words


@pytest.fixture(scope="module")
def index() -> Iterator[dict[str, str]]:
    """What lets pip's settings name the recorded index."""
    with Server(read_index()) as server:
        yield {"PIP_INDEX_URL": server.url, "PIP_NO_INDEX": "0"}


@pytest.mark.parametrize("commands", console(README), ids=lambda commands: commands[0].command)
def test_commands_print_what_is_shown(
    commands: list[Shown],
    tmp_path: Path,
    distcycle: Callable[..., subprocess.CompletedProcess[str]],
    index: dict[str, str],
) -> None:
    (tmp_path / "sample_locks").symlink_to(ROOT / "sample_locks")
    facts = upgrades.write_facts(tmp_path / "all.json")
    if any("--since" in command for command, _ in commands):
        if shutil.which("git") is None:
            pytest.skip("git is not installed")
        upgrades.make_repository(tmp_path)
    for command, output in commands:
        done = distcycle(*words_of(command, facts), cwd=tmp_path, environ=index)
        assert fits(done.stdout, output), done.stdout
        denied = re.search(r"loops?, (\d+) denied", output)
        assert done.returncode == int(denied is not None and denied[1] != "0")


def test_the_command_and_its_loop_come_first() -> None:
    top = "".join(README.read_text("utf-8").splitlines(keepends=True)[:20])
    assert (
        "pip install . && distcycle audit sample_locks/torch-2.0.txt --platform linux_x86_64" in top
    )
    assert "torch 2.0.0 requires triton" in top
    assert "triton 2.0.0 requires torch" in top


def test_ci_runs_the_test_command() -> None:
    [command] = re.findall(
        r"^```sh\n(.*?)^```$", README.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    steps = command.strip().split(" && ")
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert "README.md" in script
    assert steps[0] == "python3 -m venv .venv"
    assert steps[-1] == ".venv/bin/python -m pytest -n auto"


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("readers", documentation.readers),
        ("formats", documentation.formats),
        ("verdicts", documentation.verdicts),
    ],
)
def test_table(
    name: str, lines: Callable[[], Iterator[str]], agree: Callable[[Path, str], None]
) -> None:
    agree(README, documentation.insert(README.read_text("utf-8"), name, lines()))


def test_every_flag_that_is_named_exists(
    distcycle: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    commands = (["audit"], ["fix"], ["imports"], ["lint", "bazel"])
    known = "".join(distcycle(*words, "--help").stdout for words in commands)
    text = re.sub(r"```.*?```", "", README.read_text("utf-8"), flags=re.DOTALL)
    flags = set(re.findall(r"`(--?[a-zA-Z][\w-]*)", text))
    assert len(flags) > 15
    assert {flag for flag in flags if not re.search(rf"(?<![\w-]){flag}(?![\w-])", known)} == set()

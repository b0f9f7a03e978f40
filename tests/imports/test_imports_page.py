"""The page on imports: its commands are run on the packages that are installed for the tests."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from documentation import Shown, console, fits

from distcycle.imports.fixes import FixKind
from distcycle.imports.records import Kind, Modifier

PAGE = Path(__file__).resolve().parents[2] / "docs" / "imports.md"


OWN = [block for block in console(PAGE) if block[0].command.startswith("distcycle imports")]


@pytest.mark.parametrize("commands", OWN, ids=lambda commands: commands[0].command)
def test_commands_print_what_is_shown(
    commands: list[Shown], distcycle: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    for command, output in commands:
        first, *words = command.split()
        assert first == "distcycle"
        done = distcycle(*words)
        assert fits(done.stdout, output), done.stdout


def test_every_kind_and_modifier_is_explained() -> None:
    text = PAGE.read_text("utf-8")
    assert re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE)[:5] == list(get_args(Kind))
    said = {*get_args(Modifier)} - {"keyword"}
    assert [word for word in sorted(said) if f"`{word}`" not in text] == []


def test_every_way_is_in_the_table() -> None:
    table = PAGE.read_text("utf-8").partition("| way | when |")[2].partition("\n\n")[0]
    ways = [row.split("|")[1].strip() for row in table.splitlines()[2:]]
    # The last kind says that there is no simple way.
    assert len(ways) == len(get_args(FixKind)) - 1

"""Scripts that let a shell complete what is typed after ``distcycle``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import shtab

from distcycle.emitters import EMITTERS
from distcycle.findings import CODES
from distcycle.readers import READERS
from distcycle.reporters import REPORTERS
from distcycle.targets import PLATFORMS

__all__ = ["render_completion"]

_FILES = frozenset(("FILE", "INPUT", "LOCK", "REPORT", "EXE"))
_FOLDERS = frozenset(("DIR", "PLACE"))


def render_completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """Write the script for a shell.

    Args:
        parser: The command line; what its options may be is added to it.
        shell: ``bash``, ``zsh`` or ``fish``.
    """
    words = _words()
    for action in _actions(parser):
        name = str(action.metavar or "")
        if action.help != argparse.SUPPRESS and action.choices is None and name in words:
            action.choices = words[name]
        elif name in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif name in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    return f"{shtab.complete(parser, shell=shell).rstrip()}\n"


def _words() -> dict[str, list[str]]:
    """What may be said where a help text has a word in capitals."""
    return {
        "CODE": list(CODES),
        "FORM[:FILE]": list(REPORTERS),
        "KIND": [reader.kind for reader in READERS],
        "P": [platform.name for platform in PLATFORMS],
        "TOOL": list(EMITTERS),
    }


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # noqa: SLF001 (argparse has no public list of them)
        if isinstance(action.choices, dict):
            for command in action.choices.values():
                yield from _actions(command)
        else:
            yield action

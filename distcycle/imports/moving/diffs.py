"""A move as a patch that ``git apply`` and ``patch -p1`` take."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from distcycle.imports.moving.records import Move

__all__ = ["render_diff"]

_UNENDED = "\n\\ No newline at end of file\n"


def render_diff(move: Move) -> str:
    """Render a move as a unified diff.

    Args:
        move: The move.

    Returns:
        The diff, files sorted by path. Line endings are those of the files: write it untranslated.
    """
    return "".join(
        line
        for path, text in sorted(move.after.items())
        for line in _diff(path, move.before.get(path), text)
    )


def _diff(path: str, old: str | None, new: str) -> Iterator[str]:
    # A tab ends a name with spaces in it, for which readers would stop at the first of them.
    end = "\t" if " " in path else ""
    old_name = "/dev/null" if old is None else f"a/{path}{end}"
    lines = difflib.unified_diff(
        _split(old or ""), _split(new), old_name, f"b/{path}{end}", lineterm="\n"
    )
    for line in lines:
        yield line if line.endswith("\n") else line + _UNENDED


def _split(text: str) -> list[str]:
    """Lines as the readers of diffs count them: only a line feed ends one."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]

"""Finds policy files, and reads the ready-made ones: the part of a policy that asks the disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tomli

from distcycle.errors import InputError
from distcycle.policy import Policy
from distcycle.policy.kinds import suggest
from distcycle.policy.parse import parse_policy

__all__ = ["find_policy", "list_builtins", "read_builtin"]

_FILE = "distcycle.toml"
_PROJECT = "pyproject.toml"
_PACKAGE = Path(__file__).resolve().parents[1]


def find_policy(folder: str = ".") -> str | None:
    """Find the policy that a folder is under.

    In every folder from this one up to the repository's root, ``distcycle.toml`` is taken, else
    ``pyproject.toml`` if it has a table ``[tool.distcycle]``. Outside of a repository only the
    folder itself is looked at: what stands further up is somebody else's.

    Args:
        folder: Where the search begins.

    Returns:
        The path, relative where the folder is; None when there is none.

    Raises:
        InputError: A ``pyproject.toml`` on the way cannot be read.
    """
    for place in _candidates(Path(folder)):
        if place.is_file() and (place.name == _FILE or _has_table(place)):
            return str(place)
    return None


def _candidates(folder: Path) -> Iterator[Path]:
    start = folder.resolve()
    root = next((p for p in (start, *start.parents) if (p / ".git").exists()), start)
    yield from (folder / _FILE, folder / _PROJECT)
    for parent in start.parents:
        if not parent.is_relative_to(root):
            return
        folder /= ".."
        yield from (folder / _FILE, folder / _PROJECT)


def _has_table(place: Path) -> bool:
    try:
        text = place.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(place)) from None
    except UnicodeDecodeError:
        return False  # no TOML; whoever needs it will say so
    try:
        tool = tomli.loads(text).get("tool")
    except (ValueError, RecursionError):
        # A broken file that speaks of us is taken, so that what is wrong with it is said.
        return "tool.distcycle" in text
    return isinstance(tool, dict) and "distcycle" in tool


def read_builtin(name: str) -> Policy:
    """Read a ready-made policy.

    Args:
        name: Its name, such as ``torch``.

    Raises:
        InputError: There is none of that name; the nearest is given.
    """
    known = list_builtins()
    if name not in known:
        hint = suggest(name, known) or f"; expected one of {', '.join(known)}"
        raise InputError(f"unknown ready-made policy {name!r}{hint}")
    text = (_builtins() / f"{name}.toml").read_text(encoding="utf-8")
    return parse_policy(text, path=f"builtin:{name}")


def list_builtins() -> dict[str, str]:
    """What the ready-made policies are for, in one line each, by their names."""
    return {place.stem: _first_line(place) for place in sorted(_builtins().glob("*.toml"))}


def _first_line(place: Path) -> str:
    return place.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ").rstrip()


def _builtins() -> Path:
    """The folder of ready-made policies: in the package, or beside it in a source checkout."""
    shipped = _PACKAGE / "policies"
    return shipped if shipped.is_dir() else _PACKAGE.parent / "policies"

"""The entry points of several wheels in one file.

Source: Entry points specification, "File format",
https://packaging.python.org/specifications/entry-points/
"""

from __future__ import annotations

import configparser
from collections.abc import Mapping

from distcycle.errors import InputError

__all__ = ["EntryPoints", "SCRIPT_GROUPS", "dump_entry_points", "merge_entry_points"]

SCRIPT_GROUPS = ("console_scripts", "gui_scripts")
"""The groups for each of whose names an installer makes a file in one folder."""

EntryPoints = Mapping[tuple[str, str], str]
"""What each group and name stands for."""


def merge_entry_points(texts: Mapping[str, bytes]) -> EntryPoints:
    """Merge the entry points of wheels.

    Args:
        texts: By wheel, as it is to be named in errors, its ``entry_points.txt``.

    Returns:
        All entry points, sorted.

    Raises:
        InputError: A file cannot be read, or one name stands for two things.
    """
    owners: dict[tuple[str, str], tuple[str, str, str]] = {}
    for owner, text in texts.items():
        for (group, name), value in _parse(text, owner).items():
            slot = "script" if group in SCRIPT_GROUPS else group
            first, *claim = owners.setdefault((slot, name), (owner, group, value))
            if claim != [group, value]:
                said = f"{first} and {owner} disagree: {claim[1]} in {claim[0]}, {value} in {group}"
                raise InputError(said, key=f"entry_points.txt: {name}")
    merged = {(group, name): value for (_, name), (_, group, value) in owners.items()}
    return {key: merged[key] for key in sorted(merged)}


def _parse(text: bytes, owner: str) -> EntryPoints:
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, default_section="")
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(text.decode("utf-8"))
    except (configparser.Error, UnicodeDecodeError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"that of {owner} cannot be read: {said}", key="entry_points.txt"
        ) from None
    return {
        (group, name): " ".join(value.split())
        for group in parser.sections()
        for name, value in parser[group].items()
    }


def dump_entry_points(entry_points: EntryPoints) -> bytes:
    """The text of ``entry_points.txt``; empty when there are none."""
    lines: list[str] = []
    group = None
    for (own, name), value in entry_points.items():
        if own != group:
            lines += [""] if lines else []
            lines.append(f"[{own}]")
            group = own
        lines.append(f"{name} = {value}")
    return "".join(f"{line}\n" for line in lines).encode()

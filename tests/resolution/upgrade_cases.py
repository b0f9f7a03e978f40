"""Loops and the nearest versions without them: one file each in ``upgrades``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tomli
from resolution_cases import EXCLUDE_NEWER, TARGETS, Target

__all__ = ["UpgradeCase", "find_upgrade_cases", "upgrade_words"]

FOLDER = Path(__file__).with_name("upgrades")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeCase:
    """A case file as read.

    Attributes:
        name: The file's name, without its end.
        requirements: What is asked for.
        targets: For which targets; each is resolved and upgraded by itself.
        changes: The members and others that get another version, and which.
        more: Whether others than these change as well.
        leave: Members that leave.
        why: What opens the loop.
        loses: The bounds that are lost.
        none: Whether there are no versions without the loop.
        ranges: Projects of which other versions must have been looked at.
    """

    name: str
    requirements: str
    targets: tuple[Target, ...]
    changes: Mapping[str, str] = field(default_factory=dict)
    more: bool = False
    leave: Sequence[str] = ()
    why: Sequence[str] = ()
    loses: Sequence[str] = ()
    none: bool = False
    ranges: Sequence[str] = ()


def find_upgrade_cases() -> list[UpgradeCase]:
    """All cases, by name; a key that is not known is an error, for it would test nothing."""
    return [_read(path) for path in sorted(FOLDER.glob("*.toml"))]


def _read(path: Path) -> UpgradeCase:
    values = tomli.loads(path.read_text("utf-8"))
    expect = values.pop("expect")
    expect["more"] = expect.pop("and-more", False)
    names = values.pop("targets")
    targets = tuple(target for target in TARGETS if target.name in names)
    return UpgradeCase(name=path.stem, targets=targets, **values, **expect)


def upgrade_words(path: Path, target: Target) -> list[str]:
    """The words that find the upgrade of a case's input for one target."""
    return [
        *("fix", str(path), "--resolve", "--upgrade", "--allow-pins"),
        *("--exclude-newer", EXCLUDE_NEWER, "--platform", target.platform),
        *("--python-version", target.python, "--no-policy"),
    ]

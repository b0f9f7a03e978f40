"""What a key and a table of a policy file are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from distcycle.policy.kinds import Kind

__all__ = ["Key", "Section"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of a table.

    Attributes:
        name: The key.
        kind: What its value may be; that of each item when it is an array.
        meaning: What it says, in one sentence or two.
        example: A value in TOML: the default where there is one.
        required: Whether the table needs it.
        many: Whether the value is an array, of one item or more.
        default: What holds without it, in TOML or in words; None when nothing does.
        is_path: Whether it names files or folders, which are meant from the policy's folder.
    """

    name: str
    kind: Kind
    meaning: str
    example: str
    required: bool = False
    many: bool = False
    default: str | None = None
    is_path: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One table of a policy file, or an array of tables.

    Attributes:
        name: Its key at the top, ``""`` for the top itself.
        meaning: What it is for.
        keys: Its keys, in the order in which they are shown.
        repeated: Whether it is an array of tables.
    """

    name: str
    meaning: str
    keys: tuple[Key, ...]
    repeated: bool = False

    @property
    def by_name(self) -> Mapping[str, Key]:
        """The keys by their names."""
        return {key.name: key for key in self.keys}

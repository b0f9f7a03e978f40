"""What a move comes to: the new texts, and what to know before they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Move", "Note", "Remaining"]


@dataclass(frozen=True, slots=True, order=True)
class Note:
    """Something that the move changes, or may change, besides where names are defined.

    Attributes:
        path: The file it is about, as it was before.
        line: The line in it, counted from 1.
        text: What to know, in one line.
    """

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


@dataclass(frozen=True, slots=True, order=True)
class Remaining:
    """A name that the partner still takes from the source module.

    Attributes:
        line: The line of the partner, as it was before, that imports or uses it.
        name: The name; ``""`` for the module itself.
        lazy: Whether it is only taken when a function is called.
        reason: Why it stays.
    """

    line: int
    name: str
    lazy: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A move of names into a new module, verified as far as texts tell.

    Attributes:
        source: The module that defined the names.
        partner: The module that imports them from there.
        new: The new module.
        before: The old text of each file that there was, by path.
        after: The new text of the same files and of the new one. To be written in the encoding that
            the old files have; a declaration of it is copied.
        moved: The names that moved, in their order.
        wanted: Those of them that the partner imports; the others are needed by these.
        copied: The imports of the new module, each as a statement.
        remaining: What the partner still takes from the source module, so that the loop may stay.
        notes: What else to know.
    """

    source: str
    partner: str
    new: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    moved: tuple[str, ...]
    wanted: tuple[str, ...]
    copied: tuple[str, ...]
    remaining: tuple[Remaining, ...] = ()
    notes: tuple[Note, ...] = ()

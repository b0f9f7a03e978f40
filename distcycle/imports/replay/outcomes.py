"""What becomes of an import, and why: the records that a replay hands out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

__all__ = ["Cause", "Entry", "Outcome", "Step"]

Outcome = Literal["ok", "circular", "missing", "raised"]
"""``ok``; ``circular``: a name was asked of a module that was not ready; ``missing``: a module is
not there, or a name in one that was ready; ``raised``: the module's own ``raise`` ended it."""


class Step(NamedTuple):
    """A module that was being imported, and the line it had come to."""

    module: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why an import fails.

    Attributes:
        outcome: What kind of failure it is.
        error: The class of the exception, such as ``ImportError``.
        importer: The module in which the statement that fails stands.
        line: Its line; 0 when no statement but the entry itself fails.
        module: The partially initialised module, or the missing one, or the one that raises.
        symbol: The name that was asked of it; None when the module itself is what is missing.
        bound_line: The line that would bind the symbol there; None when none does.
        back_line: The line of the import that the partially initialised module was executing, and
            by which it led to the importer; None when it is ready or missing.
        chain: The modules that were being imported, from the entry to the importer.
    """

    outcome: Outcome
    error: str
    importer: str
    line: int
    module: str
    symbol: str | None = None
    bound_line: int | None = None
    back_line: int | None = None
    chain: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What happens when a module is the first to be imported in a fresh interpreter.

    Attributes:
        name: The module.
        outcome: Whether it can be imported, and else how it fails.
        cause: Why it fails; None when it does not.
        doubts: What would fail if a test that cannot be decided came out the other way, or if no
            code that the replay cannot see had bound a name; in the order in which they are met,
            without those that the packages the module is in meet already.
        loads: The modules that are loaded when it ends, without those that its package loads, and
            with those that depend on a test that cannot be decided.
    """

    name: str
    outcome: Outcome
    cause: Cause | None = None
    doubts: tuple[Cause, ...] = ()
    loads: tuple[str, ...] = ()

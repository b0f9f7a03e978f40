"""What one file imports: a record for each import, with where it stands and when it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

__all__ = [
    "CONDITIONAL",
    "EXTRACTOR",
    "FileImports",
    "Form",
    "ImportRecord",
    "Kind",
    "Modifier",
]

EXTRACTOR = 3
"""The version of what is extracted; what was kept by another version is not used."""

Form = Literal["import", "from", "star", "call", "opaque"]
"""How it is written: as one of three statements, as a call of ``importlib.import_module`` or
``__import__`` with a literal name, or as such a call whose name cannot be known."""

Kind = Literal["static", "lazy", "type-checking", "main", "dead"]
"""When it runs: ``static`` while the module is imported, ``lazy`` when a function is called,
``type-checking`` never but for type checkers, ``main`` when the file is run as a program, ``dead``
never."""

Modifier = Literal[
    "guarded",  # its ImportError is caught
    "fallback",  # in the handler of such an error
    "conditional",  # under a test, in a loop, or in the handler of another error
    "platform",  # under a test of sys.platform, os.name and their like
    "version",  # under a test of sys.version_info
    "called",  # lazy, in a function that its own module calls for certain while it is imported
    "keyword",  # lazy by PEP 810's keyword
]

CONDITIONAL: frozenset[str] = frozenset(
    ("guarded", "fallback", "conditional", "platform", "version")
)
"""Modifiers by which a module can be imported although what it imports there cannot."""


class ImportRecord(NamedTuple):
    """One import: each name of ``import a, b`` is one, and ``from a import b, c`` is one.

    A named tuple, since a large distribution has tens of thousands and they are kept by marshal.

    Attributes:
        line: Where the statement or call begins, counted from 1.
        end_line: Where it ends.
        form: How it is written.
        module: The module's name as written, without leading dots; ``""`` for none.
        level: How many leading dots the name has.
        names: For ``import`` its name and what it is bound to, None for the same; for ``from`` one
            such pair for each name.
        kind: When it runs.
        modifiers: What else decides on that, outermost first.
        scope: The functions and classes it stands in, joined by dots; ``""`` for the module.
        condition: The tests it stands under, as Python text; None for none.
    """

    line: int
    end_line: int
    form: Form
    module: str
    level: int
    names: tuple[tuple[str, str | None], ...]
    kind: Kind
    modifiers: tuple[Modifier, ...] = ()
    scope: str = ""
    condition: str | None = None

    @property
    def runs_at_import(self) -> bool:
        """Whether it may run while its module is imported."""
        return self.kind == "static" or "called" in self.modifiers

    @property
    def is_hard(self) -> bool:
        """Whether the module cannot be imported without it, as far as its own file tells."""
        return self.runs_at_import and CONDITIONAL.isdisjoint(self.modifiers)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileImports:
    """What was read of one file.

    Attributes:
        records: Its imports, by line.
        bound: The names that the module binds itself, and the first line that does; only for the
            file of a package, whose names hide its submodules.
        exported: Its ``__all__`` where that is a literal; None when it is not, or there is none.
        computes_names: Whether it has a ``__getattr__`` of its own.
        fault: Why it could not be parsed; None when it could.
        fault_line: Where.
    """

    records: tuple[ImportRecord, ...] = ()
    bound: Mapping[str, int] | None = None
    exported: tuple[str, ...] | None = None
    computes_names: bool = False
    fault: str | None = None
    fault_line: int | None = None

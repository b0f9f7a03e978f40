"""Writes an import the way it stands in a module, in one line."""

from __future__ import annotations

from collections.abc import Iterable

from distcycle.imports.records import ImportRecord

__all__ = ["spell_from", "spell_record"]


def spell_record(record: ImportRecord) -> str:
    """Write a record as a statement, or as a call."""
    name = "." * record.level + record.module
    if record.form == "import":
        text = f"import {_alias(*record.names[0])}"
    elif record.form in ("from", "star"):
        text = spell_from(name, record.names)
    elif record.form == "call":
        text = f"import_module({record.names[0][0]!r})"
    else:
        text = "import_module(...)"
    return f"lazy {text}" if "keyword" in record.modifiers else text


def spell_from(module: str, names: Iterable[tuple[str, str | None]]) -> str:
    """Write a ``from`` import of names, each with what it is bound to, None for the same."""
    return f"from {module} import {', '.join(_alias(*pair) for pair in names)}"


def _alias(old: str, new: str | None) -> str:
    return f"{old} as {new}" if new else old

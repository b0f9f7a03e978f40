"""Writes an import the way it stands in a module, in one line, and as a report shows it."""

from __future__ import annotations

from collections.abc import Iterable

from distcycle.imports.records import ImportRecord
from distcycle.sightings import Site

__all__ = ["site_of", "spell_from", "spell_record"]


def spell_record(record: ImportRecord) -> str:
    """Write a record as a statement, or as a call.

    Args:
        record: The import. Calls are written as those of ``import_module``, whatever they are
            called in the file; a name that is computed is ``...``.
    """
    if record.form == "import":
        text = f"import {_alias(*record.names[0])}"
    elif record.form in ("from", "star"):
        text = spell_from("." * record.level + record.module, record.names)
    else:
        text = _spell_call(record)
    return f"lazy {text}" if "keyword" in record.modifiers else text


def spell_from(module: str, names: Iterable[tuple[str, str | None]]) -> str:
    """Write a ``from`` import of names, each with what it is bound to, None for the same."""
    return f"from {module} import {', '.join(_alias(*pair) for pair in names)}"


def _spell_call(record: ImportRecord) -> str:
    if record.form == "opaque":
        return "import_module(...)"
    name, package = record.names[0]
    if package is not None:
        known = package if package in {"__package__", "__name__"} else repr(package)
        return f"import_module({name!r}, {known})"
    if record.level:
        return f"__import__({name!r}, level={record.level})"
    return f"import_module({name!r})"


def _alias(old: str, new: str | None) -> str:
    return f"{old} as {new}" if new else old


def site_of(module: str, path: str, record: ImportRecord) -> Site:
    """An import as a report shows it.

    Args:
        module: The module in which it stands.
        path: That module's file.
        record: The import.
    """
    return Site(
        module=module,
        path=path,
        line=record.line,
        text=spell_record(record),
        kind=record.kind,
        modifiers=record.modifiers,
        scope=record.scope,
        condition=record.condition or "",
    )

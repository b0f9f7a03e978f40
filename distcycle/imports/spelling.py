"""Import records as one line of Python each."""

from __future__ import annotations

from collections.abc import Iterable

from distcycle.imports.records import ImportRecord

__all__ = ["spell_record"]


def spell_record(record: ImportRecord) -> str:
    """Write an import as one line, such as ``from torch._C import _cuda_getDevice``.

    Args:
        record: The import. Calls are written as those of ``import_module``, whatever they are
            called in the file; a name that is computed is ``...``.
    """
    dots = "." * record.level
    if record.form == "opaque":
        return "import_module(...)"
    if record.form == "call":
        return _spell_call(record)
    text = f"import {_spell_names(record.names)}"
    if record.form != "import":
        text = f"from {dots}{record.module} {text}"
    return f"lazy {text}" if "keyword" in record.modifiers else text


def _spell_call(record: ImportRecord) -> str:
    name, package = record.names[0]
    if package is None:
        level = f", level={record.level}" if record.level else ""
        return f'__import__("{name}"{level})' if level else f'import_module("{name}")'
    known = package if package in {"__package__", "__name__"} else f'"{package}"'
    return f'import_module("{name}", {known})'


def _spell_names(names: Iterable[tuple[str, str | None]]) -> str:
    return ", ".join(f"{old} as {new}" if new else old for old, new in names)

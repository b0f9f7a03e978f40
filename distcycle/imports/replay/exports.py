"""What ``__all__`` is put together from."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from distcycle.imports.conditions import last_name
from distcycle.imports.replay.expressions import chain_of
from distcycle.imports.replay.operations import Block, Operation

__all__ = ["added_to_all", "exported_by", "parts_of"]


def exported_by(operations: Block) -> tuple[str, ...] | None:
    """Say what ``__all__`` is in the end.

    Args:
        operations: What the module's top level does.

    Returns:
        The names, if the top level says so without conditions; else None.
    """
    names: tuple[str, ...] | None = None
    for operation in operations:
        if operation[0] == "bind" and "__all__" in operation[1]:
            names = None
        elif operation[0] == "export":
            _, _, parts, extends = operation
            literal = all(part[0] == "names" for part in parts)
            added = tuple(name for part in parts for name in part[1]) if literal else None
            known = added is not None and (names is not None or not extends)
            names = ((names or ()) if extends else ()) + (added or ()) if known else None
    return names


def parts_of(value: ast.expr) -> Block | None:
    """Read what is assigned to ``__all__``, or added to it.

    Args:
        value: The expression.

    Returns:
        Its parts: ``names`` with literal ones, and ``of`` with the chain of another module's
        ``__all__``. None when it has others.
    """
    parts = _read(value)
    return None if parts is None else _merged(parts)


def _read(value: ast.expr) -> list[Operation] | None:
    """The parts that ``__all__`` is put together from: names, and ``__all__`` of other modules."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return _joined((value.left, value.right))
    if isinstance(value, ast.Name | ast.Attribute):
        chain = chain_of(value)
        return [("of", chain)] if chain and chain[-1] == "__all__" else None
    if isinstance(value, ast.Call) and last_name(value.func) in ("list", "tuple", "sorted", "set"):
        return _read(value.args[0]) if len(value.args) == 1 else None
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        return _joined(value.elts) if value.elts else [("names", ())]
    return None


def _joined(values: Sequence[ast.expr]) -> list[Operation] | None:
    """The parts of several values, or of the elements of one."""
    parts: list[Operation] = []
    for value in values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            parts.append(("names", (value.value,)))
            continue
        inner = _read(value.value if isinstance(value, ast.Starred) else value)
        if inner is None:
            return None
        parts += inner
    return parts


def _merged(parts: list[Operation]) -> tuple[Operation, ...]:
    merged: list[Operation] = []
    for what, value in parts:
        if merged and what == merged[-1][0] == "names":
            merged[-1] = (what, merged[-1][1] + value)
        else:
            merged.append((what, value))
    return tuple(merged)


def added_to_all(value: ast.expr) -> ast.expr | None:
    """Read ``__all__.extend(...)`` and ``__all__.append(...)``.

    Args:
        value: The expression that stands as a statement.

    Returns:
        What is added, as a sequence; None when the statement is another.
    """
    if not isinstance(value, ast.Call) or len(value.args) != 1 or value.keywords:
        return None
    called = chain_of(value.func)
    if called == ("__all__", "append"):
        return ast.List(elts=[value.args[0]], ctx=ast.Load())
    return value.args[0] if called == ("__all__", "extend") else None

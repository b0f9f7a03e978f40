"""Which names a module binds itself, on any path through its top level."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from distcycle.imports.conditions import judge_test

__all__ = ["bound_names", "find_exported", "targets_of"]


def bound_names(body: Iterable[ast.stmt]) -> dict[str, int]:
    """The names that statements bind, and the first line that binds each.

    What only a type checker sees does not count; what only some condition lets run does. Names of
    star imports cannot be known from here.

    Args:
        body: The statements of a module's top level.
    """
    names: dict[str, int] = {}
    for name, line in _bound(body):
        names.setdefault(name, line)
    return names


def _bound(body: Iterable[ast.stmt]) -> Iterator[tuple[str, int]]:
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name, statement.lineno
        elif isinstance(statement, ast.Import):
            for alias in statement.names:
                yield alias.asname or alias.name.partition(".")[0], statement.lineno
        elif isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if alias.name != "*":
                    yield alias.asname or alias.name, statement.lineno
        elif isinstance(statement, ast.If):
            verdict = judge_test(statement.test)
            runs = verdict[1] if isinstance(verdict, tuple) and verdict[1] is not None else None
            yield from () if runs is True else _bound(statement.body)
            yield from () if runs is False else _bound(statement.orelse)
        else:
            for target in _targets_in(statement):
                yield from ((name, statement.lineno) for name in targets_of(target))
            for block in _blocks_of(statement):
                yield from _bound(block)


def _targets_in(statement: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(statement, ast.Assign):
        yield from statement.targets
    elif isinstance(statement, ast.AnnAssign):
        if statement.value is not None:
            yield statement.target
    elif isinstance(statement, ast.AugAssign | ast.For | ast.AsyncFor):
        yield statement.target
    elif isinstance(statement, ast.With | ast.AsyncWith):
        yield from (item.optional_vars for item in statement.items if item.optional_vars)


def _blocks_of(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement that is neither an ``if`` nor a definition."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(statement, field, None)
        if isinstance(block, list):
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def targets_of(target: ast.expr) -> Iterator[str]:
    """The plain names that an assignment's target binds, inside of tuples too."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from targets_of(element)
    elif isinstance(target, ast.Starred):
        yield from targets_of(target.value)


def find_exported(body: Iterable[ast.stmt]) -> tuple[str, ...] | None:
    """A module's ``__all__`` where it is written as a literal; None when it is not."""
    for statement in body:
        if isinstance(statement, ast.Assign):
            targets = [name for target in statement.targets for name in targets_of(target)]
            value: ast.expr | None = statement.value
        elif isinstance(statement, ast.AnnAssign):
            targets, value = list(targets_of(statement.target)), statement.value
        else:
            continue
        if "__all__" in targets and isinstance(value, ast.List | ast.Tuple):
            names = [each.value for each in value.elts if isinstance(each, ast.Constant)]
            return tuple(name for name in names if isinstance(name, str))
    return None

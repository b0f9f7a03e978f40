"""Calls with literal arguments in MODULE.bazel, WORKSPACE and .bzl files.

What these files hold of Starlark is Python's syntax too, so Python's parser reads it; nothing is
executed.

Source: https://bazel.build/rules/language
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ["Call", "find_calls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call.

    Attributes:
        function: What is called, with its dots.
        line: Where it stands.
        values: The keyword arguments that are literals, or names of literals.
        computed: Those whose value only Bazel can tell.
    """

    function: str
    line: int
    values: Mapping[str, object]
    computed: frozenset[str]


def find_calls(text: str) -> tuple[Call, ...]:
    """Find all calls.

    Args:
        text: A file.

    Returns:
        The calls, in file order.

    Raises:
        ValueError: It cannot be parsed; the text says why, in one line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # escapes that Python dislikes are Starlark's affair
            tree = ast.parse(text)
            constants = dict(_constants(tree))
            calls = [
                _read(node, constants) for node in ast.walk(tree) if isinstance(node, ast.Call)
            ]
    except SyntaxError as error:
        raise ValueError(f"cannot be told: line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise ValueError("cannot be told: not text that a parser of Python reads") from None
    return tuple(sorted(calls, key=lambda call: call.line))


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield target.id, statement.value


def _read(node: ast.Call, constants: Mapping[str, ast.expr]) -> Call:
    values: dict[str, object] = {}
    computed: set[str] = set()
    for keyword in node.keywords:
        value = keyword.value
        if isinstance(value, ast.Name):
            value = constants.get(value.id, value)
        try:
            values[keyword.arg or "**"] = ast.literal_eval(value)
        except (ValueError, TypeError):
            computed.add(keyword.arg or "**")
    return Call(
        function=_dotted(node.func), line=node.lineno, values=values, computed=frozenset(computed)
    )


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "()"

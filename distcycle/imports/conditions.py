"""What the tests and handlers in a module's source say about when a statement runs."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from typing import TypeGuard

__all__ = [
    "TestKind",
    "catches_import_errors",
    "constant_of",
    "evaluate",
    "evaluate_text",
    "judge_test",
    "last_name",
    "runs_later",
    "suppresses_import_errors",
]

TestKind = Literal["type-checking", "main", "platform", "version", "conditional"]

_IMPORT_ERRORS = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))
_PLATFORM = frozenset(
    (("sys", "platform"), ("os", "name"), ("sys", "implementation"), ("platform", ""))
)
_VERSION = frozenset((("sys", "version_info"), ("sys", "hexversion"), ("sys", "version")))
_MAKES_NAMES = ("TYPE_CHECKING", "MYPY")


def judge_test(
    test: ast.expr, aliases: Collection[str] = ()
) -> tuple[TestKind, bool | None] | bool | None:
    """Say what a test depends on.

    Args:
        test: The test of an ``if``.
        aliases: Other names of ``TYPE_CHECKING`` in the module.

    Returns:
        True or False where the test is constant when a program runs. Else what kind it is, and the
        value that type checkers see for ``type-checking``, and for ``main`` what it is in the file
        that is run as a program.
    """
    constant = constant_of(test)
    if constant is not None:
        return constant
    checking = _value_when_checking(test, aliases)
    if checking is not None:
        return "type-checking", checking
    program = _value_in_program(test)
    if program is not None:
        return "main", program
    return _kind_of(test), None


def constant_of(test: ast.expr) -> bool | None:
    """The value of a test without any name in it, as the compiler folds it; None for others.

    ``...`` stands for what could not be read, and is no constant.
    """
    if isinstance(test, ast.Constant):
        return None if test.value is ... else bool(test.value)
    if isinstance(test, ast.Name) and test.id == "__debug__":
        return True
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        value = constant_of(test.operand)
        return None if value is None else not value
    return None


def _value_when_checking(test: ast.expr, aliases: Collection[str]) -> bool | None:
    """What a test comes to under a type checker, where it is the opposite when a program runs."""
    if isinstance(test, ast.Name):
        return True if test.id in _MAKES_NAMES or test.id in aliases else None
    if isinstance(test, ast.Attribute):
        return True if test.attr == "TYPE_CHECKING" else None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        value = _value_when_checking(test.operand, aliases)
        return None if value is None else not value
    if isinstance(test, ast.BoolOp):
        values = [_value_when_checking(each, aliases) for each in test.values]
        # `TYPE_CHECKING and x` is false when a program runs, whatever x is; so `x or not ...`.
        decisive = isinstance(test.op, ast.And)
        if decisive in values or all(value is not None for value in values):
            return decisive if decisive in values else not decisive
    return None


def _value_in_program(test: ast.expr) -> bool | None:
    """What ``__name__ == "__main__"`` comes to where it holds; None for other tests."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        value = _value_in_program(test.operand)
        return None if value is None else not value
    if isinstance(test, ast.BoolOp):
        decisive = isinstance(test.op, ast.And)
        return decisive if decisive in map(_value_in_program, test.values) else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    sides = (test.left, test.comparators[0])
    named = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    main = any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)
    if not named or not main or not isinstance(test.ops[0], ast.Eq | ast.NotEq):
        return None
    return isinstance(test.ops[0], ast.Eq)


def _kind_of(test: ast.expr) -> TestKind:
    found: TestKind = "conditional"
    for node in ast.walk(test):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            pair = (node.value.id, node.attr)
            if pair in _VERSION:
                found = "version"
            elif pair in _PLATFORM or node.value.id == "platform":
                return "platform"
    return found


def catches_import_errors(handler: ast.ExceptHandler) -> bool:
    """Whether a handler is for the errors of an import that fails."""
    return handler.type is None or _names_import_errors(handler.type)


def _names_import_errors(errors: ast.expr) -> bool:
    each = errors.elts if isinstance(errors, ast.Tuple) else [errors]
    return any(last_name(error) in _IMPORT_ERRORS for error in each)


def suppresses_import_errors(manager: ast.expr) -> bool:
    """Whether a context manager is ``contextlib.suppress`` of an import's errors."""
    if not isinstance(manager, ast.Call) or last_name(manager.func) != "suppress":
        return False
    return any(_names_import_errors(error) for error in manager.args)


def last_name(node: ast.expr) -> str:
    """The last part of ``a.b.c``, or a plain name; ``""`` for other expressions.

    Args:
        node: The expression.
    """
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def runs_later(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a call only makes a coroutine or a generator, which runs when it is asked.

    Args:
        function: The function that is called.
    """
    if isinstance(function, ast.AsyncFunctionDef):
        return True
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(node))
    return False


# On a target --------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def _parse(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def evaluate_text(text: str, environment: Mapping[str, str]) -> bool | None:
    """Evaluate a record's condition; see :func:`evaluate`."""
    test = _parse(text)
    return None if test is None else evaluate(test, environment)


def evaluate(test: ast.expr, environment: Mapping[str, str]) -> bool | None:
    """Evaluate a test for a target, as far as its marker variables decide it.

    Args:
        test: The test.
        environment: The target's marker variables (PEP 508).

    Returns:
        Its value, or None when something else decides.
    """
    value = constant_of(test)
    if value is None and isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        value = evaluate(test.operand, environment)
        value = None if value is None else not value
    elif isinstance(test, ast.BoolOp):
        values = [evaluate(each, environment) for each in test.values]
        decisive = isinstance(test.op, ast.Or)
        undecided = None if None in values else not decisive
        value = decisive if decisive in values else undecided
    elif isinstance(test, ast.Call):
        value = _evaluate_startswith(test, environment)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = (_value_of(node, environment) for node in (test.left, test.comparators[0]))
        value = _compare(test.ops[0], left, right)
    return value


def _evaluate_startswith(call: ast.Call, environment: Mapping[str, str]) -> bool | None:
    """``sys.platform.startswith("linux")``, the way the manual recommends."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr != "startswith":
        return None
    if len(call.args) != 1 or call.keywords:
        return None
    value, start = (_value_of(node, environment) for node in (function.value, call.args[0]))
    if not isinstance(value, str) or not isinstance(start, str | tuple):
        return None
    return value.startswith(start)


@dataclass(frozen=True, slots=True)
class _Interpreter:
    """``sys.version_info``: major and minor are known, and that three more parts follow."""

    known: tuple[int, int]

    def compare(self, operator: ast.cmpop, other: tuple[int, ...]) -> bool | None:
        """Compare with a literal; None where the parts that are not known decide."""
        known = self.known[: len(other)]
        if known == other[:2] and len(other) > 2:
            # No release comes before (3, 12, 0, "alpha"), so (3, 12, 0) is reached by all.
            floor = not any(other[2:]) and isinstance(operator, ast.Lt | ast.GtE)
            return isinstance(operator, ast.GtE) if floor else None
        # With equal parts the longer tuple is the greater one.
        greater = known >= other[:2]
        if isinstance(operator, ast.Eq | ast.NotEq):
            return isinstance(operator, ast.NotEq)
        return greater is isinstance(operator, ast.Gt | ast.GtE)


def _value_of(node: ast.expr, environment: Mapping[str, str]) -> object:
    """What an operand is on the target; None when that cannot be known."""
    with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ast.literal_eval(node)
    name = _dotted(node)
    if name in _VARIABLES:
        return environment.get(_VARIABLES[name])
    version = _version_info(environment)
    if version is None:
        return None
    if isinstance(node, ast.Subscript) and _dotted(node.value) == "sys.version_info":
        return _part_of(version, node.slice)
    return {
        "sys.version_info": _Interpreter(version),
        "sys.version_info.major": version[0],
        "sys.version_info.minor": version[1],
    }.get(name)


def _part_of(version: tuple[int, int], index: ast.expr) -> object:
    """``sys.version_info[0]`` and ``sys.version_info[:2]``."""
    if isinstance(index, ast.Slice):
        end = index.upper.value if isinstance(index.upper, ast.Constant) else None
        plain = index.lower is None and index.step is None
        return version[:end] if plain and isinstance(end, int) and end in {1, 2} else None
    at = index.value if isinstance(index, ast.Constant) else None
    return version[at] if isinstance(at, int) and at in {0, 1} else None


_VARIABLES = {
    "sys.platform": "sys_platform",
    "os.name": "os_name",
    "sys.implementation.name": "implementation_name",
    "platform.system()": "platform_system",
    "platform.machine()": "platform_machine",
    "platform.python_implementation()": "platform_python_implementation",
}


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        return f"{_dotted(node.func)}()"
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _version_info(environment: Mapping[str, str]) -> tuple[int, int] | None:
    parts = environment.get("python_version", "").split(".")
    if len(parts) != 2 or not all(map(str.isdecimal, parts)):
        return None
    return int(parts[0]), int(parts[1])


def _compare(operator: ast.cmpop, left: object, right: object) -> bool | None:
    if left is None or right is None or isinstance(right, _Interpreter):
        return None
    if isinstance(left, _Interpreter):
        return left.compare(operator, right) if _is_version(right) else None
    if isinstance(operator, ast.Eq | ast.NotEq):
        return (left == right) is isinstance(operator, ast.Eq)
    if isinstance(operator, ast.In | ast.NotIn):
        if not isinstance(left, str) or not isinstance(right, tuple | list | set | str):
            return None
        return (left in right) is isinstance(operator, ast.In)
    compare = _ORDERS.get(type(operator))
    numbers = isinstance(left, int) and isinstance(right, int)
    comparable = compare and (numbers or (_is_version(left) and _is_version(right)))
    return compare(left, right) if compare and comparable else None


_ORDERS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: lt,
    ast.LtE: le,
    ast.Gt: gt,
    ast.GtE: ge,
}


def _is_version(value: object) -> TypeGuard[tuple[int, ...]]:
    return isinstance(value, tuple) and all(isinstance(part, int) for part in value)

"""What evaluating an expression does, as far as it decides which imports work."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from distcycle.imports.conditions import judge_test, last_name
from distcycle.imports.replay.operations import Operation

__all__ = ["Expressions", "Test", "chain_of", "class_named"]

Test: TypeAlias = bool | str | tuple[str, str] | None
"""The value of a test when a program runs; its text where the target decides; a name and what is
asked of it (``true``, ``false``, ``none``, ``some``); None when it cannot be known."""

_EXITS = frozenset((("sys", "exit"), ("os", "_exit"), ("exit",), ("quit",)))
_ANCHORS = frozenset(("__package__", "__name__"))


class Expressions:
    """Appends to lists of operations what expressions do.

    Attributes:
        modules: The names that may stand for modules: an import bound them.
        functions: The module's own functions.
        called: Those of them that are called.
        bound: The first line that binds each of the module's names.
        checking: The names of ``TYPE_CHECKING``.
        depth: How many functions and classes the expression stands in.
        loaders: What imports a module by the name it is given, as it is called here.
    """

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.functions: set[str] = set()
        self.called: set[str] = set()
        self.bound: dict[str, int] = {}
        self.checking: set[str] = set()
        self.depth = 0
        self.loaders: set[tuple[str, ...]] = {("__import__",)}
        self._hidden: set[str] = set()
        self._visitors: dict[type, Callable[[Any, list[Operation]], None]] = {
            ast.Constant: _pass,
            ast.Name: _pass,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.Lambda: self._lambda,
            ast.BoolOp: self._boolean,
            ast.IfExp: self._choice,
            ast.NamedExpr: self._named,
            ast.ListComp: self._comprehension,
            ast.SetComp: self._comprehension,
            ast.DictComp: self._comprehension,
            ast.GeneratorExp: self._comprehension,
        }

    def bind(self, name: str, line: int, out: list[Operation], value: object = None) -> None:
        """Bind a name where the expression stands.

        Args:
            name: The name.
            line: The line that binds it.
            out: The operations to append to.
            value: What is known of its value: True, False, NOTHING or None.
        """
        if not self.depth:
            self.bound.setdefault(name, line)
        if out and out[-1][0] == "bind":
            out[-1][1].pop(name, None)
            out[-1][1][name] = value
        else:
            out.append(("bind", {name: value}))

    def visit(self, node: ast.AST, out: list[Operation]) -> None:
        """Append what evaluating a node does, in the order in which Python does it.

        Args:
            node: An expression, or what is made of expressions.
            out: The operations to append to.
        """
        visitor = self._visitors.get(type(node))
        if visitor is not None:
            visitor(node, out)
            return
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                self.visit_all(value, out)
            elif isinstance(value, ast.AST):
                self.visit(value, out)

    def visit_all(self, nodes: Iterable[ast.AST | None], out: list[Operation]) -> None:
        """Append what evaluating nodes one after the other does."""
        for node in nodes:
            if node is not None:
                self.visit(node, out)

    def judge(self, test: ast.expr) -> Test:
        """Say what decides on a test.

        Args:
            test: The test of an ``if``, or of anything like it.

        Returns:
            Its value where that is certain for every target, and else what to ask for it.
        """
        flag = _flag_of(test)
        judged = judge_test(test, self.checking)
        if isinstance(judged, bool):
            return judged
        kind, when_checking = judged if judged is not None else ("conditional", None)
        if kind == "type-checking":
            return not when_checking
        if kind == "main":
            return _is_main(test)
        return flag if kind == "conditional" else ast.unparse(test)

    def branch(
        self, line: int, test: Test, body: list[Operation], otherwise: list[Operation]
    ) -> list[Operation]:
        """Put together what a branch does.

        Args:
            line: The line of the test.
            test: What decides on it.
            body: What is done where it is true.
            otherwise: What is done where it is false.

        Returns:
            One of both where the test is decided already, and else an ``if``.
        """
        if isinstance(test, bool):
            return body if test else otherwise
        if not body and not otherwise:
            return []
        return [("if", line, test, tuple(body), tuple(otherwise))]

    def load_of(self, node: ast.Call) -> Operation | None:
        """Read ``importlib.import_module("name")`` and ``__import__("name")``, if it is that."""
        function = chain_of(node.func)
        if function not in self.loaders or not node.args:
            return None
        first = node.args[0]
        if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
            return None
        if function == ("__import__",):
            return None if len(node.args) > 1 else ("load", node.lineno, first.value, "")
        if not first.value.startswith("."):
            return "load", node.lineno, first.value, ""
        given = [*node.args[1:2], *(word.value for word in node.keywords if word.arg == "package")]
        anchor = _anchor_of(given[0]) if given else None
        return None if anchor is None else ("load", node.lineno, first.value, anchor)

    def _attribute(self, node: ast.Attribute, out: list[Operation]) -> None:
        chain = chain_of(node)
        if not chain:
            self.visit(node.value, out)
        elif chain[0] in self.modules and chain[0] not in self._hidden:
            out.append(("get", node.lineno, chain, ""))

    def _call(self, node: ast.Call, out: list[Operation]) -> None:
        self.visit(node.func, out)
        self.visit_all(node.args, out)
        self.visit_all(node.keywords, out)
        load = self.load_of(node)
        if load is not None:
            out.append((*load, ""))
        elif isinstance(node.func, ast.Name) and node.func.id in self.functions:
            self.called.add(node.func.id)
            out.append(("call", node.lineno, node.func.id))
        elif chain_of(node.func) in _EXITS:
            out.append(("raise", node.lineno, "SystemExit"))

    def _lambda(self, node: ast.Lambda, out: list[Operation]) -> None:
        self.visit_all((*node.args.defaults, *node.args.kw_defaults), out)

    def _boolean(self, node: ast.BoolOp, out: list[Operation]) -> None:
        self._each(node.values, isinstance(node.op, ast.And), out)

    def _each(self, values: Sequence[ast.expr], goes_on: bool, out: list[Operation]) -> None:
        """Operands of ``and`` (goes on when true) or ``or``: the next only if this does not do."""
        self.visit(values[0], out)
        if len(values) > 1:
            rest: list[Operation] = []
            self._each(values[1:], goes_on, rest)
            both = (rest, []) if goes_on else ([], rest)
            out.extend(self.branch(values[0].lineno, self.judge(values[0]), *both))

    def _choice(self, node: ast.IfExp, out: list[Operation]) -> None:
        self.visit(node.test, out)
        body: list[Operation] = []
        otherwise: list[Operation] = []
        self.visit(node.body, body)
        self.visit(node.orelse, otherwise)
        out.extend(self.branch(node.lineno, self.judge(node.test), body, otherwise))

    def _named(self, node: ast.NamedExpr, out: list[Operation]) -> None:
        self.visit(node.value, out)
        self.bind(node.target.id, node.lineno, out)

    def _comprehension(
        self,
        node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp,
        out: list[Operation],
    ) -> None:
        """The first iterable is evaluated; what follows only when it has elements."""
        first, *others = node.generators
        self.visit(first.iter, out)
        hidden = {
            name.id
            for generator in node.generators
            for name in ast.walk(generator.target)
            if isinstance(name, ast.Name)
        } - self._hidden
        self._hidden |= hidden
        inner: list[Operation] = []
        self.visit_all(first.ifs, inner)
        self.visit_all(others, inner)
        elements = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        self.visit_all(elements, inner)
        self._hidden -= hidden
        out.extend(self.branch(node.lineno, None, inner, []))


def _pass(_node: ast.AST, _out: list[Operation]) -> None:
    """Names and constants do nothing."""


def chain_of(node: ast.expr) -> tuple[str, ...]:
    """The parts of ``a.b.c``; none when it begins with anything but a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ()
    return (node.id, *reversed(parts))


def class_named(node: ast.expr | None) -> str:
    """The class that ``raise`` or ``except`` names, without the module it is taken from."""
    if isinstance(node, ast.Call):
        node = node.func
    return "" if node is None else last_name(node)


def _anchor_of(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name) and node.id in _ANCHORS:
        return node.id
    return "__package__" if chain_of(node) == ("__spec__", "parent") else None


def _flag_of(test: ast.expr) -> tuple[str, str] | None:
    """Tests of one name alone, such as ``HAS_TORCH``, ``not HAS_TORCH`` and ``torch is None``."""
    if isinstance(test, ast.Name):
        return test.id, "true"
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _flag_of(test.operand)
        return (inner[0], _OPPOSITES[inner[1]]) if inner else None
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and len(test.ops) == 1:
        right = test.comparators[0]
        if isinstance(right, ast.Constant) and right.value is None:
            if isinstance(test.ops[0], ast.Is):
                return test.left.id, "none"
            if isinstance(test.ops[0], ast.IsNot):
                return test.left.id, "some"
    return None


_OPPOSITES = {"true": "false", "false": "true", "none": "some", "some": "none"}


def _is_main(test: ast.expr) -> bool | None:
    """The value of a test of ``__name__`` in a module that is imported."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        literals = [
            side.value
            for side in (test.left, test.comparators[0])
            if isinstance(side, ast.Constant)
        ]
        if literals == ["__main__"] and isinstance(test.ops[0], ast.Eq | ast.NotEq):
            return isinstance(test.ops[0], ast.NotEq)
    values = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else ()
    return False if any(_is_main(value) is False for value in values) else None

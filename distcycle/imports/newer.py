"""Reads files whose syntax is newer than this interpreter's, as far as imports need it.

libcst knows every grammar up to Python 3.15; what it finds is turned into the standard library's
nodes, so that all else here knows one kind of tree. Expressions that this interpreter cannot read
become ``...``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import libcst as cst

__all__ = ["parse_newer"]


def parse_newer(source: bytes) -> ast.Module | None:
    """Parse a file by the newest grammar that is known.

    Args:
        source: The file.

    Returns:
        Its statements, without the arguments of functions; None when it is no Python either.
    """
    import libcst as cst
    from libcst.metadata import MetadataWrapper, PositionProvider

    try:
        module = cst.parse_module(source)
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        positions = wrapper.resolve(PositionProvider)
        return ast.Module(_Conversion(module, positions).block(module.body), [])
    except (cst.ParserSyntaxError, UnicodeDecodeError, SyntaxError, RecursionError):
        return None


class _Conversion:
    def __init__(self, module: cst.Module, positions: Mapping[Any, Any]) -> None:
        self._module = module
        self._positions = positions

    def block(self, body: Sequence[cst.CSTNode]) -> list[ast.stmt]:
        statements: list[ast.stmt] = []
        for node in body:
            parts = getattr(node, "body", None)
            if isinstance(parts, list | tuple) and type(node).__name__ == "SimpleStatementLine":
                statements += [each for part in parts for each in self._simple(part)]
            else:
                statements.append(self._placed(self._compound(node), node))
        return statements

    def _inner(self, node: Any) -> list[ast.stmt]:
        """The statements of a suite, indented or on the same line."""
        if node is None:
            return []
        if type(node).__name__ == "SimpleStatementSuite":
            return [each for part in node.body for each in self._simple(part)]
        return self.block(node.body)

    def _simple(self, node: cst.CSTNode) -> list[ast.stmt]:
        first = self._positions[node].start.line
        text = self._module.code_for_node(node).strip().rstrip(";")
        is_lazy = type(node).__name__ in ("LazyImport", "LazyImportFrom")
        try:
            parsed = ast.parse(text.removeprefix("lazy").lstrip() if is_lazy else text).body
        except (SyntaxError, ValueError):
            parsed = [ast.Pass(lineno=1, end_lineno=1, col_offset=0, end_col_offset=0)]
        for statement in parsed:
            ast.increment_lineno(statement, first - 1)
            if is_lazy:
                statement.is_lazy = True  # type: ignore[attr-defined]  # as Python 3.15 has it
        return parsed

    def _compound(self, node: Any) -> ast.stmt:
        convert = {
            "FunctionDef": self._function,
            "ClassDef": self._class,
            "If": self._if,
            "Try": self._try,
            "TryStar": self._try,
            "With": self._with,
            "For": self._for,
            "While": self._while,
            "Match": self._match,
        }[type(node).__name__]
        return convert(node)

    def _class(self, node: Any) -> ast.stmt:
        return self._built(
            ast.ClassDef,
            name=node.name.value,
            bases=[self._expression(each.value) for each in node.bases],
            keywords=[],
            body=self._inner(node.body),
            decorator_list=self._decorators(node),
        )

    def _if(self, node: Any) -> ast.stmt:
        test, body = self._expression(node.test), self._inner(node.body)
        return ast.If(test=test, body=body, orelse=self._orelse(node.orelse))

    def _while(self, node: Any) -> ast.stmt:
        test, body = self._expression(node.test), self._inner(node.body)
        return ast.While(test=test, body=body, orelse=self._orelse(node.orelse))

    def _with(self, node: Any) -> ast.stmt:
        items = [ast.withitem(self._expression(each.item), None) for each in node.items]
        return ast.With(items=items, body=self._inner(node.body))

    def _for(self, node: Any) -> ast.stmt:
        return ast.For(
            target=self._target(node.target),
            iter=self._expression(node.iter),
            body=self._inner(node.body),
            orelse=self._orelse(node.orelse),
        )

    def _match(self, node: Any) -> ast.stmt:
        cases = [ast.match_case(ast.MatchAs(), None, self._inner(case.body)) for case in node.cases]
        return ast.Match(subject=self._expression(node.subject), cases=cases)

    def _function(self, node: Any) -> ast.stmt:
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return self._built(
            ast.FunctionDef if node.asynchronous is None else ast.AsyncFunctionDef,
            name=node.name.value,
            args=nothing,
            body=self._inner(node.body),
            decorator_list=self._decorators(node),
        )

    @staticmethod
    def _built(kind: Any, **fields: Any) -> ast.stmt:
        """Make a definition; from Python 3.12 on its type parameters are a field too."""
        if "type_params" in kind._fields:
            fields["type_params"] = []
        built: ast.stmt = kind(**fields)
        return built

    def _decorators(self, node: Any) -> list[ast.expr]:
        return [self._expression(each.decorator) for each in node.decorators]

    def _try(self, node: Any) -> ast.stmt:
        handlers = []
        for each in node.handlers:
            caught = None if each.type is None else self._expression(each.type)
            name = None if each.name is None else each.name.name.value
            handler = ast.ExceptHandler(type=caught, name=name, body=self._inner(each.body))
            handlers.append(self._placed(handler, each))
        return ast.Try(
            body=self._inner(node.body),
            handlers=handlers,
            orelse=self._orelse(node.orelse),
            finalbody=self._orelse(node.finalbody),
        )

    def _orelse(self, node: Any) -> list[ast.stmt]:
        if node is None:
            return []
        if type(node).__name__ == "If":
            return self.block([node])
        return self._inner(node.body)

    def _target(self, node: Any) -> ast.expr:
        target = self._expression(node)
        for each in ast.walk(target):
            if hasattr(each, "ctx"):
                each.ctx = ast.Store()
        return target

    def _expression(self, node: Any) -> ast.expr:
        first = self._positions[node].start.line
        try:
            parsed = ast.parse(f"({self._module.code_for_node(node)})", mode="eval").body
        except (SyntaxError, ValueError):
            parsed = ast.Constant(..., lineno=1, end_lineno=1, col_offset=0, end_col_offset=0)
        ast.increment_lineno(parsed, first - 1)
        return parsed

    def _placed(self, made: Any, node: cst.CSTNode) -> Any:
        """Give a node its lines; a definition begins at its name, as in the standard library."""
        place = self._positions[node]
        name = getattr(node, "name", None)
        named = isinstance(made, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        made.lineno = self._positions[name].start.line if named else place.start.line
        made.end_lineno = place.end.line
        made.col_offset = made.end_col_offset = 0
        return made

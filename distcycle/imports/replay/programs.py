"""Reads what a module's top level does out of its source, without running any of it.

Source: https://docs.python.org/3/reference/executionmodel.html and, for what is evaluated when, the
pages on simple and compound statements of the same reference.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from distcycle.imports.conditions import last_name, runs_later
from distcycle.imports.replay.exports import added_to_all, exported_by, parts_of
from distcycle.imports.replay.expressions import Expressions, chain_of, class_named
from distcycle.imports.replay.operations import NOTHING, Block, Operation, Program

__all__ = ["program_of", "read_program"]

_MAKES_NAMES = re.compile(rb"\b(?:globals|vars|locals|exec)\s*\(|sys\.modules|__dict__")
_EVALUATED_BEFORE = "sys.version_info < (3, 14)"  # PEP 649 makes annotations lazy
_Out: TypeAlias = list[Operation]


def read_program(source: bytes) -> Program:
    """Read a module's program.

    Args:
        source: The file's bytes; it may begin with a byte order mark, or name its encoding.

    Returns:
        The program. One that this Python cannot parse has a fault, and nothing else.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return Program(fault=error.msg, fault_line=error.lineno)
    except (ValueError, RecursionError, MemoryError) as error:
        return Program(fault=str(error) or type(error).__name__)
    return program_of(tree, source)


def program_of(tree: ast.Module, source: bytes) -> Program:
    """Read a module's program out of its syntax tree, for a caller that has it.

    Args:
        tree: The syntax tree.
        source: The bytes that it was parsed from.

    Returns:
        The program.
    """
    reader = _Statements()
    try:
        operations, functions = reader.read(tree)
    except RecursionError:
        return Program(fault="too deeply nested")
    return Program(
        operations=operations,
        functions=functions,
        bound=reader.bound,
        exported=exported_by(operations),
        computes_names="__getattr__" in reader.bound,
        makes_names=_MAKES_NAMES.search(source) is not None,
        makes_modules=b"sys.modules" in source,
    )


class _Statements(Expressions):
    """Appends to lists of operations what statements do."""

    def __init__(self) -> None:
        super().__init__()
        self._indexes: list[ast.FunctionDef] = []
        self._lazy_annotations = False
        self._handled: list[str] = []
        self._statements: dict[type, Callable[[Any, _Out], None]] = {
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class,
            ast.If: self._if,
            ast.Try: self._try,
            ast.With: self._with,
            ast.AsyncWith: self._with,
            ast.For: self._for,
            ast.AsyncFor: self._for,
            ast.While: self._while,
            ast.Match: self._match,
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented,
            ast.Delete: self._delete,
            ast.Raise: self._raise,
            ast.Return: self._return,
            ast.Expr: self._expression,
            ast.Global: _ignore,
            ast.Nonlocal: _ignore,
        }
        for name in ("TryStar", "TypeAlias"):  # Python 3.11 and 3.12
            if hasattr(ast, name):
                visit = self._try if name == "TryStar" else self._type_alias
                self._statements[getattr(ast, name)] = visit

    def read(self, tree: ast.Module) -> tuple[Block, tuple[Block, ...]]:
        """Read the top level, then the functions that it calls, and those that these call."""
        top = self.block(tree.body)
        bodies: dict[int, Block] = {}
        self.depth += 1
        while True:
            todo = [
                index
                for index, function in enumerate(self._indexes)
                if function.name in self.called and index not in bodies
            ]
            if not todo:
                break
            for index in todo:
                bodies[index] = self._body_of(self._indexes[index])
        self.depth -= 1
        places = {index: place for place, index in enumerate(sorted(bodies))}
        functions = tuple(_tidy(bodies[index], places) for index in sorted(bodies))
        return _tidy(top, places), functions

    def block(self, body: Sequence[ast.stmt]) -> Block:
        """What a block does."""
        out: _Out = []
        self.statements(body, out)
        return tuple(out)

    def statements(self, body: Sequence[ast.stmt], out: _Out) -> None:
        """Append what statements do; those behind a jump are not reached, or may not be."""
        for count, statement in enumerate(body, start=1):
            visit = self._statements.get(type(statement), self.visit)
            visit(statement, out)
            if isinstance(statement, _ENDS):
                return
            if isinstance(statement, _BLOCKS) and _jumps(statement, in_loop=False):
                rest = list(self.block(body[count:]))
                out.extend(self.branch(statement.lineno, None, rest, []))
                return

    # Imports --------------------------------------------------------------------------------------

    def _import(self, node: ast.Import, out: _Out) -> None:
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            self._note_import(bound, node.lineno)
            if alias.name == "importlib" or (bound == "importlib" and not alias.asname):
                self.loaders.add((bound, "import_module"))
            out.append(("import", node.lineno, alias.name, alias.asname or ""))

    def _import_from(self, node: ast.ImportFrom, out: _Out) -> None:
        module = node.module or ""
        if module == "__future__" and not node.level:
            for alias in node.names:
                self._lazy_annotations |= alias.name == "annotations"
                self.bind(alias.asname or alias.name, node.lineno, out)
            return
        if node.names[0].name == "*":
            out.append(("star", node.lineno, module, node.level))
            return
        names = tuple((alias.name, alias.asname or alias.name) for alias in node.names)
        for name, bound in names:
            self._note_import(bound, node.lineno)
            if name == "TYPE_CHECKING":
                self.checking.add(bound)
            elif (module, name) == ("importlib", "import_module"):
                self.loaders.add((bound,))
        out.append(("from", node.lineno, module, node.level, names))

    def _note_import(self, name: str, line: int) -> None:
        self.modules.add(name)
        if not self.depth:
            self.bound.setdefault(name, line)

    # Definitions ----------------------------------------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, out: _Out) -> None:
        arguments = node.args
        self.visit_all(node.decorator_list, out)
        self.visit_all((*arguments.defaults, *arguments.kw_defaults), out)
        every = (*arguments.posonlyargs, *arguments.args, arguments.vararg)
        every = (*every, *arguments.kwonlyargs, arguments.kwarg)
        annotations = [argument.annotation for argument in every if argument is not None]
        self._annotations((*annotations, node.returns), out)
        if self.depth or isinstance(node, ast.AsyncFunctionDef):
            self.bind(node.name, node.lineno, out)
            self._decorate(node, out)
            return
        self.bound.setdefault(node.name, node.lineno)
        self.functions.add(node.name)
        out.append(("define", node.name, len(self._indexes)))
        self._indexes.append(node)
        self._decorate(node, out)

    def _decorate(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, out: _Out
    ) -> None:
        """Call the decorators, the last first; what one returns takes the name."""
        for decorator in reversed(node.decorator_list):
            if isinstance(decorator, ast.Name) and decorator.id in self.functions:
                self.called.add(decorator.id)
                out.append(("call", decorator.lineno, decorator.id))

    def _annotations(self, nodes: Sequence[ast.expr | None], out: _Out) -> None:
        if self._lazy_annotations or not any(nodes):
            return
        inner: _Out = []
        self.visit_all(nodes, inner)
        if inner:
            out.append(("if", inner[0][1], _EVALUATED_BEFORE, tuple(inner), ()))

    def _body_of(self, node: ast.FunctionDef) -> Block:
        """What a function does once it is called; what it declares global is the module's."""
        if runs_later(node):
            return ()
        out: _Out = []
        arguments = node.args
        named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        for argument in (*named, arguments.vararg, arguments.kwarg):
            if argument is not None:
                self.bind(argument.arg, node.lineno, out)
        shared = tuple(
            name for part in ast.walk(node) if isinstance(part, ast.Global) for name in part.names
        )
        for name in shared:
            self.bound.setdefault(name, node.lineno)
        self.statements(node.body, out)
        return (("global", shared), *out)

    def _class(self, node: ast.ClassDef, out: _Out) -> None:
        self.visit_all(node.decorator_list, out)
        self.visit_all(node.bases, out)
        self.visit_all(node.keywords, out)
        self.depth += 1
        body = self.block(node.body)
        self.depth -= 1
        if any(operation[0] not in ("bind", "unbind") for operation in body):
            out.append(("scope", body))
        self._decorate(node, out)
        self.bind(node.name, node.lineno, out)

    def _type_alias(self, node: Any, out: _Out) -> None:
        self.bind(node.name.id, node.lineno, out)

    # Branches -------------------------------------------------------------------------------------

    def _if(self, node: ast.If, out: _Out) -> None:
        self.visit(node.test, out)
        test = self.judge(node.test)
        if isinstance(test, bool):
            self.statements(node.body if test else node.orelse, out)
        else:
            body, otherwise = self.block(node.body), self.block(node.orelse)
            out.extend(self.branch(node.lineno, test, list(body), list(otherwise)))

    def _try(self, node: ast.Try, out: _Out) -> None:
        body = self.block(node.body)
        handlers = tuple(self._handler(handler) for handler in node.handlers)
        otherwise, final = self.block(node.orelse), self.block(node.finalbody)
        out.append(("try", body, handlers, otherwise, final))

    def _handler(self, node: ast.ExceptHandler) -> tuple[tuple[str, ...] | None, Block]:
        out: _Out = []
        if node.name:
            self.bind(node.name, node.lineno, out)
        self._handled.append(node.name or "")
        self.statements(node.body, out)
        self._handled.pop()
        if node.name:
            out.append(("unbind", (node.name,)))
        return _errors_of(node.type), tuple(out)

    def _with(self, node: ast.With | ast.AsyncWith, out: _Out) -> None:
        suppressed: list[str] = []
        for item in node.items:
            call = item.context_expr
            self.visit(call, out)
            if isinstance(call, ast.Call) and last_name(call.func) == "suppress":
                suppressed += [name for error in call.args for name in _errors_of(error) or ()]
            if item.optional_vars is not None:
                self._target(item.optional_vars, out)
        body = self.block(node.body)
        if suppressed:
            out.append(("try", body, ((tuple(suppressed), ()),), (), ()))
        else:
            out.extend(body)

    def _for(self, node: ast.For | ast.AsyncFor, out: _Out) -> None:
        self.visit(node.iter, out)
        inner: _Out = []
        self._target(node.target, inner)
        self.statements(node.body, inner)
        out.extend(self.branch(node.lineno, _is_filled(node.iter) or None, inner, []))
        self.statements(node.orelse, out)

    def _while(self, node: ast.While, out: _Out) -> None:
        self.visit(node.test, out)
        test = self.judge(node.test)
        if test is not False:
            always = test if isinstance(test, bool) else None
            out.extend(self.branch(node.lineno, always, list(self.block(node.body)), []))
        self.statements(node.orelse, out)

    def _match(self, node: ast.Match, out: _Out) -> None:
        self.visit(node.subject, out)
        for case in node.cases:
            inner: _Out = []
            self.visit(case.pattern, inner)
            for part in ast.walk(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    self.bind(name, part.lineno, inner)  # type: ignore[attr-defined]
            if case.guard is not None:
                self.visit(case.guard, inner)
            self.statements(case.body, inner)
            out.extend(self.branch(node.lineno, None, inner, []))

    # Values ---------------------------------------------------------------------------------------

    def _assign(self, node: ast.Assign, out: _Out) -> None:
        single = node.targets[0] if len(node.targets) == 1 else None
        if isinstance(single, ast.Name):
            if single.id == "__all__":
                self._export(node.value, extends=False, line=node.lineno, out=out)
            else:
                self._assign_name(single, node.value, out)
            return
        self.visit(node.value, out)
        for target in node.targets:
            self._target(target, out)

    def _assign_name(self, target: ast.Name, value: ast.expr, out: _Out) -> None:
        """Assign to one name, which keeps what is known of the value."""
        name = target.id
        if isinstance(value, ast.Constant):
            self.bind(name, target.lineno, out, _constant(value.value))
            return
        self.visit(value, out)
        test = self.judge(value) if isinstance(value, _TESTS) else None
        if isinstance(test, bool | str):
            self.bind(name, target.lineno, [])
            known = [("bind", {name: True})], [("bind", {name: False})]
            out.extend(self.branch(target.lineno, test, *known))
            return
        last = out[-1] if out else ("",)
        source = chain_of(value)
        if len(source) == 1 and source[0] in self.modules:
            out.append(("copy", name, source[0]))
        elif last[0] == "get" and last[2] == source:
            out[-1] = ("get", last[1], source, name)
        elif isinstance(value, ast.Call) and last[0] == "load" and self.load_of(value) == last[:-1]:
            out[-1] = (*last[:-1], name)
        else:
            self.bind(name, target.lineno, out)
            return
        self._note_import(name, target.lineno)

    def _export(self, value: ast.expr, *, extends: bool, line: int, out: _Out) -> None:
        self.visit(value, out)
        parts = parts_of(value)
        if parts is None:
            self.bind("__all__", line, out)
            return
        if not self.depth:
            self.bound.setdefault("__all__", line)
        out.append(("export", line, parts, extends))

    def _target(self, target: ast.expr, out: _Out) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, target.lineno, out)
        elif isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                self._target(element, out)
        elif isinstance(target, ast.Starred):
            self._target(target.value, out)
        elif isinstance(target, ast.Attribute):
            self._attribute_target("put", target, out)
        else:
            self.visit(target, out)

    def _attribute_target(self, operation: str, target: ast.Attribute, out: _Out) -> None:
        chain = chain_of(target)
        if chain and chain[0] in self.modules:
            out.append((operation, target.lineno, chain))
        elif not chain:
            self.visit(target.value, out)

    def _annotated(self, node: ast.AnnAssign, out: _Out) -> None:
        target = node.target
        if node.value is not None:
            if isinstance(target, ast.Name) and target.id == "__all__":
                self._export(node.value, extends=False, line=node.lineno, out=out)
            elif isinstance(target, ast.Name):
                self._assign_name(target, node.value, out)
            else:
                self.visit(node.value, out)
                self._target(target, out)
        self._annotations((node.annotation,), out)

    def _augmented(self, node: ast.AugAssign, out: _Out) -> None:
        target = node.target
        if isinstance(target, ast.Name) and target.id == "__all__":
            self._export(node.value, extends=True, line=node.lineno, out=out)
            return
        if isinstance(target, ast.Attribute):
            chain = chain_of(target)
            if chain and chain[0] in self.modules:
                out.append(("get", target.lineno, chain, ""))
        self.visit(node.value, out)
        self._target(target, out)

    def _delete(self, node: ast.Delete, out: _Out) -> None:
        for target in node.targets:
            for part in target.elts if isinstance(target, ast.Tuple | ast.List) else (target,):
                if isinstance(part, ast.Name):
                    out.append(("unbind", (part.id,)))
                elif isinstance(part, ast.Attribute):
                    self._attribute_target("drop", part, out)
                else:
                    self.visit(part, out)

    # Ends -----------------------------------------------------------------------------------------

    def _raise(self, node: ast.Raise, out: _Out) -> None:
        if node.exc is not None:
            self.visit(node.exc, out)
        if node.cause is not None:
            self.visit(node.cause, out)
        error = class_named(node.exc)
        again = node.exc is None or error in self._handled
        out.append(("raise", node.lineno, "" if again else error or "Exception"))

    def _return(self, node: ast.Return, out: _Out) -> None:
        if node.value is not None:
            self.visit(node.value, out)
        out.append(("return",))

    def _expression(self, node: ast.Expr, out: _Out) -> None:
        added = added_to_all(node.value)
        if added is None:
            self.visit(node.value, out)
        else:
            self._export(added, extends=True, line=node.lineno, out=out)


_ENDS = ast.Raise | ast.Return | ast.Continue | ast.Break
_LOOPS = ast.For | ast.AsyncFor | ast.While
_BLOCKS = _LOOPS | ast.If | ast.Try | ast.With | ast.AsyncWith | ast.Match
_TESTS = ast.Compare | ast.UnaryOp
_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _jumps(node: ast.AST, *, in_loop: bool) -> bool:
    """Whether a statement may jump over those that follow it."""
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, ast.Continue | ast.Break):
        return not in_loop
    if isinstance(node, ast.expr | _DEFINITIONS):
        return False
    inner = in_loop or isinstance(node, _LOOPS)
    return any(_jumps(child, in_loop=inner) for child in ast.iter_child_nodes(node))


def _ignore(_node: ast.stmt, _out: _Out) -> None:
    """Declarations do nothing."""


def _constant(value: object) -> object:
    """What is kept of a constant: what tests ask for."""
    if value is None:
        return NOTHING
    return value if isinstance(value, bool) else None


def _errors_of(node: ast.expr | None) -> tuple[str, ...] | None:
    """The errors that a handler is for; None for every error."""
    if node is None:
        return None
    each = node.elts if isinstance(node, ast.Tuple) else [node]
    return tuple(class_named(error) for error in each)


def _is_filled(iterable: ast.expr) -> bool:
    """Whether a loop runs at least once for certain."""
    if isinstance(iterable, ast.Tuple | ast.List | ast.Set):
        return any(not isinstance(element, ast.Starred) for element in iterable.elts)
    return isinstance(iterable, ast.Constant) and bool(iterable.value)


# What is never asked for --------------------------------------------------------------------------


def _tidy(block: Block, functions: dict[int, int]) -> Block:
    """Turn functions that are not called into plain names, and number the others."""
    out: _Out = []
    for operation in block:
        tidied = _tidied(operation, functions)
        if tidied[0] == "bind" and out and out[-1][0] == "bind":
            out[-1] = ("bind", out[-1][1] | tidied[1])
        else:
            out.append(tidied)
    return tuple(out)


def _tidied(operation: Operation, functions: dict[int, int]) -> Operation:
    what, *rest = operation
    if what == "define":
        name, index = rest
        place = functions.get(index)
        return ("bind", {name: None}) if place is None else (what, name, place)
    if what == "if":
        line, test, *blocks = rest
        return (what, line, test, *(_tidy(block, functions) for block in blocks))
    if what == "try":
        body, handlers, *blocks = rest
        handlers = tuple((errors, _tidy(handler, functions)) for errors, handler in handlers)
        blocks = [_tidy(block, functions) for block in blocks]
        return (what, _tidy(body, functions), handlers, *blocks)
    return (what, _tidy(rest[0], functions)) if what == "scope" else operation

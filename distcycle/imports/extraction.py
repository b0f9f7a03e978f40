"""Reads the imports of one file out of its source text.

Only statements that hold the word ``import`` are looked into, so that parsing is nearly all of the
time that is taken.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from distcycle.imports.bindings import bound_names, find_exported
from distcycle.imports.conditions import (
    catches_import_errors,
    constant_of,
    judge_test,
    runs_later,
    suppresses_import_errors,
)
from distcycle.imports.records import FileImports, Form, ImportRecord, Kind, Modifier

__all__ = ["extract", "extract_tree", "parse_source"]

_WORD = re.compile(rb"import")
_CALLS = re.compile(rb"import_module|__import__")
_RENAMED = re.compile(rb"import_module\s+as\b")
_TOO_DEEP = "nested too deeply"
_ANY_LINE = re.compile(rb"^", re.MULTILINE)
_SIMPLE = (
    ast.Expr,
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.Return,
    ast.Raise,
    ast.Assert,
    ast.Delete,
)
_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def extract(source: bytes, *, is_package: bool = False, newer: bool = False) -> FileImports:
    """Read what a file imports.

    Args:
        source: The file.
        is_package: Whether it is the ``__init__`` of a package, so that the names that it binds
            matter too.
        newer: Whether syntax that is newer than this interpreter's is read as well. That parser
            ends the process on text that is nested far too deeply.

    Returns:
        Its imports; a file that cannot be parsed gives a fault and no records.
    """
    if not is_package and _WORD.search(source) is None:
        return FileImports()
    try:
        tree = parse_source(source, newer=newer)
    except SyntaxError as error:
        return FileImports(fault=error.msg, fault_line=error.lineno)
    except (ValueError, RecursionError, MemoryError) as error:
        return FileImports(fault=str(error) or _TOO_DEEP)
    return extract_tree(tree, source, is_package=is_package)


def extract_tree(tree: ast.Module, source: bytes, *, is_package: bool = False) -> FileImports:
    """Read what a file imports out of its syntax tree; see :func:`extract`.

    Args:
        tree: The syntax tree.
        source: The file.
        is_package: Whether it is the ``__init__`` of a package.
    """
    if b"\r" in source:
        # A carriage return ends a line too, by itself as well.
        source = source.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    # Under another name a function that imports may be called on any line.
    lines = _lines_with(_ANY_LINE if _RENAMED.search(source) else _WORD, source)
    try:
        reading = _Reading(lines, calls=_CALLS.search(source) is not None)
        reading.read_block(tree.body, _Context())
        records = reading.finish(tree, source)
    except RecursionError:
        return FileImports(fault=_TOO_DEEP)
    if not is_package:
        return FileImports(records=records)
    bound = bound_names(tree.body)
    return FileImports(
        records=records,
        bound=bound,
        exported=find_exported(tree.body),
        computes_names="__getattr__" in bound,
    )


def parse_source(source: bytes, *, newer: bool = True) -> ast.Module:
    """Parse a file by this interpreter's grammar, or by a newer one where that does not do.

    Args:
        source: The file.
        newer: Whether to try the newer one, on a file that is known not to end the process.

    Raises:
        SyntaxError: It is no Python that is known here.
        ValueError: It holds a NUL byte.
        RecursionError: It is nested too deeply.
        MemoryError: So it is, as older parsers say it.
    """
    try:
        return ast.parse(source)
    except SyntaxError as error:
        if not newer:
            raise
        from distcycle.imports.newer import parse_newer

        tree = parse_newer(source)
        if tree is None:
            raise error from None
        return tree


def _lines_with(pattern: re.Pattern[bytes], source: bytes) -> list[int]:
    """The lines, counted from 1, on which a pattern is found."""
    return _lines_at((match.start() for match in pattern.finditer(source)), source)


def _lines_at(positions: Iterable[int], source: bytes) -> list[int]:
    """The lines, counted from 1, of ascending positions."""
    lines = []
    before, line = 0, 1
    for position in positions:
        line += source.count(b"\n", before, position)
        before = position
        lines.append(line)
    return lines


_Named = tuple[Form, str, int, tuple[tuple[str, str | None], ...]]
"""Form, module, level and names of a record."""

_OPAQUE: _Named = ("opaque", "", 0, ())


class _Context(NamedTuple):
    """What the statements around a statement decide."""

    kind: Kind = "static"
    modifiers: tuple[Modifier, ...] = ()
    scope: str = ""
    condition: str | None = None
    owner: str = ""
    """The class whose name mangles private names here."""

    def under(self, *modifiers: Modifier) -> _Context:
        return self._replace(modifiers=(*self.modifiers, *modifiers))

    def inside(self, name: str) -> _Context:
        return self._replace(scope=f"{self.scope}.{name}" if self.scope else name)

    def only(self, kind: Kind) -> _Context:
        """What is for type checkers stays so; what is dead never runs in a function either."""
        order = ("type-checking", "dead", "main", "lazy", "static")
        return self._replace(kind=min(self.kind, kind, key=order.index))

    def where(self, modifier: Modifier, condition: str) -> _Context:
        if self.condition is not None:
            condition = f"{self.condition} and {condition}"
        return self.under(modifier)._replace(condition=condition)


@dataclass(slots=True)
class _Call:
    """A call that may import: of what is decided when all imports of the file are known."""

    node: ast.Call
    context: _Context


class _Reading:
    """One file's imports, as they are found."""

    def __init__(self, lines: list[int], *, calls: bool) -> None:
        self._lines = lines
        self._seeks_calls = calls
        self._records: list[ImportRecord] = []
        self._calls: list[_Call] = []
        self._checking: set[str] = set()

    def read_block(self, body: Sequence[ast.stmt], context: _Context) -> None:
        lines = self._lines
        count = len(lines)
        for statement in body:
            kind = type(statement)
            if kind is ast.Import or kind is ast.ImportFrom:
                self._read_import(statement, context)  # type: ignore[arg-type]
                continue
            first = statement.lineno
            if kind in _DECORATED and statement.decorator_list:  # type: ignore[attr-defined]
                first = statement.decorator_list[0].lineno  # type: ignore[attr-defined]
            at = bisect_left(lines, first)
            if at < count and lines[at] <= (statement.end_lineno or first):
                self._read_statement(statement, context)
            if kind in _ENDS:
                context = context.only("dead")

    def _read_import(self, node: ast.Import | ast.ImportFrom, context: _Context) -> None:
        if getattr(node, "is_lazy", False):
            context = context.only("lazy").under("keyword")
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = _mangle(alias.name, context.owner)
                self._add(node, ("import", name, 0, ((name, alias.asname),)), context)
        elif node.module != "__future__" or node.level:
            names = tuple((alias.name, alias.asname) for alias in node.names)
            self._checking.update(new for old, new in names if old == "TYPE_CHECKING" and new)
            form: Form = "star" if names[0][0] == "*" else "from"
            module = _mangle(node.module or "", context.owner)
            self._add(node, (form, module, node.level, names), context)

    def _add(self, node: ast.stmt | ast.expr, named: _Named, context: _Context) -> None:
        end = node.end_lineno or node.lineno
        self._records.append(ImportRecord(node.lineno, end, *named, *context[:-1]))

    def _read_statement(self, statement: ast.stmt, context: _Context) -> None:
        """Look into a statement in which something looks like an import."""
        if isinstance(statement, _SIMPLE):
            self._read_expressions(ast.iter_child_nodes(statement), context)
        elif isinstance(statement, _FUNCTIONS):
            self._read_function(statement, context)
        elif isinstance(statement, ast.ClassDef):
            outside = (*statement.decorator_list, *statement.bases, *statement.keywords)
            self._read_expressions(outside, context)
            inside = context.inside(statement.name)._replace(owner=statement.name)
            self.read_block(statement.body, inside)
        elif isinstance(statement, ast.If):
            self._read_expressions([statement.test], context)
            self._read_if(statement, context)
        elif isinstance(statement, _TRIES):
            self._read_try(statement, context)
        elif isinstance(statement, ast.With | ast.AsyncWith):
            managers = [item.context_expr for item in statement.items]
            self._read_expressions(managers, context)
            caught = any(map(suppresses_import_errors, managers))
            self.read_block(statement.body, context.under("guarded") if caught else context)
        elif isinstance(statement, ast.For | ast.AsyncFor | ast.While):
            self._read_loop(statement, context)
        elif isinstance(statement, ast.Match):
            self._read_expressions([statement.subject], context)
            for case in statement.cases:
                self._read_expressions([case.guard] if case.guard else [], context)
                self.read_block(case.body, context.under("conditional"))

    def _read_function(
        self, function: ast.FunctionDef | ast.AsyncFunctionDef, context: _Context
    ) -> None:
        arguments = function.args
        defaults = [each for each in arguments.kw_defaults if each is not None]
        outside = (*function.decorator_list, *arguments.defaults, *defaults)
        self._read_expressions((*outside, *_annotations_of(function)), context)
        self.read_block(function.body, context.inside(function.name).only("lazy"))

    def _read_if(self, statement: ast.If, context: _Context) -> None:
        verdict = judge_test(statement.test, self._checking)
        body = orelse = context
        if verdict is True:
            orelse = context.only("dead")
        elif verdict is False:
            body = context.only("dead")
        elif isinstance(verdict, tuple):
            kind, checking = verdict
            if kind == "type-checking":
                if checking:
                    body = context.only("type-checking")
                else:
                    orelse = context.only("type-checking")
            elif kind == "main" and not context.scope:
                if checking:
                    body = context.only("main")
                else:
                    orelse = context.only("main")
            else:
                modifier: Modifier = "conditional" if kind == "main" else kind
                text = _spell(statement.test)
                body = context.where(modifier, f"({text})" if _binds_loosely(statement) else text)
                orelse = context.where(modifier, f"not ({text})")
        self.read_block(statement.body, body)
        self.read_block(statement.orelse, orelse)

    def _read_try(self, statement: ast.Try, context: _Context) -> None:
        catching = [each for each in statement.handlers if catches_import_errors(each)]
        # Of several handlers the first that fits counts; one that raises again guards nothing.
        guards = bool(catching) and not any(isinstance(s, ast.Raise) for s in catching[0].body)
        self.read_block(statement.body, context.under("guarded") if guards else context)
        for handler in statement.handlers:
            modifier: Modifier = "fallback" if handler in catching else "conditional"
            self.read_block(handler.body, context.under(modifier))
        self.read_block(statement.orelse, context.under("conditional") if guards else context)
        self.read_block(statement.finalbody, context)

    def _read_loop(self, statement: ast.For | ast.AsyncFor | ast.While, context: _Context) -> None:
        if isinstance(statement, ast.While):
            self._read_expressions([statement.test], context)
            constant = constant_of(statement.test)
            body = context.under("conditional") if constant is None else context
            body = context.only("dead") if constant is False else body
        else:
            self._read_expressions([statement.iter], context)
            body = context.under("conditional")
        self.read_block(statement.body, body)
        self.read_block(statement.orelse, context)

    # Calls ----------------------------------------------------------------------------------------

    def _read_expressions(self, nodes: Iterable[ast.AST], context: _Context) -> None:
        if not self._seeks_calls:
            return
        todo = [(node, context) for node in nodes]
        while todo:
            node, around = todo.pop()
            if isinstance(node, ast.Lambda):
                around = around.inside("<lambda>").only("lazy")
            elif isinstance(node, ast.Call):
                self._calls.append(_Call(node, around))
            todo.extend((child, around) for child in ast.iter_child_nodes(node))

    def _importers(self) -> tuple[set[str], set[str]]:
        """What the file calls importlib, and what it calls functions that import by name."""
        packages, functions = set(), {"__import__"}
        for record in self._records:
            if record.level:
                continue
            if record.form == "import" and record.module.partition(".")[0] == "importlib":
                packages.add(record.names[0][1] or "importlib")
            elif record.form == "from" and record.module == "importlib":
                functions.update(new or old for old, new in record.names if old == "import_module")
        return packages, functions

    def finish(self, tree: ast.Module, source: bytes) -> tuple[ImportRecord, ...]:
        """All records by line, once all of the file was read."""
        if self._calls:
            packages, functions = self._importers()
            for call in self._calls:
                if _imports_by_name(call.node.func, packages, functions):
                    self._add(call.node, _named_by(call.node), call.context)
        records = self._records
        wanted = {
            record.scope
            for record in records
            if record.kind == "lazy" and record.scope and "." not in record.scope
        }
        called = _called_at_import(tree, wanted, source) if wanted else ()
        if called:
            records = [
                record._replace(modifiers=(*record.modifiers, "called"))
                if record.kind == "lazy" and record.scope in called
                else record
                for record in records
            ]
        return tuple(sorted(records, key=lambda record: (record.line, record.end_line)))


_DECORATED = frozenset((*_FUNCTIONS, ast.ClassDef))
_TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))  # from Python 3.11 on
_MAY_NOT_RUN = (ast.If, *_TRIES, ast.For, ast.AsyncFor, ast.While, ast.Match)


def _annotations_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    arguments = function.args
    each = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    for argument in (*each, arguments.vararg, arguments.kwarg):
        if argument is not None and argument.annotation is not None:
            yield argument.annotation
    if function.returns is not None:
        yield function.returns


def _mangle(name: str, owner: str) -> str:
    """A private name in a class is another one, imported modules' names too."""
    if not owner or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    stripped = owner.lstrip("_")
    return f"_{stripped}{name}" if stripped else name


def _spell(test: ast.expr) -> str:
    try:
        return ast.unparse(test)
    except (ValueError, RecursionError):
        return "..."


def _binds_loosely(statement: ast.If) -> bool:
    return isinstance(statement.test, ast.BoolOp | ast.IfExp | ast.NamedExpr | ast.Lambda)


def _imports_by_name(function: ast.expr, packages: set[str], functions: set[str]) -> bool:
    if isinstance(function, ast.Name):
        return function.id in functions
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    if function.attr == "__import__":
        return function.value.id in packages or function.value.id == "builtins"
    return function.attr == "import_module" and function.value.id in packages


def _named_by(call: ast.Call) -> _Named:
    """What a call imports; a relative name is told only where its package is."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    name = _text(call.args[0] if call.args else given.get("name"))
    if not name:
        return _OPAQUE
    called = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if called == "__import__":
        return _builtin_import(name, call.args[4] if len(call.args) > 4 else given.get("level"))
    module = name.lstrip(".")
    level = len(name) - len(module)
    if not level:
        return "call", name, 0, ((name, None),)
    return _relative(name, level, call.args[1] if len(call.args) > 1 else given.get("package"))


def _builtin_import(name: str, level: ast.expr | None) -> _Named:
    if level is None:
        return "call", name, 0, ((name, None),)
    if isinstance(level, ast.Constant) and isinstance(level.value, int) and level.value >= 0:
        return "call", name, level.value, ((name, None),)
    return _OPAQUE


def _relative(name: str, level: int, package: ast.expr | None) -> _Named:
    """Source: ``importlib.util.resolve_name``, which takes the package that it is given."""
    module = name[level:]
    literal = _text(package)
    if literal:
        base = literal.split(".")
        kept = base[: len(base) - level + 1]
        return ("call", ".".join([*kept, module]), 0, ((name, literal),)) if kept else _OPAQUE
    if isinstance(package, ast.Name) and package.id in ("__package__", "__name__"):
        return "call", module, level, ((name, package.id),)
    return _OPAQUE


def _text(node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


# Functions that a module calls itself ------------------------------------------------------------


def _called_at_import(tree: ast.Module, wanted: set[str], source: bytes) -> set[str]:
    """Which functions of a module run while it is imported, by its own doing.

    Args:
        tree: The module.
        wanted: Functions of its top level that import something.
        source: Its text, in which a name that is only defined is not sought further.
    """
    functions = {node.name: node for node in _functions_in(tree.body)}
    lines = _lines_that_lead_to(wanted, functions, source)
    if not lines:
        return set()
    called: set[str] = set()
    todo = set(_names_called(tree.body, lines))
    while todo:
        name = todo.pop()
        if name in functions and name not in called and not runs_later(functions[name]):
            called.add(name)
            todo.update(_names_called(functions[name].body, lines))
    return called & wanted


def _lines_that_lead_to(
    wanted: set[str], functions: Mapping[str, ast.stmt], source: bytes
) -> list[int]:
    """The lines on which functions are called, or functions that call them, ascending.

    Args:
        wanted: Functions of the top level.
        functions: All functions of the top level.
        source: The module's text.
    """
    starts = sorted((node.lineno, name) for name, node in functions.items())
    seen: set[str] = set()
    found: set[int] = set()
    new = set(wanted)
    while new:
        seen |= new
        places = sorted(at for name in new for at in _find_uses(name.encode(), source))
        lines = _lines_at(places, source)
        found.update(lines)
        around = {starts[at][1] for line in lines if (at := bisect_left(starts, (line,)) - 1) >= 0}
        new = around - seen
    return sorted(found)


def _find_uses(name: bytes, source: bytes) -> Iterator[int]:
    """Where a function is called, or decorates something; not where it is defined."""
    for sought, before in ((name + b"(", b"def "), (b"@" + name, None)):
        at = source.find(sought)
        while at >= 0:
            if before is None or not source.endswith(before, 0, at):
                yield at
            at = source.find(sought, at + 1)


def _names_called(body: Iterable[ast.AST], lines: Sequence[int]) -> Iterator[str]:
    """The plain names that are called for certain when statements run, outside of what they define.

    Args:
        body: The statements.
        lines: The lines on which anything that matters is named, ascending.
    """
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, _FUNCTIONS):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Name):
                    yield decorator.id
            todo.extend(node.decorator_list)
            continue
        if isinstance(node, ast.stmt) and not _holds(node, lines):
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, _MAY_NOT_RUN):
            todo.extend(_certain_parts(node))
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
        todo.extend(ast.iter_child_nodes(node))


def _certain_parts(node: ast.AST) -> Iterator[ast.AST]:
    """What runs for certain of a statement that has branches, and unless errors are caught."""
    if isinstance(node, ast.If):
        verdict = judge_test(node.test)
        yield node.test
        if isinstance(verdict, tuple) and verdict[1] is not None:
            yield from node.orelse if verdict[1] else node.body
        elif isinstance(verdict, bool):
            yield from node.body if verdict else node.orelse
    elif isinstance(node, _TRIES):
        if not any(map(catches_import_errors, node.handlers)):
            yield from (*node.body, *node.orelse)
        yield from node.finalbody
    elif isinstance(node, ast.For | ast.AsyncFor):
        yield node.iter
    elif isinstance(node, ast.While):
        yield node.test
    elif isinstance(node, ast.Match):
        yield node.subject


def _functions_in(body: Iterable[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of a module's top level, those in its branches too."""
    for statement in body:
        if isinstance(statement, _FUNCTIONS):
            yield statement
        elif not isinstance(statement, ast.ClassDef):
            for field in ("body", "orelse", "finalbody"):
                yield from _functions_in(getattr(statement, field, ()))
            for handler in getattr(statement, "handlers", ()):
                yield from _functions_in(handler.body)


def _holds(node: ast.stmt, lines: Sequence[int]) -> bool:
    """Whether a statement has one of some lines, those of its decorators too."""
    first = node.lineno
    if isinstance(node, ast.ClassDef) and node.decorator_list:
        first = node.decorator_list[0].lineno
    at = bisect_left(lines, first)
    return at < len(lines) and lines[at] <= (node.end_lineno or first)

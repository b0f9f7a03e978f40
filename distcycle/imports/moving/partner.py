"""What a module takes from another: names by ``from`` imports, and attributes of the module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from distcycle.imports.conditions import catches_import_errors, judge_test
from distcycle.imports.moving.contents import absolute
from distcycle.imports.moving.names import quoted_names
from distcycle.imports.moving.sources import Source

__all__ = ["FromImport", "ModuleImport", "ModuleUse", "Uses", "uses_of"]

_NAMED = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *(ast.ExceptHandler, ast.MatchAs, ast.MatchStar),
)
_Functions = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class _Place:
    """When a statement runs: in a function that is called, never, or with its errors caught."""

    lazy: bool = False
    checking: bool = False
    guarded: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class FromImport:
    """A ``from`` import of the module's names.

    Attributes:
        node: The statement.
        lazy: Whether it runs only when a function is called.
        checking: Whether it is for type checkers alone.
        guarded: Whether it may fail, since its error is caught.
    """

    node: ast.ImportFrom
    lazy: bool
    checking: bool
    guarded: bool


@dataclass(frozen=True, slots=True, eq=False)
class ModuleImport:
    """An import that binds the module itself, or the package that it is in.

    Attributes:
        node: The statement.
        alias: The part of it that does.
        lazy: Whether it runs only when a function is called.
        checking: Whether it is for type checkers alone.
    """

    node: ast.Import | ast.ImportFrom
    alias: ast.alias
    lazy: bool
    checking: bool


@dataclass(frozen=True, slots=True, eq=False)
class ModuleUse:
    """All that is done with the module under one name.

    Attributes:
        local: How it is written, such as ``fa`` or ``pkg.flex_attention``.
        imports: The imports that bind it.
        attributes: The expressions that read an attribute of it, and whether a function does.
        obstacle: Why its uses cannot be told from others; None when they can.
        line: The line of the obstacle.
    """

    local: str
    imports: tuple[ModuleImport, ...]
    attributes: tuple[tuple[ast.Attribute, bool], ...]
    obstacle: str | None = None
    line: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Uses:
    """What a module takes from another.

    Attributes:
        names: Its ``from`` imports.
        modules: The names under which it uses the module itself.
        calls: The lines that import it by a call.
    """

    names: tuple[FromImport, ...]
    modules: tuple[ModuleUse, ...]
    calls: tuple[int, ...]


def uses_of(partner: Source, target: str) -> Uses:
    """Find what a module takes from another.

    Args:
        partner: The module that imports.
        target: The other's full name.

    Returns:
        The uses, in the order of the text.
    """
    walk = _Walk(partner, target)
    walk.visit(partner.tree, _Place())
    return Uses(tuple(walk.names), tuple(_module_uses(walk)), tuple(walk.calls))


@dataclass(slots=True)
class _Walk:
    """Goes through a tree and keeps what may be of interest, with where it stands."""

    partner: Source
    target: str
    names: list[FromImport] = field(default_factory=list)
    modules: list[ModuleImport] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    attributes: list[tuple[ast.Attribute, bool]] = field(default_factory=list)
    loads: list[ast.Name] = field(default_factory=list)
    binds: dict[str, int] = field(default_factory=dict)

    def visit(self, node: ast.AST, place: _Place) -> None:
        self._keep(node, place)
        for name, value in ast.iter_fields(node):
            inner = self._inner(node, name, place)
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self.visit(child, inner)

    def _inner(self, node: ast.AST, name: str, place: _Place) -> _Place:
        if isinstance(node, _Functions) and name == "body":
            return replace(place, lazy=True)
        if isinstance(node, ast.If) and name in {"body", "orelse"}:
            judged = judge_test(node.test)
            if isinstance(judged, tuple) and judged[0] == "type-checking":
                return replace(place, checking=judged[1] is (name == "body"))
        if isinstance(node, ast.Try) and name == "body":
            caught = any(catches_import_errors(each) for each in node.handlers)
            return replace(place, guarded=place.guarded or caught)
        return place

    def _keep(self, node: ast.AST, place: _Place) -> None:
        if isinstance(node, ast.ImportFrom):
            self._keep_from(node, place)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == self.target:
                    self._keep_module(node, alias, place)
                elif alias.asname or alias.name.partition(".")[0] != self.target.partition(".")[0]:
                    self._bind(alias.asname or alias.name.partition(".")[0], node.lineno)
        elif isinstance(node, ast.Attribute):
            self.attributes.append((node, place.lazy))
        elif isinstance(node, ast.Call) and _is_import_of(node, self.target):
            self.calls.append(node.lineno)
        else:
            self._keep_name(node)

    def _keep_from(self, node: ast.ImportFrom, place: _Place) -> None:
        module = absolute(node, self.partner)
        if module == self.target:
            self.names.append(FromImport(node, place.lazy, place.checking, place.guarded))
            return
        for alias in node.names:
            if f"{module}.{alias.name}".lstrip(".") == self.target:
                self._keep_module(node, alias, place)
            else:
                self._bind(alias.asname or alias.name, node.lineno)

    def _keep_module(
        self, node: ast.Import | ast.ImportFrom, alias: ast.alias, place: _Place
    ) -> None:
        self.modules.append(ModuleImport(node, alias, place.lazy, place.checking))

    def _keep_name(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self.loads.append(node)
            else:
                self._bind(node.id, node.lineno)
        elif isinstance(node, ast.arg):
            self._bind(node.arg, node.lineno)
        elif isinstance(node, _NAMED) and node.name:
            self._bind(node.name, node.lineno)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            self._bind(node.rest, node.lineno)

    def _bind(self, name: str, line: int) -> None:
        self.binds.setdefault(name, line)


def _is_import_of(node: ast.Call, target: str) -> bool:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    called = node.func.id if isinstance(node.func, ast.Name) else called
    if called not in {"import_module", "__import__"} or not node.args:
        return False
    first = node.args[0]
    return isinstance(first, ast.Constant) and first.value == target


def _module_uses(walk: _Walk) -> Iterator[ModuleUse]:
    locals_: dict[str, list[ModuleImport]] = {}
    for each in walk.modules:
        locals_.setdefault(each.alias.asname or each.alias.name, []).append(each)
    for local, imports in locals_.items():
        attributes = [each for each in walk.attributes if _dotted(each[0].value) == local]
        obstacle, line = _obstacle(walk, local, imports, attributes)
        yield ModuleUse(local, tuple(imports), tuple(attributes), obstacle, line)


def _obstacle(
    walk: _Walk,
    local: str,
    imports: list[ModuleImport],
    attributes: list[tuple[ast.Attribute, bool]],
) -> tuple[str | None, int]:
    root = local.partition(".")[0]
    if root in walk.binds:
        return f"{root} is bound to something else as well", walk.binds[root]
    for node, _ in attributes:
        if not isinstance(node.ctx, ast.Load):
            return f"{local}.{node.attr} is assigned to or deleted", node.lineno
    known = {id(node.value) for node, _ in attributes}
    whole: list[ast.expr] = [node for node in walk.loads if node.id == local]
    whole += [node for node, _ in walk.attributes if _dotted(node) == local]
    for each in whole:
        if id(each) not in known:
            return f"{local} is used as a whole", each.lineno
    if root in quoted_names(walk.partner.tree):
        return f"{root} is named in an annotation that is a string", imports[0].node.lineno
    return None, 0


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return node.id if isinstance(node, ast.Name) else ""

"""A module's top-level statements, and the names that they bind and need."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from distcycle.errors import InputError
from distcycle.imports.conditions import judge_test
from distcycle.imports.moving.names import UnitNames, names_of_unit
from distcycle.imports.moving.sources import Source, Unit, package_of

__all__ = [
    "Contents",
    "absolute",
    "at_once",
    "binds",
    "contents_of",
    "imported_modules",
    "may_be_copied",
    "root_of",
    "statements_in",
]

_Imports = ast.Import | ast.ImportFrom
_Functions = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """A module's top-level statements and the names that they bind and need.

    Attributes:
        source: The module.
        names: What each statement does with names, in their order.
        where: The statements that bind each name.
        rebound: The names that functions bind by ``global``, and the line of the statement.
        stars: The lines of the imports of all names.
        aliases: Other names of ``TYPE_CHECKING``.
    """

    source: Source
    names: tuple[UnitNames, ...]
    where: Mapping[str, tuple[Unit, ...]]
    rebound: Mapping[str, int]
    stars: tuple[int, ...]
    aliases: frozenset[str]

    def is_checking(self, unit: Unit) -> bool:
        """Whether a statement is imports for type checkers alone."""
        node = unit.node
        if not isinstance(node, ast.If) or node.orelse:
            return False
        if judge_test(node.test, self.aliases) != ("type-checking", True):
            return False
        return all(isinstance(each, _Imports | ast.Pass) for each in node.body)

    def is_copied(self, unit: Unit) -> bool:
        """Whether a statement does not move but is copied: imports, whatever they stand under."""
        if isinstance(unit.node, _Imports):
            return True
        each = tuple(statements_in(unit.node))
        if not any(isinstance(node, _Imports) for node in each):
            return False
        return all(may_be_copied(node) for node in each)


def may_be_copied(node: ast.stmt) -> bool:
    """Whether a statement in a block of imports does no harm when it runs twice."""
    if isinstance(node, ast.Assign):
        targets = all(isinstance(target, ast.Name) for target in node.targets)
        return targets and isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, _Imports | ast.Pass | ast.Raise | ast.If | ast.Try | ast.With)


def statements_in(node: ast.stmt) -> Iterator[ast.stmt]:
    """A statement and those in it that run with it, in their order."""
    yield node
    if isinstance(node, _SCOPES):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield from statements_in(child)
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            for each in child.body:
                yield from statements_in(each)


def contents_of(source: Source) -> Contents:
    """Read off what a module's top-level statements bind and need.

    Args:
        source: The module.

    Returns:
        Its contents.

    Raises:
        InputError: The module cannot be compiled.
    """
    names = tuple(_names(source, unit) for unit in source.units)
    where: dict[str, list[Unit]] = defaultdict(list)
    for unit in source.units:
        for name in sorted(names[unit.index].binds):
            where[name].append(unit)
    rebound: dict[str, int] = {}
    stars = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Global):
            for name in node.names:
                rebound.setdefault(name, node.lineno)
        elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            stars.append(node.lineno)
    fixed = {name: tuple(units) for name, units in where.items()}
    return Contents(source, names, fixed, rebound, tuple(stars), _aliases(source))


def _names(source: Source, unit: Unit) -> UnitNames:
    try:
        return names_of_unit(source.unit_text(unit))
    except SyntaxError as error:
        problem = f"cannot be compiled: {error.msg}"
        raise InputError(problem, path=source.module.path, line=unit.first) from None


def _aliases(source: Source) -> frozenset[str]:
    return frozenset(
        alias.asname
        for unit in source.units
        if isinstance(unit.node, ast.ImportFrom)
        for alias in unit.node.names
        if alias.name == "TYPE_CHECKING" and alias.asname
    )


def imported_modules(node: _Imports, source: Source) -> Iterator[str]:
    """The full names of modules that an import may run, those of imported names among them."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    module = absolute(node, source)
    if module:
        yield module
    yield from (f"{module}.{alias.name}".lstrip(".") for alias in node.names)


def absolute(node: ast.ImportFrom, source: Source) -> str:
    """The full name of the module that a ``from`` import names."""
    if not node.level:
        return node.module or ""
    package = package_of(source.module).split(".")
    above = package[: len(package) - node.level + 1]
    return ".".join((*above, *filter(None, [node.module])))


def binds(alias: ast.alias, name: str) -> bool:
    """Whether a part of an import binds a name; ``import a.b`` binds ``a``."""
    return (alias.asname or alias.name.partition(".")[0]) == name


def at_once(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all in it that is worked out with it: no bodies of functions."""
    yield node
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(node, _Functions | ast.Lambda):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from at_once(child)


def root_of(node: ast.expr) -> str:
    """The name that a chain of attributes and items starts from; ``""`` for none."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""

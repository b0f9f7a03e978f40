"""The module-level names that statements bind and need, as the compiler's symbol tables say."""

from __future__ import annotations

import ast
import builtins
import functools
import symtable
from collections.abc import Iterator
from dataclasses import dataclass

from distcycle.imports.moving.sources import Edit, Source, apply_edits

__all__ = [
    "BUILTINS",
    "IMPLICIT",
    "ModuleNames",
    "UnitNames",
    "names_of_source",
    "names_of_unit",
    "quoted_names",
]

BUILTINS: frozenset[str] = frozenset(dir(builtins)) | {"WindowsError", "__builtins__"}
IMPLICIT: frozenset[str] = frozenset(
    (
        *("__annotations__", "__cached__", "__dict__", "__doc__", "__file__"),
        *("__loader__", "__name__", "__package__", "__path__", "__spec__"),
    )
)
"""Names that the import system binds in each module."""

# Their bodies run where they stand; a function's or a lambda's runs when it is called.
_AT_ONCE = frozenset(("listcomp", "setcomp", "dictcomp", "genexpr"))


@dataclass(frozen=True, slots=True)
class UnitNames:
    """What a piece of module-level code does with module-level names.

    Attributes:
        binds: The names it binds when it runs.
        now: The names it needs when it runs.
        later: The names it needs when what it defines is called.
        quoted: The names in its annotations that are strings, and in types given as strings.
        rebinds: The names that its functions bind by ``global``.
    """

    binds: frozenset[str]
    now: frozenset[str]
    later: frozenset[str]
    quoted: frozenset[str]
    rebinds: frozenset[str]

    @property
    def needs(self) -> frozenset[str]:
        """All names it needs."""
        return self.now | self.later | self.quoted | self.rebinds


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """What a whole module does: the names bound at its top level, and all it needs anywhere."""

    bound: frozenset[str]
    needed: frozenset[str]


@functools.lru_cache(maxsize=8192)
def names_of_unit(text: str) -> UnitNames:
    """Say what one top-level statement does with names.

    Args:
        text: The statement, decorators included, starting in the first column. Without ``from
            __future__ import annotations``, so that the names in annotations count.

    Returns:
        The names.

    Raises:
        SyntaxError: It is no statement that could be compiled.
    """
    binds: set[str] = set()
    now: set[str] = set()
    later: set[str] = set()
    rebinds: set[str] = set()
    for table, at_once, in_function in _tables(symtable.symtable(text, "<unit>", "exec")):
        is_module, is_class = table.get_type() == "module", table.get_type() == "class"
        for symbol in table.get_symbols():
            name = symbol.get_name()
            # A name read in a class's body may be the module's although the body binds it, too.
            own = is_module or (is_class and not symbol.is_free())
            if symbol.is_referenced() and (own or symbol.is_global()):
                (now if at_once else later).add(name)
            if not symbol.is_assigned() and not symbol.is_imported():
                continue
            if is_module:
                binds.add(name)
            elif symbol.is_declared_global():
                (rebinds if in_function else binds).add(name)
    quoted = quoted_names(ast.parse(text))
    return UnitNames(frozenset(binds), frozenset(now), frozenset(later), quoted, frozenset(rebinds))


def _tables(
    top: symtable.SymbolTable, *, at_once: bool = True, in_function: bool = False
) -> Iterator[tuple[symtable.SymbolTable, bool, bool]]:
    """All tables, whether each one's code runs with the statement, and whether in a function."""
    kind = str(top.get_type())
    if kind == "function" and top.get_name() not in _AT_ONCE:
        at_once, in_function = False, True
    elif "annotation" in kind.lower():  # from Python 3.14 on they are worked out when asked for
        at_once = False
    yield top, at_once, in_function
    for child in top.get_children():
        yield from _tables(child, at_once=at_once, in_function=in_function)


def names_of_source(source: Source) -> ModuleNames:
    """Say which names a module binds at its top level, and which it needs anywhere.

    Args:
        source: The module.

    Returns:
        The names; those that a function binds by ``global`` are bound as well.

    Raises:
        SyntaxError: It cannot be compiled.
    """
    future = [
        unit.node
        for unit in source.units
        if isinstance(unit.node, ast.ImportFrom) and unit.node.module == "__future__"
    ]
    bound = {alias.asname or alias.name for node in future for alias in node.names}
    edits = [Edit(*source.span(node), "pass") for node in future]
    names = names_of_unit(apply_edits(source.text, edits))
    return ModuleNames(frozenset(bound) | names.binds | names.rebinds, names.now | names.later)


# Strings ------------------------------------------------------------------------------------------


def quoted_names(tree: ast.AST) -> frozenset[str]:
    """The names in annotations that are strings, and in types given as strings."""
    return frozenset(
        name
        for node in ast.walk(tree)
        for expression in _types_in(node)
        for text in _strings_in(expression)
        for name in _names_in(text)
    )


def _types_in(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions of a node that stand for types, so that strings in them are code."""
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
        yield node.annotation
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
        yield node.returns
    elif isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        called = node.func.id if isinstance(node.func, ast.Name) else called
        if called == "cast":
            yield from node.args[:1]
        elif called in {"TypeVar", "NewType"}:
            yield from node.args[1:]
            yield from (keyword.value for keyword in node.keywords)


def _strings_in(expression: ast.expr) -> Iterator[str]:
    if isinstance(expression, ast.Subscript) and ast.unparse(expression.value).endswith("Literal"):
        return
    if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
        yield expression.value
    for child in ast.iter_child_nodes(expression):
        if isinstance(child, ast.expr):
            yield from _strings_in(child)


def _names_in(text: str) -> Iterator[str]:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id

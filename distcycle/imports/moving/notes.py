"""What a move changes besides the order of things: names of modules, and what others replace."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping

from distcycle.imports.conditions import last_name
from distcycle.imports.moving.closure import Closure
from distcycle.imports.moving.contents import (
    Contents,
    absolute,
    at_once,
    imported_modules,
    root_of,
    statements_in,
)
from distcycle.imports.moving.names import IMPLICIT
from distcycle.imports.moving.order import Order, stored_roots
from distcycle.imports.moving.records import Note
from distcycle.imports.moving.sources import Source, Unit

__all__ = ["find_notes", "find_patches", "name_uses"]

_Imports = ast.Import | ast.ImportFrom
_Functions = ast.FunctionDef | ast.AsyncFunctionDef
_REPLACING = frozenset(("setattr", "delattr", "object", "patch"))


def name_uses(unit: Unit) -> tuple[ast.Name, ...]:
    """The places where a moved assignment names its module, and can go on to name the old one.

    So a logger keeps its name: what is configured for it and what is recorded stay as they were.

    Args:
        unit: The statement.

    Returns:
        The expressions ``__name__`` in it, those in formatted strings excepted.
    """
    if not isinstance(unit.node, ast.Assign | ast.AnnAssign):
        return ()
    formatted = {
        id(inner)
        for node in ast.walk(unit.node)
        if isinstance(node, ast.JoinedStr | ast.Compare)
        for inner in ast.walk(node)
    }
    return tuple(
        node
        for node in ast.walk(unit.node)
        if isinstance(node, ast.Name) and node.id == "__name__" and id(node) not in formatted
    )


def find_notes(
    contents: Contents, closure: Closure, partner: str, new: str, *, loses_import: bool
) -> tuple[Note, ...]:
    """Find what else a move changes, or may change.

    Args:
        contents: The module that names move out of.
        closure: What moves.
        partner: The module that imports them.
        new: The new module.
        loses_import: Whether the partner then imports nothing from the old module any more.

    Returns:
        The notes, by line.
    """
    found = [
        *_module_notes(contents, closure, new),
        *_import_notes(contents, closure, partner, new),
        *_staying_notes(contents, closure, partner, loses_import=loses_import),
    ]
    path = contents.source.module.path
    return tuple(sorted({Note(path, line, text) for line, text in found}))


def _module_notes(contents: Contents, closure: Closure, new: str) -> Iterator[tuple[int, str]]:
    for unit in closure.moved:
        kept = {id(node) for node in name_uses(unit)}
        for node in ast.walk(unit.node):
            if isinstance(node, ast.Name) and node.id in IMPLICIT - {"__annotations__"}:
                if id(node) in kept:
                    name = contents.source.module.name
                    yield node.lineno, f"goes on to use the name {name}, as a literal"
                elif node.id != "__package__":
                    yield node.lineno, f"{node.id} will be that of {new}"
            elif isinstance(node, ast.Name) and node.id in {"eval", "exec"}:
                yield node.lineno, f"{node.id} will see the names of {new}"
        if isinstance(unit.node, ast.ClassDef):
            text = f"__module__ of {unit.node.name} will be {new}: new pickles of it name that"
            yield unit.first, text
    for name, line in sorted(closure.unknown.items()):
        yield line, f"{name} is bound nowhere in this module, nor will it be in {new}"


def _import_notes(
    contents: Contents, closure: Closure, partner: str, new: str
) -> Iterator[tuple[int, str]]:
    own = contents.source.module.name
    for unit in closure.moved:
        for node in ast.walk(unit.node):
            if isinstance(node, _Imports):
                for module in sorted({partner, own} & {*imported_modules(node, contents.source)}):
                    yield node.lineno, f"{new} will import {module} when this is called"
    for unit in closure.copied:
        if isinstance(unit.node, _Imports) or contents.is_checking(unit):
            continue
        flags = [each for each in statements_in(unit.node) if isinstance(each, ast.Assign)]
        if flags or any(isinstance(each, ast.Call) for each in at_once(unit.node)):
            yield unit.first, f"is copied, and so runs in {new} as well"
    unused = sorted(_unused_imports(contents, closure))
    if unused:
        names = ", ".join(unused)
        yield 1, f"imports that nothing in this file uses any more are left for others: {names}"


def _unused_imports(contents: Contents, closure: Closure) -> set[str]:
    used = {name for unit in closure.moved for name in contents.names[unit.index].needs}
    staying = [unit for unit in contents.source.units if unit not in set(closure.moved)]
    for unit in staying:
        if not isinstance(unit.node, _Imports):
            used -= contents.names[unit.index].needs
    bound: set[str] = set()
    for unit in closure.copied:
        bound |= contents.names[unit.index].binds
    return used & bound


def _staying_notes(
    contents: Contents, closure: Closure, partner: str, *, loses_import: bool
) -> Iterator[tuple[int, str]]:
    order = Order(contents, closure) if closure.moved else None
    moved = frozenset(closure.moved)
    active = [
        unit
        for unit in contents.source.units
        if unit not in moved and order is not None and order.is_active(unit)
    ]
    for unit in active:
        changed = sorted(_changed(unit.node) & set(closure.names))
        reached = sorted(order.reached_mutables(unit) & set(closure.names)) if order else []
        if changed or reached:
            verb = "changes" if changed else "may change"
            name = (changed or reached)[0]
            yield unit.first, f"{verb} {name}, which it does only once this file is imported"
    if active and loses_import:
        lines = ", ".join(str(unit.first) for unit in active[:5])
        more = f" and {len(active) - 5} more" if len(active) > 5 else ""
        yield (
            active[0].first,
            f"importing {partner} alone will not run this file any more: lines {lines}{more}",
        )


def _changed(node: ast.stmt) -> frozenset[str]:
    """The names that a statement seems to change: by storing in them, or by calling a method."""
    found = set(stored_roots(node))
    calls: Iterable[ast.expr] = ()
    if isinstance(node, ast.Expr):
        calls = (node.value,)
    elif isinstance(node, _Functions | ast.ClassDef):
        calls = node.decorator_list
    for call in calls:
        called = call.func if isinstance(call, ast.Call) else call
        if isinstance(called, ast.Attribute):
            found.add(root_of(called))
    return frozenset(found)


# Elsewhere ----------------------------------------------------------------------------------------


def find_patches(
    sources: Mapping[str, Source], module: str, names: Collection[str], new: str
) -> tuple[Note, ...]:
    """Find where other code replaces a moved name in the old module: moved code no longer sees it.

    Args:
        sources: The modules to look through.
        module: The old module.
        names: The names that moved, and those of copied imports.
        new: The new module.

    Returns:
        A note for each place.
    """
    found = {
        Note(
            source.module.path,
            line,
            f"replaces {name} in {module}, which {new} will not see",
        )
        for source in sources.values()
        for line, name in _patches_in(source, module, frozenset(names))
    }
    return tuple(sorted(found))


def _patches_in(source: Source, module: str, names: frozenset[str]) -> Iterator[tuple[int, str]]:
    if module.rpartition(".")[2] not in source.text:
        return
    quoted = {f"{module}.{name}": name for name in names}
    known = _names_of_module(source, module)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            if node.attr in names and ast.unparse(node.value) in known:
                yield node.lineno, node.attr
        elif isinstance(node, ast.Call) and node.args:
            first, *rest = node.args
            if isinstance(first, ast.Constant) and first.value in quoted:
                yield node.lineno, quoted[first.value]
                continue
            replaces = last_name(node.func) in _REPLACING and ast.unparse(first) in known
            if replaces and rest and isinstance(rest[0], ast.Constant) and rest[0].value in names:
                yield node.lineno, str(rest[0].value)


def _names_of_module(source: Source, module: str) -> frozenset[str]:
    found = {module} if source.module.name != module else set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            found |= {each.asname for each in node.names if each.name == module and each.asname}
        elif isinstance(node, ast.ImportFrom):
            parent = absolute(node, source)
            found |= {
                each.asname or each.name
                for each in node.names
                if f"{parent}.{each.name}".lstrip(".") == module
            }
    return frozenset(found)

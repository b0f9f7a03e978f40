"""Which top-level statements of a module move, which imports they need, and what forbids it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from distcycle.errors import InputError
from distcycle.imports.moving.contents import (
    Contents,
    absolute,
    at_once,
    binds,
    may_be_copied,
    root_of,
    statements_in,
)
from distcycle.imports.moving.names import BUILTINS, IMPLICIT, UnitNames
from distcycle.imports.moving.sources import Unit

__all__ = ["Closure", "Ground", "close"]

_Imports = ast.Import | ast.ImportFrom
_Functions = ast.FunctionDef | ast.AsyncFunctionDef
_READS_ALL = frozenset(("globals", "vars", "locals", "dir"))


@dataclass(frozen=True, slots=True)
class Ground:
    """What there is around the new module.

    Attributes:
        known: The modules that there are.
        barred: Those that what moves must not import when it is imported itself.
        above: The packages that the new module is in, which are always imported before it.
    """

    known: Collection[str]
    barred: tuple[str, ...]
    above: tuple[str, ...]

    def runs_barred(self, module: str) -> bool:
        """Whether to import a module is to run one that is barred."""
        return any(
            module == each or (module.startswith(f"{each}.") and each not in self.above)
            for each in self.barred
        )


# What moves ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """What has to move for some names to move.

    Attributes:
        moved: The statements that move, in their order.
        names: The names that they bind, in their order.
        copied: The statements of imports that are copied, and which of their names are needed.
        unknown: The names that nothing is known to bind, and the line that needs them.
        problems: Why they cannot move; empty when they can.
    """

    moved: tuple[Unit, ...]
    names: tuple[str, ...]
    copied: Mapping[Unit, frozenset[str]]
    unknown: Mapping[str, int]
    problems: tuple[InputError, ...]


@dataclass(slots=True)
class _Search:
    contents: Contents
    ground: Ground
    moved: set[Unit] = field(default_factory=set)
    copied: dict[Unit, set[str]] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    problems: dict[tuple[str, str], InputError] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def refuse(self, name: str, line: int, reason: str) -> None:
        path = self.contents.source.module.path
        error = InputError(reason, path=path, line=line, key=name)
        self.problems.setdefault((name, reason), error)

    def take(self, names: Iterable[str], line: int) -> None:
        """Find what names need, and what that needs."""
        todo = [(name, line) for name in sorted(names, reverse=True)]
        while todo:
            name, line = todo.pop()
            if name in self.seen:
                continue
            self.seen.add(name)
            for unit in self._units_of(name, line):
                todo += [(each, unit.first) for each in self._add(unit, name)]

    def _units_of(self, name: str, line: int) -> tuple[Unit, ...]:
        units = self.contents.where.get(name, ())
        if not units:
            self._judge_unbound(name, line)
        return units

    def _judge_unbound(self, name: str, line: int) -> None:
        if name in self.contents.rebound:
            bound = self.contents.rebound[name]
            self.refuse(name, line, f"is bound by the global statement of line {bound} alone")
        elif name in BUILTINS or name in IMPLICIT:
            if name in {"globals", "__dict__"}:
                self.refuse(name, line, "reads the names of the module it stands in")
        elif self.contents.stars:
            star = self.contents.stars[0]
            self.refuse(name, line, f"may come from the import of all names in line {star}")
        else:
            self.unknown.setdefault(name, line)

    def _add(self, unit: Unit, name: str) -> list[str]:
        """Take a statement along; the names that it needs itself."""
        if self.contents.is_copied(unit):
            return self._copy(unit, name)
        reason = self._reason_against(unit, name)
        if reason:
            self.refuse(name, unit.first, reason)
            return []
        if unit in self.moved:
            return []
        self.moved.add(unit)
        names = self.contents.names[unit.index]
        self._judge_namespace(names, name, unit)
        for node in at_once(unit.node):
            if isinstance(node, _Imports):
                self._judge_modules(node, node.names, name)
        return sorted(names.needs | names.binds, reverse=True)

    def _judge_namespace(self, names: UnitNames, name: str, unit: Unit) -> None:
        for each in sorted(names.now & (_READS_ALL - {"globals"})):
            if each not in self.contents.where:
                self.refuse(name, unit.first, f"reads the module's names by {each}()")

    def _reason_against(self, unit: Unit, name: str) -> str | None:
        contents = self.contents
        units = contents.where[name]
        if name == "__all__":
            return "is the module's own list of names"
        if name in contents.rebound:
            return f"is rebound by the global statement of line {contents.rebound[name]}"
        if len(units) > 1 and not _are_overloads(units):
            return _bound_twice(name, units)
        if unit.crowded:
            return f"shares a line with another statement: {unit.first}"
        after = [star for star in contents.stars if star > unit.last]
        if after and not name.startswith("_"):
            return f"may be rebound by the import of all names in line {after[0]}"
        return _reason_against_form(unit.node)

    def _copy(self, unit: Unit, name: str) -> list[str]:
        self.copied.setdefault(unit, set()).add(name)
        names = self.contents.names[unit.index]
        checking = self.contents.is_checking(unit)
        for node in statements_in(unit.node):
            if isinstance(node, _Imports) and not checking:
                self._judge_import(node, name, unit)
        self._judge_copies(name)
        if isinstance(unit.node, _Imports):
            return []
        # Another name of the block comes along and must be nobody else's.
        return sorted(names.needs | (names.binds if not checking else set()), reverse=True)

    def _judge_import(self, node: _Imports, name: str, unit: Unit) -> None:
        """A block is copied whole; of a plain import only what binds the name is."""
        whole = not isinstance(unit.node, _Imports)
        self._judge_modules(node, [each for each in node.names if whole or binds(each, name)], name)

    def _judge_modules(self, node: _Imports, aliases: list[ast.alias], name: str) -> None:
        for alias in aliases:
            module = self._imported(node, alias)
            if self.ground.runs_barred(module):
                reason = f"needs {module}, which is imported here: moving would not break the loop"
                self.refuse(name, node.lineno, reason)

    def _imported(self, node: _Imports, alias: ast.alias) -> str:
        if isinstance(node, ast.Import):
            return alias.name
        module = absolute(node, self.contents.source)
        inner = f"{module}.{alias.name}".lstrip(".")
        return inner if inner in self.ground.known else module

    def _judge_copies(self, name: str) -> None:
        """A name may be imported several times, as long as it is the same that is imported."""
        units = [unit for unit in self.contents.where[name] if not self.contents.is_checking(unit)]
        if name in self.contents.rebound:
            line = self.contents.rebound[name]
            self.refuse(name, units[0].first, f"is rebound by the global statement of line {line}")
        if any(not self.contents.is_copied(unit) for unit in units):
            return  # said where the other statement is judged
        meanings = {_meaning(unit, name) for unit in units}
        if len(meanings) > 1:
            self.refuse(name, units[0].first, _bound_twice(name, units))


def _meaning(unit: Unit, name: str) -> tuple[object, ...]:
    """What an import binds a name to; two of the same are one."""
    node = unit.node
    if not isinstance(node, _Imports):
        return (unit.index,)
    for alias in node.names:
        if binds(alias, name):
            if isinstance(node, ast.Import):
                return (alias.name if alias.asname else name,)
            return (node.level, node.module, alias.name)
    return (unit.index,)


def _bound_twice(name: str, units: Collection[Unit]) -> str:
    for unit in units:
        for node in statements_in(unit.node):
            target = node.target if isinstance(node, ast.AugAssign) else None
            if isinstance(target, ast.Name) and target.id == name:
                return f"is changed by the augmented assignment of line {node.lineno}"
            if isinstance(node, ast.Delete):
                return f"is deleted in line {node.lineno}"
    lines = ", ".join(str(unit.first) for unit in units)
    return f"is bound more than once: lines {lines}"


def _are_overloads(units: tuple[Unit, ...]) -> bool:
    """Whether all but the last only tell type checkers how a function can be called."""
    return all(isinstance(unit.node, _Functions) for unit in units) and all(
        any(ast.unparse(each).endswith("overload") for each in unit.node.decorator_list)
        for unit in units[:-1]
        if isinstance(unit.node, _Functions)
    )


_PLAIN = ("FunctionDef", "AsyncFunctionDef", "ClassDef", "Assign", "AnnAssign", "TypeAlias")


def _reason_against_form(node: ast.stmt) -> str | None:
    """Blocks move when all they do is choose between definitions."""
    for each in statements_in(node):
        kind = type(each).__name__
        if may_be_copied(each) and not isinstance(each, ast.With):
            continue
        if isinstance(each, ast.Assign | ast.AnnAssign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            if not all(_is_plain_target(target) for target in targets):
                return f"is bound beside something else that is assigned to in line {each.lineno}"
        elif kind not in _PLAIN:
            return f"is not bound by a plain statement but in line {each.lineno}: {kind}"
    if any(isinstance(each, ast.NamedExpr) for each in at_once(node)):
        return "is bound in the middle of an expression"
    return None


def _is_plain_target(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return all(_is_plain_target(each) for each in target.elts)
    return isinstance(target, ast.Name)


def close(contents: Contents, wanted: Mapping[str, int], partner: str, ground: Ground) -> Closure:
    """Find what has to move with some names.

    Args:
        contents: The module that defines them.
        wanted: The names, and the line that asks for each.
        partner: The file that does.
        ground: What there is around the new module.

    Returns:
        What moves, or why it cannot.
    """
    search = _Search(contents, ground)
    for name in sorted(wanted):
        if name not in contents.where and name not in contents.rebound:
            error = InputError(_not_there(contents), path=partner, line=wanted[name], key=name)
            search.problems[name, ""] = error
        else:
            search.take([name], wanted[name])
    _judge_exports(search)
    _attach(search)
    moved = tuple(sorted(search.moved, key=lambda unit: unit.index))
    names = dict.fromkeys(
        name for unit in moved for name in _in_order(unit, contents.names[unit.index].binds)
    )
    copied = {
        unit: frozenset(each)
        for unit, each in sorted(search.copied.items(), key=lambda item: item[0].index)
    }
    problems = tuple(sorted(search.problems.values(), key=lambda each: (each.line or 0, str(each))))
    return Closure(moved, tuple(names), copied, search.unknown, problems)


def _judge_exports(search: _Search) -> None:
    """A list of names that is worked out may look at where they are defined."""
    for unit in search.contents.source.units:
        if "__all__" not in search.contents.names[unit.index].binds:
            continue
        for node in at_once(unit.node):
            if isinstance(node, ast.Call | ast.comprehension):
                search.refuse("__all__", unit.first, "is worked out, so that it may change")


def _not_there(contents: Contents) -> str:
    if contents.stars:
        return f"may come from the import of all names in line {contents.stars[0]}"
    if "__getattr__" in contents.where:
        return "is made by the module's __getattr__"
    return "is not bound by the module"


def _in_order(unit: Unit, names: frozenset[str]) -> list[str]:
    """Names in the order in which a statement mentions them."""
    text = ast.unparse(unit.node) if len(names) > 1 else ""
    return sorted(names, key=lambda name: (text.find(name), name))


def _attach(search: _Search) -> None:
    """Take along what completes a moved name, such as ``f.attribute = 1``.

    Left behind it would be done only once the old module is imported, which the partner need no
    longer do.
    """
    contents = search.contents
    for unit in contents.source.units:
        node = unit.node
        if unit.crowded or not isinstance(node, ast.Assign) or unit in search.moved:
            continue
        needs = contents.names[unit.index].needs
        roots = {root_of(target) for target in node.targets}
        bound = {name for each in search.moved for name in contents.names[each.index].binds}
        plain = not any(isinstance(target, ast.Name) for target in node.targets)
        if plain and roots <= bound and _are_at_hand(needs - bound, contents):
            trial = _Search(contents, search.ground)
            trial.take(needs - bound, unit.first)
            if not trial.problems and not trial.moved and not trial.unknown:
                search.moved.add(unit)
                for each, names in trial.copied.items():
                    search.copied.setdefault(each, set()).update(names)


def _are_at_hand(names: Collection[str], contents: Contents) -> bool:
    return all(
        name in BUILTINS or all(contents.is_copied(unit) for unit in contents.where.get(name, ()))
        for name in names
    )

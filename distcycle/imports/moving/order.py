"""Whether what moves may run before what stays: no statement must lose what it depends on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distcycle.errors import InputError
from distcycle.imports.conditions import last_name
from distcycle.imports.moving.closure import Closure
from distcycle.imports.moving.contents import Contents, root_of
from distcycle.imports.moving.sources import Unit

__all__ = ["Order", "find_order_problems", "stored_roots"]

_Imports = ast.Import | ast.ImportFrom
_Functions = ast.FunctionDef | ast.AsyncFunctionDef
_INERT_CALLS = frozenset(
    (
        *("getLogger", "get_logger", "getArtifactLogger", "TypeVar", "ParamSpec", "NewType"),
        *("compile", "namedtuple", "frozenset", "object", "Path", "PurePath", "Lock", "RLock"),
    )
)
_INERT_DECORATORS = frozenset(
    ("property", "staticmethod", "classmethod", "overload", "abstractmethod", "final", "override")
)


def find_order_problems(contents: Contents, closure: Closure) -> tuple[InputError, ...]:
    """Find statements that would run later than what they have an influence on.

    What moves is run all at once, before what stays. That is the same where neither has a part in
    what the other works with.

    Args:
        contents: The module.
        closure: What moves.

    Returns:
        A problem for each moved statement that would come to run before one that it depends on.
    """
    if not closure.moved:
        return ()
    order = Order(contents, closure)
    return tuple(
        problem
        for late in closure.moved
        if order.is_active(late)
        for problem in order.problems_of(late)
    )


class Order:
    """What of a module runs when it is imported, and what that may change."""

    def __init__(self, contents: Contents, closure: Closure) -> None:
        self.contents = contents
        self.moved = frozenset(closure.moved)
        self.names = closure.names
        self.first = closure.moved[0].index
        self.stored = stored_roots(contents.source.tree)
        self.known: dict[Unit, frozenset[str]] = {}

    def problems_of(self, late: Unit) -> Iterator[InputError]:
        """Why a statement cannot run before those above it that stay: the first of them."""
        for early in self.contents.source.units[: late.index]:
            if early in self.moved or not self.is_active(early):
                continue
            shared = sorted(self._shared(early, late))
            if shared:
                reason = (
                    f"would run before line {early.first}, which may change {shared[0]}"
                    " that it works with"
                )
                yield self._problem(late, reason)
                return

    def _shared(self, early: Unit, late: Unit) -> frozenset[str]:
        reached = self._reached(early) & self._reached(late)
        own = self.reached_mutables(early) & reached
        # The attributes of an imported module are changed only where that can be seen.
        changed = stored_roots(early.node) & reached
        return frozenset(own | changed)

    def reached_mutables(self, unit: Unit) -> frozenset[str]:
        """The names bound by the module that a statement may change when it runs."""
        return frozenset(name for name in self._reached(unit) if self._is_mutable(name))

    def _problem(self, unit: Unit, reason: str) -> InputError:
        names = self.contents.names[unit.index].binds
        path = self.contents.source.module.path
        return InputError(reason, path=path, line=unit.first, key=min(names, default=None))

    def _reached(self, unit: Unit) -> frozenset[str]:
        """The names that a statement may get at when it runs, through what it calls as well."""
        if unit not in self.known:
            found: set[str] = set()
            todo = list(self.contents.names[unit.index].now)
            todo += sorted(stored_roots(unit.node))
            while todo:
                name = todo.pop()
                if name in found:
                    continue
                found.add(name)
                for each in self.contents.where.get(name, ()):
                    if not self.contents.is_copied(each):
                        names = self.contents.names[each.index]
                        todo += names.now | names.later
            self.known[unit] = frozenset(found)
        return self.known[unit]

    def _is_mutable(self, name: str) -> bool:
        """Whether something bound by the module itself may be changed without being bound anew."""
        units = self.contents.where.get(name, ())
        return name in self.stored or any(
            not self.contents.is_copied(unit) and _is_mutable(unit.node) for unit in units
        )

    def is_active(self, unit: Unit) -> bool:
        """Whether a statement does more when it runs than to bind names."""
        if self.contents.is_copied(unit) or self.contents.is_checking(unit):
            return False
        return _is_active(unit.node)


def _is_active(node: ast.stmt) -> bool:
    if isinstance(node, _Functions):
        defaults = (*node.args.defaults, *filter(None, node.args.kw_defaults))
        return any(not _is_inert_decorator(each) for each in node.decorator_list) or any(
            not _is_inert(each) for each in defaults
        )
    if isinstance(node, ast.ClassDef):
        bases = [each for each in node.bases if ast.unparse(each) != "object"]
        return bool(node.decorator_list or node.keywords or bases) or any(
            _is_active(each) for each in node.body
        )
    if isinstance(node, ast.Assign):
        plain = all(isinstance(target, ast.Name) for target in node.targets)
        return not plain or not _is_inert(node.value)
    if isinstance(node, ast.AnnAssign):
        plain = isinstance(node.target, ast.Name)
        return not plain or (node.value is not None and not _is_inert(node.value))
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    return not isinstance(node, ast.Pass | _Imports)


def _is_inert(node: ast.expr) -> bool:
    """Whether an expression's value is the same whenever it is worked out."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return all(_is_inert(each) for each in node.elts)
    if isinstance(node, ast.Dict):
        return all(each is not None and _is_inert(each) for each in (*node.keys, *node.values))
    if isinstance(node, ast.BinOp):
        return isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.operand, ast.Constant)
    if isinstance(node, ast.Call):
        return last_name(node.func) in _INERT_CALLS
    return isinstance(node, ast.Constant | ast.Name | ast.Lambda)


def _is_inert_decorator(node: ast.expr) -> bool:
    return last_name(node) in _INERT_DECORATORS


def _is_mutable(node: ast.stmt) -> bool:
    if isinstance(node, _Functions):
        return False
    if isinstance(node, ast.ClassDef):
        # Classes that keep lists of their subclasses, or anything else, in themselves.
        hooks = any(isinstance(e, _Functions) and e.name == "__init_subclass__" for e in node.body)
        values = [each.value for each in node.body if isinstance(each, ast.Assign)]
        return hooks or bool(node.keywords) or not all(_is_immutable(each) for each in values)
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        return not _is_immutable(node.value)
    return True


def _is_immutable(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return all(_is_immutable(each) for each in node.elts)
    if isinstance(node, ast.BinOp):
        return _is_immutable(node.left) and _is_immutable(node.right)
    if isinstance(node, ast.Call):
        return last_name(node.func) in _INERT_CALLS
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.Lambda | ast.UnaryOp | ast.Compare)


def stored_roots(tree: ast.AST) -> frozenset[str]:
    """The names whose attributes or items are assigned to or deleted."""
    return frozenset(
        root_of(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)
    )

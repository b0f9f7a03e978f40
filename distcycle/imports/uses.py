"""For what a module needs the names that it imports: at once, in functions, or in annotations."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["Uses", "read_uses"]

Use = Literal["now", "later", "evaluated", "annotation", "exported"]
"""``now`` while the module is imported, ``later`` when a function runs, ``annotation`` for readers
and type checkers only, ``evaluated`` in annotations that are evaluated all the same, ``exported``
by ``__all__``."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """For what a module needs its names.

    Attributes:
        of: The uses of each name.
    """

    of: Mapping[str, frozenset[Use]]

    def all_in(self, names: Iterable[str], *uses: Use) -> bool:
        """Whether names are used, and for nothing else than the uses given."""
        allowed = frozenset(uses)
        return all(self.of.get(name) and self.of[name] <= allowed for name in names)


def read_uses(tree: ast.Module) -> Uses:
    """Find for what a module needs each name that it loads.

    A name that a function binds itself counts as used all the same; that errs on the safe side.

    Args:
        tree: The module.
    """
    postponed = any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in tree.body
    )
    found: dict[str, set[Use]] = defaultdict(set)
    for name, use in _walk(tree.body, postponed=postponed):
        found[name].add(use)
    uses = {name: frozenset(kinds) for name, kinds in found.items()}
    return Uses(of=uses)


def _walk(body: Iterable[ast.AST], *, postponed: bool) -> Iterator[tuple[str, Use]]:
    annotation: Use = "annotation" if postponed else "evaluated"
    todo: list[tuple[ast.AST, Use]] = [(node, "now") for node in body]
    while todo:
        node, use = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id, use
        elif isinstance(node, _FUNCTIONS):
            arguments = node.args
            each = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            extra = (arguments.vararg, arguments.kwarg)
            written = [a.annotation for a in (*each, *extra) if a is not None and a.annotation]
            written += [node.returns] if node.returns else []
            # Of a function in a function they are evaluated when the outer one runs.
            when: Use = annotation if use == "now" or postponed else use
            for expression in written:
                yield from _annotated(expression, when)
            defaults = [d for d in (*arguments.defaults, *arguments.kw_defaults) if d is not None]
            todo += [(child, use) for child in (*node.decorator_list, *defaults)]
            todo += [(child, "later" if use == "now" else use) for child in node.body]
        elif isinstance(node, ast.Lambda):
            todo += [(child, use) for child in node.args.defaults]
            todo.append((node.body, "later" if use == "now" else use))
        elif isinstance(node, ast.AnnAssign):
            yield from _annotated(node.annotation, annotation if use == "now" else "annotation")
            todo += [(child, use) for child in (node.target, node.value) if child is not None]
        else:
            if (names := _added_to_all(node)) is not None:
                yield from ((name, "exported") for name in _strings(names))
            elif isinstance(node, ast.Import | ast.ImportFrom):
                # `import a as a` says, to type checkers too, that others may take it from here.
                yield from ((a.name, "exported") for a in node.names if a.asname == a.name)
            todo += [(child, use) for child in ast.iter_child_nodes(node)]


def _added_to_all(node: ast.AST) -> ast.expr | None:
    """What a statement or call puts into ``__all__``."""
    if isinstance(node, ast.Assign) and any(map(_is_all, node.targets)):
        return node.value
    if isinstance(node, ast.AugAssign) and _is_all(node.target):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        return node.args[0] if _is_all(node.func.value) else None
    return None


def _is_all(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "__all__"


def _strings(node: ast.expr) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def _annotated(expression: ast.expr, use: Use) -> Iterator[tuple[str, Use]]:
    """Names in an annotation; those in quotes are never evaluated."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Name):
            yield node.id, use
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                quoted = ast.parse(node.value, mode="eval")
            except (SyntaxError, ValueError, RecursionError):
                continue
            for each in ast.walk(quoted):
                if isinstance(each, ast.Name):
                    yield each.id, "annotation"

"""A module's text, cut into its top-level statements, and edited by character positions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from distcycle.errors import InputError
from distcycle.imports.modules import Module, ancestors_of

__all__ = ["Edit", "Source", "Unit", "apply_edits", "package_of", "parse_source", "written"]

# Lines as Python's tokenizer counts them: `str.splitlines` would cut at form feeds as well.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_MARK = "\ufeff"
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Edit(NamedTuple):
    """A replacement of the characters from ``start`` to ``end``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A top-level statement.

    Attributes:
        index: Its place among the top-level statements.
        node: The statement.
        first: Its first line, that of its first decorator, counted from 1.
        last: Its last line.
        comments: The first line of the comments that touch it; ``first`` where there are none.
        crowded: Whether another statement shares a line with it.
    """

    index: int
    node: ast.stmt
    first: int
    last: int
    comments: int
    crowded: bool

    @property
    def is_definition(self) -> bool:
        """Whether it is a function or a class, which two blank lines set apart."""
        return isinstance(self.node, _DEFINITIONS)


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A module that was parsed.

    Attributes:
        module: The module.
        mark: The byte order mark that the text began with, or ``""``.
        text: The text without it.
        lines: Its lines, each with its end.
        starts: Where each line starts in the text.
        newline: The line ending that most lines have.
        tree: The syntax tree.
        units: Its top-level statements.
    """

    module: Module
    mark: str
    text: str
    lines: tuple[str, ...]
    starts: tuple[int, ...]
    newline: str
    tree: ast.Module
    units: tuple[Unit, ...]

    def offset(self, line: int, column: int = 0) -> int:
        """Where a place of the syntax tree is in the text.

        Args:
            line: The line, counted from 1; one after the last is the end.
            column: The column in bytes of UTF-8, as ``ast`` counts.

        Returns:
            The position in characters.
        """
        if line > len(self.lines):
            return len(self.text)
        start = self.starts[line - 1]
        if not column:
            return start
        return start + len(self.lines[line - 1].encode("utf-8", "surrogatepass")[:column].decode())

    def span(self, node: ast.expr | ast.stmt | ast.alias) -> tuple[int, int]:
        """Where a node's text starts and ends; decorators are not part of it."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self.offset(node.lineno, node.col_offset), self.offset(end_line, end_column)

    def segment(self, node: ast.expr | ast.stmt | ast.alias) -> str:
        """A node's text."""
        start, end = self.span(node)
        return self.text[start:end]

    def unit_text(self, unit: Unit) -> str:
        """A unit's text with its decorators, and without what shares its lines."""
        start, end = self.span(unit.node)
        if unit.first < unit.node.lineno:
            start = self.offset(unit.first)
        return self.text[start:end]

    def unit_range(self, unit: Unit) -> tuple[int, int]:
        """Where a unit's lines start, those of its comments among them, and where they end."""
        return self.offset(unit.comments), self.offset(unit.last + 1)

    def edited(self, edits: Iterable[Edit]) -> str:
        """The whole text with edits made, and its byte order mark."""
        return self.mark + apply_edits(self.text, edits)

    def is_blank(self, line: int) -> bool:
        """Whether a line, counted from 1, has nothing on it."""
        return not self.lines[line - 1].strip()

    def is_comment(self, line: int) -> bool:
        """Whether a line between statements is a comment that begins in the first column."""
        return self.lines[line - 1].startswith("#")


def parse_source(module: Module, text: str) -> Source:
    """Parse a module's text.

    Args:
        module: The module.
        text: The text, line endings and byte order mark as they are in the file.

    Returns:
        The source.

    Raises:
        InputError: It is no Python that this interpreter knows.
    """
    mark = _MARK if text.startswith(_MARK) else ""
    text = text[len(mark) :]
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        problem = f"is not valid Python: {error.msg}"
        raise InputError(problem, path=module.path, line=error.lineno) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"cannot be parsed: {error}", path=module.path) from None
    lines = tuple(_LINE.findall(text))
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    units = tuple(_units(tree, lines))
    return Source(module, mark, text, lines, tuple(starts), _newline(lines), tree, units)


def _newline(lines: tuple[str, ...]) -> str:
    windows = sum(line.endswith("\r\n") for line in lines)
    return "\r\n" if windows * 2 > len(lines) else "\n"


def _units(tree: ast.Module, lines: tuple[str, ...]) -> Iterator[Unit]:
    before = 0
    for index, node in enumerate(tree.body):
        first = _first_line(node, lines, before)
        last = node.end_lineno or node.lineno
        comments = _comments_above(first, lines, before)
        yield Unit(index, node, first, last, comments, _is_crowded(node, first, lines, before))
        before = last


def _first_line(node: ast.stmt, lines: tuple[str, ...], before: int) -> int:
    decorators = node.decorator_list if isinstance(node, _DEFINITIONS) else []
    first = min((node.lineno, *(each.lineno for each in decorators)))
    # In `@(` + newline + `deco)` the expression begins below the line that the decorator begins on.
    while decorators and first > before + 1 and not lines[first - 1].lstrip().startswith("@"):
        first -= 1
    return first


def _comments_above(first: int, lines: tuple[str, ...], before: int) -> int:
    if not before:  # a licence, a pragma: about the file
        return first
    line = first
    while line - 1 > before and lines[line - 2].startswith("#"):
        if re.match(r"#\s*fmt:\s*(?:on|off)\b", lines[line - 2]):
            break
        line -= 1
    return line


def _is_crowded(node: ast.stmt, first: int, lines: tuple[str, ...], before: int) -> bool:
    end_line = (node.end_lineno or node.lineno) - 1
    rest = lines[end_line].encode("utf-8", "surrogatepass")[node.end_col_offset or 0 :].strip()
    follows = bool(rest) and not rest.startswith(b"#")
    return first <= before or node.col_offset > 0 or follows


def apply_edits(text: str, edits: Iterable[Edit], start: int = 0, end: int | None = None) -> str:
    """Make edits in a part of a text.

    Args:
        text: The text.
        edits: The edits; none overlaps another. Those outside of the part are not made.
        start: Where the part starts.
        end: Where it ends; None for the end of the text.

    Returns:
        The part, edited.
    """
    end = len(text) if end is None else end
    done = []
    for edit in sorted(edits):
        if start <= edit.start and edit.end <= end:
            done += [text[start : edit.start], edit.text]
            start = edit.end
    return "".join((*done, text[start:end]))


# Names of modules ---------------------------------------------------------------------------------


def package_of(module: Module) -> str:
    """What a relative import in a module starts from: ``__package__``."""
    return module.name if module.is_package else module.name.rpartition(".")[0]


def written(target: str, package: str, *, relative: bool) -> str:
    """A module's name as an import writes it.

    Args:
        target: The module's full name.
        package: The package of the module that imports it.
        relative: Whether it is written with leading dots where that is possible.

    Returns:
        Such as ``pkg.sub``, ``.sub`` or ``..``.
    """
    inner = (*ancestors_of(package), package) if package else ()
    shared = [each for each in inner if target == each or target.startswith(f"{each}.")]
    if not relative or not shared:
        return target
    dots = "." * (len(inner) - len(shared) + 1)
    return dots + target[len(shared[-1]) :].removeprefix(".")

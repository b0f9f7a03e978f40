"""The new texts: the new module, what is left of the old one, and the partner's imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from distcycle.imports.modules import Module
from distcycle.imports.moving.closure import Closure
from distcycle.imports.moving.contents import Contents, absolute, binds
from distcycle.imports.moving.notes import name_uses
from distcycle.imports.moving.sources import Edit, Source, Unit, apply_edits, package_of, written

__all__ = ["REMARK", "from_edit", "import_text", "render_import", "write_new", "write_old"]

_Imports = ast.Import | ast.ImportFrom
_WIDTH = 88
_FROM = re.compile(r"from\b.*?\bimport\b", re.DOTALL)
_PRAGMA = re.compile(r"#\s*(?:mypy|ruff|flake8|pyright|pylint|pyre|pytype|type):", re.IGNORECASE)
_CODING = re.compile(r"#.*?coding[:=]")
_LICENCE = re.compile(r"copyright|licen[cs]e|SPDX|all rights reserved", re.IGNORECASE)
REMARK = re.compile(r"#\s*(?:type|noqa|pyright|pylint|mypy|isort|nosec)\b", re.IGNORECASE)


# Imports ------------------------------------------------------------------------------------------


def render_import(
    module: str, names: Iterable[str], *, indent: str = "", newline: str = "\n", remark: str = ""
) -> str:
    """Write a ``from`` import, on several lines where it is long.

    Args:
        module: The module as it is to be written, leading dots included.
        names: The names, each with its ``as``.
        indent: What its further lines begin with.
        newline: The line ending.
        remark: A comment for its first line, without the spaces before it.

    Returns:
        The statement, without a line ending after it.
    """
    names = tuple(names)
    space = f"  {remark}" if remark else ""
    line = f"from {module} import {', '.join(names)}"
    if len(indent) + len(line) <= _WIDTH:
        return line + space
    inner = "".join(f"{indent}    {name},{newline}" for name in names)
    return f"from {module} import ({space}{newline}{inner}{indent})"


def import_text(node: _Imports, source: Source, package: str, names: Collection[str]) -> str:
    """Write the part of an import that binds some names, for a module elsewhere.

    Args:
        node: The import.
        source: The module that it stands in.
        package: The package of the module that it is for.
        names: The names that are needed.

    Returns:
        The statement: its own text where all of it is needed and means the same there.
    """
    aliases = [alias for alias in node.names if any(binds(alias, name) for name in names)]
    moves = isinstance(node, ast.ImportFrom) and node.level > 0
    if moves and package != package_of(source.module):
        assert isinstance(node, ast.ImportFrom)
        module = written(absolute(node, source), package, relative=True)
    else:
        module = (
            f"{'.' * node.level}{node.module or ''}" if isinstance(node, ast.ImportFrom) else ""
        )
        if len(aliases) == len(node.names):
            return source.segment(node) + _remark_after(node, source)
    texts = [_alias_text(alias) for alias in aliases]
    remark = _remark_after(node, source) if node.lineno == node.end_lineno else ""
    if isinstance(node, ast.Import):
        return f"import {', '.join(texts)}{remark}"
    return render_import(module, texts, newline=source.newline, remark=remark.strip())


def _alias_text(alias: ast.alias) -> str:
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name


def _remark_after(node: ast.stmt, source: Source) -> str:
    """A comment behind a statement that is meant for a tool."""
    end = source.span(node)[1]
    rest = source.text[end : source.offset((node.end_lineno or node.lineno) + 1)].strip()
    return f"  {rest}" if REMARK.match(rest) else ""


# The new module -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the new module, and how many lines are left blank before it at least."""

    text: str
    blank: int


def write_new(
    contents: Contents, closure: Closure, new: Module, partner: str
) -> tuple[str, tuple[str, ...]]:
    """Write the new module.

    Args:
        contents: The module that the names move out of.
        closure: What moves.
        new: The new module.
        partner: The module that imports the names.

    Returns:
        Its text, and its imports as statements.
    """
    source = contents.source
    stem, other = source.module.name.rpartition(".")[2], partner.rpartition(".")[2]
    body = _Body(contents, closure, new)
    pieces = [_Piece(text, 0) for text in _header(source)]
    pieces.append(_Piece(f'"""What {stem} and {other} share."""', 0))
    pieces += [*_future(source), *body.pieces()]
    return source.newline.join(_joined(pieces)) + source.newline, tuple(body.copied)


def _joined(pieces: Sequence[_Piece]) -> Iterator[str]:
    for index, piece in enumerate(pieces):
        if index:
            yield from [""] * piece.blank
        yield piece.text


def _header(source: Source) -> list[str]:
    """Comments at the top that are about the file: its encoding, its licence, tools' settings."""
    end = source.units[0].first if source.units else len(source.lines) + 1
    lines = [line.rstrip("\r\n") for line in source.lines[: end - 1]]
    for unit in source.units[:1]:
        # A module's docstring may come before them.
        if isinstance(unit.node, ast.Expr) and len(source.units) > 1:
            lines += _between(source, unit.last, source.units[1].first)
    kept: list[str] = []
    for block in _blocks(lines):
        licence = any(_LICENCE.search(line) for line in block)
        kept += [
            line
            for line in block
            if not line.startswith("#!")
            and (licence or _PRAGMA.match(line) or (_CODING.match(line) and line in lines[:2]))
        ]
    later = {
        line
        for unit, after in zip(source.units, source.units[1:], strict=False)
        if not unit.is_definition
        for line in _between(source, unit.last, after.first)
        if _PRAGMA.match(line)
    }
    return [*kept, *sorted(later - set(kept))]


def _between(source: Source, last: int, first: int) -> list[str]:
    return [line.rstrip("\r\n") for line in source.lines[last : first - 1]]


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    block: list[str] = []
    for line in (*lines, ""):
        if line.startswith("#"):
            block.append(line)
        elif block:
            yield block
            block = []


def _future(source: Source) -> Iterator[_Piece]:
    for unit in source.units:
        if isinstance(unit.node, ast.ImportFrom) and unit.node.module == "__future__":
            yield _Piece(source.segment(unit.node), 1)


class _Body:
    """Copied imports and what moves, in their old order.

    An import that stood below a definition stays below it: it may have been put there since what
    it imports needs the definition.
    """

    def __init__(self, contents: Contents, closure: Closure, new: Module) -> None:
        self.contents = contents
        self.source = contents.source
        self.moved = closure.moved
        self.plain = {
            unit: names for unit, names in closure.copied.items() if not _is_apart(contents, unit)
        }
        self.checked = {
            unit: names for unit, names in closure.copied.items() if contents.is_checking(unit)
        }
        self.package = package_of(new)
        self.copied: list[str] = []

    def pieces(self) -> Iterator[_Piece]:
        units = sorted((*self.plain, *self.moved), key=lambda unit: unit.index)
        previous: Unit | None = None
        for unit in units:
            if unit == self.moved[0]:
                yield from self._for_type_checkers()
            yield (
                self._copied(unit, previous) if unit in self.plain else self._moved(unit, previous)
            )
            previous = unit

    def _copied(self, unit: Unit, previous: Unit | None) -> _Piece:
        source = self.source
        if isinstance(unit.node, _Imports):
            text = import_text(unit.node, source, self.package, self.plain[unit])
        else:
            text = _unit_text(source, unit, _import_edits(unit, source, self.package))
        self.copied.append(text)
        if previous is not None and previous.is_definition:
            return _Piece(text, 2)
        gap = previous is None or any(
            source.is_blank(line) for line in range(previous.last, unit.first)
        )
        return _Piece(text, 1 if gap else 0)

    def _for_type_checkers(self) -> Iterator[_Piece]:
        source = self.source
        tests: dict[str, list[str]] = {}
        for unit, names in self.checked.items():
            assert isinstance(unit.node, ast.If)
            inner = tests.setdefault(source.segment(unit.node.test), [])
            inner += _checked_imports(unit.node, source, self.package, names)
        for test, inner in tests.items():
            text = source.newline.join((f"if {test}:", *(f"    {line}" for line in inner)))
            self.copied.append(text)
            yield _Piece(text, 1)

    def _moved(self, unit: Unit, previous: Unit | None) -> _Piece:
        source = self.source
        literal = f'"{source.module.name}"'
        edits = [*_import_edits(unit, source, self.package)]
        edits += [Edit(*source.span(node), literal) for node in name_uses(unit)]
        apart = unit.is_definition or (previous is not None and previous.is_definition)
        blank = 2 if apart else self._gap(previous, unit)
        return _Piece(_unit_text(source, unit, edits), blank)

    def _gap(self, previous: Unit | None, unit: Unit) -> int:
        """As many blank lines as there were, where nothing else stood between two statements."""
        if previous is None or previous.index + 1 != unit.index or previous in self.plain:
            return 1
        return sum(self.source.is_blank(line) for line in range(previous.last + 1, unit.comments))


def _is_apart(contents: Contents, unit: Unit) -> bool:
    """Whether an import does not run where it stands: one from the future, or for type checkers."""
    future = isinstance(unit.node, ast.ImportFrom) and unit.node.module == "__future__"
    return future or contents.is_checking(unit)


def _checked_imports(
    block: ast.If, source: Source, package: str, names: Collection[str]
) -> Iterator[str]:
    for node in block.body:
        if isinstance(node, _Imports) and any(binds(a, n) for a in node.names for n in names):
            text = import_text(node, source, package, names)
            own = source.text[source.offset(node.lineno) : source.span(node)[0]]
            lines = text.split(source.newline)
            below = (f"    {line.removeprefix(own)}" for line in lines[1:])
            yield source.newline.join((lines[0], *below))


def _unit_text(source: Source, unit: Unit, edits: Iterable[Edit]) -> str:
    text = apply_edits(source.text, edits, *source.unit_range(unit))
    return text.rstrip("\r\n")


def _import_edits(unit: Unit, source: Source, package: str) -> Iterator[Edit]:
    """Relative imports inside of what moves, where the new module is in another package."""
    if package == package_of(source.module):
        return
    for node in ast.walk(unit.node):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield from_edit(node, source, written(absolute(node, source), package, relative=True))


def from_edit(node: ast.ImportFrom, source: Source, module: str) -> Edit:
    """Have an import name another module, and leave all else of it as it is written."""
    start, end = source.span(node)
    match = _FROM.match(source.text, start, end)
    assert match is not None
    return Edit(start, match.end(), f"from {module} import")


# The old module -----------------------------------------------------------------------------------


def write_old(contents: Contents, closure: Closure, new: Module) -> str:
    """Write what is left of the old module, with an import of what moved in place of it.

    Args:
        contents: The module.
        closure: What moved.
        new: The new module.

    Returns:
        Its text.
    """
    source = contents.source
    pieces: list[str] = []
    position = 0
    for unit in closure.moved:
        start, end = _with_blanks(source, unit)
        pieces.append(source.text[position : max(start, position)])
        if unit is closure.moved[0]:
            pieces.append(_blank_above(contents, unit))
            pieces.append(_import_back(contents, closure, new, unit, end))
        else:
            pieces.append(_blanks_for(source, unit, "".join(pieces), end))
        position = max(end, position)
    pieces.append(source.text[position:])
    text = "".join(pieces)
    if closure.moved and position >= len(source.text):
        ends = source.text.endswith(("\n", "\r"))
        text = text.rstrip() + (source.newline if ends else "")
    return source.mark + text


def _with_blanks(source: Source, unit: Unit) -> tuple[int, int]:
    """A unit's range, and with it the blank lines after it."""
    start, _ = source.unit_range(unit)
    line = unit.last + 1
    while line <= len(source.lines) and source.is_blank(line):
        line += 1
    return start, source.offset(line)


def _blanks_for(source: Source, unit: Unit, before: str, end: int) -> str:
    """The blank lines to add, so that as many are left as there were on either side at most."""
    if end >= len(source.text):
        return ""
    lines = before.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    had = next((count for count, line in enumerate(reversed(lines[:-1])) if line.strip()), 0)
    after = source.text[source.offset(unit.last + 1) : end]
    count = after.replace("\r\n", "\n").count("\n")
    return source.newline * max(count - had, 0)


def _blank_above(contents: Contents, unit: Unit) -> str:
    """A blank line where a block of assignments would go on right into the import."""
    above = unit.comments - 1
    if not unit.index or not above or contents.source.is_blank(above):
        return ""
    before = contents.source.units[unit.index - 1]
    return "" if isinstance(before.node, _Imports) else contents.source.newline


def _import_back(contents: Contents, closure: Closure, new: Module, unit: Unit, end: int) -> str:
    source = contents.source
    package = package_of(source.module)
    name = written(new.name, package, relative=_writes_relative(source))
    codes = "F401" if _is_among_imports(contents, unit) else "E402, F401"
    newline = source.newline
    statement = render_import(
        name, sorted(closure.names, key=_import_order), newline=newline, remark=f"# noqa: {codes}"
    )
    text = f"# Moved there; others may go on to import it from here.{newline}{statement}{newline}"
    if end >= len(source.text):
        return text
    after = source.text[source.offset(unit.last + 1) : end]
    # A block of assignments may go on right below, which an import should not.
    return text + (after or newline)


def _writes_relative(source: Source) -> bool:
    """Whether a module imports from its own package by leading dots, if it does at all."""
    own = package_of(source.module).partition(".")[0]
    relative = absolute_ones = 0
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom):
            relative += node.level > 0
            absolute_ones += not node.level and (node.module or "").partition(".")[0] == own
    return relative >= absolute_ones


def _is_among_imports(contents: Contents, unit: Unit) -> bool:
    return all(
        contents.is_copied(each)
        or contents.is_checking(each)
        or (not each.index and isinstance(each.node, ast.Expr))
        for each in contents.source.units[: unit.index]
    )


def _import_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest, as most sorters of imports have it."""
    if name.isupper() and len(name) > 1:
        return 0, name
    return (1 if name[:1].isupper() else 2), name

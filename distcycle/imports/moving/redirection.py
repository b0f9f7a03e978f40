"""The partner's imports, made to name the modules where things are defined now."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from distcycle.imports.modules import Module
from distcycle.imports.moving.contents import Contents, absolute, binds
from distcycle.imports.moving.partner import FromImport, ModuleImport, ModuleUse, Uses
from distcycle.imports.moving.records import Remaining
from distcycle.imports.moving.rewriting import REMARK, from_edit, render_import
from distcycle.imports.moving.sources import Edit, Source, package_of, written

__all__ = ["Redirection", "find_origin", "redirect"]


@dataclass(frozen=True, slots=True, eq=False)
class Redirection:
    """A partner whose imports were changed.

    Attributes:
        text: Its text.
        remaining: What it still takes from the old module.
    """

    text: str
    remaining: tuple[Remaining, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """What a module imported a name as, so that others can import it from there, too."""

    module: str
    name: str | None
    relative: bool


def find_origin(contents: Contents, name: str, barred: Collection[str]) -> Origin | None:
    """Find where a module has a name from.

    Args:
        contents: The module.
        name: The name.
        barred: The modules that it must not be from.

    Returns:
        The origin; None where the module binds the name itself, or imports it only in some cases.
    """
    units = contents.where.get(name, ())
    if len(units) != 1 or name in contents.rebound:
        return None
    node = units[0].node
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return None
    alias = next(each for each in node.names if binds(each, name))
    if isinstance(node, ast.Import):
        plain = alias.asname or "." not in alias.name
        return Origin(alias.name, None, False) if plain and alias.name not in barred else None
    module = absolute(node, contents.source)
    if not module or {module, f"{module}.{alias.name}"} & set(barred):
        return None
    return Origin(module, alias.name, node.level > 0)


def redirect(
    partner: Source,
    uses: Uses,
    contents: Contents,
    *,
    new: Module,
    taken: Collection[str],
    origins: Mapping[str, Origin],
) -> Redirection:
    """Have a module import what moved from the new module.

    Args:
        partner: The module that imports.
        uses: What it takes from the old module.
        contents: The old module.
        new: The new module.
        taken: The names that the new module has.
        origins: Where names come from that the old module only imports itself.

    Returns:
        The module's new text, and what it still takes from the old one.
    """
    work = _Work(partner, contents.source.module.name, new, frozenset(taken), origins)
    for each in uses.names:
        work.split(each)
    for use in uses.modules:
        work.repoint(use)
    for line in uses.calls:
        work.keep(line, "", lazy=True, reason="is imported by a call")
    return Redirection(partner.edited(work.edits), tuple(sorted(work.remaining)))


@dataclass(slots=True)
class _Work:
    partner: Source
    old: str
    new: Module
    taken: frozenset[str]
    origins: Mapping[str, Origin]
    edits: list[Edit] = field(default_factory=list)
    remaining: list[Remaining] = field(default_factory=list)

    def keep(self, line: int, name: str, *, lazy: bool, reason: str) -> None:
        self.remaining.append(Remaining(line, name, lazy, reason))

    def _write(self, module: str, *, relative: bool) -> str:
        return written(module, package_of(self.partner.module), relative=relative)

    # Names ---------------------------------------------------------------------------------------

    def split(self, use: FromImport) -> None:
        """Divide a ``from`` import into those of the new module, of the origins, and the rest."""
        node = use.node
        rest = [alias for alias in node.names if not self._is_redirected(alias)]
        if not use.checking:
            for alias in rest:
                self.keep(alias.lineno, alias.name, lazy=use.lazy, reason="does not move")
        if len(rest) == len(node.names):
            return
        if all(alias.name in self.taken for alias in node.names):
            module = self._write(self.new.name, relative=node.level > 0)
            self.edits.append(from_edit(node, self.partner, module))
            return
        self.edits.append(Edit(*self.partner.span(node), self._divided(node, rest)))

    def _is_redirected(self, alias: ast.alias) -> bool:
        return alias.name in self.taken or alias.name in self.origins

    def _divided(self, node: ast.ImportFrom, rest: Collection[ast.alias]) -> str:
        entries = _Entries(node, self.partner)
        groups: dict[str, list[tuple[str, ast.alias]]] = {}
        plain: list[str] = []
        for alias in node.names:
            module, text = self._target(node, alias, is_rest=alias in rest)
            if module is None:
                plain.append(f"import {text}")
            else:
                groups.setdefault(module, []).append((text, alias))
        statements = plain + [
            entries.render(module, group) for module, group in sorted(groups.items())
        ]
        return entries.joined(statements)

    def _target(
        self, node: ast.ImportFrom, alias: ast.alias, *, is_rest: bool
    ) -> tuple[str | None, str]:
        """The module that a name is imported from now, and how; None for a module itself."""
        local = alias.asname or alias.name
        relative = node.level > 0
        if is_rest:
            return f"{'.' * node.level}{node.module or ''}", _as(alias.name, local)
        if alias.name in self.taken:
            return self._write(self.new.name, relative=relative), _as(alias.name, local)
        origin = self.origins[alias.name]
        if origin.name is None:
            return None, _as(origin.module, local)
        return self._write(origin.module, relative=origin.relative), _as(origin.name, local)

    # The module itself ---------------------------------------------------------------------------

    def repoint(self, use: ModuleUse) -> None:
        """Have attributes of the old module read from the new one."""
        moved = [each for each, _ in use.attributes if each.attr in self.taken]
        lazy = all(each.lazy for each in use.imports)
        obstacle = use.obstacle or (None if moved else "does not move")
        plan = None if obstacle else self._plan(use, whole=len(moved) == len(use.attributes))
        if plan is None:
            if not all(each.checking for each in use.imports):
                reason = obstacle or "has no free name for the new module"
                for line in sorted({each.node.lineno for each in use.imports}):
                    self.keep(line, "", lazy=lazy, reason=reason)
            return
        local, edits = plan
        self.edits += edits
        if local != use.local:
            self.edits += [Edit(*self.partner.span(each.value), local) for each in moved]
        for each, called in use.attributes:
            if each.attr not in self.taken:
                self.keep(each.lineno, each.attr, lazy=called, reason="does not move")

    def _plan(self, use: ModuleUse, *, whole: bool) -> tuple[str, list[Edit]] | None:
        """What the new module is called in the partner, and how each import changes."""
        package, _, stem = self.new.name.rpartition(".")
        aliased = "." not in use.local
        named = all(each.alias.asname for each in use.imports)
        dotted = not aliased and all(isinstance(each.node, ast.Import) for each in use.imports)
        local = self.new.name if dotted else use.local if named and whole else stem
        if local == stem and re.search(rf"\b{re.escape(stem)}\b", self.partner.text):
            return None
        edits = []
        for each in use.imports:
            text = self._alias_text(each, local, package, stem)
            if text is None:
                return None
            kept = "" if whole else f"{self.partner.segment(each.alias)}, "
            edits.append(Edit(*self.partner.span(each.alias), kept + text))
        return local, edits

    def _alias_text(self, each: ModuleImport, local: str, package: str, stem: str) -> str | None:
        if isinstance(each.node, ast.Import):
            return self.new.name if local == self.new.name else _as(self.new.name, local)
        return _as(stem, local) if absolute(each.node, self.partner) == package else None


def _as(name: str, local: str) -> str:
    return name if name == local else f"{name} as {local}"


@dataclass(frozen=True, slots=True)
class _Comment:
    above: tuple[str, ...] = ()
    behind: str = ""


class _Entries:
    """The names of an import with the comments that stand with them."""

    def __init__(self, node: ast.ImportFrom, source: Source) -> None:
        self.source = source
        start, end = source.span(node)
        line_start = source.offset(node.lineno)
        line_end = source.offset((node.end_lineno or node.lineno) + 1)
        before = source.text[line_start:start]
        after = source.text[end:line_end].strip()
        self.alone = not before.strip() and (not after or after.startswith("#"))
        self.indent = before if not before.strip() else ""
        self.remark = after if REMARK.match(after) else ""
        self.opening = ""
        self.comments = self._read(node, source.text[start:end], start)

    def _read(self, node: ast.ImportFrom, text: str, start: int) -> Mapping[ast.alias, _Comment]:
        places = [(self.source.span(alias)[0] - start, alias) for alias in node.names]
        above: dict[ast.alias, list[str]] = {}
        behind: dict[ast.alias, str] = {}
        for line_start, position, comment in _comments_in(text):
            on_line = [alias for place, alias in places if line_start <= place < position]
            later = [alias for place, alias in places if place > position]
            if on_line:
                behind[on_line[-1]] = comment
            elif text[line_start:position].strip():
                self.opening = comment
            elif later:
                above.setdefault(later[0], []).append(comment)
        return {
            alias: _Comment(tuple(above.get(alias, ())), behind.get(alias, ""))
            for alias in node.names
        }

    def render(self, module: str, group: Sequence[tuple[str, ast.alias]]) -> str:
        comments = [self.comments[alias] for _, alias in group]
        newline = self.source.newline
        if not self.alone or not any(each.above or each.behind for each in comments):
            names = [text for text, _ in group]
            if not self.alone:
                return f"from {module} import {', '.join(names)}"
            remark = self.opening
            return render_import(module, names, indent=self.indent, newline=newline, remark=remark)
        lines = [f"from {module} import (" + (f"  {self.opening}" if self.opening else "")]
        for (text, _), comment in zip(group, comments, strict=True):
            lines += [f"{self.indent}    {each}" for each in comment.above]
            behind = f"  {comment.behind}" if comment.behind else ""
            lines.append(f"{self.indent}    {text},{behind}")
        return newline.join((*lines, f"{self.indent})"))

    def joined(self, statements: Iterable[str]) -> str:
        statements = list(statements)
        if not self.alone:
            return "; ".join(statements)
        remark = f"  {self.remark}" if self.remark else ""
        return f"{remark}{self.source.newline}{self.indent}".join(statements)


def _comments_in(text: str) -> Iterator[tuple[int, int, str]]:
    """The comments of a statement: where their line starts, where they start, and their text."""
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", text)
    starts = [sum(map(len, lines[:count])) for count in range(len(lines))]
    for token in tokenize.generate_tokens(_lines_of(text)):
        if token.type == tokenize.COMMENT:
            start = starts[token.start[0] - 1]
            yield start, start + token.start[1], token.string


def _lines_of(text: str) -> Callable[[], str]:
    """A function that gives one line after the other, as ``tokenize`` wants it."""
    return iter(text.replace("\r\n", "\n").splitlines(keepends=True)).__next__

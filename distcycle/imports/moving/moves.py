"""Breaks a loop of two modules: what one imports from the other moves into a module of its own."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping

from distcycle.errors import InputError, MoveRefused
from distcycle.imports.modules import Module, ancestors_of
from distcycle.imports.moving.closure import Closure, Ground, close
from distcycle.imports.moving.contents import Contents, contents_of
from distcycle.imports.moving.notes import find_notes, find_patches
from distcycle.imports.moving.order import find_order_problems
from distcycle.imports.moving.partner import Uses, uses_of
from distcycle.imports.moving.records import Move, Note
from distcycle.imports.moving.redirection import Origin, Redirection, find_origin, redirect
from distcycle.imports.moving.rewriting import write_new, write_old
from distcycle.imports.moving.sources import Source, package_of, parse_source
from distcycle.imports.moving.verification import verify

__all__ = ["move_names"]


def move_names(
    texts: Mapping[str, str],
    modules: Mapping[str, Module],
    *,
    source: str,
    partner: str,
    new: str | None = None,
    names: Collection[str] | None = None,
) -> Move:
    """Move what one module imports from another, and all that it needs, into a new module.

    The old module imports what moved, so that others find it where it was; the partner imports it
    from the new module. Whether the loop is gone is for the caller to find out: modules beside
    these two are not looked at, but for code that replaces names that move.

    Args:
        texts: The text of each module that may matter, by name; of the source and the partner at
            least. Line endings and byte order marks are those of the files.
        modules: The modules that there are, by name.
        source: The module that defines the names.
        partner: The module that imports them.
        new: The new module's name; None for ``<source>_shared`` beside the source.
        names: The names to move of those that the partner imports; None for all.

    Returns:
        The move; nothing is written.

    Raises:
        InputError: A module is not known, or its text is no Python.
        MoveRefused: The names cannot move without a change of what the modules do.
    """
    with warnings.catch_warnings():
        # What the compiler has to say of literals is for those who compile the modules.
        warnings.simplefilter("ignore")
        old = _parsed(texts, modules, source)
        importer = _parsed(texts, modules, partner)
        made = _new_module(modules, old.module, importer.module, new)
        task = _Task(texts, modules, contents_of(old), importer, made)
        return task.move(names)


def _parsed(texts: Mapping[str, str], modules: Mapping[str, Module], name: str) -> Source:
    module = modules.get(name)
    if module is None or name not in texts:
        raise InputError("is no module whose text is known", key=name)
    return parse_source(module, texts[name])


class _Task:
    def __init__(
        self,
        texts: Mapping[str, str],
        modules: Mapping[str, Module],
        contents: Contents,
        partner: Source,
        new: Module,
    ) -> None:
        self.texts = texts
        self.modules = modules
        self.contents = contents
        self.partner = partner
        self.new = new
        self.barred = (contents.source.module.name, partner.module.name)
        self.uses = uses_of(partner, contents.source.module.name)

    def move(self, names: Collection[str] | None) -> Move:
        wanted, origins = self._wanted(names)
        ground = Ground(self.modules, self.barred, ancestors_of(self.new.name))
        closure = close(self.contents, wanted, self.partner.module.path, ground)
        problems = closure.problems or find_order_problems(self.contents, closure)
        if not closure.moved and not problems:
            problems = (self._nothing(origins),)
        if problems:
            raise MoveRefused(problems)
        taken = set(closure.names) | {
            name for unit, each in closure.copied.items() for name in each & set(wanted)
        }
        redirected = redirect(
            self.partner, self.uses, self.contents, new=self.new, taken=taken, origins=origins
        )
        return self._verified(closure, redirected, wanted)

    def _wanted(self, names: Collection[str] | None) -> tuple[dict[str, int], dict[str, Origin]]:
        """The names to move with the line that imports them, and those to import elsewhere."""
        wanted: dict[str, int] = {}
        origins: dict[str, Origin] = {}
        for name, line in _taken_names(self.uses):
            if f"{self.barred[0]}.{name}" in self.modules and name not in self.contents.where:
                continue  # a submodule, which is not defined there
            origin = find_origin(self.contents, name, self.barred)
            if names is not None and name not in names:
                continue
            if origin is None:
                wanted.setdefault(name, line)
            else:
                origins[name] = origin
        return wanted, origins

    def _nothing(self, origins: Collection[str]) -> InputError:
        path = self.partner.module.path
        reason = f"imports nothing from {self.barred[0]} that could move"
        if origins:
            reason = f"imports nothing from {self.barred[0]} that is defined there"
            names = ", ".join(sorted(origins))
            return InputError(f"{reason}: import {names} from where it is", path=path)
        for use in self.uses.modules:
            if use.obstacle:
                return InputError(f"{reason}: {use.obstacle}", path=path, line=use.line)
        for each in self.uses.names:
            if each.node.names[0].name == "*":
                line = each.node.lineno
                return InputError(f"{reason}: imports all names", path=path, line=line)
        return InputError(reason, path=path)

    def _verified(
        self, closure: Closure, redirected: Redirection, wanted: Mapping[str, int]
    ) -> Move:
        old = self.contents.source
        text, copied = write_new(self.contents, closure, self.new, self.partner.module.name)
        after = {
            old.module.name: write_old(self.contents, closure, self.new),
            self.partner.module.name: redirected.text,
        }
        before = {old.module.name: old, self.partner.module.name: self.partner}
        problems = verify(before, after, old.module.name, parse_source(self.new, text))
        if problems:
            raise MoveRefused(problems)
        paths = {each.module.path: self.texts[name] for name, each in before.items()}
        changed = {each.module.path: after[name] for name, each in before.items()}
        return Move(
            source=old.module.name,
            partner=self.partner.module.name,
            new=self.new.name,
            before=dict(sorted(paths.items())),
            after=dict(sorted((changed | {self.new.path: text}).items())),
            moved=closure.names,
            wanted=tuple(name for name in closure.names if name in wanted),
            copied=copied,
            remaining=redirected.remaining,
            notes=self._notes(closure, redirected),
        )

    def _notes(self, closure: Closure, redirected: Redirection) -> tuple[Note, ...]:
        old, partner = self.barred
        notes = list(
            find_notes(
                self.contents,
                closure,
                partner,
                self.new.name,
                loses_import=not any(not each.lazy for each in redirected.remaining),
            )
        )
        replaced = set(closure.names).union(*closure.copied.values())
        notes += find_patches(self._others(replaced), old, replaced, self.new.name)
        for each in self.uses.names:
            if each.guarded and not each.checking:
                text = "is imported where its ImportError is caught, which a loop may have raised"
                notes.append(Note(self.partner.module.path, each.node.lineno, text))
        return tuple(notes)

    def _others(self, names: Collection[str]) -> dict[str, Source]:
        """The modules that mention the old one and one of the names."""
        stem = self.barred[0].rpartition(".")[2]
        found = {}
        for name, text in sorted(self.texts.items()):
            if name in self.modules and stem in text and any(each in text for each in names):
                try:
                    found[name] = parse_source(self.modules[name], text)
                except InputError:
                    continue  # what cannot be parsed cannot replace anything either
        return found


def _taken_names(uses: Uses) -> list[tuple[str, int]]:
    found = [
        (alias.name, alias.lineno)
        for each in uses.names
        if not each.checking
        for alias in each.node.names
        if alias.name != "*"
    ]
    for use in uses.modules:
        if use.obstacle is None and not all(each.checking for each in use.imports):
            found += [(node.attr, node.lineno) for node, _ in use.attributes]
    return found


# The new module's name ----------------------------------------------------------------------------


def _new_module(
    modules: Mapping[str, Module], source: Module, partner: Module, name: str | None
) -> Module:
    name = name or _free_name(modules, source, partner)
    _judge_name(modules, source, partner, name)
    package, _, stem = name.rpartition(".")
    return Module(name, "python", f"{_folder_of(modules, source, package)}{stem}.py")


def _free_name(modules: Mapping[str, Module], source: Module, partner: Module) -> str:
    inside = source.is_package and partner.name.startswith(f"{source.name}.")
    package = source.name if inside else source.name.rpartition(".")[0]
    stem = f"{source.name.rpartition('.')[2]}_shared"
    start = f"{package}." if package else ""
    return next(
        name
        for name in (f"{start}{stem}{number}" for number in ("", *range(2, len(modules) + 3)))
        if name not in modules
    )


def _judge_name(modules: Mapping[str, Module], source: Module, partner: Module, name: str) -> None:
    if name in modules:
        raise InputError("there is such a module already", key=name)
    if not all(part.isidentifier() for part in name.split(".")):
        raise InputError("is no name that could be imported", key=name)
    above = set(ancestors_of(name))
    package = name.rpartition(".")[0]
    if package and not (package in modules and modules[package].is_package):
        raise InputError(f"there is no package {package}", key=name)
    for module, other in ((source, partner), (partner, source)):
        if module.name in above and module.name not in ancestors_of(other.name):
            raise MoveRefused(
                [InputError(f"lies in {module.name}, which would run first", key=name)]
            )


def _folder_of(modules: Mapping[str, Module], source: Module, package: str) -> str:
    """The folder for a module of a package, with a slash behind it; ``""`` for none."""
    if package == package_of(source) or not package:
        folder = source.path.rpartition("/")[0]
        if not package and source.is_package:
            folder = folder.rpartition("/")[0]
    else:
        own = modules[package]
        folder = own.path if own.kind == "namespace" else own.path.rpartition("/")[0]
    return f"{folder}/" if folder else ""

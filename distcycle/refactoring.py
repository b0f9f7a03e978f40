"""Moves what two modules need out of their loop, in a folder of sources: all files or none."""

from __future__ import annotations

import io
import os
import tempfile
import tokenize
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from distcycle.errors import InputError, MoveRefused
from distcycle.imports import Module, Tree, find_modules, join
from distcycle.imports.loops import find_loops
from distcycle.imports.moving import Move, move_names, render_diff
from distcycle.imports.reading import Reading, read_file
from distcycle.imports.replay import Entry, replay
from distcycle.trees import SourceTree, open_folder

__all__ = ["PlannedMove", "plan_move", "write_move"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedMove:
    """A move that was checked, and not yet written.

    Attributes:
        diff: The move as a unified diff.
        files: The new content of each file.
        old: What each of them has now, for those that there are.
        notes: What the move does to loops and to what can be imported, and what else to know.
    """

    diff: str
    files: Mapping[str, bytes]
    old: Mapping[str, bytes]
    notes: tuple[str, ...]


def plan_move(folder: str, source: str, partner: str, new: str | None = None) -> PlannedMove:
    """Move what one module imports from another into a module of its own; write nothing.

    Args:
        folder: The sources.
        source: The module that defines the names.
        partner: The module that imports them.
        new: The new module; None for a name beside the source's.

    Raises:
        InputError: There is no such folder or module, or a file cannot be read.
        MoveRefused: The names cannot move, or some module could no longer be imported.
    """
    tree = open_folder(folder)
    found = find_modules(tree.files)
    modules = {name: replace(m, path=tree.show(m.path)) for name, m in found.items() if m.path}
    old = dict(_contents(tree, found))
    for name in (source, partner):
        if name not in modules:
            raise InputError(f"no module {name} in it", path=folder)
    texts = {name: _decode(content, modules[name].path) for name, content in old.items()}
    move = move_names(texts, modules, source=source, partner=partner, new=new)
    files = {path: _encode(text) for path, text in move.after.items()}
    readings = _read_all(modules, old)
    before = _State.of(modules, readings)
    paths = {module.path: name for name, module in modules.items()}
    changed = {paths.get(path, move.new): content for path, content in files.items()}
    new_path = next(path for path in files if path not in paths)
    if new_path != tree.show(f"{move.new.replace('.', '/')}.py"):
        raise InputError(f"no place for a module of this name beside {source}", key=move.new)
    grown = {**modules, move.new: Module(move.new, "python", new_path)}
    after = _State.of(grown, {**readings, **_read_all(grown, changed)})
    _expect_no_failures(before, after, modules)
    return PlannedMove(
        diff=render_diff(move),
        files=files,
        old={modules[name].path: old[name] for name in (source, partner)},
        notes=tuple(_notes(move, before, after)),
    )


def _contents(tree: SourceTree, modules: Mapping[str, Module]) -> Iterator[tuple[str, bytes]]:
    names = {module.path: name for name, module in modules.items() if module.kind == "python"}
    for path, content in tree.read(names):
        if content is not None:
            yield names[path], content


def _decode(content: bytes, path: str) -> str:
    """A file's text; its byte order mark and its ends of lines are part of it."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode("utf-8" if encoding == "utf-8-sig" else encoding)
    except (SyntaxError, ValueError, LookupError) as error:
        raise InputError(f"cannot be decoded: {error}", path=path) from None
    return text


def _encode(text: str) -> bytes:
    """A text in the encoding that it declares."""
    data = text.encode("utf-8")
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data if encoding in ("utf-8", "utf-8-sig") else text.encode(encoding)


def _read_all(modules: Mapping[str, Module], contents: Mapping[str, bytes]) -> dict[str, Reading]:
    return {
        name: read_file(content, is_package=modules[name].is_package, programs=True)
        for name, content in contents.items()
    }


@dataclass(frozen=True, slots=True)
class _State:
    """The loops of a tree, and what happens when each of its modules is imported first."""

    loops: tuple[frozenset[str], ...]
    entries: Mapping[str, Entry]

    @classmethod
    def of(cls, modules: Mapping[str, Module], readings: Mapping[str, Reading]) -> _State:
        files = {name: reading.imports for name, reading in readings.items()}
        programs = {name: read.program for name, read in readings.items() if read.program}
        graph = join(Tree(modules=modules, files=files))
        return cls(
            loops=tuple(frozenset(loop.modules) for loop in find_loops(graph, "executed")),
            entries={entry.name: entry for entry in replay(modules, programs)},
        )

    @property
    def circular(self) -> set[str]:
        return {name for name, entry in self.entries.items() if entry.outcome == "circular"}


def _expect_no_failures(before: _State, after: _State, modules: Mapping[str, Module]) -> None:
    """Refuse a move after which a module fails that did not fail before."""
    problems = [
        InputError(
            f"could no longer be imported first: {entry.cause.error} in {entry.cause.importer}",
            path=modules[name].path if name in modules else None,
            key=name,
        )
        for name, entry in sorted(after.entries.items())
        if entry.cause is not None and _outcome(before, name) == "ok"
    ]
    if problems:
        raise MoveRefused(problems)


def _outcome(state: _State, name: str) -> str:
    return state.entries[name].outcome if name in state.entries else "ok"


def _notes(move: Move, before: _State, after: _State) -> Iterator[str]:
    pair = {move.source, move.partner}
    yield f"{', '.join(move.moved)}: moved from {move.source} to {move.new}"
    held = any(pair <= loop for loop in before.loops)
    holds = [loop for loop in after.loops if pair <= loop]
    if not held:
        yield f"{move.source} and {move.partner} were in no loop with each other"
    elif holds:
        yield f"they are still in a loop of {len(holds[0])} modules"
    else:
        yield f"the loop between {move.source} and {move.partner} is open"
    mended = sorted(before.circular - after.circular)
    if mended:
        yield f"can be imported first now: {', '.join(mended)}"
    for remaining in move.remaining:
        what = remaining.name or move.source
        yield f"{move.partner}:{remaining.line}: still takes {what}: {remaining.reason}"
    yield from map(str, move.notes)


def write_move(planned: PlannedMove) -> None:
    """Write a move: each file under a temporary name first, then all of them in place.

    Args:
        planned: The move.

    Raises:
        InputError: A file has changed meanwhile, or cannot be written; then none is.
    """
    for path, content in planned.old.items():
        if _current(path) != content:
            raise InputError("has changed since it was read; nothing is written", path=path)
    written: dict[str, str] = {}
    try:
        for path, content in planned.files.items():
            place = os.path.realpath(path)
            _write_beside(place, content, written)
        done: list[str] = []
        try:
            for path, temporary in written.items():
                os.replace(temporary, path)
                done.append(path)
        except OSError:
            _restore(done, {os.path.realpath(path): old for path, old in planned.old.items()})
            raise
    except OSError as error:
        for temporary in written.values():
            with suppress(OSError):
                os.unlink(temporary)
        named = getattr(error, "filename", None)
        raise InputError(f"cannot be written: {error.strerror or error}", path=named) from None


def _current(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None


def _write_beside(path: str, content: bytes, written: dict[str, str]) -> None:
    """Write what a file is to hold under a temporary name, and note that name at once."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".new-")
    written[path] = temporary
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    mode = os.stat(path).st_mode if os.path.exists(path) else 0o666 & ~_umask()
    os.chmod(temporary, mode & 0o777)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _restore(paths: list[str], old: Mapping[str, bytes]) -> None:
    for path in paths:
        with suppress(OSError):
            if path in old:
                Path(path).write_bytes(old[path])
            else:
                os.unlink(path)

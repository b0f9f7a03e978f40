"""Reads the imports of whole trees: in several processes where it pays, and only once.

What was read of a file is kept under its sha256, one entry of the cache for each distribution.
"""

from __future__ import annotations

import gc
import hashlib
import marshal
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import Any

from distcycle.imports import FileImports, ImportRecord, Module, Tree, extract, find_modules
from distcycle.imports.records import EXTRACTOR
from distcycle.metadata.cache import Cache
from distcycle.trees import SourceTree

__all__ = ["Scan", "Scanner", "paused_collector"]

_PARALLEL_BYTES = 5_000_000
_CHUNKS_PER_PROCESS = 8
# Opening and closing a small file costs about as much as parsing this many bytes.
_OVERHEAD_BYTES = 2_000
_VERSION = (EXTRACTOR, *sys.version_info[:2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What was read of one tree.

    Attributes:
        source: Where it was read.
        modules: Its modules and their imports.
    """

    source: SourceTree
    modules: Tree

    def place(self, module: str) -> str:
        """Where a module's file is; see :meth:`SourceTree.show`."""
        return self.source.show(self.modules.modules[module].path)


class Scanner:
    """Reads trees.

    Args:
        cache: Where what was read is kept.
        processes: How many may work at a time. More than one only for programs whose main module
            can be imported again, as the command line's can.
    """

    def __init__(self, cache: Cache, *, processes: int = 1) -> None:
        self._cache = cache
        self._processes = processes

    def scan(
        self, source: SourceTree, *, only: Collection[bytes] = (), partial: bool = False
    ) -> Scan:
        """Read the imports of a tree's modules.

        Args:
            source: The tree.
            only: Words, one of which a file must hold to be parsed; all files when empty.
            partial: Whether these are not all files of the distribution, so that what is known of
                others is kept as well.

        Returns:
            Its modules. Those that hold no such word have no entry, unless they are known from an
            earlier run; a file that could not be read or parsed has a fault.

        Raises:
            InputError: The tree is a wheel that cannot be read.
        """
        modules = find_modules(source.files)
        wanted = {m.path: m for m in modules.values() if m.kind == "python"}
        known = _Known(self._cache, source)
        read: dict[str, FileImports] = {}
        unknown = []
        for path, module in wanted.items():
            found = known.find(source.files[path].sha256, module)
            if found is None:
                unknown.append(path)
            else:
                read[path] = found
        with paused_collector():
            for path, digest, imports in self._read(source, wanted, unknown, known, tuple(only)):
                read[path] = imports
                known.add(digest, wanted[path], imports)
        known.keep(others=partial)
        files = {module.name: read[path] for path, module in wanted.items() if path in read}
        return Scan(source=source, modules=Tree(modules=modules, files=files))

    def _read(
        self,
        source: SourceTree,
        modules: Mapping[str, Module],
        paths: Sequence[str],
        known: _Known,
        only: Sequence[bytes],
    ) -> Iterator[tuple[str, str | None, FileImports]]:
        """Parse what is not known, here while it is little, else in other processes."""
        size = sum(source.files[path].size_bytes for path in paths)
        elsewhere = self._processes > 1 and size > _PARALLEL_BYTES
        later = []
        for path, data in source.read(paths):
            if data is None:
                yield path, None, _UNREADABLE
            elif not only or any(word in data for word in only):
                digest = hashlib.sha256(data).hexdigest()
                found = known.find(digest, modules[path])
                if found is not None:
                    yield path, None, found
                elif elsewhere:
                    later.append(path)
                else:
                    yield path, digest, extract(data, is_package=modules[path].is_package)
        if later:
            yield from self._parse_elsewhere(source, modules, later)

    def _parse_elsewhere(
        self, source: SourceTree, modules: Mapping[str, Module], paths: Sequence[str]
    ) -> Iterator[tuple[str, str | None, FileImports]]:
        # Its import takes as long as parsing a small tree.
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool

        chunks = _balance(source, paths, self._processes * _CHUNKS_PER_PROCESS)
        left: list[list[tuple[str, bool]]] = []
        with ProcessPoolExecutor(self._processes) as pool:
            named = [[(path, modules[path].is_package) for path in chunk] for chunk in chunks]
            for chunk, future in [(each, pool.submit(_parse, source, each)) for each in named]:
                if isinstance(future.exception(), BrokenProcessPool):
                    left.append(chunk)
                else:
                    yield from _loaded(future.result())
        yield from _parse_apart(source, left)


_UNREADABLE = FileImports(fault="cannot be read, or is far too large")
_FATAL = FileImports(fault="the parser of this Python fails on it")


def _parse_apart(
    source: SourceTree, chunks: list[list[tuple[str, bool]]]
) -> Iterator[tuple[str, str | None, FileImports]]:
    """Parse what ended a process each in its own, and what ends it again is told as a fault."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    while chunks:
        chunk = chunks.pop()
        try:
            with ProcessPoolExecutor(1) as pool:
                yield from _loaded(pool.submit(_parse, source, chunk).result())
        except BrokenProcessPool:
            if len(chunk) == 1:
                yield chunk[0][0], None, _FATAL
            else:
                middle = len(chunk) // 2
                chunks += [chunk[:middle], chunk[middle:]]


def _parse(source: SourceTree, chunk: Sequence[tuple[str, bool]]) -> bytes:
    """What a process does: by marshal, for pickling so many records takes as long as parsing."""
    packages = dict(chunk)
    with paused_collector():
        return marshal.dumps(
            [
                (path, None, _dump(_UNREADABLE))
                if data is None
                else (
                    path,
                    hashlib.sha256(data).hexdigest(),
                    _dump(extract(data, is_package=packages[path])),
                )
                for path, data in source.read(packages)
            ]
        )


def _loaded(content: bytes) -> Iterator[tuple[str, str | None, FileImports]]:
    for path, digest, plain in marshal.loads(content):  # noqa: S302  # from a process of our own
        yield path, digest, _load(plain)


def _balance(source: SourceTree, paths: Iterable[str], count: int) -> list[list[str]]:
    """Share files out so that each share takes about as long, the large files first."""
    sizes = {path: source.files[path].size_bytes for path in paths}
    shares: list[tuple[int, int, list[str]]] = [(0, i, []) for i in range(count)]
    heapify(shares)
    for path in sorted(sizes, key=lambda path: (-sizes[path], path)):
        size, i, share = shares[0]
        share.append(path)
        heapreplace(shares, (size + sizes[path] + _OVERHEAD_BYTES, i, share))
    return [share for _, _, share in shares if share]


@contextmanager
def paused_collector() -> Iterator[None]:
    """Syntax trees are large and have no loops: looking for some takes a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


# What is kept ------------------------------------------------------------------------------------

_Plain = tuple[Any, ...]


class _Known:
    """What earlier runs read of a distribution's files."""

    def __init__(self, cache: Cache, source: SourceTree) -> None:
        self._cache = cache
        # Not the version: most files of the next one are the same.
        self._key = "\n".join((*map(str, _VERSION), source.project, source.base))
        self._old = self._load()
        self._now: dict[str, _Plain] = {}
        self._is_new = False

    def _load(self) -> dict[str, _Plain]:
        content = self._cache.load_imports(self._key)
        if content is None:
            return {}
        try:
            # The cache gives back only what it wrote itself, whole.
            kept = marshal.loads(content)  # noqa: S302
        except (ValueError, EOFError, TypeError):
            return {}
        return kept if isinstance(kept, dict) else {}

    def find(self, digest: str | None, module: Module) -> FileImports | None:
        if digest is None:
            return None
        key = _file_key(digest, module)
        plain = self._old.get(key)
        if plain is None:
            return None
        self._now[key] = plain
        return _load(plain)

    def add(self, digest: str | None, module: Module, imports: FileImports) -> None:
        if digest is not None:
            self._now[_file_key(digest, module)] = _dump(imports)
            self._is_new = True

    def keep(self, *, others: bool) -> None:
        """Keep what this run met; what it did not, such as files that are gone, is dropped.

        Args:
            others: Whether to keep what it did not meet as well.
        """
        if self._is_new:
            kept = {**self._old, **self._now} if others else self._now
            self._cache.store_imports(self._key, marshal.dumps(kept))


def _file_key(digest: str, module: Module) -> str:
    return f"{digest}/" if module.is_package else digest


def _dump(imports: FileImports) -> _Plain:
    records = tuple(map(tuple, imports.records))
    bound = None if imports.bound is None else dict(imports.bound)
    return (
        records,
        bound,
        imports.exported,
        imports.computes_names,
        imports.fault,
        imports.fault_line,
    )


def _load(plain: _Plain) -> FileImports:
    records, bound, exported, computes_names, fault, fault_line = plain
    return FileImports(
        records=tuple(map(ImportRecord._make, records)),
        bound=bound,
        exported=exported,
        computes_names=computes_names,
        fault=fault,
        fault_line=fault_line,
    )

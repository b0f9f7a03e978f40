"""Reads the modules of whole trees: in several processes where it pays, and only once."""

from __future__ import annotations

import gc
import hashlib
import marshal
import os
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from typing import TYPE_CHECKING

from distcycle.imports import FileImports, Tree, find_modules
from distcycle.imports.reading import Reading, read_file
from distcycle.imports.replay import Program
from distcycle.metadata.cache import Cache
from distcycle.readings import Known, dump_reading, load_reading
from distcycle.trees import SourceTree

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

__all__ = ["Scan", "Scanner", "paused_collector", "read_newer"]

_PARALLEL_BYTES = 2_000_000
_CHUNKS_PER_PROCESS = 8
# Opening and closing a small file costs about as much as parsing this many bytes.
_OVERHEAD_BYTES = 2_000
_NEWER_TIMEOUT_S = 30
_NEWER = """
import sys
sys.path[:] = sys.argv[1:]
from distcycle.scans import read_newer
read_newer()
"""
_MOST_PROCESSES = 32
# macOS's own libraries do not stand being forked, and Windows cannot.
_FORKS = sys.platform == "linux"
_UNREADABLE = "cannot be read, or is far too large"
_FATAL = "the parser of this Python fails on it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What was read of one tree.

    Attributes:
        source: Where it was read.
        modules: Its modules and their imports.
        programs: What its modules do while they are imported, where that was asked for.
    """

    source: SourceTree
    modules: Tree
    programs: Mapping[str, Program] = field(default_factory=dict)

    def place(self, module: str) -> str:
        """Where a module's file is; see :meth:`SourceTree.show`."""
        return self.source.show(self.modules.modules[module].path)


@dataclass(frozen=True, slots=True)
class _Job:
    """Files of one tree that are to be parsed.

    Attributes:
        source: The tree.
        packages: The files, and whether each is the ``__init__`` of a package.
        programs: Whether programs are wanted too.
    """

    source: SourceTree
    packages: Mapping[str, bool]
    programs: bool

    def of(self, paths: Iterable[str]) -> _Job:
        return _Job(self.source, {path: self.packages[path] for path in paths}, self.programs)

    def halves(self) -> tuple[_Job, _Job]:
        paths = list(self.packages)
        middle = len(paths) // 2
        return self.of(paths[:middle]), self.of(paths[middle:])

    def parse(self, path: str, data: bytes, *, newer: bool = False) -> Reading:
        is_package = self.packages[path]
        return read_file(data, is_package=is_package, programs=self.programs, newer=newer)

    def fail(self, fault: str) -> Reading:
        return Reading(FileImports(fault=fault), Program(fault=fault) if self.programs else None)


_Parsed = tuple[str, str | None, Reading]
"""A file, its sha256 where that is known, and what was read of it."""


class Scanner:
    """Reads trees.

    Args:
        cache: Where what was read is kept.
        processes: How many may work at a time, where processes can be forked.
    """

    def __init__(self, cache: Cache, *, processes: int = 1) -> None:
        self._cache = cache
        self._processes = processes

    def scan(
        self,
        source: SourceTree,
        *,
        only: Collection[bytes] = (),
        programs: bool = False,
        partial: bool = False,
    ) -> Scan:
        """Read the imports of a tree's modules.

        Args:
            source: The tree.
            only: Words, one of which a file must hold to be parsed; all files when empty.
            programs: Whether to read what they do while they are imported as well.
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
        job = _Job(source, {path: m.is_package for path, m in wanted.items()}, programs)
        known = Known(self._cache, source, programs=programs)
        read: dict[str, Reading] = {}
        for path, is_package in job.packages.items():
            found = known.find(source.files[path].sha256, is_package=is_package)
            if found is not None:
                read[path] = found
        unknown = job.of(path for path in wanted if path not in read)
        read |= self._read_unknown(unknown, known, tuple(only))
        known.keep(others=partial)
        return Scan(
            source=source,
            modules=Tree(
                modules=modules,
                files={m.name: read[path].imports for path, m in wanted.items() if path in read},
            ),
            programs={
                wanted[path].name: reading.program
                for path, reading in read.items()
                if reading.program is not None
            },
        )

    def _read_unknown(self, job: _Job, known: Known, only: Sequence[bytes]) -> dict[str, Reading]:
        """Parse files, and remember what they say where that is sure."""
        with paused_collector():
            parsed = list(self._parse(job, known, only))
        newer = {p for p, digest, reading in parsed if digest and reading.imports.fault_line}
        by_newer = _parse_newer(job.of(sorted(newer))) if newer else {}
        read: dict[str, Reading] = {}
        for path, digest, reading in parsed:
            read[path] = by_newer.get(path, reading)
            if path not in newer or path in by_newer:
                known.add(digest, read[path], is_package=job.packages[path])
        return read

    def _parse(self, job: _Job, known: Known, only: Sequence[bytes]) -> Iterator[_Parsed]:
        """Parse what is not known, here while it is little, else in other processes."""
        source = job.source
        size = sum(source.files[path].size_bytes for path in job.packages)
        elsewhere = self._processes > 1 and size > _PARALLEL_BYTES and _FORKS
        later = []
        for path, data in source.read(job.packages):
            if data is None:
                yield path, None, job.fail(_UNREADABLE)
            elif not only or any(word in data for word in only):
                digest = hashlib.sha256(data).hexdigest()
                found = known.find(digest, is_package=job.packages[path])
                if found is not None:
                    yield path, None, found
                elif elsewhere:
                    later.append(path)
                else:
                    yield path, digest, job.parse(path, data)
        if later:
            yield from self._parse_elsewhere(job.of(later))

    def _parse_elsewhere(self, job: _Job) -> Iterator[_Parsed]:
        # Its import takes as long as parsing a small tree.
        from concurrent.futures.process import BrokenProcessPool

        shares = [job.of(each) for each in _balance(job, self._processes * _CHUNKS_PER_PROCESS)]
        left: list[_Job] = []
        with _pool(min(self._processes, _MOST_PROCESSES)) as pool:
            running: list[tuple[_Job, Future[bytes]]] = [
                (share, pool.submit(_parse_share, share)) for share in shares
            ]
            for share, future in running:
                if isinstance(future.exception(), BrokenProcessPool):
                    left.append(share)
                else:
                    yield from _loaded(future.result())
        yield from _parse_apart(left)


def _pool(processes: int) -> ProcessPoolExecutor:
    """Processes that are forked: others start Python anew, which looks into the working folder."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    return ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("fork"))


def _parse_apart(jobs: list[_Job]) -> Iterator[_Parsed]:
    """Parse what ended a process each in its own; what ends it again is told as a fault."""
    from concurrent.futures.process import BrokenProcessPool

    while jobs:
        job = jobs.pop()
        try:
            with _pool(1) as pool:
                yield from _loaded(pool.submit(_parse_share, job).result())
        except BrokenProcessPool:
            if len(job.packages) > 1:
                jobs += job.halves()
            else:
                yield next(iter(job.packages)), None, job.fail(_FATAL)


def _parse_share(job: _Job) -> bytes:
    """What a process does: by marshal, for pickling so many records takes as long as parsing."""
    with paused_collector():
        return marshal.dumps(
            [
                (path, None, dump_reading(job.fail(_UNREADABLE)))
                if data is None
                else (path, hashlib.sha256(data).hexdigest(), dump_reading(job.parse(path, data)))
                for path, data in job.source.read(job.packages)
            ]
        )


def _loaded(content: bytes) -> Iterator[_Parsed]:
    for path, digest, plain in marshal.loads(content):  # noqa: S302  # from a process of our own
        yield path, digest, load_reading(plain)


def _balance(job: _Job, count: int) -> list[list[str]]:
    """Share files out so that each share takes about as long, the large files first."""
    sizes = {path: job.source.files[path].size_bytes for path in job.packages}
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


# Newer syntax ------------------------------------------------------------------------------------


def _parse_newer(job: _Job) -> dict[str, Reading]:
    """Parse files by newer grammars, apart: text made to harm ends that parser's process.

    Returns:
        What was read; a fault where no grammar knows a file. Without an entry are files on which
        the process failed, which may be another time's luck.
    """
    found: dict[str, Reading] = {}
    todo = [job]
    while todo:
        some = todo.pop()
        texts = [(path, data) for path, data in job.source.read(some.packages) if data]
        answer = _run_newer(marshal.dumps((texts, dict(some.packages), some.programs)))
        if answer is not None:
            found.update((path, reading) for path, _, reading in answer)
        elif len(some.packages) > 1:
            todo += some.halves()
    return found


def _run_newer(texts: bytes) -> list[_Parsed] | None:
    """Run :func:`read_newer` in a process; None when that process failed."""
    try:
        done = subprocess.run(  # noqa: S603  # this interpreter, and this module
            [sys.executable, "-I", "-c", _NEWER, *_own_path()],
            input=texts,
            capture_output=True,
            timeout=_NEWER_TIMEOUT_S,
            check=False,
        )
        return list(_loaded(done.stdout)) if done.returncode == 0 else None
    except (OSError, TypeError, ValueError, EOFError, subprocess.SubprocessError):
        return None


def _own_path() -> list[str]:
    """Where a process finds this package and what it needs; not what lies in the working folder."""
    here = os.getcwd()
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    others = [path for path in sys.path if path and os.path.abspath(path) not in (here, own)]
    return [*others, own]


def read_newer() -> None:
    """What a process of its own does: texts from standard input, readings to standard output."""
    asked = marshal.loads(sys.stdin.buffer.read())  # noqa: S302  # from the process that asks
    texts, packages, programs = asked
    read = [
        (
            path,
            None,
            dump_reading(read_file(data, is_package=packages[path], programs=programs, newer=True)),
        )
        for path, data in texts
    ]
    sys.stdout.buffer.write(marshal.dumps(read))

"""What was read of files, kept under their sha256: one entry of the cache for each distribution."""

from __future__ import annotations

import functools
import importlib.util
import marshal
import os
import sys
from contextlib import suppress
from typing import Any

from distcycle.imports import FileImports, ImportRecord
from distcycle.imports.reading import Reading
from distcycle.imports.records import EXTRACTOR
from distcycle.imports.replay import READER, Program
from distcycle.metadata.cache import Cache
from distcycle.trees import SourceTree

__all__ = ["Known", "dump_reading", "load_reading"]

_Plain = tuple[Any, ...]


class Known:
    """What earlier runs read of a distribution's files.

    Imports and programs are kept apart, for programs take as long to load as all else takes that
    needs imports only.

    Args:
        cache: Where it is kept.
        source: The distribution.
        programs: Whether programs are wanted too.
    """

    def __init__(self, cache: Cache, source: SourceTree, *, programs: bool) -> None:
        # Not the version of the distribution: most files of the next one are the same.
        named = (_newest_grammar(), *map(str, sys.version_info[:2]), source.project, source.base)
        self._imports = _Entry(cache, "\n".join((f"imports {EXTRACTOR}", *named)))
        self._programs = _Entry(cache, "\n".join((f"programs {READER}", *named)))
        self._wants_programs = programs

    def find(self, digest: str | None, *, is_package: bool) -> Reading | None:
        """Look a file up; None when not all that is wanted of it is known."""
        key = None if digest is None else _key(digest, is_package=is_package)
        imports = self._imports.find(key)
        program = self._programs.find(key) if self._wants_programs else None
        if imports is None or (self._wants_programs and program is None):
            return None
        return load_reading((imports, program))

    def add(self, digest: str | None, reading: Reading, *, is_package: bool) -> None:
        """Remember what was read of a file."""
        if digest is not None:
            key = _key(digest, is_package=is_package)
            imports, program = dump_reading(reading)
            self._imports.add(key, imports)
            if program is not None:
                self._programs.add(key, program)

    def keep(self, *, others: bool = False) -> None:
        """Keep what this run met; what it did not, such as files that are gone, is dropped.

        Args:
            others: Whether to keep what it did not meet as well.
        """
        self._imports.keep(others=others)
        self._programs.keep(others=others)


@functools.cache
def _newest_grammar() -> str:
    """What reads newer syntax, by when it was installed: another release reads other files.

    Asking for its version would take as long as all else that a warm run does for a small package.
    """
    spec = importlib.util.find_spec("libcst")
    if spec is None or spec.origin is None:
        return "none"
    with suppress(OSError):
        return str(os.stat(spec.origin).st_mtime_ns)
    return spec.origin


class _Entry:
    def __init__(self, cache: Cache, key: str) -> None:
        self._cache = cache
        self._key = key
        self._old: dict[str, _Plain] | None = None
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

    def find(self, key: str | None) -> _Plain | None:
        if self._old is None:
            self._old = self._load()
        plain = None if key is None else self._old.get(key)
        if key is not None and plain is not None:
            self._now[key] = plain
        return plain

    def add(self, key: str, plain: _Plain) -> None:
        self._now[key] = plain
        self._is_new = True

    def keep(self, *, others: bool) -> None:
        if self._is_new:
            kept = {**self._load(), **self._now} if others else self._now
            self._cache.store_imports(self._key, marshal.dumps(kept))


def _key(digest: str, *, is_package: bool) -> str:
    return f"{digest}/" if is_package else digest


def dump_reading(reading: Reading) -> tuple[_Plain, _Plain | None]:
    """What was read of a file as plain values, for marshal."""
    imports = reading.imports
    plain = (
        tuple(map(tuple, imports.records)),
        None if imports.bound is None else dict(imports.bound),
        imports.exported,
        imports.computes_names,
        imports.fault,
        imports.fault_line,
    )
    return plain, None if reading.program is None else tuple(reading.program)


def load_reading(plain: tuple[_Plain, _Plain | None]) -> Reading:
    """What :func:`dump_reading` made plain."""
    (records, bound, exported, computes_names, fault, fault_line), program = plain
    imports = FileImports(
        records=tuple(map(ImportRecord._make, records)),
        bound=bound,
        exported=exported,
        computes_names=computes_names,
        fault=fault,
        fault_line=fault_line,
    )
    return Reading(imports, None if program is None else Program._make(program))

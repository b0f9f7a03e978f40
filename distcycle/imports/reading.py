"""Reads a file's imports and, where that is asked for, its program, out of one syntax tree."""

from __future__ import annotations

from typing import NamedTuple

from distcycle.imports.extraction import extract, extract_tree, parse_source
from distcycle.imports.records import FileImports
from distcycle.imports.replay import Program, program_of

__all__ = ["Reading", "read_file"]


class Reading(NamedTuple):
    """What was read of a file; the program is None when it was not asked for."""

    imports: FileImports
    program: Program | None = None


def read_file(
    source: bytes, *, is_package: bool = False, programs: bool = False, newer: bool = False
) -> Reading:
    """Read a file.

    Args:
        source: The file.
        is_package: Whether it is the ``__init__`` of a package.
        programs: Whether its program is wanted too.
        newer: As for :func:`~distcycle.imports.extraction.extract`.

    Returns:
        What was read; a file that cannot be parsed gives a fault.
    """
    if not programs:
        return Reading(extract(source, is_package=is_package, newer=newer))
    try:
        tree = parse_source(source, newer=newer)
    except SyntaxError as error:
        return _faulty(error.msg, error.lineno)
    except (ValueError, RecursionError, MemoryError) as error:
        return _faulty(str(error) or "nested too deeply", None)
    return Reading(extract_tree(tree, source, is_package=is_package), program_of(tree, source))


def _faulty(fault: str, line: int | None) -> Reading:
    return Reading(FileImports(fault=fault, fault_line=line), Program(fault=fault, fault_line=line))

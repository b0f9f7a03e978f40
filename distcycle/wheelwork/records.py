"""RECORD: rows replaced or renamed where need be, all others byte for byte as they stand.

``installer`` and ``wheel`` read rows well enough but write all of them anew, with their own quoting
and line ends, so the rows are cut here.

Source: Recording installed projects, and binary distribution format, "The .dist-info directory",
https://packaging.python.org/specifications/recording-installed-packages/#the-record-file
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from distcycle.errors import InputError

__all__ = ["Row", "dump_record", "hash_of", "rewrite_record", "row_of", "split_rows"]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a RECORD.

    Attributes:
        path: The file.
        hash: ``sha256=...``, ``""`` for none.
        size: The size in bytes, ``""`` for none.
        raw: The row as it stands, with its line end; ``""`` for a new one.
    """

    path: str
    hash: str
    size: str
    raw: str = ""


def hash_of(digest: bytes) -> str:
    """A sha256 digest as RECORD has it."""
    return "sha256=" + base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=")


def row_of(path: str, data: bytes) -> Row:
    """The row of a file."""
    return Row(path, hash_of(hashlib.sha256(data).digest()), str(len(data)))


def split_rows(data: bytes) -> Iterator[Row]:
    """Cut a RECORD into its rows.

    Args:
        data: The file.

    Yields:
        Its rows; their ``raw`` texts, joined, are the file.

    Raises:
        InputError: It is not UTF-8, or a row is not that of a file.
    """
    try:
        lines = list(io.StringIO(data.decode("utf-8"), newline=""))
        reader = csv.reader(lines)
        first = 0
        for fields in reader:
            raw = "".join(lines[first : reader.line_num])
            first = reader.line_num
            yield _row(fields, raw, first)
    except UnicodeDecodeError:
        raise InputError("not UTF-8", key="RECORD") from None
    except csv.Error as error:
        raise InputError(f"unreadable: {error}", key="RECORD") from None


def _row(fields: list[str], raw: str, line: int) -> Row:
    if not fields:
        return Row("", "", "", raw)
    if len(fields) != 3:
        raise InputError(f"line {line}: expected three fields, found {len(fields)}", key="RECORD")
    path, digest, size = fields
    if any(char < " " for char in path):
        raise InputError(f"line {line}: a control character in a path", key="RECORD")
    return Row(path, digest, size, raw)


def rewrite_record(
    data: bytes, changed: Mapping[str, Row | None], rename: Callable[[str], str]
) -> bytes:
    """A RECORD after some files have changed.

    Args:
        data: The file.
        changed: By present path, the rows that take others' places; None for one that goes.
        rename: The new path of a present one.

    Returns:
        The new RECORD; what is neither changed nor renamed is byte for byte the same.

    Raises:
        InputError: It cannot be read, or has no row for a file that has changed.
    """
    rows = list(split_rows(data))
    lacking = {path for path, row in changed.items() if row} - {row.path for row in rows}
    if lacking:
        raise InputError(f"no row for {min(lacking)}", key="RECORD")
    return "".join(_rewrite(row, changed, rename) for row in rows).encode()


def _rewrite(row: Row, changed: Mapping[str, Row | None], rename: Callable[[str], str]) -> str:
    new = changed.get(row.path, row)
    if new is None:
        return ""
    path = rename(row.path)
    if new is row and path == row.path:
        return row.raw
    bare = row.raw.rstrip("\r\n")
    return _line(Row(path, new.hash, new.size), row.raw[len(bare) :])


def dump_record(rows: Iterable[Row]) -> bytes:
    """A new RECORD of rows, in their order."""
    return "".join(_line(row, "\n") for row in rows).encode()


def _line(row: Row, end: str) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator=end).writerow((row.path, row.hash, row.size))
    return text.getvalue()

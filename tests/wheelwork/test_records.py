"""Rows of RECORD are kept byte for byte unless they change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distcycle.errors import InputError
from distcycle.wheelwork.records import Row, dump_record, rewrite_record, row_of, split_rows

RECORD = (
    b'"a/odd ""name"", x.py",sha256=x,1\r\n'
    b"'plain',md5=y,\n"
    b"a-1.dist-info/METADATA,sha256=old,3\r\n"
    b"\n"
    b"a-1.dist-info/RECORD,,"
)


def _rename(path: str) -> str:
    return path.replace("a-1.", "a-2.")


def test_other_rows_are_kept() -> None:
    changed = {"a-1.dist-info/METADATA": Row("", "sha256=new", "4")}
    assert rewrite_record(RECORD, changed, str) == RECORD.replace(b"old,3", b"new,4")


def test_renamed_rows_keep_their_line_ends() -> None:
    assert rewrite_record(RECORD, {}, _rename) == RECORD.replace(b"a-1.", b"a-2.")


def test_row_that_goes() -> None:
    left = rewrite_record(RECORD, {"'plain'": None, "no such": None}, str)
    assert left == RECORD.replace(b"'plain',md5=y,\n", b"")


def test_changed_file_needs_a_row() -> None:
    with pytest.raises(InputError, match="RECORD: no row for b"):
        rewrite_record(RECORD, {"b": row_of("b", b"")}, str)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"a,b\n", "line 1: expected three fields, found 2"),
        (b"a,b,c\na,b,c,d\n", "line 2: expected three fields, found 4"),
        (b"\xff,,\n", "not UTF-8"),
        (b'"a\nb",,\n', "line 2: a control character"),
        (b"x" * 200_000 + b",,\n", "unreadable: field larger"),
    ],
)
def test_unreadable(data: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        list(split_rows(data))


def test_hash_of_a_file() -> None:
    # The example of the specification's hash format: unpadded, URL-safe base64.
    assert row_of("f", b"") == Row("f", "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU", "0")


@given(st.lists(st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"]))))
def test_written_rows_read_again(paths: list[str]) -> None:
    rows = [Row(path, "sha256=x", "1") for path in paths]
    data = dump_record(rows)
    assert [(row.path, row.hash, row.size) for row in split_rows(data)] == [
        (row.path, row.hash, row.size) for row in rows
    ]
    assert "".join(row.raw for row in split_rows(data)).encode() == data
    assert rewrite_record(data, {}, str) == data

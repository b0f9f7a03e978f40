import email

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.metadata import parse_email

from distcycle.metadata.core import header_block, parse_metadata

FULL = b"""\
Metadata-Version: 2.4
Name: Demo.Pkg
Version: 1.0
Author: J\xc3\xb6rg
Requires-Python: >=3.8
Dynamic: Requires-Dist
Provides-Extra: Fast_Mode
Provides-Extra: fast-mode
Requires-Dist: numpy (>=1.20) ; extra == "fast-mode"
Requires-Dist: filelock

Requires-Dist: not-a-header
"""


def test_all_fields_are_read_and_the_description_is_not() -> None:
    metadata = parse_metadata(FULL)
    assert metadata.name == "demo-pkg"
    assert metadata.version == "1.0"
    assert [r.name for r in metadata.requires] == ["numpy", "filelock"]
    assert str(metadata.requires[0].marker) == 'extra == "fast-mode"'
    assert metadata.provides_extra == ("fast-mode",)
    assert str(metadata.requires_python) == ">=3.8"
    assert metadata.metadata_version == "2.4"
    assert metadata.dynamic == {"requires-dist"}
    assert metadata.problems == ()


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b"\n\n", b"\r\n", b"\xef\xbb\xbf\r\n"])
def test_what_stands_before_the_first_field_hides_nothing(start: bytes) -> None:
    assert parse_metadata(start + FULL) == parse_metadata(FULL)


@pytest.mark.parametrize("end", [b"\r\n", b"\r"])
def test_other_line_ends_read_the_same(end: bytes) -> None:
    assert parse_metadata(FULL.replace(b"\n", end)) == parse_metadata(FULL)


def test_folded_requirement_is_one_requirement() -> None:
    text = b'Name: a\nRequires-Dist: torch\n        >=1.7 ;\n\tsys_platform == "linux"\n'
    (requirement,) = parse_metadata(text).requires
    assert requirement.text == 'torch >=1.7 ; sys_platform == "linux"'
    assert requirement.problem is None


def test_latin_1_author_does_not_hide_requirements() -> None:
    metadata = parse_metadata(b"Name: a\nAuthor: J\xf6rg\nRequires-Dist: torch\n")
    assert [r.name for r in metadata.requires] == ["torch"]


def test_unreadable_parts_are_named_and_the_rest_is_read() -> None:
    metadata = parse_metadata(
        b"Name: a\nRequires-Python: three\nRequires-Dist: ???\nRequires-Dist: b >=1.*\n"
    )
    assert [r.name for r in metadata.requires] == ["b"]
    assert metadata.requires[0].problem is not None
    assert metadata.requires_python is None
    assert [problem.partition(":")[0] for problem in metadata.problems] == [
        "Requires-Dist",
        "Requires-Python",
    ]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "no Name field"),
        (b"Version: 1\n", "no Name field"),
        (b"Name: -x-\n", "not a project name"),
        (b"<html>\n<p>\n", "not a header"),
        (b"Name: a\nno colon here\nRequires-Dist: b\n", "not a header"),
    ],
)
def test_what_makes_fields_vanish_is_said(data: bytes, problem: str) -> None:
    assert any(problem in line for line in parse_metadata(data).problems)


@given(st.binary(max_size=200))
def test_any_bytes_are_read(data: bytes) -> None:
    metadata = parse_metadata(data)
    assert metadata.name is not None or metadata.problems


VALUES = st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=1, max_size=20)
FOLDS = st.sampled_from([" ", "\n  ", "\n\t"])


@given(st.lists(st.tuples(VALUES, FOLDS, VALUES), max_size=6))
def test_scan_and_email_see_the_same_headers(parts: list[tuple[str, str, str]]) -> None:
    lines = "".join(f"Provides-Extra: {a}{fold}{b}\n" for a, fold, b in parts)
    text = f"Name: a\n{lines}\nbody"
    raw, _ = parse_email(text)
    expected = [" ".join(value.split()) for value in raw.get("provides_extra", [])]
    block = email.message_from_bytes(header_block(text.encode()))
    assert [" ".join(v.split()) for v in block.get_all("Provides-Extra", [])] == expected
    assert len(parse_metadata(text.encode()).provides_extra) <= len(expected)


def test_header_block_is_its_own_header_block() -> None:
    block = header_block(FULL)
    assert b"not-a-header" not in block
    assert header_block(block) == block

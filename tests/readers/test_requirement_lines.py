from __future__ import annotations

import codecs

import pytest

from distcycle.errors import InputError
from distcycle.readers.requirement_lines import (
    Statement,
    decode,
    expand_variables,
    find_left_out,
    is_compiled,
    parse_command,
    parse_via,
    split_statements,
)


@pytest.mark.parametrize(
    "data",
    [
        "é".encode(),
        codecs.BOM_UTF8 + "é".encode(),
        "é".encode("utf-16"),
        codecs.BOM_UTF16_BE + "é".encode("utf-16-be"),
        codecs.BOM_UTF32_LE + "é".encode("utf-32-le"),
        codecs.BOM_UTF32_BE + "é".encode("utf-32-be"),
        "é".encode("cp1252"),
    ],
)
def test_encodings(data: bytes) -> None:
    assert decode(data, path="r.txt") == "é"


@pytest.mark.parametrize("head", ["# -*- coding: koi8-r -*-\n", "#!x\n# vim: coding=koi8-r\n"])
def test_a_coding_cookie_counts_on_the_first_two_lines(head: str) -> None:
    assert decode(f"{head}# дом".encode("koi8-r"), path="r.txt").endswith("дом")


def test_a_cookie_further_down_is_a_comment() -> None:
    data = "#\n#\n# coding: koi8-r\n# дом".encode()
    assert decode(data, path="r.txt").endswith("дом")


def test_a_byte_that_no_windows_has_is_latin_1() -> None:
    assert decode(b"# \x81", path="r.txt") == "# \x81"


@pytest.mark.parametrize(
    "data",
    [
        b"# coding: no-such-codec\n",
        b"# coding: hex\n00",
        b"# coding: unicode_escape\n# \\d",
        b"# coding: ascii\n\xff",
        codecs.BOM_UTF16_LE + b"a",
        b"foo\0",
    ],
)
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"r\.txt.*: (cannot be decoded|not a text file)"):
        decode(data, path="r.txt")


def statements(text: str) -> list[tuple[int, str, tuple[str, ...]]]:
    return [(s.line, s.text, s.comments) for s in split_statements(text)]


def test_a_continued_line_stands_where_it_starts() -> None:
    assert statements("\na==1 \\\n  --hash=x \\\n  --hash=y\nb") == [
        (2, "a==1   --hash=x   --hash=y", ()),
        (5, "b", ()),
    ]


def test_comments_belong_to_the_line_above_them() -> None:
    text = "# head\n\na==1  # one\n  # two\n#three\n\n# apart\nb#c\n"
    assert statements(text) == [
        (1, "", (" head",)),
        (3, "a==1", (" one", " two", "three")),
        (7, "", (" apart",)),
        (8, "b#c", ()),
    ]


def test_a_comment_after_a_backslash_ends_the_line() -> None:
    assert statements("a==1 \\\n    # via b\nc") == [(1, "a==1", (" via b",)), (3, "c", ())]
    # pip keeps the blank line of the second from being part of the first, too.
    assert statements("a==1 \\\n#via b\n--pre") == [(1, "a==1", ("via b",)), (3, "--pre", ())]


def test_a_backslash_in_a_comment_continues_nothing() -> None:
    assert statements("# a \\\nb") == [(1, "", (" a \\",)), (2, "b", ())]


def test_the_last_line_may_end_in_a_backslash() -> None:
    assert statements("a==1 \\") == [(1, "a==1", ())]


def test_variables() -> None:
    environ = {"A": "1", "EMPTY": ""}
    assert expand_variables("${A} ${a} $A ${EMPTY} ${B}", environ) == "1 ${a} $A ${EMPTY} ${B}"


@pytest.mark.parametrize(
    ("text", "requirement", "editable"),
    [
        ("a==1", "a==1", False),
        ("a ; python_version < '3'", "a ; python_version < '3'", False),
        ("-e .", ".", True),
        ("-e./x", "./x", True),
        ("--editable=./x", "./x", True),
        ("--editable ./x ; sys_platform == 'linux'", "./x ; sys_platform == 'linux'", True),
        ('-e "a @ git+https://h/a"', "a @ git+https://h/a", True),
        ("--pre -e .", ".", True),
        ("a--b==1", "a--b==1", False),
    ],
)
def test_requirements_of_commands(text: str, requirement: str, editable: bool) -> None:
    command = parse_command(text)
    assert (command.requirement, command.editable, command.problem) == (requirement, editable, None)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a --hash=sha256:1 --hash sha256:2", {"hash": ["sha256:1", "sha256:2"]}),
        ("a --global-option='--x y'", {"global_option": ["--x y"]}),
        ("a -C a=b --config-settings c=d", {"config_settings": ["a=b", "c=d"]}),
        ("-i https://h --pre", {"index_url": ["https://h"], "pre": ()}),
        ("--index https://h", {"index_url": ["https://h"]}),
        ("-fhttps://h", {"find_links": ["https://h"]}),
        ("--no-index", {"no_index": ()}),
    ],
)
def test_options_of_commands(text: str, options: dict[str, object]) -> None:
    assert parse_command(text).options == options


@pytest.mark.parametrize("text", ["--nope", "a --nope=1", "-r", "--no", "a --hash='x", "--pre=1"])
def test_options_that_pip_refuses(text: str) -> None:
    assert parse_command(text).problem


def test_words_after_options_are_ignored() -> None:
    assert parse_command("--pre a").ignored
    assert not parse_command("a --pre").ignored


@pytest.mark.parametrize(
    ("comments", "names"),
    [
        ((" via b, A_c",), ("a-c", "b")),
        ((" via", "   -r x.in", "   b", "   a[x]"), ("a", "b")),
        ((" via b", " via a", " via b"), ("a", "b")),
        ((" via -r x.in", "   b"), ("b",)),
        ((" via p (pyproject.toml)",), ()),
        ((" via p (pyproject.toml:dev)", "   q (sub/setup.py)"), ()),
        ((" via a (extra)",), ("a",)),
        ((" via -c x.txt, a",), ("a",)),
        ((" via", "   a", " from https://h", "   b"), ("a",)),
        ((" via the docs",), ()),
        ((" viable", "   a"), ()),
        ((), ()),
    ],
)
def test_via(comments: tuple[str, ...], names: tuple[str, ...]) -> None:
    assert parse_via(comments) == names


@pytest.mark.parametrize(
    "line",
    [
        "# This file is autogenerated by pip-compile with Python 3.10",
        "# This file was autogenerated by uv via the following command:",
        "# generated by rye",
        "# This file is @generated by PDM.",
        "# This file is autogenerated by hatch-pip-compile with Python 3.12",
    ],
)
def test_headers_of_compilers(line: str) -> None:
    assert is_compiled(f"#\n{line}\n#\n")
    assert not is_compiled(line.replace("#", "x"))


def test_what_a_compiler_leaves_out() -> None:
    heading = " The following packages are considered to be unsafe in a requirements file:"
    statement = Statement(line=7, text="", comments=("", heading, " setuptools", " pip==9 # via x"))
    assert list(find_left_out(statement)) == [(9, "setuptools"), (10, "pip")]
    assert not list(find_left_out(Statement(line=7, text="", comments=(" setuptools",))))

"""Tokens of Starlark: strings, brackets, places, and what is no Starlark."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distcycle.errors import InputError
from distcycle.lint.tokens import tokenize


def words(text: str) -> list[str]:
    return [token.text for token in tokenize(text, path="f").items][:-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1", ["a", "=", "1"]),
        ("a == b != c // d", ["a", "==", "b", "!=", "c", "/", "/", "d"]),
        ("f(**x)", ["f", "(", "**", "x", ")"]),
        ("a # b\nc", ["a", "\n", "c"]),
        ("a\\\nb", ["a", "b"]),
        ("(a\n\nb)\n", ["(", "a", "b", ")", "\n"]),
        ("'a\"b' \"c'd\"", ["'a\"b'", '"c\'d"']),
        ("r'a\\'b' rb'c' \"\"", ["r'a\\'b'", "rb'c'", '""']),
        ('""" a "b" \n # no comment """', ['""" a "b" \n # no comment """']),
        ("'''it''s'''", ["'''it''s'''"]),
        ('"a\\"b"', ['"a\\"b"']),
        ("größe = 1", ["größe", "=", "1"]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_places_count_characters_from_one(newline: str) -> None:
    text = newline.join(['x = """é', '"""', '  yé = "z"', ""])
    token = next(t for t in tokenize(text, path="f").items if t.text == '"z"')
    assert (token.line, token.column, text[token.start : token.end]) == (3, 8, '"z"')


def test_byte_order_mark_takes_no_column() -> None:
    token = tokenize("\ufeffx = 1", path="f").items[0]
    assert (token.text, token.column, token.start) == ("x", 1, 1)


def test_parts_between_commas() -> None:
    tokens = tokenize("f(a, [b, c], {d: (e, g)},)", path="f")
    parts = ["".join(t.text for t in tokens.items[i:j]) for i, j in tokens.split(1)]
    assert parts == ["a", "[b,c]", "{d:(e,g)}"]
    assert list(tokenize("f()", path="f").split(1)) == []


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("x = (\n", 1, r"\( is not closed"),
        ("\nx = )", 2, r"expected no bracket, found \)"),
        ("x = (\n]", 2, r"expected \), found \]"),
        ("\n\nx = 'a\n'", 3, "a string is not closed"),
        ('x = """a"', 1, "a string is not closed"),
        ("x = $", 1, "unexpected '[$]'"),
        ("x = \0", 1, r"unexpected '\\x00'"),
    ],
)
def test_no_starlark(text: str, line: int, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        tokenize(text, path="BUILD")
    assert (caught.value.path, caught.value.line) == ("BUILD", line)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 20_000,
        "[" * 20_000 + "]" * 20_000,
        "x = a" + ".b" * 20_000,
        "x = " + "not " * 20_000 + "1",
        "x = '" + "\\'" * 20_000,
        '"""' + "a" * 100_000,
        "'''" + '"""' * 20_000,
        "\\\n" * 20_000,
        "x" * 1_100_000,
    ],
    ids=lambda text: text[:6],
)
def test_hostile_text_is_read_or_refused_in_linear_time(text: str) -> None:
    begun = time.process_time()
    with contextlib.suppress(InputError):
        tokenize(text, path="f")
    assert time.process_time() - begun < 5


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        tokens = tokenize(text, path="f")
    except InputError:
        return
    assert all(text[t.start : t.end] == t.text for t in tokens.items)

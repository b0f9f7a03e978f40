from __future__ import annotations

import ast

import pytest
import starlark
import tomli
from hypothesis import example, given
from hypothesis import strategies as st

from distcycle.emitters.literals import load_toml, quote


@given(st.text(max_size=30))
@example('"\\\x00\x1f\x7f\x85\u2028\u202e\U000e0001')
def test_strings_are_read_back(text: str) -> None:
    quoted = quote(text)
    assert quoted.isprintable()
    assert tomli.loads(f"x = {quoted}") == {"x": text}
    assert ast.literal_eval(quoted) == text
    tree = starlark.parse("x", quoted, starlark.Dialect.standard())
    assert starlark.eval(starlark.Module(), tree, starlark.Globals.standard()) == text


def test_half_a_pair_is_replaced() -> None:
    assert quote("a\ud800b") == '"a\ufffdb"'


@pytest.mark.parametrize("text", ["x = [", "x = " + "[" * 2000, "x = " + "9" * 5000])
def test_what_is_not_toml_is_said_in_one_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"\Acannot be told: not valid TOML: [^\n]+\Z"):
        load_toml(text)

"""Lines of keys in TOML and JSON texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

import pytest
import tomli
from corpus import CORPUS
from hypothesis import given
from hypothesis import strategies as st

from distcycle.lines import find_lines

TOML = '''\
# comment with [brackets] and "quotes
version = 1
title = """
[[package]]
name = 'not a package'
"""

[[package]]
name = "first"
dependencies = [
  # { name = "commented out" },
  { name = "x" },
  { name = "y", marker = "os_name == ']'" },
  [
    1,
    2,
  ],
]

[package.metadata]
"foo.bar" = [
  "one",
  'two',
]
"esc\\u0061ped" . inner = 3

[[package]]
name = "second"

[[package.wheels]]
url = "w0"

[[package.wheels]]
url = "w1"
hashes = { sha256 = "aa", nested.deep = 1 }

[tool]
pdm.dependencies = []
'''


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("version", 2),
        ("title", 3),
        ("package", 8),
        ("package[0]", 8),
        ("package[0].name", 9),
        ("package[0].dependencies", 10),
        ("package[0].dependencies[0]", 12),
        ("package[0].dependencies[1].marker", 13),
        ("package[0].dependencies[2][1]", 16),
        ("package[0].metadata", 20),
        ("package[0].metadata.foo.bar", 21),
        ("package[0].metadata.foo.bar[1]", 23),
        ("package[0].metadata.escaped.inner", 25),
        ("package[1]", 27),
        ("package[1].wheels[1]", 33),
        ("package[1].wheels[1].url", 34),
        ("package[1].wheels[1].hashes.nested.deep", 35),
        ("tool.pdm", 38),
        ("tool.pdm.dependencies", 38),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_toml_member(key: str, line: int, newline: str) -> None:
    text = TOML.replace("\n", newline)
    assert find_lines(text, "toml", [key]) == {key: line}


def test_nearest_ancestor_answers_for_what_is_not_there() -> None:
    keys = ["package[1].wheels[7].url", "package[0].dependencies.numpy", "package[9]", "nothing[0]"]
    assert find_lines(TOML, "toml", keys) == {
        "package[1].wheels[7].url": 30,
        "package[0].dependencies.numpy": 10,
        "package[9]": 8,
    }


def test_json_member() -> None:
    text = json.dumps({"a": [{"b.c": 1, "d": [2, 3]}], 'q"{': {"é\n": "}"}}, indent=1)
    found = find_lines(text, "json", ["a[0].b.c", "a[0].d[1]", 'q"{.é\n', "a[4]"])
    assert {key: text.splitlines()[line - 1].strip() for key, line in found.items()} == {
        "a[0].b.c": '"b.c": 1,',
        "a[0].d[1]": "3",
        'q"{.é\n': '"\\u00e9\\n": "}"',
        "a[4]": '"a": [',
    }


def test_json_array_at_the_top() -> None:
    assert find_lines("[1,\n{\n}]", "json", ["[1]", "[0]"]) == {"[1]": 2, "[0]": 1}


@pytest.mark.parametrize("syntax", ["lines", "none"])
def test_other_syntaxes_have_no_keys(syntax: Literal["lines", "none"]) -> None:
    assert find_lines("a = 1", syntax, ["a"]) == {}


@pytest.mark.parametrize(("text", "syntax"), [('\n"\\q" = 1', "toml"), ('{\n"\\q": 1}', "json")])
def test_name_with_an_unknown_escape_is_taken_as_written(
    text: str, syntax: Literal["toml", "json"]
) -> None:
    assert find_lines(text, syntax, ["\\q"]) == {"\\q": 2}


def test_deep_nesting_answers_with_an_ancestor() -> None:
    text = "a = " + "[\n" * 5000
    key = "a" + "[0]" * 5000
    assert find_lines(text, "toml", [key])[key] > 10


FRAGMENTS = st.sampled_from(
    ["a", ".", "=", ":", "[", "]", "{", "}", '"', "'", '"""', "'''", "\\", "\n", "#", ",", " "]
)
KEYS = st.lists(st.sampled_from(["a", "a.a", "a[0]", "a[0].a", "[0]", "", "a.", "]["]))


@given(st.lists(FRAGMENTS | st.text(max_size=3)).map("".join), KEYS, st.booleans())
def test_any_text_is_scanned(text: str, keys: list[str], as_toml: bool) -> None:
    found = find_lines(text, "toml" if as_toml else "json", keys)
    assert all(1 <= line <= text.count("\n") + 1 for line in found.values())


NAMES = st.sampled_from(["a", "b-1", "c.d", "e f", "é", "x\\y", 'q"', "[0]", "#"])
LEAVES = st.sampled_from(["", "plain", "# [x]", "'", '"', "}", "a\nb", "\\"])
TREES = st.dictionaries(
    NAMES,
    st.recursive(
        LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
        max_leaves=12,
    ),
    max_size=4,
)


def number_leaves(tree: object, counter: Iterator[int]) -> object:
    """Make every leaf unique, so that a line shows which leaf stands on it."""
    if isinstance(tree, dict):
        return {name: number_leaves(value, counter) for name, value in tree.items()}
    if isinstance(tree, list):
        return [number_leaves(value, counter) for value in tree]
    return f"<{next(counter)}>{tree}"


def leaves(tree: object, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from leaves(value, f"{path}.{name}" if path else name)
    elif isinstance(tree, list):
        for i, value in enumerate(tree):
            yield from leaves(value, f"{path}[{i}]")
    else:
        yield path, tree


def write_toml(tree: dict[str, object], *, headers: bool) -> Iterator[str]:
    """Write plain members, then tables and arrays of tables under headers, or all inline."""
    later = []
    for name, value in tree.items():
        if headers and isinstance(value, dict):
            later.append((f"[{json.dumps(name)}]", value))
        elif headers and isinstance(value, list) and value and all(map(is_table, value)):
            later += [(f"[[ {json.dumps(name)} ]] # comment", element) for element in value]
        else:
            yield f"{json.dumps(name)} = {inline(value)}"
    for header, table in later:
        yield header
        yield from write_toml(table, headers=False)


def is_table(value: object) -> bool:
    return isinstance(value, dict)


def inline(value: object) -> str:
    if isinstance(value, list):
        return "[ # comment ]\n" + "".join(f"  {inline(element)},\n" for element in value) + "]"
    if isinstance(value, dict):
        pairs = (f"{json.dumps(name)} = {inline(member)}" for name, member in value.items())
        return f"{{ {', '.join(pairs)} }}"
    return json.dumps(value)


def check_leaves(text: str, tree: object, lines: dict[str, int]) -> None:
    shown = text.split("\n")
    paths = [path for path, _ in leaves(tree)]
    for path, leaf in leaves(tree):
        if paths.count(path) == 1:
            assert str(leaf).partition(">")[0] + ">" in shown[lines[path] - 1]


@given(TREES, st.booleans())
def test_toml_agrees_with_the_parser(tree: dict[str, object], headers: bool) -> None:
    numbered = number_leaves(tree, iter(range(1000)))
    assert isinstance(numbered, dict)
    text = "\n".join(write_toml(numbered, headers=headers))
    parsed = tomli.loads(text)
    assert parsed == numbered
    check_leaves(text, parsed, find_lines(text, "toml", [path for path, _ in leaves(parsed)]))


@given(TREES, st.sampled_from([None, 0, 2]))
def test_json_agrees_with_the_parser(tree: dict[str, object], indent: int | None) -> None:
    numbered = number_leaves(tree, iter(range(1000)))
    text = json.dumps(numbered, indent=indent)
    check_leaves(text, numbered, find_lines(text, "json", [path for path, _ in leaves(numbered)]))


@pytest.mark.parametrize(
    "name",
    [
        "uv/r3-docling-serve-conflicts-3MB.lock",
        "uv/r3-uv-conflicts-small.lock",
        "pylock/packaging-spec-example.toml",
        "pylock/pdm-demo.toml",
        "poetry/p20-fastapi-fastapicli.lock",
    ],
)
def test_real_locks_agree_with_the_parser(name: str) -> None:
    path = CORPUS / name
    if not path.exists():
        pytest.skip("the corpus of real lock files is not beside this repository")
    text = path.read_bytes().decode()
    found = dict(leaves(tomli.loads(text)))
    lines = find_lines(text, "toml", found)
    assert lines.keys() == found.keys()
    shown = text.split("\n")
    for key, leaf in found.items():
        if isinstance(leaf, str):
            written = leaf.replace("\\", "\\\\").replace('"', '\\"').split("\n")[0]
            assert leaf in shown[lines[key] - 1] or written in shown[lines[key] - 1]

"""Groups as MODULE.bazel, WORKSPACE and .bzl files declare them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distcycle.errors import InputError
from distcycle.lint.starlark import Declaration, parse_declarations

MODULE = """\
module(name = "demo")
bazel_dep(name = "rules_python", version = "2.3.2")
pip = use_extension("@rules_python//python/extensions:pip.bzl", "pip")
pip.parse(
    hub_name = "pypi",
    python_version = "3.11",
    requirements_lock = "//:requirements_lock.txt",
    experimental_requirement_cycles = {
        "airflow": [
            "apache-airflow",
            "apache-airflow-providers-sqlite",
        ],
    },
)
use_repo(pip, "pypi")
"""
WORKSPACE = """\
load("@rules_python//python:pip.bzl", "pip_parse")

pip_parse(
    name = "pypi",
    experimental_requirement_cycles = {"sphinx": ["sphinx", 'sphinxcontrib-qthelp']},
    requirements_lock = "//:requirements_lock.txt",
)
"""


def read(text: str) -> Declaration:
    (declaration,) = parse_declarations(text, path="f")
    return declaration


def groups(declaration: Declaration) -> dict[str, list[str]]:
    assert declaration.cycles is not None, declaration.computed
    return {g.name: [member.name for member in g.members] for g in declaration.cycles.groups}


# What is read ------------------------------------------------------------------------------------


def test_module() -> None:
    found = read(MODULE)
    assert (found.kind, found.call, found.hub) == ("bzlmod", "pip.parse", "pypi")
    assert (found.python_version, found.locks) == ("3.11", ("//:requirements_lock.txt",))
    assert groups(found) == {"airflow": ["apache-airflow", "apache-airflow-providers-sqlite"]}


def test_workspace() -> None:
    found = read(WORKSPACE)
    assert (found.kind, found.call, found.hub) == ("workspace", "pip_parse", "pypi")
    assert groups(found) == {"sphinx": ["sphinx", "sphinxcontrib-qthelp"]}


def test_places_of_names_and_of_the_literal() -> None:
    cycles = read(MODULE).cycles
    assert cycles is not None
    (group,) = cycles.groups
    places = [(m.span.line, m.span.column) for m in (group.label, *group.members)]
    assert places == [(9, 9), (10, 13), (11, 13)]
    literal = MODULE[cycles.span.start : cycles.span.end]
    assert (cycles.span.line, cycles.span.column, cycles.indent) == (8, 39, "    ")
    assert literal.startswith('{\n        "airflow"')
    assert literal.endswith("],\n    }")
    member = group.members[0].span
    assert MODULE[member.start : member.end] == '"apache-airflow"'


def test_several_hubs_and_several_calls_on_one() -> None:
    text = """\
pip.parse(hub_name = "a", python_version = "3.10", requirements_lock = "//a:r.txt")
pip.parse(hub_name = "a", python_version = "3.11", uv_lock = "//a:uv.lock")
dev_pip.parse(hub_name = "b", requirements_by_platform = {"//:linux.txt": "linux_*"})
"""
    found = parse_declarations(text, path="f")
    assert [(d.call, d.hub, d.python_version, d.span.line) for d in found] == [
        ("pip.parse", "a", "3.10", 1),
        ("pip.parse", "a", "3.11", 2),
        ("dev_pip.parse", "b", None, 3),
    ]
    assert [d.locks[:1] for d in found] == [("//a:r.txt",), ("//a:uv.lock",), ("//:linux.txt",)]
    assert {d.cycles for d in found} == {None}


def test_call_in_a_loop_and_in_a_macro() -> None:
    text = """\
[
    pip.parse(hub_name = "pypi", python_version = version, requirements_lock = ":r.txt")
    for version in ["3.11", "3.12"]
]

def python_dependencies():
    pip_parse(name = "base", experimental_requirement_cycles = {"x": ["a", "b"]})
"""
    loop, macro = parse_declarations(text, path="f")
    assert (loop.hub, loop.python_version) == ("pypi", None)
    assert (macro.kind, macro.hub, groups(macro)) == ("workspace", "base", {"x": ["a", "b"]})


def test_names_bound_to_literals() -> None:
    text = """\
HUB = "pypi"
CYCLES = {"x": ["a", "b"]}
pip_parse(name = HUB, experimental_requirement_cycles = CYCLES)
"""
    found = read(text)
    assert (found.hub, groups(found)) == ("pypi", {"x": ["a", "b"]})
    assert found.cycles is not None
    assert (found.span.line, found.cycles.span.line, found.cycles.span.column) == (3, 2, 10)


def test_constants_of_a_file_without_calls() -> None:
    text = (
        'VERSIONS = {"a": ["1"]}\nSPHINX_CYCLES = {"sphinx": ["sphinx", "b"]}\nCYCLE_NAME = "x"\n'
    )
    found = read(text)
    assert (found.kind, found.hub, found.span.line) == ("constant", "SPHINX_CYCLES", 2)
    assert groups(found) == {"sphinx": ["sphinx", "b"]}


def test_rule_of_any_name_that_has_the_attribute() -> None:
    text = 'my_pip(name = "x", experimental_requirement_cycles = {})'
    assert (read(text).hub, groups(read(text))) == ("x", {})


def test_definitions_and_other_calls_are_none() -> None:
    text = """\
def pip_parse(name, experimental_requirement_cycles = {}):
    pass
json.parse(text = "{}")
other(name = "x")
pip_parse("//:positional")
"""
    with pytest.raises(InputError, match=r"expected pip\.parse, pip_parse, or a dictionary"):
        parse_declarations(text, path="f")


@pytest.mark.parametrize("text", [MODULE.replace("\n", "\r\n"), f"\ufeff{MODULE}"])
def test_line_ends_and_byte_order_mark(text: str) -> None:
    found = read(text)
    assert groups(found) == groups(read(MODULE))
    assert found.cycles is not None
    assert found.cycles.span.line == 8
    assert text[found.cycles.span.start] == "{"


def test_comments_go_with_names() -> None:
    text = """\
CYCLES = {  # the first
    # above
    "x": [  # label
        # one
        # two
        "a",  # a
        "b",
    ],  # behind
    # last
}
"""
    cycles = read(text).cycles
    assert cycles is not None
    label, a, b = (cycles.groups[0].label, *cycles.groups[0].members)
    assert (label.before, label.after) == (("# the first", "# above"), ("# label",))
    assert (a.before, a.after) == (("# one", "# two"), ("# a",))
    assert (b.before, b.after) == ((), ())
    assert cycles.tail == ("# behind", "# last")


# What is computed --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("pip_parse(name = 'x', {} = make())", "make() is no literal dictionary"),
        ("pip_parse(name = 'x', {} = {{}} | {{}})", "{} | {} is no literal dictionary"),
        ("pip_parse(name = 'x', {} = {{'a': B}})", "'a': B is no literal list of strings"),
        ("pip_parse(name = 'x', {} = {{'a': ['b'] + ['c']}})", "is no literal list of strings"),
        ("pip_parse(name = 'x', {} = {{'a': ('b',)}})", "is no literal list of strings"),
        ("pip_parse(name = 'x', {} = {{'a': [b]}})", "b is no literal string"),
        ("pip_parse(name = 'x', {} = {{'a': ['b' 'c']}})", "'b' 'c' is no literal string"),
        ("pip_parse(name = 'x', {} = {{'a': ['b\\\\n']}})", "is no plain string"),
        ("pip_parse(name = 'x', {} = {{k: v for k, v in C}})", "is no literal list of strings"),
        ("pip_parse(name = 'x', {} = C)", "C is bound nowhere in this file"),
        ("C = {{}}\nC = {{}}\npip_parse(name = 'x', {} = C)", "C is bound more than once"),
        ("C = {{}}\nC.update(D)\npip_parse(name = 'x', {} = C)", "C is altered after it was"),
        ("C = {{}}\nC['a'] = []\npip_parse(name = 'x', {} = C)", "C is altered after it was"),
        ("C = {{}}\nC |= D\npip_parse(name = 'x', {} = C)", "C is altered after it was bound"),
        ("C = D\npip_parse(name = 'x', {} = C)", "D is no literal dictionary"),
        ("load(':c.bzl', 'C')\npip_parse(name = 'x', {} = C)", "C is loaded from :c.bzl"),
        ("load(':c.bzl', C = 'D')\npip_parse(name = 'x', {} = C)", "C is loaded from :c.bzl"),
        ("C = {{}}\ndef f(C):\n  pip_parse(name = 'x', {} = C)", "C is a parameter"),
        ("for C in D:\n  pip_parse(name = 'x', {} = C)", "C is bound by a loop"),
        ("pip_parse(name = 'x', **C)", "it may be among the arguments behind **"),
        ("CYCLES = dict(a = [])", "dict(a = []) is no literal dictionary"),
        ("CYCLES = {{}}\nCYCLES.update(D)", "CYCLES is altered after it was bound"),
    ],
)
def test_computed(text: str, reason: str) -> None:
    found = read(text.format("experimental_requirement_cycles"))
    assert found.cycles is None
    assert reason in found.computed


def test_one_key_twice_is_refused_as_by_bazel() -> None:
    with pytest.raises(InputError, match="group 'a' stands twice in one dictionary") as caught:
        parse_declarations("CYCLES = {\n'a': ['b'],\n'a': ['c'],\n}", path="f")
    assert caught.value.line == 3


_WORDS = (
    "pip . parse ( ) { } [ ] , : = ** ; load def for CYCLES 'a' \"b\" hub_name name |= pip_parse"
)
_PIECES = st.sampled_from([*_WORDS.split(), "\n", "#c\n", "experimental_requirement_cycles"])


@given(st.lists(_PIECES, max_size=40).map(" ".join))
def test_any_tokens_are_read_or_refused(text: str) -> None:
    try:
        found = parse_declarations(text, path="f")
    except InputError:
        return
    assert all(bool(d.computed) <= (d.cycles is None) for d in found)

"""What ``--fix`` writes: the literal and nothing else, complete, disjoint, the same when done."""

from __future__ import annotations

from pathlib import Path

import pytest
import starlark
from bazel_locks import lint, lock_of, snapshot_of
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from distcycle.findings import Severity
from distcycle.lint import lint_bazel
from distcycle.lint.starlark import parse_declarations
from distcycle.policy import Policy

THREE = {"a": ["b"], "b": ["c"], "c": ["a"], "d": ["e"], "e": ["d"], "f": []}


def fix(text: str, edges: dict[str, list[str]], *, allow: tuple[str, ...] = ()) -> str:
    """The mended text, which a second run finds nothing wrong with."""
    lock = lock_of(snapshot_of(edges))
    policy = Policy(severities=dict.fromkeys(allow, Severity.ALLOW))
    first = lint_bazel(text, lock, policy, path="f", fix=True)
    again = lint_bazel(first.text, lock, policy, path="f", fix=True)
    assert again.text == first.text
    assert [f for f in again.findings if f.severity is not Severity.ALLOW] == []
    return first.text


def evaluate(text: str, name: str = "CYCLES") -> dict[str, list[str]]:
    """What Starlark itself makes of a constant."""
    module = starlark.Module()
    starlark.eval(module, starlark.parse("f.bzl", text), starlark.Globals.standard())
    value: dict[str, list[str]] = module[name]
    return value


# Form --------------------------------------------------------------------------------------------


def test_literal_in_a_call_and_nothing_else() -> None:
    text = """\
# über alles
pip.parse(
    hub_name = 'pypi',  # é
    experimental_requirement_cycles = {'zed' : ['C','b'], "y":["d", "e"]},
    python_version = "3.11",)

  # end
"""
    before, after = text.split("{'zed'", maxsplit=1)[0], text.split('"e"]}')[1]
    assert fix(text, THREE) == (
        before
        + """\
{
        "y": [
            "d",
            "e",
        ],
        "zed": [
            "a",
            "b",
            "c",
        ],
    }"""
        + after
    )


def test_constant() -> None:
    assert fix("CYCLES = {}", THREE) == (
        """\
CYCLES = {
    "a": [
        "a",
        "b",
        "c",
    ],
    "d": [
        "d",
        "e",
    ],
}"""
    )


def test_nothing_left() -> None:
    assert fix('CYCLES = {"x": ["f", "gone"]}\n', {"f": []}) == "CYCLES = {}\n"


def test_right_groups_stay_as_they_are() -> None:
    text = "CYCLES = {'x': ['E','d'], 'w': ['c', 'a',  'b',]}  # odd, and right"
    assert fix(text, THREE) == text


@pytest.mark.parametrize(("mark", "newline"), [("", "\r\n"), ("\ufeff", "\n")])
def test_line_ends_and_byte_order_mark(tmp_path: Path, mark: str, newline: str) -> None:
    path = tmp_path / "MODULE.bazel"
    text = f"{mark}# x\npip.parse(\n    hub_name = 'p',\n"
    text += "    experimental_requirement_cycles = {},\n)\n"
    path.write_bytes(text.replace("\n", newline).encode())
    assert lint(path, snapshot_of({"a": ["b"], "b": ["a"]}), fix=True).ok
    members = '{\n        "a": [\n            "a",\n            "b",\n        ],\n    }'
    assert path.read_bytes().decode() == text.replace("{}", members).replace("\n", newline)


def test_comments_stay_with_their_names() -> None:
    text = """\
CYCLES = {
    # the three
    "x": [  # because
        # first
        "b",  # b is old
        "f",  # never
        "a",
    ],
    # the end
}
"""
    assert fix(text, {**THREE, "d": []}) == (
        """\
CYCLES = {
    # the three
    "x": [  # because
        "a",
        # first
        "b",  # b is old
        "c",
    ],
    # the end
}
"""
    )


def test_several_literals_of_one_file(tmp_path: Path) -> None:
    path = tmp_path / "WORKSPACE"
    path.write_text(
        'pip_parse(name = "a", experimental_requirement_cycles = {})\n'
        'pip_parse(name = "b", experimental_requirement_cycles = {})\n'
    )
    report = lint(path, snapshot_of({"a": ["b"], "b": ["a"]}), fix=True)
    assert report.ok
    assert report.notes == tuple(f"{path}:{n}: the groups are written anew" for n in (1, 7))
    assert len({d.cycles for d in parse_declarations(path.read_text(), path="f")}) == 2


def test_what_counts_not_is_left_alone() -> None:
    text = (
        'pip.parse(hub_name = "a", experimental_requirement_cycles = {"x": ["f"]})\n'
        'pip.parse(hub_name = "a", experimental_requirement_cycles = {"x": ["f"]})\n'
    )
    first, second = fix(text, THREE).split("\n", 1)
    assert first == text.split("\n", maxsplit=1)[0]
    assert '"x"' not in second


def test_attribute_that_is_left_out_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "MODULE.bazel"
    path.write_text('pip.parse(hub_name = "a")\n')
    report = lint(path, snapshot_of({"a": ["b"], "b": ["a"]}), fix=True)
    assert [f.code for f in report.findings] == ["group-incomplete"]
    assert path.read_text() == 'pip.parse(hub_name = "a")\n'


# Names -------------------------------------------------------------------------------------------


def test_new_groups_are_named_after_the_most_required_member() -> None:
    edges = {"a": ["hub"], "b": ["hub"], "hub": ["a", "b"]}
    assert evaluate(fix("CYCLES = {}", edges)) == {"hub": ["a", "b", "hub"]}


def test_name_that_is_taken() -> None:
    text = 'CYCLES = {"a": ["d", "e"]}'
    assert evaluate(fix(text, THREE)) == {"a": ["d", "e"], "b": ["a", "b", "c"]}


def test_declared_names_stay_where_they_match_best() -> None:
    text = 'CYCLES = {"one": ["a", "d", "e"], "two": ["b", "c"]}'
    assert evaluate(fix(text, THREE)) == {"one": ["d", "e"], "two": ["a", "b", "c"]}


def test_pair_twice_under_two_spellings() -> None:
    text = 'CYCLES = {"m": ["markdown_it_py", "x"], "n": ["markdown-it-py", "x"]}'
    edges = {"markdown-it-py": ["x"], "x": ["markdown-it-py"]}
    assert evaluate(fix(text, edges)) == {"m": ["markdown-it-py", "x"]}


# What is allowed stays ---------------------------------------------------------------------------


def test_what_is_allowed_stays() -> None:
    text = 'CYCLES = {"x": ["a", "f"], "y": ["d", "e", "gone"], "z": ["f"]}'
    assert evaluate(fix(text, THREE, allow=("group-excess", "group-absent"))) == {
        "x": ["a", "b", "c", "f"],
        "y": ["d", "e", "gone"],
    }


def test_all_that_is_wrong_is_allowed() -> None:
    text = 'CYCLES = {"x": ["a", "b", "c", "f"], "y": ["d", "e"]}'
    assert fix(text, THREE, allow=("group-excess",)) == text


def test_groups_that_are_judged_in_part_keep_their_members() -> None:
    lock = lock_of(snapshot_of({"a": ["b"], "b": ["a"], "c[x]": ["d"], "e": []}, ["a", "c", "e"]))
    text = 'CYCLES = {"x": ["a"], "y": ["c", "d"], "z": ["e"]}'
    linted = lint_bazel(text, lock, Policy(), path="f", fix=True)
    assert linted.findings == ()
    assert evaluate(linted.text) == {"x": ["a", "b"], "y": ["c", "d"]}


# Law ---------------------------------------------------------------------------------------------

_NAMES = ("a", "b", "c-d", "e", "f", "g")
_EDGES = st.dictionaries(
    st.sampled_from([*_NAMES, "a[x]", "b[x]"]),
    st.lists(st.sampled_from([*_NAMES, "a[x]", "b ; sys_platform == 'linux'"]), max_size=3),
    min_size=1,
)
_SPELLED = st.sampled_from([*_NAMES, "A", "c_d", "C.D", "gone"])
_GROUPS = st.dictionaries(st.sampled_from([*_NAMES, "x"]), st.lists(_SPELLED, max_size=5))
_CODES = ("group-excess", "group-absent", "group-overlap", "group-incomplete")


@given(edges=_EDGES, groups=_GROUPS, allow=st.sets(st.sampled_from(_CODES)))
def test_mended_groups_are_disjoint_and_hold_every_loop(
    edges: dict[str, list[str]], groups: dict[str, list[str]], allow: set[str]
) -> None:
    text = f"# before\nCYCLES = {groups!r}  # behind\nOTHER = 1\n"
    mended = fix(text, edges, allow=tuple(allow))
    assert mended.startswith("# before\nCYCLES = {")
    assert mended.endswith("}  # behind\nOTHER = 1\n")
    if mended == text and allow:
        return
    written = [set(map(canonicalize_name, names)) for names in evaluate(mended).values()]
    loops = [set(loop.packages) for loop in lock_of(snapshot_of(edges)).loops]
    assert all(any(loop <= names for names in written) for loop in loops)
    assert sum(map(len, written)) == len(set().union(*written))
    if not allow:
        assert sorted(map(sorted, written)) == sorted(map(sorted, loops))

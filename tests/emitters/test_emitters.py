"""What all emitters have in common."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_plans import FROM_TORCH, FROM_TRITON, TORCH, make_cut, make_group, make_plan

from distcycle.emitters import EMITTERS, Emitter
from distcycle.plan import Plan

ALL = pytest.mark.parametrize("emitter", EMITTERS.values(), ids=EMITTERS)
SHARED = {"comments", "literals", "starlark"}


def data_of(text: str) -> list[str]:
    """A text without its comments; no string in the plans of these tests holds a ``#``."""
    lines = (line.partition("#")[0].rstrip() for line in text.split("\n"))
    return [line for line in lines if line]


@ALL
def test_what_is_written_is_all_there(emitter: Emitter, two_loops: Plan) -> None:
    assert emitter.check(two_loops, emitter.emit(two_loops)) == ()


@ALL
def test_nothing_is_there_in_an_empty_file(emitter: Emitter, two_loops: Plan) -> None:
    text = "version = 1\n" if emitter.name == "policy" else ""
    lacks = emitter.check(two_loops, text)
    if emitter.remedy == "group":
        assert [lack.partition(":")[0] for lack in lacks] == ["sphinx", "torch"]
    else:
        assert [lack.partition(":")[0] for lack in lacks] == [
            "sphinx-contrib -> sphinx",
            "torch 2.0.0 -> triton",
        ]


@ALL
def test_one_cut_of_two_is_not_enough(emitter: Emitter, two_loops: Plan) -> None:
    half = replace(two_loops, cuts=two_loops.cuts[:1], groups=two_loops.groups[:1])
    [lack] = emitter.check(two_loops, emitter.emit(half))
    assert lack.startswith("sphinx")


@ALL
def test_the_order_of_a_plan_changes_nothing(emitter: Emitter, two_loops: Plan) -> None:
    turned = replace(two_loops, cuts=two_loops.cuts[::-1], groups=two_loops.groups[::-1])
    assert emitter.emit(turned) == emitter.emit(two_loops)


@ALL
def test_comments_say_why_where_what_is_lost_and_what_cannot_be_said(
    emitter: Emitter, plan: Plan
) -> None:
    text = re.sub(r"\s*\n\s*#\s*", " ", emitter.emit(plan))
    assert text.startswith(f"# Written by distcycle for uv.lock (fix --emit {emitter.name}).")
    assert "torch and triton" in text
    assert "sys_platform == 'linux' and platform_machine == 'x86_64'" in text
    if emitter.remedy == "cut":
        assert "On: cp310-linux_x86_64 and cp311-linux_x86_64" in text
        assert "Lost: the bound ==2.0.0 on triton" in text
    if emitter.cannot:
        assert f"What cannot be said here: {emitter.cannot}." in text


@ALL
def test_an_extra_that_cannot_be_said_is_lost(emitter: Emitter, moving_plan: Plan) -> None:
    text = emitter.emit(moving_plan)
    keeps = emitter.name in {"uv", "policy"}
    assert ("Lost: the extra torch" in text) == (not keeps and emitter.remedy == "cut")
    assert ("requires torch only with the extra torch" in text) == keeps


@ALL
@given(hostile=st.text(max_size=40))
@settings(max_examples=40)
def test_nothing_out_of_a_file_ends_a_comment(emitter: Emitter, hostile: str) -> None:
    def plan_of(text: str) -> Plan:
        values = {"loses": (text,), "targets": (text,)}
        return replace(
            make_plan(replace(FROM_TORCH, **values), groups=(replace(TORCH, targets=(text,)),)),
            input=text,
        )

    assert data_of(emitter.emit(plan_of(hostile))) == data_of(emitter.emit(plan_of("benign")))


@ALL
@given(text=st.text(max_size=200))
@settings(max_examples=60)
def test_any_file_can_be_checked(emitter: Emitter, text: str) -> None:
    lacks = emitter.check(make_plan(FROM_TORCH, FROM_TRITON, groups=(TORCH,)), text)
    assert lacks
    assert all(lack and "\n" not in lack for lack in lacks)


@ALL
def test_no_plan_at_all(emitter: Emitter) -> None:
    text = emitter.emit(make_plan())
    assert emitter.check(make_plan(), text) == ()


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,3}(-[a-z0-9]{1,2})?", fullmatch=True)


@ALL
@given(loops=st.lists(st.tuples(NAMES, NAMES), unique_by=frozenset, max_size=4))
@settings(max_examples=40)
def test_what_is_written_of_any_loops_is_there(
    emitter: Emitter, loops: list[tuple[str, str]]
) -> None:
    seen: set[str] = set()
    pairs = []
    for pair in loops:
        if seen.isdisjoint(pair) and len(set(pair)) == 2:
            seen.update(pair)
            pairs.append(pair)
    plan = make_plan(
        *(make_cut(a, b) for a, b in pairs), groups=tuple(make_group(a, b) for a, b in pairs)
    )
    assert emitter.check(plan, emitter.emit(plan)) == ()


def modules() -> Iterator[tuple[str, set[str]]]:
    """The emitters' modules, with the siblings that each imports."""
    for emitter in EMITTERS.values():
        path = importlib.import_module(emitter.module).__file__
        assert path is not None
        tree = ast.parse(Path(path).read_text("utf-8"))
        imports = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        yield emitter.name, {name.rpartition(".")[2] for name in imports if ".emitters." in name}


def test_emitters_do_not_know_each_other() -> None:
    assert {name: found - SHARED for name, found in modules() if found - SHARED} == {}

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import starlark
from torch_plans import TORCH, make_group, make_plan

from distcycle.emitters import bazel
from distcycle.plan import Plan

STUBS = """
def use_extension(*args):
    return struct(parse = pip_parse)
def use_repo(*args):
    return None
pip = struct(parse = pip_parse)
"""
MODULE = """
pip = use_extension("@rules_python//python/extensions:pip.bzl", "pip")
pip.parse(
    hub_name = "pypi",
    python_version = "3.11",
    requirements_lock = "//:requirements_lock.txt",
    {attribute}
)
use_repo(pip, "pypi")
"""


def evaluate(text: str) -> list[dict[str, Any]]:
    """Run Starlark with stubs for what rules_python defines; the arguments of each parse."""
    calls: list[dict[str, Any]] = []
    module = starlark.Module()
    module.add_callable("pip_parse", lambda **arguments: calls.append(arguments))
    dialect = starlark.Dialect.extended()
    names = starlark.Globals.extended_by([starlark.LibraryExtension.StructType])
    starlark.eval(module, starlark.parse("MODULE.bazel", STUBS + text, dialect), names)
    return calls


def attribute_of(text: str) -> str:
    """The attribute as one cuts it out of the first call."""
    start = text.index("experimental_requirement_cycles")
    return text[start : text.index("\n)", start)]


def test_starlark_reads_both_forms(two_loops: Plan) -> None:
    groups = {"sphinx": ["sphinx", "sphinx-contrib"], "torch": ["torch", "triton"]}
    assert evaluate(bazel.emit(two_loops)) == [{"experimental_requirement_cycles": groups}] * 2


def test_the_attribute_fits_into_a_module(plan: Plan) -> None:
    module = MODULE.replace("{attribute}", attribute_of(bazel.emit(plan)))
    [arguments] = evaluate(module)
    assert arguments["hub_name"] == "pypi"
    assert arguments["experimental_requirement_cycles"] == {"torch": ["torch", "triton"]}
    assert bazel.check(plan, module) == ()


def test_groups_and_members_are_sorted_and_disjoint(two_loops: Plan) -> None:
    [first, _] = evaluate(bazel.emit(two_loops))
    groups = first["experimental_requirement_cycles"]
    members = [name for names in groups.values() for name in names]
    assert list(groups) == sorted(groups)
    assert members == sorted(members)
    assert len(members) == len(set(members))


def hub(name: str, groups: str) -> str:
    return f'pip.parse(hub_name = "{name}", experimental_requirement_cycles = {groups})\n'


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (hub("a", '{"any": ["Torch", "triton", "more"]}'), True),
        (hub("a", '{"x": ["torch"], "y": ["triton"]}'), False),
        (hub("a", '{"x": ["torch", "triton"]}') + hub("a", "{}"), False),
        (hub("a", "{}") + hub("a", '{"x": ["torch", "triton"]}'), True),
        (hub("a", '{"x": ["torch", "triton"]}') + hub("b", "{}"), True),
        (hub("a", '{"x": ["torch", "triton"]}') + 'pip.parse(hub_name = "a")\n', False),
        ('CYCLES = {"x": ["torch", "triton"]}\n' + hub("a", "CYCLES"), True),
        ('pip_parse(name = "a", experimental_requirement_cycles = {"x": ["torch"]})', False),
        ("", False),
    ],
)
def test_check_reads_hubs(plan: Plan, text: str, held: bool) -> None:
    assert bazel.check(plan, text) == (() if held else ("torch: no group holds torch, triton",))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            hub("a", "cycles()"),
            "cannot be told: line 1: experimental_requirement_cycles is computed",
        ),
        ("pip.parse(\n", "cannot be told: line 1: '(' was never closed"),
        ("\0", "cannot be told: "),
    ],
)
def test_check_says_what_cannot_be_told(plan: Plan, text: str, problem: str) -> None:
    [lack] = bazel.check(plan, text)
    assert lack.startswith(problem)


def test_spelling_that_a_workspace_would_take_for_another_name(tmp_path: Path) -> None:
    """WORKSPACE looks for repeated names before it normalises: there is one spelling of each."""
    plan = make_plan(groups=(TORCH, make_group("Markdown_It.Py", "mdit-py-plugins")))
    [first, _] = evaluate(bazel.emit(plan))
    assert first["experimental_requirement_cycles"]["markdown-it-py"] == [
        "markdown-it-py",
        "mdit-py-plugins",
    ]

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import starlark

from distcycle.emitters import pycross
from distcycle.plan import Plan


def evaluate(text: str, extension: str) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []
    module = starlark.Module()
    module.add_callable("record", lambda **arguments: calls.append(arguments))
    names = starlark.Globals.extended_by([starlark.LibraryExtension.StructType])
    stub = f"{extension} = struct(package = record)\n"
    starlark.eval(module, starlark.parse("x", stub + text, starlark.Dialect.extended()), names)
    return calls


@pytest.mark.parametrize(
    ("kind", "extension"),
    [
        ("uv-lock", "uv"),
        ("pdm-lock", "pdm"),
        ("poetry-lock", "poetry"),
        ("pylock", "pylock"),
        ("requirements", "uv"),
    ],
)
def test_starlark_reads_it_as_tags_of_the_locks_extension(
    two_loops: Plan, kind: str, extension: str
) -> None:
    assert evaluate(pycross.emit(replace(two_loops, kind=kind)), extension) == [
        {"name": "sphinx-contrib", "ignore_dependencies": ["sphinx"]},
        {"name": "torch@2.0.0", "ignore_dependencies": ["triton"]},
    ]


def test_cuts_of_one_package_are_one_tag(plan: Plan) -> None:
    [cut] = plan.cuts
    twice = replace(plan, cuts=(cut, replace(cut, requires="cmake")))
    assert evaluate(pycross.emit(twice), "uv") == [
        {"name": "torch@2.0.0", "ignore_dependencies": ["cmake", "triton"]}
    ]


@pytest.mark.parametrize(
    ("tag", "held"),
    [
        ('name = "torch", ignore_dependencies = ["triton"]', True),
        ('name = "Torch@2.0.0", ignore_dependencies = ["a", "Triton@2.0.0"]', True),
        ('name = "*", ignore_dependencies = ["triton"]', True),
        ('name = "torch@2.0.1", ignore_dependencies = ["triton"]', False),
        ('name = "torchvision", ignore_dependencies = ["triton"]', False),
        ('name = "torch", ignore_dependencies = ["tritonclient"]', False),
        ('name = "torch"', False),
    ],
)
def test_check_reads_tags(plan: Plan, tag: str, held: bool) -> None:
    lacks = pycross.check(plan, f"uv.package({tag})\n")
    assert lacks == (() if held else ("torch 2.0.0 -> triton: no package tag ignores it",))


def test_check_says_what_cannot_be_told(plan: Plan) -> None:
    text = '\nuv.package(name = "torch", ignore_dependencies = cut("triton"))\n'
    assert pycross.check(plan, text) == (
        "torch 2.0.0 -> triton: cannot be told: line 2: ignore_dependencies is computed",
    )

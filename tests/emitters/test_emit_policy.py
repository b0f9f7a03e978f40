from __future__ import annotations

from dataclasses import replace

import pytest
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from torch_plans import FROM_TORCH, TORCH, make_group, make_plan

from distcycle.emitters import policy
from distcycle.plan import Plan
from distcycle.policy.parse import parse_policy


def test_cuts_are_read_back(plan: Plan) -> None:
    read = parse_policy(policy.emit(plan), path="distcycle.toml")
    [cut] = read.cuts
    assert (cut.package, cut.requires, cut.move_to_extra) == ("torch", "triton", None)
    assert cut.where.versions == SpecifierSet("==2.0.0")
    assert cut.where.marker == Marker(FROM_TORCH.condition or "")
    assert cut.reason == "it opens the loop of torch, triton"
    assert read.groups == ()


def test_moves_are_read_back(moving_plan: Plan) -> None:
    [cut] = parse_policy(policy.emit(moving_plan), path="distcycle.toml").cuts
    assert (cut.package, cut.requires, cut.move_to_extra) == ("triton", "torch", "torch")
    assert cut.where.marker is None


def test_where_only_targets_were_judged_a_cut_names_their_platforms(plan: Plan) -> None:
    judged = replace(plan, cuts=(replace(FROM_TORCH, condition=None),))
    [cut] = parse_policy(policy.emit(judged), path="distcycle.toml").cuts
    assert cut.where.platforms == ("linux_x86_64",)
    assert policy.check(judged, policy.emit(judged)) == ()


@pytest.mark.parametrize(
    ("target", "platforms"),
    [("cp311-linux_x86_64@environment", ("linux_x86_64",)), ("environment", ())],
)
def test_an_environment_is_limited_to_a_platform_that_policies_know(
    plan: Plan, target: str, platforms: tuple[str, ...]
) -> None:
    judged = replace(plan, cuts=(replace(FROM_TORCH, condition=None, targets=(target,)),))
    [cut] = parse_policy(policy.emit(judged), path="distcycle.toml").cuts
    assert cut.where.platforms == platforms
    assert policy.check(judged, policy.emit(judged)) == ()


def test_groups_are_read_back_where_there_is_no_cut() -> None:
    plan = make_plan(groups=(TORCH, make_group("a", "b", "c", "d", "e", "f")))
    read = parse_policy(policy.emit(plan), path="distcycle.toml")
    assert [(g.name, g.packages) for g in read.groups] == [
        ("a", ("a", "b", "c", "d", "e", "f")),
        ("torch", ("torch", "triton")),
    ]
    assert read.groups[0].reason == "a loop of a, b, c, d and 2 more"
    assert policy.check(plan, policy.emit(plan)) == ()


def test_the_groups_in_comments_are_read_back(plan: Plan) -> None:
    text = policy.emit(plan).partition("# Instead of the cuts")[2].partition("\n#\n")[2]
    lines = (line.removeprefix("# ") for line in text.split("\n"))
    [group] = parse_policy("\n".join(["version = 1", *lines]), path="distcycle.toml").groups
    assert group.packages == ("torch", "triton")


CUT = "[[cut]]\npackage = 'torch'\nrequires = 'triton'\nreason = 'x'\n"
GROUP = "[[group]]\nname = 'g'\npackages = ['torch', 'tri*']\nreason = 'x'\n"


@pytest.mark.parametrize(
    ("text", "lack"),
    [
        (CUT, ""),
        (CUT.replace("torch", "tor*"), ""),
        (CUT + "versions = '<2.1'\n", ""),
        (CUT + 'marker = \'sys_platform == "linux" and platform_machine == "x86_64"\'\n', ""),
        (CUT + "versions = '>2.0.0'\n", "no [[cut]] takes it out"),
        (CUT.replace("triton", "cmake"), "no [[cut]] takes it out"),
        (CUT + "python = '>=3.11'\n", "cannot be told"),
        (CUT + "platforms = ['linux_*']\n", "cannot be told"),
        (CUT + "marker = 'os_name == \"nt\"'\n", "cannot be told"),
        (CUT + "move-to-extra = 'x'\n", "cannot be told"),
        (GROUP, ""),
        (GROUP.replace("tri*", "cmake"), "no [[cut]] takes it out"),
        ("[[cut]]\n", "cannot be told: policy:"),
    ],
)
def test_check_reads_what_stands(plan: Plan, text: str, lack: str) -> None:
    lacks = policy.check(plan, f"version = 1\n{text}")
    assert bool(lacks) == bool(lack)
    assert all(lack in line for line in lacks)


def test_check_reads_a_pyproject(plan: Plan) -> None:
    tables = CUT.replace("[[cut]]", "[[tool.distcycle.cut]]")
    assert policy.check(plan, f"[tool.distcycle]\nversion = 1\n{tables}") == ()
    [lack] = policy.check(plan, "[tool.ruff]\n")
    assert lack == "cannot be told: policy: there is no table [tool.distcycle]"

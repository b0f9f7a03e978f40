from __future__ import annotations

from dataclasses import replace

import pytest
import tomli
from torch_plans import make_cut

from distcycle.emitters import pixi
from distcycle.plan import Plan

NEVER = "sys_platform == 'never'"


def test_overrides_hold_in_no_environment(plan: Plan) -> None:
    again = replace(plan, cuts=(*plan.cuts, make_cut("other", "triton")))
    overrides = tomli.loads(pixi.emit(again))["pypi-options"]["dependency-overrides"]
    assert overrides == {"triton": {"version": "*", "env-markers": NEVER}}


@pytest.mark.parametrize(
    ("table", "value", "held"),
    [
        ("pypi-options", f'{{ version = "*", env-markers = "{NEVER}" }}', True),
        ("tool.pixi.pypi-options", "{ env-markers = 'sys_platform == \"never\"' }", True),
        ("feature.x.pypi-options", f'{{ env-markers = "{NEVER}" }}', False),
        ("pypi-options", '"==2.0.0"', False),
        ("pypi-options", '{ version = "*", env-markers = "sys_platform == \'linux\'" }', False),
        ("pypi-options", '{ env-markers = "nonsense" }', False),
    ],
)
def test_check_reads_what_stands(plan: Plan, table: str, value: str, held: bool) -> None:
    lacks = pixi.check(plan, f"[{table}.dependency-overrides]\nTriton = {value}\n")
    assert lacks == (() if held else ("torch 2.0.0 -> triton: no override takes triton away",))

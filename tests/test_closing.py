"""What closes a gap is said for every kind of input, in the terms of its own tool."""

from __future__ import annotations

import pytest

from distcycle import closing
from distcycle.model import Snapshot
from distcycle.readers import READERS
from distcycle.requirements import parse_requirement

KINDS = [*(reader.kind for reader in READERS), "environment", "wheelhouse"]
NEED = parse_requirement("Egg[yolk] >=2 ; python_version >= '3.8'")


def snapshot(kind: str) -> Snapshot:
    return Snapshot(path="lock", kind=kind, packages=(), roots=None)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_advice(kind: str) -> None:
    assert kind in closing._ADVICE
    said = [
        advise(snapshot(kind), NEED)
        for advise in (closing.advise_missing, closing.advise_conflict, closing.advise_double)
    ]
    assert all(said)
    assert not any("{" in advice for advice in said)
    assert "egg[yolk]>=2" in said[0]


def test_nothing_is_advised_on_what_cannot_be_read() -> None:
    assert closing._ADVICE.keys() == set(KINDS)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("requirements", "add egg[yolk]>=2 to it, or compile it again"),
        ("environment", "install 'egg[yolk]>=2'"),
        ("wheelhouse", "put a wheel of egg[yolk]>=2 into the folder"),
    ],
)
def test_what_is_missing(kind: str, says: str) -> None:
    assert closing.advise_missing(snapshot(kind), NEED) == says


@pytest.mark.parametrize("tool", ["poetry", "uv", "pdm"])
def test_a_lock_is_made_again_by_its_tool(tool: str) -> None:
    advice = closing.advise_conflict(snapshot(f"{tool}-lock"), NEED)
    assert advice.startswith(f"run '{tool} lock'; if that changes nothing, add egg[yolk]>=2 to ")


def test_a_need_by_url_is_told_with_its_url() -> None:
    need = parse_requirement("egg @ https://files.pypi.example/egg-2-py3-none-any.whl")
    assert closing.describe_need(need) == "egg @ https://files.pypi.example/egg-2-py3-none-any.whl"

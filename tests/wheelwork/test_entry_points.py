"""Entry points of several wheels in one file."""

from __future__ import annotations

import pytest
from importlib_metadata import EntryPoints

from distcycle.errors import InputError
from distcycle.wheelwork.entry_points import dump_entry_points, merge_entry_points

ONE = b"[console_scripts]\nRun = a.b:main [x]\n\n[DEFAULT]\nk=v\n# a comment\n"
TWO = b"[plug.ins]\r\np = c\r\n[console_scripts]\r\nother= c:main\r\nRun =a.b:main [x]\r\n"


def test_merged() -> None:
    merged = merge_entry_points({"a 1": ONE, "b 2": TWO})
    assert merged == merge_entry_points({"b 2": TWO, "a 1": ONE})
    assert dump_entry_points(merged).decode() == (
        "[DEFAULT]\nk = v\n\n[console_scripts]\nRun = a.b:main [x]\nother = c:main\n\n"
        "[plug.ins]\np = c\n"
    )
    read = EntryPoints._from_text(dump_entry_points(merged).decode())
    assert {(point.group, point.name): point.value for point in read} == dict(merged)


def test_nothing() -> None:
    assert dump_entry_points(merge_entry_points({})) == b""


@pytest.mark.parametrize("group", ["console_scripts", "gui_scripts"])
def test_conflict(group: str) -> None:
    other = f"[{group}]\nRun = c:main\n".encode()
    with pytest.raises(
        InputError, match=r"Run: a 1 and b 2 disagree: a\.b:main \[x\] in"
    ) as caught:
        merge_entry_points({"a 1": ONE, "b 2": other})
    assert f"c:main in {group}" in str(caught.value)


@pytest.mark.parametrize("text", [b"\xff", b"no = group\n", b"[g]\na = 1\na = 2\n"])
def test_unreadable(text: bytes) -> None:
    with pytest.raises(InputError, match="that of a 1 cannot be read"):
        merge_entry_points({"a 1": text})

"""METADATA is edited at the bytes; requirement lines are freed of extras and put under them."""

from __future__ import annotations

import email
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from distcycle.errors import InputError
from distcycle.requirements import parse_requirement
from distcycle.wheelwork.conditions import (
    assume_extra,
    holds_without_extra,
    on_condition,
    under_extra,
)
from distcycle.wheelwork.edits import (
    Edit,
    edit_metadata,
    join_headers,
    replace_requirements,
    split_headers,
)

HEAD = b"Metadata-Version: 2.1\nName: a\nVersion: 1.0\n"


def _edit(requires: str, extra: str | None = None, lines: Sequence[str] = ()) -> Edit:
    return Edit(
        requires=canonicalize_name(requires),
        extra=None if extra is None else canonicalize_name(extra),
        lines=tuple(lines),
    )


@given(st.binary() | st.text("aR-:\r\n \t").map(str.encode))
def test_cut_headers_join_again(data: bytes) -> None:
    assert join_headers(*split_headers(data)) == data


def test_headers_are_those_that_installers_see() -> None:
    data = (
        HEAD + b"Summary: one\n two\n\tthree\r\nRequires-Dist: x\nnot a header\nRequires-Dist: y\n"
    )
    _, headers, rest = split_headers(data)
    seen = [(k.lower(), " ".join(v.split())) for k, v in email.message_from_bytes(data).items()]
    assert [(h.name, h.value) for h in headers] == seen
    assert rest == b"not a header\nRequires-Dist: y\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"Requires-Dist: x\nRequires-Dist: y\n\nbody", b"Requires-Dist: y\n\nbody"),
        (b"requires-dist:X\r\nRequires-Dist: y\r\n\r\n", b"Requires-Dist: y\r\n\r\n"),
        (b"Requires-Dist: x\n  (>=1)\n ; os_name == 'nt'\nKeywords: k\n", b"Keywords: k\n"),
        (b"Requires-Dist: y\nRequires-Dist: x", b"Requires-Dist: y\n"),
        (b"Requires-Dist: x>=1\nRequires-Dist: x<1 ; extra == 'e'\nA: b\n", b"A: b\n"),
        (b"Requires-Dist: x\nRequires-Dist: x-y\n", b"Requires-Dist: x-y\n"),
    ],
)
def test_removal(old: bytes, new: bytes) -> None:
    assert edit_metadata(HEAD + old, [_edit("x")]) == HEAD + new


def test_byte_order_mark_and_blank_lines_before_headers_stay() -> None:
    start = b"\xef\xbb\xbf\r\n"
    assert edit_metadata(start + HEAD + b"Requires-Dist: x\n", [_edit("x")]) == start + HEAD


def test_only_given_lines_are_meant() -> None:
    data = HEAD + b"Requires-Dist: x\nRequires-Dist: x  (>=2);  extra == 'e'\n"
    edited = edit_metadata(data, [_edit("x", lines=["x (>=2); extra  == 'e'"])])
    assert edited == HEAD + b"Requires-Dist: x\n"
    with pytest.raises(InputError, match="no such requirement of x"):
        edit_metadata(data, [_edit("x", lines=["x>=3"])])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x", 'x; extra == "e"'),
        ("x>=1", 'x>=1; extra == "e"'),
        ("x (>=1) ; os_name == 'nt'", "x (>=1) ; os_name == 'nt' and extra == \"e\""),
        (
            "x; os_name == 'nt' or os_name == 'posix'",
            "x; (os_name == 'nt' or os_name == 'posix') and extra == \"e\"",
        ),
        ("x @ https://h/a;b#c", 'x @ https://h/a;b#c ; extra == "e"'),
        (
            "x @ https://h/a;b ; os_name=='nt'",
            "x @ https://h/a;b ; os_name=='nt' and extra == \"e\"",
        ),
    ],
)
def test_move_to_an_extra(old: str, new: str) -> None:
    edited = edit_metadata(HEAD + f"Requires-Dist: {old}\n".encode(), [_edit("x", "e")])
    assert edited == HEAD + f"Provides-Extra: e\nRequires-Dist: {new}\n".encode()
    moved = Requirement(new)
    for os_name in ("nt", "posix"):
        environment = {"os_name": os_name, "extra": "e"}
        before = Requirement(old).marker
        assert moved.marker is not None
        assert moved.marker.evaluate(environment) is (
            before is None or before.evaluate({"os_name": os_name, "extra": ""})
        )
        assert not moved.marker.evaluate({"os_name": os_name, "extra": ""})


def test_extra_that_is_declared_already_is_joined() -> None:
    data = HEAD + b"Requires-Dist: x\r\nRequires-Dist: y\nRequires-Dist: x>1\nProvides-Extra: E.e\n"
    assert edit_metadata(data, [_edit("x", "e-e")]) == HEAD + (
        b'Requires-Dist: x; extra == "e-e"\r\nRequires-Dist: y\n'
        b'Requires-Dist: x>1; extra == "e-e"\nProvides-Extra: E.e\n'
    )


def test_extra_is_declared_once() -> None:
    data = HEAD + b"Requires-Dist: x\nRequires-Dist: z\n"
    edited = edit_metadata(data, [_edit("x", "e"), _edit("z", "e")])
    assert edited.count(b"Provides-Extra: e\n") == 1


def test_what_is_under_an_extra_is_not_put_under_another() -> None:
    data = HEAD + b"Requires-Dist: x ; extra == 'own'\n"
    with pytest.raises(InputError, match="x is required under an extra only"):
        edit_metadata(data, [_edit("x", "e")])
    both = data + b"Requires-Dist: x\n"
    assert edit_metadata(both, [_edit("x", "e")]).startswith(data)


def test_version_is_replaced_in_headers_only() -> None:
    data = HEAD + b"Requires-Dist: x\n\nVersion: 1.0\n"
    edited = edit_metadata(data, [_edit("x")], Version("1.0+distcycle.1"))
    assert edited == HEAD.replace(b"1.0\n", b"1.0+distcycle.1\n") + b"\nVersion: 1.0\n"


def test_unreadable_requirements_stay() -> None:
    data = HEAD + b"Requires-Dist: ???\nRequires-Dist: x\nRequires-Dist: y>=1.*\n"
    kept = b"Requires-Dist: ???\nRequires-Dist: y>=1.*\n"
    assert edit_metadata(data, [_edit("x")]) == HEAD + kept


def test_unreadable_marker_is_not_moved() -> None:
    data = HEAD + b"Requires-Dist: x ; no_such == 1\n"
    with pytest.raises(InputError, match="unreadable requirement"):
        edit_metadata(data, [_edit("x", "e")])
    assert edit_metadata(data, [_edit("x")]) == HEAD


def test_all_requirements_replaced() -> None:
    data = (
        HEAD.replace(b"\n", b"\r\n") + b"Requires-Dist: x\r\nA: b\r\nRequires-Dist: y\r\n\r\nbody"
    )
    expected = (
        HEAD.replace(b"\n", b"\r\n") + b"Requires-Dist: p\r\nRequires-Dist: q\r\nA: b\r\n\r\nbody"
    )
    assert replace_requirements(data, ["p", "q"]) == expected
    assert replace_requirements(HEAD + b"\nbody", ["p"]) == HEAD + b"Requires-Dist: p\n\nbody"
    assert replace_requirements(HEAD[:-1], ["p"]) == HEAD + b"Requires-Dist: p\n"


@pytest.mark.parametrize(
    ("marker", "with_e", "without"),
    [
        ("extra == 'e'", True, False),
        ("extra != 'e'", False, True),
        ("'E' == extra", True, False),
        ("os_name == 'nt'", "os_name == 'nt'", "os_name == 'nt'"),
        ("os_name == 'nt' and extra == 'e'", "os_name == 'nt'", False),
        ("os_name == 'nt' or extra == 'e'", True, "os_name == 'nt'"),
        ("extra == 'e' or extra == 'f'", True, False),
        (
            "(os_name == 'nt' or os_name == 'x') and python_version < '3' and extra == 'e'",
            "(os_name == 'nt' or os_name == 'x') and python_version < '3'",
            False,
        ),
    ],
)
def test_extra_assumed(marker: str, with_e: str | bool, without: str | bool) -> None:
    parsed = Marker(marker)
    left = assume_extra(parsed, canonicalize_name("e"))
    rest = assume_extra(parsed, None)
    assert [_plain(left), _plain(rest)] == [_plain(with_e), _plain(without)]
    assert holds_without_extra(parsed) is (without is not False)


def _plain(marker: str | bool) -> str | bool:
    return str(Marker(marker)) if isinstance(marker, str) else marker


def test_conditions_joined() -> None:
    requirement = parse_requirement("x (>1) ; os_name == 'nt'")
    assert on_condition(requirement, True) == "x (>1)"
    assert on_condition(requirement, "os_name == 'a'", True) == "x (>1) ; os_name == 'a'"
    joined = on_condition(requirement, "os_name == 'a' or os_name == 'b'", "os_name == 'c'")
    assert joined == "x (>1) ; (os_name == 'a' or os_name == 'b') and os_name == 'c'"
    assert under_extra(parse_requirement("x"), canonicalize_name("e")) == 'x; extra == "e"'

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from distcycle.readers.poetry_constraint import parse_constraint, python_markers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*", ""),
        ("^1.2.3", ">=1.2.3,<2"),
        ("^1.2", ">=1.2,<2"),
        ("^0.2.3", ">=0.2.3,<0.3"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("^0.0", ">=0.0,<0.1"),
        ("^0", ">=0,<1"),
        ("^1.2.3b1", ">=1.2.3b1,<2"),
        ("~1.2.3", ">=1.2.3,<1.3"),
        ("~1.2", ">=1.2,<1.3"),
        ("~1", ">=1,<2"),
        ("~=1", ">=1,<2"),
        ("~=1.4.2", "~=1.4.2"),
        ("1.*", "==1.*"),
        ("1.2.3", "==1.2.3"),
        ("=1.2.3", "==1.2.3"),
        (">=1 <2", ">=1,<2"),
        (">= 1.0, < 2", ">=1.0,<2"),
        (">=3.6.*", ">=3.6"),
        (">=1,!=1.5.*", ">=1,!=1.5.*"),
        (">=1,<2 || >2", ">=1,!=2"),
        ("<1.0 || >1.0,<1.1 || >1.1", "!=1.0,!=1.1"),
        (">=1.3,<2.0.dev0 || >=2.2.dev0", ">=1.3,!=2.0.*,!=2.1.*"),
        (">=1 || *", ""),
    ],
)
def test_one_specifier_says_it(text: str, expected: str) -> None:
    assert parse_constraint(text).specifier == SpecifierSet(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (">=1,<2 || >=3", ">=1,<2 || >=3"),
        ("~2.7 || ^3.4", ">=2.7,<2.8 || >=3.4,<4"),
        ("==1 || ==2", "==1 || ==2"),
        (">=1,<2 || >=900", ">=1,<2 || >=900"),
        ("^1 | ^3", ">=1,<2 || >=3,<4"),
    ],
)
def test_alternatives_stay_text(text: str, expected: str) -> None:
    constraint = parse_constraint(text)
    assert (constraint.text, constraint.specifier) == (expected, None)


@pytest.mark.parametrize("text", ["", "abc", ">=", ">=1 foo", "^", "1.0;x", ">=1 ||", "9" * 5000])
def test_unreadable_constraint_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse_constraint(text)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("^3.9", ["3.9.0", "3.14.2"], ["3.8.20", "4.0.0"]),
        ("~3.10", ["3.10.0", "3.10.9"], ["3.9.9", "3.11.0"]),
        (">=2.7,<2.8 || >=3.4", ["2.7.18", "3.4.0"], ["2.6.9", "3.3.7"]),
        ("<3.8.1", ["3.8.0", "3.7.9"], ["3.8.1", "3.9.0"]),
        ("<=3.8", ["3.8.0", "3.7.9"], ["3.8.1"]),
        (">3.8", ["3.8.1", "3.9.0"], ["3.8.0"]),
        ("3.8.*", ["3.8.0", "3.8.20"], ["3.9.0", "3.7.1"]),
        ("!=3.8.*", ["3.7.1", "3.9.0"], ["3.8.4"]),
        ("3.*", ["3.0.1", "3.14.0"], ["2.7.18", "4.0.0"]),
        ("!=3.*", ["2.7.18", "4.0.0"], ["3.9.1"]),
        ("~=3.8.2", ["3.8.2", "3.8.9"], ["3.8.1", "3.9.0"]),
        ("3.14.5", ["3.14.5"], ["3.14.4"]),
    ],
)
def test_python_constraint_as_marker(text: str, inside: list[str], outside: list[str]) -> None:
    marker = Marker(" or ".join(python_markers(text)))
    assert [v for v in inside if not _holds(marker, v)] == []
    assert [v for v in outside if _holds(marker, v)] == []


def test_every_python_needs_no_marker() -> None:
    assert python_markers("*") == ()
    assert python_markers(">=3 || *") == ()


@given(
    st.sampled_from(["^", "~", ">=", "<", "<=", ">", "!=", "~="]),
    st.tuples(st.integers(2, 4), st.integers(0, 15), st.integers(0, 3)),
    st.tuples(st.integers(2, 5), st.integers(0, 16), st.integers(0, 4)),
)
def test_marker_and_specifier_agree(
    operator: str, bound: tuple[int, int, int], release: tuple[int, int, int]
) -> None:
    text = operator + ".".join(map(str, bound))
    version = ".".join(map(str, release))
    specifier = parse_constraint(text).specifier
    assert specifier is not None
    marker = Marker(" or ".join(python_markers(text)))
    assert _holds(marker, version) == specifier.contains(Version(version))


def _holds(marker: Marker, version: str) -> bool:
    short = ".".join(version.split(".")[:2])
    return marker.evaluate_prepared({"python_version": short, "python_full_version": version})

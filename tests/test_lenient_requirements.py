"""Requirement lines that packaging refuses keep their edge: name, extras and marker."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as PackagingRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from distcycle.model import Place
from distcycle.requirements import parse_marker, parse_requirement, parse_specifier

# All stood in METADATA of published distributions, or came out of a person's hands.
REFUSED = [
    *(">=3.6.*", "<2.0.*", "!=3.0*", ">dev", "==dev", "==2004d", ">=1.0.", ">=2.0+cu118"),
    *("==2.0+cu118.*", ">='1.0'", ">=1.6.x", "==*", "==1.*.*", ">=\u0663.6", "~=1", "~=1.4.*"),
    *(">=1.0 <2.0", ",>=1.0", "=>1.0", "=1.0", "1.0", "^1.0", ">=1 # comment"),
]


@pytest.mark.parametrize("specifier", REFUSED)
def test_a_refused_specifier_costs_nothing_else(specifier: str) -> None:
    text = f"Num_Py[B_b,a] {specifier} ; sys_platform == 'win32'"
    with pytest.raises(InvalidRequirement):
        PackagingRequirement(text)
    requirement = parse_requirement(text)
    assert (requirement.name, requirement.extras) == ("num-py", ("a", "b-b"))
    assert requirement.marker == Marker('sys_platform == "win32"')
    assert requirement.specifier == SpecifierSet()
    assert requirement.problem
    assert "\n" not in requirement.problem
    assert requirement.text == text


@pytest.mark.parametrize("specifier", REFUSED)
def test_a_refused_specifier_without_marker(specifier: str) -> None:
    requirement = parse_requirement(f"numpy{specifier}" if specifier[0] in "<>=!~," else "numpy =1")
    assert requirement.name == "numpy"
    assert requirement.marker is None
    assert requirement.problem


@pytest.mark.parametrize(
    "text",
    [
        "numpy; python_version>=3",
        "numpy; platform_node=='x'",
        "numpy; sys_platform == 'linux' AND os_name == 'posix'",
        "numpy >=1 ;",
        "numpy; sys_platform",
        f"numpy; {'(' * 1000}os_name == 'nt'{')' * 1000}",
    ],
)
def test_an_unreadable_marker_leaves_an_edge_everywhere(text: str) -> None:
    requirement = parse_requirement(text)
    assert requirement.name == "numpy"
    assert requirement.marker is None
    assert requirement.problem


@pytest.mark.parametrize("text", ["", ">=1.0", "-e .", "[a]", "; os_name == 'nt'", "@ https://x"])
def test_without_a_name_there_is_no_edge(text: str) -> None:
    with pytest.raises(ValueError, match="no project name"):
        parse_requirement(text)


@pytest.mark.parametrize(
    ("text", "extras"),
    [("numpy[a,,b]>=1", ("a", "b")), ("numpy[a b] >=1", ()), ("numpy[A] >=x", ("a",))],
)
def test_extras_that_are_names_are_kept(text: str, extras: tuple[str, ...]) -> None:
    requirement = parse_requirement(text)
    assert (requirement.name, requirement.extras) == ("numpy", extras)
    assert requirement.problem


def test_a_url_may_hold_a_semicolon() -> None:
    text = "x @ https://files.example/z;v=1.whl junk; sys_platform == 'win32'"
    requirement = parse_requirement(text)
    assert requirement.url == "https://files.example/z;v=1.whl"
    assert requirement.marker == Marker("sys_platform == 'win32'")
    assert requirement.problem


def test_a_marker_may_hold_a_semicolon() -> None:
    requirement = parse_requirement("x >=1.x ; platform_version == 'a;b'")
    assert requirement.marker == Marker("platform_version == 'a;b'")


@pytest.mark.parametrize(
    "text",
    ["torch (>=1.7)", "torch(>=1.7)", 'numpy;python_version>"3"', "numpy >=1.0,", "a===2004d"],
)
def test_what_only_looks_old_is_read_by_packaging(text: str) -> None:
    assert parse_requirement(text).problem is None


def test_folded_white_space_is_one_space() -> None:
    folded = "numpy\n        >=1 ;\n\tsys_platform\r\n == 'win32'"
    requirement = parse_requirement(folded)
    assert requirement.text == "numpy >=1 ; sys_platform == 'win32'"
    assert requirement.specifier == SpecifierSet(">=1")
    assert requirement.marker == Marker("sys_platform == 'win32'")
    assert requirement.problem is None


def test_the_caller_says_where_it_stands() -> None:
    place = Place(path="uv.lock", key="package[0]")
    extra = canonicalize_name("dev")
    requirement = parse_requirement("numpy", extra=extra, package=3, place=place)
    assert (requirement.extra, requirement.package, requirement.place) == ("dev", 3, place)
    assert parse_requirement("numpy").place is None


NAMES = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,8}[A-Za-z0-9])?", fullmatch=True)


@settings(deadline=None)
@given(
    name=NAMES,
    extras=st.lists(NAMES, max_size=3),
    rest=st.text(st.sampled_from("<>=!~.,*1239abx +'\"()#^"), max_size=12),
)
def test_the_name_survives_whatever_follows(name: str, extras: list[str], rest: str) -> None:
    requirement = parse_requirement(f"{name} [{','.join(extras)}] {rest} ; os_name == 'nt'")
    assert requirement.name == canonicalize_name(name)
    assert requirement.extras == tuple(sorted({canonicalize_name(extra) for extra in extras}))
    assert requirement.marker == Marker("os_name == 'nt'")


@settings(deadline=None)
@given(text=st.text(max_size=40))
def test_any_text_is_a_requirement_or_a_value_error(text: str) -> None:
    try:
        requirement = parse_requirement(text)
    except ValueError:
        return
    assert requirement.name == canonicalize_name(requirement.name)
    assert isinstance(parse_marker(text), (Marker, str))
    assert parse_specifier(text) is None or parse_specifier(text) == SpecifierSet(text)


def test_a_marker_or_what_is_wrong_with_it() -> None:
    assert parse_marker(" os_name == 'nt' ") == Marker('os_name == "nt"')
    assert isinstance(parse_marker("os_name = 'nt'"), str)
    assert parse_marker("")
    assert isinstance(parse_marker(""), str)


def test_a_specifier_or_none() -> None:
    assert parse_specifier(">=3.8,<4") == SpecifierSet("<4,>=3.8")
    assert parse_specifier(">=3.8.*") is None

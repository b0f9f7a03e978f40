"""Markers as conditions: what packaging says of an atom, and nothing else, decides."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marker_samples import LINUX
from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName
from packaging.specifiers import SpecifierSet

from distcycle.markers import Space, UnreadableMarker, atoms_of, parse_expression
from distcycle.targets import MARKER_VARIABLES, Target, custom_target, make_targets


def place(**values: str) -> Target:
    """One made-up environment."""
    return custom_target({**LINUX, **values}, ["py3-none-any"])


def space_of(**values: str) -> Space:
    return Space.of_targets([place(**values)])


# What packaging finds, row by row; who reads markers otherwise draws other edges.
ROWS: list[tuple[str, dict[str, str], bool]] = [
    ('python_version >= "3.6.*"', {}, False),
    ('python_version >= "3.6.*"', {"python_version": "3.6.*"}, True),
    ('python_version > "2.7.*"', {}, False),
    ('sys_platform > "a"', {}, False),
    ('python_version > "3.12"', {}, False),
    ('python_full_version > "3.12"', {}, True),
    ('python_version == "3.12.4"', {}, False),
    ('python_version in "3.10"', {"python_version": "3.1"}, True),
    ('python_version in "3.10"', {}, False),
    ('platform_machine in "x86_64 AMD64"', {"platform_machine": "x86"}, True),
    ('platform_machine in "x86_64 AMD64"', {"platform_machine": ""}, True),
    ('platform_machine not in "x86_64 AMD64"', {"platform_machine": "x86"}, False),
    ('sys_platform in "linux2"', {}, True),
    ('sys_platform not in "linux2"', {}, False),
    ('python_full_version < "3.13"', {"python_full_version": "3.13.0rc1"}, False),
    ('python_full_version >= "3.13"', {"python_full_version": "3.13.0rc1"}, False),
    ('python_version < "3.13"', {"python_version": "3.13"}, False),
    ('python_version >= "3.13"', {"python_version": "3.13"}, True),
    ('platform_release == "10"', {}, False),
    ('platform_release != "10"', {}, False),
    ('platform_release == "6.1.0-13-amd64"', {}, True),
    ('platform_release >= "5"', {}, False),
    ('platform_release >= "5"', {"platform_release": "14.1-RELEASE"}, False),
    ('platform_release >= "5"', {"platform_release": "2022Server"}, False),
    ('platform_release >= "5"', {"platform_release": ""}, False),
    ('platform_release >= "5"', {"platform_release": "6.1.0+rpt-rpi-v8"}, True),
    ('platform_version >= "10"', {}, False),
    ('python_full_version == "3.12.0"', {"python_full_version": "3.12.0+local"}, True),
    ("sys_platform == platform_system", {}, False),
    ('os.name == "posix"', {}, True),
    ('sys.platform == "linux"', {}, True),
    ('platform.machine == "x86_64"', {}, True),
    ('python_implementation == "CPython"', {}, True),
    # Reversed atoms.
    ('"linux" == sys_platform', {}, True),
    ('"3.8" <= python_version', {}, True),
    ('"3.13" <= python_version', {}, False),
    ('"lin" in sys_platform', {}, True),
    ('"bsd" not in sys_platform', {}, True),
    ('"3.1" in python_version', {}, True),
    # Precedence, brackets and quotes.
    ('os_name == "nt" and os_name == "nt" or os_name == "posix"', {}, True),
    ('os_name == "posix" or os_name == "nt" and os_name == "nt"', {}, True),
    ('(os_name == "posix" or os_name == "nt") and os_name == "nt"', {}, False),
    ('os_name == "nt" and (os_name == "nt" or os_name == "posix")', {}, False),
    ("os_name == 'posix' and platform_version == '#1 SMP'", {}, True),
    (
        "platform_version == 'say \"and\" (not) in'",
        {"platform_version": 'say "and" (not) in'},
        True,
    ),
    ('platform_version == "or"', {"platform_version": "or"}, True),
    ('"and" in platform_version', {"platform_version": "rock and roll"}, True),
    ("python_version === '3.12'", {}, True),
]


@pytest.mark.parametrize(("marker", "values", "expected"), ROWS)
def test_agrees_with_the_table(marker: str, values: dict[str, str], expected: bool) -> None:
    space = space_of(**values)
    assert bool(space.condition(Marker(marker))) is expected
    assert space.unreadable == {}


@pytest.mark.parametrize(
    "marker",
    ['python_version ~= "3"', '"a" == "a"', 'extras == "foo"', 'sys_platform ~= "linux"'],
)
def test_what_packaging_refuses_holds_everywhere_and_is_said(marker: str) -> None:
    space = Space.of_targets([place(), place(sys_platform="win32")])
    assert space.condition(Marker(f'sys_platform == "win32" and {marker}')) == space.full
    (said,) = space.unreadable
    assert said == str(Marker(f'sys_platform == "win32" and {marker}'))
    assert space.unreadable[said]


def test_no_marker_holds_everywhere() -> None:
    assert space_of().condition(None) == 1


# Extras ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marker", "extra", "expected"),
    [
        ('extra == "Foo_Bar"', "foo-bar", True),
        ('extra == "foo-bar"', "foo-bar", True),
        ('extra == "foo"', "", False),
        ('extra != "foo"', "", True),
        ('extra != "foo"', "foo", False),
        ('"foo" == extra', "foo", True),
        ('extra == "foo" or sys_platform == "linux"', "", True),
        ('extra == "foo" and sys_platform == "linux"', "foo", True),
        ('extra == "foo" and extra == "bar"', "foo", False),
    ],
)
def test_an_extra_is_read_in_its_own_name(marker: str, extra: str, expected: bool) -> None:
    assert bool(space_of().condition(Marker(marker), extra)) is expected


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        ('"Foo_Bar" in extras', True),
        ('"other" in extras', False),
        ('"other" not in extras', True),
        ('"foo-bar" == extras', False),
        ('"DEV" in dependency_groups', True),
        ('"docs" in dependency_groups', False),
        ('"docs" in dependency_groups or "foo.bar" in extras', True),
    ],
)
def test_extras_and_groups_of_the_input(marker: str, expected: bool) -> None:
    space = Space.of_targets([place()], extras=["foo-Bar"], groups=["dev"])
    assert bool(space.condition(Marker(marker))) is expected
    assert space.unreadable == {}


def test_choices_are_alternatives_of_every_target() -> None:
    gpu, cpu = "extra-3-app-gpu", "extra-3-app-cpu"
    targets = [place(), place(sys_platform="win32")]
    choices = [frozenset(), frozenset({gpu}), frozenset({cpu})]
    space = Space.of_targets(targets, choices=choices)
    assert space.full.bit_count() == 6
    with_gpu = space.condition(Marker(f'extra == "{gpu}"'))
    assert with_gpu.bit_count() == 2
    assert with_gpu & space.condition(Marker(f'extra == "{cpu}"')) == 0
    assert space.condition(Marker(f'extra != "{gpu}"')) == space.full & ~with_gpu
    # Any other name is a package's own extra.
    assert space.condition(Marker('extra == "gpu"')) == 0
    assert space.condition(Marker('extra == "gpu"'), "gpu") == space.full


# Requires-Python ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("specifier", "full_version", "expected"),
    [
        (">=3.8", "3.12.4", True),
        (">=3.13", "3.12.4", False),
        (">=3.13", "3.13.0rc1", False),
        ("!=3.12.4", "3.12.4", False),
        ("==3.12.*", "3.12.4", True),
        ("", "3.14.0a1", True),
    ],
)
def test_python_admitted_by_a_specifier(specifier: str, full_version: str, expected: bool) -> None:
    space = space_of(python_full_version=full_version)
    assert bool(space.python(SpecifierSet(specifier))) is expected
    assert space.python(None) == space.full


# Laws --------------------------------------------------------------------------------------------

PLATFORMS = ["linux_x86_64", "linux_aarch64", "macos_arm64", "windows_amd64", "windows_x86"]
TARGETS = (
    *make_targets([*PLATFORMS, "cp312-pyodide_wasm32", "pp310-linux_x86_64"], ["3.9", "3.13"]),
    place(),
    place(python_full_version="3.13.0rc1", python_version="3.13", implementation_name="graalpy"),
    place(sys_platform="freebsd14", platform_system="FreeBSD", platform_release="14.1-RELEASE"),
)
WORDS = [
    *("linux", "win32", "darwin", "Linux", "Windows", "nt", "posix", "x86_64", "AMD64", "x86"),
    *(
        "x86_64 AMD64",
        "3",
        "3.9",
        "3.10",
        "3.12",
        "3.12.4",
        "3.13.0rc1",
        "3.1",
        "3.8.*",
        "3.9, 3.12",
    ),
    *("cpython", "CPython", "PyPy", "", "10", "6.1.0-13-amd64", "a", "Foo_Bar", "foo-bar", "dev"),
]
OPERATORS = ["==", "!=", "<", "<=", ">", ">=", "~=", "===", "in", "not in"]
VARIABLES = [*MARKER_VARIABLES, "extra"]


@st.composite
def atoms(draw: st.DrawFn) -> str:
    operator, word = draw(st.sampled_from(OPERATORS)), draw(st.sampled_from(WORDS))
    name = draw(st.sampled_from(VARIABLES))
    if draw(st.integers(0, 9)) == 0:
        name = draw(st.sampled_from(["extras", "dependency_groups"]))
        return f'"{word}" {draw(st.sampled_from(["in", "not in"]))} {name}'
    quote = draw(st.sampled_from("\"'"))
    sides = [name, f"{quote}{word}{quote}"]
    if draw(st.booleans()):
        sides.reverse()
    return f"{sides[0]} {operator} {sides[1]}"


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joiner = st.sampled_from([" and ", " or "])
    lists = st.lists(parts, min_size=2, max_size=4)
    return st.builds(
        lambda texts, word, brackets: f"({word.join(texts)})" if brackets else word.join(texts),
        lists,
        joiner,
        st.booleans(),
    )


MARKERS = st.recursive(atoms(), joined, max_leaves=8)


def by_packaging(marker: Marker, targets: Sequence[Target], extra: str) -> list[bool] | None:
    """What packaging finds on each target; None when it refuses."""
    truths = []
    for target in targets:
        environment = {
            **target.environment,
            "extra": extra,
            "extras": frozenset({"foo-bar"}),
            "dependency_groups": frozenset({"dev"}),
        }
        try:
            truths.append(marker.evaluate_prepared(environment))
        except (UndefinedComparison, UndefinedEnvironmentName):
            return None
    return truths


@settings(max_examples=250, deadline=None)
@given(
    text=MARKERS,
    targets=st.lists(st.sampled_from(TARGETS), min_size=1, max_size=6, unique=True),
    extra=st.sampled_from(["", "foo-bar", "dev"]),
)
def test_agrees_with_packaging_bit_by_bit(text: str, targets: list[Target], extra: str) -> None:
    marker = Marker(text)
    space = Space.of_targets(targets, extras=["foo_bar"], groups=["dev"])
    condition = space.condition(marker, extra)
    truths = by_packaging(marker, targets, extra)
    if truths is None:
        assert condition == space.full
        assert list(space.unreadable) == [str(marker)]
    else:
        assert [bool(condition >> i & 1) for i in range(len(targets))] == truths
        assert space.unreadable == {}


@settings(max_examples=100, deadline=None)
@given(first=MARKERS, second=MARKERS)
def test_and_and_or_are_those_of_sets(first: str, second: str) -> None:
    space = Space.of_targets(TARGETS)
    one, two = space.condition(Marker(first)), space.condition(Marker(second))
    both = space.condition(Marker(f"({first}) and ({second})"))
    either = space.condition(Marker(f"({first}) or ({second})"))
    if not space.unreadable:
        assert (both, either) == (one & two, one | two)


@settings(max_examples=100, deadline=None)
@given(text=MARKERS)
def test_atoms_are_those_of_the_text_from_left_to_right(text: str) -> None:
    shown = str(Marker(text))
    found = [atom.text for atom in atoms_of(parse_expression(shown))]
    at = 0
    for atom in found:
        at = shown.index(atom, at) + len(atom)
    left = shown
    for atom in found:
        left = left.replace(atom, "", 1)
    assert set(left.replace("(", " ").replace(")", " ").split()) <= {"and", "or"}


def test_two_literals_are_no_atom() -> None:
    with pytest.raises(UnreadableMarker, match="compares two literals"):
        parse_expression(str(Marker('"a" == "a"')))


@pytest.mark.parametrize("text", ["", "(", "os_name == 'nt' or more", "not (os_name == 'nt')"])
def test_what_is_no_marker_is_refused(text: str) -> None:
    with pytest.raises(UnreadableMarker):
        parse_expression(text)

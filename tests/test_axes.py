"""The theory of environments: what goes together, what never does, and where Python is cut."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from marker_samples import place
from packaging.markers import Marker

from distcycle.markers import Space, axes, whole_space
from distcycle.markers.expressions import Atom, atoms_of, parse_expression


def space_of(*markers: str) -> Space:
    return whole_space([str(Marker(marker)) for marker in markers])


def atoms(*markers: str) -> list[Atom]:
    return [atom for m in markers for atom in atoms_of(parse_expression(str(Marker(m))))]


# What never goes together ------------------------------------------------------------------------

NOWHERE = [
    'sys_platform == "win32" and platform_system == "Linux"',
    'os_name == "nt" and sys_platform == "linux"',
    'os_name == "nt" and sys_platform == "emscripten"',
    'os_name == "nt" and platform_system == "FreeBSD"',
    'sys_platform == "darwin" and platform_system == "Windows"',
    'sys_platform == "linux" and platform_system == "Android"',
    'sys_platform == "freebsd14" and platform_system == "Linux"',
    'implementation_name == "cpython" and platform_python_implementation == "PyPy"',
    'python_version > "3.8" and python_version < "3.9"',
    'python_version >= "3.8" and python_full_version < "3.8.0"',
    'python_full_version > "3.8.1" and python_full_version < "3.8.2"',
    'python_version == "3.8.1"',
    'python_version >= "3.10" and python_full_version < "3.10"',
    'sys_platform == "linux" and "linux" not in sys_platform',
    'platform_machine == "x86_64" and platform_machine not in "x86_64 AMD64"',
    'python_version >= "3.6.*"',
    'sys_platform > "a"',
]


@pytest.mark.parametrize("marker", NOWHERE)
def test_holds_nowhere(marker: str) -> None:
    assert space_of(marker).condition(Marker(marker)) == 0


SAME = [
    ('os_name == "nt"', 'sys_platform == "win32"'),
    ('platform_system == "Windows"', 'sys_platform == "win32"'),
    ('platform_system == "Linux"', 'sys_platform == "linux"'),
    ('platform_system == "Darwin"', 'sys_platform == "darwin"'),
    ('implementation_name == "pypy"', 'platform_python_implementation == "PyPy"'),
    ('python_version >= "3.11"', 'python_full_version >= "3.11"'),
    ('python_version > "3.10"', 'python_full_version >= "3.11.0"'),
    ('python_version in "3.8, 3.9"', 'python_version == "3.8" or python_version == "3.9"'),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_means_the_same_as(one: str, other: str) -> None:
    space = space_of(one, other)
    assert 0 < space.condition(Marker(one)) < space.full
    assert space.condition(Marker(one)) == space.condition(Marker(other))


DIFFERENT = [
    # What looks alike and is not: PEP 440 and substrings have it so.
    ('python_version > "3.12"', 'python_full_version > "3.12"'),
    ('platform_machine in "x86_64 AMD64"', 'platform_machine == "x86_64"'),
    ('platform_system == "FreeBSD"', 'sys_platform == "freebsd"'),
    ('sys_platform == "ios"', 'platform_system == "iOS"'),
    ('sys_platform in "linux2"', 'sys_platform == "linux2"'),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_does_not_mean_the_same_as(one: str, other: str) -> None:
    space = space_of(one, other)
    assert space.condition(Marker(one)) != space.condition(Marker(other))


# What nobody lists -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "marker"),
    [
        ({"sys_platform": "freebsd11", "platform_system": "FreeBSD"}, 'sys_platform=="freebsd11"'),
        ({"sys_platform": "netbsd3", "platform_system": "NetBSD"}, '"netbsd3" in sys_platform'),
        ({"sys_platform": "haiku1", "platform_system": "Haiku"}, 'sys_platform == "haiku1"'),
        ({"sys_platform": "zos", "platform_system": "OS/390"}, 'platform_system == "OS/390"'),
        ({"os_name": "os2", "sys_platform": "os2emx", "platform_system": "OS/2"}, 'os_name=="os2"'),
        ({"os_name": "java", "sys_platform": "java17", "platform_system": "Java"}, 'os_name!="nt"'),
        ({"platform_machine": "z80"}, 'platform_machine == "z80"'),
        ({"platform_machine": ""}, 'platform_machine in "x86_64 AMD64"'),
        (
            {"implementation_name": "tpython", "platform_python_implementation": "TPython"},
            'implementation_name == "tpython"',
        ),
    ],
)
def test_an_environment_that_no_list_has_is_found(values: dict[str, str], marker: str) -> None:
    others = [
        'platform_system == "FreeBSD" or platform_system == "NetBSD" or platform_system == "Haiku"',
        'platform_machine == "x86" or platform_python_implementation == "TPython"',
    ]
    space, target = space_of(marker, *others), place(values)
    cell = space.locate(target)
    assert cell.bit_count() == 1
    assert cell & space.condition(Marker(marker))
    for other in others:
        assert bool(cell & space.condition(Marker(other))) is Marker(other).evaluate_prepared(
            dict(target.environment)
        )


def test_a_release_of_a_bsd_goes_with_its_system_and_no_other() -> None:
    marker = 'sys_platform == "freebsd11" and platform_system == "{}"'
    markers = [marker.format(system) for system in ("FreeBSD", "NetBSD", "Linux")]
    space = space_of(*markers)
    assert [space.condition(Marker(m)) != 0 for m in markers] == [True, False, False]


# Python ------------------------------------------------------------------------------------------


def releases(*literals: str) -> Sequence[str]:
    return [value["python_full_version"] for value in axes.pythons(literals)]


def test_python_version_follows_from_the_full_version() -> None:
    for value in axes.pythons(["3.8.1", "2.7", "3.99.5"]):
        assert value["python_version"] == ".".join(value["python_full_version"].split(".")[:2])


def test_python_is_final_releases_ascending_and_distinct() -> None:
    points = [tuple(map(int, text.split("."))) for text in releases("3.13.0rc1", "3.8.1", "3.8")]
    assert points == sorted(set(points))


@pytest.mark.parametrize(
    ("literal", "around"),
    [
        ("3.9.5", {"3.9.0", "3.9.4", "3.9.5", "3.9.6", "3.10.0"}),
        ("3.9", {"3.8.99", "3.9.0", "3.9.1", "3.10.0"}),
        ("3.13.0rc1", {"3.12.99", "3.13.0", "3.13.1"}),
        (">=3.9.5,<3.10.2", {"3.9.4", "3.9.5", "3.10.1", "3.10.2"}),
        ("3.8.10", {"3.8.1", "3.8.2", "3.8.9", "3.8.10", "3.8.11"}),
        ("3.25.1", {"3.25.0", "3.25.1", "3.25.2", "3.26.0"}),
    ],
)
def test_python_is_cut_on_both_sides_of_a_literal(literal: str, around: set[str]) -> None:
    assert around <= set(releases(literal))


@pytest.mark.parametrize(
    "literal", ["", "x", "*", "1!", "3.99999999999999", "9" * 400, "3." + "9" * 5000, "٣.6", "4"]
)
def test_python_survives_any_literal(literal: str) -> None:
    assert set(releases()) <= set(releases(literal))


def test_a_micro_version_holds_its_own_beginnings() -> None:
    marker = '"3.8.1" in python_full_version and python_full_version != "3.8.1"'
    space = space_of(marker)
    assert space.locate(place(python_full_version="3.8.10")) & space.condition(Marker(marker))


# How fine the space is ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markers", "cells"),
    [
        ([], 1),
        (['sys_platform == "linux"'], 2),
        (['sys_platform == "linux"', 'platform_system == "Linux"', 'os_name != "nt"'], 3),
        (['python_version >= "3.9"', 'python_version < "3.9"'], 2),
        (['python_version >= "3.9"', 'python_version < "3.11"'], 3),
        (['sys_platform == "linux"', 'python_version >= "3.9"'], 4),
        (['platform_release == "5"', 'platform_version == "5"'], 4),
        (['extra == "x"', '"x" in extras'], 1),
    ],
)
def test_values_that_nothing_tells_apart_are_one(markers: list[str], cells: int) -> None:
    assert space_of(*markers).size == cells


def test_words_of_a_list_are_values_of_their_own() -> None:
    names = [
        value["platform_machine"] for value in axes.machines(atoms('platform_machine in "q z,y|w"'))
    ]
    assert {"q z,y|w", "q", "z", "y", "w"} <= set(names)

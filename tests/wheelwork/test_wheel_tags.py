"""A composite's tags admit an environment only if all members do."""

from __future__ import annotations

import itertools

import pytest
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms, parse_tag

from distcycle.errors import InputError
from distcycle.wheelwork.tags import compress_tags, intersect_tags


@pytest.mark.parametrize(
    ("wheels", "expected"),
    [
        (["py3-none-any", "py3-none-any"], "py3-none-any"),
        (["py2.py3-none-any", "py2.py3-none-any"], "py2.py3-none-any"),
        (["py2.py3-none-any", "py3-none-any"], "py3-none-any"),
        (["py3-none-any", "py38-none-any"], "py38-none-any"),
        (["py3-none-any", "cp311-cp311-win_amd64"], "cp311-cp311-win_amd64"),
        (["py3-none-win_amd64", "cp311-cp311-any"], "cp311-cp311-win_amd64"),
        (["cp39-abi3-win_amd64", "cp311-cp311-win_amd64"], "cp311-cp311-win_amd64"),
        (["cp36-abi3-win_amd64", "cp37-cp37m-win_amd64"], "cp37-cp37m-win_amd64"),
        (["cp39-abi3-any", "cp310-abi3-any"], "cp310-abi3-any"),
        (["cp39-abi3-win32", "py310-none-any"], "cp310-abi3-win32"),
        (["cp39-abi3-win32", "cp310-none-any"], "cp310-cp310-win32"),
        (
            ["cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64", "py3-none-any"],
            "cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64",
        ),
        (
            ["py3-none-manylinux2014_x86_64", "py3-none-manylinux_2_28_x86_64"],
            "py3-none-manylinux_2_28_x86_64",
        ),
        (
            ["py3-none-linux_x86_64", "py3-none-musllinux_1_2_x86_64"],
            "py3-none-musllinux_1_2_x86_64",
        ),
        (
            ["py3-none-macosx_10_9_universal2", "py3-none-macosx_11_0_arm64"],
            "py3-none-macosx_11_0_arm64",
        ),
        (
            ["py3-none-macosx_12_0_universal2", "py3-none-macosx_11_0_x86_64"],
            "py3-none-macosx_12_0_x86_64",
        ),
        (["py3-none-any", "py3-none-any", "py3-none-win32"], "py3-none-win32"),
    ],
)
def test_intersection(wheels: list[str], expected: str) -> None:
    for order in itertools.permutations(wheels):
        assert compress_tags(intersect_tags(map(parse_tag, order))) == expected


@pytest.mark.parametrize(
    "wheels",
    [
        ["py2-none-any", "py3-none-any"],
        ["cp311-cp311-any", "cp312-cp312-any"],
        ["cp311-none-any", "pp311-pypy311_pp73-any"],
        ["cp312-abi3-any", "cp311-cp311-any"],
        ["cp39-abi3-any", "cp313-cp313t-any"],
        ["cp39-abi3-win32", "pp310-none-any"],
        ["py3-none-win32", "py3-none-win_amd64"],
        ["py3-none-manylinux_2_17_x86_64", "py3-none-musllinux_1_2_x86_64"],
        ["py3-none-manylinux_2_17_x86_64", "py3-none-manylinux_2_17_aarch64"],
        ["py3-none-macosx_11_0_arm64", "py3-none-macosx_11_0_x86_64"],
    ],
)
def test_nothing_in_common(wheels: list[str]) -> None:
    assert intersect_tags(map(parse_tag, wheels)) == frozenset()


def _environments() -> list[frozenset[Tag]]:
    platforms = [
        ["manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "linux_x86_64"],
        ["musllinux_1_2_x86_64", "linux_x86_64"],
        ["win_amd64"],
        list(mac_platforms((12, 0), "arm64")),
        list(mac_platforms((11, 0), "x86_64")),
    ]
    return [
        frozenset(
            [*cpython_tags(version, abis, own), *compatible_tags(version, f"cp3{version[1]}", own)]
        )
        for own in platforms
        for version, abis in [((3, 9), ["cp39"]), ((3, 12), ["cp312"]), ((3, 13), ["cp313t"])]
    ]


def test_environments_that_take_the_composite_take_every_member() -> None:
    """By packaging's own tags of real environments; and none that takes all is left out."""
    names = [
        *("py3-none-any", "py310-none-any", "cp312-none-any", "py2.py3-none-win_amd64"),
        *(
            "py3-none-manylinux2014_x86_64",
            "py3-none-linux_x86_64",
            "py3-none-musllinux_1_2_x86_64",
        ),
        *("cp39-abi3-manylinux_2_17_x86_64", "cp312-cp312-manylinux_2_28_x86_64"),
        *("cp39-abi3-win_amd64", "cp313-cp313t-win_amd64", "cp312-cp312-win_amd64"),
        *("py3-none-macosx_10_9_universal2", "cp39-abi3-macosx_11_0_arm64"),
    ]
    environments = _environments()
    for left, right in itertools.product(names, repeat=2):
        composite = intersect_tags([parse_tag(left), parse_tag(right)])
        for environment in environments:
            takes = [bool(environment & parse_tag(name)) for name in (left, right)]
            assert bool(environment & composite) is all(takes), (left, right, composite)


def test_tags_that_no_name_tells() -> None:
    with pytest.raises(InputError, match=r"no file name can tell.*py3-none-win32"):
        compress_tags({Tag("cp311", "cp311", "any"), Tag("py3", "none", "win32")})

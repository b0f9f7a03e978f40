"""From cells back to a marker: re-read by packaging, it says the same inside the bounds."""

from __future__ import annotations

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from marker_samples import MARKERS, TARGETS, examples, holds
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet

from distcycle.markers import EVERYWHERE, NOWHERE, Speller, TooManyCells, whole_space
from distcycle.targets import Target

ANY = SpecifierSet(">=2.7")


def respell(text: str, *others: str, within: SpecifierSet = ANY, tags: str | None = None) -> str:
    """The spelling of what a marker says, beside others that are in use."""
    wheel_tags = None if tags is None else tags.split()
    space = whole_space([str(Marker(m)) for m in (text, *others)], [within], wheel_tags=wheel_tags)
    spelled = Speller(space, space.python(within)).spell(space.condition(Marker(text)))
    assert spelled is not None
    return spelled


SPELLED = [
    ('sys_platform == "linux" or sys_platform != "linux"', EVERYWHERE),
    ('sys_platform == "win32" and platform_system == "Linux"', NOWHERE),
    ('platform_system == "Linux"', "sys_platform == 'linux'"),
    ('os_name == "nt"', "sys_platform == 'win32'"),
    ('platform_system != "Windows"', "sys_platform != 'win32'"),
    ('platform_system == "FreeBSD"', "platform_system == 'FreeBSD'"),
    ('os_name == "posix"', "os_name == 'posix'"),
    ('python_full_version >= "3.11"', "python_version >= '3.11'"),
    ('python_version > "3.10"', "python_version >= '3.11'"),
    ('python_version >= "3.9" and python_version < "3.10"', "python_version == '3.9'"),
    ('python_full_version > "3.9.4"', "python_full_version >= '3.9.5'"),
    (
        'python_version == "3.8" or python_version == "3.9"',
        "python_version >= '3.8' and python_version < '3.10'",
    ),
    ('python_version != "3.9"', "python_version != '3.9'"),
    ('"linux" in sys_platform', "sys_platform == 'linux'"),
    ('platform_python_implementation == "PyPy"', "implementation_name == 'pypy'"),
    (
        'platform_system == "Linux" and platform_machine == "x86_64"',
        "sys_platform == 'linux' and platform_machine == 'x86_64'",
    ),
    (
        'sys_platform == "linux" or sys_platform == "darwin"',
        "sys_platform == 'linux' or sys_platform == 'darwin'",
    ),
    (
        'sys_platform != "linux" and sys_platform != "darwin"',
        "sys_platform != 'linux' and sys_platform != 'darwin'",
    ),
    (
        '(os_name == "nt" or sys_platform == "darwin") and platform_machine == "arm64"',
        "(sys_platform == 'darwin' or sys_platform == 'win32') and platform_machine == 'arm64'",
    ),
    (
        'os_name == "nt" and python_version < "3.11"'
        ' or os_name != "nt" and python_version >= "3.11"',
        "(sys_platform == 'win32' and python_version < '3.11')"
        " or (sys_platform != 'win32' and python_version >= '3.11')",
    ),
    ('platform_release >= "5"', 'platform_release >= "5"'),
]


@pytest.mark.parametrize(("text", "expected"), SPELLED)
def test_is_spelled_as_people_write_it(text: str, expected: str) -> None:
    assert respell(text) == expected


def test_nowhere_is_a_marker_that_holds_nowhere() -> None:
    space = whole_space([str(Marker(NOWHERE))])
    assert space.condition(Marker(NOWHERE)) == 0


def test_common_parts_are_said_once() -> None:
    loop = 'sys_platform == "linux" and (platform_machine == "x86_64" or python_version < "3.9")'
    assert respell(loop) == (
        "sys_platform == 'linux' and (python_version < '3.9' or platform_machine == 'x86_64')"
    )


@pytest.mark.parametrize(
    ("text", "within", "expected"),
    [
        ('python_version >= "3.8"', ">=3.9", EVERYWHERE),
        ('python_version < "3.8"', ">=3.9", NOWHERE),
        ('python_version >= "3.8" and python_version < "3.11"', ">=3.9", "python_version < '3.11'"),
        ('sys_platform == "linux" and python_version >= "3.8"', ">=3.9", "sys_platform == 'linux'"),
        ('python_version >= "3.11"', ">=3.9,<3.13", "python_version >= '3.11'"),
        ('python_version == "3.12"', ">=3.9,<3.13", "python_version >= '3.12'"),
    ],
)
def test_what_is_out_of_bounds_is_not_said(text: str, within: str, expected: str) -> None:
    assert respell(text, within=SpecifierSet(within)) == expected


def test_the_opposite_of_what_no_marker_denies_is_put_in_words() -> None:
    space = whole_space([str(Marker('platform_release >= "5"'))])
    where = space.full & ~space.condition(Marker('platform_release >= "5"'))
    assert Speller(space, space.full).spell(where) == 'not (platform_release >= "5")'


def test_more_than_eight_terms_are_a_sample_and_said_to_be() -> None:
    names = ["linux", "darwin", "win32", "cygwin", "aix", "wasi", "android", "emscripten", "ios"]
    parts = [
        f'(sys_platform == "{name}" and python_version == "3.{minor}"'
        f' and platform_machine == "m{minor}")'
        for minor, name in enumerate(names, 6)
    ]
    marker = Marker(" or ".join(parts))
    space = whole_space([str(marker)])
    speller = Speller(space, space.full)
    assert speller.spell(space.condition(marker)) is None
    text, _, rest = speller.sample(space.condition(marker)).rpartition(" or ")
    assert rest == "more"
    assert text.count("sys_platform") == 8
    said = space.condition(Marker(text))
    assert 0 < said < space.condition(marker)
    assert said & ~space.condition(marker) == 0


def test_what_packaging_refuses_does_not_hinder_other_spellings() -> None:
    assert respell('sys_platform == "linux"', 'platform_system ~= "Linux"') == (
        "sys_platform == 'linux'"
    )


def test_builds_do_not_leak_into_what_they_do_not_decide() -> None:
    tags = "cp311-cp311-manylinux_2_17_x86_64 cp311-cp311-win_amd64 cp311-cp311-macosx_11_0_arm64"
    assert respell('python_version >= "3.9"', tags=tags) == "python_version >= '3.9'"
    assert respell('os_name == "posix"', tags=tags) == "os_name == 'posix'"
    assert respell('sys_platform == "darwin"', tags=tags) == "sys_platform == 'darwin'"


# Law ---------------------------------------------------------------------------------------------

BOUNDS = ["", ">=3.9", ">=3.8,<3.13", "!=3.10.*,>=3.7"]
WHEELS = [
    None,
    ("py3-none-any",),
    ("cp311-cp311-manylinux_2_17_x86_64", "cp310-cp310-win_amd64", "py3-none-any"),
    ("cp39-abi3-macosx_11_0_arm64",),
]


@examples(150)
@given(
    markers=st.lists(MARKERS, min_size=2, max_size=4),
    steps=st.lists(st.sampled_from("&|^~"), max_size=4),
    bounds=st.sampled_from(BOUNDS).map(SpecifierSet),
    bounded=st.booleans(),
    wheel_tags=st.sampled_from(WHEELS),
    targets=st.lists(TARGETS, min_size=5, max_size=10),
)
def test_the_spelling_says_the_condition_inside_the_bounds(
    markers: list[Marker],
    steps: list[str],
    bounds: SpecifierSet,
    bounded: bool,
    wheel_tags: tuple[str, ...] | None,
    targets: list[Target],
) -> None:
    try:
        space = whole_space(
            list(map(str, markers)),
            [bounds],
            admits=bounds if bounded else None,
            wheel_tags=wheel_tags,
        )
    except TooManyCells:
        assume(False)
    conditions = [space.condition(marker) for marker in markers]
    assume(not space.unreadable)
    within = space.python(bounds)
    condition = conditions[0]
    for step, other in zip(steps, [*conditions[1:], *conditions], strict=False):
        condition = {
            "&": condition & other,
            "|": condition | other,
            "^": condition ^ other,
            "~": space.full & ~condition,
        }[step]
    text = Speller(space, within).spell(condition)
    assert (text == EVERYWHERE) is (condition & within == within)
    assert (text == NOWHERE) is (condition & within == 0 != within)
    if not text or "not (" in text:
        event("not a marker" if text is None or text else "everywhere")
        return
    event("a marker")
    said = Marker(text)
    assert space.condition(said) & within == condition & within
    assert space.unreadable == {}
    for target in targets:
        cell = space.locate(target) & within
        if cell:
            assert holds(said, target) is bool(cell & condition)


@examples(30)
@given(markers=st.lists(MARKERS, min_size=2, max_size=4))
def test_equal_conditions_are_spelled_alike_and_again(markers: list[Marker]) -> None:
    try:
        spaces = [whole_space(list(map(str, markers))) for _ in range(2)]
    except TooManyCells:
        assume(False)
    first, second = (
        [Speller(space, space.full).spell(space.condition(m)) for m in markers] for space in spaces
    )
    assert first == second

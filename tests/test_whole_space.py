"""All environments at once: every one has its cell, and in it what packaging and networkx say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import networkx as nx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from marker_samples import MARKERS, TABLE, TARGETS, examples, holds, place
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet

from distcycle.cycles import exact_components
from distcycle.markers import Space, TooManyCells, UnreadableMarker, parse_expression, whole_space
from distcycle.model import Artefact
from distcycle.targets import Target, make_targets
from distcycle.wheels import choose


def space_of(markers: Sequence[Marker], wheel_tags: Sequence[str] | None = None) -> Space:
    space = whole_space(list(map(str, markers)), wheel_tags=wheel_tags)
    for marker in markers:
        space.condition(marker)
    return space


# What packaging finds, row by row ----------------------------------------------------------------

ROWS: list[tuple[str, dict[str, str], bool]] = [
    ('python_version >= "3.6.*"', {}, False),
    ('python_version <= "3.6.*"', {}, False),
    ('python_version > "2.7.*"', {}, False),
    ('sys_platform > "a"', {}, False),
    ('python_version > "3.12"', {}, False),
    ('python_full_version > "3.12"', {}, True),
    ('python_version == "3.12.4"', {}, False),
    ('python_version in "3.10"', {"python_full_version": "3.1.5"}, True),
    ('python_version in "3.10"', {"python_full_version": "3.0.1"}, False),
    ('python_version in "3.8, 3.9"', {"python_full_version": "3.9.1"}, True),
    ('platform_machine in "x86_64 AMD64"', {"platform_machine": "x86"}, True),
    ('platform_machine in "x86_64 AMD64"', {"platform_machine": ""}, True),
    ('platform_machine in "x86_64 AMD64"', {"platform_machine": "i686"}, False),
    ('sys_platform in "linux2"', {}, True),
    ('python_full_version < "3.13"', {"python_full_version": "3.13.0rc1"}, False),
    ('python_full_version >= "3.13"', {"python_full_version": "3.13.0rc1"}, False),
    ('python_version < "3.13"', {"python_full_version": "3.13.0rc1"}, False),
    ('python_version >= "3.13"', {"python_full_version": "3.13.0rc1"}, True),
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
    ('"linux" == sys_platform', {}, True),
    ('"3.8" <= python_version', {}, True),
    ('"3.1" in python_version', {}, True),
    ('"3.12" in python_full_version', {}, True),
]


@pytest.mark.parametrize(("text", "values", "expected"), ROWS)
def test_the_cell_of_an_environment_says_what_packaging_says(
    text: str, values: dict[str, str], expected: bool
) -> None:
    marker, target = Marker(text), place(values)
    space = space_of([marker])
    cell = space.locate(target)
    assert cell.bit_count() == 1
    assert bool(cell & space.condition(marker)) is expected is holds(marker, target)
    assert space.unreadable == {}


@pytest.mark.parametrize(
    "text",
    [
        'python_version ~= "3"',
        '"a" == "a"',
        'extras == "foo"',
        'sys_platform ~= "linux"',
        'platform_release ~= "10"',
        '"10" ~= platform_version',
    ],
)
def test_what_packaging_refuses_holds_everywhere_and_is_said(text: str) -> None:
    marker = Marker(f'sys_platform == "win32" and {text}')
    space = space_of([marker])
    assert space.condition(marker) == space.full
    assert list(space.unreadable) == [str(marker)]
    assert all(space.locate(target) for target in TABLE)


@pytest.mark.parametrize(
    ("text", "extra", "expected"),
    [
        ('extra == "Foo_Bar"', "foo-bar", True),
        ('extra == "Foo_Bar"', "", False),
        ('extra == "foo" and extra == "bar"', "foo", False),
        ('"Foo_Bar" in extras', "", True),
        ('"other" in extras', "", False),
        ('"DEV" in dependency_groups', "", True),
    ],
)
def test_extras_are_never_an_axis(text: str, extra: str, expected: bool) -> None:
    space = whole_space([str(Marker(text))], extras=["foo.bar"], groups=["dev"])
    assert space.size == 1
    assert bool(space.condition(Marker(text), extra)) is expected


def test_conflicting_choices_are_an_axis_of_their_own() -> None:
    gpu, cpu = "extra-3-app-gpu", "extra-3-app-cpu"
    marker = Marker(f'sys_platform == "linux" and extra == "{gpu}"')
    space = whole_space([str(marker)], choices=[frozenset({gpu}), frozenset({cpu})])
    assert space.size == 4
    assert space.condition(marker).bit_count() == 1
    assert space.locate(place()).bit_count() == 2


# Laws --------------------------------------------------------------------------------------------


@examples(100)
@given(
    markers=st.lists(MARKERS, min_size=1, max_size=4),
    targets=st.lists(TARGETS, min_size=5, max_size=15),
)
def test_every_environment_has_its_cell_and_its_truth(
    markers: list[Marker], targets: list[Target]
) -> None:
    try:
        space = space_of(markers)
    except TooManyCells:
        assume(False)
    for target in targets:
        cell = space.locate(target)
        assert cell.bit_count() == 1 or (cell and space.unreadable)
        for marker in markers:
            if str(marker) not in space.unreadable:
                assert bool(cell & space.condition(marker)) is holds(marker, target)


@examples(60)
@given(first=MARKERS, second=MARKERS)
def test_and_or_and_their_opposites_are_those_of_sets(first: Marker, second: Marker) -> None:
    both, either = Marker(f"({first}) and ({second})"), Marker(f"({first}) or ({second})")
    space = space_of([first, second, both, either])
    one, two = space.condition(first), space.condition(second)
    if not space.unreadable:
        assert (space.condition(both), space.condition(either)) == (one & two, one | two)


def readable(marker: Marker) -> Marker | None:
    """The marker, unless packaging refuses to evaluate it somewhere."""
    space = space_of([marker])
    space.condition(marker)
    return None if space.unreadable else marker


arcs = st.tuples(st.integers(0, 6), st.integers(0, 6), MARKERS.map(readable) | st.none())


@examples(40)
@given(
    listed=st.lists(arcs.filter(lambda arc: arc[0] != arc[1]), min_size=4, max_size=16),
    targets=st.lists(TARGETS, min_size=3, max_size=10),
)
def test_components_are_those_of_networkx_in_every_environment(
    listed: list[tuple[int, int, Marker | None]], targets: list[Target]
) -> None:
    markers = [marker for _, _, marker in listed if marker is not None]
    try:
        space = space_of(markers)
    except TooManyCells:
        assume(False)
    conditions: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for source, target, marker in listed:
        conditions[source][target] |= space.condition(marker)
    exact = exact_components(conditions, space.full)
    for environment in targets:
        cell = space.locate(environment)
        graph = nx.DiGraph([(u, v) for u, v, m in listed if m is None or holds(m, environment)])
        expected = {frozenset(s) for s in nx.strongly_connected_components(graph) if len(s) > 1}
        assert {members for members, cells in exact.items() if cells & cell} == expected


# Bounds and limits -------------------------------------------------------------------------------


def test_the_bounds_leave_no_other_python() -> None:
    specifier = SpecifierSet(">=3.9,<3.12")
    space = whole_space(['python_version >= "3.8"', 'python_version < "3.11"'], admits=specifier)
    assert space.python(specifier) == space.full
    found = [t.python for t in make_targets(["linux_x86_64"]) if space.locate(t)]
    assert found == ["cp39", "cp310", "cp311"]


def test_what_specifiers_tell_apart_has_cells_of_its_own() -> None:
    wanted = [SpecifierSet(">=3.9.2"), SpecifierSet("!=3.10.*"), SpecifierSet("")]
    space = whole_space([], wanted)
    for specifier in wanted:
        for target in TABLE:
            version = target.environment["python_full_version"]
            admitted = bool(space.locate(target) & space.python(specifier))
            assert admitted is specifier.contains(version, prereleases=True)


def test_too_many_cells_are_refused_before_they_are_made() -> None:
    markers = [f'platform_release == "{i}"' for i in range(40)]
    with pytest.raises(TooManyCells, match=r"^1099511627776 environments are told apart, more"):
        whole_space(markers)
    assert whole_space(markers[:4], most_cells=16).size == 16
    with pytest.raises(TooManyCells):
        whole_space(markers[:5], most_cells=16)


# Wheels ------------------------------------------------------------------------------------------

TAGS = [
    *("py3-none-any", "py2.py3-none-any", "py2-none-any", "py311-none-any", "cp311-none-any"),
    *("cp311-cp311-manylinux1_x86_64", "cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64"),
    *("cp310-cp310-manylinux_2_28_aarch64", "cp39-abi3-manylinux_2_17_x86_64"),
    *("cp38-abi3-win_amd64", "cp313-cp313-win_amd64", "cp313-cp313t-win_amd64", "py3-none-win32"),
    *(
        "cp312-cp312-macosx_11_0_arm64",
        "cp310-cp310-macosx_10_9_universal2",
        "cp39-cp39-linux_i686",
    ),
    *("cp311-cp311-musllinux_1_1_x86_64", "cp314-cp314t-manylinux_2_28_x86_64", "cp38-none-win32"),
    *("pp310-pypy310_pp73-manylinux_2_17_x86_64", "pp311-pypy311_pp73-win_amd64"),
    *("cp313-cp313-pyodide_2025_0_wasm32", "cp313-cp313-ios_13_0_arm64_iphoneos"),
    *("cp313-cp313-android_24_arm64_v8a", "cp311-cp311-freebsd_14_1_release_amd64"),
    *("cp27-cp27mu-manylinux1_x86_64", "cp37-cp37m-macosx_10_9_x86_64", "cp311-cp311-linux_armv7l"),
]


def wheels(*tags: str) -> list[Artefact]:
    return [Artefact(filename=f"torch-2.0.0-{tag}.whl") for tag in tags]


def taken(artefacts: Sequence[Artefact], space: Space, cells: int) -> set[str | None]:
    """The tags of the files that are chosen in some of the cells."""
    return {
        choice.artefact.filename[len("torch-2.0.0-") : -len(".whl")] if choice.artefact else None
        for choice in choose(artefacts, space)
        if choice.cells & cells
    }


def test_profiles_partition_the_space() -> None:
    space = space_of([Marker('sys_platform == "linux" or python_full_version < "3.9.3"')], TAGS)
    seen = 0
    for profile in space.profiles:
        assert profile.cells
        assert profile.cells & seen == 0
        seen |= profile.cells
    assert seen == space.full


@examples(40)
@given(
    tags=st.lists(st.sampled_from(TAGS), min_size=1, max_size=6, unique=True),
    markers=st.lists(MARKERS, max_size=2),
    some=st.lists(st.sampled_from(TABLE), min_size=10, max_size=20, unique=True),
)
def test_a_named_target_takes_the_same_wheel_in_the_space_and_alone(
    tags: list[str], markers: list[Marker], some: list[Target]
) -> None:
    try:
        space = whole_space(list(map(str, markers)), wheel_tags=tags, named=some)
    except TooManyCells:
        assume(False)
    files = wheels(*tags)
    for profile in space.named:
        alone = Space.of_targets([profile.target])
        assert taken(files, space, profile.cells) == taken(files, alone, alone.full)


def test_builds_that_are_not_standard_are_judged_beside() -> None:
    names = ["linux_x86_64", "musllinux_x86_64", "manylinux_2_12_x86_64"]
    targets = make_targets(names, ["3.13", "3.13t"])
    tags = ["cp313-cp313-manylinux_2_17_x86_64", "cp313-cp313t-manylinux_2_17_x86_64"]
    space = whole_space([], wheel_tags=tags, named=targets)
    assert [p.target.name for p in space.named] == ["cp313-linux_x86_64"]


def test_builds_that_are_not_standard_are_named_where_wheels_do_not_tell_them_apart() -> None:
    targets = make_targets(["linux_x86_64", "musllinux_x86_64"], ["3.13", "3.13t"])
    space = whole_space([], wheel_tags=["py3-none-any"], named=targets)
    assert [p.target for p in space.named] == list(targets)


@pytest.mark.parametrize(
    ("python", "platform", "expected"),
    [
        ("3.8", "windows_amd64", "py2.py3-none-any"),
        ("3.9", "windows_amd64", "cp39-abi3-win_amd64"),
        ("3.11", "windows_amd64", "cp311-cp311-win_amd64"),
        ("3.15", "windows_amd64", "cp39-abi3-win_amd64"),
        ("pp311", "windows_amd64", "py2.py3-none-any"),
        ("3.11", "linux_x86_64", "cp311-none-any"),
        ("3.12", "linux_x86_64", "py2.py3-none-any"),
        ("pp311", "linux_x86_64", "py2.py3-none-any"),
        ("2.7", "linux_x86_64", "py2.py3-none-any"),
    ],
)
def test_stable_abi_and_pure_wheels(python: str, platform: str, expected: str) -> None:
    files = wheels(
        "cp311-cp311-win_amd64", "cp39-abi3-win_amd64", "cp311-none-any", "py2.py3-none-any"
    )
    (target,) = make_targets([platform], [python])
    space = space_of([], [file.filename[len("torch-2.0.0-") : -len(".whl")] for file in files])
    cells = space.locate(target)
    assert taken(files, space, cells) == {expected}


def test_a_python_yet_to_come_takes_stable_and_pure_wheels_only() -> None:
    tags = ["cp315-cp315-manylinux_2_17_x86_64", "cp39-abi3-manylinux_2_17_x86_64", "py3-none-any"]
    space = space_of([Marker('sys_platform == "linux" and platform_machine == "x86_64"')], tags)
    future = place(python_full_version="3.16.0")
    cells = space.locate(future)
    assert taken(wheels(*tags), space, cells) == {"cp39-abi3-manylinux_2_17_x86_64"}
    elsewhere = space.locate(place(python_full_version="3.16.0", platform_machine="riscv64"))
    assert taken(wheels(*tags), space, elsewhere) == {"py3-none-any"}
    assert taken(wheels(tags[0]), space, cells) == {None}


def test_an_implementation_without_builds_takes_pure_wheels_only() -> None:
    tags = ["cp311-cp311-manylinux_2_17_x86_64", "cp39-abi3-manylinux_2_17_x86_64", "py3-none-any"]
    space = space_of([], tags)
    graal = place(
        python_full_version="3.11.2",
        implementation_name="graalpy",
        platform_python_implementation="GraalVM",
    )
    assert taken(wheels(*tags), space, space.locate(graal)) == {"py3-none-any"}


def test_no_wheels_in_use_make_no_profiles() -> None:
    assert whole_space([]).profiles == ()


def test_atoms_are_read_from_what_packaging_prints() -> None:
    with pytest.raises(UnreadableMarker):
        parse_expression(str(Marker('"a" == "a"')))

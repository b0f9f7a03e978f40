"""The choice of files: by packaging's tags and in pip's order, with the reason for the rest."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.utils import parse_wheel_filename

from distcycle.markers import Space
from distcycle.model import Artefact
from distcycle.targets import Target, make_targets
from distcycle.wheels import Choice, Refusal, choose, explain_refusals

PLATFORMS = ["linux_x86_64", "musllinux_x86_64", "macos_arm64", "windows_amd64"]
TARGETS = make_targets([*PLATFORMS, "pp310-linux_x86_64", "cp313t-linux_x86_64"], ["3.9", "3.12"])
LINUX, WINDOWS = make_targets(["cp312-linux_x86_64", "cp312-windows_amd64"])

TAGS = [
    *("py3-none-any", "py2.py3-none-any", "py39-none-any", "cp312-none-any"),
    *("cp39-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64", "cp39-cp39-manylinux1_x86_64"),
    *("cp312-cp312-manylinux_2_28_x86_64", "cp312-cp312-manylinux2014_x86_64"),
    *("cp312-cp312-musllinux_1_2_x86_64", "cp312-cp312-linux_x86_64", "py3-none-win_amd64"),
    *("cp312-cp312-win_amd64", "cp312-cp312-win32", "cp312-cp312-macosx_11_0_arm64"),
    *("cp39-abi3-macosx_10_9_universal2", "cp313-cp313t-manylinux2014_x86_64"),
    *("pp310-pypy310_pp73-manylinux2014_x86_64", "cp38.cp39-none-any"),
]


def wheel(
    tags: str = "py3-none-any", *, build: str = "", python: str = "", yanked: str | None = None
) -> Artefact:
    return Artefact(
        filename=f"pkg-1.0-{f'{build}-' if build else ''}{tags}.whl",
        requires_python=SpecifierSet(python) if python else None,
        yanked=yanked,
    )


def sdist(*, python: str = "", yanked: str | None = None) -> Artefact:
    requires_python = SpecifierSet(python) if python else None
    return Artefact(filename="pkg-1.0.tar.gz", requires_python=requires_python, yanked=yanked)


wheels = st.builds(
    wheel,
    st.sampled_from(TAGS),
    build=st.sampled_from(["", "", "1", "2", "10", "2a", "2b"]),
    python=st.sampled_from(["", "", ">=3.10", "<3.12"]),
    yanked=st.sampled_from([None, None, None, "", "broken"]),
)


@functools.cache
def parsed(filename: str) -> tuple[tuple[int, str] | tuple[()], frozenset[str]]:
    _, _, build, tags = parse_wheel_filename(filename)
    return build, frozenset(map(str, tags))


def key_of_pip(artefact: Artefact, target: Target) -> tuple[object, ...] | None:
    """What pip sorts candidates of one version by; None for what it does not consider."""
    build, tags = parsed(artefact.filename)
    ranks = [rank for rank, tag in enumerate(target.tags) if tag in tags]
    python = target.environment["python_full_version"]
    admits = artefact.requires_python or SpecifierSet()
    if not ranks or not admits.contains(python, prereleases=True):
        return None
    return (artefact.yanked is None, -min(ranks), build)


def taken(artefacts: list[Artefact], target: Target) -> Artefact | None:
    (choice,) = choose(artefacts, Space.of_targets([target]))
    return choice.artefact


@settings(max_examples=150, deadline=None)
@given(st.lists(wheels, max_size=8), st.sampled_from(TARGETS))
def test_takes_what_pip_would_take(artefacts: list[Artefact], target: Target) -> None:
    keys = [key_of_pip(artefact, target) for artefact in artefacts]
    best = max((key for key in keys if key is not None), default=None)
    found = taken(artefacts, target)
    assert (found is None) == (best is None)
    if found is not None:
        assert key_of_pip(found, target) == best


@settings(max_examples=100, deadline=None)
@given(st.lists(wheels, max_size=8))
def test_all_targets_at_once_are_each_target_alone(artefacts: list[Artefact]) -> None:
    space = Space.of_targets(TARGETS)
    choices = choose(artefacts, space)
    covered = 0
    for choice in choices:
        assert choice.cells
        assert covered & choice.cells == 0
        covered |= choice.cells
        assert (choice.artefact is None) == (choice.lack is not None)
        for cell in space.cells(choice.cells):
            assert taken(artefacts, TARGETS[cell]) == choice.artefact
    assert covered == space.full


# Order -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("artefacts", "expected"),
    [
        ([wheel(), wheel("cp312-cp312-manylinux2014_x86_64")], 1),
        (
            [wheel("cp312-cp312-manylinux2014_x86_64"), wheel("cp312-cp312-manylinux_2_28_x86_64")],
            1,
        ),
        ([wheel("cp39-abi3-manylinux2014_x86_64"), wheel("cp312-cp312-linux_x86_64")], 1),
        ([wheel(build="9"), wheel(build="10"), wheel()], 1),
        ([wheel(build="2b"), wheel(build="2a"), wheel(build="2")], 0),
        ([wheel(build="010"), wheel(build="9"), wheel(build="²")], 0),
        ([wheel(), wheel(build="0")], 1),
        ([wheel(build="9" * 5000), wheel(build="1" + "0" * 5000)], 1),
        ([wheel(build="99"), wheel("cp312-cp312-linux_x86_64")], 1),
        ([wheel("cp312-cp312-linux_x86_64", yanked="bad"), wheel()], 1),
        ([wheel("cp312-cp312-linux_x86_64", python="<3.12"), wheel()], 1),
        ([wheel(yanked="")], 0),
        ([sdist(), wheel()], 1),
        ([sdist(), wheel(yanked="bad")], 1),
        ([sdist(), wheel("cp312-cp312-win_amd64")], 0),
        ([sdist(), wheel(python="<3.12")], 0),
        ([sdist(yanked="bad"), sdist()], 1),
        ([wheel("CP312-cp312-Linux_X86_64")], 0),
    ],
)
def test_order(artefacts: list[Artefact], expected: int) -> None:
    assert taken(artefacts, LINUX) is artefacts[expected]


@pytest.mark.parametrize(
    ("artefacts", "lack", "pythons"),
    [
        ([], "no-wheel-for-target", ()),
        ([wheel("cp312-cp312-win_amd64")], "no-wheel-for-target", ()),
        ([wheel(python=">=3.13")], "requires-python", (">=3.13",)),
        ([wheel("cp312-cp312-win_amd64"), wheel(python=">=3.13")], "requires-python", (">=3.13",)),
        ([wheel("cp312-cp312-win_amd64", python=">=3.13")], "no-wheel-for-target", ()),
        ([sdist(python="<3.12")], "requires-python", ("<3.12",)),
        ([sdist(python="<3"), wheel(python=">=3.13")], "requires-python", ("<3", ">=3.13")),
    ],
)
def test_why_nothing_fits(artefacts: list[Artefact], lack: str, pythons: tuple[str, ...]) -> None:
    space = Space.of_targets([LINUX])
    assert choose(artefacts, space) == (Choice(None, space.full, lack, pythons),)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["pkg.whl", "pkg-1.whl", "a-b-c-d-e-f-g-h.whl", "-----.whl", ".whl"]
)
def test_a_malformed_name_fits_nothing(name: str) -> None:
    assert taken([Artefact(filename=name)], LINUX) is None


# Refusals ----------------------------------------------------------------------------------------


def test_every_file_but_the_one_taken_has_a_reason() -> None:
    windows = wheel("cp312-cp312-win_amd64")
    old = wheel("cp312-cp312-linux_x86_64", python="<3.9")
    withdrawn = wheel("cp312-abi3-linux_x86_64", yanked="broken")
    pure, native, source = wheel(), wheel("cp312-none-linux_x86_64"), sdist()
    refusals = explain_refusals([windows, old, withdrawn, pure, native, source], LINUX)
    assert refusals == (
        Refusal(
            windows,
            "its tags (cp312-cp312-win_amd64) are not among those of cp312-linux_x86_64",
        ),
        Refusal(old, "requires Python <3.9"),
        Refusal(withdrawn, "withdrawn (yanked)"),
        Refusal(pure, f"{native.filename} comes first"),
        Refusal(source, "a wheel fits"),
    )


def test_where_nothing_fits_every_file_has_a_reason() -> None:
    windows, source = wheel("cp312-cp312-win_amd64"), sdist(python="<3.9")
    refusals = explain_refusals([windows, source], LINUX)
    assert [refusal.artefact for refusal in refusals] == [windows, source]
    assert refusals[1].reason == "requires Python <3.9"
    assert explain_refusals([windows], WINDOWS) == ()

"""The replay against what Python does, when every module is imported first."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import importlib_metadata
import pytest
from fresh_imports import Server, difference, needs_fork, replay_folder
from hypothesis import HealthCheck, given, settings
from random_packages import packages
from traps import Trap, read_traps

pytestmark = needs_fork
_COUNT = itertools.count()
TRAPS = read_traps()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("random")


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write files into a folder that is new, so that no importer has looked into it before."""
    root = folder / str(next(_COUNT))
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    root.mkdir(exist_ok=True)
    return root


def differences(real: Server, root: Path) -> dict[str, str]:
    entries = replay_folder(root)
    found = {
        name: difference(entries, name, each)
        for name, each in real.import_each(root, entries).items()
    }
    return {name: text for name, text in found.items() if text is not None}


@pytest.mark.parametrize("trap", [pytest.param(each, id=name) for name, each in TRAPS.items()])
def test_what_falls_into_a_trap_fails_so_in_python(
    real: Server, trap: Trap, tmp_path: Path
) -> None:
    trap.write(tmp_path)
    assert differences(real, tmp_path) == {}


def copy(distribution: str, folder: Path) -> None:
    """Copy the modules of an installed distribution, without those that it depends on."""
    for file in importlib_metadata.files(distribution) or ():
        if file.suffix in (".py", ".so") and ".." not in file.parts:
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(file.locate()), target)


@pytest.mark.parametrize(
    ("distributions", "some_fail"),
    [
        (("packaging",), False),
        (("jinja2", "markupsafe"), False),
        (("jinja2",), True),  # all of it: markupsafe is missing
        (("urllib3",), True),  # what is for extras
    ],
)
def test_real_distributions_fail_as_the_replay_says(
    real: Server, tmp_path: Path, distributions: tuple[str, ...], some_fail: bool
) -> None:
    for distribution in distributions:
        copy(distribution, tmp_path)
    assert differences(real, tmp_path) == {}
    outcomes = {entry.outcome for entry in replay_folder(tmp_path).values()}
    assert (outcomes != {"ok"}) is some_fail


@given(files=packages())
@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_random_packages_fail_as_the_replay_says(
    real: Server, folder: Path, files: dict[str, str]
) -> None:
    assert differences(real, write(folder, files)) == {}

"""The replay against what Python does, when every module is imported first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from fresh_imports import Server, difference, needs_fork, replay_folder, server
from hypothesis import HealthCheck, given, settings
from random_packages import packages

pytestmark = needs_fork
_COUNT = itertools.count()


@pytest.fixture(scope="module")
def real() -> Iterator[Server]:
    with server() as running:
        yield running


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

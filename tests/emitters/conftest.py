"""Plans and wheels for the emitters' tests, and a judge of the locks that tools make of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from torch_plans import (
    FROM_TORCH,
    FROM_TRITON,
    TORCH,
    WHEELS,
    make_cut,
    make_group,
    make_plan,
    write_wheel,
)

from distcycle import api
from distcycle.findings import Report
from distcycle.metadata import Library
from distcycle.metadata.library import Options
from distcycle.plan import Plan


@pytest.fixture
def plan() -> Plan:
    """torch no longer requires triton."""
    return make_plan(FROM_TORCH, groups=(TORCH,))


@pytest.fixture
def moving_plan() -> Plan:
    """triton requires torch with an extra only."""
    return make_plan(FROM_TRITON, groups=(TORCH,))


@pytest.fixture
def two_loops() -> Plan:
    """Two loops, in an order that nothing keeps."""
    cut = make_cut("Sphinx-Contrib", "Sphinx", version=None, remaining=("docutils",))
    return make_plan(FROM_TORCH, cut, groups=(TORCH, make_group("Sphinx", "Sphinx-Contrib")))


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with the wheels of torch's loop."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, version, requires, tags in WHEELS:
        write_wheel(folder, name, version, requires, tags)
    return folder


@pytest.fixture
def audit_lock(wheels: Path) -> Callable[[Path], Report]:
    """Judges a lock by what the wheels say of themselves, on Linux x86_64."""

    def audit(path: Path) -> Report:
        snapshot = api.read(str(path))
        snapshot = replace(
            snapshot, index=replace(snapshot.index, find_links=(str(wheels),), no_index=True)
        )
        options = Options(no_index=True, find_links=(str(wheels),), cache_dir=None)
        with Library(options, environ={"PIP_CONFIG_FILE": "/dev/null"}) as library:
            return api.audit(snapshot, targets=["linux_x86_64"], library=library)

    return audit

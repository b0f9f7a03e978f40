"""uv as an oracle: what it says of where a package is installed is where we find it reached.

Only markers that uv and packaging read alike are compared: no ordered comparison of names, no star
or list in a version, no substring, no ``os_name == 'nt'`` on Emscripten.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from installed import UV
from marker_samples import TABLE, holds
from packaging.markers import Marker

from distcycle import api
from distcycle.metadata import Library, Options
from distcycle.model import Root
from distcycle.requirements import parse_requirement
from distcycle.selection import Selection

PYTHON = "3.8"
Universe = Mapping[str, Sequence[str]]


pytestmark = pytest.mark.skipif(
    UV is None, reason="NO UV HERE: our conditions were not compared with its own"
)

SCENARIOS: dict[str, Universe] = {
    "one-platform": {"app": ["a; sys_platform == 'win32'"], "a": []},
    "platform-system": {"app": ["a; platform_system == 'Linux'"], "a": []},
    "not-a-platform": {"app": ["a; sys_platform != 'darwin'"], "a": []},
    "python": {"app": ["a; python_version < '3.11'"], "a": []},
    "python-full-version": {"app": ["a; python_full_version >= '3.10.5'"], "a": []},
    "not-a-python": {"app": ["a; python_version != '3.9'"], "a": []},
    "machine": {
        "app": ["a; platform_machine == 'arm64' or platform_machine == 'aarch64'"],
        "a": [],
    },
    "implementation": {"app": ["a; implementation_name == 'pypy'"], "a": []},
    "reversed": {"app": ["a; '3.10' <= python_version and 'linux' == sys_platform"], "a": []},
    "along-a-path": {
        "app": ["a; sys_platform == 'linux'"],
        "a": ["b; python_version >= '3.9'"],
        "b": ["c; platform_machine == 'x86_64'"],
        "c": [],
    },
    "by-two-ways": {
        "app": ["a; sys_platform == 'linux'", "b; python_version < '3.10'"],
        "a": ["c"],
        "b": ["c; sys_platform == 'win32'"],
        "c": [],
    },
    "the-other-way-is-closed": {
        "app": ["a; sys_platform == 'win32'"],
        "a": ["b; platform_system == 'Linux'", "c"],
        "b": [],
        "c": [],
    },
    "loop": {
        "app": ["a; sys_platform == 'linux'", "b; python_version >= '3.12'"],
        "a": ["b; python_version < '3.11'"],
        "b": ["a; platform_machine == 'x86_64'", "c"],
        "c": [],
    },
    "extra": {
        "app": ["a[x]; sys_platform == 'linux'", "a"],
        "a": ["b; extra == 'x'", "c; extra == 'y'", "d; extra == 'x' and python_version < '3.9'"],
        "b": [],
        "c": [],
        "d": [],
    },
    "extra-of-an-extra": {
        "app": ["a[all]"],
        "a": ["a[x]; extra == 'all' and sys_platform == 'darwin'", "b; extra == 'x'"],
        "b": [],
    },
    "both-sides": {
        "app": ["a; (os_name == 'posix' or python_version >= '3.13') and sys_platform != 'linux'"],
        "a": ["b; platform_python_implementation == 'CPython'"],
        "b": [],
    },
    "fork": {
        "app": ["a<2; sys_platform == 'linux'", "a>=2; sys_platform != 'linux'"],
        "a": ["b"],
        "a 2": ["c; python_version >= '3.10'"],
        "b": [],
        "c": [],
    },
}


def make_index(universe: Universe, make_wheel: Callable[..., Path]) -> Path:
    folder = None
    for key, requires in universe.items():
        name, _, version = key.partition(" ")
        extras = sorted(set(re.findall(r"extra == '(\w+)'", " ".join(requires))))
        wheel = make_wheel(name, f"{version or 1}.0", tuple(requires), extras=tuple(extras))
        folder = wheel.parent
    assert folder is not None
    return folder


def ask_uv(folder: Path) -> dict[tuple[str, str], Marker | None]:
    """For each package that uv would ever install the marker under which it does."""
    assert UV is not None
    source = folder.parent / "app.in"
    source.write_text("app\n", "utf-8")
    words = ["pip", "compile", str(source), "--universal", "--python-version", PYTHON, "--no-index"]
    words += ["--find-links", str(folder), "--no-header", "--no-annotate", "--offline"]
    words += ["--no-cache", "--no-config", "--python", sys.executable, "--quiet"]
    done = subprocess.run([*UV, *words], capture_output=True, check=False, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found: dict[tuple[str, str], Marker | None] = {}
    for line in done.stdout.splitlines():
        pin, _, marker = line.partition(";")
        name, _, version = pin.strip().partition("==")
        found[name, version] = Marker(marker) if marker else None
    return found


def select(folder: Path) -> Selection:
    """What we select for the same root from the same wheels."""
    root = Root(requirement=parse_requirement("app"))
    snapshot = replace(api.read(str(folder)), roots=(root,))
    with Library(Options(offline=True, cache_dir=None)) as library:
        selection, _ = api.gather(api.make_scope(snapshot), library)
    return selection


@pytest.mark.parametrize("name", SCENARIOS)
def test_reach_is_where_uv_installs(name: str, make_wheel: Callable[..., Path]) -> None:
    folder = make_index(SCENARIOS[name], make_wheel)
    by_uv, selection = ask_uv(folder), select(folder)
    packages = selection.snapshot.packages
    targets = [t for t in TABLE if holds(Marker(f"python_version >= '{PYTHON}'"), t)]
    for target in targets:
        cells = selection.space.locate(target)
        assert cells
        reached = {
            (packages[index].name, str(packages[index].version))
            for (index, extra), where in selection.reached.items()
            if not extra and where & cells
        }
        assert reached == {
            pin for pin, marker in by_uv.items() if marker is None or holds(marker, target)
        }


def test_the_scenarios_ask_something(make_wheel: Callable[..., Path]) -> None:
    folder = make_index(SCENARIOS["along-a-path"], make_wheel)
    markers = ask_uv(folder)
    assert set(markers) == {("app", "1.0"), ("a", "1.0"), ("b", "1.0"), ("c", "1.0")}
    assert [str(marker).count(" and ") for marker in markers.values() if marker] == [0, 1, 2]

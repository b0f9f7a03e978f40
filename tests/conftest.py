"""What tests of several modules share.

``pytest --renew`` writes golden files and the generated parts of the documentation anew instead of
comparing; look at the difference before you commit it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("thorough", max_examples=1_000, deadline=None)

REPOSITORY = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--renew", action="store_true", help="write golden files and generated tables anew"
    )


@pytest.fixture
def agree(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compares a text with a stored file, or stores it when pytest runs with ``--renew``."""

    def check(path: Path, text: str) -> None:
        if request.config.getoption("--renew"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        assert path.read_text(encoding="utf-8") == text, "run pytest --renew if this is meant"

    return check


@pytest.fixture
def make_wheel(tmp_path: Path) -> Callable[..., Path]:
    """Makes small wheels in ``tmp_path/wheels``: name, version, Requires-Dist lines, tags."""
    folder = tmp_path / "wheels"
    folder.mkdir()

    def make(
        name: str,
        version: str = "1.0",
        requires: tuple[str, ...] = (),
        *,
        tags: str = "py3-none-any",
        extras: tuple[str, ...] = (),
    ) -> Path:
        stem = f"{name.replace('-', '_')}-{version}"
        lines = [f"Name: {name}", f"Version: {version}"]
        lines += [f"Provides-Extra: {extra}" for extra in extras]
        lines += [f"Requires-Dist: {line}" for line in requires]
        wheel = folder / f"{stem}-{tags}.whl"
        # A fixed date: the same wheel has the same hash whenever it is made.
        entry = zipfile.ZipInfo(f"{stem}.dist-info/METADATA", (2026, 1, 1, 0, 0, 0))
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(entry, "\n".join(["Metadata-Version: 2.1", *lines, ""]))
        return wheel

    return make


@pytest.fixture
def distcycle(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command line as a process of its own, with no index and an empty cache."""

    def run(
        *words: str | Path,
        stdin: str = "",
        cwd: Path = tmp_path,
        environ: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "distcycle", *map(str, words)],
            input=stdin.encode(),
            capture_output=True,
            check=False,
            cwd=cwd,
            env={**quiet_environment(tmp_path), **(environ or {})},
            timeout=120,
        )
        out, err = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
        return subprocess.CompletedProcess(done.args, done.returncode, out, err)

    return run


def quiet_environment(home: Path) -> dict[str, str]:
    """This process's environment without what decides colours, caches and indexes."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PIP_", "XDG_")) and name not in {"NO_COLOR", "FORCE_COLOR"}
    }
    return {
        **kept,
        "COLUMNS": "80",
        "HOME": str(home),
        "LOCALAPPDATA": str(home),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",  # no test but the marked ones asks a real index
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONUTF8": "1",
        "XDG_CACHE_HOME": str(home / "cache"),
    }

"""What resolves the recorded cases, each program in its own words, all for one target.

The cases are those of ``tests/resolution``, where the versions are compared. pip asks the Python
that runs it for the values of markers, so the target is one that such a Python may be.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import tomli

from benchmarks.runner import ROOT, Skipped, Trial

__all__ = ["Program", "ask_distcycle", "ask_pip", "ask_uv", "find_inputs", "resolve_with"]

_CASES = ROOT / "tests" / "resolution" / "resolution_cases.py"
_TARGET = "linux"  # what the cases call it
_PYTHON = "3.11"
_PLATFORM = "manylinux_2_28_x86_64"
_NEWEST_GLIBC, _OLDEST_GLIBC = 28, 5
_LEGACY = ("manylinux2014", "manylinux2010", "manylinux1", "linux")

Program = Callable[[Any, str, Path, Path | None], list[str] | str]
"""The words that resolve a case, or why that cannot be done here. Called with the case, the index,
the folder of the case and the folder of the cache, None for none."""


def find_inputs() -> Iterator[Any]:
    """The recorded cases that have an answer on the target."""
    cases = _resolution_cases()
    for path in cases.find_cases():
        case = cases.read_case(path)
        names = {target.name for target in case.targets}
        if _TARGET in names - case.conflicts:
            yield case


def _resolution_cases() -> ModuleType:
    """The module that reads the cases; it lies among the tests, which are no package."""
    known = sys.modules.get(_CASES.stem)
    if known is not None:
        return known
    spec = importlib.util.spec_from_file_location(_CASES.stem, _CASES)
    if spec is None or spec.loader is None:
        raise ImportError(f"{_CASES.name} is not here")
    module = sys.modules[_CASES.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Programs ----------------------------------------------------------------------------------------


def ask_distcycle(case: Any, index: str, folder: Path, cache: Path | None) -> list[str]:
    """The words with which distcycle resolves, and judges, a case.

    A loop is only warned of: an exit code of 1 would be a failure, as it is with the others.
    """
    return [
        *(sys.executable, "-m", "distcycle", "audit", str(folder / case.input), "--resolve"),
        *("--platform", _PLATFORM, "--python-version", _PYTHON, "--only-binary", ":all:", "-q"),
        *("--exclude-newer", _resolution_cases().EXCLUDE_NEWER, "--index-url", index),
        *(["--no-cache"] if cache is None else ["--cache-dir", str(cache)]),
        *("--warn", "wheel-cycle", *case.distcycle),
    ]


def ask_uv(case: Any, index: str, folder: Path, cache: Path | None) -> list[str] | str:
    """The words with which uv resolves a case."""
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.is_file() else shutil.which("uv")
    if uv is None:
        return "uv is not installed; pip install uv"
    return [
        *(uv, "pip", "compile", str(folder / case.input), "--quiet", "--no-header"),
        *("--python-platform", "x86_64-manylinux_2_28", "--python-version", _PYTHON),
        *("--python", sys.executable, "--no-python-downloads", "--no-build", "--no-config"),
        *("--exclude-newer", _resolution_cases().EXCLUDE_NEWER, "--index-url", index),
        *(["--no-cache"] if cache is None else ["--cache-dir", str(cache)]),
        *case.uv,
    ]


def ask_pip(case: Any, index: str, folder: Path, cache: Path | None) -> list[str] | str:
    """The words with which pip resolves a case; files are written that it needs.

    It is told to trust the server, or it would not keep pages that come without TLS.
    """
    if importlib.util.find_spec("pip") is None:
        return "pip is not installed"
    here = f"{platform.system()} {platform.machine()} {platform.python_version()}"
    if not here.startswith(f"Linux x86_64 {_PYTHON}."):
        return f"pip takes the values of markers from the Python that runs it, here {here}"
    glibcs = (f"manylinux_2_{minor}" for minor in range(_NEWEST_GLIBC, _OLDEST_GLIBC - 1, -1))
    tags = [word for name in (*glibcs, *_LEGACY) for word in ("--platform", f"{name}_x86_64")]
    abis = [word for abi in ("cp311", "abi3", "none") for word in ("--abi", abi)]
    return [
        *(sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", "install"),
        *("--dry-run", "--ignore-installed", "--report", str(folder / "report.json"), "--quiet"),
        *("--python-version", _PYTHON, "--implementation", "cp", *abis, *tags),
        *("--only-binary", ":all:", "--target", str(folder / "target"), "--index-url", index),
        *("--trusted-host", "127.0.0.1"),
        *(["--no-cache-dir"] if cache is None else ["--cache-dir", str(cache)]),
        *_for_pip(case, folder),
    ]


def _for_pip(case: Any, folder: Path) -> Iterator[str]:
    """The input as pip takes it: it reads groups of a pyproject.toml, but not dependencies."""
    words = list(case.uv)
    path = folder / case.input
    if path.name == "pyproject.toml":
        project = tomli.loads(path.read_text("utf-8"))["project"]
        path = folder / "dependencies.txt"
        path.write_text("\n".join([*project["dependencies"], ""]), encoding="utf-8")
        words = [f"pyproject.toml:{word}" if word[0] != "-" else word for word in words]
    yield from ("-r", str(path), *words)


# Trials ------------------------------------------------------------------------------------------


def resolve_with(
    peer: Program, *, delay_s: float, cached: bool
) -> Callable[[Path], Iterator[Trial | Skipped]]:
    """Make trials that resolve each case with distcycle and with a peer.

    Args:
        peer: The peer.
        delay_s: How long the index holds back each answer.
        cached: Whether each program has a cache; the turn that is thrown away fills it.
    """

    def trials(folder: Path) -> Iterator[Trial | Skipped]:
        with _serving(delay_s) as index:
            for case in find_inputs():
                place = folder / case.name
                place.mkdir()
                _resolution_cases().write_case(case, place)
                caches = (place / "cache", place / "peer-cache") if cached else (None, None)
                ours = ask_distcycle(case, index, place, caches[0])
                theirs = peer(case, index, place, caches[1])
                if isinstance(theirs, str):
                    yield Skipped(title=case.name, reason=theirs)
                    continue
                yield Trial(
                    title=case.name,
                    command=_counted(index, place, ours),
                    against=_counted(index, place, theirs),
                    exits=frozenset({0}),
                )

    return trials


def _counted(index: str, folder: Path, words: Sequence[str]) -> list[str]:
    start = [sys.executable, "-m", "benchmarks.asking", "--index", index]
    return [*start, "--folder", str(folder), "--", *words]


@contextmanager
def _serving(delay_s: float) -> Iterator[str]:
    """The recorded index as a process of its own: its work is not to slow down who asks."""
    words = [sys.executable, "-m", "benchmarks.recorded_index", "--delay", str(delay_s)]
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    with subprocess.Popen(
        words, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            yield line.strip()
        finally:
            process.terminate()

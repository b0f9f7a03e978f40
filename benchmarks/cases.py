"""The cases: one table, from which ``--list`` and the documentation's table come."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.importing import import_with, weigh_edge
from benchmarks.resolving import ask_pip, ask_uv, resolve_with
from benchmarks.runner import ROOT, Goal, Skipped, Trial

__all__ = ["CASES", "Case", "find_cases"]

_SAMPLES = ROOT / "sample_locks"
_BUNDLES = ROOT / "tests" / "data"
_CORPUS_LOCK = ROOT.parent / "shared" / "corpus" / "uv" / "r3-docling-serve-conflicts-3MB.lock"
_PYTHON = sys.executable
_ONE_TARGET = ("--platform", "linux_x86_64", "--python-version", "3.11")
_PLATFORMS = (
    *("linux_x86_64", "linux_aarch64", "linux_i686", "linux_ppc64le", "linux_s390x"),
    *("musllinux_x86_64", "musllinux_aarch64", "macos_arm64", "macos_x86_64"),
    *("windows_amd64", "windows_arm64", "windows_x86"),
)
_WITHOUT_EDGES = frozenset({"Pipfile.lock", "pylock.toml"})
_PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
_DELAY_S = 0.05
_PARSE = "import pathlib, sys, tomli; tomli.loads(pathlib.Path(sys.argv[1]).read_text('utf-8'))"

Trials = Callable[[Path], Iterator[Trial | Skipped]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row of the table.

    Attributes:
        name: What ``--only`` takes.
        command: What is measured, for people.
        against: What it is held against, for people; ``""`` for nothing but the clock.
        goal: What is aimed at.
        trials: Makes the commands, given an empty folder to prepare files in.
    """

    name: str
    command: str
    against: str = ""
    goal: Goal
    trials: Trials


def find_cases(prefixes: Sequence[str]) -> tuple[Case, ...]:
    """Find the cases whose names begin with any of these; all of them without any.

    Args:
        prefixes: Beginnings of names, such as ``start-up``.
    """
    return tuple(case for case in CASES if not prefixes or case.name.startswith(tuple(prefixes)))


# Commands ----------------------------------------------------------------------------------------


def _distcycle(*words: str) -> tuple[str, ...]:
    return (_PYTHON, "-m", "distcycle", *words)


def _audit(path: Path, *words: str) -> tuple[str, ...]:
    """Judge an input on what it says itself; the verdict is enough, as in a CI job."""
    return _distcycle("audit", str(path), "--offline", "--no-cache", "-q", *words)


def _believing(path: Path, *words: str) -> tuple[str, ...]:
    return _audit(path, "--edges", "lock", *words)


def _big_lock() -> Path:
    return _CORPUS_LOCK if _CORPUS_LOCK.is_file() else _SAMPLES / "large" / "uv.lock"


def _shown(path: Path) -> str:
    """A path's last part, with its folder where all files have the same name."""
    inside = path.is_relative_to(_SAMPLES)
    return f"{path.relative_to(_SAMPLES) if inside else path.name}"


# Trials ------------------------------------------------------------------------------------------


def _start_up(*words: str) -> Trials:
    def trials(_: Path) -> Iterator[Trial]:
        yield Trial(
            title=f"distcycle {' '.join(words)}",
            command=_distcycle(*words),
            against=(_PYTHON, "-c", "pass"),
        )

    return trials


def _big_lock_parsed(_: Path) -> Iterator[Trial]:
    lock = _big_lock()
    yield Trial(
        title=_shown(lock),
        command=_believing(lock, *_ONE_TARGET),
        against=(_PYTHON, "-c", _PARSE, str(lock)),
    )


def _big_lock_on_targets(_: Path) -> Iterator[Trial]:
    lock = _big_lock()
    words = [word for name in _PLATFORMS for word in ("--platform", name)]
    words += [word for version in _PYTHONS for word in ("--python-version", version)]
    yield Trial(
        title=_shown(lock),
        command=_believing(lock, *words),
        against=_believing(lock, *_ONE_TARGET),
    )


def _samples() -> Iterator[Path]:
    yield from sorted(_SAMPLES.glob("*.txt"))
    found = sorted(path for path in _SAMPLES.glob("*/*") if path.suffix in {".lock", ".toml"})
    yield from (path for path in found if path.name != "pyproject.toml")


def _every_sample(_: Path) -> Iterator[Trial | Skipped]:
    locks = list(_samples())
    if _CORPUS_LOCK.is_file():
        locks.append(_CORPUS_LOCK)
    for lock in locks:
        if lock.name in _WITHOUT_EDGES:
            yield Skipped(
                title=_shown(lock), reason="its tool writes no edges; wheels must be asked"
            )
            continue
        yield Trial(
            title=_shown(lock),
            command=_believing(lock),
            against=_believing(lock, *_ONE_TARGET),
        )


def _every_bundle(_: Path) -> Iterator[Trial]:
    """A bundle ``NAME.bundle.json`` holds the facts of all samples whose names begin with NAME."""
    for bundle in sorted(_BUNDLES.glob("*.bundle.json")):
        facts = ("--bundle", str(bundle))
        stem = bundle.name.removesuffix(".bundle.json")
        for lock in _samples():
            if _shown(lock).startswith(stem):
                yield Trial(
                    title=_shown(lock),
                    command=_audit(lock, *facts),
                    against=_audit(lock, *facts, *_ONE_TARGET),
                )


def _installed(folder: Path) -> Iterator[Trial | Skipped]:
    site = folder / "site-packages"
    lock = _SAMPLES / "large" / "uv.lock"
    made = subprocess.run(
        _synthetic("environment", str(lock), str(site)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    title = f"{made.stdout.strip()} distributions of {_shown(lock)}"
    peer = _find_pipdeptree()
    if peer is None:
        yield Skipped(
            title=title, reason="pipdeptree is not installed; pip install 'pipdeptree>=4'"
        )
        return
    yield Trial(
        title=title, command=_audit(site), against=(*peer, "--path", str(site), "-w", "fail")
    )


def _find_pipdeptree() -> tuple[str, ...] | None:
    if importlib.util.find_spec("pipdeptree"):
        return (_PYTHON, "-m", "pipdeptree")
    found = shutil.which("pipdeptree")
    return (found,) if found else None


def _synthetic(*words: str) -> tuple[str, ...]:
    return (_PYTHON, "-m", "benchmarks.synthetic", *words)


def _growth(count: int) -> Trials:
    def trials(_: Path) -> Iterator[Trial]:
        yield Trial(
            title=f"{count:,} packages, {5 * count:,} edges",
            command=_synthetic("component", "--packages", str(count)),
            against=_synthetic("component", "--packages", str(count // 10)),
        )

    return trials


def _one_component(*words: str) -> Trials:
    def trials(_: Path) -> Iterator[Trial]:
        yield Trial(title="whole space", command=_synthetic("component", "--fanout", "4", *words))

    return trials


# The table ---------------------------------------------------------------------------------------

CASES = (
    Case(
        name="start-up-version",
        command="distcycle --version",
        against="python -c pass",
        goal=Goal(ratio=4),
        trials=_start_up("--version"),
    ),
    Case(
        name="start-up-help",
        command="distcycle audit --help",
        against="python -c pass",
        goal=Goal(ratio=8),
        trials=_start_up("audit", "--help"),
    ),
    Case(
        name="lock",
        command="a 3 MB uv.lock on one target",
        against="tomli parses it",
        goal=Goal(ratio=2),
        trials=_big_lock_parsed,
    ),
    Case(
        name="targets",
        command="the same lock on 12 platforms with 5 Pythons each",
        against="on one target",
        goal=Goal(ratio=1.5),
        trials=_big_lock_on_targets,
    ),
    Case(
        name="space-lock",
        command="every sample in every environment, believing the lock",
        against="on one target",
        goal=Goal(ratio=2),
        trials=_every_sample,
    ),
    Case(
        name="space-wheels",
        command="samples with a bundle in every environment, asking wheels",
        against="on one target",
        goal=Goal(ratio=2),
        trials=_every_bundle,
    ),
    Case(
        name="environment",
        command="an installed environment",
        against="pipdeptree -w fail",
        goal=Goal(ratio=1.5),
        trials=_installed,
    ),
    Case(
        name="component-1k",
        command="one component of 1,000 packages",
        against="one of 100",
        goal=Goal(ratio=12),
        trials=_growth(1_000),
    ),
    Case(
        name="component-10k",
        command="one component of 10,000 packages",
        against="one of 1,000",
        goal=Goal(ratio=12),
        trials=_growth(10_000),
    ),
    Case(
        name="markers-50",
        command="one component of 300 packages, 50 markers on half its edges",
        goal=Goal(seconds=2, peak_bytes=2**30),
        trials=_one_component("--packages", "300", "--markers", "50"),
    ),
    Case(
        name="markers-60",
        command="one component of 120 packages, 60 markers, extras, opaque atoms",
        goal=Goal(seconds=2, peak_bytes=2**30),
        trials=_one_component("--packages", "120", "--markers", "60", "--extras"),
    ),
    Case(
        name="resolve-warm",
        command="audit --resolve, with a warm cache",
        against="pip install --dry-run",
        goal=Goal(ratio=1),
        trials=resolve_with(ask_pip, delay_s=0, cached=True),
    ),
    Case(
        name="resolve-warm-uv",
        command="the same",
        against="uv pip compile",
        goal=Goal(),
        trials=resolve_with(ask_uv, delay_s=0, cached=True),
    ),
    Case(
        name="resolve-cold",
        command="audit --resolve without a cache, 50 ms an answer",
        against="pip install --dry-run",
        goal=Goal(ratio=1),
        trials=resolve_with(ask_pip, delay_s=_DELAY_S, cached=False),
    ),
    Case(
        name="resolve-cold-uv",
        command="the same",
        against="uv pip compile",
        goal=Goal(requests=1.5),
        trials=resolve_with(ask_uv, delay_s=_DELAY_S, cached=False),
    ),
    Case(
        name="imports-extract",
        command="the imports of every file of an installed package",
        against="ast.parse of the same files",
        goal=Goal(ratio=1.3),
        trials=import_with("extract", "parse"),
    ),
    Case(
        name="imports-warm",
        command="its import graph, with a warm cache",
        against="grimp's, with a warm cache",
        goal=Goal(ratio=1),
        trials=import_with("warm", "grimp-warm"),
    ),
    Case(
        name="imports-cold",
        command="its import graph without a cache, in two processes",
        against="grimp's",
        goal=Goal(),
        trials=import_with("cold", "grimp-cold"),
    ),
    Case(
        name="imports-cold-ruff",
        command="the same",
        against="ruff analyze graph",
        goal=Goal(),
        trials=import_with("cold", "ruff"),
    ),
    Case(
        name="imports-evidence",
        command="what modules say of one edge, without a cache",
        goal=Goal(seconds=1),
        trials=weigh_edge,
    ),
)

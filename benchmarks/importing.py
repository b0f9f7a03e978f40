"""Reads the imports of an installed package, or does with its files what that is held against.

``python -m benchmarks.importing WAY FOLDER PACKAGE`` prints one line of JSON for the runner. What
is timed begins when all that does the work is imported.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import importlib.util
import json
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from benchmarks.runner import Skipped, Trial
from distcycle.imports import extract, join
from distcycle.imports.evidence import find_dependence
from distcycle.inspection import TreeReader
from distcycle.metadata.cache import Cache
from distcycle.scans import Scanner
from distcycle.trees import SourceTree, find_installed, open_folder, open_installed

__all__ = ["import_with", "weigh_edge"]

_PACKAGES = ("torch", "sympy", "django", "scipy")
_WORDS = (sys.executable, "-W", "ignore", "-m", "benchmarks.importing")
_LINUX = {"sys_platform": "linux", "os_name": "posix", "python_version": "3.11"}


# Commands ----------------------------------------------------------------------------------------


def import_with(way: str, peer: str) -> Callable[[Path], Iterator[Trial | Skipped]]:
    """Make the trials of one way against another, a trial for each package that is installed.

    Args:
        way: A key of the table of ways.
        peer: Another.
    """

    def trials(folder: Path) -> Iterator[Trial | Skipped]:
        for package in _PACKAGES:
            root = _find(package)
            lack = _lack(peer) or (None if root else f"{package} is not installed")
            if lack or root is None:
                yield Skipped(title=package, reason=lack or "")
                continue
            place = (str(folder), package)
            yield Trial(
                title=f"{package}, {_megabytes(root)} MB",
                command=(*_WORDS, way, *place),
                against=(*_WORDS, peer, *place),
            )

    return trials


def weigh_edge(folder: Path) -> Iterator[Trial | Skipped]:
    """Make the trial of what torch's modules say about doing without triton."""
    if _find("torch") is None:
        yield Skipped(title="torch -> triton", reason="torch is not installed")
    else:
        command = (*_WORDS, "evidence", str(folder), "torch")
        yield Trial(title="torch -> triton", command=command)


def _find(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _lack(peer: str) -> str | None:
    """What is not installed of what something is held against."""
    if peer.startswith("grimp") and importlib.util.find_spec("grimp") is None:
        return "grimp is not installed"
    return "ruff is not installed" if peer == "ruff" and shutil.which("ruff") is None else None


def _megabytes(root: Path) -> str:
    return f"{sum(path.stat().st_size for path in root.rglob('*.py')) / 1e6:.1f}"


# Ways --------------------------------------------------------------------------------------------


def _sources(root: Path) -> list[tuple[bytes, bool]]:
    return [(path.read_bytes(), path.name == "__init__.py") for path in sorted(root.rglob("*.py"))]


def _parse(root: Path, _folder: Path) -> Callable[[], str]:
    """Parsing and nothing else: the floor under everything that reads syntax trees."""
    sources = _sources(root)

    def run() -> str:
        for source, _ in sources:
            with suppress(SyntaxError):
                ast.parse(source)
        return f"{len(sources):,} files"

    return run


def _extract(root: Path, _folder: Path) -> Callable[[], str]:
    sources = _sources(root)

    def run() -> str:
        found = sum(len(extract(source, is_package=own).records) for source, own in sources)
        return f"{found:,} imports"

    return run


def _tree(root: Path) -> SourceTree:
    """The package as it is installed, without what else its distribution has."""
    info = find_installed(root.name, [root.parent])
    if info is None:
        return open_folder(str(root))
    tree = open_installed(info)
    own = {path: file for path, file in tree.files.items() if path.startswith(f"{root.name}/")}
    return replace(tree, files=own)


def _warm(root: Path, folder: Path) -> Callable[[], str]:
    cache = Cache(folder / "imports")
    Scanner(cache).scan(_tree(root))

    def run() -> str:
        graph = join(Scanner(cache).scan(_tree(root)).modules)
        return f"{len(graph.edges):,} edges"

    return run


def _cold(root: Path, _folder: Path) -> Callable[[], str]:
    def run() -> str:
        graph = join(Scanner(Cache(None), processes=2).scan(_tree(root)).modules)
        return f"{len(graph.edges):,} edges"

    return run


def _grimp(root: Path, cache: str | None) -> Callable[[], str]:
    grimp = importlib.import_module("grimp")

    def run() -> str:
        graph = grimp.build_graph(root.name, cache_dir=cache)
        return f"{graph.count_imports():,} edges"

    return run


def _grimp_warm(root: Path, folder: Path) -> Callable[[], str]:
    run = _grimp(root, str(folder / "grimp"))
    run()
    return run


def _grimp_cold(root: Path, _folder: Path) -> Callable[[], str]:
    return _grimp(root, None)


def _evidence(root: Path, _folder: Path) -> Callable[[], str]:
    def run() -> str:
        reader = TreeReader(_tree(root), Scanner(Cache(None), processes=2))
        found = find_dependence(reader.modules, ("triton",), reader.read, [_LINUX])
        return f"{len(found.sites)} imports, {len(found.failing)} modules fail"

    return run


def _ruff(root: Path, _folder: Path) -> Callable[[], str]:
    words = [shutil.which("ruff") or "ruff", "analyze", "graph", str(root)]

    def run() -> str:
        subprocess.run(words, capture_output=True, check=True)
        return "ruff analyze graph"

    return run


_WAYS: dict[str, Callable[[Path, Path], Callable[[], str]]] = {
    "parse": _parse,
    "extract": _extract,
    "warm": _warm,
    "cold": _cold,
    "grimp-warm": _grimp_warm,
    "grimp-cold": _grimp_cold,
    "ruff": _ruff,
    "evidence": _evidence,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one way, and say how long it took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.importing")
    parser.add_argument("way", choices=_WAYS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("package")
    options = parser.parse_args(arguments)
    root = _find(options.package)
    if root is None:
        parser.error(f"{options.package} is not installed")
    warnings.simplefilter("ignore")
    run = _WAYS[options.way](root, options.folder)
    # Neither side looks for garbage: the syntax trees have no loops.
    gc.disable()
    start, cpu = time.perf_counter(), time.process_time()
    note = run()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    said = {"seconds": seconds, "cpu_seconds": cpu_seconds, "notes": [note]}
    sys.stdout.write(f"{json.dumps(said)}\n")


if __name__ == "__main__":
    main()

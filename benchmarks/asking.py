"""Runs a command and says how often it asked a recorded index: ``python -m benchmarks.asking``.

The index counts (see :mod:`benchmarks.recorded_index`); its counter is set to nought before the
command begins and read when it has ended. The last line of output says in JSON what was asked and
how long the command took, for :mod:`benchmarks.runner`. The exit code is the command's.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urljoin

__all__ = ["main"]

_COUNTED = ("pages", "metadata", "other", "missing")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and count.

    Args:
        arguments: The words after the program's name; None for this process's.
    """
    options = _parser().parse_args(arguments)
    _ask(options.index, "reset")
    start = time.perf_counter()
    # The runner allows no index, so that nothing else is measured with one; here it is the subject.
    environ = {name: value for name, value in os.environ.items() if name != "PIP_NO_INDEX"}
    done = subprocess.run(options.command, cwd=options.folder, env=environ, check=False)
    seconds = time.perf_counter() - start
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    counts = _ask(options.index, "count")
    said = {
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "requests": sum(counts[kind] for kind in _COUNTED),
        "notes": [note] if (note := _describe(counts)) else [],
    }
    print(json.dumps(said), flush=True)
    return done.returncode


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.asking")
    parser.add_argument("--index", required=True, metavar="URL", help="the recorded index")
    parser.add_argument("--folder", required=True, metavar="DIR", help="where the command runs")
    parser.add_argument("command", nargs="+", help="after two dashes")
    return parser


def _ask(index: str, what: str) -> dict[str, Any]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urljoin(index, f"/-/{what}"), timeout=10) as answer:
        said: dict[str, Any] = json.load(answer)
    return said


def _describe(counts: Mapping[str, int]) -> str:
    names = {"pages": "pages", "metadata": "METADATA", "other": "others", "missing": "in vain"}
    return ", ".join(f"{counts[kind]} {names[kind]}" for kind in _COUNTED if counts[kind])


if __name__ == "__main__":
    sys.exit(main())

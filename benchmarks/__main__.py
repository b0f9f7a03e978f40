"""Runs the benchmarks: ``python -m benchmarks``. Needs distcycle's dependencies, and no network."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES, Case, find_cases
from benchmarks.runner import Failed, Goal, Measurement, Runner, Skipped, Trial

_TURNS = 5
_QUICK_TURNS = 1
_LIMIT_S = 300.0
_HEAD = ("", "seconds", "against", "ratio", "of CPU", "MiB", "asked", "goal", "")
_ROW = "{:<42} {:>8} {:>8} {:>7} {:>7} {:>6} {:>9}  {:<15} {}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print a table.

    Args:
        arguments: The words after the program's name; None for this process's.

    Returns:
        0 when everything could be measured, whether goals were met or not; else 2.
    """
    options = _parser().parse_args(arguments)
    if options.list:
        for case in CASES:
            print(f"{case.name:<17} {_describe(case)}")
        return 0
    cases = find_cases(options.only)
    if not cases:
        print(f"no case begins with {' or '.join(options.only)}; see --list", file=sys.stderr)
        return 2
    turns = _QUICK_TURNS if options.quick else options.turns
    rows = list(_run(cases, turns, options.limit))
    if options.json:
        document = {"schema": "distcycle-benchmarks/1", "machine": _machine(), "rows": rows}
        Path(options.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 2 if any("failed" in row for row in rows) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure distcycle, against peers and itself."
    )
    parser.add_argument("--list", action="store_true", help="list the cases")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="cases that begin so"
    )
    parser.add_argument("--quick", action="store_true", help="one turn instead of five")
    parser.add_argument("--turns", type=int, default=_TURNS, metavar="N", help="turns (5)")
    parser.add_argument(
        "--limit", type=float, default=_LIMIT_S, metavar="S", help="seconds for a process (300)"
    )
    parser.add_argument("--json", metavar="FILE", help="write all runs to a file")
    return parser


def _describe(case: Case) -> str:
    against = f", against: {case.against}" if case.against else ""
    goal = f"goal: at most {case.goal}" if case.goal != Goal() else "no goal"
    return f"{case.command}{against}; {goal}"


def _run(cases: Sequence[Case], turns: int, limit_s: float) -> Iterator[dict[str, Any]]:
    print(_ROW.format(*_HEAD))
    for case in cases:
        print(f"\n{case.name}: {_describe(case)}", flush=True)
        with tempfile.TemporaryDirectory() as name:
            runner = Runner(Path(name), turns=turns, limit_s=limit_s)
            for trial in case.trials(Path(name)):
                yield {"case": case.name, "title": trial.title, **_measure(runner, case, trial)}


def _measure(runner: Runner, case: Case, trial: Trial | Skipped) -> dict[str, Any]:
    if isinstance(trial, Skipped):
        print(f"{trial.title}: SKIPPED: {trial.reason}", flush=True)
        return {"skipped": trial.reason}
    try:
        measured = runner.measure(trial, case.goal)
    except Failed as error:
        print(f"{trial.title}: FAILED: {error}", flush=True)
        return {"failed": str(error)}
    _show(measured)
    return _record(measured)


def _show(measured: Measurement) -> None:
    peers = sorted(run.seconds for run in measured.against)
    print(
        _ROW.format(
            measured.title,
            f"{measured.seconds:.3f}",
            f"{peers[len(peers) // 2]:.3f}" if peers else "",
            _ratio(measured.ratio),
            _ratio(measured.cpu_ratio),
            f"{measured.peak_bytes / 2**20:.0f}",
            _asked(measured),
            str(measured.goal),
            _verdict(measured),
        )
    )
    for note in measured.runs[-1].notes:
        print(f"    {note}")
    sys.stdout.flush()


def _asked(measured: Measurement) -> str:
    """How often both asked an index in the last turn; the notes say what this one asked for."""
    counts = [runs[-1].requests for runs in (measured.runs, measured.against) if runs]
    return "/".join(str(count) for count in counts if count is not None)


def _verdict(measured: Measurement) -> str:
    if measured.goal == Goal():
        return ""
    return "met" if measured.met else "MISSED"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _record(measured: Measurement) -> dict[str, Any]:
    return {
        "seconds": measured.seconds,
        "ratio": measured.ratio,
        "cpu_ratio": measured.cpu_ratio,
        "requests_ratio": measured.requests_ratio,
        "peak_bytes": measured.peak_bytes,
        "goal": asdict(measured.goal),
        "met": measured.met,
        "runs": [asdict(run) for run in measured.runs],
        "against": [asdict(run) for run in measured.against],
    }


def _machine() -> dict[str, Any]:
    names = ("packaging", "pip", "pipdeptree", "resolvelib", "tomli", "uv")
    known = {each.name for each in importlib.metadata.distributions()}
    return {
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in names if name in known},
    }


if __name__ == "__main__":
    sys.exit(main())

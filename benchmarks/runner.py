"""Runs commands in processes of their own and compares them with what they are held against.

A command and what it is held against run in turns, so that whatever else the machine does hits both
alike, and the ratio is the median of the ratios of the turns. One turn before the first is thrown
away: it compiles modules and warms the file system's cache. POSIX only: a process's own peak
memory and CPU time are known from ``wait4``.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

__all__ = ["Failed", "Goal", "Measurement", "Run", "Runner", "Skipped", "Trial"]

ROOT = Path(__file__).resolve().parents[1]

_MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024
_KEPT = ("LANG", "LD_LIBRARY_PATH", "PATH", "SYSTEMROOT", "TMPDIR")


class Failed(Exception):
    """A command ended otherwise than it should, and so was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is aimed at; None where nothing is.

    Attributes:
        ratio: How many times as long as what it is held against.
        seconds: How long, on any machine of today.
        peak_bytes: How much memory.
        requests: How many times as many requests as what it is held against.
    """

    ratio: float | None = None
    seconds: float | None = None
    peak_bytes: int | None = None
    requests: float | None = None

    def __str__(self) -> str:
        parts = []
        if self.ratio is not None:
            parts.append(f"{self.ratio:g} x")
        if self.seconds is not None:
            parts.append(f"{self.seconds:g} s")
        if self.peak_bytes is not None:
            parts.append(f"{self.peak_bytes / 2**30:g} GiB")
        if self.requests is not None:
            parts.append(f"{self.requests:g} x requests")
        return " and ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One command to measure.

    Attributes:
        title: What it does, or to which file.
        command: Its words.
        against: The words of what it is held against; None when a goal needs no peer.
        exits: The exit codes that mean that it did its work.
    """

    title: str
    command: Sequence[str]
    against: Sequence[str] | None = None
    exits: frozenset[int] = frozenset({0, 1})


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A trial that cannot be made here, and why."""

    title: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One process, from start to end.

    Attributes:
        seconds: Wall time of the process, or of the part that it says it measured itself.
        cpu_seconds: CPU time of the process, its own and the system's for it.
        peak_bytes: The most memory it had.
        requests: How often it asked an index; None where nobody counted (see ``asking``).
        notes: What the process says of what it did.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    requests: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The turns of a trial."""

    title: str
    goal: Goal
    runs: tuple[Run, ...]
    against: tuple[Run, ...]

    @property
    def seconds(self) -> float:
        """The median wall time."""
        return statistics.median(run.seconds for run in self.runs)

    @property
    def peak_bytes(self) -> int:
        """The median of the peaks."""
        return int(statistics.median(run.peak_bytes for run in self.runs))

    @property
    def ratio(self) -> float | None:
        """The median over the turns of how many times as long the command took."""
        return self._ratio(lambda run: run.seconds)

    @property
    def cpu_ratio(self) -> float | None:
        """The same for CPU time, which a busy machine disturbs less."""
        return self._ratio(lambda run: run.cpu_seconds)

    @property
    def requests_ratio(self) -> float | None:
        """The same for requests; None where nobody counted."""
        if any(run.requests is None for run in (*self.runs, *self.against)):
            return None
        return self._ratio(lambda run: run.requests or 0)

    def _ratio(self, size: Callable[[Run], float]) -> float | None:
        pairs = zip(self.runs, self.against, strict=bool(self.against))
        ratios = [size(run) / max(size(peer), 1e-9) for run, peer in pairs]
        return statistics.median(ratios) if ratios else None

    @property
    def met(self) -> bool:
        """Whether the goal was met, in every part of it."""
        pairs = (
            (self.ratio, self.goal.ratio),
            (self.seconds, self.goal.seconds),
            (self.peak_bytes, self.goal.peak_bytes),
            (self.requests_ratio, self.goal.requests),
        )
        return all(value is None or most is None or value <= most for value, most in pairs)


class Runner:
    """Measures trials.

    Args:
        folder: An empty folder for what commands write.
        turns: How often a command is run, after the turn that is thrown away.
        limit_s: How long a process may take before it is stopped.
    """

    def __init__(self, folder: Path, *, turns: int, limit_s: float) -> None:
        self.turns = turns
        self.limit_s = limit_s
        self._environ = _environment(folder)

    def measure(self, trial: Trial, goal: Goal) -> Measurement:
        """Run a trial, turn by turn.

        Raises:
            Failed: A process did not do its work, or was stopped.
        """
        turns = [self._turn(trial) for _ in range(self.turns + 1)][1:]
        return Measurement(
            title=trial.title,
            goal=goal,
            runs=tuple(run for run, _ in turns),
            against=tuple(peer for _, peer in turns if peer is not None),
        )

    def _turn(self, trial: Trial) -> tuple[Run, Run | None]:
        run = self.run(trial.command, trial.exits)
        return run, self.run(trial.against, trial.exits) if trial.against else None

    def run(self, words: Sequence[str], exits: frozenset[int] = frozenset({0})) -> Run:
        """Run one command to its end.

        Args:
            words: The command.
            exits: The exit codes that mean that it did its work.

        Raises:
            Failed: It ended with another, or was stopped.
        """
        # Files, not pipes: nobody empties a pipe while wait4 waits.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            start = time.perf_counter()
            code, usage = self._wait(words, out, err)
            seconds = time.perf_counter() - start
            errors = _text(err)
            # A Python that dies of an exception exits with 1, as a gate that found something does.
            if code not in exits or "Traceback (most recent" in errors:
                raise Failed(_reason(words, code, errors, self.limit_s))
            said = _said(_text(out))
        return Run(
            seconds=said.get("seconds", seconds),
            cpu_seconds=said.get("cpu_seconds", usage.ru_utime + usage.ru_stime),
            peak_bytes=usage.ru_maxrss * _MAXRSS_BYTES,
            requests=said.get("requests"),
            notes=tuple(said.get("notes", ())),
        )

    def _wait(
        self, words: Sequence[str], out: IO[bytes], err: IO[bytes]
    ) -> tuple[int, resource.struct_rusage]:
        process = subprocess.Popen(
            words, cwd=ROOT, env=self._environ, stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
        timer = threading.Timer(self.limit_s, process.kill)
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        finally:
            timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, usage


def _environment(folder: Path) -> Mapping[str, str]:
    """No index, no cache, no configuration, no colours; this repository's modules first."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **kept,
        "COLUMNS": "80",
        "HOME": str(folder),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUTF8": "1",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _said(text: str) -> dict[str, Any]:
    """What a command says in its last line, of a part of itself or of another that it runs.

    Such commands are ``benchmarks.synthetic`` and ``benchmarks.asking``.
    """
    last = text.rstrip().rpartition("\n")[2]
    if not last.startswith('{"seconds"'):
        return {}
    said: dict[str, Any] = json.loads(last)
    return said


def _reason(words: Sequence[str], code: int, errors: str, limit_s: float) -> str:
    shown = " ".join(words)[:200]
    if code == -9:
        return f"stopped after {limit_s:g} s, or killed: {shown}"
    last = errors.strip().rpartition("\n")[2][:200]
    return f"exit code {code}: {shown}: {last or 'no message'}"

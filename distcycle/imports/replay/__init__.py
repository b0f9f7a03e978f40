"""What CPython does on an import, replayed on source text: nothing of it is run."""

from __future__ import annotations

from distcycle.imports.replay.operations import READER, Program
from distcycle.imports.replay.order import LIMITS, loaded_by, replay
from distcycle.imports.replay.outcomes import Cause, Entry, Outcome, Step
from distcycle.imports.replay.programs import program_of, read_program

__all__ = [
    "LIMITS",
    "READER",
    "Cause",
    "Entry",
    "Outcome",
    "Program",
    "Step",
    "loaded_by",
    "program_of",
    "read_program",
    "replay",
]

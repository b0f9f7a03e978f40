"""Moves names that a loop of two modules is about into a module of their own."""

from __future__ import annotations

from distcycle.imports.moving.diffs import render_diff
from distcycle.imports.moving.moves import move_names
from distcycle.imports.moving.records import Move, Note, Remaining

__all__ = ["Move", "Note", "Remaining", "move_names", "render_diff"]

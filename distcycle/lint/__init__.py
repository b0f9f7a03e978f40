"""Checks what a build system's files say of loops against the loops that a lock has. Pure."""

from __future__ import annotations

from distcycle.lint.bazel import Linted, lint_bazel, report_of
from distcycle.lint.loops import Lock

__all__ = ["Linted", "Lock", "lint_bazel", "report_of"]

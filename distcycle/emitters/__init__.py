"""Emitters turn a :class:`~distcycle.plan.Plan` into input of another tool; one table lists all."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from distcycle.plan import Plan

__all__ = ["EMITTERS", "Emitter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitter:
    """One tool's input.

    Attributes:
        name: Its name after ``--emit``.
        title: What is written, in a few words.
        remedy: Which remedy it expresses.
        cannot: What that tool cannot express, in one line; ``""`` for nothing.
        module: The module that writes it; it offers ``emit(plan) -> str`` and
            ``check(plan, text) -> tuple[str, ...]``, which names what a file does not do yet.
    """

    name: str
    title: str
    remedy: Literal["cut", "group"]
    cannot: str
    module: str

    def emit(self, plan: Plan) -> str:
        """Write the input that carries out a plan."""
        text: str = importlib.import_module(self.module).emit(plan)
        return text

    def check(self, plan: Plan, text: str) -> tuple[str, ...]:
        """Say what a file of that tool does not do yet of a plan, one line each."""
        lacks: tuple[str, ...] = importlib.import_module(self.module).check(plan, text)
        return lacks


EMITTERS: Mapping[str, Emitter] = {}

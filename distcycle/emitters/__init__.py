"""Emitters turn a :class:`~distcycle.plan.Plan` into input of another tool; one table lists all."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
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


EMITTERS: Mapping[str, Emitter] = {
    emitter.name: emitter
    for emitter in (
        Emitter(
            name="bazel",
            title="groups for pip.parse and pip_parse of rules_python",
            remedy="group",
            cannot="a group holds on every platform and Python, and whoever needs one member gets"
            " all of them",
            module="distcycle.emitters.bazel",
        ),
        Emitter(
            name="pycross",
            title="ignored dependencies for rules_pycross",
            remedy="cut",
            cannot="a dependency is ignored on every platform, and cannot be moved to an extra",
            module="distcycle.emitters.pycross",
        ),
        Emitter(
            name="uv",
            title="scoped excludes, or whole metadata, for pyproject.toml",
            remedy="cut",
            cannot="an exclude has no platform, and neither has dependency-metadata",
            module="distcycle.emitters.uv",
        ),
        Emitter(
            name="pdm",
            title="excludes for pyproject.toml",
            remedy="cut",
            cannot="an exclude has no package that requires, no version, no platform and no"
            " extra: the excluded project is installed for nobody",
            module="distcycle.emitters.pdm",
        ),
        Emitter(
            name="pex",
            title="overrides for the command lines of pex and pex3",
            remedy="cut",
            cannot="an override has no package that requires, no version and no extra: it"
            " replaces all requirements on a project",
            module="distcycle.emitters.pex",
        ),
        Emitter(
            name="pixi",
            title="overrides for pixi.toml",
            remedy="cut",
            cannot="an override has no package that requires and no version, and nothing is moved"
            " to an extra: the project is required by nobody, the manifest included",
            module="distcycle.emitters.pixi",
        ),
        Emitter(
            name="nix",
            title="an overlay for nixpkgs",
            remedy="cut",
            cannot="pythonRemoveDeps has no version, no platform and no extra, and takes the"
            " beginning of a name for the name",
            module="distcycle.emitters.nix",
        ),
        Emitter(
            name="policy",
            title="cuts, or groups, for distcycle.toml",
            remedy="cut",
            cannot="",
            module="distcycle.emitters.policy",
        ),
    )
}

"""What closes a gap in an input, or settles a conflict, in the terms of the tool that wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from distcycle.model import Requirement, Snapshot

__all__ = ["advise_conflict", "advise_double", "advise_missing", "describe_need"]


@dataclass(frozen=True, slots=True)
class _Advice:
    """What to do, with ``{need}`` for the requirement and ``{name}`` for the project.

    Attributes:
        missing: Where nothing has the name.
        conflict: Where what has it is outside the specifier.
        double: Where two of the name stand, and each is required.
    """

    missing: str
    conflict: str
    double: str


def _locked(command: str, declared: str) -> _Advice:
    """What to do about a lock: made anew it may still follow another wheel than the target's."""
    then = f"; if that changes nothing, add {{need}} to {declared}"
    return _Advice(
        missing=f"run '{command}'{then}",
        conflict=f"run '{command}'{then}",
        double=f"run '{command}'",
    )


_LOCK_ELSEWHERE = _Advice(
    missing="lock again with the tool that wrote it, or add {need} to what it locks",
    conflict="lock again with the tool that wrote it, or add {need} to what it locks",
    double="lock again with the tool that wrote it",
)

_ADVICE: Mapping[str, _Advice] = {
    "requirements": _Advice(
        missing="add {need} to it, or compile it again",
        conflict="pin a version that {need} admits, or compile it again",
        double="keep one of the lines, or limit each by a marker",
    ),
    "poetry-lock": _locked("poetry lock", "the dependencies in pyproject.toml"),
    "uv-lock": _locked("uv lock", "the dependencies in pyproject.toml"),
    "pdm-lock": _locked("pdm lock", "the dependencies in pyproject.toml"),
    "pipfile-lock": _locked("pipenv lock", "the Pipfile"),
    "pylock": _LOCK_ELSEWHERE,
    "pyproject": _Advice(
        missing="add {need} to its dependencies",
        conflict="bound it by {need} in its dependencies",
        double="keep one of the requirements, or limit each by a marker",
    ),
    "pip-report": _Advice(
        missing="install '{need}' as well",
        conflict="install '{need}' instead",
        double="install one of them",
    ),
    "environment": _Advice(
        missing="install '{need}'",
        conflict="install '{need}'",
        double="uninstall {name} and install it again",
    ),
    "wheelhouse": _Advice(
        missing="put a wheel of {need} into the folder",
        conflict="put a wheel of {need} into the folder",
        double="keep one of them",
    ),
}
"""By the kind of the input, which is the name of its reader."""


def describe_need(requirement: Requirement) -> str:
    """A requirement as one would add it, such as ``egg[yolk]>=2``; its marker is left out."""
    extras = f"[{','.join(requirement.extras)}]" if requirement.extras else ""
    if requirement.url is not None:
        return f"{requirement.name}{extras} @ {requirement.url}"
    return f"{requirement.name}{extras}{requirement.specifier}"


def advise_missing(snapshot: Snapshot, requirement: Requirement) -> str:
    """Say how a project that nothing provides is brought in."""
    return _fill(_advice(snapshot).missing, requirement)


def advise_conflict(snapshot: Snapshot, requirement: Requirement) -> str:
    """Say how a version comes to stand that a requirement admits."""
    return _fill(_advice(snapshot).conflict, requirement)


def advise_double(snapshot: Snapshot, requirement: Requirement) -> str:
    """Say how one of two versions comes to stand alone."""
    return _fill(_advice(snapshot).double, requirement)


def _advice(snapshot: Snapshot) -> _Advice:
    return _ADVICE.get(snapshot.kind, _LOCK_ELSEWHERE)


def _fill(text: str, requirement: Requirement) -> str:
    return text.replace("{need}", describe_need(requirement)).replace("{name}", requirement.name)

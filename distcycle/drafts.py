"""Findings before their cells are named and their lines are looked up."""

from __future__ import annotations

from dataclasses import dataclass

from distcycle.findings import Severity
from distcycle.markers import Condition
from distcycle.model import Package, Place

__all__ = ["Draft", "Way", "describe_node", "describe_package"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How something is reached.

    Attributes:
        start: Where what it begins with is asked for; None when the input does not say.
        hops: What is passed, in order, such as ``egg 1.0``.
    """

    start: Place | None
    hops: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A finding before its cells are named, its line is looked up and its severity is decided.

    Attributes:
        code: The finding's code.
        message: What it says, in one line.
        packages: The projects that it is about.
        cells: Where it holds; None when that has no meaning.
        place: What it points at.
        way: How what it is about is reached, told before its details; None to say nothing of it.
        details: Further lines.
        component: The id of the component that it is about.
        subject: The extras of the component that it is about, or the project that is required.
        severity: What it weighs by default, where that depends on the input.
        by_target: Whether only the named targets were judged for it, even where every environment
            is for the rest.
    """

    code: str
    message: str
    packages: tuple[str, ...]
    cells: Condition | None = None
    place: Place
    way: Way | None = None
    details: tuple[str, ...] = ()
    component: str | None = None
    subject: str = ""
    severity: Severity | None = None
    by_target: bool = False


def describe_package(package: Package) -> str:
    """A package as people write it, such as ``torch 2.0.0``."""
    return package.name if package.version is None else f"{package.name} {package.version}"


def describe_node(package: Package, extra: str) -> str:
    """A package, or an extra of it, as people write it, such as ``dask[array] 2024.1``."""
    text = describe_package(package)
    return f"{package.name}[{extra}]{text[len(package.name) :]}" if extra else text

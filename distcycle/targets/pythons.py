"""The Pythons that targets are made of.

The values of a minor version are those of its newest known patch release; a patch release can be
named, and then its own are taken.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from typing import Literal

from packaging.specifiers import SpecifierSet

from distcycle.errors import TargetError

__all__ = ["PYTHONS", "Python", "admitted_pythons", "find_pythons", "python_names"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """An interpreter at one version.

    Attributes:
        name: Its name, such as ``cp311``, ``cp313t`` or ``pp311``; ``cp311.4`` when a patch release
            other than the newest was asked for.
        tag: The interpreter part of its wheels' tags, such as ``cp311``.
        abi: The ABI part, such as ``cp313t`` or ``pypy311_pp73``.
        implementation: The value of ``implementation_name``.
        minor: Major and minor version.
        full_version: The value of ``python_full_version``.
        implementation_version: The value of ``implementation_version``.
        default: Judged when no version is named and the input admits it.
    """

    name: str
    tag: str
    abi: str
    implementation: Literal["cpython", "pypy"]
    minor: tuple[int, int]
    full_version: str
    implementation_version: str
    default: bool = False

    @property
    def environment(self) -> dict[str, str]:
        """The five marker variables that the interpreter decides."""
        return {
            "implementation_name": self.implementation,
            "implementation_version": self.implementation_version,
            "platform_python_implementation": "CPython"
            if self.implementation == "cpython"
            else "PyPy",
            "python_full_version": self.full_version,
            "python_version": f"{self.minor[0]}.{self.minor[1]}",
        }


def _cpython(full_version: str, *, suffix: str = "", default: bool = False) -> Python:
    major, minor, _ = (int(part) for part in full_version.split("."))
    tag = f"cp{major}{minor}"
    return Python(
        name=tag + ("t" if suffix == "t" else ""),
        tag=tag,
        abi=tag + suffix,
        implementation="cpython",
        minor=(major, minor),
        full_version=full_version,
        implementation_version=full_version,
        default=default,
    )


def _pypy(full_version: str, release: str) -> Python:
    major, minor, _ = (int(part) for part in full_version.split("."))
    tag = f"pp{major}{minor}"
    return Python(
        name=tag,
        tag=tag,
        abi=f"pypy{major}{minor}_pp{release[0]}{release[2]}",
        implementation="pypy",
        minor=(major, minor),
        full_version=full_version,
        implementation_version=release,
    )


_DEFAULTS = [
    "3.8.20",
    "3.9.25",
    "3.10.22",
    "3.11.18",
    "3.12.16",
    "3.13.18",
    "3.14.10",
    "3.15.2",
]

PYTHONS: tuple[Python, ...] = (
    *(_cpython(version, default=True) for version in _DEFAULTS),
    *(_cpython(version, suffix="t") for version in _DEFAULTS[5:]),
    # PyPy 8.0 has a 3.11 too, with an ABI that few wheels are built for yet.
    _pypy("3.9.19", "7.3.16"),
    _pypy("3.10.16", "7.3.19"),
    _pypy("3.11.15", "7.3.23"),
    _pypy("3.12.15", "8.0.1"),
    # Known only because old locks are for nothing else. Wide-Unicode builds (``mu``) of 2.7 were
    # the rule on Linux alone; :mod:`distcycle.targets` sees to that.
    _cpython("2.7.18", suffix="mu"),
    *(_cpython(version, suffix="m") for version in ("3.5.10", "3.6.15", "3.7.17")),
)

_BY_NAME = {python.name: python for python in PYTHONS}
_PREFIXES = {"": "cp", "cp": "cp", "cpython": "cp", "python": "cp", "pp": "pp", "pypy": "pp"}
_SPELLING = re.compile(
    r"""(?P<prefix>[a-z]*)[-@]?
        (?:(?P<major>\d)\.(?P<minor>\d{1,2}) | (?P<nodot>\d{2,3}))
        (?:\.(?P<patch>\d+(?:(?:a|b|rc)\d+)?))?
        (?P<threads>t?)\Z""",
    re.VERBOSE,
)


def python_names() -> tuple[str, ...]:
    """The names of all known Pythons, the default ones first."""
    return tuple(_BY_NAME)


def find_pythons(version: str) -> tuple[Python, ...]:
    """Find the Pythons that a version names.

    Args:
        version: Such as ``3.11``, ``3.11.4``, ``3.13t``, ``cp311``, ``cp311.4``, ``pp311`` or
            ``pypy3.11``. Without a prefix it is CPython.

    Returns:
        One Python; a tuple, as for platforms.

    Raises:
        TargetError: No known Python has that version.
    """
    match = _SPELLING.match(version.strip().lower())
    prefix = _PREFIXES.get(match["prefix"]) if match else None
    if match is None or prefix is None:
        raise _unknown(version)
    digits = match["nodot"] or match["major"] + match["minor"]
    known = _BY_NAME.get(prefix + digits + match["threads"])
    if known is None:
        raise _unknown(version)
    return (known if match["patch"] is None else _at_patch(known, match["patch"]),)


def _at_patch(python: Python, patch: str) -> Python:
    """The same Python at another patch release; the very same for the patch that stands."""
    full_version = f"{python.minor[0]}.{python.minor[1]}.{patch}"
    if full_version == python.full_version:
        return python
    cpython = python.implementation == "cpython"
    threads = "t" if python.name.endswith("t") else ""
    return replace(
        python,
        name=f"{python.tag}.{patch}{threads}",
        full_version=full_version,
        implementation_version=full_version if cpython else python.implementation_version,
        default=False,
    )


def _unknown(version: str) -> TargetError:
    known = [f"{p.minor[0]}.{p.minor[1]}" for p in PYTHONS if p.default] + list(_BY_NAME)
    nearest = difflib.get_close_matches(version, known, n=3, cutoff=0.6)
    return TargetError(version, nearest=nearest, problem="unknown Python version")


def admitted_pythons(admits: SpecifierSet | None) -> tuple[Python, ...]:
    """The Pythons to judge when none is named.

    Those of CPython 3.8 to 3.15 whose newest patch release is admitted; when none is, the older
    ones (2.7, 3.5 to 3.7); when still none is, the newest patch release that is admitted of each
    minor version (``==3.11.4``).

    Args:
        admits: The versions that the input is for; None for all.

    Returns:
        At least one Python, older first.

    Raises:
        TargetError: No known Python is admitted.
    """
    defaults = tuple(python for python in PYTHONS if python.default)
    if admits is None:
        return defaults
    older = tuple(
        python for python in PYTHONS if python.implementation == "cpython" and python.minor < (3, 8)
    )
    for pythons in (defaults, older):
        admitted = tuple(p for p in pythons if admits.contains(p.full_version))
        if admitted:
            return admitted
    patched = tuple(p for python in older + defaults for p in _newest_admitted(python, admits))
    if not patched:
        raise TargetError(str(admits), problem="no known Python is admitted by")
    return patched


def _newest_admitted(python: Python, admits: SpecifierSet) -> tuple[Python, ...]:
    newest = int(python.full_version.rpartition(".")[2])
    for patch in range(newest, -1, -1):
        candidate = _at_patch(python, str(patch))
        if admits.contains(candidate.full_version):
            return (candidate,)
    return ()

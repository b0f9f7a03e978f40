"""Environments that hold what was selected, and what pip and uv find fault with in them.

A distribution is a ``.dist-info`` folder with METADATA and WHEEL and nothing else: that is all
``pip check`` and ``uv pip check`` look at, and it makes a large lock cheap to check.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.utils import NormalizedName, canonicalize_name

from distcycle.findings import Report
from distcycle.markers import Condition
from distcycle.model import Requirement
from distcycle.requirements import parse_requirement
from distcycle.selection import Node, Selection

__all__ = [
    "PLATFORMS",
    "UV",
    "Complaints",
    "Distribution",
    "ask_pip",
    "ask_uv",
    "cells_of",
    "distributions_in",
    "find_uv",
    "make_environment",
    "of_report",
    "only_by_extras",
    "put_in",
    "remove",
]

PLATFORMS: Mapping[str, str] = {
    "linux_x86_64": "x86_64-unknown-linux-gnu",
    "linux_aarch64": "aarch64-unknown-linux-gnu",
    "macos_arm64": "aarch64-apple-darwin",
    "macos_x86_64": "x86_64-apple-darwin",
    "windows_amd64": "x86_64-pc-windows-msvc",
}
"""Our names of platforms, and uv's."""


def find_uv() -> list[str] | None:
    """The command that runs uv: beside this interpreter, on the path, or as a module."""
    for place in (Path(sys.prefix) / "bin" / "uv", Path(sys.prefix) / "Scripts" / "uv.exe"):
        if place.is_file():
            return [str(place)]
    found = shutil.which("uv")
    return [found] if found else None


UV = find_uv()


@dataclass(frozen=True, kw_only=True)
class Complaints:
    """What is wrong with an environment: pairs of who requires and what is required.

    Attributes:
        missing: Nothing of that name is there.
        conflicts: What has the name is outside the specifier.
        pythons: Projects that are not for this Python; pip does not look.
        unread: Projects of whose requirements none is read, for one cannot be.
    """

    missing: frozenset[tuple[str, str]] = frozenset()
    conflicts: frozenset[tuple[str, str]] = frozenset()
    pythons: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()

    def without(self, pairs: set[tuple[str, str]]) -> Complaints:
        """The complaints but those about some pairs."""
        return replace(self, missing=self.missing - pairs, conflicts=self.conflicts - pairs)

    def not_by(self, sources: frozenset[str]) -> Complaints:
        """The complaints but those about what some projects require."""
        return self.without({p for p in self.missing | self.conflicts if p[0] in sources})


# Environments


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """What its METADATA has to say."""

    name: str
    version: str
    requires: tuple[str, ...] = ()
    requires_python: str = ""


def make_environment(folder: Path) -> Path:
    """Make an environment without pip, or empty the one that stands there."""
    if not folder.is_dir():
        venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    for info in _site(folder).glob("*.dist-info"):
        shutil.rmtree(info)
    return folder


def _site(folder: Path) -> Path:
    if os.name == "nt":
        return folder / "Lib" / "site-packages"
    return folder / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"


def put_in(folder: Path, distributions: Sequence[Distribution]) -> None:
    """Make distributions stand in an environment."""
    for each in distributions:
        info = _site(folder) / f"{each.name.replace('-', '_')}-{each.version}.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {each.name}", f"Version: {each.version}"]
        lines += [f"Requires-Python: {each.requires_python}"] if each.requires_python else []
        lines += [f"Requires-Dist: {line}" for line in each.requires]
        (info / "METADATA").write_text("\n".join([*lines, ""]), "utf-8")
        wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        (info / "WHEEL").write_text(wheel, "utf-8")


def remove(folder: Path, names: Sequence[str]) -> None:
    """Make distributions no longer stand in an environment."""
    for name in names:
        (info,) = _site(folder).glob(f"{name}-*.dist-info")
        shutil.rmtree(info)


def cells_of(selection: Selection, target: str) -> Condition:
    """The cells of a target that is judged by name."""
    (cells,) = (p.cells for p in selection.space.named if p.target.name == target)
    return cells


def distributions_in(
    selection: Selection, reached: Mapping[Node, Condition], cells: Condition
) -> list[Distribution]:
    """What stands on a target, each with the METADATA of its wheel there, else the lock's word."""
    found = []
    for (index, extra), where in sorted(reached.items()):
        if extra or not where & cells:
            continue
        package = selection.snapshot.packages[index]
        offers = [o for o in selection.offers.get(index, ()) if o.cells & cells]
        requires = [_line(r) for offer in offers for r in offer.requirements or ()]
        pythons = [p for o in offers if o.lack == "requires-python" for p in o.pythons]
        found.append(
            Distribution(
                name=package.name,
                version=str(package.version or 0),
                requires=tuple(dict.fromkeys(requires)),
                requires_python=pythons[0] if pythons else "",
            )
        )
    return found


def _line(requirement: Requirement) -> str:
    """A requirement as METADATA has it; what a lock lists under an extra gets its marker."""
    if requirement.extra is None:
        return requirement.text
    head = requirement.text.partition(";")[0].strip()
    marker = f"({requirement.marker}) and " if requirement.marker else ""
    return f'{head} ; {marker}extra == "{requirement.extra}"'


# Who finds fault

_PIP_MISSING = re.compile(r"^(\S+) \S+ requires (\S+), which is not installed\.$", re.MULTILINE)
_PIP_CONFLICT = re.compile(
    r"^(\S+) \S+ has requirement .+, but you have (\S+) \S+\.$", re.MULTILINE
)
_PIP_UNREAD = re.compile(r"^WARNING: Error parsing dependencies of (\S+):", re.MULTILINE)
_UV_MISSING = re.compile(
    r"^The package `(.+?)` requires `(.+)`, but it's not installed", re.MULTILINE
)
_UV_CONFLICT = re.compile(
    r"^The package `(.+?)` requires `(.+)`, but `.+` is installed", re.MULTILINE
)
_UV_UNREAD = re.compile(r"(?m)^The package `(.+?)` is broken .*\(unable to read `METADATA`\)")
_UV_PYTHON = re.compile(
    r"^The package `(.+?)` requires Python .*, but `.+` is installed", re.MULTILINE
)


def ask_pip(folder: Path) -> Complaints:
    """What ``pip check`` says of an environment, on this machine."""
    words = ["--isolated", "--disable-pip-version-check", "--python", str(folder), "check"]
    done = _run([sys.executable, "-m", "pip", *words])
    found = Complaints(
        missing=frozenset(_pairs(_PIP_MISSING, done.stdout)),
        conflicts=frozenset(_pairs(_PIP_CONFLICT, done.stdout)),
        unread=frozenset(map(canonicalize_name, _PIP_UNREAD.findall(done.stderr))),
    )
    told = len(_PIP_MISSING.findall(done.stdout)) + len(_PIP_CONFLICT.findall(done.stdout))
    expected = ["No broken requirements found."] if done.returncode == 0 else [""] * told
    assert len(done.stdout.splitlines()) == len(expected), done.stdout + done.stderr
    return found


def ask_uv(folder: Path, platform: str, python: str, cache: Path) -> Complaints:
    """What ``uv pip check`` says of an environment, taken to be on a platform with a Python.

    Args:
        folder: The environment.
        platform: One of :data:`PLATFORMS`.
        python: The full version; of ``3.11`` uv makes ``3.11.0``.
        cache: uv's own.
    """
    assert UV is not None
    words = ["pip", "check", "--no-config", "--offline", "--cache-dir", str(cache)]
    words += ["--python", str(folder), "--python-platform", PLATFORMS[platform]]
    done = _run([*UV, *words, "--python-version", python])
    found = Complaints(
        missing=frozenset(_pairs(_UV_MISSING, done.stderr)),
        conflicts=frozenset(_pairs(_UV_CONFLICT, done.stderr)),
        pythons=frozenset(map(canonicalize_name, _UV_PYTHON.findall(done.stderr))),
        unread=frozenset(map(canonicalize_name, _UV_UNREAD.findall(done.stderr))),
    )
    patterns = (_UV_MISSING, _UV_CONFLICT, _UV_PYTHON, _UV_UNREAD)
    told = sum(len(pattern.findall(done.stderr)) for pattern in patterns)
    counted = re.search(r"^Found (\d+) incompatibilit", done.stderr, re.MULTILINE)
    assert told == (int(counted[1]) if counted else 0), done.stderr
    assert done.returncode == (1 if told else 0), done.stderr
    return found


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "UV_"))}
    environ["PYTHONUTF8"] = "1"
    return subprocess.run(
        command,
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=environ,
        timeout=120,
    )


def _pairs(pattern: re.Pattern[str], text: str) -> Iterator[tuple[NormalizedName, NormalizedName]]:
    for source, required in pattern.findall(text):
        yield canonicalize_name(source), parse_requirement(required).name


def of_report(report: Report, target: str) -> Complaints:
    """What a report says is wrong on a target, of what packages require."""
    lock = report.inputs[0].path
    pairs: dict[str, set[tuple[str, str]]] = {"missing-package": set(), "version-conflict": set()}
    for finding in report.findings:
        is_of_a_root = finding.message.startswith(f"{lock} requires ")
        is_double = " stand together, " in finding.message
        if finding.code in pairs and target in finding.targets and not is_of_a_root | is_double:
            sources = [name for name in finding.packages if name != finding.subject]
            pairs[finding.code].add(((sources or [finding.subject])[0], finding.subject))
    return Complaints(
        missing=frozenset(pairs["missing-package"]),
        conflicts=frozenset(pairs["version-conflict"]),
        pythons=frozenset(
            finding.packages[0]
            for finding in report.findings
            if finding.code == "requires-python" and target in finding.targets
        ),
    )


def only_by_extras(selection: Selection, cells: Condition) -> set[tuple[str, str]]:
    """Pairs at fault only by an extra that is requested: neither tool knows of requests."""
    by_extra: dict[bool, set[tuple[str, str]]] = {True: set(), False: set()}
    for unmet in selection.unmet:
        if unmet.source is not None and unmet.cells & cells:
            source = selection.snapshot.packages[unmet.source[0]].name
            by_extra[bool(unmet.source[1])].add((source, unmet.requirement.name))
    return by_extra[True] - by_extra[False]

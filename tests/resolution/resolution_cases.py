"""The cases on which resolvers are compared: one file each in ``cases``, for three targets."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli

__all__ = ["EXCLUDE_NEWER", "TARGETS", "Case", "Target", "find_cases", "read_case", "write_case"]

EXCLUDE_NEWER = "2026-06-01T00:00:00Z"
FOLDER = Path(__file__).with_name("cases")

_KEYS = {"input", "targets", "pythons", "conflicts", "uv", "distcycle", "files", "wheels"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An environment, as each program names it.

    Attributes:
        name: What cases call it.
        platform: Our name for the platform.
        uv: uv's.
        python: The Python, such as ``3.11``; uv takes its first release, 3.11.0.
    """

    name: str
    platform: str
    uv: str
    python: str


# uv's macOS has the version that uv_oracle sets, else the oldest that Apple supports.
TARGETS = (
    Target(
        name="linux",
        platform="manylinux_2_28_x86_64",
        uv="x86_64-manylinux_2_28",
        python="3.11",
    ),
    Target(name="macos", platform="macosx_14_0_arm64", uv="aarch64-apple-darwin", python="3.12"),
    Target(name="windows", platform="windows_amd64", uv="x86_64-pc-windows-msvc", python="3.10"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A case file as read.

    Attributes:
        name: The file's name, without its end.
        input: Which of the files is resolved.
        targets: For which targets.
        conflicts: The names of the targets on which there is no answer.
        uv: Further words for uv.
        distcycle: Further words for distcycle.
        files: Names and texts.
        wheels: Names of wheels to make in the folder ``wheels``, and what they require.
    """

    name: str
    input: str
    targets: tuple[Target, ...]
    conflicts: frozenset[str]
    uv: tuple[str, ...]
    distcycle: tuple[str, ...]
    files: Mapping[str, str]
    wheels: Mapping[str, Sequence[str]]


def find_cases() -> list[Path]:
    """All case files, by name."""
    return sorted(FOLDER.glob("*.toml"))


def read_case(path: Path) -> Case:
    """Read a case file; a key that is not known is an error, for it would test nothing."""
    values = tomli.loads(path.read_text("utf-8"))
    assert values.keys() <= _KEYS, f"unknown keys: {sorted(values.keys() - _KEYS)}"
    return Case(
        name=path.stem,
        input=values["input"],
        targets=tuple(_targets(values)),
        conflicts=frozenset(values.get("conflicts", ())),
        uv=tuple(values.get("uv", ())),
        distcycle=tuple(values.get("distcycle", ())),
        files=values["files"],
        wheels=values.get("wheels", {}),
    )


def _targets(values: Mapping[str, Any]) -> list[Target]:
    """The targets of a case, which may need another Python on some of them."""
    names = values.get("targets", [target.name for target in TARGETS])
    pythons = values.get("pythons", {})
    return [
        Target(
            name=target.name,
            platform=target.platform,
            uv=target.uv,
            python=pythons.get(target.name, target.python),
        )
        for target in TARGETS
        if target.name in names
    ]


def write_case(case: Case, folder: Path) -> Path:
    """Write a case's files and wheels; returns its input. Commands are to run in ``folder``."""
    for name, text in case.files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    for filename, requires in case.wheels.items():
        _make_wheel(folder / "wheels" / filename, requires)
    return folder / case.input


def _make_wheel(path: Path, requires: Sequence[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    name, version = path.name.split("-")[:2]
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {line}" for line in requires]
    # A fixed date: the same wheel has the same hash whenever it is made.
    folder, date = f"{name}-{version}.dist-info", (2026, 1, 1, 0, 0, 0)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo(f"{folder}/METADATA", date), "\n".join([*lines, ""]))
        archive.writestr(zipfile.ZipInfo(f"{folder}/WHEEL", date), "Wheel-Version: 1.0\n")

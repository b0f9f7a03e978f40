"""Packages that lay a trap each, and what becomes of their modules.

Keys of a trap's file, beside ``about``:

``[files]``
    Name and text of each file; ``[encodings]`` for those that are not UTF-8.
``extensions``
    Files that are copies of the standard library's compiled modules of the same name; ``{tag}``
    stands for the ABI tag of the running Python.
``[expect]``
    The modules that fail when they are imported first, and how; all others can be imported.
``[doubts]``
    What may fail besides.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from distcycle.imports.replay.order import Cause

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "traps"


@dataclass(frozen=True)
class Trap:
    about: str
    files: dict[str, str]
    expect: dict[str, str] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)
    encodings: dict[str, str] = field(default_factory=dict)
    extensions: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Write the files into a folder; skips the test where there is nothing to copy."""
        for path, text in self.files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, self.encodings.get(path, "utf-8"))
        for path in self.extensions:
            tag = "." + str(sysconfig.get_config_var("SOABI"))
            target = folder / path.format(tag=tag)
            shutil.copy(_compiled(target.name.partition(".")[0]), target)


def _compiled(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None or not spec.origin.endswith(".so"):
        pytest.skip(f"this Python has no file of a compiled module {name} to copy")
    return Path(spec.origin)


def read_traps() -> dict[str, Trap]:
    """All traps by name."""
    texts = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.toml"))}
    return {name: Trap(**tomllib.loads(text)) for name, text in texts.items()}


def describe(cause: Cause) -> str:
    """One line for a cause, as the traps' files have it."""
    at = f"{cause.importer}:{cause.line}"
    if cause.outcome == "circular":
        bound = f"bound at {cause.bound_line}" if cause.bound_line else "never bound"
        back = f"at {cause.back_line}" if cause.back_line else "ready"
        return f"circular: {at} asks for {cause.symbol} of {cause.module}, which is {back}; {bound}"
    if cause.outcome == "missing":
        return f"missing: {at} " + " of ".join(filter(None, (cause.symbol, cause.module)))
    return f"raised: {at} {cause.error}"

"""uv as an oracle: which version of which project it picks, or that there is no answer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from resolution_cases import EXCLUDE_NEWER, Case, Target, write_case

__all__ = ["UV", "Conflict", "Resolution", "ask_uv", "quiet_environment", "uv_command"]

_MACOS = "14.0"  # of the target macosx_14_0_arm64
_NO_ANSWER = "No solution found when resolving dependencies"

Resolution = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """There is no answer; ``reason`` is for people."""

    reason: str


def _find_uv() -> str | None:
    """Beside this interpreter, or on the path."""
    for place in (Path(sys.prefix) / "bin" / "uv", Path(sys.prefix) / "Scripts" / "uv.exe"):
        if place.is_file():
            return str(place)
    return shutil.which("uv")


UV = _find_uv()


def ask_uv(
    case: Case, target: Target, index_url: str | None, folder: Path
) -> Resolution | Conflict:
    """Resolve a case for one target.

    Args:
        case: The case, whose files are written into ``folder``.
        target: The target.
        index_url: The index; None for the default one.
        folder: An empty folder.

    Returns:
        The versions by normalised name, or that there is no answer.

    Raises:
        RuntimeError: uv failed otherwise, or is not here.
    """
    write_case(case, folder)
    done = subprocess.run(
        uv_command(case, target, index_url),
        capture_output=True,
        check=False,
        cwd=folder,
        encoding="utf-8",
        env=quiet_environment(folder),
        timeout=300,
    )
    if done.returncode == 1 and _NO_ANSWER in done.stderr:
        return Conflict(reason=done.stderr.strip())
    if done.returncode != 0:
        raise RuntimeError(f"{case.name} for {target.name}: {done.stderr.strip()}")
    return _parse(done.stdout)


def uv_command(case: Case, target: Target, index_url: str | None) -> list[str]:
    """The words that resolve a case; to be run in the folder of its files."""
    if UV is None:
        raise RuntimeError("uv is not here")
    return [
        *(UV, "pip", "compile", case.input, "--no-header", "--no-annotate", "--no-progress"),
        *("--python-platform", target.uv, "--python-version", target.python),
        *("--exclude-newer", EXCLUDE_NEWER, "--no-cache", "--no-config"),
        *("--python", sys.executable, "--no-python-downloads", "--no-build"),
        *([] if index_url is None else ["--index-url", index_url]),
        *case.uv,
    ]


def quiet_environment(home: Path) -> dict[str, str]:
    """This process's environment without what decides indexes, caches and proxies."""
    mute = ("PIP_", "UV_", "XDG_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(mute)}
    return {
        **kept,
        "HOME": str(home),
        "MACOSX_DEPLOYMENT_TARGET": _MACOS,
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        "PIP_CONFIG_FILE": os.devnull,
        "XDG_CACHE_HOME": str(home / "cache"),
    }


def _parse(text: str) -> Resolution:
    pins = (Requirement(line) for line in text.splitlines() if line.strip())
    return {canonicalize_name(pin.name): _version(pin) for pin in pins}


def _version(pin: Requirement) -> str:
    (one,) = pin.specifier
    return one.version

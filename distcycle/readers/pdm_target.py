"""The targets that a pdm.lock was made for, said as markers.

Source: https://pdm-project.org/latest/usage/lock-targets/
"""

from __future__ import annotations

import re

from packaging.markers import Marker

from distcycle.readers.fields import Fields
from distcycle.readers.poetry_constraint import python_markers
from distcycle.readers.poetry_dependency import join_markers
from distcycle.requirements import parse_marker

__all__ = ["target_marker"]

# PDM's names without an architecture stand for one.
_ALIASES = {
    "linux": "manylinux_2_17_x86_64",
    "alpine": "musllinux_1_2_x86_64",
    "macos": "macos_arm64",
    "windows": "windows_amd64",
}
_PLATFORM = re.compile(
    r"(?P<system>manylinux|musllinux|linux|macosx?|windows|win)(?:_\d+_\d+)?_?(?P<machine>\w+)\Z"
)
_SYSTEMS = {
    "manylinux": "linux",
    "musllinux": "linux",
    "linux": "linux",
    "macos": "darwin",
    "macosx": "darwin",
    "windows": "win32",
    "win": "win32",
}
# What each system itself says in platform_machine.
_WINDOWS_MACHINES = {"amd64": "AMD64", "x86_64": "AMD64", "x86": "x86", "arm64": "ARM64"}
_MACHINES = {"amd64": "x86_64", "x86": "i686"}
_IMPLEMENTATIONS = {"cpython": "cpython", "pypy": "pypy", "pyston": "pyston"}


def target_marker(target: Fields) -> Marker | None:
    """Say one of ``[[metadata.targets]]`` as a marker.

    Args:
        target: The table, with any of requires_python, platform and implementation.

    Returns:
        The marker; None when the target is every environment, or when no marker says it.

    Raises:
        InputError: A member has another type, or requires_python cannot be read.
    """
    platform = target.get("platform", str)
    implementation = target.get("implementation", str)
    parts = [
        _python(target),
        "" if platform is None else _platform(platform),
        "" if implementation is None else _implementation(implementation),
    ]
    text = join_markers("and", parts)
    marker = parse_marker(text) if text else None
    return marker if isinstance(marker, Marker) else None


def _python(target: Fields) -> str:
    text = target.get("requires_python", str)
    try:
        return join_markers("or", python_markers(text)) if text else ""
    except ValueError as error:
        raise target.error(str(error), "requires_python") from None


def _platform(name: str) -> str:
    match = _PLATFORM.match(_ALIASES.get(name, name))
    if match is None:
        return ""
    system, machine = _SYSTEMS[match["system"]], match["machine"]
    machines = _WINDOWS_MACHINES if system == "win32" else _MACHINES
    said = machines.get(machine, machine)
    return f'sys_platform == "{system}" and platform_machine == "{said}"'


def _implementation(name: str) -> str:
    known = _IMPLEMENTATIONS.get(name.lower())
    return "" if known is None else f'implementation_name == "{known}"'

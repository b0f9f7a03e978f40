"""The platforms that targets are made of, in one table, and their wheel tags.

Markers have no word for glibc, musl or the version of macOS; wheel tags do. So a platform has the
six marker variables that the machine decides, and the newest version of its system library or
operating system whose wheels it takes.

Source: PEP 600, 656 (Linux), 730 (iOS), 738 (Android), 783 (Pyodide).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from packaging.tags import ios_platforms, mac_platforms

from distcycle.targets.pythons import Python

__all__ = ["LEGACY_MANYLINUX", "PLATFORMS", "Family", "Platform"]

Family = Literal[
    "manylinux", "musllinux", "macos", "windows", "pyodide", "android", "ios", "freebsd"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """An operating system on a machine.

    Attributes:
        name: Its canonical name: ``linux_x86_64``, or a wheel tag where a version was named
            (``manylinux_2_17_x86_64``).
        family: Which rules its wheel tags follow.
        machine: The value of ``platform_machine``.
        tag: The machine as wheel tags spell it.
        tier: 1 for what is judged when no platform is named, 2 for what is common, else 3.
        oldest: The first version of the system (or its library) that there is for Python.
        newest: The newest version whose wheels it takes; ``()`` where tags have none.
        pythons: First and last minor version of Python that runs on it.
        note: What else is assumed.
        python: The Python that the name carried, if any.
        row: The name in the table, where ``name`` is another.
    """

    name: str
    family: Family
    machine: str
    tag: str
    tier: int = 3
    oldest: tuple[int, ...] = ()
    newest: tuple[int, ...] = ()
    pythons: tuple[tuple[int, int], tuple[int, int]] = ((2, 7), (3, 99))
    note: str = ""
    python: Python | None = None
    row: str | None = None

    @property
    def base(self) -> str:
        """Its name in the table: ``linux_x86_64`` for ``manylinux_2_17_x86_64`` too."""
        return self.row or self.name

    @property
    def assumed(self) -> str:
        """What stands for what the markers and the name leave open, such as ``glibc 2.43``."""
        version = ".".join(map(str, self.newest))
        system = f"{_SYSTEMS[self.family].noun} {version}" if version else ""
        return "; ".join(part for part in (system, self.note) if part)

    def has(self, python: Python) -> bool:
        """Whether that Python runs on the platform."""
        first, last = self.pythons
        return first <= python.minor <= last

    def environment(self, python: Python) -> dict[str, str]:
        """The six marker variables that the platform decides.

        Args:
            python: The Python that runs on it: FreeBSD's ``sys_platform`` depends on it.

        Returns:
            The variables. Release and version of the system are ``""``, as uv and PDM have them,
            but for Pyodide, where they belong to the platform.
        """
        system = _SYSTEMS[self.family]
        sys_platform = system.sys_platform
        if self.family == "freebsd" and python.minor < (3, 14):
            sys_platform += str(self.newest[0])
        pyodide = self.family == "pyodide"
        return {
            "os_name": system.os_name,
            "platform_machine": self.machine,
            "platform_release": _EMSCRIPTEN[python.minor] if pyodide else "",
            "platform_system": system.platform_system,
            "platform_version": "#1" if pyodide else "",
            "sys_platform": sys_platform,
        }

    def tags(self, python: Python) -> tuple[str, ...]:
        """The platform part of the tags of wheels that it takes, best first."""
        if self.family == "pyodide":
            return _PYODIDE_TAGS[python.minor]
        return _platform_tags(self)


@dataclass(frozen=True, slots=True)
class _System:
    os_name: str
    sys_platform: str
    platform_system: str
    noun: str = ""


_SYSTEMS: Mapping[Family, _System] = {
    "manylinux": _System("posix", "linux", "Linux", "glibc"),
    "musllinux": _System("posix", "linux", "Linux", "musl"),
    "macos": _System("posix", "darwin", "Darwin", "macOS"),
    "windows": _System("nt", "win32", "Windows"),
    "pyodide": _System("posix", "emscripten", "Emscripten"),
    "android": _System("posix", "android", "Android", "Android API level"),
    "ios": _System("posix", "ios", "iOS", "iOS"),
    "freebsd": _System("posix", "freebsd", "FreeBSD", "FreeBSD"),
}

# Each Pyodide ABI belongs to one minor version of Python.
_EMSCRIPTEN = {(3, 12): "3.1.58", (3, 13): "4.0.9", (3, 14): "5.0.3"}
_PYODIDE_TAGS = {
    (3, 12): ("pyodide_2024_0_wasm32", "emscripten_3_1_58_wasm32"),
    (3, 13): ("pyodide_2025_0_wasm32", "emscripten_4_0_9_wasm32"),
    (3, 14): ("pyemscripten_2026_0_wasm32", "emscripten_5_0_3_wasm32"),
}


def _linux(arch: str, *, tier: int = 3, note: str = "") -> Platform:
    first = 5 if arch in {"x86_64", "i686"} else 17
    return Platform(
        name=f"linux_{arch}",
        family="manylinux",
        machine=arch,
        tag=arch,
        tier=tier,
        oldest=(2, first),
        newest=(2, 43),
        note=note,
    )


def _musl(arch: str, *, tier: int = 3) -> Platform:
    return replace(
        _linux(arch, tier=tier),
        name=f"musllinux_{arch}",
        family="musllinux",
        oldest=(1, 0),
        newest=(1, 2),
    )


def _macos(arch: str, first: tuple[int, int]) -> Platform:
    return Platform(
        name=f"macos_{arch}",
        family="macos",
        machine=arch,
        tag=arch,
        tier=1,
        oldest=first,
        newest=(26, 0),
    )


def _windows(name: str, machine: str, tag: str, *, tier: int, note: str = "") -> Platform:
    return Platform(name=name, family="windows", machine=machine, tag=tag, tier=tier, note=note)


def _mobile(name: str, family: Family, machine: str, tag: str) -> Platform:
    oldest, newest = ((16,), (36,)) if family == "android" else ((12, 0), (26, 0))
    return Platform(
        name=name,
        family=family,
        machine=machine,
        tag=tag,
        oldest=oldest,
        newest=newest,
        pythons=((3, 13), (3, 99)),
    )


def _freebsd(arch: str) -> Platform:
    return Platform(
        name=f"freebsd_{arch}",
        family="freebsd",
        machine=arch,
        tag=arch,
        oldest=(4, 0),
        newest=(14, 3),
    )


LEGACY_MANYLINUX = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}

PLATFORMS: tuple[Platform, ...] = (
    _linux("x86_64", tier=1),
    _linux("aarch64", tier=1),
    _macos("arm64", (11, 0)),
    _macos("x86_64", (10, 4)),
    _windows("windows_amd64", "AMD64", "win_amd64", tier=1),
    _windows("windows_arm64", "ARM64", "win_arm64", tier=2),
    _windows("windows_x86", "x86", "win32", tier=2, note="32-bit Windows (AMD64 on a 64-bit one)"),
    _musl("x86_64", tier=2),
    _musl("aarch64", tier=2),
    _linux("armv7l", note="32-bit kernel"),
    _linux("i686", note="32-bit kernel"),
    _linux("ppc64le"),
    _linux("s390x"),
    _linux("riscv64"),
    _musl("armv7l"),
    _musl("i686"),
    _musl("ppc64le"),
    _musl("s390x"),
    _musl("riscv64"),
    Platform(
        name="pyodide_wasm32",
        family="pyodide",
        machine="wasm32",
        tag="wasm32",
        pythons=((3, 12), (3, 14)),
    ),
    _mobile("android_aarch64", "android", "aarch64", "arm64_v8a"),
    _mobile("android_x86_64", "android", "x86_64", "x86_64"),
    _mobile("ios_arm64", "ios", "arm64", "arm64_iphoneos"),
    _mobile("ios_arm64_simulator", "ios", "arm64", "arm64_iphonesimulator"),
    _mobile("ios_x86_64_simulator", "ios", "x86_64", "x86_64_iphonesimulator"),
    _freebsd("amd64"),
    _freebsd("arm64"),
)

_LEGACY_MANYLINUX = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}


def _linux_tags(platform: Platform) -> Iterator[str]:
    yield f"linux_{platform.tag}"
    for minor in range(platform.newest[1], platform.oldest[1] - 1, -1):
        yield f"{platform.family}_{platform.newest[0]}_{minor}_{platform.tag}"
        if platform.family == "manylinux" and minor in LEGACY_MANYLINUX:
            yield f"{LEGACY_MANYLINUX[minor]}_{platform.tag}"


def _android_tags(platform: Platform) -> Iterator[str]:
    # packaging's own generator asks the host, even when both arguments are given.
    for level in range(platform.newest[0], platform.oldest[0] - 1, -1):
        yield f"android_{level}_{platform.tag}"


def _freebsd_tags(platform: Platform) -> Iterator[str]:
    yield f"freebsd_{platform.newest[0]}_{platform.newest[1]}_release_{platform.tag}"


def _windows_tags(platform: Platform) -> Iterator[str]:
    yield platform.tag


def _macos_tags(platform: Platform) -> Iterator[str]:
    return mac_platforms((platform.newest[0], platform.newest[1]), platform.tag)


def _ios_tags(platform: Platform) -> Iterator[str]:
    return ios_platforms((platform.newest[0], platform.newest[1]), platform.tag)


_TAGS: Mapping[Family, Callable[[Platform], Iterator[str]]] = {
    "manylinux": _linux_tags,
    "musllinux": _linux_tags,
    "macos": _macos_tags,
    "windows": _windows_tags,
    "android": _android_tags,
    "ios": _ios_tags,
    "freebsd": _freebsd_tags,
}


@functools.lru_cache(maxsize=256)
def _platform_tags(platform: Platform) -> tuple[str, ...]:
    return tuple(_TAGS[platform.family](platform))

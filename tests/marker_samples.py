"""Markers and environments to try the space of all environments with, odd ones included.

``pytest --hypothesis-profile thorough`` draws many times more of them than an ordinary run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import product

from hypothesis import settings
from hypothesis import strategies as st
from packaging.markers import Marker

from distcycle.targets import (
    MARKER_VARIABLES,
    PLATFORMS,
    PYTHONS,
    Target,
    custom_target,
    make_target,
)

__all__ = ["LINUX", "MADE_UP", "MARKERS", "TABLE", "TARGETS", "examples", "holds", "place"]


def examples(number: int) -> settings:
    """Settings for a number of examples, multiplied as far as the profile asks for more."""
    return settings(max_examples=number * settings().max_examples // 100, deadline=None)


# Environments ------------------------------------------------------------------------------------

LINUX = {
    "implementation_name": "cpython",
    "implementation_version": "3.12.4",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_release": "6.1.0-13-amd64",
    "platform_system": "Linux",
    "platform_version": "#1 SMP",
    "python_full_version": "3.12.4",
    "python_version": "3.12",
    "sys_platform": "linux",
}


class _Sample(Target):
    """A target that shows all that decides, and not its hundreds of tags, when a test fails."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{self.name} {dict(self.environment)}"


def _sample(target: Target) -> Target:
    return _Sample(**{field.name: getattr(target, field.name) for field in fields(target)})


def place(values: Mapping[str, str] = LINUX, **changed: str) -> Target:
    """One made-up environment; its python_version follows from its python_full_version."""
    environment = {**LINUX, **values, **changed}
    minor = ".".join(environment["python_full_version"].split(".")[:2])
    return _sample(custom_target({**environment, "python_version": minor}, ["py3-none-any"]))


TABLE = tuple(
    _sample(make_target(platform, python))
    for platform, python in product(PLATFORMS, PYTHONS)
    if platform.has(python)
)
"""Every target that has a name."""

_PLATFORMS = [
    *(("posix", "linux", "Linux"), ("posix", "darwin", "Darwin"), ("nt", "win32", "Windows")),
    *(("posix", "cygwin", "CYGWIN_NT-10.0-19045"), ("posix", "msys", "MSYS_NT-10.0-22631")),
    *(("posix", "ios", "iOS"), ("posix", "ios", "iPadOS"), ("posix", "android", "Android")),
    *(("posix", "freebsd", "FreeBSD"), ("posix", "freebsd11", "FreeBSD")),
    *(("posix", "netbsd11", "NetBSD"), ("posix", "openbsd8", "OpenBSD")),
    *(("posix", "dragonfly6", "DragonFly"), ("posix", "aix", "AIX"), ("posix", "sunos5", "SunOS")),
    *(("posix", "haiku1", "Haiku"), ("posix", "gnu0", "GNU"), ("posix", "zos", "OS/390")),
    *(("posix", "wasi", "wasi"), ("posix", "emscripten", "Emscripten"), ("java", "java17", "Java")),
]
_MACHINES = [
    *("x86_64", "aarch64", "arm64", "AMD64", "ARM64", "amd64", "x86", "i686", "i386", "armv7l"),
    *("ppc64le", "s390x", "riscv64", "wasm32", "mips64", "sparc64", "z80", ""),
]
_IMPLEMENTATIONS = [
    *(("cpython", "CPython"), ("pypy", "PyPy"), ("graalpy", "GraalVM"), ("jython", "Jython")),
    *(("ironpython", "IronPython"), ("rustpython", "RustPython"), ("micropython", "MicroPython")),
]
_RELEASES = [
    *(f"3.{minor}.{micro}" for minor in range(8, 17) for micro in (0, 1, 4, 7, 10, 18, 25)),
    *("2.7.18", "3.5.10", "3.6.15", "3.7.17", "3.17.0", "3.19.3"),
]


def _made_up(
    system: tuple[str, str, str], machine: str, release: str, kind: tuple[str, str], own: str
) -> Target:
    return place(
        os_name=system[0],
        sys_platform=system[1],
        platform_system=system[2],
        platform_machine=machine,
        python_full_version=release,
        implementation_name=kind[0],
        platform_python_implementation=kind[1],
        implementation_version=release if kind[0] == "cpython" else "7.3.16",
        platform_release=own,
    )


MADE_UP = st.builds(
    _made_up,
    st.sampled_from(_PLATFORMS),
    st.sampled_from(_MACHINES),
    st.sampled_from(_RELEASES),
    st.sampled_from(_IMPLEMENTATIONS),
    st.sampled_from(["", "10", "6.1.0-13-amd64", "14.1-RELEASE", "6.1.0+rpt-rpi-v8"]),
)
TARGETS = st.sampled_from(TABLE) | MADE_UP


# Markers -----------------------------------------------------------------------------------------

_OPERATORS = ["==", "!=", "<", "<=", ">", ">=", "~=", "===", "in", "not in"]
_VERSIONS = [
    *("2", "2.7", "3", "3.1", "3.6.*", "3.8", "3.8.1", "3.8.10", "3.8.*", "3.9", "3.10", "3.11"),
    *("3.12.0", "3.13", "3.15.2", "3.16", "3.99", "4", "3.11.0a7", "3.13.0rc1", "3.12.post1"),
    *("3.10.0+local", "3.8.20.1", "3.9.0.0", "03.9", "v3.9", "1!3.8", ">=3.8", "3.8,3.9"),
    *("3.9, 3.12", "3.9 3.10", "99999999999.1", "3.99999999999", ""),
]
_WORDS = {
    "os_name": ["posix", "nt", "java", "os2", "o", ""],
    "sys_platform": [
        *("linux", "linux2", "win32", "win", "darwin", "cygwin", "bsd", "freebsd", "freebsd11"),
        *("netbsd11", "openbsd8", "sunos5", "aix", "haiku1", "emscripten", "Windows", "ios"),
        *("linux darwin", "linux,win32", "win32|cygwin", "a", ""),
    ],
    "platform_system": [
        *("Linux", "Windows", "Darwin", "FreeBSD", "NetBSD", "BSD", "Haiku", "Java", "iOS", "GNU"),
        *("CYGWIN", "SunOS", "Linux Darwin", "linux", ""),
    ],
    "platform_machine": [
        *("x86_64", "AMD64", "ARM64", "arm64", "aarch64", "x86", "i386", "64", "arm", "mips64"),
        *("x86_64 AMD64", "aarch64 arm64", "x86_64 aarch64 ppc64le", "sparc64", "z80", ""),
    ],
    "implementation_name": ["cpython", "pypy", "python", "graalpy", "rustpython", "py", ""],
    "platform_python_implementation": [
        *("CPython", "PyPy", "Python", "GraalVM", "RustPython", "PyPy GraalVM", "")
    ],
    "platform_release": ["10", "5", "6.1.0-13-amd64", "RELEASE", "amd64", ""],
    "platform_version": ["10.0", "#1 SMP", "SMP", "10", ""],
}


@st.composite
def _atoms(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(MARKER_VARIABLES))
    own = _WORDS.get(name, _VERSIONS)
    strange = draw(st.integers(0, 19)) == 0
    word = draw(st.sampled_from(_VERSIONS + _WORDS["sys_platform"] if strange else own))
    sides = [name, f'"{word}"']
    if draw(st.integers(0, 3)) == 0:
        sides.reverse()
    return f"{sides[0]} {draw(st.sampled_from(_OPERATORS))} {sides[1]}"


def _joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def join(texts: Sequence[str], word: str) -> str:
        return f"({word.join(texts)})"

    return st.builds(
        join, st.lists(parts, min_size=2, max_size=3), st.sampled_from([" and ", " or "])
    )


MARKERS = st.recursive(_atoms(), _joined, max_leaves=6).map(Marker)


def holds(marker: Marker, target: Target) -> bool:
    """What packaging finds."""
    return marker.evaluate_prepared(dict(target.environment))

"""Every name that pip, uv, PDM, pex, rules_python and Nix give a platform, and what it means.

A name is looked up whole, never by the nearest: an unknown one is refused.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from distcycle.errors import TargetError
from distcycle.targets.platforms import LEGACY_MANYLINUX, PLATFORMS, Family, Platform
from distcycle.targets.pythons import find_pythons, python_names

__all__ = ["find_platforms", "platform_names"]

# Words for a system and for a machine, the canonical one first. A name is made of one of each, in
# either order; so pip's, PDM's, Bazel's and Nix's names all follow.
_SYSTEM_WORDS = {
    "linux": ("linux", "manylinux"),
    "musllinux": ("musllinux", "alpine"),
    "macos": ("macos", "macosx", "osx", "darwin"),
    "windows": ("windows", "win"),
    "pyodide": ("pyodide", "emscripten"),
}
_MACHINE_WORDS = {
    "x86_64": ("x86_64", "amd64", "x64"),
    "amd64": ("amd64", "x86_64", "x64"),
    "aarch64": ("aarch64", "arm64"),
    "arm64": ("arm64", "aarch64"),
    "i686": ("i686", "i386", "x86", "x86_32"),
    "x86": ("x86", "i686", "i386", "x86_32"),
    "armv7l": ("armv7l", "armv7", "arm"),
    "ppc64le": ("ppc64le", "ppc"),
}
# What follows from no rule: short names (uv, PDM), and uv's triples.
_OTHER_NAMES = {
    "linux_x86_64": ("linux", "manylinux", "x86_64-unknown-linux-gnu"),
    "linux_aarch64": ("aarch64-unknown-linux-gnu",),
    "linux_riscv64": ("riscv64-unknown-linux", "riscv64-unknown-linux-gnu"),
    "macos_arm64": ("macos", "osx", "darwin", "aarch64-apple-darwin"),
    "macos_x86_64": ("x86_64-apple-darwin",),
    "windows_amd64": ("windows", "x86_64-pc-windows-msvc"),
    "windows_arm64": ("aarch64-pc-windows-msvc",),
    "windows_x86": ("win32", "i686-pc-windows-msvc"),
    "musllinux_x86_64": ("musllinux", "alpine", "x86_64-unknown-linux-musl"),
    "musllinux_aarch64": ("aarch64-unknown-linux-musl",),
    "pyodide_wasm32": ("pyodide",),
    "android_aarch64": ("aarch64-linux-android",),
    "android_x86_64": ("x86_64-linux-android",),
    "ios_arm64": ("arm64-apple-ios",),
    "ios_arm64_simulator": ("arm64-apple-ios-simulator",),
    "ios_x86_64_simulator": ("x86_64-apple-ios-simulator",),
}


@functools.lru_cache(maxsize=1)
def platform_names() -> Mapping[str, tuple[str, ...]]:
    """The names of every platform of the table, by canonical name; the canonical one first."""
    return {platform.name: tuple(dict.fromkeys(_names(platform.name))) for platform in PLATFORMS}


def _names(name: str) -> Iterator[str]:
    system, _, machine = name.partition("_")
    systems = _SYSTEM_WORDS.get(system, (system,))
    machines = _MACHINE_WORDS.get(machine, (machine,))
    yield name
    yield from _OTHER_NAMES.get(name, ())
    yield from (f"{s}_{m}" for s in systems for m in machines)
    yield from (f"{m}-{s}" for s in systems for m in machines)


@functools.lru_cache(maxsize=1)
def _by_name() -> Mapping[str, Platform]:
    return {
        _plain(name): platform for platform in PLATFORMS for name in platform_names()[platform.name]
    }


def _plain(name: str) -> str:
    return re.sub(r"[-.]", "_", name)


_WITH_PYTHON = re.compile(
    r"(?P<python>(?:cp|pp)\d{2,3}(?:\.\d+(?:(?:a|b|rc)\d+)?)?t?)[-_](?P<platform>.+)"
)
_PEX = re.compile(r"(?P<platform>.+)-(?P<implementation>cp|pp)-(?P<version>[\d.]+)-(?P<abi>\w+)")
_FREE_THREADED = "_freethreaded"
_PYODIDE_PYTHONS = {"2024": "cp312", "2025": "cp313", "2026": "cp314"}
_PYODIDE = re.compile(r"(?:wasm32_pyodide|pyodide_|pyemscripten_)(?P<abi>\d{4})(?:_0_wasm32)?")
_VERSIONED: tuple[tuple[Family, re.Pattern[str]], ...] = (
    ("manylinux", re.compile(r"manylinux(?P<version>_2_\d{1,2}|1|2010|2014)_(?P<machine>\w+)")),
    ("manylinux", re.compile(r"(?P<machine>\w+)_manylinux(?P<version>_2_\d{1,2}|1|2010|2014)")),
    ("musllinux", re.compile(r"musllinux(?P<version>_1_\d)_(?P<machine>\w+)")),
    ("macos", re.compile(r"macosx?(?P<version>_\d{2}_\d{1,2})_(?P<machine>\w+)")),
    ("android", re.compile(r"android(?P<version>_\d{2})_(?P<machine>\w+)")),
    ("ios", re.compile(r"ios(?P<version>_\d{2}_\d)_(?P<machine>\w+)")),
    ("freebsd", re.compile(r"freebsd(?P<version>_\d{1,2}_\d)_release_(?P<machine>\w+)")),
)


def find_platforms(name: str) -> tuple[Platform, ...]:
    """Find the platforms that a name means.

    Args:
        name: A canonical name; a wheel tag; a name or triple of uv; a name of PDM, rules_python or
            Nix; a platform of pex in four parts; or any of these with a Python before it
            (``cp311-linux_x86_64``, ``cp311_linux_x86_64``). A version in the name limits the
            wheels that are taken; without one it is the newest known.

    Returns:
        One platform; several for ``universal2``, and for ``_freethreaded`` without a Python.

    Raises:
        TargetError: Nothing has that name; the nearest names are given.
    """
    text = name.strip().lower()
    if match := _PEX.fullmatch(text):
        return _with_python(match["platform"], _pex_python(match), name)
    free_threaded = text.endswith(_FREE_THREADED)
    text = text.removesuffix(_FREE_THREADED)
    if match := _WITH_PYTHON.fullmatch(text):
        suffix = "t" if free_threaded and not match["python"].endswith("t") else ""
        return _with_python(match["platform"], match["python"] + suffix, name)
    if free_threaded:
        threaded = [python for python in python_names() if python.endswith("t")]
        return tuple(p for python in threaded for p in _with_python(text, python, name))
    return _find_plain(text, name)


def _pex_python(match: re.Match[str]) -> str:
    threads = "t" if re.fullmatch(r"cp\d+t", match["abi"]) else ""
    return f"{match['implementation']}{match['version']}{threads}"


def _with_python(platform: str, python: str, name: str) -> tuple[Platform, ...]:
    (found,) = find_pythons(python)
    platforms = _find_plain(platform, name)
    for each in platforms:
        if not each.has(found) or each.python not in {None, found}:
            raise TargetError(name, problem=f"Python {found.name} does not run on {each.name}:")
    return tuple(replace(each, python=found) for each in platforms)


def _find_plain(text: str, name: str) -> tuple[Platform, ...]:
    """The platforms of a name without Python; ``name`` is what the user wrote."""
    plain = _plain(text)
    if (platform := _by_name().get(plain)) is not None:
        return (platform,)
    if (match := _PYODIDE.fullmatch(plain)) and match["abi"] in _PYODIDE_PYTHONS:
        (python,) = find_pythons(_PYODIDE_PYTHONS[match["abi"]])
        return (replace(_by_name()["pyodide_wasm32"], python=python),)
    for family, pattern in _VERSIONED:
        if match := pattern.fullmatch(plain):
            found = _find_versioned(family, match["version"], match["machine"], name)
            if found:
                return found
    nearest = difflib.get_close_matches(plain, _by_name(), n=12, cutoff=0.6)
    suggestions = dict.fromkeys(_by_name()[match].name for match in nearest)
    raise TargetError(name, nearest=tuple(suggestions)[:3])


def _find_versioned(family: Family, version: str, machine: str, name: str) -> tuple[Platform, ...]:
    """The platforms of a family at a version, named by wheel tag; none for a strange machine."""
    newest = _legacy_version(version) or tuple(int(part) for part in version.strip("_").split("_"))
    rows = [row for row in PLATFORMS if row.family == family]
    if machine == "universal2":
        # The Intel half of such a wheel may be older than the first Apple silicon.
        return tuple(_at_version(row, max(newest, row.oldest)) for row in rows)
    return tuple(_not_too_old(row, newest, name) for row in rows if machine in _tag_words(row))


def _tag_words(row: Platform) -> set[str]:
    # An iPhone and its simulator have the same machine; only the tag tells them apart.
    machines = () if row.family == "ios" else _MACHINE_WORDS.get(row.machine, (row.machine,))
    return {row.tag, *machines}


def _not_too_old(row: Platform, newest: tuple[int, ...], name: str) -> Platform:
    if newest < row.oldest:
        oldest = _at_version(row, row.oldest)
        problem = f"Python on {row.name} begins with {oldest.assumed}:"
        raise TargetError(name, nearest=(oldest.name,), problem=problem)
    return _at_version(row, newest)


def _legacy_version(version: str) -> tuple[int, int] | None:
    for minor, name in LEGACY_MANYLINUX.items():
        if name == f"manylinux{version}":
            return (2, minor)
    return None


def _at_version(row: Platform, newest: tuple[int, ...]) -> Platform:
    word = {"macos": "macosx"}.get(row.family, row.family)
    release = "_release" if row.family == "freebsd" else ""
    version = "_".join(map(str, newest))
    return replace(row, name=f"{word}_{version}{release}_{row.tag}", row=row.name, newest=newest)

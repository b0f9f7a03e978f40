"""The values that each group of marker variables can take: the theory of environments.

Every value that some atom in use could tell from the others has a place here, and one value stands
for what nobody mentions. Versions of Python are final releases.

Source: PEP 508; what CPython and PyPy report on each platform.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from packaging.version import Version

from distcycle.markers.expressions import Atom

__all__ = [
    "IMPLEMENTATION",
    "MACHINE",
    "OTHER",
    "PLATFORM",
    "PYTHON",
    "implementations",
    "machines",
    "platforms",
    "pythons",
]

OTHER = "\x01other"
"""A value that nobody mentions."""

PLATFORM = ("os_name", "sys_platform", "platform_system")
MACHINE = ("platform_machine",)
PYTHON = ("python_version", "python_full_version")
IMPLEMENTATION = ("implementation_name", "platform_python_implementation")

_PLATFORMS: tuple[tuple[str, str, str], ...] = (
    ("posix", "linux", "Linux"),
    ("posix", "darwin", "Darwin"),
    ("nt", "win32", "Windows"),
    ("posix", "cygwin", "CYGWIN_NT-10.0"),
    ("posix", "emscripten", "Emscripten"),
    ("posix", "wasi", "wasi"),
    ("posix", "ios", "iOS"),
    ("posix", "ios", "iPadOS"),
    ("posix", "android", "Android"),
    ("posix", "aix", "AIX"),
    ("posix", "sunos5", "SunOS"),
    ("java", OTHER, "Java"),
    # sys.platform of a BSD carries its release (of FreeBSD only before Python 3.14), so it never
    # follows from platform_system.
    *(
        ("posix", f"{name}{release}", system)
        for name, system, releases in (
            ("freebsd", "FreeBSD", ("", "12", "13", "14", "15", OTHER)),
            ("netbsd", "NetBSD", ("9", "10", OTHER)),
            ("openbsd", "OpenBSD", ("7", OTHER)),
            ("dragonfly", "DragonFly", ("6", OTHER)),
        )
        for release in releases
    ),
    ("posix", OTHER, OTHER),
    (OTHER, OTHER, OTHER),
)

_WITH_RELEASE = ("FreeBSD", "NetBSD", "OpenBSD", "DragonFly", "SunOS", "AIX")
"""Systems whose sys.platform has, or once had, the number of a release at its end."""

_MACHINES: tuple[str, ...] = (
    *("x86_64", "aarch64", "arm64", "AMD64", "ARM64", "amd64", "x86", "i686", "i386"),
    *("armv7l", "armv6l", "ppc64le", "ppc64", "s390x", "riscv64", "loongarch64", "wasm32"),
    "",  # what cannot be determined; it is in every string
    OTHER,
)

_IMPLEMENTATIONS: tuple[tuple[str, str], ...] = (
    ("cpython", "CPython"),
    ("pypy", "PyPy"),
    ("graalpy", "GraalVM"),
    ("ironpython", "IronPython"),
    ("jython", "Jython"),
    ("rustpython", "RustPython"),
    (OTHER, OTHER),
)


def platforms(atoms: Iterable[Atom]) -> list[dict[str, str]]:
    """The platforms: what is known, and what the atoms mention."""
    rows = list(_PLATFORMS)
    mentioned = _unknown_words(atoms, PLATFORM, _PLATFORMS)
    for at, words in enumerate(mentioned):
        for word in words:
            rows += _unknown_platforms(at, word)
    rows += [("posix", name, system) for name, system in _alike(mentioned[1], mentioned[2])]
    rows += [("posix", name, system) for name, system in _alike(mentioned[1], _WITH_RELEASE)]
    return [dict(zip(PLATFORM, row, strict=True)) for row in dict.fromkeys(rows)]


def _unknown_platforms(at: int, word: str) -> Iterator[tuple[str, str, str]]:
    """Platforms of which only one name is known, on POSIX and on anything else."""
    for os_name in ("posix", OTHER):
        row = [os_name, OTHER, OTHER]
        row[at] = word
        yield row[0], row[1], row[2]
    if at == 1:
        yield "java", word, "Java"


def _unknown_words(
    atoms: Iterable[Atom], variables: tuple[str, ...], rows: Iterable[tuple[str, ...]]
) -> list[list[str]]:
    """For each variable the values that atoms mention and no row has."""
    known = [set(column) for column in zip(*rows, strict=True)]
    found: list[dict[str, None]] = [{} for _ in variables]
    for atom in atoms:
        at = variables.index(atom.variable)
        found[at].update((word, None) for word in _words(atom) if word not in known[at])
    return [list(words) for words in found]


def _alike(names: Iterable[str], labels: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs that one environment may report: ``haiku1`` and ``Haiku``."""
    labels = list(labels)
    for name in names:
        stem = name.rstrip("0123456789")
        for label in labels:
            if label.lower() == stem:
                yield name, label


def machines(atoms: Iterable[Atom]) -> list[dict[str, str]]:
    """The machines: what is known, and what the atoms mention."""
    mentioned = (word for atom in atoms for word in _words(atom))
    return [{"platform_machine": name} for name in dict.fromkeys((*_MACHINES, *mentioned))]


def implementations(atoms: Iterable[Atom]) -> list[dict[str, str]]:
    """The implementations: what is known, and what the atoms mention."""
    names, labels = _unknown_words(atoms, IMPLEMENTATION, _IMPLEMENTATIONS)
    rows = [*_IMPLEMENTATIONS, *_alike(names, labels)]
    rows += [*((name, OTHER) for name in names), *((OTHER, label) for label in labels)]
    return [dict(zip(IMPLEMENTATION, row, strict=True)) for row in rows]


def _words(atom: Atom) -> Iterator[str]:
    """The values that an atom may be about: its literal, and for ``in`` each word of it."""
    yield atom.literal
    if atom.operator in {"in", "not in"} and not atom.reversed:
        yield from (word for word in re.split(r"[\s,|]+", atom.literal) if word)


_VERSION = re.compile(r"\d+(?:\.\d+)*")
_LAST_MINOR = 20
_LAST_MICRO = 99


def pythons(literals: Iterable[str]) -> list[dict[str, str]]:
    """Final releases of Python 2.7 and 3 on both sides of every version that a literal mentions."""
    points = {(2, 7, 18)}
    for minor in range(_LAST_MINOR + 1):
        points |= {(3, minor, 0), (3, minor, _LAST_MICRO)}
    for literal in literals:
        for text in _VERSION.findall(literal):
            points.update(_around(text))
    return [
        {"python_version": f"{x}.{y}", "python_full_version": f"{x}.{y}.{z}"}
        for x, y, z in sorted(points)
    ]


def _around(text: str) -> Iterator[tuple[int, int, int]]:
    try:
        release = Version(text).release
    except ValueError:  # more digits than Python turns into a number
        return
    major, minor, micro = (*release, 0, 0)[:3]
    if major not in {2, 3} or max(minor, micro) > 10**6:
        return
    yield from ((major, minor, 0), (major, minor, micro), (major, minor, micro + 1))
    yield major, minor + 1, 0
    yield (major, minor, micro - 1) if micro else (major, max(minor - 1, 0), _LAST_MICRO)
    # "3.8.1" is in "3.8.10": a longer micro version holds each of its own beginnings.
    digits = str(micro)
    for length in range(1, len(digits)):
        prefix = int(digits[:length])
        yield from ((major, minor, z) for z in (prefix - 1, prefix, prefix + 1) if z >= 0)

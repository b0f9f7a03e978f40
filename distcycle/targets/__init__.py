"""Targets: complete environments with a name, each a platform and a Python.

Nothing here looks at the host. The host, when it is asked for, is a target like any other, made by
:mod:`distcycle.host` and handed in.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from packaging.specifiers import SpecifierSet

from distcycle.errors import InputError, TargetError
from distcycle.targets.names import find_platforms, platform_names
from distcycle.targets.platforms import PLATFORMS, Platform
from distcycle.targets.pythons import PYTHONS, Python, admitted_pythons, find_pythons

__all__ = [
    "MARKER_VARIABLES",
    "PLATFORMS",
    "PYTHONS",
    "Platform",
    "PlatformDescription",
    "Python",
    "Target",
    "custom_target",
    "describe_targets",
    "expand_tags",
    "find_platforms",
    "find_pythons",
    "make_target",
    "make_targets",
    "read_target",
    "tag_ranks",
]

MARKER_VARIABLES: tuple[str, ...] = (
    "implementation_name",
    "implementation_version",
    "os_name",
    "platform_machine",
    "platform_python_implementation",
    "platform_release",
    "platform_system",
    "platform_version",
    "python_full_version",
    "python_version",
    "sys_platform",
)


_LONGEST_NAME = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One complete environment; equal to another when the name is.

    Attributes:
        name: Such as ``cp311-linux_x86_64``; it decides everything else. A target that does not
            come from the table has ``@host`` or ``@`` and a digest of its content at the end.
        platform: The platform's name, such as ``linux_x86_64`` or ``manylinux_2_17_x86_64``.
        base: Its name in the table, without a version: ``linux_x86_64`` for either.
        python: The Python's name, such as ``cp311``, ``cp313t`` or ``pp311``.
        environment: All eleven marker variables.
        tags: The tags of the wheels that it takes, such as
            ``cp311-cp311-manylinux_2_17_x86_64``, best first.
        assumed: What stands for what the name leaves open, such as ``glibc 2.43``.
        tier: 1 for what is judged when no platform is named, 2 for what is common, else 3.

    Raises:
        ValueError: A marker variable is missing, or there are no tags.
    """

    name: str
    platform: str = field(compare=False)
    base: str = field(compare=False, repr=False)
    python: str = field(compare=False)
    environment: Mapping[str, str] = field(compare=False, repr=False)
    tags: tuple[str, ...] = field(compare=False, repr=False)
    assumed: str = field(default="", compare=False, repr=False)
    tier: int = field(default=3, compare=False, repr=False)

    def __post_init__(self) -> None:
        missing = [name for name in MARKER_VARIABLES if name not in self.environment]
        if missing or not self.tags:
            raise ValueError(f"{self.name} lacks {', '.join(missing) or 'tags'}")


@functools.lru_cache(maxsize=512)
def tag_ranks(target: Target) -> Mapping[str, int]:
    """The place of each of a target's wheel tags among them, 0 for the best."""
    return {tag: rank for rank, tag in reversed(list(enumerate(target.tags)))}


@functools.lru_cache(maxsize=65536)
def expand_tags(compressed: str) -> tuple[str, ...]:
    """All tags of a compressed tag set such as ``py2.py3-none-any``; none when malformed.

    One that is longer than a file's name can be is malformed: it may stand for more tags than
    there is room for.
    """
    parts = compressed.lower().split("-")
    if len(parts) != 3 or len(compressed) > _LONGEST_NAME:
        return ()
    return tuple(map("-".join, itertools.product(*(part.split(".") for part in parts))))


@functools.lru_cache(maxsize=512)
def make_target(platform: Platform, python: Python) -> Target:
    """Make the target of a platform and a Python.

    Raises:
        TargetError: That Python does not run on that platform.
    """
    name = f"{python.name}-{platform.name}"
    if not platform.has(python):
        problem = f"Python {python.name} does not run on {platform.name}:"
        raise TargetError(name, problem=problem)
    environment = platform.environment(python) | python.environment
    return Target(
        name=name,
        platform=platform.name,
        base=platform.base,
        python=python.name,
        environment=MappingProxyType(dict(sorted(environment.items()))),
        tags=tuple(_wheel_tags(platform, python)),
        assumed=platform.assumed,
        tier=platform.tier,
    )


def _wheel_tags(platform: Platform, python: Python) -> list[str]:
    """The tags of wheels for a Python on a platform, in the order that packaging gives them.

    Source: https://packaging.python.org/specifications/platform-compatibility-tags/
    """
    platforms = platform.tags(python)
    major, minor = python.minor
    pure = [f"py{major}{minor}", f"py{major}", *(f"py{major}{n}" for n in range(minor - 1, -1, -1))]
    # packaging names no minor version here for PyPy.
    interpreter = python.tag if python.implementation == "cpython" else f"pp{major}"
    heads = [*_native_heads(platform, python), *(f"{tag}-none" for tag in pure)]
    tags = [f"{head}-{tag}" for head in heads for tag in platforms]
    return [*tags, f"{interpreter}-none-any", *(f"{tag}-none-any" for tag in pure)]


def _native_heads(platform: Platform, python: Python) -> list[str]:
    """Interpreter and ABI of wheels with extension modules."""
    tag, abi = python.tag, python.abi
    if python.minor == (2, 7) and platform.family not in {"manylinux", "musllinux"}:
        abi = "cp27m"
    heads = [f"{tag}-{abi}"]
    if python.implementation == "cpython" and python.minor >= (3, 2):
        stable = "abi3t" if python.abi.endswith("t") else "abi3"
        older = [f"cp3{minor}-{stable}" for minor in range(python.minor[1] - 1, 1, -1)]
        return [*heads, f"{tag}-{stable}", f"{tag}-none", *older]
    return [*heads, f"{tag}-none"]


def make_targets(
    platforms: Sequence[str | Target] = (),
    python_versions: Sequence[str] = (),
    *,
    admits: SpecifierSet | None = None,
    host: Target | None = None,
) -> tuple[Target, ...]:
    """Make the targets that are asked for, every platform with every Python.

    Args:
        platforms: Names (see :func:`find_platforms`), ``host``, or targets that were read from a
            file. A name with a Python of its own is not multiplied, nor is a target. Without any:
            tier 1.
        python_versions: See :func:`find_pythons`. Without any: CPython 3.8 to 3.15 as far as
            ``admits`` goes, see :func:`~distcycle.targets.pythons.admitted_pythons`.
        admits: The versions of Python that the input is for; it bounds only what is not named.
        host: This machine's target, for the name ``host``.

    Returns:
        Each target once, in the order of the platforms, then of the Pythons.

    Raises:
        TargetError: A name is unknown, a named Python does not run on a platform, or no known
            Python is admitted.
    """
    named = tuple(python for version in python_versions for python in find_pythons(version))
    targets: dict[str, Target] = {}
    for wanted in platforms or [platform.name for platform in PLATFORMS if platform.tier == 1]:
        for target in _targets_of(wanted, named, admits, host):
            targets.setdefault(target.name, target)
    return tuple(targets.values())


def _targets_of(
    wanted: str | Target,
    named: tuple[Python, ...],
    admits: SpecifierSet | None,
    host: Target | None,
) -> list[Target]:
    if isinstance(wanted, str) and wanted.strip().lower() == "host" and host is not None:
        wanted = host
    if isinstance(wanted, Target):
        return [wanted]
    targets = []
    for platform in find_platforms(wanted):
        if platform.python is not None:
            pythons: tuple[Python, ...] = (platform.python,)
        else:
            pythons = named or _default_pythons(platform, admits)
        targets += [make_target(platform, python) for python in pythons]
    return targets


def _default_pythons(platform: Platform, admits: SpecifierSet | None) -> tuple[Python, ...]:
    pythons = tuple(python for python in admitted_pythons(admits) if platform.has(python))
    if not pythons:
        problem = f"no Python that {admits} admits runs on"
        raise TargetError(platform.name, problem=problem)
    return pythons


def custom_target(
    environment: Mapping[str, str], tags: Sequence[str], *, label: str | None = None
) -> Target:
    """Make a target of values that were seen somewhere, not taken from the table.

    Args:
        environment: All eleven marker variables; others are left out. The version of a Python that
            was built from a working tree, such as ``3.15.0a2+``, is completed to one.
        tags: Wheel tags, best first.
        label: Ends the name, after an ``@``; a digest of the values when None.

    Returns:
        The target.

    Raises:
        ValueError: A marker variable is missing, there are no tags, or the best is none.
    """
    values = {name: environment[name] for name in MARKER_VARIABLES if name in environment}
    if values.get("python_full_version", "").endswith("+"):
        # What a build from a working tree calls itself is no version; packaging says so too.
        values["python_full_version"] += "local"
    if label is None:
        content = json.dumps([values, list(tags)], sort_keys=True).encode()
        label = hashlib.sha256(content).hexdigest()[:8]
    prefix = {"cpython": "cp", "pypy": "pp"}.get(
        values.get("implementation_name", ""), values.get("implementation_name", "")
    )
    _, abi, platform = (tags[0] if tags else "--").split("-")
    threads = "t" if re.fullmatch(r"cp\d+t", abi) else ""
    python = f"{prefix}{values.get('python_version', '').replace('.', '')}{threads}"
    return Target(
        name=f"{python}-{platform}@{label}",
        platform=platform,
        base=_base_of(platform),
        python=python,
        environment=MappingProxyType(values),
        tags=tuple(tags),
    )


def _base_of(tag: str) -> str:
    """The table's name for the platform of a wheel tag; the tag itself where it has none."""
    try:
        return find_platforms(tag)[0].base
    except TargetError:
        return tag


def read_target(text: str, *, path: str | None = None) -> Target:
    """Read a complete platform of pex (``pex3 interpreter inspect --markers --tags``).

    Args:
        text: A JSON object with ``marker_environment`` and ``compatible_tags``.
        path: The file, as the user named it; for errors.

    Returns:
        The target.

    Raises:
        InputError: The text is not that.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("not a complete platform: not valid JSON", path=path) from None
    if not isinstance(document, dict):
        raise InputError("not a complete platform: expected an object", path=path)
    environment, tags = document.get("marker_environment"), document.get("compatible_tags")
    if not isinstance(environment, dict):
        raise InputError("expected an object", path=path, key="marker_environment")
    for name in MARKER_VARIABLES:
        if not isinstance(environment.get(name), str):
            raise InputError("expected a string", path=path, key=f"marker_environment.{name}")
    if not isinstance(tags, list) or not tags:
        raise InputError("expected an array of wheel tags", path=path, key="compatible_tags")
    for i, tag in enumerate(tags):
        if not isinstance(tag, str) or not re.fullmatch(r"[\w.]+-[\w.]+-[\w.]+", tag):
            problem = "expected a wheel tag such as cp311-none-any"
            raise InputError(problem, path=path, key=f"compatible_tags[{i}]")
    return custom_target(environment, tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformDescription:
    """A row of the listing of platforms.

    Attributes:
        name: The canonical name.
        tier: See :class:`Target`.
        names: Every other name that means the same.
        versioned: A name that limits the wheels to a version, as a pattern such as
            ``manylinux_2_N_x86_64``; None where there is none.
        assumed: What stands for what the name leaves open.
        pythons: The Pythons that run on it.
        environment: The marker variables, with the newest default Python that runs on it.
    """

    name: str
    tier: int
    names: tuple[str, ...]
    versioned: str | None
    assumed: str
    pythons: tuple[str, ...]
    environment: Mapping[str, str]


_VERSIONED_NAMES = {
    "manylinux": "manylinux_2_N_{tag}",
    "musllinux": "musllinux_1_N_{tag}",
    "macos": "macosx_N_N_{tag}",
    "android": "android_N_{tag}",
    "ios": "ios_N_N_{tag}",
    "freebsd": "freebsd_N_N_release_{tag}",
}


def describe_targets() -> tuple[PlatformDescription, ...]:
    """Describe every platform of the table, in its order."""
    return tuple(_describe(platform) for platform in PLATFORMS)


def _describe(platform: Platform) -> PlatformDescription:
    pythons = [python for python in PYTHONS if platform.has(python)]
    newest = [python for python in pythons if python.default][-1]
    pattern = _VERSIONED_NAMES.get(platform.family)
    return PlatformDescription(
        name=platform.name,
        tier=platform.tier,
        names=platform_names()[platform.name][1:],
        versioned=pattern.format(tag=platform.tag) if pattern else None,
        assumed=platform.assumed,
        pythons=tuple(python.name for python in pythons),
        environment=make_target(platform, newest).environment,
    )

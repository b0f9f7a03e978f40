"""The tags of a wheel that holds the files of several: it must run only where all of them do.

Source: Platform compatibility tags, PEP 425, 600, 656,
https://packaging.python.org/specifications/platform-compatibility-tags/
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable

from packaging.tags import Tag

from distcycle.errors import InputError

__all__ = ["compress_tags", "intersect_tags"]

_PYTHON = re.compile(r"([a-z]+)(\d)(\d*)\Z")
_LIBC = re.compile(r"(manylinux|musllinux)_(\d+)_(\d+)_(\w+)\Z")
_MACOS = re.compile(r"macosx_(\d+)_(\d+)_(\w+)\Z")
_LEGACY = {"manylinux1": "2_5", "manylinux2010": "2_12", "manylinux2014": "2_17"}
_MACOS_PARTS = {"universal2": {"x86_64", "arm64"}}


def intersect_tags(wheels: Iterable[frozenset[Tag]]) -> frozenset[Tag]:
    """Where all of several wheels can be installed.

    Args:
        wheels: The tags of each.

    Returns:
        The most general tags that every wheel admits; none when no environment admits all.
    """
    first, *others = wheels
    return functools.reduce(_meet_sets, others, first)


def _meet_sets(left: frozenset[Tag], right: frozenset[Tag]) -> frozenset[Tag]:
    met = {_meet(a, b) for a, b in itertools.product(left, right)} - {None}
    tags = frozenset(tag for tag in met if tag is not None)
    return frozenset(
        tag for tag in tags if not any(_exceeds(other, tag) for other in tags if other != tag)
    )


def _exceeds(general: Tag, special: Tag) -> bool:
    """Whether a tag admits all that another does, and more."""
    return _meet(general, special) == special and _meet(special, general) != general


def _meet(left: Tag, right: Tag) -> Tag | None:
    """The tag of the environments that two tags have in common; of equal ones the first."""
    platform = _meet_platforms(left.platform, right.platform)
    if platform is None:
        return None
    python = _meet_pythons(left, right)
    return None if python is None else Tag(*python, platform)


def _meet_pythons(left: Tag, right: Tag) -> tuple[str, str] | None:
    """Interpreter and ABI of the Pythons that both tags are for."""
    if _runs(right, left):
        return left.interpreter, left.abi
    if _runs(left, right):
        return right.interpreter, right.abi
    if left.abi == "none":
        left, right = right, left
    own, other = _python(left.interpreter), _python(right.interpreter)
    if own is None or other is None or (left.abi, right.abi) != ("abi3", "none"):
        return None
    # The stable ABI since an earlier Python, and any build of a later one.
    if other[0] not in {"py", "cp"} or own[1] != other[1] or own[2] > other[2]:
        return None
    interpreter = f"cp{right.interpreter[2:]}"
    return (interpreter, "abi3") if other[0] == "py" else (interpreter, interpreter)


def _runs(general: Tag, special: Tag) -> bool:
    """Whether every Python that a tag is for also takes the other one's interpreter and ABI."""
    if (general.interpreter, general.abi) == (special.interpreter, special.abi):
        return True
    own, other = _python(general.interpreter), _python(special.interpreter)
    if own is None or other is None:
        return False
    if general.abi == "none" and own[0] == "py":
        # py3 is taken by every Python 3, py38 by 3.8 and all that follow.
        return own[1] == other[1] and own[2] <= other[2]
    if general.abi == "none":
        return own == other
    newer = own[:2] == other[:2] and own[2] <= other[2]
    # The stable ABI is not that of builds without the lock (cp313t).
    return (
        general.abi == "abi3"
        and newer
        and special.abi in {"abi3", special.interpreter, f"{special.interpreter}m"}
    )


def _python(interpreter: str) -> tuple[str, int, int] | None:
    match = _PYTHON.match(interpreter)
    return None if match is None else (match[1], int(match[2]), int(match[3] or 0))


def _meet_platforms(left: str, right: str) -> str | None:
    if right in {left, "any"}:
        return left
    if left == "any":
        return right
    return _meet_linux(left, right) or _meet_macos(left, right)


def _meet_linux(left: str, right: str) -> str | None:
    """Of two Linux platforms, the one with the newer libc."""
    own, other = _libc(left), _libc(right)
    if own is None or other is None or own[2] != other[2]:
        return None
    if own[0] != other[0]:
        # linux_* is taken by every libc.
        return left if other[0] == "linux" else right if own[0] == "linux" else None
    return left if own[1] >= other[1] else right


def _libc(platform: str) -> tuple[str, tuple[int, int], str] | None:
    for old, version in _LEGACY.items():
        if platform.startswith(f"{old}_"):
            platform = platform.replace(old, f"manylinux_{version}", 1)
    if match := _LIBC.match(platform):
        return match[1], (int(match[2]), int(match[3])), match[4]
    family, _, machine = platform.partition("_")
    return (family, (0, 0), machine) if family == "linux" else None


def _meet_macos(left: str, right: str) -> str | None:
    """The newer version, for the machines that both are for."""
    own, other = _MACOS.match(left), _MACOS.match(right)
    if own is None or other is None:
        return None
    version = max((int(own[1]), int(own[2])), (int(other[1]), int(other[2])))
    machines = {own[3], other[3]}
    if len(machines) == 2:
        machines = _macos_parts(own[3]) & _macos_parts(other[3])
    if len(machines) != 1:
        return None
    return f"macosx_{version[0]}_{version[1]}_{machines.pop()}"


def _macos_parts(machine: str) -> set[str]:
    return _MACOS_PARTS.get(machine, {machine})


def compress_tags(tags: Iterable[Tag]) -> str:
    """Tags as a file name has them.

    Args:
        tags: The tags; at least one.

    Returns:
        Such as ``py2.py3-none-any``.

    Raises:
        InputError: Expanded again, the name would claim more than these.
    """
    tags = frozenset(tags)
    parts = [
        sorted({getattr(tag, part) for tag in tags}) for part in ("interpreter", "abi", "platform")
    ]
    claimed = {Tag(*words) for words in itertools.product(*parts)}
    if claimed != tags:
        listed = ", ".join(sorted(map(str, tags)))
        raise InputError(f"no file name can tell these tags together: {listed}")
    return "-".join(".".join(part) for part in parts)

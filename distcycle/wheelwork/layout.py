"""Where the files of several wheels go in one, and which of them stand in each other's way.

Source: Binary distribution format, "The .data directory",
https://packaging.python.org/specifications/binary-distribution-format/
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from distcycle.errors import InputError
from distcycle.wheelwork.archives import Wheel

__all__ = ["File", "is_purelib", "lay_out", "top_level", "unlike"]

_LIBRARIES = ("purelib", "platlib")
_MODULES = (".py", ".pyi", ".so", ".pyd", ".pyc")


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file of one wheel and where an installer puts it.

    Attributes:
        wheel: The wheel.
        member: The file in it.
        scheme: Its installation scheme, such as ``purelib`` or ``scripts``.
        path: Its path in there.
        digest: The sha256 of its content.
    """

    wheel: Wheel
    member: zipfile.ZipInfo
    scheme: str
    path: str
    digest: bytes

    @property
    def place(self) -> tuple[str, str]:
        """What two files must not share; both libraries are one folder nearly everywhere."""
        return ("library" if self.scheme in _LIBRARIES else self.scheme), self.path

    def name(self, root: str, data: str) -> str:
        """Its name in a wheel with that scheme at its root and that ``.data`` folder."""
        return self.path if self.scheme == root else f"{data}/{self.scheme}/{self.path}"


def is_purelib(wheel: Wheel) -> bool:
    """Whether a wheel's root is installed where pure modules are.

    Raises:
        InputError: It does not say so, or is of a later version of the format.
    """
    fields = {header.name: header.value for header in wheel.headers("WHEEL")}
    if fields.get("wheel-version", "").partition(".")[0] != "1":
        said = fields.get("wheel-version")
        raise wheel.error(f"expected Wheel-Version 1, found {said}", key="WHEEL")
    root = fields.get("root-is-purelib", "").lower()
    if root not in {"true", "false"}:
        raise wheel.error(f"Root-Is-Purelib: expected true or false, found {root!r}", key="WHEEL")
    return root == "true"


def lay_out(wheels: Iterable[Wheel]) -> tuple[File, ...]:
    """All files of wheels but those about a wheel itself, each once.

    Args:
        wheels: The wheels.

    Returns:
        The files, in the order of the wheels and of their members.

    Raises:
        InputError: Two wheels have different files in one place.
    """
    placed: dict[tuple[str, str], File] = {}
    for wheel in wheels:
        for file in _files(wheel):
            first = placed.setdefault(file.place, file)
            if first.digest != file.digest:
                raise _conflict(first, file, "have different files of this name")
    _expect_room(tuple(placed.values()))
    return tuple(placed.values())


def _files(wheel: Wheel) -> Iterator[File]:
    root = "purelib" if is_purelib(wheel) else "platlib"
    for member in wheel.members:
        top, _, rest = member.filename.partition("/")
        if member.is_dir() or top == wheel.info:
            continue
        scheme, path = root, member.filename
        if top == wheel.data:
            scheme, _, path = rest.partition("/")
        if not path:
            raise wheel.error("a file of no installation scheme", key=member.filename)
        digest = wheel.digest(member)
        yield File(wheel=wheel, member=member, scheme=scheme, path=path, digest=digest)


def _expect_room(files: Sequence[File]) -> None:
    """Source: file systems of Windows and macOS tell no upper-case letters from lower-case ones."""
    folded: dict[tuple[str, str], File] = {}
    for file in files:
        first = folded.setdefault((file.place[0], file.path.casefold()), file)
        if first.path != file.path and first.wheel is not file.wheel:
            raise _conflict(first, file, f"differ in letter case only, {first.path}")
    for file in files:
        folder = file.path.casefold()
        while folder := folder.rpartition("/")[0]:
            first = folded.get((file.place[0], folder), file)
            if first is not file:
                raise _conflict(first, file, f"have a file and a folder of one name, {first.path}")


def _conflict(first: File, second: File, problem: str) -> InputError:
    return InputError(f"{first.wheel.label} and {second.wheel.label} {problem}", key=second.path)


def unlike(scripts: Iterable[str], files: Iterable[File]) -> None:
    """Refuse entry points that would overwrite files.

    Args:
        scripts: The names of scripts that an installer makes.
        files: The files.

    Raises:
        InputError: There is a script of that name among the files.
    """
    made = set(scripts)
    for file in files:
        if file.scheme == "scripts" and file.path in made:
            raise InputError(
                f"{file.wheel.label} has a script that is an entry point of another wheel too",
                key=file.path,
            )


def top_level(wheel: Wheel, files: Iterable[File]) -> set[str]:
    """The import names of a wheel, as it declares them or, where it does not, as its files tell.

    Args:
        wheel: The wheel.
        files: Its files.
    """
    if wheel.has("top_level.txt"):
        return set(wheel.read("top_level.txt").decode("utf-8", "replace").split())
    names = set()
    for file in files:
        if file.place[0] == "library" and file.path.endswith(_MODULES):
            names.add(file.path.partition("/")[0].partition(".")[0])
    return {name for name in names if name.isidentifier()}

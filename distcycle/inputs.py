"""Opens files and chooses their readers; writes files whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.errors import InputError, UnknownFormat
from distcycle.lines import find_lines
from distcycle.metadata.urls import is_url
from distcycle.model import Place, Snapshot, SyntaxKind
from distcycle.readers import READERS, Document, decode_utf8, find_reader
from distcycle.readers.references import without_credentials
from distcycle.readers.requirements import read as read_lines

__all__ = [
    "append_text",
    "find_input",
    "find_unlocked",
    "read",
    "read_bytes",
    "read_environment",
    "read_locked",
    "read_requirement",
    "read_since",
    "read_text",
    "read_wheelhouse",
    "write_text",
]


_ENDS_OF_FILES = (".txt", ".in", ".toml", ".lock", ".json")


def read(path: str, *, kind: str | None = None) -> Snapshot:
    """Read an input: a file, a directory of wheels, a virtual environment, a project, or ``-``.

    Args:
        path: The input. A directory is an environment when it holds one, wheels when it holds
            wheels, else a project in which one lock stands.
        kind: A reader's name; by default the kind is told from the name and the content.

    Returns:
        The input as read.

    Raises:
        InputError: It cannot be read, with file, line and what was expected.
    """
    if is_url(path):
        raise InputError("is a URL, and only files are read", path=without_credentials(path))
    if path == "-":
        return _parse(Document(path="<stdin>", data=sys.stdin.buffer.read()), kind)
    place = Path(path)
    if kind == "environment" or (kind is None and _is_environment(place)):
        return read_environment(path)
    if kind == "wheelhouse" or (kind is None and place.is_dir() and any(place.glob("*.whl"))):
        return read_wheelhouse(path)
    if place.is_dir():
        return read(find_input(path), kind=kind)
    document = Document(
        path=path,
        data=read_bytes(place, path),
        beside=lambda name: _read_beside(path, name),
        environ=MappingProxyType(os.environ),
    )
    return _parse(document, kind)


def _is_environment(place: Path) -> bool:
    if not place.is_dir():
        return False
    return (place / "pyvenv.cfg").is_file() or any(place.glob("*.dist-info"))


def read_bytes(place: Path, shown: str) -> bytes:
    """Read a file.

    Args:
        place: The file.
        shown: What to call it.

    Raises:
        InputError: It cannot be read.
    """
    try:
        return place.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=shown) from None
    except ValueError:
        raise InputError("cannot be read: not a file name", path=shown) from None


def _read_beside(path: str, name: str) -> tuple[str, bytes] | None:
    shown = os.path.normpath(os.path.join(os.path.dirname(path), name))
    try:
        return shown, Path(shown).read_bytes()
    except (OSError, ValueError):
        return None


def _parse(document: Document, kind: str | None) -> Snapshot:
    reader = find_reader(document, kind)
    try:
        return reader.read(document)
    except InputError as error:
        if error.line is None and error.key is not None and error.path == document.path:
            error.line = _line_of(document, error.key)
        raise


def _line_of(document: Document, key: str) -> int | None:
    text = document.data.decode("utf-8-sig", "replace")
    syntax: SyntaxKind = "json" if text.lstrip().startswith("{") else "toml"
    return find_lines(text, syntax, [key]).get(key)


def read_environment(path: str | None = None, *, python: str | None = None) -> Snapshot:
    """Read the distributions that are installed in an environment.

    Args:
        path: A virtual environment or a site-packages folder; None for the running interpreter's.
        python: An interpreter whose environment is meant.

    Raises:
        InputError: There is no such environment.
    """
    from distcycle.readers import environment

    return environment.read_environment(path, python=python)


def read_wheelhouse(path: str) -> Snapshot:
    """Read a directory of wheels and source distributions.

    Raises:
        InputError: There is no such directory.
    """
    from distcycle.readers import wheelhouse

    return wheelhouse.read_wheelhouse(path)


def read_requirement(text: str) -> Snapshot:
    """Read a requirement that is given in place of an input, in any form that pip takes.

    Args:
        text: The requirement.

    Raises:
        InputError: It is none.
    """
    shown = without_credentials(text)
    if shown.endswith(_ENDS_OF_FILES):
        raise InputError("cannot be read: No such file or directory", path=shown)
    snapshot = read_lines(Document(path=shown, data=text.encode("utf-8", "replace")))
    if snapshot.problems or len(snapshot.roots or ()) != 1:
        problem = snapshot.problems[0].message if snapshot.problems else "expected one requirement"
        raise InputError(f"neither a file nor a requirement: {problem}", path=shown)
    place = Place(path=shown)
    (root,) = snapshot.roots or ()
    return replace(
        snapshot,
        kind="requirement",
        packages=tuple(replace(package, place=place) for package in snapshot.packages),
        roots=(replace(root, requirement=replace(root.requirement, place=place)),),
        complete=False,
    )


def find_unlocked(folder: str) -> str:
    """Find the one file in a project's folder that says what the project requires.

    Args:
        folder: The folder, ``.`` for the working directory.

    Returns:
        Its path.

    Raises:
        UnknownFormat: There is none, or more than one.
    """
    found = [n for n in ("pyproject.toml", "requirements.in") if Path(folder, n).is_file()]
    if not found and Path(folder, "requirements.txt").is_file():
        found = ["requirements.txt"]
    if len(found) != 1:
        expected = "more than one of them is here" if found else "there is none here"
        problem = f"expected pyproject.toml, requirements.in or requirements.txt, and {expected}"
        raise UnknownFormat(f"{problem}; name the input", path=folder)
    return found[0] if folder == "." else os.path.join(folder, found[0])


def find_input(folder: str) -> str:
    """Find the one lock that stands in a project's folder.

    Args:
        folder: The folder, ``.`` for the working directory.

    Returns:
        Its path.

    Raises:
        UnknownFormat: There is none, or more than one.
    """
    names = sorted(entry.name for entry in Path(folder).iterdir() if entry.is_file())
    locks = [name for name in names if any(_is_lock(name, r.kind) for r in READERS)]
    if not locks:
        locks = [name for name in names if name == "requirements.txt"]
    hint = ""
    if not locks and "pyproject.toml" in names:
        hint = "; --resolve judges what pyproject.toml resolves to"
    if len(locks) == 1:
        return locks[0] if folder == "." else os.path.join(folder, locks[0])
    found = f"more than one lock ({', '.join(locks)})" if locks else "no lock"
    raise UnknownFormat(f"{found} stands here; name the input{hint}", path=folder)


def _is_lock(name: str, kind: str) -> bool:
    """Whether a file name tells a kind by itself; the name of a requirements file is anyone's."""
    if kind in {"requirements", "pyproject"}:
        return False
    return any(reader.kind == kind and reader.names.fullmatch(name) for reader in READERS)


def read_locked(path: str) -> Mapping[NormalizedName, Version]:
    """Read the versions of the lock that belongs to an input that is not locked.

    Args:
        path: The input: its lock is the ``.txt`` beside a ``.in``, or else the one lock in its
            folder.

    Returns:
        The version of each project that the lock has at just one.

    Raises:
        InputError: There is no such lock, or it cannot be read.
    """
    place = Path(path)
    compiled = place.with_suffix(".txt")
    if place.suffix == ".in" and compiled.is_file():
        lock = str(compiled)
    else:
        try:
            lock = find_input(os.path.dirname(path) or ".")
        except UnknownFormat as error:
            problem = f"no lock belongs to it, whose versions could be kept: {error.problem}"
            raise InputError(problem, path=path) from None
    versions: dict[NormalizedName, set[Version]] = {}
    for package in read(lock).packages:
        if package.version is not None:
            versions.setdefault(package.name, set()).add(package.version)
    return {name: next(iter(found)) for name, found in versions.items() if len(found) == 1}


def read_since(path: str, revision: str, *, kind: str | None = None) -> Snapshot:
    """Read an input as it was at a revision of the git repository that holds it.

    Args:
        path: The input as it stands now.
        revision: Anything git takes for a commit.
        kind: As for :func:`read`.

    Returns:
        The input as it was; one without packages when it did not exist.

    Raises:
        InputError: There is no repository or no such revision, or the input cannot be read.
    """
    from distcycle.revisions import document_at

    if path == "-":
        raise InputError("standard input has no state at a revision")
    if Path(path).is_dir():
        path = find_input(path)
    document = document_at(path, revision)
    if document is None:
        return Snapshot(path=f"{revision}:{path}", kind="absent", packages=(), roots=())
    return _parse(document, kind)


def read_text(path: str) -> str:
    """Read a UTF-8 text file.

    Raises:
        InputError: It cannot be read, or is not UTF-8.
    """
    return decode_utf8(Document(path=path, data=read_bytes(Path(path), path)))


def write_text(path: str, text: str) -> None:
    """Write a file whole or not at all: to a temporary name beside it, then renamed.

    What a link points at is written, and the link stays; a device or a pipe is written to.

    Raises:
        InputError: It cannot be written.
    """
    import tempfile

    place = Path(path)
    temporary = None
    try:
        if place.exists() and not place.is_file():
            place.write_text(text, encoding="utf-8", newline="\n")
            return
        place = Path(os.path.realpath(place))
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=place.parent, prefix=".", delete=False
        ) as file:
            temporary = file.name
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(place)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise InputError(f"cannot be written: {error.strerror}", path=path) from None


def append_text(path: str, text: str) -> None:
    """Write at the end of a file, which others may write to as well.

    Raises:
        InputError: It cannot be written.
    """
    try:
        with Path(path).open("a", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=path) from None

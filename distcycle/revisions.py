"""Files as they were at a revision of a git repository; nothing is checked out."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from distcycle.errors import InputError
from distcycle.readers import Document

__all__ = ["document_at"]

_TIMEOUT_S = 60


def document_at(path: str, revision: str) -> Document | None:
    """Read a file as it was at a revision.

    Args:
        path: The file as it stands now.
        revision: Anything git takes for a commit.

    Returns:
        The file and what stood beside it then; None when it did not exist. A file that was renamed
        since is found under its old name.

    Raises:
        InputError: There is no repository, no such revision, or no git.
    """
    root = _root_of(path)
    commit = _commit_of(root, revision, path)
    name = Path(os.path.relpath(Path(path).resolve(), root)).as_posix()
    data = _show(root, commit, name)
    if data is None:
        name = _old_name(root, commit, name) or name
        data = _show(root, commit, name)
    if data is None:
        return None
    folder = Path(name).parent

    def beside(other: str) -> tuple[str, bytes] | None:
        there = os.path.normpath(folder / other)
        found = None if there.startswith("..") else _show(root, commit, Path(there).as_posix())
        return None if found is None else (f"{revision}:{there}", found)

    return Document(path=f"{revision}:{name}", data=data, beside=beside, environ=dict(os.environ))


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ("git", "-C", str(root), *arguments),
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
        )
    except FileNotFoundError:
        raise InputError("git is not installed, and --since needs it") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"git did not answer within {_TIMEOUT_S} s") from None


def _root_of(path: str) -> Path:
    folder = Path(path).resolve().parent
    answer = _git(folder, "rev-parse", "--show-toplevel") if folder.is_dir() else None
    if answer is None or answer.returncode:
        raise InputError("is not in a git repository, and --since needs one", path=path)
    return Path(os.fsdecode(answer.stdout.rstrip(b"\r\n")))


def _commit_of(root: Path, revision: str, path: str) -> str:
    commit = f"{revision}^{{commit}}"
    answer = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", commit)
    if answer.returncode:
        raise InputError(f"git knows no revision {revision!r}", path=path)
    return answer.stdout.decode("ascii").strip()


def _show(root: Path, commit: str, name: str) -> bytes | None:
    answer = _git(root, "cat-file", "blob", f"{commit}:{name}")
    return None if answer.returncode else answer.stdout


def _old_name(root: Path, commit: str, name: str) -> str | None:
    """The name that a file had at a revision, when git sees that it was renamed."""
    answer = _git(root, "diff", "--find-renames", "--name-status", "-z", commit, "--")
    fields = os.fsdecode(answer.stdout).split("\0")
    for i, status in enumerate(fields):
        if status.startswith("R") and status[1:].isdigit() and fields[i + 2 : i + 3] == [name]:
            return fields[i + 1]
    return None

"""Files put in place whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from distcycle.errors import InputError

__all__ = ["write_files"]


def write_files(
    out: Path, contents: Mapping[str, Callable[[BinaryIO], None]], *, like: Path
) -> tuple[Path, ...]:
    """Write files under temporary names, then give all of them their own.

    Args:
        out: The folder; made when missing.
        contents: By name, what writes the file.
        like: The file whose permissions the new ones get.

    Returns:
        The files, in the order given. Older ones of these names are replaced.

    Raises:
        InputError: The disk refuses; no file is half-written, and none left under another name.
    """
    try:
        with ExitStack() as undo:
            out.mkdir(parents=True, exist_ok=True)
            placed: dict[Path, Path] = {}
            for name, write in contents.items():
                temporary = Path(undo.enter_context(_temporary(out, write)))
                shutil.copymode(like, temporary)
                placed[temporary] = out / name
            for temporary, target in placed.items():
                temporary.replace(target)
    except OSError as error:
        raise InputError(error.strerror or str(error), path=str(out)) from None
    return tuple(placed.values())


@contextmanager
def _temporary(out: Path, write: Callable[[BinaryIO], None]) -> Iterator[str]:
    """A written file that is gone afterwards unless it was moved."""
    handle, name = tempfile.mkstemp(dir=out, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        yield name
    finally:
        Path(name).unlink(missing_ok=True)

"""Files put in place whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from distcycle.errors import InputError

__all__ = ["naming", "write_files"]


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the file in errors about its content."""
    try:
        yield
    except InputError as error:
        error.path = error.path or str(path)
        raise
    except OSError as error:
        raise InputError(error.strerror or str(error), path=str(path)) from None


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
    with naming(out), ExitStack() as undo:
        out.mkdir(parents=True, exist_ok=True)
        placed: dict[Path, Path] = {}
        for name, write in contents.items():
            with tempfile.NamedTemporaryFile(dir=out, prefix=".new-", delete=False) as file:
                temporary = Path(file.name)
                undo.callback(temporary.unlink, missing_ok=True)
                write(file)
            shutil.copymode(like, temporary)
            placed[temporary] = out / name
        for temporary, target in placed.items():
            temporary.replace(target)
    return tuple(placed.values())

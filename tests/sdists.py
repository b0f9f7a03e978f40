"""Small source distributions and their metadata, the same bytes whenever they are made."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["make_sdist", "pyproject"]


def pyproject(requires: Sequence[str]) -> str:
    return f"[build-system]\nrequires = {json.dumps(list(requires))}\n"


def make_sdist(
    folder: Path,
    name: str,
    version: str = "1.0",
    *,
    builds_with: Sequence[str] | None = (),
    requires: Sequence[str] = (),
    text: str | None = None,
) -> Path:
    """Write a source distribution; ``builds_with=None`` leaves pyproject.toml out."""
    stem = f"{name.replace('-', '_')}-{version}"
    lines = ["Metadata-Version: 2.2", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {line}" for line in requires]
    members = {"PKG-INFO": "\n".join([*lines, ""])}
    if text is not None or builds_with is not None:
        members["pyproject.toml"] = text if text is not None else pyproject(builds_with or ())
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for member, content in members.items():
            info = tarfile.TarInfo(f"{stem}/{member}")
            data = content.encode()
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    folder.mkdir(exist_ok=True)
    path = folder / f"{stem}.tar.gz"
    path.write_bytes(gzip.compress(buffer.getvalue(), mtime=0))
    return path

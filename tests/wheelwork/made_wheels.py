"""Small, whole wheels made by hand, and a look at what is in a wheel."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def make_wheel(
    folder: Path,
    name: str,
    version: str = "1.0",
    *,
    requires: Sequence[str] = (),
    files: Mapping[str, bytes] | None = None,
    info: Mapping[str, bytes] | None = None,
    headers: Sequence[str] = (),
    tags: str = "py3-none-any",
    purelib: bool = True,
    end: str = "\n",
    description: bytes = b"",
    record_end: str = "\n",
    modes: Mapping[str, int] | None = None,
) -> Path:
    """A wheel of one package: given files, given texts in its ``.dist-info``, and a RECORD."""
    stem = f"{name.replace('-', '_')}-{version}"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *headers]
    lines += [f"Requires-Dist: {line}" for line in requires]
    metadata = end.join([*lines, "", ""]).encode() + description
    wheel = [f"Root-Is-Purelib: {str(purelib).lower()}"]
    interpreters, abi, platforms = tags.split("-")
    for interpreter in interpreters.split("."):
        wheel += [f"Tag: {interpreter}-{abi}-{p}" for p in platforms.split(".")]
    contents = {
        **(files if files is not None else {f"{name.replace('-', '_')}/__init__.py": b"X = 1\n"}),
        f"{stem}.dist-info/METADATA": metadata,
        f"{stem}.dist-info/WHEEL": "\n".join(["Wheel-Version: 1.0", *wheel, ""]).encode(),
        **{f"{stem}.dist-info/{path}": data for path, data in (info or {}).items()},
    }
    contents[f"{stem}.dist-info/RECORD"] = _record(contents, stem, record_end)
    path = folder / f"{stem}-{tags}.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for number, (member, data) in enumerate(contents.items()):
            entry = zipfile.ZipInfo(member, (2020, 1, 1 + number % 28, 12, 30, 2 * (number % 30)))
            entry.compress_type = zipfile.ZIP_DEFLATED if number % 2 else zipfile.ZIP_STORED
            entry.external_attr = (0o100000 | (modes or {}).get(member, 0o644)) << 16
            archive.writestr(entry, data)
    return path


def _record(contents: Mapping[str, bytes], stem: str, end: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end)
    for member, data in contents.items():
        writer.writerow((member, hash_of(data), len(data)))
    writer.writerow((f"{stem}.dist-info/RECORD", "", ""))
    return text.getvalue().encode()


def hash_of(data: bytes) -> str:
    digest = hashlib.sha256(data).digest()
    return f"sha256={base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def contents_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert len(set(archive.namelist())) == len(archive.namelist())
        return {name: archive.read(name) for name in archive.namelist()}


def text_of(path: Path, name: str) -> str:
    found = [d for n, d in contents_of(path).items() if n.endswith(f".dist-info/{name}")]
    assert len(found) == 1, name
    return found[0].decode("utf-8", "surrogateescape")


def fields_of(path: Path, field: str, name: str = "METADATA") -> list[str]:
    lines = text_of(path, name).partition("\n\n")[0].splitlines()
    return [line.partition(": ")[2] for line in lines if line.startswith(f"{field}: ")]


def assert_record_holds(path: Path) -> None:
    """Every file has one row, with its hash and size."""
    contents = contents_of(path)
    (record,) = [name for name in contents if name.endswith(".dist-info/RECORD")]
    rows = list(csv.reader(io.StringIO(contents[record].decode(), newline="")))
    assert sorted(row[0] for row in rows) == sorted(n for n in contents if not n.endswith("/"))
    for name, digest, size in rows:
        if name == record:
            assert (digest, size) == ("", "")
        else:
            assert (digest, size) == (hash_of(contents[name]), str(len(contents[name]))), name


class Venv:
    """An environment without pip, into which the pip of this one installs."""

    def __init__(self, folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.folder = folder
        self.scripts = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.scripts / "python"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON"))}
        self._environ = {**kept, "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1"}

    def pip(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        pip = [sys.executable, "-m", "pip", "--python", str(self.python)]
        return self._run([*pip, *map(str, words)])

    def install(self, wheels: Iterable[Path], *words: str) -> None:
        done = self.pip("install", "--no-compile", "-q", *words, *wheels)
        assert done.returncode == 0, done.stderr

    def run(self, *words: str) -> str:
        done = self._run([str(self.python), *words])
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def script(self, name: str) -> str:
        done = self._run([str(self.scripts / name)])
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=self._environ, timeout=120
        )

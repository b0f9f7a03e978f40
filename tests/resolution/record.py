"""Records the index that the cases need: ``python tests/resolution/record.py``, by hand.

Serves what is recorded, and fetches what is not yet: every page once, without the files that came
after the date of the cases, and the METADATA that a client asks for. Resolves every case for every
target with each of ``COMMANDS``, and then fetches what other clients may ask for: the METADATA of
those wheels of the same versions that a target takes. With ``--upgrades`` it looks for the nearest
versions without the loops of the upgrade cases instead. Needs the network; the repository on
``PYTHONPATH``.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import Any

from resolution_cases import (
    EXCLUDE_NEWER,
    TARGETS,
    Case,
    Target,
    find_cases,
    read_case,
    write_case,
)
from upgrade_cases import find_upgrade_cases, upgrade_words
from uv_oracle import quiet_environment, uv_command

from benchmarks.recorded_index import INDEX, File, Index, Server, dump_index, read_index
from benchmarks.resolving import ask_pip
from distcycle.errors import MetadataError
from distcycle.metadata import Library, Options
from distcycle.metadata.archive import name_and_version, read_sdist, read_wheel
from distcycle.metadata.core import header_block, parse_metadata
from distcycle.metadata.http import Client, Connection
from distcycle.metadata.pages import ACCEPT, default_index
from distcycle.model import Artefact, IndexOptions
from distcycle.targets import expand_tags, make_targets

Command = Callable[[Case, Target, str, Path], list[str] | str]


def _uv(case: Case, target: Target, index_url: str, folder: Path) -> list[str] | str:
    return uv_command(case, target, index_url)


def _pip(case: Case, target: Target, index_url: str, folder: Path) -> list[str] | str:
    """Where the benchmarks compare with pip: it steps back over other versions than uv."""
    if target.name != "linux" or target.name in case.conflicts:
        return "pip is asked on one target, where there is an answer"
    return ask_pip(case, index_url, folder, None)


# Who is asked, so that what they ask for is recorded. A command runs in the folder of the case.
COMMANDS: tuple[Command, ...] = (_uv, _pip)

_FIELDS = (
    "Metadata-Version",
    "Name",
    "Version",
    "Requires-Python",
    "Requires-Dist",
    "Provides-Extra",
    "Dynamic",
)
_PAGE_LIMIT_BYTES = 64 * 2**20
_SDIST_LIMIT_BYTES = 30 * 2**20
_CUTOFF_S = int(datetime.fromisoformat(EXCLUDE_NEWER.replace("Z", "+00:00")).timestamp())


class Recorder(Index):
    """An index that fetches what it lacks.

    Args:
        recorded: What is recorded already.
    """

    def __init__(self, recorded: Index) -> None:
        self._projects = {name: list(files) for name, files in recorded.projects.items()}
        super().__init__(self._projects, cutoff=EXCLUDE_NEWER)
        self._client = Client(Connection())
        self._library = Library(Options(cache_dir=None))
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._guard = threading.Lock()
        self._urls: dict[str, dict[str, str]] = {}
        self._absent: set[str] = set()
        self.problems: list[str] = []

    def files(self, project: str) -> Sequence[File] | None:
        """The files of a project, from its page if they are not recorded."""
        with self._lock(project):
            if project not in self._projects and project not in self._absent:
                self._fetch_page(project)
        return self._projects.get(project)

    def file(self, project: str, filename: str) -> File | None:
        """A file with its METADATA, out of the file itself if that is not recorded."""
        with self._lock(f"{project} {filename}"):
            file = super().file(project, filename)
            if file is None or file.metadata is not None:
                return file
            text = self._fetch_metadata(project, file)
            if text is None:
                return file
            files = self._projects[project]
            files[files.index(file)] = full = replace(file, metadata=text)
            return full

    def _lock(self, name: str) -> threading.Lock:
        with self._guard:
            return self._locks[name]

    def _entries(self, project: str) -> list[dict[str, Any]] | None:
        url = f"{default_index().rstrip('/')}/{project}/"
        answer = self._client.get(url, limit_bytes=_PAGE_LIMIT_BYTES, headers={"Accept": ACCEPT})
        if answer.status != 200:
            self._absent.add(project)
            return None
        entries: list[dict[str, Any]] = json.loads(answer.body)["files"]
        self._urls[project] = {entry["filename"]: entry["url"] for entry in entries}
        return entries

    def _fetch_page(self, project: str) -> None:
        entries = self._entries(project)
        if entries is None:
            return
        files = [_file(entry) for entry in entries if entry.get("upload-time")]
        if len(files) < len(entries):
            self.problems.append(f"{project}: {len(entries) - len(files)} files without a time")
        self._projects[project] = [file for file in files if file.uploaded_s < _CUTOFF_S]

    def _fetch_metadata(self, project: str, file: File) -> str | None:
        if project not in self._urls:
            self._entries(project)
        artefact = Artefact(filename=file.filename, url=self._urls[project][file.filename])
        try:
            return self._wheel(artefact) if file.is_wheel else self._sdist(artefact)
        except (MetadataError, KeyError) as error:
            self.problems.append(f"{file.filename}: {error}")
            return None

    def _wheel(self, artefact: Artefact) -> str:
        with self._library.open(artefact, index=IndexOptions()) as wheel:
            return reduce_metadata(read_wheel(wheel, artefact.filename))

    def _sdist(self, artefact: Artefact) -> str | None:
        """What a source distribution says, if that is final and need not be built."""
        self.problems.append(f"{artefact.filename}: a source distribution was asked for")
        if not artefact.filename.endswith(".tar.gz"):
            return None
        answer = self._client.get(artefact.url or "", limit_bytes=_SDIST_LIMIT_BYTES)
        text = read_sdist(io.BytesIO(answer.body), artefact.filename)
        said = parse_metadata(text)
        old = said.metadata_version in {"", "1.0", "1.1", "1.2", "2.0", "2.1"}
        changing = said.dynamic & {"requires-dist", "requires-python", "provides-extra"}
        return None if old or changing else reduce_metadata(text)


def _file(entry: dict[str, Any]) -> File:
    uploaded = datetime.fromisoformat(entry["upload-time"].replace("Z", "+00:00"))
    yanked = entry.get("yanked", False)
    return File(
        filename=entry["filename"],
        size_bytes=_rounded(entry.get("size")),
        uploaded_s=int(uploaded.timestamp()),
        requires_python=entry.get("requires-python") or None,
        yanked=yanked if isinstance(yanked, str) else "" if yanked else None,
    )


def _rounded(size_bytes: int | None) -> int | None:
    """Three digits: nobody fetches the file, and the others are a fifth of what is stored."""
    if size_bytes is None:
        return None
    unit = 10 ** max(0, len(str(size_bytes)) - 3)
    return size_bytes // unit * unit


def reduce_metadata(data: bytes) -> str:
    """METADATA without what no resolver reads."""
    headers = BytesHeaderParser().parsebytes(header_block(data))
    lines = [
        f"{field}: {' '.join(str(value).split())}"
        for field in _FIELDS
        for value in headers.get_all(field, [])
    ]
    return "\n".join([*lines, ""])


def record(recorder: Recorder, cases: Sequence[Case]) -> None:
    """Run every command for every case and target; say who failed."""
    with Server(recorder) as server:
        for case in cases:
            for target in case.targets:
                for command in COMMANDS:
                    _run(command, case, target, server.url)
        _say(f"asked for in vain: {' '.join(server.missing) or 'nothing'}")


def record_upgrades(recorder: Recorder, only: Sequence[str] | None) -> None:
    """Look for the upgrades of every upgrade case, on this index."""
    cases = [case for case in find_upgrade_cases() if not only or case.name in only]
    with Server(recorder) as server:
        for case in cases:
            for target in case.targets:
                with tempfile.TemporaryDirectory() as name:
                    path = Path(name) / "requirements.in"
                    path.write_text(case.requirements, encoding="utf-8")
                    words = [sys.executable, "-m", "distcycle", *upgrade_words(path, target)]
                    words += ["--index-url", server.url, "--no-cache"]
                    done = subprocess.run(
                        words,
                        capture_output=True,
                        check=False,
                        encoding="utf-8",
                        env=quiet_environment(path.parent),
                    )
                _say(f"{case.name}, {target.name}: exit code {done.returncode}")
                _say(done.stdout + done.stderr)


def _run(command: Command, case: Case, target: Target, index_url: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_case(case, folder)
        words = command(case, target, index_url, folder)
        if isinstance(words, str):
            _say(f"{case.name}, {target.name}: {words}")
            return
        done = subprocess.run(
            words,
            capture_output=True,
            check=False,
            cwd=folder,
            encoding="utf-8",
            env=quiet_environment(folder),
        )
    pins = done.stdout.count("==")
    _say(f"{case.name}, {target.name}: exit code {done.returncode}, {pins} pins")
    if done.returncode:
        _say(done.stderr.strip().partition("\n")[0])


def complete(recorder: Recorder) -> None:
    """Fetch METADATA of every wheel that a target takes, of versions of which one was asked for."""
    pythons = sorted({target.python for target in TARGETS})
    platforms = [target.platform for target in TARGETS]
    targets = make_targets(platforms=platforms, python_versions=pythons)
    taken = {tag for target in targets for tag in target.tags}
    wanted = []
    for project, files in recorder.projects.items():
        asked = {name_and_version(f.filename) for f in files if f.metadata is not None}
        for file in files:
            new = file.metadata is None and file.is_wheel and _is_taken(file, taken)
            if new and name_and_version(file.filename) in asked:
                wanted.append((project, file.filename))
    _say(f"{len(wanted)} further wheels")
    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(lambda each: recorder.file(*each), wanted):
            pass


def _is_taken(file: File, taken: set[str]) -> bool:
    tags = "-".join(file.filename.removesuffix(".whl").split("-")[-3:])
    return not taken.isdisjoint(expand_tags(tags))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Record, and write the index anew."""
    parser = argparse.ArgumentParser(description="Record the index that the cases need.")
    parser.add_argument("--anew", action="store_true", help="forget what is recorded")
    parser.add_argument("--upgrades", action="store_true", help="the upgrade cases only")
    parser.add_argument("--only", action="append", metavar="CASE", help="these cases only")
    options = parser.parse_args()
    known = INDEX.is_file() and not options.anew
    recorder = Recorder(read_index() if known else Index({}, cutoff=EXCLUDE_NEWER))
    if options.upgrades:
        record_upgrades(recorder, options.only)
    else:
        cases = [read_case(path) for path in find_cases()]
        record(recorder, [case for case in cases if not options.only or case.name in options.only])
        complete(recorder)
    INDEX.parent.mkdir(parents=True, exist_ok=True)
    INDEX.write_bytes(dump_index(recorder))
    for problem in sorted(set(recorder.problems)):
        _say(problem)
    files = sum(map(len, recorder.projects.values()))
    said = sum(f.metadata is not None for each in recorder.projects.values() for f in each)
    size_kb = INDEX.stat().st_size / 1000
    _say(f"{len(recorder.projects)} projects, {files} files, {said} METADATA, {size_kb:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

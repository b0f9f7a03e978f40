"""A recorded package index, served on 127.0.0.1 as the real one answers.

Resolvers are compared on it: every client sees the same files of the same day, with the same
latency, and what each of them asked for is counted. Files are recorded with what a page says of
them; of METADATA only what a resolver reads. Wheels themselves are not there, and their hashes are
made up, each from the name of its file.

``python -m benchmarks.recorded_index`` serves until it is interrupted.

Source: Simple repository API,
https://packaging.python.org/specifications/simple-repository-api/
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import lzma
import re
import tarfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.message import Message
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

from packaging.utils import canonicalize_name

from distcycle.metadata.archive import name_and_version

__all__ = ["INDEX", "KINDS", "File", "Index", "Server", "dump_index", "read_index"]

INDEX = Path(__file__).resolve().parents[1] / "tests" / "data" / "resolution" / "index.json.xz"
KINDS = ("pages", "metadata", "other", "missing")

_JSON = "application/vnd.pypi.simple.v1+json"
_FORMAT = "recorded-index/1"
_FRESH_S = 600
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 64 * 2**20}]


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file as its project's page lists it.

    Attributes:
        filename: A wheel's or a source distribution's name.
        size_bytes: The size of the real file; None where the page did not say.
        uploaded_s: When it came, in seconds since 1970.
        requires_python: A version specifier; None for none.
        yanked: Why it was withdrawn, ``""`` for no reason given; None where it was not.
        metadata: The recorded fields of its METADATA, or of a PKG-INFO that is static; None where
            nobody asked for it.
    """

    filename: str
    size_bytes: int | None
    uploaded_s: int
    requires_python: str | None = None
    yanked: str | None = None
    metadata: str | None = None

    @property
    def is_wheel(self) -> bool:
        """Whether it is a wheel; else it is a source distribution."""
        return self.filename.endswith(".whl")


class Index:
    """The files of projects.

    Args:
        projects: The files of each project, in page order, by normalised name.
        cutoff: The moment after which nothing was recorded, as ISO 8601 has it.
    """

    def __init__(self, projects: Mapping[str, Sequence[File]], *, cutoff: str) -> None:
        self.projects = projects
        self.cutoff = cutoff

    def files(self, project: str) -> Sequence[File] | None:
        """The files of a project; None where there is no such project."""
        return self.projects.get(project)

    def file(self, project: str, filename: str) -> File | None:
        """One file of a project, with its METADATA where that is recorded."""
        return next((f for f in self.files(project) or () if f.filename == filename), None)


# On disk -----------------------------------------------------------------------------------------


@cache
def read_index(path: Path = INDEX) -> Index:
    """Read a recorded index; one that was read before is not read again.

    Args:
        path: A file that :func:`dump_index` made.

    Raises:
        ValueError: It is something else.
    """
    record = json.loads(lzma.decompress(path.read_bytes()))
    if record.get("format") != _FORMAT:
        raise ValueError(f"{path.name}: expected {_FORMAT}, found {record.get('format')}")
    texts = record["texts"]
    projects = {name: _load(entry, texts) for name, entry in record["projects"].items()}
    return Index(MappingProxyType(projects), cutoff=record["cutoff"])


def dump_index(index: Index) -> bytes:
    """An index as a file; equal indexes give equal bytes.

    Values of one kind stand together, times and texts as differences or numbers: compressed, a
    file of a page takes some ten bytes.
    """
    texts: dict[str, int] = {}
    projects = {name: _dump(index.projects[name], texts) for name in sorted(index.projects)}
    record = {
        "format": _FORMAT,
        "cutoff": index.cutoff,
        "projects": projects,
        "texts": list(texts),
    }
    data = json.dumps(record, separators=(",", ":")).encode()
    return lzma.compress(data, format=lzma.FORMAT_XZ, filters=_FILTERS)


def _dump(files: Sequence[File], texts: dict[str, int]) -> dict[str, Any]:
    times = [0, *(file.uploaded_s for file in files)]
    return {
        "files": " ".join(file.filename for file in files),
        "uploaded": [later - sooner for sooner, later in pairwise(times)],
        "sizes": [file.size_bytes for file in files],
        "pythons": _runs([file.requires_python for file in files], texts),
        "yanked": {str(i): file.yanked for i, file in enumerate(files) if file.yanked is not None},
        "metadata": {
            str(i): texts.setdefault(file.metadata, len(texts))
            for i, file in enumerate(files)
            if file.metadata is not None
        },
    }


def _runs(values: Sequence[str | None], texts: dict[str, int]) -> list[tuple[int, int | None]]:
    """Equal values that follow each other, as how many there are and which text it is."""
    runs: list[tuple[int, int | None]] = []
    for value in values:
        text = None if value is None else texts.setdefault(value, len(texts))
        if runs and runs[-1][1] == text:
            runs[-1] = (runs[-1][0] + 1, text)
        else:
            runs.append((1, text))
    return runs


def _load(entry: Mapping[str, Any], texts: Sequence[str]) -> tuple[File, ...]:
    pythons = [
        None if text is None else texts[text]
        for count, text in entry["pythons"]
        for _ in range(count)
    ]
    metadata, yanked = entry["metadata"], entry["yanked"]
    uploaded_s = 0
    files = []
    rows = zip(entry["files"].split(), entry["uploaded"], entry["sizes"], pythons, strict=True)
    for i, (filename, later_s, size_bytes, python) in enumerate(rows):
        uploaded_s += later_s
        files.append(
            File(
                filename=filename,
                size_bytes=size_bytes,
                uploaded_s=uploaded_s,
                requires_python=python,
                yanked=yanked.get(str(i)),
                metadata=texts[metadata[str(i)]] if str(i) in metadata else None,
            )
        )
    return tuple(files)


# As answers --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    status: int = 200
    kind: str = "other"
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def _page(project: str, files: Sequence[File]) -> bytes:
    """A project's page.

    Source: PEP 691, 700 (versions, size, upload-time) and 714 (core-metadata)
    """
    page = {
        "meta": {"api-version": "1.1"},
        "name": project,
        "versions": list(dict.fromkeys(_versions(files))),
        "files": [_entry(project, file) for file in files],
    }
    return json.dumps(page).encode()


def _versions(files: Sequence[File]) -> Iterator[str]:
    named = (name_and_version(file.filename) for file in files)
    return (str(name[1]) for name in named if name is not None)


def _entry(project: str, file: File) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "filename": file.filename,
        "url": f"../../files/{project}/{file.filename}",
        "hashes": {"sha256": _sha256(file.filename.encode())},
        "upload-time": _time(file.uploaded_s),
        "yanked": file.yanked or file.yanked is not None,
    }
    if file.size_bytes is not None:
        entry["size"] = file.size_bytes
    if file.requires_python is not None:
        entry["requires-python"] = file.requires_python
    if file.is_wheel:
        known = file.metadata is not None
        entry["core-metadata"] = {"sha256": _sha256(_text(file))} if known else True
    elif file.metadata is not None:
        archive = _archive(file)
        entry.update(hashes={"sha256": _sha256(archive)}, size=len(archive))
    return entry


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000000Z")


def _text(file: File) -> bytes:
    return (file.metadata or "").encode()


def _archive(file: File) -> bytes:
    """A source distribution that says what the real one says, and holds nothing else."""
    stem = file.filename.removesuffix(".tar.gz")
    member = tarfile.TarInfo(f"{stem}/PKG-INFO")
    member.size = len(_text(file))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(member, io.BytesIO(_text(file)))
    return gzip.compress(buffer.getvalue(), mtime=0)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class _Site:
    """What is where: a path in, a reply out. Pages are made once."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._pages: dict[str, tuple[bytes, bytes, str]] = {}

    def answer(self, path: str, headers: Message) -> _Reply:
        match = _PAGE.fullmatch(path)
        if match:
            return self._project(match["project"], headers, moved=not match["end"])
        match = _FILE.fullmatch(path)
        if match:
            return self._file(match["project"], match["filename"])
        return _Reply(status=404, kind="missing")

    def _project(self, name: str, headers: Message, *, moved: bool) -> _Reply:
        project = canonicalize_name(name)
        if moved or project != name:
            return _Reply(status=301, headers={"Location": f"/simple/{project}/"})
        accepted = headers.get("Accept", "*/*")
        if _JSON not in accepted and "*/*" not in accepted:
            return _Reply(status=406)
        made = self._made(project)
        if made is None:
            return _Reply(status=404, kind="missing")
        body, packed, tag = made
        fields = {
            "Content-Type": _JSON,
            "Cache-Control": f"max-age={_FRESH_S}, public",
            "ETag": tag,
            "Vary": "Accept, Accept-Encoding",
        }
        if headers.get("If-None-Match") == tag:
            return _Reply(status=304, kind="pages", headers=fields)
        if "gzip" in headers.get("Accept-Encoding", ""):
            return _Reply(kind="pages", body=packed, headers={**fields, "Content-Encoding": "gzip"})
        return _Reply(kind="pages", body=body, headers=fields)

    def _made(self, project: str) -> tuple[bytes, bytes, str] | None:
        made = self._pages.get(project)
        if made is None:
            files = self._index.files(project)
            if files is None:
                return None
            body = _page(project, files)
            made = (body, gzip.compress(body, 6, mtime=0), f'"{_sha256(body)[:32]}"')
            self._pages[project] = made
        return made

    def _file(self, project: str, filename: str) -> _Reply:
        stem = filename.removesuffix(".metadata")
        file = self._index.file(project, stem)
        if file is None or file.metadata is None or (stem == filename) == file.is_wheel:
            return _Reply(status=404, kind="missing")
        fields = {"Cache-Control": "max-age=365000000, immutable, public"}
        if file.is_wheel:
            return _Reply(kind="metadata", body=_text(file), headers=fields)
        return _Reply(body=_archive(file), headers=fields)


_PAGE = re.compile(r"/simple/(?P<project>[^/]+)(?P<end>/?)")
_FILE = re.compile(r"/files/(?P<project>[^/]+)/(?P<filename>[^/]+)")


# Over HTTP ---------------------------------------------------------------------------------------


class Server:
    """Serves an index from threads of this process. As a context manager it ends by itself.

    ``/-/count`` says how many requests of each kind there were, ``/-/missing`` which were in vain,
    ``/-/reset`` forgets both; these are neither counted nor delayed.

    Args:
        index: What is served.
        delay_s: How long each answer is held back, in seconds.
        port: Where; 0 for any free port.
    """

    def __init__(self, index: Index, *, delay_s: float = 0.0, port: int = 0) -> None:
        self.delay_s = delay_s
        self._site = _Site(index)
        self._guard = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._missing: list[str] = []
        self._http = _Listener(self, port)
        self.root = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.url = f"{self.root}/simple/"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def counts(self) -> dict[str, int]:
        """How many requests there were since the last reset, for each of :data:`KINDS`.

        An answer with status 304 counts as a page.
        """
        with self._guard:
            return {kind: self._counts[kind] for kind in KINDS}

    @property
    def missing(self) -> tuple[str, ...]:
        """The paths that were asked for in vain since the last reset, sorted."""
        with self._guard:
            return tuple(sorted(set(self._missing)))

    def reset(self) -> None:
        """Count from nought again."""
        with self._guard:
            self._counts.clear()
            self._missing.clear()

    def close(self) -> None:
        """Stop listening."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def reply(self, path: str, headers: Message) -> _Reply:
        """Answer one request, after the delay; called from the thread of its connection."""
        path = path.partition("?")[0]
        if path.startswith("/-/"):
            return self._control(path)
        reply = self._site.answer(path, headers)
        with self._guard:
            self._counts[reply.kind] += 1
            if reply.kind == "missing":
                self._missing.append(path)
        time.sleep(self.delay_s)
        return reply

    def _control(self, path: str) -> _Reply:
        said = {"/-/count": self.counts, "/-/missing": self.missing, "/-/reset": {}}.get(path)
        if said is None:
            return _Reply(status=404)
        if path == "/-/reset":
            self.reset()
        body = json.dumps(said).encode() + b"\n"
        return _Reply(body=body, headers={"Content-Type": "application/json"})


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a client may keep its connections for as long as it lives
    request_queue_size = 128

    def __init__(self, server: Server, port: int) -> None:
        self.answering = server
        super().__init__(("127.0.0.1", port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has read enough closes the connection; that is no error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave as one: small packets that wait for each other cost 40 ms.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Listener

    def do_GET(self) -> None:
        """Answer."""
        reply = self.server.answering.reply(self.path, self.headers)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status != 304:
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: the counter tells."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted; the first line says where.

    Args:
        arguments: The words after the program's name; None for this process's.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recorded_index")
    parser.add_argument("--index", type=Path, default=INDEX, metavar="FILE", help="what to serve")
    parser.add_argument("--port", type=int, default=0, help="any free one by default")
    parser.add_argument("--delay", type=float, default=0.0, metavar="S", help="seconds an answer")
    options = parser.parse_args(arguments)
    with Server(read_index(options.index), delay_s=options.delay, port=options.port) as server:
        print(server.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

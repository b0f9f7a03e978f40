"""An index on 127.0.0.1, and archives made in memory, for the tests of this folder."""

import hashlib
import io
import json
import os
import tarfile
import threading
import zipfile
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{lines}\n\ndescription\n"


def metadata_text(name: str, version: str, *requires: str) -> bytes:
    lines = "\n".join(f"Requires-Dist: {line}" for line in requires)
    return METADATA.format(name=name, version=version, lines=lines).encode()


def make_wheel(
    name: str = "demo", version: str = "1.0", *requires: str, padding_bytes: int = 0
) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{name}/data.bin", os.urandom(padding_bytes))
        archive.writestr(
            f"{name}-{version}.dist-info/METADATA", metadata_text(name, version, *requires)
        )
        archive.writestr(f"{name}/more.bin", os.urandom(padding_bytes))
    return buffer.getvalue()


def make_sdist(members: dict[str, bytes], mode: str = "w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Request(NamedTuple):
    path: str
    headers: dict[str, str]


class Reply(NamedTuple):
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = MappingProxyType({})


class Server:
    """Answers from a table; a reply can be a function of the request."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply | Callable[[Request], Reply]] = {}
        self.requests: list[Request] = []
        self.ranges = True
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                request = Request(self.path, dict(self.headers))
                server.requests.append(request)
                reply = server.replies.get(self.path.partition("?")[0], Reply(404))
                reply = reply(request) if callable(reply) else reply
                reply = server.partial(request, reply)
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in reply.headers:
                    self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, *_: Any) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that has read enough closes the connection; that is no error."""

        self._http = Quiet(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.port = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()

    def partial(self, request: Request, reply: Reply) -> Reply:
        span = request.headers.get("Range")
        if span is None or reply.status != 200 or not self.ranges:
            return reply
        first, _, last = span.removeprefix("bytes=").partition("-")
        size = len(reply.body)
        start, end = (int(first), int(last)) if first else (max(0, size - int(last)), size - 1)
        end = min(end, size - 1)
        headers = {**reply.headers, "Content-Range": f"bytes {start}-{end}/{size}"}
        return Reply(206, reply.body[start : end + 1], headers)

    def add_page(self, project: str, files: dict[str, bytes], **more: Any) -> None:
        """Serve a JSON page and the files that it lists."""
        entries = []
        for filename, data in files.items():
            self.replies[f"/files/{filename}"] = Reply(200, data)
            entry = {
                "filename": filename,
                "url": f"../../files/{filename}",
                "hashes": {"sha256": sha256(data)},
                "size": len(data),
            }
            entries.append({**entry, **more})
        page = {"meta": {"api-version": "1.0"}, "name": project, "files": entries}
        self.replies[f"/simple/{project}/"] = Reply(
            200,
            json.dumps(page).encode(),
            {"Content-Type": "application/vnd.pypi.simple.v1+json"},
        )

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

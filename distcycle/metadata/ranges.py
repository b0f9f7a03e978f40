"""A remote file of which only the parts that are read are fetched (HTTP range requests).

``remotezip`` does much the same, but bounds neither time nor size, leaves the body of a server
that ignores ranges unread, and does not notice a file that changes between two requests.

Source: RFC 9110, section 14
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from distcycle.errors import MetadataError
from distcycle.metadata.errors import TooLarge, Unreachable
from distcycle.metadata.urls import redact_url

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from distcycle.metadata.http import Answer, Client

__all__ = ["RemoteFile", "open_remote"]

_TAIL_BYTES = 64 * 1024
_CHUNK_BYTES = 32 * 1024
_BUDGET_BYTES = 64 * 2**20
_CONTENT_RANGE = re.compile(r"bytes (?P<first>\d+)-(?P<last>\d+)/(?P<size>\d+)\Z")
# Compressed on the way, the bytes would not be those that the range names.
_PLAIN = {"Accept-Encoding": "identity"}


def open_remote(client: Client, url: str, *, whole_limit_bytes: int) -> RemoteFile | bytes:
    """Open a remote file for reading parts of it.

    Args:
        client: Sends the requests.
        url: The file.
        whole_limit_bytes: The largest file that is taken whole from a server without ranges.

    Returns:
        The file; or its bytes, when the server sent it whole.

    Raises:
        Unreachable: The server does not have it.
        MetadataError: The server sends only whole files, and this one is too large.
    """
    answer = _range(client, url, f"-{_TAIL_BYTES}", whole_limit_bytes)
    if answer.status in {400, 405, 416, 501}:
        # Some servers know only ranges that count from the start, and some refuse a suffix that
        # is longer than the file.
        first = _range(client, url, "0-0", whole_limit_bytes)
        if first.status != 206:
            answer = first
        else:
            size = _span(first)[2]
            start = max(0, size - _TAIL_BYTES)
            answer = _range(client, url, f"{start}-{size - 1}", whole_limit_bytes)
    if answer.status == 200:
        return answer.body
    if answer.status != 206:
        raise Unreachable(f"HTTP {answer.status}", url=redact_url(url), status=answer.status)
    return RemoteFile(client, url, answer)


class RemoteFile(io.RawIOBase):
    """A file-like object over ranges, for ``zipfile``.

    Args:
        client: Sends the requests.
        url: The file.
        tail: The answer that holds its end.
    """

    def __init__(self, client: Client, url: str, tail: Answer) -> None:
        self._client = client
        self._url = url
        first, _, self._size = _span(tail)
        self._etag = tail.headers.get("ETag")
        self._blocks = [(first, tail.body)]
        self._position = 0
        self._fetched = len(tail.body)

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """The offset of the next byte."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move to an offset, which may lie behind the end."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError("negative seek position")
        self._position = base + offset
        return self._position

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill a buffer as far as the file goes."""
        view = memoryview(buffer).cast("B")
        wanted = min(len(view), max(0, self._size - self._position))
        if wanted == 0:
            return 0
        start, block = self._block(wanted)
        offset = self._position - start
        view[:wanted] = block[offset : offset + wanted]
        self._position += wanted
        return wanted

    def _block(self, wanted: int) -> tuple[int, bytes]:
        for start, block in self._blocks:
            if start <= self._position and self._position + wanted <= start + len(block):
                return start, block
        fetched = self._position, self._fetch(max(wanted, _CHUNK_BYTES), at_least=wanted)
        self._blocks = [self._blocks[0], fetched]
        return fetched

    def _fetch(self, count: int, *, at_least: int) -> bytes:
        last = min(self._position + count, self._size) - 1
        self._fetched += last - self._position + 1
        if self._fetched > _BUDGET_BYTES:
            raise self._error(f"needs more than {_BUDGET_BYTES // 2**20} MiB of it")
        answer = _range(self._client, self._url, f"{self._position}-{last}", 0)
        if answer.status != 206:
            raise self._error(f"HTTP {answer.status} for a further range")
        if _span(answer) != (self._position, last, self._size):
            raise self._error("another range was sent than asked for")
        if answer.headers.get("ETag") != self._etag or len(answer.body) < at_least:
            raise self._error("changed while it was read")
        return answer.body

    def _error(self, problem: str) -> MetadataError:
        return MetadataError(problem, url=redact_url(self._url))


def _range(client: Client, url: str, span: str, whole_limit_bytes: int) -> Answer:
    limit = max(_length(span), whole_limit_bytes)
    try:
        return client.get(url, limit_bytes=limit, headers={**_PLAIN, "Range": f"bytes={span}"})
    except TooLarge as error:
        problem = f"the server sends no parts of it, and the whole is {error.problem}"
        raise MetadataError(problem, url=error.url) from None


def _length(span: str) -> int:
    first, _, last = span.partition("-")
    return int(last) - int(first) + 1 if first else int(last)


def _span(answer: Answer) -> tuple[int, int, int]:
    """First and last byte of a partial answer, and the size of the whole."""
    match = _CONTENT_RANGE.match(answer.headers.get("Content-Range", ""))
    if match is None:
        raise MetadataError("no usable Content-Range", url=redact_url(answer.url))
    first, last, size = (int(match[group]) for group in ("first", "last", "size"))
    if not first <= last < size or len(answer.body) != last - first + 1:
        raise MetadataError("Content-Range does not fit its body", url=redact_url(answer.url))
    return first, last, size

import io
import os
from collections.abc import Iterator

import pytest
from local_index import Reply, Request, Server, make_wheel

from distcycle.errors import MetadataError
from distcycle.metadata import ranges
from distcycle.metadata.archive import read_wheel
from distcycle.metadata.errors import Unreachable
from distcycle.metadata.http import Client, Connection
from distcycle.metadata.ranges import RemoteFile, open_remote

WHEEL = "demo-1.0-py3-none-any.whl"


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client(Connection(timeout_s=2, retries=0))
    yield made
    made.close()


def opened(client: Client, server: Server) -> RemoteFile:
    file = open_remote(client, f"{server.url}/x", whole_limit_bytes=2**20)
    assert isinstance(file, RemoteFile)
    return file


def test_any_part_reads_as_in_the_whole(client: Client, server: Server) -> None:
    data = os.urandom(300_000)
    server.replies["/x"] = Reply(200, data)
    file, whole = opened(client, server), io.BytesIO(data)
    for offset, count in [(0, 10), (5, 40_000), (299_990, 100), (100_000, 1), (0, 300_000)]:
        assert file.seek(offset) == whole.seek(offset)
        assert file.read(count) == whole.read(count)
        assert file.tell() == whole.tell()
    assert file.seek(-3, io.SEEK_END) == 299_997
    assert file.read() == data[-3:]


def test_a_large_wheel_takes_few_requests_and_few_bytes(client: Client, server: Server) -> None:
    server.replies["/x"] = Reply(200, make_wheel("demo", "1.0", "torch", padding_bytes=2_000_000))
    metadata = read_wheel(opened(client, server), WHEEL)  # type: ignore[arg-type]
    assert b"Requires-Dist: torch" in metadata
    assert len(server.requests) == 2
    assert all("Range" in request.headers for request in server.requests)


@pytest.mark.parametrize("status", [400, 416, 501])
def test_servers_without_suffix_ranges(client: Client, server: Server, status: int) -> None:
    data = os.urandom(200_000)

    def reply(request: Request) -> Reply:
        return Reply(status if request.headers["Range"].startswith("bytes=-") else 200, data)

    server.replies["/x"] = reply
    file = opened(client, server)
    file.seek(-5, io.SEEK_END)
    assert file.read() == data[-5:]


def test_server_without_ranges_sends_a_small_file_whole(client: Client, server: Server) -> None:
    server.ranges = False
    server.replies["/x"] = Reply(200, b"whole")
    assert open_remote(client, f"{server.url}/x", whole_limit_bytes=2**20) == b"whole"


def test_server_without_ranges_and_a_large_file(client: Client, server: Server) -> None:
    server.ranges = False
    server.replies["/x"] = Reply(200, bytes(2**20 + 1))
    with pytest.raises(MetadataError, match=r"sends no parts of it.*larger than 1 MiB"):
        open_remote(client, f"{server.url}/x", whole_limit_bytes=2**20)


def test_absent_file(client: Client, server: Server) -> None:
    with pytest.raises(Unreachable, match="HTTP 404") as caught:
        open_remote(client, f"{server.url}/x", whole_limit_bytes=2**20)
    assert caught.value.status == 404


@pytest.mark.parametrize(
    "content_range", ["bytes */5", "bytes 0-9/5", "bytes 3-4/5", "items 0-4/5", ""]
)
def test_ranges_that_lie_are_refused(client: Client, server: Server, content_range: str) -> None:
    server.replies["/x"] = Reply(206, b"12345", {"Content-Range": content_range})
    with pytest.raises(MetadataError, match="Content-Range"):
        open_remote(client, f"{server.url}/x", whole_limit_bytes=2**20)


def test_file_that_changes_is_noticed(client: Client, server: Server) -> None:
    tags = iter(["one", "two"])
    server.replies["/x"] = lambda _: Reply(200, bytes(200_000), {"ETag": next(tags)})
    with pytest.raises(MetadataError, match="changed while it was read"):
        opened(client, server).read(1)


def test_other_range_than_asked_for_is_noticed(client: Client, server: Server) -> None:
    server.replies["/x"] = Reply(200, bytes(200_000))
    file = opened(client, server)
    server.replies["/x"] = Reply(206, b"12345", {"Content-Range": "bytes 7-11/200000"})
    with pytest.raises(MetadataError, match="another range"):
        file.read(1)


def test_traffic_is_bounded(
    client: Client, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "_BUDGET_BYTES", 100_000)
    server.replies["/x"] = Reply(200, bytes(900_000))
    file = opened(client, server)
    with pytest.raises(MetadataError, match="needs more than"):
        file.read(500_000)

import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from local_index import Server

from distcycle.metadata import Library, Options


@pytest.fixture(autouse=True)
def no_names(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test asks a name server; every name is one that nobody has."""
    if request.node.get_closest_marker("network"):
        return
    resolve = socket.getaddrinfo

    def local_only(host: Any, *arguments: Any, **options: Any) -> Any:
        if host != "127.0.0.1":
            raise socket.gaierror(socket.EAI_NONAME, "no names in tests")
        return resolve(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", local_only)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    running = Server()
    yield running
    running.close()


NO_PIP = {"PIP_CONFIG_FILE": os.devnull}


@pytest.fixture
def library(server: Server, tmp_path: Any) -> Iterator[Callable[..., Library]]:
    """Makes libraries over the local index, with a cache folder of the test."""
    made: list[Library] = []

    def make(**options: Any) -> Library:
        settings = {
            "index_url": f"{server.url}/simple/",
            "cache_dir": tmp_path / "cache",
            "concurrency": 4,
            "retries": 0,
            "timeout_s": 5,
        }
        made.append(Library(Options(**{**settings, **options}), environ=NO_PIP))
        return made[-1]

    yield make
    for one in made:
        one.close()

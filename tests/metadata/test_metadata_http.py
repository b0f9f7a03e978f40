import base64
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_index import Reply, Request, Server

from distcycle.metadata import http
from distcycle.metadata.errors import TooLarge, Unreachable
from distcycle.metadata.http import Client, Connection

AUTHORIZATION = "Basic " + base64.b64encode(b"me:s3cret").decode()


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client(Connection(timeout_s=2, retries=2, backoff_s=0.001))
    yield made
    made.close()


def failing(times: int, status: int = 503, **headers: str) -> object:
    """A reply that fails some times before it succeeds."""
    seen: list[Request] = []

    def reply(request: Request) -> Reply:
        seen.append(request)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Reply(status, b"", named) if len(seen) <= times else Reply(200, b"fine")

    return reply


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_passing_failures_are_tried_again(client: Client, server: Server, status: int) -> None:
    server.replies["/x"] = failing(2, status)  # type: ignore[assignment]
    assert client.get(f"{server.url}/x", limit_bytes=10).body == b"fine"
    assert len(server.requests) == 3


def test_lasting_failure_is_named(client: Client, server: Server) -> None:
    server.replies["/x"] = Reply(503)
    with pytest.raises(Unreachable) as caught:
        client.get(f"{server.url}/x?token=s3cret", limit_bytes=10)
    assert str(caught.value) == f"{server.url}/x: HTTP 503"
    assert caught.value.status == 503
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_answers_are_not_tried_again(client: Client, server: Server, status: int) -> None:
    server.replies["/x"] = Reply(status, b"no")
    answer = client.get(f"{server.url}/x", limit_bytes=10)
    assert (answer.status, answer.body, len(server.requests)) == (status, b"", 1)


def test_retry_after_is_heeded(
    client: Client, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(http.time, "sleep", waits.append)
    server.replies["/x"] = failing(1, 429, Retry_After="7")  # type: ignore[assignment]
    server.replies["/y"] = failing(1, 429, Retry_After="86400")  # type: ignore[assignment]
    client.get(f"{server.url}/x", limit_bytes=10)
    client.get(f"{server.url}/y", limit_bytes=10)
    assert waits == [7.0, 30.0]


def test_body_is_bounded_whether_or_not_its_length_is_declared(
    client: Client, server: Server
) -> None:
    server.replies["/declared"] = Reply(200, bytes(2_000_000))
    server.replies["/chunked"] = Reply(
        200, b"1e8480\r\n" + bytes(2_000_000) + b"\r\n0\r\n\r\n", {"Transfer-Encoding": "chunked"}
    )
    for path in ("/declared", "/chunked"):
        with pytest.raises(TooLarge, match="larger than 1 MiB"):
            client.get(server.url + path, limit_bytes=2**20)


def test_slow_trickle_ends(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(Connection(timeout_s=1, retries=0))
    server.replies["/x"] = Reply(200, bytes(300_000))
    start = time.monotonic()
    ticks = iter(start + 15 * step for step in range(100))
    monkeypatch.setattr(http.time, "monotonic", lambda: next(ticks))
    with pytest.raises(Unreachable, match="takes too long"):
        client.get(f"{server.url}/x", limit_bytes=2**20)
    client.close()


def test_silent_server_times_out(server: Server) -> None:
    def reply(_: Request) -> Reply:
        time.sleep(0.5)
        return Reply()

    client = Client(Connection(timeout_s=0.1, retries=0))
    server.replies["/x"] = reply
    with pytest.raises(Unreachable, match="timed out"):
        client.get(f"{server.url}/x", limit_bytes=10)
    client.close()


def test_refused_connection_is_remembered(client: Client, server: Server) -> None:
    server.close()
    messages = set()
    for name in "ab":
        with pytest.raises(Unreachable) as caught:
            client.get(f"{server.url}/{name}", limit_bytes=10)
        messages.add(caught.value.problem)
    assert messages == {"cannot be connected to"}


def test_reason_is_the_same_on_every_run(server: Server) -> None:
    texts = set()
    for _ in range(2):
        client = Client(Connection(retries=0))
        with pytest.raises(Unreachable) as caught:
            client.get("http://me:s3cret@nothing.invalid/x?token=s3cret", limit_bytes=10)
        texts.add(str(caught.value))
        client.close()
    assert texts == {"http://nothing.invalid/x: there is no such host"}


@pytest.mark.parametrize("url", ["http://", "ftp://x/y", "http://[x/y", "https://\x00/"])
def test_what_is_no_url_is_said_at_once(client: Client, url: str) -> None:
    with pytest.raises(Unreachable):
        client.get(url, limit_bytes=10)


def test_credentials_are_sent_and_not_kept_in_the_answers_url(
    client: Client, server: Server
) -> None:
    server.replies["/x"] = Reply(200, b"")
    answer = client.get(server.url.replace("://", "://me:s3cret@") + "/x", limit_bytes=10)
    assert server.requests[0].headers["Authorization"] == AUTHORIZATION
    assert answer.url == f"{server.url}/x"


def test_credentials_of_an_index_go_to_its_own_host_only(server: Server) -> None:
    other = Server()
    client = Client(Connection(credentials={server.url: ("me", "s3cret")}))
    server.replies["/x"] = Reply(302, b"", {"Location": f"{other.url}/y"})
    other.replies["/y"] = Reply(200, b"")
    client.get(f"{server.url}/x", limit_bytes=10)
    client.get(f"{other.url}/y", limit_bytes=10)
    client.close()
    other.close()
    assert server.requests[0].headers["Authorization"] == AUTHORIZATION
    assert [request.headers.get("Authorization") for request in other.requests] == [None, None]


def test_netrc_is_read(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password s3cret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    client = Client(Connection())
    client.get(f"{server.url}/x", limit_bytes=10)
    client.close()
    assert server.requests[0].headers["Authorization"] == AUTHORIZATION


def test_no_credentials_from_https_to_http() -> None:
    session = http._Session()
    secure = http.requests.Request("GET", "https://x.example/a").prepare()
    plain = http.requests.Request("GET", "http://x.example/a", auth=("me", "s3cret")).prepare()
    response = http.requests.Response()
    response.request = secure
    session.trust_env = False
    session.rebuild_auth(plain, response)
    assert "Authorization" not in plain.headers


def test_trusted_host_trusts_no_other() -> None:
    client = Client(Connection(trusted_hosts=("one.example", "two.example:8443")))
    session = client._session()
    trusted = {
        url: isinstance(session.get_adapter(url), http._TrustingAdapter)
        for url in (
            "https://one.example/x",
            "https://one.example:8443/x",
            "https://one.example.evil/x",
            "https://two.example:8443/x",
            "https://two.example/x",
            "https://two.example:84430/x",
        )
    }
    client.close()
    assert list(trusted.values()) == [True, True, False, True, False, False]


def test_missing_certificate_file_is_said(tmp_path: Path) -> None:
    client = Client(Connection(cert=str(tmp_path / "absent.pem")))
    with pytest.raises(Unreachable, match="file of certificates cannot be read"):
        client.get("https://127.0.0.1:1/x", limit_bytes=10)
    client.close()

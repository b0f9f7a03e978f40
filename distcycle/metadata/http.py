"""Requests with bounds: on size, on time, on attempts, and on where credentials go.

Nothing else in the program opens a socket. This module imports an HTTP library, so it is itself
imported only when the network is needed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError, MaxRetryError, NameResolutionError, NewConnectionError
from urllib3.exceptions import TimeoutError as HTTPTimeout

from distcycle.metadata.errors import TooLarge, Unreachable
from distcycle.metadata.urls import origin_of, redact_url, split_credentials

__all__ = ["Answer", "Client", "Connection"]

_CHUNK_BYTES = 64 * 1024
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 527})
_LONGEST_WAIT_S = 30.0
_POOL = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How servers are reached.

    Attributes:
        timeout_s: Longest silence; a whole answer may take twenty times as long.
        retries: Further attempts after the first.
        backoff_s: Wait before the first further attempt; it doubles with each.
        cert: A file of certificate authorities; None for those of ``requests``.
        client_cert: A file with the client's certificate and key.
        proxy: For http and https; None for what the environment says.
        trusted_hosts: ``host`` or ``host:port`` whose certificate is not checked.
        credentials: User and password per origin (``https://host:port``).
    """

    timeout_s: float = 15.0
    retries: int = 3
    backoff_s: float = 0.25
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = None
    trusted_hosts: tuple[str, ...] = ()
    credentials: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server answered; ``body`` is empty unless the status is 200 or 206."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    problem: str
    status: int | None = None
    wait_s: float | None = None
    final: bool = False
    connecting: bool = False


class Client:
    """A set of connections shared by all threads.

    Args:
        connection: How servers are reached.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._local = threading.local()
        self._adapters = {"https://": _adapter(), "http://": _adapter()}
        for host in connection.trusted_hosts:
            # A port leaves no other; without one, all are meant, but no longer host name is.
            for end in ("/",) if ":" in host else ("/", ":"):
                self._adapters[f"https://{host}{end}"] = _TrustingAdapter()
        if connection.trusted_hosts:
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        self._unreachable: dict[str, str] = {}

    def close(self) -> None:
        """Close all connections."""
        for adapter in self._adapters.values():
            adapter.close()

    def get(
        self, url: str, *, limit_bytes: int, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Get a URL, following redirects.

        Args:
            url: An http or https URL; credentials in it are used.
            limit_bytes: The largest body that is read.
            headers: Further request headers. With ``Range`` only a 206 is bounded by the range
                itself; a server that ignores it is still held to ``limit_bytes``.

        Returns:
            The answer, whatever its status, unless that is one that is retried in vain.

        Raises:
            Unreachable: No answer, or the server kept failing.
            TooLarge: The body is larger than the limit.
        """
        origin = origin_of(url)
        if origin in self._unreachable:
            raise Unreachable(self._unreachable[origin], url=redact_url(url))
        failure = None
        for attempt in range(self._connection.retries + 1):
            if failure is not None:
                time.sleep(failure.wait_s or self._connection.backoff_s * 2 ** (attempt - 1))
            outcome = self._attempt(url, headers, limit_bytes)
            if isinstance(outcome, Answer):
                return outcome
            failure = outcome
            if failure.final:
                break
        raise self._given_up(url, failure)

    def _attempt(
        self, url: str, headers: Mapping[str, str] | None, limit_bytes: int
    ) -> Answer | _Failure:
        try:
            with self._send(url, headers) as response:
                if response.status_code not in _RETRIED:
                    return self._read(response, limit_bytes)
                return _Failure(
                    problem=f"HTTP {response.status_code}",
                    status=response.status_code,
                    wait_s=_retry_after(response),
                )
        except (requests.RequestException, HTTPError, ValueError, OSError) as error:
            return _Failure(
                problem=_describe(error),
                final=_is_final(error),
                connecting=_reason(error) is not None,
            )

    def _given_up(self, url: str, failure: _Failure | None) -> Unreachable:
        """Remember a host that cannot be connected to: a lock may name it a thousand times."""
        if failure is None:
            raise ValueError("a negative number of retries")
        if failure.connecting:
            self._unreachable[origin_of(url)] = failure.problem
        return Unreachable(failure.problem, url=redact_url(url), status=failure.status)

    def _send(self, url: str, headers: Mapping[str, str] | None) -> requests.Response:
        connection = self._connection
        bare, own = split_credentials(url)
        proxies = {"http": connection.proxy, "https": connection.proxy} if connection.proxy else {}
        return self._session().get(
            bare,
            headers=dict(headers or {}),
            auth=own or connection.credentials.get(origin_of(bare)),
            timeout=connection.timeout_s,
            verify=connection.cert,
            cert=connection.client_cert,
            proxies=proxies,
            stream=True,
        )

    def _session(self) -> requests.Session:
        """One session per thread, for they are not safe to share; connections are shared."""
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = _Session()
            session.headers["User-Agent"] = "distcycle"
            for prefix, adapter in self._adapters.items():
                session.mount(prefix, adapter)
        return session

    def _read(self, response: requests.Response, limit_bytes: int) -> Answer:
        body = b""
        if response.status_code in {200, 206}:
            body = self._body(response, limit_bytes)
        return Answer(
            url=response.url, status=response.status_code, headers=response.headers, body=body
        )

    def _body(self, response: requests.Response, limit_bytes: int) -> bytes:
        url = redact_url(response.url)
        declared = response.headers.get("Content-Length", "")
        if declared.isdecimal() and int(declared) > limit_bytes:
            raise TooLarge(limit_bytes, url=url)
        deadline = time.monotonic() + 20 * self._connection.timeout_s
        body = bytearray()
        for chunk in response.iter_content(_CHUNK_BYTES):
            body += chunk
            if len(body) > limit_bytes:
                raise TooLarge(limit_bytes, url=url)
            if time.monotonic() > deadline:
                raise Unreachable("the answer takes too long", url=url)
        return bytes(body)


class _Session(requests.Session):
    """Sends no credentials from https on to http, not even those of a netrc file."""

    def rebuild_auth(
        self, prepared_request: requests.PreparedRequest, response: requests.Response
    ) -> None:
        super().rebuild_auth(prepared_request, response)
        was_secure = str(response.request.url).startswith("https:")
        if was_secure and not str(prepared_request.url).startswith("https:"):
            prepared_request.headers.pop("Authorization", None)


class _TrustingAdapter(HTTPAdapter):
    """For pip's ``trusted-host``: does not check the certificate."""

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # type: ignore[override]
        return super().send(request, **{**options, "verify": False})


def _adapter() -> HTTPAdapter:
    return HTTPAdapter(pool_connections=_POOL, pool_maxsize=_POOL)


def _retry_after(response: requests.Response) -> float | None:
    """Source: RFC 9110, section 10.2.3; a wait longer than what a person would bear is cut."""
    value = response.headers.get("Retry-After", "")
    if value.isdecimal():
        return min(float(value), _LONGEST_WAIT_S)
    try:
        wait_s = parsedate_to_datetime(value).timestamp() - time.time()
    except (TypeError, ValueError):
        return None
    return min(max(wait_s, 0.0), _LONGEST_WAIT_S)


def _reason(error: Exception) -> Exception | None:
    """The failure to connect inside a library's error; None when a connection stood."""
    inner = error.args[0] if error.args else None
    return inner.reason if isinstance(inner, MaxRetryError) else None


def _is_final(error: Exception) -> bool:
    """Whether another attempt is pointless: a resolver has already tried again by itself."""
    if isinstance(error, requests.exceptions.SSLError):
        return _is_distrust(error)
    if isinstance(error, requests.ConnectionError):
        return isinstance(_reason(error), NameResolutionError)
    hopeless = ValueError, requests.exceptions.InvalidSchema, requests.TooManyRedirects
    return isinstance(error, hopeless) or _is_setting(error)


def _is_setting(error: Exception) -> bool:
    """Whether a file of certificates is at fault, for which there is no class of its own."""
    return isinstance(error, OSError) and not isinstance(error, requests.RequestException)


def _is_distrust(error: Exception) -> bool:
    return "CERTIFICATE_VERIFY_FAILED" in str(error)


def _describe(error: Exception) -> str:
    """A failure in words that do not vary between runs, as reports must not."""
    for kinds, words in _WORDS:
        if isinstance(error, kinds) or isinstance(_reason(error), kinds):
            return words
    if _is_setting(error):
        return "the file of certificates cannot be read"
    if _is_distrust(error):
        return "the certificate is not trusted"
    return "the connection broke" if _reason(error) is None else "cannot be connected to"


_WORDS: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((NameResolutionError,), "there is no such host"),
    ((NewConnectionError,), "cannot be connected to"),
    ((requests.exceptions.ProxyError,), "the proxy cannot be reached, or refuses"),
    ((requests.Timeout, HTTPTimeout), "timed out"),
    ((requests.TooManyRedirects,), "too many redirects"),
    ((ValueError, requests.exceptions.InvalidSchema), "not a URL that can be asked"),
)

from pathlib import Path

import pytest

from distcycle.metadata.urls import (
    filename_of,
    is_url,
    local_path,
    origin_of,
    redact_url,
    split_credentials,
    with_suffix,
    without_credentials,
)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:s3cret@pypi.example/simple/", "https://pypi.example/simple/"),
        ("https://token@pypi.example:8080/x?sig=s3cret#s3cret", "https://pypi.example:8080/x"),
        ("git+ssh://s3cret@host.example/x.git", "git+ssh://host.example/x.git"),
        ("https://s3cret@[broken/x", "https://[broken/x"),
        ("/plain/path", "/plain/path"),
    ],
)
def test_messages_hold_no_secret(url: str, shown: str) -> None:
    assert redact_url(url) == shown


def test_credentials_are_unquoted() -> None:
    url, pair = split_credentials("https://me%40x:p%2Fw@pypi.example/simple")
    assert url == "https://pypi.example/simple"
    assert pair == ("me@x", "p/w")
    assert split_credentials("https://pypi.example/a@b") == ("https://pypi.example/a@b", None)


def test_without_credentials_keeps_the_rest() -> None:
    assert without_credentials("sha256:ab") == "sha256:ab"
    assert without_credentials("https://u:p@x/y?z#w") == "https://x/y?z#w"


def test_local_path() -> None:
    assert local_path("file:///a/b%20c") == Path("/a/b c")
    assert local_path("file://localhost/a") == Path("/a")
    assert local_path("wheels") == Path("wheels")
    assert local_path("https://pypi.example/a") is None
    assert local_path("~/x") == Path.home() / "x"


def test_parts() -> None:
    assert not is_url("C:\\wheels")
    assert origin_of("HTTPS://u:p@Pypi.Example:8443/x") == "https://pypi.example:8443"
    assert origin_of("/x") == ""
    assert filename_of("https://x/a/torch-2.0.0%2Bcu118.whl#sha256=1") == "torch-2.0.0+cu118.whl"
    assert with_suffix("https://x/a.whl?t=1#f", ".metadata") == "https://x/a.whl.metadata?t=1"

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from distcycle.model import Artefact, Package, Place
from distcycle.readers.references import (
    is_reference,
    parse_digest,
    parse_reference,
    pinned_version,
    refer,
    without_credentials,
)


@pytest.mark.parametrize(
    ("text", "source", "name", "version"),
    [
        ("https://h.example/foo-1.0-py3-none-any.whl", "url", "foo", "1.0"),
        ("https://h.example/Foo_Bar-1.0.tar.gz", "url", "foo-bar", "1.0"),
        ("https://h.example/get?file=foo-1.0.zip", "url", None, None),
        ("https://h.example/u/foo/archive/foo-1.0.zip", "url", None, None),
        ("https://h.example/u/foo/archive/v1.zip#egg=Foo", "url", "foo", None),
        ("https://h.example/u/foo/archive/v1.zip#foo_bar==1.2", "url", "foo-bar", "1.2"),
        ("https://h.example/foo-1.0.zip#egg=bar", "url", "bar", None),
        ("git+https://h.example/foo.git@v1#egg=foo&subdirectory=x", "vcs", "foo", None),
        ("git+https://h.example/foo.git@v1#subdirectory=x&egg=foo", "vcs", "foo", None),
        ("git+git@h.example:u/foo.git#egg=foo", "vcs", "foo", None),
        ("git://h.example/foo.git#egg=foo", "vcs", "foo", None),
        ("git+https://h.example/foo.git", "vcs", None, None),
        ("file:///tmp/foo-1.0-py3-none-any.whl", "file", "foo", "1.0"),
        ("./wheels/foo-1.0-py3-none-any.whl", "file", "foo", "1.0"),
        (r"C:\wheels\foo-1.0-py3-none-any.whl", "file", "foo", "1.0"),
        ("wheels/foo.whl", "file", None, None),
        ("./foo", "directory", None, None),
        ("../foo#egg=foo", "directory", "foo", None),
        ("https://h.example/foo-" + "9" * 5000 + ".tar.gz", "url", None, None),
    ],
)
def test_a_reference_tells(text: str, source: str, name: str | None, version: str | None) -> None:
    reference = parse_reference(text)
    assert reference.source == source
    assert reference.name == name
    assert reference.version == (Version(version) if version else None)


def test_editable_paths_and_repositories() -> None:
    assert parse_reference("foo", editable=True).source == "editable"
    assert parse_reference("file:.", editable=True).source == "editable"
    assert parse_reference("git+https://h.example/foo", editable=True).source == "vcs"


def test_extras_of_a_path_and_of_a_fragment() -> None:
    assert parse_reference(".[Socks, a_b]").extras == ("a-b", "socks")
    assert parse_reference(".[socks]").target == "."
    assert parse_reference("git+https://h.example/foo#egg=foo[x]").extras == ("x",)


def test_a_file_keeps_its_password_and_nothing_else_does() -> None:
    url = "https://user:secret@h.example/foo-1.0.tar.gz"
    reference = parse_reference(f"{url}#sha256=AB12&egg=foo")
    assert reference.target == "https://h.example/foo-1.0.tar.gz"
    assert reference.artefacts == (
        Artefact(filename="foo-1.0.tar.gz", url=url, hashes=(("sha256", "ab12"),)),
    )


def test_a_local_file_has_a_path() -> None:
    assert parse_reference("./a/foo-1.0.tar.gz").artefacts == (
        Artefact(filename="foo-1.0.tar.gz", path="./a/foo-1.0.tar.gz"),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://user:p@ss@h.example/x", "https://h.example/x"),
        ("https://token@h.example/x", "https://h.example/x"),
        ("git+ssh://git:pw@h.example/x", "git+ssh://git@h.example/x"),
        ("git+https://h.example/x@rev", "git+https://h.example/x@rev"),
        ("foo @ https://u:p@h.example/x ; extra", "foo @ https://h.example/x ; extra"),
        ("git+git@h.example:u/x.git", "git+git@h.example:u/x.git"),
    ],
)
def test_credentials_are_taken_out(text: str, expected: str) -> None:
    assert without_credentials(text) == expected


@pytest.mark.parametrize("text", ["./x", "x/y", ".", "..", "x.whl", "https://h", "git+x:y", "a\\b"])
def test_is_reference(text: str) -> None:
    assert is_reference(text)


@pytest.mark.parametrize("text", ["foo", "foo==1.0", "foo.bar>=2", "zip", "Note: foo"])
def test_is_no_reference(text: str) -> None:
    assert not is_reference(text)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("==1.0", "1.0"),
        ("===1.0", "1.0"),
        (">=1,==1.5", "1.5"),
        ("==1.*", None),
        (">=1", None),
        ("===no-version", None),
        ("", None),
    ],
)
def test_pinned_version(text: str, version: str | None) -> None:
    assert pinned_version(SpecifierSet(text)) == (Version(version) if version else None)


@pytest.mark.parametrize("text", ["", "sha256:", "md5:ab", "sha256:xyz", "sha256", "ab"])
def test_what_is_no_digest(text: str) -> None:
    assert parse_digest(text) is None


def test_the_version_of_a_file_of_another_project_is_not_taken() -> None:
    package = Package(name=canonicalize_name("foo"), version=None, place=Place(path="x"))
    assert refer(package, parse_reference("./bar-1.0.tar.gz")).version is None
    assert refer(package, parse_reference("./foo-1.0.tar.gz")).version == Version("1.0")

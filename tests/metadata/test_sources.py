"""``[build-system]`` out of source distributions, well made and hostile."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable

import pytest
from local_index import Reply, Server, make_sdist, sha256

from distcycle.errors import MetadataError
from distcycle.metadata import Library, archive
from distcycle.metadata.archive import read_pyproject
from distcycle.metadata.sources import parse_build_system
from distcycle.model import Artefact, BuildSystem, Facts, IndexOptions, Needs, Unknown

NAME = "demo-1.0.tar.gz"
BUILD = b'[build-system]\nrequires = ["hatchling>=1"]\n'


def texts(build: BuildSystem) -> list[str]:
    return [requirement.text for requirement in build.requires]


def read(data: bytes, filename: str = NAME) -> bytes | None:
    return read_pyproject(io.BytesIO(data), filename)


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return buffer.getvalue()


# The table ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "requires", "is_default"),
    [
        (None, ["setuptools>=40.8.0"], True),
        (b"", ["setuptools>=40.8.0"], True),
        (b"[tool.ruff]\n", ["setuptools>=40.8.0"], True),
        (BUILD, ["hatchling>=1"], False),
        (b'[build-system]\nrequires = []\nbackend-path = ["."]\n', [], False),
        (b"[build-system]\nrequires = [\"a ; os_name == 'nt'\"]\n", ["a ; os_name == 'nt'"], False),
        (b'[build-system]\nrequires = ["a>=1,,<2"]\n', ["a>=1,,<2"], False),
    ],
)
def test_what_is_needed(text: bytes | None, requires: list[str], is_default: bool) -> None:
    build = parse_build_system(text)
    assert (texts(build), build.is_default) == (requires, is_default)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"\xff\xfe", "not UTF-8"),
        (b"[build-system\n", "pyproject.toml:1: not valid TOML"),
        (b"a = " + b"[" * 5000, "not valid TOML"),
        (b"a = " + b"1" * 5000, "not valid TOML"),
        (b"build-system = 3\n", "build-system: expected a table"),
        (b"[[build-system]]\nrequires = []\n", "build-system: expected a table"),
        (b"[build-system]\n", "requires: expected an array, found none"),
        (b"[build-system]\nrequires = 'hatchling'\n", "requires: expected an array of strings"),
        (b"[build-system]\nrequires = [1]\n", "requires: expected an array of strings"),
        (b"[build-system]\nrequires = ['>=1']\n", "requires: no project name"),
    ],
)
def test_what_cannot_be_read(text: bytes, problem: str) -> None:
    with pytest.raises(MetadataError, match=problem) as caught:
        parse_build_system(text)
    assert "\n" not in str(caught.value)


# The archive -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz", "w"])
def test_the_file_in_the_top_folder_of_a_tar_counts(mode: str) -> None:
    ends = {"w:gz": ".tar.gz", "w:bz2": ".tar.bz2", "w:xz": ".tar.xz", "w": ".tar"}
    members = {
        "demo-1.0/sub/pyproject.toml": b"nested",
        "demo-1.0/../pyproject.toml": b"outside",
        "../pyproject.toml": b"outside",
        "/pyproject.toml": b"outside",
        "pyproject.toml": b"loose",
        "./demo-1.0/pyproject.toml": BUILD,
    }
    assert read(make_sdist(members, mode), f"demo-1.0{ends[mode]}") == BUILD


def test_a_zip_is_read_as_well() -> None:
    members = {"demo-1.0/sub/pyproject.toml": b"", "demo-1.0/pyproject.toml": BUILD}
    assert read(zipped(members), "demo-1.0.zip") == BUILD


@pytest.mark.parametrize("make", [make_sdist, zipped])
def test_an_archive_may_have_none(make: Callable[[dict[str, bytes]], bytes]) -> None:
    filename = "demo-1.0.zip" if make is zipped else NAME
    assert read(make({"demo-1.0/setup.py": b""}), filename) is None


def test_of_two_members_of_one_name_the_last_is_what_gets_unpacked() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as file:
        for data in (b"first", b"last"):
            info = tarfile.TarInfo("demo-1.0/pyproject.toml")
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    assert read(buffer.getvalue()) == b"last"


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({}, "no top folder"),
        ({"setup.py": b""}, "no top folder"),
        ({"a/pyproject.toml": b"", "b/pyproject.toml": b""}, "several top folders: a, b"),
        ({"demo-1.0/pyproject.toml": b"#" * (2**20 + 1)}, "pyproject.toml larger than 1 MiB"),
    ],
)
@pytest.mark.parametrize("make", [make_sdist, zipped])
def test_archives_that_are_refused(
    members: dict[str, bytes], problem: str, make: Callable[[dict[str, bytes]], bytes]
) -> None:
    filename = "demo-1.0.zip" if make is zipped else NAME
    with pytest.raises(MetadataError, match=problem):
        read(make(members), filename)


def test_links_are_not_followed() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as file:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            info = tarfile.TarInfo("demo-1.0/pyproject.toml")
            info.type, info.linkname = kind, "../secret.toml"
            file.addfile(info)
    with pytest.raises(MetadataError, match="not a regular file"):
        read(buffer.getvalue())


def test_bombs_end_in_an_error_and_in_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_UNPACKED_LIMIT_BYTES", 8 * 2**20)
    zeros = make_sdist({"demo-1.0/pad": b"\0" * (16 * 2**20)})
    bomb = zipped({"demo-1.0/pyproject.toml": b"\0" * (64 * 2**20)})
    tracemalloc.start()
    with pytest.raises(MetadataError, match="unpacks to more than 8 MiB"):
        read(zeros)
    with pytest.raises(MetadataError, match="larger than 1 MiB"):
        read(bomb, "demo-1.0.zip")
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 8 * 2**20


def test_damaged_archives_give_one_error() -> None:
    whole = {
        NAME: make_sdist({"demo-1.0/pyproject.toml": BUILD, "demo-1.0/x": b"x" * 999}),
        "demo-1.0.tar": gzip.decompress(make_sdist({"demo-1.0/pyproject.toml": BUILD})),
        "demo-1.0.zip": zipped({"demo-1.0/pyproject.toml": BUILD}),
    }
    chance = random.Random(11)
    for filename, good in whole.items():
        for _ in range(200):
            data = bytearray(good[: chance.randrange(len(good) + 1)])
            for _ in range(chance.randrange(6)):
                if data:
                    data[chance.randrange(len(data))] = chance.randrange(256)
            try:
                read(bytes(data), filename)
            except MetadataError as error:
                assert "\n" not in str(error)  # noqa: PT017


# Finding it --------------------------------------------------------------------------------------


def build_of(library: Library, sdist: Artefact) -> BuildSystem | Unknown:
    needs = Needs(files={}, metadata=(), builds=(sdist,))
    return library.gather(needs, Facts(), index=IndexOptions()).builds[sdist.identity]


def sdist_at(server: Server, data: bytes) -> Artefact:
    server.replies[f"/files/{NAME}"] = Reply(200, data)
    return Artefact(
        filename=NAME, url=f"{server.url}/files/{NAME}", hashes=(("sha256", sha256(data)),)
    )


def test_it_is_fetched_once_and_kept(library: Callable[..., Library], server: Server) -> None:
    sdist = sdist_at(server, make_sdist({"demo-1.0/pyproject.toml": BUILD}))
    for _ in range(2):
        found = build_of(library(), sdist)
        assert isinstance(found, BuildSystem)
        assert texts(found) == ["hatchling>=1"]
    assert server.paths() == [f"/files/{NAME}"]
    assert isinstance(build_of(library(offline=True), sdist), BuildSystem)


def test_what_is_kept_does_not_stand_for_metadata(
    library: Callable[..., Library], server: Server
) -> None:
    sdist = sdist_at(server, make_sdist({"demo-1.0/pyproject.toml": BUILD}))
    build_of(library(), sdist)
    needs = Needs(files={}, metadata=(sdist,))
    found = library(offline=True).gather(needs, Facts(), index=IndexOptions())
    assert isinstance(found.metadata[sdist.identity], Unknown)


@pytest.mark.parametrize(
    ("text", "problem"), [(b"\xff", "not UTF-8"), (b"[build-system]\nrequires = 1", "an array")]
)
def test_a_reason_stands_for_what_cannot_be_read(
    text: bytes, problem: str, library: Callable[..., Library], server: Server
) -> None:
    sdist = sdist_at(server, make_sdist({"demo-1.0/pyproject.toml": text}))
    found = build_of(library(), sdist)
    assert isinstance(found, Unknown)
    assert problem in found.reason


def test_a_file_with_another_hash_ends_the_run(
    library: Callable[..., Library], server: Server
) -> None:
    sdist = sdist_at(server, make_sdist({"demo-1.0/pyproject.toml": BUILD}))
    server.replies[f"/files/{NAME}"] = Reply(200, make_sdist({"demo-1.0/pyproject.toml": b""}))
    with pytest.raises(MetadataError, match="does not have the hash"):
        build_of(library(), sdist)


def test_large_and_absent_files_are_reasons(
    library: Callable[..., Library], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("distcycle.metadata.artefacts._WHOLE_SDIST_LIMIT_BYTES", 2**20)
    noise = random.Random(1).randbytes(2**21)
    sdist = sdist_at(server, noise)
    found = build_of(library(), sdist)
    assert isinstance(found, Unknown)
    assert "larger than 1 MiB" in found.reason
    server.replies.clear()
    assert isinstance(build_of(library(), sdist), Unknown)


def test_versions_are_asked_for(library: Callable[..., Library], server: Server) -> None:
    server.add_page("demo", {"demo-1.0.tar.gz": b"", "demo-2.0.tar.gz": b""})
    needs = Needs(files={}, metadata=(), versions=("demo", "absent"))  # type: ignore[arg-type]
    found = library().gather(needs, Facts(), index=IndexOptions()).versions
    assert [str(version) for version in found["demo"]] == ["2.0", "1.0"]  # type: ignore
    assert isinstance(found["absent"], Unknown)  # type: ignore[index]

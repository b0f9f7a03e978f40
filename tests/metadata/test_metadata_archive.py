import io
import os
import random
import tracemalloc
import zipfile
from collections.abc import Callable
from typing import BinaryIO

import pytest
from local_index import make_sdist, make_wheel, metadata_text

from distcycle.errors import MetadataError
from distcycle.metadata import archive
from distcycle.metadata.archive import name_and_version, read_sdist, read_wheel

WHEEL = "demo-1.0-py3-none-any.whl"


def zipped(members: dict[str, bytes]) -> io.BytesIO:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return buffer


def refusal(read: Callable[[BinaryIO, str], bytes], data: bytes, filename: str) -> str:
    try:
        read(io.BytesIO(data), filename)
    except MetadataError as error:
        return str(error)
    return ""


def test_metadata_of_a_wheel() -> None:
    data = make_wheel("demo", "1.0", "torch")
    assert b"Requires-Dist: torch" in read_wheel(io.BytesIO(data), WHEEL)


def test_the_folder_of_the_wheels_own_project_counts() -> None:
    members = {
        "other-1.0.dist-info/METADATA": b"Name: other",
        "De.Mo-1.0.0.dist-info/METADATA": b"Name: de-mo",
        "demo/x.dist-info/METADATA": b"Name: nested",
    }
    assert read_wheel(zipped(members), "de_mo-1.0-py3-none-any.whl") == b"Name: de-mo"


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"demo/__init__.py": b""}, "no demo-"),
        ({"other-1.0.dist-info/METADATA": b""}, "no demo-"),
        (
            {"demo-1.0.dist-info/METADATA": b"", "demo-2.0.dist-info/METADATA": b""},
            "several .dist-info folders",
        ),
        ({"demo-1.0.dist-info/METADATA": b"\0" * (8 * 2**20 + 1)}, "larger than 8 MiB"),
    ],
)
def test_wheels_that_are_refused(members: dict[str, bytes], problem: str) -> None:
    with pytest.raises(MetadataError, match=problem):
        read_wheel(zipped(members), WHEEL)


def test_truncated_and_garbled_wheels_give_one_error() -> None:
    whole = make_wheel("demo", "1.0", "torch", padding_bytes=200)
    chance = random.Random(7)
    for _ in range(300):
        data = bytearray(whole[: chance.randrange(len(whole) + 1)])
        for _ in range(chance.randrange(8)):
            if data:
                data[chance.randrange(len(data))] = chance.randrange(256)
        assert "\n" not in refusal(read_wheel, bytes(data), WHEEL)


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz", "w"])
def test_pkg_info_of_a_tar(mode: str) -> None:
    ends = {"w:gz": ".tar.gz", "w:bz2": ".tar.bz2", "w:xz": ".tar.xz", "w": ".tar"}
    members = {
        "demo-1.0/src/demo.egg-info/PKG-INFO": b"Name: nested",
        "./demo-1.0/PKG-INFO": metadata_text("demo", "1.0"),
    }
    data = make_sdist(members, mode)
    assert b"Name: demo\n" in read_sdist(io.BytesIO(data), f"demo-1.0{ends[mode]}")


def test_pkg_info_of_a_zip() -> None:
    members = {"demo-1.0/a/PKG-INFO": b"no", "demo-1.0/PKG-INFO": b"Name: demo"}
    assert read_sdist(zipped(members), "demo-1.0.zip") == b"Name: demo"


@pytest.mark.parametrize(
    ("data", "filename", "problem"),
    [
        (make_sdist({"demo-1.0/setup.py": b""}), "demo-1.0.tar.gz", "no PKG-INFO"),
        (b"not gzip", "demo-1.0.tar.gz", "not a readable source distribution"),
        (b"", "demo-1.0.tar.gz", "source distribution"),
        (b"", "demo-1.0.zip", "not a readable source distribution"),
        (b"", "demo-1.0.egg", "neither a wheel nor a source distribution"),
    ],
    # A gzip file holds its time: without a name of its own, the case has another in each process.
    ids=["without PKG-INFO", "not gzip", "empty tar", "empty zip", "egg"],
)
def test_source_distributions_that_are_refused(data: bytes, filename: str, problem: str) -> None:
    with pytest.raises(MetadataError, match=problem):
        read_sdist(io.BytesIO(data), filename)


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_UNPACKED_LIMIT_BYTES", 2**20)
    bomb = make_sdist({"demo-1.0/zeros": bytes(64 * 2**20), "demo-1.0/PKG-INFO": b"Name: demo"})
    tracemalloc.start()
    with pytest.raises(MetadataError, match="unpacks to more than 1 MiB"):
        read_sdist(io.BytesIO(bomb), "demo-1.0.tar.gz")
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 16 * 2**20


def test_truncated_source_distributions_give_one_error() -> None:
    members = {"demo-1.0/a": os.urandom(3000), "demo-1.0/PKG-INFO": metadata_text("demo", "1.0")}
    whole = make_sdist(members)
    for length in range(0, len(whole), 97):
        assert "\n" not in refusal(read_sdist, whole[:length], "demo-1.0.tar.gz")


@pytest.mark.parametrize(
    ("filename", "expected"),
    [
        ("De_Mo-1.0-py3-none-any.whl", "de-mo 1.0"),
        ("demo-1.0.tar.gz", "demo 1.0"),
        ("demo-1.0.zip", "demo 1.0"),
        ("demo-2004d-py3-none-any.whl", None),
        ("demo-1.0-cp313-cp313-linux_x86_64-x86_64_v3.whl", None),
        ("demo-1.0-py2.7.egg", None),
        ("index.html", None),
    ],
)
def test_name_and_version(filename: str, expected: str | None) -> None:
    found = name_and_version(filename)
    assert (f"{found[0]} {found[1]}" if found else None) == expected

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from distcycle.metadata.cache import Cache
from distcycle.metadata.listing import list_files
from distcycle.model import Artefact

DIGEST = "ab" * 32
WHEEL = Artefact(
    filename="demo-1.0-py3-none-any.whl",
    url="https://pypi.example/demo-1.0-py3-none-any.whl",
    hashes=(("sha256", DIGEST),),
    requires_python=SpecifierSet(">=3.8"),
    metadata_hashes=(),
)
PAGE = list_files([WHEEL], etag='"x"')


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_what_is_stored_is_loaded(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.store_metadata(DIGEST, b"Name: demo\n", origin="")
    cache.store_listing("https://pypi.example/simple demo", PAGE)
    again = Cache(tmp_path)
    assert again.load_metadata(DIGEST) == b"Name: demo\n"
    assert again.load_listing("https://pypi.example/simple demo") == PAGE
    assert again.load_metadata("cd" * 32) is None
    assert again.load_listing("https://other.example/simple demo") is None


def test_a_strange_host_cannot_plant_metadata(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.store_metadata(DIGEST, b"Name: planted\n", origin="https://hostile.example")
    assert cache.load_metadata(DIGEST) is None
    assert cache.load_metadata(DIGEST, ["https://files.example"]) is None
    assert cache.load_metadata(DIGEST, ["https://hostile.example"]) == b"Name: planted\n"


@pytest.mark.parametrize("damage", [b"", b"garbage", b"\n", b"x" * 64 + b"\nName: demo\n"])
def test_damaged_entry_is_ignored_and_rewritten(tmp_path: Path, damage: bytes) -> None:
    cache = Cache(tmp_path)
    cache.store_metadata(DIGEST, b"Name: demo\n", origin="")
    (entry,) = files(tmp_path)
    entry.write_bytes(damage)
    assert cache.load_metadata(DIGEST) is None
    cache.store_metadata(DIGEST, b"Name: demo\n", origin="")
    assert cache.load_metadata(DIGEST) == b"Name: demo\n"


def test_truncated_entry_is_ignored(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.store_metadata(DIGEST, b"Name: demo\nRequires-Dist: torch\n", origin="")
    (entry,) = files(tmp_path)
    entry.write_bytes(entry.read_bytes()[:-8])
    assert cache.load_metadata(DIGEST) is None


def test_nothing_is_left_beside_an_entry(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(40):
            pool.submit(cache.store_metadata, DIGEST, b"Name: demo\n", origin="")
    assert len(files(tmp_path)) == 1
    assert cache.load_metadata(DIGEST) == b"Name: demo\n"


def test_digest_from_an_input_names_no_other_folder(tmp_path: Path) -> None:
    Cache(tmp_path / "cache").store_metadata("../../../evil", b"x", origin="")
    assert all(tmp_path / "cache" in path.parents for path in files(tmp_path))


@pytest.mark.skipif(os.name == "nt", reason="folders cannot be made read-only there")
def test_unusable_folder_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for cache in (Cache(None), Cache(tmp_path / "file")):
        cache.store_metadata(DIGEST, b"x", origin="")
        assert cache.load_metadata(DIGEST) is None

"""Trees are read in several processes, and only once."""

import sys
from pathlib import Path

import pytest
from module_trees import write_tree

from distcycle import scans
from distcycle.metadata.cache import Cache
from distcycle.scans import Scanner

FILES = {
    "p/__init__.py": "from .a import x\n",
    "p/a.py": "import hen\n",
    "p/b.py": "import egg\n",
    "p/newer.py": "lazy import hen\ntype X = int\n",
    "p/broken.py": "import (\n",
}


def names(scan: scans.Scan) -> dict[str, list[str]]:
    return {name: [r.module for r in f.records] for name, f in scan.modules.files.items()}


EXPECTED = {"p": ["a"], "p.a": ["hen"], "p.b": ["egg"], "p.newer": ["hen"], "p.broken": []}


def test_a_tree(tmp_path: Path) -> None:
    scan = Scanner(Cache(None)).scan(write_tree(tmp_path, FILES))
    assert names(scan) == EXPECTED
    assert scan.modules.files["p.broken"].fault
    assert scan.programs == {}
    assert scan.place("p.a") == str(tmp_path / "p" / "a.py")


def test_programs_where_they_are_asked_for(tmp_path: Path) -> None:
    scan = Scanner(Cache(None)).scan(write_tree(tmp_path, FILES), programs=True)
    assert names(scan) == EXPECTED
    assert scan.programs["p"].bound == {"x": 1}
    assert scan.programs["p.broken"].fault


def test_several_processes_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "_PARALLEL_BYTES", 0)
    source = write_tree(tmp_path, FILES)
    for programs in (False, True):
        alone = Scanner(Cache(None)).scan(source, programs=programs)
        shared = Scanner(Cache(None), processes=2).scan(source, programs=programs)
        assert shared == alone


def test_only_files_that_hold_a_word(tmp_path: Path) -> None:
    scan = Scanner(Cache(None)).scan(write_tree(tmp_path, FILES), only=[b"hen"])
    assert set(scan.modules.files) == {"p.a", "p.newer"}
    assert set(scan.modules.modules) == set(EXPECTED)


def forbid_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise AssertionError("was parsed again")

    monkeypatch.setattr(scans, "read_file", fail)
    monkeypatch.setattr(scans, "_run_newer", fail)


@pytest.mark.parametrize("programs", [False, True])
def test_what_was_read_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, programs: bool
) -> None:
    source = write_tree(tmp_path / "tree", FILES)
    first = Scanner(Cache(tmp_path / "cache")).scan(source, programs=programs)
    forbid_parsing(monkeypatch)
    assert Scanner(Cache(tmp_path / "cache")).scan(source, programs=programs) == first


def test_only_what_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path / "cache")
    Scanner(cache).scan(write_tree(tmp_path / "tree", FILES))
    source = write_tree(tmp_path / "tree", {"p/a.py": "import cock\n"})
    parsed = []
    read_file = scans.read_file

    def remember(data: bytes, **options: bool) -> object:
        parsed.append(data)
        return read_file(data, **options)

    monkeypatch.setattr(scans, "read_file", remember)
    scan = Scanner(cache).scan(source)
    assert names(scan) == {**EXPECTED, "p.a": ["cock"]}
    assert parsed == [b"import cock\n"]


def test_a_part_does_not_drive_out_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path / "cache")
    source = write_tree(tmp_path / "tree", FILES)
    Scanner(cache).scan(source, only=[b"hen"])
    Scanner(cache).scan(source)
    Scanner(cache).scan(source, only=[b"egg"])
    forbid_parsing(monkeypatch)
    assert names(Scanner(cache).scan(source)) == EXPECTED


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"\xff" * 64, None])
def test_an_entry_that_was_damaged_is_as_none(tmp_path: Path, damage: bytes | None) -> None:
    cache = Cache(tmp_path / "cache")
    source = write_tree(tmp_path / "tree", FILES)
    Scanner(cache).scan(source, programs=True)
    entries = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert entries
    for path in entries:
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if damage is None else damage)
    assert names(Scanner(cache).scan(source, programs=True)) == EXPECTED


def test_a_file_is_read_as_a_package_or_as_a_module(tmp_path: Path) -> None:
    """The same text means less where the names that it binds hide nothing."""
    files = {"p/__init__.py": "import a\n", "p/b.py": "import a\n"}
    for _ in range(2):
        scan = Scanner(Cache(tmp_path / "cache")).scan(write_tree(tmp_path / "t", files))
        assert scan.modules.files["p"].bound == {"a": 1}
        assert scan.modules.files["p.b"].bound is None


@pytest.mark.skipif(sys.platform == "win32", reason="processes end otherwise")
def test_a_parser_that_ends_its_process_is_a_fault(tmp_path: Path) -> None:
    """What the parser of newer syntax does on text that is nested far too deeply."""
    deep = "lazy import hen\n" + "(" * 100_000 + ")" * 100_000 + "\n"
    files = {**FILES, "p/deep.py": deep}
    scan = Scanner(Cache(None)).scan(write_tree(tmp_path, files))
    assert scan.modules.files["p.deep"].fault
    assert names(scan) == {**EXPECTED, "p.deep": []}

"""Trees that are made to harm, or only odd: nothing of them runs, hangs or is passed over."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from module_trees import make_tree, write_tree

from distcycle.errors import InputError
from distcycle.imports import extract, join
from distcycle.imports.conditions import evaluate_text
from distcycle.imports.loops import find_cycles, find_loops
from distcycle.imports.replay import read_program, replay
from distcycle.metadata.cache import Cache
from distcycle.scans import Scanner
from distcycle.trees import open_folder, open_installed, parse_record

Run = Callable[..., "subprocess.CompletedProcess[str]"]
MARK = "open({!r}, 'w').close()\n"


def install(folder: Path, files: Mapping[str, str], record: str, **texts: str) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    info = folder / "egg-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "RECORD").write_text(record, "utf-8")
    for name, text in texts.items():
        (info / name.replace("_json", ".json")).write_text(text, "utf-8")
    return info


# Nothing of it runs ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["heapq", "csv", "typing", "libcst", "sitecustomize"])
def test_no_module_of_the_working_folder_runs(distcycle: Run, tmp_path: Path, name: str) -> None:
    """Reading newer syntax starts a process, which must not look into the folder it is in."""
    ran = tmp_path / "ran"
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / f"{name}.py").write_text(MARK.format(str(ran)))
    (tree / "newer.py").write_text("lazy import egg\ntype X = int\n")
    environ = {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = "import sys; sys.path.remove(''); from distcycle.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", command, "imports", str(tree), "--no-cache", "--no-policy"],
        cwd=tree,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "1 lazy" in done.stdout
    assert not ran.exists()


# Nothing takes for ever --------------------------------------------------------------------------


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@pytest.mark.parametrize(
    "source",
    [
        "if a0: x0 = 1\n" + "".join(f"elif a{i}: x{i} = 1\n" for i in range(1, 150)),
        "".join("    " * i + f"if a{i}:\n" for i in range(90)) + "    " * 90 + "import b\n",
        "".join(f"def f{i}(): f{i + 1}(); f{i + 1}()\n" for i in range(40))
        + "def f40(): import b\nf0()\n",
    ],
    ids=["elif", "nested", "calls"],
)
def test_branches_that_cannot_be_decided(source: str) -> None:
    tree = make_tree({"a.py": source, "b.py": "import a"})
    programs = {"a": read_program(source.encode()), "b": read_program(b"import a")}
    assert seconds(lambda: replay(tree.modules, programs)) < 5


def test_a_ring_that_is_wide() -> None:
    files = {f"m{i}.py": f"import m{(i + 1) % 600}" for i in range(600)}
    (loop,) = find_loops(join(make_tree(files)), "executed")
    (cycle,) = find_cycles(loop, most=100)
    assert len(cycle) == 600


def test_a_pipe_is_no_module(tmp_path: Path) -> None:
    info = install(tmp_path, {"yolk.py": ""}, "egg.py,,\nyolk.py,,\n")
    os.mkfifo(tmp_path / "egg.py")
    assert set(open_installed(info).files) == {"yolk.py"}
    (tmp_path / "yolk.py").unlink()
    with pytest.raises(InputError, match="no Python module"):
        open_installed(info)


# Nothing is believed ------------------------------------------------------------------------------


def test_sizes_that_are_no_numbers() -> None:
    said = parse_record(f"a.py,,{'9' * 6000}\nb.py,,-1\nc.py,,\u0663\nd.py,,3\n".encode())
    assert [size for _, size in said.values()] == [None, None, None, 3]


def test_paths_that_lead_out(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("")
    info = install(tmp_path / "site", {"egg.py": ""}, "egg.py,,\negg/../../secret.py,,\n")
    assert set(open_installed(info).files) == {"egg.py"}


def test_an_editable_installation_with_an_import_hook(tmp_path: Path) -> None:
    """Its RECORD names a finder, and not the modules that the finder finds."""
    sources = tmp_path / "project"
    write_tree(sources, {"egg/__init__.py": "import hen\n"})
    url = json.dumps({"url": sources.as_uri(), "dir_info": {"editable": True}})
    record = "__editable___egg_finder.py,,\n"
    info = install(
        tmp_path / "site", {"__editable___egg_finder.py": ""}, record, direct_url_json=url
    )
    assert set(open_installed(info).files) == {"egg/__init__.py"}
    gone = json.dumps({"url": "file:///nowhere", "dir_info": {"editable": True}})
    (info / "direct_url.json").write_text(gone)
    with pytest.raises(InputError, match=r"not where direct_url\.json says"):
        open_installed(info)


# Nothing is passed over --------------------------------------------------------------------------


def test_a_file_that_is_too_large_is_a_fault(tmp_path: Path) -> None:
    source = write_tree(tmp_path, {"egg.py": "import hen\n" + "#" * (5 << 20)})
    assert Scanner(Cache(None)).scan(source).modules.files["egg"].fault


def test_a_process_that_failed_once_may_be_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distcycle import scans

    source = write_tree(tmp_path / "tree", {"egg.py": "lazy import hen\n"})
    cache = Cache(tmp_path / "cache")
    with monkeypatch.context() as patch:
        patch.setattr(scans, "_run_newer", lambda _texts: None)
        assert Scanner(cache).scan(source).modules.files["egg"].fault
    assert Scanner(cache).scan(source).modules.files["egg"].fault is None


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_every_end_of_a_line_counts(end: str) -> None:
    lines = ["# a comment", "try:", "    x = 1", "finally:", "    import hen", ""]
    (record,) = extract(end.join(lines).encode()).records
    assert (record.module, record.line) == ("hen", 5)


CALLED = {
    "f()": True,
    "if x: f()": False,
    "try:\n    f()\nexcept ImportError:\n    pass": False,
    "try:\n    f()\nfinally:\n    pass": True,
    "for x in y: f()": False,
    "with x: f()": True,
    "class C:\n    x = f()": True,
    "if __name__ == '__main__': f()": False,
    "if __name__ != '__main__': f()": True,
    "if TYPE_CHECKING: pass\nelse: f()": True,
}


@pytest.mark.parametrize("call", CALLED)
def test_what_a_module_calls_for_certain(call: str) -> None:
    source = f"def f():\n    import hen\n{call}\n"
    (record,) = extract(source.encode()).records
    assert record.is_hard is CALLED[call]


@pytest.mark.parametrize(
    "kind", ["async def f():\n    import hen", "def f():\n    yield\n    import hen"]
)
def test_what_a_call_only_prepares(kind: str) -> None:
    (record,) = extract(f"{kind}\nf()\n".encode()).records
    assert not record.runs_at_import


def test_a_function_in_a_branch_is_called_too() -> None:
    (record,) = extract(b"if True:\n    def f():\n        import hen\nf()\n").records
    assert record.is_hard


@pytest.mark.parametrize(
    "call",
    [
        "import importlib\nimportlib.__import__('hen')",
        "import builtins\nbuiltins.__import__('hen')",
        "match x:\n    case 1 if __import__('hen'): pass",
        "def f(x: __import__('hen')): pass",
    ],
)
def test_calls_in_odd_places(call: str) -> None:
    assert "hen" in {record.module for record in extract(call.encode()).records}


def test_the_first_release_of_a_version() -> None:
    target = {"python_version": "3.12"}
    assert evaluate_text("sys.version_info >= (3, 12, 0)", target) is True
    assert evaluate_text("sys.version_info < (3, 12, 0)", target) is False
    assert evaluate_text("sys.version_info >= (3, 12, 1)", target) is None


# Folders -----------------------------------------------------------------------------------------


def test_a_package_from_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(tmp_path / "p", {"__init__.py": "", "a.py": ""})
    monkeypatch.chdir(tmp_path / "p")
    assert set(open_folder(".").files) == {"p/__init__.py", "p/a.py"}


def test_a_link_to_a_package_has_its_own_name(tmp_path: Path) -> None:
    write_tree(tmp_path / "egg", {"__init__.py": ""})
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "other").symlink_to(tmp_path / "egg", target_is_directory=True)
    assert set(open_folder(str(tmp_path / "elsewhere" / "other")).files) == {"other/__init__.py"}


def test_a_source_folder_of_another_language(tmp_path: Path) -> None:
    write_tree(tmp_path, {"pyproject.toml": "", "p/__init__.py": "", "src/lib.rs": ""})
    assert set(open_folder(str(tmp_path)).files) == {"p/__init__.py"}


def test_compiled_modules_at_the_top(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.py": "", "b.abi3.so": ""})
    assert set(open_folder(str(tmp_path)).files) == {"a.py", "b.abi3.so"}


def test_links_that_lead_to_themselves(tmp_path: Path) -> None:
    write_tree(tmp_path, {"p/__init__.py": ""})
    (tmp_path / "p" / "loop.py").symlink_to(tmp_path / "p" / "loop.py")
    assert set(open_folder(str(tmp_path)).files) == {"p/__init__.py"}

"""Which modules files make; checked against Python's own finder too."""

import importlib.machinery
import sys
from pathlib import Path

import pytest

from distcycle.imports import Module, find_modules


def kinds(*paths: str) -> dict[str, tuple[str, bool]]:
    return {name: (m.kind, m.is_package) for name, m in find_modules(paths).items()}


def test_modules_packages_and_namespaces() -> None:
    assert kinds("a/__init__.py", "a/b.py", "c.py", "n/d/e.py") == {
        "a": ("python", True),
        "a.b": ("python", False),
        "c": ("python", False),
        "n": ("namespace", True),
        "n.d": ("namespace", True),
        "n.d.e": ("python", False),
    }


@pytest.mark.parametrize(
    "file",
    [
        "x.so",
        "x.pyd",
        "x.abi3.so",
        "x.cpython-311-x86_64-linux-gnu.so",
        "x.cpython-313t-darwin.so",
        "x.cp311-win_amd64.pyd",
        "x.pypy39-pp73-x86_64-linux-gnu.so",
    ],
)
def test_extensions_with_and_without_tags(file: str) -> None:
    assert kinds("a/__init__.py", f"a/{file}")["a.x"] == ("extension", False)


def test_a_library_by_its_name_is_a_module_all_the_same() -> None:
    assert kinds("triton/_C/libtriton.so")["triton._C.libtriton"] == ("extension", False)


@pytest.mark.parametrize(
    "file", ["x.pyi", "x.b.py", "x.so.1", "__pycache__/x.py", "py.typed", "x.libs/y.py", "lib-1.so"]
)
def test_what_is_no_module(file: str) -> None:
    assert set(kinds("a/__init__.py", f"a/{file}")) == {"a"}


def test_names_that_are_no_identifiers() -> None:
    assert kinds("a/__init__.py", "a/0001_initial.py")["a.0001_initial"] == ("python", False)


def test_what_comes_first() -> None:
    found = find_modules(["a.py", "a/__init__.py", "b.py", "b.abi3.so", "c.py", "c/d.py"])
    assert found["a"].path == "a/__init__.py"
    assert found["b"].path == "b.abi3.so"
    assert found["c"].path == "c.py"
    assert "c.d" not in found


FILES = ("a.py", "a/__init__.py", "b.py", "b.so", "c.py", "c/d.py", "e/f.py", "g/h/__init__.py")


@pytest.mark.skipif(".so" not in importlib.machinery.EXTENSION_SUFFIXES, reason="no .so here")
def test_as_python_finds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in FILES:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    found = find_modules(FILES)
    for top in ("a", "b", "c", "e", "g"):
        spec = importlib.machinery.PathFinder.find_spec(top)
        assert spec is not None
        expected = spec.origin and Path(spec.origin).relative_to(tmp_path).as_posix()
        assert found[top].path == (expected or top)


def test_nothing_depends_on_the_order_of_files() -> None:
    assert find_modules(FILES) == find_modules(FILES[::-1])
    assert list(find_modules(FILES)) == sorted(find_modules(FILES))
    assert find_modules(()) == {}
    assert find_modules(["a.py"])["a"] == Module("a", "python", "a.py")

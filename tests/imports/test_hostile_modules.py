"""Whatever a file holds, reading it gives records or a fault, and nothing is raised."""

import random
import sysconfig
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from distcycle.imports import Module, Tree
from distcycle.imports.reading import Reading, read_file
from distcycle.imports.replay import replay
from distcycle.imports.study import study_tree

FILES = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
PIECES = (
    *(b"import a\n", b"from . import *\n", b"if x:", b"try:\n", b"except ImportError:", b"(", b")"),
    *(b'"""', b"\\\n", b"lambda: ", b"def f():\n ", b"\xff", b"\0", b"__all__ = ", b"async "),
    *(b"match x:\n case _:", b";import b", b"\t", b"del a", b"global a\n", b"import_module("),
    *(b"with suppress(ImportError):", b"class A:\n ", b"@f\n", b"\x0c", b"\r", b"lazy import a\n"),
)


def study(source: bytes) -> None:
    """Do with a module all that is done with one that is in a loop."""
    package = read_file(b"from .a import *\nx = 1\n", is_package=True, programs=True)
    module = read_file(source, programs=True)
    readings: dict[str, Reading] = {"p": package, "p.a": module}
    modules = {
        "p": Module("p", "python", "p/__init__.py", is_package=True),
        "p.a": Module("p.a", "python", "p/a.py"),
    }
    tree = Tree(modules=modules, files={n: reading.imports for n, reading in readings.items()})
    study_tree(tree, lambda name: source if name == "p.a" else b"")
    programs = {n: reading.program for n, reading in readings.items() if reading.program}
    assert len(replay(modules, programs)) == 2


@given(st.binary(max_size=200))
def test_bytes(source: bytes) -> None:
    study(source)


@given(st.randoms(use_true_random=False))
def test_files_that_were_cut_and_mixed(chance: random.Random) -> None:
    source = bytearray(chance.choice(FILES).read_bytes()[:4000])
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(source) + 1)
        if chance.random() < 0.6:
            source[at:at] = chance.choice(PIECES)
        else:
            del source[at : at + chance.randint(1, 30)]
    study(bytes(source))

"""What is read of a module's top level."""

from __future__ import annotations

import marshal
from pathlib import Path

import pytest

from distcycle.imports.replay.operations import NOTHING, Operation, Program
from distcycle.imports.replay.programs import read_program

HOUSE = Path(__file__).resolve().parents[2] / "distcycle"


def operations(text: str) -> tuple[Operation, ...]:
    return read_program(text.encode()).operations


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import a.b", [("import", 1, "a.b", "")]),
        ("import a.b as c, d", [("import", 1, "a.b", "c"), ("import", 1, "d", "")]),
        ("from ..a import b as c", [("from", 1, "a", 2, (("b", "c"),))]),
        ("from . import *", [("star", 1, "", 1)]),
        ("x = 1; y = None", [("bind", {"x": None, "y": NOTHING})]),
        ("x, (y, *z) = 1, (2,)", [("bind", {"x": None, "y": None, "z": None})]),
        ("x = y = True", [("bind", {"x": None, "y": None})]),
        ("x: int", []),
        ("del x, y", [("unbind", ("x",)), ("unbind", ("y",))]),
        ("(x := 1)", [("bind", {"x": None})]),
        ("def f(): import a", [("bind", {"f": None})]),
        ("import a\na.b.c", [("import", 1, "a", ""), ("get", 2, ("a", "b", "c"), "")]),
        ("import a\nx = a.b", [("import", 1, "a", ""), ("get", 2, ("a", "b"), "x")]),
        ("import a\nx = a", [("import", 1, "a", ""), ("copy", "x", "a")]),
        ("import a\na.b = 1", [("import", 1, "a", ""), ("put", 2, ("a", "b"))]),
        ("import a\ndel a.b", [("import", 1, "a", ""), ("drop", 2, ("a", "b"))]),
        ("class A:\n    x = 1", [("bind", {"A": None})]),
        ("raise A", [("raise", 1, "A")]),
        ("raise a.B('c') from None", [("raise", 1, "B")]),
        ("import sys\nsys.exit(1)", [("import", 1, "sys", ""), ("get", 2, ("sys", "exit"), ""),
                                     ("raise", 2, "SystemExit")]),
        ("__import__('a')", [("load", 1, "a", "", "")]),
        ("import_module('a')", []),
        ("from __future__ import annotations", [("bind", {"annotations": None})]),
    ],
)  # fmt: skip
def test_statements(text: str, expected: list[Operation]) -> None:
    assert list(operations(text)) == expected


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("sys.platform == 'win32'", "sys.platform == 'win32'"),
        ("x", ("x", "true")),
        ("not x", ("x", "false")),
        ("x is None", ("x", "none")),
        ("x is not None", ("x", "some")),
        ("x.y", None),
    ],
)
def test_tests_that_are_decided_later(text: str, test: object) -> None:
    assert operations(f"if {text}: import a\nelse: import b") == (
        ("if", 1, test, (("import", 1, "a", ""),), (("import", 2, "b", ""),)),
    )


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("True", "a"),
        ("0", "b"),
        ("TYPE_CHECKING", "b"),
        ("typing.TYPE_CHECKING", "b"),
        ("not TYPE_CHECKING", "a"),
        ("TYPE_CHECKING and x", "b"),
        ("__name__ == '__main__'", "b"),
        ("__name__ == '__main__' and x", "b"),
        ("__name__ != '__main__'", "a"),
    ],
)
def test_tests_that_are_decided_at_once(text: str, taken: str) -> None:
    assert operations(f"if {text}: import a\nelse: import b")[-1][2] == taken


@pytest.mark.parametrize(
    ("text", "exported"),
    [
        ("__all__ = ['a', 'b']", ("a", "b")),
        ("__all__ = ('a',) + ('b',)", ("a", "b")),
        ("__all__ = ['a']\n__all__ += ['b']", ("a", "b")),
        ("__all__ = ['a']\n__all__.extend(('b',))\n__all__.append('c')", ("a", "b", "c")),
        ("__all__ = []", ()),
        ("__all__ = [name for name in x]", None),
        ("import b\n__all__ = ['a', *b.__all__]", None),
        ("__all__ = ['a']\n__all__ = sorted(x)", None),
        ("x = 1", None),
    ],
)  # fmt: skip
def test_the_names_that_are_exported(text: str, exported: tuple[str, ...] | None) -> None:
    assert read_program(text.encode()).exported == exported


def test_names_are_bound_where_they_first_are() -> None:
    text = "import a\nif x:\n    b = 1\nb = 2\n@d\ndef f(): g = 1\nclass C: h = 1\nfor i in j: pass"
    assert read_program(text.encode()).bound == {"a": 1, "b": 3, "f": 6, "C": 7, "i": 8}


def test_functions_are_read_when_the_module_calls_them() -> None:
    program = read_program(
        b"def f():\n    g()\ndef g():\n    import a\ndef h():\n    import b\nf()"
    )
    assert program.functions == (
        (("global", ()), ("call", 2, "g")),
        (("global", ()), ("import", 4, "a", "")),
    )
    assert program.operations[-1] == ("call", 7, "f")


def test_what_follows_a_return_that_may_be_skipped_may_not_run() -> None:
    program = read_program(b"def f(x):\n    if x: return\n    import a\nf(1)")
    assert program.functions[0][-1] == ("if", 2, None, (("import", 3, "a", ""),), ())


@pytest.mark.parametrize(
    ("text", "names", "modules"),
    [
        ("globals()['a'] = 1", True, False),
        ("import sys\nsys.modules[__name__] = a", True, True),
        ("x = 1", False, False),
    ],
)
def test_other_means_of_binding_are_noticed(text: str, names: bool, modules: bool) -> None:
    program = read_program(text.encode())
    assert (program.makes_names, program.makes_modules) == (names, modules)


@pytest.mark.parametrize(
    ("source", "line"),
    [(b"x = 1\ndef", 2), (b"x = '\xff'", None), (b"\0", None), (b"# coding: nowhere", None)],
)
def test_a_fault_is_told_and_nothing_else_is(source: bytes, line: int | None) -> None:
    program = read_program(source)
    assert program.fault
    assert program == Program(fault=program.fault, fault_line=program.fault_line)
    assert line is None or program.fault_line == line


def test_deep_nesting_is_a_fault_or_is_read() -> None:
    assert isinstance(read_program(b"x = " + b"-" * 20_000 + b"1"), Program)
    assert isinstance(read_program(b"x = " + b"a." * 20_000 + b"b"), Program)


@pytest.mark.parametrize("path", sorted(HOUSE.rglob("*.py")), ids=lambda path: path.stem)
def test_programs_can_be_kept(path: Path) -> None:
    program = read_program(path.read_bytes())
    assert Program(*marshal.loads(marshal.dumps(tuple(program)))) == program

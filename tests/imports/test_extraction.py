"""What is read of one file: each import's form, place, names, class and modifiers."""

import textwrap

import pytest

from distcycle.imports import FileImports, ImportRecord, extract


def read(source: str, *, is_package: bool = False, newer: bool = False) -> FileImports:
    return extract(textwrap.dedent(source).encode(), is_package=is_package, newer=newer)


def records(source: str, *, newer: bool = False) -> tuple[ImportRecord, ...]:
    found = read(source, newer=newer)
    assert found.fault is None
    return found.records


def one(source: str) -> ImportRecord:
    (record,) = records(source)
    return record


def test_forms() -> None:
    found = records(
        """
        import a, b.c as d
        from e import f, g as h
        from .. import i
        from .j import *
        """
    )
    assert [(r.line, r.form, r.module, r.level, r.names) for r in found] == [
        (2, "import", "a", 0, (("a", None),)),
        (2, "import", "b.c", 0, (("b.c", "d"),)),
        (3, "from", "e", 0, (("f", None), ("g", "h"))),
        (4, "from", "", 2, (("i", None),)),
        (5, "star", "j", 1, (("*", None),)),
    ]
    assert {(r.kind, r.modifiers, r.scope, r.condition) for r in found} == {
        ("static", (), "", None)
    }


def test_ends_of_statements_over_several_lines() -> None:
    record = one("from a import (\n    b,  # one\n    c,\n)\n")
    assert (record.line, record.end_line) == (1, 4)
    record = one("from a \\\n    import b\n")
    assert (record.line, record.end_line) == (1, 2)


def test_what_future_statements_name_is_no_module() -> None:
    assert records("from __future__ import annotations\n") == ()


KINDS = {
    "module": ("import a", "static", ()),
    "class body": ("class C:\n    import a", "static", ()),
    "function": ("def f():\n    import a", "lazy", ()),
    "method": ("class C:\n    def f(self):\n        import a", "lazy", ()),
    "async function": ("async def f():\n    import a", "lazy", ()),
    "class in a function": ("def f():\n    class C:\n        import a", "lazy", ()),
    "type checkers": ("if TYPE_CHECKING:\n    import a", "type-checking", ()),
    "type checkers, qualified": ("if t.TYPE_CHECKING:\n    import a", "type-checking", ()),
    "type checkers, renamed": (
        "from typing import TYPE_CHECKING as TC\nif TC:\n    import a",
        "type-checking",
        (),
    ),
    "type checkers and more": ("if TYPE_CHECKING and x:\n    import a", "type-checking", ()),
    "type checkers or more": ("if x or TYPE_CHECKING:\n    import a", "static", ("conditional",)),
    "not for type checkers": ("if not TYPE_CHECKING:\n    import a", "static", ()),
    "else of type checkers": ("if TYPE_CHECKING:\n    b\nelse:\n    import a", "static", ()),
    "else of not type checkers": (
        "if not TYPE_CHECKING:\n    b\nelse:\n    import a",
        "type-checking",
        (),
    ),
    "elif of type checkers": (
        "if TYPE_CHECKING:\n    b\nelif x:\n    import a",
        "static",
        ("conditional",),
    ),
    "type checkers in a function": (
        "def f():\n    if TYPE_CHECKING:\n        import a",
        "type-checking",
        (),
    ),
    "function for type checkers": (
        "if TYPE_CHECKING:\n    def f():\n        import a",
        "type-checking",
        (),
    ),
    "never": ("if False:\n    import a", "dead", ()),
    "never, by a number": ("if 0:\n    import a", "dead", ()),
    "else of always": ("if True:\n    b\nelse:\n    import a", "dead", ()),
    "always": ("if not 0:\n    import a", "static", ()),
    "never in a loop": ("while False:\n    import a", "dead", ()),
    "after a return": ("def f():\n    return 1\n    import a", "dead", ()),
    "after a raise": ("raise X\nimport a", "dead", ()),
    "program": ("if __name__ == '__main__':\n    import a", "main", ()),
    "else of program": ("if __name__ == '__main__':\n    b\nelse:\n    import a", "static", ()),
    "guarded": ("try:\n    import a\nexcept ImportError:\n    pass", "static", ("guarded",)),
    "guarded by several": (
        "try:\n    import a\nexcept (OSError, ModuleNotFoundError):\n    pass",
        "static",
        ("guarded",),
    ),
    "guarded by everything": ("try:\n    import a\nexcept:\n    pass", "static", ("guarded",)),
    "guarded by a qualified name": (
        "try:\n    import a\nexcept builtins.ImportError:\n    pass",
        "static",
        ("guarded",),
    ),
    "not guarded by another error": ("try:\n    import a\nexcept OSError:\n    pass", "static", ()),
    "not guarded where it is raised again": (
        "try:\n    import a\nexcept ImportError as e:\n    raise X from e",
        "static",
        (),
    ),
    "not guarded by the second handler": (
        "try:\n    import a\nexcept ImportError:\n    raise\nexcept Exception:\n    pass",
        "static",
        (),
    ),
    "fallback": ("try:\n    b\nexcept ImportError:\n    import a", "static", ("fallback",)),
    "handler of another error": (
        "try:\n    b\nexcept OSError:\n    import a",
        "static",
        ("conditional",),
    ),
    "else of a guard": (
        "try:\n    b\nexcept ImportError:\n    pass\nelse:\n    import a",
        "static",
        ("conditional",),
    ),
    "finally": ("try:\n    b\nexcept ImportError:\n    pass\nfinally:\n    import a", "static", ()),
    "suppressed": ("with suppress(ImportError):\n    import a", "static", ("guarded",)),
    "suppressed, qualified": (
        "with contextlib.suppress(ImportError):\n    import a",
        "static",
        ("guarded",),
    ),
    "not suppressed": ("with suppress(OSError):\n    import a", "static", ()),
    "with": ("with x:\n    import a", "static", ()),
    "loop": ("for x in y:\n    import a", "static", ("conditional",)),
    "else of a loop": ("for x in y:\n    b\nelse:\n    import a", "static", ()),
    "match": ("match x:\n    case 1:\n        import a", "static", ("conditional",)),
    "one line": ("if x: import a", "static", ("conditional",)),
    "semicolons": ("b = 1; import a", "static", ()),
    "platform": ("if sys.platform == 'win32':\n    import a", "static", ("platform",)),
    "platform, by os": ("if os.name == 'nt':\n    import a", "static", ("platform",)),
    "version": ("if sys.version_info >= (3, 11):\n    import a", "static", ("version",)),
    "nested": (
        "if x:\n    try:\n        import a\n    except ImportError:\n        pass",
        "static",
        ("conditional", "guarded"),
    ),
    "form feed": ("\x0cimport a", "static", ()),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds(name: str) -> None:
    source, kind, modifiers = KINDS[name]
    (record,) = (r for r in read(source).records if r.module == "a")
    assert (record.kind, record.modifiers) == (kind, modifiers)


def test_conditions_are_kept_as_text() -> None:
    source = """
    if a or b:
        import p
    elif sys.platform == "linux":
        import q
        if c:
            import r
    else:
        import s
    """
    assert {r.module: r.condition for r in records(source)} == {
        "p": "(a or b)",
        "q": "not (a or b) and sys.platform == 'linux'",
        "r": "not (a or b) and sys.platform == 'linux' and c",
        "s": "not (a or b) and not (sys.platform == 'linux')",
    }


def test_scopes() -> None:
    source = """
    class C:
        import a
        def f(self):
            import b
            def g():
                import c
    """
    assert {r.module: r.scope for r in records(source)} == {"a": "C", "b": "C.f", "c": "C.f.g"}


CALLS = {
    "import importlib\nimportlib.import_module('a.b')": ("call", "a.b", 0),
    "import importlib as il\nil.import_module('a')": ("call", "a", 0),
    "from importlib import import_module\nimport_module('a')": ("call", "a", 0),
    "from importlib import import_module as im\nim(name='a')": ("call", "a", 0),
    "import importlib\nimportlib.import_module('.a', __package__)": ("call", "a", 1),
    "import importlib\nimportlib.import_module('..a', package=__package__)": ("call", "a", 2),
    "import importlib\nimportlib.import_module('.a', __name__)": ("call", "a", 1),
    "import importlib\nimportlib.import_module('.a', 'p.q')": ("call", "p.q.a", 0),
    "import importlib\nimportlib.import_module('..a', 'p.q')": ("call", "p.a", 0),
    "import importlib\nimportlib.import_module('.a', other)": ("opaque", "", 0),
    "import importlib\nimportlib.import_module(name)": ("opaque", "", 0),
    "import importlib\nimportlib.import_module(f'{p}.a')": ("opaque", "", 0),
    "__import__('a.b')": ("call", "a.b", 0),
    "__import__('a', globals(), locals(), [], 1)": ("call", "a", 1),
    "__import__(name)": ("opaque", "", 0),
}


@pytest.mark.parametrize("source", CALLS)
def test_calls(source: str) -> None:
    (record,) = (r for r in records(source) if r.module != "importlib")
    assert (record.form, record.module, record.level) == CALLS[source]


def test_functions_of_the_same_name_are_no_imports() -> None:
    assert [
        r.module for r in records("from sympy.external import import_module\nimport_module('a')")
    ] == ["sympy.external"]
    assert records("registry.import_module('a')") == ()


def test_where_calls_stand() -> None:
    source = """
    from importlib import import_module
    f = lambda: import_module("lazy_lambda")
    @decorate(import_module("decorator"))
    def g(x=import_module("default")):
        return import_module("lazy_function")
    try:
        import_module("guarded")
    except ImportError:
        pass
    class C(import_module("base").B): pass
    if TYPE_CHECKING:
        import_module("checked")
    [import_module("each") for _ in x]
    """
    found = {r.module: (r.kind, r.modifiers) for r in records(source) if r.form == "call"}
    assert found == {
        "lazy_lambda": ("lazy", ()),
        "decorator": ("static", ()),
        "default": ("static", ()),
        "lazy_function": ("lazy", ()),
        "guarded": ("static", ("guarded",)),
        "base": ("static", ()),
        "checked": ("type-checking", ()),
        "each": ("static", ()),
    }


def test_functions_that_the_module_calls_itself() -> None:
    source = """
    def direct():
        import a
    def by_another():
        import b
    def other():
        by_another()
    def decorator(f):
        import c
        return f
    def never():
        import d
    def later():
        import e
    class C:
        def method(self):
            import f
    direct()
    other()
    @decorator
    def g():
        never()
    if __name__ == "__main__":
        later()
    """
    called = {r.module for r in records(source) if "called" in r.modifiers}
    assert called == {"a", "b", "c"}
    assert all(r.kind == "lazy" for r in records(source))
    assert {r.module for r in records(source) if r.runs_at_import} == {"a", "b", "c"}


def test_private_names_in_classes_are_mangled() -> None:
    assert one("class _C:\n    import __a").module == "_C__a"
    assert one("class C:\n    import __a__").module == "__a__"
    assert one("import __a").module == "__a"


def test_lazy_statements_of_newer_pythons() -> None:
    first, second = records("lazy import a\nlazy from b import c\n", newer=True)
    assert (first.kind, first.modifiers, first.module) == ("lazy", ("keyword",), "a")
    assert (second.kind, second.line, second.names) == ("lazy", 2, (("c", None),))
    assert not first.runs_at_import


def test_syntax_of_newer_pythons() -> None:
    source = """
    type X = int
    def f[T](x: T) -> T:
        import a
    class C[T]:
        import b
        @d
        def g(self): import c
    try:
        import d
    except ValueError, TypeError:
        import e
    else:
        import f
    finally:
        import g
    t = t"{x}"
    if sys.version_info >= (3, 14): import h; import i
    for x in y:
        import j
    while 0:
        import k
    with a as b, c: import l
    match x:
        case 1: import m
    async def f():
        import n
    """
    read = records(source, newer=True)
    found = {r.module: (r.line, r.kind, r.modifiers, r.scope) for r in read}
    assert found == {
        "a": (4, "lazy", (), "f"),
        "b": (6, "static", (), "C"),
        "c": (8, "lazy", (), "C.g"),
        "d": (10, "static", (), ""),
        "e": (12, "static", ("conditional",), ""),
        "f": (14, "static", (), ""),
        "g": (16, "static", (), ""),
        "h": (18, "static", ("version",), ""),
        "i": (18, "static", ("version",), ""),
        "j": (20, "static", ("conditional",), ""),
        "k": (22, "dead", (), ""),
        "l": (23, "static", (), ""),
        "m": (25, "static", ("conditional",), ""),
        "n": (27, "lazy", (), "f"),
    }


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (b"import a\nprint 'x'\n", 2),
        (b"import a\n\x00", None),
        (b"import a\nx = '\n", 2),
        (b"import a\n" + b"(" * 5000 + b")" * 5000, None),
        (b"import a\nx = " + b"-" * 200_000 + b"1", None),
        (b"# coding: nonsense\nimport a\n", None),
        (b"import a\n\xff\xfe", None),
    ],
)
def test_what_cannot_be_parsed_is_a_fault(source: bytes, line: int | None) -> None:
    found = extract(source)
    assert found.fault
    assert found.records == ()
    assert line is None or found.fault_line == line


def test_encodings_and_line_ends() -> None:
    assert [r.line for r in extract(b"\xef\xbb\xbfimport a\r\nimport b\r\n").records] == [1, 2]
    latin = "# -*- coding: latin-1 -*-\nx = 'é'\nimport a\n".encode("latin-1")
    assert [r.line for r in extract(latin).records] == [3]
    assert [r.module for r in extract("import été\n".encode()).records] == ["été"]


def test_what_a_package_binds() -> None:
    source = """
    from .a import b as c
    from . import d
    import e.f
    g = h = 1
    (i, [j, *k]) = x
    l: int = 1
    m: int
    def n(): o = 1
    class p: q = 1
    if TYPE_CHECKING:
        from r import s
    elif x:
        t = 1
    try:
        u = 1
    except ImportError:
        u = v = 1
    with x as w: pass
    for y in z: aa = 1
    __all__ = ["c", "other"]
    """
    found = read(source, is_package=True)
    assert found.bound is not None
    assert set(found.bound) == {
        *("c", "d", "e", "g", "h", "i", "j", "k", "l", "n", "p", "t", "u", "v", "w", "y", "aa"),
        "__all__",
    }
    assert found.bound["c"] == 2
    assert found.exported == ("c", "other")
    assert not found.computes_names
    assert read("def __getattr__(name): ...", is_package=True).computes_names
    assert read(source).bound is None

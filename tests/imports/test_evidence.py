"""What becomes of a distribution's modules where another distribution is absent."""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from distcycle.findings import Component, Evidence, Severity
from distcycle.imports import FileImports, ImportRecord, Module, Tree, extract, find_modules
from distcycle.imports.evidence import (
    Dependence,
    Reader,
    find_dependence,
    find_import_names,
    is_hard_on,
)
from distcycle.imports.spelling import spell_record
from distcycle.imports.undeclared import find_undeclared
from distcycle.imports.words import words_of_imports
from distcycle.reporters.phrases import choose_evidence

DATA = Path(__file__).parent / "data"
LINUX = {"sys_platform": "linux", "os_name": "posix", "python_version": "3.11"}
WINDOWS = {"sys_platform": "win32", "os_name": "nt", "python_version": "3.11"}

Files = Mapping[str, str]


def imports_any(source: bytes, words: set[bytes]) -> bool:
    """Whether one of some words is among those that stand in imports, as reading asks for."""
    return not words.isdisjoint(words_of_imports(source))


def reading(files: Files, asked: list[str] | None = None) -> tuple[dict[str, Module], Reader]:
    """The modules of files, and what reads only those that are asked for."""
    modules = find_modules(files)

    def read(words: Collection[str], wanted: Collection[str]) -> Mapping[str, FileImports]:
        found = {}
        for module in modules.values():
            text = files.get(module.path, "").encode()
            if module.kind == "python" and (
                module.name in wanted or imports_any(text, {word.encode() for word in words})
            ):
                found[module.name] = extract(text, is_package=module.is_package)
        if asked is not None:
            asked.extend(found)
        return found

    return modules, read


def without(
    names: Collection[str], environments: Sequence[Mapping[str, str]] = (), **files: str
) -> Dependence:
    """What becomes of files, named as ``pkg__mod`` for ``pkg/mod.py``."""
    named = {f"{name.replace('__', '/')}.py": dedent(text) for name, text in files.items()}
    named = {path.replace("/init.py", "/__init__.py"): text for path, text in named.items()}
    modules, read = reading(named)
    return find_dependence(modules, names, read, environments)


def way_of(found: Dependence) -> list[str]:
    return [f"{place.module.path}:{place.record.line}" for place in found.way]


# Failing modules ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("import far", True),
        ("import far.near", True),
        ("from far import x", True),
        ("from far.near import *", True),
        ("import importlib\nimportlib.import_module('far.near')", True),
        ("class A:\n    import far", True),
        ("def f():\n    import far\nf()", True),
        ("def f():\n    import far", False),
        ("try:\n    import far\nexcept ImportError:\n    far = None", False),
        ("try:\n    import near\nexcept ImportError:\n    import far", False),
        ("if near():\n    import far", False),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import far", False),
        ("if __name__ == '__main__':\n    import far", False),
        ("import farther", False),
        ("from . import far", False),
        ("'import far'", False),
    ],
)
def test_a_module_fails_by_what_it_needs_at_once(text: str, fails: bool) -> None:
    found = without(["far"], egg__init="", egg__far="", egg__one=text)
    assert found.failing == (("egg.one",) if fails else ())


def test_what_imports_a_failing_module_fails_and_all_that_is_in_it() -> None:
    found = without(
        ["far"],
        egg__init="from . import base",
        egg__base="",
        egg__sub__init="from egg.sub.deep import x",
        egg__sub__deep="import far\nx = 1",
        egg__sub__other="",
        egg__user="def f():\n    import egg.sub",
        egg__needs="import egg.sub.other",
        egg__guards="try:\n    import egg.sub\nexcept ImportError: ...",
        egg__again="from egg import (  # the only one\n    base,\n    needs,\n)",
    )
    assert found.failing == (
        *("egg.again", "egg.needs"),
        *("egg.sub", "egg.sub.deep", "egg.sub.other"),
    )
    assert found.outermost == ()
    assert way_of(found) == [
        *("egg/again.py:1", "egg/needs.py:1"),
        *("egg/sub/__init__.py:1", "egg/sub/deep.py:1"),
    ]


def test_the_first_way_is_told_in_the_order_of_running() -> None:
    found = without(
        ["far"],
        egg__init="from .one import a\nimport far",
        egg__one="a = 1\nfrom egg import two\nfrom egg import three",
        egg__two="import egg.one\nb = 1",
        egg__three="\nfrom far.x import y as z",
    )
    assert found.outermost == ("egg",)
    assert way_of(found) == ["egg/__init__.py:1", "egg/one.py:3", "egg/three.py:2"]
    assert [spell_record(site.record) for site in found.sites] == [
        "import far",
        "from far.x import y as z",
    ]


def test_a_star_imports_what_all_names() -> None:
    found = without(
        ["far"],
        egg__init="",
        egg__pack__init="__all__ = ['deep']",
        egg__pack__deep="import far",
        egg__star="from egg.pack import *",
    )
    assert found.failing == ("egg.pack.deep", "egg.star")


def test_a_name_that_a_package_binds_is_not_its_submodule() -> None:
    found = without(
        ["far"],
        egg__init="",
        egg__pack__init="def deep(): ...",
        egg__pack__deep="import far",
        egg__user="from egg.pack import deep",
    )
    assert found.failing == ("egg.pack.deep",)


def test_platform_and_version_are_those_of_the_targets() -> None:
    text = "import sys\nif sys.platform == 'win32':\n    import far"
    one = {"egg__init": text}
    assert without(["far"], (LINUX,), **one).failing == ()
    assert without(["far"], (WINDOWS,), **one).failing == ("egg",)
    assert without(["far"], (LINUX, WINDOWS), **one).failing == ("egg",)
    assert without(["far"], **one).failing == ()
    both = "import sys\nif sys.version_info < (3, 12):\n    if near():\n        import far"
    assert without(["far"], (LINUX,), egg__init=both).failing == ()


def test_tests_beside_a_package_are_no_entry() -> None:
    found = without(["far"], egg__init="", tests__init="import far")
    assert (found.failing, found.outermost) == (("tests",), ())
    assert without(["far"], tests__init="import far").outermost == ("tests",)


def test_names_that_both_have_are_ones_own() -> None:
    found = without(["far", "tests"], egg__init="import tests.base", tests__init="")
    assert (found.sites, found.failing) == ((), ())


def test_namespaces_are_shared() -> None:
    modules = find_modules(["cloud/store/__init__.py", "cloud/store/a.py", "cloud/one.py", "x.py"])
    assert find_import_names(modules) == ("cloud.one", "cloud.store", "x")
    found = without(["cloud.store"], cloud__other__init="from cloud import store, other")
    assert found.failing == ("cloud.other",)
    found = without(["cloud.store"], cloud__other__init="from cloud import stores\nimport cloud")
    assert (found.failing, found.sites) == ((), ())


def test_what_could_not_be_seen_is_told() -> None:
    found = without(
        ["far"],
        egg__init="import importlib\n\ndef f(x):\n    import far\n    importlib.import_module(x)",
        egg__bad="import far\ndef",
        egg__other="import importlib\nimportlib.import_module(near)",
    )
    assert [(p.module.name, p.record.line) for p in found.opaque] == [("egg", 5)]
    assert [module.path for module, _ in found.faults] == ["egg/bad.py"]


def test_only_what_can_matter_is_read() -> None:
    asked: list[str] = []
    files = {f"egg/part{n}.py": "import os\nfrom . import base" for n in range(50)}
    files |= {"egg/__init__.py": "", "egg/base.py": "", "egg/one.py": "import far"}
    files |= {"egg/two.py": "from .one import x", "egg/three.py": "def f():\n    from . import two"}
    modules, read = reading(files, asked)
    found = find_dependence(modules, ["far"], read)
    assert found.failing == ("egg.one", "egg.two")
    assert set(asked) == {"egg", "egg.one", "egg.two", "egg.three"}


# Against what happens ----------------------------------------------------------------------------

NAMES = ("pk", "pk.a", "pk.b", "pk.c", "pk.sub", "pk.sub.d", "pk.sub.e")
PACKAGES = ("pk", "pk.sub")
ABSENT = (
    "import absent_one",
    "from absent_one.deep import thing",
    "try:\n    import absent_one\nexcept ImportError:\n    pass",
    "def f():\n    import absent_one",
    "def g():\n    import absent_one\ng()",
)


def statement(name: str) -> st.SearchStrategy[str]:
    """An import of one of the package's modules; names are bound before anything is imported."""
    parent, _, last = name.rpartition(".")
    forms = [f"import {name}", f"from {name} import value", f"import {name} as other"]
    forms += [f"from {parent} import {last}"] if parent else []
    forms += [f"def h():\n    import {name}"]
    return st.sampled_from(forms)


@st.composite
def packages(draw: st.DrawFn) -> dict[str, str]:
    files = {}
    for name in NAMES:
        some = draw(st.lists(st.sampled_from(NAMES).flatmap(statement), max_size=2))
        some += draw(st.lists(st.sampled_from(ABSENT), max_size=1)) if draw(st.booleans()) else []
        path = name.replace(".", "/") + ("/__init__.py" if name in PACKAGES else ".py")
        files[path] = "\n".join(["value = 1", *draw(st.permutations(some))])
    return files


@contextmanager
def written(files: Files) -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        sys.path.insert(0, folder)
        try:
            yield
        finally:
            sys.path.remove(folder)
            sys.dont_write_bytecode = before
            forget()


def forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pk"]:
        del sys.modules[name]
    importlib.invalidate_caches()


def fails(name: str) -> bool:
    forget()
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        return error.name == "absent_one"
    return False


@settings(max_examples=150, deadline=None)
@given(packages())
def test_those_fail_that_cannot_be_imported(files: dict[str, str]) -> None:
    with written(files):
        really = {name for name in NAMES if fails(name)}
    modules, read = reading(files)
    found = find_dependence(modules, ["absent_one"], read)
    assert set(found.failing) == really
    assert bool(found.way) == bool(really)
    for place, following in zip(found.way, found.way[1:], strict=False):
        assert following.module.name.split(".")[-1] in spell_record(place.record)
    assert not found.way or "absent_one" in spell_record(found.way[-1].record)


# Recorded ----------------------------------------------------------------------------------------


def recorded(name: str, target: str) -> Dependence:
    """What becomes of a real distribution, by its imports: ``data/torch-and-triton.json``.

    It has all imports of the Linux wheels of triton, and those of triton that torch's macOS wheel
    has; the tests that fetch wheels find the same.
    """
    rows = json.loads((DATA / "torch-and-triton.json").read_text("utf-8"))[name]
    modules = find_modules(path for path, _ in rows)
    files = {}
    for path, imports in rows:
        records = [
            ImportRecord(line, line, form, of, level, tuple(map(tuple, names)), kind, tuple(how))
            for line, form, of, level, names, kind, how in imports
        ]
        (found,) = (module.name for module in modules.values() if module.path == path)
        files[found] = FileImports(records=tuple(records))
    return find_dependence(modules, [target], lambda _words, _modules: files, (LINUX,))


def count(found: Dependence) -> tuple[int, int, int]:
    """How many imports there are, in how many files, and how many modules fail."""
    return len(found.sites), len({s.module.path for s in found.sites}), len(found.failing)


def test_torch_does_without_triton() -> None:
    found = recorded("torch-2.0.0", "triton")
    assert count(found) == (21, 11, 0)
    assert not any(is_hard_on(site.record, (LINUX,)) for site in found.sites)
    kinds = [site.record.kind for site in found.sites]
    assert (kinds.count("lazy"), kinds.count("static")) == (13, 8)


def test_triton_does_not_do_without_torch() -> None:
    found = recorded("triton-2.0.0", "torch")
    assert count(found) == (12, 11, 27)
    assert [site.record.modifiers for site in found.sites].count(("guarded",)) == 1
    assert (found.outermost, way_of(found)) == (("triton",), ["triton/__init__.py:9"])


def test_the_next_triton_does_but_for_its_operations() -> None:
    found = recorded("triton-2.1.0", "torch")
    assert count(found) == (24, 14, 8)
    assert found.outermost == ()
    assert all(name.startswith("triton.ops") for name in found.failing)
    kinds = [site.record.kind for site in found.sites]
    assert (kinds.count("lazy"), kinds.count("static")) == (17, 7)


# Words and spelling ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "import far",
        "x = 1; import near, far",
        "from far import (\n    x,\n)",
        "from near import (\n    x,  # one )\n    far,\n)",
        "from far \\\n    import x",
        "from near import x, \\\r\n    far",
        "importlib.import_module(\n    'far.x'\n)",
        "if x: import far.y as z",
        "from .far import x",
        "from far.été import x",
        "\nlazy import far",
        "x = '#'; import far",
        "from importlib import import_module as get\nget('far')",
        "from importlib import import_module as get\nget('#' and\n'far')",
    ],
)
def test_words_of_imports_are_found(text: str) -> None:
    assert imports_any(text.encode(), {b"far"})
    assert b"far" in words_of_imports(text.encode())
    assert imports_any(text.encode(), {b"far", *(b"other%d" % n for n in range(9))})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "far = 1",
        "import near\nfar = near",
        "import farther",
        "# import far",
        "do_import('far')",
    ],
)
def test_other_words_are_not(text: str) -> None:
    assert not imports_any(text.encode(), {b"far"})


@settings(deadline=None)
@given(st.lists(st.sampled_from(["import a", "from b import (", "c,", ")", "\\", "#", "x = d"])))
def test_every_name_that_is_imported_is_among_the_words(lines: list[str]) -> None:
    for joint in ("\n", " ", "\r\n"):
        text = joint.join(lines).encode()
        for record in extract(text).records:
            names = [record.module, *(old for old, _ in record.names)]
            assert {part.encode() for name in names for part in name.split(".") if part != "*"} <= (
                words_of_imports(text)
            )


@pytest.mark.parametrize(
    "text",
    [
        "import a.b as c",
        "from . import x",
        "from ..a.b import x as y, z",
        "from a import *",
        "import_module('a.b')",
        "import_module('.b', __package__)",
        "import_module('..b', 'a.c')",
    ],
)
def test_a_record_is_spelled_as_it_was_written(text: str) -> None:
    (record, *_) = [
        record
        for record in extract(f"from importlib import import_module\n{text}\n".encode()).records
        if record.line == 2
    ]
    assert spell_record(record) == text


def test_the_rest_is_spelled_in_one_line_too() -> None:
    (first, second) = extract(b"__import__('a', level=1)\n__import__(name)").records
    assert spell_record(first) == "__import__('a', level=1)"
    assert spell_record(second) == "import_module(...)"
    (record,) = extract(b"from a import (\n  b,\n  c)").records
    assert spell_record(record) == "from a import b, c"
    lazy = record._replace(modifiers=("keyword",))
    assert spell_record(lazy) == "lazy from a import b, c"


# What no requirement declares --------------------------------------------------------------------


def test_undeclared_imports() -> None:
    hen, egg, store, own = map(canonicalize_name, ("hen", "egg", "cloud-store", "own"))
    text = dedent("""\
        import hen, egg.x, os
        from cloud import store
        def f():
            import hen.y
        if __name__ == "__main__":
            import far
        from . import hen
        """)
    files = {"own/__init__.py": text, "own/hen.py": "", "cloud/own.py": "import cloud.store.x"}
    modules, read = reading(files)
    tree = Tree(modules=modules, files=read(("hen", "store"), ()))
    owners = {"hen": {hen}, "egg": {egg}, "cloud.store": {store}, "far": {canonicalize_name("far")}}
    found = find_undeclared(tree, owners, {own, egg})
    assert {name: [p.record.line for p in places] for name, places in found.items()} == {
        store: [1, 2],
        hen: [1, 4],
    }
    assert find_undeclared(tree, {"hen": {hen, egg}}, {own, egg}) == {}


# What is shown -----------------------------------------------------------------------------------


def test_of_many_edges_those_are_shown_of_which_something_is_known() -> None:
    verdicts = ["unknown", "safe", "unknown", "unsafe"]
    evidence = tuple(
        Evidence(source=f"egg{n}", target="hen", verdict=verdict, reason="")
        for n, verdict in enumerate(verdicts)
    )
    loop = Component(
        **dict.fromkeys(("id", "input", "code"), ""),
        **dict.fromkeys(("packages", "requested_by", "targets", "variants", "edges", "cycles"), ()),
        severity=Severity.DENY,
        condition=None,
        capped=False,
        evidence=evidence,
    )
    shown, rest = choose_evidence(loop, 3)
    assert [each.source for each in shown] == ["egg0", "egg1", "egg3"]
    assert rest == "imports of 1 more edge: unknown"
    assert choose_evidence(loop, 4) == (evidence, "")

"""The cheapest way to do without an import, and that it opens the loop when it is gone."""

import textwrap
from collections.abc import Mapping

import pytest
from module_trees import make_tree

from distcycle.imports.extraction import parse_source
from distcycle.imports.fixes import Fix
from distcycle.imports.study import Study, study_tree
from distcycle.imports.uses import read_uses

BACK = "from b import B\nclass A(B): ..."


def study(files: Mapping[str, str]) -> Study:
    tree = make_tree(files)

    def source_of(name: str) -> bytes | None:
        return textwrap.dedent(files[tree.modules[name].path]).encode()

    return study_tree(tree, source_of)


def fix(files: Mapping[str, str], source: str = "b") -> Fix:
    """The fix of the one import that is cut, which is in a given module."""
    (loop,) = study(files).loops
    (found,) = loop.fixes
    assert found.edge.source == source
    return found


WAYS = {
    "not used": ("from a import x\nclass B: ...", "drop"),
    "for annotations": (
        "from __future__ import annotations\nfrom a import A\nclass B:\n    def f(self) -> A: ...",
        "type-checking",
    ),
    "for annotations in quotes": (
        "from a import A\nclass B:\n    def f(self, x: 'A') -> 'list[A]': ...",
        "type-checking",
    ),
    "for an annotated variable in a function": (
        "from a import A\nclass B:\n    def f(self):\n        x: A = None",
        "type-checking",
    ),
    "in a function": ("from a import A\nclass B:\n    def f(self): return A()", "lazy"),
    "in a lambda": ("from a import A\nclass B:\n    f = lambda self: A()", "lazy"),
    "in a function and annotations": (
        "from __future__ import annotations\nfrom a import A\n"
        "class B:\n    def f(self) -> A: return A()",
        "lazy",
    ),
    "a module in a function": ("import a\nclass B:\n    def f(self): return a.A()", "lazy"),
}


def test_annotations_that_are_evaluated_need_a_future_statement() -> None:
    found = fix({"a.py": BACK, "b.py": "from a import A\nclass B:\n    def f(self) -> A: ..."})
    assert (found.kind, found.unevaluated) == ("type-checking", True)
    text = "from a import A\nclass B:\n    def f(self) -> 'A': ..."
    assert not fix({"a.py": BACK, "b.py": text}).unevaluated


@pytest.mark.parametrize("name", WAYS)
def test_ways(name: str) -> None:
    text, kind = WAYS[name]
    assert fix({"a.py": BACK, "b.py": text}).kind == kind


AT_ONCE = {
    "annotations and a call": "from a import A\ndef f(x: A): ...\nA()",
    "a default": "from a import A\ndef f(x=A): ...",
    "a decorator": "from a import A\n@A\ndef f(): ...",
    "a base": "from a import A\nclass C(A): ...",
    "a class body": "from a import A\nclass C:\n    x = A",
    "a statement": "from a import A\nprint(A)",
    "a default of a lambda": "from a import A\nf = lambda x=A: x",
    "exported": "from a import A\n__all__ = ['A']",
    "exported later": "from a import A\n__all__ = []\n__all__ += ['A']",
    "exported by a call": "from a import A\n__all__ = []\n__all__.extend(['A'])",
    "exported by its name": "from a import A as A",
}


@pytest.mark.parametrize("name", AT_ONCE)
def test_what_is_needed_at_once_can_only_be_moved(name: str) -> None:
    """Both modules need each other's names, so that one of them must be moved."""
    (loop,) = study({"a.py": "from b import B\nclass A(B): ...", "b.py": AT_ONCE[name]}).loops
    assert [each.kind for each in loop.fixes] == ["move"]


def test_a_name_that_others_take_from_here_is_needed() -> None:
    files = {"a.py": BACK, "b.py": "from a import x", "c.py": "from b import x"}
    (loop,) = study(files).loops
    assert [each.kind for each in loop.fixes] == ["move"]


def test_what_a_package_only_passes_on_is_taken_from_its_home() -> None:
    files = {
        "p/__init__.py": "from .home import X as Y\nfrom .user import f",
        "p/home.py": "X = 1",
        "p/user.py": "from p import Y as Z\nf = Z",
    }
    found = fix(files, "p.user")
    assert (found.kind, found.instead) == ("retarget", ("from p.home import X as Z",))


def test_a_home_that_leads_back_is_of_no_use() -> None:
    files = {
        "p/__init__.py": "from .home import X",
        "p/home.py": "from .user import f\nX = f",
        "p/user.py": "from p import X\nf = X",
    }
    assert "retarget" not in {each.kind for loop in study(files).loops for each in loop.fixes}


def test_a_package_that_passes_a_module_on_leaves_no_simple_way() -> None:
    files = {"p/__init__.py": "from . import a\nX = 1", "p/a.py": "from p import X\nY = X"}
    (loop,) = study(files).loops
    assert [(each.kind, each.edge.source) for each in loop.fixes] == [("move", "p.a")]


def test_easy_cuts_are_preferred_to_few() -> None:
    """One import would do, but it is needed at once; two others are not."""
    files = {
        "hub.py": "import mid\nclass H(mid.M): ...",
        "mid.py": "from one import O\nfrom two import T\nclass M(O, T): ...",
        "one.py": "import hub\nclass O:\n    def f(self): return hub.H",
        "two.py": "import hub\nclass T:\n    def f(self): return hub.H",
    }
    (loop,) = study(files).loops
    assert [(each.kind, each.edge.source) for each in loop.fixes] == [
        ("lazy", "one"),
        ("lazy", "two"),
    ]
    assert loop.cuts[0] == (("hub", "mid"),)


def test_uses_of_names() -> None:
    source = """
    from __future__ import annotations
    a: A = b
    def f(c: C = d, *e: E, **g: G) -> H:
        i: I = j
        def inner(k: K = l): return m
        return lambda n=o: p
    class Q(R, metaclass=S):
        t: T = u
        def v(self): return w
    @x
    async def y(): await z
    __all__ = ["aa"]
    """
    found = read_uses(parse_source(textwrap.dedent(source).encode()))
    by_use: dict[str, set[str]] = {}
    for name, uses in found.of.items():
        (use,) = uses
        by_use.setdefault(use, set()).add(name)
    assert by_use == {
        "now": {"b", "d", "R", "S", "u", "x"},
        "later": {"j", "l", "m", "o", "p", "w", "z"},
        "annotation": {"A", "C", "E", "G", "H", "I", "K", "T"},
        "exported": {"aa"},
    }

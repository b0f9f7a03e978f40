"""Components in three views, their cycles and cuts, and pairs that are joined twice."""

import random
import textwrap
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st
from module_trees import make_tree

from distcycle.imports import join
from distcycle.imports.bindings import bound_names
from distcycle.imports.extraction import parse_source
from distcycle.imports.loops import (
    ModuleLoop,
    View,
    break_loop,
    cheapest_cut,
    find_cycles,
    find_loops,
    find_mixed,
    reaches,
)

FILES = {
    # Names at once, both ways.
    "a.py": "from b import x",
    "b.py": "from a import y",
    # A module at once, and a name at once.
    "c.py": "import d",
    "d.py": "from c import x",
    # A name at once, and a function.
    "e.py": "from f import x",
    "f.py": "def g():\n    import e",
    # Type checkers on the way back.
    "g.py": "import h",
    "h.py": "if TYPE_CHECKING:\n    import g",
    # A function that the module calls itself.
    "i.py": "import j",
    "j.py": "def f():\n    import i\nf()",
}


def loops(view: View, files: Mapping[str, str] = FILES) -> set[tuple[str, ...]]:
    return {loop.modules for loop in find_loops(join(make_tree(files)), view)}


def test_views_the_hardest_first() -> None:
    assert loops("names") == {("a", "b")}
    assert loops("executed") == {("a", "b"), ("c", "d"), ("i", "j")}
    assert loops("all") == {("a", "b"), ("c", "d"), ("e", "f"), ("g", "h"), ("i", "j")}


def test_packages_around_what_is_named_close_no_loop() -> None:
    """Importing p.b from q runs p, which imports q; but no statement names p."""
    files = {"p/__init__.py": "import q", "p/b.py": "", "q.py": "import p.b"}
    assert loops("executed", files) == set()


def find_one(files: Mapping[str, str], view: View = "executed") -> ModuleLoop:
    (loop,) = find_loops(join(make_tree(files)), view)
    return loop


def test_kinds_of_pairs() -> None:
    files = {
        "a.py": "import b\ndef f():\n    import b, c",
        "b.py": "import a\nif TYPE_CHECKING:\n    import c",
        "c.py": "import a, b",
    }
    loop = find_one(files, "all")
    assert loop.count_kinds() == {"static": 4, "lazy": 1, "type-checking": 1}


def test_a_mixed_pair_and_why() -> None:
    files = {
        "attention.py": """
            def early(): ...
            from decoding import kernel
            def late(): ...
        """,
        "decoding.py": """
            from attention import early
            def kernel():
                from attention import late
        """,
    }
    sources = {name.removesuffix(".py"): text for name, text in files.items()}

    def bound(module: str) -> Mapping[str, int]:
        return bound_names(parse_source(textwrap.dedent(sources[module]).encode()).body)

    (mixed,) = find_mixed(find_one(files), bound)
    assert (mixed.source, mixed.target) == ("decoding", "attention")
    assert [edge.record.line for edge in mixed.static] == [2]
    assert [edge.record.line for edge in mixed.lazy] == [4]
    assert mixed.back is not None
    assert mixed.back.record.line == 3
    assert mixed.early == (("early", 2),)
    assert mixed.late == (("late", 4),)


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, str]:
    """Up to six modules, each of which imports some others, at once or later."""
    names = "abcdef"[: draw(st.integers(2, 6))]
    files = {}
    for name in names:
        lines = []
        for other in names:
            how = draw(st.sampled_from(["", "", f"import {other}", f"from {other} import x"]))
            lines.append(how)
            if draw(st.integers(0, 9)) == 0:
                lines.append(f"def f_{other}():\n    import {other}")
        files[f"{name}.py"] = "\n".join(lines)
    return files


@given(graphs(), st.randoms(use_true_random=False))
def test_sets_that_open_a_component(files: dict[str, str], chance: random.Random) -> None:
    """What is left has no loop, and none of what goes can be spared."""
    for loop in find_loops(join(make_tree(files)), "executed"):
        pairs = set(loop.pairs("executed"))
        prices = {pair: chance.randrange(4) for pair in sorted(pairs)}
        sets, exact = break_loop(loop, find_cycles(loop, most=50), prices)
        cheap = cheapest_cut(loop, prices)
        assert exact
        assert len({len(each) for each in sets}) == 1
        assert len(cheap) >= len(sets[0])
        for cut in (*sets, cheap):
            left = pairs - set(cut)
            assert not closes(left)
            for pair in cut:
                assert closes(left | {pair})


def closes(pairs: set[tuple[str, str]]) -> bool:
    ahead: dict[str, list[str]] = {}
    for source, target in pairs:
        ahead.setdefault(source, []).append(target)
    return any(reaches(ahead, target, source) for source, target in pairs)


@given(graphs())
def test_each_view_holds_those_that_are_harder(files: dict[str, str]) -> None:
    for harder, easier in (("names", "executed"), ("executed", "all")):
        outer = [set(modules) for modules in loops(easier, files)]  # type: ignore[arg-type]
        for modules in loops(harder, files):  # type: ignore[arg-type]
            assert any(set(modules) <= other for other in outer)


@given(graphs())
def test_cycles_are_elementary_and_start_at_the_first_module(files: dict[str, str]) -> None:
    for loop in find_loops(join(make_tree(files)), "executed"):
        pairs = set(loop.pairs("executed"))
        cycles = find_cycles(loop, most=1000)
        assert cycles
        assert len(set(cycles)) == len(cycles)
        for cycle in cycles:
            assert len(set(cycle)) == len(cycle)
            assert cycle[0] == min(cycle)
            assert set(zip(cycle, (*cycle[1:], cycle[0]), strict=True)) <= pairs

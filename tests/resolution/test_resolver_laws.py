"""The resolver against brute force, on indexes small enough for that."""

from __future__ import annotations

from hypothesis import given, note, settings
from hypothesis import strategies as st
from synthetic import Index, MemorySource, ask, closed, solutions

from distcycle.resolution import Rules, resolve
from distcycle.selection import Request
from distcycle.targets import make_targets

TARGET = make_targets(["linux_x86_64"], ["3.11"])
PROJECTS = ("a", "b", "c", "d", "e", "f")
BOUNDS = ("", "", ">=2", "<2", "==1", "==2", "==3", "!=2", ">=3", "<3", "==4")


@st.composite
def indexes(draw: st.DrawFn) -> tuple[Index, tuple[str, ...]]:
    """An index of up to six projects with up to four versions, and what is asked of it."""
    projects = PROJECTS[: draw(st.integers(2, 6))]
    lines = st.builds(
        lambda name, extra, bound, asks: f"{name}{extra}{bound}{asks}",
        st.sampled_from(projects),
        st.sampled_from(["", "", "", "[x]"]),
        st.sampled_from(BOUNDS),
        st.sampled_from(["", "", "", '; extra == "x"']),
    )
    requires = st.lists(lines, max_size=3).map(tuple)
    index = {
        name: {str(v): draw(requires) for v in range(1, draw(st.integers(1, 4)) + 1)}
        for name in projects
    }
    index = {
        name: {v: tuple(r for r in rs if r[0] != name) for v, rs in versions.items()}
        for name, versions in index.items()
    }
    roots = draw(st.lists(lines.map(lambda r: r.partition(";")[0]), min_size=1, max_size=3))
    return index, tuple(roots)


@given(indexes())
@settings(max_examples=300, deadline=None)
def test_it_finds_a_solution_whenever_there_is_one(case: tuple[Index, tuple[str, ...]]) -> None:
    index, roots = case
    note(f"{index}\n{roots}")
    done, failed = resolve(ask(*roots), TARGET, MemorySource(index), Rules(), Request())
    if done:
        versions = {p.name: str(p.version) for p in done[0].snapshot.packages}
        assert closed(index, versions, roots) is not None, versions
    else:
        assert failed
        assert next(solutions(index, roots), None) is None

"""The resolver against brute force, on indexes small enough for that."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, note, settings
from hypothesis import strategies as st
from synthetic import Index, MemorySource, ask, closed, solutions

from distcycle.resolution import Rules, resolve
from distcycle.selection import Request
from distcycle.targets import make_targets

TARGET = make_targets(["linux_x86_64"], ["3.11"])
TARGETS = make_targets(["linux_x86_64", "windows_amd64"], ["3.9", "3.12"])
PROJECTS = ("a", "b", "c", "d", "e", "f")
BOUNDS = ("", "", ">=2", "<2", "==1", "==2", "==3", "!=2", ">=3", "<3", "==4")


@st.composite
def indexes(draw: st.DrawFn, markers: Sequence[str] | None = None) -> tuple[Index, tuple[str, ...]]:
    """An index of up to six projects with up to four versions, and what is asked of it.

    Args:
        markers: What requirements may end in; by default an extra or nothing.
    """
    projects = PROJECTS[: draw(st.integers(2, 6))]
    lines = st.builds(
        lambda name, extra, bound, asks: f"{name}{extra}{bound}{asks}",
        st.sampled_from(projects),
        st.sampled_from(["", "", "", "[x]"]),
        st.sampled_from(BOUNDS),
        st.sampled_from(["", "", "", '; extra == "x"'] if markers is None else markers),
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


MARKERS = ("", "", "; sys_platform == 'win32'", "; python_version < '3.10'", "; os_name == 'nt'")


@given(indexes(markers=MARKERS))
@settings(max_examples=150, deadline=None)
def test_targets_resolved_together_resolve_as_each_by_itself(
    case: tuple[Index, tuple[str, ...]],
) -> None:
    index, roots = case
    done, failed = resolve(ask(*roots), TARGETS, MemorySource(index), Rules(), Request())
    together = {target: way.snapshot.packages for way in done for target in way.targets}
    for target in TARGETS:
        alone, failure = resolve(ask(*roots), [target], MemorySource(index), Rules(), Request())
        if alone:
            assert together[target.name] == alone[0].snapshot.packages
        else:
            assert target.name not in together
            assert failed
            assert failure

"""Selection: roots, flow, offers, and what is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from distcycle.markers import Space
from distcycle.model import (
    Amendment,
    Artefact,
    Facts,
    Metadata,
    Package,
    Place,
    Requirement,
    Root,
    Snapshot,
)
from distcycle.requirements import parse_requirement
from distcycle.selection import Request, Selection, find_choices, find_roots, select
from distcycle.targets import make_targets

HERE = Place(path="lock")
TARGETS = make_targets(["linux_x86_64", "windows_amd64", "macos_arm64"], ["3.9", "3.12"])
SPACE = Space.of_targets(TARGETS)
LOCK = Request(edges="lock")
MARKERS = ["", "", "; sys_platform == 'linux'", "; python_version < '3.10'", "; extra == 'x'"]
NAMES = [canonicalize_name(f"p{i}") for i in range(7)]


def package(
    name: str, requires: Sequence[str] = (), *, version: str = "1", **more: object
) -> Package:
    return Package(
        name=canonicalize_name(name),
        version=Version(version),
        requirements=tuple(map(parse_requirement, requires)),
        place=HERE,
        **more,  # type: ignore[arg-type]
    )


def lock(*packages: Package, roots: Sequence[Root] | None = None, **more: object) -> Snapshot:
    return Snapshot(
        path="lock",
        kind="poetry-lock",
        packages=packages,
        roots=None if roots is None else tuple(roots),
        **more,  # type: ignore[arg-type]
    )


def root(text: str, **more: object) -> Root:
    return Root(requirement=parse_requirement(text), **more)  # type: ignore[arg-type]


def reached_names(selection: Selection) -> set[str]:
    packages = selection.snapshot.packages
    return {
        packages[i].name + (f"[{extra}]" if extra else "")
        for (i, extra), cells in selection.reached.items()
        if cells
    }


requirements = st.builds(
    lambda name, extra, marker: f"{name}{extra} {marker}",
    st.sampled_from(NAMES),
    st.sampled_from(["", "", "[x]"]),
    st.sampled_from(MARKERS),
)
locks = st.lists(st.lists(requirements, max_size=3), min_size=len(NAMES), max_size=len(NAMES)).map(
    lambda lists: lock(*map(package, NAMES, lists))
)


# Roots -------------------------------------------------------------------------------------------


def name_graph(snapshot: Snapshot, *, unmarked: bool = False) -> nx.DiGraph[str]:
    graph: nx.DiGraph[str] = nx.DiGraph()
    for one in snapshot.packages:
        graph.add_node(one.name)
        for requirement in one.requirements or ():
            if not (unmarked and requirement.marker):
                graph.add_edge(one.name, requirement.name)
    return graph


@settings(max_examples=150, deadline=None)
@given(locks)
def test_every_package_is_reachable_from_the_roots(snapshot: Snapshot) -> None:
    graph = name_graph(snapshot)
    reachable: set[str] = set()
    for found in find_roots(snapshot):
        name = found.requirement.name
        reachable |= {name, *nx.descendants(graph, name)}
    assert reachable == set(NAMES)


@settings(max_examples=150, deadline=None)
@given(locks)
def test_what_nothing_requires_is_a_root_and_what_a_root_leads_to_is_none(
    snapshot: Snapshot,
) -> None:
    plain = lock(
        *(
            replace(p, requirements=tuple(r for r in p.requirements or () if r.marker is None))
            for p in snapshot.packages
        )
    )
    graph = name_graph(plain)
    roots = {found.requirement.name for found in find_roots(plain)}
    condensed = nx.condensation(graph)
    tops = {
        frozenset(condensed.nodes[node]["members"])
        for node in condensed
        if condensed.in_degree(node) == 0
    }
    # A component that nothing outside reaches is a root as a whole, and nothing else is.
    assert roots == set().union(*tops)


def test_an_extra_that_nobody_requests_makes_no_root_of_what_it_would_bring() -> None:
    snapshot = lock(package("a", ["b ; extra == 'x'"]), package("b", ["a"]))
    assert {r.requirement.name for r in find_roots(snapshot)} == {"b"}
    asked = lock(package("a", ["b ; extra == 'x'"]), package("b", ["a[x]"]))
    assert {r.requirement.name for r in find_roots(asked)} == {"a", "b"}


def test_optional_packages_are_roots_only_with_all_extras() -> None:
    snapshot = lock(package("a"), package("b", optional=True))
    assert [r.requirement.name for r in find_roots(snapshot)] == ["a"]
    assert [r.requirement.name for r in find_roots(snapshot, all_extras=True)] == ["a", "b"]


def test_a_computed_root_is_bound_to_its_entry_and_bounded_by_its_marker() -> None:
    one = package("a", marker=parse_requirement("a ; sys_platform == 'linux'").marker)
    two = package("a", version="2", marker=parse_requirement("a ; sys_platform != 'linux'").marker)
    selection = select(lock(one, two), SPACE, Facts(), LOCK)
    linux, other = selection.reached[0, ""], selection.reached[1, ""]
    assert (linux & other, linux | other) == (0, SPACE.full)


# Flow --------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(locks, st.sampled_from(NAMES), requirements)
def test_one_more_requirement_reaches_no_less(
    snapshot: Snapshot, where: NormalizedName, text: str
) -> None:
    snapshot = replace(snapshot, roots=(root("p0"), root("p1[x] ; sys_platform == 'linux'")))
    more = replace(
        snapshot,
        packages=tuple(
            replace(p, requirements=(*(p.requirements or ()), parse_requirement(text)))
            if p.name == where
            else p
            for p in snapshot.packages
        ),
    )
    less = select(snapshot, SPACE, Facts(), LOCK).reached
    reached = select(more, SPACE, Facts(), LOCK).reached
    assert all(cells & ~reached.get(node, 0) == 0 for node, cells in less.items())


@settings(max_examples=100, deadline=None)
@given(locks)
def test_all_targets_at_once_are_each_target_alone(snapshot: Snapshot) -> None:
    snapshot = replace(snapshot, roots=(root("p0"), root("p1[x] ; sys_platform == 'linux'")))
    whole = select(snapshot, SPACE, Facts(), LOCK)
    for cell, target in enumerate(TARGETS):
        alone = select(snapshot, Space.of_targets([target]), Facts(), LOCK)
        assert {n for n, c in alone.reached.items() if c} == {
            n for n, c in whole.reached.items() if c >> cell & 1
        }
        assert {(e.source, e.target, e.requirement) for e in alone.edges} == {
            (e.source, e.target, e.requirement) for e in whole.edges if e.cells >> cell & 1
        }


@settings(max_examples=100, deadline=None)
@given(locks)
def test_edges_are_live_only_where_both_ends_are_reached(snapshot: Snapshot) -> None:
    selection = select(snapshot, SPACE, Facts(), LOCK)
    for edge in selection.edges:
        assert edge.cells
        assert edge.cells & ~selection.reached[edge.source] == 0
        for extra in ("", *edge.requirement.extras):
            assert edge.cells & ~selection.reached[edge.target, extra] == 0


def test_a_marker_counts_where_its_parent_is_reached() -> None:
    snapshot = lock(
        package("a", ["b ; sys_platform == 'linux'"]),
        package("b", ["c"]),
        package("c"),
        roots=[root("a ; python_version < '3.10'")],
    )
    selection = select(snapshot, SPACE, Facts(), LOCK)
    (cell,) = SPACE.cells(selection.reached[2, ""])
    assert TARGETS[cell].name == "cp39-linux_x86_64"


# Requests ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (Request(edges="lock"), {"app", "dev"}),
        (Request(edges="lock", extras=frozenset({"web"})), {"app", "dev", "web"}),
        (Request(edges="lock", groups=frozenset({"docs"})), {"app", "dev", "docs"}),
        (Request(edges="lock", all_extras=True), {"app", "dev", "web"}),
    ],
)
def test_what_is_asked_for(request_: Request, expected: set[str]) -> None:
    snapshot = lock(
        *map(package, ("app", "dev", "docs", "web")),
        roots=[
            root("app"),
            root("dev", group=canonicalize_name("dev")),
            root("docs", group=canonicalize_name("docs"), default=False),
            root("web", extra=canonicalize_name("web"), default=False),
        ],
    )
    assert reached_names(select(snapshot, SPACE, Facts(), request_)) == expected


def test_extras_flow_to_their_own_base_and_no_further() -> None:
    snapshot = lock(
        package("a", ["b[x]"]),
        package("b", ["c ; extra == 'x'", "d ; extra == 'y'"]),
        package("c"),
        package("d"),
        roots=[root("a")],
    )
    assert reached_names(select(snapshot, SPACE, Facts(), LOCK)) == {"a", "b", "b[x]", "c"}


def test_what_holds_without_the_extra_is_not_the_extras() -> None:
    snapshot = lock(
        package("a", ["b ; extra == 'x' or sys_platform == 'linux'"]),
        package("b"),
        roots=[root("a[x]")],
    )
    selection = select(snapshot, SPACE, Facts(), LOCK)
    cells = {edge.source[1]: edge.cells for edge in selection.edges}
    assert cells[""] & cells["x"] == 0
    assert cells[""] | cells["x"] == SPACE.full


def conflicting(*extras: str) -> Snapshot:
    names = tuple(f"extra-3-app-{extra}" for extra in ("cpu", "gpu"))
    roots = [root("app")]
    for extra in extras:
        choice = f"extra-3-app-{extra}"
        roots.append(root(f"app[{extra}]", extra=extra, choice=choice, default=False))
    return lock(package("app"), roots=roots, conflicts=(names,))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ([], [set()]),
        (["cpu"], [{"extra-3-app-cpu"}]),
        (["docs"], [{"extra-3-app-docs"}]),
        (["cpu", "docs"], [{"extra-3-app-cpu", "extra-3-app-docs"}]),
        (["cpu", "gpu"], [{"extra-3-app-cpu"}, {"extra-3-app-gpu"}]),
    ],
)
def test_of_conflicting_extras_each_is_an_alternative(
    asked: list[str], expected: list[set[str]]
) -> None:
    snapshot = conflicting("cpu", "gpu", "docs")
    choices = find_choices(snapshot, Request(extras=frozenset(asked)))
    assert [set(choice) for choice in choices] == expected


# Offers and needs --------------------------------------------------------------------------------

WHEEL = Artefact(filename="a-1-py3-none-any.whl")


def metadata(*requires: str) -> Metadata:
    lines = tuple(map(parse_requirement, requires))
    return Metadata(name=canonicalize_name("a"), version="1", requires=lines)


def judged(selection: Selection) -> set[tuple[str, str, str]]:
    packages = selection.snapshot.packages
    return {
        (packages[e.source[0]].name, packages[e.target].name, e.origin)
        for e in selection.edges
        if e.judged
    }


def facts(known: Mapping[str, Metadata]) -> Facts:
    return Facts(metadata=known)


def test_a_wheel_speaks_for_itself_and_the_lock_says_what_is_installed() -> None:
    snapshot = lock(
        package("a", ["b", "c"], artefacts=(WHEEL,)),
        package("b"),
        package("c"),
        package("d"),
        roots=[root("a")],
    )
    known = facts({WHEEL.identity: metadata("b", "d")})
    selection = select(snapshot, SPACE, known, Request())
    assert judged(selection) == {("a", "b", "wheel"), ("a", "d", "wheel")}
    assert reached_names(selection) == {"a", "b", "c", "d"}


def test_asks_for_what_is_reached_and_for_nothing_twice() -> None:
    other = Artefact(filename="b-1-py3-none-any.whl")
    snapshot = lock(
        package("a", artefacts=(WHEEL,)),
        package("b", artefacts=(other,)),
        package("c"),
        roots=[root("a"), root("c")],
    )
    needs = select(snapshot, SPACE, Facts(), Request()).needs
    assert [artefact.filename for artefact in needs.metadata] == [WHEEL.filename]
    assert list(needs.files) == [(canonicalize_name("c"), Version("1"))]
    assert not select(snapshot, SPACE, Facts(), LOCK).needs
    known = facts({WHEEL.identity: metadata("b")})
    needs = select(snapshot, SPACE, known, Request()).needs
    assert [artefact.filename for artefact in needs.metadata] == [other.filename]


def test_hashes_choose_among_the_files_of_an_index() -> None:
    right = Artefact(filename="a-1-py3-none-any.whl", hashes=(("sha256", "11"),))
    wrong = Artefact(filename="a-1-py2.py3-none-any.whl", hashes=(("sha256", "22"),))
    one = replace(package("a"), requirements=None, hashes=(("sha256", "11"),))
    known = Facts(files={(one.name, Version("1")): (wrong, right)})
    selection = select(lock(one, roots=[root("a")]), SPACE, known, Request())
    assert [choice.artefact for choice in selection.choices[0]] == [right]
    known = Facts(files={(one.name, Version("1")): (wrong,)})
    selection = select(lock(one, roots=[root("a")]), SPACE, known, Request())
    assert selection.offers[0][0].requirements is None
    assert "hashes" in selection.offers[0][0].unknown


@pytest.mark.parametrize(
    ("amendment", "expected"),
    [
        ({"package": None, "removes": ("b",)}, {"c"}),
        ({"package": "a", "removes": ("b", "c")}, set()),
        ({"package": "z", "removes": ("b",)}, {"b", "c"}),
        ({"package": "a", "version": "2", "removes": ("b",)}, {"b", "c"}),
        ({"package": "a", "removes": None, "adds": ("d",)}, {"d"}),
        ({"package": None, "removes": ("b",), "adds": ("b ; sys_platform == 'never'",)}, {"c"}),
        ({"package": None, "removes": ("z",), "adds": ("z",)}, {"b", "c"}),
    ],
)
def test_amendments_change_what_wheels_declare(
    amendment: dict[str, object], expected: set[str]
) -> None:
    version = amendment.get("version")
    amended = Amendment(
        package=amendment["package"],  # type: ignore[arg-type]
        version=Version(str(version)) if version else None,
        removes=amendment["removes"],  # type: ignore[arg-type]
        adds=tuple(map(parse_requirement, amendment.get("adds", ()))),  # type: ignore[call-overload]
        place=HERE,
    )
    snapshot = lock(
        replace(package("a", artefacts=(WHEEL,)), requirements=None),
        *map(package, ("b", "c", "d", "z")),
        roots=[root("a")],
        amendments=(amended,),
    )
    selection = select(snapshot, SPACE, facts({WHEEL.identity: metadata("b", "c")}), Request())
    assert {target for _, target, _ in judged(selection)} == expected
    assert selection.unmet == []


def test_a_requirement_prefers_what_its_specifier_admits_then_the_higher_version() -> None:
    snapshot = lock(
        package("a", ["b <2"]),
        package("c", ["b"]),
        package("b", version="1"),
        package("b", version="3"),
        roots=[root("a"), root("c"), root("b")],
    )
    # Where both entries stand, each requirement takes its own.
    selection = select(snapshot, SPACE, Facts(), LOCK)
    targets = {(e.source[0], e.target) for e in selection.edges}
    assert targets == {(0, 2), (1, 3)}
    assert selection.unmet == []


def test_a_requirement_that_is_bound_to_an_entry_takes_it() -> None:
    bound = Requirement(name=canonicalize_name("b"), text="b==1", package=1)
    snapshot = lock(
        replace(package("a"), requirements=(bound,)),
        package("b", version="1"),
        package("b", version="3"),
        roots=[root("a")],
    )
    selection = select(snapshot, SPACE, Facts(), LOCK)
    assert [edge.target for edge in selection.edges] == [1]
    assert (2, "") not in selection.reached

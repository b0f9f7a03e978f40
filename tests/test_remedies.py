"""What can be done about a loop: sets of edges with what they cost, and one plan for an input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from packaging.utils import canonicalize_name
from packaging.version import Version

from distcycle import api
from distcycle.model import Package, Place, Root, Snapshot
from distcycle.plan import Plan
from distcycle.policy import Policy
from distcycle.remedies import Remedy
from distcycle.requirements import parse_requirement
from distcycle.selection import Request


def fix(
    declared: Mapping[str, Sequence[str]], roots: Sequence[str], policy: Policy | None = None
) -> tuple[list[Remedy], Plan]:
    packages = tuple(
        Package(
            name=canonicalize_name(name),
            version=Version("1"),
            requirements=tuple(map(parse_requirement, lines)),
            place=Place(path="some.lock", line=line),
        )
        for line, (name, lines) in enumerate(declared.items(), start=1)
    )
    asked = tuple(Root(requirement=parse_requirement(root)) for root in roots)
    snapshot = Snapshot(path="some.lock", kind="some-lock", packages=packages, roots=asked)
    scope = api.make_scope(
        snapshot, platforms=["cp312-linux_x86_64"], request=Request(edges="lock")
    )
    remedies, plan, _ = api.find_fixes(scope, None, policy or Policy())
    return remedies, plan


def cuts_of(plan: Plan) -> list[tuple[str, str]]:
    return [(cut.package, cut.requires) for cut in plan.cuts]


def test_the_edge_goes_without_which_nothing_is_lost() -> None:
    declared = {"egg": ["hen"], "hen": ["egg>=1"]}
    remedies, plan = fix(declared, ["egg"])
    assert cuts_of(plan) == [("hen", "egg")]
    assert plan.cuts[0].loses == ("the bound egg >=1, which nothing else holds",)
    other = [r for r in remedies if r.kind == "cut" and r.edges == (("egg", "hen"),)]
    assert other[0].costs == ("egg -> hen loses hen itself on linux_x86_64",)


def test_what_policy_says_an_edge_costs_goes_before_what_is_found() -> None:
    declared = {"egg": ["hen"], "hen": ["egg>=1"]}
    policy = Policy(droppable={("egg", "h*"): 0, ("hen", "egg"): 100})
    assert cuts_of(fix(declared, ["egg"], policy)[1]) == [("egg", "hen")]


def test_a_marker_that_cannot_be_read_stops_no_plan() -> None:
    declared = {"egg": ["hen; 'x' == 'x'"], "hen": ["egg"]}
    assert cuts_of(fix(declared, ["egg"])[1]) == [("hen", "egg")]


def test_a_huge_loop_has_a_plan_soon() -> None:
    size = 600
    declared = {
        f"p{i:03}": [f"p{(i + step) % size:03}" for step in (1, 7, 191)] for i in range(size)
    }
    remedies, plan = fix(declared, ["p000"])
    cut = set(cuts_of(plan))
    left = {
        name: [line for line in lines if (name, line) not in cut]
        for name, lines in declared.items()
    }
    assert cut
    assert not fix(left, ["p000"])[1].cuts
    assert not any(remedy.exact for remedy in remedies if remedy.kind == "cut")

"""Cuts, or groups, as entries of distcycle's own policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from packaging.markers import Marker
from packaging.utils import NormalizedName

from distcycle.emitters.comments import (
    comment,
    describe_cut,
    describe_group,
    describe_plan,
    members_of,
    name_cut,
)
from distcycle.emitters.literals import dig, load_toml, quote
from distcycle.errors import PolicyError
from distcycle.plan import Plan, PlannedCut, PlannedGroup
from distcycle.policy import Cut, Policy
from distcycle.policy.parse import parse_policy

__all__ = ["check", "emit"]

_HINT = (
    "distcycle.toml, or below [tool.distcycle] of pyproject.toml, where tables are named"
    " [[tool.distcycle.cut]]. Into a policy that stands already, put the tables alone."
)


def emit(plan: Plan) -> str:
    """Write the cuts of a plan, with its groups in comments; without cuts, its groups.

    Args:
        plan: The plan.

    Returns:
        A policy, in TOML.
    """
    lines = [*comment(describe_plan(plan, "policy", _HINT)), "", "version = 1"]
    for cut in sorted(plan.cuts, key=lambda cut: (cut.package, str(cut.version), cut.requires)):
        lines += ["", *comment(describe_cut(plan, cut, keeps=True)), *_cut(plan, cut)]
    if plan.cuts and plan.groups:
        lines += ["", *comment(["Instead of the cuts, where the loops are built as units:"])]
    for group in sorted(plan.groups, key=lambda group: group.packages):
        written = ["", *comment(describe_group(group)), *_group(group)]
        lines += (f"# {line}".rstrip() for line in written) if plan.cuts else written
    return "\n".join(lines) + "\n"


def _cut(plan: Plan, cut: PlannedCut) -> Iterator[str]:
    yield "[[cut]]"
    yield f"package = {quote(cut.package)}"
    if cut.version is not None:
        yield f"versions = {quote(f'=={cut.version}')}"
    yield f"requires = {quote(cut.requires)}"
    if cut.condition:
        yield f"marker = {quote(cut.condition)}"
    elif platforms := _platforms(cut) if cut.condition is None else []:
        yield f"platforms = {_array(platforms)}"
    if cut.extra is not None:
        yield f"move-to-extra = {quote(cut.extra)}"
    yield f"reason = {quote(f'it opens the loop of {_named(members_of(plan, cut))}')}"


def _platforms(cut: PlannedCut) -> list[str]:
    """Platforms of targets, which are named by Python and platform; none where one has no name.

    The target of an environment is named as the platform that it is like, and ``@environment``.
    """
    platforms = {target.partition("-")[2].partition("@")[0] for target in cut.targets}
    return [] if "" in platforms else sorted(platforms)


def _group(group: PlannedGroup) -> Iterator[str]:
    yield "[[group]]"
    yield f"name = {quote(group.name)}"
    yield f"packages = {_array(sorted(group.packages))}"
    yield f"reason = {quote(f'a loop of {_named(group.packages)}')}"


def _array(items: Iterable[str]) -> str:
    return f"[{', '.join(map(quote, items))}]"


def _named(names: tuple[NormalizedName, ...]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return f"{', '.join(names[:4])}{more}"


def check(plan: Plan, text: str) -> tuple[str, ...]:
    """Say which cuts a policy does not have; without cuts, which groups.

    Args:
        plan: The plan.
        text: The policy, or a pyproject.toml with one.

    Returns:
        One line for each cut that is missing where no group contains its loop either, or for each
        group; what is wrong with the policy where it is not valid.
    """
    try:
        table = "tool.distcycle" if dig(load_toml(text), "tool") else None
        policy = parse_policy(text, path="policy", table=table)
    except ValueError as error:
        return (str(error),)
    except PolicyError as error:
        return tuple(f"cannot be told: {problem}" for problem in error.problems)
    if plan.cuts:
        lacks = (_lack_of(cut, members_of(plan, cut), policy) for cut in plan.cuts)
        return tuple(sorted(filter(None, lacks)))
    return tuple(
        f"{group.name}: no group holds {', '.join(sorted(group.packages))}"
        for group in sorted(plan.groups, key=lambda group: group.packages)
        if not _is_contained(group.packages, policy)
    )


def _lack_of(cut: PlannedCut, members: tuple[NormalizedName, ...], policy: Policy) -> str:
    if _is_contained(members, policy):
        return ""
    rules = [rule for rule in policy.cuts if _is_meant(cut, rule)]
    if any(_covers(cut, rule) for rule in rules):
        return ""
    if rules:
        return f"{name_cut(cut)}: cannot be told: a [[cut]] takes it out within limits of its own"
    return f"{name_cut(cut)}: no [[cut]] takes it out"


def _is_contained(members: tuple[NormalizedName, ...], policy: Policy) -> bool:
    return any(
        all(any(fnmatchcase(name, pattern) for pattern in group.packages) for name in members)
        for group in policy.groups
    )


def _is_meant(cut: PlannedCut, rule: Cut) -> bool:
    if rule.requires != cut.requires or not fnmatchcase(cut.package, rule.package):
        return False
    versions = rule.where.versions
    if versions is None or cut.version is None:
        return versions is None
    return versions.contains(cut.version, prereleases=True)


def _covers(cut: PlannedCut, rule: Cut) -> bool:
    """Whether a rule has no limits but those that would be written."""
    where = rule.where
    if where.python is not None or rule.move_to_extra != cut.extra:
        return False
    if where.platforms and not _have_all(where.platforms, cut):
        return False
    if where.marker is None:
        return True
    return bool(cut.condition) and where.marker == Marker(cut.condition or "")


def _have_all(patterns: tuple[str, ...], cut: PlannedCut) -> bool:
    platforms = _platforms(cut) if cut.condition is None else []
    return bool(platforms) and all(
        any(fnmatchcase(platform, pattern) for pattern in patterns) for platform in platforms
    )

"""Groups for rules_python: ``experimental_requirement_cycles``.

rules_python takes names in any spelling and makes them lower case, with ``_`` for each run of
``-``, ``_`` and ``.``; but in a WORKSPACE it looks for repeated names before it does, and in a
MODULE.bazel it leaves the names of groups, which become targets, as they stand. Written here are
normalised names (PEP 503), one spelling for each, as its documentation has them.

Source: https://rules-python.readthedocs.io/en/latest/pypi/circular-dependencies.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from packaging.utils import canonicalize_name

from distcycle.emitters.comments import comment, describe_group, describe_plan
from distcycle.emitters.literals import quote
from distcycle.emitters.starlark import Call, find_calls
from distcycle.plan import Plan, PlannedGroup

__all__ = ["check", "emit"]

_ATTRIBUTE = "experimental_requirement_cycles"
_MODULE = (
    "MODULE.bazel: put the attribute into every pip.parse of the hub that reads this lock; of"
    " several on one hub the last one counts for all."
)
_WORKSPACE = "WORKSPACE: put the attribute into the pip_parse that reads this lock."


def emit(plan: Plan) -> str:
    """Write the groups of a plan, once for MODULE.bazel and once for WORKSPACE.

    Args:
        plan: The plan.

    Returns:
        Starlark: two calls that have nothing but the attribute.
    """
    lines = comment(describe_plan(plan, "bazel", "Take the one of both calls that is yours."))
    for where, function in ((_MODULE, "pip.parse"), (_WORKSPACE, "pip_parse")):
        lines += ["", *comment([where]), f"{function}(", f"    {_ATTRIBUTE} = {{"]
        for group in sorted(plan.groups, key=lambda group: group.packages):
            lines += _entry(group)
        lines += ["    },", ")"]
    return "\n".join(lines) + "\n"


def _entry(group: PlannedGroup) -> Iterator[str]:
    yield from comment(describe_group(group), indent=" " * 8)
    yield f"        {quote(group.name)}: ["
    yield from (f"            {quote(name)}," for name in sorted(group.packages))
    yield "        ],"


def check(plan: Plan, text: str) -> tuple[str, ...]:
    """Say which groups a MODULE.bazel, WORKSPACE or .bzl file does not have.

    Args:
        plan: The plan.
        text: The file. Of several hubs the one with the most of the groups is meant.

    Returns:
        One line for each group that is missing; the one line that tells why nothing can be told.
    """
    try:
        hubs = _read_hubs(find_calls(text))
    except ValueError as error:
        return (str(error),)
    lacks = [_lacks_of(plan, groups) for groups in hubs.values()] or [_lacks_of(plan, {})]
    return min(lacks, key=len)


def _read_hubs(calls: tuple[Call, ...]) -> dict[object, object]:
    """What each hub's last call says of groups.

    Raises:
        ValueError: One computes its groups.
    """
    hubs: dict[object, object] = {}
    for call in calls:
        name = call.function.rpartition(".")[2]
        if name != "pip_parse" and not call.function.endswith("pip.parse"):
            continue
        if _ATTRIBUTE in call.computed:
            raise ValueError(f"cannot be told: line {call.line}: {_ATTRIBUTE} is computed")
        hub = call.values.get("name" if name == "pip_parse" else "hub_name")
        hubs[repr((name, hub))] = call.values.get(_ATTRIBUTE)
    return hubs


def _lacks_of(plan: Plan, groups: object) -> tuple[str, ...]:
    held = [_names(names) for names in groups.values()] if isinstance(groups, Mapping) else []
    return tuple(
        f"{group.name}: no group holds {', '.join(sorted(group.packages))}"
        for group in sorted(plan.groups, key=lambda group: group.packages)
        if not any(set(group.packages) <= names for names in held)
    )


def _names(value: object) -> set[str]:
    if not isinstance(value, (list, tuple)):
        return set()
    return {canonicalize_name(name) for name in value if isinstance(name, str)}

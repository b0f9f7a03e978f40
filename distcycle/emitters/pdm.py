"""Excludes for PDM; and overrides, which put repaired wheels in the place of a package.

PDM locks a project that is excluded where the project itself requires it, yet installs it for
nobody; the requirements on it stay in the lock.

Source: https://pdm-project.org/latest/usage/config/ and
https://pdm-project.org/latest/usage/dependency/ (``resolution.excludes``,
``resolution.overrides``); PDM 2.29 was run.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.utils import NormalizedName, canonicalize_name

from distcycle.emitters.comments import comment, describe_cut, describe_plan, name_cut
from distcycle.emitters.literals import dig, load_toml, names_in, quote
from distcycle.plan import Plan, PlannedCut
from distcycle.wheelwork.repair import repaired_version

__all__ = ["check", "emit"]

_HINTS = (
    "pyproject.toml: put the key into the table [tool.pdm.resolution], then run `pdm lock`.",
    "Take it only where nobody needs an excluded project: not the project itself, and none of its"
    " other dependencies. Else repair the wheels (`distcycle fix --write-wheels wheels`) and take"
    " what stands at the end instead.",
)
_REPAIRED = (
    "Instead of the exclude, one edge only: the repaired wheels, made by `distcycle fix"
    " --write-wheels wheels`.",
    "",
)


def emit(plan: Plan) -> str:
    """Write the cuts of a plan as excludes, and as overrides in comments.

    Args:
        plan: The plan.

    Returns:
        TOML for pyproject.toml.
    """
    lines = comment(describe_plan(plan, "pdm", *_HINTS))
    lines += ["", "[tool.pdm.resolution]", "excludes = ["]
    for name in sorted({cut.requires for cut in plan.cuts}):
        cuts = [cut for cut in _sorted(plan) if cut.requires == name]
        lines += comment((line for cut in cuts for line in describe_cut(plan, cut)), indent="    ")
        lines.append(f"    {quote(name)},")
    lines += ["]", "", *comment([*_REPAIRED, *_overrides(plan)])]
    return "\n".join(lines) + "\n"


def _overrides(plan: Plan) -> Iterator[str]:
    yield "[tool.pdm.resolution.overrides]"
    for cut in {cut.package: cut for cut in _sorted(plan)}.values():
        version = "*" if cut.version is None else f"=={repaired_version(cut.version)}"
        yield f"{quote(cut.package)} = {quote(version)}"
    yield ""
    yield "[[tool.pdm.source]]"
    yield 'name = "repaired"'
    yield 'type = "find_links"'
    yield 'url = "file:///${PROJECT_ROOT}/wheels"'


def _sorted(plan: Plan) -> list[PlannedCut]:
    return sorted(plan.cuts, key=lambda cut: (cut.package, str(cut.version), cut.requires))


def check(plan: Plan, text: str) -> tuple[str, ...]:
    """Say which cuts a pyproject.toml does not have.

    Args:
        plan: The plan.
        text: The file.

    Returns:
        One line for each cut that is missing, or the one that tells why nothing can be told.
    """
    try:
        resolution = dig(load_toml(text), "tool", "pdm", "resolution")
    except ValueError as error:
        return (str(error),)
    excluded = names_in(dig(resolution, "excludes"))
    repaired = set(_repaired_in(dig(resolution, "overrides")))
    return tuple(
        f"{name_cut(cut)}: neither excluded nor overridden by a repaired wheel"
        for cut in _sorted(plan)
        if cut.requires not in excluded and cut.package not in repaired
    )


def _repaired_in(overrides: object) -> Iterator[NormalizedName]:
    if isinstance(overrides, dict):
        for name, value in overrides.items():
            if isinstance(value, str) and "distcycle." in value.partition("+")[2]:
                yield canonicalize_name(name)

"""Overrides for pixi: a requirement that holds in no environment stands for all on a project.

Source: https://pixi.prefix.dev/latest/advanced/override/; ``env-markers`` came with pixi 0.63.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.markers import InvalidMarker, Marker
from packaging.utils import NormalizedName, canonicalize_name

from distcycle.emitters.comments import comment, describe_cut, describe_plan, name_cut
from distcycle.emitters.literals import dig, load_toml, quote
from distcycle.plan import Plan

__all__ = ["check", "emit"]

_NEVER = "sys_platform == 'never'"
_HINTS = (
    "pixi.toml: put the lines into the table [pypi-options.dependency-overrides]; in pyproject.toml"
    " it is [tool.pixi.pypi-options.dependency-overrides]. Needs pixi 0.63.",
    "Take it only where the project comes from conda or nobody needs it. Else repair the wheels"
    " (`distcycle fix --write-wheels wheels`) and override the package that requires, as"
    ' { path = "./wheels/..." }.',
)


def emit(plan: Plan) -> str:
    """Write the cuts of a plan as overrides.

    Args:
        plan: The plan.

    Returns:
        TOML for pixi.toml.
    """
    lines = comment(describe_plan(plan, "pixi", *_HINTS))
    lines += ["", "[pypi-options.dependency-overrides]"]
    for name in sorted({cut.requires for cut in plan.cuts}):
        cuts = sorted(
            (cut for cut in plan.cuts if cut.requires == name),
            key=lambda cut: (cut.package, str(cut.version)),
        )
        lines += comment(line for cut in cuts for line in describe_cut(plan, cut))
        lines.append(f'{quote(name)} = {{ version = "*", env-markers = {quote(_NEVER)} }}')
    return "\n".join(lines) + "\n"


def check(plan: Plan, text: str) -> tuple[str, ...]:
    """Say which cuts a pixi.toml or pyproject.toml does not have.

    Args:
        plan: The plan.
        text: The file.

    Returns:
        One line for each cut that is missing, or the one that tells why nothing can be told.
    """
    try:
        document = load_toml(text)
    except ValueError as error:
        return (str(error),)
    table = ("pypi-options", "dependency-overrides")
    overrides = dig(document, *table) or dig(document, "tool", "pixi", *table)
    gone = set(_names_gone(overrides))
    return tuple(
        sorted(
            f"{name_cut(cut)}: no override takes {cut.requires} away"
            for cut in plan.cuts
            if cut.requires not in gone
        )
    )


def _names_gone(overrides: object) -> Iterator[NormalizedName]:
    if isinstance(overrides, dict):
        yield from (canonicalize_name(name) for name in overrides if _is_never(overrides[name]))


def _is_never(value: object) -> bool:
    marker = dig(value, "env-markers")
    try:
        return isinstance(marker, str) and Marker(marker) == Marker(_NEVER)
    except (InvalidMarker, RecursionError):
        return False

"""Ignored dependencies for rules_pycross.

Source: https://github.com/jvolkman/rules_pycross, docs/ext_uv.md (``package``); the extensions for
pdm, poetry and pylock have the same tag.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.utils import canonicalize_name

from distcycle.emitters.comments import comment, describe_cut, describe_plan, name_cut
from distcycle.emitters.literals import names_in, quote
from distcycle.emitters.starlark import Call, find_calls
from distcycle.plan import Plan, PlannedCut

__all__ = ["check", "emit"]

_ATTRIBUTE = "ignore_dependencies"
_EXTENSIONS = {"pdm-lock": "pdm", "poetry-lock": "poetry", "pylock": "pylock"}


def emit(plan: Plan) -> str:
    """Write the cuts of a plan as tags of the extension that reads its lock.

    Args:
        plan: The plan.

    Returns:
        Starlark for MODULE.bazel: one ``package`` tag for each package that loses requirements.
    """
    extension = _EXTENSIONS.get(plan.kind, "uv")
    hint = (
        f"MODULE.bazel: put this below {extension} = use_extension(...). Where the package has a"
        f" {extension}.package already, add the attribute to it, and workspace = ... where there"
        " are several."
    )
    lines = comment(describe_plan(plan, "pycross", hint))
    for key, cuts in _by_key(plan).items():
        lines += ["", *comment(line for cut in cuts for line in describe_cut(plan, cut))]
        lines += _tag(extension, key, cuts)
    return "\n".join(lines) + "\n"


def _tag(extension: str, key: str, cuts: list[PlannedCut]) -> Iterator[str]:
    ignored = ", ".join(quote(name) for name in sorted({cut.requires for cut in cuts}))
    yield f"{extension}.package("
    yield f"    name = {quote(key)},"
    yield f"    {_ATTRIBUTE} = [{ignored}],"
    yield ")"


def _by_key(plan: Plan) -> dict[str, list[PlannedCut]]:
    """The cuts by what rules_pycross calls the package that they are made in."""
    found: dict[str, list[PlannedCut]] = {}
    for cut in plan.cuts:
        found.setdefault(_key(cut), []).append(cut)
    return {key: sorted(found[key], key=lambda cut: cut.requires) for key in sorted(found)}


def _key(cut: PlannedCut) -> str:
    return cut.package if cut.version is None else f"{cut.package}@{cut.version}"


def check(plan: Plan, text: str) -> tuple[str, ...]:
    """Say which cuts a MODULE.bazel does not have.

    Args:
        plan: The plan.
        text: The file.

    Returns:
        One line for each cut that is missing, or the one that tells why nothing can be told.
    """
    try:
        tags = [call for call in find_calls(text) if call.function.endswith(".package")]
    except ValueError as error:
        return (str(error),)
    cuts = [cut for of_key in _by_key(plan).values() for cut in of_key]
    return tuple(lack for cut in cuts if (lack := _lack_of(cut, tags)))


def _lack_of(cut: PlannedCut, tags: list[Call]) -> str:
    meant = [tag for tag in tags if _is_meant(cut, tag.values.get("name"))]
    if any(cut.requires in names_in(tag.values.get(_ATTRIBUTE)) for tag in meant):
        return ""
    computed = next((tag.line for tag in meant if _ATTRIBUTE in tag.computed), None)
    if computed is not None:
        return f"{name_cut(cut)}: cannot be told: line {computed}: {_ATTRIBUTE} is computed"
    return f"{name_cut(cut)}: no package tag ignores it"


def _is_meant(cut: PlannedCut, name: object) -> bool:
    if not isinstance(name, str):
        return False
    project, _, version = name.partition("@")
    if project == "*":
        return True
    return canonicalize_name(project) == cut.package and version in {"", str(cut.version or "")}

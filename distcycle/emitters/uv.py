"""Excludes and metadata for uv.

A scoped exclude takes one edge out and leaves all else to the wheels; it is written where a
requirement just goes. One that is kept under an extra needs ``dependency-metadata``, which stands
for all that the wheels say. So do wheels that disagree: uv believes one of them, and no exclude
brings back into a lock what the others require. Whichever of both is not written is there in
comments.

Source: https://docs.astral.sh/uv/concepts/resolution/ (``exclude-dependencies``, with a scope from
uv 0.11.25; ``dependency-metadata``); uv 0.13 was run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from distcycle.emitters.comments import comment, describe_cut, describe_plan, name_cut
from distcycle.emitters.literals import dig, load_toml, names_in, quote, tables_in
from distcycle.errors import InputError
from distcycle.plan import Plan, PlannedCut
from distcycle.requirements import parse_requirement
from distcycle.wheelwork.conditions import holds_without_extra, under_extra

__all__ = ["check", "emit"]

_HINT = (
    "pyproject.toml of the workspace's root: where there is a [tool.uv] already, put the keys into"
    " it. Then run `uv lock`. Scoped excludes need uv 0.11.25."
)
_OR_METADATA = (
    "Instead of the excludes, all that the packages require from now on; for an older uv, and where"
    " their wheels disagree on platforms that were not judged:"
)
_OR_EXCLUDES = "Instead of dependency-metadata, what only takes the edges out:"
_DISAGREE = (
    "  The wheels declare different requirements, and uv believes one of them: here stands what any"
    " of them requires."
)


def emit(plan: Plan) -> str:
    """Write the cuts of a plan as excludes, or as metadata where a requirement is kept.

    Args:
        plan: The plan.

    Returns:
        TOML for pyproject.toml.
    """
    excluded, restated = _split(plan)
    lines = comment(describe_plan(plan, "uv", _HINT))
    if excluded:
        lines += ["", *_excludes(plan, excluded)]
    for cuts in restated:
        lines += ["", *comment(_describe(plan, cuts)), *_metadata(cuts)]
    if excluded:
        written = (line for cuts in excluded for line in ("", *_metadata(cuts)))
        lines += ["", *comment([_OR_METADATA]), *_comment_out(written)]
    if restated:
        lines += ["", *comment([_OR_EXCLUDES, ""]), *_comment_out(_excludes(None, restated))]
    return "\n".join(lines) + "\n"


def _split(plan: Plan) -> tuple[list[list[PlannedCut]], list[list[PlannedCut]]]:
    """The cuts package by package: of those that excludes serve, and of those that they do not."""
    packages: dict[tuple[str, str], list[PlannedCut]] = {}
    for cut in plan.cuts:
        packages.setdefault((cut.package, str(cut.version or "")), []).append(cut)
    groups = [sorted(packages[key], key=lambda cut: cut.requires) for key in sorted(packages)]
    restated = [cuts for cuts in groups if any(cut.extra or not cut.agreed for cut in cuts)]
    return [cuts for cuts in groups if cuts not in restated], restated


def _describe(plan: Plan, cuts: list[PlannedCut]) -> Iterator[str]:
    for cut in cuts:
        yield from describe_cut(plan, cut, keeps=True)
    if not all(cut.agreed for cut in cuts):
        yield _DISAGREE


def _excludes(plan: Plan | None, packages: list[list[PlannedCut]]) -> Iterator[str]:
    yield "[tool.uv]"
    yield "exclude-dependencies = ["
    for cuts in packages:
        if plan is not None:
            yield from comment(_describe(plan, cuts), indent="    ")
        version = f", version = {quote(str(cuts[0].version))}" if cuts[0].version else ""
        names = ", ".join(quote(name) for name in dict.fromkeys(cut.requires for cut in cuts))
        package = f"{{ name = {quote(cuts[0].package)}{version} }}"
        yield f"    {{ package = {package}, dependencies = [{names}] }},"
    yield "]"


def _metadata(cuts: list[PlannedCut]) -> Iterator[str]:
    extras = dict.fromkeys(extra for cut in cuts for extra in (*cut.provides_extra, cut.extra))
    yield "[[tool.uv.dependency-metadata]]"
    yield f"name = {quote(cuts[0].package)}"
    if cuts[0].version:
        yield f"version = {quote(str(cuts[0].version))}"
    yield from _array("requires-dist", dict.fromkeys(_requires(cuts)))
    yield from _array("provides-extra", filter(None, extras))


def _requires(cuts: list[PlannedCut]) -> Iterator[str]:
    """What a package requires without what any cut takes out, and with what cuts keep."""
    for line in cuts[0].remaining:
        if all(line in cut.remaining for cut in cuts):
            yield " ".join(line.split())
    for cut in cuts:
        if cut.extra is not None:
            for line in cut.removed:
                requirement = parse_requirement(line)
                try:
                    yield under_extra(requirement, cut.extra)
                except InputError:
                    yield f'{requirement.name}; extra == "{cut.extra}"'


def _array(key: str, items: Iterable[str]) -> Iterator[str]:
    quoted = [f"    {quote(item)}," for item in items]
    yield from [f"{key} = [", *quoted, "]"] if quoted else [f"{key} = []"]


def _comment_out(lines: Iterable[str]) -> Iterator[str]:
    yield from (f"# {line}".rstrip() for line in lines)


def check(plan: Plan, text: str) -> tuple[str, ...]:
    """Say which cuts a pyproject.toml or uv.toml does not have.

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
    settings = dig(document, "tool", "uv") or document
    return tuple(sorted(lack for cut in plan.cuts if (lack := _lack_of(cut, settings))))


def _lack_of(cut: PlannedCut, settings: object) -> str:
    if _is_excluded(cut, dig(settings, "exclude-dependencies")):
        return f"{name_cut(cut)}: excluded, so that no extra brings it" if cut.extra else ""
    entries = list(tables_in(dig(settings, "dependency-metadata")))
    # An entry for one version goes before one for all.
    for entry in sorted(entries, key=lambda entry: "version" not in entry):
        if _is_meant(cut, entry):
            return _lack_in_metadata(cut, entry)
    return f"{name_cut(cut)}: neither excluded nor in dependency-metadata"


def _is_excluded(cut: PlannedCut, excludes: object) -> bool:
    if cut.requires in names_in(excludes):
        return True
    return any(
        _is_meant(cut, dig(entry, "package"))
        and cut.requires in names_in(entry.get("dependencies"))
        for entry in tables_in(excludes)
    )


def _is_meant(cut: PlannedCut, scope: Any) -> bool:
    name, version = dig(scope, "name"), dig(scope, "version")
    if not isinstance(name, str) or canonicalize_name(name) != cut.package:
        return False
    try:
        return version is None or Version(str(version)) == cut.version
    except InvalidVersion:
        return False


def _lack_in_metadata(cut: PlannedCut, entry: dict[str, Any]) -> str:
    lines = entry.get("requires-dist")
    texts = [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []
    found = [
        r for text in texts if cut.requires in names_in([text]) for r in [parse_requirement(text)]
    ]
    if any(holds_without_extra(requirement.marker) for requirement in found):
        return f"{name_cut(cut)}: dependency-metadata requires it still"
    if cut.extra is None:
        return ""
    provided = names_in(entry.get("provides-extra")) & {cut.extra}
    return "" if found and provided else f"{name_cut(cut)}: dependency-metadata lacks the extra"

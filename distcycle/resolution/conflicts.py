"""Says why nothing can be chosen, as a person would: who requires what, by which way, and where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from packaging.version import Version

from distcycle.model import Place
from distcycle.resolution.provider import BROKEN, PYTHON, Provider
from distcycle.resolution.records import Candidate, Identifier, Need

__all__ = ["explain_conflict"]

_MOST_NEEDS = 8


def explain_conflict(causes: Iterable[Need], provider: Provider) -> tuple[str, ...]:
    """Explain why a resolution is impossible.

    Args:
        causes: The needs that exclude each other, as the resolver last saw them.
        provider: What was asked on the way.

    Returns:
        Lines: for each project what is required of it, by whom and by which way, then what becomes
        of its versions.
    """
    by_project: dict[Identifier, None] = {}
    for need in causes:
        identifier = need.identifier
        if identifier[0] and identifier[1]:
            identifier = (identifier[0], "")
        by_project.setdefault(identifier)
    explained = [_explain(identifier, provider) for identifier in sorted(by_project)]
    return tuple(line for lines in explained for line in lines)


def _explain(identifier: Identifier, provider: Provider) -> Iterator[str]:
    needs = list(provider.seen[identifier].values())
    if identifier == PYTHON:
        for need in needs[:_MOST_NEEDS]:
            python = provider.view.python
            if not need.admits(python):
                yield f"{_way(need, provider)} requires Python {need.specifier}, not {python}"
        return
    if identifier == BROKEN:
        for need in needs[:_MOST_NEEDS]:
            yield f"{_way(need, provider)} cannot be installed: {need.refusal}"
        return
    project = identifier[0]
    versions = provider.view.versions(project)
    if not versions and all(need.url is None for need in needs):
        yield f"there is no project {project}: {_asker(needs[0], provider)}"
        return
    told = _distinct([*needs, *provider.bounds_of(project)])
    yield f"no version of {project} meets all that is required of it:"
    for need in told[:_MOST_NEEDS]:
        yield f"  {_text(need)}: {_asker(need, provider)}"
    if len(told) > _MOST_NEEDS:
        yield f"  and {len(told) - _MOST_NEEDS} more"
    yield from (f"  {line}" for line in _fates(project, versions, told, provider))


def _distinct(needs: Iterable[Need]) -> list[Need]:
    """One need of each text and asking project, whichever of its versions asks."""
    found: dict[tuple[str, str], Need] = {}
    for need in needs:
        found.setdefault((_text(need), need.parent.name if need.parent else ""), need)
    return list(found.values())


def _text(need: Need) -> str:
    if need.url is not None:
        return f"{need.name} @ {need.url}"
    if need.exact is not None:
        return f"{need.name}=={need.exact}"
    return f"{need.name}{need.specifier}"


def _asker(need: Need, provider: Provider) -> str:
    """Who asks for something, and how the input leads there."""
    if need in provider.bounds_of(need.name):
        return f"a constraint {_place(need)}"
    if need.parent is None:
        return f"asked for {_place(need)}"
    return f"required by {_way(need, provider)}"


def _way(need: Need, provider: Provider) -> str:
    """The package that requires something, after the packages that lead there from the input."""
    hops: list[Candidate] = []
    current: Need | None = need
    while current is not None and current.parent is not None and current.parent not in hops:
        hops.append(current.parent)
        current = _brought(current.parent, hops, provider)
    if not hops:
        return f"what is asked for {_place(need)}"
    chain = " -> ".join(map(str, reversed(hops)))
    if current is None or current.parent is not None:
        return chain
    return f"{chain} (asked for {_place(current)})"


def _brought(candidate: Candidate, hops: Sequence[Candidate], provider: Provider) -> Need | None:
    """What brought a candidate in: of several needs one that bounds it, then one of the input."""
    needs = [
        need
        for identifier in ((candidate.name, candidate.extra), (candidate.name, ""))
        for need in provider.seen[identifier].values()
        if need.admits(candidate.version) and need.parent not in hops
    ]
    return min(needs, key=lambda need: (not need.specifier, need.parent is not None), default=None)


def _place(need: Need) -> str:
    place = need.requirement.place if need.requirement else None
    return f"at {_show(place)}" if place is not None else "by the input"


def _show(place: Place) -> str:
    if place.line is not None:
        return f"{place.path}:{place.line}"
    return f"{place.path}: {place.key}" if place.key else place.path


def _fates(
    project: str, versions: Sequence[Version], needs: Sequence[Need], provider: Provider
) -> Iterator[str]:
    """What stands against the versions that some of the needs admit, one line a reason."""
    fates: dict[str, list[Version]] = {}
    for version in versions:
        if any(need.admits(version) for need in needs):
            fates.setdefault(_fate(project, version, needs, provider), []).append(version)
    for fate, concerned in list(fates.items())[:_MOST_NEEDS]:
        yield f"{project} {concerned[0]}{_and_more(len(concerned) - 1)}: {fate}"


def _and_more(count: int) -> str:
    if not count:
        return ""
    return " and 1 other version" if count == 1 else f" and {count} other versions"


def _fate(project: str, version: Version, needs: Sequence[Need], provider: Provider) -> str:
    view = provider.view
    stands = view.standing(project, version)
    if stands is False:
        return view.shelf.explain_absence(project, version, view.cell)
    refusing = [need for need in needs if not need.admits(version)]
    if refusing:
        return f"excluded by {_text(refusing[0])}"
    if stands is None:
        return "withdrawn (yanked), and nothing pins it"
    if version.is_prerelease and any(not v.is_prerelease for v in view.versions(project)):
        return "before a release, which nothing asks for (--pre)"
    return "leads to another conflict"

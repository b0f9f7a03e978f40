"""Findings about single packages and edges; loops are found by :mod:`distcycle.cycles`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_

from packaging.utils import NormalizedName

from distcycle.cycles import find_self_edges
from distcycle.drafts import Draft, describe_package
from distcycle.markers import Condition
from distcycle.model import Package, Requirement
from distcycle.selection import Edge, Offer, Selection, flow_along
from distcycle.unmet import find_unmet
from distcycle.wheels import Lack

__all__ = ["find_all", "find_unknown"]


def find_all(selection: Selection) -> Iterator[Draft]:
    """Find everything but loops, in the order of the packages in the input."""
    yield from _find_problems(selection)
    yield from _find_self_cycles(selection)
    yield from find_unmet(selection)
    yield from _find_lock_gaps(selection)
    yield from _find_disagreements(selection)
    yield from _find_lacks(selection)
    for index, (reason, cells) in find_unknown(selection).items():
        package = selection.snapshot.packages[index]
        yield _edges_unknown(package, f"requirements unknown: {reason}", cells)
    yield from _find_missed(selection)


def _edges_unknown(package: Package, problem: str, cells: Condition) -> Draft:
    return Draft(
        code="edges-unknown",
        message=f"{describe_package(package)}: {problem}",
        packages=(package.name,),
        cells=cells,
        place=package.place,
    )


def _find_missed(selection: Selection) -> Iterator[Draft]:
    """Find packages whose METADATA could not be fetched, so that something less is believed."""
    for index in sorted(selection.offers):
        missed = [o for o in selection.offers[index] if o.missed and o.requirements is not None]
        cells = selection.reached.get((index, ""), 0) & reduce(or_, (o.cells for o in missed), 0)
        if not cells:
            continue
        believed = "the lock is" if missed[0].origin == "lock" else "'# via' comments are"
        problem = f"{believed} believed, for no METADATA could be had: {missed[0].unknown}"
        yield _edges_unknown(selection.snapshot.packages[index], problem, cells)


def find_unknown(selection: Selection) -> dict[int, tuple[str, Condition]]:
    """Find packages that are reached and whose requirements could not be had.

    Returns:
        For each package's index the reason (the first of several), and where.
    """
    unknown: dict[int, tuple[str, Condition]] = {}
    for index in sorted(selection.offers):
        for offer in selection.offers[index]:
            cells = offer.cells & selection.reached.get((index, ""), 0)
            if offer.requirements is None and cells:
                reason, seen = unknown.get(index, (offer.unknown, 0))
                unknown[index] = (reason, seen | cells)
    return unknown


# What could not be read --------------------------------------------------------------------------


def _find_problems(selection: Selection) -> Iterator[Draft]:
    for problem in selection.snapshot.problems:
        yield Draft(
            code=problem.code,
            message=problem.message,
            packages=(problem.package,) if problem.package else (),
            place=problem.place,
        )
    reasons: dict[str, str] = {}
    unreadable = []
    for edge in selection.edges:
        requirement = edge.requirement
        reason = requirement.problem or selection.space.unreadable.get(str(requirement.marker))
        if reason is not None:
            reasons[requirement.text] = reason
            unreadable.append(edge)
    for edge, cells in _once(unreadable):
        source, requirement = selection.snapshot.packages[edge.source[0]], edge.requirement
        yield Draft(
            code="unreadable-requirement",
            message=f"{describe_package(source)} requires {requirement.text!r}: "
            f"{reasons[requirement.text]}; the edge to {requirement.name} is kept",
            packages=tuple(sorted({source.name, requirement.name})),
            cells=cells,
            place=requirement.place or source.place,
        )


def _find_self_cycles(selection: Selection) -> Iterator[Draft]:
    packages = selection.snapshot.packages
    names = [package.name for package in packages]
    for edge, cells in _once(find_self_edges(selection.edges, names)):
        source = packages[edge.source[0]]
        yield Draft(
            code="self-cycle",
            message=f"{describe_package(source)} requires itself: {edge.requirement.text}",
            packages=(source.name,),
            cells=cells,
            place=edge.requirement.place or source.place,
        )


def _once(edges: Iterable[Edge]) -> Iterator[tuple[Edge, Condition]]:
    """Each requirement of a package once, with where any of its wheels declares it."""
    firsts: dict[tuple[int, str], Edge] = {}
    cells: dict[tuple[int, str], Condition] = defaultdict(int)
    for edge in edges:
        key = (edge.source[0], edge.requirement.text)
        firsts.setdefault(key, edge)
        cells[key] |= edge.cells
    return ((edge, cells[key]) for key, edge in firsts.items())


# Locks and wheels --------------------------------------------------------------------------------


def _find_lock_gaps(selection: Selection) -> Iterator[Draft]:
    """Find edges that wheels declare and the lock lacks."""
    packages = selection.snapshot.packages
    locked = _locked(selection)
    gaps: dict[tuple[int, NormalizedName], list[tuple[Edge, Condition]]] = defaultdict(list)
    for edge in selection.edges:
        package = packages[edge.source[0]]
        if edge.origin != "wheel" or package.requirements is None or package.metadata is not None:
            continue
        if packages[edge.target].name == package.name:
            continue
        pair = (edge.source[0], edge.requirement.name)
        if cells := edge.cells & ~locked.get(pair, 0):
            gaps[pair].append((edge, cells))
    installed = _installed_by_lock(selection) if gaps else {}
    for (index, name), edges in gaps.items():
        cells = 0
        for _, where in edges:
            cells |= where
        wheels = sorted({edge.artefact.filename for edge, _ in edges if edge.artefact})
        text = edges[0][0].requirement.text
        absent = cells & ~installed.get(name, 0)
        yield Draft(
            code="lock-edge-missing",
            message=f"{describe_package(packages[index])} requires {text} by its wheel, "
            "but not by the lock",
            packages=tuple(sorted({packages[index].name, name})),
            cells=cells,
            place=packages[index].place,
            details=(*_tell_absent(name, cells, absent), *_first(wheels, 4)),
        )


def _installed_by_lock(selection: Selection) -> dict[NormalizedName, Condition]:
    """Where the lock's own edges bring each project in: what its tool installs."""
    installed: dict[NormalizedName, Condition] = defaultdict(int)
    reached = flow_along(selection, lambda edge: edge.origin == "lock")
    for (index, extra), cells in reached.items():
        if not extra:
            installed[selection.snapshot.packages[index].name] |= cells
    return installed


def _tell_absent(name: NormalizedName, cells: Condition, absent: Condition) -> Iterator[str]:
    """Say that an installer which follows the lock leaves out what is required."""
    if absent:
        part = "" if absent == cells else ", but not everywhere"
        yield f"the lock installs no {name} there{part}: 'pip check' would call it missing"


def _locked(selection: Selection) -> dict[tuple[int, NormalizedName], Condition]:
    """Where the lock has an edge from a package, or from any extra of it, to a project.

    Any extra, for uv lists under ``all`` what ``pkg[all]`` brings by way of ``pkg[x]``.
    """
    locked: dict[tuple[int, NormalizedName], Condition] = defaultdict(int)
    for edge in selection.edges:
        if edge.origin == "lock":
            locked[edge.source[0], edge.requirement.name] |= edge.cells
    return locked


def _find_disagreements(selection: Selection) -> Iterator[Draft]:
    """Find packages whose wheels, of those that judged environments take, differ."""
    for index in sorted(selection.offers):
        declared: dict[str, frozenset[tuple[str, ...]]] = {}
        cells = 0
        for offer in selection.offers[index]:
            here = offer.cells & selection.reached.get((index, ""), 0)
            if (
                offer.origin == "wheel"
                and offer.artefact
                and offer.requirements is not None
                and here
            ):
                declared[offer.artefact.filename] = frozenset(map(_key, offer.requirements))
                cells |= here
        if len(set(declared.values())) > 1:
            package = selection.snapshot.packages[index]
            yield Draft(
                code="wheels-disagree",
                message=f"the wheels of {describe_package(package)} declare different requirements",
                packages=(package.name,),
                cells=cells,
                place=package.place,
                details=tuple(_differences(declared)),
            )


def _key(requirement: Requirement) -> tuple[str, ...]:
    """What makes two requirements the same, however they are spelled."""
    marker = str(requirement.marker) if requirement.marker else ""
    extras = f"[{','.join(requirement.extras)}]" if requirement.extras else ""
    return (requirement.name + extras, str(requirement.specifier), marker, requirement.url or "")


def _differences(declared: dict[str, frozenset[tuple[str, ...]]]) -> Iterator[str]:
    """One line for each set of wheels: what these declare beyond what all do."""
    shared = frozenset.intersection(*declared.values())
    groups: dict[frozenset[tuple[str, ...]], list[str]] = defaultdict(list)
    for wheel in sorted(declared):
        groups[declared[wheel]].append(wheel)
    for keys, wheels in sorted(groups.items(), key=lambda item: item[1]):
        beyond = [_show_key(key) for key in sorted(keys - shared)]
        more = f" and {len(wheels) - 1} more" if len(wheels) > 1 else ""
        yield f"{wheels[0]}{more}: {len(keys)} requirements" + (
            f", with {', '.join(_first(beyond, 3))}" if beyond else ""
        )


def _show_key(key: tuple[str, ...]) -> str:
    name, specifier, marker, url = key
    text = f"{name} @ {url}" if url else name + specifier
    return f"{text}; {marker}" if marker else text


def _first(items: list[str], limit: int) -> list[str]:
    if len(items) <= limit:
        return items
    return [*items[:limit], f"{len(items) - limit} more"]


# What cannot be installed ------------------------------------------------------------------------


def _find_lacks(selection: Selection) -> Iterator[Draft]:
    """Find packages that some named target reaches and cannot install."""
    spoken_of = 0
    for profile in selection.space.named:
        spoken_of |= profile.cells
    for index in sorted(selection.offers):
        lacks: dict[Lack, list[Offer]] = defaultdict(list)
        for offer in selection.offers[index]:
            if offer.lack is not None:
                lacks[offer.lack].append(offer)
        for lack, offers in sorted(lacks.items()):
            reached = selection.reached.get((index, ""), 0) & selection.bounds
            if any(offer.cells & reached & spoken_of for offer in offers):
                yield _draft_lack(selection.snapshot.packages[index], lack, offers, reached)


def _draft_lack(package: Package, lack: Lack, offers: list[Offer], reached: Condition) -> Draft:
    name = describe_package(package)
    cells = 0
    pythons: set[str] = set()
    for offer in offers:
        if offer.cells & reached:
            cells |= offer.cells & reached
            pythons.update(offer.pythons)
    if lack == "requires-python":
        message = f"{name} requires Python {' or '.join(sorted(pythons))}"
    else:
        message = f"{name} has no wheel that fits, and no source distribution"
    return Draft(
        code=lack, message=message, packages=(package.name,), cells=cells, place=package.place
    )

"""Resolves an input for targets: those that resolve alike are resolved once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from packaging.utils import NormalizedName
from resolvelib import ResolutionImpossible, ResolutionTooDeep
from resolvelib.resolvers import Resolution as _Search

from distcycle.errors import ResolutionError
from distcycle.model import Extra, Package, Place, Requirement, Snapshot
from distcycle.resolution.conflicts import explain_conflict
from distcycle.resolution.provider import Pins, Provider
from distcycle.resolution.records import (
    Candidate,
    Identifier,
    Need,
    Resolution,
    Rules,
    Source,
    needs_of,
)
from distcycle.resolution.shelf import Shelf, View
from distcycle.selection import Request, is_requested
from distcycle.targets import Target

__all__ = ["resolve"]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of one target, and of those that see the same."""

    view: View
    chosen: tuple[Candidate, ...] = ()
    causes: tuple[str, ...] = ()


def resolve(
    snapshot: Snapshot,
    targets: Sequence[Target],
    source: Source,
    rules: Rules,
    request: Request,
) -> tuple[tuple[Resolution, ...], tuple[ResolutionError, ...]]:
    """Choose versions for an input, as an installer would for each target.

    Args:
        snapshot: The input; its roots are what is asked for.
        targets: The targets.
        source: Where releases are looked up.
        rules: What may be chosen.
        request: Extras and groups that are asked for.

    Returns:
        The resolutions, and the targets for which there is none, each in the order of the targets.

    Raises:
        MetadataError: Something that had to be asked did not answer.
    """
    shelf = Shelf(snapshot, tuple(targets), source, rules)
    roots = [root.requirement for root in snapshot.roots or () if is_requested(root, request)]
    outcomes: dict[int, tuple[_Outcome, list[str]]] = {}
    for cell, target in enumerate(targets):
        view = View(shelf, cell)
        alike = next((o for o in outcomes.values() if o[0].view.agrees_with(view)), None)
        if alike is None:
            outcomes[cell] = (_resolve(view, roots), [target.name])
        else:
            alike[1].append(target.name)
    done, failed = [], []
    for outcome, names in outcomes.values():
        if outcome.causes:
            failed.append(ResolutionError(_few(names), outcome.causes, path=snapshot.path))
        else:
            done.append((outcome, names))
    return tuple(_unite(done, shelf)), tuple(failed)


def _few(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _resolve(view: View, roots: Iterable[Requirement]) -> _Outcome:
    pins = Pins()
    provider = Provider(view, view.shelf.snapshot.constraints, pins)
    needs = [n for r in roots if view.holds(r.marker) for n in needs_of(r, None)]
    for need in needs:
        provider.note(need)
    rounds = view.shelf.rules.most_rounds
    try:
        # resolvelib's Resolver does the same, and then looks for a way to the root by a recursion
        # that does not end where a loop was left behind.
        state = _Search(provider, pins).resolve(needs, max_rounds=rounds)
    except ResolutionImpossible as error:
        causes = [cause.requirement for cause in error.causes]
        return _Outcome(view, causes=explain_conflict(causes, provider))
    except ResolutionTooDeep:
        cause = (
            f"gave up after {rounds} choices; pin or bound what has many versions, or bring"
            " constraints"
        )
        return _Outcome(view, causes=(cause,))
    return _Outcome(view, _reached(needs, state.mapping, provider))


def _reached(
    needs: Iterable[Need], mapping: Mapping[Identifier, Candidate], provider: Provider
) -> tuple[Candidate, ...]:
    """What is required in the end; what was chosen for something taken back since is not."""
    found: dict[Identifier, Candidate] = {}
    pending = [need.identifier for need in needs]
    while pending:
        identifier = pending.pop()
        if identifier[0] and identifier not in found:
            candidate = found[identifier] = mapping[identifier]
            pending += [need.identifier for need in provider.get_dependencies(candidate)]
    return tuple(found[identifier] for identifier in sorted(found))


def _unite(done: Iterable[tuple[_Outcome, list[str]]], shelf: Shelf) -> Iterator[Resolution]:
    """One resolution for all targets on which the same is chosen, for whatever reason."""
    alike: dict[frozenset[Candidate], list[tuple[_Outcome, list[str]]]] = defaultdict(list)
    for outcome, names in done:
        alike[frozenset(outcome.chosen)].append((outcome, names))
    facts = shelf.facts()
    for group in alike.values():
        outcome = group[0][0]
        extras: dict[NormalizedName, list[Extra]] = defaultdict(list)
        for candidate in outcome.chosen:
            own = extras[NormalizedName(candidate.name)]
            own += [NormalizedName(candidate.extra)] if candidate.extra else []
        yield Resolution(
            targets=tuple(name for _, names in group for name in names),
            snapshot=_snapshot(outcome.chosen, shelf),
            extras={name: tuple(sorted(found)) for name, found in sorted(extras.items())},
            facts=facts,
            notes=tuple(_notes(outcome)),
        )


def _snapshot(chosen: Iterable[Candidate], shelf: Shelf) -> Snapshot:
    """The input, with what was chosen in place of what it says of packages."""
    places = _places(shelf.snapshot)
    bases = sorted((c for c in chosen if not c.extra), key=lambda candidate: candidate.name)
    packages = tuple(_package(candidate, shelf, places) for candidate in bases)
    return replace(shelf.snapshot, packages=packages, complete=True)


def _places(snapshot: Snapshot) -> Mapping[str, Place]:
    places: dict[str, Place] = {}
    for root in snapshot.roots or ():
        if root.requirement.place is not None:
            places.setdefault(root.requirement.name, root.requirement.place)
    return places


def _package(candidate: Candidate, shelf: Shelf, places: Mapping[str, Place]) -> Package:
    name = NormalizedName(candidate.name)
    place = places.get(name, Place(path=shelf.snapshot.path))
    if candidate.url is not None:
        given = shelf.package_at(candidate.url)
        if given is not None:
            return replace(given, marker=None, place=place)
        file = shelf.file_at(candidate.url)
        return Package(
            name=name,
            version=candidate.version,
            source="url",
            url=candidate.url,
            artefacts=(file,) if file else None,
            place=place,
        )
    version = candidate.version
    files = shelf.files(name, version) if version is not None else ()
    return Package(name=name, version=version, artefacts=files or None, place=place)


def _notes(outcome: _Outcome) -> Iterator[str]:
    """What installers warn of: extras that do not exist."""
    for candidate in sorted(outcome.chosen, key=str):
        if candidate.extra:
            said = outcome.view.said_of(candidate)
            if not said.unknown and candidate.extra not in said.provides_extra:
                yield f"{candidate.name} {candidate.version} has no extra {candidate.extra}"

"""Gets the facts that a selection rests on, and the versions of what is not locked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from distcycle.builds import Builds, walk_builds
from distcycle.cycles import TooManySets, find_components
from distcycle.errors import InputError, ResolutionError
from distcycle.findings import abbreviate_targets
from distcycle.model import Facts, Snapshot
from distcycle.scope import Scope
from distcycle.selection import Selection, select
from distcycle.statements import row_of

if TYPE_CHECKING:
    # What gets METADATA loads a third of the standard library, and most runs on a lock need none.
    from distcycle.metadata import Library
    from distcycle.resolution import Rules

__all__ = ["UNLOCKED", "gather", "gather_builds", "gather_within_limits", "resolve_scope"]

UNLOCKED = frozenset(("requirements", "pyproject", "requirement"))
"""The kinds of inputs that say what is asked for, and need not say at which versions."""


def gather(
    scope: Scope, library: Library | None, facts: Facts | None = None
) -> tuple[Selection, Facts]:
    """Select, get the facts that the selection lacks, and select again, until none is missing.

    Args:
        scope: What is judged.
        library: Where facts come from; None to judge without any.
        facts: What is known already.

    Returns:
        The selection, and the facts it rests on.

    Raises:
        MetadataError: A file is not the one that the input means.
    """
    facts = facts or Facts()
    while True:
        space = scope.space(facts)
        bounds = scope.bounds(space)
        selection = select(scope.snapshot, space, facts, scope.request, bounds)
        if library is None or not selection.needs:
            return selection, facts
        facts = library.gather(selection.needs, facts, index=scope.snapshot.index)


def gather_within_limits(
    scope: Scope, library: Library | None, facts: Facts | None = None
) -> tuple[Selection, Facts]:
    """Select on every environment, or on the named targets where loops differ in too many ways.

    Args:
        scope: What is judged.
        library: Where facts come from; None to judge without any.
        facts: What is known already.

    Returns:
        The selection, and the facts it rests on.
    """
    selection, facts = gather(scope, library, facts)
    names = [package.name for package in scope.snapshot.packages]
    try:
        find_components(selection.edges, names, selection.space.full, max_cycles=1)
    except TooManySets:
        space = scope.listed(scope.targets).space(facts)
        return select(scope.snapshot, space, facts, scope.request), facts
    return selection, facts


def gather_builds(scope: Scope, library: Library | None, facts: Facts) -> Builds | None:
    """Walk along build requirements until no fact is missing, on the targets that are named.

    Args:
        scope: What is judged.
        library: Where facts come from.
        facts: What is known already.

    Returns:
        What is built with what; None where no target is named.

    Raises:
        InputError: Nothing may be read to find out.
        MetadataError: A file is not the one that the input means.
    """
    from distcycle.folders import read_folders, read_own

    if library is None:
        raise InputError("build requirements are asked for, and nothing may be read to find them")
    if not scope.targets:
        return None
    snapshot = scope.snapshot
    selection, facts = gather(scope.listed(scope.targets), library, facts)
    folders, own = read_folders(snapshot), read_own(snapshot)
    while True:
        builds = walk_builds(selection, facts, folders=folders, own=own)
        if not builds.needs:
            return builds
        facts = library.gather(builds.needs, facts, index=snapshot.index)


def resolve_scope(
    scope: Scope, library: Library, rules: Rules, *, lists: bool = False
) -> tuple[list[tuple[Scope, Facts]], tuple[str, ...]]:
    """Choose versions for an input that is not locked, on each target as an installer would.

    Args:
        scope: The input, and the targets; where every environment is judged, those that are named.
        library: Where releases are looked up.
        rules: What may be chosen.
        lists: Whether to say which versions were chosen.

    Returns:
        For each way in which the input resolves the scope of its targets, with what was found out;
        and what is to be said of it, a line each.

    Raises:
        ResolutionError: There is no solution for a target that was asked for, or for none at all.
        InputError: The input is a lock.
        MetadataError: Something that had to be asked did not answer.
    """
    from distcycle.resolution import resolve

    snapshot = scope.snapshot
    if snapshot.kind not in UNLOCKED:
        raise InputError(
            f"is judged as it stands, being of kind {snapshot.kind}; --resolve is for what is not"
            " locked: requirements and pyproject.toml",
            path=snapshot.path,
        )
    with library.releases(index=snapshot.index) as source:
        done, failed = resolve(snapshot, scope.targets, source, rules, scope.request)
    failed = tuple(_without_secrets(error) for error in failed)
    if failed and not (scope.whole and done):
        first, *others = failed
        raise ResolutionError(first.target, first.causes, path=first.path, others=others)
    by_name = {target.name: target for target in scope.targets}
    rows = [row_of(target) for target in scope.targets]
    notes = [
        f"{snapshot.path}: {_count(len(way.snapshot.packages), 'package')} on"
        f" {abbreviate_targets(way.targets, rows)}"
        for way in done
    ]
    if lists:
        notes += [_list_pins(way.snapshot) for way in done]
    notes += [line for way in done for line in way.notes]
    notes += [f"left out: {' '.join(str(error).split())}" for error in failed]
    ways = [
        (replace(scope.listed([by_name[n] for n in way.targets]), snapshot=way.snapshot), way.facts)
        for way in done
    ]
    return ways, tuple(dict.fromkeys(notes))


def _without_secrets(error: ResolutionError) -> ResolutionError:
    """The error with no credentials in the URLs that its causes name."""
    from distcycle.metadata.urls import without_credentials

    causes = [without_credentials(cause) for cause in error.causes]
    return ResolutionError(error.target, causes, path=error.path)


def _list_pins(snapshot: Snapshot) -> str:
    pins = (f"{p.name} {p.version or p.url}" for p in snapshot.packages)
    return f"{len(snapshot.packages)} packages: {', '.join(pins)}"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

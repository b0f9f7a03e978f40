"""What is to be said of builds: loops, and what could not be had."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from distcycle.builds.loops import BuildLoop, find_build_loops
from distcycle.builds.records import Builds, Link
from distcycle.drafts import Draft
from distcycle.markers import Condition, Space
from distcycle.model import Place

__all__ = ["draft_builds"]

_MEMBERS_SHOWN = 12


def draft_builds(builds: Builds, space: Space) -> Iterator[Draft]:
    """Say what was found, where it holds in the space of a report.

    Args:
        builds: What was found, on targets.
        space: The environments of the report. Builds are judged on its named targets only, so
            what is said holds in their cells.
    """
    for loop in find_build_loops(builds):
        cells = _cells_in(builds, loop.cells, space)
        if cells:
            yield _draft_loop(builds, loop, cells)
    for doubt in builds.doubts:
        source = builds.sources[doubt.source]
        cells = _cells_in(builds, doubt.cells, space)
        if cells:
            chain = _way_to(builds, {doubt.source})
            yield Draft(
                code=doubt.code,
                message=f"{source}: {doubt.problem}",
                packages=(source.name,) if source.name else (),
                cells=cells,
                place=_place_of(builds, chain, doubt.source),
                details=tuple(_needed_by(builds, chain)),
                subject="build",
                by_target=True,
            )


def _cells_in(builds: Builds, cells: Condition, space: Space) -> Condition:
    names = builds.target_names(cells)
    found = 0
    for profile in space.named:
        if profile.target.name in names:
            found |= profile.cells
    return found


def _draft_loop(builds: Builds, loop: BuildLoop, cells: Condition) -> Draft:
    names = builds.names(loop.members)
    hops = ", ".join(_say(builds, link) for link in loop.shortest)
    size = f"{len(names)} packages, for " if len(names) > 2 else ""
    chain = _way_to(builds, set(loop.members))
    members = [i for i in loop.members if builds.sources[i].place is not None]
    start = chain[0].source[0] if chain else members[0] if members else loop.members[0]
    details = [_advise(builds, loop), *_needed_by(builds, chain)]
    details += [_evidence(builds, link) for link in loop.links]
    return Draft(
        code="build-cycle",
        message=f"cannot be built from source in any order: {size}{hops}",
        packages=names,
        cells=cells,
        place=_place_of(builds, chain, start),
        details=tuple(dict.fromkeys(details)),
        by_target=True,
    )


def _say(builds: Builds, link: Link) -> str:
    source = builds.sources[link.source[0]]
    name = f"{source.name or 'the project'}[{link.source[1]}]" if link.source[1] else source.name
    verb = "builds with" if link.is_build else "requires"
    default = " (by default)" if link.is_default else ""
    return f"{name or 'the project'} {verb} {link.requirement.text}{default}"


def _evidence(builds: Builds, link: Link) -> str:
    source = builds.sources[link.source[0]]
    version = f" {source.version}" if source.version is not None else ""
    file = f" ({source.sdist.filename})" if link.is_build and source.sdist is not None else ""
    name = source.name or "the project"
    return _say(builds, link).replace(name, f"{name}{version}{file}", 1)


def _advise(builds: Builds, loop: BuildLoop) -> str:
    """What to take as wheels; a larger set that has them before a smaller one that does not."""
    sets = [_join([str(builds.sources[i]) for i in chosen]) for chosen in loop.bootstraps]
    noun = "a wheel" if len(loop.bootstraps[0]) == 1 else "wheels"
    text = f"to begin, take {'; or '.join(sets)} as {noun}"
    if not loop.is_exact:
        text += " (fewer may do)"
    if loop.has_wheels:
        return text
    lacking = [i for i in loop.bootstraps[0] if loop.cells & ~builds.sources[i].fits]
    names = ", ".join(str(builds.sources[i]) for i in lacking)
    return f"{text}, though {names} has no wheel that fits everywhere"


def _join(names: Sequence[str]) -> str:
    shown = list(names[:_MEMBERS_SHOWN])
    if len(names) > len(shown):
        shown.append(f"{len(names) - len(shown)} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


# Where it is needed ------------------------------------------------------------------------------


def _way_to(builds: Builds, members: set[int]) -> list[Link]:
    """The fewest links from a package of the input to some packages, unless one is among them."""
    if any(builds.sources[i].place is not None for i in members):
        return []
    came: dict[int, Link] = {}
    incoming: dict[int, list[Link]] = {}
    for link in builds.links:
        incoming.setdefault(link.target, []).append(link)
    queue = deque(sorted(members))
    seen = set(members)
    while queue:
        u = queue.popleft()
        for link in incoming.get(u, ()):
            v = link.source[0]
            if v in seen:
                continue
            seen.add(v)
            came[v] = link
            queue.append(v)
            if builds.sources[v].place is not None:
                chain = [link]
                while chain[-1].target in came:
                    chain.append(came[chain[-1].target])
                return chain
    return []


def _needed_by(builds: Builds, chain: Sequence[Link]) -> Iterator[str]:
    if chain:
        yield "needed, for " + ", ".join(_say(builds, link) for link in chain)


def _place_of(builds: Builds, chain: Sequence[Link], index: int) -> Place:
    place = builds.sources[chain[0].source[0] if chain else index].place
    return place or Place(path=builds.path)

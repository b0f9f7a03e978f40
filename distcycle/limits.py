"""Where rules and known findings hold, and what must be told apart so that it can be said.

The space of all environments is as coarse as the markers in use allow. A rule that is limited to
some environments tells more of them apart: without its words a waiver for one platform would hold
everywhere or nowhere where the input itself knows no platforms.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase

from packaging.specifiers import SpecifierSet

from distcycle.baseline import Baseline, Entry
from distcycle.errors import TargetError
from distcycle.markers import Condition, Space
from distcycle.policy import Policy, Where
from distcycle.targets import PLATFORMS, PYTHONS, Platform, make_targets
from distcycle.vocabulary import Vocabulary

__all__ = ["cells_of_where", "matches", "words_of_rules"]


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is one of some names and patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def cells_of_where(where: Where, space: Space) -> Condition:
    """Find the cells in which a rule holds.

    Args:
        where: The rule's limits; versions are not looked at.
        space: The environments.
    """
    cells = space.python(where.python) & space.condition(where.marker)
    if where.platforms:
        cells &= _cells_of_platforms(where.platforms, space)
    return cells


def _cells_of_platforms(patterns: Collection[str], space: Space) -> Condition:
    cells = 0
    if not space.is_whole:
        for profile in space.named:
            target = profile.target
            if matches(target.platform, patterns) or matches(target.base, patterns):
                cells |= profile.cells
        return cells
    for platform in _platforms(patterns):
        cells |= space.cells_like(_variables_of(platform))
    return cells


def _platforms(patterns: Collection[str]) -> Iterator[Platform]:
    return (platform for platform in PLATFORMS if matches(platform.name, patterns))


def _variables_of(platform: Platform) -> dict[str, str]:
    """What markers can say of a platform, whatever the Python."""
    python = max((p for p in PYTHONS if platform.has(p)), key=lambda p: p.minor)
    environment = platform.environment(python)
    names = ("os_name", "sys_platform", "platform_system", "platform_machine")
    return {name: environment[name] for name in names}


def words_of_rules(policy: Policy, baseline: Baseline | None) -> Vocabulary:
    """Collect what tells apart where rules hold and findings are known from where not.

    Args:
        policy: Its waivers and cuts may be limited.
        baseline: Each of its entries holds somewhere.
    """
    limits = [waiver.where for waiver in policy.waivers] + [cut.where for cut in policy.cuts]
    markers = [marker for where in limits for marker in _markers_of(where)]
    for entry in baseline.entries if baseline else ():
        markers += _markers_of_entry(entry)
    specifiers: list[SpecifierSet] = [where.python for where in limits if where.python is not None]
    return Vocabulary(tuple(dict.fromkeys(markers)), tuple(specifiers))


def _markers_of(where: Where) -> Iterator[str]:
    if where.marker is not None:
        yield str(where.marker)
    for platform in _platforms(where.platforms):
        yield from _equations(_variables_of(platform))


def _markers_of_entry(entry: Entry) -> Iterator[str]:
    """The words of a condition; without one, those of the targets."""
    if entry.condition is not None:
        yield entry.condition
        return
    for name in entry.targets:
        try:
            (target,) = make_targets([name])
        except (TargetError, ValueError):
            continue  # a target that somebody described; it has a place only where it is judged
        names = ("python_version", "implementation_name", *_variables_of(PLATFORMS[0]))
        yield from _equations({name: target.environment[name] for name in names})


def _equations(values: dict[str, str]) -> Iterator[str]:
    return (f"{name} == {value!r}" for name, value in values.items())

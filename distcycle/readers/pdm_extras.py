"""PDM's entries for packages with extras, merged into the entries without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.model import Extra, Package, Requirement

__all__ = ["Entry", "merge_extras"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One ``[[package]]``; ``extras`` are what it adds to the entry without."""

    package: Package
    extras: tuple[Extra, ...]


def merge_extras(entries: list[Entry]) -> list[Package]:
    """Give each base the requirements of its entries with extras.

    Args:
        entries: All entries, in file order.

    Returns:
        One package for each entry without extras; an entry with extras that has no base stands for
        it.
    """
    added: dict[int, list[Entry]] = {}
    bases = [entry.package for entry in entries if not entry.extras]
    positions: dict[tuple[NormalizedName, Version | None, str | None], int] = {}
    for i, base in enumerate(bases):
        positions.setdefault((base.name, base.version, base.url), i)
    for entry in entries:
        package = entry.package
        if not entry.extras:
            continue
        position = positions.setdefault((package.name, package.version, package.url), len(bases))
        if position == len(bases):
            bases.append(replace(package, requirements=()))
        added.setdefault(position, []).append(entry)
    return [_with_extras(base, added.get(i, [])) for i, base in enumerate(bases)]


def _with_extras(base: Package, entries: list[Entry]) -> Package:
    if not entries:
        return base
    alone = {entry.extras[0] for entry in entries if len(entry.extras) == 1}
    requirements = list(base.requirements or ())
    for entry in entries:
        # An entry of several extras does not say which of them adds what: each gets all, unless it
        # has an entry to itself.
        extras = [x for x in entry.extras if len(entry.extras) == 1 or x not in alone]
        requirements += _under_extras(entry.package, extras)
    names = dict.fromkeys(extra for entry in entries for extra in entry.extras)
    return replace(
        base,
        requirements=tuple(requirements),
        provides_extra=tuple(names),
        requested_extras=tuple(sorted(names)),
    )


def _under_extras(package: Package, extras: list[Extra]) -> Iterator[Requirement]:
    """The requirements of an entry with extras, without the one for its own base."""
    for extra in extras:
        seen: set[str] = set()
        for requirement in package.requirements or ():
            own = requirement.name == package.name and not requirement.extras
            if not own and requirement.text not in seen:
                seen.add(requirement.text)
                yield replace(requirement, extra=extra)

"""What is said of a loop of modules: which fail, and what would open it, a line for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from distcycle.findings import list_names
from distcycle.imports.fixes import Fix
from distcycle.imports.study import StudiedLoop
from distcycle.sightings import EntryFailure, LoopDetail, MixedImport, Site

__all__ = ["advise", "describe_failures", "describe_loop", "describe_mixed", "title_of"]

_NAMED = 6
_LISTED = 20


def title_of(studied: StudiedLoop) -> str:
    """Name a loop of modules: the way round where it is short, else its first members.

    Args:
        studied: The loop.
    """
    modules = studied.loop.modules
    if len(modules) <= _NAMED:
        cycle = studied.cycles[0] if studied.cycles else modules
        return f"modules import each other: {' -> '.join((*cycle, cycle[0]))}"
    named = ", ".join(modules[:_NAMED])
    return f"{len(modules)} modules import each other: {named} and {len(modules) - _NAMED} more"


def describe_loop(detail: LoopDetail, failing: Sequence[EntryFailure]) -> Iterator[str]:
    """Say what is known of a loop of modules: a line each.

    Args:
        detail: What is known.
        failing: The modules that cannot be imported first because of it.
    """
    pairs = [f"{detail.static} at import time"]
    needing = f"; {detail.names} modules need names of each other at once" if detail.names else ""
    pairs += [f"{detail.lazy} in functions only"] if detail.lazy else []
    pairs += [f"{detail.type_checking} for type checkers only"] if detail.type_checking else []
    yield f"pairs of modules: {', '.join(pairs)}{needing}"
    yield from _capped([*describe_failures(failing)])
    fixes = [f"{_point(fix.site)}: {fix.text}" for fix in detail.fixes]
    yield from _capped([f"to open it, {text}" for text in fixes])
    yield from _capped([describe_mixed(mixed) for mixed in detail.mixed])


def _capped(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:_LISTED]
    if len(lines) > _LISTED:
        yield f"(and {len(lines) - _LISTED} more)"


def describe_failures(failing: Sequence[EntryFailure]) -> Iterator[str]:
    """Say which modules fail when they are imported first, and why: a line for each cause.

    Args:
        failing: The failures.
    """
    entries: dict[tuple[str, int, str, str], list[EntryFailure]] = {}
    for failure in failing:
        key = (failure.site.path, failure.site.line, failure.symbol, failure.partial)
        entries.setdefault(key, []).append(failure)
    for same in entries.values():
        first = same[0]
        bound = "never binds it" if first.bound_line is None else f"binds it at {first.bound_line}"
        back = "" if first.back_line is None else f", after it imports back at {first.back_line}"
        names = list_names([failure.entry for failure in same], 3)
        verb = "fails" if len(same) == 1 else "fail"
        yield (
            f"{verb} when imported first: {names}: {_point(first.site)} takes {first.symbol!r} out "
            f"of {first.partial}, which {bound}{back}"
        )


def describe_mixed(mixed: MixedImport) -> str:
    """Say in one line why a module imports another at once and again later.

    Args:
        mixed: The pair of modules.
    """
    lines = ", ".join(str(site.line) for site in mixed.lazy)
    text = (
        f"{mixed.source} imports {mixed.target} at line {mixed.static[0].line} and in functions at "
        f"{lines}"
    )
    if mixed.back is None:
        return text
    parts = []
    if mixed.early:
        parts.append(f"{_names(mixed.early)} bound before")
    if mixed.late:
        parts.append(f"{_names(mixed.late)} bound after")
    back = f"{mixed.target} imports it back at {mixed.back.line}"
    return f"{text}; {back}{': ' if parts else ''}{', '.join(parts)}"


def _names(bound: Sequence[str]) -> str:
    if len(bound) > 3:
        return f"{len(bound)} names are"
    names = [f"{name} ({line})" for name, _, line in (each.rpartition(":") for each in bound)]
    return f"{', '.join(names)} {'is' if len(bound) == 1 else 'are'}"


def _point(site: Site) -> str:
    return f"{site.path}:{site.line}"


def advise(fix: Fix) -> str:
    """Say in one line how to do without an import.

    Args:
        fix: The way.
    """
    names = list_names(fix.names, 3) if fix.names else fix.edge.target
    if fix.kind == "drop":
        return f"drop {names}: not used there, unless it is for its side effects"
    if fix.kind == "retarget":
        return f"name what defines it: {'; '.join(fix.instead)}"
    if fix.kind == "type-checking":
        also = ", with 'from __future__ import annotations'" if fix.unevaluated else ""
        return (
            f"put under TYPE_CHECKING{also}: {names}, needed for annotations only, unless these "
            "are read when the program runs"
        )
    if fix.kind == "lazy":
        return f"import where it is needed, in functions only: {names}"
    if fix.kind == "move":
        return (
            f"move into a module of its own what is needed at once: {names} "
            f"(--move {fix.edge.target} {fix.edge.source})"
        )
    why = (
        "needed at once, or passed on to others" if fix.edge.names else "needed at once as a module"
    )
    what = f"every name of {fix.edge.target}" if "*" in fix.names else names
    return f"no simple way is seen: {what} is {why}"

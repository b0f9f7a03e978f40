"""Which modules fail when they are the first to be imported, and why.

Each module's program is replayed as CPython would run it in a fresh interpreter: top-level
statements in order, with the names bound so far. Nothing of what is audited is run. A failure that
is certain, as far as the replay sees, is an entry's cause; one that depends on a test that cannot
be decided, or on names that other code may have bound, is a doubt. :data:`LIMITS` lists what the
replay cannot see.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from distcycle.imports.modules import Module, ancestors_of
from distcycle.imports.replay.execution import Execution, Mark
from distcycle.imports.replay.linking import Linker, is_or_is_in
from distcycle.imports.replay.operations import Program
from distcycle.imports.replay.outcomes import Cause, Entry, Outcome, Step

__all__ = ["LIMITS", "Cause", "Entry", "Outcome", "Step", "loaded_by", "replay"]

LIMITS: tuple[str, ...] = (
    "Functions of other modules, methods and classes that are called while a module is imported: "
    "what they import is not loaded, and what they bind is not bound.",
    "Names bound by setattr, globals(), exec or other indirect means: a module that uses them is "
    "taken to have every name that it does not bind itself later on.",
    "A module's __getattr__ is taken to answer for every name but those of submodules.",
    "What a handler does is replayed when what it guards fails for certain, not when it may fail.",
    "Compiled modules: nothing is known of what they import, and every name is taken to be there.",
    "Other distributions: their modules are there or are not; what they import back is not seen.",
    "Import hooks, and modules that code puts into sys.modules.",
    "Failures that are no import's: a name or value that is wrong, a library that cannot load.",
)


def replay(
    modules: Mapping[str, Module],
    programs: Mapping[str, Program],
    *,
    entries: Collection[str] | None = None,
    installed: Collection[str] | None = None,
    absent: Collection[str] = (),
    environment: Mapping[str, str] | None = None,
) -> tuple[Entry, ...]:
    """Replay the import of modules, each in a fresh interpreter.

    Args:
        modules: The modules that are known, by name.
        programs: Programs by module. Nothing is known of a module without one.
        entries: The modules to import first; None for all.
        installed: The other top-level modules that are there, with the standard library's; None
            when all are.
        absent: Modules that are taken to be missing with all that is in them, known or not.
        environment: The target's marker variables (PEP 508); None when tests of them are not to be
            decided.

    Returns:
        What happens for each entry, sorted by name.

    Source: https://docs.python.org/3/reference/import.html
    """
    known = {
        name: module
        for name, module in modules.items()
        if not any(is_or_is_in(name, missing) for missing in absent)
    }
    linker = Linker(known, environment, _absence(known, installed, frozenset(absent)))
    execution = Execution(known, programs, linker, namespaces_are_open=installed is None)
    wanted = set(known if entries is None else entries) & known.keys()
    return tuple(sorted(_walk(execution, wanted), key=lambda entry: entry.name))


def _absence(
    known: Collection[str], installed: Collection[str] | None, absent: frozenset[str]
) -> Callable[[str], str | None]:
    """A function that says which module is missing when one is imported."""
    there = {name.partition(".")[0] for name in known} | set(installed or ())
    found: dict[str, str | None] = {}

    def judge(name: str) -> str | None:
        for part in (*ancestors_of(name), name) if absent else ():
            if part in absent:
                return part
        top = name.partition(".")[0]
        return top if installed is not None and top not in there else None

    def absence(name: str) -> str | None:
        if name not in found:
            found[name] = judge(name)
        return found[name]

    return absence


def _walk(execution: Execution, wanted: set[str]) -> Iterator[Entry]:
    """Import the packages on the way to an entry once for all entries that are in them."""
    packages = {package for name in wanted for package in ancestors_of(name)}
    above: list[tuple[str, Mark, Cause | None]] = []
    for name in sorted(wanted | packages, key=lambda name: name.split(".")):
        while above and not is_or_is_in(name, above[-1][0]):
            execution.undo(above.pop()[1])
        cause = above[-1][2] if above else None
        mark = execution.mark()
        if cause is None:
            cause = execution.enter(name)
        if name in wanted:
            loads, doubts = execution.since(mark)
            outcome = cause.outcome if cause else "ok"
            yield Entry(name=name, outcome=outcome, cause=cause, doubts=doubts, loads=loads)
        if name in packages:
            above.append((name, mark, cause))
        else:
            execution.undo(mark)


def loaded_by(entries: Mapping[str, Entry], name: str) -> frozenset[str]:
    """All modules that are loaded when the import of an entry ends.

    Args:
        entries: The entries by name, with those of the packages that the module is in.
        name: The entry.

    Returns:
        The names of the modules.

    Raises:
        KeyError: The module or one of its packages is no entry.
    """
    return frozenset(
        loaded for part in (*ancestors_of(name), name) for loaded in entries[part].loads
    )

"""What a report says of modules: what they import, where, and what that means for their loops.

As in :mod:`distcycle.findings`, there is nothing but plain text and numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = [
    "EntryFailure",
    "Evidence",
    "ImportFix",
    "ImportView",
    "LoopDetail",
    "MixedImport",
    "Site",
    "Survey",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One place where a module imports something.

    Attributes:
        module: The module that imports.
        path: Its file.
        line: Where in it, counted from 1.
        text: The import, in one line.
        kind: When it runs: ``static``, ``lazy``, ``type-checking``, ``main`` or ``dead``.
        modifiers: What else decides on that, such as ``guarded``.
        scope: The functions and classes it stands in, joined by dots; ``""`` for the module.
        condition: The tests it stands under; ``""`` for none.
    """

    module: str
    path: str
    line: int
    text: str
    kind: str
    modifiers: tuple[str, ...] = ()
    scope: str = ""
    condition: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the modules of one package say about cutting its edge to another.

    Attributes:
        source: The project that requires.
        target: The project that is required.
        verdict: ``safe``, ``safe-partly``, ``safe-if-co-installed``, ``unsafe`` or ``unknown``.
        reason: Why, in one line.
        read_from: What was read; ``""`` when nothing could be.
        files: How many files of the source may import anything.
        sites: Where they import the target, by file and line.
        failing: The modules of the source that cannot be imported without the target.
        path: The first way from what is imported to the import that fails, a line for each step.
        notes: What else is to be known, such as imports whose name is computed.
    """

    source: str
    target: str
    verdict: str
    reason: str
    read_from: str = ""
    files: int = 0
    sites: tuple[Site, ...] = ()
    failing: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportView:
    """How many loops there are in one view of the imports.

    Attributes:
        name: ``names`` (``from X import name`` at import time), ``executed`` (everything that runs
            at import time) or ``all``.
        pairs: How many pairs of modules are joined.
        loops: How many modules each component has, the large ones first.
    """

    name: str
    pairs: int
    loops: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFailure:
    """A module that cannot be imported first, because of a loop.

    Attributes:
        entry: The module.
        site: The import, or the use of a module's attribute, that fails.
        symbol: The name that is not bound yet.
        partial: The module that is imported only in part then.
        bound_line: Where that module binds the name, counted from 1; None when nothing is seen to.
        back_line: Where that module imports what leads to the failing import; None when unknown.
        chain: The modules that are being imported then, the entry first.
    """

    entry: str
    site: Site
    symbol: str
    partial: str
    bound_line: int | None = None
    back_line: int | None = None
    chain: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedImport:
    """A module imports another both while it is imported and in functions.

    Attributes:
        source: The module that imports.
        target: The module that is imported.
        static: Where it does at import time.
        lazy: Where it does later.
        back: Where the target imports the source at import time; None when it does not.
        early: The names that the target binds before ``back``, as ``name:line``.
        late: Those that it binds after, which only a function can fetch.
    """

    source: str
    target: str
    static: tuple[Site, ...]
    lazy: tuple[Site, ...]
    back: Site | None = None
    early: tuple[str, ...] = ()
    late: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportFix:
    """How to do without an import that is to be cut.

    Attributes:
        kind: ``drop``, ``retarget``, ``type-checking``, ``lazy``, ``move`` or ``restructure``.
        site: The import.
        target: The module that it imports.
        text: What to do, in one line.
    """

    kind: str
    site: Site
    target: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopDetail:
    """What else is known of a component of modules.

    Attributes:
        component: The component's id.
        static: Pairs of its modules that are joined at import time.
        lazy: Pairs that are joined in functions only.
        type_checking: Pairs that are joined by less: for type checkers, or never.
        names: How many of its modules need names of each other at once.
        mixed: Pairs that are joined both at import time and in functions.
        fixes: How to do without the imports of a set that opens it and is easy to mend.
    """

    component: str
    static: int
    lazy: int
    type_checking: int
    names: int = 0
    mixed: tuple[MixedImport, ...] = ()
    fixes: tuple[ImportFix, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What was found in the modules of one distribution, or of several that were read together.

    Attributes:
        name: The distributions, each with its version.
        read_from: What was read.
        modules: How many modules there are of each kind: ``python``, ``extension``, ``namespace``
            and ``missing``.
        imports: How many imports of each kind: ``static``, ``lazy``, ``type-checking``, ``main``
            and ``dead``.
        modifiers: How many imports have each modifier, such as ``guarded``.
        unread: Files that could not be read or parsed, each with the reason.
        views: The loops in each view, the hardest view first.
        loops: What else is known of each component of the report that is in here.
        failing: Modules that cannot be imported first, because of a loop.
        entries: How many modules were tried for that.
        blind_to: What that cannot see.
    """

    name: str
    read_from: tuple[str, ...]
    modules: Mapping[str, int]
    imports: Mapping[str, int]
    modifiers: Mapping[str, int]
    unread: tuple[str, ...] = ()
    views: tuple[ImportView, ...] = ()
    loops: tuple[LoopDetail, ...] = ()
    failing: tuple[EntryFailure, ...] = ()
    entries: int = 0
    blind_to: tuple[str, ...] = ()

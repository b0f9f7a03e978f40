"""Reads what the modules of packages import of each other, and no more than will do."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from packaging.utils import NormalizedName

from distcycle.cycles import Component
from distcycle.drafts import Draft
from distcycle.errors import InputError
from distcycle.findings import Evidence
from distcycle.imports import FileImports, Module, Tree, find_modules
from distcycle.imports.evidence import (
    Dependence,
    Place,
    find_dependence,
    find_import_names,
    is_hard_on,
)
from distcycle.imports.undeclared import find_undeclared
from distcycle.imports.words import words_of_imports
from distcycle.markers import Condition
from distcycle.model import Facts, Unknown
from distcycle.scans import Scanner
from distcycle.selection import Selection
from distcycle.trees import SourceTree
from distcycle.weighing import Imports, Reading, Weighing, declared_by, pairs_of
from distcycle.witnesses import Search, Witnesses

__all__ = ["TreeReader", "find_imports"]


def find_imports(
    selection: Selection,
    components: Iterable[Component],
    facts: Facts,
    search: Search,
    *,
    undeclared: bool = True,
) -> Imports:
    """Find what imports say of the edges of loops, and which imports no requirement declares.

    Args:
        selection: What was selected.
        components: Its loops.
        facts: What is known of the packages' files.
        search: Where modules are sought.
        undeclared: Whether imports are sought that no requirement declares.

    Returns:
        Evidence for every edge of every loop. Imports that are not declared are sought in the
        members of loops, and in all packages that are installed or whose wheels are on this
        machine.
    """
    pairs = pairs_of(components)
    finder = _Finder(selection, pairs, facts, search)
    drafts = tuple(finder.find_undeclared()) if undeclared else ()
    return Imports(evidence=finder.find_evidence(), drafts=drafts)


class _Finder:
    """Finds what can be read of each package once."""

    def __init__(
        self,
        selection: Selection,
        pairs: Mapping[tuple[int, int], Condition],
        facts: Facts,
        search: Search,
    ) -> None:
        self._selection = selection
        self._packages = selection.snapshot.packages
        self._pairs = pairs
        self._search = search
        self._weighing = Weighing(selection)
        self._witnesses = Witnesses(selection, facts, search)
        self._readers: dict[int, TreeReader | Unknown] = {}
        self._names: dict[int, tuple[tuple[str, ...], str]] = {}

    def find_evidence(self) -> dict[tuple[int, int], Evidence]:
        """Weigh every edge."""
        return {
            pair: self._weighing.weigh(pair, cells, self._read_edge(pair, cells))
            for pair, cells in self._pairs.items()
        }

    def find_undeclared(self) -> Iterator[Draft]:
        """Find what the members of loops, and all packages that are here, import undeclared."""
        members = {index for pair in self._pairs for index in pair}
        here = [i for i in range(len(self._packages)) if self._witnesses.is_here(i)]
        readable = sorted({*members, *here})
        owners = self._owners(readable)
        for index in readable:
            if (index, "") in self._selection.reached:
                for project, places in self._undeclared(index, owners).items():
                    yield self._weighing.draft_undeclared(index, project, places)

    def _reader(self, index: int) -> TreeReader | Unknown:
        if index not in self._readers:
            witness = self._witnesses.find(index)
            if isinstance(witness, Unknown):
                self._readers[index] = witness
            else:
                self._readers[index] = TreeReader(witness.source, self._search.scanner)
        return self._readers[index]

    def _read_edge(self, pair: tuple[int, int], cells: Condition) -> Reading | Unknown:
        reader, witness = self._reader(pair[0]), self._witnesses.find(pair[0])
        if isinstance(reader, Unknown):
            return reader
        if isinstance(witness, Unknown):
            return witness
        names, note = self._names_of(pair[1])
        environments = self._weighing.environments(cells)
        try:
            found = find_dependence(reader.modules, names, reader.read, environments)
            unused = reader.find_unused(found, environments)
        except InputError as error:
            return Unknown(reason=str(error))
        return Reading(
            dependence=found,
            read_from=witness.said,
            files=sum(module.kind == "python" for module in reader.modules.values()),
            names=names,
            compiled=sum(module.kind == "extension" for module in reader.modules.values()),
            unused=unused,
            notes=(*witness.notes, *([note] if note else ())),
        )

    def _names_of(self, index: int) -> tuple[tuple[str, ...], str]:
        """The names by which a package is imported, and what to say of how they are known."""
        if index not in self._names:
            self._names[index] = self._find_names(index)
        return self._names[index]

    def _find_names(self, index: int) -> tuple[tuple[str, ...], str]:
        witness = self._witnesses.find(index, fetches=False)
        if not isinstance(witness, Unknown):
            return find_import_names(find_modules(witness.source.files)), ""
        listed = self._witnesses.list_remote(index)
        if listed is not None:
            return find_import_names(find_modules(listed)), ""
        name = self._packages[index].name
        said = self._witnesses.read_top_level(index)
        if said:
            return said, f"{name} could not be read; its top_level.txt says how it is imported"
        assumed = name.replace("-", "_")
        return (assumed,), f"{name} could not be read; taken to be imported as {assumed}"

    # What no requirement declares

    def _owners(self, readable: Iterable[int]) -> dict[str, set[NormalizedName]]:
        """The projects of the input by the names that are imported.

        Of packages that cannot be read it is assumed that they are imported by their own name, but
        not where the standard library has a module of that name.
        """
        owners: dict[str, set[NormalizedName]] = {}
        known = set()
        for index in readable:
            reader = self._reader(index)
            if not isinstance(reader, Unknown):
                known.add(index)
                for name in find_import_names(reader.modules):
                    owners.setdefault(name, set()).add(self._packages[index].name)
        for index, package in enumerate(self._packages):
            if index not in known:
                owners.setdefault(package.name.replace("-", "_"), set()).add(package.name)
        for name in sys.stdlib_module_names:
            owners.pop(name, None)
        return owners

    def _undeclared(
        self, index: int, owners: Mapping[str, Collection[NormalizedName]]
    ) -> Mapping[NormalizedName, tuple[Place, ...]]:
        reader = self._reader(index)
        if isinstance(reader, Unknown):
            return {}
        declared = declared_by(self._selection, index)
        foreign = [name for name, own in owners.items() if declared.isdisjoint(own)]
        try:
            files = reader.read({name.rpartition(".")[2] for name in foreign}, ())
        except InputError:
            return {}
        return find_undeclared(Tree(modules=reader.modules, files=files), owners, declared)


# Reading -----------------------------------------------------------------------------------------


class TreeReader:
    """Reads of one tree the files that can matter, each once.

    Args:
        source: The tree.
        scanner: Reads files.
    """

    def __init__(self, source: SourceTree, scanner: Scanner) -> None:
        self.modules: Mapping[str, Module] = find_modules(source.files)
        self._source = source
        self._scanner = scanner
        self._files: dict[str, FileImports] = {}
        self._words: dict[str, set[bytes]] | None = None
        self._unreadable: set[str] = set()

    def read(self, words: Collection[str], modules: Collection[str]) -> Mapping[str, FileImports]:
        """Read files that have one of some words in an import, and those of some modules."""
        wanted = {word.encode() for word in words}
        meant = [
            name
            for name, own in self._words_of_imports().items()
            if name in modules or name in self._unreadable or not wanted.isdisjoint(own)
        ]
        new = [name for name in meant if name not in self._files]
        if new:
            source = self._source
            paths = [self.modules[name].path for name in new]
            some = replace(source, files={path: source.files[path] for path in paths})
            self._files |= self._scanner.scan(some, partial=True).modules.files
        return {name: self._files[name] for name in sorted(meant)}

    def _words_of_imports(self) -> dict[str, set[bytes]]:
        if self._words is None:
            by_path = {m.path: m.name for m in self.modules.values() if m.kind == "python"}
            self._words = {}
            for path, data in self._source.read(by_path):
                if data is None:
                    # What it imports is not known, and that is to be said whatever is asked for.
                    self._unreadable.add(by_path[path])
                self._words[by_path[path]] = set() if data is None else words_of_imports(data)
        return self._words

    def find_unused(
        self, found: Dependence, environments: Sequence[Mapping[str, str]]
    ) -> tuple[Place, ...]:
        """Imports at a module's top that bind a name of which the file then has no use."""
        sites = [
            place
            for place in found.sites
            if place.record.form == "import" and is_hard_on(place.record, environments)
        ]
        paths = dict.fromkeys(place.module.path for place in sites)
        texts = dict(self._source.read(paths))
        return tuple(p for p in sites if _is_unused(p, texts[p.module.path] or b""))


def _is_unused(place: Place, text: bytes) -> bool:
    old, new = place.record.names[0]
    name = (new or old.partition(".")[0]).encode()
    lines = text.splitlines()
    del lines[place.record.line - 1 : place.record.end_line]
    return not any(name in line.partition(b"#")[0] for line in lines)

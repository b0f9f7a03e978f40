"""What a distribution's modules say about doing without another one.

A module fails without the other when it imports it while it is imported itself, whatever the
environment and with no handler for the error; or when it so imports a module that fails; or when a
package that it is in fails. The failing modules are the least set with this.

Only files that can matter are asked for: those that name the other one, then those that name a
module that fails. A large distribution of which one function imports another is hardly parsed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from distcycle.imports.conditions import evaluate_text
from distcycle.imports.graph import ImportEdge, Tree, join, resolve_name
from distcycle.imports.modules import Module, ancestors_of
from distcycle.imports.records import CONDITIONAL, FileImports, ImportRecord

__all__ = [
    "Dependence",
    "Place",
    "Reader",
    "find_dependence",
    "find_import_names",
    "is_hard_on",
    "names_of",
]

_BY_TARGET: frozenset[str] = frozenset(("platform", "version"))
# Beside a package, these are not what a distribution is installed for.
_ASIDE = frozenset(
    ("benchmark", "benchmarks", "docs", "example", "examples", "test", "tests", "testing")
)

Reader = Callable[[Collection[str], Collection[str]], Mapping[str, FileImports]]
"""Reads files of a tree, and gives the imports of those that were read, by module.

It is given words, one of which a file must have in an import, and modules whose files are read
whatever they hold. It may give more than that.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """An import, and the module in which it stands."""

    module: Module
    record: ImportRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """What the modules of one distribution do with another.

    Attributes:
        sites: Where they import it, by file and line.
        failing: The modules that cannot be imported without it, sorted; of those that are read
            from source.
        outermost: Those of them by which the distribution is used: what can be imported without
            a dot in its name, or is the first of its namespace.
        way: The first way to an import that fails: from one of ``outermost``, else from the first
            of ``failing``; each place imports the module of the next, the last what is absent.
        opaque: Imports whose names are computed, in files that name the other one in an import.
        faults: Files that could not be parsed, of those that were read, and why.
    """

    sites: tuple[Place, ...]
    failing: tuple[str, ...]
    outermost: tuple[str, ...]
    way: tuple[Place, ...] = ()
    opaque: tuple[Place, ...] = ()
    faults: tuple[tuple[Module, str], ...] = ()


def find_import_names(modules: Mapping[str, Module]) -> tuple[str, ...]:
    """The names by which modules are imported: the outermost, but for namespaces, that are shared.

    Args:
        modules: The modules of one distribution.

    Returns:
        Names such as ``torch`` and ``google.cloud.storage``, sorted. Tests, documentation and
        examples beside these do not count: many distributions have some, by the same names.
    """
    own = [module.name for module in modules.values() if module.kind != "namespace"]
    found = set(own)
    names = tuple(sorted(name for name in own if found.isdisjoint(ancestors_of(name))))
    return tuple(name for name in names if _last(name) not in _ASIDE) or names


def find_dependence(
    modules: Mapping[str, Module],
    names: Collection[str],
    read: Reader,
    environments: Sequence[Mapping[str, str]] = (),
) -> Dependence:
    """Find what becomes of a distribution's modules where another distribution is absent.

    Args:
        modules: The modules of the distribution.
        names: The names by which the other one is imported.
        read: Reads their files.
        environments: Targets: a module fails if it does on any. Without any, what stands under a
            test of the platform or the version is taken to be unneeded.
    """
    return _Search(modules, names, read, environments).run()


def is_hard_on(record: ImportRecord, environments: Iterable[Mapping[str, str]]) -> bool:
    """Whether a module cannot be imported without an import, on any of some targets.

    Args:
        record: The import.
        environments: The targets' marker variables.
    """
    if record.is_hard:
        return True
    further = CONDITIONAL.intersection(record.modifiers)
    if not record.runs_at_import or not further <= _BY_TARGET or record.condition is None:
        return False
    return any(evaluate_text(record.condition, each) is True for each in environments)


def names_of(module: Module, record: ImportRecord) -> Iterator[str]:
    """The full names that a record may import: its module, and what it takes out of that."""
    name = resolve_name(module, record)
    if name:
        yield name
        if record.form == "from":
            yield from (f"{name}.{old}" for old, _ in record.names)


class _Search:
    """Finds the failing modules round by round, and reads what each round needs."""

    def __init__(
        self,
        modules: Mapping[str, Module],
        names: Collection[str],
        read: Reader,
        environments: Sequence[Mapping[str, str]],
    ) -> None:
        self._modules = modules
        # A name that both have is the distribution's own, as far as its own modules go.
        self._absent = frozenset(names) - modules.keys()
        self._read = read
        self._environments = environments
        self._files: dict[str, FileImports] = {}
        self._failing: set[str] = set()
        self._below: dict[str, list[str]] = defaultdict(list)
        for name in modules:
            for package in ancestors_of(name):
                self._below[package].append(name)

    def run(self) -> Dependence:
        self._files.update(self._read({_last(name) for name in self._absent}, ()))
        sites = tuple(self._find_sites())
        opaque = tuple(self._places(lambda record: record.form == "opaque"))
        new = self._spread({site.module.name for site in sites if self._is_hard(site.record)})
        edges: dict[str, list[ImportEdge]] = {}
        while new:
            self._failing |= new
            self._files.update(self._read(*self._needed_for(new)))
            edges = self._edges()
            new = self._spread(
                name for name in edges if name not in self._failing and self._fails(edges[name])
            )
        sources = {n for n in self._failing if self._modules[n].kind == "python"}
        outermost = tuple(n for n in find_import_names(self._modules) if n in self._failing)
        first = outermost or tuple(sorted(sources))[:1]
        return Dependence(
            sites=sites,
            failing=tuple(sorted(sources)),
            outermost=outermost,
            way=self._find_way(first[0], sites, edges) if first else (),
            opaque=opaque,
            faults=tuple(
                (self._modules[name], file.fault)
                for name, file in sorted(self._files.items())
                if file.fault is not None
            ),
        )

    def _places(self, choose: Callable[[ImportRecord], bool]) -> Iterator[Place]:
        for name in sorted(self._files, key=lambda name: self._modules[name].path):
            for record in self._files[name].records:
                if choose(record):
                    yield Place(self._modules[name], record)

    def _find_sites(self) -> Iterator[Place]:
        for place in self._places(lambda record: record.form != "opaque"):
            if any(self._is_absent(name) for name in names_of(place.module, place.record)):
                yield place

    def _is_absent(self, name: str) -> bool:
        return name not in self._modules and not self._absent.isdisjoint(
            (name, *ancestors_of(name))
        )

    def _is_hard(self, record: ImportRecord) -> bool:
        return is_hard_on(record, self._environments)

    def _spread(self, names: Iterable[str]) -> set[str]:
        """Modules that fail by themselves, and all that are in them."""
        new = set(names) - self._failing
        for name in tuple(new):
            new.update(self._below.get(name, ()))
        return new - self._failing

    def _needed_for(self, new: Collection[str]) -> tuple[set[str], set[str]]:
        """The words by which failing modules are imported, and the packages that say how.

        What is in a package that fails is imported by nothing but through that package.
        """
        words: set[str] = set()
        packages: set[str] = set()
        for name in new:
            *outer, last = name.split(".")
            parent = ".".join(outer)
            if parent in self._failing:
                continue
            words.add(last)
            words.update(outer[-1:])  # a star loads what __all__ names
            packages.update(ancestors_of(name))
        return words, packages

    def _edges(self) -> dict[str, list[ImportEdge]]:
        """What each module imports of its own distribution for certain, in the order of running."""
        edges: dict[str, list[ImportEdge]] = defaultdict(list)
        for edge in join(Tree(modules=self._modules, files=self._files)).edges:
            if self._is_hard(edge.record):
                edges[edge.source].append(edge)
        for own in edges.values():
            own.sort(key=lambda edge: (edge.record.line, edge.target.count(".")))
        return edges

    def _fails(self, edges: Iterable[ImportEdge]) -> bool:
        return any(edge.target in self._failing for edge in edges)

    # The way there -------------------------------------------------------------------------------

    def _find_way(
        self, start: str, sites: Iterable[Place], edges: Mapping[str, Sequence[ImportEdge]]
    ) -> tuple[Place, ...]:
        """Go along the imports as they run, and back from modules that were gone into already."""
        steps: dict[str, list[_Step]] = defaultdict(list)
        for place in sites:
            if self._is_hard(place.record):
                steps[place.module.name].append(_Step(None, place.record))
        for name, own in edges.items():
            failing = (edge for edge in own if edge.target in self._failing)
            steps[name] += [_Step(edge.target, edge.record) for edge in failing]
        for some in steps.values():
            some.sort(key=lambda step: step.record.line)  # what is absent before what needs it
        seen = {start}
        way = [(start, iter(steps[start]))]
        taken: list[Place] = []
        while way:
            name, left = way[-1]
            step = next(left, None)
            if step is None:
                way.pop()
                del taken[max(0, len(way) - 1) :]
            elif step.target not in seen:
                taken.append(Place(self._modules[name], step.record))
                if step.target is None:
                    return tuple(taken)
                seen.add(step.target)
                way.append((step.target, iter(steps[step.target])))
        return ()


class _Step(NamedTuple):
    """From one module to the next by a record; to None where that is what is absent."""

    target: str | None
    record: ImportRecord


def _last(name: str) -> str:
    return name.rpartition(".")[2]

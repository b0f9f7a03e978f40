"""Joins import records to the modules that they import.

Source: https://docs.python.org/3/reference/import.html; ``from package import name`` is an
attribute where the package binds the name itself, else a submodule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from distcycle.imports.conditions import evaluate_text
from distcycle.imports.modules import Module, ancestors_of
from distcycle.imports.records import FileImports, ImportRecord

__all__ = ["External", "ImportEdge", "ImportGraph", "Tree", "join", "resolve_name"]


class ImportEdge(NamedTuple):
    """One module imports another, by one record.

    Attributes:
        source: The module that imports.
        target: The module that is imported.
        record: How.
        names: The names that are taken out of the target at once; ``()`` when only the module is
            bound, which does no harm while the target is being imported itself.
        implied: Whether nothing but a submodule of the target is named: importing ``a.b`` runs
            ``a``.
    """

    source: str
    target: str
    record: ImportRecord
    names: tuple[str, ...] = ()
    implied: bool = False

    @property
    def needs_names(self) -> bool:
        """Whether names of the target must be bound already."""
        return bool(self.names)


class External(NamedTuple):
    """A module imports what is in none of the trees."""

    source: str
    name: str
    record: ImportRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The modules of what is looked at together, and what was read of their files.

    Attributes:
        modules: By name.
        files: What the file of a module imports, by the module's name; without an entry for
            modules that are not read from source.
    """

    modules: Mapping[str, Module]
    files: Mapping[str, FileImports]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportGraph:
    """Which modules import which.

    Attributes:
        modules: By name, what is missing too.
        edges: By source and line.
        external: Imports of what is not in the trees.
        unresolved: Imports that lead out of their own package, by module.
    """

    modules: Mapping[str, Module]
    edges: tuple[ImportEdge, ...]
    external: tuple[External, ...] = ()
    unresolved: tuple[tuple[str, ImportRecord], ...] = field(default=())


def join(tree: Tree, environment: Mapping[str, str] | None = None) -> ImportGraph:
    """Find what each record imports.

    Args:
        tree: The modules.
        environment: A target's marker variables: what stands under a test that is false there is
            left out. None to keep all.

    Returns:
        The graph. Imports of a module by itself are no edges.
    """
    joining = _Joining(tree)
    for name in tree.modules:
        file = tree.files.get(name)
        for record in file.records if file is not None else ():
            if runs_on(record, environment):
                joining.join_record(tree.modules[name], record)
    return ImportGraph(
        modules=dict(sorted(joining.modules.items())),
        edges=tuple(joining.edges),
        external=tuple(joining.external),
        unresolved=tuple(joining.unresolved),
    )


def runs_on(record: ImportRecord, environment: Mapping[str, str] | None) -> bool:
    """Whether a target does not rule out that an import runs."""
    if environment is None or record.condition is None:
        return True
    return evaluate_text(record.condition, environment) is not False


def resolve_name(module: Module, record: ImportRecord) -> str | None:
    """The full name of what a record names.

    Args:
        module: The module in which the record stands.
        record: The record.

    Returns:
        The name; None when it leads out of the outermost package, or cannot be known.
    """
    if record.form == "opaque":
        return None
    if not record.level:
        return record.module
    parts = module.name.split(".")
    # importlib takes the package that it is given, even where that is no package.
    is_package = module.is_package or (record.form == "call" and record.names[0][1] == "__name__")
    kept = len(parts) - record.level + (1 if is_package else 0)
    if kept < 1:
        return None
    return ".".join([*parts[:kept], *([record.module] if record.module else [])])


class _Joining:
    def __init__(self, tree: Tree) -> None:
        self.modules = dict(tree.modules)
        self.edges: list[ImportEdge] = []
        self.external: list[External] = []
        self.unresolved: list[tuple[str, ImportRecord]] = []
        self._files = tree.files
        self._tops = {name.partition(".")[0] for name in tree.modules}
        self._own: dict[str, frozenset[str]] = {}

    def join_record(self, module: Module, record: ImportRecord) -> None:
        if record.form == "opaque":
            return
        name = resolve_name(module, record)
        if name is None:
            self.unresolved.append((module.name, record))
        elif name.partition(".")[0] not in self._tops:
            self.external.append(External(module.name, name, record))
        else:
            self._join_name(module.name, name, record)

    def _join_name(self, source: str, name: str, record: ImportRecord) -> None:
        target = self._find(name)
        implied = [target] if record.form in ("from", "star") else []
        if record.form in ("import", "call"):
            self._add(source, target, record)
        else:
            names, submodules = self._split_names(target, record)
            if names:
                self._add(source, target, record, names)
                implied = []
            for submodule in submodules:
                self._add(source, submodule, record)
            if not submodules and not names:
                self._add(source, target, record)
                implied = []
        for package in (*ancestors_of(target), *implied):
            if package not in self._ancestors(source):
                self._add(source, package, record, implied=True)

    def _find(self, name: str) -> str:
        """The module of a name, which is missing when nothing makes it.

        What comes after an extension module may be made by it: it is that module then.
        """
        if name in self.modules:
            return name
        for package in reversed(ancestors_of(name)):
            if package in self.modules:
                if self.modules[package].kind == "extension":
                    return package
                break
        self.modules[name] = Module(name, "missing", "")
        return name

    def _split_names(
        self, target: str, record: ImportRecord
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Which names of a ``from`` are taken out of the module, and which are its submodules."""
        names = [name for name, _ in record.names]
        if record.form == "star":
            return ("*",), tuple(self._submodules_of_star(target))
        submodules = [name for name in names if self._is_submodule(target, name)]
        taken = tuple(name for name in names if name not in submodules)
        return taken, tuple(f"{target}.{name}" for name in submodules)

    def _is_submodule(self, package: str, name: str) -> bool:
        if f"{package}.{name}" not in self.modules:
            return False
        file = self._files.get(package)
        bound = file.bound if file is not None and file.bound is not None else {}
        return name not in bound or self._binds_submodule(package, name)

    def _binds_submodule(self, package: str, name: str) -> bool:
        """Whether a package binds a name by importing its own submodule of that name."""
        return any(
            record.form == "from"
            and (name, None) in _plain(record.names)
            and resolve_name(self.modules[package], record) == package
            for record in self._files[package].records
        )

    def _submodules_of_star(self, package: str) -> Iterator[str]:
        """The submodules that a star loads: ``__all__`` names them, and nothing binds them."""
        file = self._files.get(package)
        if file is None or file.exported is None or file.bound is None:
            return
        if any(record.form == "star" for record in file.records):
            return
        for name in file.exported:
            if f"{package}.{name}" in self.modules and name not in file.bound:
                yield f"{package}.{name}"

    def _ancestors(self, name: str) -> frozenset[str]:
        """A module and the packages it is in: these run, or are running, before it does."""
        own = self._own.get(name)
        if own is None:
            own = self._own[name] = frozenset((*ancestors_of(name), name))
        return own

    def _add(
        self,
        source: str,
        target: str,
        record: ImportRecord,
        names: tuple[str, ...] = (),
        *,
        implied: bool = False,
    ) -> None:
        if source != target:
            self.edges.append(ImportEdge(source, target, record, names, implied))


def _plain(names: Iterable[tuple[str, str | None]]) -> set[tuple[str, None]]:
    return {(old, None) for old, new in names if new in (None, old)}

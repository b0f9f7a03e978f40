"""Imports of projects that a distribution does not say it requires."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from packaging.utils import NormalizedName

from distcycle.imports.evidence import Place, names_of
from distcycle.imports.graph import Tree
from distcycle.imports.modules import Module, ancestors_of
from distcycle.imports.records import ImportRecord

__all__ = ["find_undeclared"]

_NEVER = frozenset(("type-checking", "dead", "main"))


def find_undeclared(
    tree: Tree,
    owners: Mapping[str, Collection[NormalizedName]],
    declared: Collection[NormalizedName],
) -> dict[NormalizedName, tuple[Place, ...]]:
    """Find what modules import of projects that are not declared.

    Args:
        tree: The modules of a distribution, and what was read of their files.
        owners: By the name that is imported, such as ``google.cloud.storage``, the projects that
            have it.
        declared: The projects that it requires, whatever the extra or the environment, and itself.

    Returns:
        For each project where it is imported, by file and line; what only type checkers see, what
        never runs and what runs only when a file is run as a program is left out. Where several
        projects have a name, the first is named, and none if one of them is declared.
    """
    found: dict[NormalizedName, list[Place]] = defaultdict(list)
    for name in sorted(tree.files, key=lambda name: tree.modules[name].path):
        module = tree.modules[name]
        for record in tree.files[name].records:
            if record.kind in _NEVER or record.form == "opaque":
                continue
            projects = _owners_of(module, record, tree, owners)
            if projects and not any(project in declared for project in projects):
                found[min(projects)].append(Place(module, record))
    return {project: tuple(found[project]) for project in sorted(found)}


def _owners_of(
    module: Module,
    record: ImportRecord,
    tree: Tree,
    owners: Mapping[str, Collection[NormalizedName]],
) -> Collection[NormalizedName]:
    for name in names_of(module, record):
        for outer in (name, *reversed(ancestors_of(name))):
            own = tree.modules.get(outer)
            if own is not None and own.kind != "namespace":
                return ()
            if outer in owners:
                return owners[outer]
    return ()

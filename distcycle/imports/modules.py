"""The modules that files make, as Python's import system would find them.

Source: https://docs.python.org/3/reference/import.html and PEP 420.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

__all__ = ["Module", "ModuleKind", "ancestors_of", "find_modules"]

ModuleKind = Literal["python", "extension", "namespace", "missing"]
"""``python`` is read from source; ``extension`` is compiled, so that nothing is known of what it
imports; ``namespace`` is a folder without ``__init__``; ``missing`` is imported and not there."""

_EXTENSION = re.compile(
    r"(?P<stem>[^.]+)(?:\.(?:cpython|cp|pypy|graalpy|abi)[^.]*(?:-[^.]*)?)?\.(?:so|pyd)\Z"
)
_NO_FOLDERS = frozenset(("__pycache__",))


@dataclass(frozen=True, slots=True)
class Module:
    """A module that can be imported by its name.

    Attributes:
        name: Its full name, such as ``torch.nn``.
        kind: What it is made of.
        path: Its file, or the folder of a namespace, as the files were named; ``""`` when missing.
        is_package: Whether it may have submodules.
    """

    name: str
    kind: ModuleKind
    path: str
    is_package: bool = False


@functools.lru_cache(maxsize=65_536)
def ancestors_of(name: str) -> tuple[str, ...]:
    """The packages that a module is in, the outermost first: ``a.b.c`` is in ``a`` and ``a.b``."""
    parts = name.split(".")
    return tuple(".".join(parts[:count]) for count in range(1, len(parts)))


def find_modules(paths: Iterable[str]) -> dict[str, Module]:
    """Find the modules among files.

    Args:
        paths: The files, relative to a folder that stands in ``sys.path``, parts joined by ``/``.
            Stubs (``.pyi``), bytecode in ``__pycache__`` and folders whose names have a dot are no
            modules. Names that are no identifiers are: ``importlib.import_module`` takes them.

    Returns:
        The modules by name, sorted. Where several files make one module, the one that Python takes:
        the package, then the extension, then the source.
    """
    found: dict[str, Module] = {}
    for module in sorted(_candidates(paths), key=_precedence):
        found.setdefault(module.name, module)
    for name in sorted(found, key=lambda name: name.count(".")):
        for package in ancestors_of(name):
            if package not in found:
                folder = package.replace(".", "/")
                found[package] = Module(package, "namespace", folder, is_package=True)
            elif not found[package].is_package:
                found.pop(name)  # beside egg.py a folder egg without __init__ is never looked into
                break
    return dict(sorted(found.items()))


def _candidates(paths: Iterable[str]) -> Iterator[Module]:
    for path in paths:
        *folders, file = path.split("/")
        if any("." in folder or folder in _NO_FOLDERS or not folder for folder in folders):
            continue
        stem, kind = _stem_and_kind(file)
        if stem is None:
            continue
        if stem == "__init__":
            if folders:
                yield Module(".".join(folders), kind, path, is_package=True)
        else:
            yield Module(".".join((*folders, stem)), kind, path)


def _stem_and_kind(file: str) -> tuple[str | None, ModuleKind]:
    if file.endswith(".py"):
        stem = file.removesuffix(".py")
        return (stem if stem and "." not in stem else None), "python"
    if file.endswith((".so", ".pyd")):
        match = _EXTENSION.match(file)
        if match and match["stem"].isidentifier():
            return match["stem"], "extension"
    return None, "python"


def _precedence(module: Module) -> tuple[str, bool, bool, str]:
    """As ``importlib.machinery.FileFinder`` looks: packages, extensions, then source."""
    return module.name, not module.is_package, module.kind != "extension", module.path

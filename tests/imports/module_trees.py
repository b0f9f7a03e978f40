"""Small trees of modules, written out or only named, for tests."""

import textwrap
from collections.abc import Mapping
from pathlib import Path

from distcycle.imports import FileImports, Tree, extract, find_modules
from distcycle.trees import SourceTree, open_folder


def make_tree(files: Mapping[str, str]) -> Tree:
    """The modules of files that are nowhere on disk."""
    modules = find_modules(files)
    read: dict[str, FileImports] = {}
    for name, module in modules.items():
        if module.kind == "python":
            source = textwrap.dedent(files[module.path]).encode()
            read[name] = extract(source, is_package=module.is_package)
    return Tree(modules=modules, files=read)


def write_tree(folder: Path, files: Mapping[str, str]) -> SourceTree:
    """Write files out, and list them."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), "utf-8")
    return open_folder(str(folder))

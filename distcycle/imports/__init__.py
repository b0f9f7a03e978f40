"""Which modules import which: read from source text, never by running any of it."""

from __future__ import annotations

from distcycle.imports.extraction import extract
from distcycle.imports.graph import ImportEdge, ImportGraph, Tree, join
from distcycle.imports.modules import Module, find_modules
from distcycle.imports.records import FileImports, ImportRecord

__all__ = [
    "FileImports",
    "ImportEdge",
    "ImportGraph",
    "ImportRecord",
    "Module",
    "Tree",
    "extract",
    "find_modules",
    "join",
]

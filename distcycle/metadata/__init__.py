"""Where a wheel's METADATA comes from: bundle, cache, local files, index.

The judgement below says what it lacks (:class:`~distcycle.model.Needs`); a :class:`Library`
answers (:class:`~distcycle.model.Facts`). Importing this loads no HTTP library.
"""

from __future__ import annotations

from distcycle.metadata.bundle import Bundle, dump_bundle, read_bundle
from distcycle.metadata.core import parse_metadata
from distcycle.metadata.library import Library, Options

__all__ = ["Bundle", "Library", "Options", "dump_bundle", "parse_metadata", "read_bundle"]

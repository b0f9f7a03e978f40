"""Looks ahead: fetches what the resolver will most likely ask for next, while it thinks."""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from packaging.version import Version

from distcycle.errors import DistcycleError
from distcycle.resolution.records import Need, needs_of
from distcycle.resolution.shelf import View

__all__ = ["Scout"]

# Of most projects the first version will do, or one of the next: what is fetched then is wasted.
_PATIENCE = 4
_FURTHEST = 16


class Scout:
    """Fetches pages and METADATA in the background; what fails is left to whoever really asks.

    A guess costs a request when it is wrong, so each project is guessed at once, when it is first
    required, and its own requirements are followed. Where one version after another is refused,
    the resolver waits for nothing but METADATA, one at a time; then as many are fetched ahead as
    were refused, and so at most as many in vain.

    Args:
        view: What the target sees; what is looked at here is not among what was asked about it.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._guard = threading.Lock()
        self._looked: set[str] = set()
        self._tried: defaultdict[str, set[Version]] = defaultdict(set)

    def look(self, need: Need) -> None:
        """Fetch what a need will most likely lead to."""
        if need.url is not None or need.exact is not None:
            return
        with self._guard:
            if need.name in self._looked:
                return
            self._looked.add(need.name)
        self._view.shelf.source.ahead(partial(self._fetch, need))

    def step(self, project: str, version: Version, order: Sequence[Version]) -> None:
        """Fetch the METADATA of what follows a version that is tried, where several were before.

        Args:
            project: The project.
            version: The version; one that was tried before leads to nothing new.
            order: The versions in the order in which they are tried.
        """
        tried = self._tried[project]
        if version in tried:
            return
        tried.add(version)
        if len(tried) < _PATIENCE or version not in order:
            return
        start = order.index(version) + 1
        for further in order[start : start + min(len(tried), _FURTHEST)]:
            self._view.shelf.source.ahead(partial(self._read, project, further))

    def _read(self, project: str, version: Version) -> None:
        file = self._view.shelf.file(project, version, self._view.cell)
        if file is not None:
            with contextlib.suppress(DistcycleError):
                self._view.shelf.source.metadata(file)

    def _fetch(self, need: Need) -> None:
        try:
            for requirement in self._view.likely_requirements(need):
                for further in needs_of(requirement, None):
                    self.look(further)
        except DistcycleError:
            return

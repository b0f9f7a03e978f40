"""Looks ahead: fetches what the resolver will most likely ask for next, while it thinks."""

from __future__ import annotations

import threading
from functools import partial

from distcycle.errors import DistcycleError
from distcycle.resolution.records import Need, needs_of
from distcycle.resolution.shelf import View

__all__ = ["Scout"]


class Scout:
    """Fetches pages and METADATA in the background; what fails is left to whoever really asks.

    A guess costs a request when it is wrong, so each project is guessed at once, when it is first
    required, and its own requirements are followed.

    Args:
        view: What the target sees; what is looked at here is not among what was asked about it.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._guard = threading.Lock()
        self._looked: set[str] = set()

    def look(self, need: Need) -> None:
        """Fetch what a need will most likely lead to."""
        if need.url is not None or need.exact is not None:
            return
        with self._guard:
            if need.name in self._looked:
                return
            self._looked.add(need.name)
        self._view.shelf.source.ahead(partial(self._fetch, need))

    def _fetch(self, need: Need) -> None:
        try:
            for requirement in self._view.likely_requirements(need):
                for further in needs_of(requirement, None):
                    self.look(further)
        except DistcycleError:
            return

"""distcycle: finds the dependency loops between wheels, for every target platform."""

from __future__ import annotations

from distcycle.version import __version__

__all__ = ["__version__"]

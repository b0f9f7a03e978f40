"""What is not locked yet: versions for each target, and the nearest versions without a loop."""

from __future__ import annotations

from distcycle.resolution.records import Preference, Resolution, Rules, Source
from distcycle.resolution.resolve import resolve

__all__ = ["Preference", "Resolution", "Rules", "Source", "resolve"]

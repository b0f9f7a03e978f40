"""The machine that distcycle runs on, as a target; nothing else asks it."""

from __future__ import annotations

from packaging.markers import default_environment
from packaging.tags import sys_tags

from distcycle.targets import MARKER_VARIABLES, Target, custom_target

__all__ = ["host_environment", "host_target"]


def host_environment() -> dict[str, str]:
    """The eleven marker variables of the running interpreter."""
    values = dict(default_environment())
    return {name: str(values[name]) for name in MARKER_VARIABLES}


def host_target() -> Target:
    """The running interpreter as a target, named such as ``cp311-linux_x86_64@host``."""
    return custom_target(host_environment(), [str(tag) for tag in sys_tags()], label="host")

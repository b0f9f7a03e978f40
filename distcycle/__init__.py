"""distcycle finds the dependency loops between wheels, for every target platform.

What is listed here is all that is promised; it is loaded when it is first asked for.

    snapshot = distcycle.read("uv.lock")
    report = distcycle.audit(snapshot, targets=["cp311-linux_x86_64", "cp311-windows_amd64"])
    report.ok, report.findings, report.components
    print(distcycle.render(report, "json"))
"""

from __future__ import annotations

from distcycle.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from distcycle.api import (
        audit,
        emit,
        find_fixes,
        make_scope,
        read,
        read_environment,
        read_policy,
        read_wheelhouse,
        render,
    )
    from distcycle.errors import (
        DistcycleError,
        InputError,
        MetadataError,
        PolicyError,
        ResolutionError,
        TargetError,
        UnknownFormat,
        UnsupportedLockVersion,
    )
    from distcycle.findings import CODES, Component, Finding, Report, Severity
    from distcycle.model import Package, Requirement, Snapshot
    from distcycle.policy import Policy
    from distcycle.targets import Target

__all__ = [
    "CODES",
    "Component",
    "DistcycleError",
    "Finding",
    "InputError",
    "MetadataError",
    "Package",
    "Policy",
    "PolicyError",
    "Report",
    "Requirement",
    "ResolutionError",
    "Severity",
    "Snapshot",
    "Target",
    "TargetError",
    "UnknownFormat",
    "UnsupportedLockVersion",
    "__version__",
    "audit",
    "emit",
    "find_fixes",
    "make_scope",
    "read",
    "read_environment",
    "read_policy",
    "read_wheelhouse",
    "render",
]

_HOMES = ("api", "errors", "findings", "model", "policy", "targets")


def __getattr__(name: str) -> object:
    if name in __all__:
        import importlib

        for home in _HOMES:
            module = importlib.import_module(f"distcycle.{home}")
            if name in module.__all__:
                value = getattr(module, name)
                globals()[name] = value
                return value
    raise AttributeError(f"module 'distcycle' has no attribute {name!r}")

"""Where an edge comes from: who declares a requirement, and when an import runs; one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["ORIGINS", "Line", "Origin", "strength_of"]

Line = Literal["solid", "dashed", "dotted"]
_GREY = "#5d6673"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """How drawings show one origin.

    Attributes:
        name: What an edge's ``origin`` says.
        legend: What it means, in a few words.
        color: On white; pages have a lighter one for dark.
        line: How it is drawn, so that nothing hangs on colours alone.
    """

    name: str
    legend: str
    color: str
    line: Line = "solid"


ORIGINS: Mapping[str, Origin] = {
    origin.name: origin
    for origin in (
        # Who says so, from the strongest evidence to the weakest.
        Origin(name="wheel", legend="said by a wheel", color="#1d4ed8"),
        Origin(name="sdist", legend="said by a source distribution", color="#0e7490"),
        Origin(name="installed", legend="said by an installed distribution", color="#15803d"),
        Origin(name="lock", legend="said by the lock", color="#6d28d9"),
        Origin(name="policy", legend="said by the policy", color="#be185d"),
        Origin(name="via", legend="said by a '# via' comment", color="#b45309"),
        # When it runs, from always to never.
        Origin(name="static", legend="at import time", color="#1d5fbf"),
        Origin(name="lazy", legend="in functions only", color="#b8540a", line="dashed"),
        Origin(name="type-checking", legend="for type checkers only", color=_GREY, line="dotted"),
        Origin(name="main", legend="when run as a program only", color=_GREY, line="dotted"),
        Origin(name="dead", legend="never", color=_GREY, line="dotted"),
    )
}
"""All origins; of several that say the same, the first here is the one that counts."""


def strength_of(origin: str) -> int:
    """How far down an origin stands in the table; what is not in it stands below."""
    return list(ORIGINS).index(origin) if origin in ORIGINS else len(ORIGINS)

# mypy: allow-untyped-defs
# Copyright (c) the authors
"""Attention kernels."""

from __future__ import annotations

import logging
import os.path
import math, operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import config
from .registry import register

try:
    import no_such_module_anywhere as fast
except ImportError:
    fast = None

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .types import Graph

log = logging.getLogger(__name__)
aten = operator.attrgetter("pi")(math)
DEFAULT_BLOCK = 16  # tuned by hand
_SMALL, _LARGE = 1, 1024


# Head dimensions ----------------------------------------------------------


@dataclass
class HeadDims:
    """How wide the heads are."""

    query: int
    value: int = DEFAULT_BLOCK


# Rounds up,
# by bits.
def next_power_of_two(n: int) -> int:
    """The next one."""
    return 1 << (n - 1).bit_length()


@register("infer")
def infer_block(n, limit=_LARGE):
    """Ask the configuration, which may change at any time."""
    log.info("infer %d", n)
    return max(_SMALL, min(next_power_of_two(n) * config.block, limit))


infer_block.is_pure = True


def build(graph: Graph, parts: Sequence[int]) -> HeadDims:
    """Only its annotations need names that cannot be imported."""
    return HeadDims(sum(parts), len(graph))


def describe(dims: "HeadDims") -> str:
    return f"{os.path.sep}{dims.query}x{dims.value}"


def has_fast() -> bool:
    return fast is not None


def old_scale(x):
    """Stays: nobody takes it from here but for those who always did."""
    log.warning("old_scale %s", x)
    return x * aten + DEFAULT_BLOCK


from kernel.flex_decoding import create_decoding  # noqa: E402


@register("attention")
def attention(n: int) -> Any:
    """Choose a kernel."""
    if n < DEFAULT_BLOCK:
        return create_decoding(n)
    return ("attention", infer_block(n), create_decoding(1))


def late(values):
    """Bound only after the import above, so that it must be imported when it is needed."""
    result = []
    for each in values:
        result.append(next_power_of_two(each))
    return result

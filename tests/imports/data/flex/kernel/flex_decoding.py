"""Decoding kernels."""

from __future__ import annotations

import logging

from . import flex_attention as whole
from .flex_attention import (  # shared with attention
    DEFAULT_BLOCK,
    HeadDims,  # a class
    aten,
    build,
    # how it is shown
    describe as show,
    has_fast,
    infer_block,
    log as attention_log,
    next_power_of_two,
    math,
)
from .registry import register

log = logging.getLogger(__name__)
WIDEST = next_power_of_two(DEFAULT_BLOCK + 1)


@register("decoding")
def create_decoding(n):
    from .flex_attention import late

    log.info("decoding %d", n)
    attention_log.info("seen by decoding")
    dims = build("graph", [n, WIDEST])
    assert isinstance(dims, HeadDims)
    size = whole.next_power_of_two(n)
    return ("decoding", infer_block(n), show(dims), late([n]), has_fast(), aten < 4, size, math.pi)

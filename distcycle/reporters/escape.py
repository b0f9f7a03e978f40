"""Text that came out of a file, made safe to show."""

from __future__ import annotations

import re

__all__ = ["printable"]

_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)


def printable(text: str) -> str:
    """Escape what a terminal obeys or hides: control, bidirectional and zero-width marks.

    What is left can stand in XML 1.0 and be written as UTF-8: no surrogate, no noncharacter.
    """
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)

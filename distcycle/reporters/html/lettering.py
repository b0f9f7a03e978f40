"""How wide a label is, and where it is broken or cut, so that it fits its place."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["FONT_SIZE", "LINE_HEIGHT", "cut", "cut_middle", "text_width", "wrap"]

FONT_SIZE = 13.0
LINE_HEIGHT = 17.0
_ADVANCE = 0.61  # of the font's size, as monospaced fonts have it; the widest of them, to be safe
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_LINE_CELLS = 20
_MOST_LINES = 3


def text_width(text: str, size: float) -> float:
    """The width of a text in a monospaced font, in the unit of the font's size."""
    return _cells(text) * _ADVANCE * size


def _cells(text: str) -> int:
    """Columns of a text; East Asian characters take two."""
    return sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in text)


def cut(text: str, cells: int) -> str:
    """Shorten a text to a number of columns, with an ellipsis where something went."""
    if len(text) <= cells and _cells(text) <= cells:
        return text
    text = text[:cells]
    while _cells(text) >= cells:
        text = text[:-1]
    return text + _ELLIPSIS


def cut_middle(text: str, cells: int) -> str:
    """Shorten a text as :func:`cut` does, but keep its end: of modules, that tells most."""
    if len(text) <= cells and _cells(text) <= cells:
        return text
    end = ""
    for character in reversed(text):
        if _cells(end) + _cells(character) > (cells - 1) // 2:
            break
        end = character + end
    return cut(text, cells - _cells(end)).removesuffix(_ELLIPSIS) + _ELLIPSIS + end


def wrap(name: str) -> tuple[str, ...]:
    """Break a project's name after its hyphens, into lines of a box."""
    lines = [""]
    for piece in _pieces(name):
        if lines[-1] and _cells(lines[-1] + piece) > _LINE_CELLS:
            lines.append("")
        lines[-1] += piece
    if len(lines) > _MOST_LINES:
        rest = "".join(lines[_MOST_LINES - 1 :])
        lines[_MOST_LINES - 1 :] = [cut(rest, _LINE_CELLS)]
    return tuple(lines)


def _pieces(name: str) -> Iterator[str]:
    """The parts between hyphens, each short enough for a line."""
    half = _LINE_CELLS // 2  # of characters that may take two columns each
    for piece in re.findall(r"[^-._]*[-._]+|[^-._]+", name[: 20 * _LINE_CELLS]):
        if _cells(piece) <= _LINE_CELLS:
            yield piece
        else:
            yield from (piece[at : at + half] for at in range(0, len(piece), half))

"""The tokens of a Starlark file, and which bracket closes which.

Starlark is nearly Python, but Python's parser is no safe reader of any file whatever: up to 3.10 a
long chain (``a.b.b.b...``) ends the process. It drops the comments, too, which a rewrite must keep.
The Starlark parsers that can be installed give no positions inside an expression. Literals need
tokens and brackets only, so that is all that is read; nothing here recurses.

Source: https://github.com/bazelbuild/starlark/blob/master/spec.md, "Lexical elements".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from distcycle.errors import InputError

__all__ = ["Span", "Token", "Tokens", "tokenize"]

_LARGEST = 2 << 20
_CLOSES = {"(": ")", "[": "]", "{": "}"}

Kind = Literal["string", "name", "number", "operator", "newline"]

_TOKEN = re.compile(
    r"""
      (?P<skip>[ \t\f]+|\\(?:\r\n|\r|\n))
    | (?P<comment>\#[^\r\n]*)
    | (?P<newline>\r\n|\r|\n)
    | (?P<string>(?:[rR]?[bB]?|[bB][rR])
        (?: \"\"\"(?:[^\\]|\\.)*?\"\"\"
          | '''(?:[^\\]|\\.)*?'''
          | "(?!"")[^"\\\r\n]*(?:\\.[^"\\\r\n]*)*"
          | '(?!'')[^'\\\r\n]*(?:\\.[^'\\\r\n]*)*' ) )
    | (?P<name>[^\W\d]\w*)
    | (?P<number>\d[\w.]*)
    | (?P<operator>//=|\*\*|[=!<>+\-*/%&|^]=|[()\[\]{}.,:;=+\-*/%&|^<>~])
    """,
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile(r"""[rRbB]*(?P<quotes>\"{3}|'{3}|"|')(?P<value>.*)(?P=quotes)""", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of a file.

    Attributes:
        line: The line on which it begins, counted from 1.
        column: The character of that line at which it begins, counted from 1.
        start: The character of the text at which it begins, counted from 0.
        end: The character of the text before which it ends.
    """

    line: int
    column: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Token:
    """A token, but for comments and white space; a newline counts only outside all brackets."""

    kind: Kind
    text: str
    span: Span

    @property
    def string(self) -> str:
        """What stands between the quotes, as written: no name or label has an escape in it."""
        match = _QUOTED.fullmatch(self.text)
        return match["value"] if match else self.text


@dataclass(frozen=True, slots=True)
class Tokens:
    """A file's tokens.

    Attributes:
        items: The tokens in order; the last is a newline.
        closes: For each opening bracket's index that of the bracket which closes it.
        comments: The comments, ``#`` included.
    """

    items: tuple[Token, ...]
    closes: dict[int, int]
    comments: tuple[tuple[str, Span], ...]

    def split(self, opening: int) -> Iterator[tuple[int, int]]:
        """Yield what stands between commas in a pair of brackets.

        Args:
            opening: The index of the opening bracket.

        Returns:
            For each part the index of its first token, and the index behind its last.
        """
        closing = self.closes[opening]
        start = at = opening + 1
        while at < closing:
            if self.items[at].text == ",":
                yield start, at
                start = at + 1
            at = self.closes.get(at, at) + 1
        if start < closing:
            yield start, closing


def tokenize(text: str, *, path: str) -> Tokens:
    """Read the tokens of a file.

    Args:
        text: The file's text.
        path: The file, as errors name it.

    Returns:
        The tokens.

    Raises:
        InputError: It is too large, a character or string is out of place, or a bracket is not
            closed.
    """
    if len(text) > _LARGEST:
        raise InputError(f"larger than {_LARGEST >> 20} MiB, as no Bazel file is", path=path)
    items: list[Token] = []
    comments: list[tuple[str, Span]] = []
    closes: dict[int, int] = {}
    opened: list[int] = []
    for kind, word, span in _scan(text, path):
        if kind == "comment":
            comments.append((word, span))
            continue
        if kind == "newline" and opened:
            continue
        if word in _CLOSES and kind == "operator":
            opened.append(len(items))
        elif word in _CLOSES.values() and kind == "operator":
            expected = _CLOSES[items[opened[-1]].text] if opened else "no bracket"
            if word != expected:
                problem = f"not Starlark: expected {expected}, found {word}"
                raise InputError(problem, path=path, line=span.line)
            closes[opened.pop()] = len(items)
        items.append(Token(kind, word, span))  # type: ignore[arg-type]
    if opened:
        first = items[opened[-1]]
        raise InputError(
            f"not Starlark: {first.text} is not closed", path=path, line=first.span.line
        )
    end = len(text)
    line = items[-1].span.line if items else 1
    items.append(Token("newline", "", Span(line=line, column=1, start=end, end=end)))
    return Tokens(tuple(items), closes, tuple(comments))


def _scan(text: str, path: str) -> Iterator[tuple[str, str, Span]]:
    """Yield kind, text and place of everything but white space."""
    at = begins = 1 if text.startswith("\ufeff") else 0
    line = 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            what = "a string is not closed" if text[at] in "\"'" else f"unexpected {text[at]!r}"
            raise InputError(f"not Starlark: {what}", path=path, line=line)
        kind, word = match.lastgroup or "", match[0]
        if kind != "skip":
            span = Span(line=line, column=at - begins + 1, start=at, end=match.end())
            yield kind, word, span
        at = match.end()
        breaks = list(re.finditer(r"\r\n|\r|\n", word))
        if breaks:
            line += len(breaks)
            begins = match.start() + breaks[-1].end()

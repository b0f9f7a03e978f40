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
from typing import NamedTuple

from distcycle.errors import InputError

__all__ = ["Span", "Token", "Tokens", "tokenize"]

_LARGEST = 1 << 20
_OPENS = {"(": ")", "[": "]", "{": "}"}
_CLOSES = frozenset(_OPENS.values())

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
_BREAK = re.compile(r"\r\n|\r|\n")
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


class Token(NamedTuple):
    """A token or a comment; white space is none, nor is a newline inside brackets.

    Attributes:
        kind: ``string``, ``name``, ``number``, ``operator``, ``newline`` or ``comment``.
        text: The token as written.
        line: As in :class:`Span`, like the next three.
        column: See there.
        start: See there.
        end: See there.
    """

    kind: str
    text: str
    line: int
    column: int
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Where it stands."""
        return Span(line=self.line, column=self.column, start=self.start, end=self.end)

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
        comments: The comments in order.
    """

    items: tuple[Token, ...]
    closes: dict[int, int]
    comments: tuple[Token, ...]

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
    comments: list[Token] = []
    closes: dict[int, int] = {}
    opened: list[int] = []
    for token in _scan(text, path):
        if token.kind == "comment":
            comments.append(token)
            continue
        if token.text in _OPENS:
            opened.append(len(items))
        elif token.text in _CLOSES:
            expected = _OPENS[items[opened[-1]].text] if opened else "no bracket"
            if token.text != expected:
                problem = f"not Starlark: expected {expected}, found {token.text}"
                raise InputError(problem, path=path, line=token.line)
            closes[opened.pop()] = len(items)
        elif token.kind == "newline" and opened:
            continue
        items.append(token)
    if opened:
        first = items[opened[-1]]
        raise InputError(f"not Starlark: {first.text} is not closed", path=path, line=first.line)
    items.append(Token("newline", "", items[-1].line if items else 1, 1, len(text), len(text)))
    return Tokens(tuple(items), closes, tuple(comments))


def _scan(text: str, path: str) -> Iterator[Token]:
    """Yield everything but white space."""
    at = begins = 1 if text.startswith("\ufeff") else 0
    line = 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            what = "a string is not closed" if text[at] in "\"'" else f"unexpected {text[at]!r}"
            raise InputError(f"not Starlark: {what}", path=path, line=line)
        kind, word, end = match.lastgroup or "", match[0], match.end()
        if kind != "skip":
            yield Token(kind, word, line, at - begins + 1, at, end)
        if "\n" in word or "\r" in word:
            breaks = list(_BREAK.finditer(word))
            line += len(breaks)
            begins = at + breaks[-1].end()
        at = end

"""The line at which a key stands in a TOML or JSON text: a second scan, for what is shown.

Parsers of TOML and JSON say nothing of lines, and a scan that recorded them all would cost every
run what only a finding needs. So readers give key paths, such as
``package[40].dependencies.numpy``, and the few that reach a report are looked up here.

Names in a key path stand as written, joined by dots, so that a path cannot be split again (a TOML
key may be ``"foo.bar"``). The scan therefore renders the paths that it meets and compares; whatever
leads to no wanted path is skipped, by brackets and strings alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Literal

import tomli

__all__ = ["find_lines"]

# Deeper members answer with the line of the member that holds them; bounds the recursion.
_MAX_DEPTH = 64

_BASIC = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
_LITERAL = r"'[^'\n]*'"
_BLOCK = r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"{3,5}' + "|'''.*?'{3,5}"
_NAME = rf"(?:[\w-]+|{_BASIC}|{_LITERAL})"
_KEY = rf"{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*"

_BLANK = re.compile(r"(?:[\s,]+|#[^\n]*)*")
_PART = re.compile(_NAME)
_HEADER = re.compile(rf"(?P<open>\[\[?)[ \t]*(?P<key>{_KEY})[ \t]*\]\]?")
_PAIR = re.compile(rf"(?P<key>{_KEY})\s*[=:]\s*")
_STRING = re.compile(rf"{_BLOCK}|{_BASIC}|{_LITERAL}", re.DOTALL)
_BARE = re.compile(r"[^,\]}\n#]*")
_BRACKET = re.compile(rf"{_BLOCK}|{_BASIC}|{_LITERAL}|#[^\n]*|[\[\]{{}}]", re.DOTALL)


def find_lines(
    text: str, syntax: Literal["toml", "json", "lines", "none"], keys: Iterable[str]
) -> dict[str, int]:
    """Find the lines at which members of a document stand.

    Args:
        text: The document. Where it is not valid, what can be found is found.
        syntax: Its syntax; in ``lines`` and ``none`` there are no keys to be found.
        keys: Key paths as :class:`~distcycle.readers.fields.Fields` renders them.

    Returns:
        For each key the line, counted from 1, of the member or, where that is not found, of its
        nearest ancestor. Keys without either are left out.

    Source: TOML 1.0, https://toml.io/en/v1.0.0; JSON, RFC 8259.
    """
    lineages = {key: tuple(_ancestors(key)) for key in keys}
    if syntax not in {"toml", "json"} or not lineages:
        return {}
    scan = _Scan(text, frozenset(path for lineage in lineages.values() for path in lineage))
    if syntax == "toml":
        scan.read_toml()
    else:
        scan.read_json()
    lines = _number_lines(text, scan.found)
    nearest = {
        key: next((lines[path] for path in reversed(lineage) if path in lines), None)
        for key, lineage in lineages.items()
    }
    return {key: line for key, line in nearest.items() if line is not None}


def _ancestors(key: str) -> Iterator[str]:
    """All that the key can be a member of, outermost first, and the key itself."""
    for boundary in islice(re.finditer(r"[.\[]|\Z", key), _MAX_DEPTH):
        yield key[: boundary.start()]


def _number_lines(text: str, found: Mapping[str, int]) -> dict[str, int]:
    """Turn offsets into line numbers, in one pass over the text."""
    lines: dict[str, int] = {}
    line, last = 1, 0
    for path, offset in sorted(found.items(), key=lambda item: item[1]):
        line += text.count("\n", last, offset)
        last = offset
        lines[path] = line
    return lines


class _Scan:
    """One pass over a text, noting where wanted paths stand.

    Every method that consumes text takes an offset and returns the offset behind what it consumed.
    """

    __slots__ = ("found", "text", "unquote", "wanted")

    def __init__(self, text: str, wanted: frozenset[str]) -> None:
        self.text = text
        self.wanted = wanted
        self.found: dict[str, int] = {}
        self.unquote = _unquote_toml

    def read_json(self) -> None:
        """Scan the text as JSON."""
        self.unquote = _unquote_json
        start = self._blank(0)
        if self.text.startswith("{", start):
            self._table(start + 1, "")
        elif self.text.startswith("[", start):
            self._array(start + 1, "")

    def read_toml(self) -> None:
        """Scan the text as TOML."""
        table = ""
        arrays: dict[str, int] = {}
        at = self._blank(0)
        while at < len(self.text):
            if header := _HEADER.match(self.text, at):
                table = self._header(header, arrays)
                at = header.end()
            elif pair := _PAIR.match(self.text, at):
                at = self._value(pair.end(), self._member(table, pair))
            else:
                at = self.text.find("\n", at) + 1 or len(self.text)
            at = self._blank(at)

    def _header(self, header: re.Match[str], arrays: dict[str, int]) -> str:
        """The path of the table that a header opens; ``arrays`` counts the elements so far."""
        path, at = "", header.start()
        parts = self._parts(header["key"])
        for i, part in enumerate(parts, 1):
            path = self._note(_join(path, part), at)
            if i == len(parts) and header["open"] == "[[":
                arrays[path] = arrays.get(path, -1) + 1
            if path in arrays:
                path = self._note(f"{path}[{arrays[path]}]", at)
        return path

    def _member(self, table: str, pair: re.Match[str]) -> str:
        """The path of the member that a key names, which may be dotted."""
        path = table
        for part in self._parts(pair["key"]):
            path = self._note(_join(path, part), pair.start())
        return path

    def _value(self, at: int, path: str) -> int:
        opener = self.text[at : at + 1]
        if opener in {"[", "{"}:
            if path not in self.wanted:
                return self._close(at)
            return self._array(at + 1, path) if opener == "[" else self._table(at + 1, path)
        match = _STRING.match(self.text, at) or _BARE.match(self.text, at)
        return match.end() if match else at

    def _array(self, at: int, path: str) -> int:
        index = 0
        at = self._blank(at)
        while at < len(self.text) and self.text[at] != "]":
            member = self._note(f"{path}[{index}]", at)
            at = self._blank(max(self._value(at, member), at + 1))
            index += 1
        return at + 1

    def _table(self, at: int, path: str) -> int:
        at = self._blank(at)
        while pair := _PAIR.match(self.text, at):
            at = self._value(self._blank(pair.end()), self._member(path, pair))
            at = self._blank(at)
        return at + 1

    def _close(self, at: int) -> int:
        """Skip an array or a table that holds nothing wanted."""
        depth = 0
        for token in _BRACKET.finditer(self.text, at):
            kind = self.text[token.start()]
            if kind in "[{":
                depth += 1
            elif kind in "]}":
                depth -= 1
                if depth == 0:
                    return token.end()
        return len(self.text)

    def _blank(self, at: int) -> int:
        """Skip white space, commas and comments."""
        match = _BLANK.match(self.text, at)
        return match.end() if match else at

    def _note(self, path: str, at: int) -> str:
        if path in self.wanted:
            self.found.setdefault(path, at)
        return path

    def _parts(self, key: str) -> list[str]:
        return [self.unquote(part) if part[0] in "\"'" else part for part in _PART.findall(key)]


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _unquote_toml(part: str) -> str:
    if "\\" in part and part[0] == '"':
        try:
            return str(tomli.loads(f"_ = {part}")["_"])
        except tomli.TOMLDecodeError:
            pass
    return part[1:-1]


def _unquote_json(part: str) -> str:
    if "\\" in part:
        try:
            return str(json.loads(part))
        except ValueError:
            pass
    return part[1:-1]

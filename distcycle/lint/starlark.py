"""Groups of wheels as Bazel files declare them: ``experimental_requirement_cycles``.

Source: rules_python, ``pip.parse`` (MODULE.bazel) and ``pip_parse`` (WORKSPACE), and
``docs/pypi/circular-dependencies.md`` there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from distcycle.errors import InputError
from distcycle.lint.tokens import Span, Token, Tokens, tokenize

__all__ = ["ATTRIBUTE", "Cycles", "Declaration", "Group", "Member", "parse_declarations"]

ATTRIBUTE = "experimental_requirement_cycles"

_RULES = frozenset({"pip_parse", "multi_pip_parse", "pip_repository"})
_LOCKS = re.compile(r"requirements_(?:lock|darwin|linux|windows|by_platform)|uv_lock")
_LONGEST_EXPRESSION = 60
_LABEL_TOKENS = 1_000
_PLAIN = re.compile(r"""[^"'\\\r\n]*""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A name in a group, as spelled.

    Attributes:
        name: The name.
        span: Where it stands.
        before: The comments on lines of their own above it.
        after: The comments behind it on its line.
    """

    name: str
    span: Span
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A declared group: its name with place and comments, and its members in order."""

    label: Member
    members: tuple[Member, ...]

    @property
    def name(self) -> str:
        """The group's name."""
        return self.label.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycles:
    """A dictionary of groups that stands in a file as a literal.

    Attributes:
        groups: The groups in order.
        span: The whole literal, braces included.
        indent: The white space with which the line of the opening brace begins.
        tail: The comments in front of the closing brace.
    """

    groups: tuple[Group, ...]
    span: Span
    indent: str
    tail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A call that makes a hub of wheels, or a constant of groups where a file makes no call.

    Attributes:
        kind: ``bzlmod`` for a tag (``pip.parse``), ``workspace`` for a rule (``pip_parse``),
            ``constant`` for a dictionary on its own.
        call: What is called, or the constant's name.
        hub: The hub's name; None when it is computed.
        python_version: The version of Python, when it is said as a literal.
        locks: The labels of the hub's lock files that are said as literals.
        cycles: The groups; None when the attribute is left out, or is computed.
        computed: Why the groups cannot be told; ``""`` when they can.
        span: The call, or the constant's value.
    """

    kind: Literal["bzlmod", "workspace", "constant"]
    call: str
    hub: str | None
    python_version: str | None = None
    locks: tuple[str, ...] = ()
    cycles: Cycles | None = None
    computed: str = ""
    span: Span


def parse_declarations(text: str, *, path: str) -> tuple[Declaration, ...]:
    """Read every declaration of a MODULE.bazel, WORKSPACE or .bzl file.

    Args:
        text: The file's text.
        path: The file, as errors name it.

    Returns:
        The declarations in order.

    Raises:
        InputError: The text is no Starlark, or declares nothing.
    """
    file = _File(text, path)
    found = tuple(file.calls()) or tuple(file.constants())
    if not found:
        raise InputError(
            f"expected pip.parse, pip_parse, or a dictionary for {ATTRIBUTE}; found none", path=path
        )
    return found


@dataclass(frozen=True, slots=True)
class _Part:
    """The tokens of one expression, by first index and the index behind the last."""

    start: int
    end: int


class _Computed(Exception):
    """An expression that is no literal."""


class _File:
    """One file: its tokens, and what its names are bound to."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.tokens: Tokens = tokenize(text, path=path)
        self.items = self.tokens.items
        self.bindings: dict[str, list[_Part | str]] = defaultdict(list)
        for start, end in self._statements():
            self._bind(start, end)

    # Names

    def _statements(self) -> Iterator[tuple[int, int]]:
        """Yield the stretches between newlines and semicolons outside brackets."""
        start = at = 0
        while at < len(self.items):
            token = self.items[at]
            if token.kind == "newline" or token.text == ";":
                if at > start:
                    yield start, at
                start = at + 1
            at = self.tokens.closes.get(at, at) + 1

    def _bind(self, start: int, end: int) -> None:
        """Note what a statement does to names; a name that is touched twice is not told."""
        first = self.items[start]
        second = self.items[start + 1].text
        if first.text == "load" and second == "(":
            source = self.items[start + 2]
            for part in list(self.tokens.split(start + 1))[1:]:
                token = self.items[part[0]]
                name = token.string if token.kind == "string" else token.text
                self.bindings[name].append(f"loaded from {source.string}; lint that file")
        elif first.text == "def":
            for part in self.tokens.split(start + 2) if start + 2 in self.tokens.closes else ():
                self.bindings[self.items[part[0]].text].append("a parameter")
        elif first.text == "for":
            self.bindings[second].append("bound by a loop")
        elif first.kind == "name" and second == "=":
            self.bindings[first.text].append(_Part(start + 2, end))
        elif first.kind == "name" and (second in {".", "["} or second.endswith("=")):
            self.bindings[first.text].append("altered after it was bound")

    def _resolve(self, part: _Part) -> _Part:
        """Follow a name to the one literal that it is bound to."""
        token = self.items[part.start]
        if part.end - part.start != 1 or token.kind != "name":
            return part
        bound = self.bindings.get(token.text, [])
        if len(bound) == 1 and isinstance(bound[0], _Part):
            return bound[0]
        reasons = [reason for reason in bound if isinstance(reason, str)]
        otherwise = "bound more than once" if bound else "bound nowhere in this file"
        raise _Computed(f"{token.text} is {reasons[-1] if reasons else otherwise}")

    # Declarations

    def calls(self) -> Iterator[Declaration]:
        """Yield what calls declare."""
        for at, token in enumerate(self.items[1:-1], start=1):
            called = self.items[at - 1]
            if token.text == "(" and called.kind == "name":
                before = self.items[at - 2].text if at > 1 else ""
                if before != "def":
                    yield from self._call(at, called, is_tag=before == ".")

    def _call(self, opening: int, called: Token, *, is_tag: bool) -> Iterator[Declaration]:
        keywords, opaque = self._keywords(opening)
        hub = "hub_name" if is_tag else "name"
        known = called.text == "parse" if is_tag else called.text in _RULES
        if ATTRIBUTE not in keywords and not (known and hub in keywords):
            return
        is_named = is_tag and opening > 2 and self.items[opening - 3].kind == "name"
        start = opening - 3 if is_named else opening - 1
        first, last = self.items[start].span, self.items[self.tokens.closes[opening]].span
        cycles, computed = self._groups(keywords.get(ATTRIBUTE))
        if ATTRIBUTE not in keywords and opaque:
            computed = "it may be among the arguments behind **"
        yield Declaration(
            kind="bzlmod" if is_tag else "workspace",
            call=self.text[first.start : called.end],
            hub=self._string(keywords.get(hub)),
            python_version=self._string(keywords.get("python_version")),
            locks=tuple(self._labels(keywords)),
            cycles=cycles,
            computed=computed,
            span=Span(line=first.line, column=first.column, start=first.start, end=last.end),
        )

    def _keywords(self, opening: int) -> tuple[dict[str, _Part], bool]:
        """The keyword arguments of a call, and whether there are more behind ``**``."""
        keywords: dict[str, _Part] = {}
        opaque = False
        for start, end in self.tokens.split(opening):
            if self.items[start].text == "**":
                opaque = True
            elif end - start > 2 and self.items[start + 1].text == "=":
                keywords[self.items[start].text] = _Part(start + 2, end)
        return keywords, opaque

    def _string(self, part: _Part | None) -> str | None:
        """A string, when it is a literal."""
        if part is None:
            return None
        try:
            part = self._resolve(part)
        except _Computed:
            return None
        token = self.items[part.start]
        return token.string if part.end - part.start == 1 and token.kind == "string" else None

    def _labels(self, keywords: dict[str, _Part]) -> Iterator[str]:
        """Every string in the arguments that name lock files."""
        for name, part in keywords.items():
            if _LOCKS.fullmatch(name):
                for token in self.items[part.start : min(part.end, part.start + _LABEL_TOKENS)]:
                    if token.kind == "string":
                        yield token.string

    def constants(self) -> Iterator[Declaration]:
        """Yield the dictionaries of groups that a file without calls binds to names."""
        for name, bound in self.bindings.items():
            if "cycle" not in name.lower() or not isinstance(bound[0], _Part):
                continue
            if self.items[bound[0].start].text not in {"{", "dict"}:
                continue
            first, last = self.items[bound[0].start].span, self.items[bound[0].end - 1].span
            cycles, computed = self._groups(bound[0])
            if len(bound) > 1:
                cycles, computed = None, f"{name} is altered after it was bound"
            yield Declaration(
                kind="constant",
                call=name,
                hub=name,
                cycles=cycles,
                computed=computed,
                span=Span(line=first.line, column=first.column, start=first.start, end=last.end),
            )

    # Literals

    def _groups(self, part: _Part | None) -> tuple[Cycles | None, str]:
        """The groups, or why they cannot be told."""
        if part is None:
            return None, ""
        try:
            return self._cycles(self._resolve(part)), ""
        except _Computed as reason:
            return None, str(reason)

    def _cycles(self, part: _Part) -> Cycles:
        if self.items[part.start].text != "{" or self.tokens.closes[part.start] != part.end - 1:
            raise _Computed(f"{self._show(part)} is no literal dictionary")
        first, last = self.items[part.start].span, self.items[part.end - 1].span
        span = Span(line=first.line, column=first.column, start=first.start, end=last.end)
        entries = [self._entry(_Part(*entry)) for entry in self.tokens.split(part.start)]
        self._refuse_duplicates([label for label, _ in entries])
        texts = [token for label, members in entries for token in (label, *members)]
        before, after, tail = self._comments(span, texts)

        def member(token: Token) -> Member:
            start = token.start
            return Member(
                name=token.string,
                span=token.span,
                before=tuple(before[start]),
                after=tuple(after[start]),
            )

        groups = tuple(
            Group(label=member(label), members=tuple(map(member, members)))
            for label, members in entries
        )
        line = self.text[first.start - first.column + 1 : first.start]
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        return Cycles(groups=groups, span=span, indent=indent, tail=tail)

    def _entry(self, entry: _Part) -> tuple[Token, list[Token]]:
        """A group's name and members."""
        opening = entry.start + 2
        label, *rest = self.items[entry.start : entry.end]
        is_entry = label.kind == "string" and len(rest) > 2 and rest[0].text == ":"
        if not is_entry or rest[1].text != "[" or self.tokens.closes[opening] != entry.end - 1:
            raise _Computed(f"{self._show(entry)} is no literal list of strings")
        members = []
        for start, end in self.tokens.split(opening):
            if end - start != 1 or self.items[start].kind != "string":
                raise _Computed(f"{self._show(_Part(start, end))} is no literal string")
            members.append(self.items[start])
        for token in (label, *members):
            if not _PLAIN.fullmatch(token.string):
                raise _Computed(f"{token.text} is no plain string")
        return label, members

    def _refuse_duplicates(self, labels: list[Token]) -> None:
        """Bazel evaluates no dictionary with one key twice."""
        seen: set[str] = set()
        for label in labels:
            if label.string in seen:
                problem = f"group {label.string!r} stands twice in one dictionary"
                raise InputError(problem, path=self.path, line=label.line)
            seen.add(label.string)

    def _comments(
        self, span: Span, texts: list[Token]
    ) -> tuple[dict[int, list[str]], dict[int, list[str]], tuple[str, ...]]:
        """Give each comment of a literal to the name before it on its line, else to the next."""
        before: dict[int, list[str]] = defaultdict(list)
        after: dict[int, list[str]] = defaultdict(list)
        tail = []
        at = 0
        for comment in self.tokens.comments:
            if not span.start < comment.start < span.end:
                continue
            while at < len(texts) and texts[at].start < comment.start:
                at += 1
            if at and texts[at - 1].line == comment.line:
                after[texts[at - 1].start].append(comment.text)
            elif at < len(texts):
                before[texts[at].start].append(comment.text)
            else:
                tail.append(comment.text)
        return before, after, tuple(tail)

    def _show(self, part: _Part) -> str:
        """An expression as written, cut short."""
        start, end = self.items[part.start].start, self.items[part.end - 1].end
        text = " ".join(self.text[start:end].split())
        return text if len(text) <= _LONGEST_EXPRESSION else f"{text[:_LONGEST_EXPRESSION]}..."

"""A policy to begin with: every key, with its meaning and its default, as comments."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from distcycle.policy.keys import Key, Section
from distcycle.policy.sections import SECTIONS, TOP

__all__ = ["render_template"]

_INTRODUCTION = (
    "A policy of distcycle. Every key is here with its default, or with an example where nothing "
    "holds by default. To use one, take the '#' away from before it, and from before the header "
    "of its table."
)


def render_template() -> str:
    """Write a policy in which everything but the version is a comment.

    Lines of prose begin with ``# ``, and keys and headers with ``#`` alone.
    """
    lines = [*_prose(_INTRODUCTION), ""]
    for key in TOP.keys:
        lines += [*_key(key), ""]
    for section in SECTIONS:
        lines += [*_section(section), ""]
    return "\n".join(lines)


def _section(section: Section) -> Iterator[str]:
    yield from _prose(section.meaning)
    yield f"#[[{section.name}]]" if section.repeated else f"[{section.name}]"
    for key in section.keys:
        yield from _key(key)


def _key(key: Key) -> Iterator[str]:
    said = f" By default {key.default}." if key.default and key.default != key.example else ""
    yield from _prose(key.meaning + (" Required." if key.required else said))
    yield f"{'' if key.name == 'version' else '#'}{key.name} = {key.example}"


def _prose(text: str) -> list[str]:
    return textwrap.wrap(text.replace("`", "'"), 100, initial_indent="# ", subsequent_indent="# ")

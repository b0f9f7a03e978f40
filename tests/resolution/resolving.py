"""Resolves what a command line names, without running a process for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from distcycle import api
from distcycle.cli.arguments import build_parser
from distcycle.cli.choices import make_request, make_resolvable
from distcycle.metadata import Library, Options
from distcycle.model import Facts
from distcycle.resolution import Rules
from distcycle.scope import Scope

__all__ = ["ways_of"]


@contextmanager
def ways_of(
    words: Sequence[str], index_url: str | None, folder: Path
) -> Iterator[tuple[Library, Rules, list[tuple[Scope, Facts]]]]:
    """The ways in which the one input of a command resolves, with nothing kept between runs.

    Args:
        words: The command; places for ``--find-links`` are in the folder.
        index_url: The index; None for the default one.
        folder: Where the command would be run.

    Raises:
        ResolutionError: There is no answer.
    """
    options = build_parser(words).parse_args(words)
    for name, (value, _) in getattr(options, "defaults", {}).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    (path,) = getattr(options, "inputs", None) or [options.input]
    scope, rules = make_resolvable(api.read(path), options, make_request(options))
    assert rules is not None
    places = tuple(str(folder / place) for place in options.find_links)
    choices = Options(index_url=index_url, find_links=places, cache_dir=None)
    with Library(choices, environ={}) as library:
        ways, _ = api.resolve_scope(scope, library, rules)
        yield library, rules, ways

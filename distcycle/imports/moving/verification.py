"""Whether the texts of a move hold together: they compile, and lack no name that they had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from distcycle.errors import InputError
from distcycle.imports.moving.contents import contents_of
from distcycle.imports.moving.names import BUILTINS, IMPLICIT, names_of_source
from distcycle.imports.moving.sources import Source, parse_source

__all__ = ["verify"]


def verify(
    before: Mapping[str, Source], after: Mapping[str, str], source: str, new: Source
) -> tuple[InputError, ...]:
    """Verify the texts of a move.

    Args:
        before: The modules whose text changes, by name.
        after: Their new texts.
        source: The name of the module that names move out of.
        new: The new module.

    Returns:
        What is wrong with them; empty when nothing is.
    """
    return tuple(_problems(before, after, source, new))


def _problems(
    before: Mapping[str, Source], after: Mapping[str, str], source: str, new: Source
) -> Iterator[InputError]:
    missing = _undefined(before[source])
    yield from _compile_problems(new)
    yield from _name_problems(new, _undefined(new) - missing)
    for name, old in before.items():
        changed = parse_source(old.module, after[name])
        yield from _compile_problems(changed)
        yield from _name_problems(changed, _undefined(changed) - _undefined(old))
    lost = (
        names_of_source(before[source]).bound
        ^ names_of_source(parse_source(before[source].module, after[source])).bound
    )
    for name in sorted(lost):
        problem = "would not be bound as before"
        yield InputError(problem, path=before[source].module.path, key=name)


def _compile_problems(source: Source) -> Iterator[InputError]:
    try:
        compile(source.text, source.module.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        yield InputError(f"would not compile: {error}", path=source.module.path)


def _name_problems(source: Source, names: frozenset[str]) -> Iterator[InputError]:
    for name in sorted(names):
        yield InputError("would not be defined", path=source.module.path, key=name)


def _undefined(source: Source) -> frozenset[str]:
    if contents_of(source).stars:
        return frozenset()
    names = names_of_source(source)
    return names.needed - names.bound - BUILTINS - IMPLICIT

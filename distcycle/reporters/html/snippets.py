"""What can be copied from the page into a policy."""

from __future__ import annotations

import json
from collections.abc import Iterator

from distcycle.findings import Component
from distcycle.reporters.escape import printable
from distcycle.reporters.phrases import list_names

__all__ = ["write_cuts", "write_group", "write_waiver"]


def write_cuts(component: Component) -> Iterator[str]:
    """The first set of breakers as entries of a policy."""
    versions = {member.name: member.version for member in component.packages}
    reason = f"it opens the loop of {list_names(list(versions), 4)}"
    for source, target in component.breakers[0] if component.breakers else ():
        version = versions.get(source)
        yield "[[cut]]"
        yield f"package = {_toml(source)}"
        yield from [f"versions = {_toml(f'=={version}')}"] if version else []
        yield f"requires = {_toml(target)}"
        yield f"reason = {_toml(reason)}"
        yield ""


def write_group(component: Component) -> Iterator[str]:
    """The members as a group of a policy."""
    names = [member.name for member in component.packages]
    yield "[[group]]"
    yield f"name = {_toml(names[0])}"
    yield "packages = ["
    yield from (f"  {_toml(name)}," for name in names)
    yield "]"
    yield f"reason = {_toml(f'a loop of {list_names(names, 4)}')}"


def write_waiver(component: Component) -> Iterator[str]:
    """What accepts a loop of modules: a waiver that names them all."""
    yield "[[waive]]"
    yield f"code = {_toml(component.code)}"
    yield "packages = ["
    yield from (f"  {_toml(member.name)}," for member in component.packages)
    yield "]"
    yield 'reason = "why it may stay"'


def _toml(text: str) -> str:
    """A basic string of TOML, whose escapes are JSON's."""
    return json.dumps(printable(text), ensure_ascii=False)

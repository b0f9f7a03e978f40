"""Where the value of each option comes from: the command line, else a policy, else the default.

Which options there are, what they mean and what holds without them stands in one table,
:data:`distcycle.policy.options.OPTIONS`; how a text becomes a value, in the parser.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from distcycle.metadata.urls import is_url, without_credentials
from distcycle.model import Place
from distcycle.policy import Policy
from distcycle.policy.options import OPTIONS

__all__ = ["Setting", "describe_settings", "settle"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """An option, its value, and who said so.

    Attributes:
        name: Its long name, without dashes.
        value: What holds.
        source: ``command line``, ``default``, or the policy's file and line.
    """

    name: str
    value: object
    source: str


def settle(
    options: argparse.Namespace, defaults: Mapping[str, tuple[object, object]], policy: Policy
) -> list[Setting]:
    """Give every option its value, in place.

    Args:
        options: What was parsed; None where the command line is silent.
        defaults: For each option the default, and what makes its value of a text.
        policy: Its ``[audit]`` table counts where the command line is silent.

    Returns:
        The options that a policy can give, in the order of their table.
    """
    sources = {}
    for dest, (default, kind) in defaults.items():
        name = dest.replace("_", "-")
        if getattr(options, dest) is not None:
            sources[name] = "command line"
        elif name in policy.options:
            place = policy.option_places[name]
            setattr(options, dest, _value_of(policy.options[name], kind))
            sources[name] = f"{place.path}:{place.line}" if place.line else place.path
        else:
            setattr(options, dest, default)
            sources[name] = "default"
    for key in OPTIONS:
        if key.is_path and sources[key.name] not in {"command line", "default"}:
            dest = key.name.replace("-", "_")
            setattr(options, dest, _beside(policy.option_places[key.name], getattr(options, dest)))
    return [
        Setting(
            name=key.name,
            value=getattr(options, key.name.replace("-", "_")),
            source=sources[key.name],
        )
        for key in OPTIONS
    ]


def _value_of(value: object, kind: object) -> object:
    """What the parser would have made of a policy's value."""
    if not isinstance(value, tuple):
        return value
    return kind(",".join(value)) if callable(kind) else list(value)


def _beside(place: Place, value: object) -> object:
    """Paths that a policy names are meant from its folder, wherever the command is run."""
    if isinstance(value, list):
        return [_beside(place, item) for item in value]
    text = str(value)
    return text if is_url(text) else os.path.join(os.path.dirname(place.path), text)


def describe_settings(settings: Sequence[Setting]) -> Iterator[str]:
    """Say of each option what it is and where that was said, a line each.

    Args:
        settings: As :func:`settle` returns them.

    Returns:
        Lines; user names and passwords in URLs are left out.
    """
    defaults = {key.name: key.default or "" for key in OPTIONS}
    rows = [
        (s.name, defaults[s.name] if _is_default(s) else _shown(s.value), s.source)
        for s in settings
    ]
    name_width, value_width = (max(len(row[i]) for row in rows) for i in (0, 1))
    for name, value, source in rows:
        yield f"{name:<{name_width}}  {value:<{value_width}}  {source}"


def _is_default(setting: Setting) -> bool:
    return setting.source == "default" or setting.value == ()


def _shown(value: object) -> str:
    """A value as a policy writes it."""
    listed = list(value) if isinstance(value, tuple) else value
    return without_credentials(json.dumps(listed, ensure_ascii=False))

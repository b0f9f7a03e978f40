"""Reads a JSON report back, so that it can be shown in any other form.

The law: ``render(parse_report(text)) == text`` for every text that the JSON reporter writes. The
records themselves say what each key holds, so no second description can fall behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any, cast, get_args, get_origin, get_type_hints

from distcycle.errors import InputError
from distcycle.findings import CODES, Component, Cycle, Report
from distcycle.reporters.json_report import SCHEMA
from distcycle.reporters.words import IMPORT_CYCLE

__all__ = ["parse_report"]


def parse_report(text: str, *, path: str) -> Report:
    """Read a JSON report.

    Args:
        text: The report, schema ``distcycle-report/1``.
        path: The file, for errors.

    Raises:
        InputError: It is no such report, or says what no report can; with the key.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error.msg}", path=path, line=error.lineno) from None
    except (RecursionError, ValueError):
        raise InputError(
            "not valid JSON: nested too deeply, or too long a number", path=path
        ) from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InputError(f"not a report: expected {SCHEMA!r}", path=path, key="schema")
    try:
        report = _parse_document(document)
        _check(report)
    except _Wrong as wrong:
        raise InputError(wrong.problem, path=path, key=wrong.key or None) from None
    return report


class _Wrong(Exception):
    """A value that is not what its key holds."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(key, problem)
        self.key = key
        self.problem = problem


def _parse_document(document: dict[str, Any]) -> Report:
    tool = document.get("tool")
    if not isinstance(tool, dict):
        raise _Wrong("tool", f"expected an object, found {_kind(tool)}")
    values = {key: value for key, value in document.items() if key not in ("schema", "tool")}
    if "command" in values:
        raise _Wrong("command", _UNKNOWN_KEY)
    try:
        record = _parse_record(Report, {**values, "command": tool.get("command")}, "")
    except _Wrong as wrong:
        # It stands elsewhere in the file than in the record.
        key = "tool.command" if wrong.key == "command" else wrong.key
        raise _Wrong(key, wrong.problem) from None
    return cast("Report", record)


# Values ------------------------------------------------------------------------------------------

_UNKNOWN_KEY = "is not known; the report may be of a newer distcycle"
_KINDS = {
    NoneType: "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


def _kind(value: object) -> str:
    return _KINDS[type(value)]


def _parse_value(kind: Any, value: object, key: str) -> Any:
    """Make a value of a record's type out of JSON's."""
    origin = get_origin(kind)
    if is_dataclass(kind):
        return _parse_record(kind, value, key)
    if origin is tuple:
        return _parse_array(get_args(kind), value, key)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return _parse_mapping(get_args(kind)[1], value, key)
    choices = get_args(kind)
    if choices:  # a type or None
        return None if value is None else _parse_value(choices[0], value, key)
    if issubclass(kind, Enum):
        return _parse_choice(kind, value, key)
    # Not isinstance: to Python True is an integer.
    if type(value) is not kind:
        raise _Wrong(key, f"expected {_KINDS[kind]}, found {_kind(value)}")
    if type(value) is int and value < 0:
        raise _Wrong(key, f"expected no less than 0, found {value}")
    return value


def _parse_record(record: Any, value: object, key: str) -> Any:
    if not isinstance(value, dict):
        raise _Wrong(key, f"expected an object, found {_kind(value)}")
    known = _fields_of(record)
    for name in value:
        if name not in known:
            raise _Wrong(_join(key, name), _UNKNOWN_KEY)
    for name, (_, is_optional) in known.items():
        # A report that was saved before the key was added has none.
        if name not in value and not is_optional:
            raise _Wrong(_join(key, name), "is missing")
    return record(
        **{name: _parse_value(known[name][0], v, _join(key, name)) for name, v in value.items()}
    )


@cache
def _fields_of(record: type) -> dict[str, tuple[Any, bool]]:
    """The type of each field, and whether the record does without it."""
    kinds = get_type_hints(record)
    return {f.name: (kinds[f.name], f.default is not MISSING) for f in fields(record)}


def _parse_array(kinds: tuple[Any, ...], value: object, key: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _Wrong(key, f"expected an array, found {_kind(value)}")
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(kinds) != len(value):
        raise _Wrong(key, f"expected {len(kinds)} values, found {len(value)}")
    return tuple(
        _parse_value(kind, item, f"{key}[{index}]")
        for index, (kind, item) in enumerate(zip(kinds, value, strict=True))
    )


def _parse_mapping(kind: Any, value: object, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong(key, f"expected an object, found {_kind(value)}")
    return {name: _parse_value(kind, item, _join(key, name)) for name, item in value.items()}


def _parse_choice(kind: type[Enum], value: object, key: str) -> Enum:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(str(choice.value) for choice in kind)
        raise _Wrong(key, f"expected one of {known}, found {value!r:.40}") from None


def _join(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


# What the types do not say -----------------------------------------------------------------------


def _check(report: Report) -> None:
    """Refuse what would make a form fail or lie."""
    names = {row.name for row in report.targets}
    for key, thing in _parts(report):
        for target in getattr(thing, "targets", ()):
            if target not in names:
                raise _Wrong(f"{key}.targets", f"{target!r:.80} is none of the report's targets")
        code = getattr(thing, "code", None)
        known = _LOOPS if isinstance(thing, Component) else CODES
        if code is not None and code not in known:
            raise _Wrong(f"{key}.code", f"{code!r:.80} is no code that is known here")
        rule = getattr(thing, "accepted_by", None)
        if rule is not None and rule.kind not in _RULES:
            raise _Wrong(f"{key}.accepted_by.kind", f"{rule.kind!r:.80} is no kind of rule")
    _check_lines(report)
    for index, component in enumerate(report.components):
        if not report.targets and component.code != IMPORT_CYCLE:
            raise _Wrong("targets", "expected at least one, as there are loops")
        _check_hops(component, f"components[{index}]")
    for index, opened in enumerate(report.opened):
        if len(opened.cuts) != len(opened.reasons):
            raise _Wrong(f"opened[{index}].reasons", "expected one for each cut")


_LOOPS = ("wheel-cycle", "extra-cycle", IMPORT_CYCLE)
_LINES = ("line", "bound_line", "back_line")
_RULES = ("waive", "group", "baseline")


def _parts(report: Report) -> Iterator[tuple[str, Any]]:
    for i, component in enumerate(report.components):
        key = f"components[{i}]"
        yield key, component
        for name in ("variants", "edges", "cycles"):
            yield from ((f"{key}.{name}[{j}]", v) for j, v in enumerate(getattr(component, name)))
    for name in ("findings", "opened", "changes"):
        yield from ((f"{name}[{i}]", v) for i, v in enumerate(getattr(report, name)))


def _check_lines(report: Report) -> None:
    for name in ("components", "findings", "surveys"):
        for key, line in _lines(getattr(report, name), name):
            if line == 0:
                raise _Wrong(key, "expected no less than 1, found 0")


def _lines(thing: Any, key: str) -> Iterator[tuple[str, int]]:
    """Every line that a record or one within it names."""
    if isinstance(thing, tuple):
        for at, item in enumerate(thing):
            yield from _lines(item, f"{key}[{at}]")
    elif is_dataclass(thing):
        for each in fields(thing):
            value = getattr(thing, each.name)
            if each.name in _LINES and value is not None:
                yield f"{key}.{each.name}", value
            else:
                yield from _lines(value, f"{key}.{each.name}")


def _check_hops(component: Component, key: str) -> None:
    for index, cycle in enumerate(component.cycles):
        problem = _hop_problem(cycle, len(component.edges))
        if problem:
            raise _Wrong(f"{key}.cycles[{index}].hops", problem)


def _hop_problem(cycle: Cycle, edges: int) -> str:
    if not cycle.packages or len(cycle.hops) != len(cycle.packages):
        return "expected one for each package, and at least one"
    if not all(cycle.hops) or any(at >= edges for hop in cycle.hops for at in hop):
        return "expected numbers of the component's edges"
    return ""

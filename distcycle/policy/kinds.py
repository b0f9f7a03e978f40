"""What the value of a policy's key may be: how it is read, and how a schema says the same.

A schema's pattern is checked here too, before the value itself is read, so that whatever is read
is admitted by the schema. The other way there is more than patterns can say: whether a marker can
be evaluated, whether a version is one, whether a platform is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from packaging.markers import InvalidMarker, Marker
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from distcycle.errors import TargetError
from distcycle.findings import CODES, Severity
from distcycle.markers import UnreadableMarker, atoms_of, parse_expression
from distcycle.targets import MARKER_VARIABLES, PLATFORMS, find_platforms

__all__ = [
    "BOOLEAN",
    "CODE",
    "DATE",
    "LABEL",
    "MARKER",
    "MEMBER_PATTERN",
    "NAME",
    "NAME_PATTERN",
    "PLATFORM",
    "REASON",
    "SEVERITY",
    "SPECIFIERS",
    "TEXT",
    "Kind",
    "Refused",
    "describe_value",
    "integer_kind",
    "number_kind",
    "suggest",
    "word_kind",
]


class Refused(ValueError):
    """A value is not of its kind; the text says what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a value may be.

    Attributes:
        noun: What is expected, with its article, such as ``a date``.
        read: Makes what the policy holds out of what TOML holds; raises :class:`Refused`.
        schema: The same in JSON Schema.
    """

    noun: str
    read: Callable[[object], Any]
    schema: Mapping[str, object]


def suggest(name: str, known: Iterable[str]) -> str:
    """The end of an error that names the nearest known name; ``""`` when none is near."""
    near = get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


_NOUNS = {dict: "a table", list: "an array", date: "a date"}


def describe_value(value: object) -> str:
    """A value as an error shows it: what is short as it stands, anything else by its type."""
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else f"{value[:57]}...")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value) if abs(value) < 10**9 else "another number"
    return _NOUNS.get(type(value), "a time, or a date with a time")


def _refusal(noun: str, value: object, hint: str = "") -> Refused:
    return Refused(f"expected {noun}, found {describe_value(value)}{hint}")


# Text --------------------------------------------------------------------------------------------


def _text_kind(
    noun: str, pattern: str, convert: Callable[[str], Any] = str, **schema: object
) -> Kind:
    compiled = re.compile(pattern)

    def read(value: object) -> Any:
        if not isinstance(value, str) or not compiled.search(value):
            raise _refusal(noun, value)
        return convert(value)

    return Kind(noun=noun, read=read, schema={"type": "string", "pattern": pattern, **schema})


def word_kind(noun: str, words: Collection[str], convert: Callable[[str], Any] = str) -> Kind:
    """A kind whose values are a few words.

    Args:
        noun: What is expected.
        words: The words.
        convert: Makes the value of a word.
    """

    def read(value: object) -> Any:
        if not isinstance(value, str) or value not in words:
            hint = suggest(value, words) if isinstance(value, str) else ""
            raise _refusal(noun, value, hint)
        return convert(value)

    return Kind(noun=noun, read=read, schema={"enum": list(words)})


def _read_specifiers(text: str) -> SpecifierSet:
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        raise _refusal(_SPECIFIERS, text) from None


def _read_specifiers_or_version(value: object) -> SpecifierSet:
    if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)*", value.strip()):
        version = value.strip()
        exact = f"=={version}" if version.count(".") > 1 else f"=={version}.*"
        raise _refusal(_SPECIFIERS, value, f"; did you mean {exact!r}?")
    specifiers: SpecifierSet = _CLAUSES.read(value)
    return specifiers


def _read_marker(text: str) -> Marker:
    try:
        marker = Marker(text)
        atoms = list(atoms_of(parse_expression(str(marker))))
        # Whether two values can be compared depends on the operator and the literal alone.
        for atom in atoms:
            if atom.variable in MARKER_VARIABLES:
                atom.holds("3")
    except (InvalidMarker, UnreadableMarker, RecursionError) as error:
        reason = str(error).partition("\n")[0] or "nested too deeply"
        raise _refusal(_MARKER, text, f": {reason}") from None
    for atom in atoms:
        if atom.variable not in MARKER_VARIABLES:
            raise Refused(f"expected {_MARKER}; no environment has {atom.variable!r}")
    return marker


_SPECIFIERS = "version specifiers such as '>=2,<3'"
_CLAUSE = r"\s*(===|==|~=|!=|<=|>=|<|>)\s*[^\s,;()]+\s*"
_MARKER = "a marker such as \"sys_platform == 'linux'\""
_NAME = "[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?"

TEXT = _text_kind("a string that is not empty", r"\S")
REASON = _text_kind("a reason, in words", r"\S", str.strip)
NAME = _text_kind("a project's name, without extras and versions", f"^{_NAME}$", canonicalize_name)
NAME_PATTERN = _text_kind(
    "a project's name, or a pattern with * and ?, without extras and versions",
    r"^[A-Za-z0-9*?]([A-Za-z0-9._*?-]*[A-Za-z0-9*?])?$",
    canonicalize_name,
)
MEMBER_PATTERN = _text_kind(
    "a project's or module's name, or a pattern with * and ?, without extras and versions",
    r"^[A-Za-z0-9_*?]([A-Za-z0-9._*?-]*[A-Za-z0-9_*?])?$",
)
LABEL = _text_kind("a name of letters, digits, '.', '_' and '-'", f"^{_NAME}$")
MARKER = _text_kind(_MARKER, r"\S", _read_marker)
_CLAUSES = _text_kind(_SPECIFIERS, f"^{_CLAUSE}(,{_CLAUSE})*$", _read_specifiers)
SPECIFIERS = Kind(noun=_SPECIFIERS, read=_read_specifiers_or_version, schema=_CLAUSES.schema)
SEVERITY = word_kind(
    "'allow', 'warn' or 'deny'", [severity.value for severity in Severity], Severity
)
CODE = word_kind("a code (see 'distcycle codes')", list(CODES))


# Platforms ---------------------------------------------------------------------------------------

_PLATFORMS = [platform.name for platform in PLATFORMS]
_FAMILIES = dict.fromkeys(f"{name.partition('_')[0]}_*" for name in _PLATFORMS)
_PLATFORM = "a platform (see 'distcycle targets'), or a pattern with * and ?"
_PLATFORM_PATTERN = r"^[a-z0-9_*?]*[*?][a-z0-9_*?]*$"


def _read_platform(value: object) -> str:
    if isinstance(value, str):
        if value in _PLATFORMS:
            return value
        if re.search(_PLATFORM_PATTERN, value) and any(fnmatchcase(p, value) for p in _PLATFORMS):
            return value
        raise _refusal(_PLATFORM, value, _suggest_platform(value))
    raise _refusal(_PLATFORM, value)


def _suggest_platform(name: str) -> str:
    """Names that ``--platform`` knows by another spelling are not near but meant."""
    if f"{name}_*" in _FAMILIES:
        return f"; did you mean '{name}_*'?"
    try:
        return f"; did you mean {find_platforms(name)[0].base!r}?"
    except TargetError:
        return suggest(name.lower(), [*_PLATFORMS, *_FAMILIES])


PLATFORM = Kind(
    noun=_PLATFORM,
    read=_read_platform,
    schema={"anyOf": [{"enum": _PLATFORMS}, {"type": "string", "pattern": _PLATFORM_PATTERN}]},
)


# Other values ------------------------------------------------------------------------------------


def _read_boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise _refusal("true or false", value)
    return value


def _read_date(value: object) -> date:
    if type(value) is date:  # a datetime is a date too, to Python
        return value
    if isinstance(value, str) and re.search(_DATE_PATTERN, value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise _refusal(_DATE, value)


_DATE = "a date such as 2027-03-01"
_DATE_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"

BOOLEAN = Kind(noun="true or false", read=_read_boolean, schema={"type": "boolean"})
DATE = Kind(
    noun=_DATE,
    read=_read_date,
    schema={"type": "string", "format": "date", "pattern": _DATE_PATTERN},
)


def integer_kind(least: int, most: int | None = None) -> Kind:
    """The kind of integers within bounds, both included."""
    span = f"of at least {least}" if most is None else f"from {least} to {most}"
    noun = str(least) if least == most else f"an integer {span}"

    def read(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _refusal(noun, value)
        if value < least or (most is not None and value > most):
            raise _refusal(noun, value)
        return value

    bounds = {"minimum": least} | ({} if most is None else {"maximum": most})
    return Kind(noun=noun, read=read, schema={"type": "integer", **bounds})


def number_kind(most: int) -> Kind:
    """The kind of numbers above 0, up to a bound that is included."""
    noun = f"a number above 0, at most {most}"

    def read(value: object) -> float:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise _refusal(noun, value)
        if not 0 < value <= most:
            raise _refusal(noun, value)
        return float(value)

    schema = {"type": "number", "exclusiveMinimum": 0, "maximum": most}
    return Kind(noun=noun, read=read, schema=schema)

"""Poetry's version constraints, said as PEP 440 specifiers and as markers on the Python version.

Poetry adds to PEP 440 the caret, the tilde, bare versions, white space in place of commas, and
``||`` between alternatives. It writes an excluded version as a gap between two alternatives
(``<2.0 || >2.0``); such gaps are folded back into ``!=``, so that one specifier set says it all.

Source: https://python-poetry.org/docs/dependency-specification/#version-constraints
"""

from __future__ import annotations

import contextlib
import functools
import re
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

__all__ = ["Constraint", "parse_constraint", "python_markers"]

_CLAUSE = re.compile(
    r"[\s,]*(?P<operator>===|==|~=|!=|<>|<=|>=|\^|~|=|<|>)?\s*(?P<version>\*|v?[0-9][^\s,]*)"
)
# Most constraints are PEP 440 already, and need not be taken apart.
_PLAIN = re.compile(r"(?:(?:^|,)\s*(?:[<>!=~]=|[<>])\s*[0-9][^\s,|]*)+\Z")
# A gap of more minor versions than this stays two alternatives.
_MOST_EXCLUDED = 64


@dataclass(frozen=True, slots=True)
class _Clause:
    """One comparison; ``star`` says that the version is a prefix (``==1.2.*``)."""

    operator: str
    version: Version
    star: bool = False

    def __str__(self) -> str:
        return f"{self.operator}{self.version}{'.*' if self.star else ''}"


_Range = tuple[_Clause, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A constraint in PEP 440's operators.

    Attributes:
        text: Comma-separated specifiers; ``||`` between alternatives; ``""`` for any version.
        specifier: The same as a set; None when only alternatives can say it.
    """

    text: str
    specifier: SpecifierSet | None


@functools.lru_cache(maxsize=16384)
def parse_constraint(text: str) -> Constraint:
    """Read a version constraint.

    Args:
        text: The constraint, such as ``^1.2`` or ``>=1.2,<2.0 || >2.0``.

    Raises:
        ValueError: It cannot be read; the message says what was found.
    """
    if _PLAIN.match(text):
        with contextlib.suppress(InvalidSpecifier):
            return Constraint(text=text, specifier=SpecifierSet(text))
    ranges = _fold_gaps(_parse_ranges(text))
    joined = " || ".join(",".join(map(str, clauses)) for clauses in ranges)
    return Constraint(text=joined, specifier=SpecifierSet(joined) if len(ranges) == 1 else None)


@functools.lru_cache(maxsize=4096)
def python_markers(text: str) -> tuple[str, ...]:
    """Say a constraint on Python as markers.

    Args:
        text: The constraint, such as ``~2.7 || ^3.4``.

    Returns:
        One marker for each alternative, any of which may hold; ``()`` when every Python is
        admitted.

    Raises:
        ValueError: It cannot be read.
    """
    ranges = _parse_ranges(text)
    if not all(ranges):
        return ()
    return tuple(" and ".join(map(_python_atom, clauses)) for clauses in ranges)


def _parse_ranges(text: str) -> list[_Range]:
    return [_parse_range(part) for part in re.split(r"\|\|?", text)]


def _parse_range(text: str) -> _Range:
    clauses: list[_Clause] = []
    end = 0
    while match := _CLAUSE.match(text, end):
        clauses += _parse_clause(match["operator"] or "", match["version"])
        end = match.end()
    if text[end:].strip(" \t,") or end == 0:
        raise ValueError(f"invalid version constraint {text.strip()[:100]!r}")
    return tuple(clauses)


def _parse_clause(operator: str, version_text: str) -> list[_Clause]:
    if version_text == "*":
        return []
    star = version_text.endswith(".*")
    version = Version(version_text.removesuffix(".*"))
    operator = {"": "==", "=": "==", "<>": "!="}.get(operator, operator)
    if operator == "^":
        return _between(version, _next_breaking(version))
    if operator == "~" or (operator == "~=" and len(version.release) == 1):
        return _between(version, _bump(version, min(len(version.release), 2)))
    # Poetry reads ">=3.6.*" as ">=3.6", and so does every tool that still meets it.
    return [_Clause(operator, version, star and operator in {"==", "!="})]


def _between(low: Version, high: Version) -> list[_Clause]:
    return [_Clause(">=", low), _Clause("<", high)]


def _next_breaking(version: Version) -> Version:
    """The upper bound of a caret: the first part that is not zero goes up, else the last part."""
    first = next((i for i, part in enumerate(version.release) if part), len(version.release) - 1)
    return _bump(version, first + 1)


def _bump(version: Version, length: int) -> Version:
    """The release whose first ``length`` parts are next after those of ``version``."""
    parts = list(version.release[:length])
    parts[-1] += 1
    epoch = f"{version.epoch}!" if version.epoch else ""
    return Version(epoch + ".".join(map(str, parts)))


def _fold_gaps(ranges: list[_Range]) -> list[_Range]:
    if not all(ranges):
        return [()]
    folded = ranges[:1]
    for clauses in ranges[1:]:
        gap = _find_gap(folded[-1], clauses)
        if gap is None:
            folded.append(clauses)
        else:
            below = tuple(clause for clause in folded[-1] if clause.operator != "<")
            folded[-1] = (*below, *gap, *clauses[1:])
    return folded


def _find_gap(left: _Range, right: _Range) -> list[_Clause] | None:
    """The exclusions that say what stands between two ranges; None when none do."""
    highs = [clause for clause in left if clause.operator == "<"]
    low = right[0]
    if len(highs) != 1 or any(clause.operator in {"<=", "==", "===", "~="} for clause in left):
        return None
    high = highs[0].version
    if low.operator == ">" and low.version == high:
        return [_Clause("!=", high)]
    if low.operator == ">=":
        return _find_prefixes(high, low.version)
    return None


def _find_prefixes(low: Version, high: Version) -> list[_Clause] | None:
    """``!=2.1.*,!=2.2.*`` for the gap from 2.1 to 2.3; None when it has no such form."""
    *head, first = low.release
    *other, last = high.release
    if head != other or not head or low.epoch or high.epoch:
        return None
    if not 0 < last - first <= _MOST_EXCLUDED:
        return None
    prefixes = (".".join(map(str, (*head, part))) for part in range(first, last))
    return [_Clause("!=", Version(prefix), star=True) for prefix in prefixes]


def _python_atom(clause: _Clause) -> str:
    """One comparison as a marker.

    ``python_version`` has two parts, so it can say a bound between minor versions; what lies inside
    one needs ``python_full_version``.
    """
    operator, version = clause.operator, clause.version
    if clause.star or operator == "~=":
        return _python_prefix(clause)
    short = len(version.release) <= 2 and not version.is_prerelease
    if short and operator in {">=", "<", "==", "!="}:
        return f'python_version {operator} "{version}"'
    return f'python_full_version {operator} "{version}"'


def _python_prefix(clause: _Clause) -> str:
    low, length = clause.version, len(clause.version.release)
    if clause.star and length == 2:
        return f'python_version {clause.operator} "{low}"'
    high = _bump(low, length if clause.star else length - 1)
    if clause.operator == "!=":
        below, above = _python_atom(_Clause("<", low)), _python_atom(_Clause(">=", high))
        return f"({below} or {above})"
    return f"{_python_atom(_Clause('>=', low))} and {_python_atom(_Clause('<', high))}"

"""Members that entries of several lock formats share, and problems that cost one entry only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from urllib.parse import unquote

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidName, NormalizedName, canonicalize_name
from packaging.version import Version

from distcycle.errors import InputError
from distcycle.model import Place, Problem, ProblemCode
from distcycle.readers.fields import Fields, describe
from distcycle.requirements import parse_marker, parse_specifier

__all__ = [
    "Problems",
    "elements",
    "filename_of",
    "members",
    "read_marker",
    "read_markers",
    "read_name",
    "read_names",
    "read_specifier",
    "read_version",
]

T = TypeVar("T")


class Problems:
    """The entries that could not be read, in the order in which they were met.

    Args:
        path: The input, as the user named it.
    """

    __slots__ = ("found", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: list[Problem] = []

    def tolerate(
        self, *, code: ProblemCode = "unreadable-metadata", package: NormalizedName | None = None
    ) -> _Tolerance:
        """Turn an :class:`InputError` of the body into a problem, and go on behind it.

        Args:
            code: The kind of problem.
            package: The project whose entry is being read, when its name could be.
        """
        return _Tolerance(self, code, package)

    def read_each(
        self,
        fields: Fields,
        name: str,
        read_one: Callable[[Fields], T],
        *,
        code: ProblemCode = "unreadable-metadata",
        package: NormalizedName | None = None,
    ) -> Iterator[T]:
        """Read the tables of a member array; each that cannot be read becomes a problem.

        Args:
            fields: The table that holds the array.
            name: The array's key in it.
            read_one: Reads one table.
            code: The kind of problem.
            package: The project whose entry is being read.
        """
        with self.tolerate(code=code, package=package) as tolerance:
            for key, value in members(fields, name):
                with tolerance:
                    yield read_one(Fields(value, path=fields.path, key=key))


class _Tolerance:
    __slots__ = ("code", "package", "problems")

    def __init__(
        self, problems: Problems, code: ProblemCode, package: NormalizedName | None
    ) -> None:
        self.problems = problems
        self.code = code
        self.package = package

    def __enter__(self) -> _Tolerance:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if not isinstance(error, InputError):
            return False
        place = Place(path=error.path or self.problems.path, line=error.line, key=error.key)
        self.problems.found.append(
            Problem(code=self.code, message=error.problem, package=self.package, place=place)
        )
        return True


def members(fields: Fields, name: str) -> list[tuple[str, Any]]:
    """The elements of a member array, each with its key path; none when absent.

    Raises:
        InputError: The member is not an array.
    """
    return elements(fields.value.get(name, []), path=fields.path, key=fields.key_of(name))


def elements(value: object, *, path: str, key: str) -> list[tuple[str, Any]]:
    """The elements of an array that stands at ``key``, each with its key path.

    Raises:
        InputError: ``value`` is not an array.
    """
    if not isinstance(value, list):
        raise InputError(f"expected an array, found {describe(value)}", path=path, key=key)
    return [(f"{key}[{i}]", element) for i, element in enumerate(value)]


def read_name(fields: Fields, name: str = "name") -> NormalizedName:
    """A project, extra or group name that must be there, normalised (PEP 503).

    Raises:
        InputError: It is absent or not a valid name.
    """
    text = fields.need(name, str)
    try:
        return canonicalize_name(text, validate=True)
    except InvalidName:
        raise fields.error(f"expected a project name, found {text[:100]!r}", name) from None


def read_names(fields: Fields, name: str) -> tuple[NormalizedName, ...]:
    """A member array of names (or one name), normalised, in file order; empty when absent.

    Raises:
        InputError: It is neither a string nor an array of strings.
    """
    value = fields.value.get(name)
    texts = [value] if isinstance(value, str) else fields.strings(name)
    return tuple(canonicalize_name(text) for text in texts)


def read_version(fields: Fields, name: str = "version") -> Version | None:
    """A version (PEP 440); None when absent.

    Raises:
        InputError: It is not a valid version.
    """
    text = fields.get(name, str)
    if text is None:
        return None
    try:
        return Version(text)
    except ValueError:  # InvalidVersion, or a number with too many digits
        raise fields.error(f"expected a version, found {text[:100]!r}", name) from None


def read_specifier(fields: Fields, name: str = "requires-python") -> SpecifierSet | None:
    """A version specifier (PEP 440); None when absent.

    Raises:
        InputError: It is not a valid specifier.
    """
    text = fields.get(name, str)
    if text is None:
        return None
    specifier = parse_specifier(text)
    if specifier is None:
        raise fields.error(f"expected a version specifier, found {text[:100]!r}", name)
    return specifier


def read_marker(fields: Fields, name: str = "marker") -> Marker | None:
    """An environment marker; None when absent or empty.

    Raises:
        InputError: It is not a valid marker.
    """
    text = fields.get(name, str)
    return _marker(fields, name, text) if text else None


def read_markers(fields: Fields, name: str) -> tuple[Marker, ...]:
    """A member array of environment markers; empty when absent.

    Raises:
        InputError: One is not a valid marker.
    """
    texts = fields.strings(name)
    return tuple(_marker(fields, f"{name}[{i}]", text) for i, text in enumerate(texts))


def _marker(fields: Fields, name: str, text: str) -> Marker:
    marker = parse_marker(text)
    if isinstance(marker, str):
        raise fields.error(f"expected an environment marker, found {text[:100]!r}", name)
    return marker


def filename_of(place: str) -> str:
    """The name of the file that a URL or a path leads to."""
    name = place.partition("#")[0].partition("?")[0].replace("\\", "/").rpartition("/")[2]
    return unquote(name) if "%" in name else name

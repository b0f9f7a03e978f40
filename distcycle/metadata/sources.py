"""What a source distribution needs to be built, read out of its pyproject.toml; nothing is run.

Source: PEP 518 and PEP 517, https://packaging.python.org/specifications/pyproject-toml/
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

import tomli

from distcycle.errors import MetadataError
from distcycle.metadata.archive import read_pyproject
from distcycle.metadata.artefacts import Artefacts, Part
from distcycle.metadata.cache import Cache
from distcycle.metadata.index import Listings
from distcycle.metadata.locations import Locations
from distcycle.model import Artefact, BuildSystem, Unknown
from distcycle.requirements import parse_requirement

if TYPE_CHECKING:
    from distcycle.metadata.http import Client

__all__ = ["Sources", "parse_build_system"]

_DEFAULT = ("setuptools>=40.8.0",)
"""What pip and build install where nothing is said (PEP 518 asks for setuptools at the least)."""


class Sources:
    """Finds what source distributions need to be built; safe to use from several threads.

    Args:
        client: Gives the client, when the network is needed.
        cache: Where what was read is kept between runs.
        listings: What indexes and places for ``--find-links`` list.
        locations: Which of them to ask.
        offline: Whether the network must not be used.
    """

    def __init__(
        self,
        client: Callable[[], Client],
        cache: Cache,
        listings: Listings,
        locations: Locations,
        *,
        offline: bool,
    ) -> None:
        self._parts = Artefacts(client, cache, listings, locations, offline=offline, part=_PART)

    def build_system(self, sdist: Artefact) -> BuildSystem | Unknown:
        """What a source distribution needs to be built, or why that could not be had.

        Raises:
            MetadataError: A whole file was read whose hash is not the one that the input gives.
        """
        found = self._parts.find(sdist)
        if isinstance(found, Unknown):
            return found
        try:
            return _of_record(json.loads(found))
        except (MetadataError, ValueError, RecursionError) as error:
            return Unknown(reason=f"{sdist.filename}: {error}")


def parse_build_system(data: bytes | None) -> BuildSystem:
    """Read ``[build-system]`` of a pyproject.toml.

    Args:
        data: The file; None when there is none.

    Returns:
        What it says, else the default.

    Raises:
        MetadataError: It is not UTF-8 or not TOML, or the table is not as specified.
    """
    return _of_record({} if data is None else _record_of(data))


def _read_record(file: BinaryIO, filename: str) -> bytes:
    """The table as JSON: all that is kept of an archive, as small as what is used of it."""
    data = read_pyproject(file, filename)
    record = {} if data is None else _record_of(data)
    _of_record(record)
    return json.dumps(record, separators=(",", ":")).encode()


_PART = Part("build-system", _read_record)


def _record_of(data: bytes) -> dict[str, Any]:
    """The requirements that a pyproject.toml gives; an empty table where it leaves them open.

    Of a build system that needs nothing, such as one in the source tree itself (``backend-path``),
    the list is empty: that ends the walk.
    """
    try:
        document = tomli.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise MetadataError("pyproject.toml is not UTF-8") from None
    except tomli.TOMLDecodeError as error:
        raise MetadataError(f"pyproject.toml:{error.lineno}: not valid TOML") from None
    except (RecursionError, ValueError):
        raise MetadataError("pyproject.toml is not valid TOML: nested too deeply") from None
    if "build-system" not in document:
        return {}
    table = document["build-system"]
    if not isinstance(table, dict):
        raise MetadataError("pyproject.toml: build-system: expected a table")
    if "requires" not in table:
        raise MetadataError("pyproject.toml: build-system.requires: expected an array, found none")
    requires = table["requires"]
    if not isinstance(requires, list) or not all(isinstance(line, str) for line in requires):
        raise MetadataError("pyproject.toml: build-system.requires: expected an array of strings")
    return {"requires": requires}


def _of_record(record: dict[str, Any]) -> BuildSystem:
    lines = record.get("requires")
    try:
        requires = tuple(map(parse_requirement, _DEFAULT if lines is None else lines))
    except ValueError as error:
        raise MetadataError(f"pyproject.toml: build-system.requires: {error}") from None
    return BuildSystem(requires=requires, is_default=lines is None)

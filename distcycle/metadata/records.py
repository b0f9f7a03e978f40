"""Records as JSON values and back, for the bundle and the page cache.

What is read back equals what was written. Requirements, specifiers and versions stand as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from distcycle.model import Artefact, Metadata, Unknown
from distcycle.requirements import parse_requirement, parse_specifier

__all__ = [
    "BadRecord",
    "dump_artefact",
    "dump_metadata",
    "expect",
    "load_artefact",
    "load_metadata",
    "load_unknown",
]

T = TypeVar("T")
Json = dict[str, Any]


class BadRecord(ValueError):
    """A value is not the record that was expected there.

    Args:
        key: The path to it, such as ``files.torch.2.0.0[0].filename``.
        problem: What was expected.
    """

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key}: {problem}")
        self.key = key
        self.problem = problem


def expect(value: object, kind: type[T], key: str) -> T:
    """A value of a given type.

    Raises:
        BadRecord: It has another type.
    """
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise BadRecord(key, f"expected {_NOUNS[kind]}")
    return value


_NOUNS: Mapping[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    int: "an integer",
}


def dump_artefact(artefact: Artefact) -> Json:
    """An artefact as JSON; what it does not have is left out."""
    record: Json = {"filename": artefact.filename}
    for name in ("url", "path", "registry", "size_bytes", "yanked"):
        if (value := getattr(artefact, name)) is not None:
            record[name] = value
    if artefact.hashes:
        record["hashes"] = dict(artefact.hashes)
    if artefact.metadata_hashes is not None:
        record["metadata_hashes"] = dict(artefact.metadata_hashes)
    if artefact.requires_python is not None:
        record["requires_python"] = str(artefact.requires_python)
    if artefact.uploaded is not None:
        record["uploaded"] = artefact.uploaded.isoformat()
    return record


def load_artefact(value: object, key: str) -> Artefact:
    """An artefact from JSON.

    Raises:
        BadRecord: It is none.
    """
    record = expect(value, dict, key)
    hashes = record.get("metadata_hashes")
    return Artefact(
        filename=expect(record.get("filename"), str, f"{key}.filename"),
        url=_optional(record, "url", str, key),
        path=_optional(record, "path", str, key),
        registry=_optional(record, "registry", str, key),
        hashes=_hashes(record.get("hashes", {}), f"{key}.hashes"),
        size_bytes=_optional(record, "size_bytes", int, key),
        requires_python=_specifier(record, key),
        yanked=_optional(record, "yanked", str, key),
        metadata_hashes=None if hashes is None else _hashes(hashes, f"{key}.metadata_hashes"),
        uploaded=_moment(record, key),
    )


def dump_metadata(metadata: Metadata | Unknown) -> Json:
    """What an artefact says, or why that is unknown, as JSON; empty fields are left out."""
    if isinstance(metadata, Unknown):
        return {"unknown": metadata.reason}
    record: Json = {
        "name": metadata.name,
        "version": metadata.version,
        "metadata_version": metadata.metadata_version,
        "requires": [requirement.text for requirement in metadata.requires],
        "provides_extra": list(metadata.provides_extra),
        "dynamic": sorted(metadata.dynamic),
        "problems": list(metadata.problems),
    }
    if metadata.requires_python is not None:
        record["requires_python"] = str(metadata.requires_python)
    return {name: value for name, value in record.items() if value not in (None, "", [])}


def load_metadata(value: object, key: str) -> Metadata | Unknown:
    """What an artefact says, or why that is unknown, from JSON.

    Raises:
        BadRecord: It is neither.
    """
    record = expect(value, dict, key)
    if "unknown" in record:
        return load_unknown(record, key)
    name = _optional(record, "name", str, key)
    lines = _strings(record, "requires", key)
    try:
        requires = tuple(map(parse_requirement, lines))
    except ValueError as error:
        raise BadRecord(f"{key}.requires", str(error)) from None
    return Metadata(
        name=None if name is None else canonicalize_name(name),
        version=_optional(record, "version", str, key),
        requires=requires,
        provides_extra=tuple(map(canonicalize_name, _strings(record, "provides_extra", key))),
        requires_python=_specifier(record, key),
        metadata_version=_optional(record, "metadata_version", str, key) or "",
        dynamic=frozenset(_strings(record, "dynamic", key)),
        problems=tuple(_strings(record, "problems", key)),
    )


def load_unknown(record: Json, key: str) -> Unknown:
    """A reason from JSON.

    Raises:
        BadRecord: It is none.
    """
    return Unknown(reason=expect(record["unknown"], str, f"{key}.unknown"))


def _optional(record: Json, name: str, kind: type[T], key: str) -> T | None:
    value = record.get(name)
    return None if value is None else expect(value, kind, f"{key}.{name}")


def _strings(record: Json, name: str, key: str) -> list[str]:
    values = expect(record.get(name, []), list, f"{key}.{name}")
    return [expect(value, str, f"{key}.{name}[{i}]") for i, value in enumerate(values)]


def _hashes(value: object, key: str) -> tuple[tuple[str, str], ...]:
    record = expect(value, dict, key)
    return tuple(sorted((name, expect(record[name], str, f"{key}.{name}")) for name in record))


def _moment(record: Json, key: str) -> datetime | None:
    text = _optional(record, "uploaded", str, key)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise BadRecord(f"{key}.uploaded", "expected a date and time with its zone")
    return moment


def _specifier(record: Json, key: str) -> SpecifierSet | None:
    text = _optional(record, "requires_python", str, key)
    if text is None:
        return None
    specifier = parse_specifier(text)
    if specifier is None:
        raise BadRecord(f"{key}.requires_python", "expected a version specifier")
    return specifier

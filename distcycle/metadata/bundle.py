"""The bundle: every fact that an audit used, in one reproducible JSON file (distcycle-bundle/1).

::

    {"schema": "distcycle-bundle/1",
     "files": {"torch": {"2.0.0": [{"filename": ..., "url": ..., "hashes": {"sha256": ...}}, ...]}},
     "metadata": {"sha256:...": {"name": "torch", "requires": ["filelock", ...]},
                  "sha256:...": {"unknown": "why"}}}

It holds no dates and no credentials, and its keys are sorted: the same facts give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from packaging.utils import InvalidName, NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

from distcycle.errors import InputError
from distcycle.metadata.records import (
    BadRecord,
    dump_artefact,
    dump_metadata,
    expect,
    load_artefact,
    load_metadata,
    load_unknown,
)
from distcycle.metadata.urls import without_credentials
from distcycle.model import Artefact, Facts, Metadata, Unknown

__all__ = ["SCHEMA", "Bundle", "dump_bundle", "read_bundle"]

SCHEMA = "distcycle-bundle/1"

Files: TypeAlias = "tuple[Artefact, ...] | Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Facts that were saved.

    Attributes:
        facts: What the file holds.
    """

    facts: Facts

    def files(self, project: NormalizedName, version: Version) -> Files | None:
        """The files of a project at a version, or why unknown; None when not in the bundle."""
        return self.facts.files.get((project, version))

    def metadata(self, artefact: Artefact) -> Metadata | Unknown | None:
        """What an artefact says, or why unknown; None when not in the bundle."""
        return self.facts.metadata.get(without_credentials(artefact.identity))


def dump_bundle(facts: Facts) -> str:
    """Write facts down.

    Args:
        facts: Everything that a run has found out.

    Returns:
        The text of a bundle file. Credentials in URLs are left out.
    """
    files: dict[str, dict[str, Any]] = {}
    for (project, version), known in facts.files.items():
        files.setdefault(project, {})[str(version)] = _dump_files(known)
    metadata = {
        without_credentials(identity): dump_metadata(known)
        for identity, known in facts.metadata.items()
    }
    content = {"schema": SCHEMA, "files": files, "metadata": metadata}
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


def read_bundle(text: str, *, path: str) -> Bundle:
    """Read a bundle file.

    Args:
        text: Its content.
        path: The file, as the user named it.

    Returns:
        The facts that it holds.

    Raises:
        InputError: It is no bundle, or one of its entries is not valid.
    """
    try:
        content = expect(json.loads(text), dict, "")
        if content.get("schema") != SCHEMA:
            raise BadRecord("schema", f"expected {SCHEMA!r}, found {content.get('schema')!r}")
        facts = Facts(
            files=MappingProxyType(_load_files(content.get("files"))),
            metadata=MappingProxyType(_load_all_metadata(content.get("metadata"))),
        )
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error.msg}", path=path, line=error.lineno) from None
    except BadRecord as error:
        raise InputError(error.problem, path=path, key=error.key or None) from None
    except (RecursionError, ValueError):
        raise InputError(
            "not a bundle: nested too deeply or a number too long", path=path
        ) from None
    return Bundle(facts=facts)


def _dump_files(known: Files) -> Any:
    if isinstance(known, Unknown):
        return {"unknown": known.reason}
    return [dump_artefact(_lasting(artefact)) for artefact in known]


def _lasting(artefact: Artefact) -> Artefact:
    """An artefact without credentials and dates."""
    url, registry = artefact.url, artefact.registry
    return replace(
        artefact,
        url=None if url is None else without_credentials(url),
        registry=None if registry is None else without_credentials(registry),
        uploaded=None,
    )


def _load_files(value: object) -> dict[tuple[NormalizedName, Version], Files]:
    files: dict[tuple[NormalizedName, Version], Files] = {}
    for name, versions in expect(value, dict, "files").items():
        project = _project(name)
        for text, known in expect(versions, dict, f"files.{name}").items():
            key = f"files.{name}.{text}"
            files[project, _version(text, key)] = _load_known(known, key)
    return files


def _load_known(value: object, key: str) -> Files:
    if isinstance(value, dict) and "unknown" in value:
        return load_unknown(value, key)
    return tuple(
        load_artefact(entry, f"{key}[{i}]") for i, entry in enumerate(expect(value, list, key))
    )


def _load_all_metadata(value: object) -> Mapping[str, Metadata | Unknown]:
    return {
        identity: load_metadata(known, f"metadata.{identity}")
        for identity, known in expect(value, dict, "metadata").items()
    }


def _project(name: str) -> NormalizedName:
    try:
        return canonicalize_name(name, validate=True)
    except InvalidName:
        raise BadRecord(f"files.{name}", "expected a project name") from None


def _version(text: str, key: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        raise BadRecord(key, "expected a version") from None

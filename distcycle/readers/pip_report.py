"""The JSON of ``pip inspect`` and of ``pip install --report``.

Both give each distribution's own METADATA and the environment that pip ran in, so nothing needs
to be fetched. A ``pip inspect`` lists an environment: every distribution is a root. A report lists
what pip would install: what was asked for by name is a root.

Source: pip, "pip inspect JSON output specification" and "Installation Report",
https://pip.pypa.io/reference/inspect-report/, https://pip.pypa.io/reference/installation-report/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from packaging.utils import NormalizedName

from distcycle.errors import UnsupportedLockVersion
from distcycle.model import (
    Artefact,
    Extra,
    Metadata,
    Package,
    Requirement,
    Root,
    Snapshot,
    SourceKind,
)
from distcycle.readers import Document, decode_utf8
from distcycle.readers.entries import (
    Problems,
    filename_of,
    members,
    read_name,
    read_names,
    read_specifier,
    read_version,
)
from distcycle.readers.fields import Fields, parse_json
from distcycle.readers.references import parse_digest, parse_reference, without_credentials
from distcycle.requirements import parse_requirement
from distcycle.targets import MARKER_VARIABLES

__all__ = ["read"]

_KNOWN_VERSIONS = ("0", "1")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One distribution, whether it was asked for, and with which extras."""

    package: Package
    requested: bool
    extras: tuple[Extra, ...]


def read(document: Document) -> Snapshot:
    """Read what ``pip inspect`` or ``pip install --report`` wrote.

    A report does not claim to be complete: it leaves out what was installed already, unless pip
    was told to ignore that.

    Args:
        document: The JSON.

    Raises:
        InputError: It is not JSON, is neither of the two, or lacks part of the environment.
        UnsupportedLockVersion: Its format is newer than those that are known.
    """
    text = decode_utf8(document)
    top = parse_json(text, path=document.path)
    _check_version(top)
    is_report = "install" in top
    if not is_report and "installed" not in top:
        raise top.error("not from pip: expected an array, found nothing", "installed")
    problems = Problems(document.path)
    entries = list(_read_entries(top, "install" if is_report else "installed", problems))
    return Snapshot(
        path=document.path,
        kind="pip-report",
        packages=tuple(entry.package for entry in entries),
        roots=tuple(_read_roots(entries, all_of_them=not is_report)),
        complete=not is_report,
        problems=tuple(problems.found),
        environment=_read_environment(top),
        syntax="json",
        text=text,
    )


def _check_version(top: Fields) -> None:
    version = top.get("version", str)
    if version is not None and version.partition(".")[0] not in _KNOWN_VERSIONS:
        raise UnsupportedLockVersion(
            f"expected version 1, found {version[:100]!r}", path=top.path, key="version"
        )


def _read_environment(top: Fields) -> Mapping[str, str] | None:
    """The marker environment; None where whoever passed the JSON on has dropped it."""
    if "environment" not in top:
        return None
    environment = top.table("environment")
    return {name: environment.need(name, str) for name in MARKER_VARIABLES}


def _read_entries(top: Fields, key: str, problems: Problems) -> Iterator[_Entry]:
    for place, value in members(top, key):
        with problems.tolerate():
            entry = Fields(value, path=top.path, key=place)
            yield _read_entry(entry, problems, is_report=key == "install")


def _read_entry(entry: Fields, problems: Problems, *, is_report: bool) -> _Entry:
    core = Fields(entry.need("metadata", dict), path=entry.path, key=entry.key_of("metadata"))
    name = read_name(core)
    version = None
    with problems.tolerate(package=name):
        version = read_version(core)
    package = Package(
        name=name,
        version=version,
        source="registry" if is_report else "installed",
        metadata=_read_metadata(core, name, problems),
        place=entry.place(),
    )
    return _Entry(
        package=_read_download(package, entry) if is_report else _read_origin(package, entry),
        requested=entry.get("requested", bool) or False,
        extras=tuple(sorted(set(read_names(entry, "requested_extras")))),
    )


def _read_roots(entries: list[_Entry], *, all_of_them: bool) -> Iterator[Root]:
    asked_for = [entry for entry in entries if entry.requested]
    for entry in entries if all_of_them or not asked_for else asked_for:
        name = entry.package.name
        text = f"{name}[{','.join(entry.extras)}]" if entry.extras else name
        yield Root(
            requirement=Requirement(
                name=name, extras=entry.extras, text=text, place=entry.package.place
            )
        )


# Where it comes from ------------------------------------------------------------------------------


def _read_origin(package: Package, entry: Fields) -> Package:
    """An installed distribution's direct reference (PEP 610), where it was installed from one."""
    url = entry.table("direct_url").get("url", str)
    return replace(package, url=without_credentials(url)) if url else package


def _read_download(package: Package, entry: Fields) -> Package:
    """The file that pip chose, or the repository or folder that was asked for."""
    info = entry.table("download_info")
    url = info.get("url", str)
    if url is None:
        return package
    if "vcs_info" in info:
        return replace(package, source="vcs", url=without_credentials(url))
    if "dir_info" in info:
        editable = info.table("dir_info").get("editable", bool)
        source: SourceKind = "editable" if editable else "directory"
        return replace(package, source=source, url=without_credentials(url))
    artefact = _read_artefact(entry, info, url)
    if not entry.get("is_direct", bool):
        return replace(package, artefacts=(artefact,))
    reference = parse_reference(url)
    return replace(package, source=reference.source, url=reference.target, artefacts=(artefact,))


def _read_artefact(entry: Fields, info: Fields, url: str) -> Artefact:
    archive = info.table("archive_info")
    digests = [f"{name}:{value}" for name, value in archive.table("hashes").value.items()]
    # The older spelling, which pip still writes beside the other.
    digests.append(archive.get("hash", str) or "")
    yanked = entry.get("is_yanked", bool)
    return Artefact(
        filename=filename_of(url),
        url=url,
        hashes=tuple(sorted({pair for digest in digests if (pair := parse_digest(digest))})),
        yanked="" if yanked else None,
    )


# What it says of itself ---------------------------------------------------------------------------


def _read_metadata(core: Fields, name: NormalizedName, problems: Problems) -> Metadata:
    """METADATA as JSON (PEP 566); what cannot be read of it is a problem at its own key."""
    requires_python = None
    with problems.tolerate(package=name):
        requires_python = read_specifier(core, "requires_python")
    return Metadata(
        name=name,
        version=core.get("version", str),
        requires=tuple(_read_requires(core, name, problems)),
        provides_extra=tuple(dict.fromkeys(read_names(core, "provides_extra"))),
        requires_python=requires_python,
        metadata_version=core.get("metadata_version", str) or "",
        dynamic=frozenset(field.lower() for field in core.strings("dynamic")),
    )


def _read_requires(core: Fields, name: NormalizedName, problems: Problems) -> Iterator[Requirement]:
    for i, text in enumerate(core.strings("requires_dist")):
        key = f"requires_dist[{i}]"
        with problems.tolerate(code="unreadable-requirement", package=name):
            try:
                yield parse_requirement(text, place=core.place(key))
            except ValueError as error:
                raise core.error(str(error), key) from None

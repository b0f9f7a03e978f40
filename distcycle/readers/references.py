"""What a requirement tells of the package that meets it: a pin, or a direct reference.

A direct reference is a URL, a repository or a path in place of a version.

Source: PEP 440 "Direct references"; pip's VCS support, https://pip.pypa.io/topics/vcs-support/
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import unquote

from packaging.specifiers import SpecifierSet
from packaging.utils import (
    NormalizedName,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from distcycle.model import Artefact, Extra, Package, SourceKind
from distcycle.readers.entries import filename_of

__all__ = [
    "Reference",
    "is_reference",
    "parse_digest",
    "parse_reference",
    "pinned_version",
    "refer",
    "without_credentials",
]

# The bound keeps the search linear in long words that are no scheme.
_USERINFO = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,30})://(?P<userinfo>[^/?#\s]*)@")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://|file:", re.IGNORECASE)
_REPOSITORY = re.compile(r"(?:git|hg|svn|bzr)\+|(?:git|svn|bzr)(?:\+\w+)?://", re.IGNORECASE)
_ARCHIVE = re.compile(
    r"\.(?:whl|zip|tar|tgz|tbz|txz|tlz|tar\.(?:gz|bz2|xz|lz|lzma))\Z", re.IGNORECASE
)
# A forge names the archive of a commit after the branch or tag, not after the project.
_FORGE_ARCHIVE = re.compile(r"/(?:archive|zipball|tarball|zip|tar\.gz)/")
_EGG = re.compile(
    r"(?:egg=)?(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
    r"(?:\[(?P<extras>[^\]]*)\])?(?:==(?P<version>[^=]+))?\Z"
)
_PATH_EXTRAS = re.compile(r"(?P<path>.+?)\[(?P<extras>[A-Za-z0-9._,\s-]*)\]\Z", re.DOTALL)
_DIGEST = re.compile(r"(?P<algorithm>sha256|sha384|sha512)[:=](?P<digest>[0-9A-Fa-f]+)\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Where a direct reference leads, and what can be told without going there.

    Attributes:
        source: What kind of place it is.
        target: The place itself: no fragment, no extras, no credentials.
        name: The project, from the ``#egg=`` fragment or the file name; None when neither tells.
        extras: The extras requested in the fragment or after the path, sorted.
        version: The version that the file name or fragment gives.
        artefacts: The file, where the reference leads to one; else None.
    """

    source: SourceKind
    target: str
    name: NormalizedName | None
    extras: tuple[Extra, ...]
    version: Version | None
    artefacts: tuple[Artefact, ...] | None


def is_reference(text: str) -> bool:
    """Whether a requirement is a direct reference without a name: a URL, a repository or a path.

    Args:
        text: The requirement, without marker.
    """
    if text.startswith((".", "~")) or "/" in text or "\\" in text:
        return True
    return bool(_SCHEME.match(text) or _REPOSITORY.match(text) or _ARCHIVE.search(text))


def parse_reference(text: str, *, editable: bool = False) -> Reference:
    """Read a direct reference.

    Args:
        text: A URL, repository or path, with its fragment, without marker.
        editable: It is to be installed in place (``-e``); then a bare word is a path.
    """
    place, _, fragment = text.partition("#")
    named = _named(fragment)
    extras = _extras(named["extras"] if named else None)
    if not _SCHEME.match(place):
        in_brackets = _PATH_EXTRAS.match(place)
        if in_brackets:
            place, extras = in_brackets["path"], _extras(in_brackets["extras"])
    source = _source(place, editable=editable)
    name, version = _told_by_filename(place) if source in ("url", "file") else (None, None)
    if named:
        told = canonicalize_name(named["name"])
        version = version if name == told else _version(named["version"])
        name = told
    return Reference(
        source=source,
        target=without_credentials(place),
        name=name,
        extras=extras,
        version=version,
        artefacts=(_artefact(place, fragment),) if source in ("url", "file") else None,
    )


def refer(package: Package, reference: Reference) -> Package:
    """The package as a direct reference gives it: its source, file and, if told, version.

    Args:
        package: The package, as far as known without the reference.
        reference: Where it comes from.
    """
    artefacts = reference.artefacts
    if artefacts and package.hashes:
        artefacts = tuple(replace(artefact, hashes=package.hashes) for artefact in artefacts)
    return replace(
        package,
        version=reference.version if reference.name in (None, package.name) else None,
        source=reference.source,
        url=reference.target,
        artefacts=artefacts,
    )


def pinned_version(specifier: SpecifierSet) -> Version | None:
    """The one version that a specifier admits (``==1.0`` or ``===1.0``), else None."""
    pins = sorted(pin.version for pin in specifier if pin.operator in ("==", "==="))
    return next((version for pin in pins if (version := _version(pin))), None)


def without_credentials(text: str) -> str:
    """The text with user names and passwords taken out of every URL in it.

    The user of an ssh URL stays, since it is part of the address; its password goes.
    """
    return _USERINFO.sub(_address, text)


def _address(match: re.Match[str]) -> str:
    user, _, _ = match["userinfo"].partition(":")
    keep = f"{user}@" if user and match["scheme"].lower().endswith("ssh") else ""
    return f"{match['scheme']}://{keep}"


def parse_digest(text: str) -> tuple[str, str] | None:
    """Read ``sha256:HEX``; None when it is not a digest of an algorithm that installers accept.

    Source: pip, "Secure installs": sha256, sha384 and sha512.
    """
    match = _DIGEST.match(text)
    return (match["algorithm"], match["digest"].lower()) if match else None


def _named(fragment: str) -> re.Match[str] | None:
    """The part of a fragment that names a project: ``egg=name[extras]``, or ``name==version``."""
    for part in fragment.split("&"):
        match = _EGG.match(unquote(part))
        if match and (part.startswith("egg=") or match["version"]):
            return match
    return None


def _extras(text: str | None) -> tuple[Extra, ...]:
    names = (name.strip() for name in (text or "").split(","))
    return tuple(sorted({canonicalize_name(name) for name in names if name}))


def _source(place: str, *, editable: bool) -> SourceKind:
    if _REPOSITORY.match(place):
        return "vcs"
    is_url = bool(_SCHEME.match(place)) and not place.lower().startswith("file:")
    if editable and not is_url:
        return "editable"
    if is_url:
        return "url"
    return "file" if _ARCHIVE.search(place) else "directory"


def _told_by_filename(place: str) -> tuple[NormalizedName | None, Version | None]:
    filename = filename_of(place)
    try:
        if filename.endswith(".whl"):
            return parse_wheel_filename(filename)[:2]
        if not _FORGE_ARCHIVE.search(place):
            return parse_sdist_filename(filename)
    except ValueError:
        pass
    return None, None


def _version(text: str | None) -> Version | None:
    try:
        return Version(text) if text else None
    except ValueError:  # InvalidVersion, or a number with too many digits
        return None


def _artefact(place: str, fragment: str) -> Artefact:
    digests = sorted({digest for part in fragment.split("&") if (digest := parse_digest(part))})
    is_url = bool(_SCHEME.match(place))
    return Artefact(
        filename=filename_of(place),
        url=place if is_url else None,
        path=None if is_url else place,
        hashes=tuple(digests),
    )

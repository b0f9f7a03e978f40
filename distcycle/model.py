"""The records that flow down the floors: one input as read, and the facts about its wheels.

Every record is complete or not made at all. What could not be had is an :class:`Unknown` with a
reason, never an empty value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Literal

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

__all__ = [
    "Amendment",
    "Artefact",
    "BuildSystem",
    "Extra",
    "Facts",
    "FileRules",
    "IndexOptions",
    "LONGEST_SILENCE_S",
    "Metadata",
    "Needs",
    "Origin",
    "PROJECT_SOURCES",
    "Package",
    "Place",
    "Problem",
    "Requirement",
    "Root",
    "Snapshot",
    "SourceKind",
    "SyntaxKind",
    "Unknown",
]

Extra = NormalizedName
Origin = Literal["wheel", "sdist", "lock", "installed", "via", "policy"]
SourceKind = Literal[
    "registry", "url", "vcs", "file", "directory", "editable", "virtual", "installed"
]
PROJECT_SOURCES: frozenset[SourceKind] = frozenset(("directory", "editable", "virtual"))
"""The sources that are a folder of the user's own, whose requirements people write."""
ProblemCode = Literal["unreadable-requirement", "unreadable-metadata"]
SyntaxKind = Literal["lines", "toml", "json", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a statement stands in an input.

    Readers of line-based files give ``line``; readers of TOML and JSON give ``key`` (such as
    ``package[40].dependencies.numpy``), and the line is looked up later, only for what is shown.
    """

    path: str
    line: int | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A fact that could not be had, and why.

    Attributes:
        reason: Why, in one line.
        passing: Whether the next run may have it: something did not answer.
    """

    reason: str
    passing: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A requirement as a package, a lock or a person declares it.

    Attributes:
        name: The project that is required.
        extras: The extras of it that are requested, sorted.
        specifier: The versions that are admitted; empty when any version is.
        marker: The environments in which the requirement holds; None when in all.
        url: A direct reference (PEP 440), else None.
        text: The requirement in PEP 508 syntax, as declared or as near to it as the format allows.
        problem: Why part of the text could not be read, else None. Name, extras and, if possible,
            marker were salvaged: an edge needs no specifier.
        extra: The extra of the declaring package under which the format lists the requirement,
            where that is not said by the marker itself.
        package: The index in :attr:`Snapshot.packages` of the package that the lock binds the
            requirement to, where the format says so.
        place: Where it stands in the input; None for what comes out of METADATA.
    """

    name: NormalizedName
    extras: tuple[Extra, ...] = ()
    specifier: SpecifierSet = field(default_factory=SpecifierSet)
    marker: Marker | None = None
    url: str | None = None
    text: str
    problem: str | None = None
    extra: Extra | None = None
    package: int | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What one artefact says of itself (core metadata specification).

    Attributes:
        name: Its project, None when METADATA names none.
        version: Its version as written.
        requires: Requires-Dist, in file order.
        provides_extra: Provides-Extra, normalised, in file order.
        requires_python: Requires-Python; None when absent or unreadable.
        metadata_version: Metadata-Version as written, ``""`` when absent.
        dynamic: Dynamic fields in lower case (PEP 643).
        problems: What could not be read, one line each.
    """

    name: NormalizedName | None
    version: str | None
    requires: tuple[Requirement, ...] = ()
    provides_extra: tuple[Extra, ...] = ()
    requires_python: SpecifierSet | None = None
    metadata_version: str = ""
    dynamic: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()

    @property
    def is_static(self) -> bool:
        """Whether the Requires-Dist of a source distribution binds its wheels (PEP 643)."""
        major, _, minor = self.metadata_version.partition(".")
        if not (major.isdecimal() and minor.isdecimal()):
            return False
        return (int(major), int(minor)) >= (2, 2) and "requires-dist" not in self.dynamic


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSystem:
    """What a source distribution, or a project's folder, needs to be built (PEP 518).

    Attributes:
        requires: What must be installed to build it, in file order.
        is_default: Whether its pyproject.toml says nothing of that, or there is none, so that the
            specification's default holds.
    """

    requires: tuple[Requirement, ...]
    is_default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefact:
    """One file of a package: a wheel or a source distribution.

    Attributes:
        filename: Its name, the last part of its path; decides wheel or source distribution.
        url: Where the input or the index says it is; None when unknown or local.
        path: Where it is on this machine, when it is.
        registry: The index that lists it, when the input says so; None for the configured one.
        hashes: Pairs of algorithm and lower-case hex digest, sorted.
        size_bytes: Its size, when known.
        requires_python: The versions of Python that the index says it is for; None when not said.
        yanked: The reason it was withdrawn (PEP 592), ``""`` when without one; None when it stands.
        metadata_hashes: Hashes of the metadata file beside it (PEP 658/714); ``()`` when it is
            advertised without hash; None when not advertised.
        uploaded: When the index got it (PEP 700); None when not said.
    """

    filename: str
    url: str | None = None
    path: str | None = None
    registry: str | None = None
    hashes: tuple[tuple[str, str], ...] = ()
    size_bytes: int | None = None
    requires_python: SpecifierSet | None = None
    yanked: str | None = None
    metadata_hashes: tuple[tuple[str, str], ...] | None = None
    uploaded: datetime | None = None

    @property
    def is_wheel(self) -> bool:
        """Whether the file is a wheel, by its name."""
        return self.filename.endswith(".whl")

    @property
    def identity(self) -> str:
        """The file's key in :class:`Facts`: its sha256, else its path, else its URL or name."""
        for algorithm, digest in self.hashes:
            if algorithm == "sha256":
                return f"sha256:{digest}"
        return self.path or self.url or self.filename


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A project at one version, as one entry of the input.

    Attributes:
        name: The project.
        version: None where the input gives none (sources that are not built yet).
        source: What kind of place it comes from.
        url: The registry, URL, path or repository it comes from, when the input says so.
        artefacts: The files the input lists; None when it lists none and the index is to be asked.
        hashes: Hashes that the files must match, where the input lists no files (``--hash``).
        requirements: What the lock says it requires; None when the format carries no edges.
        provides_extra: Extras that the lock knows of.
        requested_extras: Those that the lock shows were requested when it was made, by a package or
            by the project (PDM's entries with extras, Poetry's resolved optional dependencies).
        metadata: METADATA read together with the input (installed distributions, pip's reports).
        marker: Where this entry stands; None when everywhere.
        requires_python: The versions of Python that the lock says it is for.
        optional: Not installed unless an extra of the project asks for it (Poetry).
        groups: The groups of the project that bring it in, where the format says (PDM, Poetry 2).
        via: Projects that require this one, by a compiler's ``# via`` comment.
        asked: A compiler's comment says that a file asks for it (``# via -r requirements.in``).
        place: Where the entry stands.
    """

    name: NormalizedName
    version: Version | None
    source: SourceKind = "registry"
    url: str | None = None
    artefacts: tuple[Artefact, ...] | None = None
    hashes: tuple[tuple[str, str], ...] = ()
    requirements: tuple[Requirement, ...] | None = None
    provides_extra: tuple[Extra, ...] = ()
    requested_extras: tuple[Extra, ...] = ()
    metadata: Metadata | Unknown | None = None
    marker: Marker | None = None
    requires_python: SpecifierSet | None = None
    optional: bool = False
    groups: tuple[NormalizedName, ...] = ()
    via: tuple[NormalizedName, ...] = ()
    asked: bool = False
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A requirement from which reach begins.

    Attributes:
        requirement: What is asked for.
        extra: Asked for only when this extra of the project is requested.
        group: Asked for only with this dependency group of the project.
        default: Asked for when no flag is given. A root with an extra never is; a root with a group
            is when the lock's tool installs that group by default.
        choice: How the lock's markers name it, as an ``extra``, that this project, extra or group
            was chosen (uv, where choices conflict); None where they have no name for it.
    """

    requirement: Requirement
    extra: Extra | None = None
    group: NormalizedName | None = None
    default: bool = True
    choice: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """Edges that the lock's tool takes out or replaces before it resolves.

    Attributes:
        package: The project whose requirements change; None for all.
        version: Only at this version; None for all.
        removes: Projects that are no longer required; None for all of them (uv's
            dependency-metadata, which replaces the whole list).
        adds: What is required instead.
        place: Where the lock or the project says so.
    """

    package: NormalizedName | None
    version: Version | None = None
    removes: tuple[NormalizedName, ...] | None
    adds: tuple[Requirement, ...] = ()
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One entry of the input that could not be read; the rest was."""

    code: ProblemCode
    message: str
    package: NormalizedName | None = None
    place: Place


# A day. A socket refuses a number of seconds that its clock cannot hold.
LONGEST_SILENCE_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexOptions:
    """Where the input itself says that files are to be found; None and ``()`` when it does not."""

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    no_index: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRules:
    """Which files of a project may be chosen, as pip's options of these names say.

    Attributes:
        pre: Projects of which versions before a release are as good as releases; ``:all:`` for
            every one.
        only_binary: Projects of which only wheels may be taken; ``:all:`` for every one.
        no_binary: Projects of which no wheel may be taken; ``:all:`` for every one.
        require_hashes: Whether nothing without a hash may be taken.
    """

    pre: tuple[str, ...] = ()
    only_binary: tuple[str, ...] = ()
    no_binary: tuple[str, ...] = ()
    require_hashes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One input as read.

    Attributes:
        path: The input as the user named it.
        kind: The reader's name, such as ``poetry-lock``.
        packages: In file order.
        roots: Where reach begins; None when it must be computed from the lock's own edges.
        requires_python: The versions of Python that the input is for.
        environments: Markers whose union is what the lock was made for; empty when everything.
        default_groups: Groups that are chosen when no flag is given, where markers of packages ask
            for ``dependency_groups`` (pylock.toml); elsewhere the roots say it.
        conflicts: Sets of extra names, as they stand in the lock's markers, of which at most one
            can be chosen (uv).
        amendments: Edges that the lock's tool takes out or replaces.
        constraints: Bounds on projects that hold wherever these are installed, and install nothing.
        index: Index options that the input gives.
        rules: Which files the input lets be chosen.
        complete: The input claims to list everything that gets installed (hashes, a compiler's
            header, any lock).
        pinned: Whether every package has one version; lines that have none are in ``problems`` or
            in packages with ``version=None``.
        left_out: Projects that the lock's tool leaves out of every lock on purpose.
        problems: Entries that could not be read.
        environment: The marker environment that the input was taken in (installed environments,
            ``pip inspect``); None for what is not tied to one.
        syntax: How lines are found for a key in ``text``.
        text: The input's text, for looking up lines; ``""`` when lines are known or there are none.
    """

    path: str
    kind: str
    packages: tuple[Package, ...]
    roots: tuple[Root, ...] | None
    requires_python: SpecifierSet | None = None
    environments: tuple[Marker, ...] = ()
    default_groups: tuple[NormalizedName, ...] = ()
    conflicts: tuple[tuple[str, ...], ...] = ()
    amendments: tuple[Amendment, ...] = ()
    constraints: tuple[Requirement, ...] = ()
    index: IndexOptions = field(default_factory=IndexOptions)
    rules: FileRules = field(default_factory=FileRules)
    complete: bool = True
    left_out: frozenset[NormalizedName] = frozenset()
    problems: tuple[Problem, ...] = ()
    environment: Mapping[str, str] | None = None
    syntax: SyntaxKind = "lines"
    text: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was found out about artefacts; given to the judgement, never sought by it.

    Attributes:
        files: For a project and version, the files an index has of it.
        metadata: For :attr:`Artefact.identity`, what that artefact says of itself.
        versions: For a project, the versions that are released, newest first.
        builds: For :attr:`Artefact.identity` of a source distribution, what it needs to be built.
    """

    files: Mapping[tuple[NormalizedName, Version], tuple[Artefact, ...] | Unknown] = field(
        default_factory=lambda: MappingProxyType({})
    )
    metadata: Mapping[str, Metadata | Unknown] = field(default_factory=lambda: MappingProxyType({}))
    versions: Mapping[NormalizedName, tuple[Version, ...] | Unknown] = field(
        default_factory=lambda: MappingProxyType({})
    )
    builds: Mapping[str, BuildSystem | Unknown] = field(
        default_factory=lambda: MappingProxyType({})
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Facts that a judgement still lacks.

    Attributes:
        files: Projects and versions whose files an index must list, with the registry that the
            input names for each (None for the configured one).
        metadata: Artefacts whose METADATA some judged environment needs.
        versions: Projects of which it must be known what is released.
        builds: Source distributions of which it must be known what they need to be built.
    """

    files: Mapping[tuple[NormalizedName, Version], str | None]
    metadata: tuple[Artefact, ...]
    versions: tuple[NormalizedName, ...] = ()
    builds: tuple[Artefact, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files or self.metadata or self.versions or self.builds)

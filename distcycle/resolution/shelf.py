"""What there is to choose from, for all targets at once, and what one target sees of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import InvalidVersion, Version

from distcycle.errors import MetadataError
from distcycle.markers import Space
from distcycle.model import (
    Artefact,
    Extra,
    Facts,
    Metadata,
    Package,
    Requirement,
    Snapshot,
    Unknown,
)
from distcycle.resolution.records import Candidate, Need, Rules, Source, names_project
from distcycle.targets import Target
from distcycle.wheels import choose, explain_refusals

__all__ = ["Said", "Shelf", "View"]


_NO_HASH = "no hash is given for it, and others have one"


@dataclass(frozen=True, slots=True)
class Said:
    """What a candidate requires, as far as that is known.

    Attributes:
        requires: Its requirements, whatever the environment.
        provides_extra: The extras that it has.
        requires_python: The versions of Python that it is for.
        unknown: Why nothing is known of what it requires; ``""`` where it is.
        broken: Why it cannot be installed; ``""`` where it can.
    """

    requires: tuple[Requirement, ...] = ()
    provides_extra: tuple[Extra, ...] = ()
    requires_python: SpecifierSet | None = None
    unknown: str = ""
    broken: str = ""


class Shelf:
    """Releases as an input's rules let them be seen, remembered for all targets.

    Args:
        snapshot: The input.
        targets: The targets.
        source: Where releases are looked up.
        rules: What may be chosen.
    """

    def __init__(
        self, snapshot: Snapshot, targets: tuple[Target, ...], source: Source, rules: Rules
    ) -> None:
        self.snapshot = snapshot
        self.targets = targets
        self.source = source
        self.rules = rules
        self.space = Space.of_targets(targets)
        self.metadata_read: dict[str, Metadata | Unknown] = {}
        self._admitted: dict[str, _Admitted] = {}
        self._files: dict[tuple[str, Version], tuple[Artefact, ...]] = {}
        self._taken: dict[tuple[str, Version], tuple[Artefact | None, ...]] = {}
        self._hashes: dict[NormalizedName, set[tuple[str, str]]] = {}
        self._given: dict[str, Package] = {}
        for package in snapshot.packages:
            self._hashes.setdefault(package.name, set()).update(package.hashes)
            if package.source != "registry" and package.url is not None:
                self._given[package.url] = package
        names = [package.name for package in snapshot.packages]
        self._given_names = {
            package.name: url
            for url, package in self._given.items()
            if names.count(package.name) == 1
        }
        self._requires_hashes = rules.files.require_hashes or any(self._hashes.values())

    # Versions and files ---------------------------------------------------------------------------

    def versions(self, project: str) -> tuple[Version, ...]:
        """The versions of a project, newest first; none when there is no such project.

        Raises:
            MetadataError: Something that should have listed them did not answer.
        """
        versions = self.source.versions(NormalizedName(project))
        if not isinstance(versions, Unknown):
            return versions
        if versions.passing:
            raise MetadataError(f"the versions of {project} could not be had: {versions.reason}")
        return ()

    def admitted(self, project: str, specifiers: Iterable[SpecifierSet]) -> tuple[Version, ...]:
        """The versions of a project that specifiers admit, newest first; early ones as well.

        Each specifier narrows what those before it left, and what is left is remembered: a
        resolver asks with one specifier more, or with another last one, again and again.

        Raises:
            MetadataError: Something that should have listed them did not answer.
        """
        left = self._admitted.get(project)
        if left is None:
            left = self._admitted[project] = _Admitted(self.versions(project))
        for specifier in specifiers:
            if specifier:
                left = left.narrowed(specifier)
        return left.versions

    def files(self, project: str, version: Version) -> tuple[Artefact, ...]:
        """The files of a version that the rules admit."""
        key = (project, version)
        if key not in self._files:
            self._files[key] = tuple(
                file
                for file in self._listed(project, version)
                if not self._objection(project, file)
            )
        return self._files[key]

    def _listed(self, project: str, version: Version) -> tuple[Artefact, ...]:
        files = self.source.files(NormalizedName(project), version)
        return () if isinstance(files, Unknown) else files

    def _objection(self, project: str, file: Artefact) -> str:
        """Why the rules do not admit a file; ``""`` when they do."""
        limit, rules = self.rules.exclude_newer, self.rules.files
        if limit is not None and file.path is None:
            if file.uploaded is None:
                return "the index does not say when it was uploaded"
            if file.uploaded >= limit:
                day = f"{limit.year:04}-{limit.month:02}-{limit.day:02}"
                return f"uploaded on or after {day}, and newer files are excluded"
        lists = (rules.no_binary, rules.only_binary)
        unwanted, wanted = lists if file.is_wheel else lists[::-1]
        if names_project(unwanted, project, unless=wanted):
            return "a wheel, which is not wanted" if file.is_wheel else "only wheels are wanted"
        if self._requires_hashes:
            allowed = self._hashes.get(NormalizedName(project), set())
            if not allowed:
                return _NO_HASH
            if allowed.isdisjoint(file.hashes):
                return "it has none of the hashes that are given"
        return ""

    def file(self, project: str, version: Version, cell: int) -> Artefact | None:
        """The file of a version that one target takes; None when none fits."""
        key = (project, version)
        if key not in self._taken:
            taken: list[Artefact | None] = [None] * len(self.targets)
            for choice in choose(self.files(project, version), self.space):
                for i in self.space.cells(choice.cells):
                    taken[i] = choice.artefact
            self._taken[key] = tuple(taken)
        return self._taken[key][cell]

    def explain_absence(self, project: str, version: Version, cell: int) -> str:
        """Why no file of a version is taken on a target."""
        files = self.files(project, version)
        if not files:
            reasons = {self._objection(project, file) for file in self._listed(project, version)}
            return "; ".join(sorted(reasons)) or "has no files"
        refusals = explain_refusals(files, self.targets[cell])
        pythons = sorted({r.reason for r in refusals if r.reason.startswith("requires Python")})
        return "; ".join(pythons) or "no wheel fits, and there is no source distribution"

    # METADATA -------------------------------------------------------------------------------------

    def said(self, project: str, version: Version, cell: int) -> Said:
        """What a version requires on a target.

        Raises:
            MetadataError: It could not be had this time.
        """
        file = self.file(project, version, cell)
        if file is None:
            return Said(broken=self.explain_absence(project, version, cell))
        metadata = self._metadata(file)
        if file.is_wheel:
            return _said_by_file(project, version, file, metadata)
        if isinstance(metadata, Metadata) and metadata.is_static:
            return _said_by_file(project, version, file, metadata)
        return self._said_by_sibling(project, version, file, metadata)

    def _said_by_sibling(
        self, project: str, version: Version, file: Artefact, metadata: Metadata | Unknown
    ) -> Said:
        """What a wheel of another platform says: the best guess where nothing is built."""
        reason = f"{file.filename}: a source distribution whose requirements are not static"
        for sibling in self.files(project, version):
            if sibling.is_wheel:
                said = _said_by_file(project, version, sibling, self._metadata(sibling))
                if not said.broken:
                    return said
        if isinstance(metadata, Unknown):
            reason = f"{file.filename}: {metadata.reason}"
            return Said(unknown=reason)
        return Said(unknown=reason, requires_python=metadata.requires_python)

    def said_at(self, url: str, project: str) -> Said:
        """What stands at a direct reference requires, whatever the target."""
        package = self._given.get(url)
        if package is not None and package.requirements is not None:
            return Said(requires=package.requirements, provides_extra=package.provides_extra)
        file = self.file_at(url)
        if file is None:
            source = package.source if package else "direct"
            return Said(unknown=f"comes from a {source} source, whose metadata is not built")
        if self._requires_hashes and not file.hashes:
            return Said(broken=f"{file.filename}: {_NO_HASH}")
        return _said_by_reference(project, file, self._metadata(file))

    def file_at(self, url: str) -> Artefact | None:
        """The file that a direct reference leads to; None for repositories and folders."""
        package = self._given.get(url)
        if package is not None:
            return package.artefacts[0] if package.artefacts else None
        return self.source.file_at(url)

    def given_for(self, project: str) -> str | None:
        """The direct reference by which the input itself gives a project; None when it does not."""
        return self._given_names.get(NormalizedName(project))

    def package_at(self, url: str) -> Package | None:
        """The input's own entry for a direct reference, when it has one."""
        return self._given.get(url)

    def _metadata(self, file: Artefact) -> Metadata | Unknown:
        if file.identity in self.metadata_read:
            return self.metadata_read[file.identity]
        metadata = self.source.metadata(file)
        if isinstance(metadata, Unknown) and metadata.passing:
            raise MetadataError(f"METADATA of {file.filename} could not be had: {metadata.reason}")
        self.metadata_read[file.identity] = metadata
        return metadata

    def facts(self) -> Facts:
        """What was found out of METADATA."""
        return Facts(metadata=dict(self.metadata_read))


def _said_by_reference(project: str, file: Artefact, metadata: Metadata | Unknown) -> Said:
    if isinstance(metadata, Unknown):
        return Said(unknown=f"{file.filename}: {metadata.reason}")
    if metadata.name != project:
        return Said(broken=f"{file.filename} is a file of {metadata.name}")
    if not file.is_wheel and not metadata.is_static:
        return Said(unknown=f"{file.filename}: its requirements are not static")
    return _said(metadata)


class _Admitted:
    """What specifiers, one after another, leave of a project's versions."""

    __slots__ = ("_further", "versions")

    def __init__(self, versions: tuple[Version, ...]) -> None:
        self.versions = versions
        self._further: dict[SpecifierSet, _Admitted] = {}

    def narrowed(self, specifier: SpecifierSet) -> _Admitted:
        """What one more specifier leaves."""
        known = self._further.get(specifier)
        if known is None:
            left = (v for v in self.versions if specifier.contains(v, prereleases=True))
            known = self._further[specifier] = _Admitted(tuple(left))
        return known


def _said_by_file(
    project: str, version: Version, file: Artefact, metadata: Metadata | Unknown
) -> Said:
    if isinstance(metadata, Unknown):
        return Said(broken=f"{file.filename}: {metadata.reason}")
    if metadata.name != project or not _is_version(metadata.version, version):
        said = f"{metadata.name} {metadata.version}"
        return Said(broken=f"{file.filename} is a file of {said}, by its METADATA")
    return _said(metadata)


def _is_version(text: str | None, version: Version) -> bool:
    try:
        return text is None or Version(text).public == version.public
    except InvalidVersion:
        return False


def _said(metadata: Metadata) -> Said:
    return Said(metadata.requires, metadata.provides_extra, metadata.requires_python)


class View:
    """What one target sees of a shelf, and everything that was asked about the target.

    A resolution follows from the answers alone: where another target gives the same answers to the
    same questions, it resolves alike.

    Args:
        shelf: The shelf.
        cell: The target's place among the shelf's.
    """

    def __init__(self, shelf: Shelf, cell: int) -> None:
        self.shelf = shelf
        self.cell = cell
        self.target = shelf.targets[cell]
        self.python = Version(self.target.environment["python_full_version"])
        self._held: dict[tuple[str, str], tuple[Marker, bool]] = {}
        self._admitted: dict[str, tuple[SpecifierSet, bool]] = {}
        self._standing: dict[tuple[str, Version], bool | None] = {}
        self._said: dict[tuple[str, Version], Said] = {}

    def holds(self, marker: Marker | None, extra: str = "") -> bool:
        """Whether a marker holds on the target."""
        if marker is None:
            return True
        key = (str(marker), extra)
        if key not in self._held:
            self._held[key] = (marker, _holds(self, marker, extra))
        return self._held[key][1]

    def admits(self, requires_python: SpecifierSet | None) -> bool:
        """Whether the target's Python is one that is required."""
        if requires_python is None:
            return True
        key = str(requires_python)
        if key not in self._admitted:
            self._admitted[key] = (requires_python, _admits(self, requires_python))
        return self._admitted[key][1]

    def standing(self, project: str, version: Version) -> bool | None:
        """Whether a version can be had; None when it can, and has been withdrawn."""
        key = (project, version)
        if key not in self._standing:
            self._standing[key] = _standing(self, project, version)
        return self._standing[key]

    def said(self, project: str, version: Version) -> Said:
        """What a version requires."""
        key = (project, version)
        if key not in self._said:
            self._said[key] = self.shelf.said(project, version, self.cell)
        return self._said[key]

    def requirements(self, said: Said, extra: str) -> Iterator[Requirement]:
        """The requirements that hold for a project itself, or are added by an extra of it."""
        return _requirements(self.holds, said, extra)

    def versions(self, project: str) -> tuple[Version, ...]:
        """The versions of a project, newest first."""
        return self.shelf.versions(project)

    def version_at(self, url: str) -> Version | None:
        """The version that a direct reference leads to, as far as a file name says it."""
        package = self.shelf.package_at(url)
        if package is not None and package.version is not None:
            return package.version
        return self.shelf.source.version_at(url)

    def said_of(self, candidate: Candidate) -> Said:
        """What a candidate requires."""
        if candidate.url is not None:
            return self.shelf.said_at(candidate.url, candidate.name)
        if candidate.version is None:
            return Said(unknown="its version is not known")
        return self.said(candidate.name, candidate.version)

    def likely_requirements(self, need: Need) -> Iterator[Requirement]:
        """What the first version that meets a need requires; no question about the target."""
        shelf = self.shelf
        early = shelf.rules.admits_early(need.name) or need.specifier.prereleases
        versions = shelf.versions(need.name)
        for version in versions[::-1] if shelf.rules.prefer == "lowest" else versions:
            if not need.admits(version) or (version.is_prerelease and not early):
                continue
            file = shelf.file(need.name, version, self.cell)
            if file is not None and file.yanked is None:
                said = shelf.said(need.name, version, self.cell)
                extras = need.requirement.extras if need.requirement else ()
                for extra in ("", *extras):
                    yield from _requirements(partial(_holds, self), said, extra)
                return

    def agrees_with(self, other: View) -> bool:
        """Whether another target gives the same answers to all that was asked about this one."""
        return (
            all(_holds(other, m, e) == held for (_, e), (m, held) in self._held.items())
            and all(_admits(other, s) == admitted for s, admitted in self._admitted.values())
            and all(_standing(other, *k) == stands for k, stands in self._standing.items())
            and all(other.shelf.said(*k, other.cell) == said for k, said in self._said.items())
        )


def _requirements(
    holds: Callable[[Marker | None, str], bool], said: Said, extra: str
) -> Iterator[Requirement]:
    for requirement in said.requires:
        marker = requirement.marker
        if requirement.extra is not None:
            if requirement.extra == extra and holds(marker, extra):
                yield requirement
        elif not extra:
            if holds(marker, ""):
                yield requirement
        elif _names_extra(requirement) and not holds(marker, "") and holds(marker, extra):
            yield requirement


def _holds(view: View, marker: Marker | None, extra: str) -> bool:
    return bool(view.shelf.space.condition(marker, extra) >> view.cell & 1)


def _admits(view: View, requires_python: SpecifierSet) -> bool:
    return bool(view.shelf.space.python(requires_python) >> view.cell & 1)


def _standing(view: View, project: str, version: Version) -> bool | None:
    file = view.shelf.file(project, version, view.cell)
    if file is None:
        return False
    return True if file.yanked is None else None


def _names_extra(requirement: Requirement) -> bool:
    return requirement.marker is not None and "extra" in requirement.text

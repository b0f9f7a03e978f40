"""The walk along build requirements, and along what these require to run, in all targets at once.

To build a package its build requirements are installed first, with all that they require to run,
and these are built from source in their turn. The walk asks for facts level by level: where one is
missing it goes on without, and says in ``needs`` what to get before it is done again.

Source: PEP 517, "Build requirements"; PEP 518.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Generator, Iterator, Mapping

from packaging.utils import NormalizedName, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

from distcycle.builds.records import Builds, Doubt, Link, Own, Source
from distcycle.markers import Condition
from distcycle.model import (
    Artefact,
    BuildSystem,
    Facts,
    Metadata,
    Needs,
    Package,
    Requirement,
    Unknown,
)
from distcycle.selection import Selection
from distcycle.wheels import Choice, choose

__all__ = ["walk_builds"]

_MOST_OTHERS = 500
_STEP = 16
_MOST_RELEASES = 160

_ELSEWHERE: Mapping[str, str] = {
    "virtual": "",
    "vcs": "a repository, which is not fetched",
    "url": "a URL that names no source distribution",
    "directory": "a folder that is not known",
    "editable": "a folder that is not known",
}
"""Where packages come from that no index has; nowhere for those that are never built."""

Node = tuple[int, str]


def walk_builds(
    selection: Selection,
    facts: Facts,
    *,
    folders: Mapping[int, BuildSystem | Unknown],
    own: Own | None = None,
    most_others: int = _MOST_OTHERS,
) -> Builds:
    """Find what must be built before what, if every package of an input is built from source.

    Args:
        selection: What was selected of the input, on targets.
        facts: What is known of artefacts and releases.
        folders: For packages that are folders, by index, what they need to be built.
        own: The project of the input, where it is no package of it.
        most_others: How many packages are looked at that are not in the input.

    Returns:
        What was found; when its ``needs`` are not empty, get them and walk again.
    """
    return _Walk(selection, facts, folders, own, most_others).run()


class _Walk:
    """The working state of one walk."""

    def __init__(
        self,
        selection: Selection,
        facts: Facts,
        folders: Mapping[int, BuildSystem | Unknown],
        own: Own | None,
        most_others: int,
    ) -> None:
        self.selection = selection
        self.space = selection.space
        self.packages = selection.snapshot.packages
        self.facts = facts
        self.folders = folders
        self.own = own
        self.most_others = most_others
        self.sources = [
            Source(name=p.name, version=p.version, place=p.place) for p in self.packages
        ]
        self.by_name: dict[str, list[int]] = defaultdict(list)
        for i, package in enumerate(self.packages):
            self.by_name[package.name].append(i)
        self.others: dict[tuple[str, Version], int] = {}
        self.choices: dict[int, tuple[Choice, ...]] = {}
        self.doubts: dict[tuple[int, str, str], Condition] = {}
        self.is_cut = False
        self.files: dict[tuple[NormalizedName, Version], str | None] = {}
        self.metadata: dict[str, Artefact] = {}
        self.versions: dict[NormalizedName, None] = {}
        self.builds: dict[str, Artefact] = {}

    def run(self) -> Builds:
        reached: dict[Node, Condition] = {}
        live: dict[Node, list[Link]] = {}
        queue: deque[tuple[Node, Condition]] = deque(self.selection.reached.items())
        if self.own is not None:
            queue.append(((self._add_own(self.own), ""), self.space.full))
        while queue:
            node, cells = queue.popleft()
            new = cells & ~reached.get(node, 0)
            if not new:
                continue
            reached[node] = reached.get(node, 0) | new
            if node not in live:
                live[node] = list(self._links_of(node))
            for link in live[node]:
                if link.cells & new:
                    for extra in ("", *link.requirement.extras):
                        queue.append(((link.target, extra), link.cells & new))
        return self._result(reached, live)

    def _result(self, reached: dict[Node, Condition], live: dict[Node, list[Link]]) -> Builds:
        links = []
        for node in sorted(live):
            for link in live[node]:
                cells = link.cells & reached[node]
                if cells:
                    links.append(
                        Link(
                            node,
                            link.target,
                            link.requirement,
                            cells,
                            link.is_build,
                            link.is_default,
                        )
                    )
        doubts = [
            Doubt(i, problem, cells & reached.get((i, ""), 0), code)
            for (i, problem, code), cells in self.doubts.items()
            if cells & reached.get((i, ""), 0)
        ]
        note = (
            f"{self.selection.snapshot.path}: more than {self.most_others} packages are needed to "
            "build it that it does not have; loops beyond these would not be seen"
        )
        return Builds(
            path=self.selection.snapshot.path,
            space=self.space,
            sources=tuple(self.sources),
            links=tuple(links),
            doubts=tuple(sorted(doubts, key=lambda d: (d.source, d.code, d.problem))),
            notes=(note,) if self.is_cut else (),
            needs=Needs(
                files=self.files,
                metadata=tuple(self.metadata.values()),
                versions=tuple(self.versions),
                builds=tuple(self.builds.values()),
            ),
        )

    def _add_own(self, own: Own) -> int:
        self.sources.append(Source(name=own.name or "", version=own.version, place=own.place))
        index = len(self.sources) - 1
        if own.name is not None:
            self.by_name[own.name].append(index)
        return index

    def _doubt(
        self, index: int, problem: str, cells: Condition, code: str = "edges-unknown"
    ) -> None:
        key = (index, problem, code)
        self.doubts[key] = self.doubts.get(key, 0) | cells

    # Requirements of one package ------------------------------------------------------------------

    def _links_of(self, node: Node) -> Iterator[Link]:
        index, extra = node
        if not extra:
            yield from self._build_links(index)
        if index < len(self.packages):
            for edge in self.selection.edges_from(index):
                if edge.source == node and edge.judged:
                    yield Link(node, edge.target, edge.requirement, edge.cells, False)
            for lack in self.selection.unmet:
                if lack.source == node and lack.package is None:
                    found = self._join(index, lack.requirement, lack.cells, "requires")
                    for target, cells in found:
                        yield Link(node, target, lack.requirement, cells, False)
        elif self._is_own(index):
            own_roots = {
                id(root.requirement)
                for root, _ in self.selection.roots
                if root.group is None and root.extra is None
            }
            for requirement, target, cells in self.selection.entries:
                if id(requirement) in own_roots:
                    yield Link(node, target, requirement, cells, False)
        else:
            yield from self._run_links(node)

    def _is_own(self, index: int) -> bool:
        return self.own is not None and index == len(self.packages)

    def _build_links(self, index: int) -> Iterator[Link]:
        """What is needed to build a package, where its source distribution is for the Python."""
        cells = self.space.full
        if self._is_own(index) and self.own is not None:
            build: BuildSystem | Unknown | None = self.own.build
        elif index in self.folders:
            build = self.folders[index]
        else:
            sdist = self._sdist_of(index)
            if sdist is None:
                return
            cells = self.space.python(sdist.requires_python)
            build = self.facts.builds.get(sdist.identity)
            if build is None:
                self.builds[sdist.identity] = sdist
        if isinstance(build, Unknown):
            self._doubt(index, f"build requirements unknown: {build.reason}", self.space.full)
        elif build is not None:
            for requirement in build.requires:
                if requirement.problem is not None:
                    problem = (
                        f"builds with {requirement.text!r}: {requirement.problem}; "
                        f"the edge to {requirement.name} is kept"
                    )
                    self._doubt(index, problem, cells, "unreadable-requirement")
                holds = self.space.condition(requirement.marker) & cells
                for target, where in self._join(index, requirement, holds, "builds with"):
                    yield Link((index, ""), target, requirement, where, True, build.is_default)

    def _run_links(self, node: Node) -> Iterator[Link]:
        """What a package outside the input requires to run, by the file that would be taken."""
        index = node[0]
        for choice in self.choices.get(index, ()):
            artefact = choice.artefact
            if artefact is None:
                continue
            metadata = self.facts.metadata.get(artefact.identity)
            if metadata is None:
                self.metadata[artefact.identity] = artefact
            elif isinstance(metadata, Unknown):
                self._doubt(index, f"requirements unknown: {metadata.reason}", choice.cells)
            elif not artefact.is_wheel and not metadata.is_static:
                problem = (
                    f"requirements unknown: {artefact.filename}: not static, and no wheel fits"
                )
                self._doubt(index, problem, choice.cells)
            else:
                yield from self._links_by(node, metadata, choice.cells)

    def _links_by(self, node: Node, metadata: Metadata, cells: Condition) -> Iterator[Link]:
        for requirement in metadata.requires:
            base = self.space.condition(requirement.marker)
            holds = base
            if node[1]:
                holds = self.space.condition(requirement.marker, node[1]) & ~base
            for target, where in self._join(node[0], requirement, holds & cells, "requires"):
                yield Link(node, target, requirement, where, False)

    # Files ----------------------------------------------------------------------------------------

    def _sdist_of(self, index: int) -> Artefact | None:
        """The source distribution of a package; notes its wheels, and what could not be had."""
        source = self.sources[index]
        package = self.packages[index] if index < len(self.packages) else None
        files = self._files_of(source, package)
        if files is None:
            return None
        if isinstance(files, Unknown):
            self._doubt(index, f"build requirements unknown: {files.reason}", self.space.full)
            return None
        self.choices[index] = choose(files, self.space)
        wheels = [c for c in self.choices[index] if c.artefact and c.artefact.is_wheel]
        source.wheels = tuple(c.artefact for c in wheels if c.artefact)
        for choice in wheels:
            source.fits |= choice.cells
        sdists = [file for file in files if not file.is_wheel]
        source.sdist = min(sdists, key=_preference, default=None)
        return source.sdist

    def _files_of(
        self, source: Source, package: Package | None
    ) -> tuple[Artefact, ...] | Unknown | None:
        """The files of a package; None when it is never built, or when they are asked for."""
        listed = (package.artefacts or ()) if package else ()
        if any(not file.is_wheel for file in listed):
            return listed
        if package is not None and package.source in _ELSEWHERE:
            where = _ELSEWHERE[package.source]
            return listed or (Unknown(reason=f"comes from {where}") if where else None)
        if source.version is None:
            return Unknown(reason="has no version in the input")
        key = (NormalizedName(source.name), source.version)
        if key not in self.facts.files:
            self.files[key] = package.url if package and package.source == "registry" else None
            return None
        files = self.facts.files[key]
        if isinstance(files, Unknown):
            return listed if listed and not files.passing else files
        return _admitted(package, listed, files)

    # Joining --------------------------------------------------------------------------------------

    def _join(
        self, index: int, requirement: Requirement, cells: Condition, verb: str
    ) -> Iterator[tuple[int, Condition]]:
        """Join a requirement to the input's own package where it fits, else to a release."""
        for i in self.by_name.get(requirement.name, ()):
            version = self.sources[i].version
            stands = self.space.full if self._is_own(i) else self._stands(i)
            fits = version is None or requirement.specifier.contains(version, prereleases=True)
            if fits and stands & cells:
                yield i, stands & cells
                cells &= ~stands
        if not cells:
            return
        asked = f"{verb} {requirement.text}"
        if requirement.url is not None:
            self._doubt(index, f"{asked}, and URLs are not followed", cells)
            return
        versions = self.facts.versions.get(requirement.name)
        if versions is None:
            # One hostile archive can name a hundred thousand projects.
            if len(self.facts.versions) + len(self.versions) < 2 * self.most_others:
                self.versions[requirement.name] = None
            else:
                self.is_cut = True
        elif isinstance(versions, Unknown):
            self._doubt(index, f"{asked}, which could not be looked up: {versions.reason}", cells)
        else:
            left = yield from self._join_releases(requirement, versions, cells)
            if left:
                self._doubt(index, f"{asked}, and no release meets that", left)

    def _stands(self, index: int) -> Condition:
        return self.selection.reached.get((index, ""), 0)

    def _join_releases(
        self, requirement: Requirement, versions: tuple[Version, ...], cells: Condition
    ) -> Generator[tuple[int, Condition], None, Condition]:
        """Join to the newest release that fits the specifier and the Python; gives what is left."""
        specifier = requirement.specifier
        is_pinned = any(clause.operator in {"==", "==="} for clause in specifier)
        admitted = list(specifier.filter(versions, prereleases=bool(specifier.prereleases)))
        for tried, version in enumerate(admitted[:_MOST_RELEASES]):
            if not cells:
                return 0
            key = (requirement.name, version)
            if key not in self.facts.files:
                for other in admitted[tried : tried + _STEP]:
                    self.files.setdefault((requirement.name, other), None)
                return 0
            files = self.facts.files[key]
            if isinstance(files, Unknown):
                continue
            usable = [file for file in files if file.yanked is None or is_pinned]
            here = 0
            for choice in choose(usable, self.space):
                here |= choice.cells & cells if choice.artefact else 0
            if here:
                index = self._other(requirement.name, _spelled(usable[0], version))
                if index is not None:
                    yield index, here
                cells &= ~here
        return cells

    def _other(self, name: NormalizedName, version: Version) -> int | None:
        """The index of a package that is not in the input; None when there are too many."""
        key = (name, version)
        if key not in self.others:
            if len(self.others) >= self.most_others:
                self.is_cut = True
                return None
            self.others[key] = len(self.sources)
            self.sources.append(Source(name=name, version=version))
        return self.others[key]


def _admitted(
    package: Package | None, listed: tuple[Artefact, ...], files: tuple[Artefact, ...]
) -> tuple[Artefact, ...] | Unknown:
    """The files of an index that an input admits, and the wheels that it lists itself."""
    if package is not None and package.hashes:
        kept = tuple(f for f in files if not set(package.hashes).isdisjoint(f.hashes))
        return kept or Unknown(reason="no file of the index has one of the hashes in the input")
    return (*listed, *(f for f in files if not (listed and f.is_wheel)))


def _spelled(file: Artefact, version: Version) -> Version:
    """A version as its project writes it; pages are kept by the shortest spelling."""
    try:
        if file.is_wheel:
            return parse_wheel_filename(file.filename)[1]
        return parse_sdist_filename(file.filename)[1]
    except ValueError:
        return version


def _preference(sdist: Artefact) -> tuple[bool, bool, str]:
    """Of several archives the one that pip would take most likely: not withdrawn, a tar."""
    return (sdist.yanked is not None, not sdist.filename.endswith(".tar.gz"), sdist.filename)

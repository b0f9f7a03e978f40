"""What is installed where: reach from the roots, to a fixed point, in all environments at once.

From each root, environments flow along edges: an edge is live where its source is reached and its
marker holds. What a package requires is asked of the wheel that an installer would take in each
environment; the lock's own edges serve where no wheel can be asked, and everywhere say what the
lock's tool installs.
"""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from packaging.markers import Marker
from packaging.utils import NormalizedName

from distcycle.graph import strong_components
from distcycle.markers import Condition, Space
from distcycle.model import (
    Amendment,
    Artefact,
    Extra,
    Facts,
    Metadata,
    Needs,
    Origin,
    Package,
    Requirement,
    Root,
    Snapshot,
    Unknown,
)
from distcycle.wheels import Choice, Lack, choose

__all__ = [
    "Edge",
    "Node",
    "Offer",
    "Request",
    "Selection",
    "Unmet",
    "find_choices",
    "find_roots",
    "flow_along",
    "select",
]

_MOST_CHOICES = 64

Node = tuple[int, str]
"""A package's index and an extra of it, ``""`` for the package itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of an input beyond what its tool installs without flags.

    Attributes:
        extras: Extras of the project.
        groups: Dependency groups of the project.
        all_extras: Every extra of the project, and optional packages.
        edges: ``wheel`` to ask each wheel what it requires, ``lock`` to believe the lock.
    """

    extras: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    all_extras: bool = False
    edges: Literal["wheel", "lock"] = "wheel"


@dataclass(frozen=True, slots=True)
class Offer:
    """What a package requires in some cells, and who says so.

    Attributes:
        requirements: The requirements; None when they could not be had.
        cells: Where.
        origin: Who says so.
        artefact: The file that says so.
        unknown: Why no METADATA could be had, and so something less serves, or nothing.
        lack: Why nothing can be installed there, and so nothing is required.
        pythons: The versions of Python that the package is for, when that is what is lacking.
    """

    requirements: tuple[Requirement, ...] | None
    cells: Condition
    origin: Origin
    artefact: Artefact | None = None
    unknown: str = ""
    lack: Lack | None = None
    pythons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """A requirement joined to the package that meets it.

    Attributes:
        source: The node that requires.
        target: The index of the package that is required; ``requirement.extras`` says which of
            its extra nodes are.
        requirement: As declared.
        cells: Where the edge is live.
        origin: Who says so.
        artefact: The file that says so.
        judged: Whether loops are sought along it. An edge that only the lock has, where a wheel
            speaks for itself, says what gets installed and no more.
    """

    source: Node
    target: int
    requirement: Requirement
    cells: Condition
    origin: Origin
    artefact: Artefact | None = None
    judged: bool = True


@dataclass(frozen=True, slots=True)
class Unmet:
    """A requirement that no package meets.

    Attributes:
        source: The node that requires; None for a root.
        requirement: As declared.
        cells: Where.
        package: The package of that name that stands there all the same, outside the specifier.
        artefact: The file that declares it.
    """

    source: Node | None
    requirement: Requirement
    cells: Condition
    package: int | None
    artefact: Artefact | None


@dataclass(slots=True)
class Selection:
    """What was selected.

    Attributes:
        snapshot: The input.
        space: The environments.
        bounds: The cells that the input is for.
        roots: The requirements from which reach began, with where.
        entries: Where reach begins: for each root's requirement the package it means, and where.
        reached: For every node that is reached, where.
        choices: For every package that is reached and comes as files, the file for each cell.
        offers: For every package that is reached, what it requires.
        edges: The live edges.
        unmet: Requirements that no package meets.
        needs: Facts that are missing; while there are any, the rest is provisional.
    """

    snapshot: Snapshot
    space: Space
    bounds: Condition
    roots: tuple[tuple[Root, Condition], ...] = ()
    entries: list[tuple[Requirement, int, Condition]] = field(default_factory=list)
    reached: dict[Node, Condition] = field(default_factory=dict)
    choices: dict[int, tuple[Choice, ...]] = field(default_factory=dict)
    offers: dict[int, tuple[Offer, ...]] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    unmet: list[Unmet] = field(default_factory=list)
    needs: Needs = field(default_factory=lambda: Needs(files={}, metadata=()))

    def packages_of(self, requirement: Requirement) -> tuple[int, ...]:
        """The indices of the packages that a root's requirement may mean."""
        if requirement.package is not None:
            return (requirement.package,)
        packages = self.snapshot.packages
        return tuple(i for i, package in enumerate(packages) if package.name == requirement.name)


def flow_along(selection: Selection, keep: Callable[[Edge], bool]) -> dict[Node, Condition]:
    """Find where each node would be reached if some edges were gone.

    Args:
        selection: What was selected.
        keep: Whether an edge stays.

    Returns:
        For every node that is still reached, where.
    """
    outgoing: dict[Node, list[Edge]] = defaultdict(list)
    for edge in selection.edges:
        if keep(edge):
            outgoing[edge.source].append(edge)
    reached: dict[Node, Condition] = {}
    pending: deque[tuple[Node, Condition]] = deque()
    for requirement, index, cells in selection.entries:
        pending += (((index, extra), cells) for extra in ("", *requirement.extras))
    while pending:
        node, cells = pending.popleft()
        new = cells & ~reached.get(node, 0)
        if not new:
            continue
        reached[node] = reached.get(node, 0) | new
        for edge in outgoing.get(node, ()):
            if new & edge.cells:
                for extra in ("", *edge.requirement.extras):
                    pending.append(((edge.target, extra), new & edge.cells))
    return reached


def select(
    snapshot: Snapshot,
    space: Space,
    facts: Facts,
    request: Request,
    bounds: Condition | None = None,
) -> Selection:
    """Select versions, wheels and edges for every cell of a space.

    Args:
        snapshot: The input.
        space: The environments.
        facts: What is known of its artefacts.
        request: What is asked for.
        bounds: The cells that the input is for; all when None.

    Returns:
        The selection. When its ``needs`` are not empty, get them and select again.
    """
    return _Selector(snapshot, space, facts, request, bounds).run()


@dataclass(frozen=True, slots=True)
class _Link:
    """An edge before it is known where its source is reached."""

    requirement: Requirement
    target: int
    cells: Condition
    origin: Origin
    artefact: Artefact | None
    judged: bool
    fits: bool


class _Selector:
    """The working state of one selection."""

    def __init__(
        self,
        snapshot: Snapshot,
        space: Space,
        facts: Facts,
        request: Request,
        bounds: Condition | None,
    ) -> None:
        self.snapshot = snapshot
        self.space = space
        self.facts = facts
        self.request = request
        self.bounds = space.full if bounds is None else bounds
        self.packages = snapshot.packages
        self.standing = [space.condition(package.marker) for package in self.packages]
        self.by_name: dict[NormalizedName, list[int]] = defaultdict(list)
        for i, package in enumerate(self.packages):
            self.by_name[package.name].append(i)
        self.missing: dict[Node, list[tuple[Requirement, Condition, Artefact | None]]] = {}
        self.via = _sources_of_via(snapshot)
        self.result = Selection(snapshot, space, self.bounds)

    def run(self) -> Selection:
        roots = self.snapshot.roots
        if roots is None:
            roots = find_roots(self.snapshot, all_extras=self.request.all_extras)
        self.result.roots = tuple(
            (root, cells)
            for root in roots
            if _is_requested(root, self.request)
            and (cells := self.space.condition(root.requirement.marker) & self._chosen(root))
        )
        if any(len(indices) > 1 for indices in self.by_name.values()):
            self._let_lock_choose()
        links: dict[Node, list[_Link]] = {}
        self.result.reached = self._flow(self._links_of, links)
        self._collect_edges(links)
        self._collect_needs()
        return self.result

    def _chosen(self, root: Root) -> Condition:
        """Where a root's extra or group is the one chosen, when it conflicts with others."""
        if not any(root.choice in names for names in self.snapshot.conflicts):
            return self.bounds
        return self.bounds & self.space.condition(Marker(f'extra == "{root.choice}"'))

    def _let_lock_choose(self) -> None:
        """Of several entries of one name, one stands where the lock's own edges reach it."""
        if all(package.requirements is None for package in self.packages):
            return
        reached = self._flow(self._lock_links_of, {})
        for indices in self.by_name.values():
            if len(indices) > 1:
                for i in indices:
                    self.standing[i] &= reached.get((i, ""), 0)

    # Flow -----------------------------------------------------------------------------------------

    def _flow(
        self, links_of: Callable[[Node], list[_Link]], links: dict[Node, list[_Link]]
    ) -> dict[Node, Condition]:
        """Let the roots' cells flow along links until nothing changes; fills ``links``."""
        reached: dict[Node, Condition] = {}
        pending: dict[Node, Condition] = {}
        queue: deque[Node] = deque()

        def push(target: int, extras: Iterable[str], cells: Condition) -> None:
            for extra in ("", *extras):
                node = (target, extra)
                new = cells & ~reached.get(node, 0)
                if new:
                    reached[node] = reached.get(node, 0) | new
                    if node not in pending:
                        queue.append(node)
                    pending[node] = pending.get(node, 0) | new

        for root, cells in self.result.roots:
            for link in self._join(root.requirement, cells, "lock", None, judged=False):
                push(link.target, link.requirement.extras, link.cells)
        while queue:
            node = queue.popleft()
            delta = pending.pop(node)
            if node not in links:
                links[node] = links_of(node)
            for link in links[node]:
                cells = delta & link.cells
                if cells:
                    push(link.target, link.requirement.extras, cells)
        return reached

    def _lock_links_of(self, node: Node) -> list[_Link]:
        requirements = self.packages[node[0]].requirements or ()
        return list(self._links(node, requirements, self.space.full, "lock", None, judged=False))

    def _links_of(self, node: Node) -> list[_Link]:
        index = node[0]
        package = self.packages[index]
        if index not in self.result.offers:
            self.result.offers[index] = tuple(self._offers_of(index))
        links: list[_Link] = []
        by_lock = 0
        for offer in self.result.offers[index]:
            requirements = offer.requirements or ()
            links += self._links(
                node, requirements, offer.cells, offer.origin, offer.artefact, judged=True
            )
            if offer.origin == "lock":
                by_lock |= offer.cells
        elsewhere = self.space.full & ~by_lock
        if package.requirements and elsewhere:
            links += self._links(node, package.requirements, elsewhere, "lock", None, judged=False)
        return links

    def _links(
        self,
        node: Node,
        requirements: Iterable[Requirement],
        cells: Condition,
        origin: Origin,
        artefact: Artefact | None,
        *,
        judged: bool,
    ) -> Iterator[_Link]:
        for requirement in requirements:
            holds = self._holds(requirement, node[1]) & cells
            if not holds:
                continue
            met = 0
            for link in self._join(requirement, holds, origin, artefact, judged=judged):
                met |= link.cells
                yield link
            # Of an entry that a lock or a comment requires, the input itself says where it stands;
            # old locks say it nowhere else.
            is_settled = origin in {"lock", "via"} and requirement.name in self.by_name
            is_settled |= requirement.name in self.snapshot.left_out
            if judged and holds & ~met and not is_settled:
                lack = (requirement, holds & ~met, artefact)
                self.missing.setdefault(node, []).append(lack)

    def _holds(self, requirement: Requirement, extra: str) -> Condition:
        """Where a requirement belongs to a node: to the package itself, or to one of its extras."""
        if requirement.extra is not None:
            return (
                self.space.condition(requirement.marker, extra) if requirement.extra == extra else 0
            )
        base = self.space.condition(requirement.marker)
        if not extra:
            return base
        if requirement.marker is None or "extra" not in str(requirement.marker):
            return 0
        return self.space.condition(requirement.marker, extra) & ~base

    def _join(
        self,
        requirement: Requirement,
        cells: Condition,
        origin: Origin,
        artefact: Artefact | None,
        *,
        judged: bool,
    ) -> Iterator[_Link]:
        """Join a requirement to the packages of its name, those that its specifier admits first."""
        if requirement.package is not None:
            candidates: Sequence[int] = (requirement.package,)
        else:
            candidates = self.by_name.get(requirement.name, ())
        if len(candidates) > 1:
            candidates = sorted(candidates, key=lambda i: self._preference(requirement, i))
        for i in candidates:
            here = cells & self.standing[i]
            if here:
                cells &= ~here
                fits = self._fits(requirement, i)
                yield _Link(requirement, i, here, origin, artefact, judged, fits)

    def _fits(self, requirement: Requirement, index: int) -> bool:
        version = self.packages[index].version
        if version is None or requirement.url is not None:
            return True
        return requirement.specifier.contains(version, prereleases=True)

    def _preference(self, requirement: Requirement, index: int) -> tuple[bool, int]:
        """Sort key: what fits first, then the higher version, then the earlier entry."""
        versions = sorted(
            (v for i in self.by_name[requirement.name] if (v := self.packages[i].version)),
            reverse=True,
        )
        version = self.packages[index].version
        rank = versions.index(version) if version else len(versions)
        return (not self._fits(requirement, index), rank)

    # Offers ---------------------------------------------------------------------------------------

    def _offers_of(self, index: int) -> Iterator[Offer]:
        """What a package requires: for each choice of file its METADATA, else the second best."""
        package = self.packages[index]
        everywhere = self.space.full
        if isinstance(package.metadata, Metadata):
            origin: Origin = "installed" if package.source == "installed" else "wheel"
            artefact = package.artefacts[0] if package.artefacts else None
            requires = self._amend(package, package.metadata.requires)
            yield Offer(requires, everywhere, origin, artefact)
        elif isinstance(package.metadata, Unknown):
            yield self._second_best(index, everywhere, package.metadata.reason)
        elif self.request.edges == "lock":
            yield self._second_best(index, everywhere, "the input carries no edges")
        else:
            yield from self._offers_by_file(index)

    def _offers_by_file(self, index: int) -> Iterator[Offer]:
        files = self.files_of(self.packages[index])
        if isinstance(files, Unknown):
            yield self._second_best(index, self.space.full, files.reason)
            return
        choices = self.result.choices[index] = choose(files, self.space)
        for choice in choices:
            if choice.artefact is None:
                yield Offer(
                    (), choice.cells, "lock", None, lack=choice.lack, pythons=choice.pythons
                )
            else:
                yield from self._offers_of_choice(index, choice.artefact, choice.cells)

    def _offers_of_choice(
        self, index: int, artefact: Artefact, cells: Condition
    ) -> Iterator[Offer]:
        package = self.packages[index]
        if not artefact.is_wheel and package.requirements is not None:
            yield self._second_best(index, cells, "")
            return
        metadata = self.facts.metadata.get(artefact.identity, Unknown(reason="not asked for yet"))
        if isinstance(metadata, Unknown):
            yield self._second_best(index, cells, f"{artefact.filename}: {metadata.reason}")
            return
        # Indexes repeat Requires-Python beside each file; most locks do not.
        admitted = cells & self.space.python(metadata.requires_python)
        if cells != admitted:
            pythons = (str(metadata.requires_python),)
            refused = cells & ~admitted
            yield Offer((), refused, "lock", artefact, lack="requires-python", pythons=pythons)
        if not admitted:
            return
        if not artefact.is_wheel and not _is_static(metadata):
            reason = f"{artefact.filename}: a source distribution whose requirements are not static"
            yield self._second_best(index, admitted, reason)
            return
        origin: Origin = "wheel" if artefact.is_wheel else "sdist"
        yield Offer(self._amend(package, metadata.requires), admitted, origin, artefact)

    def _second_best(self, index: int, cells: Condition, reason: str) -> Offer:
        """What serves where no METADATA can be had: the lock's edges, else ``# via`` comments."""
        package = self.packages[index]
        if package.requirements is not None:
            return Offer(package.requirements, cells, "lock", None, reason)
        if self.via is not None:
            return Offer(self.via.get(package.name, ()), cells, "via", None, reason)
        return Offer(None, cells, "lock", None, reason)

    def files_of(self, package: Package) -> tuple[Artefact, ...] | Unknown:
        """The files of a package, by the input or else by an index."""
        if package.artefacts:
            return _with_python(package)
        if package.source != "registry":
            return Unknown(
                reason=f"comes from a {package.source} source, whose metadata is not built"
            )
        if package.version is None:
            return Unknown(reason="has no version in the input")
        files = self.facts.files.get((package.name, package.version))
        if files is None:
            return Unknown(reason="not asked for yet")
        if isinstance(files, Unknown) or not package.hashes:
            return files
        allowed = set(package.hashes)
        kept = tuple(f for f in files if not allowed.isdisjoint(f.hashes))
        return kept or Unknown(reason="no file of the index has one of the hashes in the input")

    def _amend(
        self, package: Package, requirements: tuple[Requirement, ...]
    ) -> tuple[Requirement, ...]:
        for amendment in self.snapshot.amendments:
            if _concerns(amendment, package):
                requirements = _apply(amendment, requirements)
        return requirements

    # Results --------------------------------------------------------------------------------------

    def _collect_edges(self, links: dict[Node, list[_Link]]) -> None:
        reached = self.result.reached
        for root, cells in self.result.roots:
            unmet = cells
            for link in self._join(root.requirement, cells, "lock", None, judged=False):
                unmet &= ~link.cells
                self.result.entries.append((root.requirement, link.target, link.cells))
                if not link.fits:
                    self._add_unmet(None, root.requirement, link.cells, link.target, None)
            if unmet:
                self._add_unmet(None, root.requirement, unmet, None, None)
        for node in sorted(links):
            for link in links[node]:
                cells = link.cells & reached[node]
                if not cells:
                    continue
                edge = Edge(
                    node,
                    link.target,
                    link.requirement,
                    cells,
                    link.origin,
                    link.artefact,
                    link.judged,
                )
                self.result.edges.append(edge)
                if link.judged and not link.fits:
                    self._add_unmet(node, link.requirement, cells, link.target, link.artefact)
            for requirement, cells, artefact in self.missing.get(node, ()):
                if cells & reached[node]:
                    self._add_unmet(node, requirement, cells & reached[node], None, artefact)

    def _add_unmet(
        self,
        source: Node | None,
        requirement: Requirement,
        cells: Condition,
        package: int | None,
        artefact: Artefact | None,
    ) -> None:
        self.result.unmet.append(Unmet(source, requirement, cells, package, artefact))

    def _collect_needs(self) -> None:
        """Ask for the files of packages that are reached, then for METADATA of the files chosen."""
        if self.request.edges == "lock":
            return
        files: dict[tuple[NormalizedName, object], str | None] = {}
        wanted: dict[str, Artefact] = {}
        for index, extra in self.result.reached:
            package = self.packages[index]
            if extra or package.metadata is not None:
                continue
            if package.version is not None and package.source == "registry":
                key = (package.name, package.version)
                if not package.artefacts and key not in self.facts.files:
                    files[key] = package.url
            for choice in self.result.choices.get(index, ()):
                self._want(package, choice, self.result.reached[index, ""], wanted)
        self.result.needs = Needs(files=files, metadata=tuple(wanted.values()))  # type: ignore[arg-type]

    def _want(
        self, package: Package, choice: Choice, reached: Condition, wanted: dict[str, Artefact]
    ) -> None:
        artefact = choice.artefact
        if artefact is None or not choice.cells & reached:
            return
        if not artefact.is_wheel and package.requirements is not None:
            return
        if artefact.identity not in self.facts.metadata:
            wanted[artefact.identity] = artefact


def _with_python(package: Package) -> tuple[Artefact, ...]:
    """The files of a package; what the lock says of its Python holds for those that say nothing."""
    artefacts = package.artefacts or ()
    if package.requires_python is None:
        return artefacts
    return tuple(
        replace(a, requires_python=package.requires_python) if a.requires_python is None else a
        for a in artefacts
    )


def _is_requested(root: Root, request: Request) -> bool:
    if root.extra is not None:
        return request.all_extras or root.extra in request.extras
    return root.default or (root.group is not None and root.group in request.groups)


def find_choices(snapshot: Snapshot, request: Request) -> tuple[frozenset[str], ...]:
    """Find the alternatives among extras and groups of which a lock admits only one at a time.

    Args:
        snapshot: The lock.
        request: What is asked for.

    Returns:
        For each alternative the names, as the lock's markers have them, that are chosen. With no
        conflict among what is asked for there is one alternative.
    """
    roots = snapshot.roots or ()
    asked = {root.choice for root in roots if root.choice and _is_requested(root, request)}
    options = []
    for conflict in snapshot.conflicts:
        wanted = sorted(asked.intersection(conflict))
        options.append(wanted or [""])
    free = asked.difference(*snapshot.conflicts)
    picks = itertools.islice(itertools.product(*options), _MOST_CHOICES)
    return tuple(dict.fromkeys(frozenset({*free, *pick} - {""}) for pick in picks))


def _is_static(metadata: Metadata) -> bool:
    """Whether a source distribution's Requires-Dist binds its wheels (PEP 643)."""
    major, _, minor = metadata.metadata_version.partition(".")
    if not (major.isdecimal() and minor.isdecimal()):
        return False
    return (int(major), int(minor)) >= (2, 2) and "requires-dist" not in metadata.dynamic


def _concerns(amendment: Amendment, package: Package) -> bool:
    return amendment.package in (None, package.name) and amendment.version in (
        None,
        package.version,
    )


def _apply(amendment: Amendment, requirements: tuple[Requirement, ...]) -> tuple[Requirement, ...]:
    if amendment.removes is None:
        return amendment.adds
    gone = {r.name for r in requirements} & set(amendment.removes)
    kept = tuple(r for r in requirements if r.name not in gone)
    return kept + tuple(
        r for r in amendment.adds if r.name in gone or r.name not in amendment.removes
    )


def _sources_of_via(
    snapshot: Snapshot,
) -> dict[NormalizedName, tuple[Requirement, ...]] | None:
    """Turn ``# via`` comments around: for each project what it requires; None without comments."""
    required: dict[NormalizedName, list[Requirement]] = defaultdict(list)
    for package in snapshot.packages:
        for parent in package.via:
            required[parent].append(
                Requirement(name=package.name, text=str(package.name), place=package.place)
            )
    return {name: tuple(rs) for name, rs in required.items()} or None


def find_roots(snapshot: Snapshot, *, all_extras: bool = False) -> tuple[Root, ...]:
    """Find the roots of a lock that does not say them, from its own edges.

    Roots are what no other package requires, every component that nothing outside reaches, and
    extras that were requested although nothing in the lock does. Markers are left out of account;
    optional packages are roots only with all extras.

    Args:
        snapshot: The lock.
        all_extras: Whether optional packages are asked for.

    Returns:
        One root for each, bound to its package entry.
    """
    requested = _extras_requested(snapshot)
    names = _sources(_names_required(snapshot, requested))
    return tuple(
        _root_at(snapshot, i, tuple(sorted(extras)))
        for i, package in enumerate(snapshot.packages)
        for extras in (set(package.requested_extras) - requested[package.name],)
        if (package.name in names or extras) and (all_extras or not package.optional)
    )


def _root_at(snapshot: Snapshot, index: int, extras: tuple[Extra, ...]) -> Root:
    package = snapshot.packages[index]
    name = f"{package.name}[{','.join(extras)}]" if extras else package.name
    requirement = Requirement(
        name=package.name,
        extras=extras,
        text=name if package.version is None else f"{name}=={package.version}",
        marker=package.marker,
        package=index,
        place=package.place,
    )
    return Root(requirement=requirement)


def _sources(successors: dict[NormalizedName, set[NormalizedName]]) -> set[NormalizedName]:
    """Projects that nothing else requires, and components that nothing outside requires."""
    required = {v for u, targets in successors.items() for v in targets if v != u}
    sources = {name for name in successors if name not in required}
    reached = _closure(successors, sources)
    rest = {u: targets for u, targets in successors.items() if u not in reached}
    for component in strong_components(rest) if rest else ():
        if not any(component & targets for u, targets in rest.items() if u not in component):
            sources |= component
    return sources


def _extras_requested(snapshot: Snapshot) -> dict[NormalizedName, set[Extra]]:
    requested: dict[NormalizedName, set[Extra]] = defaultdict(set)
    for package in snapshot.packages:
        for requirement in package.requirements or ():
            requested[requirement.name].update(requirement.extras)
    return requested


def _names_required(
    snapshot: Snapshot, requested: dict[NormalizedName, set[Extra]]
) -> dict[NormalizedName, set[NormalizedName]]:
    """Project to projects, as the lock has it, with extras only where something requests them."""
    successors: dict[NormalizedName, set[NormalizedName]] = {}
    for package in snapshot.packages:
        targets = successors.setdefault(package.name, set())
        for requirement in package.requirements or ():
            if _may_hold(requirement, requested[package.name]):
                targets.add(requirement.name)
    return {u: {v for v in targets if v in successors} for u, targets in successors.items()}


def _may_hold(requirement: Requirement, extras: set[Extra]) -> bool:
    if requirement.extra is not None:
        return requirement.extra in extras
    return requirement.marker is None or "extra" not in str(requirement.marker) or bool(extras)


def _closure(
    successors: dict[NormalizedName, set[NormalizedName]], start: Iterable[NormalizedName]
) -> set[NormalizedName]:
    reached = set(start)
    stack = list(reached)
    while stack:
        for v in successors[stack.pop()] - reached:
            reached.add(v)
            stack.append(v)
    return reached

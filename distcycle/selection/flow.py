"""Reach from the roots, to a fixed point, in all environments at once."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from packaging.markers import Marker
from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.markers import Condition, Space
from distcycle.model import Artefact, Facts, Needs, Origin, Package, Requirement, Root, Snapshot
from distcycle.selection.offers import Offers
from distcycle.selection.records import Edge, Node, Request, Selection, Unmet
from distcycle.selection.roots import find_roots, is_requested
from distcycle.wheels import Choice

__all__ = ["flow_along", "select"]


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
    *,
    standing: Sequence[Condition] = (),
) -> Selection:
    """Select versions, wheels and edges for every cell of a space.

    Args:
        snapshot: The input.
        space: The environments.
        facts: What is known of its artefacts.
        request: What is asked for.
        bounds: The cells that the input is for; all when None.
        standing: Where the first packages stand, when that is settled: a lock whose packages were
            given other versions has no edges any more by which one of two entries stands.

    Returns:
        The selection. When its ``needs`` are not empty, get them and select again.
    """
    return _Selector(snapshot, space, facts, request, bounds, standing=standing).run()


@dataclass(frozen=True, slots=True)
class _Word:
    """Who says that something is required, and whether loops are sought along it."""

    origin: Origin
    artefact: Artefact | None = None
    judged: bool = True


_INSTALLED = _Word("lock", judged=False)
"""The lock's word on what is installed, where wheels speak for themselves."""


@dataclass(frozen=True, slots=True)
class _Link:
    """An edge before it is known where its source is reached."""

    requirement: Requirement
    target: int
    cells: Condition
    word: _Word
    fits: bool

    def edge(self, source: Node, cells: Condition) -> Edge:
        """The edge, live in some cells."""
        word = self.word
        return Edge(
            source, self.target, self.requirement, cells, word.origin, word.artefact, word.judged
        )


class _Selector:
    """The working state of one selection."""

    def __init__(
        self,
        snapshot: Snapshot,
        space: Space,
        facts: Facts,
        request: Request,
        bounds: Condition | None,
        *,
        standing: Sequence[Condition],
    ) -> None:
        self.snapshot = snapshot
        self.space = space
        self.facts = facts
        self.request = request
        self.bounds = space.full if bounds is None else bounds
        self.packages = snapshot.packages
        self.standing = [space.condition(package.marker) for package in self.packages]
        self.is_settled = bool(standing)
        self.standing[: len(standing)] = standing
        self.by_name: dict[NormalizedName, list[int]] = defaultdict(list)
        for i, package in enumerate(self.packages):
            self.by_name[package.name].append(i)
        self.ranks: dict[NormalizedName, dict[Version, int]] = {}
        self.missing: dict[Node, list[tuple[Requirement, Condition, Artefact | None]]] = {}
        self.offers = Offers(snapshot, space, facts, request)
        self.result = Selection(snapshot, space, self.bounds, standing=self.standing)
        self.result.offers = self.offers.found
        self.result.choices = self.offers.choices

    def run(self) -> Selection:
        roots = self.snapshot.roots
        if roots is None:
            roots = find_roots(self.snapshot, all_extras=self.request.all_extras)
        self.result.roots = tuple(
            (root, cells)
            for root in roots
            if is_requested(root, self.request)
            and (cells := self.space.condition(root.requirement.marker) & self._chosen(root))
        )
        if any(len(indices) > 1 for indices in self.by_name.values()):
            self._let_lock_choose()
        links: dict[Node, list[_Link]] = {}
        self.result.reached = self._flow(self._links_of, links)
        self._collect_entries()
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
        if self.is_settled or all(package.requirements is None for package in self.packages):
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
            for link in self._join(root.requirement, cells, _INSTALLED):
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
        return list(self._links(node, requirements, self.space.full, _INSTALLED))

    def _links_of(self, node: Node) -> list[_Link]:
        index = node[0]
        package = self.packages[index]
        links: list[_Link] = []
        by_lock = 0
        for offer in self.offers.of(index):
            word = _Word(offer.origin, offer.artefact)
            links += self._links(node, offer.requirements or (), offer.cells, word)
            if offer.origin == "lock":
                by_lock |= offer.cells
        elsewhere = self.space.full & ~by_lock
        if package.requirements and elsewhere:
            links += self._links(node, package.requirements, elsewhere, _INSTALLED)
        return links

    def _links(
        self,
        node: Node,
        requirements: Iterable[Requirement],
        cells: Condition,
        word: _Word,
    ) -> Iterator[_Link]:
        for requirement in requirements:
            holds = self._holds(requirement, node[1]) & cells
            if not holds:
                continue
            met = 0
            for link in self._join(requirement, holds, word):
                met |= link.cells
                yield link
            # Of an entry that a lock or a comment requires, the input itself says where it stands;
            # old locks say it nowhere else.
            is_settled = word.origin in {"lock", "via"} and requirement.name in self.by_name
            is_settled |= requirement.name in self.snapshot.left_out
            if word.judged and holds & ~met and not is_settled:
                lack = (requirement, holds & ~met, word.artefact)
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

    def _join(self, requirement: Requirement, cells: Condition, word: _Word) -> Iterator[_Link]:
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
                yield _Link(requirement, i, here, word, fits)

    def _fits(self, requirement: Requirement, index: int) -> bool:
        version = self.packages[index].version
        if version is None or requirement.url is not None or not requirement.specifier:
            return True
        return requirement.specifier.contains(version, prereleases=True)

    def _preference(self, requirement: Requirement, index: int) -> tuple[bool, int]:
        """Sort key: what fits first, then the higher version, then the earlier entry."""
        name = self.packages[index].name
        if name not in self.ranks:
            versions = {v for i in self.by_name[name] if (v := self.packages[i].version)}
            self.ranks[name] = {v: rank for rank, v in enumerate(sorted(versions, reverse=True))}
        ranks = self.ranks[name]
        version = self.packages[index].version
        rank = ranks[version] if version else len(ranks)
        return (not self._fits(requirement, index), rank)

    # Results --------------------------------------------------------------------------------------

    def _collect_entries(self) -> None:
        """Join the roots to packages, and note those that nothing meets."""
        for root, cells in self.result.roots:
            unmet = cells
            for link in self._join(root.requirement, cells, _INSTALLED):
                unmet &= ~link.cells
                self.result.entries.append((root.requirement, link.target, link.cells))
                if not link.fits:
                    self._add_unmet(None, root.requirement, link.cells, link.target, None)
            if unmet:
                self._add_unmet(None, root.requirement, unmet, None, None)

    def _collect_edges(self, links: dict[Node, list[_Link]]) -> None:
        """Note the links that are live somewhere, and the requirements that nothing meets."""
        reached = self.result.reached
        for node in sorted(links):
            for link in links[node]:
                cells = link.cells & reached[node]
                if not cells:
                    continue
                self.result.edges.append(link.edge(node, cells))
                if link.word.judged and not link.fits:
                    self._add_unmet(node, link.requirement, cells, link.target, link.word.artefact)
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
        files: dict[tuple[NormalizedName, Version], str | None] = {}
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
        self.result.needs = Needs(files=files, metadata=tuple(wanted.values()))

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

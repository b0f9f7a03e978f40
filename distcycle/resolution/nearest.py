"""The nearest versions without a loop: the smallest change of a lock after which none remains.

A search from the cheapest change on. A set of versions is judged by the same selection as the input
itself. What is wrong with it (a loop, a conflict, something missing) can only be mended by a change
of one of the few packages that take part, to a version that has not the requirement in question, so
only those are tried next: the search learns from what it refuses, and never tries all pairs. It
dives for a first set with nothing wrong, and then goes on from the cheapest change: costs only
grow, so that it can tell when nothing smaller is left.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.cycles import Component
from distcycle.model import Snapshot
from distcycle.resolution.changeable import Changeable, Changes, Cost, Variable
from distcycle.resolution.faults import Goal, Judgement, Option
from distcycle.resolution.shelf import Shelf
from distcycle.selection import Selection

__all__ = ["Found", "Nearest", "find_nearest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A set of versions without the loop.

    Attributes:
        snapshot: The lock with these versions, and with the packages that come.
        selection: What is selected of it.
        cost: What the change costs.
    """

    snapshot: Snapshot
    selection: Selection
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """What came of a search.

    Attributes:
        found: The smallest change that was found; None when there is none, or none was found.
        tried: How many sets of versions were judged.
        exhausted: Whether everything was tried that could have been smaller.
        ranges: For each project of which versions were tried, the oldest and the newest of them.
    """

    found: Found | None
    tried: int
    exhausted: bool
    ranges: Mapping[NormalizedName, tuple[Version, Version]]


def find_nearest(
    component: Component,
    selection: Selection,
    shelf: Shelf,
    select: Callable[[Snapshot], Selection],
    *,
    most_tried: int = 600,
    most_versions: int = 60,
) -> Nearest:
    """Find the smallest change of versions after which a loop is gone and no other has come.

    Args:
        component: The loop.
        selection: What is selected of the lock, on the targets of the shelf; its roots say what
            must stay.
        shelf: What there is to choose from.
        select: Selects, with all METADATA.
        most_tried: How many sets of versions to judge before giving up.
        most_versions: How many versions of a project to look at on either side of its own.

    Returns:
        The smallest change by :class:`Cost`, or that there is none.

    Raises:
        MetadataError: Something that had to be asked did not answer.
    """
    lock = Changeable(selection, shelf, most_versions)
    return _Search(lock, Goal(component, selection), select).run(most_tried)


@dataclass(slots=True)
class _Entry:
    """A set of changes in the queue.

    Attributes:
        bound: What it, and all that comes of it, costs at least.
        changes: The changes.
        age: How far what comes is from being the newest.
        key: The changes in a fixed order, to settle ties.
        is_diving: Whether what owes the least, then what has most decided, comes first; else what
            costs least.
        fault: What may be done about what is wrong with it, once that is known.
        owed: What must be paid at least for each package that does not suit what was decided.
        found: What it comes to, when nothing is wrong with it.
    """

    bound: Cost
    changes: Changes
    age: int = 0
    key: tuple[tuple[str, str], ...] = ()
    is_diving: bool = True
    fault: list[Option] | None = None
    owed: Mapping[Variable, Cost] = field(default_factory=dict)
    found: Found | None = None

    def __lt__(self, other: _Entry) -> bool:
        return self._rank() < other._rank()

    def _rank(self) -> tuple[object, ...]:
        settled = sum(isinstance(variable, int) for variable, _ in self.changes)
        depth = len(self.changes)
        dive = (self.bound.goes_back, self.bound.changed - settled, -depth)
        first = dive if self.is_diving else ()
        return (*first, self.bound, self.age, -depth, self.key)


class _Search:
    """The working state of one search."""

    def __init__(
        self, lock: Changeable, goal: Goal, select: Callable[[Snapshot], Selection]
    ) -> None:
        self.lock = lock
        self.goal = goal
        self.select = select

    def run(self, most_tried: int) -> Nearest:
        """Dive for a set that changes as few packages as can be; then look for fewer steps."""
        queue = [_Entry(Cost(), frozenset())]
        seen: set[Changes] = {frozenset()}
        best: Found | None = None
        tried = 0
        while queue:
            entry = heapq.heappop(queue)
            if best is not None and entry.bound >= best.cost:
                break
            if entry.fault is not None:
                for further in self._expand(entry, entry.fault, seen):
                    heapq.heappush(queue, further)
                continue
            if tried >= most_tried:
                return self._result(best, tried, exhausted=False)
            tried += 1
            judged = self._judge(entry)
            if judged is None:
                continue
            if judged.found is None:
                heapq.heappush(queue, judged)
            elif best is None:
                # What is left is in the order of a dive: from now on what costs least comes first.
                best = judged.found
                queue = [replace(further, is_diving=False) for further in queue]
                heapq.heapify(queue)
            else:
                best = min(best, judged.found, key=lambda found: found.cost)
        return self._result(best, tried, exhausted=True)

    def _result(self, found: Found | None, tried: int, *, exhausted: bool) -> Nearest:
        return Nearest(found=found, tried=tried, exhausted=exhausted, ranges=self.lock.ranges)

    def _judge(self, entry: _Entry) -> _Entry | None:
        """The set of changes with what is wrong with it, or with what it comes to."""
        snapshot, variables = self.lock.build(entry.changes)
        selection = self.select(snapshot)
        judgement = Judgement(self.lock, self.goal, selection, variables, dict(entry.changes))
        fault = judgement.first_fault()
        if fault is not None:
            owed = judgement.owed()
            bound = max(entry.bound, self.lock.cost(entry.changes, 0, owed.values()))
            return replace(entry, bound=bound, fault=fault, owed=owed) if fault else None
        if judgement.is_idle():
            return None
        cost = self.lock.cost(entry.changes, self._left(selection))
        found = Found(snapshot=snapshot, selection=selection, cost=cost)
        return replace(entry, bound=cost, found=found)

    def _expand(
        self, entry: _Entry, fault: Sequence[Option], seen: set[Changes]
    ) -> Iterator[_Entry]:
        """The sets of changes that mend what is wrong with one."""
        for option in fault:
            kept = frozenset(c for c in entry.changes if c[0] != option.variable)
            for rank, version in enumerate(option.versions):
                changes = kept | {(option.variable, version)}
                if changes not in seen:
                    seen.add(changes)
                    # Of what comes the newest is taken that will do, the next one if it must.
                    age = entry.age + (rank if isinstance(option.variable, str) else 0)
                    rest = [c for v, c in entry.owed.items() if v != option.variable]
                    bound = max(entry.bound, self.lock.cost(changes, option.owed, rest))
                    key = tuple(
                        sorted((self.lock.name_of(v), str(version)) for v, version in changes)
                    )
                    yield _Entry(bound, changes, age=age, key=key, is_diving=entry.is_diving)

    def _left(self, selection: Selection) -> int:
        return sum(not selection.reached.get((i, "")) for i in self.goal.members)

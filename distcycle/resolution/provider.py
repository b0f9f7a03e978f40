"""Answers resolvelib's questions about one target: candidates, dependencies, and what comes first.

A project and each extra of it are resolved apart, as in pip: ``hen[fly]`` requires exactly the
``hen`` that is chosen, and what the extra adds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from packaging.version import Version
from resolvelib import AbstractProvider, BaseReporter

from distcycle.model import Requirement
from distcycle.resolution.ahead import Scout
from distcycle.resolution.records import Candidate, Identifier, Need, needs_of
from distcycle.resolution.shelf import View

if TYPE_CHECKING:
    from resolvelib.structs import RequirementInformation

__all__ = ["BROKEN", "PYTHON", "Pins", "Provider"]

PYTHON: Identifier = ("", "python")
BROKEN: Identifier = ("", "broken")


class Pins(BaseReporter[Need, Candidate, Identifier]):
    """Remembers which version of each project was chosen last.

    An extra tries that version first. It may have been taken back since: it decides on nothing but
    the order.
    """

    def __init__(self) -> None:
        self.candidates: dict[str, Candidate] = {}

    def pinning(self, candidate: Candidate) -> None:
        """Remember a project's own candidate."""
        if not candidate.extra:
            self.candidates[candidate.name] = candidate


class Provider(AbstractProvider[Need, Candidate, Identifier]):
    """What resolvelib asks, answered for one target.

    Args:
        view: What the target sees.
        constraints: Bounds of the input that install nothing.
        pins: Where versions are remembered.

    Attributes:
        seen: For each need that was considered, by project, in order.
    """

    def __init__(self, view: View, constraints: Iterable[Requirement], pins: Pins) -> None:
        self.view = view
        self.rules = view.shelf.rules
        self.pins = pins
        self.seen: dict[Identifier, dict[tuple[object, ...], Need]] = defaultdict(dict)
        self._scout = Scout(view)
        self._order: dict[str, int] = {}
        self._left: dict[str, Sequence[Version]] = {}
        self._bounds: dict[str, list[Need]] = defaultdict(list)
        for constraint in constraints:
            if view.holds(constraint.marker):
                self._bounds[constraint.name] += list(needs_of(constraint, None))[:1]

    def bounds_of(self, project: str) -> Sequence[Need]:
        """The constraints on a project that hold on the target."""
        return self._bounds.get(project, ())

    def identify(self, requirement_or_candidate: Need | Candidate) -> Identifier:
        """The project and extra that something is of."""
        return (requirement_or_candidate.name, requirement_or_candidate.extra)

    def is_satisfied_by(self, requirement: Need, candidate: Candidate) -> bool:
        """Whether a candidate will do."""
        if requirement.url is not None and requirement.url != candidate.url:
            return False
        return requirement.admits(candidate.version)

    # Candidates -----------------------------------------------------------------------------------

    def find_matches(
        self,
        identifier: Identifier,
        requirements: Mapping[Identifier, Iterator[Need]],
        incompatibilities: Mapping[Identifier, Iterator[Candidate]],
    ) -> Callable[[], Iterator[Candidate]] | Sequence[Candidate]:
        """The candidates for a project or extra, best first, each found when it is asked for.

        Called for every requirement that is added, and after every step back.
        """
        needs = list(requirements[identifier])
        if identifier == BROKEN:
            return ()
        if identifier == PYTHON:
            python = Candidate(name="", extra="python", version=self.view.python)
            return [python] if all(need.admits(python.version) for need in needs) else ()
        refused = set(incompatibilities[identifier])
        name, extra = identifier
        needs += self.bounds_of(name)
        urls = {need.url for need in needs if need.url is not None}
        if extra and (name, "") in requirements:
            urls |= {need.url for need in requirements[name, ""] if need.url is not None}
        if (given := self.view.shelf.given_for(name)) is not None:
            urls.add(given)
        if urls:
            return list(self._at_url(identifier, needs, urls, refused))

        def find() -> Iterator[Candidate]:
            base = self.pins.candidates.get(name) if extra else None
            if base is not None and base.url is not None:
                # A direct reference may have become known after the extra was asked for.
                candidate = replace(base, extra=extra)
                if candidate not in refused and all(n.admits(base.version) for n in needs):
                    yield candidate
            for version in self._versions(identifier, needs):
                candidate = Candidate(name=name, extra=extra, version=version)
                if candidate not in refused:
                    yield candidate

        return find

    def _at_url(
        self,
        identifier: Identifier,
        needs: Sequence[Need],
        urls: set[str],
        refused: set[Candidate],
    ) -> Iterator[Candidate]:
        """The one candidate of a direct reference, where only one place is named."""
        name, extra = identifier
        if len(urls) > 1:
            return
        url = next(iter(urls))
        version = self.view.version_at(url)
        candidate = Candidate(name=name, extra=extra, version=version, url=url)
        if candidate not in refused and all(need.admits(version) for need in needs):
            yield candidate

    def _versions(self, identifier: Identifier, needs: Sequence[Need]) -> Iterator[Version]:
        """The versions that all needs admit, best first.

        Asked for anew with every requirement that is added, so what the needs admit is remembered:
        of two projects with thousands of releases each, most of the time went there.

        Versions before a release are as good as releases only where a rule or a specifier says so;
        else they count where no release will do. What was withdrawn serves only who pins it.
        """
        name, extra = identifier
        wants_early = self.rules.admits_early(name) or any(
            need.specifier.prereleases for need in needs
        )
        early: list[Version] = []
        is_found = False
        for version in self._ordered(name, extra, needs):
            if version.is_prerelease and not wants_early and version not in self._kept(name):
                early.append(version)
            elif self._may_be_taken(name, version, needs):
                is_found = True
                yield version
        if not is_found:
            yield from (v for v in early if self._may_be_taken(name, v, needs))

    def _may_be_taken(self, name: str, version: Version, needs: Sequence[Need]) -> bool:
        stands = self.view.standing(name, version)
        if stands is None:
            return version in self._kept(name) or any(_pins(need) for need in needs)
        return stands

    def _kept(self, name: str) -> tuple[Version, ...]:
        """The version that a lock has, where that is to be kept."""
        kept = self.rules.locked.get(name)  # type: ignore[call-overload]
        return (kept,) if kept is not None and self.rules.prefer == "locked" else ()

    def _ordered(self, name: str, extra: str, needs: Iterable[Need]) -> Iterable[Version]:
        """The versions that all needs admit, in the order in which they are tried."""
        exact = {need.exact for need in needs if need.exact is not None}
        if exact:
            return [v for v in exact if all(need.admits(v) for need in needs)]
        versions: Sequence[Version] = self.view.shelf.admitted(
            name, (need.specifier for need in needs)
        )
        if self.rules.prefer == "lowest":
            versions = versions[::-1]
        self._left[name] = versions
        first = [v for v in self._kept(name) if v in versions]
        chosen = self.pins.candidates.get(name) if extra else None
        if chosen is not None and chosen.version is not None and chosen.version in versions:
            first.insert(0, chosen.version)
        return [*first, *(v for v in versions if v not in first)] if first else versions

    # Dependencies ---------------------------------------------------------------------------------

    def get_dependencies(self, candidate: Candidate) -> Iterable[Need]:
        """What a candidate requires on the target."""
        if not candidate.name:
            return ()
        if candidate.version is not None:
            self._scout.step(candidate.name, candidate.version, self._left.get(candidate.name, ()))
        needs = list(self._dependencies(candidate))
        for need in needs:
            self.note(need)
        return needs

    def note(self, need: Need) -> None:
        """Remember a need for explanations, and look ahead for what it will ask for."""
        self._order.setdefault(need.name, len(self._order))
        if need.name:
            self._scout.look(need)
        key = (str(need.specifier), need.exact, need.url, need.refusal, need.parent)
        self.seen[need.identifier].setdefault(key, need)

    def _dependencies(self, candidate: Candidate) -> Iterator[Need]:
        said = self.view.said_of(candidate)
        if said.broken:
            yield Need(name="", extra="broken", refusal=said.broken, parent=candidate)
            return
        if candidate.extra:
            yield Need(
                name=candidate.name, exact=candidate.version, url=candidate.url, parent=candidate
            )
        elif said.requires_python is not None and not self.view.admits(said.requires_python):
            yield Need(name="", extra="python", specifier=said.requires_python, parent=candidate)
            return
        for requirement in self.view.requirements(said, candidate.extra):
            if requirement.problem and not self.view.versions(requirement.name):
                continue  # what cannot be read may be no project at all
            if requirement.name != candidate.name:
                yield from needs_of(requirement, candidate)
            else:
                yield from self._own_extras(requirement, candidate)

    def _own_extras(self, requirement: Requirement, candidate: Candidate) -> Iterator[Need]:
        """A requirement of a project on itself asks for extras of the very same version."""
        for extra in requirement.extras:
            if extra != candidate.extra:
                yield Need(
                    name=candidate.name,
                    extra=extra,
                    exact=candidate.version,
                    url=candidate.url,
                    parent=candidate,
                    requirement=requirement,
                )

    # Order ----------------------------------------------------------------------------------------

    def narrow_requirement_selection(
        self,
        identifiers: Iterable[Identifier],
        resolutions: Mapping[Identifier, Candidate],
        candidates: Mapping[Identifier, Iterator[Candidate]],
        information: Mapping[Identifier, Iterator[RequirementInformation[Need, Candidate]]],
        backtrack_causes: Sequence[RequirementInformation[Need, Candidate]],
    ) -> Iterable[Identifier]:
        """What is to be decided first of what is open: Python, extras of what is chosen, conflicts.

        Called once in every round.
        """
        open_ones = list(identifiers)
        for identifier in open_ones:
            if identifier in {PYTHON, BROKEN} or (
                identifier[1] and (identifier[0], "") in resolutions
            ):
                return [identifier]
        causes = {cause.requirement.identifier for cause in backtrack_causes}
        causes |= {self.identify(c.parent) for c in backtrack_causes if c.parent is not None}
        return [identifier for identifier in open_ones if identifier in causes] or open_ones

    def get_preference(
        self,
        identifier: Identifier,
        resolutions: Mapping[Identifier, Candidate],
        candidates: Mapping[Identifier, Iterator[Candidate]],
        information: Mapping[Identifier, Iterator[RequirementInformation[Need, Candidate]]],
        backtrack_causes: Sequence[RequirementInformation[Need, Candidate]],
    ) -> Any:
        """What leaves the least choice comes first: direct references, pins, upper bounds.

        Called for every project that is open, in every round.
        """
        needs = [info.requirement for info in information[identifier]]
        needs += self.bounds_of(identifier[0])
        operators = {s.operator for need in needs for s in need.specifier}
        return (
            all(need.url is None for need in needs),
            not any(_pins(need) for need in needs),
            not operators & {"<", "<=", "~="},
            not operators,
            self._order.get(identifier[0], len(self._order)),
            identifier,
        )


def _pins(need: Need) -> bool:
    if need.exact is not None:
        return True
    return any(
        s.operator == "===" or (s.operator == "==" and not s.version.endswith(".*"))
        for s in need.specifier
    )

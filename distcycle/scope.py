"""What is judged: named targets, or every environment that the input can tell apart."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from distcycle.errors import TargetError
from distcycle.markers import (
    Condition,
    Space,
    TooManyCells,
    UnreadableMarker,
    atoms_of,
    parse_expression,
    whole_space,
)
from distcycle.model import Facts, Snapshot
from distcycle.selection import MOST_CHOICES, Request, find_choices
from distcycle.targets import (
    PLATFORMS,
    Target,
    custom_target,
    find_pythons,
    make_target,
    make_targets,
)
from distcycle.vocabulary import Vocabulary, vocabulary_of

__all__ = ["Scope", "choose_targets"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The environments on which an input is judged.

    Attributes:
        snapshot: The input.
        request: What is asked for.
        targets: The targets to name.
        whole: Whether every environment is judged, and not just the targets.
        most_cells: How many environments may be told apart; beyond, only the targets are judged.
        words: What must be told apart besides what the input itself does.
    """

    snapshot: Snapshot
    request: Request
    targets: tuple[Target, ...]
    whole: bool
    most_cells: int = 1 << 17
    words: Vocabulary = field(default_factory=lambda: Vocabulary((), ()))

    def space(self, facts: Facts) -> Space:
        """Make the space, as fine as what is known of the input asks for.

        Args:
            facts: What is known of the input's artefacts.
        """
        space = self._space(facts)
        if len(find_choices(self.snapshot, self.request)) >= MOST_CHOICES:
            alternatives = f"only {MOST_CHOICES} alternatives of conflicting extras were judged"
            space.note = "; ".join(filter(None, (space.note, alternatives)))
        return space

    def _space(self, facts: Facts) -> Space:
        if not self.whole:
            return self._listed(self.targets)
        try:
            return self._whole(facts)
        except TooManyCells as error:
            space = self._listed(self.targets)
            space.note = f"{error}; judged on the named targets only"
            return space

    def listed(self, targets: Sequence[Target]) -> Scope:
        """The same input on these targets and nothing else."""
        return replace(self, targets=tuple(targets), whole=False)

    def _listed(self, targets: Sequence[Target]) -> Space:
        return Space.of_targets(
            targets,
            choices=find_choices(self.snapshot, self.request),
            extras=self._extras(),
            groups=self.request.groups.union(self.snapshot.default_groups),
        )

    def _whole(self, facts: Facts) -> Space:
        words = vocabulary_of(self.snapshot, facts) | self.words
        space = whole_space(
            words.markers,
            words.specifiers,
            admits=self.snapshot.requires_python,
            wheel_tags=words.wheel_tags if self.request.edges == "wheel" else None,
            named=self.targets,
            choices=find_choices(self.snapshot, self.request),
            extras=self._extras(),
            groups=self.request.groups.union(self.snapshot.default_groups),
            most_cells=self.most_cells,
        )
        # What the input is not for is no part of the judgement of all that it is for.
        bounds = self.bounds(space)
        space.named = tuple(profile for profile in space.named if profile.cells & bounds)
        return space

    def _extras(self) -> set[str]:
        """The input's own extras (``"x" in extras``, PEP 751) that are asked for."""
        extras: set[str] = set(self.request.extras)
        if self.request.all_extras:
            for text in {str(p.marker) for p in self.snapshot.packages if p.marker}:
                with contextlib.suppress(UnreadableMarker):
                    atoms = atoms_of(parse_expression(text))
                    extras |= {atom.literal for atom in atoms if atom.variable == "extras"}
        return extras

    def bounds(self, space: Space) -> Condition:
        """The cells that the input is for; all of them where the targets were named."""
        if not space.is_whole:
            return space.full
        cells = space.python(self.snapshot.requires_python)
        if self.snapshot.environments:
            declared = 0
            for marker in self.snapshot.environments:
                declared |= space.condition(marker)
            cells &= declared
        return cells or space.full


def choose_targets(
    snapshot: Snapshot,
    platforms: Sequence[str | Target] = (),
    python_versions: Sequence[str] = (),
) -> tuple[Target, ...]:
    """Choose the targets on which to judge an input.

    Args:
        snapshot: The input.
        platforms: Names of platforms (see :func:`~distcycle.targets.find_platforms`), or targets.
            Without any: where an environment was taken, else tier 1 as far as the lock was made
            for it.
        python_versions: Versions of Python; without any those that the input admits.

    Returns:
        The targets, each once.

    Raises:
        TargetError: A name is not known.
    """
    if snapshot.environment is not None and not platforms and not python_versions:
        return (_target_of(snapshot.environment),)
    try:
        targets = make_targets(platforms, python_versions, admits=snapshot.requires_python)
    except TargetError:
        if platforms or python_versions:
            raise
        # The input is for no Python that is known: every environment can be judged all the same.
        return ()
    if platforms or not snapshot.environments:
        return targets
    space = Space.of_targets(targets)
    made_for = 0
    for marker in snapshot.environments:
        made_for |= space.condition(marker)
    return tuple(targets[cell] for cell in space.cells(made_for)) or targets


def _target_of(environment: Mapping[str, str]) -> Target:
    """The target of an environment that was taken somewhere, by the table where it can be."""
    seen = custom_target(environment, ["py3-none-any"], label="environment")
    names = ("os_name", "sys_platform", "platform_system", "platform_machine")
    for platform in PLATFORMS:
        with contextlib.suppress(TargetError):
            python = find_pythons(environment["python_version"])[0]
            target = make_target(platform, python)
            if all(target.environment[name] == environment[name] for name in names):
                name = f"{target.name}@environment"
                return replace(target, name=name, environment=seen.environment)
    return seen

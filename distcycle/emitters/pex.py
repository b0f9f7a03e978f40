"""Overrides for pex and pex3: where something requires a project, another is required instead.

An exclude leaves a project out of every PEX, even one that names it. An override that holds
nowhere is no way out: pex then takes the requirement as declared. An override that puts another
project in the place of a requirement takes the edge away, and leaves the project to those who name
it on the command line; unless they resolve from a lock, for pex then overrides what they name, too.

The project that stands in is one that the package requires anyway and that is in no loop: whatever
it leads to, no loop can come of it.

Source: ``pex --help``; pex 2.105 was run.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from packaging.utils import NormalizedName, canonicalize_name

from distcycle.emitters.comments import comment, describe_cut, describe_plan, name_cut
from distcycle.emitters.literals import name_in
from distcycle.plan import Plan, PlannedCut
from distcycle.requirements import parse_requirement

__all__ = ["check", "emit"]

_HINTS = (
    "A line for each option, for pex and pex3 lock create:"
    " grep -v '^#' FILE | xargs pex3 lock create -r requirements.txt -o lock.json",
    "pex itself builds and runs loops; a cut serves those who read what it has locked. Name every"
    " project below that is needed as such; from a lock, pex leaves it out all the same.",
)


def emit(plan: Plan) -> str:
    """Write the cuts of a plan as options.

    Args:
        plan: The plan.

    Returns:
        A line for each option, and comments.
    """
    lines = comment(describe_plan(plan, "pex", *_HINTS))
    for name in sorted({cut.requires for cut in plan.cuts}):
        cuts = [cut for cut in _sorted(plan) if cut.requires == name]
        stand_in = next((n for cut in cuts if (n := _stand_in(plan, cut))), None)
        lines += ["", *comment(line for cut in cuts for line in describe_cut(plan, cut))]
        if stand_in is None:
            lines += comment(["  Nothing can stand in for it, so no PEX will hold it."])
            lines.append(f"--exclude {shlex.quote(name)}")
        else:
            lines.append(f"--override {shlex.quote(f'{name}={stand_in}')}")
    return "\n".join(lines) + "\n"


def _stand_in(plan: Plan, cut: PlannedCut) -> NormalizedName | None:
    """A project in no loop that a package requires in every environment, if there is one."""
    looped = {name for group in plan.groups for name in group.packages}
    looped.update(end for other in plan.cuts for end in (other.package, other.requires))
    required = (parse_requirement(line) for line in cut.remaining)
    plain = {r.name for r in required if r.marker is None and r.url is None}
    return min(plain - looped, default=None)


def _sorted(plan: Plan) -> list[PlannedCut]:
    return sorted(plan.cuts, key=lambda cut: (cut.package, str(cut.version), cut.requires))


def check(plan: Plan, text: str) -> tuple[str, ...]:
    """Say which cuts a file of options or a script does not have.

    Args:
        plan: The plan.
        text: The file; it is read as words of a shell, and nothing in it is expanded.

    Returns:
        One line for each cut that is missing, or the one that tells why nothing can be told.
    """
    try:
        words = shlex.split(text, comments=True)
    except ValueError as error:
        return (f"cannot be told: not words of a shell: {error}",)
    gone = set(_taken_away(words))
    return tuple(
        f"{name_cut(cut)}: neither overridden nor excluded"
        for cut in _sorted(plan)
        if cut.requires not in gone
    )


def _taken_away(words: list[str]) -> Iterator[NormalizedName]:
    """The projects that no requirement asks for any more."""
    for i, word in enumerate(words):
        option, joined, value = word.partition("=")
        if option not in {"--exclude", "--override"}:
            continue
        value = value if joined else "".join(words[i + 1 : i + 2])
        name = name_in(value)
        if name is not None and _goes(option, name, value):
            yield name


def _goes(option: str, name: NormalizedName, value: str) -> bool:
    """Whether an option concerns every requirement on a project, whatever its bounds."""
    if option == "--exclude":
        return canonicalize_name(value.strip()) == name
    _, swapped, instead = value.partition("=")
    return bool(swapped) and not instead.startswith("=") and name_in(instead) not in {None, name}

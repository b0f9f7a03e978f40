"""Everything that can leave the API as an exception.

A loop is never an exception: it is a finding. Attributes come first; the text is made from them.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "DistcycleError",
    "InputError",
    "MetadataError",
    "MoveRefused",
    "PolicyError",
    "ResolutionError",
    "TargetError",
    "UnknownFormat",
    "UnsupportedLockVersion",
]


class DistcycleError(Exception):
    """Base of all errors raised on purpose; the command line turns it into exit code 2."""


class InputError(DistcycleError):
    """An input could not be read.

    Args:
        problem: What is wrong and what was expected, in one line.
        path: The file, as the user named it.
        line: The line in that file, counted from 1, when known.
        key: The place inside a structured file, such as ``package[40].dependencies.numpy``.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str | None = None,
        line: int | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path
        self.line = line
        self.key = key

    def __str__(self) -> str:
        where = self.path or ""
        if where and self.line is not None:
            where += f":{self.line}"
        return ": ".join(part for part in (where, self.key, self.problem) if part)


class UnknownFormat(InputError):
    """The input is none of the kinds that distcycle reads."""


class UnsupportedLockVersion(InputError):
    """The lock file says that it has a format version that distcycle does not know."""


class PolicyError(DistcycleError):
    """A policy file has problems; all of them are reported at once.

    Args:
        problems: One error for each problem, in file order.
    """

    def __init__(self, problems: Sequence[InputError]) -> None:
        super().__init__(*problems)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class MoveRefused(DistcycleError):
    """Names cannot move to another module without a change of what their modules do.

    Args:
        problems: One error for each name and reason, in file order; its key is the name.
    """

    def __init__(self, problems: Sequence[InputError]) -> None:
        super().__init__(*problems)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class TargetError(DistcycleError):
    """A platform or Python version was named that no target has.

    Args:
        name: The name as it was given.
        nearest: Known names that are close to it, best first.
        problem: What is wrong, when it is not just that the name is unknown.
    """

    def __init__(
        self, name: str, *, nearest: Sequence[str] = (), problem: str = "unknown platform"
    ) -> None:
        super().__init__(name)
        self.name = name
        self.nearest = tuple(nearest)
        self.problem = problem

    def __str__(self) -> str:
        hint = f"; did you mean {' or '.join(self.nearest)}?" if self.nearest else ""
        return f"{self.problem} {self.name!r}{hint}"


class MetadataError(DistcycleError):
    """A distribution's metadata could not be had, or must not be used.

    Args:
        problem: What is wrong, in one line.
        url: Where it was sought, with credentials removed.
    """

    def __init__(self, problem: str, *, url: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.url = url

    def __str__(self) -> str:
        return f"{self.url}: {self.problem}" if self.url else self.problem


class ResolutionError(DistcycleError):
    """No set of versions meets the requirements on a target.

    Args:
        target: The target's name.
        causes: The requirements that exclude each other, one line each.
        path: The input, as the user named it.
        others: The same for further targets.
    """

    def __init__(
        self,
        target: str,
        causes: Sequence[str],
        *,
        path: str | None = None,
        others: Sequence[ResolutionError] = (),
    ) -> None:
        super().__init__(target, *causes)
        self.target = target
        self.causes = tuple(causes)
        self.path = path
        self.others = tuple(others)

    def __str__(self) -> str:
        start = f"{self.path}: " if self.path else ""
        lines = [f"{start}cannot be resolved for {self.target}:"]
        lines += [f"  {cause}" for cause in self.causes]
        return "\n".join([*lines, *map(str, self.others)])

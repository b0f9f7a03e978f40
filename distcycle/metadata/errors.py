"""Why one way to an artefact's metadata ended; inside this floor only, except for the last."""

from __future__ import annotations

from distcycle.errors import MetadataError

__all__ = ["HashMismatch", "TooLarge", "Unreachable"]


class Unreachable(MetadataError):
    """Nothing usable came back from a location.

    Args:
        problem: Why, in words that do not vary between runs.
        url: The location, with credentials removed.
        status: The HTTP status, None when there was no answer.
    """

    def __init__(self, problem: str, *, url: str | None = None, status: int | None = None) -> None:
        super().__init__(problem, url=url)
        self.status = status


class TooLarge(MetadataError):
    """A body exceeds what is read of its kind.

    Args:
        limit_bytes: The limit.
        url: The location, with credentials removed.
    """

    def __init__(self, limit_bytes: int, *, url: str | None = None) -> None:
        super().__init__(f"larger than {limit_bytes // 2**20} MiB", url=url)
        self.limit_bytes = limit_bytes


class HashMismatch(MetadataError):
    """A whole file is not the one that the input names; ends the run and names the file."""

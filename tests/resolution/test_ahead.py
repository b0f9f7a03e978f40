"""Looking ahead fetches what will be asked for, little else, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from synthetic import Index, MemorySource, ask
from test_resolver_laws import TARGET, indexes

from distcycle.model import Artefact, Metadata, Unknown
from distcycle.resolution import Rules, resolve
from distcycle.selection import Request


class EagerSource(MemorySource):
    """Does what is to be done ahead at once, and remembers whose METADATA was read."""

    def __init__(self, index: Index) -> None:
        super().__init__(index)
        self.read: set[str] = set()

    def metadata(self, artefact: Artefact) -> Metadata | Unknown:
        self.read.add("-".join(artefact.filename.split("-")[:2]))
        return super().metadata(artefact)

    def ahead(self, job: Callable[[], None]) -> None:
        job()


def versions_of(source: MemorySource, *roots: str) -> list[tuple[str, str]]:
    done, _ = resolve(ask(*roots), TARGET, source, Rules(), Request())
    return [(p.name, str(p.version)) for each in done for p in each.snapshot.packages]


@given(indexes())
@settings(max_examples=100, deadline=None)
def test_the_same_is_chosen(case: tuple[Index, tuple[str, ...]]) -> None:
    index, roots = case
    assert versions_of(EagerSource(index), *roots) == versions_of(MemorySource(index), *roots)


@pytest.mark.parametrize(
    ("there", "oldest"),
    [
        (60, 60),  # the first will do
        (58, 58),  # the third: nothing was fetched beyond
        (57, 53),  # the fourth: as many as were tried
        (20, 4),  # the forty-first: not more than 16
    ],
)
def test_what_follows_is_fetched_once_several_were_refused(there: int, oldest: int) -> None:
    index = {
        "a": {str(v): (f"b=={v}",) for v in range(1, 61)},
        "b": {str(there): ()},
    }
    source = EagerSource(index)
    assert versions_of(source, "a") == [("a", str(there)), ("b", str(there))]
    assert source.read - {f"b-{there}"} == {f"a-{v}" for v in range(oldest, 61)}

"""Real files: each is read or refused in one line, and its loops are those that were counted.

The corpus lies beside the repository and not in it. Its EXPECTED.tsv was made by a scan of names
that knows no marker and no root.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from corpus import CORPUS, needs_corpus, read_rows

from distcycle import api
from distcycle.errors import InputError
from distcycle.findings import Report
from distcycle.model import Snapshot
from distcycle.readers import READERS, Document, find_reader
from distcycle.selection import Request

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "sample_locks"
CUTS = 50

# Many have names of our own, and the oldest formats cannot be told by their content.
KINDS = {
    "json": "pip-report",
    "pdm": "pdm-lock",
    "pipfile": "pipfile-lock",
    "poetry": "poetry-lock",
    "pylock": "pylock",
    "req": "requirements",
    "uv": "uv-lock",
}
REFUSED = {
    "poetry/fx-incompatible-lock-version.lock": "lock-version '999.0' is not supported",
    "poetry/fx-invalid-toml.lock": "not valid TOML",
    "poetry/fx-utf16.lock": "expected UTF-8 text",
    "req/neg-pip-docs-prose-requirements.txt": "not a requirements file",
}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Where the loops found by default are not those of the scan of names."""

    why: str
    found: frozenset[frozenset[str]]
    request: Request


DIFFERENT = {
    "uv/r0-hello-robot.lock": Difference(
        why="The project's extra 'stretch' alone brings in the two members, so without it they are"
        " not installed; the scan counts every extra of the project as requested.",
        found=frozenset(),
        request=Request(edges="lock", extras=frozenset({"stretch"})),
    ),
}


@cache
def expected() -> dict[str, frozenset[frozenset[str]] | None]:
    """For each file the member sets of its loops; None where it carries no edges."""
    return {row[0]: parse_loops(row[2]) for row in read_rows()}


def parse_loops(text: str | None) -> frozenset[frozenset[str]] | None:
    """Read ``hard: a, b ;; via requested extra a[x]: a, c``; ``none`` has no loop."""
    if not text or text.startswith(("n/a", "unparseable")):
        return None
    if text.startswith("none"):
        return frozenset()
    members = (part.rsplit(": ", 1)[1] for part in text.split(";;"))
    return frozenset(frozenset(map(str.strip, names.split(","))) for names in members)


def audit(name: str, request: Request) -> Report:
    snapshot = api.read(str(CORPUS / name), kind=KINDS[name.partition("/")[0]])
    return api.audit(snapshot, extras=request.extras, edges=request.edges)


def loops(report: Report) -> frozenset[frozenset[str]]:
    return frozenset(frozenset(p.name for p in c.packages) for c in report.components)


@needs_corpus
def test_every_file_is_listed() -> None:
    files = {p.relative_to(CORPUS).as_posix() for p in CORPUS.glob("*/*") if p.is_file()}
    assert files == expected().keys()
    assert REFUSED.keys() | DIFFERENT.keys() <= files
    assert set(KINDS.values()) <= {reader.kind for reader in READERS}


@needs_corpus
@pytest.mark.parametrize("name", sorted(expected().keys() - REFUSED.keys() - DIFFERENT.keys()))
def test_loops_are_those_that_were_counted(name: str) -> None:
    found = loops(audit(name, Request(edges="lock")))
    assert found == (expected()[name] or frozenset())


@needs_corpus
@pytest.mark.parametrize("name", sorted(DIFFERENT))
def test_a_difference_is_as_explained(name: str) -> None:
    different = DIFFERENT[name]
    assert different.why
    report = audit(name, Request(edges="lock"))
    assert loops(report) == different.found
    assert loops(audit(name, different.request)) == expected()[name]
    missed = {frozenset(near.packages) for near in report.near_misses}
    assert missed == expected()[name] - different.found


@needs_corpus
@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_file_of_another_kind_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(InputError, match=REFUSED[name]) as caught:
        audit(name, Request(edges="lock"))
    assert str(caught.value).startswith(f"{CORPUS / name}:{caught.value.line}: ")
    assert "\n" not in str(caught.value)


# Truncations -------------------------------------------------------------------------------------

TRUNCATED = sorted(
    path.relative_to(SAMPLES).as_posix()
    for path in SAMPLES.rglob("*")
    if path.suffix in {".lock", ".txt", ".json"} or path.name == "pylock.toml"
)


def read_or_refuse(document: Document, kind: str) -> Snapshot | None:
    """Read a document; None when it is refused, in one line."""
    try:
        return find_reader(document, kind).read(document)
    except InputError as error:
        refusal = str(error)
    assert refusal.startswith(document.path)
    assert "\n" not in refusal
    return None


@pytest.mark.parametrize("name", TRUNCATED)
def test_a_truncated_sample_is_judged_or_refused(name: str) -> None:
    data = (SAMPLES / name).read_bytes()
    kind = find_reader(Document(path=name, data=data)).kind
    for cut in (len(data) * i // CUTS for i in range(CUTS)):
        snapshot = read_or_refuse(Document(path=name, data=data[:cut]), kind)
        if snapshot is not None:
            api.audit(snapshot, targets=["cp311-linux_x86_64"], edges="lock")


@needs_corpus
@pytest.mark.parametrize("name", sorted(expected()))
def test_a_truncated_real_file_is_read_or_refused(name: str) -> None:
    data = (CORPUS / name).read_bytes()
    # A cut costs as much as what it leaves: of the few large files the first part has to do.
    size = min(len(data), 30_000)
    for cut in (size * i // CUTS for i in range(CUTS)):
        document = Document(path=name, data=data[:cut])
        read_or_refuse(document, KINDS[name.partition("/")[0]])

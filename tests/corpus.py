"""Real files of public projects, which lie beside the repository and not in it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

__all__ = ["CORPUS", "needs_corpus", "read_rows"]

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"

needs_corpus = pytest.mark.skipif(
    not CORPUS.is_dir(), reason=f"no corpus of real files at {CORPUS}: nothing compared with it"
)


def read_rows(folder: str = "") -> list[list[str]]:
    """Read EXPECTED.tsv: file, number of packages, loops of a scan of names, remarks.

    Args:
        folder: The folder of the files that matter; all of them when empty.

    Returns:
        The rows without their heading; none where there is no corpus.
    """
    table = CORPUS / "EXPECTED.tsv"
    if not table.is_file():
        return []
    with table.open(encoding="utf-8", newline="") as file:
        _heading, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    return [row for row in rows if not folder or row[0].startswith(f"{folder}/")]

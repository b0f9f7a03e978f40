"""The pages under ``docs/`` say what the code does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import documentation
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("codes", documentation.codes),
        ("report", documentation.report),
        ("targets", documentation.targets),
    ],
)
def test_generated_part(
    name: str, lines: Callable[[], Iterator[str]], agree: Callable[[Path, str], None]
) -> None:
    path = ROOT / "docs" / f"{name}.md"
    agree(path, documentation.insert(path.read_text("utf-8"), name, lines()))


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md"], ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text("utf-8")
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in link:
            assert (path.parent / link).exists(), link
    headings = {line.lstrip("# ") for line in text.splitlines() if line.startswith("#")}
    for anchor in re.findall(r"\]\(#([^)]+)\)", text):
        assert anchor in {heading.lower().replace(" ", "-") for heading in headings}, anchor


def test_every_page_is_named_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    names = [page.relative_to(ROOT).as_posix() for page in PAGES]
    assert [name for name in names if f"({name})" not in text] == []

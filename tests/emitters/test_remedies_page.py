"""``docs/remedies.md`` shows what is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from documentation import insert

from distcycle.emitters import EMITTERS
from distcycle.plan import Plan

PAGE = Path(__file__).resolve().parents[2] / "docs" / "remedies.md"
SYNTAXES = {"bazel": "starlark", "pycross": "starlark", "pex": "sh", "nix": "nix"}


def table() -> Iterator[str]:
    yield "| `--emit` | writes | remedy | what it cannot say |"
    yield "|---|---|---|---|"
    for emitter in EMITTERS.values():
        link = f"[`{emitter.name}`](#{emitter.name})"
        yield f"| {link} | {emitter.title} | {emitter.remedy} | {emitter.cannot or 'nothing'} |"
    title = "unified diffs of METADATA and RECORD, a folder of them"
    yield f"| [`patch`](#patch) | {title} | cut | nothing |"


def sample(name: str, plan: Plan) -> Iterator[str]:
    yield f"```{SYNTAXES.get(name, 'toml')}"
    yield EMITTERS[name].emit(plan).rstrip("\n")
    yield "```"


def test_the_page_shows_what_is_written(plan: Plan, agree: Callable[[Path, str], None]) -> None:
    text = insert(PAGE.read_text("utf-8"), "emitters", table())
    for name in EMITTERS:
        text = insert(text, name, sample(name, plan))
    agree(PAGE, text)

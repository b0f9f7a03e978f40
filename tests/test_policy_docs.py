"""``docs/policy.md`` has every key, and its examples are policies."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import documentation

from distcycle import policy
from distcycle.policy.find import list_builtins
from distcycle.policy.keys import Key
from distcycle.policy.parse import parse_policy
from distcycle.policy.sections import SECTIONS, TOP

PAGE = Path(__file__).resolve().parents[1] / "docs" / "policy.md"


def builtins() -> Iterator[str]:
    yield "| `--policy` | for |"
    yield "|---|---|"
    for name, purpose in list_builtins().items():
        yield f"| `builtin:{name}` | {purpose} |"


def keys() -> Iterator[str]:
    for section in (TOP, *SECTIONS):
        title = f"[[{section.name}]]" if section.repeated else f"[{section.name}]"
        yield f"## {f'`{title}`' if section.name else 'At the top'}\n\n{section.meaning}\n"
        yield "| key | expected | meaning | by default | example |"
        yield "|---|---|---|---|---|"
        yield from (_row(key) for key in section.keys)
        yield ""


def _row(key: Key) -> str:
    noun = f"array, each {key.kind.noun}" if key.many else key.kind.noun
    default = key.default or ""
    if default == key.example:
        default = f"`{default}`"
    cells = (f"`{key.name}`", noun, key.meaning, "required" if key.required else default)
    return f"| {' | '.join(cells)} | `{key.example}` |"


def test_tables_follow_the_code(agree: Callable[[Path, str], None]) -> None:
    text = documentation.insert(PAGE.read_text("utf-8"), "builtins", builtins())
    agree(PAGE, documentation.insert(text, "policy", keys()))


def test_every_key_of_the_schema_is_documented() -> None:
    schema = json.loads(Path(policy.__file__).with_name("policy.schema.json").read_text("utf-8"))
    text = PAGE.read_text("utf-8")
    for name, value in schema["properties"].items():
        table = value.get("items", value).get("properties")
        if table is None:
            assert f"\n| `{name}` |" in text
            continue
        part = re.split(rf"\n## `\[+{name}\]+`\n", text)[1]
        documented = re.findall(r"^\| `([^`]+)` \|", part.partition("\n## ")[0], re.MULTILINE)
        assert documented == list(table), name


def test_examples_are_policies() -> None:
    examples = re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert examples
    for example in examples:
        parse_policy(example, path="docs/policy.md")

"""The parts of the documentation that follow from the code, for the tests that hold them to it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from distcycle.cli.arguments import EPILOG
from distcycle.findings import CODES
from distcycle.readers import READERS
from distcycle.reporters import REPORTERS, json_report
from distcycle.targets import describe_targets

__all__ = [
    "LEFT_OUT",
    "Shown",
    "codes",
    "console",
    "fits",
    "formats",
    "insert",
    "readers",
    "report",
    "targets",
    "verdicts",
]

LEFT_OUT = "[...]\n"
"""Stands for lines that are left out of what a command prints."""


class Shown(NamedTuple):
    """A command of a page, and what it prints."""

    command: str
    output: str


def console(page: Path) -> list[list[Shown]]:
    """The commands of each block that is marked ``console``; those of one block share a folder."""
    blocks = re.findall(
        r"^```console\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    shown = []
    for block in blocks:
        parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
        assert parts[0] == ""
        shown.append([Shown(*pair) for pair in zip(parts[1::2], parts[2::2], strict=True)])
    return shown


def fits(printed: str, shown: str) -> bool:
    """Whether what a command prints is what a page shows, but for lines left out."""
    pattern = ".*?".join(re.escape(part) for part in shown.split(LEFT_OUT))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


def insert(document: str, name: str, lines: Iterator[str]) -> str:
    """Replace what stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``."""
    pattern = rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)"
    text = "\n".join(lines)
    result, count = re.subn(
        pattern, lambda m: f"{m[1]}\n{text}\n\n{m[2]}", document, flags=re.DOTALL
    )
    assert count == 1, f"no place for {name}"
    return result


def codes() -> Iterator[str]:
    yield "| code | says | by default |"
    yield "|---|---|---|"
    for code in CODES.values():
        yield f"| [`{code.name}`](#{code.name}) | {code.meaning} | {code.severity} |"
    for code in CODES.values():
        yield f"\n## {code.name}\n\n" + "  \n".join(map(_linked, code.explain()))


def _linked(line: str) -> str:
    return re.sub(r"docs/((\w+)\.md)", r"[\2](\1)", line)


def targets() -> Iterator[str]:
    yield "| platform | by default | assumed | name that limits it | other names |"
    yield "|---|---|---|---|---|"
    for row in describe_targets():
        default = "judged" if row.tier == 1 else ""
        versioned = f"`{row.versioned}`" if row.versioned else ""
        names = ", ".join(f"`{name}`" for name in row.names)
        yield f"| `{row.name}` | {default} | {row.assumed} | {versioned} | {names} |"
    pythons: dict[tuple[str, ...], list[str]] = {}
    for row in describe_targets():
        pythons.setdefault(row.pythons, []).append(row.name)
    yield "\n## Pythons\n"
    groups = sorted(pythons.items(), key=lambda item: -len(item[1]))
    for number, (names, platforms) in enumerate(groups):
        where = "All others" if number == 0 else ", ".join(f"`{name}`" for name in platforms)
        yield f"- {where}: {', '.join(names)}"


def readers() -> Iterator[str]:
    yield "| input | `--input-kind` |"
    yield "|---|---|"
    for reader in READERS:
        yield f"| {reader.title} | `{reader.kind}` |"
    yield "| virtual environment, site-packages folder, or `--python EXE` | `environment` |"
    yield "| directory of wheels | `wheelhouse` |"


def formats() -> Iterator[str]:
    yield "| `--format` | for |"
    yield "|---|---|"
    for reporter in REPORTERS.values():
        yield f"| `{reporter.name}` | {reporter.title} |"


def verdicts() -> Iterator[str]:
    yield "| exit code | means |"
    yield "|---|---|"
    for code, meaning in re.findall(r"(\d) ([^,]+)", EPILOG):
        yield f"| {code} | {re.sub(r'deny', '`deny`', meaning)} |"


def report() -> Iterator[str]:
    path = Path(json_report.__file__).with_name("report.schema.json")
    schema: dict[str, Any] = json.loads(path.read_text("utf-8"))
    parts = schema["$defs"]
    yield from _table("report", schema, parts)
    for name, part in parts.items():
        if part.get("type") == "object" and name not in _SIMPLE:
            yield ""
            yield from _table(name, part, parts)


def _table(name: str, part: dict[str, Any], parts: dict[str, Any]) -> Iterator[str]:
    yield f"## {name}\n\n{part['description']}\n"
    yield "| key | type | meaning |"
    yield "|---|---|---|"
    for key, value in part["properties"].items():
        target = parts.get(value.get("$ref", "").rpartition("/")[2], {})
        meaning = value.get("description") or target["description"]
        yield f"| `{key}` | {_type(value)} | {meaning} |"


def _type(value: dict[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return _SIMPLE.get(name) or f"[{name}](#{name})"
    if "anyOf" in value:
        return " or ".join(map(_type, value["anyOf"]))
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return " or ".join(f"`{choice}`" for choice in value["enum"])
    if value["type"] == "array":
        return f"array of {_type(value['items'])}"
    if isinstance(value.get("additionalProperties"), dict):
        return f"object of {_type(value['additionalProperties'])}s"
    kinds = value["type"] if isinstance(value["type"], list) else [value["type"]]
    return " or ".join(kinds)


_SIMPLE = {
    "project": "string",
    "name": "string",
    "severity": "`allow`, `warn` or `deny`",
    "code": "a [code](codes.md)",
    "environment": "object of strings",
    "hop": "pair of strings",
}

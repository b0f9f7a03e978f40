"""The JSON Schema of policies, written from the table of their keys."""

from __future__ import annotations

import json
from typing import Any

from distcycle.policy.keys import Key, Section
from distcycle.policy.sections import SECTIONS, TOP

__all__ = ["render_schema"]


def render_schema() -> str:
    """What ``distcycle/policy/policy.schema.json`` holds."""
    top = _table(TOP)
    top["properties"] |= {section.name: _section(section) for section in SECTIONS}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Policy of distcycle",
        **top,
    }
    return json.dumps(schema, indent=2) + "\n"


def _section(section: Section) -> dict[str, Any]:
    table = _table(section)
    if section.name == "waive":
        both = {"until-fixed": {"const": True}}
        table["not"] = {"required": ["until", "until-fixed"], "properties": both}
    if not section.repeated:
        return table
    return {"description": table.pop("description"), "type": "array", "items": table}


def _table(section: Section) -> dict[str, Any]:
    return {
        "description": _plain(section.meaning),
        "type": "object",
        "additionalProperties": False,
        "required": [key.name for key in section.keys if key.required],
        "properties": {key.name: _value(key) for key in section.keys},
    }


def _value(key: Key) -> dict[str, Any]:
    said: dict[str, Any] = {"description": _plain(key.meaning)}
    if key.default is not None and key.default == key.example:
        said["default"] = json.loads(key.default)
    if key.many:
        return {**said, "type": "array", "minItems": 1, "items": dict(key.kind.schema)}
    return {**said, **key.kind.schema}


def _plain(text: str) -> str:
    return text.replace("`", "'")

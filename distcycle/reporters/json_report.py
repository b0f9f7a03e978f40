"""The whole report as JSON, schema ``distcycle-report/1``; same input, same bytes.

The schema is shipped beside this module as ``report.schema.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from distcycle.findings import Report
from distcycle.reporters import View
from distcycle.version import __version__

__all__ = ["SCHEMA", "render"]

SCHEMA = "distcycle-report/1"


def render(report: Report, _view: View) -> str:
    """Show a report as JSON."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "distcycle", "version": __version__, "command": report.command},
    }
    values = _plain(report)
    del values["command"]
    return json.dumps(document | values, indent=2, ensure_ascii=True) + "\n"


def _plain(value: object) -> Any:
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(value[key]) for key in sorted(value)}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value

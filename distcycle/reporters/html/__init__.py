"""The report as one HTML file that needs nothing else: no network, no JavaScript to be read.

The page's policy (Content-Security-Policy) admits the style and the script that stand in it, by
their hashes, and nothing from anywhere else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from distcycle.findings import Report
from distcycle.reporters import View
from distcycle.reporters.escape import printable
from distcycle.reporters.html.page import describe_page
from distcycle.reporters.phrases import count, shorten_statement
from distcycle.version import __version__

__all__ = ["render"]


def render(report: Report, _view: View) -> str:
    """Show a report as a page of HTML."""
    # Jinja2 takes a tenth of a second to import, which no other form should wait for.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        finalize=_show,
        keep_trailing_newline=True,
        loader=FunctionLoader(_read),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    style, script = _read("style.css"), _read("page.js")
    page = describe_page(report)
    return environment.get_template("page.html").render(
        page=page,
        report=report,
        count=count,
        short=shorten_statement,
        version=__version__,
        policy=_policy(style, script),
        style=style,
        script=script,
        data=_json({"sets": page.sets}),
    )


def _show(value: object) -> object:
    """Escape control characters in plain text; what is marked as safe stays as it is."""
    return printable(value) if type(value) is str else value


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)};"
        " base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    """A source expression that admits this text only; see CSP Level 3, section 2.3.1."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _json(value: Mapping[str, Any]) -> str:
    """JSON that can stand in a script element: nothing in it ends the element or begins another."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

"""Small uv locks, and their loops, for tests of declared groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from distcycle import api
from distcycle.findings import CODES, Report, Severity
from distcycle.judgement import Options
from distcycle.lint import Lock
from distcycle.model import Snapshot
from distcycle.policy import Policy
from distcycle.readers import Document, find_reader
from distcycle.selection import Request

__all__ = ["lint", "lock_of", "lock_text", "snapshot_of"]

Edges = Mapping[str, Iterable[str]]


def lock_text(edges: Edges, roots: Iterable[str] | None = None) -> str:
    """A uv.lock: ``{"hen": ["egg", "nest ; sys_platform == 'linux'"], "egg[soft]": ["hen"]}``.

    A project that is only required stands in it, too. Roots are requirements; all projects
    without.
    """
    names = sorted(
        {n.partition("[")[0] for n in edges} | {_name(r) for v in edges.values() for r in v}
    )
    lines = ["version = 1", 'requires-python = ">=3.11, <3.12"', ""]
    lines += _package("project", "virtual", list(names if roots is None else roots), {})
    for name in names:
        extras = {
            node.partition("[")[2].rstrip("]"): list(required)
            for node, required in edges.items()
            if node.startswith(f"{name}[")
        }
        lines += _package(name, "registry", list(edges.get(name, ())), extras)
    return "\n".join(lines)


def _name(requirement: str) -> str:
    return requirement.partition(";")[0].partition("[")[0].strip()


def _package(name: str, source: str, requires: list[str], extras: Edges) -> list[str]:
    where = "." if source == "virtual" else "https://pypi.example/simple"
    lines = ["[[package]]", f'name = "{name}"', 'version = "1"']
    lines += [f'source = {{ {source} = "{where}" }}', f"dependencies = [{_tables(requires)}]"]
    if extras:
        lines.append("[package.optional-dependencies]")
        lines += [f"{extra} = [{_tables(required)}]" for extra, required in extras.items()]
    return [*lines, ""]


def _tables(requirements: Iterable[str]) -> str:
    tables = []
    for requirement in requirements:
        text, _, marker = (part.strip() for part in requirement.partition(";"))
        name, _, extra = text.partition("[")
        table = [f'name = "{name}"']
        table += [f'extra = ["{extra.rstrip("]")}"]'] if extra else []
        table += [f'marker = "{marker}"'] if marker else []
        tables.append(f"{{ {', '.join(table)} }}")
    return ", ".join(tables)


def snapshot_of(
    edges: Edges, roots: Iterable[str] | None = None, path: str = "uv.lock"
) -> Snapshot:
    """Read a lock that :func:`lock_text` writes."""
    document = Document(path=path, data=lock_text(edges, roots).encode())
    return find_reader(document, "uv-lock").read(document)


def lock_of(snapshot: Snapshot, *, location: str = "", **scope: Iterable[str]) -> Lock:
    """The loops of a lock, as it tells them itself."""
    request = Request(edges="lock")
    made = api.make_scope(snapshot, request=request, **scope)  # type: ignore[arg-type]
    report, selections = api._judge_scope(made, None, Options(request=request))
    return Lock.of_report(report, selections, location=location)


def lint(
    path: Path, snapshot: Snapshot, *, allow: Iterable[str] = (), fix: bool = False, **scope: object
) -> Report:
    """Judge a Bazel file as the command line does, believing the lock."""
    hubs = scope.pop("hubs", ())
    request = Request(edges="lock")
    policy = Policy(severities={code: Severity.ALLOW for code in allow if CODES[code]})
    made = api.make_scope(snapshot, request=request, **scope)  # type: ignore[arg-type]
    options = Options(request=request, policy=policy)
    return api.lint_bazel(str(path), made, None, options, hubs=hubs, fix=fix)  # type: ignore[arg-type]

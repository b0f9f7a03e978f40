"""Makes inputs of any size and, as a process of its own, judges them.

``python -m benchmarks.synthetic component`` builds one strongly connected component out of the
public records and says in one line of JSON how long judging and showing it took; making the records
is not counted. ``python -m benchmarks.synthetic environment`` writes the distributions of a lock as
if they were installed. The same numbers give the same input on every machine.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.markers import Marker
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from distcycle import api
from distcycle.findings import Report
from distcycle.judgement import Options
from distcycle.model import Package, Place, Requirement, Root, Snapshot
from distcycle.selection import Request

__all__ = ["main", "make_component", "make_markers", "write_environment"]

_PATH = "synthetic.lock"
_EXTRAS = ("async", "crypto", "docs", "fast", "test")
_OPAQUE = (
    'platform_release >= "20.0"',
    '"Ubuntu" in platform_version',
    'implementation_version < "3.12.4"',
)
_DESCRIPTION = "Metadata is mostly description, and whoever reads the one reads the other.\n" * 80


# Markers -----------------------------------------------------------------------------------------


def make_markers(count: int, *, opaque: bool = False) -> tuple[Marker, ...]:
    """Make distinct markers of the kinds that real locks have.

    Args:
        count: How many.
        opaque: Whether some are on what no target fixes, such as the kernel's release.
    """
    texts = dict.fromkeys(_OPAQUE if opaque else ())
    texts.update(dict.fromkeys(_simple_markers()))
    rng = random.Random(count)
    simple = list(texts)
    while len(texts) < count:
        left, right = rng.sample(simple, 2)
        texts[f"{left} {rng.choice(('and', 'or'))} {right}"] = None
    return tuple(Marker(text) for text in list(texts)[:count])


def _simple_markers() -> Iterator[str]:
    for system in ("linux", "win32", "darwin"):
        yield f'sys_platform == "{system}"'
        yield f'sys_platform != "{system}"'
    for minor in range(9, 15):
        yield f'python_version < "3.{minor}"'
        yield f'python_version >= "3.{minor}"'
    for machine in ("x86_64", "aarch64", "arm64", "AMD64", "ppc64le"):
        yield f'platform_machine == "{machine}"'
    yield 'platform_python_implementation == "CPython"'
    yield 'implementation_name != "pypy"'
    yield 'python_full_version < "3.11.4"'


# One component -----------------------------------------------------------------------------------


def make_component(
    count: int, *, fanout: int = 5, markers: Sequence[Marker] = (), extras: bool = False
) -> Snapshot:
    """Make a lock whose packages are one component: a ring, and edges across it.

    Args:
        count: How many packages.
        fanout: How many edges leave each, the ring's among them.
        markers: Every second edge, of the ring also, has one of them, so that the component is
            another from environment to environment; without any it is the same everywhere.
        extras: Whether some edges belong to an extra of the package, and some ask for one.
    """
    rng = random.Random(f"{count} {fanout}")
    names = [canonicalize_name(f"package-{i:07}") for i in range(count)]
    places = [Place(path=_PATH, key=f"package[{i}]") for i in range(count)]
    packages = []
    for i in range(count):
        targets = dict.fromkeys(((i + 1) % count, *rng.sample(range(count), fanout - 1)))
        requirements = tuple(
            _requirement(names[k], k, rng, markers, extras) for k in targets if k != i
        )
        packages.append(_package(names[i], requirements, places[i], extras=extras))
    root = Requirement(name=names[0], text=names[0], package=0, place=places[0])
    return Snapshot(
        path=_PATH, kind="uv-lock", packages=tuple(packages), roots=(Root(requirement=root),)
    )


def _package(
    name: NormalizedName, requirements: tuple[Requirement, ...], place: Place, *, extras: bool
) -> Package:
    return Package(
        name=name,
        version=_VERSION,
        requirements=requirements,
        provides_extra=tuple(map(canonicalize_name, _EXTRAS)) if extras else (),
        place=place,
    )


_VERSION = Version("1.0")


def _requirement(
    name: NormalizedName,
    index: int,
    rng: random.Random,
    markers: Sequence[Marker],
    extras: bool,
) -> Requirement:
    marker = rng.choice(markers) if markers and rng.random() < 0.5 else None
    declared = asked = None
    if extras:
        declared = canonicalize_name(rng.choice(_EXTRAS)) if rng.random() < 0.1 else None
        asked = canonicalize_name(rng.choice(_EXTRAS)) if rng.random() < 0.1 else None
    head = f"{name}[{asked}]" if asked else name
    return Requirement(
        name=name,
        extras=(asked,) if asked else (),
        marker=marker,
        extra=declared,
        text=f"{head} ; {marker}" if marker else head,
        package=index,
    )


def judge_component(snapshot: Snapshot) -> dict[str, object]:
    """Judge a lock on every environment, show the report, and say how long it took.

    Returns:
        Seconds of wall and CPU time, and notes on what was done.
    """
    wall, cpu = time.perf_counter(), time.process_time()
    scope = api.make_scope(snapshot, request=Request(edges="lock"))
    report = api.judge_scope(scope, None, Options(request=scope.request))
    judged = time.perf_counter() - wall
    text = api.render(report, "text")
    seconds = time.perf_counter() - wall
    return {
        "seconds": seconds,
        "cpu_seconds": time.process_time() - cpu,
        "notes": [
            f"{_describe(report)}; judged in {judged:.2f} s, "
            f"{len(text.splitlines())} lines shown in {seconds - judged:.2f} s",
            *report.notes,
        ],
    }


def _describe(report: Report) -> str:
    sizes = sorted((len(c.packages) for c in report.components), reverse=True)
    loops = sum(len(c.cycles) for c in report.components)
    return f"{report.summary.edges} edges, components of {sizes[:3]}, {loops} loops listed"


# Distributions -----------------------------------------------------------------------------------


def write_environment(lock: str, folder: Path) -> int:
    """Write what a lock lists as if it were installed, one version of each project.

    Args:
        lock: A lock that carries edges.
        folder: Where to; it becomes a site-packages folder.

    Returns:
        How many distributions were written.
    """
    packages = {package.name: package for package in api.read(lock).packages}
    for package in packages.values():
        info = folder / f"{package.name.replace('-', '_')}-{package.version or 0}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("\n".join(_metadata(package)), encoding="utf-8")
        (info / "RECORD").write_text("", encoding="utf-8")
    return len(packages)


def _metadata(package: Package) -> Iterator[str]:
    yield "Metadata-Version: 2.3"
    yield f"Name: {package.name}"
    yield f"Version: {package.version or 0}"
    for extra in package.provides_extra:
        yield f"Provides-Extra: {extra}"
    for requirement in package.requirements or ():
        yield f"Requires-Dist: {_line(requirement)}"
    yield f"\n{_DESCRIPTION}"


def _line(requirement: Requirement) -> str:
    parts = [f"({requirement.marker})"] if requirement.marker else []
    parts += [f'extra == "{requirement.extra}"'] if requirement.extra else []
    extras = f"[{','.join(requirement.extras)}]" if requirement.extras else ""
    return f"{requirement.name}{extras}{' ; ' if parts else ''}{' and '.join(parts)}"


# Command line ------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one of the two commands; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.synthetic")
    commands = parser.add_subparsers(dest="command", required=True)
    component = commands.add_parser("component")
    component.add_argument("--packages", type=int, required=True)
    component.add_argument("--fanout", type=int, default=5)
    component.add_argument("--markers", type=int, default=0)
    component.add_argument("--extras", action="store_true", help="extras and opaque atoms too")
    environment = commands.add_parser("environment")
    environment.add_argument("lock")
    environment.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    if options.command == "environment":
        sys.stdout.write(f"{write_environment(options.lock, options.folder)}\n")
        return
    markers = make_markers(options.markers, opaque=options.extras) if options.markers else ()
    snapshot = make_component(
        options.packages, fanout=options.fanout, markers=markers, extras=options.extras
    )
    sys.stdout.write(f"{json.dumps(judge_component(snapshot))}\n")


if __name__ == "__main__":
    main()

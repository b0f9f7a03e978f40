"""Opens files, chooses readers and reporters, and wires the floors together.

This is what the command line and Python callers use; no exception but
:class:`~distcycle.errors.DistcycleError` leaves it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from distcycle.audit import Options, judge
from distcycle.errors import InputError, TargetError, UnknownFormat
from distcycle.findings import Report
from distcycle.lines import find_lines
from distcycle.markers import Space, UnreadableMarker, atoms_of, parse_expression
from distcycle.metadata import Library
from distcycle.model import Facts, Snapshot, SyntaxKind
from distcycle.policy import Policy
from distcycle.readers import READERS, Document, find_reader
from distcycle.reporters import REPORTERS, View
from distcycle.selection import Request, Selection, find_choices, select
from distcycle.targets import (
    PLATFORMS,
    Target,
    custom_target,
    find_pythons,
    make_target,
    make_targets,
    read_target,
)

__all__ = [
    "audit",
    "choose_targets",
    "find_input",
    "gather",
    "make_space",
    "read",
    "read_environment",
    "read_wheelhouse",
    "render",
    "write_text",
]

# Reading -----------------------------------------------------------------------------------------


def read(path: str, *, kind: str | None = None) -> Snapshot:
    """Read an input: a file, a directory of wheels, a virtual environment, a project, or ``-``.

    Args:
        path: The input. A directory is an environment when it holds one, wheels when it holds
            wheels, else a project in which one lock stands.
        kind: A reader's name; by default the kind is told from the name and the content.

    Returns:
        The input as read.

    Raises:
        InputError: It cannot be read, with file, line and what was expected.
    """
    if path == "-":
        return _parse(Document(path="<stdin>", data=sys.stdin.buffer.read()), kind)
    place = Path(path)
    if kind == "environment" or (kind is None and _is_environment(place)):
        return read_environment(path)
    if kind == "wheelhouse" or (kind is None and place.is_dir() and any(place.glob("*.whl"))):
        return read_wheelhouse(path)
    if place.is_dir():
        return read(find_input(path), kind=kind)
    document = Document(
        path=path,
        data=_read_bytes(place, path),
        beside=lambda name: _read_beside(path, name),
        environ=MappingProxyType(os.environ),
    )
    return _parse(document, kind)


def _is_environment(place: Path) -> bool:
    if not place.is_dir():
        return False
    return (place / "pyvenv.cfg").is_file() or any(place.glob("*.dist-info"))


def _read_bytes(place: Path, shown: str) -> bytes:
    try:
        return place.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=shown) from None
    except ValueError:
        raise InputError("cannot be read: not a file name", path=shown) from None


def _read_beside(path: str, name: str) -> tuple[str, bytes] | None:
    shown = os.path.normpath(os.path.join(os.path.dirname(path), name))
    try:
        return shown, Path(shown).read_bytes()
    except (OSError, ValueError):
        return None


def _parse(document: Document, kind: str | None) -> Snapshot:
    reader = find_reader(document, kind)
    try:
        return reader.read(document)
    except InputError as error:
        if error.line is None and error.key is not None and error.path == document.path:
            error.line = _line_of(document, error.key)
        raise


def _line_of(document: Document, key: str) -> int | None:
    text = document.data.decode("utf-8-sig", "replace")
    syntax: SyntaxKind = "json" if text.lstrip().startswith("{") else "toml"
    return find_lines(text, syntax, [key]).get(key)


def read_environment(path: str | None = None, *, python: str | None = None) -> Snapshot:
    """Read the distributions that are installed in an environment.

    Args:
        path: A virtual environment or a site-packages folder; None for the running interpreter's.
        python: An interpreter whose environment is meant.

    Raises:
        InputError: There is no such environment.
    """
    from distcycle.readers import environment

    return environment.read_environment(path, python=python)


def read_wheelhouse(path: str) -> Snapshot:
    """Read a directory of wheels and source distributions.

    Raises:
        InputError: There is no such directory.
    """
    from distcycle.readers import wheelhouse

    return wheelhouse.read_wheelhouse(path)


def find_input(folder: str) -> str:
    """Find the one lock that stands in a project's folder.

    Args:
        folder: The folder, ``.`` for the working directory.

    Returns:
        Its path.

    Raises:
        UnknownFormat: There is none, or more than one.
    """
    names = sorted(entry.name for entry in Path(folder).iterdir() if entry.is_file())
    locks = [name for name in names if any(_is_lock(name, r.kind) for r in READERS)]
    if not locks:
        locks = [name for name in names if name == "requirements.txt"]
    if len(locks) == 1:
        return locks[0] if folder == "." else os.path.join(folder, locks[0])
    found = f"more than one lock ({', '.join(locks)})" if locks else "no lock"
    raise UnknownFormat(f"{found} stands here; name the input", path=folder)


def _is_lock(name: str, kind: str) -> bool:
    """Whether a file name tells a kind by itself; the name of a requirements file is anyone's."""
    if kind == "requirements":
        return False
    return any(reader.kind == kind and reader.names.fullmatch(name) for reader in READERS)


# Targets -----------------------------------------------------------------------------------------


def choose_targets(
    snapshot: Snapshot, platforms: Sequence[str] = (), python_versions: Sequence[str] = ()
) -> tuple[Target, ...]:
    """Choose the targets on which to judge an input.

    Args:
        snapshot: The input.
        platforms: Names of platforms, ``host``, or files with a complete platform of pex. Without
            any: where an environment was taken, else tier 1 as far as the lock was made for it.
        python_versions: Versions of Python; without any those that the input admits.

    Returns:
        The targets, each once.

    Raises:
        TargetError: A name is not known.
        InputError: A file with a complete platform cannot be read.
    """
    if snapshot.environment is not None and not platforms and not python_versions:
        return (_target_of(snapshot.environment),)
    wanted = [_named_target(name) for name in platforms]
    targets = make_targets(wanted, python_versions, admits=snapshot.requires_python)
    if platforms or not snapshot.environments:
        return targets
    space = Space.of_targets(targets)
    made_for = 0
    for marker in snapshot.environments:
        made_for |= space.condition(marker)
    return tuple(targets[cell] for cell in space.cells(made_for)) or targets


def _named_target(name: str) -> str | Target:
    if name.strip().lower() == "host":
        from distcycle.host import host_target

        return host_target()
    if name.endswith(".json"):
        data = _read_bytes(Path(name), name)
        return read_target(data.decode("utf-8", "replace"), path=name)
    return name


def _target_of(environment: Mapping[str, str]) -> Target:
    """The target of an environment that was taken somewhere, by the table where it can be."""
    for platform in PLATFORMS:
        try:
            python = find_pythons(environment["python_version"])[0]
            target = make_target(platform, python)
        except TargetError:
            continue
        names = ("os_name", "sys_platform", "platform_system", "platform_machine")
        if all(target.environment[name] == environment[name] for name in names):
            name = f"{target.name}@environment"
            return replace(target, name=name, environment=MappingProxyType(dict(environment)))
    return custom_target(environment, ["py3-none-any"], label="environment")


# Judging -----------------------------------------------------------------------------------------


def gather(
    snapshot: Snapshot, space: Space, library: Library | None, request: Request
) -> tuple[Selection, Facts]:
    """Select, get the facts that the selection lacks, and select again, until none is missing.

    Args:
        snapshot: The input.
        space: The environments to judge.
        library: Where facts come from; None to judge without any.
        request: What is asked for.

    Returns:
        The selection, and the facts it rests on.

    Raises:
        MetadataError: A file is not the one that the input means.
    """
    facts = Facts()
    selection = select(snapshot, space, facts, request)
    while library is not None and selection.needs:
        facts = library.gather(selection.needs, facts, index=snapshot.index)
        selection = select(snapshot, space, facts, request)
    return selection, facts


def audit(
    snapshot: Snapshot,
    *,
    targets: Sequence[str | Target] = (),
    python_versions: Sequence[str] = (),
    policy: Policy | None = None,
    request: Request | None = None,
    library: Library | None = None,
    max_cycles: int = 100,
) -> Report:
    """Judge one input.

    Args:
        snapshot: The input.
        targets: Targets, or names as for ``--platform``; see :func:`choose_targets`.
        python_versions: As for ``--python-version``.
        policy: What weighs how much.
        request: Extras and groups that are asked for, and whether wheels or the lock are believed.
        library: Where METADATA comes from; None to judge on what the input says of itself.
        max_cycles: How many loops to list in each component.

    Returns:
        The report.

    Raises:
        DistcycleError: A target is not known, or a file is not the one that the input means.
    """
    request = request or Request()
    names = [target for target in targets if isinstance(target, str)]
    judged = tuple(target for target in targets if isinstance(target, Target))
    if names or not judged:
        judged += choose_targets(snapshot, names, python_versions)
    space = make_space(snapshot, judged, request)
    selection, _ = gather(snapshot, space, library, request)
    options = Options(request=request, policy=policy or Policy(), max_cycles=max_cycles)
    return judge(selection, options)


def make_space(snapshot: Snapshot, targets: Sequence[Target], request: Request) -> Space:
    """Make the space of some targets, with the alternatives that a lock leaves open."""
    extras = set(request.extras)
    if request.all_extras:
        extras |= _extras_in_markers(snapshot)
    return Space.of_targets(
        targets,
        choices=find_choices(snapshot, request),
        extras=extras,
        groups=request.groups.union(snapshot.default_groups),
    )


def _extras_in_markers(snapshot: Snapshot) -> set[str]:
    """The input's own extras that its packages ask for (``"x" in extras``, PEP 751)."""
    texts = {str(package.marker) for package in snapshot.packages if package.marker}
    extras = set()
    for text in texts:
        with contextlib.suppress(UnreadableMarker):
            atoms = atoms_of(parse_expression(text))
            extras |= {atom.literal for atom in atoms if atom.variable == "extras"}
    return extras


# Showing -----------------------------------------------------------------------------------------


def render(report: Report, form: str, view: View | None = None) -> str:
    """Show a report.

    Args:
        report: The report.
        form: A reporter's name, such as ``json``.
        view: Width, colours and verbosity, where the form has any.

    Raises:
        InputError: There is no such form.
    """
    reporter = REPORTERS.get(form)
    if reporter is None:
        raise InputError(f"unknown format {form!r}; expected one of {', '.join(REPORTERS)}")
    return reporter.render(report, view or View())


def write_text(path: str, text: str) -> None:
    """Write a file whole or not at all: to a temporary name beside it, then renamed.

    Raises:
        InputError: It cannot be written.
    """
    place = Path(path)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=place.parent, prefix=".", delete=False
        ) as file:
            temporary = file.name
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(place)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise InputError(f"cannot be written: {error.strerror}", path=path) from None

"""Opens files, chooses readers and reporters, and wires the floors together.

This is what the command line and Python callers use; no exception but
:class:`~distcycle.errors.DistcycleError` leaves it.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timezone
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from distcycle.baseline import baseline_of
from distcycle.builds import Builds, walk_builds
from distcycle.changes import find_changes
from distcycle.cycles import Component, TooManySets, find_components
from distcycle.errors import DistcycleError, InputError, ResolutionError, UnknownFormat
from distcycle.findings import Report, abbreviate_targets
from distcycle.judgement import Options, add_targets, judge, unite_resolved
from distcycle.limits import words_of_rules
from distcycle.lines import find_lines
from distcycle.markers import Atom, UnreadableMarker, atoms_of, parse_expression
from distcycle.model import Facts, Package, Place, Root, Snapshot, SyntaxKind, Unknown
from distcycle.plan import Pin, Plan, UpgradePlan
from distcycle.policy import Policy
from distcycle.readers import READERS, Document, decode_utf8, find_reader
from distcycle.remedies import Remedy
from distcycle.reporters import REPORTERS, View
from distcycle.requirements import parse_requirement
from distcycle.scope import Scope, choose_targets
from distcycle.selection import Request, Selection, select
from distcycle.statements import row_of
from distcycle.targets import PLATFORMS, Target, read_target

if TYPE_CHECKING:
    # What gets METADATA loads a third of the standard library, and most runs on a lock need none.
    from distcycle.metadata import Library
    from distcycle.resolution import Rules
    from distcycle.resolution.shelf import Shelf
    from distcycle.resolution.upgrades import Upgrade

__all__ = [
    "append_text",
    "audit",
    "compare",
    "emit",
    "explain_packages",
    "find_fixes",
    "find_input",
    "find_unlocked",
    "find_upgrades",
    "gather",
    "judge_resolved",
    "judge_scope",
    "lint_bazel",
    "make_scope",
    "read",
    "read_environment",
    "read_locked",
    "read_policies",
    "read_policy",
    "read_requirement",
    "read_since",
    "read_text",
    "read_wheelhouse",
    "render",
    "resolve_scope",
    "write_text",
]

_UNLOCKED = frozenset(("requirements", "pyproject", "requirement"))

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


def read_requirement(text: str) -> Snapshot:
    """Read a requirement that is given in place of an input.

    Args:
        text: The requirement in PEP 508 syntax.

    Raises:
        InputError: It is none.
    """
    try:
        requirement = parse_requirement(text, place=Place(path=text))
    except ValueError as error:
        raise InputError(str(error), path=text) from None
    if requirement.problem:
        problem = f"neither a file nor a requirement: {requirement.problem}"
        raise InputError(problem, path=text)
    package = Package(name=requirement.name, version=None, place=Place(path=text))
    return Snapshot(
        path=text,
        kind="requirement",
        packages=(package,),
        roots=(Root(requirement=requirement),),
        complete=False,
    )


def find_unlocked(folder: str) -> str:
    """Find the one file in a project's folder that says what the project requires.

    Args:
        folder: The folder, ``.`` for the working directory.

    Returns:
        Its path.

    Raises:
        UnknownFormat: There is none, or more than one.
    """
    found = [n for n in ("pyproject.toml", "requirements.in") if Path(folder, n).is_file()]
    if not found and Path(folder, "requirements.txt").is_file():
        found = ["requirements.txt"]
    if len(found) != 1:
        expected = "more than one of them is here" if found else "there is none here"
        problem = f"expected pyproject.toml, requirements.in or requirements.txt, and {expected}"
        raise UnknownFormat(f"{problem}; name the input", path=folder)
    return found[0] if folder == "." else os.path.join(folder, found[0])


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
    hint = ""
    if not locks and "pyproject.toml" in names:
        hint = "; --resolve judges what pyproject.toml resolves to"
    if len(locks) == 1:
        return locks[0] if folder == "." else os.path.join(folder, locks[0])
    found = f"more than one lock ({', '.join(locks)})" if locks else "no lock"
    raise UnknownFormat(f"{found} stands here; name the input{hint}", path=folder)


def _is_lock(name: str, kind: str) -> bool:
    """Whether a file name tells a kind by itself; the name of a requirements file is anyone's."""
    if kind in {"requirements", "pyproject"}:
        return False
    return any(reader.kind == kind and reader.names.fullmatch(name) for reader in READERS)


# Judging -----------------------------------------------------------------------------------------


def make_scope(
    snapshot: Snapshot,
    *,
    platforms: Sequence[str | Target] = (),
    python_versions: Sequence[str] = (),
    named: Sequence[str | Target] = (),
    request: Request | None = None,
) -> Scope:
    """Decide what to judge.

    Args:
        snapshot: The input.
        platforms: Targets, names of platforms, ``host``, or files with a complete platform of pex.
            Without any, every environment is judged, unless the input was taken in one.
        python_versions: Versions of Python; without any those that the input admits.
        named: Targets to name where every environment is judged, as for ``platforms``; ``all`` for
            every one that is known. Without any: tier 1.
        request: What is asked of the input.

    Raises:
        TargetError: A name is not known.
        InputError: A file with a complete platform cannot be read.
    """
    request = _known_request(snapshot, request or Request())
    whole = not platforms and not python_versions and snapshot.environment is None
    if "all" in named:
        named = [platform.name for platform in PLATFORMS]
    wanted = [_target_or_name(name) for name in platforms or (named if whole else ())]
    return Scope(
        snapshot=snapshot,
        request=request,
        targets=choose_targets(snapshot, wanted, python_versions),
        whole=whole,
    )


def _known_request(snapshot: Snapshot, request: Request) -> Request:
    """The request with normalised names; what the input does not have cannot be asked for."""
    extras = frozenset(map(canonicalize_name, request.extras))
    groups = frozenset(map(canonicalize_name, request.groups))
    roots = snapshot.roots or ()
    in_markers = {a.literal for a in _atoms(snapshot) if a.variable == "extras"}
    _check_known("extra", extras, {root.extra for root in roots} | in_markers, snapshot)
    in_markers = {a.literal for a in _atoms(snapshot) if a.variable == "dependency_groups"}
    _check_known("group", groups, {root.group for root in roots} | in_markers, snapshot)
    return replace(request, extras=extras, groups=groups)


def _atoms(snapshot: Snapshot) -> Iterator[Atom]:
    for text in {str(package.marker) for package in snapshot.packages if package.marker}:
        with contextlib.suppress(UnreadableMarker):
            yield from atoms_of(parse_expression(text))


def _check_known(
    noun: str, wanted: frozenset[str], known: set[str | None], snapshot: Snapshot
) -> None:
    names = sorted(name for name in known if name)
    for name in sorted(wanted.difference(names)):
        from difflib import get_close_matches

        near = get_close_matches(name, names, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        if not names:
            hint = f"; the input says of no {noun}s" + (
                ", a pyproject.toml beside it would" if snapshot.roots is None else ""
            )
        raise InputError(f"no {noun} {name!r} in it{hint}", path=snapshot.path)


def _target_or_name(name: str | Target) -> str | Target:
    if isinstance(name, Target):
        return name
    if name.strip().lower() == "host":
        from distcycle.host import host_target

        return host_target()
    if name.endswith(".json"):
        data = _read_bytes(Path(name), name)
        return read_target(data.decode("utf-8", "replace"), path=name)
    return name


def resolve_scope(
    scope: Scope, library: Library, rules: Rules
) -> tuple[list[tuple[Scope, Facts]], tuple[str, ...]]:
    """Choose versions for an input that is not locked, on each target as an installer would.

    Args:
        scope: The input, and the targets; where every environment is judged, those that are named.
        library: Where releases are looked up.
        rules: What may be chosen.

    Returns:
        For each way in which the input resolves the scope of its targets, with what was found out;
        and what is to be said of it, a line each.

    Raises:
        ResolutionError: There is no solution for a target that was asked for, or for none at all.
        InputError: The input is a lock.
        MetadataError: Something that had to be asked did not answer.
    """
    from distcycle.resolution import resolve

    snapshot = scope.snapshot
    if snapshot.kind not in _UNLOCKED:
        raise InputError(
            f"is judged as it stands, being of kind {snapshot.kind}; --resolve is for what is not"
            " locked: requirements and pyproject.toml",
            path=snapshot.path,
        )
    with library.releases(index=snapshot.index) as source:
        done, failed = resolve(snapshot, scope.targets, source, rules, scope.request)
    if failed and not (scope.whole and done):
        first, *others = failed
        raise ResolutionError(first.target, first.causes, path=first.path, others=others)
    by_name = {target.name: target for target in scope.targets}
    rows = [row_of(target) for target in scope.targets]
    notes = [
        f"{snapshot.path}: {_count(len(way.snapshot.packages), 'package')} on"
        f" {abbreviate_targets(way.targets, rows)}"
        for way in done
    ]
    notes += [line for way in done for line in way.notes]
    notes += [f"left out: {' '.join(str(error).split())}" for error in failed]
    ways = [
        (replace(scope.listed([by_name[n] for n in way.targets]), snapshot=way.snapshot), way.facts)
        for way in done
    ]
    return ways, tuple(dict.fromkeys(notes))


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def judge_resolved(scope: Scope, library: Library | None, options: Options, rules: Rules) -> Report:
    """Resolve an input, and judge what comes of it.

    Args:
        scope: The input, and the targets.
        library: Where releases and METADATA come from.
        options: How to judge.
        rules: What may be chosen.

    Returns:
        One report on all targets.

    Raises:
        ResolutionError: There is no solution for a target that was asked for, or for none at all.
        DistcycleError: As for :func:`resolve_scope`.
    """
    return _judge_any(scope, library, options, rules)[0]


def read_locked(path: str) -> Mapping[NormalizedName, Version]:
    """Read the versions of the lock that belongs to an input that is not locked.

    Args:
        path: The input: its lock is the ``.txt`` beside a ``.in``, or else the one lock in its
            folder.

    Returns:
        The version of each project that the lock has at just one.

    Raises:
        InputError: There is no such lock, or it cannot be read.
    """
    place = Path(path)
    compiled = place.with_suffix(".txt")
    if place.suffix == ".in" and compiled.is_file():
        lock = str(compiled)
    else:
        lock = find_input(os.path.dirname(path) or ".")
    versions: dict[NormalizedName, set[Version]] = {}
    for package in read(lock).packages:
        if package.version is not None:
            versions.setdefault(package.name, set()).add(package.version)
    return {name: next(iter(found)) for name, found in versions.items() if len(found) == 1}


def gather(
    scope: Scope, library: Library | None, facts: Facts | None = None
) -> tuple[Selection, Facts]:
    """Select, get the facts that the selection lacks, and select again, until none is missing.

    Args:
        scope: What is judged.
        library: Where facts come from; None to judge without any.
        facts: What is known already.

    Returns:
        The selection, and the facts it rests on.

    Raises:
        MetadataError: A file is not the one that the input means.
    """
    facts = facts or Facts()
    while True:
        space = scope.space(facts)
        bounds = scope.bounds(space)
        selection = select(scope.snapshot, space, facts, scope.request, bounds)
        if library is None or not selection.needs:
            return selection, facts
        facts = library.gather(selection.needs, facts, index=scope.snapshot.index)


def compare(
    old: Scope,
    new: Scope,
    library: Library | None,
    options: Options,
    *,
    name: str,
    rules: tuple[Rules | None, Rules | None] = (None, None),
) -> Report:
    """Judge an input against an older state of it: what was there before does not count.

    Args:
        old: The older state.
        new: The input.
        library: Where facts come from; None to judge without any.
        options: How to judge.
        name: What to call the older state.
        rules: What may be chosen, where the older state and the input are to be resolved.

    Returns:
        The report on the input; what the older state has is accepted as known, and ``changes``
        says what happened to loops.
    """
    before, then = _judge_any(old, library, replace(options, baseline=None), rules[0])
    known = baseline_of(before.findings, path=name)
    if options.baseline is not None:
        known = replace(known, entries=(*known.entries, *options.baseline.entries))
    after, now = _judge_any(new, library, replace(options, baseline=known), rules[1])
    return replace(after, changes=find_changes((then, before), (now, after)))


def _judge_any(
    scope: Scope, library: Library | None, options: Options, rules: Rules | None
) -> tuple[Report, tuple[Selection, ...]]:
    """Judge an input as it stands, or what it resolves to."""
    if rules is None or scope.snapshot.kind == "absent":
        report, (selection, *_) = _judge_scope(scope, library, options)
        return report, (selection,)
    if library is None:
        raise InputError(
            "--resolve asks wheels what they require; --edges lock does not go with it"
        )
    ways, notes = resolve_scope(scope, library, rules)
    judged = []
    for way, facts in ways:
        report, selections = _judge_scope(way, library, options, facts)
        judged.append((report, selections[0]))
    order = [target.name for target in scope.targets]
    return unite_resolved(judged, order, notes), tuple(selection for _, selection in judged)


def read_since(path: str, revision: str, *, kind: str | None = None) -> Snapshot:
    """Read an input as it was at a revision of the git repository that holds it.

    Args:
        path: The input as it stands now.
        revision: Anything git takes for a commit.
        kind: As for :func:`read`.

    Returns:
        The input as it was; one without packages when it did not exist.

    Raises:
        InputError: There is no repository or no such revision, or the input cannot be read.
    """
    from distcycle.revisions import document_at

    if path == "-":
        raise InputError("standard input has no state at a revision")
    if Path(path).is_dir():
        path = find_input(path)
    document = document_at(path, revision)
    if document is None:
        return Snapshot(path=f"{revision}:{path}", kind="absent", packages=(), roots=())
    return _parse(document, kind)


def judge_scope(scope: Scope, library: Library | None, options: Options) -> Report:
    """Judge an input on all that a scope covers.

    Targets whose wheels are not those of standard builds (musl, free-threaded, an older glibc) are
    no part of the space of all environments; they are judged beside it.

    Args:
        scope: What is judged.
        library: Where facts come from; None to judge without any.
        options: How to judge.
    """
    return _judge_scope(scope, library, options)[0]


def _judge_scope(
    scope: Scope, library: Library | None, options: Options, facts: Facts | None = None
) -> tuple[Report, tuple[Selection, ...]]:
    """Judge an input, and say what was selected for that."""
    scope = replace(scope, words=words_of_rules(options.policy, options.baseline))
    selection, facts = gather(scope, library, facts)
    options, notes = _end_waivers(selection, scope, library, options)
    builds = _gather_builds(scope, library, facts) if options.build else None
    try:
        report = judge(selection, options, builds)
    except TooManySets as error:
        scope = scope.listed(scope.targets)
        space = scope.space(facts)
        space.note = f"{error}; judged on the named targets only"
        selection = select(scope.snapshot, space, facts, scope.request)
        report = judge(selection, options, builds)
    report = replace(report, notes=report.notes + notes)
    located = {profile.target.name for profile in selection.space.named}
    beside = [target for target in scope.targets if target.name not in located]
    if not beside:
        return report, (selection,)
    others, _ = gather(scope.listed(beside), library)
    order = [target.name for target in scope.targets]
    return add_targets(report, judge(others, options, builds), order), (selection, others)


def _gather_builds(scope: Scope, library: Library | None, facts: Facts) -> Builds | None:
    """Walk along build requirements until no fact is missing, on the targets that are named."""
    from distcycle.folders import read_folders, read_own

    if library is None:
        raise InputError("build requirements are asked for, and nothing may be read to find them")
    if not scope.targets:
        return None
    snapshot = scope.snapshot
    selection, facts = gather(scope.listed(scope.targets), library, facts)
    folders, own = read_folders(snapshot), read_own(snapshot)
    while True:
        builds = walk_builds(selection, facts, folders=folders, own=own)
        if not builds.needs:
            return builds
        facts = library.gather(builds.needs, facts, index=snapshot.index)


def _end_waivers(
    selection: Selection, scope: Scope, library: Library | None, options: Options
) -> tuple[Options, tuple[str, ...]]:
    """End the waivers that hold until a loop is fixed, where there are versions without it."""
    if not any(waiver.until_fixed for waiver in options.policy.waivers):
        return options, ()
    from distcycle.endings import end_waivers

    look = None if library is None else partial(_look_for_fix, scope, library)
    policy, notes = end_waivers(options.policy, selection, look)
    return replace(options, policy=policy), notes


def _look_for_fix(
    scope: Scope, library: Library, kind: str, members: tuple[NormalizedName, ...]
) -> str | Unknown:
    """Versions without a loop, whatever people pinned; ``""`` when there are none."""
    from distcycle.resolution import Rules

    rules = Rules(files=scope.snapshot.rules)
    try:
        _expect_versions(scope.snapshot)
        upgrades, _ = _find_upgrades(scope, library, rules, Facts(), _only(kind, members))
    except DistcycleError as error:
        return Unknown(reason=str(error))
    for upgrade in upgrades:
        if upgrade.changes is not None:
            return ", ".join(f"{c.name} {c.new}" for c in upgrade.changes if c.new is not None)
        if not upgrade.exhausted:
            return Unknown(reason=f"gave up after {upgrade.tried} sets of versions")
    return ""


def _only(kind: str, members: tuple[NormalizedName, ...]) -> Callable[..., list[Component]]:
    def choose(selection: Selection, loops: list[Component]) -> list[Component]:
        packages = selection.snapshot.packages
        return [
            loop
            for loop in loops
            if loop.kind == kind and {packages[i].name for i in loop.packages} <= set(members)
        ]

    return choose


def lint_bazel(
    path: str,
    scope: Scope,
    library: Library | None,
    options: Options,
    *,
    hubs: Sequence[str] = (),
    fix: bool = False,
) -> Report:
    """Compare the groups that a Bazel file declares with the loops of a lock.

    Args:
        path: A MODULE.bazel, WORKSPACE or .bzl file.
        scope: The lock, and where it is judged.
        library: Where facts come from; None to judge without any.
        options: How to judge.
        hubs: The hubs that read the lock; without any they are told by the lock's name.
        fix: Whether to write the literals of groups that have faults anew, in place.

    Returns:
        The report on the file as it then is.

    Raises:
        InputError: The file cannot be read or written, has no such hub, or computes its groups; or
            it is to be mended, and not all that the lock requires is known.
    """
    from distcycle.lint import Lock, lint_bazel, report_of

    data = _read_bytes(Path(path), path)
    mark = "\ufeff" if data.startswith(codecs.BOM_UTF8) else ""
    text = decode_utf8(Document(path=path, data=data))
    report, selections = _judge_scope(scope, library, options)
    if fix and report.unknown:
        names = ", ".join(missing.package for missing in report.unknown[:3])
        problem = f"no groups are written while requirements are unknown, such as those of {names}"
        raise InputError(problem, path=scope.snapshot.path)
    lock = Lock.of_report(report, selections, location=os.path.abspath(scope.snapshot.path))
    linted = lint_bazel(text, lock, options.policy, path=path, hubs=hubs, fix=fix)
    if linted.text != text:
        write_text(path, mark + linted.text)
    return report_of(linted, report, path=path)


def audit(
    snapshot: Snapshot,
    *,
    targets: Sequence[str | Target] = (),
    python_versions: Sequence[str] = (),
    policy: Policy | None = None,
    extras: Iterable[str] = (),
    groups: Iterable[str] = (),
    all_extras: bool = False,
    edges: Literal["wheel", "lock"] = "wheel",
    build: bool = False,
    offline: bool = False,
    library: Library | None = None,
    today: date | None = None,
) -> Report:
    """Judge one input, as ``distcycle audit`` does.

    Args:
        snapshot: The input.
        targets: Targets, or names as for ``--platform``; without any, every environment.
        python_versions: As for ``--python-version``.
        policy: What weighs how much, what is accepted, what is cut; None for the defaults.
        extras: Extras of the project that are asked for.
        groups: Dependency groups of the project that are asked for.
        all_extras: Whether every extra is asked for.
        edges: ``wheel`` to ask each wheel what it requires, ``lock`` to believe the lock.
        build: Whether loops of build requirements are sought as well.
        offline: Whether to open no socket.
        library: Where METADATA comes from; None for the index that pip uses here.
        today: The date on which waivers are judged; None for today (UTC).

    Returns:
        The report.

    Raises:
        DistcycleError: A target, extra or group is not known, or a file is not the one that the
            input means.
    """
    request = Request(
        extras=frozenset(map(canonicalize_name, extras)),
        groups=frozenset(map(canonicalize_name, groups)),
        all_extras=all_extras,
        edges=edges,
    )
    scope = make_scope(
        snapshot, platforms=targets, python_versions=python_versions, request=request
    )
    options = Options(
        request=scope.request,
        policy=policy or Policy(),
        today=today or datetime.now(timezone.utc).date(),
        build=build,
    )
    if library is not None or (edges == "lock" and not build):
        return judge_scope(scope, library, options)
    from distcycle.metadata import Library
    from distcycle.metadata import Options as LibraryOptions

    with Library(LibraryOptions(offline=offline)) as own:
        return judge_scope(scope, own, options)


def emit(plan: Plan, tool: str) -> str:
    """Write a plan as input of another tool.

    Args:
        plan: What is to be done; see :func:`find_fixes`.
        tool: The tool, such as ``uv``.

    Raises:
        InputError: Nothing is written for that tool.
    """
    from distcycle.emitters import EMITTERS

    if tool not in EMITTERS:
        raise InputError(f"nothing is written for {tool!r}; expected one of {', '.join(EMITTERS)}")
    return EMITTERS[tool].emit(plan)


def explain_packages(
    scope: Scope,
    library: Library | None,
    names: Sequence[str],
    view: View | None = None,
    facts: Facts | None = None,
) -> str:
    """Say why projects are in loops: hop by hop, from which root, and what would open them.

    Args:
        scope: What is judged.
        library: Where facts come from; None to judge without any.
        names: The projects.
        view: Width, colours and verbosity.
        facts: What is known already.

    Returns:
        Text.

    Raises:
        InputError: The input has no package of a name.
    """
    from distcycle.explanations import explain
    from distcycle.reporters.text import render_explanation

    known = {package.name for package in scope.snapshot.packages}
    wanted = [canonicalize_name(name) for name in names]
    for name in wanted:
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, sorted(known), 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InputError(f"no package {name!r} in it{hint}", path=scope.snapshot.path)
    selection = _gather_within_limits(scope, library, facts)
    rows = [row_of(profile.target) for profile in selection.space.named]
    explanations = explain(selection, wanted, max_cycles=100)
    return "\n".join(render_explanation(e, rows, view or View()) for e in explanations)


def _gather_within_limits(
    scope: Scope, library: Library | None, facts: Facts | None = None
) -> Selection:
    """Select on every environment, or on the named targets where loops differ in too many ways."""
    selection, facts = gather(scope, library, facts)
    names = [package.name for package in scope.snapshot.packages]
    try:
        find_components(selection.edges, names, selection.space.full, max_cycles=1)
    except TooManySets:
        space = scope.listed(scope.targets).space(facts)
        return select(scope.snapshot, space, facts, scope.request)
    return selection


def find_fixes(
    scope: Scope,
    library: Library | None,
    policy: Policy,
    *,
    to_extra: bool = False,
    facts: Facts | None = None,
) -> tuple[list[Remedy], Plan, Selection]:
    """Find what can be done about the loops that a policy's cuts leave.

    Args:
        scope: What is judged.
        library: Where facts come from; None to judge without any.
        policy: Its cuts are made first; what it calls droppable costs what it says.
        to_extra: Whether the plan keeps requirements under an extra instead of dropping them.
        facts: What is known already.

    Returns:
        The remedies, component by component, a plan for all of them, and what it rests on.
    """
    from distcycle.remedies import find_remedies, make_plan
    from distcycle.statements import Statements
    from distcycle.verdicts import apply_cuts

    scope = replace(scope, words=words_of_rules(policy, None))
    selection = _gather_within_limits(scope, library, facts)
    names = [package.name for package in scope.snapshot.packages]
    found = find_components(selection.edges, names, selection.space.full, max_cycles=100)
    cut = apply_cuts(selection, found, policy.cuts, 100)
    rows = [(row_of(profile.target), profile.cells) for profile in selection.space.named]
    statements = Statements(cut.selection, rows)
    remedies = find_remedies(cut.selection, cut.components, statements, policy)
    plan = make_plan(cut.selection, cut.components, statements, policy, to_extra=to_extra)
    return remedies, plan, cut.selection


def find_upgrades(
    scope: Scope,
    library: Library,
    policy: Policy,
    rules: Rules,
    *,
    resolved: Facts | None = None,
    allow_pins: bool = False,
) -> tuple[tuple[Upgrade, ...], UpgradePlan]:
    """Find for each loop that a policy's cuts leave the nearest versions without it.

    Args:
        scope: What is judged; where every environment is, its named targets count.
        library: Where releases and METADATA come from.
        policy: Its cuts are left as they are.
        rules: What may be chosen.
        resolved: What was found out when the input was resolved; None where it is as it was read.
        allow_pins: Whether versions that people pinned may change.

    Returns:
        One upgrade for each loop, and what the input comes to by all of them.

    Raises:
        InputError: Something in it has no version yet.
        MetadataError: Something that had to be asked did not answer.
    """
    from distcycle.resolution.upgrades import find_pins
    from distcycle.verdicts import apply_cuts

    _expect_versions(scope.snapshot)

    def choose(selection: Selection, loops: list[Component]) -> Sequence[Component]:
        return apply_cuts(selection, loops, policy.cuts, 1).components

    compiled = resolved is None and _is_compiled(scope.snapshot)
    upgrades, (read, after) = _find_upgrades(
        scope,
        library,
        rules,
        resolved or Facts(),
        choose,
        compiled=compiled,
        allow_pins=allow_pins,
    )
    plan = _plan_upgrade(read, after)
    changed = {pin.name for pin in plan.pins if pin.is_new}
    pins = {} if compiled else find_pins(read)
    pinned = tuple(text for name, text in sorted(pins.items()) if name in changed)
    return upgrades, replace(plan, pinned=pinned)


def _is_compiled(snapshot: Snapshot) -> bool:
    return snapshot.kind == "requirements" and snapshot.complete


def _find_upgrades(
    scope: Scope,
    library: Library,
    rules: Rules,
    facts: Facts,
    choose: Callable[[Selection, list[Component]], Sequence[Component]],
    *,
    compiled: bool | None = None,
    allow_pins: bool = True,
) -> tuple[tuple[Upgrade, ...], tuple[Selection, Selection]]:
    """Find the nearest versions without the loops that are chosen, on the targets of a scope.

    Returns:
        One upgrade for each, and what is selected of the input as it was read, and after all.
    """
    from distcycle.resolution.shelf import Shelf
    from distcycle.resolution.upgrades import find_upgrades, loosen

    snapshot = scope.snapshot
    compiled = _is_compiled(snapshot) if compiled is None else compiled
    scope = scope.listed(scope.targets)
    with library.releases(index=snapshot.index) as source:
        shelf = Shelf(replace(snapshot, packages=()), scope.targets, source, rules)
        select = _selecting(scope, library, facts, shelf)
        read = select(snapshot)
        before = select(loosen(read, compiled=compiled, allow_pins=allow_pins))
        names = [package.name for package in snapshot.packages]
        loops = find_components(before.edges, names, before.space.full, max_cycles=1)
        upgrades, after = find_upgrades(before, choose(before, loops), shelf, select)
    return upgrades, (read, after)


def _expect_versions(snapshot: Snapshot) -> None:
    for package in snapshot.packages:
        if package.version is None and package.source == "registry":
            problem = f"{package.name} is not pinned to a version; --resolve finds one"
            raise InputError(problem, path=snapshot.path)


def _selecting(
    scope: Scope, library: Library, facts: Facts, shelf: Shelf
) -> Callable[[Snapshot], Selection]:
    """What selects of one input after another, on the same targets, and asks nothing twice."""
    space = scope.space(facts)

    standing: Sequence[int] = ()

    def run(snapshot: Snapshot) -> Selection:
        nonlocal facts, standing
        while True:
            selection = select(snapshot, space, facts, scope.request, standing=standing)
            if not selection.needs:
                standing = standing or selection.standing
                return selection
            facts = replace(facts, metadata={**facts.metadata, **shelf.metadata_read})
            facts = library.gather(selection.needs, facts, index=snapshot.index)

    return run


def _plan_upgrade(before: Selection, after: Selection) -> UpgradePlan:
    """What to write down of an input after its upgrades: all that is still installed."""
    known = {(package.name, package.version) for package in before.snapshot.packages}
    has_hashes = any(package.hashes for package in before.snapshot.packages)
    gone = {i for i in before.reached if not i[1]} - {i for i in after.reached if not i[1]}
    staying = [p for i, p in enumerate(after.snapshot.packages) if (i, "") not in gone]
    pins = []
    for package in sorted(staying, key=lambda p: (p.name, str(p.version))):
        if package.source in {"virtual", "editable", "directory"}:
            continue
        files = {pair for file in package.artefacts or () for pair in file.hashes}
        hashes = package.hashes or tuple(sorted(files))
        pin = Pin(
            name=package.name,
            version=package.version,
            url=None if package.source in {"registry", "installed"} else package.url,
            marker=str(package.marker or ""),
            hashes=hashes if has_hashes else (),
            is_new=(package.name, package.version) not in known,
        )
        pins.append(pin)
    return UpgradePlan(input=before.snapshot.path, pins=tuple(pins))


def read_policies(names: Sequence[str] = (), *, search: bool = True) -> Policy:
    """Read the policies that are named, else the one that stands in the project.

    Args:
        names: Files, or ``builtin:NAME``; the later wins.
        search: Whether to look for one when none is named: ``distcycle.toml``, else
            ``[tool.distcycle]`` of pyproject.toml, from the working directory up to the root of
            the repository.

    Returns:
        One policy.

    Raises:
        PolicyError: A policy has problems.
        InputError: A policy cannot be read.
    """
    if not names and not search:
        return Policy()
    from distcycle.policy.find import find_policy, read_builtin
    from distcycle.policy.parse import merge_policies

    if not names:
        found = find_policy(".")
        return read_policy(found) if found else Policy()
    return merge_policies(
        [
            read_builtin(builtin) if (builtin := _builtin_of(name)) else read_policy(name)
            for name in names
        ]
    )


def _builtin_of(name: str) -> str | None:
    kind, _, rest = name.partition(":")
    return rest if kind == "builtin" else None


def read_policy(path: str) -> Policy:
    """Read one policy file, or the ``[tool.distcycle]`` table of a pyproject.toml.

    Raises:
        PolicyError: The policy has problems; all are said at once.
        InputError: It cannot be read.
    """
    from distcycle.policy.parse import parse_policy

    text = read_text(path)
    table = "tool.distcycle" if Path(path).name == "pyproject.toml" else None
    return parse_policy(text, path=path, table=table)


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


def read_text(path: str) -> str:
    """Read a UTF-8 text file.

    Raises:
        InputError: It cannot be read, or is not UTF-8.
    """
    return decode_utf8(Document(path=path, data=_read_bytes(Path(path), path)))


def write_text(path: str, text: str) -> None:
    """Write a file whole or not at all: to a temporary name beside it, then renamed.

    What a link points at is written, and the link stays; a device or a pipe is written to.

    Raises:
        InputError: It cannot be written.
    """
    import tempfile

    place = Path(path)
    temporary = None
    try:
        if place.exists() and not place.is_file():
            place.write_text(text, encoding="utf-8", newline="\n")
            return
        place = Path(os.path.realpath(place))
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


def append_text(path: str, text: str) -> None:
    """Write at the end of a file, which others may write to as well.

    Raises:
        InputError: It cannot be written.
    """
    try:
        with Path(path).open("a", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=path) from None

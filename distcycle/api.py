"""Judges, explains, mends and shows: wires the floors together.

This is what the command line and Python callers use; no exception but
:class:`~distcycle.errors.DistcycleError` leaves it.
"""

from __future__ import annotations

import codecs
import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from packaging.utils import canonicalize_name

from distcycle.baseline import baseline_of
from distcycle.changes import find_changes, find_module_changes
from distcycle.cycles import Component, TooManySets, find_components
from distcycle.errors import InputError
from distcycle.findings import Report
from distcycle.gathering import gather, gather_builds, gather_within_limits, resolve_scope
from distcycle.inputs import (
    append_text,
    find_input,
    find_unlocked,
    read,
    read_bytes,
    read_environment,
    read_locked,
    read_requirement,
    read_since,
    read_text,
    read_wheelhouse,
    write_text,
)
from distcycle.judgement import Options, add_targets, judge, unite_resolved
from distcycle.limits import words_of_rules
from distcycle.markers import Atom, UnreadableMarker, atoms_of, parse_expression
from distcycle.model import Facts, Snapshot
from distcycle.plan import Plan
from distcycle.policy import Policy
from distcycle.readers import Document, decode_utf8
from distcycle.remedies import Remedy
from distcycle.reporters import REPORTERS, View
from distcycle.scope import Scope, choose_targets
from distcycle.selection import Request, Selection, select
from distcycle.statements import row_of
from distcycle.targets import PLATFORMS, Target, make_targets, read_target
from distcycle.upgrading import find_upgrades, look_for_fix

if TYPE_CHECKING:
    # What gets METADATA loads a third of the standard library, and most runs on a lock need none.
    from distcycle.metadata import Library
    from distcycle.refactoring import PlannedMove
    from distcycle.resolution import Rules
    from distcycle.surveying import ModuleJudge
    from distcycle.weighing import Imports
    from distcycle.witnesses import Means

__all__ = [
    "append_text",
    "audit",
    "compare",
    "compare_imports",
    "emit",
    "explain_packages",
    "find_fixes",
    "find_input",
    "find_target",
    "find_unlocked",
    "find_upgrades",
    "gather",
    "is_audited",
    "judge_resolved",
    "judge_scope",
    "lint_bazel",
    "make_scope",
    "plan_move",
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
    "survey_imports",
    "survey_members",
    "write_move",
    "write_text",
]


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
        data = read_bytes(Path(name), name)
        return read_target(data.decode("utf-8", "replace"), path=name)
    return name


def find_target(platform: str | None, python_version: str | None) -> Target | None:
    """Find the one target for which modules are looked at.

    Args:
        platform: A name, or ``host``; None for this machine's where only a version is given.
        python_version: A version of Python; None for the running one's.

    Returns:
        The target; None when neither is given.

    Raises:
        TargetError: A name is not known.
        InputError: A file with a complete platform cannot be read.
    """
    if platform is None and python_version is None:
        return None
    from distcycle.host import host_target

    wanted = _target_or_name(platform or "host")
    if isinstance(wanted, Target) and python_version is None:
        return wanted
    host = host_target()
    version = python_version or host.environment["python_version"]
    return make_targets([wanted if isinstance(wanted, str) else host.platform], [version])[0]


def judge_resolved(
    scope: Scope,
    library: Library | None,
    options: Options,
    rules: Rules,
    *,
    lists: bool = False,
    means: Means | None = None,
) -> Report:
    """Resolve an input, and judge what comes of it.

    Args:
        scope: The input, and the targets.
        library: Where releases and METADATA come from.
        options: How to judge.
        rules: What may be chosen.
        lists: Whether to say which versions were chosen.
        means: How modules may be sought, where it is to be looked at what they import.

    Returns:
        One report on all targets.

    Raises:
        ResolutionError: There is no solution for a target that was asked for, or for none at all.
        DistcycleError: As for :func:`resolve_scope`.
    """
    return _judge_any(scope, library, options, rules, lists=lists, means=means)[0]


def compare(
    old: Scope,
    new: Scope,
    library: Library | None,
    options: Options,
    *,
    name: str,
    rules: tuple[Rules | None, Rules | None] = (None, None),
    means: Means | None = None,
) -> Report:
    """Judge an input against an older state of it: what was there before does not count.

    Args:
        old: The older state.
        new: The input.
        library: Where facts come from; None to judge without any.
        options: How to judge.
        name: What to call the older state.
        rules: What may be chosen, where the older state and the input are to be resolved.
        means: How modules may be sought, where it is to be looked at what they import.

    Returns:
        The report on the input; what the older state has is accepted as known, and ``changes``
        says what happened to loops.
    """
    bare = replace(options, baseline=None)
    before, then = _judge_any(old, library, bare, rules[0], means=means)
    known = baseline_of(before.findings, path=name)
    if options.baseline is not None:
        known = replace(known, entries=(*known.entries, *options.baseline.entries))
    options = replace(options, baseline=known)
    after, now = _judge_any(new, library, options, rules[1], means=means)
    return replace(after, changes=find_changes((then, before), (now, after)))


def _judge_any(
    scope: Scope,
    library: Library | None,
    options: Options,
    rules: Rules | None,
    *,
    lists: bool = False,
    means: Means | None = None,
) -> tuple[Report, tuple[Selection, ...]]:
    """Judge an input as it stands, or what it resolves to."""
    if rules is None or scope.snapshot.kind == "absent":
        report, (selection, *_) = _judge_scope(scope, library, options, means=means)
        return report, (selection,)
    if library is None:
        raise InputError(
            "--resolve asks wheels what they require; --edges lock does not go with it"
        )
    ways, notes = resolve_scope(scope, library, rules, lists=lists)
    judged = []
    for way, facts in ways:
        report, selections = _judge_scope(way, library, options, facts, means=means)
        judged.append((report, selections[0]))
    order = [target.name for target in scope.targets]
    return unite_resolved(judged, order, notes), tuple(selection for _, selection in judged)


def judge_scope(
    scope: Scope, library: Library | None, options: Options, *, means: Means | None = None
) -> Report:
    """Judge an input on all that a scope covers.

    Targets whose wheels are not those of standard builds (musl, free-threaded, an older glibc) are
    no part of the space of all environments; they are judged beside it.

    Args:
        scope: What is judged.
        library: Where facts come from; None to judge without any.
        options: How to judge.
        means: How modules may be sought, where it is to be looked at what they import.
    """
    return _judge_scope(scope, library, options, means=means)[0]


def _judge_scope(
    scope: Scope,
    library: Library | None,
    options: Options,
    facts: Facts | None = None,
    *,
    means: Means | None = None,
) -> tuple[Report, tuple[Selection, ...]]:
    """Judge an input, and say what was selected for that."""
    scope = replace(scope, words=words_of_rules(options.policy, options.baseline))
    selection, facts = gather(scope, library, facts)
    options, notes = _end_waivers(selection, scope, library, options)
    builds = gather_builds(scope, library, facts) if options.build else None
    with _reading_imports(library, means, wanted=options.imports) as look:
        try:
            report = judge(selection, options, builds, look(selection, facts))
        except TooManySets as error:
            scope = scope.listed(scope.targets)
            space = scope.space(facts)
            space.note = f"{error}; judged on the named targets only"
            selection = select(scope.snapshot, space, facts, scope.request)
            report = judge(selection, options, builds, look(selection, facts))
        report = replace(report, notes=report.notes + notes)
        located = {profile.target.name for profile in selection.space.named}
        beside = [target for target in scope.targets if target.name not in located]
        if not beside:
            return report, (selection,)
        others, facts = gather(scope.listed(beside), library)
        further = judge(others, options, builds, look(others, facts))
    order = [target.name for target in scope.targets]
    return add_targets(report, further, order), (selection, others)


@contextlib.contextmanager
def _reading_imports(
    library: Library | None,
    means: Means | None,
    *,
    wanted: bool,
    names: Collection[str] | None = None,
    undeclared: bool = True,
) -> Iterator[Callable[[Selection, Facts], Imports | None]]:
    """Give what looks at the imports of selections, for as long as fetched wheels are there.

    Args:
        library: Where wheels come from.
        means: How modules may be sought.
        wanted: Whether to look at all.
        names: Projects whose loops count; None for all loops.
        undeclared: Whether imports are sought that no requirement declares.
    """
    if not wanted:
        yield lambda _selection, _facts: None
        return
    from distcycle.inspection import find_imports
    from distcycle.witnesses import Means, searching

    with searching(library, means or Means()) as search:
        yield lambda selection, facts: find_imports(
            selection, _find_loops(selection, names), facts, search, undeclared=undeclared
        )


def _find_loops(selection: Selection, names: Collection[str] | None) -> list[Component]:
    known = [package.name for package in selection.snapshot.packages]
    found = find_components(selection.edges, known, selection.space.full, max_cycles=1)
    return [c for c in found if names is None or any(known[i] in names for i in c.packages)]


def _end_waivers(
    selection: Selection, scope: Scope, library: Library | None, options: Options
) -> tuple[Options, tuple[str, ...]]:
    """End the waivers that hold until a loop is fixed, where there are versions without it."""
    if not any(waiver.until_fixed for waiver in options.policy.waivers):
        return options, ()
    from distcycle.endings import end_waivers

    look = None if library is None else partial(look_for_fix, scope, library)
    policy, notes = end_waivers(options.policy, selection, look)
    return replace(options, policy=policy), notes


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

    data = read_bytes(Path(path), path)
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
    imports: bool = False,
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
        imports: Whether it is read what modules say about cutting edges; nothing is fetched whole.
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
        imports=imports,
    )
    if library is not None or (edges == "lock" and not build and not imports):
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
    *,
    imports: bool = False,
    means: Means | None = None,
) -> str:
    """Say why projects are in loops: hop by hop, from which root, and what would open them.

    Args:
        scope: What is judged.
        library: Where facts come from; None to judge without any.
        names: The projects.
        view: Width, colours and verbosity.
        facts: What is known already.
        imports: Whether to say what modules import, hop by hop.
        means: How modules may be sought for that.

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
    selection, facts = gather_within_limits(scope, library, facts)
    rows = [row_of(profile.target) for profile in selection.space.named]
    with _reading_imports(library, means, wanted=imports, names=wanted, undeclared=False) as look:
        said = look(selection, facts)
    explanations = explain(selection, wanted, max_cycles=100, imports=said)
    return "\n".join(render_explanation(e, rows, view or View()) for e in explanations)


def find_fixes(
    scope: Scope,
    library: Library | None,
    policy: Policy,
    *,
    to_extra: bool = False,
    facts: Facts | None = None,
    imports: bool = False,
    means: Means | None = None,
) -> tuple[list[Remedy], Plan, Selection]:
    """Find what can be done about the loops that a policy's cuts leave.

    Args:
        scope: What is judged.
        library: Where facts come from; None to judge without any.
        policy: Its cuts are made first; what it calls droppable costs what it says.
        to_extra: Whether the plan keeps requirements under an extra instead of dropping them.
        facts: What is known already.
        imports: Whether what modules import decides between cuts.
        means: How modules may be sought for that.

    Returns:
        The remedies, component by component, a plan for all of them, and what it rests on.
    """
    from distcycle.remedies import find_remedies, make_plan
    from distcycle.statements import Statements
    from distcycle.verdicts import apply_cuts

    scope = replace(scope, words=words_of_rules(policy, None))
    selection, facts = gather_within_limits(scope, library, facts)
    names = [package.name for package in scope.snapshot.packages]
    found = find_components(selection.edges, names, selection.space.full, max_cycles=100)
    cut = apply_cuts(selection, found, policy.cuts, 100)
    rows = [(row_of(profile.target), profile.cells) for profile in selection.space.named]
    statements = Statements(cut.selection, rows)
    with _reading_imports(library, means, wanted=imports, undeclared=False) as look:
        said = look(cut.selection, facts)
    remedies = find_remedies(cut.selection, cut.components, statements, policy, said)
    plan = make_plan(
        cut.selection, cut.components, statements, policy, to_extra=to_extra, imports=said
    )
    return remedies, plan, cut.selection


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


# Modules ------------------------------------------------------------------------------------------


def survey_imports(names: Sequence[str], judge: ModuleJudge, **options: Any) -> Report:
    """Report on the loops of modules; see :func:`distcycle.importing.survey_imports`."""
    from distcycle.importing import survey_imports

    return survey_imports(names, judge, **options)


def compare_imports(
    old: Sequence[str],
    new: Sequence[str],
    judge: ModuleJudge,
    survey: Callable[[Sequence[str], ModuleJudge], Report],
) -> Report:
    """Report on the loops of modules that a change adds.

    Args:
        old: What is named as it was; what is found there is known.
        new: What is named as it is.
        judge: Decides what counts; it has no baseline.
        survey: Reads modules and judges their loops, such as :func:`survey_imports`.

    Raises:
        InputError: Something named is not there, or the judge has a baseline.
    """
    if judge.baseline is not None:
        raise InputError("--against takes the place of --baseline")
    before = survey(old, replace(judge, policy=Policy()))
    known = baseline_of(before.findings, path=", ".join(old))
    after = survey(new, replace(judge, baseline=known))
    return replace(after, changes=find_module_changes(before, after))


def is_audited(name: str) -> bool:
    """Whether what is named is an input of an audit, whose loops' members are meant."""
    from distcycle.importing import is_audited

    return is_audited(name)


def survey_members(
    path: str,
    judge: ModuleJudge,
    library: Library | None,
    *,
    means: Means | None = None,
    target: Target | None = None,
    edges: Literal["wheel", "lock"] = "wheel",
    most_cycles: int = 100,
) -> Report:
    """Report on the loops of modules among the members of each loop of an input.

    Args:
        path: The input, as for :func:`read`.
        judge: Decides what counts.
        library: Where facts come from; None to judge without any.
        means: How modules may be sought.
        target: Where the input is judged, and for which modules are read; None for everywhere.
        edges: As for :func:`audit`.
        most_cycles: How many elementary loops to list of each component of modules.

    Raises:
        DistcycleError: The input, or a wheel, cannot be read.
    """
    from distcycle.importing import survey_members
    from distcycle.witnesses import Means, Witnesses, searching

    snapshot = read(path)
    platforms = () if target is None else (target,)
    scope = make_scope(snapshot, platforms=platforms, request=Request(edges=edges))
    selection, facts = gather(scope, library)
    names = [package.name for package in selection.snapshot.packages]
    loops = find_components(selection.edges, names, selection.space.full, max_cycles=1)
    with searching(library, means or Means()) as search:
        return survey_members(
            selection,
            loops,
            Witnesses(selection, facts, search),
            search.scanner,
            judge,
            target=target,
            most_cycles=most_cycles,
        )


def plan_move(folder: str, source: str, partner: str, new: str | None = None) -> PlannedMove:
    """Plan a move of names out of a loop; see :func:`distcycle.refactoring.plan_move`."""
    from distcycle.refactoring import plan_move

    return plan_move(folder, source, partner, new)


def write_move(planned: PlannedMove) -> None:
    """Write a planned move; see :func:`distcycle.refactoring.write_move`."""
    from distcycle.refactoring import write_move

    write_move(planned)


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

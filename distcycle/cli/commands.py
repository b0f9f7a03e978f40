"""What each command does."""

from __future__ import annotations

import functools
import os
import sys

from distcycle.cli.choices import (
    find_cache_dir,
    find_emitter,
    find_pin_emitter,
    find_target,
    find_ways,
    hint_nearest,
    make_judgement,
    make_library,
    make_library_if_asked,
    make_means,
    make_module_judge,
    make_request,
    make_resolvable,
    make_rules,
    make_scope,
    read_input,
    read_pairs,
    read_policy,
    read_snapshots,
    settle_options,
)
from distcycle.cli.output import (
    make_view,
    say_error,
    show_config,
    show_imports,
    show_report,
    spell_command,
    spell_imports,
    write_forms,
)
from distcycle.errors import InputError, PolicyError

# Importing typing alone takes as long as starting Python; type checkers know this name by itself.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from distcycle.emitters import Emitter
    from distcycle.findings import Report
    from distcycle.metadata import Library
    from distcycle.plan import Plan
    from distcycle.selection import Selection
    from distcycle.surveying import ModuleJudge

__all__ = [
    "run_audit",
    "run_bundle",
    "run_codes",
    "run_completion",
    "run_diff",
    "run_explain",
    "run_fix",
    "run_imports",
    "run_lint_bazel",
    "run_policy_check",
    "run_policy_init",
    "run_policy_list",
    "run_render",
    "run_targets",
]


def run_audit(options: argparse.Namespace) -> int:
    """Judge inputs."""
    from dataclasses import replace

    from distcycle import api
    from distcycle.judgement import combine

    policy, settings = settle_options(options)
    if options.show_config:
        return show_config(settings)
    judgement, means = make_judgement(options, policy), make_means(options)
    reports = []
    with make_library_if_asked(options) as library:
        for snapshot in read_snapshots(options):
            scope, rules = make_resolvable(snapshot, options, judgement.request)
            if rules is None:
                reports.append(api.judge_scope(scope, library, judgement, means=means))
            else:
                report = api.judge_resolved(
                    scope, library, judgement, rules, lists=options.verbose, means=means
                )
                reports.append(report)
    report = replace(combine(reports), command=spell_command(["audit", *options.inputs], options))
    if options.write_baseline:
        return _write_baseline(report, options)
    return show_report(report, options, judgement)


def _write_baseline(report: Report, options: argparse.Namespace) -> int:
    """Write all findings of a report down as known."""
    from distcycle import api
    from distcycle.baseline import baseline_of, dump_baseline

    known = baseline_of(report.findings, path=options.write_baseline)
    api.write_text(options.write_baseline, dump_baseline(known))
    count = len(known.entries)
    noun = "finding" if count == 1 else "findings"
    print(f"{options.write_baseline}: {count} {noun}", file=sys.stderr)
    return 0


def run_diff(options: argparse.Namespace) -> int:
    """Judge what a change adds."""
    from dataclasses import replace

    from distcycle import api
    from distcycle.judgement import combine

    policy, settings = settle_options(options)
    if options.show_config:
        return show_config(settings)
    judgement, means = make_judgement(options, policy), make_means(options)
    reports = []
    with make_library_if_asked(options) as library:
        for old, new, name in read_pairs(options):
            before, then = make_resolvable(old, options, judgement.request, new.path)
            after, now = make_resolvable(new, options, judgement.request)
            report = api.compare(
                before, after, library, judgement, name=name, rules=(then, now), means=means
            )
            reports.append(report)
    report = replace(combine(reports), command=spell_command(["diff", *options.inputs], options))
    return show_report(report, options, judgement)


def run_explain(options: argparse.Namespace) -> int:
    """Say why packages are in loops."""
    from distcycle import api

    snapshot = read_input(options.input, options)
    view, means = make_view(options, None), make_means(options)
    with make_library(options) as library:
        for scope, facts in find_ways(snapshot, options, library):
            text = api.explain_packages(
                scope,
                library,
                options.packages,
                view,
                facts,
                imports=options.imports,
                means=means,
            )
            sys.stdout.write(text)
    return 0


def run_fix(options: argparse.Namespace) -> int:
    """List remedies, or write them for another tool."""
    from distcycle import api
    from distcycle.reporters.text import render_remedies

    if options.upgrade:
        return _upgrade(options)
    if options.allow_pins:
        raise InputError("--allow-pins goes with --upgrade")
    emitter = find_emitter(options)
    writes = options.write_wheels or options.merge_wheels or options.emit == "patch"
    if writes and options.check:
        raise InputError("--check compares one file; nothing of several files is compared")
    snapshot = read_input(options.input, options)
    policy = read_policy(options)
    with make_library(options) as library:
        ways = find_ways(snapshot, options, library, is_one=bool(writes or emitter))
        for scope, facts in ways:
            remedies, plan, selection = api.find_fixes(
                scope,
                library,
                policy,
                to_extra=options.to_extra,
                facts=facts,
                imports=options.imports,
                means=make_means(options),
            )
            if writes:
                return _write_files(options, library, plan, selection)
            if emitter is not None:
                return _write_plan(emitter, plan, options)
            sys.stdout.write(render_remedies(remedies, make_view(options, None)))
    return 0


def _write_plan(emitter: Emitter, plan: Plan, options: argparse.Namespace) -> int:
    """Write a plan for a tool, or say what a file of that tool does not do yet of it."""
    from distcycle import api

    if options.check:
        lacks = emitter.check(plan, api.read_text(options.check))
        for line in lacks:
            print(f"{options.check}: {line}")
        return 1 if lacks else 0
    _write(emitter.emit(plan), options)
    return 0


def _write(text: str, options: argparse.Namespace) -> None:
    from distcycle import api

    if options.output:
        api.write_text(options.output, text)
    else:
        sys.stdout.write(text)


def _upgrade(options: argparse.Namespace) -> int:
    """List the nearest versions without loops, or write them as pins."""
    from distcycle import api
    from distcycle.reporters.text import render_upgrades

    emit = find_pin_emitter(options)
    snapshot = read_input(options.input, options)
    policy = read_policy(options)
    rules = make_rules(options, snapshot, snapshot.path)
    with make_library(options) as library:
        for scope, facts in find_ways(snapshot, options, library, is_one=emit is not None):
            upgrades, plan = api.find_upgrades(
                scope, library, policy, rules, resolved=facts, allow_pins=options.allow_pins
            )
            if emit is None:
                sys.stdout.write(render_upgrades(upgrades, make_view(options, None)))
            else:
                _write(emit(plan), options)
    return 0


def run_lint_bazel(options: argparse.Namespace) -> int:
    """Check the groups that a Bazel file declares."""
    from dataclasses import replace

    from distcycle import api

    if options.python:
        raise InputError("--python names an environment; what is compared with is --lock")
    judgement = make_judgement(options, read_policy(options))
    snapshot = api.read(options.lock, kind=options.input_kind)
    with make_library(options) as library:
        scope = make_scope(snapshot, options, judgement.request)
        report = api.lint_bazel(
            options.file, scope, library, judgement, hubs=options.hub, fix=options.fix
        )
    words = ["lint", "bazel", options.file, "--lock", options.lock]
    words += [word for hub in options.hub for word in ("--hub", hub)]
    return show_report(replace(report, command=spell_command(words, options)), options, judgement)


def _write_files(
    options: argparse.Namespace, library: Library | None, plan: Plan, selection: Selection
) -> int:
    """Write wheels or patches, and name them."""
    if library is None:
        raise InputError("wheels are asked for, so --edges lock does not go with it")
    from pathlib import Path

    from distcycle import api
    from distcycle.repairs import Workshop

    shop = Workshop(
        library=library,
        index=selection.snapshot.index,
        download=options.allow_download,
        keep_version=options.keep_version,
        allow_signed=options.allow_signed,
        write=api.write_text,
    )
    if options.write_wheels:
        written = shop.repair(plan, Path(options.write_wheels))
    elif options.merge_wheels:
        written = shop.merge(plan, selection, Path(options.merge_wheels))
    else:
        written = shop.patch(plan, Path(options.output or "patches"))
    for path in written:
        print(path)
    return 0


def run_imports(options: argparse.Namespace) -> int:
    """Say which modules import each other."""
    from distcycle import api

    if options.move:
        return _move(options)
    if options.write or options.into:
        raise InputError("--write and --into go with --move")
    judge = make_module_judge(options)
    if any(map(api.is_audited, options.inputs)):
        report = _survey_members(options, judge)
        return _show_survey(report, options, judge)
    survey = functools.partial(
        api.survey_imports,
        python=options.python,
        target=find_target(options),
        together=options.together,
        most_cycles=options.max_cycles,
        cache_dir=find_cache_dir(options),
        processes=os.cpu_count() or 1,
    )
    if options.against:
        report = api.compare_imports(options.against, options.inputs, judge, survey)
    else:
        report = survey(options.inputs, judge)
    return _show_survey(report, options, judge)


def _survey_members(options: argparse.Namespace, judge: ModuleJudge) -> Report:
    """Look at the members of the loops of one input."""
    from distcycle import api

    if len(options.inputs) > 1 or options.against or options.together:
        raise InputError("the input of an audit stands alone, without --together and --against")
    with make_library_if_asked(options) as library:
        return api.survey_members(
            options.inputs[0],
            judge,
            library,
            means=make_means(options),
            target=find_target(options),
            edges=options.edges,
            most_cycles=options.max_cycles,
        )


def _show_survey(report: Report, options: argparse.Namespace, judge: ModuleJudge) -> int:
    from dataclasses import replace

    report = replace(report, command=spell_imports(options))
    if options.write_baseline:
        return _write_baseline(report, options)
    return show_imports(report, options, judge)


def _move(options: argparse.Namespace) -> int:
    """Move names out of a loop of modules: show how, or do it."""
    from distcycle import api
    from distcycle.reporters.escape import printable

    if len(options.inputs) != 1:
        raise InputError("--move is for one folder of sources")
    source, partner = options.move
    planned = api.plan_move(options.inputs[0], source, partner, options.into)
    for note in planned.notes:
        print(printable(note), file=sys.stderr)
    if options.write:
        api.write_move(planned)
    else:
        # Line ends are those of the files, so nothing may translate them.
        sys.stdout.flush()
        sys.stdout.buffer.write(planned.diff.encode("utf-8", "surrogateescape"))
    return 0


def run_bundle(options: argparse.Namespace) -> int:
    """Save the facts that an audit uses."""
    from distcycle import api
    from distcycle.metadata.bundle import dump_bundle
    from distcycle.model import Facts

    files: dict[object, object] = {}
    metadata: dict[str, object] = {}
    with make_library(options) as library:
        for snapshot in read_snapshots(options):
            _, facts = api.gather(make_scope(snapshot, options, make_request(options)), library)
            files.update(facts.files)
            metadata.update(facts.metadata)
    facts = Facts(files=files, metadata=metadata)  # type: ignore[arg-type]
    api.write_text(options.output, dump_bundle(facts))
    if not options.quiet:
        print(f"{options.output}: METADATA of {len(metadata)} files", file=sys.stderr)
    return 0


def run_render(options: argparse.Namespace) -> int:
    """Show a saved report in other forms."""
    from distcycle import api
    from distcycle.reporters.saved import parse_report

    if options.report == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    else:
        text = api.read_text(options.report)
    write_forms(parse_report(text, path=options.report), options)
    return 0


def run_policy_init(options: argparse.Namespace) -> int:
    """Write a policy to begin with."""
    from distcycle import api
    from distcycle.policy.template import render_template

    if os.path.exists(options.output) and not options.force:
        raise InputError("is there already; --force writes over it", path=options.output)
    api.write_text(options.output, render_template())
    print(f"{options.output}: written; every key is in it, as a comment", file=sys.stderr)
    return 0


def run_policy_check(options: argparse.Namespace) -> int:
    """Say what is wrong with policies."""
    from distcycle.policy.find import find_policy

    files = options.files or [find_policy(".")]
    if None in files:
        raise InputError("no policy is found from here; name a file")
    return max([_check_policy(file) for file in files])


def _check_policy(file: str) -> int:
    from distcycle import api

    try:
        policy = api.read_policies([file])
    except PolicyError as error:
        say_error(error, "")
        return 1
    except InputError as error:
        say_error(error)
        return 2
    rules = (policy.waivers, policy.cuts, policy.groups, policy.denials)
    print(f"{file}: valid, rules: {sum(map(len, rules))}")
    return 0


def run_policy_list(_options: argparse.Namespace) -> int:
    """List the ready-made policies."""
    from distcycle.policy.find import list_builtins

    for name, purpose in list_builtins().items():
        print(f"{name:<18}{purpose}")
    return 0


def run_targets(options: argparse.Namespace) -> int:
    """List targets, or what names mean."""
    from distcycle.targets import describe_targets, make_targets

    if options.names:
        for target in make_targets(options.names):
            print(f"{target.name}{' (' + target.assumed + ')' if target.assumed else ''}")
            for name, value in target.environment.items():
                print(f"  {name} = {value!r}")
            print(f"  {len(target.tags)} wheel tags, the best {target.tags[0]}")
        return 0
    for row in describe_targets():
        tier = ", judged by default" if row.tier == 1 else ""
        print(f"{row.name}{tier}")
        print(f"  Pythons: {', '.join(row.pythons)}")
        if row.assumed:
            print(f"  assumed: {row.assumed}")
        if row.names:
            print(f"  also: {', '.join(row.names)}")
        if row.versioned:
            print(f"  limited: {row.versioned}")
    return 0


def run_codes(options: argparse.Namespace) -> int:
    """Explain the codes of findings."""
    from distcycle.findings import CODES

    if options.code is None:
        for code in CODES.values():
            print(f"{code.name:<24}{code.severity!s:<7}{code.meaning}")
        return 0
    if options.code not in CODES:
        raise InputError(f"unknown code {options.code!r}{hint_nearest(options.code, CODES)}")
    code = CODES[options.code]
    print(f"{code.name} ({code.severity} by default)", *code.explain(), sep="\n")
    return 0


def run_completion(options: argparse.Namespace) -> int:
    """Print a shell's completion script."""
    from distcycle.cli.arguments import build_parser
    from distcycle.completion import render_completion

    sys.stdout.write(render_completion(build_parser(["fix"]), options.shell))
    return 0

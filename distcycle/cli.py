"""The command line: arguments, streams, progress and exit code. Nothing else prints or exits.

Exit codes, the same for every format: 0 when nothing is at ``deny``, 1 when something is, 2 when
the command could not run or could judge nothing.
"""

from __future__ import annotations

import argparse
import functools
import os
import shlex
import shutil
import sys

from distcycle.errors import DistcycleError, InputError, PolicyError
from distcycle.version import __version__

# Importing typing alone takes as long as starting Python; type checkers know this name by itself.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from datetime import date
    from typing import TextIO, TypeAlias

    from distcycle.emitters import Emitter
    from distcycle.findings import Report
    from distcycle.judgement import Options
    from distcycle.metadata import Library
    from distcycle.model import Snapshot
    from distcycle.plan import Plan
    from distcycle.policy import Policy
    from distcycle.reporters import View
    from distcycle.scope import Scope
    from distcycle.selection import Request, Selection
    from distcycle.settings import Setting

    Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001

__all__ = ["main"]

_EPILOG = "exit codes: 0 nothing at deny, 1 something at deny, 2 could not run or judge nothing"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The words after the program's name; None for this process's.

    Returns:
        The exit code.
    """
    words = sys.argv[1:] if arguments is None else arguments
    options = _parser(words).parse_args(words)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except DistcycleError as error:
        _say_error(error)
        return 2
    except BrokenPipeError:
        # Whoever read the output has seen enough; keep the interpreter from saying so at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except KeyboardInterrupt:
        return 130
    return code


def _say_error(error: DistcycleError, prefix: str = "distcycle: error: ") -> None:
    from distcycle.reporters.escape import printable

    for line in str(error).split("\n"):
        print(f"{prefix}{printable(line)}", file=sys.stderr)


# Arguments ---------------------------------------------------------------------------------------


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="distcycle",
        description="Find the dependency loops between wheels, for every target platform.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"distcycle {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_audit(commands)
    _add_diff(commands)
    _add_explain(commands)
    _add_fix(commands, _tools() if "fix" in words else "")
    _add_lint(commands)
    _add_bundle(commands)
    _add_render(commands)
    _add_policy(commands)
    _add_targets(commands)
    _add_codes(commands)
    _add_completion(commands)
    return parser


def _add_command(
    commands: Commands, name: str, text: str, run: Callable[[argparse.Namespace], int], example: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(
        name,
        help=text,
        description=text,
        epilog=f"example: {example}\n\n{_EPILOG}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


def _add_audit(commands: Commands) -> None:
    command = _add_command(
        commands,
        "audit",
        "find loops in locks, requirement files and environments",
        _run_audit,
        "distcycle audit requirements.txt --platform linux_x86_64",
    )
    _add_inputs(command)
    _add_judgement_options(command)
    group = command.add_argument_group("baseline")
    group.add_argument("--baseline", metavar="FILE", help="findings that are known do not count")
    group.add_argument(
        "--write-baseline", metavar="FILE", help="write all findings down as known, and exit 0"
    )
    _add_show_config(command)


def _add_diff(commands: Commands) -> None:
    command = _add_command(
        commands,
        "diff",
        "say what a change adds, takes away and alters; only what it adds can fail",
        _run_diff,
        "distcycle diff poetry.lock --since origin/main",
    )
    command.add_argument(
        "inputs",
        nargs="*",
        metavar="INPUT",
        help="the old and the new input; or, with --since, inputs as they stand, by default the "
        "one lock that stands here",
    )
    command.add_argument(
        "--since", metavar="REV", help="compare with the same files at this git revision"
    )
    _add_judgement_options(command)
    command.set_defaults(write_baseline=None)
    command.add_argument("--baseline", metavar="FILE", help="findings that are known as well")
    _add_show_config(command)


def _add_show_config(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--show-config",
        action="store_true",
        help="say of each option what it is and who said so, and exit 0",
    )
    _free_defaults(command)


def _free_defaults(command: argparse.ArgumentParser) -> None:
    """Take the defaults out, so that what was given can be told from what was not."""
    defaults: dict[str, tuple[object, object]] = {}
    for action in command._actions:  # noqa: SLF001
        if action.option_strings and action.dest != "help":
            defaults.setdefault(action.dest, (action.default, action.type))
    command.set_defaults(**dict.fromkeys(defaults), defaults=defaults)


def _add_judgement_options(command: argparse.ArgumentParser) -> None:
    _add_input_options(command)
    _add_fact_options(command)
    group = command.add_argument_group("judgement")
    _add_policy_options(group)
    for flag, severity in (("-A", "allow"), ("-W", "warn"), ("-D", "deny")):
        group.add_argument(
            flag,
            f"--{severity}",
            metavar="CODE",
            dest="severities",
            action="append",
            default=[],
            type=functools.partial(_severity, severity),
            help=f"weigh findings of this code as {severity}",
        )
    _add_switch(group, "--fail-on-unknown", "--pass-on-unknown", "the same as --deny edges-unknown")
    group.add_argument(
        "--max-cycles", type=_positive, default=100, metavar="N", help="loops listed (100)"
    )
    group = command.add_argument_group("output")
    _add_form_options(group)
    group.add_argument(
        "--show-targets", action="store_true", help="say which environment each platform means"
    )


_INPUT_HELP = "a lock or requirements file, a directory of wheels, an environment, a project, or -"


def _add_inputs(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "inputs",
        nargs="*",
        metavar="INPUT",
        help=f"{_INPUT_HELP}; without any, the one lock that stands here",
    )


def _add_explain(commands: Commands) -> None:
    command = _add_command(
        commands,
        "explain",
        "say why packages are in loops, who asks for them, and what would open the loops",
        _run_explain,
        "distcycle explain poetry.lock torch",
    )
    command.add_argument("input", metavar="INPUT", help=_INPUT_HELP)
    command.add_argument("packages", nargs="+", metavar="PACKAGE")
    _add_input_options(command)
    _add_fact_options(command)
    _add_view_options(command)


def _tools() -> str:
    """The names that ``--emit`` takes; asked for only when shown, as their table imports much."""
    from distcycle.emitters import EMITTERS

    return ", ".join(EMITTERS)


def _add_fix(commands: Commands, tools: str) -> None:
    command = _add_command(
        commands,
        "fix",
        "list what can be done about each loop, or write it for another tool",
        _run_fix,
        "distcycle fix uv.lock --emit uv",
    )
    command.add_argument("input", metavar="INPUT", help=_INPUT_HELP)
    _add_input_options(command)
    _add_fact_options(command)
    group = command.add_argument_group("remedies")
    _add_policy_options(group)
    group.add_argument("--emit", metavar="TOOL", help=f"write input of {tools}")
    group.add_argument(
        "--check",
        metavar="FILE",
        help="with --emit: say what this file does not do yet, and exit 1 if anything",
    )
    group.add_argument(
        "-o", "--output", metavar="FILE", help="with --emit: write here (patch: a folder)"
    )
    group.add_argument("--write-wheels", metavar="DIR", help="write repaired wheels")
    group.add_argument(
        "--merge-wheels", metavar="DIR", help="write one wheel of all members, for one target"
    )
    group.add_argument("--keep-version", action="store_true", help="give no local version")
    group.add_argument("--allow-signed", action="store_true", help="drop wheels' signatures")
    group.add_argument(
        "--allow-download", action="store_true", help="fetch wheels that are not here"
    )
    group.add_argument(
        "--to-extra", action="store_true", help="keep requirements under an extra, drop none"
    )
    _add_view_options(command)


def _add_lint(commands: Commands) -> None:
    lint = commands.add_parser("lint", help="check what a build system's files say of loops")
    kinds = lint.add_subparsers(title="kinds", metavar="KIND", required=True)
    command = _add_command(
        kinds,
        "bazel",
        "compare the groups of a Bazel file with the loops of its lock, extras flattened",
        _run_lint_bazel,
        "distcycle lint bazel MODULE.bazel --lock requirements_lock.txt",
    )
    command.add_argument("file", metavar="FILE", help="MODULE.bazel, WORKSPACE or a .bzl file")
    command.add_argument("--lock", required=True, metavar="LOCK", help=_INPUT_HELP)
    command.add_argument(
        "--hub", action="append", default=[], metavar="NAME", help="a hub that reads the lock"
    )
    command.add_argument("--fix", action="store_true", help="write the groups anew, in place")
    _add_judgement_options(command)
    command.set_defaults(baseline=None, write_baseline=None)


def _add_policy_options(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="FILE",
        help="a policy file, or builtin:NAME; repeatable, the later wins; without any, "
        "distcycle.toml or [tool.distcycle] of pyproject.toml, up to the repository's root",
    )
    group.add_argument("--no-policy", action="store_true", help="look for no policy")
    group.add_argument(
        "--today", metavar="DATE", type=_date, help="judge waivers as on this day (UTC today)"
    )


def _add_form_options(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--format",
        action="append",
        default=[],
        metavar="FORM[:FILE]",
        help="text, json, sarif, markdown or any other form that the documentation lists, to "
        "standard output or to a file; repeatable",
    )
    _add_view_options(group)


def _add_switch(group: argparse._ActionsContainer, name: str, opposite: str, text: str) -> None:
    """An option without a value, and one that takes back what a policy says of it."""
    group.add_argument(name, action="store_true", help=f"{text} ({opposite} takes it back)")
    dest = name.removeprefix("--").replace("-", "_")
    group.add_argument(
        opposite, dest=dest, action="store_false", default=False, help=argparse.SUPPRESS
    )


def _add_view_options(group: argparse._ActionsContainer) -> None:
    group.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    group.add_argument("-q", "--quiet", action="store_true", help="the verdict only")
    group.add_argument("-v", "--verbose", action="store_true", help="everything")


def _add_input_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("input")
    group.add_argument("--input-kind", metavar="KIND", help="what the input is, when not told")
    group.add_argument("--python", metavar="EXE", help="judge this interpreter's environment")
    group.add_argument("--extra", action="append", default=[], metavar="NAME")
    group.add_argument("--group", action="append", default=[], metavar="NAME")
    _add_switch(group, "--all-extras", "--not-all-extras", "all extras of the project")
    group = command.add_argument_group("targets")
    group.add_argument(
        "--platform",
        action="append",
        default=[],
        metavar="P",
        help="a name (see 'distcycle targets'), 'host', or a pex complete platform (.json)",
    )
    group.add_argument(
        "--python-version", action="append", default=[], metavar="V", help="such as 3.11 or pp310"
    )
    group.add_argument(
        "--targets",
        type=_names,
        default=(),
        metavar="NAMES",
        help="with neither of these, every environment is judged; the targets to name then: "
        "tier1 (the default), all, or names set apart by commas",
    )


def _add_fact_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("metadata")
    group.add_argument(
        "--edges",
        choices=("wheel", "lock"),
        default="wheel",
        help="ask each wheel what it requires, or believe the lock",
    )
    _add_switch(group, "--offline", "--online", "open no socket")
    group.add_argument("--bundle", metavar="FILE", help="facts saved by 'distcycle bundle'")
    group.add_argument("--index-url", metavar="URL")
    group.add_argument("--extra-index-url", action="append", default=[], metavar="URL")
    group.add_argument("--find-links", action="append", default=[], metavar="PLACE")
    _add_switch(group, "--no-index", "--use-index", "ask no index")
    group.add_argument("--cache-dir", metavar="DIR")
    _add_switch(group, "--no-cache", "--use-cache", "keep facts nowhere")
    group.add_argument("--cert", metavar="FILE", help="certificate authorities")
    group.add_argument("--proxy", metavar="URL")
    group.add_argument("--timeout", type=_seconds, metavar="S", help="seconds of silence")
    group.add_argument("--retries", type=int, default=3, metavar="N")
    group.add_argument(
        "--concurrency", type=_positive, default=32, metavar="N", help="requests at a time (32)"
    )


def _add_bundle(commands: Commands) -> None:
    command = _add_command(
        commands,
        "bundle",
        "save every fact that an audit uses, so that it runs again without a network",
        _run_bundle,
        "distcycle bundle uv.lock -o facts.json",
    )
    _add_inputs(command)
    _add_input_options(command)
    _add_fact_options(command)
    command.add_argument("-o", "--output", required=True, metavar="FILE")
    command.add_argument("-q", "--quiet", action="store_true")


def _add_render(commands: Commands) -> None:
    command = _add_command(
        commands,
        "render",
        "show a saved JSON report in another form",
        _run_render,
        "distcycle render report.json --format sarif",
    )
    command.add_argument("report", metavar="REPORT", help="what --format json wrote, or -")
    _add_form_options(command)


def _add_policy(commands: Commands) -> None:
    command = commands.add_parser("policy", help="begin, check and list policies")
    actions = command.add_subparsers(title="commands", metavar="COMMAND", required=True)
    init = _add_command(
        actions,
        "init",
        "write a policy with every key and its default, as comments",
        _run_policy_init,
        "distcycle policy init",
    )
    init.add_argument("-o", "--output", metavar="FILE", default="distcycle.toml")
    init.add_argument("--force", action="store_true", help="write over what stands there")
    check = _add_command(
        actions,
        "check",
        "say everything that is wrong with policies; exit code 1 if anything is",
        _run_policy_check,
        "distcycle policy check distcycle.toml",
    )
    check.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="policy files, pyproject.toml or builtin:NAME; without any, the one that audit finds",
    )
    _add_command(
        actions,
        "list",
        "list the ready-made policies, for --policy builtin:NAME",
        _run_policy_list,
        "distcycle policy list",
    )


def _add_targets(commands: Commands) -> None:
    command = _add_command(
        commands, "targets", "list the known targets", _run_targets, "distcycle targets"
    )
    command.add_argument("names", nargs="*", metavar="NAME", help="show what these names mean")


def _add_codes(commands: Commands) -> None:
    command = _add_command(
        commands, "codes", "explain the codes of findings", _run_codes, "distcycle codes"
    )
    command.add_argument("code", nargs="?", metavar="CODE")


def _add_completion(commands: Commands) -> None:
    command = _add_command(
        commands,
        "completion",
        "print a script that lets a shell complete commands and options",
        _run_completion,
        "distcycle completion bash > distcycle.bash",
    )
    command.add_argument("shell", choices=("bash", "zsh", "fish"))


def _severity(severity: str, code: str) -> tuple[str, str]:
    return code, severity


def _date(text: str) -> date:
    from datetime import date

    return date.fromisoformat(text)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    return () if names == ("tier1",) else names


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise ValueError
    return value


# audit and bundle --------------------------------------------------------------------------------


def _run_audit(options: argparse.Namespace) -> int:
    from dataclasses import replace

    from distcycle import api
    from distcycle.baseline import baseline_of, dump_baseline
    from distcycle.judgement import combine

    policy, settings = _settle(options)
    if options.show_config:
        return _show_config(settings)
    judgement = _judgement(options, policy)
    reports = []
    with _library_if_asked(options) as library:
        for snapshot in _snapshots(options):
            scope = _scope(snapshot, options, judgement.request)
            reports.append(api.judge_scope(scope, library, judgement))
    report = replace(combine(reports), command=_command(["audit", *options.inputs], options))
    if options.write_baseline:
        known = baseline_of(report.findings, path=options.write_baseline)
        api.write_text(options.write_baseline, dump_baseline(known))
        count = len(known.entries)
        noun = "finding" if count == 1 else "findings"
        print(f"{options.write_baseline}: {count} {noun}", file=sys.stderr)
        return 0
    return _show_report(report, options, judgement)


def _run_diff(options: argparse.Namespace) -> int:
    from dataclasses import replace

    from distcycle import api
    from distcycle.judgement import combine

    policy, settings = _settle(options)
    if options.show_config:
        return _show_config(settings)
    judgement = _judgement(options, policy)
    reports = []
    with _library_if_asked(options) as library:
        for old, new, name in _pairs(options):
            before = _scope(old, options, judgement.request)
            after = _scope(new, options, judgement.request)
            reports.append(api.compare(before, after, library, judgement, name=name))
    report = replace(combine(reports), command=_command(["diff", *options.inputs], options))
    return _show_report(report, options, judgement)


def _pairs(options: argparse.Namespace) -> Iterator[tuple[Snapshot, Snapshot, str]]:
    """The old and the new state of each input, and what to call the old one."""
    from distcycle import api

    if options.python:
        raise InputError("--python names an environment as it is; diff needs two states")
    kind = options.input_kind
    if options.since:
        for path in options.inputs or [api.find_input(".")]:
            old = api.read_since(path, options.since, kind=kind)
            yield old, api.read(path, kind=kind), old.path
        return
    if len(options.inputs) != 2:
        raise InputError("expected the old and the new input, or --since REV")
    old_path, new_path = options.inputs
    yield api.read(old_path, kind=kind), api.read(new_path, kind=kind), old_path


def _settle(options: argparse.Namespace) -> tuple[Policy, list[Setting]]:
    """Read the policy, and give the options that the command line leaves open their values."""
    from distcycle.settings import settle

    policy = _read_policy(options)
    return policy, settle(options, options.defaults, policy)


def _show_config(settings: Sequence[Setting]) -> int:
    from distcycle.reporters.escape import printable
    from distcycle.settings import describe_settings

    for line in describe_settings(settings):
        print(printable(line).rstrip())
    return 0


def _judgement(options: argparse.Namespace, policy: Policy) -> Options:
    from datetime import datetime, timezone

    from distcycle import api
    from distcycle.baseline import parse_baseline
    from distcycle.judgement import Options

    baseline = None
    if options.baseline and not options.write_baseline:
        baseline = parse_baseline(api.read_text(options.baseline), path=options.baseline)
    return Options(
        request=_request(options),
        policy=_weigh(policy, options),
        max_cycles=options.max_cycles,
        today=options.today or datetime.now(timezone.utc).date(),
        baseline=baseline,
    )


def _show_report(report: Report, options: argparse.Namespace, judgement: Options) -> int:
    from dataclasses import replace

    if judgement.baseline is not None:
        gone = judgement.baseline.gone(report)
        notes = tuple(
            f"{judgement.baseline.path}: no longer occurs: {entry.code} {', '.join(entry.packages)}"
            for entry in gone
        )
        report = replace(report, notes=report.notes + notes)
    _write_forms(report, options)
    if options.show_targets:
        _show_targets(report)
    return _verdict(report)


def _write_forms(report: Report, options: argparse.Namespace) -> None:
    from distcycle import api

    for form, path in [_split_form(text) for text in options.format or ["text"]]:
        view = _view(options, path)
        text = api.render(report, form, view)
        if path is None:
            sys.stdout.write(text)
        else:
            api.write_text(path, text)
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if form == "github" and summary:
            api.append_text(summary, api.render(report, "markdown", view))


def _verdict(report: Report) -> int:
    if report.judged_nothing:
        print("distcycle: error: nothing could be judged", file=sys.stderr)
        return 2
    return 0 if report.ok else 1


def _run_explain(options: argparse.Namespace) -> int:
    from distcycle import api

    snapshot = api.read(options.input, kind=options.input_kind)
    with _library(options) as library:
        scope = _scope(snapshot, options, _request(options))
        text = api.explain_packages(scope, library, options.packages, _view(options, None))
    sys.stdout.write(text)
    return 0


def _run_fix(options: argparse.Namespace) -> int:
    from distcycle import api
    from distcycle.reporters.text import render_remedies

    emitter = _emitter(options)
    snapshot = api.read(options.input, kind=options.input_kind)
    with _library(options) as library:
        scope = _scope(snapshot, options, _request(options))
        remedies, plan, selection = api.find_fixes(
            scope, library, _read_policy(options), to_extra=options.to_extra
        )
        if options.write_wheels or options.merge_wheels or options.emit == "patch":
            return _write_files(options, library, plan, selection)
    if emitter is None:
        sys.stdout.write(render_remedies(remedies, _view(options, None)))
        return 0
    if options.check:
        lacks = emitter.check(plan, api.read_text(options.check))
        for line in lacks:
            print(f"{options.check}: {line}")
        return 1 if lacks else 0
    if options.output:
        api.write_text(options.output, emitter.emit(plan))
    else:
        sys.stdout.write(emitter.emit(plan))
    return 0


def _run_lint_bazel(options: argparse.Namespace) -> int:
    from dataclasses import replace

    from distcycle import api

    if options.python:
        raise InputError("--python names an environment; what is compared with is --lock")
    judgement = _judgement(options, _read_policy(options))
    snapshot = api.read(options.lock, kind=options.input_kind)
    with _library(options) as library:
        scope = _scope(snapshot, options, judgement.request)
        report = api.lint_bazel(
            options.file, scope, library, judgement, hubs=options.hub, fix=options.fix
        )
    words = ["lint", "bazel", options.file, "--lock", options.lock]
    words += [word for hub in options.hub for word in ("--hub", hub)]
    return _show_report(replace(report, command=_command(words, options)), options, judgement)


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


def _emitter(options: argparse.Namespace) -> Emitter | None:
    from distcycle.emitters import EMITTERS

    if options.emit is None:
        if options.check or options.output:
            raise InputError("--check and --output go with --emit")
        return None
    if options.emit == "patch":
        return None
    if options.emit not in EMITTERS:
        hint = _nearest(options.emit, EMITTERS)
        raise InputError(f"nothing is written for {options.emit!r}{hint}")
    return EMITTERS[options.emit]


def _run_bundle(options: argparse.Namespace) -> int:
    from distcycle import api
    from distcycle.metadata.bundle import dump_bundle
    from distcycle.model import Facts

    files: dict[object, object] = {}
    metadata: dict[str, object] = {}
    with _library(options) as library:
        for snapshot in _snapshots(options):
            _, facts = api.gather(_scope(snapshot, options, _request(options)), library)
            files.update(facts.files)
            metadata.update(facts.metadata)
    facts = Facts(files=files, metadata=metadata)  # type: ignore[arg-type]
    api.write_text(options.output, dump_bundle(facts))
    if not options.quiet:
        print(f"{options.output}: METADATA of {len(metadata)} files", file=sys.stderr)
    return 0


def _run_render(options: argparse.Namespace) -> int:
    from distcycle import api
    from distcycle.reporters.saved import parse_report

    if options.report == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    else:
        text = api.read_text(options.report)
    _write_forms(parse_report(text, path=options.report), options)
    return 0


def _snapshots(options: argparse.Namespace) -> list[Snapshot]:
    from distcycle import api

    if options.python:
        if options.inputs:
            raise InputError("--python names an environment; no INPUT goes with it")
        return [api.read_environment(python=options.python)]
    inputs = options.inputs or [api.find_input(".")]
    return [api.read(path, kind=options.input_kind) for path in inputs]


def _scope(snapshot: Snapshot, options: argparse.Namespace, request: Request) -> Scope:
    from distcycle import api

    return api.make_scope(
        snapshot,
        platforms=options.platform,
        python_versions=options.python_version,
        named=options.targets,
        request=request,
    )


def _request(options: argparse.Namespace) -> Request:
    from packaging.utils import canonicalize_name

    from distcycle.selection import Request

    return Request(
        extras=frozenset(map(canonicalize_name, options.extra)),
        groups=frozenset(map(canonicalize_name, options.group)),
        all_extras=options.all_extras,
        edges=options.edges,
    )


def _read_policy(options: argparse.Namespace) -> Policy:
    from distcycle import api

    return api.read_policies(options.policy, search=not options.no_policy)


def _weigh(policy: Policy, options: argparse.Namespace) -> Policy:
    """The policy of the files, then of the flags."""
    from dataclasses import replace

    from distcycle.errors import InputError
    from distcycle.findings import CODES, Severity

    severities = {"edges-unknown": Severity.DENY} if options.fail_on_unknown else {}
    for code, severity in options.severities:
        if code not in CODES:
            raise InputError(f"unknown code {code!r}{_nearest(code, CODES)}")
        severities[code] = Severity(severity)
    return replace(policy, severities={**policy.severities, **severities})


def _nearest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _library_if_asked(options: argparse.Namespace) -> AbstractContextManager[Library | None]:
    """No library where the lock is believed: loading it takes as long as judging a lock."""
    from contextlib import nullcontext

    believes = options.edges == "lock" and not options.bundle
    return nullcontext() if believes else _library(options)


def _library(options: argparse.Namespace) -> Library:
    from pathlib import Path

    from distcycle.metadata import Library
    from distcycle.metadata import Options as FactOptions
    from distcycle.metadata.bundle import read_bundle

    bundle = None
    if options.bundle:
        try:
            text = Path(options.bundle).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8 text"
            raise InputError(f"cannot be read: {reason}", path=options.bundle) from None
        bundle = read_bundle(text, path=options.bundle)
    choices: dict[str, object] = {}
    if options.no_cache:
        choices["cache_dir"] = None
    elif options.cache_dir:
        choices["cache_dir"] = Path(options.cache_dir)
    return Library(
        FactOptions(
            index_url=options.index_url,
            extra_index_urls=tuple(options.extra_index_url),
            find_links=tuple(options.find_links),
            no_index=options.no_index,
            offline=options.offline,
            bundle=bundle,
            concurrency=options.concurrency,
            timeout_s=options.timeout,
            retries=options.retries,
            cert=options.cert,
            proxy=options.proxy,
            progress=_progress(options),
            **choices,  # type: ignore[arg-type]
        )
    )


def _progress(options: argparse.Namespace) -> Callable[[int, int], None] | None:
    """A line on stderr that counts and is erased in the end; only on a terminal."""
    if options.quiet or not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        text = f"metadata {done}/{total}" if done < total else ""
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    return show


# Output ------------------------------------------------------------------------------------------


def _split_form(text: str) -> tuple[str, str | None]:
    from distcycle.reporters import REPORTERS

    form, _, path = text.partition(":")
    if form not in REPORTERS:
        known = ", ".join(REPORTERS)
        raise InputError(f"unknown format {form!r}; expected one of {known}, then maybe :FILE")
    return form, path or None


def _view(options: argparse.Namespace, path: str | None) -> View:
    from distcycle.reporters import View

    return View(
        width=_width(),
        color=path is None and _wants_color(options.color, sys.stdout),
        verbosity=-1 if options.quiet else int(options.verbose),
        root=os.getcwd(),
    )


def _width() -> int:
    return max(40, min(shutil.get_terminal_size((80, 24)).columns, 120))


def _wants_color(choice: str, stream: TextIO) -> bool:
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _command(words: Sequence[str], options: argparse.Namespace) -> str:
    """The command that makes the same report again; where facts come from is left out."""
    words = ["distcycle", *words]
    words += ["--since", options.since] if getattr(options, "since", None) else []
    words += ["--baseline", options.baseline] if options.baseline else []
    for flag, values in (
        ("--platform", options.platform),
        ("--python-version", options.python_version),
        ("--extra", options.extra),
        ("--group", options.group),
    ):
        for value in values:
            words += [flag, value]
    words += [word for code, severity in options.severities for word in (f"--{severity}", code)]
    words += ["--targets", ",".join(options.targets)] if options.targets else []
    words += ["--all-extras"] if options.all_extras else []
    words += ["--fail-on-unknown"] if options.fail_on_unknown else []
    words += ["--edges", "lock"] if options.edges == "lock" else []
    words += ["--input-kind", options.input_kind] if options.input_kind else []
    words += ["--python", options.python] if options.python else []
    words += ["--max-cycles", str(options.max_cycles)] if options.max_cycles != 100 else []
    return shlex.join(words)


def _show_targets(report: Report) -> None:
    for row in report.targets:
        print(f"{row.name}{' (' + row.assumed + ')' if row.assumed else ''}", file=sys.stderr)
        for name, value in row.environment.items():
            print(f"  {name} = {value!r}", file=sys.stderr)


# policy ------------------------------------------------------------------------------------------


def _run_policy_init(options: argparse.Namespace) -> int:
    from distcycle import api
    from distcycle.policy.template import render_template

    if os.path.exists(options.output) and not options.force:
        raise InputError("is there already; --force writes over it", path=options.output)
    api.write_text(options.output, render_template())
    print(f"{options.output}: written; every key is in it, as a comment", file=sys.stderr)
    return 0


def _run_policy_check(options: argparse.Namespace) -> int:
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
        _say_error(error, "")
        return 1
    except InputError as error:
        _say_error(error)
        return 2
    rules = (policy.waivers, policy.cuts, policy.groups, policy.denials)
    print(f"{file}: valid, rules: {sum(map(len, rules))}")
    return 0


def _run_policy_list(_options: argparse.Namespace) -> int:
    from distcycle.policy.find import list_builtins

    for name, purpose in list_builtins().items():
        print(f"{name:<18}{purpose}")
    return 0


# targets and codes -------------------------------------------------------------------------------


def _run_targets(options: argparse.Namespace) -> int:
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


def _run_codes(options: argparse.Namespace) -> int:
    from distcycle.findings import CODES

    if options.code is None:
        for code in CODES.values():
            print(f"{code.name:<24}{code.severity!s:<7}{code.meaning}")
        return 0
    if options.code not in CODES:
        raise InputError(f"unknown code {options.code!r}{_nearest(options.code, CODES)}")
    code = CODES[options.code]
    print(f"{code.name} ({code.severity} by default)", *code.explain(), sep="\n")
    return 0


def _run_completion(options: argparse.Namespace) -> int:
    from distcycle.completion import render_completion

    sys.stdout.write(render_completion(_parser(["fix"]), options.shell))
    return 0

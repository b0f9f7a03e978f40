"""The words of the command line: commands, their options and their help."""

from __future__ import annotations

import argparse
import functools

from distcycle.cli.commands import (
    run_audit,
    run_bundle,
    run_codes,
    run_completion,
    run_diff,
    run_explain,
    run_fix,
    run_imports,
    run_lint_bazel,
    run_policy_check,
    run_policy_init,
    run_policy_list,
    run_render,
    run_targets,
)
from distcycle.version import __version__

# Importing typing alone takes as long as starting Python; type checkers know this name by itself.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date
    from typing import NoReturn, TypeAlias

    Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"  # noqa: SLF001

__all__ = ["EPILOG", "build_parser"]

EPILOG = "exit codes: 0 nothing at deny, 1 something at deny, 2 could not run or judge nothing"
_INPUT_HELP = "a lock or requirements file, a directory of wheels, an environment, a project, or -"


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong, and leaves the usage to ``--help``."""

    def error(self, message: str) -> NoReturn:
        """Say it, and exit with 2."""
        self.exit(2, f"{self.prog}: error: {message}; see '{self.prog} --help'\n")


def build_parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Build the parser. What only one command needs is loaded only when that is among the words."""
    parser = _Parser(
        prog="distcycle",
        description="Find the dependency loops between wheels, for every target platform.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"distcycle {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_audit(commands)
    _add_diff(commands)
    _add_explain(commands)
    _add_fix(commands, _tools() if "fix" in words else "")
    _add_lint(commands)
    _add_imports(commands)
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
        epilog=f"example: {example}\n\n{EPILOG}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


def _add_audit(commands: Commands) -> None:
    command = _add_command(
        commands,
        "audit",
        "find loops in locks, requirement files and environments",
        run_audit,
        "distcycle audit requirements.txt --platform linux_x86_64",
    )
    _add_inputs(command)
    _add_judgement_options(command)
    _add_imports_options(command.add_argument_group("imports"))
    _add_resolution_options(command)
    _add_baseline(command)
    _add_show_config(command)


def _add_baseline(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("baseline")
    group.add_argument("--baseline", metavar="FILE", help="findings that are known do not count")
    group.add_argument(
        "--write-baseline", metavar="FILE", help="write all findings down as known, and exit 0"
    )


def _add_diff(commands: Commands) -> None:
    command = _add_command(
        commands,
        "diff",
        "say what a change adds, takes away and alters; only what it adds can fail",
        run_diff,
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
    _add_imports_options(command.add_argument_group("imports"))
    _add_resolution_options(command)
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
    _add_switch(group, "--build", "--no-build", "find loops of build requirements as well")
    _add_policy_options(group)
    _add_severities(group)
    _add_switch(group, "--fail-on-unknown", "--pass-on-unknown", "the same as --deny edges-unknown")
    _add_max_cycles(group)
    group = command.add_argument_group("output")
    _add_form_options(group)
    group.add_argument(
        "--show-targets", action="store_true", help="say which environment each platform means"
    )


def _add_severities(group: argparse._ActionsContainer) -> None:
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


def _add_max_cycles(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--max-cycles", type=_positive, default=100, metavar="N", help="loops listed (100)"
    )


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
        run_explain,
        "distcycle explain poetry.lock torch",
    )
    command.add_argument("input", metavar="INPUT", help=_INPUT_HELP)
    command.add_argument("packages", nargs="+", metavar="PACKAGE")
    _add_input_options(command)
    _add_resolution_options(command)
    _add_fact_options(command)
    _add_imports_options(command.add_argument_group("imports"))
    _add_view_options(command)


def _tools() -> str:
    """The names that ``--emit`` takes; asked for only when shown, as their table imports much."""
    from distcycle.emitters import EMITTERS

    return ", ".join([*EMITTERS, "patch"])


def _add_fix(commands: Commands, tools: str) -> None:
    command = _add_command(
        commands,
        "fix",
        "list what can be done about each loop, or write it for another tool",
        run_fix,
        "distcycle fix uv.lock --emit uv",
    )
    command.add_argument("input", metavar="INPUT", help=_INPUT_HELP)
    _add_input_options(command)
    _add_resolution_options(command)
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
    _add_imports_options(group)
    group.add_argument(
        "--to-extra", action="store_true", help="keep requirements under an extra, drop none"
    )
    group.add_argument(
        "--upgrade",
        action="store_true",
        help="the nearest versions without the loop; --emit: requirements, constraints, uv, poetry",
    )
    group.add_argument(
        "--allow-pins", action="store_true", help="with --upgrade: change even what people pinned"
    )
    _add_view_options(command)


def _add_lint(commands: Commands) -> None:
    lint = commands.add_parser("lint", help="check what a build system's files say of loops")
    kinds = lint.add_subparsers(title="kinds", metavar="KIND", required=True)
    command = _add_command(
        kinds,
        "bazel",
        "compare the groups of a Bazel file with the loops of its lock, extras flattened",
        run_lint_bazel,
        "distcycle lint bazel MODULE.bazel --lock requirements_lock.txt",
    )
    command.add_argument("file", metavar="FILE", help="MODULE.bazel, WORKSPACE or a .bzl file")
    command.add_argument("--lock", required=True, metavar="LOCK", help=_INPUT_HELP)
    command.add_argument(
        "--hub", action="append", default=[], metavar="NAME", help="a hub that reads the lock"
    )
    command.add_argument("--fix", action="store_true", help="write the groups anew, in place")
    _add_judgement_options(command)
    command.set_defaults(baseline=None, write_baseline=None, imports=False, allow_download=False)


def _add_imports_options(group: argparse._ActionsContainer) -> None:
    _add_switch(group, "--imports", "--no-imports", "say what modules lose by cutting an edge")
    _add_switch(group, "--allow-download", "--no-download", "fetch wheels that are not here")


def _add_imports(commands: Commands) -> None:
    command = _add_command(
        commands,
        "imports",
        "find the modules that import each other, and what would open their loops",
        run_imports,
        "distcycle imports torch",
    )
    command.add_argument(
        "inputs",
        nargs="+",
        metavar="TARGET",
        help="an installed distribution, a wheel or a folder of sources; or an input of audit, for "
        "the members of its loops",
    )
    group = command.add_argument_group("input")
    group.add_argument("--python", metavar="EXE", help="look for distributions in this environment")
    group.add_argument("--together", action="store_true", help="look at all targets as one")
    group.add_argument(
        "--platform", metavar="P", help="leave out what is imported on other platforms only"
    )
    group.add_argument("--python-version", metavar="V", help="the same for versions of Python")
    _add_switch(group, "--allow-download", "--no-download", "fetch wheels that are not here")
    _add_fact_options(command)
    group = command.add_argument_group("judgement")
    group.add_argument(
        "--check", action="store_true", help="exit 1 on loops that are neither known nor accepted"
    )
    group.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="OLD",
        help="compare with this older wheel, folder or distribution, whose loops are known; "
        "repeatable",
    )
    _add_policy_options(group)
    _add_severities(group)
    _add_max_cycles(group)
    group = command.add_argument_group("refactoring")
    group.add_argument(
        "--move",
        nargs=2,
        metavar=("MODULE", "PARTNER"),
        help="in a folder of sources: move what PARTNER imports from MODULE, and all that it "
        "needs, into a module of its own; prints a diff",
    )
    group.add_argument("--into", metavar="NEW", help="with --move: the new module's name")
    group.add_argument("--write", action="store_true", help="with --move: change the files")
    command.set_defaults(build=False, imports=True)
    _add_baseline(command)
    _add_form_options(command.add_argument_group("output"))


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


def _add_resolution_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("resolution")
    _add_switch(group, "--resolve", "--no-resolve", "choose versions for what is not locked")
    group.add_argument(
        "-c", "--constraint", action="append", default=[], metavar="FILE", help="bounds, as in pip"
    )
    _add_switch(group, "--pre", "--final", "take versions before a release as well")
    for name in ("--only-binary", "--no-binary"):
        group.add_argument(
            name, action="append", default=[], metavar="NAMES", help="as in pip; :all: for all"
        )
    group.add_argument(
        "--exclude-newer", metavar="DATE", help="take no file that was uploaded after this (UTC)"
    )
    group.add_argument(
        "--prefer",
        choices=("highest", "lowest", "locked"),
        default="highest",
        help="versions to try first; locked: those of the lock beside the input",
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
        run_bundle,
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
        run_render,
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
        run_policy_init,
        "distcycle policy init",
    )
    init.add_argument("-o", "--output", metavar="FILE", default="distcycle.toml")
    init.add_argument("--force", action="store_true", help="write over what stands there")
    check = _add_command(
        actions,
        "check",
        "say everything that is wrong with policies; exit code 1 if anything is",
        run_policy_check,
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
        run_policy_list,
        "distcycle policy list",
    )


def _add_targets(commands: Commands) -> None:
    command = _add_command(
        commands, "targets", "list the known targets", run_targets, "distcycle targets"
    )
    command.add_argument("names", nargs="*", metavar="NAME", help="show what these names mean")


def _add_codes(commands: Commands) -> None:
    command = _add_command(
        commands, "codes", "explain the codes of findings", run_codes, "distcycle codes"
    )
    command.add_argument("code", nargs="?", metavar="CODE")


def _add_completion(commands: Commands) -> None:
    command = _add_command(
        commands,
        "completion",
        "print a script that lets a shell complete commands and options",
        run_completion,
        "distcycle completion bash > distcycle.bash",
    )
    command.add_argument("shell", choices=("bash", "zsh", "fish"))


def _severity(severity: str, code: str) -> tuple[str, str]:
    return code, severity


def _date(text: str) -> date:
    from datetime import date

    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected a date such as 2026-12-31, found {text!r}"
        ) from None


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    return () if names == ("tier1",) else names


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, found {text[:40]!r}")
    return int(text)


def _seconds(text: str) -> float:
    from distcycle.model import LONGEST_SILENCE_S

    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value <= LONGEST_SILENCE_S:
        problem = f"expected a number above 0, at most {LONGEST_SILENCE_S}, found {text[:40]!r}"
        raise argparse.ArgumentTypeError(problem)
    return value

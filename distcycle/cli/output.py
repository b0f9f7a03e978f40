"""What is shown, where and how: forms, colours, width, and the command that shows it again."""

from __future__ import annotations

import os
import shlex
import shutil
import sys

from distcycle.errors import DistcycleError, InputError

# Importing typing alone takes as long as starting Python; type checkers know this name by itself.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import TextIO

    from distcycle.findings import Report
    from distcycle.judgement import Options
    from distcycle.reporters import View
    from distcycle.settings import Setting
    from distcycle.surveying import ModuleJudge

__all__ = [
    "make_view",
    "say_error",
    "show_config",
    "show_imports",
    "show_report",
    "spell_command",
    "spell_imports",
    "write_forms",
]


def say_error(error: DistcycleError, prefix: str = "distcycle: error: ") -> None:
    """Print an error, each of its lines by itself."""
    from distcycle.reporters.escape import printable

    for line in str(error).split("\n"):
        print(f"{prefix}{printable(line)}", file=sys.stderr)


def show_config(settings: Sequence[Setting]) -> int:
    """Print every option, its value and who gave it."""
    from distcycle.reporters.escape import printable
    from distcycle.settings import describe_settings

    for line in describe_settings(settings):
        print(printable(line).rstrip())
    return 0


def show_report(report: Report, options: argparse.Namespace, judgement: Options) -> int:
    """Write a report in the forms asked for, and give the exit code."""
    from dataclasses import replace

    if judgement.baseline is not None:
        gone = judgement.baseline.gone(report)
        gone = tuple(entry for entry in gone if _is_looked_for(entry.code, judgement))
        notes = tuple(
            f"{judgement.baseline.path}: no longer occurs: {entry.code} {', '.join(entry.packages)}"
            for entry in gone
        )
        report = replace(report, notes=report.notes + notes)
    write_forms(report, options)
    if options.show_targets:
        _show_targets(report)
    return _verdict(report)


def _is_looked_for(code: str, judgement: Options) -> bool:
    """Whether a run without a finding of this code says that there is none."""
    from distcycle.verdicts import OF_IMPORTS

    if code in OF_IMPORTS:
        return judgement.imports
    return judgement.build or code != "build-cycle"


def show_imports(report: Report, options: argparse.Namespace, judge: ModuleJudge) -> int:
    """Write a report on modules; only --check makes the exit code depend on what it says."""
    from dataclasses import replace

    if judge.baseline is not None:
        notes = tuple(
            f"{judge.baseline.path}: no longer occurs: {entry.code} {', '.join(entry.packages)}"
            for entry in judge.baseline.gone(report)
        )
        report = replace(report, notes=report.notes + notes)
    write_forms(report, options)
    return _verdict(report) if options.check else 0


def write_forms(report: Report, options: argparse.Namespace) -> None:
    """Write a report in the forms asked for."""
    from distcycle import api

    for form, path in [_split_form(text) for text in options.format or ["text"]]:
        view = make_view(options, path)
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


def _split_form(text: str) -> tuple[str, str | None]:
    from distcycle.reporters import REPORTERS

    form, _, path = text.partition(":")
    if form not in REPORTERS:
        known = ", ".join(REPORTERS)
        raise InputError(f"unknown format {form!r}; expected one of {known}, then maybe :FILE")
    return form, path or None


def make_view(options: argparse.Namespace, path: str | None) -> View:
    """Make the view of a form: of a file without colours, of the terminal in its width."""
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


def spell_command(words: Sequence[str], options: argparse.Namespace) -> str:
    """The command that makes the same report again; where facts come from is left out."""
    from distcycle.metadata.urls import without_credentials

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
    words += ["--build"] if options.build else []
    words += ["--imports"] if options.imports else []
    words += ["--fail-on-unknown"] if options.fail_on_unknown else []
    words += ["--edges", "lock"] if options.edges == "lock" else []
    words += ["--input-kind", options.input_kind] if options.input_kind else []
    words += _spell_resolution(options) if getattr(options, "resolve", False) else []
    words += ["--python", options.python] if options.python else []
    words += ["--max-cycles", str(options.max_cycles)] if options.max_cycles != 100 else []
    return without_credentials(shlex.join(words))


def spell_imports(options: argparse.Namespace) -> str:
    """The command that makes the same report on modules again."""
    words = ["distcycle", "imports", *options.inputs]
    words += ["--together"] if options.together else []
    words += ["--python", options.python] if options.python else []
    words += ["--platform", options.platform] if options.platform else []
    words += ["--python-version", options.python_version] if options.python_version else []
    words += ["--check"] if options.check else []
    words += [word for old in options.against for word in ("--against", old)]
    words += ["--baseline", options.baseline] if options.baseline else []
    words += [word for code, severity in options.severities for word in (f"--{severity}", code)]
    words += ["--max-cycles", str(options.max_cycles)] if options.max_cycles != 100 else []
    return shlex.join(words)


def _spell_resolution(options: argparse.Namespace) -> list[str]:
    words = ["--resolve"]
    for flag, values in (
        ("--constraint", options.constraint),
        ("--only-binary", options.only_binary),
        ("--no-binary", options.no_binary),
    ):
        words += [word for value in values for word in (flag, value)]
    words += ["--pre"] if options.pre else []
    words += ["--exclude-newer", options.exclude_newer] if options.exclude_newer else []
    words += ["--prefer", options.prefer] if options.prefer != "highest" else []
    return words


def _show_targets(report: Report) -> None:
    for row in report.targets:
        print(f"{row.name}{' (' + row.assumed + ')' if row.assumed else ''}", file=sys.stderr)
        for name, value in row.environment.items():
            print(f"  {name} = {value!r}", file=sys.stderr)

"""Reporters turn a :class:`~distcycle.findings.Report` into text; one table lists them all."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

from distcycle.findings import Report

__all__ = ["REPORTERS", "Reporter", "View"]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How a report is shown; it never changes the verdict.

    Attributes:
        width: Columns of the terminal.
        color: Whether to use terminal colours.
        verbosity: Less than 0 for the verdict only, more than 0 for everything.
        root: The folder that files are named from where a form wants relative paths, such as the
            working directory; ``""`` to leave paths as they are.
    """

    width: int = 80
    color: bool = False
    verbosity: int = 0
    root: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporter:
    """One form of a report.

    Attributes:
        name: Its name after ``--format``.
        title: What it is for, in a few words.
        module: The module that makes it; it offers ``render(report, view) -> str``.
    """

    name: str
    title: str
    module: str

    def render(self, report: Report, view: View) -> str:
        """Show a report in this form."""
        text: str = importlib.import_module(self.module).render(report, view)
        return text


REPORTERS: Mapping[str, Reporter] = {
    reporter.name: reporter
    for reporter in (
        Reporter(name="text", title="for people, in 80 columns", module="distcycle.reporters.text"),
        Reporter(
            name="json",
            title="everything, schema distcycle-report/1",
            module="distcycle.reporters.json_report",
        ),
        Reporter(
            name="sarif",
            title="code scanning: SARIF 2.1.0",
            module="distcycle.reporters.sarif",
        ),
        Reporter(
            name="junit",
            title="test reports: JUnit XML, as Jenkins and GitLab read it",
            module="distcycle.reporters.junit",
        ),
        Reporter(
            name="github",
            title="GitHub Actions: annotations, and a job summary",
            module="distcycle.reporters.github",
        ),
        Reporter(
            name="gitlab",
            title="GitLab: Code Quality report",
            module="distcycle.reporters.gitlab",
        ),
        Reporter(
            name="markdown",
            title="a comment on a pull request",
            module="distcycle.reporters.markdown",
        ),
        Reporter(
            name="html",
            title="one page for a browser, with drawings; loads nothing",
            module="distcycle.reporters.html",
        ),
        Reporter(
            name="dot",
            title="the loops as a drawing, for Graphviz",
            module="distcycle.reporters.dot",
        ),
        Reporter(
            name="mermaid",
            title="the loops as a drawing, for Markdown that draws Mermaid",
            module="distcycle.reporters.mermaid",
        ),
    )
}

"""Which words a form uses of a loop: packages require each other, modules import each other."""

from __future__ import annotations

from dataclasses import dataclass

from distcycle.codes import OF_MODULES
from distcycle.findings import Component, Finding, Report

__all__ = ["IMPORT_CYCLE", "MODULES", "PACKAGES", "Words", "words_of", "words_of_report"]

IMPORT_CYCLE = "import-cycle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """How to speak of the members of loops and of what joins them.

    Attributes:
        noun: What a member is, in the singular.
        verb: What one does to another.
        verbs: What several do to each other.
        passive: What is done to one.
        declared: What joins them, in the plural.
    """

    noun: str
    verb: str
    verbs: str
    passive: str
    declared: str


PACKAGES = Words(
    noun="package",
    verb="requires",
    verbs="require",
    passive="required",
    declared="requirements",
)
MODULES = Words(
    noun="module",
    verb="imports",
    verbs="import",
    passive="imported",
    declared="imports",
)


def words_of(thing: Component | Finding) -> Words:
    """The words for a loop, or for what a finding is about."""
    return MODULES if thing.code in OF_MODULES else PACKAGES


def words_of_report(report: Report) -> Words:
    """The words for what a report has counted: modules where nothing else was looked at."""
    kinds = {entry.kind for entry in report.inputs}
    return MODULES if kinds == {"modules"} else PACKAGES

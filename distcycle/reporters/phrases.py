"""What several forms say in the same words: the verdict, where a finding holds, what a hop is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from distcycle.findings import (
    Component,
    Edge,
    Evidence,
    Finding,
    Report,
    Rule,
    Site,
    abbreviate_targets,
    describe_condition,
    list_names,
)
from distcycle.reporters.words import IMPORT_CYCLE

__all__ = [
    "ACCEPTED",
    "Hop",
    "choose_evidence",
    "count",
    "describe_breakers",
    "describe_evidence",
    "describe_rule",
    "describe_site",
    "describe_where",
    "first_loop",
    "hops_of",
    "list_names",
    "name_witness",
    "shorten_statement",
    "verdict_of",
]

ACCEPTED: Mapping[str, str] = {"waive": "waived", "group": "contained", "baseline": "known"}
"""What became of a finding, by the kind of the rule that accepts it."""


def count(number: int, noun: str) -> str:
    """Say how many: ``no loops``, ``1 loop``, ``2 loops``."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def verdict_of(report: Report) -> str:
    """The verdict in one line, without anything that was read from a file."""
    summary = report.summary
    if report.judged_nothing:
        return "nothing could be judged"
    parts = [
        count(summary.components, "loop"),
        f"{summary.deny} denied",
        count(summary.warn, "warning"),
    ]
    if builds := sum(finding.code == "build-cycle" for finding in report.findings):
        parts.insert(1, count(builds, "build loop"))
    if summary.accepted:
        parts.append(f"{summary.accepted} accepted by policy")
    if summary.known:
        parts.append(f"{count(summary.known, 'known finding')} ignored")
    return ", ".join(parts)


def describe_where(thing: Component | Finding, report: Report) -> str:
    """Say where something holds; ``""`` when that has no meaning.

    A loop's condition is worth a marker. What else is found is told by targets: the condition of a
    missing wheel is as long as the wheel's tags are many.
    """
    is_loop = isinstance(thing, Component) or thing.component is not None
    if thing.condition is not None and (is_loop or not thing.targets):
        return describe_condition(thing.condition)
    if not thing.targets:
        return ""
    return f"on {abbreviate_targets(thing.targets, report.targets)}"


def describe_rule(rule: Rule) -> str:
    """Say which rule accepts a finding, and why: ``waived by distcycle.toml:3: a reason``."""
    where = f"{rule.path}:{rule.line}" if rule.line else rule.path
    reason = f": {rule.reason}" if rule.reason else ""
    return f"{ACCEPTED[rule.kind]} by {where}{reason}"


def first_loop(component: Component) -> str:
    """The shortest loop from its first package back to it, or the members when none is listed."""
    if not component.cycles:
        return list_names([package.name for package in component.packages], 12)
    packages = component.cycles[0].packages
    return " -> ".join((*packages, packages[0]))


@dataclass(frozen=True, slots=True)
class Hop:
    """One requirement or import of a loop.

    Attributes:
        edge: Its edge.
        source: Who requires, with the version, or the module that imports.
        what: What is said of what it requires or imports, before :attr:`text`.
        text: The requirement as declared, or the import statement.
        evidence: Who says so, or at which place it stands.
    """

    edge: Edge
    source: str
    what: str
    text: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.source} {self.what} {self.text} ({self.evidence})"

    @property
    def place(self) -> str:
        """The file and line in which it stands."""
        return f"{self.edge.path}:{self.edge.line}" if self.edge.line else self.edge.path


def hops_of(component: Component | None) -> Iterator[Hop]:
    """The hops of the shortest loop; none where there is no component.

    Wheels that declare the same requirement are one hop's evidence; the first is named. Of several
    imports of one module the first is named too: it closes the loop alone.
    """
    if component is None or not component.cycles:
        return
    versions = {package.name: package.version for package in component.packages}
    for hop in component.cycles[0].hops:
        if component.code == IMPORT_CYCLE:
            yield _import(component, hop)
            continue
        seen: set[tuple[str, str]] = set()
        for edge in (component.edges[at] for at in hop):
            if (edge.source, edge.requirement) in seen:
                continue
            seen.add((edge.source, edge.requirement))
            version = versions.get(edge.source.partition("[")[0])
            source = f"{edge.source} {version}" if version else edge.source
            evidence = edge.wheel or name_witness(edge)
            yield Hop(edge, source, "requires", edge.requirement, evidence)


def _import(component: Component, hop: Sequence[int]) -> Hop:
    edge = component.edges[hop[0]]
    place = f"{edge.path}:{edge.line}" if edge.line else edge.path
    more = f", and {count(len(hop) - 1, 'more import')}" if len(hop) > 1 else ""
    text = shorten_statement(edge.requirement)
    return Hop(edge, edge.source, f"imports {edge.target}:", text, f"{place}{more}")


def shorten_statement(statement: str) -> str:
    """An import without most of the names that it takes."""
    start, word, names = statement.partition(" import ")
    each = names.split(", ")
    return statement if len(each) <= 3 else f"{start}{word}{', '.join(each[:2])}, ..."


_WITNESSES = {
    "lock": "by the lock",
    "via": "by a '# via' comment",
    "installed": "as installed",
    "policy": "by the policy",
}


def name_witness(edge: Edge) -> str:
    """Say who declares an edge that no wheel does: ``by the lock``."""
    return _WITNESSES.get(edge.origin, f"by the {edge.origin}")


def describe_breakers(component: Component) -> str:
    """Say what opens a loop: ``removing 1 edge: triton -> torch``; ``""`` when nothing is known."""
    if not component.breakers:
        return ""
    edges = [f"{source} -> {target}" for source, target in component.breakers[0]]
    at_most = "" if component.breakers_exact else "at most "
    return f"opened by removing {at_most}{count(len(edges), 'edge')}: {list_names(edges, 6)}"


def describe_evidence(evidence: Evidence) -> str:
    """Say what imports say of a cut: ``torch -> triton: safe to cut by imports: ...``."""
    verdict = "safe to cut by imports" if evidence.verdict == "safe" else evidence.verdict
    return f"{evidence.source} -> {evidence.target}: {verdict}: {evidence.reason}"


def choose_evidence(component: Component, most: int) -> tuple[tuple[Evidence, ...], str]:
    """Choose what to show of evidence: what is known first; and say what is left out.

    Args:
        component: The loop.
        most: How many edges to show.

    Returns:
        The evidence to show, in the order of the edges, and the rest in a line; ``""`` for none.
    """
    ranked = sorted(component.evidence, key=lambda each: each.verdict == "unknown")
    shown = [each for each in component.evidence if each in ranked[:most]]
    rest = ranked[most:]
    verdicts = ", ".join(dict.fromkeys(each.verdict for each in rest))
    return tuple(shown), f"imports of {count(len(rest), 'more edge')}: {verdicts}" if rest else ""


def describe_site(site: Site) -> str:
    """Say what a module imports, where, and what keeps that from being needed at once."""
    kind = () if site.kind == "static" else (site.kind,)
    scope = (f"in {site.scope}",) if site.scope else ()
    marks = ", ".join((*kind, *site.modifiers, *scope))
    condition = f" if {site.condition}" if site.condition else ""
    text = f"{site.path}:{site.line}: {site.text}"
    return f"{text} ({marks}{condition})" if marks else text

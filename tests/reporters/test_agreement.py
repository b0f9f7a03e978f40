"""All forms of one run say the same: the verdict, the codes, and how many of each."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import EMPTY, many, unjudged
from reading_back import commands_in, count_junit, markdown_text, rendered

from distcycle.api import audit, read, read_policy, render
from distcycle.findings import Finding, Report
from distcycle.reporters import REPORTERS

ROOT = Path(__file__).resolve().parents[2]
Counts = Counter[tuple[str, str]]
_KINDS = {"waive": "waived", "group": "contained", "baseline": "known"}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A real run with loops that are denied and contained, and findings of other codes."""
    policy = tmp_path_factory.mktemp("policy") / "distcycle.toml"
    policy.write_text(
        "version = 1\n"
        '[[group]]\nname = "airflow"\npackages = ["apache-airflow*"]\nreason = "one release"\n'
        '[[group]]\nname = "none"\npackages = ["absent"]\nreason = "was there once"\n'
        '[severity]\nunused-rule = "deny"\n'
    )
    snapshot = read(str(ROOT / "sample_locks" / "airflow-3" / "uv.lock"))
    return audit(snapshot, edges="lock", policy=read_policy(str(policy)))


def fate(finding: Finding) -> str:
    rule = finding.accepted_by
    return _KINDS[rule.kind] if rule else finding.severity.value


def expected(report: Report, fates: set[str] | None = None) -> Counts:
    counts = Counter((finding.code, fate(finding)) for finding in report.findings)
    return Counter({key: n for key, n in counts.items() if fates is None or key[1] in fates})


def from_json(text: str) -> Counts:
    findings = json.loads(text)["findings"]
    return Counter(
        (f["code"], _KINDS[f["accepted_by"]["kind"]] if f["accepted_by"] else f["severity"])
        for f in findings
    )


def from_sarif(text: str) -> Counts:
    levels = {"error": "deny", "warning": "warn", "note": "allow"}
    results = json.loads(text)["runs"][0]["results"]
    return Counter(
        (r["ruleId"], "accepted" if "suppressions" in r else levels[r["level"]]) for r in results
    )


def from_gitlab(text: str) -> Counts:
    levels = {"critical": "deny", "minor": "warn", "info": "allow"}
    issues = json.loads(text)
    return Counter((issue["check_name"], levels[issue["severity"]]) for issue in issues)


def from_github(text: str) -> Counts:
    levels = {"error": "deny", "warning": "warn"}
    commands = [c for c in commands_in(text) if c.properties["title"] != "distcycle"]
    return Counter((c.properties["title"], levels[c.name]) for c in commands)


READ: dict[str, tuple[Callable[[str], Counts], set[str] | None]] = {
    "json": (from_json, None),
    "junit": (count_junit, None),
    "gitlab": (from_gitlab, {"deny", "warn", "allow"}),
    "github": (from_github, {"deny", "warn"}),
}


@pytest.mark.parametrize("form", READ)
def test_codes_and_counts(form: str, judged: Report) -> None:
    parse, fates = READ[form]
    for report in (judged, EMPTY, many()):
        assert parse(render(report, form)) == expected(report, fates)


def test_codes_and_counts_of_sarif(judged: Report) -> None:
    for report in (judged, EMPTY, many()):
        wanted: Counts = Counter()
        for (code, what), number in expected(report).items():
            accepted = what in _KINDS.values()
            wanted[code, "accepted" if accepted else what] += number
        assert from_sarif(render(report, "sarif")) == wanted


def test_codes_and_counts_of_markdown(judged: Report) -> None:
    text = render(judged, "markdown")
    assert "left out" not in text
    titles = {"denied": "deny", "warning": "warn", "allowed": "allow"}
    counts: Counts = Counter()
    for details in rendered(text).iter("details"):
        title = "".join(details.find("summary").itertext())
        pile = re.match(r"(Denied|Warnings|Allowed|Accepted) \((\d+)\)", title)
        items = details.findall(".//li")
        if pile:
            assert len(items) == int(pile[2])
            counts.update((item[0].text, pile[1]) for item in items)
        elif (words := title.split(" "))[0] in {*titles, *_KINDS.values()}:
            counts[words[1], titles.get(words[0], words[0])] += 1
    names = {"deny": "Denied", "warn": "Warnings", "allow": "Allowed"}
    wanted: Counts = Counter()
    for finding in judged.findings:
        what = fate(finding)
        if finding.component is None:
            what = names.get(what, "Accepted")
        wanted[finding.code, what] += 1
    assert counts == wanted


def verdicts(report: Report) -> dict[str, int]:
    """The exit code that each form tells."""
    texts = {form: render(report, form) for form in REPORTERS}
    (invocation,) = json.loads(texts["sarif"])["runs"][0]["invocations"]
    suites = re.search(r'failures="(\d+)" errors="(\d+)"', texts["junit"])
    assert suites
    commands = commands_in(texts["github"])
    unknown = any(c.message == "distcycle: nothing could be judged" for c in commands)
    return {
        "sarif": invocation["exitCode"],
        "junit": 2 if suites[2] != "0" else int(suites[1] != "0"),
        "github": 2 if unknown else int(any(c.name == "error" for c in commands)),
        "markdown": _verdict_in(markdown_text(texts["markdown"])),
        "text": _verdict_in(texts["text"]),
    }


def _verdict_in(text: str) -> int:
    if "nothing could be judged" in text:
        return 2
    match = re.search(r"(\d+) denied", text)
    assert match
    return int(match[1] != "0")


def test_verdict(judged: Report) -> None:
    for report, code in ((judged, 1), (EMPTY, 0), (many(), 1), (unjudged(), 2)):
        assert set(verdicts(report).values()) == {code}
    assert not judged.ok

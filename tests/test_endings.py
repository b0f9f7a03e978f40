"""Waivers that end once the newest releases have no such loop."""

from __future__ import annotations

from datetime import date

from distcycle import api
from distcycle.endings import end_waivers
from distcycle.judgement import Options, judge
from distcycle.model import Snapshot, Unknown
from distcycle.policy import Policy, Waiver
from distcycle.policy.parse import parse_policy
from distcycle.readers import Document, find_reader
from distcycle.selection import Request, Selection

ENTRY = """
[[package]]
name = "{name}"
version = "{version}"
optional = false
python-versions = ">=3.8"
files = []
{requires}
"""
POLICY = """
version = 1
[[waive]]
code = "wheel-cycle"
packages = ["ink", "paper"]
reason = "known"
until-fixed = true
"""


def snapshot(*, loop: bool) -> Snapshot:
    back = '[package.dependencies]\nink = "*"' if loop else ""
    text = ENTRY.format(name="ink", version="1", requires='[package.dependencies]\npaper = "*"')
    text += ENTRY.format(name="paper", version="1", requires=back)
    text += '\n[metadata]\nlock-version = "2.0"\npython-versions = ">=3.8"\n'
    document = Document(path="poetry.lock", data=text.encode())
    return find_reader(document).read(document)


def select(lock: Snapshot) -> Selection:
    scope = api.make_scope(lock, request=Request(edges="lock"))
    return api.gather(scope, None)[0]


def policy() -> Policy:
    return parse_policy(POLICY, path="distcycle.toml")


def only(ended: Policy) -> Waiver:
    (waiver,) = ended.waivers
    return waiver


def test_ends_when_there_are_versions_without_the_loop() -> None:
    asked = []

    def look(kind: str, members: tuple[str, ...]) -> str:
        asked.append((kind, members))
        return "ink 3.0, paper 3.0"

    selection = select(snapshot(loop=True))
    ended, notes = end_waivers(policy(), selection, look)
    assert notes == ()
    assert asked == [("wheel-cycle", ("ink", "paper"))]
    assert only(ended).fixed_by == "ink 3.0, paper 3.0"
    report = judge(selection, Options(policy=ended, today=date(2027, 1, 1)))
    assert [(f.code, f.severity.value) for f in report.findings] == [
        ("wheel-cycle", "deny"),
        ("expired-waiver", "deny"),
    ]
    assert "ink 3.0, paper 3.0" in report.findings[1].message


def test_holds_while_all_versions_have_the_loop() -> None:
    selection = select(snapshot(loop=True))
    ended, notes = end_waivers(policy(), selection, lambda _kind, _members: "")
    assert (ended, notes) == (policy(), ())
    assert judge(selection, Options(policy=ended)).ok


def test_says_when_it_could_not_look() -> None:
    selection = select(snapshot(loop=True))
    ended, (note,) = end_waivers(policy(), selection, None)
    assert ended == policy()
    assert "ink, paper" in note
    ended, (note,) = end_waivers(
        policy(), selection, lambda _kind, _members: Unknown(reason="no answer")
    )
    assert ended == policy()
    assert note.endswith(": no answer")


def test_asks_for_nothing_where_nothing_is_waived() -> None:
    selection = select(snapshot(loop=False))
    ended, notes = end_waivers(policy(), selection, lambda _kind, _members: "never")
    assert (ended, notes) == (policy(), ())

"""Findings that are known, and how long they stay so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from distcycle.baseline import Baseline, Entry, dump_baseline, parse_baseline
from distcycle.cli import main
from distcycle.errors import InputError
from distcycle.findings import Report, Summary

Run = Callable[..., tuple[int, str, str]]

RING = "egg==1.0\nhen==1.0\n"
GROWN = "egg==2.0\nhen==1.0\nchick==1.0\n"
OTHER = "fox==1.0\nowl==1.0\n"
BEFORE_311 = "egg==1.0\nhen==1.0 ; python_version < '3.11'\n"
HERE = ("--platform", "linux_x86_64", "--python-version", "3.10")


@pytest.fixture
def run(
    tmp_path: Path,
    make_wheel: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Audits a text, with wheels of two rings; egg 2.0 brings chick into the first."""
    for version, requires in (("1.0", ("hen",)), ("2.0", ("hen", "chick"))):
        make_wheel("egg", version, requires=requires)
    for name, needs in (("hen", "egg"), ("chick", "egg"), ("fox", "owl"), ("owl", "fox")):
        make_wheel(name, requires=(needs,))
    monkeypatch.chdir(tmp_path)
    links = ("--find-links", "wheels", "--no-index", "--no-cache", "-A", "missing-package")

    def run(text: str, *words: str) -> tuple[int, str, str]:
        Path("requirements.txt").write_text(text)
        code = main(["audit", "requirements.txt", *links, *words])
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def know(run: Run) -> Callable[..., str]:
    """Writes the baseline of a text."""

    def know(text: str, *words: str) -> str:
        assert run(text, *words, "--write-baseline", "known.json")[0] == 0
        return Path("known.json").read_text("utf-8")

    return know


Know = Callable[..., str]


def verdict(done: tuple[int, str, str]) -> tuple[int, str]:
    return done[0], done[1].splitlines()[-1]


def test_what_is_written_is_sorted_and_stable(know: Know) -> None:
    text = know(OTHER + RING)
    assert text == know(RING + OTHER)
    loops = [f for f in json.loads(text)["findings"] if f["code"] == "wheel-cycle"]
    assert [loop["packages"] for loop in loops] == [["egg", "hen"], ["fox", "owl"]]
    assert text == dump_baseline(parse_baseline(text, path="known.json"))
    # A line for each member of a loop, so that one that grows changes one line.
    assert '    "egg",\n    "hen"\n' in text


def test_writing_it_twice_changes_nothing(run: Run, know: Know) -> None:
    text = know(RING)
    again = run(RING, "--baseline", "known.json", "--write-baseline", "known.json")
    assert again == (0, "", "known.json: 1 finding\n")
    assert Path("known.json").read_text("utf-8") == text


def test_what_is_known_is_ignored_and_counted(run: Run, know: Know) -> None:
    know(RING)
    done = run(RING, "--baseline", "known.json")
    assert verdict(done) == (0, "1 loop, 0 denied, no warnings, 1 known finding ignored")
    assert "known[wheel-cycle]" in run(RING, "--baseline", "known.json", "-v")[1]
    assert "1 known finding ignored" in run(RING, "--baseline", "known.json", "-q")[1]


def test_a_version_makes_no_difference(run: Run, know: Know) -> None:
    know(RING)
    upgraded = RING.replace("egg==1.0", "egg==2.0")
    assert run(upgraded, "--baseline", "known.json")[0] == 0


def test_a_loop_that_has_shrunk_is_known(run: Run, know: Know) -> None:
    know(GROWN)
    done = run(RING, "--baseline", "known.json")
    assert verdict(done) == (0, "1 loop, 0 denied, no warnings, 1 known finding ignored")
    assert "no longer occurs" not in done[1]


def test_a_loop_that_has_grown_is_new(run: Run, know: Know) -> None:
    know(RING)
    done = run(GROWN, "--baseline", "known.json")
    assert verdict(done) == (1, "1 loop, 1 denied, no warnings")


def test_a_loop_beside_it_is_new(run: Run, know: Know) -> None:
    know(RING)
    done = run(RING + OTHER, "--baseline", "known.json")
    assert verdict(done) == (1, "2 loops, 1 denied, no warnings, 1 known finding ignored")
    assert "deny[wheel-cycle] fox -> owl -> fox" in done[1]


def test_where_it_did_not_hold_it_is_new(run: Run, know: Know) -> None:
    text = know(BEFORE_311)
    assert "python_version < '3.11'" in text
    code, out, _ = run(RING, "--baseline", "known.json")
    assert (code, out.splitlines()[-1]) == (
        1,
        "1 loop, 1 denied, no warnings, 1 known finding ignored",
    )
    denied = json.loads(run(RING, "--baseline", "known.json", "--format", "json")[1])["findings"]
    new = [f["condition"] for f in denied if not f["accepted_by"]]
    assert new == ["python_version >= '3.11'"]
    assert run(BEFORE_311, "--baseline", "known.json")[0] == 0


def test_where_it_still_holds_it_is_known(run: Run, know: Know) -> None:
    know(RING)
    assert run(BEFORE_311, "--baseline", "known.json")[0] == 0


def test_what_was_known_of_a_target_is_known_there_only(run: Run, know: Know) -> None:
    text = know(RING, *HERE)
    assert json.loads(text)["findings"][0]["targets"] == ["cp310-linux_x86_64"]
    assert run(RING, "--baseline", "known.json", *HERE)[0] == 0
    assert run(RING, "--baseline", "known.json", *HERE, "--platform", "macos_arm64")[0] == 1
    code, out, _ = run(RING, "--baseline", "known.json")
    assert (code, "1 known finding ignored" in out) == (1, True)


def test_what_was_known_everywhere_is_known_of_a_target(run: Run, know: Know) -> None:
    know(BEFORE_311)
    assert run(RING, "--baseline", "known.json", *HERE)[0] == 0
    assert run(RING, "--baseline", "known.json", *HERE, "--python-version", "3.11")[0] == 1


def test_what_no_longer_occurs_is_said_and_goes_when_it_is_written_anew(
    run: Run, know: Know
) -> None:
    know(RING + OTHER)
    code, out, _ = run(RING, "--baseline", "known.json")
    assert code == 0
    assert "known.json: no longer occurs: wheel-cycle fox, owl" in out
    assert "fox" not in know(RING, "--baseline", "known.json")


def test_what_a_policy_accepts_needs_not_be_known(run: Run, know: Know) -> None:
    Path("distcycle.toml").write_text(
        'version = 1\n[[group]]\nname = "g"\npackages = ["egg", "hen"]\nreason = "x"\n'
    )
    assert json.loads(know(RING + OTHER))["findings"][0]["packages"] == ["fox", "owl"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "k.json:1: not valid JSON"),
        ("[" * 100_000, "k.json: not valid JSON"),
        ("[]", "k.json: schema: not a baseline"),
        ('{"schema": "distcycle-baseline/2"}', "k.json: schema: not a baseline"),
        ('{"schema": "distcycle-baseline/1"}', "k.json: findings: expected an array"),
        ("3", "k.json: findings[0]: expected an object"),
        ('{"code": 3}', "k.json: findings[0].code: expected a string"),
        ("{}", "k.json: findings[0].code: expected a string, found nothing"),
        ('{"code": "x", "packages": "egg"}', "k.json: findings[0].packages: expected an array"),
        ('{"code": "x", "targets": [1]}', "k.json: findings[0].targets: expected an array"),
        ('{"code": "x", "condition": null}', "k.json: findings[0].condition: expected a string"),
    ],
)
def test_a_broken_baseline(text: str, problem: str) -> None:
    if problem.startswith("k.json: findings[0]"):
        text = f'{{"schema": "distcycle-baseline/1", "findings": [{text}]}}'
    with pytest.raises(InputError) as caught:
        parse_baseline(text, path="k.json")
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    ("entry", "subject", "covered"),
    [
        (Entry("extra-cycle", ("egg", "hen"), "egg[x]"), "egg[x]", True),
        (Entry("extra-cycle", ("egg", "hen"), "egg[x],hen[y]"), "egg[x]", True),
        (Entry("extra-cycle", ("egg", "hen"), "egg[x]"), "egg[x],hen[y]", False),
        (Entry("extra-cycle", ("chick", "egg", "hen"), "egg[x]"), "egg[x]", True),
        (Entry("extra-cycle", ("egg",), "egg[x]"), "egg[x]", False),
        (Entry("wheel-cycle", ("egg", "hen")), "egg[x]", False),
    ],
)
def test_extras_belong_to_a_loop(entry: Entry, subject: str, covered: bool) -> None:
    found = entry.covers("extra-cycle", ("egg", "hen"), subject, is_loop=True)
    assert found is covered


def test_other_findings_are_known_by_exactly_their_packages() -> None:
    known = Baseline("k.json", (Entry("missing-package", ("egg", "hen")),))
    assert known.covering("missing-package", ("hen", "egg"), "", is_loop=False)
    assert not known.covering("missing-package", ("egg",), "", is_loop=False)
    nothing = Report(inputs=(), targets=(), summary=Summary())
    assert known.gone(nothing) == known.entries

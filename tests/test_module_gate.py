"""The gate for loops of modules: severities, waivers and baselines, from the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import jsonschema
import pytest

from distcycle.reporters import json_report

Run = Callable[..., CompletedProcess[str]]

SCHEMA = json.loads(Path(json_report.__file__).with_name("report.schema.json").read_text("utf-8"))
EGG = "from farm.hen import Hen\nclass Egg: pass\n"
HEN = "from farm.egg import Egg\nclass Hen: pass\n"


@pytest.fixture
def farm(tmp_path: Path) -> Path:
    """A folder with a package in which two modules import each other."""
    package = tmp_path / "src" / "farm"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "egg.py").write_text(EGG)
    (package / "hen.py").write_text(HEN)
    return tmp_path


@pytest.fixture
def check(farm: Path, distcycle: Run) -> Run:
    """Judges the package, and gives back what the command did."""

    def run(*words: str) -> CompletedProcess[str]:
        return distcycle("imports", "src", "--no-cache", *words, cwd=farm)

    return run


def grow(farm: Path) -> None:
    """Let a third module join the loop."""
    (farm / "src" / "farm" / "hen.py").write_text(HEN + "import farm.barn\n")
    (farm / "src" / "farm" / "barn.py").write_text("import farm.egg\n")


def policy(farm: Path, text: str) -> None:
    (farm / "distcycle.toml").write_text(f"version = 1\n{text}")


def waiver(*names: str, more: str = "", code: str = "import-cycle") -> str:
    return f'[[waive]]\ncode = "{code}"\npackages = {json.dumps(names)}\nreason = "known"\n{more}\n'


def report_of(done: CompletedProcess[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def codes_of(done: CompletedProcess[str]) -> list[tuple[str, str, str | None]]:
    return [
        (f["code"], f["severity"], f["accepted_by"] and f["accepted_by"]["kind"])
        for f in report_of(done)["findings"]
    ]


# Severities --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 0),
        (("--check",), 1),
        (("-D", "import-cycle"), 0),
        (("-W", "import-cycle", "--check"), 0),
        (("-A", "import-cycle", "--check"), 0),
    ],
)
def test_only_check_fails(words: tuple[str, ...], code: int, check: Run) -> None:
    assert check(*words).returncode == code


def test_policy_weighs(farm: Path, check: Run) -> None:
    policy(farm, '[severity]\nimport-cycle = "warn"\n')
    done = check("--check", "--format", "json")
    assert (done.returncode, codes_of(done)) == (0, [("import-cycle", "warn", None)])
    assert check("--check", "-D", "import-cycle").returncode == 1


# Waivers -----------------------------------------------------------------------------------------


def test_waiver_by_pattern_accepts(farm: Path, check: Run) -> None:
    policy(farm, waiver("farm.*"))
    done = check("--check", "--format", "json")
    assert (done.returncode, codes_of(done)) == (0, [("import-cycle", "deny", "waive")])
    assert report_of(done)["summary"]["accepted"] == 1


def test_loop_that_grew_is_new_to_a_waiver(farm: Path, check: Run) -> None:
    policy(farm, waiver("farm.egg", "farm.hen"))
    assert check("--check").returncode == 0
    grow(farm)
    done = check("--check", "--format", "json")
    assert done.returncode == 1
    assert codes_of(done) == [("import-cycle", "deny", None), ("unused-waiver", "warn", None)]


def test_dots_and_underscores_are_told_apart(farm: Path, check: Run) -> None:
    policy(farm, waiver("farm._*"))
    assert check("--check").returncode == 1
    policy(farm, waiver("farm-*"))
    assert check("--check").returncode == 1
    for name in ("egg", "hen"):
        text = (farm / "src" / "farm" / f"{name}.py").read_text()
        text = text.replace("farm.egg", "farm._egg").replace("farm.hen", "farm._hen__")
        (farm / "src" / "farm" / f"{name}.py").unlink()
        (farm / "src" / "farm" / {"egg": "_egg.py", "hen": "_hen__.py"}[name]).write_text(text)
    policy(farm, waiver("farm._egg", "farm._hen__"))
    assert check("--check").returncode == 0
    policy(farm, waiver("farm._*"))
    assert check("--check").returncode == 0


def test_waiver_that_accepts_nothing_or_is_over_is_said(farm: Path, check: Run) -> None:
    policy(farm, waiver("farm.*", more="until = 2026-01-31") + waiver("barn.*"))
    done = check("--check", "--today", "2026-02-01", "--format", "json")
    assert done.returncode == 1
    assert codes_of(done) == [
        ("import-cycle", "deny", None),
        ("expired-waiver", "deny", None),
        ("unused-waiver", "warn", None),
    ]
    assert check("--check", "--today", "2026-01-31").returncode == 0


@pytest.mark.parametrize(
    ("limit", "words", "code"),
    [
        ('platforms = ["linux_*"]', (), 1),
        ('platforms = ["linux_*"]', ("--platform", "linux_x86_64"), 0),
        ('platforms = ["linux_*"]', ("--platform", "windows_amd64"), 1),
        ('python = ">=3.11"', ("--platform", "linux_x86_64", "--python-version", "3.11"), 0),
        ('python = ">=3.11"', ("--platform", "linux_x86_64", "--python-version", "3.10"), 1),
        ('python = ">=3.11"', (), 1),
        ("marker = \"sys_platform == 'win32'\"", ("--platform", "windows_amd64"), 0),
        ("marker = \"sys_platform == 'win32'\"", ("--platform", "linux_x86_64"), 1),
        ('versions = ">=1"', (), 1),
    ],
)
def test_waiver_holds_within_its_limits(
    limit: str, words: tuple[str, ...], code: int, farm: Path, check: Run
) -> None:
    policy(farm, waiver("farm.*", more=limit))
    assert check("--check", *words).returncode == code


def test_unreadable_module_can_be_waived(farm: Path, check: Run) -> None:
    (farm / "src" / "farm" / "old.py").write_text("import farm\nprint 'x'\n")
    words = ("--check", "-A", "import-cycle", "-D", "unreadable-module")
    assert check(*words).returncode == 1
    policy(farm, waiver("farm.old", code="unreadable-module"))
    assert check(*words).returncode == 0


def test_audit_leaves_waivers_of_modules_alone(farm: Path, distcycle: Run) -> None:
    policy(farm, waiver("farm.*"))
    (farm / "requirements.txt").write_text("# nothing\n")
    done = distcycle(
        "audit", "requirements.txt", "--offline", "--no-cache", "--format", "json", cwd=farm
    )
    assert "unused-waiver" not in {f["code"] for f in report_of(done)["findings"]}


# Baselines ---------------------------------------------------------------------------------------


def test_known_loop_passes_and_one_that_grew_fails(farm: Path, check: Run) -> None:
    assert check("--write-baseline", "b.json").returncode == 0
    words = ("--check", "--baseline", "b.json", "--format", "json")
    done = check(*words)
    assert (done.returncode, codes_of(done)) == (0, [("import-cycle", "deny", "baseline")])
    assert report_of(done)["summary"]["known"] == 1
    grow(farm)
    done = check(*words)
    assert (done.returncode, codes_of(done)) == (1, [("import-cycle", "deny", None)])


def test_loop_that_shrank_is_known(farm: Path, check: Run) -> None:
    grow(farm)
    check("--write-baseline", "b.json")
    (farm / "src" / "farm" / "hen.py").write_text(HEN)
    done = check("--check", "--baseline", "b.json", "--format", "json")
    assert (done.returncode, codes_of(done)) == (0, [("import-cycle", "deny", "baseline")])


def test_loop_that_is_gone_is_said(farm: Path, check: Run) -> None:
    check("--write-baseline", "b.json")
    (farm / "src" / "farm" / "hen.py").write_text("class Hen: pass\n")
    done = check("--check", "--baseline", "b.json")
    assert done.returncode == 0
    assert "no longer occurs: import-cycle farm.egg, farm.hen" in " ".join(done.stdout.split())


def test_baseline_is_of_modules_not_of_lines(farm: Path, check: Run) -> None:
    check("--write-baseline", "b.json")
    first = (farm / "b.json").read_text()
    (farm / "src" / "farm" / "hen.py").write_text(f"\n\n{HEN}")
    check("--write-baseline", "b.json")
    assert (farm / "b.json").read_text() == first


def test_unreadable_module_can_be_known(farm: Path, check: Run) -> None:
    (farm / "src" / "farm" / "old.py").write_text("import farm\nprint 'x'\n")
    check("--write-baseline", "b.json")
    words = ("--check", "-D", "unreadable-module", "--baseline", "b.json")
    assert check(*words).returncode == 0


# Against an older state --------------------------------------------------------------------------


@pytest.fixture
def old(farm: Path) -> Path:
    """The package as it was, in a folder beside the one that the tests change."""
    shutil.copytree(farm / "src", farm / "old")
    return farm


def changes_of(done: CompletedProcess[str]) -> list[tuple[str, tuple[str, ...]]]:
    return [(c["kind"], tuple(c["packages"])) for c in report_of(done)["changes"]]


def test_what_was_there_is_known(old: Path, check: Run) -> None:
    done = check("--check", "--against", "old", "--format", "json")
    assert (done.returncode, codes_of(done)) == (0, [("import-cycle", "deny", "baseline")])
    assert changes_of(done) == []
    assert "--against old" in report_of(done)["tool"]["command"]


def test_loop_that_grew_says_by_what(old: Path, check: Run) -> None:
    grow(old)
    done = check("--check", "--against", "old", "--format", "json", "--format", "text:text")
    assert done.returncode == 1
    assert changes_of(done) == [("grown", ("farm.barn", "farm.egg", "farm.hen"))]
    assert report_of(done)["changes"][0]["details"] == [
        "joined by farm.barn",
        "now in the loop: farm.barn imports farm.egg at src/farm/barn.py:1",
        "now in the loop: farm.hen imports farm.barn at src/farm/hen.py:3",
    ]
    assert "grown[import-cycle] farm.barn, farm.egg, farm.hen" in (old / "text").read_text()
    jsonschema.validate(report_of(done), SCHEMA)


def test_loop_that_is_new_or_gone_or_smaller(old: Path, check: Run) -> None:
    (old / "src" / "farm" / "hen.py").write_text("class Hen: pass\n")
    done = check("--check", "--against", "old", "--format", "json")
    assert (done.returncode, changes_of(done)) == (0, [("gone", ("farm.egg", "farm.hen"))])
    (old / "src" / "farm" / "a.py").write_text("import farm.b\n")
    (old / "src" / "farm" / "b.py").write_text("import farm.a\n")
    done = check("--check", "--against", "old", "--format", "json")
    assert done.returncode == 1
    assert changes_of(done) == [
        ("added", ("farm.a", "farm.b")),
        ("gone", ("farm.egg", "farm.hen")),
    ]
    grow(old)
    shutil.rmtree(old / "old")
    shutil.copytree(old / "src", old / "old")
    (old / "src" / "farm" / "hen.py").write_text(HEN)
    done = check("--check", "--against", "old", "--format", "json")
    assert (done.returncode, changes_of(done)) == (0, [("shrunk", ("farm.egg", "farm.hen"))])


def test_older_state_takes_the_place_of_a_baseline(old: Path, check: Run) -> None:
    check("--write-baseline", "b.json")
    done = check("--against", "old", "--baseline", "b.json")
    assert done.returncode == 2
    assert "--against takes the place of --baseline" in done.stderr

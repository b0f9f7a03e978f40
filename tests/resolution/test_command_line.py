"""``--resolve`` and ``--upgrade`` as processes, on wheels that the tests make."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
TARGET = ("--platform", "linux_x86_64", "--python-version", "3.11")
LOCAL = (*TARGET, "--no-index", "--find-links", "wheels")
SECRET = "s3cr3t-w0rd"


@pytest.fixture
def farm(make_wheel: Callable[..., Path]) -> None:
    """egg 1.0 and hen require each other; egg 2.0 requires nothing."""
    make_wheel("egg", "1.0", ("hen",))
    make_wheel("egg", "2.0")
    make_wheel("hen", "1.0", ("egg>=1.0",))
    make_wheel("fox", "1.0", ("egg<2",))


@pytest.mark.usefixtures("farm")
class TestResolve:
    def test_a_bare_requirement(self, distcycle: Run) -> None:
        done = distcycle("audit", "egg<2", "--resolve", *LOCAL, "-v")
        assert done.returncode == 1
        assert "2 packages: egg 1.0, hen 1.0" in done.stdout
        assert "egg -> hen -> egg" in done.stdout
        done = distcycle("audit", "egg", "--resolve", *LOCAL)
        assert (done.returncode, "egg 1.0" in done.stdout) == (0, False)

    @pytest.mark.parametrize(
        ("words", "problem"),
        [
            (("none.txt", "--resolve"), "none.txt: cannot be read: No such file or directory"),
            (("egg==1.0",), "egg==1.0: there is no such file; --resolve judges a requirement"),
            (("egg>>1", "--resolve"), "egg>>1: neither a file nor a requirement"),
            (("egg", "--resolve", "-c", "none.txt"), "none.txt: cannot be read"),
            (("egg", "--resolve", "--edges", "lock"), "--edges lock does not go with it"),
            (("egg", "--resolve", "--exclude-newer", "soon"), "expected a date such as"),
            (("egg", "--resolve", "--prefer", "locked"), "egg: no lock belongs to it"),
            (("egg.in", "--pre"), "--pre goes with --resolve"),
            (("egg.in", "--exclude-newer", "2026-01-01"), "--exclude-newer goes with --resolve"),
        ],
    )
    def test_one_line_says_what_is_wrong(
        self, distcycle: Run, tmp_path: Path, words: tuple[str, ...], problem: str
    ) -> None:
        (tmp_path / "egg.in").write_text("egg\n")
        done = distcycle("audit", *words, *LOCAL)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("distcycle: error: ")
        assert problem in done.stderr
        assert done.stderr.count("\n") == 1

    def test_a_conflict(self, distcycle: Run, tmp_path: Path) -> None:
        (tmp_path / "farm.in").write_text("egg>=2\nfox\n")
        done = distcycle("audit", "farm.in", "--resolve", *LOCAL)
        assert done.returncode == 2
        assert done.stderr.replace("distcycle: error: ", "").splitlines() == [
            "farm.in: cannot be resolved for cp311-linux_x86_64:",
            "  no version of egg meets all that is required of it:",
            "    egg>=2: asked for at farm.in:1",
            "    egg<2: required by fox 1.0 (asked for at farm.in:2)",
            "    egg 2.0: excluded by egg<2",
            "    egg 1.0: excluded by egg>=2",
        ]

    def test_a_project_that_asks_for_its_own_extras(self, distcycle: Run, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text(
            '[project]\nname = "farm"\nversion = "1"\ndependencies = ["egg"]\n'
            '[project.optional-dependencies]\nall = ["farm[more]"]\nmore = ["fox"]\n'
        )
        done = distcycle("audit", ".", "--resolve", "--extra", "all", *LOCAL, "-v")
        assert "4 packages: egg 1.0, farm 1, fox 1.0, hen 1.0" in done.stdout
        done = distcycle("audit", ".", "--resolve", *LOCAL, "-v")
        assert "1 packages: egg 2.0" in done.stdout

    def test_a_lock_stands_as_it_is(self, distcycle: Run, tmp_path: Path) -> None:
        (tmp_path / "poetry.lock").write_text(
            'package = []\n[metadata]\nlock-version = "2.0"\npython-versions = "*"\n'
            'content-hash = ""\n'
        )
        done = distcycle("audit", "poetry.lock", "--resolve", *LOCAL)
        assert (done.returncode, done.stderr) == (0, "")

    def test_diff_resolves_both(self, distcycle: Run, tmp_path: Path) -> None:
        (tmp_path / "old.in").write_text("egg\n")
        (tmp_path / "new.in").write_text("egg<2\n")
        done = distcycle("diff", "old.in", "new.in", "--resolve", *LOCAL)
        assert done.returncode == 1
        assert "egg" in done.stdout

    def test_no_secret_is_told(
        self, distcycle: Run, tmp_path: Path, make_wheel: Callable[..., Path]
    ) -> None:
        url = f"https://user:{SECRET}@pypi.example/egg-1.0-py3-none-any.whl"
        make_wheel("owl", "1.0", (f"egg @ {url}",))
        (tmp_path / "pyproject.toml").write_text(
            f'[project]\nname = "farm"\nversion = "1"\ndependencies = ["egg @ {url}", "owl"]\n'
        )
        for words in (
            ("audit", f"egg @ {url}", "--resolve", "--format", "json"),
            ("audit", "pyproject.toml", "--resolve", "--format", "json"),
            ("audit", "pyproject.toml", "--resolve", "-v"),
            ("audit", "owl", "--resolve", "--format", "sarif"),
            ("explain", "owl", "egg", "--resolve"),
            ("fix", "owl", "--resolve", "--upgrade", "--emit", "requirements"),
            ("audit", "owl", "egg", "--resolve", "-c", f"https://user:{SECRET}@pypi.example/c.txt"),
        ):
            done = distcycle(*words, *LOCAL, "--retries", "0")
            assert SECRET not in done.stdout + done.stderr, words


@pytest.mark.usefixtures("farm")
class TestUpgrade:
    def test_pins_are_kept_unless_they_may_go(self, distcycle: Run, tmp_path: Path) -> None:
        (tmp_path / "farm.in").write_text("egg==1.0\nhen\n")
        words = ("fix", "farm.in", "--resolve", "--upgrade", *LOCAL)
        done = distcycle(*words)
        assert "kept as asked for: egg==1.0; --allow-pins lets that change" in done.stdout
        done = distcycle(*words, "--allow-pins")
        assert done.stdout.splitlines() == [
            "wheel-cycle: egg, hen",
            "  egg 1.0 -> 2.0",
            "    egg 2.0 no longer requires hen",
        ]

    def test_a_compiled_file_with_hashes_and_a_constraint(
        self, distcycle: Run, tmp_path: Path
    ) -> None:
        text = "# This file is autogenerated by pip-compile with Python 3.11\n"
        for line in ("egg==1.0", "hen==1.0"):
            name = f"{line.replace('==', '-')}-py3-none-any.whl"
            text += f"{line} --hash=sha256:{_digest(tmp_path / 'wheels' / name)}\n"
        (tmp_path / "requirements.txt").write_text(text)
        words = ("fix", "requirements.txt", "--upgrade", *LOCAL)
        done = distcycle(*words, "--emit", "requirements")
        lines = done.stdout.splitlines()
        assert [line for line in lines if "==" in line] == ["egg==2.0 \\", "hen==1.0 \\"]
        assert sum("--hash=sha256:" in line for line in lines) == 2
        (tmp_path / "c.txt").write_text("egg<2; sys_platform == 'win32'\n")
        assert "egg 1.0 -> 2.0" in distcycle(*words, "-c", "c.txt").stdout
        (tmp_path / "c.txt").write_text("egg<2\n")
        assert "no versions are without it" in distcycle(*words, "-c", "c.txt").stdout

    @pytest.mark.parametrize(
        ("tool", "lines"),
        [
            ("constraints", ["egg==2.0"]),
            ("uv", ["[tool.uv]", "constraint-dependencies = [", '    "egg==2.0",', "]"]),
            ("poetry", ["[tool.poetry.dependencies]", 'egg = "2.0"']),
        ],
    )
    def test_what_is_written(
        self, distcycle: Run, tmp_path: Path, tool: str, lines: list[str]
    ) -> None:
        (tmp_path / "farm.in").write_text("egg==1.0\nhen\n")
        words = ("fix", "farm.in", "--resolve", "--upgrade", "--allow-pins", "--emit", tool)
        done = distcycle(*words, *LOCAL)
        assert done.stdout.splitlines()[2:] == lines
        assert "to be changed there: egg==1.0" in done.stdout

    def test_a_waiver_ends_with_it(self, distcycle: Run, tmp_path: Path) -> None:
        (tmp_path / "requirements.txt").write_text("egg==1.0\nhen==1.0\n")
        (tmp_path / "distcycle.toml").write_text(
            'version = 1\n[[waive]]\ncode = "wheel-cycle"\npackages = ["egg", "hen"]\n'
            'reason = "known"\nuntil-fixed = true\n'
        )
        done = distcycle("audit", "requirements.txt", "--format", "json", *LOCAL)
        report = json.loads(done.stdout)
        [ended] = [f for f in report["findings"] if f["code"] == "expired-waiver"]
        assert ended["message"].endswith("egg 2.0")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

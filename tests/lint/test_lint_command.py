"""``distcycle lint bazel`` as a process: streams, exit codes, files; the page that explains it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from bazel_locks import lock_text

from distcycle.cli import main
from distcycle.findings import CODES
from distcycle.reporters import json_report

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Refuse = Callable[..., str]

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "bazel.md"
SCHEMA = Path(json_report.__file__).with_name("report.schema.json")
LINT = ("lint", "bazel", "MODULE.bazel", "--lock", "uv.lock", "--edges", "lock")
WRONG = 'pip.parse(hub_name = "pypi", experimental_requirement_cycles = {"x": ["egg", "stone"]})\n'


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "MODULE.bazel").write_text(WRONG)
    text = lock_text({"egg": ["hen"], "hen": ["egg"], "stone": []})
    (tmp_path / "uv.lock").write_text(text)


@pytest.fixture
def refuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Refuse:
    """Runs a command that cannot be carried out; returns the one line that says why."""
    monkeypatch.chdir(tmp_path)

    def refuse(*words: str) -> str:
        assert main(words) == 2
        out, err = capsys.readouterr()
        assert out == ""
        (line,) = err.splitlines()
        return line.removeprefix("distcycle: error: ")

    return refuse


def test_what_is_wrong_is_exit_code_1(distcycle: Run) -> None:
    done = distcycle(*LINT)
    assert done.returncode == 1
    assert done.stderr == ""
    assert "deny[group-incomplete] group 'x' lacks hen" in done.stdout
    assert "deny[group-excess] group 'x' names stone" in done.stdout
    assert "  MODULE.bazel:1" in done.stdout
    assert done.stdout.endswith("1 loop, 2 denied, no warnings\n")


def test_severities(distcycle: Run) -> None:
    words = ("-W", "group-incomplete", "-A", "group-excess")
    done = distcycle(*LINT, *words)
    assert done.returncode == 0
    assert done.stdout.endswith("1 loop, 0 denied, 1 warning\n")


def test_json(distcycle: Run) -> None:
    report = json.loads(distcycle(*LINT, "--format", "json").stdout)
    jsonschema.validate(report, json.loads(SCHEMA.read_text("utf-8")))
    assert [(i["path"], i["kind"]) for i in report["inputs"]] == [
        ("MODULE.bazel", "bazel"),
        ("uv.lock", "uv-lock"),
    ]
    assert [(f["code"], f["path"], f["line"]) for f in report["findings"]] == [
        ("group-excess", "MODULE.bazel", 1),
        ("group-incomplete", "MODULE.bazel", 1),
    ]
    assert report["tool"]["command"] == f"distcycle {shlex.join(LINT)}"


def test_fix_writes_the_file(distcycle: Run, tmp_path: Path) -> None:
    done = distcycle(*LINT, "--fix")
    assert done.returncode == 0
    assert "note: MODULE.bazel:1: the groups are written anew" in done.stdout
    text = (tmp_path / "MODULE.bazel").read_text()
    assert '"hen",\n' in text
    assert distcycle(*LINT, "--fix").returncode == 0
    assert (tmp_path / "MODULE.bazel").read_text() == text


def test_unknown_is_said_and_can_fail(
    distcycle: Run, tmp_path: Path, make_wheel: Callable[..., Path]
) -> None:
    folder = make_wheel("egg", "1").parent
    (tmp_path / "requirements.txt").write_text("egg==1\nhen==1\n")
    (tmp_path / "MODULE.bazel").write_text(WRONG.replace('"egg", "stone"', ""))
    words = ("lint", "bazel", "MODULE.bazel", "--lock", "requirements.txt", "-A", "group-excess")
    words = (*words, "--find-links", str(folder))
    done = distcycle(*words)
    assert "warn[edges-unknown] hen 1: requirements unknown" in done.stdout
    assert done.returncode == 0
    assert distcycle(*words, "--fail-on-unknown").returncode == 1
    mended = distcycle(*words, "--fix")
    assert mended.returncode == 2
    assert "requirements.txt: no groups are written while" in mended.stderr


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "MODULE.bazel: expected pip.parse, pip_parse, or a dictionary for"),
        ("x = (", "MODULE.bazel:1: not Starlark: ( is not closed"),
        ("\nCYCLES = dict(a = [])", "MODULE.bazel:2: the groups cannot be told: dict(a = [])"),
        ("[" * 100_000, "MODULE.bazel:1: not Starlark: [ is not closed"),
        ("#" * 1_100_000, "MODULE.bazel: larger than 1 MiB"),
    ],
    ids=["empty", "open", "computed", "deep", "large"],
)
def test_what_cannot_be_read_is_one_error(refuse: Refuse, text: str, problem: str) -> None:
    Path("MODULE.bazel").write_text(text)
    assert refuse(*LINT, "--fix").startswith(problem)


def test_files_that_are_not_there_or_no_text(refuse: Refuse) -> None:
    Path("bytes").write_bytes(b"x\n\xff")
    for file, problem in (("none", "none: cannot be read"), ("bytes", "bytes:2: expected UTF-8")):
        assert refuse(*LINT[:2], file, *LINT[3:]).startswith(problem)
    assert refuse(*LINT, "--python", "python3").endswith("what is compared with is --lock")
    assert refuse(*LINT, "--hub", "x") == "MODULE.bazel: no hub 'x' in it; it has pypi"


def test_lock_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(LINT[:3])
    assert "the following arguments are required: --lock" in capsys.readouterr().err


# The page ----------------------------------------------------------------------------------------


def test_page(distcycle: Run, tmp_path: Path) -> None:
    text = PAGE.read_text("utf-8")
    (module,) = re.findall(r"^```starlark\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (block,) = re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (tmp_path / "MODULE.bazel").write_text(module)
    (tmp_path / "sample_locks").symlink_to(ROOT / "sample_locks")
    _, *parts = re.split(r"^\$ distcycle (.*)\n", block, flags=re.MULTILINE)
    for command, output in zip(parts[::2], parts[1::2], strict=True):
        done = distcycle(*shlex.split(command))
        pattern = ".*?".join(re.escape(part) for part in output.split("[...]\n"))
        assert re.fullmatch(pattern, done.stdout, re.DOTALL), done.stdout
        assert done.returncode == int(" 0 denied" not in output)


def test_page_explains_every_code() -> None:
    rows = re.findall(r"^\| `(group-[a-z]+)` ", PAGE.read_text("utf-8"), re.MULTILINE)
    assert rows == [code for code in CODES if code.startswith("group-")]

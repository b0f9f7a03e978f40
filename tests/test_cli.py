"""The command line as a process: its streams, its files and its exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from distcycle.cli import main
from distcycle.findings import CODES, Code
from distcycle.reporters import REPORTERS
from distcycle.targets import PLATFORMS

Run = Callable[..., "subprocess.CompletedProcess[str]"]
MakeWheel = Callable[..., Path]

COMMANDS = (
    *("audit", "diff", "explain", "fix", "bundle", "render", "targets", "codes"),
    *("completion", "imports", "lint bazel", "policy init", "policy check", "policy list"),
)
HERE = ("--platform", "linux_x86_64", "--python-version", "3.11")
LOOP = "egg==1.0\nhen==1.0\n"
VIA = "egg==1.0\n    # via hen\nhen==1.0\n    # via egg\n"
POETRY = """\
[[package]]
name = "egg"
version = "1.0"
{dependencies}
[metadata]
lock-version = "2.1"
python-versions = ">=3.9"
content-hash = ""
"""


@pytest.fixture
def wheels(make_wheel: MakeWheel) -> Path:
    """Wheels of egg and hen, which require each other; each is its own two versions' only file."""
    make_wheel("egg", requires=("hen>=1",))
    return make_wheel("hen", requires=("egg>=1",)).parent


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "requirements.txt"
    path.write_text(LOOP)
    return path


@pytest.fixture
def clean(tmp_path: Path, make_wheel: MakeWheel) -> tuple[str | Path, ...]:
    """The words that audit one package without requirements."""
    folder = make_wheel("stone").parent
    (tmp_path / "clean.txt").write_text("stone==1.0\n")
    return ("audit", "clean.txt", "--find-links", folder, *HERE)


def errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines on standard error of a run that could not be done."""
    assert done.returncode == 2, done
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert all(line.startswith("distcycle: error: ") for line in lines), done.stderr
    return [line.removeprefix("distcycle: error: ") for line in lines]


def output_of(program: str) -> str:
    """What a program prints in a Python of its own."""
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    ).stdout


# Version, help and start-up ----------------------------------------------------------------------


def test_version(distcycle: Run) -> None:
    done = distcycle("--version")
    assert re.fullmatch(r"distcycle \d+\.\d+\S*\n", done.stdout)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_lists_every_command(distcycle: Run) -> None:
    done = distcycle("--help")
    assert done.returncode == 0
    for command in {words.partition(" ")[0] for words in COMMANDS}:
        assert re.search(rf"^ +{command}\s", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_gives_an_example_and_the_exit_codes(
    distcycle: Run, command: str
) -> None:
    done = distcycle(*command.split(), "--help")
    assert done.returncode == 0
    assert f"example: distcycle {command}" in done.stdout
    assert "exit codes: 0 nothing at deny, 1 something at deny, 2 " in done.stdout


@pytest.mark.parametrize("words", [(), ("adit",), ("audit", "--max-cycles", "0"), ("bundle", "x")])
def test_bad_arguments_are_exit_2(distcycle: Run, words: tuple[str, ...]) -> None:
    done = distcycle(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"distcycle(?: \w+)?: error: .+; see '.+ --help'\n", done.stderr)


def test_version_imports_nothing_heavy() -> None:
    program = (
        "import sys; from distcycle.cli import main\n"
        "try: main(['--version'])\n"
        "except SystemExit: pass\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    loaded = set(output_of(program).split())
    assert "distcycle" in loaded
    assert not loaded & {"networkx", "requests", "urllib3", "packaging", "tomli", "platformdirs"}


def test_an_audit_without_network_imports_no_http_library(lock: Path) -> None:
    program = (
        "import sys; from distcycle.cli import main\n"
        f"main(['audit', {str(lock)!r}, '--offline', '--no-cache', '-q'])\n"
        "print(*sys.modules)"
    )
    loaded = set(output_of(program).split())
    assert "distcycle.judgement" in loaded
    assert not loaded & {"requests", "urllib3"}


# Verdicts ----------------------------------------------------------------------------------------


def test_exit_0_when_nothing_is_denied(distcycle: Run, clean: tuple[str, ...]) -> None:
    done = distcycle(*clean)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("no loops, 0 denied, no warnings\n")


def test_exit_1_when_a_loop_is_denied(distcycle: Run, lock: Path, wheels: Path) -> None:
    done = distcycle("audit", lock, "--find-links", wheels, *HERE)
    assert (done.returncode, done.stderr) == (1, "")
    assert "deny[wheel-cycle] egg -> hen -> egg" in done.stdout
    assert "egg 1.0 requires hen>=1\n" in done.stdout
    assert f"{lock}:2" in done.stdout.replace("\n", "")


def test_exit_2_when_nothing_could_be_judged(distcycle: Run, lock: Path) -> None:
    done = distcycle("audit", lock, "--offline", "--no-cache", *HERE)
    assert (done.returncode, done.stderr) == (2, "distcycle: error: nothing could be judged\n")
    assert "warn[edges-unknown]" in done.stdout


@pytest.mark.parametrize(
    ("flags", "severity", "code"),
    [
        (("-A", "wheel-cycle"), "allow", 0),
        (("--warn", "wheel-cycle"), "warn", 0),
        (("-W", "wheel-cycle", "-D", "wheel-cycle"), "deny", 1),
    ],
)
def test_flags_weigh_codes_and_the_last_one_wins(
    distcycle: Run, lock: Path, wheels: Path, flags: tuple[str, ...], severity: str, code: int
) -> None:
    done = distcycle("audit", lock, "--find-links", wheels, *HERE, *flags, "--format", "json")
    assert done.returncode == code
    assert json.loads(done.stdout)["components"][0]["severity"] == severity


@pytest.mark.parametrize("flags", [("--fail-on-unknown",), ("-D", "edges-unknown")])
def test_unknown_requirements_can_fail_the_run(
    distcycle: Run, clean: tuple[str, ...], tmp_path: Path, flags: tuple[str, ...]
) -> None:
    (tmp_path / "clean.txt").write_text("stone==1.0\nghost==1.0\n")
    assert distcycle(*clean).returncode == 0
    done = distcycle(*clean, *flags)
    assert done.returncode == 1
    assert "deny[edges-unknown] " in done.stdout


def test_unknown_code(distcycle: Run, lock: Path) -> None:
    assert errors(distcycle("audit", lock, "-D", "wheel-cycles")) == [
        "unknown code 'wheel-cycles'; did you mean 'wheel-cycle'?"
    ]


def test_unknown_platform_names_the_nearest(distcycle: Run, lock: Path) -> None:
    [line] = errors(distcycle("audit", lock, "--platform", "linux_x86_46"))
    assert line.startswith("unknown platform 'linux_x86_46'; did you mean linux_x86_64")


def test_unknown_python_version(distcycle: Run, lock: Path) -> None:
    [line] = errors(distcycle("audit", lock, "--python-version", "3.99"))
    assert "3.99" in line


def test_platform_names_are_said(distcycle: Run, clean: tuple[str, ...]) -> None:
    done = distcycle(*clean, "--platform", "aarch64-apple-darwin", "--show-targets")
    assert "cp311-macos_arm64 (macOS " in done.stderr
    assert "  platform_machine = 'arm64'\n" in done.stderr


# Inputs ------------------------------------------------------------------------------------------


def test_missing_file(distcycle: Run) -> None:
    assert errors(distcycle("audit", "none.txt")) == [
        "none.txt: cannot be read: No such file or directory"
    ]


def test_directory_without_a_lock(distcycle: Run, tmp_path: Path) -> None:
    assert errors(distcycle("audit")) == [".: no lock stands here; name the input"]


def test_directory_with_several_locks(distcycle: Run, tmp_path: Path) -> None:
    for name in ("uv.lock", "poetry.lock"):
        (tmp_path / name).touch()
    assert errors(distcycle("audit", tmp_path)) == [
        f"{tmp_path}: more than one lock (poetry.lock, uv.lock) stands here; name the input"
    ]


def test_the_one_lock_that_stands_here_is_the_input(
    distcycle: Run, lock: Path, wheels: Path
) -> None:
    done = distcycle("audit", "--find-links", wheels, *HERE)
    assert done.returncode == 1
    assert done.stdout.startswith("requirements.txt: 2 packages\n")


def test_a_directory_of_wheels_is_an_input(distcycle: Run, wheels: Path) -> None:
    done = distcycle("audit", wheels, "--offline", *HERE)
    assert done.returncode == 1
    assert "egg -> hen -> egg" in done.stdout


def test_standard_input(distcycle: Run, wheels: Path) -> None:
    done = distcycle(
        "audit", "-", "--input-kind", "requirements", "--find-links", wheels, *HERE, stdin=LOOP
    )
    assert done.returncode == 1
    assert done.stdout.startswith("<stdin>: 2 packages\n")


def test_unknown_input_kind(distcycle: Run, lock: Path) -> None:
    [line] = errors(distcycle("audit", lock, "--input-kind", "conda"))
    assert line.startswith(f"{lock}: unknown input kind 'conda'; expected one of uv-lock, ")


def test_a_broken_lock_is_refused_with_its_line(distcycle: Run, tmp_path: Path) -> None:
    (tmp_path / "poetry.lock").write_text(POETRY.format(dependencies="dependencies = 3\n"))
    [line] = errors(distcycle("audit", "poetry.lock"))
    assert line.startswith("poetry.lock:4: package[0].dependencies: expected ")


def test_several_inputs_are_judged_apart(
    distcycle: Run, tmp_path: Path, lock: Path, wheels: Path
) -> None:
    (tmp_path / "half.txt").write_text("egg==1.0\n")
    done = distcycle(
        "audit", "half.txt", lock.name, "--find-links", wheels, *HERE, "--format", "json"
    )
    report = json.loads(done.stdout)
    assert [entry["path"] for entry in report["inputs"]] == ["half.txt", lock.name]
    assert [component["input"] for component in report["components"]] == [lock.name]


def test_python_and_input_exclude_each_other(distcycle: Run, lock: Path) -> None:
    [line] = errors(distcycle("audit", lock, "--python", sys.executable))
    assert line.startswith("--python names an environment")


# Output ------------------------------------------------------------------------------------------


def test_several_formats_in_one_run(distcycle: Run, tmp_path: Path, clean: tuple[str, ...]) -> None:
    done = distcycle(*clean, "--format", "json:report.json", "--format", "text")
    assert done.returncode == 0
    assert done.stdout.endswith("no loops, 0 denied, no warnings\n")
    alone = distcycle(*clean, "--format", "json")
    assert (tmp_path / "report.json").read_text() == alone.stdout
    assert (tmp_path / "report.json").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("form", ["sarfi", "", ":x.json"])
def test_unknown_format(distcycle: Run, lock: Path, form: str) -> None:
    [line] = errors(distcycle("audit", lock, "--format", form))
    assert line.startswith("unknown format ")
    assert ", ".join(REPORTERS) in line


def test_output_that_cannot_be_written(
    distcycle: Run, tmp_path: Path, clean: tuple[str, ...]
) -> None:
    before = sorted(tmp_path.iterdir())
    done = distcycle(*clean, "--no-cache", "--format", "json:none/report.json")
    assert errors(done) == ["none/report.json: cannot be written: No such file or directory"]
    (tmp_path / "taken").mkdir()
    done = distcycle(*clean, "--no-cache", "--format", "json:taken")
    assert errors(done) == ["taken: cannot be written: Is a directory"]
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "taken"])


def test_quiet_says_the_verdict_only(distcycle: Run, lock: Path, wheels: Path) -> None:
    done = distcycle("audit", lock, "--find-links", wheels, *HERE, "-q")
    assert (done.returncode, done.stdout, done.stderr) == (1, "1 loop, 1 denied, no warnings\n", "")


def test_verbose_says_more(distcycle: Run, tmp_path: Path, clean: tuple[str, ...]) -> None:
    ghosts = "".join(f"ghost{number}==1.0\n" for number in range(6))
    (tmp_path / "clean.txt").write_text(f"stone==1.0\n{ghosts}")
    brief, full = distcycle(*clean), distcycle(*clean, "-v")
    assert "and 3 more: ghost3, ghost4, ghost5" in brief.stdout
    assert "more:" not in full.stdout
    assert full.stdout.count("warn[edges-unknown]") == 6


def test_of_what_is_missing_the_rest_is_told_by_its_own_name(
    distcycle: Run, tmp_path: Path, make_wheel: Callable[..., Path]
) -> None:
    folder = make_wheel("hen", "1.0", tuple(f"egg{number}>=2" for number in range(6))).parent
    (tmp_path / "hen.txt").write_text("hen==1.0\n", "utf-8")
    done = distcycle("audit", "hen.txt", "--find-links", folder, *HERE, "--no-cache")
    assert "asked for at hen.txt:1: hen 1.0 -> egg0\n" in done.stdout
    assert "add egg0>=2 to it, or compile it again\n" in done.stdout
    assert "warn[missing-package] and 3 more: egg3, egg4, egg5\n" in done.stdout


@pytest.mark.parametrize(
    ("flags", "environ", "colored"),
    [
        ((), {}, False),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
    ],
)
def test_color(
    distcycle: Run,
    clean: tuple[str, ...],
    flags: tuple[str, ...],
    environ: dict[str, str],
    colored: bool,
) -> None:
    assert ("\x1b[" in distcycle(*clean, *flags, environ=environ).stdout) is colored


def test_a_file_gets_no_colors(distcycle: Run, tmp_path: Path, clean: tuple[str, ...]) -> None:
    distcycle(*clean, "--color", "always", "--format", "text:report.txt")
    assert "\x1b[" not in (tmp_path / "report.txt").read_text()


def test_control_characters_are_escaped(
    distcycle: Run, tmp_path: Path, make_wheel: MakeWheel
) -> None:
    folder = make_wheel("egg", requires=("hen ; extra == '\x1b[31m\u202e'",)).parent
    make_wheel("hen", requires=("egg \x1b[2J",))
    path = tmp_path / "red\x1b[31m.txt"
    path.write_text(LOOP)
    done = distcycle("audit", path.name, "--find-links", folder, *HERE, "-v")
    assert r"red\x1b[31m.txt" in done.stdout
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", done.stdout + done.stderr)
    [line] = errors(distcycle("audit", "gone\x1b[31m.txt"))
    assert line.startswith(r"gone\x1b[31m.txt: ")


def test_the_report_names_the_command_that_makes_it_again(
    distcycle: Run, lock: Path, wheels: Path
) -> None:
    words = ["audit", lock.name, *HERE, "--deny", "self-cycle", "--edges", "lock", "--all-extras"]
    words += ["--max-cycles", "7"]
    done = distcycle(*words, "--format", "json", "--find-links", wheels)
    command = json.loads(done.stdout)["tool"]["command"]
    assert command.startswith("distcycle audit requirements.txt --platform linux_x86_64 ")
    for part in ("--deny self-cycle", "--edges lock", "--all-extras", "--max-cycles 7"):
        assert part in command


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")
def test_a_closed_pipe_is_no_traceback(lock: Path, wheels: Path) -> None:
    words = [sys.executable, "-m", "distcycle", "audit", lock, "--find-links", wheels]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 2


# Metadata ----------------------------------------------------------------------------------------


def test_a_bundle_gives_the_same_report_to_the_byte(
    distcycle: Run, tmp_path: Path, lock: Path, wheels: Path
) -> None:
    links = ("--find-links", wheels, "--no-cache")
    made = distcycle("bundle", lock, *links, *HERE, "-o", "facts.json")
    assert (made.returncode, made.stdout) == (0, "")
    assert made.stderr == "facts.json: METADATA of 2 files\n"
    asked = distcycle("audit", lock, *links, *HERE, "--format", "json")
    for wheel in wheels.iterdir():
        wheel.unlink()
    told = distcycle(
        *("audit", lock, "--offline", "--bundle", "facts.json", "--no-cache"),
        *(*HERE, "--format", "json"),
    )
    assert json.loads(told.stdout)["summary"]["components"] == 1
    assert told.stdout == asked.stdout
    assert told.returncode == asked.returncode == 1


def test_the_same_bundle_is_written_twice(
    distcycle: Run, tmp_path: Path, lock: Path, wheels: Path
) -> None:
    for name in ("one.json", "two.json"):
        distcycle("bundle", lock, "--find-links", wheels, "-q", "-o", name, *HERE)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_a_bundle_needs_a_place(distcycle: Run, lock: Path, wheels: Path) -> None:
    done = distcycle("bundle", lock, "--find-links", wheels, "-o", "none/facts.json", *HERE)
    assert errors(done) == ["none/facts.json: cannot be written: No such file or directory"]


@pytest.mark.parametrize(("text", "problem"), [("{", "not valid JSON"), ("{}", "schema: expected")])
def test_a_broken_bundle(
    distcycle: Run, tmp_path: Path, lock: Path, text: str, problem: str
) -> None:
    (tmp_path / "facts.json").write_text(text)
    [line] = errors(distcycle("audit", lock, "--bundle", "facts.json"))
    assert line.startswith("facts.json")
    assert problem in line


def test_a_missing_bundle(distcycle: Run, lock: Path) -> None:
    [line] = errors(distcycle("audit", lock, "--bundle", "facts.json"))
    assert line == "facts.json: cannot be read: No such file or directory"


def test_an_index_of_folders(distcycle: Run, tmp_path: Path, lock: Path, wheels: Path) -> None:
    for wheel in wheels.iterdir():
        page = tmp_path / "simple" / wheel.name.partition("-")[0] / "index.html"
        page.parent.mkdir(parents=True)
        page.write_text(f'<a href="{wheel.as_uri()}">{wheel.name}</a>')
    index = (tmp_path / "simple").as_uri()
    done = distcycle("audit", lock, "--index-url", index, *HERE, environ={"PIP_NO_INDEX": "0"})
    assert done.returncode == 1
    assert "egg -> hen -> egg" in done.stdout


def test_the_lock_can_be_believed(distcycle: Run, tmp_path: Path, wheels: Path) -> None:
    (tmp_path / "poetry.lock").write_text(POETRY.format(dependencies=""))
    words = ("audit", "poetry.lock", "--offline", "--find-links", wheels, *HERE)
    asked, believed = distcycle(*words), distcycle(*words, "--edges", "lock")
    assert "deny[missing-package] egg 1.0 requires hen>=1" in asked.stdout
    assert believed.returncode == 0


def test_comments_are_believed_where_nothing_better_is(distcycle: Run, lock: Path) -> None:
    lock.write_text(VIA)
    done = distcycle("audit", lock, "--offline", "--no-cache", *HERE)
    assert done.returncode == 1
    assert "2 by '# via' comments only" in done.stdout


# targets and codes -------------------------------------------------------------------------------


def test_targets_lists_every_platform(distcycle: Run) -> None:
    done = distcycle("targets")
    assert done.returncode == 0
    heads = [line.partition(",")[0] for line in done.stdout.splitlines() if line[:1] != " "]
    assert heads == [platform.name for platform in PLATFORMS]


def test_targets_explains_a_name(distcycle: Run) -> None:
    done = distcycle("targets", "cp311-win_amd64")
    assert done.returncode == 0
    assert done.stdout.startswith("cp311-windows_amd64\n")
    assert "  platform_machine = 'AMD64'\n" in done.stdout
    assert "the best cp311-cp311-win_amd64\n" in done.stdout
    assert errors(distcycle("targets", "win_amd46"))[0].startswith("unknown platform 'win_amd46'")


def test_codes_lists_every_code(distcycle: Run) -> None:
    done = distcycle("codes")
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        [code.name, code.severity.value] for code in CODES.values()
    ]


@pytest.mark.parametrize("name", CODES)
def test_codes_explains_a_code(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["codes", name]) == 0
    code = CODES[name]
    assert capsys.readouterr().out.splitlines() == [
        f"{name} ({code.severity} by default)",
        code.meaning,
        f"Example: {code.example}",
        f"What to do: {code.advice}",
        f"See: {', '.join(code.see)}",
    ]


@pytest.mark.parametrize("code", CODES.values(), ids=lambda code: code.name)
def test_pages_that_codes_name_exist(code: Code) -> None:
    root = Path(__file__).resolve().parents[1]
    pages = [name for name in code.see if not re.fullmatch(r"PEP \d+", name)]
    assert [page for page in pages if not (root / page).is_file()] == []


def test_codes_refuses_an_unknown_one(distcycle: Run) -> None:
    assert errors(distcycle("codes", "extracycle")) == [
        "unknown code 'extracycle'; did you mean 'extra-cycle'?"
    ]


def test_what_an_output_points_at_is_written_and_not_replaced(
    distcycle: Run, lock: Path, wheels: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text("before")
    link = tmp_path / "link.json"
    link.symlink_to(kept)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        offline = ("--no-index", "--find-links", wheels, *HERE)
        outputs = (f"--format=json:{link}", f"--format=sarif:{pipe}")
        done = distcycle("audit", lock, *offline, *outputs)
        assert done.returncode == 1, done.stderr
        assert os.read(reader, 1) == b"{"
    finally:
        os.close(reader)
    assert link.is_symlink()
    assert json.loads(kept.read_text())["summary"]["components"] == 1
    assert pipe.is_fifo()


@pytest.mark.parametrize("seconds", ["0", "nan", "inf", "1e10"])
def test_a_timeout_is_a_number_of_seconds_that_clocks_hold(
    distcycle: Run, lock: Path, seconds: str
) -> None:
    done = distcycle("audit", lock, "--timeout", seconds)
    assert done.returncode == 2
    assert "--timeout: expected a number above 0, at most 86400" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_index_that_is_down_is_not_clean(distcycle: Run, lock: Path) -> None:
    lock.write_text(VIA.replace("    # via egg\n", ""))
    nowhere = ("--index-url", "http://127.0.0.1:9/simple", "--retries", "0", "--no-cache", *HERE)
    done = distcycle("audit", lock, *nowhere)
    assert done.returncode == 0, done.stderr
    assert "'# via' comments are believed" in done.stdout
    assert distcycle("audit", lock, *nowhere, "--fail-on-unknown").returncode == 1

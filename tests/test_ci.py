"""What CI systems are given: hooks, the action and its scripts, and the commands of the pages."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs" / "ci").glob("*.md"))
SCRIPTS = ROOT / ".github" / "action"
RING = "egg==1.0\nhen==1.0\n"

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """The environment of a step: a ``distcycle`` on the path, and the files of GitHub's runner."""
    programs = tmp_path / "programs"
    programs.mkdir()
    script = programs / "distcycle"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m distcycle "$@"\n')
    script.chmod(0o755)
    (tmp_path / "runner").mkdir()
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "GITHUB_", "CI_"))}
    return {
        **kept,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONUTF8": "1",
        "HOME": str(tmp_path),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_OUTPUT": str(tmp_path / "runner" / "output"),
        "GITHUB_PATH": str(tmp_path / "runner" / "path"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "runner" / "summary.md"),
        "RUNNER_TEMP": str(tmp_path / "runner"),
    }


@pytest.fixture
def repository(tmp_path: Path, make_wheel: Callable[..., Path], environ: dict[str, str]) -> Path:
    """A scratch repository whose main has no loop; the loop stands in the working tree only."""
    make_wheel("egg", requires=("hen",))
    make_wheel("stone")
    wheels = make_wheel("hen", requires=("egg",)).parent
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "requirements.txt").write_text("stone==1.0\n")
    (folder / "distcycle.toml").write_text(
        f'version = 1\n[audit]\nfind-links = ["{wheels.as_posix()}"]\nno-index = true\n'
        'no-cache = true\nplatform = ["linux_x86_64"]\npython-version = ["3.11"]\n'
    )

    def git(*words: str) -> None:
        settings = ("-c", "user.name=A", "-c", "user.email=a@mail.example")
        subprocess.run(["git", *settings, *words], check=True, cwd=folder, env=environ)

    git("init", "-q", "-b", "main")
    git("add", "--all")
    git("commit", "-q", "-m", "x")
    git("remote", "add", "origin", str(folder))
    git("fetch", "-q", "origin")
    (folder / "requirements.txt").write_text(RING)
    return folder


# The action --------------------------------------------------------------------------------------


@pytest.fixture
def judge(
    repository: Path, environ: dict[str, str]
) -> Callable[..., tuple[subprocess.CompletedProcess[str], dict[str, str]]]:
    """Runs the action's second step with some inputs: the process, and the outputs."""

    def judge(**inputs: str) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
        given = {f"DISTCYCLE_{name.upper()}": text for name, text in inputs.items()}
        done = subprocess.run(
            ["bash", str(SCRIPTS / "judge.sh")],
            check=False,
            capture_output=True,
            text=True,
            cwd=repository,
            env={**environ, **given},
        )
        lines = Path(environ["GITHUB_OUTPUT"]).read_text("utf-8").splitlines()
        return done, dict(line.split("=", 1) for line in lines)

    return judge


Judge = Callable[..., "tuple[subprocess.CompletedProcess[str], dict[str, str]]"]


@needs_bash
@needs_git
def test_a_loop_fails_the_step_and_is_annotated(judge: Judge, environ: dict[str, str]) -> None:
    done, outputs = judge(paths="requirements.txt\n")
    assert (done.returncode, outputs["verdict"], done.stderr) == (1, "failed", "")
    assert "::error file=requirements.txt,line=" in done.stdout
    assert "deny[wheel-cycle] egg -> hen -> egg" in done.stdout
    assert "egg" in Path(environ["GITHUB_STEP_SUMMARY"]).read_text("utf-8")
    assert len(json.loads(Path(outputs["report"]).read_text("utf-8"))["components"]) == 1
    assert json.loads(Path(outputs["sarif"]).read_text("utf-8"))["version"] == "2.1.0"


@needs_bash
@needs_git
@pytest.mark.parametrize("since", ["", "HEAD", "origin/main"])
def test_only_what_was_added_since_fails(judge: Judge, repository: Path, since: str) -> None:
    (repository / "old.txt").write_text("stone==1.0\n")
    done, outputs = judge(paths="old.txt" if not since else "requirements.txt", since=since)
    assert (done.returncode, outputs["verdict"]) == ((1, "failed") if since else (0, "passed"))
    if since:
        assert "added[wheel-cycle] egg, hen" in done.stdout


@needs_bash
@needs_git
def test_inputs_are_lines_and_nothing_else(judge: Judge, repository: Path) -> None:
    hostile = "a $(touch owned) `touch owned` ; touch owned.txt"
    (repository / hostile).write_text("stone==1.0\n")
    done, outputs = judge(
        paths=f"\n{hostile}\r\n  \nrequirements.txt\n",
        platforms="linux_x86_64\nmacos_arm64\n",
        policy="builtin:torch\ndistcycle.toml",
        since="",
    )
    assert (done.returncode, outputs["verdict"]) == (1, "failed")
    report = json.loads(Path(outputs["report"]).read_text("utf-8"))
    assert [entry["path"] for entry in report["inputs"]] == [hostile, "requirements.txt"]
    assert {row["platform"] for row in report["targets"]} == {"linux_x86_64", "macos_arm64"}
    assert not (repository / "owned").exists()


@needs_bash
@needs_git
@pytest.mark.parametrize(
    "inputs", [{"paths": "none.txt"}, {"since": "nowhere"}, {"paths": "--version"}]
)
def test_what_cannot_run_is_an_error_without_a_report(
    judge: Judge, inputs: Mapping[str, str]
) -> None:
    done, outputs = judge(**inputs)
    assert done.returncode == 2
    assert outputs == {"verdict": "error", "report": "", "sarif": ""}


@pytest.mark.network
@needs_bash
def test_the_action_installs_its_own_command(environ: dict[str, str]) -> None:
    done = subprocess.run(
        ["bash", str(SCRIPTS / "install.sh")],
        check=False,
        capture_output=True,
        text=True,
        env={k: v for k, v in environ.items() if k != "PYTHONPATH"},
    )
    if "No matching distribution" in done.stderr or "Could not find a version" in done.stderr:
        pytest.skip(f"needs a package index: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    added = Path(environ["GITHUB_PATH"]).read_text("utf-8").strip()
    command = shutil.which("distcycle", path=added)
    assert command is not None
    assert shutil.which("python", path=added) is None
    said = subprocess.run([command, "--version"], check=True, capture_output=True, text=True)
    assert said.stdout.startswith("distcycle ")


def test_the_action_hands_every_input_on_and_writes_none_into_a_script() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    steps = action["runs"]["steps"]
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []
    used = set(re.findall(r"inputs\.([\w-]+)", json.dumps(steps)))
    assert used == set(action["inputs"])
    script = (SCRIPTS / "judge.sh").read_text("utf-8")
    given = set(steps[1]["env"])
    assert given == set(re.findall(r"DISTCYCLE_\w+", script))
    for output in action["outputs"].values():
        name = re.fullmatch(r"\$\{\{ steps\.judge\.outputs\.(\w+) \}\}", output["value"])
        assert name is not None
        assert f'"{name[1]}=$' in script


# The hooks ---------------------------------------------------------------------------------------

HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("uv.lock", True),
        ("deep/poetry.lock", True),
        ("pdm.lock", True),
        ("Pipfile.lock", True),
        ("pylock.toml", True),
        ("pylock.dev.toml", True),
        ("requirements.txt", True),
        ("requirements-dev.txt", True),
        ("requirements_lock.txt", True),
        ("dev-requirements.txt", True),
        ("requirements/test.txt", True),
        ("Cargo.lock", False),
        ("flake.lock", False),
        ("pyproject.toml", False),
        ("requirements.in", False),
        ("uv.lock.orig", False),
        ("my-uv.lock", False),
        ("docs/text.txt", False),
    ],
)
def test_files_of_the_hooks(path: str, expected: bool) -> None:
    for hook in HOOKS:
        assert bool(re.search(hook["files"], path)) is expected


@pytest.mark.network
@needs_git
@pytest.mark.parametrize("hook", ["distcycle", "distcycle-diff"])
def test_pre_commit_runs_the_hook(hook: str, repository: Path, environ: dict[str, str]) -> None:
    program = shutil.which("pre-commit", path=f"{Path(sys.executable).parent}:{environ['PATH']}")
    if program is None:
        pytest.skip("pre-commit is not installed")
    clone = repository.parent / "clone"
    # As it stands here, committed or not: what a test judges is not what the last commit had.
    ignored = shutil.ignore_patterns(".git", ".*_cache", ".venv", "__pycache__", ".coverage*")
    shutil.copytree(ROOT, clone, ignore=ignored)
    settings = ("-c", "user.name=A", "-c", "user.email=a@mail.example")
    for words in (("init", "-q"), ("add", "--all"), ("commit", "-q", "-m", "x")):
        subprocess.run(["git", *settings, *words], check=True, cwd=clone, env=environ)

    def run(text: str) -> subprocess.CompletedProcess[str]:
        (repository / "requirements.txt").write_text(text)
        (repository / "requirements-dev.txt").write_text("stone==1.0\n")
        subprocess.run(["git", "add", "--all"], check=True, cwd=repository, env=environ)
        own = {k: v for k, v in environ.items() if k != "PYTHONPATH"}
        return subprocess.run(
            [program, "try-repo", str(clone), hook, "--verbose", "--color", "never"],
            check=False,
            capture_output=True,
            text=True,
            cwd=repository,
            env=own,
        )

    done = run(RING)
    if "No matching distribution" in done.stdout or "Could not find a version" in done.stdout:
        pytest.skip("needs a package index: pip could not install the hook")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "deny[wheel-cycle] egg -> hen -> egg" in done.stdout
    assert "requirements-dev.txt: 1 package\n" in done.stdout
    done = run("stone==1.0\n# changed\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no loops, 0 denied" in done.stdout


# The pages ---------------------------------------------------------------------------------------


def commands() -> Iterator[Any]:
    """Every command of the pages but pip's and pre-commit's, as a shell gets it."""
    for page in PAGES:
        for block in re.findall(
            r"^```\w+\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
        ):
            for line in block.splitlines():
                found = re.search(r"^(?:\s*- |\s*sh ')?((?:distcycle|git) [^'\n]+)'?$", line)
                if found:
                    yield pytest.param(page, found[1], id=f"{page.stem}: {found[1][:40]}")


@needs_bash
@needs_git
@pytest.mark.parametrize(("page", "command"), list(commands()))
def test_commands_of_the_pages(
    page: Path, command: str, repository: Path, environ: dict[str, str]
) -> None:
    words = ["distcycle", "audit", "requirements.txt"]
    for extra in (("--format", "json:distcycle.json", "-q"), ("--write-baseline", "known.json")):
        subprocess.run([*words, *extra], check=False, cwd=repository, env=environ)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        check=False,
        capture_output=True,
        text=True,
        cwd=repository,
        env={**environ, "CI_MERGE_REQUEST_DIFF_BASE_SHA": "origin/main"},
    )
    judges = re.match(r"distcycle (diff|audit(?!.*baseline))", command) is not None
    assert done.returncode == int(judges), done.stderr
    for path in re.findall(r"--format \w+:(\S+)", command):
        assert (repository / path).stat().st_size > 0


def test_every_page_has_a_command_that_is_run_or_a_hook() -> None:
    tested = {param.values[0].name for param in commands()}
    assert tested == {page.name for page in PAGES} - {"pre-commit.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_in_yaml_name_what_there_is(page: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    text = page.read_text("utf-8")
    for block in re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        document = yaml.safe_load(block)
        for step in _steps(document):
            if step.get("uses", "").endswith("/distcycle"):
                assert set(step["with"]) <= set(action["inputs"])
        outputs = set(re.findall(r"steps\.distcycle\.outputs\.([\w-]+)", block))
        assert outputs <= set(action["outputs"])
    if page.stem == "github":
        named = set(re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE))
        assert named == {*action["inputs"], *action["outputs"]}
    if page.stem == "pre-commit":
        named = set(re.findall(r"- id: ([\w-]+)", text))
        assert named == {hook["id"] for hook in HOOKS}


def _steps(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _steps(item)
    elif isinstance(value, list):
        for item in value:
            yield from _steps(item)

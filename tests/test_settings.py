"""Options come from the command line, else from a policy, else from the defaults."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from distcycle.cli import main
from distcycle.policy.options import OPTIONS

Run = Callable[..., tuple[int, str, str]]
Show = Callable[..., dict[str, tuple[str, str]]]

VALUES = {
    "color": ("always", "never"),
    "edges": ("lock", "wheel"),
    "exclude-newer": ("2026-01-01", "2026-02-01"),
    "prefer": ("lowest", "locked"),
    "max-cycles": (7, 8),
    "retries": (1, 2),
    "concurrency": (3, 4),
    "timeout": (2.5, 3.5),
    "format": ("json", "text"),
    "targets": ("cp311-linux_x86_64", "all"),
    "index-url": ("https://pypi.example/one", "https://pypi.example/two"),
}
OPPOSITES = {
    "all-extras": "--not-all-extras",
    "build": "--no-build",
    "imports": "--no-imports",
    "allow-download": "--no-download",
    "fail-on-unknown": "--pass-on-unknown",
    "offline": "--online",
    "no-index": "--use-index",
    "no-cache": "--use-cache",
    "pre": "--final",
    "resolve": "--no-resolve",
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in an empty folder: exit code, standard output and error."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        code = main(words)
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def show(run: Run) -> Show:
    """What ``--show-config`` says: value and source by name."""

    def show(*words: str, command: str = "audit") -> dict[str, tuple[str, str]]:
        code, out, err = run(command, *words, "--show-config")
        assert (code, err) == (0, "")
        rows = [line.split("  ", 1) for line in out.splitlines()]
        pairs = {name: rest.strip().rpartition("  ") for name, rest in rows}
        return {name: (value.strip(), source) for name, (value, _, source) in pairs.items()}

    return show


def policy(path: Path, *lines: str, table: str = "") -> None:
    """Write a policy: its version stands on line 2, and the options on line 4 and below."""
    head = [f"[{table}]" if table else "", "version = 1", f"[{f'{table}.' if table else ''}audit]"]
    path.write_text("\n".join([*head, *lines, ""]), encoding="utf-8")


def written(value: object, many: bool) -> str:
    return json.dumps([value] if many else value)


def test_everything_is_said_and_nothing_else(show: Show) -> None:
    said = show()
    assert list(said) == [key.name for key in OPTIONS]
    assert said == {key.name: (key.default, "default") for key in OPTIONS}


@pytest.mark.parametrize("key", OPTIONS, ids=lambda key: key.name)
def test_the_command_line_goes_before_the_policy(show: Show, tmp_path: Path, key: object) -> None:
    first, second = VALUES.get(key.name, ("one", "two"))
    if key.name in OPPOSITES:
        first, second, words = True, False, (OPPOSITES[key.name],)
    else:
        words = (f"--{key.name}", str(second))
    policy(tmp_path / "distcycle.toml", f"{key.name} = {written(first, key.many)}")
    assert show()[key.name] == (written(first, key.many), "distcycle.toml:4")
    assert show(*words)[key.name] == (written(second, key.many), "command line")
    assert show("--no-policy")[key.name] == (key.default, "default")


def test_diff_takes_them_as_well(show: Show, tmp_path: Path) -> None:
    policy(tmp_path / "pyproject.toml", 'edges = "lock"', table="tool.distcycle")
    assert show(command="diff")["edges"] == ('"lock"', "pyproject.toml:4")


def test_of_several_policies_the_later_wins(show: Show, tmp_path: Path) -> None:
    policy(tmp_path / "one.toml", "retries = 1", "max-cycles = 1")
    policy(tmp_path / "two.toml", "", "retries = 2")
    said = show("--policy", "one.toml", "--policy", "two.toml")
    assert said["retries"] == ("2", "two.toml:5")
    assert said["max-cycles"] == ("1", "one.toml:5")


def test_paths_are_meant_from_the_folder_of_the_policy(
    show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    links = 'find-links = ["wheels", "/abs", "https://pypi.example/links"]'
    policy(tmp_path / "distcycle.toml", 'baseline = "known.json"', links, 'format = ["json:x"]')
    said = show()
    assert json.loads(said["baseline"][0]) == str(Path("..", "known.json"))
    places = [str(Path("..", "wheels")), "/abs", "https://pypi.example/links"]
    assert json.loads(said["find-links"][0]) == places
    assert said["format"] == ('["json:x"]', str(Path("..", "distcycle.toml:6")))
    assert show("--baseline", "known.json")["baseline"] == ('"known.json"', "command line")


def test_passwords_are_not_shown(show: Show, tmp_path: Path) -> None:
    policy(tmp_path / "distcycle.toml", 'index-url = "https://me:secret@pypi.example/simple"')
    assert show()["index-url"][0] == '"https://pypi.example/simple"'


def test_what_a_policy_says_is_done(
    run: Run, tmp_path: Path, make_wheel: Callable[..., Path]
) -> None:
    make_wheel("egg", requires=("hen", "fox"))
    make_wheel("hen", requires=("egg",))
    (tmp_path / "requirements.txt").write_text("egg==1.0\nhen==1.0\nghost==1.0\n")
    policy(
        tmp_path / "distcycle.toml",
        'find-links = ["wheels"]\nno-index = true\nno-cache = true\nfail-on-unknown = true',
        'platform = ["linux_x86_64"]\npython-version = ["3.11"]\nformat = ["json"]',
        'baseline = "known.json"',
    )
    code, _, err = run("audit", "--write-baseline", "known.json")
    assert (code, err) == (0, "known.json: 3 findings\n")
    (tmp_path / "requirements.txt").write_text("egg==1.0\nhen==1.0\nghost==1.0\nspook==1.0\n")
    code, out, _ = run("audit")
    report = json.loads(out)
    assert code == 1
    assert [target["name"] for target in report["targets"]] == ["cp311-linux_x86_64"]
    assert report["summary"]["known"] == 3
    denied = [finding for finding in report["findings"] if finding["severity"] == "deny"]
    assert [f["packages"] for f in denied if not f["accepted_by"]] == [["spook"]]
    assert run("audit", "-W", "edges-unknown")[0] == 0
    assert run("audit", "--pass-on-unknown")[0] == 0

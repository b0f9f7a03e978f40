"""Every ready-made policy does what it is for, on a sample or on wheels made like the real ones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from distcycle.cli import main
from distcycle.findings import CODES, Severity
from distcycle.policy.find import list_builtins, read_builtin
from distcycle.policy.parse import parse_policy

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_locks"
POLICIES = ROOT / "policies"

# What the wheels of these versions require of each other.
LOOPS = {
    "fastapi": {
        ("fastapi", "0.111.0"): ["fastapi-cli>=0.0.2"],
        ("fastapi-cli", "0.0.2"): ["fastapi"],
    },
    "haystack": {
        ("haystack-ai", "2.8.0"): ["haystack-experimental"],
        ("haystack-experimental", "0.10.0"): ["haystack-ai"],
    },
    "mkdocs-material": {
        ("mkdocs-material", "5.5.3"): ["mkdocs-material-extensions (>=1.0)"],
        ("mkdocs-material-extensions", "1.0"): ["mkdocs-material (>=5.0.0)"],
    },
    "poetry": {
        ("poetry", "1.8.3"): ["poetry-plugin-export (>=1.6.0,<2.0.0)"],
        ("poetry-plugin-export", "1.8.0"): ["poetry (>=1.8.0,<3.0.0)"],
    },
    "streamlit-extras": {
        ("streamlit-extras", "0.6.0"): ["streamlit-faker (>=0.0.2)"],
        ("streamlit-faker", "0.0.3"): ["streamlit-extras"],
    },
    "torch": {
        ("torch", "2.0.0"): ["triton (==2.0.0) ; platform_system == 'Linux'"],
        ("triton", "2.0.0"): ["torch"],
    },
}


@pytest.fixture
def audit(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict[str, Any]]]:
    """Judges an input by policies; gives the exit code and the report."""

    def run(path: Path, *policies: str | Path) -> tuple[int, dict[str, Any]]:
        words = ["audit", str(path), "--offline", "--no-cache", "--format", "json", "--no-policy"]
        words += ["--edges", "lock"] if path.is_file() else []
        words += [word for policy in policies for word in ("--policy", str(policy))]
        code = main(words)
        return code, json.loads(capsys.readouterr().out)

    return run


def codes(report: dict[str, Any]) -> list[str]:
    """The codes of all findings that count."""
    return [f["code"] for f in report["findings"] if f["accepted_by"] is None]


def test_readme_and_samples_miss_none() -> None:
    assert {path.stem for path in POLICIES.glob("*.toml")} == set(list_builtins())
    assert {*LOOPS, "airflow", "bazel", "markdown-it-py", "sphinx", "strict"} == set(
        list_builtins()
    )


@pytest.mark.parametrize("name", list_builtins())
def test_names_its_purpose_and_its_sources(name: str) -> None:
    text = (POLICIES / f"{name}.toml").read_text("utf-8")
    assert 20 < len(list_builtins()[name]) <= 100
    assert re.search(r"^# Sources: \w", text, re.MULTILINE)
    assert "://" not in text
    assert max(map(len, text.splitlines())) <= 100
    policy = read_builtin(name)
    for rule in (*policy.waivers, *policy.cuts, *policy.groups):
        assert rule.reason
        assert rule.place.path == f"builtin:{name}"


@pytest.mark.parametrize("name", LOOPS)
def test_loop_of_two(
    name: str, make_wheel: Callable[..., Path], audit: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    for (project, version), requires in LOOPS[name].items():
        folder = make_wheel(project, version, tuple(requires)).parent
    code, report = audit(folder)
    assert (code, codes(report)) == (1, ["wheel-cycle"])
    code, report = audit(folder, f"builtin:{name}")
    assert (code, codes(report), report["summary"]["accepted"]) == (0, [], 1)
    assert report["components"][0]["accepted_by"]["path"] == f"builtin:{name}"


@pytest.mark.parametrize(
    ("name", "sample", "member"),
    [
        ("sphinx", "sphinx-7.2-uv/uv.lock", "sphinxcontrib-qthelp"),
        ("sphinx", "sphinx-7.2-poetry/poetry.lock", "sphinxcontrib-htmlhelp"),
        ("airflow", "airflow-3/uv.lock", "apache-airflow-task-sdk"),
    ],
)
def test_sample(
    name: str,
    sample: str,
    member: str,
    tmp_path: Path,
    audit: Callable[..., tuple[int, dict[str, Any]]],
) -> None:
    code, report = audit(SAMPLES / sample)
    assert (code, codes(report)) == (1, ["wheel-cycle"])
    code, report = audit(SAMPLES / sample, f"builtin:{name}")
    assert (code, codes(report), report["summary"]["accepted"]) == (0, [], 1)

    text = (POLICIES / f"{name}.toml").read_text("utf-8")
    smaller = tmp_path / "smaller.toml"
    smaller.write_text(text.replace(f'  "{member}",\n', ""), encoding="utf-8")
    code, report = audit(SAMPLES / sample, smaller)
    assert code == 1
    assert "wheel-cycle" in codes(report)


def test_waiver_with_a_member_that_is_not_there(
    tmp_path: Path, audit: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    text = (POLICIES / "sphinx.toml").read_text("utf-8")
    larger = tmp_path / "larger.toml"
    larger.write_text(text.replace('  "sphinx",\n', '  "sphinx",\n  "sphinks",\n'))
    code, report = audit(SAMPLES / "sphinx-7.2-uv" / "uv.lock", larger)
    assert (code, codes(report)) == (0, ["unused-waiver"])
    (finding,) = (f for f in report["findings"] if f["code"] == "unused-waiver")
    assert finding["path"] == str(larger)
    assert "sphinks" in finding["message"]


def test_loop_through_an_extra(audit: Callable[..., tuple[int, dict[str, Any]]]) -> None:
    sample = SAMPLES / "markdown-it-py" / "uv.lock"
    assert codes(audit(sample)[1]) == ["extra-cycle"]
    code, report = audit(sample, "builtin:markdown-it-py")
    assert (code, codes(report), report["summary"]["accepted"]) == (0, [], 1)
    code, report = audit(sample, "builtin:bazel")
    assert (code, codes(report)) == (1, ["extra-cycle"])
    code, report = audit(sample, "builtin:bazel", "builtin:markdown-it-py")
    assert (code, codes(report)) == (0, [])


def test_torch_by_the_word_of_its_wheels(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", str(SAMPLES / "torch-2.0.txt"), "--offline", "--no-cache", "--no-policy"]
    words += ["--bundle", str(ROOT / "tests" / "data" / "torch-2.0.bundle.json")]
    words += ["--format", "json"]
    main(words)
    assert "wheel-cycle" in codes(json.loads(capsys.readouterr().out))
    main([*words, "--policy", "builtin:torch"])
    assert "wheel-cycle" not in codes(json.loads(capsys.readouterr().out))


def test_cut_that_torch_offers_instead(
    tmp_path: Path,
    make_wheel: Callable[..., Path],
    audit: Callable[..., tuple[int, dict[str, Any]]],
) -> None:
    text = (POLICIES / "torch.toml").read_text("utf-8")
    head, _, tail = text.partition("[[group]]")
    other = tmp_path / "cut.toml"
    other.write_text(head + re.sub(r"(?m)^#(?=[\w\[])", "", tail.partition("\n\n")[2]))
    (cut,) = parse_policy(other.read_text(), path="cut.toml").cuts
    assert (cut.package, cut.requires, str(cut.where.versions)) == ("triton", "torch", "<2.1")
    for (project, version), requires in LOOPS["torch"].items():
        folder = make_wheel(project, version, tuple(requires)).parent
    code, report = audit(folder, other)
    assert (code, codes(report), report["components"]) == (0, [], [])
    assert report["opened"][0]["cuts"] == ["triton -> torch"]


def test_strict_denies_every_code() -> None:
    assert read_builtin("strict").severities == dict.fromkeys(CODES, Severity.DENY)


def test_strict_denies_what_others_warn_of(
    audit: Callable[..., tuple[int, dict[str, Any]]],
) -> None:
    sample = SAMPLES / "markdown-it-py" / "uv.lock"
    assert audit(sample)[0] == 0
    assert audit(sample, "builtin:strict")[0] == 1


def test_bazel_flattens_extras() -> None:
    policy = read_builtin("bazel")
    assert policy.flatten_extras
    assert policy.severities == {"extra-cycle": Severity.DENY}

"""The same versions as uv, for inputs of all kinds on three targets: or a reason why not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from resolution_cases import EXCLUDE_NEWER, Case, Target, find_cases, read_case, write_case
from resolving import ways_of
from uv_oracle import UV, Conflict, ask_uv

from benchmarks.recorded_index import Server, read_index
from distcycle.errors import ResolutionError

CASES = [read_case(path) for path in find_cases()]
PAIRS = [(case, target) for case in CASES for target in case.targets]
ONLY_UV: dict[tuple[str, str], set[str]] = {
    # coverage[toml] requires tomli where python_full_version <= "3.11.0a6". Python 3.11 is none of
    # these; uv leaves pre-releases out of account when it compares full versions.
    ("dependency-group", "linux"): {"tomli"},
}
"""For pairs of case and target what uv alone chooses, and why."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(read_index()) as server:
        yield server


def resolve(case: Case, target: Target, index_url: str | None, folder: Path) -> dict[str, str]:
    """The versions that we choose.

    Raises:
        ResolutionError: There is no answer.
    """
    path = write_case(case, folder)
    words = ["audit", str(path), "--resolve", *case.distcycle, "--only-binary", ":all:"]
    words += ["--platform", target.platform, "--python-version", target.python]
    words += ["--exclude-newer", EXCLUDE_NEWER]
    with ways_of(words, index_url, folder) as (_library, _rules, ways):
        [(way, _)] = ways
    return {package.name: str(package.version) for package in way.snapshot.packages}


@pytest.mark.skipif(UV is None, reason="uv is not here")
@pytest.mark.parametrize(
    ("case", "target"), PAIRS, ids=[f"{case.name}-{target.name}" for case, target in PAIRS]
)
def test_the_versions_are_those_of_uv(
    case: Case, target: Target, server: Server, tmp_path: Path
) -> None:
    theirs = tmp_path / "uv"
    ours = tmp_path / "distcycle"
    theirs.mkdir()
    ours.mkdir()
    expected = ask_uv(case, target, server.url, theirs)
    if isinstance(expected, Conflict):
        with pytest.raises(ResolutionError):
            resolve(case, target, server.url, ours)
        return
    beyond = ONLY_UV.get((case.name, target.name), set())
    found = resolve(case, target, server.url, ours)
    assert found == {name: v for name, v in expected.items() if name not in beyond}
    assert not beyond & found.keys()


@pytest.mark.network
@pytest.mark.parametrize(
    ("case", "target"), PAIRS, ids=[f"{case.name}-{target.name}" for case, target in PAIRS]
)
def test_the_default_index_gives_the_same(
    case: Case, target: Target, server: Server, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if "network" not in request.config.getoption("-m"):
        pytest.skip("asks the default index only on demand: pytest -m network")
    (tmp_path / "recorded").mkdir()
    (tmp_path / "live").mkdir()
    try:
        recorded = resolve(case, target, server.url, tmp_path / "recorded")
    except ResolutionError:
        with pytest.raises(ResolutionError):
            resolve(case, target, None, tmp_path / "live")
        return
    assert resolve(case, target, None, tmp_path / "live") == recorded


def test_every_kind_of_input_is_there() -> None:
    names = {case.name for case in CASES}
    assert names >= {
        *("flask", "django-extras", "jupyterlab", "airflow", "torch", "sphinx", "markers"),
        *("conflict", "backtracking", "pre-releases", "find-links", "dependency-group"),
    }
    assert datetime.fromisoformat(EXCLUDE_NEWER.replace("Z", "+00:00")).year == 2026

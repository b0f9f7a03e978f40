"""Where policies are found, and the ready-made ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from distcycle.errors import InputError, PolicyError
from distcycle.policy import find
from distcycle.policy.find import find_policy, list_builtins, read_builtin

TABLE = "[tool.distcycle]\nversion = 1\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (root / "a" / "b").mkdir(parents=True)
    return root


def found(folder: Path) -> Path | None:
    path = find_policy(str(folder))
    return Path(path).resolve() if path else None


def test_none(repository: Path) -> None:
    assert find_policy(str(repository / "a" / "b")) is None


def test_in_the_folder_itself(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "distcycle.toml").touch()
    monkeypatch.chdir(repository)
    assert find_policy() == "distcycle.toml"
    monkeypatch.chdir(repository / "a" / "b")
    assert find_policy() == str(Path("..", "..", "distcycle.toml"))


def test_file_of_its_own_goes_before_pyproject(repository: Path) -> None:
    (repository / "pyproject.toml").write_text(TABLE)
    assert found(repository / "a") == repository / "pyproject.toml"
    (repository / "distcycle.toml").touch()
    assert found(repository / "a") == repository / "distcycle.toml"


def test_nearer_goes_before_farther(repository: Path) -> None:
    (repository / "distcycle.toml").touch()
    (repository / "a" / "pyproject.toml").write_text(TABLE)
    assert found(repository / "a" / "b") == repository / "a" / "pyproject.toml"


@pytest.mark.parametrize(
    "text", ["", "[tool.other]\ndistcycle = 1\n", "# tool.distcycle\n", "[tool]\n", "tool = 1", "["]
)
def test_pyproject_without_the_table(repository: Path, text: str) -> None:
    (repository / "a" / "pyproject.toml").write_text(text)
    assert found(repository / "a") is None


def test_pyproject_that_is_no_text(repository: Path) -> None:
    (repository / "pyproject.toml").write_bytes(b"\xff\xfe[tool.distcycle]")
    assert found(repository) is None


def test_broken_pyproject_that_speaks_of_us(repository: Path) -> None:
    (repository / "pyproject.toml").write_text("[tool.distcycle]\nversion = \n")
    assert found(repository) == repository / "pyproject.toml"


def test_root_of_the_repository_is_the_end(repository: Path) -> None:
    (repository.parent / "distcycle.toml").touch()
    assert found(repository / "a") is None
    (repository / ".git").rmdir()
    (repository / ".git").write_text("gitdir: elsewhere\n")  # a worktree
    assert found(repository / "a") is None


def test_outside_of_a_repository_only_the_folder_counts(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "distcycle.toml").touch()
    assert found(tmp_path) == tmp_path / "distcycle.toml"
    assert found(tmp_path / "a") is None


def test_folder_of_that_name_is_no_policy(repository: Path) -> None:
    (repository / "distcycle.toml").mkdir()
    assert found(repository) is None


def test_unknown_ready_made_policy_names_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown ready-made policy 'tourch'; did you mean 'tor"):
        read_builtin("tourch")
    with pytest.raises(InputError, match=r"expected one of airflow, bazel, .*torch"):
        read_builtin("../pyproject")


def test_ready_made_policies_inside_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "mine.toml").write_text("#  For me \nversion = 2\n")
    monkeypatch.setattr(find, "_PACKAGE", tmp_path)
    assert list_builtins() == {"mine": "For me"}
    with pytest.raises(PolicyError, match="builtin:mine:2: version"):
        read_builtin("mine")

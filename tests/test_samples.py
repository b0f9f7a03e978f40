"""The sample locks: what their README says of them, and what they must not say."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import tomli

SAMPLES = Path(__file__).resolve().parents[1] / "sample_locks"
ROW = re.compile(r"^\| `(?P<sample>[^`]+)` \| `(?P<input>[^`]+)` \|", re.MULTILINE)
URL_HOST = re.compile(r"\w://(?:[^/\s\"'@]*@)?(?P<host>\[?[A-Za-z0-9.-]*)")
BARE_HOST = re.compile(r"(?<![\w.-])(?P<host>(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev))(?![\w-])")
HOME_FOLDER = re.compile(r"(?<![\w.])/(?:home|root|tmp|Users|work|opt)/")


def listed() -> list[re.Match[str]]:
    return list(ROW.finditer((SAMPLES / "README.md").read_text("utf-8")))


@cache
def files() -> dict[str, str]:
    found = (path for path in SAMPLES.rglob("*") if path.is_file())
    texts = {path.relative_to(SAMPLES).as_posix(): path.read_text("utf-8") for path in found}
    return {name: text for name, text in texts.items() if name not in {"README.md", "make.sh"}}


def hosts(text: str) -> set[str]:
    matches = [*URL_HOST.finditer(text), *BARE_HOST.finditer(text)]
    return {match["host"] for match in matches}


def test_readme_lists_every_file_and_nothing_else() -> None:
    rows = listed()
    assert {row["sample"] for row in rows} | {row["input"] for row in rows} == files().keys()
    assert len({row["sample"] for row in rows}) == len(rows)


@pytest.mark.parametrize("name", sorted(files()))
def test_names_no_real_host_and_no_folder_of_a_machine(name: str) -> None:
    text = files()[name]
    assert {host for host in hosts(text) if not host.endswith(".example")} == set()
    assert HOME_FOLDER.findall(text) == []


@pytest.mark.parametrize(
    "text",
    ["https://index.corp/simple", "git+ssh://git@git.corp/x", "--trusted-host index.corp.io\n"],
)
def test_a_real_host_would_be_seen(text: str) -> None:
    assert any(not host.endswith(".example") for host in hosts(text))


@pytest.mark.parametrize(
    "lock", ["torch-2.0-uv/uv.lock", "torch-2.0-poetry/poetry.lock", "torch-2.0-pdm/pdm.lock"]
)
def test_cross_platform_locks_of_torch_lack_the_edge_to_triton(lock: str) -> None:
    packages = {package["name"]: package for package in tomli.loads(files()[lock])["package"]}
    assert "torch" in str(packages["triton"]["dependencies"])
    assert "sympy" in str(packages["torch"]["dependencies"])
    assert "triton" not in str(packages["torch"])

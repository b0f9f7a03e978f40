"""Folders of wheels: grouped by project and version, with odd names reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from distcycle.errors import InputError
from distcycle.readers.wheelhouse import is_wheelhouse, read_wheelhouse


def fill(folder: Path, *names: str) -> str:
    for name in names:
        (folder / name).write_bytes(b"x" * len(name))
    return str(folder)


def test_files_are_grouped_by_project_and_version(tmp_path: Path) -> None:
    path = fill(
        tmp_path,
        "torch-2.0.0-cp311-cp311-manylinux1_x86_64.whl",
        "torch-2.0.0-cp311-none-macosx_11_0_arm64.whl",
        "torch-10.0.0-cp311-none-macosx_11_0_arm64.whl",
        "My.Project-1.0.tar.gz",
        "my_project-1.0-py3-none-any.whl",
        "old-name-0.1.zip",
        "SHA256SUMS",
    )
    snapshot = read_wheelhouse(path)
    assert (snapshot.kind, snapshot.path, snapshot.problems) == ("wheelhouse", path, ())
    assert [(p.name, str(p.version), len(p.artefacts or ())) for p in snapshot.packages] == [
        ("my-project", "1.0", 2),
        ("old-name", "0.1", 1),
        ("torch", "2.0.0", 2),
        ("torch", "10.0.0", 1),
    ]


def test_a_file_is_known_by_its_path(tmp_path: Path) -> None:
    path = fill(tmp_path, "a-1.0-py3-none-any.whl")
    (package,) = read_wheelhouse(path).packages
    (artefact,) = package.artefacts or ()
    assert artefact.is_wheel
    assert artefact.identity == artefact.path == str(tmp_path / "a-1.0-py3-none-any.whl")
    assert (artefact.size_bytes, artefact.hashes, artefact.url) == (22, (), None)
    assert package.place.path == artefact.path
    assert (package.source, package.requirements, package.metadata) == ("file", None, None)


def test_every_package_is_a_root(tmp_path: Path) -> None:
    roots = read_wheelhouse(fill(tmp_path, "b-1-py3-none-any.whl", "a-2.tar.gz")).roots
    assert roots is not None
    assert [(r.requirement.text, r.requirement.package) for r in roots] == [
        ("a==2", 0),
        ("b==1", 1),
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a-1.0.whl", "wrong number of parts"),
        ("pytz-2004d-py3-none-any.whl", "2004d"),
        ("a-1.0-py3-none-manylinux_2_28_x86_64-x86_64_v3.whl", "Invalid build number"),
        ("noversion.tar.gz", "noversion"),
        ("a-x.zip", "a-x.zip"),
    ],
)
def test_a_name_that_says_nothing(tmp_path: Path, name: str, message: str) -> None:
    snapshot = read_wheelhouse(fill(tmp_path, name, "good-1.0-py3-none-any.whl"))
    assert [p.name for p in snapshot.packages] == ["good"]
    (problem,) = snapshot.problems
    assert problem.code == "unreadable-metadata"
    assert message in problem.message
    assert problem.place.path == str(tmp_path / name)


def test_folders_within_are_not_entered(tmp_path: Path) -> None:
    (tmp_path / "a-1.0-py3-none-any.whl").mkdir()
    fill(tmp_path / "a-1.0-py3-none-any.whl", "b-1.0-py3-none-any.whl")
    with pytest.raises(InputError, match="no wheels or source distributions"):
        read_wheelhouse(str(tmp_path))


def test_what_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: the folder cannot be read: No such file"):
        read_wheelhouse(str(tmp_path / "nowhere"))
    fill(tmp_path, "file")
    with pytest.raises(InputError, match="the folder cannot be read"):
        read_wheelhouse(str(tmp_path / "file"))


def test_a_wheelhouse_is_told_by_its_wheels(tmp_path: Path) -> None:
    assert not is_wheelhouse(fill(tmp_path, "a-1.0.tar.gz"))
    assert is_wheelhouse(fill(tmp_path, "a-1.0-py3-none-any.whl"))
    assert not is_wheelhouse(str(tmp_path / "a-1.0-py3-none-any.whl"))

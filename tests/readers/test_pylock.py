"""pylock.toml (PEP 751)."""

from __future__ import annotations

from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from corpus import CORPUS, read_rows
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker

from distcycle.errors import InputError, UnsupportedLockVersion
from distcycle.model import Package, Place, Snapshot
from distcycle.readers import Document, find_reader
from distcycle.readers.pylock import read


def read_text(text: str) -> Snapshot:
    return read(Document(path="pylock.toml", data=text.encode()))


def read_packages(text: str) -> Snapshot:
    return read_text(f'lock-version = "1.0"\ncreated-by = "hand"\n{text}')


def read_one(text: str) -> Package:
    (package,) = read_packages(f'[[packages]]\nname = "p"\n{text}').packages
    return package


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "pylock.toml: packages: expected an array, found nothing"),
        ("[[packages]", "pylock.toml:1: not valid TOML: "),
        ("lock-version = '1.0'", "pylock.toml: packages: expected an array, found nothing"),
        ("packages = 1", "pylock.toml: packages: expected an array, found an integer"),
    ],
)
def test_what_is_not_a_pylock_is_one_error(text: str, error: str) -> None:
    with pytest.raises(InputError) as caught:
        read_text(text)
    assert str(caught.value).startswith(error)


@pytest.mark.parametrize("version", ["2.0", "0.9", "", "10.0"])
def test_other_versions_are_refused(version: str) -> None:
    with pytest.raises(UnsupportedLockVersion) as caught:
        read_text(f"lock-version = '{version}'\npackages = []")
    assert str(caught.value) == (
        f"pylock.toml: lock-version: expected lock-version 1.x, found '{version}'"
    )


@pytest.mark.parametrize("version", ["1.0", "1.1", "1"])
def test_minor_versions_are_read(version: str) -> None:
    snapshot = read_text(f"lock-version = '{version}'\npackages = []")
    assert (snapshot.packages, snapshot.roots, snapshot.problems) == ((), (), ())


def test_packages_without_a_lock_version_are_read() -> None:
    snapshot = read_text('packages = [{ name = "p" }]')
    assert [p.name for p in snapshot.packages] == ["p"]
    assert [p.place.key for p in snapshot.problems] == ["lock-version"]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_newlines_and_byte_order_mark(mark: str, newline: str) -> None:
    text = 'lock-version = "1.0"\n[[packages]]\nname = "p"\nversion = "1"\n'
    snapshot = read_text(mark + text.replace("\n", newline))
    assert [(p.name, str(p.version)) for p in snapshot.packages] == [("p", "1")]


def test_bounds_and_default_groups() -> None:
    snapshot = read_packages(
        'requires-python = ">=3.9"\nenvironments = ["os_name == \'nt\'"]\n'
        'default-groups = ["Default"]\npackages = []'
    )
    assert str(snapshot.requires_python) == ">=3.9"
    assert snapshot.environments == (Marker("os_name == 'nt'"),)
    assert snapshot.default_groups == ("default",)


@pytest.mark.parametrize(
    ("text", "source", "url", "files"),
    [
        ('index = "https://pypi.example/simple"', "registry", "https://pypi.example/simple", None),
        ('vcs = { type = "git", url = "https://f.example/p" }', "vcs", "https://f.example/p", []),
        ('vcs = { type = "hg", path = "../p" }', "vcs", "../p", []),
        ('directory = { path = "p", editable = true }', "editable", "p", []),
        ('directory = { path = "p" }', "directory", "p", []),
        (
            'archive = { url = "https://f.example/p.zip", hashes = { sha256 = "AB" } }',
            "url",
            "https://f.example/p.zip",
            ["p.zip"],
        ),
        ('archive = { path = "a/p.zip" }', "file", "a/p.zip", ["p.zip"]),
    ],
)
def test_sources(text: str, source: str, url: str, files: list[str] | None) -> None:
    package = read_one(text)
    assert (package.source, package.url) == (source, url)
    listed = package.artefacts
    assert (None if listed is None else [file.filename for file in listed]) == files


def test_files() -> None:
    package = read_one(
        'index = "https://pypi.example/simple"\n'
        'sdist = { url = "https://f.example/p-1.tar.gz", size = 3, hashes = { sha256 = "0A" } }\n'
        'wheels = [{ name = "p-1-py3-none-any.whl", path = "w/x", hashes = {md5="1", b="2"} }]'
    )
    assert package.artefacts is not None
    sdist, wheel = package.artefacts
    assert (sdist.filename, sdist.size_bytes) == ("p-1.tar.gz", 3)
    assert sdist.hashes == (("sha256", "0a"),)
    assert sdist.registry == "https://pypi.example/simple"
    assert (wheel.filename, wheel.path, wheel.is_wheel) == ("p-1-py3-none-any.whl", "w/x", True)
    assert wheel.hashes == (("b", "2"), ("md5", "1"))


def test_every_entry_is_a_root_where_its_marker_holds() -> None:
    snapshot = read_packages(
        '[[packages]]\nname = "A.b"\nversion = "1"\nmarker = "\'x\' in extras"\n'
        '[[packages]]\nname = "c"\ndirectory.path = "."\n'
    )
    assert snapshot.roots is not None
    assert [
        (r.requirement.text, r.requirement.marker, r.requirement.package, r.default)
        for r in snapshot.roots
    ] == [
        ('a-b==1 ; "x" in extras', Marker("'x' in extras"), 0, True),
        ("c", None, 1, True),
    ]
    assert snapshot.packages[0].marker == Marker("'x' in extras")
    assert snapshot.packages[1].place == Place(path="pylock.toml", key="packages[1]")


def test_edges_are_unknown_where_no_entry_has_dependencies() -> None:
    snapshot = read_packages('packages = [{ name = "a" }, { name = "b", tool = { pdm = 3 } }]')
    assert [p.requirements for p in snapshot.packages] == [None, None]


def test_references_are_bound_to_the_one_entry_that_agrees() -> None:
    snapshot = read_packages(
        """
        [[packages]]
        name = "app"
        dependencies = [
            { name = "Two", version = "2" },
            { name = "two" },
            { name = "two", vcs = { commit-id = "0f" } },
            { name = "gone", version = "3" },
        ]
        [[packages]]
        name = "two"
        version = "1"
        [[packages]]
        name = "two"
        version = "2"
        [[packages]]
        name = "two"
        vcs = { type = "git", url = "https://f.example/two", commit-id = "0f" }
        """
    )
    app, one, *_ = snapshot.packages
    assert app.requirements is not None
    assert [(r.text, r.package) for r in app.requirements] == [
        ("two==2", 2),
        ("two", None),
        ("two", 3),
        ("gone==3", None),
    ]
    assert app.requirements[0].place == Place(path="pylock.toml", key="packages[0].dependencies[0]")
    assert one.requirements == ()


def test_lines_that_pdm_adds_are_preferred() -> None:
    snapshot = read_packages(
        'packages = [{ name = "a", dependencies = [{ name = "b" }], tool.pdm.dependencies = '
        '["b[x]>=1 ; os_name == \'nt\'", "!"] }, { name = "b" }]'
    )
    (requirement,) = snapshot.packages[0].requirements or ()
    assert requirement.text == "b[x]>=1 ; os_name == 'nt'"
    assert requirement.extras == ("x",)
    assert requirement.place == Place(
        path="pylock.toml", key="packages[0].tool.pdm.dependencies[0]"
    )
    (problem,) = snapshot.problems
    assert (problem.code, problem.package) == ("unreadable-requirement", "a")
    assert problem.place.key == "packages[0].tool.pdm.dependencies[1]"


def test_one_bad_member_costs_only_itself() -> None:
    snapshot = read_packages(
        'environments = ["no"]\nrequires-python = 3\ndefault-groups = 4\n'
        "packages = [{}, 3, { name = 'p', version = 'x', marker = 'no', requires-python = '?',"
        " directory = 3, wheels = [{}, { url = 'https://f.example/p.whl', hashes = { a = 1 } }],"
        " dependencies = [4, { name = 'p' }] }]"
    )
    (package,) = snapshot.packages
    assert {p.place.key for p in snapshot.problems} == {
        "environments[0]",
        "requires-python",
        "default-groups",
        "packages[0].name",
        "packages[1]",
        "packages[2].version",
        "packages[2].marker",
        "packages[2].requires-python",
        "packages[2].directory",
        "packages[2].wheels[0]",
        "packages[2].wheels[1].hashes.a",
        "packages[2].dependencies[0]",
    }
    assert [(r.text, r.package) for r in package.requirements or ()] == [("p", 0)]


def is_read_or_refused(data: bytes) -> bool:
    try:
        read(Document(path="pylock.toml", data=data))
    except InputError as error:
        return "\n" not in str(error)
    return True


ENTRY = (
    b'[[packages]]\nname = "p"\ndependencies = [{ name = "p" }]\nwheels = [{ name = "p.whl" }]\n'
)


@given(st.binary(max_size=100) | st.text(max_size=100).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    assert is_read_or_refused(data)
    assert is_read_or_refused(b'lock-version = "1.0"\n' + ENTRY + data)


def test_truncated_samples_are_read_or_refused() -> None:
    assert all(is_read_or_refused(ENTRY[:end]) for end in range(len(ENTRY)))


def corpus() -> list[tuple[Path, int, str]]:
    return [(CORPUS / row[0], int(row[1]), row[2]) for row in read_rows("pylock")]


@pytest.mark.parametrize(
    ("path", "count", "cycles"),
    [pytest.param(*entry, id=entry[0].name) for entry in corpus()]
    or [pytest.param(None, 0, "", id="no corpus")],
)
def test_real_files_agree_with_the_independent_scan(
    path: Path | None, count: int, cycles: str
) -> None:
    if path is None:
        pytest.skip("the corpus of real lock files is not beside this repository")
    document = Document(path=str(path), data=path.read_bytes())
    snapshot = read(document)
    assert len(snapshot.packages) == count
    edges: dict[str, set[str]] = {package.name: set() for package in snapshot.packages}
    for package in snapshot.packages:
        edges[package.name].update(r.name for r in package.requirements or ())
    assert (cycles == "none") == any(edges.values())
    assert list(TopologicalSorter(edges).static_order())
    bare = path.name == "pip-audit-missing-version.toml"  # it has no lock-version
    assert [p.place.key for p in snapshot.problems] == (["lock-version"] if bare else [])
    assert bare or find_reader(document).kind == "pylock"


def test_real_files_are_read_or_refused_wherever_they_are_cut() -> None:
    entries = corpus()
    if not entries:
        pytest.skip("the corpus of real lock files is not beside this repository")
    for path, _count, _cycles in entries:
        data = path.read_bytes()
        assert all(is_read_or_refused(data[: len(data) * cut // 50]) for cut in range(50)), path

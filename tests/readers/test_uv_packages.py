"""Package entries of uv.lock: sources, artefacts, bindings, old spellings, bad entries."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.markers import Marker

from distcycle.model import Package, Place, Snapshot
from distcycle.readers import Document
from distcycle.readers.uv_lock import read

DATA = Path(__file__).parent / "data" / "uv"


def read_packages(text: str) -> Snapshot:
    return read(Document(path="uv.lock", data=f"version = 1\n{text}".encode()))


def read_source(source: str, rest: str = "") -> Package:
    (package,) = read_packages(f'[[package]]\nname = "p"\nsource = {source}\n{rest}').packages
    return package


@pytest.mark.parametrize(
    ("source", "kind", "url"),
    [
        ('{ registry = "https://pypi.example/simple" }', "registry", "https://pypi.example/simple"),
        ('{ registry = "../wheels" }', "registry", "../wheels"),
        ('{ url = "https://files.pypi.example/p.whl" }', "url", "https://files.pypi.example/p.whl"),
        ('{ git = "https://forge.example/p?rev=a#0f" }', "vcs", "https://forge.example/p?rev=a#0f"),
        ('{ path = "dist/p.whl" }', "file", "dist/p.whl"),
        ('{ directory = "../p" }', "directory", "../p"),
        ('{ editable = "p" }', "editable", "p"),
        ('{ virtual = "." }', "virtual", "."),
        ('"registry+https://pypi.example/simple"', "registry", "https://pypi.example/simple"),
        ('"direct+https://files.pypi.example/p.whl"', "url", "https://files.pypi.example/p.whl"),
        ('"editable+."', "editable", "."),
    ],
)
def test_sources(source: str, kind: str, url: str) -> None:
    package = read_source(source)
    assert (package.source, package.url) == (kind, url)


def test_artefacts_of_a_registry() -> None:
    package = read_source(
        '{ registry = "https://pypi.example/simple" }',
        'sdist = { url = "https://files.pypi.example/p-1.tar.gz", hash = "sha256:AB", size = 7 }\n'
        'wheels = [{ url = "https://files.pypi.example/p-1%2Bcpu-py3-none-any.whl#x" }]',
    )
    assert package.artefacts is not None
    sdist, wheel = package.artefacts
    assert (sdist.filename, sdist.hashes, sdist.size_bytes) == (
        "p-1.tar.gz",
        (("sha256", "ab"),),
        7,
    )
    assert sdist.registry == "https://pypi.example/simple"
    assert (wheel.filename, wheel.is_wheel, wheel.hashes) == (
        "p-1+cpu-py3-none-any.whl",
        True,
        (),
    )


def test_artefacts_of_a_registry_that_is_a_folder_are_paths_from_the_lock() -> None:
    package = read_source('{ registry = "../wheels" }', 'wheels = [{ path = "sub/p-1.whl" }]')
    assert package.artefacts is not None
    assert (package.artefacts[0].filename, package.artefacts[0].path) == (
        "p-1.whl",
        "../wheels/sub/p-1.whl",
    )


def test_the_file_of_a_path_or_url_source_is_where_the_source_is() -> None:
    by_path = read_source(
        '{ path = "../p-1.whl" }', 'wheels = [{ filename = "p-1.whl", hash = "sha256:0a" }]'
    )
    by_url = read_source('{ url = "https://x.example/p-1.tar.gz" }', 'sdist = { hash = "md5:1" }')
    assert by_path.artefacts is not None
    assert (by_path.artefacts[0].path, by_path.artefacts[0].filename) == ("../p-1.whl", "p-1.whl")
    assert by_url.artefacts is not None
    assert (by_url.artefacts[0].url, by_url.artefacts[0].filename) == (
        "https://x.example/p-1.tar.gz",
        "p-1.tar.gz",
    )


def test_only_a_registry_is_asked_for_files_that_the_lock_does_not_list() -> None:
    assert read_source('{ registry = "https://pypi.example/simple" }').artefacts is None
    assert read_source('{ directory = "p" }').artefacts == ()


TWO = """
[[package]]
name = "app"
version = "0.1"
source = { virtual = "." }
dependencies = [
    { name = "Moat", version = "1.0", source = { registry = "a" }, marker = "os_name == 'nt'" },
    { name = "moat", version = "2.0", source = { registry = "b" }, extra = ["z", "y"] },
    { name = "moat", source = { registry = "a" } },
    { name = "moat", version = "2.0" },
    { name = "sand" },
    { name = "gone" },
]

[[package]]
name = "moat"
version = "1.0"
source = { registry = "a" }

[[package]]
name = "moat"
version = "2.0"
source = { registry = "b" }

[[package]]
name = "moat"
version = "2.0"
source = { registry = "c" }

[[package]]
name = "sand"
source = { directory = "sand" }
"""


def test_dependencies_are_bound_by_name_version_and_source() -> None:
    package = read_packages(TWO).packages[0]
    assert package.requirements is not None
    assert [(r.text, r.package) for r in package.requirements] == [
        ("moat==1.0 ; os_name == 'nt'", 1),
        ("moat[y,z]==2.0", 2),
        ("moat==1.0", 1),
        ("moat==2.0", None),
        ("sand", 4),
        ("gone", None),
    ]
    first = package.requirements[0]
    assert (first.name, str(first.specifier), first.marker) == (
        "moat",
        "==1.0",
        Marker("os_name == 'nt'"),
    )
    assert first.place == Place(path="uv.lock", key="package[0].dependencies[0]")


def test_optional_dependencies_stand_under_their_extra() -> None:
    snapshot = read(Document(path="u", data=(DATA / "workspace-without-project.lock").read_bytes()))
    delta = snapshot.packages[0]
    assert delta.requirements is not None
    assert [(r.text, r.extra, r.place and r.place.key) for r in delta.requirements] == [
        ("epsilon==1.0", "x", "package[0].optional-dependencies.x[0]"),
        ("gamma==1.0", "y", "package[0].optional-dependencies.y[0]"),
    ]
    assert delta.provides_extra == ("x", "y")
    assert snapshot.packages[3].provides_extra == ("bar", "foo")


def test_markers_of_conflicting_extras_are_kept() -> None:
    snapshot = read(Document(path="u", data=(DATA / "amended-workspace.lock").read_bytes()))
    alpha = snapshot.packages[0]
    assert alpha.requirements is not None
    second = alpha.requirements[1]
    text = "extra != 'extra-4-proj-cpu' or extra == 'extra-4-proj-gpu'"
    assert second.text == f"beta==2.0 ; {text}"
    assert second.marker == Marker(text)
    assert str(snapshot.packages[1].marker) == (
        'sys_platform == "linux" or sys_platform == "darwin"'
    )
    assert snapshot.packages[0].marker is None


@pytest.mark.parametrize(
    "text",
    [
        "os_name == 'a'",
        "os_name == 'a' or os_name == 'b'",
        "(os_name == 'a' or os_name == 'b') and extra == 'x' or extra == 'y'",
        "((os_name == 'a' or os_name == 'b') and extra == 'x') or extra == 'y'",
        "os_name == 'a or b' or os_name == 'c)'",
        "os_name == '(' or os_name == ')'",
    ],
)
def test_markers_mean_what_they_say(text: str) -> None:
    (package,) = read_packages(
        f'[[package]]\nname = "p"\nsource = {{ virtual = "." }}\n'
        f'dependencies = [{{ name = "q", marker = "{text}" }}]'
    ).packages
    assert package.requirements is not None
    marker = package.requirements[0].marker
    assert marker is not None
    for name in ("a", "b", "a or b", "c)", "(", ")", "d"):
        for extra in ("x", "y", ""):
            environment = {"os_name": name, "extra": extra}
            assert marker.evaluate_prepared(environment) == Marker(text).evaluate_prepared(
                environment
            )


def test_old_spellings() -> None:
    snapshot = read(Document(path="u", data=(DATA / "string-sources.lock").read_bytes()))
    app, first, second, water = snapshot.packages
    assert snapshot.problems == ()
    assert app.requirements is not None
    assert [(r.text, r.package) for r in app.requirements] == [
        ("moat==1.0 ; sys_platform == 'darwin'", 1),
        ("moat[deep]==2.0", 2),
    ]
    assert first.artefacts is not None
    assert [(a.filename, a.hashes) for a in first.artefacts] == [
        ("moat-1.0.tar.gz", (("sha256", "00aa"),)),
        ("moat-1.0-py3-none-any.whl", (("sha256", "00bb"),)),
    ]
    assert first.marker == Marker("sys_platform == 'darwin'")
    assert second.marker == Marker("sys_platform == 'linux' or sys_platform == 'win32'")
    assert (second.source, water.source) == ("url", "vcs")
    assert snapshot.roots is not None
    assert snapshot.roots[0].requirement.text == "app==0.1.0"


BAD = """
[[package]]
version = "1.0"

[[package]]
name = "odd"
version = "one"
source = { ftp = "x" }
resolution-markers = ["os_name == 'nt'", "os is nt"]
dependencies = [{ name = "odd" }, 3, { name = "-" }, { name = "odd", marker = "no" }]
optional-dependencies = { x = 3 }
sdist = { size = 3 }
wheels = [
    { url = "https://x.example/a.whl", hash = "abc" },
    { url = "https://x.example/b.whl", size = "3" },
    { url = "https://x.example/c.whl" },
]
metadata = { provides-extras = [1] }
"""


def test_one_bad_member_costs_only_itself() -> None:
    snapshot = read_packages(BAD)
    (package,) = snapshot.packages
    assert [(p.place.key, p.code, p.message, p.package) for p in snapshot.problems] == [
        ("package[0].name", "unreadable-metadata", "expected a string, found nothing", None),
        ("package[1].version", "unreadable-metadata", "expected a version, found 'one'", "odd"),
        (
            "package[1].source",
            "unreadable-metadata",
            "expected one of registry, url, direct, git, path, directory, editable, virtual,"
            " found \"{'ftp': 'x'}\"",
            "odd",
        ),
        (
            "package[1].resolution-markers[1]",
            "unreadable-metadata",
            "expected an environment marker, found 'os is nt'",
            "odd",
        ),
        (
            "package[1].sdist",
            "unreadable-metadata",
            "expected a url, a path or a filename, found none",
            "odd",
        ),
        (
            "package[1].wheels[0].hash",
            "unreadable-metadata",
            "expected algorithm:digest, found 'abc'",
            "odd",
        ),
        (
            "package[1].wheels[1].size",
            "unreadable-metadata",
            "expected an integer, found a string",
            "odd",
        ),
        (
            "package[1].dependencies[1]",
            "unreadable-requirement",
            "expected a table, found an integer",
            "odd",
        ),
        (
            "package[1].dependencies[2].name",
            "unreadable-requirement",
            "expected a project name, found '-'",
            "odd",
        ),
        (
            "package[1].optional-dependencies.x",
            "unreadable-requirement",
            "expected an array, found an integer",
            "odd",
        ),
        (
            "package[1].metadata.provides-extras[0]",
            "unreadable-metadata",
            "expected a string, found an integer",
            "odd",
        ),
    ]
    assert package.artefacts is not None
    assert [a.filename for a in package.artefacts] == ["c.whl"]
    assert package.requirements is not None
    assert [(r.text, r.problem is None) for r in package.requirements] == [
        ("odd", True),
        ("odd ; no", False),
    ]
    assert package.marker is None

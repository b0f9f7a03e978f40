"""What uv.lock says beside its packages: amendments and conflicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from distcycle.model import Snapshot
from distcycle.readers import Document
from distcycle.readers.uv_lock import read

DATA = Path(__file__).parent / "data" / "uv"


def read_manifest(text: str) -> Snapshot:
    return read(Document(path="uv.lock", data=f"version = 1\n{text}".encode()))


def test_amendments() -> None:
    snapshot = read(Document(path="u", data=(DATA / "amended-workspace.lock").read_bytes()))
    assert [
        (a.place.key, a.package, a.version and str(a.version), a.removes, [r.text for r in a.adds])
        for a in snapshot.amendments
    ] == [
        ("manifest.overrides[0]", "alpha", None, ("gamma",), ["gamma>0.1"]),
        (
            "manifest.overrides[1]",
            None,
            None,
            ("delta",),
            ["delta>=0.9 ; sys_platform == 'linux'"],
        ),
        ("manifest.excludes[0]", "beta", "2.0", ("alpha",), []),
        ("manifest.excludes[1]", "tool", None, ("gamma",), []),
        ("manifest.excludes[2]", None, None, ("epsilon",), []),
        (
            "manifest.dependency-metadata[0]",
            "beta",
            "1.0",
            None,
            ["gamma[foo]>=1 ; sys_platform == 'linux'", "delta[x]"],
        ),
    ]
    adds = snapshot.amendments[-1].adds
    assert adds[0].place is not None
    assert adds[0].place.key == "manifest.dependency-metadata[0].requires-dist[0]"


def test_overrides_of_one_project_replace_together() -> None:
    snapshot = read_manifest(
        "manifest.overrides = [\n"
        """{ name = "a", specifier = "<2", marker = "os_name == 'nt'" },\n"""
        """{ name = "b", url = "https://x.example/b.whl" },\n"""
        """{ name = "A", git = "https://forge.example/a", marker = "os_name != 'nt'" },\n"""
        "]"
    )
    assert [(a.removes, [r.text for r in a.adds]) for a in snapshot.amendments] == [
        (
            ("a",),
            [
                "a<2 ; os_name == 'nt'",
                "a @ git+https://forge.example/a ; os_name != 'nt'",
            ],
        ),
        (("b",), ["b @ https://x.example/b.whl"]),
    ]


def test_constraints_amend_nothing() -> None:
    snapshot = read_manifest('manifest.constraints = [{ name = "a", specifier = "<2" }]')
    assert (snapshot.amendments, snapshot.problems) == ((), ())


@pytest.mark.parametrize(
    ("items", "names"),
    [
        (
            '{ package = "Pro.ject", extra = "cpu" }, { package = "b", group = "dev" }',
            ("extra-8-pro-ject-cpu", "group-1-b-dev"),
        ),
        ('{ package = "a" }, { package = "b" }', ("project-1-a", "project-1-b")),
    ],
)
def test_conflicts_are_named_as_in_markers(items: str, names: tuple[str, ...]) -> None:
    assert read_manifest(f"conflicts = [[{items}]]").conflicts == (names,)


@pytest.mark.parametrize("name", ["amended-workspace.lock", "project-conflicts.lock"])
def test_markers_of_real_locks_use_these_names(name: str) -> None:
    text = (DATA / name).read_text()
    (names,) = read(Document(path="u", data=text.encode())).conflicts
    assert all(f"extra == '{name}'" in text for name in names)


def test_bad_entries_are_problems() -> None:
    snapshot = read_manifest(
        'conflicts = [3, [{ extra = "x" }], [{ package = "a", group = "g" }]]\n'
        "[manifest]\n"
        'requirements = [{ name = "" }, "ok>=1", "!"]\n'
        "dependency-groups = 3\n"
        'overrides = [3, { name = "a" }]\n'
        'excludes = [true, "b"]\n'
        "default-groups = 3\n"
        'dependency-metadata = [{ version = "1" }, { name = "m", requires-dist = [3, "ok"] }]\n'
    )
    assert [p.place.key for p in snapshot.problems] == [
        "manifest.requirements[0].name",
        "manifest.requirements[2]",
        "manifest.default-groups",
        "manifest.dependency-groups",
        "conflicts[0]",
        "conflicts[1][0].package",
        "manifest.overrides[0]",
        "manifest.excludes[0]",
        "manifest.dependency-metadata[0].name",
        "manifest.dependency-metadata[1].requires-dist[0]",
    ]
    assert snapshot.conflicts == (("group-1-a-g",),)
    assert [a.removes for a in snapshot.amendments] == [("a",), ("b",), None]
    assert snapshot.roots is not None
    assert [r.requirement.text for r in snapshot.roots] == ["ok>=1"]

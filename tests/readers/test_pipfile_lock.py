from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from corpus import CORPUS, needs_corpus
from hypothesis import given
from hypothesis import strategies as st

from distcycle.errors import InputError, UnsupportedLockVersion
from distcycle.model import Artefact, IndexOptions, Package, Snapshot
from distcycle.readers import Document
from distcycle.readers.pipfile_lock import read

SOURCES = [
    {"name": "main", "url": "https://pypi.example/simple", "verify_ssl": True},
    {"name": "own", "url": "https://${USER}:$PASSWORD@own.example/simple"},
]


def lock(**sections: Any) -> dict[str, Any]:
    meta = {"hash": {}, "pipfile-spec": 6, "requires": {}, "sources": SOURCES}
    return {"_meta": meta, "default": {}, "develop": {}, **sections}


def snapshot(content: object, environ: Mapping[str, str] | None = None) -> Snapshot:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return read(Document(path="Pipfile.lock", data=data, environ=environ or {}))


def only(content: object) -> Package:
    read_in = snapshot(content)
    assert not read_in.problems
    (package,) = read_in.packages
    return package


def test_no_packages() -> None:
    read_in = snapshot(lock())
    assert (read_in.packages, read_in.roots, read_in.problems) == ((), (), ())
    assert (read_in.kind, read_in.syntax, read_in.complete) == ("pipfile-lock", "json", True)


def test_a_package() -> None:
    entry = {
        "hashes": ["sha256:CD", "sha256:ab"],
        "index": "main",
        "extras": ["Y", "x"],
        "markers": "python_version >= '3.8'",
        "version": "==1.0",
    }
    read_in = snapshot(lock(default={"Foo.Bar": entry}))
    (package,) = read_in.packages
    (root,) = read_in.roots or ()
    assert (package.name, str(package.version), package.source) == ("foo-bar", "1.0", "registry")
    assert package.hashes == (("sha256", "ab"), ("sha256", "cd"))
    assert package.url == "https://pypi.example/simple"
    assert str(package.marker) == 'python_version >= "3.8"'
    assert (package.requirements, package.artefacts) == (None, None)
    assert package.place.key == "default.Foo.Bar"
    assert root.default
    assert root.group is None
    assert root.requirement.extras == ("x", "y")
    assert root.requirement.text == "foo-bar[Y,x]==1.0 ; python_version >= '3.8'"


def test_sections_other_than_default_are_groups() -> None:
    entry = {"version": "==1"}
    read_in = snapshot(lock(develop={"foo": entry}, Docs={"bar": entry}))
    assert [(r.requirement.name, r.group, r.default) for r in read_in.roots or ()] == [
        ("foo", "develop", False),
        ("bar", "docs", False),
    ]


@pytest.mark.parametrize(
    ("first", "second", "marker"),
    [
        (None, None, None),
        ("os_name == 'nt'", None, None),
        ("os_name == 'nt'", "os_name == 'nt'", 'os_name == "nt"'),
        (
            "os_name == 'nt'",
            "os_name == 'posix'",
            'os_name == "nt" or os_name == "posix"',
        ),
    ],
)
def test_a_package_in_two_sections_is_one(
    first: str | None, second: str | None, marker: str | None
) -> None:
    def entry(written: str | None, digest: str) -> dict[str, object]:
        return {"version": "==1", "hashes": [digest], **({"markers": written} if written else {})}

    content = lock(
        default={"foo": entry(first, "sha256:aa")}, develop={"foo": entry(second, "sha256:bb")}
    )
    read_in = snapshot(content)
    (package,) = read_in.packages
    assert (str(package.marker) if package.marker else None) == marker
    assert package.hashes == (("sha256", "aa"), ("sha256", "bb"))
    assert len(read_in.roots or ()) == 2


def test_two_versions_under_markers_are_two_packages() -> None:
    content = lock(default={"foo": {"version": "==1"}}, develop={"foo": {"version": "==2"}})
    assert [str(p.version) for p in snapshot(content).packages] == ["1", "2"]


@pytest.mark.parametrize("entry", [{}, {"version": "*"}, {"version": ">=1"}, {"version": "==1.*"}])
def test_a_package_without_version(entry: dict[str, str]) -> None:
    assert only(lock(default={"foo": entry})).version is None


@pytest.mark.parametrize(
    ("entry", "source", "url", "version"),
    [
        ({"git": "https://h/foo", "ref": "ab"}, "vcs", "git+https://h/foo@ab", None),
        ({"git": "https://t:p@h/foo", "editable": True}, "vcs", "git+https://h/foo", None),
        ({"hg": "https://h/foo"}, "vcs", "hg+https://h/foo", None),
        ({"path": ".", "editable": True}, "editable", ".", None),
        ({"path": "./foo"}, "directory", "./foo", None),
        ({"path": "./foo-1.0.tar.gz"}, "file", "./foo-1.0.tar.gz", "1.0"),
        ({"file": "https://h/foo-1.0.zip"}, "url", "https://h/foo-1.0.zip", "1.0"),
    ],
)
def test_direct_references(
    entry: dict[str, object], source: str, url: str, version: str | None
) -> None:
    package = only(lock(default={"foo": entry}))
    assert (package.source, package.url) == (source, url)
    assert (str(package.version) if package.version else None) == version


def test_the_hash_of_a_file_is_that_of_its_artefact() -> None:
    url = "https://h.example/foo-1.0.zip"
    package = only(lock(default={"foo": {"file": url, "hashes": ["sha256:ab"]}}))
    digest = (("sha256", "ab"),)
    assert package.artefacts == (Artefact(filename="foo-1.0.zip", url=url, hashes=digest),)


def test_markers_with_a_key_of_their_own() -> None:
    entry = {
        "version": "==1",
        "sys_platform": "== 'win32'",
        "markers": "python_version < '3' or os_name == 'nt'",
    }
    marker = 'sys_platform == "win32" and (python_version < "3" or os_name == "nt")'
    assert str(only(lock(default={"foo": entry})).marker) == marker


def test_the_indexes_and_their_variables() -> None:
    entries = {"first": {"version": "==1"}, "own": {"version": "==1", "index": "own"}}
    read_in = snapshot(lock(default=entries), {"USER": "u", "PASSWORD": "p"})
    assert [package.url for package in read_in.packages] == [
        "https://pypi.example/simple",
        "https://u:p@own.example/simple",
    ]
    assert read_in.index == IndexOptions()


@pytest.mark.parametrize(
    ("requires", "expected"),
    [
        ({}, "None"),
        ({"python_version": "3.9"}, "==3.9.*"),
        ({"python_version": "3"}, "==3.*"),
        ({"python_version": "*"}, "None"),
        ({"python_version": "3.9", "python_full_version": "3.9.1"}, "==3.9.1"),
    ],
)
def test_requires_python(requires: dict[str, str], expected: str) -> None:
    content = lock()
    content["_meta"]["requires"] = requires
    assert str(snapshot(content).requires_python) == expected


@pytest.mark.parametrize(
    ("sections", "key", "message"),
    [
        ({"foo": []}, "default.foo", "expected a table, found an array"),
        ({"foo bar": {}}, "default.foo bar", "expected a project name as key"),
        (
            {"foo": {"version": 1}},
            "default.foo.version",
            "expected a string, found an integer",
        ),
        (
            {"foo": {"hashes": ["md5:ab"]}},
            "default.foo.hashes[0]",
            "expected sha256: and hex digits, found 'md5:ab'",
        ),
        (
            {"foo": {"index": "nope"}},
            "default.foo.index",
            "expected the name of a source, found 'nope'",
        ),
    ],
)
def test_one_bad_entry_is_a_problem(sections: dict[str, Any], key: str, message: str) -> None:
    read_in = snapshot(lock(default={**sections, "good": {"version": "==1"}}))
    assert read_in.packages[-1].name == "good"
    assert [(p.place.key, p.message) for p in read_in.problems] == [(key, message)]


@pytest.mark.parametrize("entry", [{"version": "==x y"}, {"markers": "nope"}])
def test_an_unreadable_version_or_marker_keeps_the_package(entry: dict[str, str]) -> None:
    read_in = snapshot(lock(default={"foo": entry}))
    assert [(p.name, p.version, p.marker) for p in read_in.packages] == [("foo", None, None)]
    assert [(p.code, p.place.key) for p in read_in.problems] == [
        ("unreadable-requirement", "default.foo")
    ]


def test_an_unreadable_python_is_a_problem() -> None:
    content = lock()
    content["_meta"]["requires"] = {"python_version": "three"}
    read_in = snapshot(content)
    assert read_in.requires_python is None
    assert [p.place.key for p in read_in.problems] == ["_meta.requires.python_version"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"^Pipfile\.lock:1: not valid JSON"),
        (b"\xff", r"^Pipfile\.lock:1: expected UTF-8"),
        (b"[]", r"^Pipfile\.lock: expected a table, found an array"),
        (b"[" * 100_000, "nested too deeply"),
        ({"default": {}}, r"^Pipfile\.lock: _meta: not a Pipfile\.lock"),
        ({"_meta": {}, "default": []}, r"^Pipfile\.lock: default: expected a table"),
        (lock(_meta={"sources": [{}]}), r"^Pipfile\.lock: _meta\.sources\[0\]\.url: expected"),
    ],
)
def test_another_file_is_refused(content: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        snapshot(content)


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(UnsupportedLockVersion, match=r"_meta\.pipfile-spec: .* found 7"):
        snapshot({"_meta": {"pipfile-spec": 7}})


def test_a_mark_and_other_newlines_change_nothing() -> None:
    text = json.dumps(lock(default={"foo": {"version": "==1"}}), indent=4)
    plain = snapshot(text.encode())
    assert snapshot(b"\xef\xbb\xbf" + text.encode()) == plain
    assert snapshot(text.replace("\n", "\r\n").encode()).packages == plain.packages


SAMPLE = json.dumps(
    lock(
        default={"foo": {"version": "==1", "hashes": ["sha256:ab"], "markers": "os_name == 'nt'"}},
        develop={"bar": {"git": "https://h.example/bar", "ref": "ab"}},
    )
).encode()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "foo",
                    "version",
                    "hashes",
                    "markers",
                    "git",
                    "path",
                    "index",
                    "extras",
                    "url",
                    "é b",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["_meta", "default", "develop", "x y"]), VALUES))
def test_any_json_gives_a_snapshot_or_an_input_error(content: dict[str, Any]) -> None:
    try:
        read_in = snapshot({"_meta": {}, **content})
    except InputError:
        return
    assert len(read_in.packages) <= len(read_in.roots or ())


def packages_or_refusal(data: bytes) -> int | str:
    try:
        return len(snapshot(data).packages)
    except InputError as error:
        return error.problem


@given(st.binary(max_size=100))
def test_any_bytes_are_refused(data: bytes) -> None:
    assert isinstance(packages_or_refusal(data), str)


def test_any_truncation_is_refused() -> None:
    answers = [packages_or_refusal(SAMPLE[:end]) for end in range(len(SAMPLE) + 1)]
    assert answers.pop() == 2
    assert all(isinstance(answer, str) for answer in answers)


@needs_corpus
@pytest.mark.parametrize(
    ("name", "entries", "packages"),
    [
        # Entries as the name-level scan counts them; some stand in both sections.
        ("dependabot-editable-Pipfile.lock", 5, 4),
        ("scalibr-no-version.json", 2, 2),
        ("streamlit-extras-Pipfile.lock", 59, 56),
    ],
)
def test_real_files(name: str, entries: int, packages: int) -> None:
    read_in = snapshot((CORPUS / "pipfile" / name).read_bytes())
    assert (len(read_in.roots or ()), len(read_in.packages)) == (entries, packages)
    assert read_in.problems == ()

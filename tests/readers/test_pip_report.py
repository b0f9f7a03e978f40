from __future__ import annotations

import json
from typing import Any

import pytest
from corpus import CORPUS, needs_corpus
from hypothesis import given
from hypothesis import strategies as st

from distcycle.errors import InputError, UnsupportedLockVersion
from distcycle.model import Artefact, Metadata, Package, Snapshot
from distcycle.readers import Document
from distcycle.readers.pip_report import read

ENVIRONMENT = {
    "implementation_name": "cpython",
    "implementation_version": "3.12.3",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_release": "6",
    "platform_system": "Linux",
    "platform_version": "#1",
    "python_full_version": "3.12.3",
    "platform_python_implementation": "CPython",
    "python_version": "3.12",
    "sys_platform": "linux",
}
URL = "https://files.example/foo-1.0-py3-none-any.whl"


def core(name: str = "Foo", **fields: object) -> dict[str, object]:
    return {"metadata_version": "2.1", "name": name, "version": "1.0", **fields}


def inspect(*entries: object, **fields: object) -> dict[str, object]:
    return {
        "version": "1",
        "pip_version": "26.3",
        "installed": list(entries),
        "environment": ENVIRONMENT,
        **fields,
    }


def report(*entries: object) -> dict[str, object]:
    content = inspect(install=list(entries))
    del content["installed"]
    return content


def snapshot(content: object) -> Snapshot:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return read(Document(path="report.json", data=data))


def only(content: object) -> Package:
    read_in = snapshot(content)
    assert not read_in.problems
    (package,) = read_in.packages
    return package


def test_nothing_installed() -> None:
    read_in = snapshot(inspect())
    assert (read_in.packages, read_in.roots, read_in.problems) == ((), (), ())
    assert (read_in.kind, read_in.syntax, read_in.complete) == ("pip-report", "json", True)
    assert read_in.environment == ENVIRONMENT


def test_an_installed_distribution_and_its_metadata() -> None:
    fields = {
        "requires_dist": ["bar (>=1)", "baz[x] ; extra == 'All_of'"],
        "provides_extra": ["All_of", "all-of", "b"],
        "requires_python": ">=3.8",
        "dynamic": ["Requires-Dist"],
    }
    package = only(inspect({"metadata": core(**fields), "requested": False}))
    assert (package.name, str(package.version), package.source) == ("foo", "1.0", "installed")
    assert (package.artefacts, package.requirements) == (None, None)
    assert package.place.key == "installed[0]"
    metadata = package.metadata
    assert isinstance(metadata, Metadata)
    assert (metadata.name, metadata.version, metadata.metadata_version) == ("foo", "1.0", "2.1")
    assert [(r.name, str(r.specifier), r.extras) for r in metadata.requires] == [
        ("bar", ">=1", ()),
        ("baz", "", ("x",)),
    ]
    assert metadata.requires[1].place is not None
    assert metadata.requires[1].place.key == "installed[0].metadata.requires_dist[1]"
    assert metadata.provides_extra == ("all-of", "b")
    assert str(metadata.requires_python) == ">=3.8"
    assert metadata.dynamic == {"requires-dist"}


def test_every_installed_distribution_is_a_root() -> None:
    content = inspect(
        {"metadata": core("a"), "requested": True}, {"metadata": core("b"), "requested": False}
    )
    roots = snapshot(content).roots or ()
    assert [(r.requirement.name, r.requirement.text, r.default) for r in roots] == [
        ("a", "a", True),
        ("b", "b", True),
    ]


def test_a_direct_reference_of_an_installed_distribution() -> None:
    direct = {"url": "https://u:p@h.example/foo", "vcs_info": {"vcs": "git", "commit_id": "ab"}}
    package = only(inspect({"metadata": core(), "direct_url": direct}))
    assert (package.source, package.url) == ("installed", "https://h.example/foo")


def test_a_file_that_pip_would_install() -> None:
    entry = {
        "download_info": {
            "url": URL,
            "archive_info": {"hash": "sha256=ab", "hashes": {"sha256": "ab", "md5": "cd"}},
        },
        "is_direct": False,
        "is_yanked": True,
        "requested": True,
        "metadata": core(requires_dist=["bar"]),
    }
    read_in = snapshot(report(entry))
    (package,) = read_in.packages
    assert (package.source, package.url) == ("registry", None)
    assert package.artefacts == (
        Artefact(
            filename="foo-1.0-py3-none-any.whl", url=URL, hashes=(("sha256", "ab"),), yanked=""
        ),
    )
    assert not read_in.complete


@pytest.mark.parametrize(
    ("info", "source", "url"),
    [
        ({"url": URL, "archive_info": {}}, "url", URL),
        ({"url": "file:///w/foo-1.0.tar.gz", "archive_info": {}}, "file", None),
        ({"url": "https://u:p@h/foo", "vcs_info": {"vcs": "git"}}, "vcs", "https://h/foo"),
        ({"url": "file:///w/foo", "dir_info": {}}, "directory", "file:///w/foo"),
        ({"url": "file:///w/foo", "dir_info": {"editable": True}}, "editable", "file:///w/foo"),
    ],
)
def test_direct_references_in_a_report(info: dict[str, Any], source: str, url: str | None) -> None:
    package = only(report({"metadata": core(), "download_info": info, "is_direct": True}))
    assert (package.source, package.url) == (source, url or info["url"])
    assert (package.artefacts is None) == ("archive_info" not in info)


def test_roots_of_a_report_are_what_was_asked_for() -> None:
    asked = {"metadata": core("a"), "requested": True, "requested_extras": ["Y", "x"]}
    brought = {"metadata": core("b"), "requested": False}
    roots = snapshot(report(asked, brought)).roots or ()
    assert [(r.requirement.text, r.requirement.extras) for r in roots] == [("a[x,y]", ("x", "y"))]
    roots = snapshot(report(brought)).roots or ()
    assert [r.requirement.name for r in roots] == ["b"]


@pytest.mark.parametrize(
    ("entry", "key", "code"),
    [
        ([], "installed[0]", "unreadable-metadata"),
        ({}, "installed[0].metadata", "unreadable-metadata"),
        ({"metadata": {}}, "installed[0].metadata.name", "unreadable-metadata"),
        ({"metadata": core("f oo")}, "installed[0].metadata.name", "unreadable-metadata"),
    ],
)
def test_one_bad_entry_is_a_problem(entry: object, key: str, code: str) -> None:
    read_in = snapshot(inspect(entry, {"metadata": core("good")}))
    assert [p.name for p in read_in.packages] == ["good"]
    assert [(p.place.key, p.code) for p in read_in.problems] == [(key, code)]


@pytest.mark.parametrize(
    ("fields", "key", "code"),
    [
        ({"version": "2004d"}, "version", "unreadable-metadata"),
        ({"requires_python": "three"}, "requires_python", "unreadable-metadata"),
        ({"requires_dist": ["bar", "???"]}, "requires_dist[1]", "unreadable-requirement"),
    ],
)
def test_one_bad_field_keeps_the_rest(fields: dict[str, Any], key: str, code: str) -> None:
    read_in = snapshot(inspect({"metadata": core(**fields)}))
    (package,) = read_in.packages
    assert isinstance(package.metadata, Metadata)
    assert len(package.metadata.requires) == ("requires_dist" in fields)
    (problem,) = read_in.problems
    assert (problem.place.key, problem.code) == (f"installed[0].metadata.{key}", code)
    assert problem.package == "foo"


def test_the_environment_may_have_been_dropped() -> None:
    content = inspect()
    del content["environment"]
    assert snapshot(content).environment is None


@pytest.mark.parametrize("name", sorted(ENVIRONMENT))
def test_part_of_an_environment_is_refused(name: str) -> None:
    environment = {key: value for key, value in ENVIRONMENT.items() if key != name}
    with pytest.raises(InputError, match=rf"environment\.{name}: expected a string, found nothing"):
        snapshot(inspect(environment=environment))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"^report\.json:1: not valid JSON"),
        (b"\xff", r"^report\.json:1: expected UTF-8"),
        (b"[]", r"^report\.json: expected a table, found an array"),
        ({"pip_version": "26"}, r"^report\.json: installed: not from pip"),
        ({"installed": {}}, r"^report\.json: installed: expected an array, found a table"),
    ],
)
def test_another_file_is_refused(content: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        snapshot(content)


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(UnsupportedLockVersion, match="version: expected version 1, found '2'"):
        snapshot(inspect(version="2"))
    assert snapshot(inspect(version="0.2")).packages == ()


SAMPLE = json.dumps(report({"metadata": core(), "download_info": {"url": URL}})).encode()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "name", "version", "requires_dist", "download_info", "url", "hashes"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(["install", "installed"]), st.lists(VALUES, max_size=3))
def test_any_json_gives_a_snapshot(key: str, entries: list[Any]) -> None:
    read_in = snapshot({key: entries})
    assert len(read_in.packages) == len(read_in.roots or ())
    assert len(read_in.packages) + len(read_in.problems) >= len(entries)


@given(st.binary(max_size=100))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        snapshot(data)


def packages_or_refusal(data: bytes) -> int | str:
    try:
        return len(snapshot(data).packages)
    except InputError as error:
        return error.problem


def test_any_truncation_is_refused() -> None:
    answers = [packages_or_refusal(SAMPLE[:end]) for end in range(len(SAMPLE) + 1)]
    assert answers.pop() == 1
    assert all(isinstance(answer, str) for answer in answers)


@needs_corpus
def test_real_files() -> None:
    empty = snapshot((CORPUS / "json" / "pip-report-empty.json").read_bytes())
    assert (empty.packages, empty.problems) == ((), ())
    assert empty.environment is not None
    scancode = snapshot((CORPUS / "json" / "pip-inspect-scancode.json").read_bytes())
    assert [p.name for p in scancode.packages] == ["packaging", "univers", "setuptools"]
    assert scancode.problems == ()
    assert isinstance(scancode.packages[0].metadata, Metadata)
    assert [r.name for r in scancode.packages[0].metadata.requires] == ["pyparsing"]

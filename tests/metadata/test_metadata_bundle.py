import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from distcycle.errors import InputError
from distcycle.metadata import dump_bundle, parse_metadata, read_bundle
from distcycle.model import Artefact, Facts, Metadata, Unknown

DEMO = canonicalize_name("demo")
WHEEL = Artefact(
    filename="demo-1.0-py3-none-any.whl",
    url="https://pypi.example/demo-1.0-py3-none-any.whl",
    hashes=(("md5", "0" * 32), ("sha256", "ab" * 32)),
    size_bytes=0,
    requires_python=SpecifierSet(">=3.8,<4"),
    yanked="",
    metadata_hashes=(),
)

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="@"), max_size=12)
VERSIONS = st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){0,2}(\+[a-z]{2,4})?", fullmatch=True)
NAMES = st.from_regex(r"[a-z]{1,8}", fullmatch=True).map(canonicalize_name)
HASHES = st.dictionaries(st.sampled_from(["md5", "sha256"]), WORDS, max_size=2).map(
    lambda pairs: tuple(sorted(pairs.items()))
)
ARTEFACTS = st.builds(
    Artefact,
    filename=WORDS,
    url=st.none() | WORDS,
    path=st.none() | WORDS,
    registry=st.none() | WORDS,
    hashes=HASHES,
    size_bytes=st.none() | st.integers(min_value=0),
    requires_python=st.none() | VERSIONS.map(lambda v: SpecifierSet(f"=={v}")),
    yanked=st.none() | WORDS,
    metadata_hashes=st.none() | HASHES,
)
LINES = st.sampled_from(
    [
        "Requires-Dist: torch (==2.0) ; sys_platform == 'linux'",
        "Requires-Dist: a[y,x]>=1,<2",
        "Requires-Dist: b @ https://pypi.example/b.whl ; extra == 'e'",
        "Requires-Dist: old >=3.6.*",
        "Requires-Dist: ???",
        "Requires-Python: >=3.8, !=3.9.*",
        "Requires-Python: odd",
        "Provides-Extra: Some_Extra",
        "Dynamic: Requires-Dist",
        "Name: Demo.Pkg",
        "Version: 1.0-beta",
        "not a header",
    ]
)
SAID = st.lists(LINES, max_size=12).map(lambda lines: parse_metadata("\n".join(lines).encode()))
UNKNOWN = st.builds(Unknown, reason=WORDS)
FACTS = st.builds(
    Facts,
    files=st.dictionaries(
        st.tuples(NAMES, VERSIONS.map(Version)),
        st.lists(ARTEFACTS, max_size=3).map(tuple) | UNKNOWN,
        max_size=4,
    ),
    metadata=st.dictionaries(WORDS, SAID | UNKNOWN, max_size=4),
)


@settings(max_examples=40)
@given(FACTS)
def test_what_is_read_equals_what_was_written(facts: Facts) -> None:
    text = dump_bundle(facts)
    again = read_bundle(text, path="b.json").facts
    assert (again.files, again.metadata) == (facts.files, facts.metadata)
    assert dump_bundle(again) == text


def test_order_of_facts_does_not_show() -> None:
    one = {(DEMO, Version(v)): (WHEEL,) for v in ("1.0", "2.0")}
    other = dict(reversed(one.items()))
    assert dump_bundle(Facts(files=one)) == dump_bundle(Facts(files=other))


def test_no_credentials_and_still_found() -> None:
    secret = Artefact(filename="demo-1.0.zip", url="https://me:s3cret@pypi.example/demo-1.0.zip")
    facts = Facts(
        files={(DEMO, Version("1.0")): (secret,)},
        metadata={secret.identity: Metadata(name=DEMO, version="1.0")},
    )
    text = dump_bundle(facts)
    assert "s3cret" not in text
    bundle = read_bundle(text, path="b.json")
    assert bundle.metadata(secret) == Metadata(name=DEMO, version="1.0")
    assert bundle.files(DEMO, Version("1")) is not None
    assert bundle.files(DEMO, Version("2")) is None


def good() -> dict[str, object]:
    facts = Facts(
        files={(DEMO, Version("1.0")): (WHEEL,)},
        metadata={WHEEL.identity: parse_metadata(b"Name: demo\nRequires-Dist: torch\n")},
    )
    content: dict[str, object] = json.loads(dump_bundle(facts))
    return content


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"schema": "distcycle-bundle/9"}, "schema: expected 'distcycle-bundle/1'"),
        ({"files": []}, "files: expected an object"),
        ({"files": {"-x-": {}}}, "files.-x-: expected a project name"),
        ({"files": {"demo": {"one": []}}}, "files.demo.one: expected a version"),
        ({"files": {"demo": {"1": {}}}}, "files.demo.1: expected an array"),
        ({"files": {"demo": {"1": [{}]}}}, "files.demo.1[0].filename: expected a string"),
        (
            {"files": {"demo": {"1": [{"filename": "x", "size_bytes": True}]}}},
            "files.demo.1[0].size_bytes: expected an integer",
        ),
        ({"metadata": {"k": {"requires": ["???"]}}}, "metadata.k.requires: no project name"),
        ({"metadata": {"k": {"requires": 1}}}, "metadata.k.requires: expected an array"),
        ({"metadata": {"k": {"unknown": 1}}}, "metadata.k.unknown: expected a string"),
        (
            {"metadata": {"k": {"requires_python": "odd"}}},
            "metadata.k.requires_python: expected a version specifier",
        ),
    ],
)
def test_bad_bundle_is_one_error_that_says_where(change: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read_bundle(json.dumps({**good(), **change}), path="b.json")
    assert str(caught.value).startswith(f"b.json: {problem}")


def test_truncated_bundle_is_one_error() -> None:
    text = json.dumps(good())
    for length in range(len(text)):
        with pytest.raises(InputError):
            read_bundle(text[:length], path="b.json")


@pytest.mark.parametrize("text", ["[]", "[" * 100_000, '{"schema": ' + "9" * 5000 + "}"])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_bundle(text, path="b.json")

import json
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pypi_simple import ACCEPT_JSON_PREFERRED

from distcycle.errors import MetadataError
from distcycle.metadata import pages
from distcycle.metadata.pages import parse_html, parse_page

JSON = "application/vnd.pypi.simple.v1+json"
URL = "https://pypi.example/simple/demo/"
DIGEST = "ab" * 32


def page(*files: object, version: str = "1.1") -> bytes:
    meta = {"api-version": version}
    return json.dumps({"meta": meta, "name": "demo", "files": list(files)}).encode()


def test_json_file_with_everything() -> None:
    entry = {
        "filename": "demo-1.0-py3-none-any.whl",
        "url": "https://me:s3cret@files.example/demo-1.0-py3-none-any.whl",
        "hashes": {"sha256": DIGEST.upper(), "egg": "demo"},
        "requires-python": ">=3.8",
        "size": 12,
        "yanked": "broken",
        "core-metadata": {"sha256": DIGEST},
    }
    (artefact,) = parse_page(page(entry), JSON, url=URL, project="demo")
    assert artefact.url == "https://files.example/demo-1.0-py3-none-any.whl"
    assert artefact.hashes == (("sha256", DIGEST),)
    assert str(artefact.requires_python) == ">=3.8"
    assert (artefact.size_bytes, artefact.yanked) == (12, "broken")
    assert artefact.metadata_hashes == (("sha256", DIGEST),)


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({}, None),
        ({"core-metadata": False}, None),
        ({"core-metadata": True}, ()),
        ({"dist-info-metadata": {"sha256": DIGEST}}, (("sha256", DIGEST),)),
    ],
)
def test_advertised_metadata(extra: dict[str, object], expected: object) -> None:
    entry = {"filename": "demo-1.0.tar.gz", "url": "../../demo-1.0.tar.gz", "hashes": {}, **extra}
    (artefact,) = parse_page(page(entry), JSON, url=URL, project="demo")
    assert artefact.metadata_hashes == expected
    assert artefact.url == "https://pypi.example/demo-1.0.tar.gz"
    assert artefact.yanked is None


def test_bad_entry_is_left_out() -> None:
    good = {"filename": "demo-1.0.tar.gz", "url": "demo-1.0.tar.gz", "hashes": {}}
    bad = [{}, None, 3, {**good, "hashes": None}, {**good, "filename": "../demo-1.0.tar.gz"}]
    files = parse_page(page(*bad, good), JSON, url=URL, project="demo")
    assert [file.filename for file in files] == ["demo-1.0.tar.gz"]


def test_html() -> None:
    html = f"""
        <!DOCTYPE html><html><head><meta name="pypi:repository-version" content="1.9"></head>
        <a href="../../files/demo-1.0%2Bcu1-py3-none-any.whl#sha256={DIGEST}"
           data-requires-python="&gt;=3.8" data-yanked="" data-core-metadata="sha256={DIGEST}">
           another text</a>
        <a href="demo-1.0.zip#egg=demo" data-dist-info-metadata="true">demo-1.0.zip</a>
        <a href="../">up</a><a>nowhere</a></html>""".encode()
    wheel, sdist = parse_page(html, "text/html; charset=utf-8", url=URL, project="demo")
    assert wheel.filename == "demo-1.0+cu1-py3-none-any.whl"
    assert wheel.url == "https://pypi.example/files/demo-1.0%2Bcu1-py3-none-any.whl"
    assert wheel.hashes == wheel.metadata_hashes == (("sha256", DIGEST),)
    assert str(wheel.requires_python) == ">=3.8"
    assert wheel.yanked == ""
    assert (sdist.hashes, sdist.metadata_hashes, sdist.yanked) == ((), (), None)


@pytest.mark.parametrize(
    ("data", "kind", "problem"),
    [
        (page(version="2.0"), JSON, "version 2.0 is not known"),
        (b"[]", JSON, "not a JSON page"),
        (b"{", JSON, "not a JSON page"),
        (b"", "image/png", "found image/png"),
        (b'<meta name="pypi:repository-version" content="2.0">', "text/html", "2.0"),
        (b'<meta name="pypi:repository-version" content="x">', "text/html", "x"),
    ],
)
def test_what_is_no_page_is_refused(data: bytes, kind: str, problem: str) -> None:
    with pytest.raises(MetadataError, match=problem) as caught:
        parse_page(data, kind, url="https://me:s3cret@pypi.example/x", project="demo")
    assert str(caught.value).startswith("https://pypi.example/x: ")


@given(st.binary(max_size=300), st.sampled_from([JSON, "text/html", "text/html; charset=x"]))
def test_any_bytes_are_a_page_or_refused(data: bytes, kind: str) -> None:
    with suppress(MetadataError):
        assert all(file.filename for file in parse_page(data, kind, url=URL, project="demo"))


def test_page_of_links_without_a_base() -> None:
    files = parse_html(b'<a href="demo-1.0.zip">x</a>', url="file:///wheels/index.html")
    assert files[0].url == "file:///wheels/demo-1.0.zip"


FILE = {"filename": "demo-1.0.tar.gz", "url": "../../files/demo-1.0.tar.gz", "hashes": {}}
NAMES = ("demo-1.0.tar.gz", "demo-1.0-py3-none-any.whl", "demo.exe", "a/demo-1.0.zip", "\ud800.zip")
ODD = st.sampled_from([None, True, False, 0, 1, -1, 1.5, "", "1", "x", "\ud800", [], {}, {"a": 1}])
URLS = st.sampled_from(
    [
        *("../../files/demo-1.0.tar.gz", "demo-1.0.tar.gz", "./x/..", "/a/demo.whl#sha256=ab"),
        *("https://me:pw@h.example/demo.whl", "HTTPS://h.example", "//h.example/a/../demo.whl"),
        *(
            "http://[",
            "a?b/demo.whl",
            " demo.whl",
            "https://h.example/a/b/../demo.whl",
            "?",
            "x/ y",
        ),
        *("mailto:me/demo.whl", "a;b/demo.whl", "#x/demo.whl", "a\tb/demo.whl", "https:/demo.whl"),
    ]
)
MOMENTS = st.sampled_from(
    [
        *("2024-02-03T04:05:06Z", "2024-02-03T04:05:06.123456Z", "2024-02-03T04:05:06.1Z"),
        *("2024-02-30T04:05:06Z", "0000-02-03T04:05:06Z", "2024-02-03", "2024-02-03T24:00:00Z"),
        *("2024-02-03T04:05:06+01:00", "1700000000", "9999-12-31T23:59:60Z"),
    ]
)
DIGESTS = st.sampled_from([{}, {"sha256": DIGEST}, {"SHA256": DIGEST.upper()}, {"md5": "x"}])
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "filename": st.sampled_from(NAMES) | ODD,
        "url": URLS | ODD,
        "hashes": DIGESTS | ODD,
        "requires-python": st.sampled_from([">=3.8", ">=3.8,<4", "nonsense", "\u2265 3"]) | ODD,
        "core-metadata": DIGESTS | ODD,
        "dist-info-metadata": DIGESTS | ODD,
        "yanked": st.sampled_from(["broken", "kaputt, \xfcbrigens"]) | ODD,
        "size": ODD,
        "upload-time": MOMENTS | ODD,
        "gpg-sig": ODD,
        "provenance": st.sampled_from(["https://h.example/a.provenance", "http://", "//h"]) | ODD,
        "requires_python": ODD,
        "upload_time": MOMENTS,
        "core_metadata": DIGESTS,
        "_else": ODD,
    },
)


@given(ENTRIES)
@example({})
@example({"url": "HTTPS://h.example"})
@example({"core-metadata": None, "dist-info-metadata": {"sha256": DIGEST}})
def test_entries_are_read_as_pypi_simple_reads_them(changed: dict[str, object]) -> None:
    entry = {**FILE, **changed}
    found = pages._from_entry(dict(entry), url=URL, project="demo")
    entry.setdefault("core-metadata", entry.get("dist-info-metadata"))
    assert found == pages._from_odd(entry, url=URL, project="demo")


def test_a_plain_page_does_not_need_pypi_simple(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_from_odd", None)
    assert len(parse_page(page(FILE), JSON, url=URL, project="demo")) == 1
    assert pages.ACCEPT == ACCEPT_JSON_PREFERRED

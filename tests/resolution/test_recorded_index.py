"""The recorded index answers as a real one, and uv finds on it what it must."""

from __future__ import annotations

import json
import lzma
import os
import re
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from http.client import HTTPConnection
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from subprocess import PIPE, Popen, run

import pytest
import uv_oracle
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from resolution_cases import (
    EXCLUDE_NEWER,
    TARGETS,
    Case,
    Target,
    find_cases,
    read_case,
)
from uv_oracle import Conflict, ask_uv

from benchmarks.recorded_index import (
    INDEX,
    KINDS,
    File,
    Index,
    Server,
    dump_index,
    read_index,
)
from distcycle.metadata import Library, Options
from distcycle.metadata.core import parse_metadata
from distcycle.metadata.pages import ACCEPT, parse_page
from distcycle.model import Facts, IndexOptions, Metadata, Needs

needs_uv = pytest.mark.skipif(uv_oracle.UV is None, reason="NO UV HERE: nothing was resolved")

CASES = [read_case(path) for path in find_cases()]
PAIRS = [
    pytest.param(case, target, id=f"{case.name}-{target.name}")
    for case in CASES
    for target in case.targets
]
SMALL = [pair for pair in PAIRS if str(pair.id).startswith(("flask", "find-links", "torch-"))]


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(read_index()) as running:
        yield running


class Answer:
    """What a plain client gets: no redirect is followed, nothing is unpacked."""

    def __init__(self, connection: HTTPConnection, path: str, **headers: str) -> None:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("GET", path, headers=fields)
        response = connection.getresponse()
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self.body = response.read()


def get(server: Server, path: str, **headers: str) -> Answer:
    connection = HTTPConnection(server.root.removeprefix("http://"), timeout=20)
    try:
        return Answer(connection, path, **headers)
    finally:
        connection.close()


# The server


def test_a_page_is_one_of_the_simple_api(server: Server) -> None:
    answer = get(server, "/simple/flask/", Accept=ACCEPT)
    assert answer.headers["Cache-Control"] == "max-age=600, public"
    files = parse_page(
        answer.body, answer.headers["Content-Type"], url=f"{server.url}flask/", project="flask"
    )
    assert len(files) == len(read_index().files("flask") or ())
    wheel = next(file for file in files if file.filename == "flask-3.1.3-py3-none-any.whl")
    assert wheel.requires_python == SpecifierSet(">=3.9")
    assert wheel.url == f"{server.root}/files/flask/flask-3.1.3-py3-none-any.whl"
    assert wheel.metadata_hashes
    assert wheel.size_bytes is not None


def test_a_page_has_what_newer_versions_of_the_api_add(server: Server) -> None:
    page = json.loads(get(server, "/simple/requests/").body)
    assert page["meta"] == {"api-version": "1.1"}
    assert {"2.31.0", "2.32.0"} <= set(page["versions"])
    assert all(entry["upload-time"] < EXCLUDE_NEWER for entry in page["files"])
    yanked = {entry["filename"]: entry["yanked"] for entry in page["files"] if entry["yanked"]}
    assert isinstance(yanked["requests-2.32.0-py3-none-any.whl"], str)


def test_every_recorded_metadata_has_the_hash_that_its_page_gives(server: Server) -> None:
    for project in ("torch", "sphinx", "jinja2"):
        page = json.loads(get(server, f"/simple/{project}/").body)
        recorded = [f for f in page["files"] if isinstance(f.get("core-metadata"), dict)]
        assert recorded
        for entry in recorded:
            answer = get(server, f"/files/{project}/{entry['filename']}.metadata")
            assert sha256(answer.body).hexdigest() == entry["core-metadata"]["sha256"]
            said = parse_metadata(answer.body)
            assert said.name == project
            assert not said.problems


def test_wheels_of_one_version_may_say_different_things() -> None:
    index = read_index()
    linux = index.file("torch", "torch-2.0.0-cp311-cp311-manylinux1_x86_64.whl")
    macos = index.file("torch", "torch-2.0.0-cp311-none-macosx_11_0_arm64.whl")
    assert linux is not None
    assert macos is not None
    assert "Requires-Dist: triton (==2.0.0)" in (linux.metadata or "")
    assert macos.metadata
    assert "triton" not in macos.metadata


@pytest.mark.parametrize(
    "path",
    [
        "/simple/there-is-no-such-project/",
        "/files/flask/flask-3.1.3-py3-none-any.whl",
        "/files/flask/flask-0.1.tar.gz.metadata",
        "/files/flask/flask-99-py3-none-any.whl.metadata",
        "/elsewhere",
    ],
)
def test_what_is_not_there_is_404_and_remembered(server: Server, path: str) -> None:
    assert get(server, path).status == 404
    assert server.counts["missing"] == 1
    assert server.missing == (path,)


def test_an_unchanged_page_is_not_sent_again(server: Server) -> None:
    first = get(server, "/simple/flask/")
    again = get(server, "/simple/flask/", If_None_Match=first.headers["ETag"])
    assert (again.status, again.body) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    assert server.counts["pages"] == 2


def test_a_page_is_packed_for_whoever_can_unpack_it(server: Server) -> None:
    plain = get(server, "/simple/flask/")
    packed = get(server, "/simple/flask/", Accept_Encoding="gzip, br")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(packed.body) < len(plain.body) / 3


@pytest.mark.parametrize("path", ["/simple/flask", "/simple/Flask/", "/simple/FLASK"])
def test_other_spellings_of_a_project_are_redirected(server: Server, path: str) -> None:
    answer = get(server, path)
    assert (answer.status, answer.headers["Location"]) == (301, "/simple/flask/")


def test_a_client_that_wants_html_is_told_so(server: Server) -> None:
    assert get(server, "/simple/flask/", Accept="text/html").status == 406


def test_requests_are_counted_by_kind_and_read_over_http(server: Server) -> None:
    get(server, "/simple/flask/")
    get(server, "/files/flask/flask-3.1.3-py3-none-any.whl.metadata")
    get(server, "/simple/nobody/")
    expected = {"pages": 1, "metadata": 1, "other": 0, "missing": 1}
    assert server.counts == expected
    assert json.loads(get(server, "/-/count").body) == expected
    assert json.loads(get(server, "/-/missing").body) == ["/simple/nobody/"]
    assert get(server, "/-/reset").status == 200
    assert server.counts == dict.fromkeys(KINDS, 0)
    assert get(server, "/-/else").status == 404


def test_a_connection_serves_many_requests_at_once_with_others(server: Server) -> None:
    def ask(_: int) -> list[int]:
        connection = HTTPConnection(server.root.removeprefix("http://"), timeout=20)
        try:
            paths = ("/simple/flask/", "/simple/nobody/", "/simple/jinja2/")
            return [Answer(connection, path).status for path in paths]
        finally:
            connection.close()

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(ask, range(32))) == [[200, 404, 200]] * 32
    assert server.counts == {"pages": 64, "metadata": 0, "other": 0, "missing": 32}


def test_answers_are_held_back_side_by_side() -> None:
    with Server(read_index(), delay_s=0.3) as server:
        start = time.monotonic()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: get(server, "/simple/nobody/"), range(8)))
        assert 0.3 <= time.monotonic() - start < 8 * 0.3


def test_a_source_distribution_says_what_is_recorded_of_it() -> None:
    text = "Metadata-Version: 2.2\nName: demo\nVersion: 1.0\nRequires-Dist: flask\n"
    file = File(filename="demo-1.0.tar.gz", size_bytes=9, uploaded_s=1_700_000_000, metadata=text)
    with Server(Index({"demo": [file]}, cutoff=EXCLUDE_NEWER)) as server:
        (entry,) = json.loads(get(server, "/simple/demo/").body)["files"]
        body = get(server, "/files/demo/demo-1.0.tar.gz").body
        assert server.counts["other"] == 1
    assert entry["hashes"]["sha256"] == sha256(body).hexdigest()
    assert entry["size"] == len(body)
    with tarfile.open(fileobj=BytesIO(body)) as archive:
        member = archive.extractfile("demo-1.0/PKG-INFO")
        assert member is not None
        assert member.read().decode() == text


def test_serves_as_a_process_of_its_own() -> None:
    words = [sys.executable, "-m", "benchmarks.recorded_index", "--delay", "0.01"]
    with Popen(words, stdout=PIPE, text=True, cwd=INDEX.parents[3]) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            connection = HTTPConnection(url.split("/")[2], timeout=20)
            assert Answer(connection, "/simple/flask/").status == 200
            connection.close()
        finally:
            process.kill()


def test_our_library_is_served_as_others_are(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    torch, version = canonicalize_name("torch"), Version("2.0.0")
    options = Options(index_url=server.url, cache_dir=None, retries=0)
    with Library(options, environ={"PIP_CONFIG_FILE": os.devnull}) as library:
        needs = Needs(files={(torch, version): None}, metadata=())
        files = library.gather(needs, Facts(), index=IndexOptions()).files[torch, version]
        assert isinstance(files, tuple)
        wheel = next(file for file in files if "cp311-cp311-manylinux1" in file.filename)
        needs = Needs(files={}, metadata=(wheel,))
        said = library.gather(needs, Facts(), index=IndexOptions()).metadata[wheel.identity]
    assert isinstance(said, Metadata)
    assert "triton" in {requirement.name for requirement in said.requires}
    assert server.counts == {"pages": 1, "metadata": 1, "other": 0, "missing": 0}


# What is recorded


def test_a_written_index_is_read_back(tmp_path: Path) -> None:
    plain = File(filename="a-1-py3-none-any.whl", size_bytes=None, uploaded_s=5)
    files = [
        plain,
        replace(plain, filename="a-2.tar.gz", size_bytes=7, uploaded_s=3, yanked=""),
        replace(plain, filename="a-3.tar.gz", requires_python=">=3.9", yanked="bad"),
        replace(plain, filename="a-4-py3-none-any.whl", requires_python=">=3.9", metadata="x\n"),
    ]
    data = dump_index(Index({"b": [], "a": files}, cutoff=EXCLUDE_NEWER))
    path = tmp_path / "index.json.xz"
    path.write_bytes(data)
    again = read_index(path)
    assert again.cutoff == EXCLUDE_NEWER
    assert {name: list(each) for name, each in again.projects.items()} == {"a": files, "b": []}
    assert dump_index(again) == data


def test_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "index.json.xz"
    path.write_bytes(lzma.compress(b'{"format": "recorded-index/9"}'))
    with pytest.raises(ValueError, match=r"expected recorded-index/1, found recorded-index/9"):
        read_index(path)


def test_the_record_is_small_and_names_no_host() -> None:
    assert INDEX.stat().st_size < 800_000
    index = read_index()
    for files in index.projects.values():
        for file in files:
            assert "/" not in file.filename
            assert not re.search(r"https?://", file.metadata or "")


def test_the_cases_use_the_same_targets_and_date_as_the_record() -> None:
    assert read_index().cutoff == EXCLUDE_NEWER
    assert all({target.name for target in case.targets} <= NAMES for case in CASES)
    assert all(case.conflicts <= NAMES for case in CASES)


NAMES = {target.name for target in TARGETS}


# uv


def resolve(case: Case, target: Target, server: Server, folder: Path) -> dict[str, str]:
    found = ask_uv(case, target, server.url, folder)
    assert isinstance(found, dict), found.reason
    return found


def find_case(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


@needs_uv
@pytest.mark.parametrize(("case", "target"), PAIRS)
def test_uv_finds_an_answer_where_there_is_one(
    case: Case, target: Target, server: Server, tmp_path: Path
) -> None:
    found = ask_uv(case, target, server.url, tmp_path)
    assert isinstance(found, Conflict) == (target.name in case.conflicts)
    # What is missing of a project that is recorded is missing in the record.
    assert all(path.startswith("/simple/house-") for path in server.missing)


@needs_uv
@pytest.mark.parametrize(("case", "target"), SMALL)
def test_uv_gives_the_same_answer_twice(
    case: Case, target: Target, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = ask_uv(case, target, server.url, tmp_path / "a")
    assert ask_uv(case, target, server.url, tmp_path / "b") == first


@needs_uv
def test_uv_takes_what_the_platform_requires(server: Server, tmp_path: Path) -> None:
    linux, macos, windows = (
        resolve(find_case("torch"), target, server, tmp_path)
        for target in find_case("torch").targets
    )
    assert linux["triton"] == "2.0.0"
    assert linux["nvidia-cudnn-cu11"] == "8.5.0.96"
    assert macos["torch"] == windows["torch"] == "2.0.0"
    assert not {"triton", "nvidia-cudnn-cu11"} & (macos.keys() | windows.keys())


@needs_uv
def test_uv_takes_what_the_python_admits(server: Server, tmp_path: Path) -> None:
    case = find_case("django-extras")
    found = [resolve(case, target, server, tmp_path)["django"] for target in case.targets]
    assert [Version(version).major for version in found] == [5, 6, 5]


@needs_uv
def test_uv_prefers_the_newest_local_wheel_that_fits(server: Server, tmp_path: Path) -> None:
    case = find_case("find-links")
    found = [resolve(case, target, server, tmp_path) for target in case.targets]
    assert [each["house-core"] for each in found] == ["2.0", "1.0", "1.0"]
    assert {each["itsdangerous"] for each in found} == {"2.2.0+house.1"}


@needs_uv
def test_uv_takes_a_pre_release_only_where_it_must(server: Server, tmp_path: Path) -> None:
    case = find_case("pre-releases")
    found = resolve(case, case.targets[0], server, tmp_path)
    early = {name for name, version in found.items() if Version(version).is_prerelease}
    assert "sqlalchemy" in early
    assert "opentelemetry-instrumentation" in early
    assert "opentelemetry-api" not in early
    assert "black" not in early


@needs_uv
def test_uv_tries_many_versions_before_it_finds_one(server: Server, tmp_path: Path) -> None:
    case = find_case("backtracking")
    found = resolve(case, case.targets[0], server, tmp_path)
    assert found["boto3"].split(".")[:2] == found["botocore"].split(".")[:2]
    assert server.counts["metadata"] > 5 * len(found)


@needs_uv
def test_uv_reads_the_group_that_is_asked_for(server: Server, tmp_path: Path) -> None:
    case = find_case("dependency-group")
    linux, _, windows = (resolve(case, target, server, tmp_path) for target in case.targets)
    assert {"httpx", "h2", "coverage", "pytest", "pytest-xdist"} <= linux.keys()
    assert "mypy" not in linux
    assert "pytest-xdist" not in windows


@needs_uv
def test_uv_takes_a_withdrawn_release_that_is_pinned(server: Server, tmp_path: Path) -> None:
    case = find_case("yanked")
    assert resolve(case, case.targets[0], server, tmp_path)["requests"] == "2.32.0"


# pip


@pytest.mark.skipif(find_spec("pip") is None, reason="NO PIP HERE: nothing was resolved by it")
def test_pip_resolves_without_a_wheel(server: Server, tmp_path: Path) -> None:
    words = [
        *(sys.executable, "-m", "pip", "--isolated", "install", "-q", "--dry-run"),
        *("--disable-pip-version-check", "--no-cache-dir", "--ignore-installed"),
        *("--report", "-", "--only-binary", ":all:", "--python-version", "3.11"),
        *("--platform", "manylinux_2_28_x86_64", "--platform", "manylinux_2_17_x86_64"),
        *("--platform", "manylinux2014_x86_64", "-i", server.url, "flask"),
    ]
    environ = uv_oracle.quiet_environment(tmp_path)
    done = run(
        words,
        capture_output=True,
        check=False,
        text=True,
        cwd=tmp_path,
        env=environ,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    names = {entry["metadata"]["name"].lower() for entry in json.loads(done.stdout)["install"]}
    assert {"flask", "jinja2", "markupsafe", "werkzeug"} <= names
    assert server.counts == {"pages": len(names), "metadata": len(names), "other": 0, "missing": 0}


# On demand: pytest -m network tests/resolution


@pytest.mark.network
@needs_uv
@pytest.mark.parametrize(("case", "target"), PAIRS)
def test_the_default_index_gives_uv_the_same(
    case: Case, target: Target, server: Server, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if "network" not in request.config.getoption("-m"):
        pytest.skip("asks the default index only on demand: pytest -m network")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    recorded = ask_uv(case, target, server.url, tmp_path / "a")
    try:
        live = ask_uv(case, target, None, tmp_path / "b")
    except RuntimeError as error:
        pytest.skip(f"needs a package index: {str(error)[:200]}")
    if isinstance(live, Conflict):
        assert isinstance(recorded, Conflict)
    else:
        assert recorded == live

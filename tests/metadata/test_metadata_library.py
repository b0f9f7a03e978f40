import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from local_index import Reply, Request, Server, make_sdist, make_wheel, metadata_text, sha256
from packaging.utils import canonicalize_name
from packaging.version import Version

from distcycle.errors import MetadataError
from distcycle.metadata import Library, Options, dump_bundle, index, read_bundle
from distcycle.model import Artefact, Facts, IndexOptions, Metadata, Needs, Unknown

Make = Callable[..., Library]

DEMO = canonicalize_name("demo")
WHEEL = "demo-1.0-py3-none-any.whl"
NO_OPTIONS = IndexOptions()
NO_FACTS = Facts()


def files_of(
    library: Library,
    version: str = "1.0",
    project: str = "demo",
    registry: str | None = None,
    given: IndexOptions = NO_OPTIONS,
) -> tuple[Artefact, ...] | Unknown:
    key = canonicalize_name(project), Version(version)
    needs = Needs(files={key: registry}, metadata=())
    return library.gather(needs, NO_FACTS, index=given).files[key]


def said_by(
    library: Library, artefact: Artefact, given: IndexOptions = NO_OPTIONS
) -> Metadata | Unknown:
    needs = Needs(files={}, metadata=(artefact,))
    return library.gather(needs, NO_FACTS, index=given).metadata[artefact.identity]


def requires(said: Metadata | Unknown) -> list[str]:
    assert isinstance(said, Metadata), said
    return [requirement.text for requirement in said.requires]


def reason(said: object) -> str:
    assert isinstance(said, Unknown), said
    return said.reason


def wheel_at(server: Server, data: bytes, filename: str = WHEEL) -> Artefact:
    server.replies[f"/files/{filename}"] = Reply(200, data)
    return Artefact(
        filename=filename,
        url=f"{server.url}/files/{filename}",
        hashes=(("sha256", sha256(data)),),
    )


# Files


def test_files_of_exactly_one_version(library: Make, server: Server) -> None:
    names = [
        "demo-1.0.tar.gz",
        WHEEL,
        "demo-1.0+cu1-py3-none-any.whl",
        "demo-1.0.1-py3-none-any.whl",
        "demo-1.0.post1.tar.gz",
        "demo_other-1.0-py3-none-any.whl",
        "demo-1.0-x.whl",
        "demo-1.0-py2.7.egg",
    ]
    server.add_page("demo", dict.fromkeys(names, b""))
    found = files_of(library(), "1")
    assert isinstance(found, tuple)
    assert [file.filename for file in found] == [WHEEL, "demo-1.0.tar.gz"]
    assert found[0].url == f"{server.url}/files/{WHEEL}"


def test_absent_project_and_absent_version(library: Make, server: Server) -> None:
    server.add_page("demo", {WHEEL: b""})
    assert reason(files_of(library(), "2.0")) == "demo 2.0 is not on the index"
    assert reason(files_of(library(), project="other")) == "other 1.0 is not on the index"


def test_index_that_fails_is_named_without_credentials(library: Make, server: Server) -> None:
    server.replies["/simple/demo/"] = Reply(403)
    secret = f"http://me:s3cret@127.0.0.1:{server.port}/simple"
    found = files_of(library(index_url=secret))
    assert reason(found) == f"{server.url}/simple/demo/: HTTP 403"


def test_indexes_and_links_are_merged(library: Make, server: Server, tmp_path: Path) -> None:
    server.add_page("demo", {WHEEL: b"first"})
    extra = Server()
    extra.add_page("demo", {WHEEL: b"second", "demo-1.0.zip": b""})
    links = tmp_path / "links"
    links.mkdir()
    (links / "demo-1.0.tar.gz").write_bytes(b"third")
    (links / "demo-2.0.tar.gz").write_bytes(b"")
    found = files_of(library(extra_index_urls=(f"{extra.url}/simple",), find_links=(str(links),)))
    extra.close()
    assert isinstance(found, tuple)
    assert [file.filename for file in found] == [WHEEL, "demo-1.0.tar.gz", "demo-1.0.zip"]
    assert found[0].hashes == (("sha256", sha256(b"first")),)
    assert found[1].path == str(links / "demo-1.0.tar.gz")
    assert found[1].identity == f"sha256:{sha256(b'third')}"


def test_links_to_pages_and_to_archives(library: Make, server: Server, tmp_path: Path) -> None:
    server.replies["/all.html"] = Reply(
        200, b'<a href="demo-1.0.tar.gz">x</a>', {"Content-Type": "text/html"}
    )
    page = tmp_path / "page.html"
    page.write_text('<a href="demo-1.0.zip">x</a>')
    archive = f"{server.url}/demo-1.0-py2-none-any.whl"
    found = files_of(
        library(no_index=True, find_links=(f"{server.url}/all.html", str(page), archive))
    )
    assert isinstance(found, tuple)
    assert [file.url for file in found] == [
        archive,
        f"{server.url}/demo-1.0.tar.gz",
        (tmp_path / "demo-1.0.zip").as_uri(),
    ]


def test_place_of_links_that_is_not_there(library: Make, server: Server) -> None:
    server.add_page("demo", {WHEEL: make_wheel("demo", "1.0", "torch")})
    made = library(find_links=("/nowhere/wheels", "file:///nowhere/page.html"))
    assert isinstance(files_of(made), tuple)
    assert reason(files_of(made, "2.0")) == "demo 2.0 is not on the index"
    assert requires(said_by(made, Artefact(filename=WHEEL))) == ["torch"]


def test_file_index(library: Make, tmp_path: Path) -> None:
    data = make_wheel("demo", "1.0", "torch")
    (tmp_path / WHEEL).write_bytes(data)
    (tmp_path / "simple" / "demo").mkdir(parents=True)
    (tmp_path / "simple" / "demo" / "index.html").write_text(
        f'<a href="../../{WHEEL}#sha256={sha256(data)}">{WHEEL}</a>'
    )
    made = library(index_url=(tmp_path / "simple").as_uri(), offline=True)
    found = files_of(made)
    assert isinstance(found, tuple)
    assert requires(said_by(made, found[0])) == ["torch"]
    assert reason(files_of(made, project="other")) == "other 1.0 is not on the index"


def test_registry_of_the_input_is_asked_first(library: Make, server: Server) -> None:
    server.add_page("demo", {WHEEL: b"configured"})
    other = Server()
    other.add_page("demo", {WHEEL: b"other"})
    found = files_of(library(), registry=f"{other.url}/simple")
    other.close()
    assert isinstance(found, tuple)
    assert found[0].hashes == (("sha256", sha256(b"other")),)
    unreachable = files_of(library(cache_dir=None), registry="http://nothing.invalid/simple")
    assert isinstance(unreachable, tuple)
    assert unreachable[0].hashes == (("sha256", sha256(b"configured")),)


def test_registry_that_lacks_the_project_has_the_last_word(library: Make, server: Server) -> None:
    server.add_page("demo", {WHEEL: b""})
    other = Server()
    found = files_of(library(), registry=f"{other.url}/simple")
    other.close()
    assert reason(found) == "demo 1.0 is not on the index"


def test_index_options_of_the_input(library: Make, server: Server) -> None:
    server.add_page("demo", {WHEEL: b""})
    given = IndexOptions(index_url=f"{server.url}/simple")
    assert isinstance(files_of(library(index_url=None), given=given), tuple)


def test_page_is_asked_once_for_all_versions(library: Make, server: Server) -> None:
    server.add_page("demo", {WHEEL: b"", "demo-2.0.zip": b""})
    keys = {(DEMO, Version(v)): None for v in ("1.0", "2.0", "3.0")}
    facts = library().gather(Needs(files=keys, metadata=()), NO_FACTS, index=NO_OPTIONS)
    assert [isinstance(facts.files[key], tuple) for key in keys] == [True, True, False]
    assert server.paths() == ["/simple/demo/"]


def test_old_page_is_revalidated(
    library: Make, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.add_page("demo", {WHEEL: b""})
    page = server.replies["/simple/demo/"]
    assert isinstance(page, Reply)

    def reply(request: Request) -> Reply:
        if request.headers.get("If-None-Match") == '"one"':
            return Reply(304)
        return page._replace(headers={**page.headers, "ETag": '"one"'})

    server.replies["/simple/demo/"] = reply
    first = files_of(library())
    assert files_of(library()) == first
    assert len(server.requests) == 1
    monkeypatch.setattr(index, "_FRESH_S", -1.0)
    assert files_of(library()) == first
    assert server.requests[1].headers["If-None-Match"] == '"one"'


def test_old_page_will_do_for_a_hash_that_is_in_it(
    library: Make, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = make_wheel("demo", "1.0", "torch")
    server.add_page("demo", {WHEEL: data})
    files_of(library())
    monkeypatch.setattr(index, "_FRESH_S", -1.0)
    known = Artefact(filename=WHEEL, hashes=(("sha256", sha256(data)),))
    assert requires(said_by(library(), known)) == ["torch"]
    assert server.paths().count("/simple/demo/") == 1
    other = Artefact(filename=WHEEL, hashes=(("sha256", "0" * 64),))
    assert reason(said_by(library(), other)) == f"{WHEEL} is not on the index"
    assert server.paths().count("/simple/demo/") == 2


# METADATA


def test_metadata_file_is_asked_for_though_not_advertised(library: Make, server: Server) -> None:
    wheel = wheel_at(server, make_wheel())
    server.replies[f"/files/{WHEEL}.metadata"] = Reply(200, metadata_text("demo", "1.0", "torch"))
    assert requires(said_by(library(), wheel)) == ["torch"]
    assert server.paths() == [f"/files/{WHEEL}.metadata"]


def test_range_of_the_wheel_when_there_is_no_metadata_file(library: Make, server: Server) -> None:
    wheel = wheel_at(server, make_wheel("demo", "1.0", "torch", padding_bytes=3_000_000))
    assert requires(said_by(library(), wheel)) == ["torch"]
    assert server.paths() == [f"/files/{WHEEL}.metadata", *[f"/files/{WHEEL}"] * 2]


def test_page_that_is_no_metadata_is_passed_over(library: Make, server: Server) -> None:
    wheel = wheel_at(server, make_wheel("demo", "1.0", "torch"))
    server.replies[f"/files/{WHEEL}.metadata"] = Reply(200, b"<html>welcome</html>")
    assert requires(said_by(library(), wheel)) == ["torch"]


def test_host_without_metadata_files_is_not_asked_for_ever(library: Make, server: Server) -> None:
    names = [f"demo-1.{n}-py3-none-any.whl" for n in range(9)]
    wheels = [wheel_at(server, make_wheel("demo", f"1.{n}"), f) for n, f in enumerate(names)]
    needs = Needs(files={}, metadata=tuple(wheels))
    facts = library(concurrency=1).gather(needs, NO_FACTS, index=NO_OPTIONS)
    assert all(isinstance(said, Metadata) for said in facts.metadata.values())
    assert sum(path.endswith(".metadata") for path in server.paths()) == 3


def test_advertised_metadata_must_match_its_hash(library: Make, server: Server) -> None:
    text = metadata_text("demo", "1.0", "torch")
    wheel = wheel_at(server, make_wheel())
    server.replies[f"/files/{WHEEL}.metadata"] = Reply(200, text)
    good = Artefact(filename=WHEEL, url=wheel.url, metadata_hashes=(("sha256", sha256(text)),))
    bad = Artefact(filename=WHEEL, url=wheel.url, metadata_hashes=(("sha256", "0" * 64),))
    assert requires(said_by(library(), good)) == ["torch"]
    assert "does not match its hash" in reason(said_by(library(), bad))


def test_small_wheel_is_taken_whole_from_a_server_without_ranges(
    library: Make, server: Server
) -> None:
    server.ranges = False
    data = make_wheel("demo", "1.0", "torch")
    assert requires(said_by(library(), wheel_at(server, data))) == ["torch"]
    large = wheel_at(server, make_wheel("big", "1.0", padding_bytes=3_000_000), "big-1.0-x-x-x.whl")
    assert "sends no parts of it" in reason(said_by(library(), large))


def test_whole_file_with_another_hash_ends_the_run(library: Make, server: Server) -> None:
    server.ranges = False
    wheel = wheel_at(server, make_wheel("demo", "1.0", "torch"))
    server.replies[f"/files/{WHEEL}"] = Reply(200, make_wheel("demo", "1.0", "other"))
    with pytest.raises(MetadataError, match=f"{WHEEL} does not have the hash"):
        said_by(library(), wheel)


def test_source_distribution(library: Make, server: Server) -> None:
    data = make_sdist({"demo-1.0/PKG-INFO": metadata_text("demo", "1.0", "torch")})
    sdist = wheel_at(server, data, "demo-1.0.tar.gz")
    assert requires(said_by(library(), sdist)) == ["torch"]
    assert server.paths() == ["/files/demo-1.0.tar.gz"]


def test_local_wheel(library: Make, server: Server, tmp_path: Path) -> None:
    data = make_wheel("demo", "1.0", "torch")
    path = tmp_path / WHEEL
    path.write_bytes(data)
    good = Artefact(filename=WHEEL, path=str(path), hashes=(("sha256", sha256(data)),))
    assert requires(said_by(library(), good)) == ["torch"]
    bad = Artefact(filename=WHEEL, path=str(path), hashes=(("sha256", "0" * 64),))
    with pytest.raises(MetadataError, match=f"{path}: {WHEEL} does not have the hash"):
        said_by(library(), bad)
    assert server.requests == []


def test_broken_and_missing_local_files_are_unknown(library: Make, tmp_path: Path) -> None:
    broken = tmp_path / WHEEL
    broken.write_bytes(b"PK")
    assert "not a readable wheel" in reason(
        said_by(library(), Artefact(filename=WHEEL, path=str(broken)))
    )
    missing = Artefact(filename=WHEEL, path=str(tmp_path / "missing.whl"))
    assert "No such file" in reason(said_by(library(), missing))


def test_links_folder_serves_the_same_file_only(
    library: Make, server: Server, tmp_path: Path
) -> None:
    links = tmp_path / "links"
    links.mkdir()
    mine = make_wheel("demo", "1.0", "mine")
    (links / WHEEL).write_bytes(mine)
    same = Artefact(filename=WHEEL, hashes=(("sha256", sha256(mine)),))
    assert requires(said_by(library(find_links=(str(links),)), same)) == ["mine"]
    other = wheel_at(server, make_wheel("demo", "1.0", "theirs"))
    assert requires(said_by(library(find_links=(str(links),)), other)) == ["theirs"]


def test_unreachable_url_falls_back_to_the_index(library: Make, server: Server) -> None:
    data = make_wheel("demo", "1.0", "torch")
    server.add_page("demo", {WHEEL: data})
    hashes = (("sha256", sha256(data)),)
    for url in (None, f"http://nothing.invalid/{WHEEL}", f"{server.url}/gone/{WHEEL}"):
        locked = Artefact(filename=WHEEL, url=url, hashes=hashes)
        assert requires(said_by(library(cache_dir=None), locked)) == ["torch"]


def test_reasons_name_every_way_that_was_tried(library: Make, server: Server) -> None:
    server.replies["/simple/demo/"] = Reply(403)
    lost = Artefact(filename=WHEEL, url=f"http://me:s3cret@nothing.invalid/{WHEEL}?sig=s3cret")
    assert reason(said_by(library(), lost)) == (
        f"http://nothing.invalid/{WHEEL}: there is no such host; "
        f"{server.url}/simple/demo/: HTTP 403"
    )


@pytest.mark.parametrize("url", ["git+https://x.example/demo.git", "ssh://x/demo.whl"])
def test_url_that_is_no_file(library: Make, url: str) -> None:
    assert "not an http, https or file URL" in reason(
        said_by(library(no_index=True), Artefact(filename=WHEEL, url=url))
    )


@pytest.mark.parametrize(
    "artefact",
    [
        Artefact(filename=WHEEL, url="https://[broken/x.whl"),
        Artefact(filename=WHEEL, url="http://"),
        Artefact(filename=WHEEL, url="file://elsewhere/x.whl"),
        Artefact(filename=WHEEL, path="a\0b"),
        Artefact(filename="", url=""),
        Artefact(filename="x", hashes=(("sha256", "\u00e9"), ("shake_128", "0"))),
    ],
)
def test_nonsense_in_a_lock_is_unknown(library: Make, artefact: Artefact) -> None:
    text = reason(said_by(library(), artefact))
    assert text
    assert "\n" not in text


# Cache, offline, bundle


def test_second_run_asks_nothing(library: Make, server: Server) -> None:
    wheel = wheel_at(server, make_wheel("demo", "1.0", "torch"))
    first = said_by(library(), wheel)
    count = len(server.requests)
    assert said_by(library(), wheel) == first
    assert len(server.requests) == count


def test_hostile_lock_does_not_reach_other_locks(library: Make, server: Server) -> None:
    data = make_wheel("demo", "1.0", "torch")
    server.add_page("demo", {WHEEL: data})
    hostile = Server()
    planted = wheel_at(hostile, b"")
    hostile.replies[f"/files/{WHEEL}.metadata"] = Reply(200, metadata_text("demo", "1.0"))
    hashes = (("sha256", sha256(data)),)
    assert (
        requires(said_by(library(), Artefact(filename=WHEEL, url=planted.url, hashes=hashes))) == []
    )
    hostile.close()
    assert requires(said_by(library(), Artefact(filename=WHEEL, hashes=hashes))) == ["torch"]


def test_offline_opens_no_socket(
    library: Make, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = make_wheel("demo", "1.0", "torch")
    server.add_page("demo", {WHEEL: data})
    online = library()
    files = files_of(online)
    assert isinstance(files, tuple)
    said = said_by(online, files[0])

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(index, "_FRESH_S", -1.0)
    offline = library(offline=True)
    assert files_of(offline) == files
    assert said_by(offline, files[0]) == said
    assert said_by(offline, Artefact(filename=WHEEL, hashes=files[0].hashes)) == said
    assert "offline" in reason(files_of(offline, project="other"))
    new = Artefact(
        filename="new-1.0-py3-none-any.whl", url=f"{server.url}/new-1.0-py3-none-any.whl"
    )
    assert "not in the cache, and offline" in reason(said_by(offline, new))


def test_bundle_answers_alone(library: Make, server: Server) -> None:
    wheel = wheel_at(server, make_wheel("demo", "1.0", "torch"))
    server.add_page("demo", {WHEEL: make_wheel()})
    lost = Artefact(filename="lost-1.0-py3-none-any.whl")
    needs = Needs(
        files={(DEMO, Version("1.0")): None, (DEMO, Version("9")): None}, metadata=(wheel, lost)
    )
    facts = library().gather(needs, NO_FACTS, index=NO_OPTIONS)
    text = dump_bundle(facts)
    count = len(server.requests)
    bundle = read_bundle(text, path="b.json")
    again = library(cache_dir=None, bundle=bundle).gather(needs, NO_FACTS, index=NO_OPTIONS)
    assert again == facts
    assert dump_bundle(again) == text
    assert len(server.requests) == count


def test_facts_that_are_had_are_not_sought(library: Make, server: Server) -> None:
    lost = Artefact(filename=WHEEL)
    facts = Facts(
        files={(DEMO, Version("1.0")): ()}, metadata={WHEEL: Metadata(name=DEMO, version="1.0")}
    )
    needs = Needs(files={(DEMO, Version("1.0")): None}, metadata=(lost,))
    assert library().gather(needs, facts, index=NO_OPTIONS) == facts
    assert server.requests == []


# The run as a whole


def test_progress_counts_every_fact(library: Make, server: Server) -> None:
    server.add_page("demo", {WHEEL: make_wheel()})
    seen: list[tuple[int, int]] = []
    needs = Needs(files={(DEMO, Version("1.0")): None}, metadata=(Artefact(filename=WHEEL),))
    made = library(progress=lambda done, total: seen.append((done, total)))
    made.gather(needs, NO_FACTS, index=NO_OPTIONS)
    assert seen == [(1, 2), (2, 2)]


def test_requests_run_at_the_same_time(library: Make, server: Server) -> None:
    def slow(_: Request) -> Reply:
        time.sleep(0.2)
        return Reply(404)

    names = [f"p{n}" for n in range(8)]
    for name in names:
        server.replies[f"/simple/{name}/"] = slow
    needs = Needs(
        files={(canonicalize_name(name), Version("1")): None for name in names}, metadata=()
    )
    start = time.monotonic()
    library(concurrency=8).gather(needs, NO_FACTS, index=NO_OPTIONS)
    assert time.monotonic() - start < 1.0


def test_error_names_the_first_file_on_every_run(library: Make, tmp_path: Path) -> None:
    broken = []
    for name in ("b", "a", "c"):
        path = tmp_path / f"{name}-1.0-py3-none-any.whl"
        path.write_bytes(make_wheel(name))
        digest = {"a": "1", "b": "2", "c": "3"}[name] * 64
        broken.append(Artefact(filename=path.name, path=str(path), hashes=(("sha256", digest),)))
    for _ in range(5):
        with pytest.raises(MetadataError, match=r"a-1\.0-py3-none-any\.whl does not"):
            library().gather(Needs(files={}, metadata=tuple(broken)), NO_FACTS, index=NO_OPTIONS)


def test_credentials_of_the_index_reach_its_files(library: Make, server: Server) -> None:
    data = make_wheel("demo", "1.0", "torch")
    server.add_page("demo", {WHEEL: data})
    secret = f"http://me:s3cret@127.0.0.1:{server.port}/simple"
    made = library(index_url=secret)
    files = files_of(made)
    assert isinstance(files, tuple)
    assert "s3cret" not in repr(files)
    assert requires(said_by(made, files[0])) == ["torch"]
    assert all("Authorization" in request.headers for request in server.requests)


def test_pip_configuration_is_heeded(server: Server, tmp_path: Path) -> None:
    server.add_page("demo", {WHEEL: b""})
    config = tmp_path / "pip.conf"
    config.write_text(f"[global]\nindex-url = {server.url}/simple\n")
    with Library(Options(cache_dir=None), environ={"PIP_CONFIG_FILE": str(config)}) as made:
        assert isinstance(files_of(made), tuple)


def test_import_is_light() -> None:
    heavy = ("requests", "urllib3", "pypi_simple", "bs4", "pydantic", "platformdirs")
    code = f"import sys, distcycle.metadata; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout == "[]\n"


# The real index, as this machine's pip reaches it


@pytest.mark.network
def test_flagship_wheels(tmp_path: Path) -> None:
    torch, triton = canonicalize_name("torch"), canonicalize_name("triton")
    version = Version("2.0.0")
    with Library(Options(cache_dir=tmp_path)) as made:
        needs = Needs(files={(torch, version): None, (triton, version): None}, metadata=())
        facts = made.gather(needs, NO_FACTS, index=NO_OPTIONS)
        listed = facts.files[torch, version]
        if isinstance(listed, Unknown):
            pytest.skip(f"needs a package index: {listed.reason}")
        linux = next(f for f in listed if "cp311-cp311-manylinux1_x86_64" in f.filename)
        macos = next(f for f in listed if "cp311-none-macosx_11_0_arm64" in f.filename)
        other = facts.files[triton, version]
        assert isinstance(other, tuple)
        wheels = (linux, macos, other[0])
        said = made.gather(Needs(files={}, metadata=wheels), facts, index=NO_OPTIONS).metadata
        assert any(line.startswith("triton") for line in requires(said[linux.identity]))
        assert not any(line.startswith("triton") for line in requires(said[macos.identity]))
        assert "torch" in requires(said[other[0].identity])


@pytest.mark.network
def test_wheel_without_a_metadata_file(tmp_path: Path) -> None:
    project, version = canonicalize_name("streamlit-extras"), Version("0.6.0")
    with Library(Options(cache_dir=tmp_path)) as made:
        found = files_of(made, "0.6.0", "streamlit-extras")
        if isinstance(found, Unknown):
            pytest.skip(f"needs a package index: {found.reason}")
        said = said_by(made, next(file for file in found if file.is_wheel))
        assert isinstance(said, Metadata)
        assert (said.name, said.version) == (project, str(version))
        assert said.requires
    assert json.loads(dump_bundle(Facts(metadata={"x": said})))["metadata"]["x"]["requires"]

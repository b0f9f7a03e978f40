"""``--imports`` as a process: what is read, what is said of each edge, and by which form."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import documentation
import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from distcycle.metadata import Library, Options
from distcycle.metadata.cache import Cache
from distcycle.model import Facts, IndexOptions, Needs, Unknown
from distcycle.scans import Scanner
from distcycle.trees import open_installed

Run = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "imports.md"
HERE = ("--platform", "linux_x86_64", "--python-version", "3.12", "--no-policy")
WHEELS = ("--no-index", "--find-links", "wheels")

EGG = {"egg/__init__.py": "def boil():\n    import hen\n", "egg/yolk.py": "x = 1\n"}
HEN = {
    "hen/__init__.py": "import os\n\nimport egg  # noqa: F401\n",
    "hen/wing.py": "from egg.yolk import x\n",
}


def digest(text: str) -> str:
    value = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def wheel(
    folder: Path,
    name: str,
    files: Mapping[str, str],
    requires: tuple[str, ...] = (),
    *,
    version: str = "1.0",
    tags: str = "py3-none-any",
    padding: int = 0,
) -> Path:
    """Make a wheel of some modules, with its RECORD."""
    folder.mkdir(exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {line}" for line in requires]
    members = {**files, f"{stem}.dist-info/METADATA": "\n".join([*lines, ""])}
    if padding:
        members[f"{stem}.data/data/blob"] = "\n".join(map(str, range(padding)))
    record = "".join(f"{path},{digest(text)},{len(text)}\n" for path, text in members.items())
    members[f"{stem}.dist-info/RECORD"] = record
    path = folder / f"{stem}-{tags}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in members.items():
            archive.writestr(zipfile.ZipInfo(member, (2026, 1, 1, 0, 0, 0)), text)
    return path


@pytest.fixture
def loop(tmp_path: Path) -> Path:
    """A folder of wheels: egg imports hen in a function, hen imports egg at once."""
    folder = tmp_path / "wheels"
    wheel(folder, "egg", EGG, ("hen",))
    wheel(folder, "hen", HEN, ("egg",))
    return folder


def report_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def evidence_of(done: subprocess.CompletedProcess[str]) -> dict[tuple[str, str], dict[str, Any]]:
    (component,) = report_of(done)["components"]
    return {(each["source"], each["target"]): each for each in component["evidence"]}


def findings_of(done: subprocess.CompletedProcess[str], code: str) -> list[dict[str, Any]]:
    return [finding for finding in report_of(done)["findings"] if finding["code"] == code]


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)


# Verdicts ----------------------------------------------------------------------------------------


def test_each_edge_has_its_evidence(distcycle: Run, loop: Path) -> None:
    done = distcycle("audit", loop, "--imports", "--no-index", *HERE, "--format", "json")
    assert (done.returncode, done.stderr) == (1, "")
    found = evidence_of(done)
    assert list(found) == [("egg", "hen"), ("hen", "egg")]
    safe, hard = found.values()
    assert (safe["verdict"], safe["files"], safe["failing"]) == ("safe", 2, [])
    assert safe["reason"] == "1 import in 1 file, none needed at import time"
    assert safe["read_from"] == "egg-1.0-py3-none-any.whl"
    assert safe["notes"] == ["1 import is made when a function is called, and fail there"]
    assert safe["sites"] == [
        {
            "module": "egg",
            "path": "egg/__init__.py",
            "line": 2,
            "text": "import hen",
            "kind": "lazy",
            "modifiers": [],
            "scope": "boil",
            "condition": "",
        }
    ]
    assert hard["verdict"] == "safe-if-co-installed"
    assert hard["reason"] == (
        f"hen/__init__.py:3 imports egg; {loop / 'egg-1.0-py3-none-any.whl'} brings egg wherever "
        "hen is"
    )
    assert (hard["failing"], hard["path"]) == (
        ["hen", "hen.wing"],
        ["hen/__init__.py:3: import egg"],
    )
    assert "never used by name" in hard["notes"][0]


def test_without_the_flag_nothing_is_read(distcycle: Run, loop: Path) -> None:
    done = distcycle("audit", loop, "--no-index", *HERE, "--format", "json")
    assert evidence_of(done) == {}


def test_text_says_one_line_for_each_edge_and_with_v_the_sites(distcycle: Run, loop: Path) -> None:
    words = ("audit", "wheels", "--imports", "--no-index", *HERE)
    text = plain(distcycle(*words).stdout)
    assert "egg -> hen: safe to cut by imports: 1 import in 1 file, none needed" in text
    assert "hen -> egg: safe-if-co-installed: hen/__init__.py:3 imports egg; wheels" in text
    assert "import hen (lazy, in boil)" not in text
    text = plain(distcycle(*words, "-v").stdout)
    assert "egg/__init__.py:2: import hen (lazy, in boil)" in text
    assert "read: egg-1.0-py3-none-any.whl" in text


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_other_forms_say_it_too(form: str, distcycle: Run, loop: Path) -> None:
    done = distcycle("audit", loop, "--imports", "--no-index", *HERE, "--format", form)
    assert "safe to cut by imports" in done.stdout
    assert "safe-if-co-installed" in done.stdout


def test_a_saved_report_is_shown_the_same(distcycle: Run, loop: Path, tmp_path: Path) -> None:
    words = ("audit", loop, "--imports", "--no-index", *HERE)
    saved = distcycle(*words, "--format", "json:report.json", "--format", "text").stdout
    assert "--imports" in json.loads((tmp_path / "report.json").read_text())["tool"]["command"]
    assert distcycle("render", "report.json").stdout == saved


def test_what_no_other_way_brings_is_unsafe_to_cut(distcycle: Run, loop: Path) -> None:
    words = ("--imports", "--resolve", *WHEELS, *HERE)
    found = evidence_of(distcycle("audit", "hen>=1", *words, "--format", "json"))
    assert found["hen", "egg"]["verdict"] == "unsafe"
    assert found["hen", "egg"]["reason"] == "hen/__init__.py:3 imports egg"
    assert found["egg", "hen"]["verdict"] == "safe"


def test_another_way_is_told(distcycle: Run, loop: Path) -> None:
    wheel(loop, "nest", {"nest.py": ""}, ("egg", "hen"))
    found = evidence_of(
        distcycle(
            *("audit", "nest>=1", "--imports", "--resolve", *WHEELS, *HERE, "--format", "json")
        )
    )
    assert found["hen", "egg"]["reason"].endswith("(nest -> egg) brings egg wherever hen is")


def test_another_way_that_is_not_always_there_does_not_do(distcycle: Run, loop: Path) -> None:
    wheel(loop, "nest", {"nest.py": ""}, ('egg; sys_platform == "win32"', "hen"))
    words = ("audit", "nest>=1", "--imports", "--resolve", *WHEELS, "--no-policy")
    words += ("--platform", "linux_x86_64", "--platform", "windows_amd64")
    done = distcycle(*words, "--python-version", "3.12", "--format", "json")
    assert evidence_of(done)["hen", "egg"]["verdict"] == "unsafe"


def test_safe_partly_names_what_fails(distcycle: Run, tmp_path: Path) -> None:
    wheel(tmp_path / "wheels", "egg", EGG, ("hen",))
    wheel(tmp_path / "wheels", "hen", {"hen/__init__.py": "", "hen/a.py": "import egg"}, ("egg",))
    done = distcycle("audit", "wheels", "--imports", "--no-index", *HERE, "--format", "json")
    found = evidence_of(done)["hen", "egg"]
    assert (found["verdict"], found["failing"]) == ("safe-partly", ["hen.a"])
    assert found["reason"] == "public entry points work; 1 of 2 modules need egg: hen.a"


def test_what_cannot_be_parsed_is_unknown(distcycle: Run, tmp_path: Path) -> None:
    wheel(tmp_path / "wheels", "egg", {"egg/__init__.py": "import hen\ndef"}, ("hen",))
    wheel(tmp_path / "wheels", "hen", HEN, ("egg",))
    done = distcycle("audit", "wheels", "--imports", "--no-index", *HERE, "--format", "json")
    found = evidence_of(done)["egg", "hen"]
    assert found["verdict"] == "unknown"
    assert found["reason"].startswith("egg/__init__.py could not be parsed: ")


def test_import_names_are_those_of_the_files(distcycle: Run, tmp_path: Path) -> None:
    wheel(tmp_path / "wheels", "egg-lib", {"eggs.py": "import cluck.deep"}, ("hen-lib",))
    wheel(
        tmp_path / "wheels", "hen-lib", {"cluck/deep.py": "import hen_lib, egg_lib"}, ("egg-lib",)
    )
    done = distcycle("audit", "wheels", "--imports", "--no-index", *HERE, "--format", "json")
    found = evidence_of(done)
    assert [site["text"] for site in found["egg-lib", "hen-lib"]["sites"]] == ["import cluck.deep"]
    assert found["hen-lib", "egg-lib"]["reason"] == "no module imports egg-lib"


# What is read ------------------------------------------------------------------------------------


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder of wheels as an index, with their sizes, and ranges of them."""

    folder: Path

    def log_message(self, *_arguments: Any) -> None: ...

    def do_GET(self) -> None:
        name = self.path.strip("/").rpartition("/")[2]
        if name.endswith(".whl"):
            self._send_file((self.folder / name).read_bytes())
            return
        files = [
            {
                "filename": path.name,
                "url": f"/files/{path.name}",
                "hashes": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()},
                "size": path.stat().st_size,
            }
            for path in sorted(self.folder.glob(f"{name}-*.whl"))
        ]
        page = {"meta": {"api-version": "1.1"}, "name": name, "files": files, "versions": ["1.0"]}
        self._send(200 if files else 404, json.dumps(page).encode())

    def _send_file(self, data: bytes) -> None:
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if match is None:
            self._send(200, data)
            return
        first, last = match.groups()
        start = int(first) if first else max(0, len(data) - int(last))
        end = min(int(last) if first and last else len(data) - 1, len(data) - 1)
        span = f"bytes {start}-{end}/{len(data)}"
        self._send(206, data[start : end + 1], ("Content-Range", span))

    def _send(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
        self.send_header("Content-Length", str(len(body)))
        for header in headers:
            self.send_header(*header)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def serve() -> Iterator[Callable[[Path], str]]:
    servers = []

    def start(folder: Path) -> str:
        handler = type("Serving", (Handler,), {"folder": folder})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/simple/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def lock(tmp_path: Path, folder: str = "wheels") -> None:
    (tmp_path / "requirements.txt").write_text("egg==1.0\nhen==1.0\n")
    assert (tmp_path / folder).is_dir()


@pytest.mark.usefixtures("loop")
def test_a_wheel_for_another_platform_serves(distcycle: Run, tmp_path: Path) -> None:
    (tmp_path / "wheels" / "egg-1.0-py3-none-any.whl").unlink()
    linux = wheel(tmp_path / "wheels", "egg", EGG, ("hen",), tags="cp312-cp312-linux_x86_64")
    other = {**EGG, "egg/yolk.py": "x = 2\n"}
    wheel(tmp_path / "wheels", "egg", other, ("hen",), tags="cp312-cp312-win_amd64")
    words = ("audit", "wheels", "--imports", "--no-index", *HERE, "--format", "json")
    assert evidence_of(distcycle(*words))["egg", "hen"]["read_from"] == linux.name


def test_what_is_not_here_is_unknown_and_says_how_to_have_it(
    distcycle: Run, loop: Path, tmp_path: Path
) -> None:
    words = ("audit", "requirements.txt", "--imports", *HERE, "--format", "json")
    lock(tmp_path)
    distcycle("bundle", "requirements.txt", *WHEELS, "-o", "facts.json")
    for path in loop.iterdir():
        path.unlink()
    found = evidence_of(distcycle(*words, "--bundle", "facts.json", "--offline"))
    assert {each["verdict"] for each in found.values()} == {"unknown"}
    reason = found["egg", "hen"]["reason"]
    assert reason.startswith("egg-1.0-py3-none-any.whl")
    assert "--find-links" in reason
    assert "--allow-download" in reason


def test_an_environment_is_read_as_it_is_installed(distcycle: Run, tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    for path in (
        wheel(tmp_path / "wheels", "egg", EGG, ("hen",)),
        wheel(tmp_path / "wheels", "hen", HEN, ("egg",)),
        wheel(tmp_path / "wheels", "fox", {"fox.py": "import egg, json\ndef f():\n import hen"}),
    ):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(site)
    words = ("audit", site, "--imports", "--offline", *HERE, "--format", "json")
    done = distcycle(*words)
    found = evidence_of(done)
    assert found["egg", "hen"]["verdict"] == "safe"
    assert found["hen", "egg"]["read_from"] == f"installed in {site}"
    undeclared = findings_of(done, "undeclared-import")
    assert [(f["packages"], f["severity"]) for f in undeclared] == [
        (["egg", "fox"], "allow"),
        (["fox", "hen"], "allow"),
    ]
    assert undeclared[0]["details"] == ["fox.py:1: import egg"]
    assert "fox cannot be imported without it" in undeclared[0]["message"]
    assert "none needed at import time" in undeclared[1]["message"]
    assert distcycle(*words, "-D", "undeclared-import", "-A", "wheel-cycle").returncode == 1
    assert findings_of(distcycle(*words, "--no-imports"), "undeclared-import") == []


def test_an_installed_copy_serves_where_its_record_is_the_wheels(
    distcycle: Run, tmp_path: Path, serve: Callable[[Path], str]
) -> None:
    egg = wheel(tmp_path / "simple", "egg", EGG, ("hen",))
    hen = wheel(tmp_path / "simple", "hen", HEN, ("egg",))
    site = tmp_path / "site"
    for path in (egg, hen):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(site)
    lock(tmp_path, "simple")
    index = serve(tmp_path / "simple")
    words = ("audit", "requirements.txt", "--imports", "--index-url", index, *HERE)
    words += ("--format", "json")
    environ = {"PYTHONPATH": f"{ROOT}:{site}", "PIP_NO_INDEX": "0"}
    found = evidence_of(distcycle(*words, environ=environ))
    assert found["egg", "hen"]["read_from"] == f"installed in {site}"
    assert found["egg", "hen"]["notes"][0] == f"its modules are those of {egg.name}"
    # Another copy of the same version does not serve, and nothing is fetched unasked.
    info = site / "egg-1.0.dist-info" / "RECORD"
    info.write_text(info.read_text().replace("sha256=", "sha256=A", 1))
    found = evidence_of(distcycle(*words, environ=environ))
    assert found["egg", "hen"]["verdict"] == "unknown"
    # The names of what is only on the index are those of its wheel.
    assert found["hen", "egg"]["verdict"] == "safe-if-co-installed"
    done = distcycle(*words, "--allow-download", environ=environ)
    assert evidence_of(done)["egg", "hen"]["verdict"] == "safe"
    assert re.fullmatch(r"fetching egg-1.0-py3-none-any.whl, 0.0 MB\n", done.stderr)


def test_a_much_smaller_wheel_is_fetched_in_place_of_the_right_one(
    distcycle: Run, tmp_path: Path, serve: Callable[[Path], str]
) -> None:
    simple = tmp_path / "simple"
    linux = wheel(simple, "egg", EGG, ("hen",), tags="cp312-cp312-linux_x86_64", padding=90_000)
    other = {**EGG, "egg/yolk.py": "x = 2\n"}
    small = wheel(simple, "egg", other, ("hen",), tags="cp312-cp312-macosx_11_0_arm64")
    wheel(simple, "hen", HEN, ("egg",))
    lock(tmp_path, "simple")
    words = ("audit", "requirements.txt", "--imports", "--allow-download", *HERE)
    words += ("--index-url", serve(simple), "--format", "json")
    done = distcycle(*words, environ={"PIP_NO_INDEX": "0"})
    found = evidence_of(done)["egg", "hen"]
    assert found["read_from"] == f"{small.name} in place of {linux.name}"
    assert (
        found["notes"][0] == f"of its modules these differ from those of {linux.name}: egg/yolk.py"
    )
    assert f"fetching {small.name}, 0.0 MB" in done.stderr
    # Where more than a few differ, the right one is fetched.
    small.unlink()
    wheel(simple, "egg", {"egg/__init__.py": ""}, ("hen",), tags="cp312-cp312-macosx_11_0_arm64")
    done = distcycle(*words, "--no-cache", environ={"PIP_NO_INDEX": "0"})
    assert evidence_of(done)["egg", "hen"]["read_from"] == linux.name


# Policy, fix, explain ----------------------------------------------------------------------------


@pytest.mark.usefixtures("loop")
def test_a_cut_that_breaks_an_import_is_told(distcycle: Run, tmp_path: Path) -> None:
    policy = tmp_path / "cut.toml"
    policy.write_text(
        'version = 1\n\n[[cut]]\npackage = "hen"\nrequires = "egg"\nreason = "we like it"\n'
    )
    where = HERE[:-1]
    words = ("audit", "hen>=1", "--resolve", *WHEELS, *where, "--policy", policy)
    done = distcycle(*words, "--imports", "--format", "json")
    (found,) = findings_of(done, "cut-unsafe")
    assert (found["severity"], found["packages"]) == ("warn", ["egg", "hen"])
    assert (found["path"], found["line"]) == (str(policy), 3)
    assert found["message"] == (
        "cutting hen 1.0 -> egg breaks an import: hen/__init__.py:3 imports egg"
    )
    assert findings_of(distcycle(*words, "--format", "json"), "cut-unsafe") == []
    # The other edge can go, and where all are asked for, so can this one.
    policy.write_text(policy.read_text().replace("hen", "HEN").replace("egg", "hen"))
    policy.write_text(policy.read_text().replace("HEN", "egg"))
    done = distcycle(*words, "--imports", "--format", "json")
    assert findings_of(done, "cut-unsafe") == []


@pytest.mark.usefixtures("loop")
def test_a_waiver_of_undeclared_imports_is_unused_only_where_they_are_looked_at(
    distcycle: Run, tmp_path: Path
) -> None:
    policy = tmp_path / "waive.toml"
    waiver = 'version = 1\n\n[[waive]]\ncode = "undeclared-import"\npackages = ["egg", "hen"]\n'
    policy.write_text(waiver + 'reason = "known"\n')
    words = ("audit", "wheels", "--no-index", *HERE[:-1], "--policy", policy, "--format", "json")
    assert findings_of(distcycle(*words), "unused-waiver") == []
    assert len(findings_of(distcycle(*words, "--imports"), "unused-waiver")) == 1
    policy.write_text("version = 1\n\n[audit]\nimports = true\n")
    assert evidence_of(distcycle(*words))
    assert not evidence_of(distcycle(*words, "--no-imports"))


@pytest.mark.usefixtures("loop")
def test_fix_prefers_what_imports_can_do_without(distcycle: Run) -> None:
    words = ("fix", "hen>=1", "--resolve", *WHEELS, *HERE)
    text = plain(distcycle(*words, "--imports").stdout)
    assert "1. cut egg -> hen" in text
    assert "2. cut hen -> egg" in text
    assert "imports: hen -> egg: unsafe: hen/__init__.py:3 imports egg" in text
    assert "imports:" not in distcycle(*words).stdout
    plan = distcycle(*words, "--imports", "--emit", "policy").stdout
    assert 'package = "egg"\n' in plan


@pytest.mark.usefixtures("loop")
def test_explain_shows_the_lines(distcycle: Run) -> None:
    words = ("explain", "wheels", "hen", "--no-index", *HERE[:-1])
    text = plain(distcycle(*words, "--imports").stdout)
    assert "hen/wing.py:1: from egg.yolk import x" in text
    assert "note: 1 import is made when a function is called" in text
    assert "wing" not in distcycle(*words).stdout


@pytest.mark.usefixtures("loop")
def test_diff_tells_new_imports_from_known_ones(distcycle: Run, tmp_path: Path) -> None:
    wheel(tmp_path / "old", "fox", {"fox.py": ""})
    wheel(tmp_path / "old", "egg", {"egg.py": ""})
    wheel(tmp_path / "new", "fox", {"fox.py": "import egg"})
    wheel(tmp_path / "new", "egg", {"egg.py": ""})
    words = ("--imports", "--no-index", *HERE, "-D", "undeclared-import")
    assert distcycle("diff", "old", "new", *words).returncode == 1
    assert distcycle("diff", "new", "new", *words).returncode == 0


@pytest.mark.usefixtures("loop")
def test_a_download_without_a_use_is_refused(distcycle: Run) -> None:
    done = distcycle("audit", "wheels", "--allow-download", "--no-index", *HERE)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--allow-download goes with --imports" in done.stderr


# Docs and the real ones --------------------------------------------------------------------------


def test_the_page_shows_what_is_printed(distcycle: Run, loop: Path) -> None:
    assert loop.is_dir()
    blocks = documentation.console(PAGE)
    shown = next(s for block in blocks for s in block if "--imports" in s.command)
    printed = distcycle(*shown.command.split()[1:]).stdout
    assert documentation.fits(printed, shown.output), printed


@pytest.mark.network
def test_torch_and_triton(tmp_path: Path) -> None:
    """The figures that were found by importing: see the tests of recorded imports too."""
    (tmp_path / "old.txt").write_text("torch==2.0.0\ntriton==2.0.0\n")
    done = audit_online(tmp_path, "old.txt")
    found = evidence_of(done)
    torch, triton = found["torch", "triton"], found["triton", "torch"]
    files = {site["path"] for site in triton["sites"]}
    assert (len(triton["sites"]), len(files), triton["files"]) == (12, 11, 27)
    guarded = [site for site in triton["sites"] if site["modifiers"]]
    assert [(site["path"], site["modifiers"]) for site in guarded] == [
        ("triton/runtime/jit.py", ["guarded"])
    ]
    assert triton["verdict"] == "safe-if-co-installed"
    assert triton["reason"].startswith("triton/__init__.py:9 imports torch; old.txt:1 brings torch")
    assert len(triton["failing"]) == 27
    assert (torch["verdict"], len(torch["sites"])) == ("safe", 21)
    assert len({site["path"] for site in torch["sites"]}) == 11
    assert "fetching torch-2.0.0-" in done.stderr


@pytest.mark.network
def test_triton_where_nothing_else_brings_torch(tmp_path: Path) -> None:
    (tmp_path / "bounds.txt").write_text("torch==2.0.0\n")
    done = audit_online(tmp_path, "triton==2.0.0", "--resolve", "-c", "bounds.txt")
    cut = evidence_of(done)["triton", "torch"]
    assert (cut["verdict"], cut["reason"]) == ("unsafe", "triton/__init__.py:9 imports torch")


@pytest.mark.network
def test_triton_without_its_requirement(tmp_path: Path) -> None:
    """triton 2.1.0 requires no torch any more, and triton.ops still imports it."""
    triton, version = canonicalize_name("triton"), Version("2.1.0")
    with Library(Options(cache_dir=None)) as library:
        needs = Needs(files={(triton, version): None}, metadata=())
        listed = library.gather(needs, Facts(), index=IndexOptions()).files[triton, version]
        if isinstance(listed, Unknown):
            pytest.skip(f"needs a package index: {listed.reason}")
        wanted = next(file for file in listed if "-cp311-cp311-manylinux" in file.filename)
        library.fetch(wanted, tmp_path / "wheels", index=IndexOptions(), download=True)
    (tmp_path / "new.txt").write_text("torch==2.1.0\ntriton==2.1.0\n")
    done = audit_online(tmp_path, "new.txt", "--find-links", "wheels")
    (found,) = findings_of(done, "undeclared-import")
    assert found["packages"] == ["torch", "triton"]
    assert found["message"].startswith("triton 2.1.0 imports torch, which none of its requirements")
    assert ": 24 imports, triton.ops." in found["message"]
    assert found["details"][-1] == "(and 19 more)"


def audit_online(folder: Path, path: str, *more: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache")}
    words = ("audit", path, "--imports", "--allow-download", "--format", "json", "--no-policy")
    words += ("--platform", "linux_x86_64", "--python-version", "3.11", *more)
    done = subprocess.run(
        [sys.executable, "-m", "distcycle", *words],
        capture_output=True,
        check=False,
        cwd=folder,
        env=environ,
        encoding="utf-8",
        timeout=600,
    )
    if not done.stdout or report_of(done)["unknown"]:
        pytest.skip(f"needs a package index: {done.stderr[-300:]}")
    return done


def test_what_is_known_of_other_files_is_kept(tmp_path: Path) -> None:
    files = {"egg/__init__.py": "import hen", "egg/yolk.py": "import fox"}
    with zipfile.ZipFile(wheel(tmp_path / "wheels", "egg", files)) as archive:
        archive.extractall(tmp_path / "site")
    source = open_installed(tmp_path / "site" / "egg-1.0.dist-info")
    cache = Cache(tmp_path / "cache")

    def scan(*paths: str, only: tuple[bytes, ...] = (), partial: bool = True) -> set[str]:
        some = replace(source, files={path: source.files[path] for path in paths})
        return set(Scanner(cache).scan(some, only=only, partial=partial).modules.files)

    scan("egg/__init__.py")
    scan("egg/yolk.py")
    # What holds no such word is not parsed, so it is there only when it is known.
    assert scan(*source.files, only=(b"nothing",)) == {"egg", "egg.yolk"}
    assert scan(*source.files, only=(b"nothing",), partial=False) == {"egg", "egg.yolk"}

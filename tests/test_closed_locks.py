"""Closed and consistent locks: what we find fault with is what ``pip check`` and uv do.

What is selected on a target is written as an environment, and both tools are asked what is wrong
with it. Where they differ from us, and from each other, is said here and asserted:

- What a requested extra requires is missing or in conflict for us alone: METADATA does not say
  which extras were requested, so neither tool can know.
- pip gives up a package's requirements when one cannot be read; uv mends some, and else gives up
  the package. We keep what can be read, and say ``unreadable-requirement``.
- What a lock or a comment says of an edge is no METADATA: where it leaves the marker to the entry
  that meets the edge, nothing is missing for us.
- ``Requires-Python`` is looked at by uv and us; pip looks at it when it installs.
- What the project itself asks for is asked for by no package, so that neither tool sees it.
- Two versions on one target cannot both be installed, so that there is nothing to check.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from platform import machine, python_version
from random import Random
from types import MappingProxyType

import pytest
from case_files import find_cases, read_case, read_input
from corpus import CORPUS, needs_corpus
from installed import (
    PLATFORMS,
    UV,
    Complaints,
    ask_pip,
    ask_uv,
    cells_of,
    distributions_in,
    make_environment,
    of_report,
    only_by_extras,
    put_in,
    remove,
)
from packaging.version import Version

from distcycle import api
from distcycle.errors import TargetError
from distcycle.findings import Report
from distcycle.judgement import Options, judge
from distcycle.metadata import Library, read_bundle
from distcycle.metadata import Options as LibraryOptions
from distcycle.model import Package, Requirement, Snapshot
from distcycle.selection import Request, Selection, flow_along

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "sample_locks"
BUNDLE = ROOT / "tests" / "data" / "torch-2.0.bundle.json"

needs_uv = pytest.mark.skipif(UV is None, reason="NO UV HERE: 'uv pip check' was not asked")
needs_pip = pytest.mark.skipif(
    importlib.util.find_spec("pip") is None, reason="NO PIP HERE: 'pip check' was not asked"
)

WITH_EDGES = (
    "airflow-3/uv.lock",
    "large/uv.lock",
    "markdown-it-py/uv.lock",
    "no-loop-poetry/poetry.lock",
    "pip-report.json",
    "sphinx-7.2-pdm/pdm.lock",
    "sphinx-7.2-poetry/poetry.lock",
    "sphinx-7.2-uv/uv.lock",
    "torch-2.0-pdm/pdm.lock",
    "torch-2.0-poetry/poetry.lock",
    "torch-2.0-uv/uv.lock",
)
THREE = ("linux_x86_64", "macos_arm64", "windows_amd64")
MADE_FOR = {"large/uv.lock": ("linux_x86_64",)}
"""Locks that leave out what other platforms need, on purpose and said so in a note."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("installed")


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What was selected and what was said of it, on some platforms with one Python."""

    selection: Selection
    report: Report
    python: str

    def target(self, platform: str) -> str:
        if platform == "host":
            (row,) = self.report.targets
            return row.name
        return f"cp{self.python.replace('.', '')}-{platform}"

    def ours(self, platform: str) -> Complaints:
        """What we say, but for what no tool can know."""
        target = self.target(platform)
        found = of_report(self.report, target)
        return found.without(only_by_extras(self.selection, cells_of(self.selection, target)))

    def install(self, folder: Path, platform: str) -> Path:
        environment = make_environment(folder / "environment")
        cells = cells_of(self.selection, self.target(platform))
        put_in(environment, distributions_in(self.selection, self.selection.reached, cells))
        return environment

    def by_uv(self, folder: Path, platform: str) -> Complaints:
        environment = self.install(folder, platform)
        return ask_uv(environment, platform, self.full_python(platform), folder / "cache")

    def full_python(self, platform: str) -> str:
        (row,) = (r for r in self.report.targets if r.name == self.target(platform))
        return row.environment["python_full_version"]

    def by_pip(self, folder: Path) -> Complaints:
        return ask_pip(self.install(folder, "host"))


def judged(
    snapshot: Snapshot,
    platforms: tuple[str, ...] = THREE,
    *,
    python: str = "3.11",
    library: Library | None = None,
    request: Request | None = None,
) -> Judged:
    scope = api.make_scope(
        snapshot,
        platforms=platforms,
        python_versions=() if platforms == ("host",) else (python,),
        request=request or Request(edges="lock"),
    )
    selection, _ = api.gather(scope, library)
    report = judge(selection, Options(request=scope.request))
    return Judged(selection=selection, report=report, python=python)


def read_sample(name: str) -> Snapshot:
    return api.read(str(SAMPLES / name))


def skip_where_not_made_for(name: str) -> None:
    if name in MADE_FOR and (sys.platform, machine()) != ("linux", "x86_64"):
        pytest.skip("the lock is not made for this machine")


def without_python(complaints: Complaints) -> Complaints:
    """What pip can see of what uv and we say."""
    return replace(complaints, pythons=frozenset())


def agree(theirs: Complaints, ours: Complaints) -> None:
    """Compare, and show of long sets what only one side has."""
    for name in ("missing", "conflicts", "pythons", "unread"):
        by_them, by_us = getattr(theirs, name), getattr(ours, name)
        assert (name, by_them - by_us, by_us - by_them) == (name, set(), set())


# Locks as they are -------------------------------------------------------------------------------


@needs_uv
@pytest.mark.parametrize("name", WITH_EDGES)
def test_uv_finds_the_faults_of_a_sample_that_we_find(name: str, folder: Path) -> None:
    found = judged(read_sample(name))
    for platform in MADE_FOR.get(name, THREE):
        agree(found.by_uv(folder, platform), found.ours(platform))


@needs_pip
@pytest.mark.parametrize("name", WITH_EDGES)
def test_pip_finds_the_faults_of_a_sample_that_we_find(name: str, folder: Path) -> None:
    skip_where_not_made_for(name)
    found = judged(read_sample(name), ("host",))
    agree(found.by_pip(folder), without_python(found.ours("host")))


@needs_uv
@pytest.mark.parametrize("platform", PLATFORMS)
def test_what_the_wheel_of_torch_requires_is_missing_for_uv_too(
    platform: str, folder: Path
) -> None:
    """uv believed the wheel for macOS, and locked nothing that the one for Linux requires."""
    bundle = read_bundle(BUNDLE.read_text("utf-8"), path=str(BUNDLE))
    options = LibraryOptions(offline=True, cache_dir=None, bundle=bundle)
    with Library(options) as library:
        snapshot = read_sample("torch-2.0-uv/uv.lock")
        found = judged(snapshot, (platform,), library=library, request=Request())
    agree(found.by_uv(folder, platform), found.ours(platform))
    missing = {required for _, required in found.ours(platform).missing}
    assert len(missing) == (11 if platform == "linux_x86_64" else 0)
    assert all(name.startswith("nvidia-") for name in missing)


# Locks with faults -------------------------------------------------------------------------------


def damage(
    snapshot: Snapshot, lost: Collection[int], aged: Mapping[int, Version] = MappingProxyType({})
) -> Snapshot:
    """A lock that has lost some packages, and has others at another version."""
    kept = [i for i in range(len(snapshot.packages)) if i not in lost]
    at = {old: new for new, old in enumerate(kept)}
    left = {snapshot.packages[i].name: at[i] for i in reversed(kept)}

    def moved(requirement: Requirement) -> Requirement:
        if requirement.package is None:
            return requirement
        found = at.get(requirement.package, left.get(requirement.name))
        return replace(requirement, package=found)

    def damaged(index: int) -> Package:
        package = snapshot.packages[index]
        requirements = package.requirements
        return replace(
            package,
            version=aged.get(index, package.version),
            requirements=None if requirements is None else tuple(map(moved, requirements)),
        )

    roots = snapshot.roots
    if roots is not None:
        roots = tuple(replace(r, requirement=moved(r.requirement)) for r in roots)
    return replace(snapshot, packages=tuple(map(damaged, kept)), roots=roots)


def damage_at_random(snapshot: Snapshot, seed: int) -> Snapshot:
    """A lock that has lost a tenth of its projects, and has another tenth at another version."""
    random = Random(seed)
    names = sorted({package.name for package in snapshot.packages})
    some = max(2, len(names) // 10)
    chosen = random.sample(names, 2 * some)
    versions = [Version(version) for version in ("0.0.1", "9999.0rc1", "1.0+local")]
    aged = {name: random.choice(versions) for name in chosen[some:]}
    packages = list(enumerate(snapshot.packages))
    return damage(
        snapshot,
        [i for i, package in packages if package.name in chosen[:some]],
        {i: aged[package.name] for i, package in packages if package.name in aged},
    )


DAMAGED = (
    "airflow-3/uv.lock",
    "large/uv.lock",
    "no-loop-poetry/poetry.lock",
    "pip-report.json",
    "sphinx-7.2-pdm/pdm.lock",
    "sphinx-7.2-poetry/poetry.lock",
)


@needs_uv
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", DAMAGED)
def test_uv_finds_what_is_lost_and_what_is_older(name: str, seed: int, folder: Path) -> None:
    found = judged(damage_at_random(read_sample(name), seed))
    for platform in MADE_FOR.get(name, THREE):
        agree(found.by_uv(folder, platform), found.ours(platform))


@needs_pip
@pytest.mark.parametrize("name", DAMAGED)
def test_pip_finds_what_is_lost_and_what_is_older(name: str, folder: Path) -> None:
    skip_where_not_made_for(name)
    found = judged(damage_at_random(read_sample(name), 5), ("host",))
    agree(found.by_pip(folder), without_python(found.ours("host")))
    assert {f.code for f in found.report.findings} & {"missing-package", "version-conflict"}


# Locks made by hand ------------------------------------------------------------------------------

UNIVERSE = {
    "app 1.0": ("egg>=2", "gone", "hen[x]", "Stone_Age", "win ; sys_platform == 'win32'"),
    "egg 1.0": (),
    "hen 1.0": ("opt ; extra == 'x'", "other ; extra == 'y'", "egg<1 ; extra == 'x'"),
    "pre 2.0rc1": ("self-made",),
    "asks 1.0": ("pre>=2", "pre>1", "local==1.0", "local>1.0", "local===1.0", "post<=1.0"),
    "local 1.0+cpu": ("pre<2", "post>1.0"),
    "post 1.0.post1": ("post>=2", "egg>=0.9,<1.1", "egg ~=1.0", "egg != 1.*"),
    "old 1.0": ("egg (>=2.0)", "egg (==1.0)", "Gone-Too (<5)"),
    "link 1.0": ("egg @ https://files.pypi.example/egg-2.0-py3-none-any.whl", "url @ file:///a"),
    "py 1.0": ("egg ; python_version < '3'", "nowhere ; python_full_version >= '3.6.1'"),
}
UNREADABLE = ("egg>=2.*", "gone", "egg>=3")


@pytest.fixture
def by_hand(make_wheel: Callable[..., Path], tmp_path: Path) -> Callable[..., Snapshot]:
    def make(*further: tuple[str, tuple[str, ...]]) -> Snapshot:
        lines = ["--no-index", f"--find-links {tmp_path / 'wheels'}"]
        for key, requires in (*UNIVERSE.items(), *further):
            name, _, version = key.partition(" ")
            make_wheel(name, version, requires, extras=("x", "y"))
            lines.append(f"{name}=={version}")
        lock = tmp_path / "requirements.txt"
        lock.write_text("\n".join([*lines, ""]), "utf-8")
        return api.read(str(lock))

    return make


@pytest.fixture
def library() -> Iterator[Library]:
    with Library(LibraryOptions(offline=True, cache_dir=None)) as opened:
        yield opened


@needs_uv
@pytest.mark.parametrize("platform", THREE)
def test_uv_reads_requirements_as_we_do(
    platform: str, by_hand: Callable[..., Snapshot], library: Library, folder: Path
) -> None:
    found = judged(by_hand(), (platform,), library=library, request=Request())
    ours = found.ours(platform)
    agree(found.by_uv(folder, platform), ours)
    assert (("app", "win") in ours.missing) is (platform == "windows_amd64")


@needs_pip
def test_pip_reads_requirements_as_we_do(
    by_hand: Callable[..., Snapshot], library: Library, folder: Path
) -> None:
    found = judged(by_hand(), ("host",), library=library, request=Request())
    assert found.by_pip(folder) == found.ours("host")
    assert len(found.ours("host").missing) > 5
    assert len(found.ours("host").conflicts) > 5


@needs_uv
@needs_pip
def test_a_requirement_that_cannot_be_read(
    by_hand: Callable[..., Snapshot], library: Library, folder: Path
) -> None:
    """pip reads none of its package's, uv reads it in its own way; we read the others."""
    snapshot = by_hand(("bad 1.0", UNREADABLE))
    found = judged(snapshot, ("host",), library=library, request=Request())
    by_pip, ours = found.by_pip(folder), found.ours("host")
    assert by_pip.unread == {"bad"}
    assert ours.missing - by_pip.missing == {("bad", "gone")}
    assert ours.conflicts - by_pip.conflicts == {("bad", "egg")}
    assert by_pip.missing | by_pip.conflicts <= ours.missing | ours.conflicts
    assert [f.packages for f in found.report.findings if f.code == "unreadable-requirement"] == [
        ("bad", "egg")
    ]
    on_linux = judged(snapshot, ("linux_x86_64",), library=library, request=Request())
    assert on_linux.by_uv(folder, "linux_x86_64") == on_linux.ours("linux_x86_64")


def test_what_a_requested_extra_requires_is_missing_for_us_alone(
    by_hand: Callable[..., Snapshot], library: Library
) -> None:
    found = judged(by_hand(), ("linux_x86_64",), library=library, request=Request())
    target = found.target("linux_x86_64")
    alone = only_by_extras(found.selection, cells_of(found.selection, target))
    assert alone == {("hen", "opt"), ("hen", "egg")}
    said = of_report(found.report, target)
    assert ("hen", "opt") in said.missing
    assert ("hen", "egg") in said.conflicts


# The cases of this repository are small locks with something wrong in most of them.

TWICE = {
    "two-versions-at-once",
    "two-versions-where-either-would-do",
    "uv-conflict-all-extras",  # with each choice one of them, and all choices are judged
}
CASES = [path for path in find_cases() if path.stem not in TWICE]
WITHOUT_MARKER = {
    "poetry-edge-without-its-marker": ("pytest", "colorama"),
    "via-comment-of-a-marked-line": ("click", "colorama"),
}
"""Edges that the input gives without the marker that its entry for the target has."""


def judge_case(path: Path) -> Judged | None:
    """A case's input without its policy; None where its Python is one of no target."""
    case = read_case(path)
    python = case.pythons[-1] if case.pythons else "3.11"
    library: Library = case.library  # type: ignore[assignment]
    try:
        return judged(read_input(case), THREE, python=python, library=library, request=case.request)
    except TargetError:
        return None


@needs_uv
@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_uv_finds_the_faults_of_a_case_that_we_find(path: Path, folder: Path) -> None:
    found = judge_case(path)
    if found is None:
        pytest.skip("no target has its Python")
    unreadable = {
        name
        for finding in found.report.findings
        if finding.code == "unreadable-requirement"
        for name in finding.packages
    }
    for platform in THREE:
        theirs, ours = found.by_uv(folder, platform), found.ours(platform)
        if path.stem in WITHOUT_MARKER and platform != "windows_amd64":
            assert WITHOUT_MARKER[path.stem] in theirs.missing
            theirs = theirs.without({WITHOUT_MARKER[path.stem]})
        assert theirs.unread <= unreadable
        agree(replace(theirs, unread=frozenset()), ours.not_by(theirs.unread))


# What a lock's own tool installs -----------------------------------------------------------------


@needs_uv
def test_what_the_lock_leaves_out_is_missing_after_its_own_tool(folder: Path) -> None:
    """Its edges decide what is installed, and the wheels what is missing then."""
    case = read_case(ROOT / "tests" / "cases" / "lock-edge-missing-and-not-installed.toml")
    library: Library = case.library  # type: ignore[assignment]
    found = judged(read_input(case), python="3.12", library=library, request=case.request)
    by_lock = flow_along(found.selection, lambda edge: edge.origin == "lock")
    missing = {}
    for platform in THREE:
        cells = cells_of(found.selection, found.target(platform))
        environment = make_environment(folder / "environment")
        put_in(environment, distributions_in(found.selection, by_lock, cells))
        missing[platform] = ask_uv(
            environment, platform, found.full_python(platform), folder / "cache"
        ).missing
    assert missing == {
        "linux_x86_64": {("hen", "egg")},
        "macos_arm64": {("hen", "egg")},
        "windows_amd64": set(),
    }
    (finding,) = [f for f in found.report.findings if f.code == "lock-edge-missing"]
    assert finding.details[0].startswith("the lock installs no egg there, but not everywhere")


# Real locks, by what an index says of them -------------------------------------------------------

REAL = {
    "pdm/v45-no-groups.lock": "pdm-lock",
    "poetry/p20-sphinx5.lock": "poetry-lock",
    "uv/r3-dependabot-versionless-backref.lock": "uv-lock",
}
LOST = ("idna",)


@pytest.fixture(scope="module")
def online(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with Library(LibraryOptions(cache_dir=tmp_path_factory.mktemp("facts"), concurrency=4)) as one:
        yield one


def judge_online(
    name: str, platforms: tuple[str, ...], online: Library, lost: Collection[str] = ()
) -> Judged:
    snapshot = api.read(str(CORPUS / name), kind=REAL[name])
    gone = [i for i, package in enumerate(snapshot.packages) if package.name in lost]
    assert len(gone) == len(lost)
    found = judged(damage(snapshot, gone), platforms, library=online, request=Request())
    missed = [u for u in found.report.unknown if "source distribution" not in u.reason]
    by_lock = [f for f in found.report.findings if "is believed" in f.message]
    if missed or by_lock:
        why = missed[0].reason if missed else by_lock[0].message
        pytest.skip(f"NO INDEX ANSWERS, so nothing was checked online: {why}")
    return found


@pytest.mark.network
@needs_corpus
@needs_uv
@needs_pip
@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("name", REAL)
def test_real_locks_by_their_wheels(
    name: str, is_whole: bool, online: Library, folder: Path
) -> None:
    lost = () if is_whole else LOST
    found = judge_online(name, THREE, online, lost)
    for platform in THREE:
        agree(found.by_uv(folder, platform), found.ours(platform))
        assert is_whole is not bool(found.ours(platform).missing)
    here = judge_online(name, ("host",), online, lost)
    agree(here.by_pip(folder), without_python(here.ours("host")))


@pytest.mark.network
@needs_corpus
@needs_uv
@needs_pip
def test_a_real_lock_that_is_really_installed(online: Library, tmp_path: Path) -> None:
    """What is installed is what was selected, and both tools say of it what we say of the lock."""
    name = "pdm/v45-no-groups.lock"
    environment = make_environment(tmp_path / "environment")
    install(judge_online(name, ("host",), online), environment)
    check_installed(judge_online(name, ("host",), online), environment)
    remove(environment, LOST)
    found = judge_online(name, ("host",), online, LOST)
    assert ("requests", "idna") in found.ours("host").missing
    check_installed(found, environment)


def install(found: Judged, environment: Path) -> None:
    """Install the wheels of what was selected for this machine, and nothing else."""
    cells = cells_of(found.selection, found.target("host"))
    pins = [
        f"{each.name}=={each.version}"
        for each in distributions_in(found.selection, found.selection.reached, cells)
    ]
    words = ["--disable-pip-version-check", "--python", str(environment), "install", "--no-deps"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words, "--only-binary", ":all:", "--quiet", *pins],
        capture_output=True,
        check=False,
        text=True,
        timeout=600,
    )
    if "No matching distribution" in done.stderr:
        pytest.skip(f"needs a package index: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr


def check_installed(found: Judged, environment: Path) -> None:
    """Ask pip, uv and ourselves about an environment, and hold all to what we say of its lock."""
    ours = found.ours("host")
    agree(ask_pip(environment), without_python(ours))
    standing = judged(api.read(str(environment)), ("host",), request=Request())
    agree(standing.ours("host"), ours)
    if (sys.platform, machine()) == ("linux", "x86_64"):
        python = python_version()
        agree(ask_uv(environment, "linux_x86_64", python, environment.parent / "cache"), ours)

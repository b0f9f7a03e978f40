"""Installed distributions: what is broken is named, the rest is read, and nothing is run."""

from __future__ import annotations

import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from distcycle.errors import InputError
from distcycle.host import host_environment
from distcycle.model import Metadata, Package, Snapshot, Unknown
from distcycle.readers.environment import is_environment, read_environment

VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
posix = pytest.mark.skipif(sys.platform == "win32", reason="the layout of POSIX")


def install(site: Path, name: str, version: str, *headers: str, folder: str | None = None) -> Path:
    info = site / (folder or f"{name.replace('-', '_')}-{version}.dist-info")
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *headers]
    (info / "METADATA").write_text("\n".join(lines) + "\n\nDescription\n", "utf-8")
    return info


def make_venv(root: Path, cfg: str = "version = 3.9.2\n", python: str = "python3.9") -> Path:
    site = root / "lib" / python / "site-packages"
    site.mkdir(parents=True)
    (root / "pyvenv.cfg").write_text(cfg, "utf-8")
    return site


def package(snapshot: Snapshot, name: str) -> Package:
    (found,) = (package for package in snapshot.packages if package.name == name)
    return found


def problems(snapshot: Snapshot) -> list[tuple[str | None, str]]:
    assert {problem.code for problem in snapshot.problems} <= {"unreadable-metadata"}
    return [(problem.package, problem.message) for problem in snapshot.problems]


def test_a_site_packages_folder(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.0.0", 'Requires-Dist: triton (==2.0.0) ; extra == "x"')
    info = install(tmp_path, "Triton", "2.0.0", "Requires-Dist: torch", "Requires-Python: >=3.8")
    snapshot = read_environment(str(tmp_path))
    assert (snapshot.kind, snapshot.path) == ("environment", str(tmp_path))
    assert [(p.name, str(p.version)) for p in snapshot.packages] == [
        ("triton", "2.0.0"),
        ("torch", "2.0.0"),
    ]
    triton = package(snapshot, "triton")
    assert triton.source == "installed"
    assert triton.place.path == str(info)
    assert (triton.artefacts, triton.requirements) == ((), None)
    assert isinstance(triton.metadata, Metadata)
    assert [r.name for r in triton.metadata.requires] == ["torch"]
    assert snapshot.problems == ()


def test_every_distribution_is_a_root(tmp_path: Path) -> None:
    install(tmp_path, "a", "1.0")
    install(tmp_path, "b", "2.0", "Requires-Dist: a")
    roots = read_environment(str(tmp_path)).roots
    assert roots is not None
    assert [(r.requirement.text, r.requirement.package) for r in roots] == [
        ("a==1.0", 0),
        ("b==2.0", 1),
    ]


@posix
def test_a_virtual_environment(tmp_path: Path) -> None:
    install(make_venv(tmp_path), "a", "1.0")
    snapshot = read_environment(str(tmp_path))
    assert [p.name for p in snapshot.packages] == ["a"]
    assert snapshot.environment == host_environment() | {
        "implementation_name": "cpython",
        "implementation_version": "3.9.2",
        "platform_python_implementation": "CPython",
        "python_full_version": "3.9.2",
        "python_version": "3.9",
    }


@posix
@pytest.mark.parametrize(
    ("cfg", "python", "version"),
    [
        ("version_info = 3.12.1.final.0\nimplementation = CPython\n", "python3.12", "3.12.1"),
        ("Version = 3.9.2\n", "python3.9", "3.9.2"),
        ("version_info = 3.10.16.final.0\nimplementation = PyPy\n", "pypy3.10", None),
        ("version = 3.10.16\n", "pypy3.10", None),
        ("home = /usr/bin\n", "python3.9", None),
        ("", "python3.9", None),
    ],
)
def test_the_version_in_pyvenv_cfg(
    tmp_path: Path, cfg: str, python: str, version: str | None
) -> None:
    site = make_venv(tmp_path, cfg, python)
    for path in (tmp_path, site):
        environment = read_environment(str(path)).environment
        assert (environment and environment["python_full_version"]) == version


@posix
def test_an_environment_of_windows_tells_no_markers_here(tmp_path: Path) -> None:
    install(tmp_path / "Lib" / "site-packages", "a", "1.0")
    (tmp_path / "pyvenv.cfg").write_text("version = 3.9.2\n", "utf-8")
    snapshot = read_environment(str(tmp_path))
    assert [p.name for p in snapshot.packages] == ["a"]
    assert snapshot.environment is None


@posix
def test_system_packages_come_last(tmp_path: Path) -> None:
    base = tmp_path / "base"
    cfg = f"home = {base / 'bin'}\nversion = 3.9.2\ninclude-system-site-packages = true\n"
    install(make_venv(tmp_path / "venv", cfg), "a", "2.0")
    install(base / "lib" / "python3" / "dist-packages", "a", "1.0")
    install(base / "lib" / "python3.9" / "site-packages", "b", "1.0")
    snapshot = read_environment(str(tmp_path / "venv"))
    assert [(p.name, str(p.version)) for p in snapshot.packages] == [("a", "2.0"), ("b", "1.0")]
    (tmp_path / "venv" / "pyvenv.cfg").write_text(cfg.replace("true", "false"), "utf-8")
    assert len(read_environment(str(tmp_path / "venv")).packages) == 1


def test_two_versions_of_one_project(tmp_path: Path) -> None:
    install(tmp_path, "a", "1.0")
    shadowed = install(tmp_path, "A", "2.0", folder="a-2.0.dist-info")
    snapshot = read_environment(str(tmp_path))
    assert str(package(snapshot, "a").version) == "1.0"
    (problem,) = snapshot.problems
    assert problem.place.path == str(shadowed)
    assert "installed twice: 1.0 in" in problem.message


def test_missing_and_broken_metadata(tmp_path: Path) -> None:
    install(tmp_path, "good", "1.0")
    (tmp_path / "gone-1.0.dist-info").mkdir()
    (tmp_path / "empty-1.0.dist-info").mkdir()
    (tmp_path / "empty-1.0.dist-info" / "METADATA").write_bytes(b"")
    (tmp_path / "noise-1.0.dist-info").mkdir()
    (tmp_path / "noise-1.0.dist-info" / "METADATA").write_bytes(bytes(range(256)))
    snapshot = read_environment(str(tmp_path))
    assert [p.name for p in snapshot.packages] == ["empty", "gone", "good", "noise"]
    assert problems(snapshot) == [
        ("empty", "its metadata has neither Name nor Version"),
        ("gone", "no METADATA file"),
        ("noise", "its metadata has neither Name nor Version"),
    ]
    assert package(snapshot, "gone").metadata == Unknown(reason="no METADATA file")
    assert str(package(snapshot, "gone").version) == "1.0"


def test_metadata_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "a", "1.0")

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    snapshot = read_environment(str(tmp_path))
    assert problems(snapshot) == [("a", "its metadata cannot be read: Permission denied")]


def test_a_version_that_is_none(tmp_path: Path) -> None:
    install(tmp_path, "pytz", "2004d", "Requires-Dist: a")
    snapshot = read_environment(str(tmp_path))
    assert package(snapshot, "pytz").version is None
    assert isinstance(package(snapshot, "pytz").metadata, Metadata)
    assert problems(snapshot) == [("pytz", "expected a version, found '2004d'")]


def test_what_an_interrupted_installer_leaves(tmp_path: Path) -> None:
    install(tmp_path, "torch", "1.0", folder="~orch-1.0.dist-info")
    install(tmp_path, "torch", "2.0")
    snapshot = read_environment(str(tmp_path))
    assert str(package(snapshot, "torch").version) == "2.0"
    assert [message for _, message in problems(snapshot)] == [
        "left behind by an installer that was interrupted; it does not count"
    ]


def test_a_folder_that_names_no_project(tmp_path: Path) -> None:
    (tmp_path / "-.dist-info").mkdir()
    snapshot = read_environment(str(tmp_path))
    assert snapshot.packages == ()
    assert "not a distribution" in snapshot.problems[0].message


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    info = install(tmp_path, "a", "1.0")
    text = b"Metadata-Version: 2.1\nName: a\nVersion: 1.0\nAuthor: J\xf6rg\nRequires-Dist: b\n"
    (info / "METADATA").write_bytes(text)
    metadata = package(read_environment(str(tmp_path)), "a").metadata
    assert isinstance(metadata, Metadata)
    assert [r.name for r in metadata.requires] == ["b"]


def egg(site: Path, requires: bytes) -> Snapshot:
    info = site / "site-packages" / "old.egg-info"
    info.mkdir(parents=True)
    (info / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: old\nVersion: 0.1\n", "utf-8")
    (info / "requires.txt").write_bytes(requires)
    return read_environment(str(site / "site-packages"))


def test_an_egg_keeps_its_requirements_beside(tmp_path: Path) -> None:
    snapshot = egg(tmp_path, b"six>=1\n\n[fast:python_version<'3']\nujson\n")
    metadata = package(snapshot, "old").metadata
    assert isinstance(metadata, Metadata)
    assert [(r.name, str(r.marker or "")) for r in metadata.requires] == [
        ("six", ""),
        ("ujson", 'python_version < "3" and extra == "fast"'),
    ]


def test_bad_requirements_of_an_egg(tmp_path: Path) -> None:
    metadata = package(egg(tmp_path, b"six\n!!\n"), "old").metadata
    assert isinstance(metadata, Metadata)
    assert [r.name for r in metadata.requires] == ["six"]
    assert metadata.problems == ("requires.txt: no project name in '!!'",)


def test_requirements_of_an_egg_that_are_not_utf8(tmp_path: Path) -> None:
    metadata = package(egg(tmp_path, b"\xff\n"), "old").metadata
    assert isinstance(metadata, Metadata)
    assert metadata.problems == ("its requirements are not UTF-8",)


def test_an_egg_info_file(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "ancient-1.0.egg-info").write_text("Name: ancient\nVersion: 1.0\n", "utf-8")
    assert str(package(read_environment(str(site)), "ancient").version) == "1.0"


def test_a_zipped_egg_on_a_pth_file(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    site.mkdir()
    with zipfile.ZipFile(site / "old-1.0-py3.egg", "w") as archive:
        archive.writestr("EGG-INFO/PKG-INFO", "Name: old\nVersion: 1.0\n")
        archive.writestr("EGG-INFO/requires.txt", "six\n")
    (site / "broken.egg").write_bytes(b"no zip file")
    (site / "easy-install.pth").write_text("./old-1.0-py3.egg\n./broken.egg\n", "utf-8")
    metadata = package(read_environment(str(site)), "old").metadata
    assert isinstance(metadata, Metadata)
    assert [r.name for r in metadata.requires] == ["six"]


def test_pth_files_are_followed_and_not_run(tmp_path: Path) -> None:
    site, source = tmp_path / "site-packages", tmp_path / "source"
    site.mkdir()
    install(source, "dev", "1.0")
    ran = tmp_path / "ran"
    lines = [f"import pathlib; pathlib.Path({str(ran)!r}).touch()", "# note", "", "\0", "no/such"]
    (site / "dev.pth").write_text("\n".join([*lines, str(source), str(source)]), "utf-8")
    snapshot = read_environment(str(site))
    assert [p.name for p in snapshot.packages] == ["dev"]
    assert not ran.exists()


@pytest.mark.parametrize("name", ["nothing", "empty", "project"])
def test_a_folder_that_is_no_environment(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "project" / "mine.egg-info").mkdir(parents=True)
    path = str(tmp_path / name)
    assert not is_environment(path)
    with pytest.raises(InputError, match=rf"{name}: not an environment: expected pyvenv.cfg"):
        read_environment(path)


def test_an_environment_with_nothing_in_it(tmp_path: Path) -> None:
    (tmp_path / "site-packages").mkdir()
    assert is_environment(str(tmp_path / "site-packages"))
    assert read_environment(str(tmp_path)).packages == ()


# Interpreters


def test_the_running_interpreter() -> None:
    snapshot = read_environment(None)
    assert snapshot.environment == host_environment()
    assert package(snapshot, "pytest").metadata is not None
    site = sysconfig.get_path("purelib")
    assert read_environment(site).environment == host_environment()


@posix
def test_an_interpreter_is_asked_without_running_what_is_installed(tmp_path: Path) -> None:
    venv.create(tmp_path, symlinks=True, with_pip=False)
    site = tmp_path / "lib" / f"python{VERSION}" / "site-packages"
    ran = tmp_path / "ran"
    line = f"import pathlib; pathlib.Path({str(ran)!r}).touch()\n"
    (site / "evil.pth").write_text(line, "utf-8")
    (site / "sitecustomize.py").write_text(line, "utf-8")
    install(site, "a", "1.0")
    snapshot = read_environment(None, python=str(tmp_path / "bin" / "python"))
    assert [p.name for p in snapshot.packages] == ["a"]
    assert snapshot.environment == host_environment()
    assert not ran.exists()
    assert read_environment(None, python=str(tmp_path)).packages == snapshot.packages


def test_an_interpreter_can_lend_its_markers_to_a_folder(tmp_path: Path) -> None:
    install(tmp_path, "a", "1.0")
    assert read_environment(str(tmp_path)).environment is None
    snapshot = read_environment(str(tmp_path), python=sys.executable)
    assert snapshot.environment == host_environment()
    assert [p.name for p in snapshot.packages] == ["a"]


@posix
@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo nonsense", "not a Python interpreter .*: no answer"),
        ("echo 'no such option: -I' >&2; exit 2", "not a Python interpreter .*: no such option"),
        ("echo '{}'", "not a Python interpreter"),
        ("echo '[]'", "not a Python interpreter"),
    ],
)
def test_something_that_is_no_interpreter(tmp_path: Path, script: str, message: str) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    python.chmod(0o755)
    with pytest.raises(InputError, match=message):
        read_environment(None, python=str(python))


def test_no_interpreter_at_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be run: No such file"):
        read_environment(None, python=str(tmp_path / "python"))

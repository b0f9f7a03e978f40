"""Where modules lie: folders of sources, wheels, and what is installed."""

import base64
import hashlib
import os
import zipfile
from pathlib import Path

import pytest

from distcycle.errors import InputError
from distcycle.trees import find_installed, open_folder, open_installed, open_whl


def write(folder: Path, *names: str, text: str = "x = 1\n") -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


# Folders -----------------------------------------------------------------------------------------


def test_a_package_is_read_with_its_own_name(tmp_path: Path) -> None:
    write(tmp_path, "p/__init__.py", "p/q/__init__.py", "p/q/a.py", "other.py")
    assert set(open_folder(str(tmp_path / "p")).files) == {
        "p/__init__.py",
        "p/q/__init__.py",
        "p/q/a.py",
    }
    inner = open_folder(str(tmp_path / "p" / "q"))
    assert set(inner.files) == {"p/__init__.py", "p/q/__init__.py", "p/q/a.py"}


def test_a_project_has_its_packages_or_its_src_folder(tmp_path: Path) -> None:
    flat = write(tmp_path / "flat", "pyproject.toml", "p/__init__.py", "m.py", "setup.py")
    write(flat, "docs/conf.py", "build/lib/p/__init__.py", ".tox/x/y.py", "p.egg-info/z.py")
    assert set(open_folder(str(flat)).files) == {"p/__init__.py", "m.py"}
    src = write(tmp_path / "src-layout", "pyproject.toml", "src/p/a.py", "tests/__init__.py")
    assert set(open_folder(str(src)).files) == {"p/a.py"}


def test_a_plain_folder_has_namespaces_too(tmp_path: Path) -> None:
    write(tmp_path, "n/a.py", "n/m.abi3.so", "n/data.txt", "n/__pycache__/a.py", "v/pyvenv.cfg")
    write(tmp_path, "v/lib/x.py")
    tree = open_folder(str(tmp_path))
    assert set(tree.files) == {"n/a.py", "n/m.abi3.so"}
    assert tree.import_names == ("n",)
    assert tree.show("n/a.py") == str(tmp_path / "n" / "a.py")


def test_links_are_not_followed_into_folders(tmp_path: Path) -> None:
    write(tmp_path, "p/__init__.py")
    (tmp_path / "p" / "loop").symlink_to(tmp_path / "p", target_is_directory=True)
    assert set(open_folder(str(tmp_path)).files) == {"p/__init__.py"}


def test_what_is_no_folder_of_modules(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        open_folder(str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="no Python module"):
        open_folder(str(tmp_path))


def test_a_file_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    tree = open_folder(str(write(tmp_path, "a.py", "b.py")))
    (tmp_path / "a.py").unlink()
    os.mkfifo(tmp_path / "c.py")
    assert dict(tree.read(["a.py", "b.py"])) == {"a.py": None, "b.py": b"x = 1\n"}
    assert "c.py" not in open_folder(str(tmp_path)).files


# Wheels ------------------------------------------------------------------------------------------


def make_wheel(folder: Path, files: dict[str, bytes]) -> Path:
    path = folder / "egg-1.0-py3-none-any.whl"
    metadata = b"Metadata-Version: 2.1\nName: egg\nVersion: 1.0\n"
    members = {**files, "egg-1.0.dist-info/METADATA": metadata}
    lines = [f"{name},{digest_of(data)},{len(data)}" for name, data in members.items()]
    members["egg-1.0.dist-info/RECORD"] = "\n".join(lines).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def digest_of(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"sha256={digest}"


def test_a_wheel(tmp_path: Path) -> None:
    path = make_wheel(
        tmp_path,
        {
            "egg/__init__.py": b"import hen\n",
            "egg/_c.abi3.so": b"",
            "egg-1.0.data/purelib/yolk.py": b"y = 1\n",
            "egg-1.0.data/scripts/run.py": b"",
            "egg/py.typed": b"",
        },
    )
    tree = open_whl(str(path))
    assert set(tree.files) == {"egg/__init__.py", "egg/_c.abi3.so", "yolk.py"}
    assert (tree.project, tree.version, tree.read_from) == ("egg", "1.0", path.name)
    assert tree.import_names == ("egg", "yolk")
    assert tree.files["egg/__init__.py"].size_bytes == 11
    assert dict(tree.read(["yolk.py"])) == {"yolk.py": b"y = 1\n"}
    assert tree.show("yolk.py") == "egg-1.0.data/purelib/yolk.py"


def test_a_wheel_that_must_not_be_unpacked(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, {"../egg.py": b""})
    with pytest.raises(InputError, match="refused"):
        open_whl(str(path))


def test_the_record_of_a_wheel_is_not_believed(tmp_path: Path) -> None:
    """A digest that is not the file's own would give another file's imports."""
    path = make_wheel(tmp_path, {"egg/__init__.py": b"import hen\n"})
    assert open_whl(str(path)).files["egg/__init__.py"].sha256 is None


# What is installed -------------------------------------------------------------------------------


def install(folder: Path, files: dict[str, str], record: str | None = None) -> Path:
    info = folder / "egg-1.0.dist-info"
    info.mkdir()
    for name, text in files.items():
        write(folder, name, text=text)
    lines = [f"{n},{digest_of(t.encode())},{len(t)}" for n, t in files.items()]
    (info / "RECORD").write_text("\n".join(lines) if record is None else record, "utf-8")
    return info


def test_an_installed_distribution(tmp_path: Path) -> None:
    install(tmp_path, {"egg/__init__.py": "import hen\n", "egg/a.py": ""})
    write(tmp_path, "stranger.py")
    info = find_installed("Egg", [tmp_path / "nowhere", tmp_path])
    assert info == tmp_path / "egg-1.0.dist-info"
    tree = open_installed(info)
    assert set(tree.files) == {"egg/__init__.py", "egg/a.py"}
    assert all(file.sha256 for file in tree.files.values())
    assert tree.show("egg/a.py") == "egg/a.py"
    assert find_installed("hen", [tmp_path]) is None


def test_a_file_that_was_changed_since_has_no_digest(tmp_path: Path) -> None:
    info = install(tmp_path, {"egg.py": "import hen\n"})
    (tmp_path / "egg.py").write_text("import cock", "utf-8")
    os.utime(tmp_path / "egg.py", (2e9, 2e9))
    assert open_installed(info).files["egg.py"].sha256 is None


def test_a_record_that_points_elsewhere_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "secret.py")
    site = tmp_path / "site"
    site.mkdir()
    info = install(site, {"egg.py": ""}, "egg.py,,\n../secret.py,,\n/etc/passwd.py,,\n")
    assert set(open_installed(info).files) == {"egg.py"}


def test_an_editable_installation(tmp_path: Path) -> None:
    sources = write(tmp_path / "project" / "src", "egg/__init__.py")
    site = tmp_path / "site"
    site.mkdir()
    info = install(site, {"__editable__.egg.pth": f"import sys\n{sources}\n"})
    tree = open_installed(info)
    assert set(tree.files) == {"egg/__init__.py"}
    assert "editable" in tree.read_from
    assert tree.project == "egg"


def test_nothing_says_which_files_it_has(tmp_path: Path) -> None:
    (tmp_path / "egg-1.0.dist-info").mkdir()
    with pytest.raises(InputError, match="no RECORD"):
        open_installed(tmp_path / "egg-1.0.dist-info")

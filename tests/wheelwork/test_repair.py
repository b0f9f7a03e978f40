"""Repaired wheels: what changes, what stays, what is refused, and that pip takes them."""

from __future__ import annotations

import io
import stat
import string
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_wheels import (
    Venv,
    assert_record_holds,
    contents_of,
    fields_of,
    make_wheel,
    text_of,
)
from packaging.utils import canonicalize_name
from packaging.version import Version

from distcycle.errors import InputError
from distcycle.wheelwork import Edit, write_repaired
from distcycle.wheelwork.repair import repaired_version

TORCH = Edit(requires=canonicalize_name("torch"))
TORCH_EXTRA = Edit(requires=canonicalize_name("torch"), extra=canonicalize_name("torch"))


@pytest.fixture
def triton(tmp_path: Path) -> Path:
    return make_wheel(
        tmp_path / "in",
        "triton",
        "2.0.0",
        requires=("cmake", "torch", "lit ; extra == 'tests'"),
        files={
            "triton/__init__.py": b"HERE = True\n",
            "triton/_C/run.sh": b"#!/bin/sh\n",
            "triton-2.0.0.data/scripts/tool": b"#!python\nprint('tool')\n",
        },
        info={"licenses/LICENSE": b"MIT\n", "top_level.txt": b"triton\n"},
        modes={"triton/_C/run.sh": 0o755, "triton-2.0.0.data/scripts/tool": 0o755},
        description=b"Long words\r\n\r\nRequires-Dist: torch\n \xc3\xa9\n",
    )


def test_requirement_goes(triton: Path, tmp_path: Path) -> None:
    repaired = write_repaired(triton, [TORCH], tmp_path / "out")
    assert repaired == tmp_path / "out" / "triton-2.0.0+distcycle.1-py3-none-any.whl"
    assert [p.name for p in (tmp_path / "out").iterdir()] == [repaired.name]
    old, new = contents_of(triton), contents_of(repaired)
    assert new["triton-2.0.0+distcycle.1.dist-info/METADATA"] == old[
        "triton-2.0.0.dist-info/METADATA"
    ].replace(b"Requires-Dist: torch\n", b"", 1).replace(b"2.0.0\n", b"2.0.0+distcycle.1\n")
    assert list(new) == [name.replace("2.0.0", "2.0.0+distcycle.1") for name in old]
    assert_record_holds(repaired)


def test_everything_else_stays(triton: Path, tmp_path: Path) -> None:
    repaired = write_repaired(triton, [TORCH], tmp_path / "out")
    with zipfile.ZipFile(triton) as old, zipfile.ZipFile(repaired) as new:
        for before, after in zip(old.infolist(), new.infolist(), strict=True):
            for trait in ("date_time", "compress_type", "external_attr", "create_system", "extra"):
                assert getattr(before, trait) == getattr(after, trait), (before, trait)
            if not before.filename.endswith(("/METADATA", "/RECORD")):
                assert old.read(before) == new.read(after)
                assert before.compress_size == after.compress_size


def test_version_can_be_kept(triton: Path, tmp_path: Path) -> None:
    repaired = write_repaired(triton, [TORCH], tmp_path / "out", keep_version=True)
    assert repaired.name == triton.name
    old, new = contents_of(triton), contents_of(repaired)
    changed = {name for name in old if old[name] != new[name]}
    assert changed == {"triton-2.0.0.dist-info/METADATA", "triton-2.0.0.dist-info/RECORD"}
    assert_record_holds(repaired)


def test_requirement_moves_to_an_extra(triton: Path, tmp_path: Path) -> None:
    repaired = write_repaired(triton, [TORCH_EXTRA], tmp_path / "out")
    assert fields_of(repaired, "Requires-Dist") == [
        "cmake",
        'torch; extra == "torch"',
        "lit ; extra == 'tests'",
    ]
    assert fields_of(repaired, "Provides-Extra") == ["torch"]


def test_same_input_same_bytes(triton: Path, tmp_path: Path) -> None:
    one = write_repaired(triton, [TORCH], tmp_path / "one")
    two = write_repaired(triton, [TORCH], tmp_path / "two")
    assert one.read_bytes() == two.read_bytes()
    assert write_repaired(triton, [TORCH], tmp_path / "two").read_bytes() == one.read_bytes()


def test_file_permissions_are_those_of_the_wheel(triton: Path, tmp_path: Path) -> None:
    triton.chmod(0o640)
    repaired = write_repaired(triton, [TORCH], tmp_path / "out")
    assert stat.S_IMODE(repaired.stat().st_mode) == stat.S_IMODE(triton.stat().st_mode)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.0.0", "2.0.0+distcycle.1"),
        ("2.0.0+cu118", "2.0.0+cu118.distcycle.1"),
        ("1!2.0rc1.post2", "1!2.0rc1.post2+distcycle.1"),
        ("2.0.0+distcycle.1", "2.0.0+distcycle.2"),
        ("2.0.0+cu118.distcycle.9", "2.0.0+cu118.distcycle.10"),
    ],
)
def test_repaired_version(version: str, expected: str) -> None:
    assert str(repaired_version(Version(version))) == expected
    assert repaired_version(Version(version)) > Version(version)


def test_build_number_and_spelling_are_kept(tmp_path: Path) -> None:
    made = make_wheel(tmp_path, "Tri_Ton", "2.0", requires=("torch",))
    named = made.rename(tmp_path / "Tri_Ton-2.0-7-py3-none-any.whl")
    repaired = write_repaired(named, [TORCH], tmp_path / "out")
    assert repaired.name == "Tri_Ton-2.0+distcycle.1-7-py3-none-any.whl"
    assert "Tri_Ton-2.0+distcycle.1.dist-info/METADATA" in contents_of(repaired)


def test_what_is_not_required_is_refused(triton: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"triton-2.0.0.*no such requirement of numpy"):
        write_repaired(triton, [Edit(requires=canonicalize_name("numpy"))], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_wheel_is_not_replaced_by_its_repair(triton: Path) -> None:
    before = triton.read_bytes()
    with pytest.raises(InputError, match="choose another folder"):
        write_repaired(triton, [TORCH], triton.parent, keep_version=True)
    assert triton.read_bytes() == before


@pytest.mark.parametrize("signature", ["RECORD.jws", "RECORD.p7s"])
def test_signed_wheel_is_refused_unless_allowed(signature: str, tmp_path: Path) -> None:
    signed = make_wheel(tmp_path, "triton", requires=("torch",), info={signature: b"{}"})
    with pytest.raises(InputError, match=f"{signature}: signed"):
        write_repaired(signed, [TORCH], tmp_path / "out")
    repaired = write_repaired(signed, [TORCH], tmp_path / "out", allow_signed=True)
    assert not [name for name in contents_of(repaired) if signature in name]
    assert_record_holds(repaired)


def _hostile(path: Path, *entries: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    with zipfile.ZipFile(path, "a") as archive:
        for entry, data in entries:
            archive.writestr(entry, data)
    return path


def _link() -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo("triton/link")
    entry.create_system = 3
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("/etc/passwd", "an absolute path"),
        ("../evil.py", "not plain"),
        ("triton/../../evil.py", "not plain"),
        ("./triton/x.py", "not plain"),
        ("triton//x.py", "not plain"),
        ("C:/evil.py", "an absolute path"),
        ("c:evil.py", "an absolute path"),
        ("triton\\evil.py", "a backslash"),
        ("triton/e\nvil.py", "a control character"),
        (_link(), "neither a file nor a folder"),
    ],
    ids=str,
)
def test_hostile_members_are_refused(
    triton: Path, tmp_path: Path, entry: zipfile.ZipInfo | str, problem: str
) -> None:
    name = entry if isinstance(entry, str) else entry.filename
    with pytest.raises(InputError, match=problem) as caught:
        write_repaired(_hostile(triton, (entry, b"x")), [TORCH], tmp_path / "out")
    assert caught.value.key == repr(name)[1:-1]
    assert caught.value.path == str(triton)
    assert not (tmp_path / "out").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_member_twice_is_refused(triton: Path, tmp_path: Path) -> None:
    twice = _hostile(triton, ("triton/__init__.py", b"import os\n"))
    with pytest.raises(InputError, match=r"triton/__init__.py: refused: a member twice"):
        write_repaired(twice, [TORCH], tmp_path / "out")


def _flipped(path: Path, signature: bytes, offset: int, bits: int) -> None:
    """Set bits of the header of the last member that has such a header."""
    data = bytearray(path.read_bytes())
    data[data.rindex(signature) + offset] |= bits
    path.write_bytes(data)


def test_encrypted_member_is_refused(triton: Path, tmp_path: Path) -> None:
    _flipped(triton, b"PK\1\2", 8, 0x1)
    with pytest.raises(InputError, match="an encrypted member"):
        write_repaired(triton, [TORCH], tmp_path / "out")


def test_overlapping_members_are_refused(triton: Path, tmp_path: Path) -> None:
    """The directory says that the last member has 16 MiB more than the whole file."""
    _flipped(triton, b"PK\1\2", 23, 0x1)
    with pytest.raises(InputError, match="members that overlap"):
        write_repaired(triton, [TORCH], tmp_path / "out")


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (
            "Triton-2.0.dist-info/METADATA",
            r"several \.dist-info folders: Triton-2.0.dist-info, tri",
        ),
        ("TRITON-2.0.0.data/purelib/x.py", r"several \.data folders: TRITON-2.0.0.data, triton-"),
    ],
)
def test_two_folders_of_its_own(triton: Path, tmp_path: Path, entry: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        write_repaired(_hostile(triton, (entry, b"")), [TORCH], tmp_path / "out")


@pytest.mark.parametrize(
    ("lacking", "problem"),
    [
        ("RECORD", r"no triton-1.0.dist-info/RECORD in it"),
        ("METADATA", r"no triton-1.0.dist-info/METADATA in it"),
        ("", r"no \.dist-info folder of triton in it"),
    ],
)
def test_wheel_that_lacks_a_text(tmp_path: Path, lacking: str, problem: str) -> None:
    wheel = make_wheel(tmp_path, "triton", requires=("torch",))
    kept = {n: d for n, d in contents_of(wheel).items() if not n.endswith(f"dist-info/{lacking}")}
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in kept.items():
            if lacking or ".dist-info" not in name:
                archive.writestr(name, data)
    with pytest.raises(InputError, match=problem):
        write_repaired(wheel, [TORCH], tmp_path / "out")


def test_member_with_two_names_is_refused(triton: Path, tmp_path: Path) -> None:
    data = triton.read_bytes()
    at = data.index(b"triton/_C/run.sh")
    triton.write_bytes(data[:at] + b"triton/_C/ran.sh" + data[at + 16 :])
    with pytest.raises(InputError, match=r"triton/_C/run.sh: .*two names"):
        write_repaired(triton, [TORCH], tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_member_with_a_second_name_in_its_extra_data_is_refused(
    triton: Path, tmp_path: Path
) -> None:
    entry = zipfile.ZipInfo("triton/x.py")
    other = b"\1\0\0\0\0triton/y.py"
    entry.extra = b"\x75\x70" + len(other).to_bytes(2, "little") + other
    with pytest.raises(InputError, match="two names"):
        write_repaired(_hostile(triton, (entry, b"x")), [TORCH], tmp_path / "out")


@pytest.mark.parametrize(
    ("data", "problem"),
    [(b"", "not a readable wheel"), (b"PK\3\4" + b"\0" * 40, "not a readable wheel")],
)
def test_no_archive(data: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "triton-1.0-py3-none-any.whl"
    path.write_bytes(data)
    with pytest.raises(InputError, match=problem):
        write_repaired(path, [TORCH], tmp_path / "out")


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"No such file|cannot find"):
        write_repaired(tmp_path / "a-1-py3-none-any.whl", [TORCH], tmp_path / "out")


def test_name_that_is_none(triton: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not the name of a wheel"):
        write_repaired(triton.rename(tmp_path / "triton.whl"), [TORCH], tmp_path / "out")


def test_name_of_another_version(triton: Path, tmp_path: Path) -> None:
    renamed = triton.rename(tmp_path / "triton-2.1-py3-none-any.whl")
    with pytest.raises(InputError, match=r"expected METADATA of triton 2.1, found .* 2\.0\.0"):
        write_repaired(renamed, [TORCH], tmp_path / "out")


def test_record_without_metadata_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "triton", requires=("torch",))
    contents = contents_of(wheel)
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, b"" if name.endswith("/RECORD") else data)
    with pytest.raises(InputError, match=r"no row for triton-1.0.dist-info/METADATA"):
        write_repaired(wheel, [TORCH], tmp_path / "out")


def test_failure_while_writing_leaves_nothing(triton: Path, tmp_path: Path) -> None:
    """The last member's data are cut off: found only after most of the wheel is written."""
    broken = bytearray(triton.read_bytes())
    at = broken.rindex(b"PK\3\4", 0, broken.index(b"PK\1\2"))
    broken[at : at + 4] = b"XXXX"
    triton.write_bytes(broken)
    with pytest.raises(InputError):
        write_repaired(triton, [TORCH], tmp_path / "out")
    assert not (tmp_path / "out").exists() or list((tmp_path / "out").iterdir()) == []


def test_folder_that_is_a_file(triton: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match=r"out: "):
        write_repaired(triton, [TORCH], tmp_path / "out")


def test_archive_written_as_a_stream(tmp_path: Path) -> None:
    """Such an archive has its sizes after the data; the copy has them before."""
    wheel = make_wheel(tmp_path, "triton", requires=("torch",))
    contents = contents_of(wheel)

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: bytes) -> int:
            self.data += data
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"made by hand"
        for name, data in contents.items():
            archive.writestr(name, data)
    wheel.write_bytes(pipe.data)
    repaired = write_repaired(wheel, [TORCH], tmp_path / "out")
    assert_record_holds(repaired)
    with zipfile.ZipFile(repaired) as archive:
        assert not [info for info in archive.infolist() if info.flag_bits & 0x08]
        assert archive.comment == b"made by hand"


def test_pip_takes_it(
    triton: Path,
    tmp_path: Path,
    venv: Venv,
    distcycle: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    cmake = make_wheel(tmp_path, "cmake")
    torch = make_wheel(tmp_path, "torch", requires=("triton==2.0.0",))
    venv.install([write_repaired(triton, [TORCH], tmp_path / "out"), cmake, torch])
    check = venv.pip("check")
    assert check.returncode == 0, check.stdout
    assert venv.run("-c", "import triton; print(triton.HERE)") == "True"
    assert venv.script("tool") == "tool"
    shown = venv.run("-c", "from importlib.metadata import version; print(version('triton'))")
    assert shown == "2.0.0+distcycle.1"
    audit = distcycle("audit", venv.folder)
    assert audit.returncode == 0, audit.stdout + audit.stderr
    venv.install([triton], "--no-deps", "--force-reinstall")
    assert "wheel-cycle" in distcycle("audit", venv.folder).stdout


_WORDS = st.text(string.ascii_lowercase + "é, '\"", min_size=1, max_size=8)
_PATHS = st.lists(_WORDS.filter(lambda word: word.strip(" .")), min_size=1, max_size=3)
_FILES = st.dictionaries(
    _PATHS.map(lambda parts: "triton/" + "/".join(parts) + ".py"), st.binary(max_size=60)
)


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(
    files=_FILES,
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    record_end=st.sampled_from(["\n", "\r\n"]),
    requires=st.permutations(["torch", "torch>=2 ; os_name == 'nt'", "numpy", "lit ; extra=='t'"]),
    description=st.binary(max_size=80),
    keep=st.booleans(),
)
def test_only_metadata_record_and_names_change(
    tmp_path_factory: pytest.TempPathFactory,
    files: dict[str, bytes],
    end: str,
    record_end: str,
    requires: list[str],
    description: bytes,
    keep: bool,
) -> None:
    folder = tmp_path_factory.mktemp("law")
    wheel = make_wheel(
        folder,
        "triton",
        requires=requires,
        files=files,
        end=end,
        record_end=record_end,
        description=description,
    )
    repaired = write_repaired(wheel, [TORCH], folder / "out", keep_version=keep)
    assert_record_holds(repaired)
    old, new = contents_of(wheel), contents_of(repaired)
    back = {name.replace("+distcycle.1", ""): data for name, data in new.items()}
    assert list(back) == list(old)
    assert {n for n in old if old[n] != back[n]} == {
        "triton-1.0.dist-info/METADATA",
        "triton-1.0.dist-info/RECORD",
    }
    kept = [line for line in requires if not line.startswith("torch")]
    lines = back["triton-1.0.dist-info/METADATA"].split(end.encode())
    assert lines[3 : 3 + len(kept)] == [f"Requires-Dist: {line}".encode() for line in kept]
    assert text_of(repaired, "RECORD").count(record_end) == len(new)
    assert back["triton-1.0.dist-info/METADATA"].endswith(description)

"""The composite wheel of several and its stand-ins: what is in them, and that pip is content."""

from __future__ import annotations

import itertools
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
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
from distcycle.wheelwork import write_merged

NAME = canonicalize_name("a-b-together")
SHARED = b"__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n"


def merge(*wheels: Path) -> tuple[Path, ...]:
    out = wheels[0].parent / "out"
    return write_merged(wheels, name=NAME, version=Version("1"), out=out)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    a = make_wheel(
        tmp_path,
        "a",
        "1.0",
        requires=("b>=2", "outside>1 ; os_name == 'posix'", "common", "more ; extra == 'x'"),
        headers=("Requires-Python: >=3.8", "Provides-Extra: x", "License-File: terms.txt"),
        files={"a/__init__.py": b"import b\n", "space/__init__.py": SHARED, "space/a.py": b""},
        info={
            "terms.txt": b"of a\n",
            "entry_points.txt": b"[console_scripts]\nrun-a = a.cli:main\n",
            "own.json": b"{}",
        },
    )
    b = make_wheel(
        tmp_path,
        "b",
        "2.0",
        requires=("a", "common", "b[y] ; extra == 'all'", "most>3 ; extra == 'y'"),
        headers=("Requires-Python: !=3.9.1,>=3.7", "Provides-Extra: y", "Provides-Extra: all"),
        files={
            "b.py": b"TWO = 2\n",
            "space/__init__.py": SHARED,
            "space/b.py": b"",
            "b-2.0.data/scripts/run-b": b"#!python\nimport b\nprint(b.TWO)\n",
            "b-2.0.data/data/share/b.txt": b"text\n",
        },
        info={
            "licenses/LICENSE": b"of b\n",
            "sboms/b.json": b"{}",
            "top_level.txt": b"b\nspace\n",
            "entry_points.txt": b"[console_scripts]\nrun-b2 = b:main\n[plug]\np = b\n",
        },
        modes={"b-2.0.data/scripts/run-b": 0o755},
    )
    return a, b


def test_composite_has_all_files_once(pair: tuple[Path, Path]) -> None:
    composite, *_ = merge(*pair)
    assert composite.name == "a_b_together-1-py3-none-any.whl"
    assert_record_holds(composite)
    info, data = "a_b_together-1.dist-info", "a_b_together-1.data"
    contents = contents_of(composite)
    assert list(contents) == [
        *("a/__init__.py", "space/__init__.py", "space/a.py", "b.py", "space/b.py"),
        *(f"{data}/scripts/run-b", f"{data}/data/share/b.txt"),
        f"{info}/licenses/a/terms.txt",
        *(f"{info}/licenses/b/LICENSE", f"{info}/sboms/b/b.json"),
        *(f"{info}/METADATA", f"{info}/WHEEL", f"{info}/entry_points.txt"),
        *(f"{info}/top_level.txt", f"{info}/RECORD"),
    ]
    assert contents["b.py"] == b"TWO = 2\n"
    assert text_of(composite, "top_level.txt") == "a\nb\nspace\n"
    assert text_of(composite, "entry_points.txt") == (
        "[console_scripts]\nrun-a = a.cli:main\nrun-b2 = b:main\n\n[plug]\np = b\n"
    )
    with zipfile.ZipFile(composite) as archive:
        assert archive.getinfo(f"{data}/scripts/run-b").external_attr >> 16 & 0o777 == 0o755


def test_composite_says_what_all_say(pair: tuple[Path, Path]) -> None:
    composite, *_ = merge(*pair)
    assert fields_of(composite, "Name") == ["a-b-together"]
    assert fields_of(composite, "Version") == ["1"]
    assert fields_of(composite, "Requires-Python") == ["!=3.9.1,>=3.7,>=3.8"]
    assert fields_of(composite, "Requires-Dist") == [
        "outside>1 ; os_name == 'posix'",
        "common",
        "more ; extra == 'x'",
        'most>3 ; extra == "all"',
        "most>3 ; extra == 'y'",
    ]
    assert fields_of(composite, "Provides-Extra") == ["x", "y", "all"]
    assert fields_of(composite, "Provides-Dist") == ["a (1.0)", "b (2.0)"]
    assert fields_of(composite, "License-File") == ["a/terms.txt", "b/LICENSE"]
    assert fields_of(composite, "Root-Is-Purelib", "WHEEL") == ["true"]
    assert fields_of(composite, "Tag", "WHEEL") == ["py3-none-any"]


def test_stand_ins_require_the_composite(pair: tuple[Path, Path]) -> None:
    _, a, b = merge(*pair)
    assert (a.name, b.name) == ("a-1.0-py3-none-any.whl", "b-2.0-py3-none-any.whl")
    assert fields_of(a, "Requires-Dist") == ["a-b-together==1", "more ; extra == 'x'"]
    assert fields_of(a, "Requires-Python") == [">=3.8"]
    assert fields_of(b, "Requires-Dist") == [
        "a-b-together==1",
        'most>3 ; extra == "all"',
        "most>3 ; extra == 'y'",
    ]
    assert sorted(contents_of(a)) == [
        f"a-1.0.dist-info/{name}"
        for name in ("METADATA", "RECORD", "WHEEL", "own.json", "terms.txt")
    ]
    assert_record_holds(a)
    assert_record_holds(b)


def test_order_does_not_matter(pair: tuple[Path, Path], tmp_path: Path) -> None:
    results = []
    for number, order in enumerate(itertools.permutations(pair)):
        out = tmp_path / f"out{number}"
        made = write_merged(order, name=NAME, version=Version("1"), out=out)
        results.append([(path.name, path.read_bytes()) for path in made])
    assert results[0] == results[1]


def test_libraries_of_two_kinds(tmp_path: Path) -> None:
    pure = make_wheel(tmp_path, "a", files={"a.py": b"", "a-1.0.data/platlib/a_c.so": b"x"})
    compiled = make_wheel(
        tmp_path,
        "b",
        files={"b.so": b"", "b-1.0.data/purelib/b_p.py": b""},
        tags="cp311-cp311-win_amd64",
        purelib=False,
    )
    composite, a, _ = merge(pure, compiled)
    assert composite.name == "a_b_together-1-cp311-cp311-win_amd64.whl"
    assert a.name == "a-1.0-cp311-cp311-win_amd64.whl"
    assert fields_of(composite, "Root-Is-Purelib", "WHEEL") == ["false"]
    data = "a_b_together-1.data"
    files = [name for name in contents_of(composite) if ".dist-info/" not in name]
    assert files == [f"{data}/purelib/a.py", "a_c.so", "b.so", f"{data}/purelib/b_p.py"]
    assert text_of(composite, "top_level.txt") == "a\na_c\nb\nb_p\n"


def test_extras_of_members_are_followed(tmp_path: Path) -> None:
    """a[all] -> b[x] -> c[y] and back again; every marker on the way is kept."""
    a = make_wheel(
        tmp_path,
        "a",
        requires=("b[x] ; os_name == 'nt' or os_name == 'x'", "far ; extra == 'all'"),
        headers=("Provides-Extra: all",),
    )
    b = make_wheel(
        tmp_path,
        "b",
        requires=("c[y] ; python_version > '3' and extra == 'x'", "near ; extra == 'x'"),
        headers=("Provides-Extra: x",),
    )
    c = make_wheel(
        tmp_path,
        "c",
        requires=("deep @ https://host/d.whl ; extra == 'y'", "a[all]; extra == 'y'", "b[x]"),
        headers=("Provides-Extra: y",),
    )
    composite, *_ = merge(a, b, c)
    on = '(os_name == "nt" or os_name == "x")'
    assert fields_of(composite, "Requires-Dist") == [
        f'deep @ https://host/d.whl ; {on} and python_version > "3"',
        f'far ; {on} and python_version > "3"',
        'near ; os_name == "nt" or os_name == "x"',
        "far ; extra == 'all'",
        'deep @ https://host/d.whl ; python_version > "3" and extra == "x"',
        'far ; python_version > "3" and extra == "x"',
        "near ; extra == 'x'",
        "deep @ https://host/d.whl ; extra == 'y'",
        'far ; extra == "y"',
        'deep @ https://host/d.whl ; python_version > "3"',
        'far ; python_version > "3"',
        "near",
    ]


def _conflict(tmp_path: Path, *files: dict[str, bytes]) -> str:
    wheels = [
        make_wheel(tmp_path, name, files=content) for name, content in zip("ab", files, strict=True)
    ]
    with pytest.raises(InputError) as caught:
        merge(*wheels)
    assert not (tmp_path / "out").exists()
    return str(caught.value)


def test_conflicting_files_name_both_owners(tmp_path: Path) -> None:
    assert _conflict(tmp_path, {"x/__init__.py": b"1"}, {"x/__init__.py": b"2"}) == (
        "x/__init__.py: a 1.0 and b 1.0 have different files of this name"
    )


def test_conflict_across_libraries(tmp_path: Path) -> None:
    said = _conflict(tmp_path, {"x.py": b"1"}, {"b-1.0.data/platlib/x.py": b"2"})
    assert said == "x.py: a 1.0 and b 1.0 have different files of this name"


def test_names_that_differ_in_case_only(tmp_path: Path) -> None:
    assert _conflict(tmp_path, {"X.py": b"1"}, {"x.py": b"1"}) == (
        "x.py: a 1.0 and b 1.0 differ in letter case only, X.py"
    )


def test_file_and_folder_of_one_name(tmp_path: Path) -> None:
    assert _conflict(tmp_path, {"x": b"1"}, {"x/y.py": b"1"}) == (
        "x/y.py: a 1.0 and b 1.0 have a file and a folder of one name, x"
    )


def test_script_that_an_entry_point_would_overwrite(tmp_path: Path) -> None:
    a = make_wheel(tmp_path, "a", files={"a-1.0.data/scripts/run": b"#!python\n"})
    b = make_wheel(tmp_path, "b", info={"entry_points.txt": b"[console_scripts]\nrun = b:main\n"})
    with pytest.raises(InputError, match=r"run: a 1.0 has a script that is an entry point"):
        merge(a, b)


def test_entry_points_in_conflict(tmp_path: Path) -> None:
    points = b"[console_scripts]\nrun = %s:main\n"
    wheels = [make_wheel(tmp_path, n, info={"entry_points.txt": points % n.encode()}) for n in "ab"]
    with pytest.raises(InputError, match=r"run: a 1.0 and b 1.0 disagree: a:main in .*, b:main in"):
        merge(*wheels)


@pytest.mark.parametrize(
    ("a", "b", "problem"),
    [
        ({"tags": "cp311-cp311-win32"}, {"tags": "cp312-cp312-win32"}, "no environment takes all"),
        (
            {"headers": ("Requires-Python: <3.9",)},
            {"headers": ("Requires-Python: >=3.10",)},
            "no Python is what all of them require",
        ),
        ({"requires": ("b<1",)}, {}, r"a 1.0 requires b<1, and b is 1.0"),
        ({"requires": ("c>=1.*",)}, {}, "METADATA: .*"),
        ({"info": {"RECORD.jws": b"{}"}}, {}, "signed"),
        ({"info": {"WHEEL": b"Wheel-Version: 2.0\n"}}, {}, "expected Wheel-Version 1, found 2.0"),
        ({"info": {"WHEEL": b"Wheel-Version: 1.0\n"}}, {}, "expected true or false, found ''"),
        ({"files": {"a-1.0.data/stray": b""}}, {}, "a file of no installation scheme"),
    ],
)
def test_refused(tmp_path: Path, a: dict[str, object], b: dict[str, object], problem: str) -> None:
    wheels = [make_wheel(tmp_path, "a", **a), make_wheel(tmp_path, "b", **b)]  # type: ignore[arg-type]
    with pytest.raises(InputError, match=problem):
        merge(*wheels)
    assert not (tmp_path / "out").exists()


def test_requirement_for_another_environment_is_no_conflict(tmp_path: Path) -> None:
    a = make_wheel(tmp_path, "a", requires=("b<1 ; python_version < '3'",))
    composite, *_ = merge(a, make_wheel(tmp_path, "b"))
    assert fields_of(composite, "Requires-Dist") == []


def test_signed_wheels_can_be_allowed(tmp_path: Path) -> None:
    signed = make_wheel(tmp_path, "a", info={"RECORD.jws": b"{}"})
    made = write_merged(
        [signed, make_wheel(tmp_path, "b")],
        name=NAME,
        version=Version("1"),
        out=tmp_path / "out",
        allow_signed=True,
    )
    assert not [n for path in made for n in contents_of(path) if n.endswith(".jws")]


def test_wheels_of_one_project_or_one_alone(tmp_path: Path) -> None:
    one, other = make_wheel(tmp_path, "a", "1.0"), make_wheel(tmp_path, "a", "2.0")
    for wheels in ([one], [one, other]):
        with pytest.raises(InputError, match="expected wheels of several projects"):
            merge(*wheels)


def test_composite_needs_a_name_of_its_own(pair: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="b is the name of a member"):
        write_merged(pair, name=canonicalize_name("b"), version=Version("3"), out=tmp_path / "out")


def test_wheels_are_not_replaced_by_their_stand_ins(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    before = [path.read_bytes() for path in pair]
    with pytest.raises(InputError, match=r"a-1.0-py3-none-any.whl: .*choose another folder"):
        write_merged(pair, name=NAME, version=Version("1"), out=tmp_path)
    assert [path.read_bytes() for path in pair] == before


def test_damaged_member_is_named_and_nothing_left(pair: tuple[Path, Path]) -> None:
    data = bytearray(pair[1].read_bytes())
    at = data.index(b"TWO = 2")
    data[at : at + 3] = b"ONE"
    pair[1].write_bytes(data)
    with pytest.raises(InputError, match=r"b-2.0-py3-none-any.whl: b.py: not a readable wheel"):
        merge(*pair)
    assert not (pair[0].parent / "out").exists()


def test_pip_is_content(pair: tuple[Path, Path], tmp_path: Path, venv: Venv) -> None:
    others = [
        make_wheel(tmp_path / "others", name, version, requires=requires)
        for name, version, requires in [
            *(("outside", "2.0", ()), ("common", "1.0", ()), ("more", "1.0", ())),
            ("user", "1.0", ("a[x]==1.0", "b>=2")),
        ]
    ]
    made = merge(*pair)
    venv.install([others[-1]], "--find-links", str(made[0].parent), "-f", str(others[0].parent))
    check = venv.pip("check")
    assert check.returncode == 0, check.stdout
    names = venv.run(
        "-c", "import importlib.metadata as m; print(*sorted(d.name for d in m.distributions()))"
    )
    assert {"a", "a-b-together", "b", "common", "more", "outside", "user"} <= set(names.split())
    assert venv.run("-c", "import a, b, space.a, space.b; print(a.b.TWO)") == "2"
    assert venv.script("run-b") == "2"


@pytest.mark.network
def test_real_pair(tmp_path: Path, venv: Venv) -> None:
    """fixtures 3.0.0 and testtools 2.3.0 require each other."""
    command = [sys.executable, "-m", "pip", "download", "-q", "-d", str(tmp_path / "in")]
    wanted = ["--only-binary=:all:", "fixtures==3.0.0", "testtools==2.3.0"]
    done = subprocess.run([*command, *wanted], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no package index: {done.stderr[-300:]}")
    wheels = sorted((tmp_path / "in").glob("*.whl"))
    members = [p for p in wheels if p.name.startswith(("fixtures-", "testtools-"))]
    name = canonicalize_name("fixtures-and-testtools")
    made = write_merged(members, name=name, version=Version("1"), out=tmp_path / "out")
    for wheel in made:
        assert_record_holds(wheel)
    venv.install([*made, *(p for p in wheels if p not in members)])
    check = venv.pip("check")
    assert check.returncode == 0, check.stdout
    assert (
        venv.run("-c", "from importlib.util import find_spec; find_spec('fixtures').origin") == ""
    )
    assert (
        venv.run("-c", "from importlib.util import find_spec; find_spec('testtools').origin") == ""
    )

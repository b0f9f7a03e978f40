"""'distcycle imports' as a process: what it takes, says, writes, and its exit codes."""

import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

FLEX = Path(__file__).parent / "data" / "flex"
MOVE = ("--move", "kernel.flex_attention", "kernel.flex_decoding")
MODULES = ("kernel.flex_attention", "kernel.flex_decoding", "kernel.config", "kernel")


@pytest.fixture
def flex(tmp_path: Path) -> Path:
    """A project whose kernel.flex_decoding cannot be imported first."""
    shutil.copytree(FLEX, tmp_path / "project" / "src")
    return tmp_path / "project"


def write(folder: Path, **modules: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    return folder


# What it says ------------------------------------------------------------------------------------


def test_a_loop_of_modules(distcycle: Run, flex: Path) -> None:
    done = distcycle("imports", ".", cwd=flex)
    assert (done.returncode, done.stderr) == (0, "")
    out = " ".join(done.stdout.split())
    assert "1 module of 6 fails when imported first" in out
    assert "kernel.flex_attention -> kernel.flex_decoding -> kernel.flex_attention" in out
    assert "src/kernel/flex_attention.py:79 takes 'create_decoding' out of kernel.flex_decod" in out
    assert out.endswith("1 loop, 0 denied, no warnings")
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_as_json(distcycle: Run, flex: Path) -> None:
    report = json.loads(distcycle("imports", ".", "--format", "json", cwd=flex).stdout)
    (component,) = report["components"]
    assert component["code"] == "import-cycle"
    assert [m["name"] for m in component["packages"]] == list(MODULES[:2])
    assert {edge["origin"] for edge in component["edges"]} == {"static", "lazy"}
    (survey,) = report["surveys"]
    assert survey["modules"] == {"python": 6}
    assert [view["loops"] for view in survey["views"]] == [[2], [2], [2]]
    (failure,) = survey["failing"]
    assert (failure["entry"], failure["symbol"]) == ("kernel.flex_decoding", "create_decoding")
    assert failure["back_line"] == 7
    (detail,) = survey["loops"]
    (mixed,) = detail["mixed"]
    assert mixed["late"] == ["late:90"]
    assert report["tool"]["command"] == "distcycle imports ."


def test_nothing_in_a_loop(distcycle: Run, tmp_path: Path) -> None:
    write(tmp_path / "clean", a="import b\n", b="")
    done = distcycle("imports", "clean", "--check")
    assert done.returncode == 0
    assert done.stdout.endswith("no loops, 0 denied, no warnings\n")


def test_a_file_that_cannot_be_parsed_is_a_finding(distcycle: Run, tmp_path: Path) -> None:
    write(tmp_path / "tree", a="import b\n", b="import (\n", c="x = 1\n")
    done = distcycle("imports", "tree")
    assert "not read: tree/b.py" in done.stdout
    assert "warn[unreadable-module] b: " in done.stdout
    assert "tree/b.py:1" in done.stdout
    assert done.stdout.endswith("no loops, 0 denied, 1 warning\n")


def test_a_platform_leaves_out_the_imports_of_others(distcycle: Run, tmp_path: Path) -> None:
    text = "import sys\nif sys.platform == 'win32':\n    import a\n"
    write(tmp_path / "tree", a="import b\n", b=text)
    for platform, code in (("windows_amd64", 1), ("linux_x86_64", 0)):
        done = distcycle("imports", "tree", "--check", "--platform", platform)
        assert done.returncode == code, done.stdout + done.stderr
    assert distcycle("imports", "tree", "--check").returncode == 1


def test_several_targets_apart_and_together(distcycle: Run, tmp_path: Path) -> None:
    write(tmp_path / "one", egg="import hen\n")
    write(tmp_path / "two", hen="import egg\n")
    assert distcycle("imports", "one", "two", "--check").returncode == 0
    done = distcycle("imports", "one", "two", "--check", "--together")
    assert done.returncode == 1
    assert "egg -> hen -> egg" in done.stdout


def test_an_installed_distribution(distcycle: Run) -> None:
    done = distcycle("imports", "packaging", "--python", sys.prefix)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("packaging ")
    assert "read from installed in" in done.stdout


def test_a_wheel(distcycle: Run, make_wheel: Callable[..., Path]) -> None:
    import zipfile

    path = make_wheel("egg")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("egg/__init__.py", "from .a import x\n")
        archive.writestr("egg/a.py", "from . import y\n")
    done = distcycle("imports", path)
    assert f"read from {path.name}" in done.stdout.replace("\n  ", "")
    assert "egg/a.py:1  from . import y" in done.stdout


def test_the_members_of_a_loop_of_wheels(
    distcycle: Run, tmp_path: Path, make_wheel: Callable[..., Path]
) -> None:
    """Modules of egg and hen import each other, as the wheels require each other."""
    import zipfile

    for name, other in (("egg", "hen"), ("hen", "egg")):
        with zipfile.ZipFile(make_wheel(name, requires=(other,)), "a") as archive:
            archive.writestr(f"{name}/__init__.py", f"from {other} import x\n")
    make_wheel("stone")
    lock = tmp_path / "requirements.txt"
    lock.write_text("egg==1.0\nhen==1.0\nstone==1.0\n")
    wheels = make_wheel("stone").parent
    for words in ((wheels,), (lock, "--find-links", wheels)):
        done = distcycle("imports", *words, "--check")
        assert done.returncode == 1, done.stderr
        assert done.stdout.startswith("egg 1.0, hen 1.0: 2 modules (2 python)\n")
        assert "deny[import-cycle] egg -> hen -> egg" in done.stdout
        assert "2 modules of 2 fail when imported first" in done.stdout
    done = distcycle("imports", lock)
    assert done.returncode == 0
    assert "no modules of a loop between packages could be looked at" in done.stdout


# Gate --------------------------------------------------------------------------------------------


def test_check_fails_on_loops_that_nobody_knows(distcycle: Run, flex: Path) -> None:
    assert distcycle("imports", ".", "--check", cwd=flex).returncode == 1
    assert distcycle("imports", ".", "--check", "-A", "import-cycle", cwd=flex).returncode == 0
    assert distcycle("imports", ".", "-D", "import-cycle", cwd=flex).returncode == 0
    done = distcycle("imports", ".", "--write-baseline", "known.json", cwd=flex)
    assert (done.returncode, done.stderr) == (0, "known.json: 1 finding\n")
    known = ("--check", "--baseline", "known.json")
    assert distcycle("imports", ".", *known, cwd=flex).returncode == 0
    # A loop that has grown is another one.
    config = flex / "src" / "kernel" / "config.py"
    config.write_text(config.read_text() + "from . import flex_decoding\n")
    done = distcycle("imports", ".", *known, cwd=flex)
    assert done.returncode == 1
    assert "deny[import-cycle]" in done.stdout


def test_a_policy_accepts_loops(distcycle: Run, flex: Path) -> None:
    policy = flex / "distcycle.toml"
    rule = 'version = 1\n[[waive]]\ncode = "import-cycle"\nreason = "known"\n'
    policy.write_text(f'{rule}packages = ["kernel.*"]\n')
    done = distcycle("imports", ".", "--check", cwd=flex)
    assert done.returncode == 0
    assert "waived[import-cycle]" in done.stdout
    policy.write_text(f'{rule}packages = ["kernel.flex_attention"]\n')
    done = distcycle("imports", ".", "--check", cwd=flex)
    assert done.returncode == 1
    assert "warn[unused-waiver]" in done.stdout
    policy.write_text(f'{rule}packages = ["kernel.*"]\nuntil = 2020-01-01\n')
    done = distcycle("imports", ".", "--check", cwd=flex)
    assert done.returncode == 1
    assert "expired-waiver" in done.stdout


# Wrong input -------------------------------------------------------------------------------------

WRONG = {
    ("imports",): "the following arguments are required: TARGET",
    ("imports", "nowhere"): "nowhere: no such file or folder, and no distribution of that name",
    ("imports", "no/where"): "no/where: no such file or folder",
    ("imports", "gone.whl"): "gone.whl: No such file or directory",
    ("imports", "text.odd"): "text.odd: not a known input",
    ("imports", "text.odd", "tree"): "the input of an audit stands alone",
    ("imports", "empty"): "empty: no Python module in it",
    ("imports", "tree", "--platform", "linus"): "unknown platform 'linus'",
    ("imports", "tree", "--write"): "--write and --into go with --move",
    ("imports", "tree", "tree", "--move", "a", "b"): "--move is for one folder of sources",
    ("imports", "tree", "--move", "a", "c"): "tree: no module c in it",
    ("imports", "tree", "--baseline", "gone.json"): "gone.json: cannot be read",
    ("imports", "x", "--python", "empty"): "empty: not an environment",
}


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_wrong_input_gets_one_line(distcycle: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    write(tmp_path / "tree", a="import b\n", b="import a\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.odd").touch()
    done = distcycle(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert WRONG[words] in line


# Moving ------------------------------------------------------------------------------------------


def outcome(folder: Path, order: tuple[str, ...]) -> str:
    """What a program prints that imports modules in an order and then uses them."""
    program = (
        "import importlib, io, logging, sys\n"
        "stream = io.StringIO()\n"
        "logging.basicConfig(stream=stream, level=0, format='%(name)s %(message)s')\n"
        f"for name in {order!r}: importlib.import_module(name)\n"
        "import kernel.flex_attention as a, kernel.flex_decoding as d\n"
        "print(a.infer_block(100), a.HeadDims(1), a.build([1], [2]), d.create_decoding(3))\n"
        "print(a.infer_block.is_pure, a.DEFAULT_BLOCK, a.next_power_of_two(5))\n"
        "print(stream.getvalue())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder / "src",
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout if done.returncode == 0 else "fails"


def test_a_move_opens_the_loop_and_changes_nothing_else(distcycle: Run, flex: Path) -> None:
    orders = list(itertools.permutations(MODULES[:3]))
    before = {order: outcome(flex, order) for order in orders}
    assert "fails" in before.values()
    (works,) = set(before.values()) - {"fails"}
    done = distcycle("imports", ".", *MOVE, "--write", cwd=flex)
    assert done.returncode == 0, done.stderr
    assert "the loop between kernel.flex_attention and kernel.flex_decoding is open" in done.stderr
    assert "can be imported first now: kernel.flex_decoding" in done.stderr
    assert {outcome(flex, order) for order in orders} == {works}
    assert distcycle("imports", ".", "--check", cwd=flex).returncode == 0
    assert not list(flex.rglob(".new-*"))


def test_a_move_is_shown_as_a_diff_first(distcycle: Run, flex: Path) -> None:
    before = {path: path.read_bytes() for path in flex.rglob("*.py")}
    done = distcycle("imports", ".", *MOVE, cwd=flex)
    assert done.returncode == 0
    assert {path: path.read_bytes() for path in flex.rglob("*.py")} == before
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    subprocess.run([git, "init", "-q"], cwd=flex, check=True)
    subprocess.run([git, "apply"], cwd=flex, input=done.stdout.encode(), check=True)
    distcycle("imports", ".", "--check", cwd=flex)
    applied = {path: path.read_bytes() for path in flex.rglob("*.py")}
    for path, content in before.items():
        path.write_bytes(content)
    (flex / "src" / "kernel" / "flex_attention_shared.py").unlink()
    distcycle("imports", ".", *MOVE, "--write", cwd=flex)
    assert {path: path.read_bytes() for path in flex.rglob("*.py")} == applied


def test_the_new_module_has_the_name_that_is_given(distcycle: Run, flex: Path) -> None:
    done = distcycle("imports", ".", *MOVE, "--into", "kernel.common", "--write", cwd=flex)
    assert done.returncode == 0, done.stderr
    assert (flex / "src" / "kernel" / "common.py").is_file()


def test_a_new_module_that_has_no_place_beside_the_old_one(distcycle: Run, flex: Path) -> None:
    done = distcycle("imports", ".", *MOVE, "--into", "elsewhere", "--write", cwd=flex)
    assert done.returncode == 2
    assert "elsewhere: no place for a module of this name" in done.stderr
    assert not list(flex.rglob("elsewhere*"))


def test_a_link_is_written_through(distcycle: Run, flex: Path) -> None:
    kernel = flex / "src" / "kernel"
    (flex / "real.py").write_bytes((kernel / "flex_decoding.py").read_bytes())
    (kernel / "flex_decoding.py").unlink()
    (kernel / "flex_decoding.py").symlink_to(flex / "real.py")
    assert distcycle("imports", ".", *MOVE, "--write", cwd=flex).returncode == 0
    assert (kernel / "flex_decoding.py").is_symlink()
    assert "flex_attention_shared" in (flex / "real.py").read_text()


def test_loops_of_the_same_names_in_two_targets(distcycle: Run, tmp_path: Path) -> None:
    write(tmp_path / "one", a="import b\n", b="import a\n")
    write(tmp_path / "two", a="import b\n", b="import a\nx = 1\n")
    report = json.loads(distcycle("imports", "one", "two", "--format", "json").stdout)
    ids = [component["id"] for component in report["components"]]
    assert len(set(ids)) == 2
    assert sorted(ids) == sorted(
        detail["component"] for survey in report["surveys"] for detail in survey["loops"]
    )


def test_a_move_that_is_refused_says_why_and_writes_nothing(distcycle: Run, tmp_path: Path) -> None:
    tree = write(
        tmp_path / "tree",
        a="from b import g\nx = 1\nx = 2\n",
        b="from a import x\ndef g(): return x\n",
    )
    before = sorted(tree.iterdir())
    done = distcycle("imports", "tree", "--move", "a", "b", "--write")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "tree/a.py:2: x: " in done.stderr
    assert sorted(tree.iterdir()) == before


def test_a_folder_that_cannot_be_written(
    distcycle: Run, flex: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distcycle import refactoring
    from distcycle.errors import InputError

    monkeypatch.chdir(flex)
    planned = refactoring.plan_move(".", *MOVE[1:])
    before = {path: path.read_bytes() for path in flex.rglob("*.py")}
    replaced: list[str] = []
    really = refactoring.os.replace

    def fail(old: str, new: str) -> None:
        if replaced:
            raise OSError(28, "No space left on device")
        replaced.append(new)
        really(old, new)

    monkeypatch.setattr(refactoring.os, "replace", fail)
    with pytest.raises(InputError, match="No space left"):
        refactoring.write_move(planned)
    assert replaced
    assert {path: path.read_bytes() for path in flex.rglob("*.py")} == before
    assert not list(flex.rglob(".new-*"))


def test_a_file_that_has_changed_meanwhile(flex: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from distcycle import refactoring
    from distcycle.errors import InputError

    monkeypatch.chdir(flex)
    planned = refactoring.plan_move(".", *MOVE[1:])
    path = flex / "src" / "kernel" / "flex_decoding.py"
    path.write_text(path.read_text() + "\n")
    with pytest.raises(InputError, match="has changed since"):
        refactoring.write_move(planned)
    assert not (flex / "src" / "kernel" / "flex_attention_shared.py").exists()


def test_a_move_after_which_another_module_fails_is_refused(distcycle: Run, tmp_path: Path) -> None:
    """The new module imports a third one, which takes from the old one what comes too late."""
    write(
        tmp_path / "tree",
        old="from part import g\nlate = 1\nimport third\ndef f(): return third\n",
        part="from old import f\ndef g(): return f\n",
        third="from old import late\n",
    )
    first = distcycle("imports", "tree", "--format", "json")
    fails = {f["entry"] for f in json.loads(first.stdout)["surveys"][0]["failing"]}
    done = distcycle("imports", "tree", "--move", "old", "part", "--write")
    after = json.loads(distcycle("imports", "tree", "--format", "json").stdout)
    now = {f["entry"] for f in after["surveys"][0]["failing"]}
    assert now <= fails
    assert done.returncode in (0, 2)

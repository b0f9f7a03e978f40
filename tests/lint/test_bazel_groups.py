"""Declared groups against the loops of locks: every finding, its place, and what else is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from bazel_locks import lint, snapshot_of

from distcycle import api
from distcycle.errors import InputError
from distcycle.findings import Finding, Report
from distcycle.model import Snapshot

SAMPLES = Path(__file__).resolve().parents[2] / "sample_locks"
PAIR = {"egg": ["hen"], "hen": ["egg"], "stone": []}

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a MODULE.bazel into the working directory."""
    monkeypatch.chdir(tmp_path)

    def write(text: str) -> Path:
        Path("MODULE.bazel").write_text(text, "utf-8")
        return Path("MODULE.bazel")

    return write


def module(groups: str, **extra: str) -> str:
    """A pip.parse whose groups begin on line 2."""
    more = "".join(f", {name} = {value!r}" for name, value in extra.items())
    return f'pip.parse(hub_name = "pypi"{more},\n{_ATTRIBUTE} = {groups})\n'


def workspace(groups: str) -> str:
    return f'pip_parse(name = "pypi",\n{_ATTRIBUTE} = {groups})\n'


_ATTRIBUTE = "experimental_requirement_cycles"


def codes(report: Report) -> list[tuple[str, int | None, tuple[str, ...]]]:
    return [(f.code, f.line, f.packages) for f in report.findings]


def only(report: Report) -> Finding:
    (finding,) = report.findings
    return finding


# Nothing wrong -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [module, workspace])
@pytest.mark.parametrize(
    "groups", ['{"eggs": ["egg", "hen"]}', '{"x": [\n  "Hen",\n  "egg",\n]}', "dict_of", "CYCLES"]
)
def test_right_groups(write: Write, make: Callable[[str], str], groups: str) -> None:
    if groups == "dict_of":
        groups = '{"a": ["hen", "egg"],}'
    text = f'CYCLES = {{"a": ["hen", "egg"]}}\n{make(groups)}'
    report = lint(write(text), snapshot_of(PAIR))
    assert (report.findings, report.notes, report.ok) == ((), (), True)
    assert [(i.path, i.kind, i.packages) for i in report.inputs] == [
        ("MODULE.bazel", "bazel", 2),
        ("uv.lock", "uv-lock", 4),
    ]
    assert (report.components, report.summary.components) == ((), 1)


def test_no_groups_and_no_loop(write: Write) -> None:
    text = 'pip.parse(hub_name = "pypi")\n'
    assert lint(write(text), snapshot_of({"egg": ["hen"]})).findings == ()


# group-incomplete --------------------------------------------------------------------------------

THREE = {"a": ["b"], "b": ["c"], "c": ["a"], "d": ["e"], "e": ["d"]}


def test_member_missing(write: Write) -> None:
    groups = '{\n"x": ["a",\n"c"],\n"y": ["d", "e"]}'
    finding = only(lint(write(module(groups)), snapshot_of(THREE)))
    assert (finding.code, finding.line, finding.packages) == ("group-incomplete", 3, ("b",))
    assert finding.message == "group 'x' lacks b, in one loop with its members by uv.lock"
    (hops,) = finding.details
    assert re.sub(r":\d+", ":N", hops) == (
        "a requires b==1 (uv.lock:N), b requires c==1 (uv.lock:N), c requires a==1 (uv.lock:N)"
    )


def test_loop_that_no_group_covers(write: Write) -> None:
    finding = only(lint(write(module('{"y": ["d", "e"]}')), snapshot_of(THREE)))
    assert (finding.code, finding.line) == ("group-incomplete", 2)
    assert finding.packages == ("a", "b", "c")
    assert finding.message == "no group holds a, b, c, which require each other by uv.lock"


def test_attribute_left_out(write: Write) -> None:
    finding = only(lint(write('\npip.parse(hub_name = "pypi")\n'), snapshot_of(PAIR)))
    assert (finding.code, finding.line) == ("group-incomplete", 2)
    assert "experimental_requirement_cycles is left out" in finding.details[0]


def test_loop_in_two_groups(write: Write) -> None:
    groups = '{\n"x": ["a", "b"],\n"y": ["c"],\n"z": ["d", "e"]}'
    finding = only(lint(write(module(groups)), snapshot_of(THREE)))
    assert (finding.line, finding.packages) == (3, ("c",))
    assert finding.details[0] == "c is in group 'y' (line 4); one group must hold the whole loop"


def test_loops_that_meet_are_one(write: Write) -> None:
    lock = snapshot_of({"a": ["b", "c"], "b": ["a"], "c": ["a"]})
    assert lint(write(module('{"x": ["a", "b", "c"]}')), lock).ok
    report = lint(write(module('{"x": ["a", "b"], "y": ["a", "c"]}')), lock)
    assert [f.code for f in report.findings] == ["group-incomplete", "group-overlap"]


def test_loop_by_an_extra(write: Write) -> None:
    lock = snapshot_of({"fsspec[gcs]": ["gcsfs"], "gcsfs": ["fsspec"]}, ["fsspec[gcs]"])
    finding = only(lint(write(module("{}")), lock))
    assert finding.packages == ("fsspec", "gcsfs")
    assert finding.details[0].startswith("fsspec[gcs] requires gcsfs==1 (uv.lock:")
    assert finding.details[1].startswith("fsspec[gcs] is requested by project")


def test_extra_that_nobody_requests_closes_nothing(write: Write) -> None:
    lock = snapshot_of({"fsspec[gcs]": ["gcsfs"], "gcsfs": ["fsspec"]}, ["fsspec", "gcsfs"])
    report = lint(write(module('{"fsspec": ["fsspec", "gcsfs"]}')), lock)
    assert codes(report) == [("group-excess", 2, (name,)) for name in ("fsspec", "gcsfs")]
    assert report.findings[0].details == (
        "whoever depends on one member of a group gets all of them",
    )


def test_group_with_a_member_that_is_not_installed(write: Write) -> None:
    lock = snapshot_of({"fsspec[gcs]": ["gcsfs"], "gcsfs": ["fsspec"]}, ["fsspec"])
    report = lint(write(module('{"fsspec": ["fsspec", "gcsfs"]}')), lock)
    assert report.findings == ()
    assert report.notes == (
        "MODULE.bazel:2: group 'fsspec' is judged in part: gcsfs not installed by what is asked"
        " for; --all-extras, --extra, --group and --platform ask for more",
    )


def test_wheel_loop_that_an_extra_makes_larger(write: Write) -> None:
    lock = snapshot_of({**PAIR, "egg[soft]": ["yolk"], "yolk": ["hen"]}, ["egg[soft]"])
    finding = only(lint(write(module('{"x": ["egg", "hen"]}')), lock))
    assert (finding.code, finding.packages) == ("group-incomplete", ("yolk",))


# group-excess ------------------------------------------------------------------------------------


def test_member_in_no_loop(write: Write) -> None:
    finding = only(lint(write(module('{"x": ["egg", "hen",\n"stone"]}')), snapshot_of(PAIR)))
    assert (finding.code, finding.line, finding.packages) == ("group-excess", 3, ("stone",))
    assert finding.message == "group 'x' names stone, which is in no loop of uv.lock"


def test_group_that_joins_loops(write: Write) -> None:
    finding = only(lint(write(module('{"x": ["a", "b", "c",\n"e", "d"]}')), snapshot_of(THREE)))
    assert (finding.code, finding.line, finding.packages) == ("group-excess", 3, ("d", "e"))
    assert finding.message == (
        "group 'x' joins loops that have nothing in common: d, e and a, b, c"
    )


def test_group_without_members(write: Write) -> None:
    finding = only(lint(write(module('{"y": ["egg", "hen"],\n"x": []}')), snapshot_of(PAIR)))
    assert (finding.code, finding.line) == ("group-excess", 3)


# group-overlap -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "other", "says"),
    [
        (module, "egg", "pip.parse takes the last of them and says nothing"),
        (workspace, "egg", "pip_parse refuses it"),
        (workspace, "Egg", "pip_parse compares names as spelled, and so does not see it"),
    ],
)
def test_name_in_two_groups(
    write: Write, make: Callable[[str], str], other: str, says: str
) -> None:
    text = make('{"x": ["egg", "hen"],\n"y": ["' + other + '"]}')
    finding = only(lint(write(text), snapshot_of(PAIR)))
    assert (finding.code, finding.line, finding.packages) == ("group-overlap", 3, ("egg",))
    assert finding.message == "egg is in group 'x' and in group 'y'"
    assert finding.details[-1] == says


def test_name_twice_in_one_group(write: Write) -> None:
    finding = only(lint(write(module('{"x": ["egg", "hen",\n"EGG"]}')), snapshot_of(PAIR)))
    assert (finding.code, finding.line) == ("group-overlap", 3)
    assert finding.message == "egg is twice in group 'x'"
    assert finding.details == ("it stands on line 2 already, as 'egg'; here as 'EGG'",)


# group-absent ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (module, "pip.parse keeps it in the group, which then names a target that does not exist"),
        (workspace, "pip_parse leaves it out of the group"),
    ],
)
def test_name_that_the_lock_lacks(write: Write, make: Callable[[str], str], says: str) -> None:
    finding = only(lint(write(make('{"x": ["egg", "hen",\n"stoned"]}')), snapshot_of(PAIR)))
    assert (finding.code, finding.line, finding.packages) == ("group-absent", 3, ("stoned",))
    assert finding.message == "group 'x' names stoned, which uv.lock does not have"
    assert finding.details == ("did you mean stone?", says)


# Targets -----------------------------------------------------------------------------------------

ON_LINUX = {"torch": ["triton ; sys_platform == 'linux'"], "triton": ["torch"]}
BOTH = ("linux_x86_64", "windows_amd64")


def test_loop_on_some_targets(write: Write) -> None:
    lock = snapshot_of(ON_LINUX, ["torch"])
    finding = only(lint(write(module('{"torch": ["torch"]}')), lock, platforms=BOTH))
    assert finding.targets == ("cp311-linux_x86_64",)
    whole = only(lint(write(module('{"torch": ["torch"]}')), lock))
    assert whole.details[-1] == "the loop exists where sys_platform == 'linux'"


@pytest.mark.parametrize(
    ("make", "says"), [(module, "pip.parse keeps there"), (workspace, "pip_parse leaves out there")]
)
def test_group_that_some_targets_need(write: Write, make: Callable[[str], str], says: str) -> None:
    text = make('{"torch": ["torch", "triton"]}')
    report = lint(write(text), snapshot_of(ON_LINUX, ["torch"]), platforms=BOTH)
    assert report.ok
    assert report.notes == (
        "MODULE.bazel:2: group 'torch' is needed on linux_x86_64 only; a group holds on every"
        " platform",
        f"MODULE.bazel:2: group 'torch' has triton, not installed on windows_amd64, which {says}",
    )


def test_loop_that_no_named_target_has(write: Write) -> None:
    edges = {"a": ["b ; platform_machine == 's390x'"], "b": ["a"]}
    report = lint(write(module('{"a": ["a", "b"]}')), snapshot_of(edges))
    assert "is needed where platform_machine == 's390x' only" in report.notes[0]


def test_no_loop_on_the_judged_target(write: Write) -> None:
    text = module('{"x": ["torch", "triton"]}')
    lock = snapshot_of(ON_LINUX, ["torch", "triton"])
    report = lint(write(text), lock, platforms=BOTH[1:])
    assert [f.code for f in report.findings] == ["group-excess", "group-excess"]
    report = lint(write(text), snapshot_of(ON_LINUX, ["torch"]), platforms=BOTH[1:])
    assert report.findings == ()
    assert "triton not installed by what is asked for" in report.notes[0]


# Hubs --------------------------------------------------------------------------------------------

HUBS = f"""\
pip.parse(hub_name = "a", requirements_lock = "//:uv.lock", {_ATTRIBUTE} = {{"x": ["egg", "hen"]}})
pip.parse(hub_name = "b", requirements_lock = "//dev:dev.txt", {_ATTRIBUTE} = {{}})
"""


def test_hub_is_told_by_its_lock(write: Write) -> None:
    report = lint(write(HUBS), snapshot_of(PAIR))
    assert report.ok
    assert report.notes == ("MODULE.bazel:2: hub b is not judged: it does not read uv.lock",)


def test_hub_is_told_by_its_locks_folder(write: Write) -> None:
    text = HUBS.replace("//:uv.lock", "//one:uv.lock").replace("//dev:dev.txt", "//two:uv.lock")
    report = lint(write(text), snapshot_of(PAIR, path="two/uv.lock"))
    assert codes(report) == [("group-incomplete", 2, ("egg", "hen"))]
    both = lint(write(text), snapshot_of(PAIR, path="three/uv.lock"))
    assert [f.line for f in both.findings] == [2]
    assert both.notes == ()


def test_hub_by_name(write: Write) -> None:
    report = lint(write(HUBS), snapshot_of(PAIR), hubs=["b"])
    assert codes(report) == [("group-incomplete", 2, ("egg", "hen"))]
    with pytest.raises(InputError, match="no hub 'c' in it; it has a, b"):
        lint(write(HUBS), snapshot_of(PAIR), hubs=["c"])


def test_all_hubs_where_no_lock_has_the_name(write: Write) -> None:
    report = lint(write(HUBS), snapshot_of(PAIR, path="poetry.txt"))
    assert codes(report) == [("group-incomplete", 2, ("egg", "hen"))]
    assert report.notes == ()


def test_last_call_on_a_hub_wins(write: Write) -> None:
    right, wrong = '{"x": ["egg", "hen"]}', '{"x": ["egg"]}'
    report = lint(write(module(right) + module(wrong)), snapshot_of(PAIR))
    assert codes(report) == [("group-incomplete", 4, ("hen",))]
    report = lint(write(module(wrong) + module(right)), snapshot_of(PAIR))
    assert report.ok
    assert report.notes == (
        "MODULE.bazel:1: the groups of this pip.parse do not count: that of line 3 on the same hub"
        " is the last",
    )
    assert lint(write(module(right) * 2), snapshot_of(PAIR)).notes == ()


def test_last_call_on_a_hub_has_no_groups(write: Write) -> None:
    text = module('{"x": ["egg", "hen"]}') + 'pip.parse(hub_name = "pypi")\n'
    finding = only(lint(write(text), snapshot_of(PAIR)))
    assert (finding.code, finding.line) == ("group-incomplete", 3)
    assert finding.details[0] == (
        "the groups of line 2 do not count: the last pip.parse on a hub wins"
    )


def test_one_constant_for_two_hubs_is_said_once(write: Write) -> None:
    text = f"""\
CYCLES = {{"x": ["egg"]}}
pip_parse(name = "a", {_ATTRIBUTE} = CYCLES)
pip_parse(name = "b", {_ATTRIBUTE} = CYCLES)
"""
    assert codes(lint(write(text), snapshot_of(PAIR))) == [("group-incomplete", 1, ("hen",))]


def test_computed_groups_are_refused_unless_another_hub_is_meant(write: Write) -> None:
    text = HUBS.replace("{}", "make()")
    assert lint(write(text), snapshot_of(PAIR)).ok
    with pytest.raises(InputError, match=r"cannot be told: make\(\) is no literal") as caught:
        lint(write(text), snapshot_of(PAIR), hubs=["b"])
    assert caught.value.line == 2


# What is found in public files, written anew -----------------------------------------------------


def sample(name: str) -> Snapshot:
    return api.read(str(SAMPLES / name))


SPHINX = """\
pip_parse(
    name = "base_pip3",
    experimental_requirement_cycles = {
        "sphinx": [
            "sphinx",
            "sphinxcontrib-qthelp",
            "sphinxcontrib-htmlhelp",
            "sphinxcontrib-devhelp",
            "sphinxcontrib-applehelp",
            "sphinxcontrib-serializinghtml",
        ],
    },
    requirements_lock = "@envoy//tools/base:requirements.txt",
)
"""


def test_sphinx(write: Write) -> None:
    assert lint(write(SPHINX), sample("sphinx-7.2-uv/uv.lock")).findings == ()


@pytest.mark.parametrize("lock", ["no-loop.txt", "markdown-it-py/uv.lock"])
def test_sphinx_where_it_is_no_loop(write: Write, lock: str) -> None:
    report = lint(write(SPHINX), sample(lock))
    assert not report.ok
    assert {"group-absent", "group-excess"} & {f.code for f in report.findings}


def test_sphinx_as_the_documentation_has_it(write: Write) -> None:
    text = module('{"sphinx": ["sphinx", "sphinxcontrib-serializinghtml"]}')
    finding = only(lint(write(text), sample("sphinx-7.2-uv/uv.lock")))
    assert finding.code == "group-incomplete"
    assert finding.packages == tuple(
        f"sphinxcontrib-{name}" for name in ("applehelp", "devhelp", "htmlhelp", "qthelp")
    )


def test_airflow_as_the_documentation_has_it(write: Write) -> None:
    names = ("", "-providers-common-sql", "-providers-postgres", "-providers-sqlite")
    members = ", ".join(f'"apache-airflow{name}"' for name in names)
    report = lint(write(module(f'{{"airflow": [{members}]}}')), sample("airflow-3/uv.lock"))
    assert [(f.code, len(f.packages)) for f in report.findings] == [
        ("group-absent", 1),
        ("group-excess", 1),
        ("group-incomplete", 6),
    ]


def test_pair_twice_under_two_spellings(write: Write) -> None:
    text = workspace(
        """{
        "markdown": ["markdown_it_py", "mdit_py_plugins"],
        "markdown-it-py": [
            "markdown-it-py",
            "mdit-py-plugins",
        ],
    }"""
    )
    report = lint(write(text), sample("markdown-it-py/uv.lock"))
    assert codes(report) == [
        ("group-overlap", 5, ("markdown-it-py",)),
        ("group-overlap", 6, ("mdit-py-plugins",)),
    ]


def test_namespace_that_is_no_loop(write: Write) -> None:
    edges = {"nvidia-cublas-cu11": [], "nvidia-cuda-cupti-cu11": []}
    text = workspace('{"nvidia": ["nvidia_cublas_cu11", "nvidia_cuda_cupti_cu11"]}')
    report = lint(write(text), snapshot_of(edges))
    assert [f.code for f in report.findings] == ["group-excess", "group-excess"]

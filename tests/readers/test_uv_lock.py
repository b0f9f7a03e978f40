"""uv.lock as a whole: versions, bounds, roots, problems, and the corpus."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import networkx as nx
import pytest
from corpus import CORPUS, read_rows
from hypothesis import given
from hypothesis import strategies as st

from distcycle.errors import InputError, UnsupportedLockVersion
from distcycle.model import Place, Requirement, Root, Snapshot
from distcycle.readers import Document, find_reader
from distcycle.readers.uv_lock import read

DATA = Path(__file__).parent / "data" / "uv"

ONE = """\
version = 1
requires-python = ">=3.9"

[[package]]
name = "one"
version = "1.0"
source = { registry = "https://pypi.example/simple" }
"""


def read_text(text: str, *, path: str = "uv.lock", pyproject: str | None = None) -> Snapshot:
    def beside(name: str) -> tuple[str, bytes] | None:
        if name != "pyproject.toml" or pyproject is None:
            return None
        return name, pyproject.encode()

    return read(Document(path=path, data=text.encode(), beside=beside))


def read_data(name: str) -> Snapshot:
    return read(Document(path=name, data=(DATA / name).read_bytes()))


def names_of(roots: Iterable[Root]) -> list[tuple[str, str | None, str | None, bool]]:
    return [(r.requirement.text, r.extra, r.group, r.default) for r in roots]


# Degenerate inputs


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "uv.lock: version: expected an integer, found nothing"),
        ("{}", "uv.lock:1: not valid TOML: Invalid statement"),
        ('version = "1"', "uv.lock: version: expected an integer, found a string"),
        ("version = true", "uv.lock: version: expected an integer, found a boolean"),
        ("version = 1\npackage = 3", "uv.lock: package: expected an array, found an integer"),
        (
            "version = " + "9" * 5000,
            "uv.lock: not valid TOML: nested too deeply or a number too long",
        ),
    ],
)
def test_what_is_not_a_uv_lock_is_one_error(text: str, error: str) -> None:
    with pytest.raises(InputError) as caught:
        read_text(text)
    assert str(caught.value) == error


def test_other_versions_are_refused() -> None:
    with pytest.raises(UnsupportedLockVersion) as caught:
        read_text("version = 2\nrevision = 9\n")
    assert str(caught.value) == "uv.lock: version: expected version 1 of uv.lock, found 2"


def test_no_packages() -> None:
    snapshot = read_text("version = 1\n")
    assert (snapshot.packages, snapshot.roots, snapshot.problems) == ((), None, ())


@pytest.mark.parametrize("encode", [str, lambda text: text.replace("\n", "\r\n")])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_newlines_and_byte_order_mark(encode: type[str], mark: str) -> None:
    snapshot = read_text(mark + encode(ONE))
    assert [(p.name, str(p.version)) for p in snapshot.packages] == [("one", "1.0")]
    assert str(snapshot.requires_python) == ">=3.9"
    assert not snapshot.text.startswith("\ufeff")


def test_not_utf8() -> None:
    with pytest.raises(InputError, match="0xff"):
        read(Document(path="uv.lock", data=b"version = 1\n# \xff"))


def test_bad_bounds_cost_only_themselves() -> None:
    snapshot = read_text(ONE.replace('">=3.9"', '"three"') + "[manifest]\nmembers = 3\n")
    assert len(snapshot.packages) == 1
    assert [(p.place.key, p.message) for p in snapshot.problems] == [
        ("manifest.members", "expected an array, found an integer"),
        ("requires-python", "expected a version specifier, found 'three'"),
    ]


def test_environments_are_the_supported_markers_only() -> None:
    snapshot = read_data("amended-workspace.lock")
    assert list(map(str, snapshot.environments)) == [
        'sys_platform == "linux"',
        'sys_platform == "darwin"',
    ]
    assert read_text(ONE + "[x]\n").environments == ()


# Roots


def test_roots_of_a_workspace_are_its_members_their_extras_and_groups() -> None:
    snapshot = read_data("amended-workspace.lock")
    assert snapshot.roots is not None
    assert names_of(snapshot.roots) == [
        ("proj==0.1", None, None, True),
        ("proj[cpu]==0.1", "cpu", None, False),
        ("proj[gpu]==0.1", "gpu", None, False),
        ("tool==1.0", None, "dev", True),
        ("gamma==1.0", None, "docs", True),
        ("sub==0.2", None, None, True),
        ("sub[more]==0.2", "more", None, False),
    ]
    first = snapshot.roots[0].requirement
    assert first.package is not None
    assert snapshot.packages[first.package].name == "proj"
    assert first.place == Place(path="amended-workspace.lock", key="package[5]")


def test_choices_of_roots_are_those_that_conflict() -> None:
    snapshot = read_data("amended-workspace.lock")
    assert snapshot.roots is not None
    assert [root.choice for root in snapshot.roots] == [
        "project-4-proj",
        "extra-4-proj-cpu",
        "extra-4-proj-gpu",
        "group-4-proj-dev",
        "group-4-proj-docs",
        "project-3-sub",
        "extra-3-sub-more",
    ]
    assert snapshot.conflicts == (("extra-4-proj-cpu", "extra-4-proj-gpu"),)


def test_roots_of_a_script_are_its_requirements() -> None:
    snapshot = read_data("script.lock")
    assert snapshot.roots is not None
    assert names_of(snapshot.roots) == [("tool", None, None, True)]
    assert snapshot.roots[0].requirement.package == 1


def test_groups_of_a_workspace_without_project() -> None:
    snapshot = read_data("workspace-without-project.lock")
    assert snapshot.roots is not None
    assert names_of(snapshot.roots)[:3] == [
        ("tool", None, "dev", False),
        ("delta[x,y]", None, "x", True),
        ("epsilon", None, "x", True),
    ]
    assert ("m[foo]==1", None, "mg", False) in names_of(snapshot.roots)


def test_default_groups_all() -> None:
    roots = read_data("project-conflicts.lock").roots
    assert roots is not None
    assert [r.default for r in roots if r.group] == [True, True]


GROUPED = """\
version = 1
[[package]]
name = "app"
source = { virtual = "." }
[package.dev-dependencies]
dev = [{ name = "app" }]
docs = [{ name = "app" }]
"""


@pytest.mark.parametrize(
    ("pyproject", "defaults"),
    [
        (None, ["dev"]),
        ("", ["dev"]),
        ('tool.uv.default-groups = ["docs"]', ["docs"]),
        ('tool.uv.default-groups = "all"', ["dev", "docs"]),
        ("tool.uv.default-groups = []", []),
    ],
)
def test_default_groups_of_the_project_beside(pyproject: str | None, defaults: list[str]) -> None:
    roots = read_text(GROUPED, pyproject=pyproject).roots
    assert roots is not None
    assert [r.group for r in roots if r.group and r.default] == defaults


def test_default_groups_of_the_lock_come_first() -> None:
    text = GROUPED.replace("[package.dev", 'default-groups = ["docs"]\n[package.dev')
    roots = read_text(text, pyproject='tool.uv.default-groups = ["dev"]').roots
    assert roots is not None
    assert [r.group for r in roots if r.group and r.default] == ["docs"]


def test_unreadable_project_beside_is_a_problem() -> None:
    snapshot = read_text(GROUPED, pyproject="[tool\n")
    (problem,) = snapshot.problems
    assert problem.place == Place(path="pyproject.toml", line=1)
    assert snapshot.roots is not None


# Any input


def is_read_or_refused(data: bytes) -> bool:
    try:
        read(Document(path="uv.lock", data=data))
    except InputError as error:
        return "\n" not in str(error)
    return True


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    assert is_read_or_refused(data)
    assert is_read_or_refused(b"version = 1\n" + data)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "1.0", "a", "dev", "x=", "."]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["name", "version", "source", "registry"]), inner)
    ),
    max_leaves=4,
)
SAMPLES = {file.name: file.read_text() for file in sorted(DATA.glob("*.lock"))}
KEYS = sorted(set(re.findall(r"^([\w-]+) = ", "\n".join(SAMPLES.values()), re.MULTILINE)))


@given(st.sampled_from(KEYS), VALUES, st.sampled_from(sorted(SAMPLES)))
def test_any_wrong_value_is_read_or_refused(key: str, value: object, sample: str) -> None:
    member = re.compile(rf"^{key} = (\[$.*?^\]$|.*?$)", re.MULTILINE | re.DOTALL)
    text = member.sub(lambda _match: f"{key} = {toml(value)}", SAMPLES[sample])
    assert is_read_or_refused(text.encode())


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {toml(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, bool) or value is None:
        return str(bool(value)).lower()
    return repr(value)


@pytest.mark.parametrize("sample", sorted(SAMPLES))
def test_truncated_samples_are_read_or_refused(sample: str) -> None:
    data = SAMPLES[sample].encode()
    assert all(is_read_or_refused(data[: len(data) * cut // 50]) for cut in range(50))


# The corpus


def corpus(folder: str) -> Iterator[tuple[Path, int, str]]:
    for name, count, cycles, *_notes in read_rows(folder):
        yield CORPUS / name, int(count), cycles


def scan(snapshot: Snapshot) -> set[str]:
    """The projects in loops, markers ignored; an extra counts where something requests it."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    stated = [
        (package, requirement)
        for package in snapshot.packages
        for requirement in package.requirements or ()
    ]
    requested = {(r.name, extra) for _, r in stated for extra in r.extras}
    for package, requirement in stated:
        if requirement.extra is None or (package.name, requirement.extra) in requested:
            graph.add_edge(package.name, requirement.name)
    loops = nx.strongly_connected_components(graph)
    return {name for loop in loops if len(loop) > 1 for name in loop}


def expected_members(cycles: str) -> set[str]:
    return set(re.findall(r"[\w.-]+", cycles.rpartition(": ")[2])) if ": " in cycles else set()


@pytest.mark.parametrize(
    ("path", "count", "cycles"),
    [pytest.param(*entry, id=entry[0].name) for entry in corpus("uv")]
    or [pytest.param(None, 0, "", id="no corpus")],
)
def test_real_locks_agree_with_the_independent_scan(
    path: Path | None, count: int, cycles: str
) -> None:
    if path is None:
        pytest.skip("the corpus of real lock files is not beside this repository")
    document = Document(path=str(path), data=path.read_bytes())
    assert find_reader(document).kind == "uv-lock"
    snapshot = read(document)
    assert len(snapshot.packages) == count
    assert scan(snapshot) == expected_members(cycles)
    assert snapshot.problems == ()
    assert snapshot.roots
    assert all(bound_right(snapshot, r) for p in snapshot.packages for r in p.requirements or ())


def bound_right(snapshot: Snapshot, requirement: Requirement) -> bool:
    if requirement.package is None or requirement.problem is not None:
        return False
    package = snapshot.packages[requirement.package]
    fits = package.version is None or requirement.specifier.contains(package.version)
    return package.name == requirement.name and fits


def test_real_locks_are_read_or_refused_wherever_they_are_cut() -> None:
    small = [path for path, *_ in corpus("uv") if path.stat().st_size < 60_000]
    if not small:
        pytest.skip("the corpus of real lock files is not beside this repository")
    for path in small:
        data = path.read_bytes()
        assert all(is_read_or_refused(data[: len(data) * cut // 50]) for cut in range(50)), path

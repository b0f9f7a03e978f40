"""What the replay says: of traps, of what is absent, and of chains that are long."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from fresh_imports import ENVIRONMENT, replay_folder
from traps import Trap, describe, read_traps

from distcycle.imports.modules import find_modules
from distcycle.imports.replay.order import LIMITS, Entry, Step, loaded_by, replay
from distcycle.imports.replay.programs import read_program

TRAPS = read_traps()


def entries_of(files: Mapping[str, str], **asked: object) -> dict[str, Entry]:
    modules = find_modules(files)
    programs = {
        name: read_program(files[module.path].encode())
        for name, module in modules.items()
        if module.kind == "python"
    }
    return {entry.name: entry for entry in replay(modules, programs, **asked)}  # type: ignore[arg-type]


def failures(entries: Mapping[str, Entry]) -> dict[str, str]:
    return {name: describe(entry.cause) for name, entry in entries.items() if entry.cause}


@pytest.mark.parametrize("trap", [pytest.param(each, id=name) for name, each in TRAPS.items()])
def test_traps(trap: Trap, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "python_version", "3.12")
    trap.write(tmp_path)
    entries = replay_folder(tmp_path)
    assert failures(entries) == trap.expect
    doubts = {name: describe(entry.doubts[0]) for name, entry in entries.items() if entry.doubts}
    assert doubts == trap.doubts


LOOP = {
    "egg/__init__.py": "",
    "egg/farm.py": "import egg.hen\n\neggs = 1\n",
    "egg/hen.py": "import os\nfrom egg.cock import cock\nhen = 1\n",
    "egg/cock.py": "cock = 1\n\nfrom egg.hen import hen\n",
}


def test_a_cause_names_both_ends_of_the_loop() -> None:
    cause = entries_of(LOOP)["egg.farm"].cause
    assert cause is not None
    assert (cause.outcome, cause.error) == ("circular", "ImportError")
    assert (cause.importer, cause.line) == ("egg.cock", 3)
    assert (cause.module, cause.symbol, cause.bound_line) == ("egg.hen", "hen", 3)
    assert cause.back_line == 2
    assert cause.chain == (Step("egg.farm", 1), Step("egg.hen", 2), Step("egg.cock", 3))


def test_the_order_decides() -> None:
    entries = entries_of(LOOP)
    assert {name for name, entry in entries.items() if entry.outcome != "ok"} == {
        "egg.farm",
        "egg.hen",
    }
    assert loaded_by(entries, "egg.cock") == {"egg", "egg.cock", "egg.hen"}
    assert loaded_by(entries, "egg.hen") == {"egg"}


HARD = {
    "egg/__init__.py": "from egg import inner\n",
    "egg/inner.py": "import yolk\n",
    "hen/__init__.py": "",
    "hen/optional.py": "try:\n    import yolk\nexcept ImportError:\n    yolk = None\n",
    "hen/hard.py": "import hen.optional\nfrom hen.deeper import deeper\n",
    "hen/deeper.py": "from yolk.white import deeper\n",
    "hen/lazy.py": "def f():\n    import yolk\n",
    "hen/maybe.py": "import os\nif os.environ.get('EGG'):\n    import yolk\n",
}


def test_what_fails_without_a_distribution_is_told_with_the_way_there() -> None:
    entries = entries_of(HARD, absent={"yolk"})
    assert failures(entries) == {
        "egg": "missing: egg.inner:1 yolk",
        "egg.inner": "missing: egg.inner:1 yolk",
        "hen.deeper": "missing: hen.deeper:1 yolk",
        "hen.hard": "missing: hen.deeper:1 yolk",
    }
    cause = entries["hen.hard"].cause
    assert cause is not None
    assert cause.chain == (Step("hen.hard", 2), Step("hen.deeper", 1))
    assert [describe(doubt) for doubt in entries["hen.maybe"].doubts] == [
        "missing: hen.maybe:3 yolk"
    ]
    assert failures(entries_of(HARD)) == {}


def test_modules_that_are_known_can_be_absent_too() -> None:
    entries = entries_of(LOOP, absent={"egg.hen"})
    assert "egg.hen" not in entries
    assert failures(entries) == {
        "egg.cock": "missing: egg.cock:3 egg.hen",
        "egg.farm": "missing: egg.farm:1 egg.hen",
    }


def test_what_is_not_installed_is_missing() -> None:
    assert failures(entries_of({"egg.py": "import yolk"}, installed={"os"})) == {
        "egg": "missing: egg:1 yolk"
    }
    assert failures(entries_of({"egg.py": "import os.path"}, installed={"os"})) == {}


def test_a_part_of_a_namespace_can_be_elsewhere() -> None:
    files = {"egg/inner/yolk.py": "from egg import other\nimport egg.more\nfrom egg.inner import x"}
    assert failures(entries_of(files)) == {}
    assert failures(entries_of(files, absent={"egg.more"})) == {
        "egg.inner.yolk": "missing: egg.inner.yolk:2 egg.more"
    }


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"sys_platform": "win32"}, {"egg": "missing: egg:2 yolk"}),
        ({"sys_platform": "linux"}, {}),
    ],
)
def test_tests_of_the_platform_are_the_targets(
    environment: dict[str, str], expected: dict[str, str]
) -> None:
    files = {"egg.py": "import sys\nif sys.platform == 'win32': import yolk"}
    entries = entries_of(files, absent={"yolk"}, environment=environment)
    assert failures(entries) == expected
    assert not entries["egg"].doubts


def test_without_a_target_both_branches_are_looked_at() -> None:
    files = {
        "egg.py": "import sys\nif sys.platform == 'win32': import yolk",
        "both.py": "import sys\nif sys.platform == 'win32': import yolk\nelse: import yolk",
        "caught.py": "try:\n    import egg\nexcept ImportError:\n    pass",
    }
    entries = entries_of(files, absent={"yolk"})
    assert failures(entries) == {"both": "missing: both:2 yolk"}
    assert [len(entries[name].doubts) for name in ("egg", "caught")] == [1, 0]


def test_a_test_of_the_target_can_have_a_name() -> None:
    files = {
        "new.py": "import sys\nNEW = sys.version_info >= (3, 14)\n",
        "egg.py": "from new import NEW\nif NEW: import yolk",
        "hen.py": "import new\nif not new.NEW: import yolk",
    }
    environment = {"python_version": "3.13"}
    entries = entries_of(files, absent={"yolk"}, environment=environment)
    assert not failures(entries)
    assert [name for name, entry in entries.items() if entry.doubts] == ["hen"]
    environment = {"python_version": "3.14"}
    entries = entries_of(files, absent={"yolk"}, environment=environment)
    assert failures(entries) == {"egg": "missing: egg:2 yolk"}


def test_modules_without_a_program_have_every_name() -> None:
    modules = find_modules(["egg/__init__.py", "egg/_yolk.so", "egg/white.py"])
    programs = {"egg.white": read_program(b"from egg._yolk import a\nfrom egg import b")}
    assert [entry.outcome for entry in replay(modules, programs)] == ["ok"] * 3


def test_long_chains_need_no_deep_stack() -> None:
    count = 3_000
    files = {f"m{at}.py": f"from m{at + 1} import x\nx = 1" for at in range(count)}
    files[f"m{count}.py"] = "from m0 import x"
    entries = entries_of(files, entries=["m0", "m1"])
    assert entries["m0"].outcome == "circular"
    assert entries["m0"].cause is not None
    assert len(entries["m0"].cause.chain) == count + 1


def test_only_what_is_asked_for_is_replayed() -> None:
    assert set(entries_of(LOOP, entries=["egg.cock", "nowhere"])) == {"egg.cock"}


def test_one_entry_leaves_nothing_behind_for_the_next() -> None:
    everything = entries_of(LOOP)
    alone = {name: entries_of(LOOP, entries=[name])[name] for name in everything}
    assert alone == everything


def test_limits_can_be_shown() -> None:
    assert all(limit.endswith(".") for limit in LIMITS)

"""Moves of names out of a loop: the texts, what is refused, and what the modules do afterwards."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import tomli
from entry_orders import Driver, driving, write_files
from hypothesis import HealthCheck, assume, event, given, settings
from random_loops import Loop, loops

from distcycle.errors import InputError, MoveRefused
from distcycle.imports.modules import find_modules
from distcycle.imports.moving import Move, move_names, render_diff

DATA = Path(__file__).parent / "data"
FLEX = DATA / "flex"
WANTED = "from .old import wanted\n"


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with driving() as driver:
        yield driver


def move(
    files: dict[str, str], source: str = "pkg.old", partner: str = "pkg.user", **options: object
) -> Move:
    modules = find_modules(files)
    texts = {module.name: files[module.path] for module in modules.values() if module.path in files}
    return move_names(texts, modules, source=source, partner=partner, **options)  # type: ignore[arg-type]


def loop(old: str, user: str = WANTED, **others: str) -> dict[str, str]:
    """A package of two modules, and what else is given."""
    files = {"pkg/__init__.py": "", "pkg/old.py": old, "pkg/user.py": user}
    return files | {f"pkg/{name}.py": text for name, text in others.items()}


def reasons(files: dict[str, str], **options: object) -> list[str]:
    with pytest.raises(MoveRefused) as caught:
        move(files, **options)  # type: ignore[arg-type]
    return [str(problem) for problem in caught.value.problems]


def read_tree(root: Path) -> dict[str, str]:
    return {
        file.relative_to(root).as_posix(): file.read_bytes().decode()
        for file in sorted(root.rglob("*.py"))
    }


# The loop of flex_attention and flex_decoding -----------------------------------------------------

NAMES = ("kernel.flex_attention", "kernel.flex_decoding", "kernel.config")
ORDERS = [order for count in (1, 2, 3) for order in itertools.permutations(NAMES, count)]
CALLS = [
    "kernel.flex_attention:attention(3)",
    "kernel.flex_attention:attention(40)",
    "kernel.flex_decoding:create_decoding(7)",
    "kernel.flex_attention:old_scale(2)",
    "kernel.flex_attention:late([3, 5])",
    "kernel.flex_attention:infer_block.is_pure, infer_block.registered",
    "kernel.flex_attention:build.__annotations__",
    "kernel.flex_attention:HeadDims(1, 2)",
    "kernel.config:block",
    "kernel.registry:sorted(counts.items())",
]


def test_flex_before_works_in_some_orders_alone(driver: Driver) -> None:
    outcomes = driver.outcomes(FLEX, ORDERS, CALLS)
    failed = {order for order, each in zip(ORDERS, outcomes, strict=True) if "error" in each}
    first = {next(name for name in order if name != "kernel.config") for order in failed}
    assert first == {"kernel.flex_decoding"}
    assert len(failed) == 7
    assert any("partially initialized module" in each.get("error", "") for each in outcomes)


def test_flex_after_works_in_all_orders_as_before(driver: Driver, tmp_path: Path) -> None:
    files = read_tree(FLEX)
    done = move(files, "kernel.flex_attention", "kernel.flex_decoding")
    assert not done.remaining
    write_files(tmp_path, files | dict(done.after))
    before, *_ = driver.outcomes(FLEX, [("kernel.flex_attention",)], CALLS)
    assert len(before["results"]) == len(CALLS)
    assert not [each for each in before["results"] if "Error" in each]
    for order, after in zip(ORDERS, driver.outcomes(tmp_path, ORDERS, CALLS), strict=True):
        assert after == before, order


def test_flex_moves_what_is_needed_and_no_more() -> None:
    done = move(read_tree(FLEX), "kernel.flex_attention", "kernel.flex_decoding")
    assert done.new == "kernel.flex_attention_shared"
    assert set(done.moved) - set(done.wanted) == {"_SMALL", "_LARGE"}
    assert "late" in done.wanted
    assert "attention" not in done.moved
    assert "from . import config" in done.copied


def test_flex_as_expected(agree: object) -> None:
    done = move(read_tree(FLEX), "kernel.flex_attention", "kernel.flex_decoding")
    notes = "".join(f"# {note}\n" for note in done.notes)
    agree(DATA / "flex.diff", notes + render_diff(done))  # type: ignore[operator]


# The new module -----------------------------------------------------------------------------------


def new_text(files: dict[str, str], **options: object) -> str:
    done = move(files, **options)  # type: ignore[arg-type]
    (path,) = set(done.after) - set(done.before)
    return done.after[path]


def test_closure_takes_what_any_part_of_a_definition_needs() -> None:
    old = """
from functools import wraps as w
A = 1
B = 2
C = 3
D = 4
E = 5
F = 6
G = 7
def deco(f):
    return w(f)(lambda *a: (A, f(*a)))
class Base:
    pass
class Meta(type):
    pass
class Quoted:
    pass
class Unused:
    pass
def free(E):
    F = 1
    return E, F
@deco
def wanted(x: int = B, *, y: "list[Quoted]" = ()) -> None:
    Unused = 3
    def inner(z=C):
        class Local(Base, metaclass=Meta):
            d = [D for _ in range(3)]
            def method(self):
                return G
        return Local
    return inner, free, Unused
"""
    done = move(loop(old))
    assert set(done.moved) == {
        *("A", "B", "C", "D", "G", "deco", "Base", "Meta", "Quoted", "free", "wanted")
    }
    assert done.copied == ("from functools import wraps as w",)


def test_imports_are_copied_as_they_are_needed() -> None:
    old = """
import os, sys as system
import xml
import xml.dom.minidom  # noqa: F401
from collections import (
    OrderedDict,
    deque as d,
    defaultdict,
)
from typing import Any  # type: ignore[attr-defined]
def wanted(x: Any):
    return system, xml, d, defaultdict
"""
    assert move(loop(old)).copied == (
        "import sys as system",
        "import xml",
        "import xml.dom.minidom  # noqa: F401",
        "from collections import deque as d, defaultdict",
        "from typing import Any  # type: ignore[attr-defined]",
    )


def test_imports_below_a_definition_stay_below_it() -> None:
    old = """import os
def first(): return os
from .third import helper  # noqa: E402
def wanted(): return first, helper
"""
    assert new_text(loop(old)) == (
        '"""What old and user share."""\n\nimport os\n\n\ndef first(): return os\n\n\n'
        "from .third import helper  # noqa: E402\n\n\ndef wanted(): return first, helper\n"
    )


@pytest.mark.parametrize(
    "head", ["from typing import TYPE_CHECKING", "import typing as t", "TYPE_CHECKING = False"]
)
def test_imports_for_type_checkers_stay_theirs(head: str) -> None:
    test = "t.TYPE_CHECKING" if head.endswith("t") else "TYPE_CHECKING"
    old = f"""from __future__ import annotations
{head}
if {test}:
    from .nowhere import (  # comment
        One,
        Two,
    )
    from .user import Three
def wanted(a: One, b: "Three") -> None: ...
"""
    text = new_text(loop(old))
    assert text.startswith('"""What old and user share."""\n\nfrom __future__ import annotations\n')
    assert f"if {test}:\n    from .nowhere import One\n    from .user import Three\n" in text
    assert head in text


def test_whole_import_under_type_checking_keeps_its_lines() -> None:
    old = """import typing
if typing.TYPE_CHECKING:
        from .nowhere import (
            One,
            Two,
        )
def wanted(a: "One", b: "Two") -> None: ...
"""
    text = new_text(loop(old))
    assert "    from .nowhere import (\n        One,\n        Two,\n    )\n" in text


def test_blocks_of_imports_are_copied_whole() -> None:
    old = """import sys
try:
    import fast
    HAS_FAST = True
except ImportError:
    fast = None
    HAS_FAST = False
if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib
def wanted():
    return HAS_FAST, tomllib
"""
    done = move(loop(old))
    assert done.moved == ("wanted",)
    assert "except ImportError:\n    fast = None\n" in new_text(loop(old))
    assert ["is copied" in str(note) for note in done.notes].count(True) == 1


def test_blocks_that_choose_definitions_move_whole() -> None:
    old = """import sys
if sys.version_info >= (3, 11):
    def wanted():
        return 1
else:
    def wanted():
        return 2
"""
    done = move(loop(old))
    assert done.moved == ("wanted",)
    assert "def wanted" not in done.after["pkg/old.py"]


def test_overloads_move_together() -> None:
    old = """from typing import overload
@overload
def wanted(x: int) -> int: ...
@overload
def wanted(x: str) -> str: ...
def wanted(x):
    return x
"""
    assert new_text(loop(old)).count("def wanted") == 3


def test_comments_go_along_and_pragmas_are_copied() -> None:
    old = """#!/usr/bin/env python
# -*- coding: utf-8 -*-
# mypy: allow-untyped-defs
# An introduction.

# Copyright 2026 the authors
# All rights reserved.
'''The old module.'''
# ruff: noqa: E501

import os

# Not about it.

# About it,
# in two lines.
def wanted():  # behind
    return os  # inside
# Below.
"""
    assert new_text(loop(old)) == (
        "# -*- coding: utf-8 -*-\n# mypy: allow-untyped-defs\n# Copyright 2026 the authors\n"
        '# All rights reserved.\n# ruff: noqa: E501\n"""What old and user share."""\n\n'
        "import os\n\n\n"
        "# About it,\n# in two lines.\ndef wanted():  # behind\n    return os  # inside\n"
    )
    left = move(loop(old)).after["pkg/old.py"]
    assert left.startswith("#!/usr/bin/env python\n# -*- coding")
    assert "# Not about it.\n" in left
    assert left.endswith("import wanted  # noqa: F401\n\n# Below.\n")


def test_relative_imports_are_rewritten_for_another_package() -> None:
    old = """from . import near
from .near import thing
from .. import above
def wanted():
    from .lazily import it
    from . import (
        lazy_module,  # kept
    )
    return near, thing, above, it, lazy_module
"""
    files = {
        "top/__init__.py": "",
        "top/pkg/__init__.py": "",
        "top/pkg/old.py": old,
        "top/pkg/user.py": "from .old import wanted\n",
        "top/other/deep/__init__.py": "",
    }
    done = move(files, "top.pkg.old", "top.pkg.user", new="top.other.deep.shared")
    text = done.after["top/other/deep/shared.py"]
    assert done.copied == (
        *("from ...pkg import near", "from ...pkg.near import thing", "from ... import above"),
    )
    assert "    from ...pkg.lazily import it\n" in text
    assert "    from ...pkg import (\n        lazy_module,  # kept\n    )\n" in text
    assert "from ..other.deep.shared import wanted" in done.after["top/pkg/user.py"]
    assert "from ..other.deep.shared import wanted" in done.after["top/pkg/old.py"]


def test_line_endings_tabs_and_the_byte_order_mark_are_kept() -> None:
    old = "\ufeffimport os\r\n\f\r\ndef wanted():\r\n\treturn os\r\n\r\n\r\nrest = 1"
    done = move(loop(old, "from .old import (\r\n\twanted,\r\n)\r\n"))
    assert done.after["pkg/old_shared.py"].endswith(
        "import os\r\n\r\n\r\ndef wanted():\r\n\treturn os\r\n"
    )
    assert not done.after["pkg/old_shared.py"].startswith("\ufeff")
    left = done.after["pkg/old.py"]
    assert left.startswith("\ufeffimport os\r\n\f\r\n# Moved there")
    assert left.endswith("noqa: F401\r\n\r\n\r\nrest = 1")
    assert "\n" not in left.replace("\r\n", "")
    assert done.after["pkg/user.py"] == "from .old_shared import (\r\n\twanted,\r\n)\r\n"


def test_logger_keeps_its_name() -> None:
    old = """import logging
log = logging.getLogger(__name__)
def wanted():
    log.info(__name__)
"""
    done = move(loop(old))
    assert 'log = logging.getLogger("pkg.old")\n' in done.after["pkg/old_shared.py"]
    assert [str(note) for note in done.notes if "name" in note.text] == [
        "pkg/old.py:2: goes on to use the name pkg.old, as a literal",
        "pkg/old.py:4: __name__ will be that of pkg.old_shared",
    ]


# The old module -----------------------------------------------------------------------------------


def test_old_module_imports_where_the_first_name_stood() -> None:
    old = '''"""Old."""
from __future__ import annotations
import os
before = os.sep
class wanted:
    pass


def stays():
    return wanted


__all__ = ["before", "wanted"]
'''
    assert (
        move(loop(old)).after["pkg/old.py"]
        == '''"""Old."""
from __future__ import annotations
import os
before = os.sep

# Moved there; others may go on to import it from here.
from .old_shared import wanted  # noqa: E402, F401


def stays():
    return wanted


__all__ = ["before", "wanted"]
'''
    )


def test_blank_lines_are_not_piled_up() -> None:
    old = """first = 1
wanted = 2


def stays():
    return wanted


def also(): return wanted


last = 3
def third(): return also()
"""
    user = "from .old import also, third, wanted\n"
    assert (
        move(loop(old, user)).after["pkg/old.py"]
        == """first = 1

# Moved there; others may go on to import it from here.
from .old_shared import also, third, wanted  # noqa: E402, F401


def stays():
    return wanted


last = 3
"""
    )


def test_what_completes_a_moved_name_goes_along() -> None:
    old = """table = {}
def wanted():
    return table
def other():
    return 2
wanted.flag = True
table["wanted"] = wanted
table["other"] = other
"""
    done = move(loop(old))
    assert 'wanted.flag = True\ntable["wanted"] = wanted\n' in done.after["pkg/old_shared.py"]
    assert done.after["pkg/old.py"].endswith('table["other"] = other\n')
    assert [str(note) for note in done.notes if "changes" in note.text] == [
        "pkg/old.py:8: changes table, which it does only once this file is imported"
    ]


# The partner --------------------------------------------------------------------------------------

DEFINITIONS = "import os\nfrom os import path as p\ndef wanted(): pass\ndef also(): pass\n"


def user_text(user: str, **options: object) -> str:
    return move(loop(DEFINITIONS, user), **options).after["pkg/user.py"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from .old import wanted", "from .old_shared import wanted"),
        ("from pkg.old import wanted as w, also", "from pkg.old_shared import wanted as w, also"),
        ("from . old import(wanted)", "from .old_shared import(wanted)"),
        ("from .old import \\\n    wanted", "from .old_shared import \\\n    wanted"),
        ("def f():\n\tfrom .old import wanted", "def f():\n\tfrom .old_shared import wanted"),
        ("if 1: from .old import wanted; x = 1", "if 1: from .old_shared import wanted; x = 1"),
        ("class C:\n  from .old import wanted", "class C:\n  from .old_shared import wanted"),
        ("from .old import os, wanted", "import os\nfrom .old_shared import wanted"),
        ("from .old import p, wanted", "from .old_shared import wanted\nfrom os import path as p"),
        (
            "if 1: from .old import p as q, wanted",
            "if 1: from .old_shared import wanted; from os import path as q",
        ),
        ("import pkg.old\npkg.old.wanted()", "import pkg.old_shared\npkg.old_shared.wanted()"),
        ("import os, pkg.old as o\no.wanted()", "import os, pkg.old_shared as o\no.wanted()"),
        (
            "from . import old\nold.wanted, old.also",
            "from . import old_shared\nold_shared.wanted, old_shared.also",
        ),
        ("from pkg import old as o\no.wanted()", "from pkg import old_shared as o\no.wanted()"),
        (
            "from . import user, old as o\no.wanted()",
            "from . import user, old_shared as o\no.wanted()",
        ),
    ],
)
def test_partner_imports_are_rewritten(before: str, after: str) -> None:
    done = move(loop(DEFINITIONS, before + "\n"))
    assert done.after["pkg/user.py"] == after + "\n"
    assert not done.remaining


@pytest.mark.parametrize(
    ("before", "after", "remaining"),
    [
        (
            "from .old import wanted, also",
            "from .old import also\nfrom .old_shared import wanted",
            [(1, "also", False)],
        ),
        (
            "def f():\n    from .old import (  # noqa: F401\n        # first\n"
            "        wanted,  # one\n"
            "        also as a,  # two\n    )  # noqa: E402\n",
            "def f():\n    from .old import (  # noqa: F401\n        also as a,  # two\n"
            "    )  # noqa: E402\n    from .old_shared import (  # noqa: F401\n        # first\n"
            "        wanted,  # one\n    )  # noqa: E402\n",
            [(5, "also", True)],
        ),
        (
            "import pkg.old as o\no.wanted(o.also)",
            "import pkg.old as o, pkg.old_shared as old_shared\nold_shared.wanted(o.also)",
            [(2, "also", False)],
        ),
        (
            "import pkg.old\npkg.old.wanted(pkg.old.also)",
            "import pkg.old, pkg.old_shared\npkg.old_shared.wanted(pkg.old.also)",
            [(2, "also", False)],
        ),
        (
            "from . import old\nfrom .old import wanted\nprint(old)",
            "from . import old\nfrom .old_shared import wanted\nprint(old)",
            [(1, "", False)],
        ),
        (
            "from .old import wanted\ndef f():\n    from .old import *",
            None,
            [],
        ),
    ],
)
def test_what_remains_is_said(
    before: str, after: str | None, remaining: list[tuple[int, str, bool]]
) -> None:
    if after is None:
        with pytest.raises(InputError):
            move(loop(DEFINITIONS, before), names=["wanted"])
        return
    done = move(loop(DEFINITIONS, before), names=["wanted"])
    assert done.after["pkg/user.py"] == after
    assert [(each.line, each.name, each.lazy) for each in done.remaining] == remaining


def test_imports_for_type_checkers_do_not_make_names_move() -> None:
    user = """from typing import TYPE_CHECKING
from .old import wanted
if TYPE_CHECKING:
    from .old import also, wanted as w
"""
    done = move(loop(DEFINITIONS, user))
    assert done.moved == ("wanted",)
    assert (
        "    from .old import also\n    from .old_shared import wanted as w\n"
        in (done.after["pkg/user.py"])
    )
    assert not done.remaining


# Refusals -----------------------------------------------------------------------------------------


REFUSALS = tomli.loads((DATA / "refusals.toml").read_text(encoding="utf-8"))["refusal"]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case["reason"])
def test_refusals_say_why(case: dict[str, str]) -> None:
    files = loop(case.get("old", DEFINITIONS), case.get("user", WANTED), config="size = 1\n")
    assert any(reason.endswith(case["reason"]) for reason in reasons(files))


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        ("pkg.user", "pkg.user: there is such a module already"),
        ("pkg.for-all", "pkg.for-all: is no name that could be imported"),
        ("other.shared", "other.shared: there is no package other"),
        ("pkg.user.shared", "pkg.user.shared: there is no package pkg.user"),
    ],
)
def test_names_of_new_modules_that_cannot_be(new: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        move(loop(DEFINITIONS), new=new)
    assert str(caught.value) == reason


def test_a_new_module_must_not_lie_in_either_of_the_two() -> None:
    files = {
        "pkg/__init__.py": "def wanted(): pass\nfrom user import x\n",
        "user.py": "from pkg import wanted\n",
    }
    done = move(files, "pkg", "user")
    assert done.new == "pkg_shared"
    assert set(done.after) == {"pkg/__init__.py", "pkg_shared.py", "user.py"}
    with pytest.raises(MoveRefused, match=r"pkg.shared: lies in pkg, which would run first"):
        move(files, "pkg", "user", new="pkg.shared")


def test_a_package_shares_inside_of_itself_with_its_own_modules() -> None:
    files = {
        "pkg/__init__.py": "def wanted(): pass\nfrom .sub import x\n",
        "pkg/sub.py": "from . import wanted\nx = wanted()\n",
    }
    done = move(files, "pkg", "pkg.sub")
    assert done.new == "pkg.pkg_shared"
    assert done.after["pkg/sub.py"] == "from .pkg_shared import wanted\nx = wanted()\n"
    assert "from .pkg_shared import wanted" in done.after["pkg/__init__.py"]


def test_a_package_can_be_the_partner_of_its_own_module() -> None:
    files = {
        "pkg/__init__.py": "from .old import wanted\nx = 1\n",
        "pkg/config.py": "size = 1\n",
        "pkg/old.py": "from pkg import x, config\ndef wanted(): return config\nprint(x)\n",
    }
    done = move(files, "pkg.old", "pkg")
    assert done.copied == ("from pkg import config",)
    assert done.after["pkg/__init__.py"] == "from .old_shared import wanted\nx = 1\n"
    files["pkg/old.py"] = "from pkg import x\ndef wanted(): return x\n"
    assert reasons(files, source="pkg.old", partner="pkg") == [
        "pkg/old.py:1: x: needs pkg, which is imported here: moving would not break the loop"
    ]


def test_texts_that_are_not_known() -> None:
    with pytest.raises(InputError, match=r"pkg.none: is no module whose text is known"):
        move(loop(DEFINITIONS), source="pkg.none")
    with pytest.raises(InputError, match=r"pkg/old.py:1: is not valid Python"):
        move(loop("def\n"))


# Notes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "from unittest import mock\nmock.patch('pkg.old.wanted')\n",
        "from . import old\ndef f(monkeypatch):\n    monkeypatch.setattr(old, 'wanted', 1)\n",
        "from . import old\nold.wanted = 1\n",
        "import pkg.old\npkg.old.os = 1\n",
    ],
)
def test_replacements_elsewhere_are_noted(text: str) -> None:
    old = "import os\ndef wanted(): return os\n"
    notes = move(loop(old, other=text)).notes
    assert any(
        note.path == "pkg/other.py" and "in pkg.old, which pkg.old_shared will not see" in note.text
        for note in notes
    )


def test_notes_say_what_changes_besides() -> None:
    old = """import atexit, missing
class wanted:
    def f(self):
        from .user import g
        return g, __file__, eval("x"), unknown
atexit.register(print)
"""
    user = "try:\n    from .old import wanted\nexcept ImportError:\n    wanted = None\n"
    assert [str(note) for note in move(loop(old, user)).notes] == [
        "pkg/old.py:2: __module__ of wanted will be pkg.old_shared: new pickles of it name that",
        "pkg/old.py:2: unknown is bound nowhere in this module, nor will it be in pkg.old_shared",
        "pkg/old.py:4: pkg.old_shared will import pkg.user when this is called",
        "pkg/old.py:5: __file__ will be that of pkg.old_shared",
        "pkg/old.py:5: eval will see the names of pkg.old_shared",
        "pkg/old.py:6: importing pkg.user alone will not run this file any more: lines 6",
        "pkg/user.py:2: is imported where its ImportError is caught, which a loop may have raised",
    ]


# Diffs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["git", "patch"])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_diffs_can_be_applied(tool: str, end: str, tmp_path: Path) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    newline = end or "\n"
    old = newline.join(["x = 1", "def wanted():", "    return 'ä'", "y = 2", "z = 3"]) + end
    done = move(loop(old, f"from .old import wanted{newline}wanted(){end}"))
    before, after = (
        {f"a b/{path}": text for path, text in texts.items()} for texts in (done.before, done.after)
    )
    write_files(tmp_path, before)
    diff = render_diff(replace(done, before=before, after=after))
    assert "--- /dev/null\n+++ b/a b/pkg/old_shared.py\t\n" in diff
    (tmp_path / "move.diff").write_bytes(diff.encode())
    git = ["git", "apply", "-p1", "move.diff"]
    words = git if tool == "git" else ["patch", "--binary", "-p1", "-i", "move.diff"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    for path, text in after.items():
        assert (tmp_path / path).read_bytes() == text.encode(), path


# Random loops -------------------------------------------------------------------------------------

TWO = [("pkg.old", "pkg.user"), ("pkg.user", "pkg.old")]


@given(loops())
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_random_loops_do_as_before_or_are_refused(driver: Driver, case: Loop) -> None:
    with TemporaryDirectory() as folder:
        before, after = Path(folder, "before"), Path(folder, "after")
        write_files(before, case.files)
        outcomes = driver.outcomes(before, TWO, case.calls + case.early)
        errors = [each["error"] for each in outcomes if "error" in each]
        assume(all("circular import" in each for each in errors))
        try:
            done = move(case.files)
        except MoveRefused:
            event("refused")
            return
        event("moved, was circular" if errors else "moved")
        write_files(after, case.files | dict(done.after))
        check_outcomes(case, done, outcomes, driver.outcomes(after, TWO, case.calls + case.early))


def check_outcomes(
    case: Loop, done: Move, before: list[dict[str, Any]], after: list[dict[str, Any]]
) -> None:
    runs_less = any("will not run this file any more" in note.text for note in done.notes)
    expected = next((each for each in before if "results" in each), None)
    for order, old, new in zip(TWO, before, after, strict=True):
        if done.remaining and "error" in old:
            continue
        assert "error" not in new, (order, new)
        told = old if "results" in old else expected
        if told is None:
            continue
        # What was worked out before the old module ran may differ, and a note says so.
        count = len(case.calls) if runs_less and order == TWO[1] else None
        assert new["results"][:count] == told["results"][:count], order
        if not runs_less:
            assert new["log"] == told["log"], order

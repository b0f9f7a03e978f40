"""``explain``: who asks for a package, which hops close its loops, and what would open them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from distcycle import api
from distcycle.errors import InputError
from distcycle.explanations import Explanation, explain
from distcycle.metadata import Library, Options
from distcycle.reporters import View
from distcycle.selection import Request

ROOT = Path(__file__).resolve().parents[1]
TORCH = ("--offline", "--no-cache", "--bundle", "tests/data/torch-2.0.bundle.json")
PINS = "sample_locks/torch-2.0.txt"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def plain(text: str) -> str:
    """Text without its line breaks."""
    return re.sub(r"\s+", " ", text)


# A lock with a loop that one extra closes, one that needs Linux, a way back and a dead end.
LOCK = """\
version = 1
revision = 3
requires-python = ">=3.9"

[[package]]
name = "app"
version = "1"
source = { virtual = "." }
dependencies = [
    { name = "web" },
    { name = "lonely" },
]

[package.optional-dependencies]
store = [{ name = "files", extra = ["s3"] }]

[package.metadata]
requires-dist = [
    { name = "web" },
    { name = "lonely" },
    { name = "files", extras = ["s3"], marker = "extra == 'store'" },
]
provides-extras = ["store"]

[[package]]
name = "web"
version = "2"
source = { registry = "https://pypi.example/simple" }
dependencies = [{ name = "plugin", marker = "sys_platform == 'linux'" }]

[[package]]
name = "plugin"
version = "3"
source = { registry = "https://pypi.example/simple" }
dependencies = [{ name = "theme" }]

[[package]]
name = "theme"
version = "4"
source = { registry = "https://pypi.example/simple" }
dependencies = [
    { name = "plugin", marker = "python_full_version >= '3.11.4'" },
    { name = "web", marker = "sys_platform == 'win32'" },
]

[[package]]
name = "files"
version = "5"
source = { registry = "https://pypi.example/simple" }

[package.optional-dependencies]
s3 = [{ name = "bucket" }]

[[package]]
name = "bucket"
version = "6"
source = { registry = "https://pypi.example/simple" }
dependencies = [{ name = "files" }]

[[package]]
name = "lonely"
version = "7"
source = { registry = "https://pypi.example/simple" }
"""


HOP = """dependencies = [{ name = "plugin", marker = "sys_platform == 'linux'" }]"""


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "uv.lock"
    path.write_text(LOCK, "utf-8")
    return path


def told(lock: Path, *names: str, extras: Iterable[str] = ()) -> str:
    """What ``explain`` says, in one line."""
    request = Request(edges="lock", extras=frozenset(extras))  # type: ignore[arg-type]
    scope = api.make_scope(api.read(str(lock)), request=request)
    return plain(api.explain_packages(scope, None, names, View(width=80)))


def explained(lock: Path, name: str, extras: Iterable[str] = ()) -> Explanation:
    request = Request(edges="lock", extras=frozenset(extras))  # type: ignore[arg-type]
    selection, _ = api.gather(api.make_scope(api.read(str(lock)), request=request), None)
    [explanation] = explain(selection, [name], max_cycles=10)  # type: ignore[list-item]
    return explanation


# The command -------------------------------------------------------------------------------------


def test_torch(distcycle: Run) -> None:
    done = distcycle("explain", PINS, "torch", *TORCH, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 81  # one wheel's name is longer than a line
    text = plain(done.stdout)
    line = (ROOT / PINS).read_text("utf-8").splitlines().index("torch==2.0.0") + 1
    parts = [
        f"torch 2.0.0 asked for as torch==2.0.0 ({PINS}:{line}); reached in every environment",
        "deny[wheel-cycle] torch -> triton -> torch",
        "where sys_platform == 'linux' and platform_machine == 'x86_64' and python_version >=",
        'torch 2.0.0 requires triton (==2.0.0) ; platform_system == "Linux"',
        f"{PINS}:{line}, torch-2.0.0-cp310-cp310-manylinux1_x86_64.whl and 3 more",
        "triton 2.0.0 requires torch",
        "opened by removing 1 edge: torch -> triton; or triton -> torch",
        "without torch -> triton: triton would still be reached wherever it is",
    ]
    at = 0
    for part in parts:
        at = text.index(part, at)


def test_an_unknown_package_is_refused_with_the_nearest(distcycle: Run) -> None:
    done = distcycle("explain", PINS, "trition", *TORCH, cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"distcycle: error: {PINS}: no package 'trition' in it; did you mean triton?\n"
    )


def test_an_unknown_package_that_is_near_nothing(lock: Path) -> None:
    with pytest.raises(InputError, match=r"no package 'qqqq' in it$"):
        told(lock, "web", "qqqq")


def test_names_are_normalised_and_each_is_explained(lock: Path) -> None:
    text = told(lock, "WEB", "Lonely")
    assert text.index("web 2 asked for") < text.index("lonely 7 asked for")


# Roots and hops ----------------------------------------------------------------------------------


def test_the_path_from_the_root_names_each_hop_and_its_line(lock: Path) -> None:
    explanation = explained(lock, "theme")
    assert explanation.packages == ("theme 4",)
    assert explanation.reached == "where sys_platform == 'linux'"
    [path] = explanation.paths
    line = LOCK.splitlines().index("[[package]]") + 1
    assert (path.root, path.asked) == ("app==1", f"{lock}:{line}")
    lines = LOCK.splitlines()
    assert [(edge.source, edge.target, lines[(edge.line or 0) - 1]) for edge in path.edges] == [
        ("app", "web", '    { name = "web" },'),
        ("web", "plugin", HOP),
        ("plugin", "theme", 'dependencies = [{ name = "theme" }]'),
    ]
    assert path.edges[1].condition == "sys_platform == 'linux'"


def test_only_loops_through_the_package_are_shown(lock: Path) -> None:
    [component] = explained(lock, "plugin").components
    assert component.condition == "sys_platform == 'linux' and python_full_version >= '3.11.4'"
    assert [cycle.packages for cycle in component.cycles] == [("plugin", "theme")]
    assert explained(lock, "web").components == ()


# Breakers ----------------------------------------------------------------------------------------


def test_what_each_breaker_would_lose(lock: Path) -> None:
    [[opening]] = explained(lock, "theme").openings
    assert (opening.source, opening.target) == ("plugin", "theme")
    # Nothing else brings the theme in.
    assert opening.lost == "where sys_platform == 'linux'"
    assert "without plugin -> theme: theme would not be reached where sys_platform == 'linux'" in (
        told(lock, "theme")
    )


def test_a_bound_that_nothing_else_holds_is_said(make_wheel: Callable[..., Path]) -> None:
    make_wheel("sphinx", "7.2.6", ("contrib",))
    make_wheel("contrib", "1.0", ("sphinx>=5",))
    folder = make_wheel("theme", "1.0", ("sphinx>=1",)).parent
    scope = api.make_scope(api.read(str(folder)))
    with Library(Options(offline=True, cache_dir=None)) as library:
        text = plain(api.explain_packages(scope, library, ["contrib"], View(width=80)))
    assert "without contrib -> sphinx: the bound sphinx >=5 is held by nothing else" in text
    assert "sphinx would still be reached wherever it is" in text


# In no loop --------------------------------------------------------------------------------------


def test_nothing_leads_back(lock: Path) -> None:
    assert told(lock, "lonely").endswith("in no loop: nothing that it requires leads back to it ")
    assert explained(lock, "lonely").way_back is None


def test_the_nearest_way_back_says_what_opens_it(lock: Path) -> None:
    explanation = explained(lock, "web")
    assert explanation.way_back == (
        ("web", "plugin", "theme"),
        (
            "web requires plugin where sys_platform == 'linux'",
            "web 2: requires plugin==3 ; sys_platform == 'linux', which does not hold, where"
            " sys_platform != 'linux'",
            "plugin requires theme where sys_platform == 'linux'",
            "theme 4: requires web==2 ; sys_platform == 'win32', which does not hold, where"
            " sys_platform == 'linux'",
        ),
    )
    assert "in no loop; the nearest way back is web -> plugin -> theme -> web" in told(lock, "web")


def test_a_package_that_nothing_reaches(lock: Path) -> None:
    explanation = explained(lock, "bucket")
    assert (explanation.reached, explanation.paths) == ("", ())
    assert told(lock, "bucket").startswith("bucket 6 not reached from what is asked for")


# Extras ------------------------------------------------------------------------------------------


def test_an_extra_cycle_names_who_asks(lock: Path) -> None:
    [component] = explained(lock, "files", ["store"]).components
    assert component.code == "extra-cycle"
    assert component.condition == ""
    assert component.requested_by == ("files[s3] is requested by app[store] 1",)
    text = told(lock, "files", extras=["store"])
    assert "warn[extra-cycle] bucket -> files -> bucket in every environment" in text
    assert "files[s3] is requested by app[store] 1" in text
    assert "files[s3] 5 requires bucket" in text


def test_without_the_extra_there_is_no_loop(lock: Path) -> None:
    explanation = explained(lock, "files")
    assert explanation.components == ()
    assert explanation.reached == ""


def test_what_is_unknown_is_not_called_free_of_loops(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("torch==2.0.0\ntriton==2.0.0\n", "utf-8")
    scope = api.make_scope(api.read(str(path)))
    text = plain(api.explain_packages(scope, None, ["torch"], View(width=80)))
    assert "in no known loop: nothing that it requires leads back to it" in text
    assert "would not be seen: torch 2.0.0 (not asked for yet), triton" in text


# Beside the explanation: what a report says of the same lock --------------------------------------


def test_verbose_shows_a_loop_that_only_names_would_close(tmp_path: Path, distcycle: Run) -> None:
    path = tmp_path / "uv.lock"
    gone = LOCK.replace("python_full_version >= '3.11.4'", "python_full_version < '3.9'")
    path.write_text(gone, "utf-8")
    done = distcycle("audit", path, "--edges", "lock", "-v")
    assert done.returncode == 0
    text = plain(done.stdout)
    assert "no loop here: plugin -> theme -> plugin" in text
    assert "plugin requires theme where sys_platform == 'linux'" in text
    assert "theme 4: requires plugin==3 ; python_full_version < '3.9', which does not hold" in text


def test_the_flip_is_noted(lock: Path, distcycle: Run) -> None:
    text = plain(distcycle("audit", lock, "--edges", "lock").stdout)
    assert (
        "note: the loop of plugin, theme comes or goes between patch releases of Python 3.11;"
        " the table shows the newest"
    ) in text

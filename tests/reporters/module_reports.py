"""Reports on loops of modules: a small tree with every class of import, written by hand."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from distcycle.baseline import Baseline
from distcycle.findings import Report
from distcycle.importing import survey_imports
from distcycle.policy import Policy
from distcycle.surveying import ModuleJudge
from distcycle.targets import Target

__all__ = ["FARM", "report_of", "ring_of", "write_tree"]

FARM: Mapping[str, str] = {
    "farm/__init__.py": "",
    "farm/egg.py": """\
        from typing import TYPE_CHECKING
        from farm.hen import Hen
        import sys

        class Egg:
            def lay(self):
                from farm import hen
                return hen

        if TYPE_CHECKING:
            from farm.barn import Barn
        """,
    "farm/hen.py": """\
        from farm.egg import Egg
        from farm import barn

        class Hen:
            shell = Egg
        """,
    "farm/barn.py": """\
        import sys
        if sys.platform == "win32":
            import farm.egg

        def feed():
            import farm.hen
        """,
    "farm/broken.py": "import farm\ndef (:\n",
}
"""Three modules that import each other in all ways, and a broken one."""


def ring_of(size: int, *, package: str = "ring") -> dict[str, str]:
    """A package of modules each of which imports the next, and the last the first."""
    files = {f"{package}/__init__.py": ""}
    for at in range(size):
        after = (at + 1) % size
        files[f"{package}/m{at:03}.py"] = f"from {package}.m{after:03} import x{after}\nx{at} = 1\n"
    return files


def write_tree(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files into a folder, and give it back."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), "utf-8")
    return folder


def report_of(
    folder: Path,
    files: Mapping[str, str] = FARM,
    *,
    policy: Policy | None = None,
    baseline: Baseline | None = None,
    target: Target | None = None,
    most_cycles: int = 100,
) -> Report:
    """The report on a tree that is written into a folder first."""
    judge = ModuleJudge(policy or Policy(), baseline, date(2026, 12, 1))
    names = [str(write_tree(folder, files))]
    return survey_imports(names, judge, target=target, most_cycles=most_cycles)

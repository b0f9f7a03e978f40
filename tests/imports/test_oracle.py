"""Records against the compiler: every IMPORT_NAME, and in which kind of code it stands."""

import dis
import inspect
import sys
import sysconfig
import types
import warnings
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest

from distcycle.imports import extract

CHUNKS = 8
STANDARD = Path(sysconfig.get_path("stdlib"))
DISTRIBUTIONS = ("hypothesis", "networkx", "jinja2")


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "site-packages" not in path.parts)


Made = tuple[int | None, str, bool, str]
NAMES_SCOPES = sys.version_info >= (3, 11)


def compiled(code: types.CodeType, *, lazy: bool = False) -> Iterator[Made]:
    """Line, name, whether it is in a function, and in which, of every import that is compiled."""
    qualified = str(getattr(code, "co_qualname", "")).replace(".<locals>", "")
    scope = "" if code.co_name == "<module>" else qualified
    lazy = lazy or bool(code.co_flags & inspect.CO_OPTIMIZED)
    line: int | None = None
    # Most code imports nothing, and taking it apart is slow.
    imports = dis.opmap["IMPORT_NAME"] in code.co_code[::2]
    for instruction in dis.get_instructions(code) if imports else ():
        # From Python 3.13 on `starts_line` only says whether a line begins.
        own = getattr(instruction, "line_number", None)
        own = own if own is not None else instruction.starts_line
        line = own if isinstance(own, int) and not isinstance(own, bool) else line
        if instruction.opname == "IMPORT_NAME":
            yield line, instruction.argval, lazy, scope
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from compiled(constant, lazy=lazy)


def differences(path: Path) -> set[object]:
    source = path.read_bytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(source, str(path), "exec", dont_inherit=True, optimize=0)
            found = extract(source)
    except (SyntaxError, ValueError):
        return set()
    # `from __future__` is no import, though the compiler makes one; `import __future__` is both.
    future = {made[0] for made in compiled(code) if made[1] == "__future__"}
    made = [each for each in compiled(code) if each[1] != "__future__"]
    statements = [r for r in found.records if r.form in ("import", "from", "star")]
    assert {r.line for r in statements if r.module == "__future__"} <= future
    read = [r for r in statements if r.kind != "dead" and r.module != "__future__"]
    # A function for type checkers, or of a program, says nothing of laziness.
    classed = {(r.line, r.module, r.kind == "lazy") for r in read if r.kind in ("static", "lazy")}
    known = {(line, module) for line, module, _ in classed}
    scopes = {(r.line, r.module, r.scope) for r in read}
    wrong: set[object] = {each[:2] for each in made} ^ {(r.line, r.module) for r in read}
    wrong |= {each[:3] for each in made if each[:2] in known} - classed
    if NAMES_SCOPES:
        wrong |= {(line, module, scope) for line, module, _, scope in made} ^ scopes
    return wrong


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_standard_library(chunk: int) -> None:
    files = files_below(STANDARD)[chunk::CHUNKS]
    assert len(files) > 50
    assert {path: found for path in files if (found := differences(path))} == {}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_installed_distribution(name: str) -> None:
    located = distribution(name).files or ()
    files = [Path(str(file.locate())) for file in located if file.suffix == ".py"]
    assert len(files) > 20
    assert {path: found for path in files if (found := differences(path))} == {}

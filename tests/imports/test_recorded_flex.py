"""The loop of torch 2.7.0's flex_attention and flex_decoding, on what was read of the two files.

Only imports and the names that are bound are recorded. Run with the rest of torch mocked, the first
can be imported first, and the second cannot.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from distcycle.imports import FileImports, ImportRecord, Module, Tree, find_modules, join
from distcycle.imports.loops import VIEWS, find_loops, find_mixed
from distcycle.imports.replay import Program, replay

DATA = Path(__file__).parent / "data" / "flex-of-torch-2.7.json"
KERNEL = "torch._inductor.kernel"
ATTENTION, DECODING = f"{KERNEL}.flex_attention", f"{KERNEL}.flex_decoding"


def frozen(value: Any) -> Any:
    """JSON's lists as the tuples that they were."""
    return tuple(map(frozen, value)) if isinstance(value, list) else value


@pytest.fixture(scope="module")
def recorded() -> tuple[Tree, dict[str, Program]]:
    rows = json.loads(DATA.read_text("utf-8"))
    paths = [f"{KERNEL.replace('.', '/')}/{name}.py" for name in rows]
    modules: dict[str, Module] = find_modules(paths)
    files = {
        f"{KERNEL}.{name}": FileImports(
            records=tuple(ImportRecord._make(map(frozen, record)) for record in row["records"])
        )
        for name, row in rows.items()
    }
    programs = {
        f"{KERNEL}.{name}": Program._make(map(frozen, row["program"])) for name, row in rows.items()
    }
    return Tree(modules=modules, files=files), programs


def test_it_is_a_loop_in_every_view(recorded: tuple[Tree, dict[str, Program]]) -> None:
    graph = join(recorded[0])
    for view in VIEWS:
        assert [loop.modules for loop in find_loops(graph, view)] == [(ATTENTION, DECODING)]


def test_one_is_imported_twice_and_why(recorded: tuple[Tree, dict[str, Program]]) -> None:
    tree, programs = recorded
    (loop,) = find_loops(join(tree), "executed")
    (mixed,) = find_mixed(loop, lambda module: programs[module].bound)
    assert (mixed.source, mixed.target) == (DECODING, ATTENTION)
    assert [(e.record.line, len(e.names)) for e in mixed.static] == [(16, 9)]
    assert [(e.record.line, e.record.scope) for e in mixed.lazy] == [
        (337, "create_flex_decoding_kernel")
    ]
    assert mixed.back is not None
    assert mixed.back.record.line == 913
    assert (mixed.early[0][1], mixed.early[-1][1]) == (128, 906)
    assert mixed.late == (("set_head_dim_values", 1227),)


def test_which_fails_when_it_is_imported_first(recorded: tuple[Tree, dict[str, Program]]) -> None:
    tree, programs = recorded
    # The rest of torch is taken to have every name: compiled, as it were.
    modules = {
        name: module
        if name in programs
        else Module(name, "extension", module.path, is_package=True)
        for name, module in tree.modules.items()
    }
    outcomes = {entry.name: entry for entry in replay(modules, programs)}
    assert outcomes[ATTENTION].outcome == "ok"
    cause = outcomes[DECODING].cause
    assert outcomes[DECODING].outcome == "circular"
    assert cause is not None
    assert (cause.importer, cause.line) == (ATTENTION, 913)
    assert (cause.module, cause.symbol) == (DECODING, "create_flex_decoding_kernel")
    assert cause.back_line == 16

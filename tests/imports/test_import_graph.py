"""Which module each import means, and how that compares with grimp."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path

import pytest
from module_trees import make_tree

from distcycle.imports import ImportGraph, Tree, extract, find_modules, join
from distcycle.imports.loops import find_loops

PACKAGE = {"p/__init__.py": "", "p/a.py": "", "p/q/__init__.py": "", "p/q/b.py": ""}


def edges(files: Mapping[str, str], source: str, text: str) -> set[tuple[str, tuple[str, ...]]]:
    """The edges of one module, implied ones without names and with a star before the target."""
    module = source.replace(".", "/")
    path = f"{module}/__init__.py" if f"{module}/__init__.py" in files else f"{module}.py"
    graph = join(make_tree({**files, path: text}))
    return {
        (("*" if edge.implied else "") + edge.target, edge.names)
        for edge in graph.edges
        if edge.source == source
    }


CASES = {
    "a module": ("x", "import p.q.b", {("p.q.b", ()), ("*p", ()), ("*p.q", ())}),
    "a name of a module": ("x", "from p.a import n", {("p.a", ("n",)), ("*p", ())}),
    "a submodule": ("x", "from p import a", {("p.a", ()), ("*p", ())}),
    "a submodule and a name": ("x", "from p import a, n", {("p.a", ()), ("p", ("n",))}),
    "relative": ("p.q.b", "from ..a import n", {("p.a", ("n",))}),
    "relative, a submodule": ("p.q.b", "from .. import a", {("p.a", ())}),
    "relative, in a package": ("p.q", "from .b import n", {("p.q.b", ("n",))}),
    "its own packages do not count": ("p.q.b", "import p.a", {("p.a", ())}),
    "its own package does": ("p.q.b", "from p import n", {("p", ("n",))}),
    "only that it is there": ("x", "import p", {("p", ())}),
    "missing": ("x", "import p.z.y", {("p.z.y", ()), ("*p", ()), ("*p.z", ())}),
    "itself": ("p.a", "import p.a", set()),
    "a call": ("x", "import importlib\nimportlib.import_module('p.a')", {("p.a", ()), ("*p", ())}),
    "a relative call": (
        "p.q.b",
        "import importlib\nimportlib.import_module('..a', __package__)",
        {("p.a", ())},
    ),
    "a call relative to a module": (
        "p.q",
        "import importlib\nimportlib.import_module('.b', __name__)",
        {("p.q.b", ())},
    ),
    "star": ("x", "from p.a import *", {("p.a", ("*",)), ("*p", ())}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_imported(name: str) -> None:
    source, text, expected = CASES[name]
    assert edges(PACKAGE, source, text) == expected


def test_a_name_that_the_package_binds_hides_its_submodule() -> None:
    for binding in ("def a(): ...", "a = 1", "from .q import a", "from .a import a"):
        files = {**PACKAGE, "p/__init__.py": binding}
        assert edges(files, "x", "from p import a") == {("p", ("a",))}, binding


def test_a_package_that_binds_its_own_submodule_hides_nothing() -> None:
    for binding in ("from . import a", "from p import a", "import p.a"):
        files = {**PACKAGE, "p/__init__.py": binding}
        assert ("p.a", ()) in edges(files, "x", "from p import a"), binding


def test_a_star_imports_the_submodules_that_are_exported() -> None:
    files = {**PACKAGE, "p/__init__.py": "n = 1\n__all__ = ['a', 'n']"}
    assert edges(files, "x", "from p import *") == {("p", ("*",)), ("p.a", ())}


def test_extensions_namespaces_and_what_they_make() -> None:
    files = {**PACKAGE, "p/_c.abi3.so": "", "n/m.py": ""}
    assert edges(files, "p.a", "from . import _c") == {("p._c", ())}
    assert edges(files, "p.a", "from ._c.inner import x") == {("p._c", ("x",))}
    assert edges(files, "x", "from n import m") == {("n.m", ()), ("*n", ())}


def test_what_leads_out_and_what_is_elsewhere() -> None:
    graph = join(
        make_tree({"p/__init__.py": "", "p/a.py": "from ... import z\nimport numpy.linalg"})
    )
    assert [(module, record.line) for module, record in graph.unresolved] == [("p.a", 1)]
    assert [(e.source, e.name, e.record.line) for e in graph.external] == [
        ("p.a", "numpy.linalg", 2)
    ]


def test_a_target_leaves_out_what_is_for_others() -> None:
    text = """
    import sys
    if sys.platform == "win32":
        import p.w
    elif x:
        import p.x
    else:
        import p.l
    """
    tree = make_tree({"p/__init__.py": "", "p/a.py": text})
    linux = join(tree, {"sys_platform": "linux"})
    windows = join(tree, {"sys_platform": "win32"})
    assert {e.target for e in linux.edges} == {"p.x", "p.l"}
    assert {e.target for e in windows.edges} == {"p.w"}
    assert {e.target for e in join(tree).edges} == {"p.w", "p.x", "p.l"}


# Against grimp -----------------------------------------------------------------------------------


def installed(package: str) -> tuple[Path, Tree]:
    """A package that is installed beside the tests, read whole."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent.parent
    files = [path.relative_to(root).as_posix() for path in (root / package).rglob("*.*")]
    modules = find_modules(files)
    read = {
        name: extract((root / module.path).read_bytes(), is_package=module.is_package)
        for name, module in modules.items()
        if module.kind == "python"
    }
    return root, Tree(modules=modules, files=read)


def direct(graph: ImportGraph) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in graph.edges if not edge.implied}


def edges_of_grimp(package: str) -> set[tuple[str, str]]:
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph(package, cache_dir=None)
    return {
        (module, other)
        for module in graph.modules
        for other in graph.find_modules_directly_imported_by(module)
        if other != module
    }


def test_django_as_grimp_sees_it_edge_by_edge() -> None:
    _, tree = installed("django")
    graph = join(tree)
    assert len(graph.edges) > 3000
    assert direct(graph) == edges_of_grimp("django")


def test_where_grimp_differs_on_scipy_the_files_say_who_is_right() -> None:
    """grimp knows no extension modules, and takes a submodule where the package binds the name."""
    root, tree = installed("scipy")
    graph = join(tree)
    ours, theirs = direct(graph), edges_of_grimp("scipy")
    extensions = {
        (source, target) for source, target in ours - theirs if is_file(root, graph, target)
    }
    assert len(extensions) > 50
    for source, target in ours - theirs - extensions:
        assert target in graph.modules
        unseen = any(is_missing_to_grimp(root, module) for module in (source, target))
        assert unseen or takes_bound_name(tree, graph, source, target), (source, target)
    for source, target in theirs - ours:
        package, _, name = target.rpartition(".")
        named_extension = any(s == source and t.startswith(f"{target}.") for s, t in extensions)
        assert named_extension or name in (tree.files[package].bound or {}), (source, target)


def is_file(root: Path, graph: ImportGraph, module: str) -> bool:
    found = graph.modules[module]
    return found.kind == "extension" and (root / found.path).is_file()


def is_missing_to_grimp(root: Path, module: str) -> bool:
    """Whether a module is in a folder without ``__init__``, is one, or is not there at all."""
    path = root / module.replace(".", "/")
    packages = [folder for folder in (path, *path.parents) if folder.is_relative_to(root)][1:-1]
    if not all((folder / "__init__.py").exists() for folder in packages):
        return True
    return not (path / "__init__.py").exists() and not path.with_suffix(".py").exists()


def takes_bound_name(tree: Tree, graph: ImportGraph, source: str, package: str) -> bool:
    bound = tree.files[package].bound or {}
    return any(
        name in bound and f"{package}.{name}" in tree.modules
        for edge in graph.edges
        if (edge.source, edge.target) == (source, package)
        for name in edge.names
    )


def test_loops_of_scipy_that_only_seem_to_be_there() -> None:
    """Without its extensions scipy has loops that are none, as in grimp's view."""
    _, tree = installed("scipy")
    compiled = {name for name, module in tree.modules.items() if module.kind == "extension"}
    blind = Tree(
        modules={name: m for name, m in tree.modules.items() if name not in compiled},
        files=tree.files,
    )
    loops, seeming = find_loops(join(tree), "all"), find_loops(join(blind), "all")
    assert len(seeming) > len(loops)
    assert not any(compiled.intersection(loop.modules) for loop in loops)

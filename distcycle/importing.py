"""Finds the modules of what people name, reads their imports, and says what loops they make."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.utils import InvalidName, canonicalize_name

from distcycle.cycles import Component
from distcycle.drafts import describe_package
from distcycle.errors import InputError
from distcycle.findings import Report, Summary
from distcycle.imports import FileImports, Module, Tree
from distcycle.imports.replay import Program, replay
from distcycle.imports.study import study_tree
from distcycle.judgement import combine
from distcycle.metadata.cache import Cache
from distcycle.model import Unknown
from distcycle.readers.interpreter import ask_interpreter, search_path, site_folders
from distcycle.scans import Scan, Scanner, paused_collector
from distcycle.selection import Selection
from distcycle.statements import row_of
from distcycle.surveying import ModuleJudge, Subject, report_study
from distcycle.targets import Target
from distcycle.trees import SourceTree, find_installed, open_folder, open_installed, open_whl
from distcycle.witnesses import Witnesses

__all__ = ["find_tree", "is_audited", "survey", "survey_imports", "survey_members"]


def survey_imports(
    names: Sequence[str],
    judge: ModuleJudge,
    *,
    python: str | None = None,
    target: Target | None = None,
    together: bool = False,
    most_cycles: int = 100,
    cache_dir: Path | None = None,
    processes: int = 1,
) -> Report:
    """Read the modules of what is named, and report on their loops.

    Args:
        names: Wheels, folders of sources and installed distributions.
        judge: Decides what counts.
        python: The interpreter or environment in which distributions are sought; None for the
            running one.
        target: Leaves out what is imported on other targets only; None to keep all.
        together: Whether loops across all that is named are sought.
        most_cycles: How many elementary loops to list of each component.
        cache_dir: Where what was read is kept; None for nowhere.
        processes: How many may work at a time; see :class:`~distcycle.scans.Scanner`.

    Raises:
        InputError: Something named is not there, or cannot be read.
    """
    folders = functools.partial(_environment_folders, python or sys.executable)
    trees = {name: find_tree(name, folders) for name in names}
    scanner = Scanner(Cache(cache_dir), processes=processes)
    groups = [list(trees)] if together else [[name] for name in trees]
    reports = [
        survey(
            [trees[name] for name in group],
            scanner,
            judge,
            label=" ".join(group),
            target=target,
            most_cycles=most_cycles,
        )
        for group in groups
    ]
    return judge.conclude(combine(list(_tell_apart(reports))))


def _tell_apart(reports: Sequence[Report]) -> Iterator[Report]:
    """Give loops of the same modules in several targets, such as two versions, ids of their own."""
    seen: dict[str, int] = {}
    for report in reports:
        ids = {}
        for component in report.components:
            seen[component.id] = seen.get(component.id, 0) + 1
            count = seen[component.id]
            ids[component.id] = component.id if count == 1 else f"{component.id}#{count}"
        yield replace(
            report,
            components=tuple(replace(c, id=ids[c.id]) for c in report.components),
            findings=tuple(
                replace(f, component=ids.get(f.component, f.component)) if f.component else f
                for f in report.findings
            ),
            surveys=tuple(
                replace(s, loops=tuple(replace(d, component=ids[d.component]) for d in s.loops))
                for s in report.surveys
            ),
        )


def is_audited(name: str) -> bool:
    """Whether what is named is an input of an audit: a lock, an environment, a folder of wheels."""
    path = Path(name)
    if path.is_dir():
        return bool(site_folders(path)) or any(path.glob("*.whl"))
    return path.is_file() and path.suffix != ".whl"


def survey_members(
    selection: Selection,
    components: Iterable[Component],
    witnesses: Witnesses,
    scanner: Scanner,
    judge: ModuleJudge,
    *,
    target: Target | None = None,
    most_cycles: int = 100,
) -> Report:
    """Read the modules of all members of each loop between packages together.

    Args:
        selection: What was selected.
        components: Its loops.
        witnesses: Finds what can be read of a package.
        scanner: Reads it.
        judge: Decides what counts.
        target: Leaves out what is imported on other targets only; None to keep all.
        most_cycles: How many elementary loops to list of each component of modules.

    Returns:
        The report; members that could not be read are named in its notes.

    Raises:
        InputError: A wheel cannot be read.
    """
    path = selection.snapshot.path
    reports = []
    notes = []
    for component in components:
        trees = []
        for index in component.packages:
            found = witnesses.find(index)
            if isinstance(found, Unknown):
                package = describe_package(selection.snapshot.packages[index])
                notes.append(f"{package} is left out: {found.reason}")
            else:
                trees.append(found.source)
                notes += [f"{found.said}: {note}" for note in found.notes]
        if trees:
            label = f"{path}: {', '.join(tree.project for tree in trees)}"
            reports.append(
                survey(trees, scanner, judge, label=label, target=target, most_cycles=most_cycles)
            )
    if not reports:
        notes.append(f"{path}: no modules of a loop between packages could be looked at")
        return Report(inputs=(), targets=(), summary=Summary(), notes=tuple(notes))
    report = judge.conclude(combine(reports))
    return replace(report, notes=(*report.notes, *notes))


def find_tree(name: str, folders: Callable[[], Sequence[Path]]) -> SourceTree:
    """Find the modules of a wheel, a folder of sources or an installed distribution.

    Args:
        name: A wheel or a folder that exists, else the name of a distribution.
        folders: Gives the folders of ``sys.path`` in which a distribution is sought.

    Raises:
        InputError: There is no such thing, or nothing says which files it has.
    """
    if name.endswith(".whl"):
        return open_whl(name)
    if os.path.isdir(name):
        return open_folder(name)
    if os.path.exists(name):
        raise InputError("neither a wheel nor a folder", path=name)
    try:
        project = canonicalize_name(name, validate=True)
    except InvalidName:
        raise InputError("no such file or folder", path=name) from None
    info = find_installed(project, folders())
    if info is None:
        raise InputError("no such file or folder, and no distribution of that name", path=name)
    return open_installed(info)


@functools.cache
def _environment_folders(python: str) -> tuple[Path, ...]:
    """The folders in which an environment keeps its distributions.

    Args:
        python: An interpreter, or an environment's folder.

    Raises:
        InputError: It is neither, or cannot be run.
    """
    if os.path.isdir(python):
        folders = site_folders(Path(python))
        if not folders:
            raise InputError("not an environment", path=python)
        return tuple(search_path(folders))
    return tuple(search_path(ask_interpreter(python)[1]))


def survey(
    trees: Sequence[SourceTree],
    scanner: Scanner,
    judge: ModuleJudge,
    *,
    label: str,
    target: Target | None = None,
    most_cycles: int = 100,
) -> Report:
    """Read the modules of trees together, and report on their loops.

    Args:
        trees: The trees; loops may go from one to another.
        scanner: Reads them.
        judge: Decides what counts.
        label: What the user calls them.
        target: Leaves out what is imported on other targets only; None to keep all.
        most_cycles: How many elementary loops to list of each component.

    Raises:
        InputError: A wheel cannot be read.
    """
    joined = _Joined([scanner.scan(tree, programs=True) for tree in trees])
    subject = Subject(
        label=label,
        projects=tuple((tree.project, tree.version) for tree in trees),
        read_from=tuple(tree.read_from for tree in trees),
        place_of=joined.place_of,
        row=None if target is None else row_of(target),
    )
    environment = None if target is None else target.environment
    with ExitStack() as stack, paused_collector():
        source_of = joined.open(stack)
        study = study_tree(joined.tree, source_of, environment=environment, most_cycles=most_cycles)
        entries = replay(joined.tree.modules, joined.programs, environment=environment)
        return report_study(study, subject, judge, entries)


@dataclass(slots=True)
class _Joined:
    """Several trees as one."""

    scans: Sequence[Scan]
    tree: Tree = field(init=False)
    programs: dict[str, Program] = field(init=False)
    _owner: dict[str, Scan] = field(init=False)

    def __post_init__(self) -> None:
        modules: dict[str, Module] = {}
        files: dict[str, FileImports] = {}
        self.programs = {}
        self._owner = {}
        for scan in self.scans:
            for name, module in scan.modules.modules.items():
                # Of a namespace each distribution has a part.
                if name not in modules or modules[name].kind == "namespace":
                    modules[name] = module
                    self._owner[name] = scan
                    if name in scan.modules.files:
                        files[name] = scan.modules.files[name]
                    if name in scan.programs:
                        self.programs[name] = scan.programs[name]
        self.tree = Tree(modules=dict(sorted(modules.items())), files=dict(sorted(files.items())))

    def place_of(self, name: str) -> str:
        scan = self._owner.get(name)
        return name if scan is None else scan.place(name)

    def open(self, stack: ExitStack) -> Callable[[str], bytes | None]:
        """What gives the source of a module, for as long as a stack of contexts lasts."""
        readers: dict[int, Callable[[str], bytes | None]] = {}

        def source_of(name: str) -> bytes | None:
            scan = self._owner.get(name)
            if scan is None or scan.modules.modules[name].kind != "python":
                return None
            if id(scan) not in readers:
                readers[id(scan)] = stack.enter_context(scan.source.opened())
            return readers[id(scan)](scan.modules.modules[name].path)

        return source_of

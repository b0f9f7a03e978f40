"""The pyproject.toml beside a lock: what the project asks for, with which extra and group.

Source: https://packaging.python.org/specifications/pyproject-toml/,
https://packaging.python.org/specifications/dependency-groups/ (PEP 735),
https://python-poetry.org/docs/pyproject/, https://pdm-project.org/latest/reference/pep621/
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

from distcycle.errors import InputError
from distcycle.model import Extra, Package, Place, Problem, Requirement, Root, Snapshot
from distcycle.readers import Document, decode_utf8
from distcycle.readers.fields import Fields, describe, parse_toml
from distcycle.readers.poetry_dependency import Dependency, read_dependency
from distcycle.readers.references import parse_reference, pinned_version, refer, without_credentials
from distcycle.requirements import parse_requirement, parse_specifier

__all__ = [
    "Project",
    "parse_pyproject",
    "read_pdm_project",
    "read",
    "read_poetry_project",
    "read_static",
    "unwrap_editable",
]

_Bind = Callable[[Dependency], Requirement]


@dataclass(slots=True, kw_only=True)
class Project:
    """The project that a lock is of.

    Attributes:
        fields: The whole pyproject.toml.
        roots: What the project asks for, in file order.
        problems: Entries that could not be read.
    """

    fields: Fields
    roots: list[Root] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def add(
        self,
        requirement: Requirement,
        *,
        extra: Extra | None = None,
        group: NormalizedName | None = None,
        default: bool = True,
    ) -> None:
        """Add a root, without the credentials of its URL, and the problem with it if it has one."""
        url = None if requirement.url is None else without_credentials(requirement.url)
        text = without_credentials(requirement.text)
        requirement = replace(requirement, url=url, text=text)
        if requirement.problem is not None and requirement.place is not None:
            self.report(requirement.problem, requirement.place)
        self.roots.append(
            Root(requirement=requirement, extra=extra, group=group, default=default and not extra)
        )

    def report(self, message: str, place: Place) -> None:
        """Note an entry that could not be read."""
        self.problems.append(Problem(code="unreadable-requirement", message=message, place=place))

    def as_package(self, packages: Iterable[Package]) -> Package | None:
        """The project as a package of its own snapshot.

        A lock leaves its project out, yet a plugin in it may require the project, and the project
        may ask for its own extras.

        Args:
            packages: What the lock holds.

        Returns:
            The project, when something requires it and the lock does not hold it; else None.
        """
        name = self._name()
        packages = tuple(packages)
        if name is None or any(package.name == name for package in packages):
            return None
        edges = [edge for package in packages for edge in package.requirements or ()]
        if all(edge.name != name for edge in (*edges, *(r.requirement for r in self.roots))):
            return None
        own = [root for root in self.roots if root.group is None]
        extras = dict.fromkeys(root.extra for root in own if root.extra is not None)
        return Package(
            name=name,
            version=self._version(),
            source="directory",
            url=".",
            artefacts=(),
            requirements=tuple(replace(root.requirement, extra=root.extra) for root in own),
            provides_extra=tuple(extras),
            place=self.fields.place("project" if "project" in self.fields else "tool"),
        )

    def _declared(self, key: str) -> str | None:
        poetry = self.fields.table("tool").table("poetry")
        return self.fields.table("project").get(key, str) or poetry.get(key, str)

    def _name(self) -> NormalizedName | None:
        name = self._declared("name")
        return None if name is None else canonicalize_name(name)

    def _version(self) -> Version | None:
        try:
            return Version(self._declared("version") or "")
        except InvalidVersion:
            return None


def read(document: Document) -> Snapshot:
    """Read a project that is not locked: what it asks for, each requirement a package of its own.

    Extras and groups are asked for by name, as with pip; Poetry's groups that are not optional are
    installed without being asked for.

    Args:
        document: A pyproject.toml.

    Raises:
        InputError: It is not TOML, or says nothing of what the project requires.
    """
    text = decode_utf8(document)
    fields = parse_toml(text, path=document.path)
    project = _read_project(fields)
    if project is None:
        raise InputError(
            "says nothing of what the project requires: expected [project], [dependency-groups]"
            " or [tool.poetry.dependencies]",
            path=document.path,
        )
    standard = fields.table("project")
    if "dependencies" in standard.strings("dynamic"):
        problem = "dependencies are dynamic: only the build back end can say them"
        project.report(problem, standard.place("dynamic"))
    uv = fields.table("tool").table("uv")
    for name in uv.table("sources").value:
        project.report(
            f"the source of {name} is not followed; an index is asked", uv.place(f"sources.{name}")
        )
    for name in sorted({"override-dependencies", "exclude-dependencies"} & uv.value.keys()):
        project.report(f"uv's {name} are not followed", uv.place(name))
    python = standard.get("requires-python", str)
    requires_python = None if python is None else parse_specifier(python)
    if python is not None and requires_python is None:
        project.report(
            f"not a version specifier: {python[:100]!r}", standard.place("requires-python")
        )
    own = project.as_package(())
    others = (root for root in project.roots if own is None or root.requirement.name != own.name)
    constraints = list(_constraints(project, uv))
    return Snapshot(
        path=document.path,
        kind="pyproject",
        packages=(*_packages(others), *([own] if own else ())),
        roots=tuple(project.roots),
        requires_python=requires_python,
        constraints=tuple(constraints),
        complete=False,
        problems=tuple(project.problems),
        syntax="toml",
        text=text,
    )


def _constraints(project: Project, uv: Fields) -> Iterator[Requirement]:
    """Uv's constraints; one that cannot be read bounds nothing, and is reported."""
    for requirement in _texts(project, uv, "constraint-dependencies"):
        if requirement.problem is not None and requirement.place is not None:
            project.report(requirement.problem, requirement.place)
        else:
            yield requirement


def _read_project(fields: Fields) -> Project | None:
    if "dependencies" in fields.table("tool").table("poetry"):
        return read_poetry_project(fields, lambda dependency: dependency.requirement)
    if "project" not in fields and "dependency-groups" not in fields:
        return None
    project = Project(fields=fields)
    _add_standard(project, fields.table("project"))
    groups = fields.table("dependency-groups")
    _add_groups(project, groups, {canonicalize_name(name) for name in groups.value})
    return project


def _packages(roots: Iterable[Root]) -> Iterator[Package]:
    """A package for each requirement: at its version where it is pinned, else at none."""
    seen = set()
    for root in roots:
        requirement = root.requirement
        key = (requirement.name, str(requirement.specifier), str(requirement.marker))
        if key in seen or requirement.place is None:
            continue
        seen.add(key)
        package = Package(
            name=requirement.name,
            version=pinned_version(requirement.specifier),
            marker=requirement.marker,
            place=requirement.place,
        )
        yield refer(package, parse_reference(requirement.url)) if requirement.url else package


def read_static(document: Document) -> Project | None:
    """Read what a project of the standard ``[project]`` table requires, where that is static.

    Args:
        document: Its pyproject.toml.

    Returns:
        The project; None when there is no such table, or only a build back end knows.

    Raises:
        InputError: It is not TOML, or a table has another type than it must have.
    """
    fields = parse_toml(decode_utf8(document), path=document.path)
    standard = fields.table("project")
    dynamic = standard.strings("dynamic")
    if "project" not in fields or {"dependencies", "optional-dependencies"} & set(dynamic):
        return None
    project = Project(fields=fields)
    _add_standard(project, standard)
    return project


def parse_pyproject(document: Document) -> Fields | None:
    """Parse the pyproject.toml beside a document.

    Returns:
        Its fields, None when there is no such file.

    Raises:
        InputError: It is not UTF-8, or not TOML.
    """
    found = document.beside("pyproject.toml")
    if found is None:
        return None
    path, data = found
    return parse_toml(decode_utf8(Document(path=path, data=data)), path=path)


def read_poetry_project(fields: Fields, bind: _Bind) -> Project | None:
    """Read what a project of Poetry asks for.

    Args:
        fields: The pyproject.toml.
        bind: Joins a dependency to the one package of the lock that its source tells, if it does.

    Returns:
        The project; None when the file says nothing that Poetry would read.

    Raises:
        InputError: A table or array has another type than it must have.
    """
    standard, poetry = fields.table("project"), fields.table("tool").table("poetry")
    own = poetry.table("dependencies")
    if not {"dependencies", "optional-dependencies"} & standard.value.keys() and not (
        {"dependencies", "group", "dev-dependencies"} & poetry.value.keys()
    ):
        return None
    project = Project(fields=fields)
    _add_standard(project, standard)
    if "dependencies" not in standard or "dependencies" in standard.strings("dynamic"):
        _add_poetry_main(project, own, _extras_by_name(poetry), bind)
    _add_poetry_table(project, poetry.table("dev-dependencies"), canonicalize_name("dev"), bind)
    groups = poetry.table("group")
    optional = {
        canonicalize_name(name) for name in groups.value if groups.table(name).get("optional", bool)
    }
    for name in groups.value:
        _add_poetry_group(project, groups, name, optional, bind)
    _add_groups(project, fields.table("dependency-groups"), optional)
    return project


def _extras_by_name(poetry: Fields) -> dict[NormalizedName, list[Extra]]:
    """For each optional dependency, the extras of the project that bring it in."""
    extras = poetry.table("extras")
    wanted: dict[NormalizedName, list[Extra]] = {}
    for extra in extras.value:
        for name in extras.strings(extra):
            wanted.setdefault(canonicalize_name(name), []).append(canonicalize_name(extra))
    return wanted


def _add_poetry_main(
    project: Project, table: Fields, extras: dict[NormalizedName, list[Extra]], bind: _Bind
) -> None:
    for dependency in _poetry_dependencies(project, table):
        requirement = bind(dependency)
        if not dependency.optional:
            project.add(requirement)
            continue
        for extra in extras.get(requirement.name, ()):
            project.add(requirement, extra=extra)


def _add_poetry_table(
    project: Project, table: Fields, group: NormalizedName, bind: _Bind, *, default: bool = True
) -> None:
    for dependency in _poetry_dependencies(project, table):
        project.add(bind(dependency), group=group, default=default)


def _add_poetry_group(
    project: Project, groups: Fields, name: str, optional: set[NormalizedName], bind: _Bind
) -> None:
    """Add a group's dependencies, and those of the groups that it includes."""
    group = canonicalize_name(name)
    spelled = {canonicalize_name(other): other for other in groups.value}
    pending, seen = [group], {group}
    while pending:
        table = groups.table(spelled[pending.pop()])
        _add_poetry_table(
            project, table.table("dependencies"), group, bind, default=group not in optional
        )
        included = {canonicalize_name(other) for other in table.strings("include-groups")}
        for other in sorted((included & spelled.keys()) - seen):
            seen.add(other)
            pending.append(other)


def _poetry_dependencies(project: Project, table: Fields) -> Iterator[Dependency]:
    for name in table.value:
        if name.lower() == "python":
            continue
        try:
            yield from read_dependency(table, name)
        except ValueError as error:
            project.report(str(error), table.place(name))


def read_pdm_project(fields: Fields) -> Project | None:
    """Read what a project of PDM asks for; it installs every development group by default.

    Args:
        fields: The pyproject.toml.

    Returns:
        The project; None when the file does not say what the project depends on.

    Raises:
        InputError: A table or array has another type than it must have.
    """
    standard = fields.table("project")
    if "project" not in fields or "dependencies" in standard.strings("dynamic"):
        return None
    project = Project(fields=fields)
    _add_standard(project, standard)
    _add_groups(project, fields.table("dependency-groups"), set())
    development = fields.table("tool").table("pdm").table("dev-dependencies")
    for name in development.value:
        for requirement in _texts(project, development, name):
            project.add(requirement, group=canonicalize_name(name))
    return project


def _add_standard(project: Project, standard: Fields) -> None:
    for requirement in _texts(project, standard, "dependencies"):
        project.add(requirement)
    extras = standard.table("optional-dependencies")
    for name in extras.value:
        for requirement in _texts(project, extras, name):
            project.add(requirement, extra=canonicalize_name(name))


def _texts(project: Project, table: Fields, name: str) -> Iterator[Requirement]:
    for i, value in enumerate(table.get(name, list) or ()):
        if (requirement := _text(project, value, table.place(f"{name}[{i}]"))) is not None:
            yield requirement


def _text(project: Project, value: object, place: Place) -> Requirement | None:
    if not isinstance(value, str):
        project.report(f"expected a string, found {describe(value)}", place)
        return None
    try:
        return parse_requirement(unwrap_editable(value), place=place)
    except ValueError as error:
        project.report(str(error), place)
        return None


def unwrap_editable(text: str) -> str:
    """A requirement line of PDM's without its ``-e``; the URL's fragment gives it a name.

    Args:
        text: A requirement in PEP 508 syntax, or ``-e URL#egg=NAME``.
    """
    option, _, url = text.partition(" ")
    if option not in {"-e", "--editable"}:
        return text
    name = url.partition("#egg=")[2].partition("&")[0]
    return f"{name} @ {url.strip()}" if name else url


def _add_groups(project: Project, groups: Fields, optional: set[NormalizedName]) -> None:
    """Add the dependency groups of PEP 735, each with the groups that it includes."""
    spelled = {canonicalize_name(name): name for name in groups.value}
    for group in spelled:
        pending, seen = [group], {group}
        while pending:
            requirements, included = _read_group(project, groups, spelled[pending.pop()])
            for requirement in requirements:
                project.add(requirement, group=group, default=group not in optional)
            for other, place in included.items():
                if other not in spelled:
                    project.report(f"includes an unknown dependency group {other!r}", place)
                elif other not in seen:
                    seen.add(other)
                    pending.append(other)


def _read_group(
    project: Project, groups: Fields, name: str
) -> tuple[list[Requirement], dict[NormalizedName, Place]]:
    """The requirements of a group, and the groups that it includes."""
    requirements, included = [], {}
    for i, value in enumerate(groups.get(name, list) or ()):
        place = groups.place(f"{name}[{i}]")
        if isinstance(value, dict) and isinstance(value.get("include-group"), str):
            included[canonicalize_name(value["include-group"])] = place
        elif (requirement := _text(project, value, place)) is not None:
            requirements.append(requirement)
    return requirements, included

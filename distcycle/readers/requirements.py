"""requirements.txt: everything that pip accepts, and what compilers write into comments.

No library parses the lines here. pip-requirements-parser (last released in December 2022) opens
the files itself and takes a path only, follows no include, does not know ``--config-settings`` or
``-C`` and refuses the whole line that has them, and keeps comments apart from the requirement that
they explain, while ``# via`` is what an audit needs. requirements-parser opens included files
itself and, at the first line that it cannot read or file that is not UTF-8, gives up on all others.
pip's own parser is not an API. So the lines are read as pip's documentation and source say, and
what stands in them is read by packaging.

Where pip stops at a line, that line is a problem and the rest is read. A text most of whose lines
are neither requirements nor options (prose named ``requirements.txt``) is refused as a whole.

Source: pip, "Requirements File Format",
https://pip.pypa.io/reference/requirements-file-format/
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from packaging.markers import Marker
from packaging.utils import NormalizedName, canonicalize_name

from distcycle.errors import InputError
from distcycle.model import FileRules, IndexOptions, Package, Place, Problem, Root, Snapshot
from distcycle.readers import Document
from distcycle.readers.references import parse_digest, without_credentials
from distcycle.readers.requirement_entries import (
    Entry,
    NamelessError,
    NotARequirementError,
    parse_entry,
)
from distcycle.readers.requirement_lines import (
    Command,
    Statement,
    decode,
    expand_variables,
    find_left_out,
    is_asked_for,
    is_compiled,
    parse_command,
    parse_via,
    split_statements,
)
from distcycle.requirements import parse_marker

__all__ = ["read"]

_INCLUDE_DEPTH = 50
_IS_URL = re.compile(r"(?:https?|ftp|file):", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """One file of the include tree; ``name`` is relative to the folder of the first."""

    name: str
    path: str
    text: str
    is_constraint: bool
    including: tuple[str, ...] = ()


def read(document: Document) -> Snapshot:
    """Read a requirements file and all that it includes.

    Args:
        document: The file; its ``beside`` is asked for the includes, and for the pyproject.toml
            of local projects whose name nothing else tells.

    Raises:
        InputError: It is not a text file, or most of it is something else than requirements.
    """
    text = decode(document.data, path=document.path)
    reading = _Reading(document)
    name = posixpath.basename(document.path.replace("\\", "/"))
    reading.read_file(_File(name=name, path=document.path, text=text, is_constraint=False))
    reading.refuse_other_texts()
    constraining = [entry.package for entry in reading.constraints]
    packages = _settle([entry.package for entry in reading.entries], constraining)
    claims_all = (
        is_compiled(text) or reading.rules.require_hashes or any(p.hashes for p in packages)
    )
    return Snapshot(
        path=document.path,
        kind="requirements",
        packages=_with_left_out(packages, reading.left_out),
        roots=tuple(Root(requirement=entry.requirement) for entry in reading.entries),
        constraints=tuple(entry.requirement for entry in reading.constraints),
        index=reading.index,
        rules=reading.rules,
        complete=claims_all and not reading.lacks_file,
        problems=tuple(reading.problems),
    )


@dataclass(slots=True)
class _Reading:
    """What the lines of a file, and of all that it includes, come to."""

    document: Document
    entries: list[Entry] = field(default_factory=list)
    constraints: list[Entry] = field(default_factory=list)
    left_out: list[Package] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    index: IndexOptions = field(default_factory=IndexOptions)
    rules: FileRules = field(default_factory=FileRules)
    lacks_file: bool = False
    readable: int = 0
    unreadable: list[Place] = field(default_factory=list)
    seen: set[tuple[str, bool]] = field(default_factory=set)

    def read_file(self, file: _File) -> None:
        """Read the statements of one file in order."""
        self.seen.add((file.name, file.is_constraint))
        for statement in split_statements(file.text):
            place = Place(path=file.path, line=statement.line)
            if statement.text:
                self._read_statement(file, statement, place)
            for line, name in () if file.is_constraint else find_left_out(statement):
                where = Place(path=file.path, line=line)
                self.left_out.append(Package(name=name, version=None, place=where))

    def refuse_other_texts(self) -> None:
        """Raise if more lines are unreadable than readable."""
        if len(self.unreadable) > self.readable:
            total = len(self.unreadable) + self.readable
            raise InputError(
                "not a requirements file: expected requirements and pip's options, but"
                f" {len(self.unreadable)} of {total} lines are neither",
                path=self.unreadable[0].path,
                line=self.unreadable[0].line,
            )

    def _read_statement(self, file: _File, statement: Statement, place: Place) -> None:
        command = parse_command(expand_variables(statement.text, self.document.environ))
        if command.problem:
            self._report(f"{command.problem} in {_shown(statement)}", place)
        elif command.ignored:
            self._report(f"pip ignores what follows the options in {_shown(statement)}", place)
        if command.requirement:
            self._read_requirement(file, command, statement, place)
        elif command.options:
            self.readable += 1
            self._read_options(file, command, place)
        else:
            self.unreadable.append(place)

    def _report(self, message: str, place: Place, package: NormalizedName | None = None) -> None:
        self.problems.append(
            Problem(code="unreadable-requirement", message=message, package=package, place=place)
        )

    # Requirements ---------------------------------------------------------------------------------

    def _read_requirement(
        self, file: _File, command: Command, statement: Statement, place: Place
    ) -> None:
        try:
            entry = parse_entry(
                command,
                place=place,
                hashes=self._hashes(command, place),
                via=parse_via(statement.comments),
                asked=is_asked_for(statement.comments),
                beside=self.document.beside,
            )
        except NotARequirementError as error:
            self.unreadable.append(place)
            self._report(f"{error}: {_shown(statement)}", place)
            return
        except NamelessError as error:
            self.readable += 1
            self._report(f"{error}: {_shown(statement)}", place)
            return
        self.readable += 1
        requirement = entry.requirement
        if requirement.problem:
            message = f"{without_credentials(requirement.problem)}: {_shown(statement)}"
            self._report(message, place, requirement.name)
        if file.is_constraint:
            self.constraints.append(entry)
            return
        # As declared: what a variable stood for may be a secret.
        text = without_credentials(parse_command(statement.text).requirement)
        self.entries.append(replace(entry, requirement=replace(requirement, text=text)))

    def _hashes(self, command: Command, place: Place) -> tuple[tuple[str, str], ...]:
        values = command.options.get("hash", ())
        for value in values:
            if parse_digest(value) is None:
                message = f"expected sha256:, sha384: or sha512: and hex digits, found {value!r}"
                self._report(message, place)
        return tuple(sorted({digest for value in values if (digest := parse_digest(value))}))

    # Options --------------------------------------------------------------------------------------

    def _read_options(self, file: _File, command: Command, place: Place) -> None:
        options = command.options
        if "hash" in options:
            self._report("--hash without a requirement, which pip ignores", place)
        self.rules = replace(
            self.rules,
            pre=_controlled(
                self.rules.pre,
                (*options.get("all_releases", ()), *([":all:"] if "pre" in options else ())),
            ),
            only_binary=_controlled(self.rules.only_binary, options.get("only_binary", ())),
            no_binary=_controlled(self.rules.no_binary, options.get("no_binary", ())),
            require_hashes=self.rules.require_hashes or "require_hashes" in options,
        )
        # Of several includes on one line pip follows the first, and -r rather than -c.
        for option in ("requirement", "constraint"):
            if option in options:
                self._include(file, options[option][0], place, constraint=option == "constraint")
                return
        links = (_beside(file, link) for link in options.get("find_links", ()))
        self.index = IndexOptions(
            index_url=options.get("index_url", [self.index.index_url])[-1],
            extra_index_urls=_unique(
                self.index.extra_index_urls, options.get("extra_index_url", ())
            ),
            find_links=_unique(self.index.find_links, links),
            no_index=self.index.no_index or "no_index" in options,
        )

    def _include(self, file: _File, target: str, place: Place, *, constraint: bool) -> None:
        name = _beside(file, target)
        chain = (*file.including, file.name)
        if name in chain:
            loop = " -> ".join((*chain[chain.index(name) :], name))
            self._report(f"files include each other in a loop: {loop}", place)
        elif (name, constraint) not in self.seen:
            try:
                path, text = self._open(name, depth=len(chain))
            except InputError as error:
                self.lacks_file = True
                shown = without_credentials(target)
                self._report(f"cannot read the included file {shown!r}: {error.problem}", place)
                return
            self.read_file(
                _File(name=name, path=path, text=text, is_constraint=constraint, including=chain)
            )

    def _open(self, name: str, *, depth: int) -> tuple[str, str]:
        if _IS_URL.match(name):
            raise InputError("it is a URL, and only local files are read")
        if depth > _INCLUDE_DEPTH:
            raise InputError(f"includes are nested more than {_INCLUDE_DEPTH} deep")
        found = self.document.beside(name)
        if found is None:
            raise InputError("there is no such file")
        path, data = found
        return path, decode(data, path=path)


def _shown(statement: Statement) -> str:
    text = without_credentials(statement.text)
    return repr(text if len(text) <= 100 else f"{text[:97]}...")


def _beside(file: _File, target: str) -> str:
    """A name given in an included file, relative to the folder of the first file."""
    if _IS_URL.match(target):
        return target
    folder = posixpath.dirname(file.name)
    return posixpath.normpath(posixpath.join(folder, target.replace("\\", "/")))


def _unique(*parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for part in parts for value in part))


def _controlled(known: tuple[str, ...], values: Iterable[str]) -> tuple[str, ...]:
    """Projects of pip's format control after further values; ``:none:`` takes all back."""
    names = dict.fromkeys(known)
    for name in ",".join(values).split(","):
        if name.strip() == ":none:":
            names.clear()
        elif name.strip():
            names[name.strip() if name.strip() == ":all:" else canonicalize_name(name.strip())] = (
                None
            )
    return tuple(names)


# Packages -----------------------------------------------------------------------------------------


def _settle(lines: Sequence[Package], constraints: Iterable[Package]) -> tuple[Package, ...]:
    """Give each line the version that it, another line of its name or a constraint pins.

    An unpinned line stands for a package of its own only where no pin covers it.
    """
    pins, constraining = _pins(lines), _pins(constraints)
    settled: dict[tuple[object, ...], Package] = {}
    for line in lines:
        for package in _settle_line(line, pins, constraining):
            _add(settled, package)
    return tuple(settled.values())


def _pins(packages: Iterable[Package]) -> dict[NormalizedName, list[Package]]:
    pins: dict[NormalizedName, list[Package]] = defaultdict(list)
    for package in packages:
        if _is_pinned(package):
            pins[package.name].append(package)
    return pins


def _settle_line(
    line: Package,
    pins: Mapping[NormalizedName, list[Package]],
    constraints: Mapping[NormalizedName, list[Package]],
) -> Iterator[Package]:
    if _is_pinned(line):
        yield line
        return
    pinning = [
        replace(pin, place=line.place, via=line.via, marker=_both(line.marker, pin.marker))
        for pin in constraints.get(line.name, ())
    ]
    yield from pinning
    standing = [pin.marker for pin in (*pins.get(line.name, ()), *pinning)]
    if None not in standing and str(line.marker) not in map(str, standing):
        yield line


def _is_pinned(package: Package) -> bool:
    return package.version is not None or package.source != "registry"


def _both(first: Marker | None, second: Marker | None) -> Marker | None:
    if first is None or first == second:
        return second
    if second is None:
        return first
    marker = parse_marker(f"({first}) and ({second})")
    return first if isinstance(marker, str) else marker


def _add(settled: dict[tuple[object, ...], Package], package: Package) -> None:
    """Add a package; lines that say the same are one."""
    key = (package.name, package.version, package.source, package.url, str(package.marker))
    same = settled.get(key)
    if same is not None:
        package = replace(
            same,
            via=tuple(sorted({*same.via, *package.via})),
            asked=same.asked or package.asked,
            hashes=tuple(sorted({*same.hashes, *package.hashes})),
        )
    settled[key] = package


def _with_left_out(
    packages: tuple[Package, ...], left_out: Iterable[Package]
) -> tuple[Package, ...]:
    """Add what the compiler says it left out, where no line has it after all."""
    names = {package.name for package in packages}
    missing = {package.name: package for package in left_out if package.name not in names}
    return (*packages, *missing.values())

"""Finds what can be read of a package's modules.

An installed copy, a wheel on this machine or, only when that is allowed, one that is fetched. A
wheel for another platform serves where it is smaller: it carries the same modules, or says which
differ.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from packaging.version import InvalidVersion, Version

from distcycle.errors import DistcycleError, InputError
from distcycle.metadata import Library
from distcycle.metadata.archive import HOSTILE_ZIP
from distcycle.metadata.cache import Cache
from distcycle.metadata.urls import is_url, local_path
from distcycle.model import Artefact, Facts, Package, Unknown
from distcycle.scans import Scanner
from distcycle.selection import Selection
from distcycle.trees import (
    SourceTree,
    find_installed,
    open_folder,
    open_installed,
    open_whl,
    parse_record,
    path_in_site,
)

__all__ = ["Means", "Search", "Witness", "Witnesses", "searching"]

_MOST_COMPARED = 4
_MOST_DIFFERING = 0.05
_WORTH_IT = 0.5  # what another wheel may weigh at most to be fetched in place of the right one
_NAMES_SHOWN = 3
_RECORD_LIMIT_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """How modules may be sought.

    Attributes:
        download: Whether whole wheels may be fetched.
        tell: Called with what is being fetched, before it is.
        site: Folders of an environment that may have the same packages installed; None for those
            of the running interpreter.
        processes: How many may read at a time.
    """

    download: bool = False
    tell: Callable[[str], None] = field(default=lambda _text: None)
    site: Sequence[Path] | None = None
    processes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Where modules are sought.

    Attributes:
        library: Finds wheels, and reads parts of remote ones; None to look at no index.
        scanner: Reads imports.
        folder: Where wheels are put that are fetched.
        site: Folders of an environment that may have the same packages installed.
        means: What else is allowed.
    """

    library: Library | None
    scanner: Scanner
    folder: Path
    site: Sequence[Path]
    means: Means


@contextlib.contextmanager
def searching(library: Library | None, means: Means) -> Iterator[Search]:
    """Make a folder for what is fetched, for as long as the context lasts.

    Args:
        library: Finds wheels; None to look at no index.
        means: What is allowed.
    """
    cache = Cache(None) if library is None else library.cache
    site = means.site
    if site is None:
        site = [path for entry in sys.path if entry and (path := Path(entry)).is_dir()]
    with tempfile.TemporaryDirectory() as folder:
        yield Search(
            library=library,
            scanner=Scanner(cache, processes=means.processes),
            folder=Path(folder),
            site=site,
            means=means,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """What stands for a package: its files, what to call them, and what to say of them."""

    source: SourceTree
    said: str
    notes: tuple[str, ...] = ()


class Witnesses:
    """Finds for each package of a selection what to read in its place."""

    def __init__(self, selection: Selection, facts: Facts, search: Search) -> None:
        self._selection = selection
        self._facts = facts
        self._search = search
        self._found: dict[tuple[int, bool], Witness | Unknown] = {}
        self._paths: dict[str, Path | None] = {}

    def is_here(self, index: int) -> bool:
        """Whether a package is installed in the input, or its wheel is on this machine."""
        package = self._selection.snapshot.packages[index]
        if package.source == "installed":
            return True
        return any(self._local(artefact) is not None for artefact in self._wheels(index))

    def find(self, index: int, *, fetches: bool = True) -> Witness | Unknown:
        """What to read of a package, or why nothing can be.

        Args:
            index: The package.
            fetches: Whether its wheel may be fetched for that, if any may.
        """
        fetches = fetches and self._search.means.download
        for key in ((index, True), (index, fetches)):
            if key in self._found and not (key[1] and isinstance(self._found[key], Unknown)):
                return self._found[key]
        try:
            found = self._find(index, fetches=fetches)
        except DistcycleError as error:
            found = Unknown(reason=str(error))
        self._found[index, fetches] = found
        return found

    def _find(self, index: int, *, fetches: bool) -> Witness | Unknown:
        package = self._selection.snapshot.packages[index]
        if package.source == "installed":
            return _installed(Path(package.place.path))
        if package.source in {"directory", "editable"} and package.url:
            return self._folder(package)
        wheels = self._wheels(index)
        for wheel in wheels:
            path = self._local(wheel)
            if path is not None:
                return self._of_wheel(path, wheel, wheels[0])
        return (
            self._installed_copy(package, wheels)
            or (self._fetched(wheels) if fetches else None)
            or self._lacking(package, wheels)
        )

    def _folder(self, package: Package) -> Witness:
        url = package.url or ""
        beside = os.path.dirname(self._selection.snapshot.path)
        path = local_path(url) if is_url(url) else Path(beside, url)
        source = open_folder(str(path))
        return Witness(source=source, said=source.read_from)

    def _wheels(self, index: int) -> list[Artefact]:
        """A package's wheels: those that judged environments take, then others; small ones first.

        The first stands for the package.
        """
        package = self._selection.snapshot.packages[index]
        chosen = [c.artefact for c in self._selection.choices.get(index, ()) if c.artefact]
        listed = package.artefacts
        if listed is None and package.version is not None:
            facts = self._facts.files.get((package.name, package.version), ())
            listed = () if isinstance(facts, Unknown) else facts
        taken = {artefact.identity: artefact for artefact in chosen if artefact.is_wheel}
        others = [a for a in listed or () if a.is_wheel and a.identity not in taken]
        return [*sorted(taken.values(), key=_by_size), *sorted(others, key=_by_size)]

    def _local(self, wheel: Artefact) -> Path | None:
        """Where a wheel is on this machine; its hash is looked at, so each is sought once."""
        if wheel.identity not in self._paths:
            self._paths[wheel.identity] = self._seek(wheel)
        return self._paths[wheel.identity]

    def _seek(self, wheel: Artefact) -> Path | None:
        library, fetched = self._search.library, self._search.folder / wheel.filename
        if fetched.is_file():
            return fetched
        if library is None:
            return Path(wheel.path) if wheel.path is not None else None
        with contextlib.suppress(DistcycleError):
            index = self._selection.snapshot.index
            return library.fetch(wheel, self._search.folder, index=index, download=False)
        return None

    def _of_wheel(self, path: Path, wheel: Artefact, meant: Artefact) -> Witness:
        source = open_whl(str(path))
        if wheel.filename == meant.filename:
            return Witness(source=source, said=source.read_from)
        note = self._compare(wheel, meant)
        said = f"{wheel.filename} in place of {meant.filename}"
        return Witness(source=source, said=said, notes=(note,))

    def _compare(self, wheel: Artefact, meant: Artefact) -> str:
        """What is known of the modules of a wheel that is read in place of another."""
        differing = self._differing(wheel, meant)
        if differing is None:
            return f"whether its modules are those of {meant.filename} is not known"
        if not differing:
            return f"its modules are those of {meant.filename}, to the byte"
        shown = ", ".join(differing[:_NAMES_SHOWN])
        more = len(differing) - _NAMES_SHOWN
        files = f"{shown} (and {more} more)" if more > 0 else shown
        return f"of its modules these differ from those of {meant.filename}: {files}"

    def _differing(self, wheel: Artefact, meant: Artefact) -> list[str] | None:
        """The modules of one wheel that another lacks or has otherwise; None if not known."""
        theirs, own = self._record_of(wheel), self._record_of(meant)
        if theirs is None or own is None:
            return None
        return sorted(path for path in own if theirs.get(path) != own[path])

    def _record_of(self, wheel: Artefact) -> Mapping[str, str | None] | None:
        """The digests of a wheel's modules, read out of its RECORD."""
        with contextlib.suppress(DistcycleError, OSError, *HOSTILE_ZIP), self._open(wheel) as file:
            archive = zipfile.ZipFile(file)
            for member in archive.infolist():
                is_record = member.filename.endswith(".dist-info/RECORD")
                if is_record and member.file_size <= _RECORD_LIMIT_BYTES:
                    return _modules_in(archive.read(member))
        return None

    def _open(self, wheel: Artefact) -> BinaryIO:
        if self._search.library is None:
            raise InputError("no index is asked")
        return self._search.library.open(wheel, index=self._selection.snapshot.index)

    def list_remote(self, index: int) -> list[str] | None:
        """The files of a wheel that is not here, of which only the directory is fetched."""
        for wheel in self._wheels(index)[:1]:
            with (
                contextlib.suppress(DistcycleError, OSError, *HOSTILE_ZIP),
                self._open(wheel) as file,
            ):
                names = zipfile.ZipFile(file).namelist()
                return [path for name in names if (path := path_in_site(name)) is not None]
        return None

    def read_top_level(self, index: int) -> tuple[str, ...]:
        """The names that an installed package says it is imported by, where it says so."""
        package = self._selection.snapshot.packages[index]
        if package.source != "installed":
            return ()
        text = _read(Path(package.place.path) / "top_level.txt").decode("utf-8", "replace")
        return tuple(sorted({line.strip() for line in text.splitlines() if line.strip()}))

    # Installed copies

    def _installed_copy(self, package: Package, wheels: Sequence[Artefact]) -> Witness | None:
        """A copy of the same version that is installed here, unless it is known to differ."""
        info = find_installed(package.name, self._search.site) if self._search.site else None
        if info is None or package.version is None or _version_of(info) != package.version:
            return None
        witness = _installed(info)
        own = _modules_in(_read(info / "RECORD"))
        compared = False
        for wheel in wheels[:_MOST_COMPARED] if own else ():
            record = self._record_of(wheel)
            compared |= record is not None
            if record is not None and record == own:
                return replace(witness, notes=(f"its modules are those of {wheel.filename}",))
        if compared:
            return None
        note = (
            "an installed copy of the same version; whether its modules are the same is not known"
        )
        return replace(witness, notes=(note,))

    # Fetching

    def _fetched(self, wheels: Sequence[Artefact]) -> Witness | None:
        """Fetch a wheel: the smallest, if its modules are those of the one that is meant."""
        library = self._search.library
        if library is None or not wheels:
            return None
        meant = self._sized(wheels[0])
        light = _lightest([meant, *wheels[1:]])
        wheel = light if self._serves(light, meant) else meant
        self._search.means.tell(f"fetching {wheel.filename}, {_megabytes(wheel.size_bytes)}")
        path = library.fetch(
            wheel, self._search.folder, index=self._selection.snapshot.index, download=True
        )
        return self._of_wheel(path, wheel, meant)

    def _serves(self, wheel: Artefact, meant: Artefact) -> bool:
        if wheel.identity == meant.identity:
            return True
        differing, own = self._differing(wheel, meant), self._record_of(meant)
        if differing is None or own is None:
            return True
        return len(differing) <= max(1, len(own) * _MOST_DIFFERING)

    def _sized(self, wheel: Artefact) -> Artefact:
        """A wheel with its size, which not every index says."""
        if wheel.size_bytes is None:
            with contextlib.suppress(DistcycleError, OSError), self._open(wheel) as file:
                return replace(wheel, size_bytes=file.seek(0, os.SEEK_END))
        return wheel

    def _lacking(self, package: Package, wheels: Sequence[Artefact]) -> Unknown:
        if not wheels:
            return Unknown(reason=f"no wheel of {package.name} is known")
        wheel = _lightest(wheels)
        size = f" ({_megabytes(wheel.size_bytes)})" if wheel.size_bytes else ""
        return Unknown(
            reason=f"{wheel.filename}{size} is not on this machine; give its folder with "
            "--find-links, or let it be fetched with --allow-download"
        )


def _lightest(wheels: Sequence[Artefact]) -> Artefact:
    """The first of some wheels, or the smallest when that is much smaller."""
    first, smallest = wheels[0], min(wheels, key=_by_size)
    if first.size_bytes is None or smallest.size_bytes is None:
        return first
    return smallest if smallest.size_bytes <= _WORTH_IT * first.size_bytes else first


def _by_size(wheel: Artefact) -> tuple[bool, int, str]:
    return wheel.size_bytes is None, wheel.size_bytes or 0, wheel.filename


def _megabytes(size_bytes: int | None) -> str:
    return "of unknown size" if size_bytes is None else f"{size_bytes / 1e6:.1f} MB"


def _installed(info: Path) -> Witness:
    source = open_installed(info)
    return Witness(source=source, said=source.read_from)


def _version_of(info: Path) -> Version | None:
    _, _, version = info.name.rpartition(".")[0].partition("-")
    with contextlib.suppress(InvalidVersion):
        return Version(version)
    return None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _modules_in(record: bytes) -> dict[str, str | None]:
    """The digests that a RECORD gives of the files that make modules."""
    found = {}
    for name, (digest, _) in parse_record(record).items():
        path = path_in_site(name)
        if path is not None and path.endswith(".py") and not path.startswith(("..", "/")):
            found[path] = digest
    return found

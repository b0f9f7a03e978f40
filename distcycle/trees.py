"""Where the modules of a distribution lie: in site-packages, in a wheel, in a folder of sources.

Nothing is imported or run, and nothing is unpacked: a tree lists its files and gives their bytes.

Source: https://packaging.python.org/specifications/recording-installed-packages/
"""

from __future__ import annotations

import base64
import binascii
import csv
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from packaging.utils import canonicalize_name

from distcycle.errors import InputError
from distcycle.metadata.urls import local_path
from distcycle.wheelwork.archives import Wheel, open_wheel

__all__ = [
    "SourceTree",
    "TreeFile",
    "find_installed",
    "open_folder",
    "open_installed",
    "open_whl",
    "parse_record",
    "path_in_site",
]

# Parsing takes up to a thousand times the memory of the text.
_FILE_LIMIT_BYTES = 4 * 2**20
_SIZE = re.compile(r"[0-9]{1,15}", re.ASCII)
_FILES_LIMIT = 250_000
_SUFFIXES = (".py", ".so", ".pyd")
_NOT_SOURCES = frozenset(("build", "dist", "node_modules", "__pycache__"))
# Installers write RECORD last, and file systems count in steps of up to two seconds.
_SLACK_S = 2


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file that may make a module.

    Attributes:
        place: Where it is in the folder or archive.
        size_bytes: Its size.
        sha256: Its digest in hex, where a RECORD says it and nothing speaks against it.
    """

    place: str
    size_bytes: int
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTree:
    """The files of one distribution, named as below a folder of ``sys.path``.

    Attributes:
        project: The distribution, or what to call the folder.
        version: Its version; None for a folder.
        read_from: What was read, for people.
        base: The folder or the wheel.
        files: By their path below ``sys.path``; those that may make modules only.
        is_wheel: Whether ``base`` is a wheel.
        is_folder: Whether it is a folder of sources, whose files people open by their whole path.
    """

    project: str
    version: str | None
    read_from: str
    base: str
    files: Mapping[str, TreeFile] = field(hash=False)
    is_wheel: bool = False
    is_folder: bool = False

    @property
    def import_names(self) -> tuple[str, ...]:
        """The outermost names that can be imported, sorted."""
        tops = {path.partition("/")[0].partition(".")[0] for path in self.files}
        return tuple(sorted(top for top in tops if top.isidentifier()))

    def show(self, path: str) -> str:
        """A file's path: of sources as people would open it, else as below ``sys.path``."""
        place = self.files[path].place if path in self.files else path
        return os.path.normpath(os.path.join(self.base, place)) if self.is_folder else place

    @contextmanager
    def opened(self) -> Iterator[Callable[[str], bytes | None]]:
        """Open it for reading.

        Yields:
            What gives the content of one of :attr:`files`; None where it cannot be read, or is far
            too large.

        Raises:
            InputError: The wheel cannot be read.
        """
        if not self.is_wheel:
            yield self._read_file
            return
        with open_wheel(Path(self.base)) as wheel:
            yield lambda path: self._read_member(wheel, self.files[path])

    def read(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Read some of :attr:`files`, one after the other; see :meth:`opened`."""
        with self.opened() as read:
            for path in paths:
                yield path, read(path)

    def _read_file(self, path: str) -> bytes | None:
        file = self.files[path]
        return _read(os.path.join(self.base, file.place), file.size_bytes)

    @staticmethod
    def _read_member(wheel: Wheel, file: TreeFile) -> bytes | None:
        if file.size_bytes > _FILE_LIMIT_BYTES:
            return None
        try:
            return wheel.read_member(file.place, _FILE_LIMIT_BYTES)
        except InputError:
            return None  # damaged: the other files can be read all the same


def _read(place: str, size_bytes: int) -> bytes | None:
    if size_bytes > _FILE_LIMIT_BYTES:
        return None
    try:
        with open(place, "rb") as file:
            data = file.read(_FILE_LIMIT_BYTES + 1)
    except (OSError, ValueError):
        return None
    return data if len(data) <= _FILE_LIMIT_BYTES else None


# Wheels ------------------------------------------------------------------------------------------


def open_whl(path: str) -> SourceTree:
    """List the modules of a wheel.

    Args:
        path: The wheel.

    Raises:
        InputError: It cannot be read, or holds what must not be unpacked.
    """
    with open_wheel(Path(path)) as wheel:
        files = {}
        for member in wheel.members:
            name = _below_path(member.filename, wheel.data)
            if name is not None and name.endswith(_SUFFIXES):
                # No digest of its RECORD: an installer has not held the files to that yet.
                files[name] = TreeFile(member.filename, member.file_size)
        return SourceTree(
            project=wheel.project,
            version=str(wheel.version),
            read_from=Path(path).name,
            base=path,
            files=dict(sorted(files.items())),
            is_wheel=True,
        )


def _below_path(name: str, data: str | None) -> str | None:
    """Where an installer puts a member below ``sys.path``; None when elsewhere."""
    if data is None or not name.startswith(f"{data}/"):
        return name
    _, scheme, *rest = name.split("/")
    return "/".join(rest) if scheme in {"purelib", "platlib"} and rest else None


def path_in_site(name: str) -> str | None:
    """Where an installer puts a member of a wheel below ``sys.path``; None when elsewhere.

    Args:
        name: The member's name.
    """
    top, _, _ = name.partition("/")
    return _below_path(name, top if top.endswith(".data") else None)


def parse_record(content: bytes) -> dict[str, tuple[str | None, int | None]]:
    """What a RECORD says of files: the sha256 in hex, and the size.

    Args:
        content: The RECORD; what cannot be read of it is left out.
    """
    said: dict[str, tuple[str | None, int | None]] = {}
    try:
        for row in csv.reader(content.decode("utf-8", "replace").splitlines()):
            if len(row) >= 3:
                size = int(row[2]) if _SIZE.fullmatch(row[2]) else None
                said[row[0]] = (_hex_digest(row[1]), size)
    except csv.Error:
        return said
    return said


def _hex_digest(text: str) -> str | None:
    algorithm, _, digest = text.partition("=")
    if algorithm != "sha256" or not digest:
        return None
    try:
        return base64.urlsafe_b64decode(digest + "=" * (-len(digest) % 4)).hex()
    except (binascii.Error, ValueError):
        return None


# Installed distributions -------------------------------------------------------------------------


def find_installed(project: str, folders: Iterable[Path]) -> Path | None:
    """Find the ``.dist-info`` or ``.egg-info`` folder of a project.

    Args:
        project: The project, however its name is spelled.
        folders: The folders of ``sys.path``, the first that has it counts.
    """
    wanted = canonicalize_name(project)
    for folder in folders:
        for pattern in ("*.dist-info", "*.egg-info"):
            for info in sorted(folder.glob(pattern)):
                if info.is_dir() and canonicalize_name(info.name.split("-")[0]) == wanted:
                    return info
    return None


def open_installed(info: Path) -> SourceTree:
    """List the modules of an installed distribution.

    Args:
        info: Its ``.dist-info`` or ``.egg-info`` folder.

    Returns:
        Its files by RECORD; of an editable one, those of the folder that its ``.pth`` file or
        ``direct_url.json`` names.

    Raises:
        InputError: Nothing says which files are its own.
    """
    project, _, version = info.name.rpartition(".")[0].partition("-")
    root = info.parent
    record, written = _installed_record(info)
    editable = _editable_folder(info, record)
    if editable is not None:
        tree = open_folder(editable)
        return SourceTree(
            project=canonicalize_name(project),
            version=version or None,
            read_from=f"{editable} (editable)",
            base=tree.base,
            files=tree.files,
            is_folder=True,
        )
    files = {
        name: file
        for name, (digest, size) in record.items()
        if (file := _installed_file(root, name, digest, size, written)) is not None
    }
    if not files:
        raise InputError("no Python module of it is there", path=str(info))
    return SourceTree(
        project=canonicalize_name(project),
        version=version or None,
        read_from=f"installed in {root}",
        base=str(root),
        files=dict(sorted(files.items())),
    )


def _installed_file(
    root: Path, name: str, digest: str | None, size: int | None, written: float
) -> TreeFile | None:
    """A file that a RECORD names; None for those that make no module, or lie elsewhere."""
    outside = name.startswith("/") or ".." in name.split("/") or "\\" in name
    if outside or not name.endswith(_SUFFIXES):
        return None
    try:
        status = os.stat(f"{root}/{name}")  # a Path takes as long as the call itself
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    unchanged = status.st_size == size and status.st_mtime <= written + _SLACK_S
    return TreeFile(name, status.st_size, digest if unchanged else None)


def _installed_record(info: Path) -> tuple[dict[str, tuple[str | None, int | None]], float]:
    """What says which files a distribution has, and when it was written."""
    for name in ("RECORD", "installed-files.txt", "SOURCES.txt"):
        path = info / name
        try:
            content = path.read_bytes()
            written = path.stat().st_mtime
        except OSError:
            continue
        if name == "RECORD":
            return parse_record(content), written
        lines = content.decode("utf-8", "replace").splitlines()
        # Paths of installed-files.txt are meant from the .egg-info folder itself.
        prefix = f"{info.name}/" if name == "installed-files.txt" else ""
        names = (os.path.normpath(prefix + line).replace(os.sep, "/") for line in lines if line)
        return dict.fromkeys(names, (None, None)), written
    raise InputError("no RECORD says which files it has", path=str(info))


def _editable_folder(info: Path, record: Mapping[str, tuple[str | None, int | None]]) -> str | None:
    """The folder of sources of an editable installation; None where it is none.

    Source: PEP 610 and PEP 660; ``.pth`` files are read for the folders that they name, nothing is
    executed.
    """
    with suppress(OSError, ValueError, RecursionError):
        said = json.loads((info / "direct_url.json").read_bytes())
        if isinstance(said, dict) and (said.get("dir_info") or {}).get("editable") is True:
            place = local_path(str(said.get("url")))
            if place is not None and place.is_dir():
                return str(place)
            raise InputError("its sources are not where direct_url.json says", path=str(info))
    if any(name.endswith(_SUFFIXES) for name in record):
        return None
    for path in record:
        if path.endswith(".pth") and "/" not in path:
            for line in _lines_of(info.parent / path):
                folder = info.parent / line.strip()
                if line and not line.startswith(("import ", "import\t", "#")) and folder.is_dir():
                    return str(folder)
    return None


def _lines_of(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


# Folders of sources ------------------------------------------------------------------------------


def open_folder(path: str) -> SourceTree:
    """List the modules of a folder of sources.

    Args:
        path: A package, a folder of packages, or a project: its ``src`` folder counts when it has
            one, else the packages and modules beside its pyproject.toml.

    Raises:
        InputError: There is no such folder, or no module in it.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise InputError("no such folder", path=path)
    root, tops = _roots(folder)
    files: dict[str, TreeFile] = {}
    for top in tops:
        for name, size in _walk(root, top):
            if len(files) >= _FILES_LIMIT:
                raise InputError(f"more than {_FILES_LIMIT} files", path=path)
            files[name] = TreeFile(name, size)
    if not files:
        raise InputError("no Python module in it", path=path)
    return SourceTree(
        project=folder.resolve().name,
        version=None,
        read_from=path,
        base=str(root),
        files=dict(sorted(files.items())),
        is_folder=True,
    )


def _roots(folder: Path) -> tuple[Path, list[str]]:
    """The folder that would stand in ``sys.path``, and what of it counts."""
    if (folder / "__init__.py").is_file():
        return _root_of_package(folder)
    source = folder / "src"
    if source.is_dir() and not (source / "__init__.py").exists():
        tops = _tops(source, namespaces=True)
        if tops:
            return source, tops
    is_project = any((folder / name).exists() for name in ("pyproject.toml", "setup.py"))
    return folder, _tops(folder, namespaces=not is_project)


def _root_of_package(folder: Path) -> tuple[Path, list[str]]:
    """The folder that the outermost package around a package lies in, and that package."""
    # By the name that the user gave where that has one: a link has another name than its target.
    package = Path(os.path.abspath(folder))
    while (package.parent / "__init__.py").is_file():
        package = package.parent
    root = package.parent
    with suppress(ValueError):
        root = Path(os.path.relpath(root)) if not folder.is_absolute() else root
    return root, [package.name]


def _tops(root: Path, *, namespaces: bool) -> list[str]:
    try:
        entries = sorted(os.listdir(root))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=str(root)) from None
    return [entry for entry in entries if _is_top(root / entry, namespaces=namespaces)]


def _is_top(path: Path, *, namespaces: bool) -> bool:
    """Whether a file or folder makes modules that can be imported from beside it."""
    name = path.name
    if name.startswith("."):
        return False
    if not path.is_dir():
        return name.endswith(_SUFFIXES) and name != "setup.py"
    if "." in name or name in _NOT_SOURCES or (path / "pyvenv.cfg").exists():
        return False
    return namespaces or (path / "__init__.py").is_file()


def _walk(root: Path, top: str) -> Iterator[tuple[str, int]]:
    """The files below, without what links lead to: a link may lead round in a circle."""
    todo = [top]
    while todo:
        name = todo.pop()
        place = root / name
        with suppress(OSError, ValueError):
            # The folder that was named may be a link itself.
            status = os.stat(place, follow_symlinks=name == top)
            if stat.S_ISDIR(status.st_mode):
                inner = sorted(os.listdir(place), reverse=True)
                todo += [f"{name}/{entry}" for entry in inner if _may_hold_modules(entry)]
            elif name.endswith(_SUFFIXES) and stat.S_ISREG(os.stat(place).st_mode):
                yield name, os.stat(place).st_size


def _may_hold_modules(entry: str) -> bool:
    return entry != "__pycache__" and ("." not in entry or entry.endswith(_SUFFIXES))

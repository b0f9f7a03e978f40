"""Where the modules of a distribution lie: in site-packages, in a wheel, in a folder of sources.

Nothing is imported or run, and nothing is unpacked: a tree lists its files and gives their bytes.

Source: https://packaging.python.org/specifications/recording-installed-packages/
"""

from __future__ import annotations

import base64
import binascii
import csv
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from packaging.utils import canonicalize_name

from distcycle.errors import InputError
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

_FILE_LIMIT_BYTES = 32 * 2**20
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
        return wheel.read_member(file.place, _FILE_LIMIT_BYTES)


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
                size = int(row[2]) if row[2].isascii() and row[2].isdigit() else None
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
    files: dict[str, TreeFile] = {}
    for name, (digest, size) in record.items():
        if not name.endswith(_SUFFIXES) or name.startswith(("/", "..")) or "\\" in name:
            continue
        try:
            status = os.stat(root / name)
        except (OSError, ValueError):
            continue
        unchanged = status.st_size == size and status.st_mtime <= written + _SLACK_S
        files[name] = TreeFile(name, status.st_size, digest if unchanged else None)
    if not files and (editable := _editable_folder(info)) is not None:
        tree = open_folder(str(editable))
        return SourceTree(
            project=canonicalize_name(project),
            version=version or None,
            read_from=f"{editable} (editable)",
            base=tree.base,
            files=tree.files,
            is_folder=True,
        )
    return SourceTree(
        project=canonicalize_name(project),
        version=version or None,
        read_from=f"installed in {root}",
        base=str(root),
        files=dict(sorted(files.items())),
    )


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


def _editable_folder(info: Path) -> Path | None:
    """The folder of sources that an editable installation puts in ``sys.path``.

    Source: PEP 660; ``.pth`` files are read for the folders that they name, nothing is executed.
    """
    for path in _installed_record(info)[0]:
        if path.endswith(".pth") and "/" not in path:
            try:
                lines = (info.parent / path).read_text("utf-8", "replace").splitlines()
            except OSError:
                continue
            for line in lines:
                if line and not line.startswith(("import ", "import\t", "#")):
                    folder = info.parent / line.strip()
                    if folder.is_dir():
                        return folder
    return None


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
        package = folder.resolve()
        parent = package.parent
        while (parent / "__init__.py").is_file():
            package, parent = parent, parent.parent
        root = folder.parent if parent == folder.resolve().parent else parent
        return root, [package.name]
    if (folder / "src").is_dir() and not (folder / "src" / "__init__.py").exists():
        return folder / "src", _tops(folder / "src", namespaces=True)
    is_project = any((folder / name).exists() for name in ("pyproject.toml", "setup.py"))
    return folder, _tops(folder, namespaces=not is_project)


def _tops(root: Path, *, namespaces: bool) -> list[str]:
    tops = []
    for entry in sorted(os.listdir(root)):
        path = root / entry
        if entry.startswith(".") or "." in entry.removesuffix(".py"):
            continue
        if path.is_dir():
            own = (path / "__init__.py").is_file()
            if (own or namespaces) and entry not in _NOT_SOURCES and _is_source(path):
                tops.append(entry)
        elif entry.endswith(_SUFFIXES) and entry != "setup.py":
            tops.append(entry)
    return tops


def _is_source(folder: Path) -> bool:
    return not (folder / "pyvenv.cfg").exists()


def _walk(root: Path, top: str) -> Iterator[tuple[str, int]]:
    """The files below, without what links lead to: a link may lead round in a circle."""
    start = root / top
    if start.is_file():
        yield top, start.stat().st_size
        return
    todo = [(str(start), top)]
    while todo:
        folder, name = todo.pop()
        try:
            entries = os.scandir(folder)
        except OSError:
            continue
        with closing(entries):
            for entry in entries:
                path = f"{name}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != "__pycache__" and "." not in entry.name:
                        todo.append((entry.path, path))
                elif entry.name.endswith(_SUFFIXES) and entry.is_file():
                    yield path, entry.stat().st_size

"""Where an environment keeps its distributions, and the values that markers have in it.

Nothing that is installed is run: ``.pth`` files are read for the folders they name, their
``import`` lines are not executed, and an interpreter that is asked is started without ``site``.

Source: PEP 405, and https://docs.python.org/3/library/site.html
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from distcycle.errors import InputError
from distcycle.host import host_environment
from distcycle.targets import MARKER_VARIABLES

__all__ = ["ask_interpreter", "guess_environment", "search_path", "site_folders"]

_TIMEOUT_S = 30
_SITE_FOLDERS = ("lib*/py*/site-packages", "Lib/site-packages", "site-packages")
# Debian's own Python keeps packages in other folders than python.org's.
_SYSTEM_FOLDERS = ("local/lib/py*/dist-packages", "lib/py*/dist-packages", *_SITE_FOLDERS)


def site_folders(path: Path) -> list[Path]:
    """The folders of an environment that hold distributions.

    Args:
        path: A virtual environment or another prefix, or such a folder itself.

    Returns:
        Those that exist, in the order in which Python looks; none when it is no environment.
    """
    if (path / "pyvenv.cfg").is_file() or not _holds_distributions(path):
        folders = _existing(path, _SITE_FOLDERS)
        return folders + _system_folders(_read_pyvenv(path))
    return [path]


def _holds_distributions(path: Path) -> bool:
    if path.name in {"site-packages", "dist-packages"}:
        return path.is_dir()
    # A lone .egg-info is rather the sources of a project that was built there.
    return next(path.glob("*.dist-info"), None) is not None


def _existing(prefix: Path, patterns: Iterable[str]) -> list[Path]:
    found = (folder for pattern in patterns for folder in sorted(prefix.glob(pattern)))
    return [folder for folder in found if folder.is_dir()]


def _system_folders(settings: Mapping[str, str]) -> list[Path]:
    """The folders of the interpreter beneath, where the environment lets them in."""
    if settings.get("include-system-site-packages", "").lower() != "true":
        return []
    home = Path(settings.get("home", ""))
    return _existing(home.parent if home.name in {"bin", "Scripts"} else home, _SYSTEM_FOLDERS)


def _read_pyvenv(path: Path) -> dict[str, str]:
    """The settings of ``pyvenv.cfg``; none when it is not there."""
    try:
        text = (path / "pyvenv.cfg").read_text("utf-8", "replace")
    except OSError:
        return {}
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def search_path(folders: Iterable[Path]) -> list[Path]:
    """The folders, each followed by those that its ``.pth`` files name; each once.

    Args:
        folders: Folders of site-packages.

    Returns:
        Where distributions are sought, in the order in which Python looks.
    """
    seen: dict[str, Path] = {}
    for folder in folders:
        for entry in (folder, *_pth_entries(folder)):
            seen.setdefault(os.path.realpath(entry), entry)
    return list(seen.values())


_NOT_FOLDERS = ("#", "import ", "import\t")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _pth_entries(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.glob("*.pth")):
        try:
            lines = file.read_text("utf-8-sig", "replace").splitlines()
        except OSError:
            continue
        named = (line.strip() for line in lines if not line.startswith(_NOT_FOLDERS))
        yield from (folder / name for name in named if name and _exists(folder / name))


def guess_environment(path: Path, folders: Iterable[Path]) -> Mapping[str, str] | None:
    """The marker environment of CPython on this machine, without asking its interpreter.

    Args:
        path: The environment, as it was named.
        folders: Its folders of site-packages.

    Returns:
        This machine's values with the version that ``pyvenv.cfg`` gives; the running interpreter's
        for its own folders; None where that tells nothing.
    """
    first = Path(os.path.realpath(next(iter(folders), path)))
    for prefix in (path, first.parent.parent.parent, first.parent.parent):
        settings = _read_pyvenv(prefix)
        if settings:
            return _environment_of(settings, first)
    on_path = {os.path.realpath(entry) for entry in sys.path}
    return host_environment() if str(first) in on_path else None


def _environment_of(settings: Mapping[str, str], folder: Path) -> Mapping[str, str] | None:
    version = settings.get("version") or settings.get("version_info", "")
    match = re.match(r"(\d+\.\d+)\.\d+", version)
    foreign = (folder.parent.name == "Lib") != (os.name == "nt")
    implementation = settings.get("implementation", folder.parent.name).lower()
    if match is None or foreign or "pypy" in implementation or "graalpy" in implementation:
        return None
    return host_environment() | {
        "implementation_name": "cpython",
        "implementation_version": match[0],
        "platform_python_implementation": "CPython",
        "python_full_version": match[0],
        "python_version": match[1],
    }


# Started with -S, the interpreter executes no .pth file; but then it does not know, before 3.14,
# that it belongs to a virtual environment (PEP 405), so its pyvenv.cfg is found here.
_QUESTION = """\
import json, os, platform, site, sys
bin = os.path.dirname(os.path.abspath(sys.executable))
prefixes = [sys.base_prefix, sys.base_exec_prefix]
for prefix in (bin, os.path.dirname(bin)):
    try:
        with open(os.path.join(prefix, "pyvenv.cfg"), encoding="utf-8") as file:
            text = file.read().lower().replace(" ", "")
    except OSError:
        continue
    system = "include-system-site-packages=true" in text
    prefixes = [prefix] + (prefixes if system else [])
    break
release, kind = sys.implementation.version, sys.implementation.version.releaselevel
suffix = "" if kind == "final" else kind[0] + str(release.serial)
print(json.dumps({
    "folders": site.getsitepackages(list(dict.fromkeys(prefixes))),
    "environment": {
        "implementation_name": sys.implementation.name,
        "implementation_version": "{}.{}.{}".format(*release[:3]) + suffix,
        "os_name": os.name,
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "platform_release": platform.release(),
        "platform_system": platform.system(),
        "platform_version": platform.version(),
        "python_full_version": platform.python_version(),
        "python_version": ".".join(platform.python_version_tuple()[:2]),
        "sys_platform": sys.platform,
    },
}))
"""


def ask_interpreter(python: str) -> tuple[Mapping[str, str], list[Path]]:
    """Ask an interpreter for its marker environment and its folders of site-packages.

    Args:
        python: The interpreter, as a path or a name to be sought on PATH.

    Returns:
        All eleven marker variables, and the folders that exist; the user's own is left out.

    Raises:
        InputError: It cannot be run, or is no interpreter.
    """
    try:
        run = subprocess.run(  # noqa: S603
            [python, "-I", "-S", "-c", _QUESTION],
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        answer = json.loads(run.stdout)
        environment = {name: str(answer["environment"][name]) for name in MARKER_VARIABLES}
        return environment, [Path(folder) for folder in answer["folders"] if Path(folder).is_dir()]
    except subprocess.TimeoutExpired:
        problem = f"the interpreter gave no answer within {_TIMEOUT_S} s"
    except OSError as error:
        problem = f"the interpreter cannot be run: {error.strerror or error}"
    except (ValueError, KeyError, TypeError):
        last = run.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        problem = f"not a Python interpreter (3.6 or newer): {last[:200] or 'no answer'}"
    raise InputError(problem, path=python)

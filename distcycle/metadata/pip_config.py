"""pip's own settings, read as pip reads them: files first, then the environment.

Only what says where files are and how they are reached is read. distcycle asks what ``pip install``
would find, so the sections are ``[global]``, then ``[download]`` and ``[install]``.

Source: https://pip.pypa.io/en/stable/topics/configuration/
"""

from __future__ import annotations

import configparser
import importlib
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distcycle.errors import InputError
from distcycle.model import LONGEST_SILENCE_S

__all__ = ["PipSettings", "config_files", "read_pip_settings"]

_SECTIONS = ("global", "download", "install")
_SYNONYMS = {"default-timeout": "timeout", "pypi-url": "index-url"}
_TRUE = frozenset({"y", "yes", "t", "true", "on", "1"})
_FALSE = frozenset({"n", "no", "f", "false", "off", "0"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PipSettings:
    """Where pip looks for files on this machine, and how; None and ``()`` when it is not told."""

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = None
    trusted_hosts: tuple[str, ...] = ()
    timeout_s: float | None = None


def read_pip_settings(environ: Mapping[str, str], files: Sequence[Path]) -> PipSettings:
    """Read pip's settings.

    Args:
        environ: The environment; ``PIP_*`` variables win over all files.
        files: Configuration files, later ones win; :func:`config_files` names them.

    Returns:
        The settings.

    Raises:
        InputError: A file or a variable has a value that pip would refuse.
    """
    values: dict[str, str] = {}
    sections = [_read(path) for path in files if path.is_file()]
    for name in _SECTIONS:
        for section in sections:
            values.update(section.get(name, {}))
    values.update(_variables(environ))
    return PipSettings(
        index_url=values.get("index-url"),
        extra_index_urls=tuple(values.get("extra-index-url", "").split()),
        find_links=tuple(values.get("find-links", "").split()),
        no_index=_boolean("no-index", values.get("no-index", "false")),
        cert=values.get("cert"),
        client_cert=values.get("client-cert"),
        proxy=values.get("proxy"),
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
        timeout_s=_seconds("timeout", values["timeout"]) if "timeout" in values else None,
    )


def config_files(environ: Mapping[str, str], platform: str = sys.platform) -> list[Path]:
    """The files that pip reads, the weakest first; not all of them need exist.

    Args:
        environ: The environment; ``PIP_CONFIG_FILE`` replaces the user's own file, and the null
            device there means no file at all.
        platform: The system, as ``sys.platform`` names it.

    Source: https://pip.pypa.io/en/stable/topics/configuration/#location
    """
    own = environ.get("PIP_CONFIG_FILE")
    if own == os.devnull:
        return []
    name = "pip.ini" if platform == "win32" else "pip.conf"
    user = [] if own and Path(own).exists() else _user_folders(platform)
    files = [folder / name for folder in (*_global_folders(platform), *user, Path(sys.prefix))]
    return [*files, Path(own)] if own else files


def _platformdirs() -> Any:
    # A tenth of the start-up time of a run that needs no network, so imported only here.
    return importlib.import_module("platformdirs")


def _global_folders(platform: str) -> list[Path]:
    dirs = _platformdirs()
    if platform == "darwin":
        return [Path(p) for p in dirs.site_data_dir("pip", False, multipath=True).split(os.pathsep)]
    if platform == "win32":
        return [Path(dirs.site_config_dir("pip", False))]
    xdg = dirs.site_config_dir("pip", False, multipath=True).split(os.pathsep)
    return [*map(Path, xdg), Path("/etc")]


def _user_folders(platform: str) -> list[Path]:
    legacy = Path.home() / ("pip" if platform == "win32" else ".pip")
    dirs = _platformdirs()
    if platform != "darwin":
        return [legacy, Path(dirs.user_config_dir("pip", False, roaming=True))]
    support = Path(dirs.user_data_dir("pip", False))
    return [legacy, support if support.is_dir() else Path.home() / ".config" / "pip"]


def _read(path: Path) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(path.read_text(encoding="utf-8-sig"), source=str(path))
    except (configparser.Error, OSError, UnicodeDecodeError) as error:
        problem = " ".join(str(error).split())
        raise InputError(
            f"not a configuration file that pip can read: {problem}", path=str(path)
        ) from None
    return {name: dict(_normalised(parser.items(name))) for name in parser.sections()}


def _variables(environ: Mapping[str, str]) -> dict[str, str]:
    names = [name for name in sorted(environ) if name.startswith("PIP_")]
    return dict(_normalised([(name[4:], environ[name]) for name in names]))


def _normalised(items: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Names as pip compares them; an empty value is no value, there as here."""
    for name, value in items:
        key = name.lower().replace("_", "-").removeprefix("--")
        if value:
            yield _SYNONYMS.get(key, key), value


def _boolean(name: str, value: str) -> bool:
    if value.lower() in _TRUE:
        return True
    if value.lower() in _FALSE:
        return False
    raise InputError(f"pip's setting {name}: expected true or false, found {value!r}")


def _seconds(name: str, value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= LONGEST_SILENCE_S:
        raise InputError(
            f"pip's setting {name}: expected a number of seconds, at most {LONGEST_SILENCE_S}, "
            f"found {value!r}"
        )
    return seconds

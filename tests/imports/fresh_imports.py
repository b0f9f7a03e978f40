"""Imports modules for real, each in a process of its own, and says what became of it.

One server process forks for every entry: a fork is a fresh interpreter as far as the packages under
test go, and costs a hundredth of a start.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from distcycle.imports.modules import Module, find_modules
from distcycle.imports.replay.operations import Program
from distcycle.imports.replay.order import Cause, Entry, loaded_by, replay
from distcycle.imports.replay.programs import read_program

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")

ENVIRONMENT = {
    "implementation_name": sys.implementation.name,
    "os_name": os.name,
    "python_version": ".".join(map(str, sys.version_info[:2])),
    "sys_platform": sys.platform,
}

_SERVER = r"""
import builtins, importlib, importlib.util, json, os, sys, traceback, typing, contextlib
# What many packages import of the standard library is imported once, before the forks.
import asyncio, email.parser, hashlib, http.client, logging, random, socket, urllib.parse
with contextlib.suppress(ImportError):
    import ssl

class Anything:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self
    def __call__(self, *args, **named):
        return args[0] if args and callable(args[0]) else self
    def __iter__(self):
        return iter((self,))

builtins.Anything = Anything()
sys.dont_write_bytecode = True
before = set(sys.modules)

def described(error):
    found = []
    while error is not None and len(found) < 50:
        steps = []
        for frame, line in traceback.walk_tb(error.__traceback__):
            name = frame.f_globals.get("__name__", "")
            if frame.f_code.co_filename.startswith("<") or name == "importlib":
                continue
            if steps and steps[-1][0] == name:
                steps[-1][1] = line
            else:
                steps.append([name, line])
        name = getattr(error, "name", None)
        found.append([type(error).__name__, str(error), name, steps])
        error = error.__cause__ or error.__context__
    return found

def attempt(folder, entry):
    sys.path.insert(0, folder)
    try:
        importlib.import_module(entry)
        errors = []
    except BaseException as error:
        errors = described(error)
    return {"errors": errors, "loaded": sorted(set(sys.modules) - before)}

for line in sys.stdin:
    folder, entries = json.loads(line)
    answers = {}
    for entry in entries:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            null = os.open(os.devnull, os.O_RDWR)
            for each in (0, 1, 2):
                os.dup2(null, each)
            try:
                with os.fdopen(writer, "w") as out:
                    json.dump(attempt(folder, entry), out)
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as got:
            answers[entry] = json.load(got)
        os.waitpid(child, 0)
    print(json.dumps(answers), flush=True)
"""

Signature = tuple[str, str, str | None]


@dataclass(frozen=True)
class Real:
    """What became of an import: no errors, or one and those that led to it."""

    errors: tuple[tuple[Signature, tuple[tuple[str, int], ...]], ...]
    loaded: frozenset[str]

    @property
    def signatures(self) -> list[Signature]:
        return [signature for signature, _ in self.errors]


class Server:
    """Imports what it is asked to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def import_each(self, folder: Path, entries: Collection[str]) -> dict[str, Real]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([str(folder), sorted(entries)]), file=self._process.stdin, flush=True)
        answers = json.loads(self._process.stdout.readline())
        return {name: _real_of(answer) for name, answer in answers.items()}


@contextmanager
def server() -> Iterator[Server]:
    # -S: without the folders of installed distributions, so that only what is given is there.
    command = [sys.executable, "-S", "-E", "-c", _SERVER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        yield Server(process)


def _real_of(answer: Mapping[str, list]) -> Real:
    errors = tuple(
        (_signature(*error), tuple((name, line) for name, line in steps))
        for *error, steps in answer["errors"]
    )
    return Real(errors, frozenset(answer["loaded"]))


_MESSAGES = (
    (
        "circular",
        re.compile(r"cannot import name '(\S+)' from partially initialized module '(\S+)'"),
    ),
    ("missing", re.compile(r"cannot import name '(\S+)' from '(\S+)'")),
    ("circular", re.compile(r"cannot access submodule '(\S+)' of module '(\S+)'")),
)
_ATTRIBUTE = re.compile(r"(partially initialized )?module '(\S+)'.* has no attribute '(\S+)'")


def _signature(error: str, message: str, name: str | None) -> Signature:
    if error == "ModuleNotFoundError" and name:
        return "missing", name, None
    for outcome, pattern in _MESSAGES:
        found = pattern.match(message)
        if found:
            return outcome, found[2], found[1]
    found = _ATTRIBUTE.match(message)
    if found:
        return ("circular" if found[1] else "missing"), found[2], found[3]
    return "raised", error, None


# Against the replay -------------------------------------------------------------------------------


def read(folder: Path) -> tuple[dict[str, Module], dict[str, Program]]:
    """The modules below a folder, and their programs."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    modules = find_modules(path.relative_to(folder).as_posix() for path in paths)
    programs = {
        name: read_program((folder / module.path).read_bytes())
        for name, module in modules.items()
        if module.kind == "python"
    }
    return modules, programs


def replay_folder(folder: Path) -> dict[str, Entry]:
    """Replay all modules below a folder, with nothing but the standard library beside them."""
    modules, programs = read(folder)
    stdlib = frozenset(sys.stdlib_module_names)
    entries = replay(modules, programs, installed=stdlib, environment=ENVIRONMENT)
    return {entry.name: entry for entry in entries}


def signature_of(cause: Cause) -> Signature:
    """What the real exception tells of a cause."""
    if cause.outcome == "raised" or (cause.symbol is None and cause.error == "ImportError"):
        return "raised", cause.error, None
    return cause.outcome, cause.module, cause.symbol


def difference(entries: Mapping[str, Entry], name: str, real: Real) -> str | None:
    """How reality differs from what the replay says of an entry; None if it does not."""
    entry = entries[name]
    above = [entries[each] for each in entries if name.startswith(f"{each}.")]
    doubts = [doubt for each in (*above, entry) for doubt in each.doubts]
    told = [signature_of(cause) for cause in (*doubts, entry.cause) if cause is not None]
    if not real.errors:
        if entry.cause is not None:
            return f"fails as {entry.cause}, and does not"
        loaded = {each for each in real.loaded if each in entries}
        if not doubts and loaded != loaded_by(entries, name):
            return f"loads {sorted(loaded_by(entries, name) ^ loaded)} in one only"
        return None
    if not any(_same(each, signature) for each in told for signature in real.signatures):
        return f"fails as {real.errors[0]}, and not as {told}"
    return _other_way(entry, real) if not doubts else None


def _same(told: Signature, real: Signature) -> bool:
    """Before Python 3.12 an attribute's error does not tell that its module is being loaded."""
    return told == real or (told[1:] == real[1:] and told[0] == "circular" and real[2] is not None)


def _other_way(entry: Entry, real: Real) -> str | None:
    signature, steps = real.errors[0]
    cause = entry.cause
    if cause is None or not _same(signature_of(cause), signature) or cause.outcome == "raised":
        return None
    chain = tuple((step.module, step.line) for step in cause.chain)
    return None if chain == steps else f"fails by {steps}, and not by {chain}"

"""Imports modules in several orders, each in a fresh process, and says what came of it.

Run as a program it reads one task in JSON a line: the folder to import from, the orders, and what
to call afterwards. It forks for each order, which takes a hundredth of the time of a new
interpreter.
"""

from __future__ import annotations

import importlib
import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def outcome_of(root: str, order: Sequence[str], calls: Sequence[str]) -> dict[str, Any]:
    """Import modules in an order, and evaluate calls such as ``pkg.mod:f(1)``."""
    sys.path.insert(0, root)
    stream = io.StringIO()
    logging.basicConfig(stream=stream, level=logging.DEBUG, format="%(name)s: %(message)s")
    try:
        for name in order:
            importlib.import_module(name)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    results = []
    for call in calls:
        module, _, expression = call.partition(":")
        try:
            scope = vars(importlib.import_module(module))
            results.append(repr(eval(expression, dict(scope))))
        except Exception as error:
            results.append(f"{type(error).__name__}: {error}")
    return {"results": results, "log": stream.getvalue().splitlines()}


def _forked(root: str, order: Sequence[str], calls: Sequence[str]) -> dict[str, Any]:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        with os.fdopen(writer, "w") as pipe:
            json.dump(outcome_of(root, order, calls), pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text)  # type: ignore[no-any-return]


class Driver:
    """A process that imports, and can be asked many times."""

    def __init__(self) -> None:
        command = [sys.executable, "-I", "-B", __file__]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def outcomes(
        self, root: Path, orders: Iterable[Sequence[str]], calls: Sequence[str]
    ) -> list[dict[str, Any]]:
        """Import in each order, and evaluate the calls after each."""
        assert self.process.stdin
        assert self.process.stdout
        task = {"root": str(root), "orders": list(orders), "calls": calls}
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())  # type: ignore[no-any-return]


@contextmanager
def driving() -> Iterator[Driver]:
    driver = Driver()
    try:
        yield driver
    finally:
        assert driver.process.stdin
        assert driver.process.stdout
        driver.process.stdin.close()
        driver.process.wait()
        driver.process.stdout.close()


def write_files(root: Path, texts: Mapping[str, str]) -> None:
    """Write files under a folder, line endings as they are."""
    for path, text in texts.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8"))


def main() -> None:
    for line in sys.stdin:
        task = json.loads(line)
        outcomes = [_forked(task["root"], order, task["calls"]) for order in task["orders"]]
        sys.stdout.write(json.dumps(outcomes) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

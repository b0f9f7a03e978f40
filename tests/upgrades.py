"""A repository whose lock was upgraded to torch 2.0.0, and the facts that judge both states."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

__all__ = ["NEW", "OLD", "make_repository", "write_facts"]

_ROOT = Path(__file__).resolve().parents[1]

NEW = (_ROOT / "sample_locks" / "torch-2.0.txt").read_text("utf-8")
OLD = NEW.replace("torch==2.0.0", "torch==1.13.1").replace("triton==2.0.0", "triton==2.1.0")


def write_facts(path: Path) -> Path:
    """Make one bundle of both."""
    old, new = (
        json.loads((_ROOT / "tests" / "data" / f"{name}.bundle.json").read_text("utf-8"))
        for name in ("before-torch-2.0", "torch-2.0")
    )
    for project, versions in old["files"].items():
        new["files"][project].update(versions)
    new["metadata"].update(old["metadata"])
    path.write_text(json.dumps(new), encoding="utf-8")
    return path


def make_repository(folder: Path) -> None:
    """Make a folder a repository: the old lock is committed on main, the new one stands there."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environ = {**kept, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    settings = ("-c", "user.name=A", "-c", "user.email=a@mail.example")
    lock = folder / "requirements.txt"
    lock.write_text(OLD, encoding="utf-8")
    for words in (("init", "-q", "-b", "main"), ("add", lock.name), ("commit", "-q", "-m", "x")):
        subprocess.run(["git", *settings, *words], check=True, cwd=folder, env=environ)
    lock.write_text(NEW, encoding="utf-8")

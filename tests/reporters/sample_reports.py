"""Reports of the sample locks, as the forms that draw them are tested with."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

from distcycle.findings import Report
from distcycle.reporters.saved import parse_report

__all__ = ["ROOT", "airflow", "sphinx", "torch"]

ROOT = Path(__file__).resolve().parents[2]
_FACTS = ("--offline", "--bundle", "tests/data/torch-2.0.bundle.json")


def torch() -> Report:
    """Two packages that require each other on one platform, by the word of their wheels."""
    return _audit("sample_locks/torch-2.0.txt", *_FACTS)


def sphinx() -> Report:
    """Six packages, one of which all others are joined to."""
    return _audit("sample_locks/sphinx-7.2-uv", "--edges", "lock")


def airflow() -> Report:
    """Eight packages."""
    return _audit("sample_locks/airflow-3", "--edges", "lock")


@cache
def _audit(*words: str) -> Report:
    command = [
        sys.executable,
        "-m",
        "distcycle",
        "audit",
        *words,
        "--no-policy",
        "--format",
        "json",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return parse_report(done.stdout, path="report.json")

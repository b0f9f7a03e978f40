"""Tests in code, evaluated for a target, against the values that Python itself gives."""

import ast
import itertools
import types

import pytest

from distcycle.imports.conditions import evaluate_text
from distcycle.targets import make_targets

LINUX = {
    "sys_platform": "linux",
    "os_name": "posix",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
    "python_version": "3.11",
}

DECIDED = {
    "sys.platform == 'linux'": True,
    "sys.platform != 'linux'": False,
    "sys.platform.startswith('lin')": True,
    "sys.platform.startswith(('win', 'cygwin'))": False,
    "sys.platform in ('linux', 'darwin')": True,
    "sys.platform not in {'linux'}": False,
    "'linux' == sys.platform": True,
    "os.name == 'nt'": False,
    "platform.system() == 'Linux'": True,
    "platform.machine() in ['x86_64', 'AMD64']": True,
    "sys.implementation.name == 'pypy'": False,
    "platform.python_implementation() == 'CPython'": True,
    "sys.version_info >= (3, 11)": True,
    "sys.version_info > (3, 11)": True,
    "sys.version_info <= (3, 11)": False,
    "sys.version_info < (3, 12)": True,
    "sys.version_info[:2] == (3, 11)": True,
    "sys.version_info[:2] > (3, 11)": False,
    "sys.version_info[0] == 2": False,
    "sys.version_info[0] >= 3": True,
    "sys.version_info.minor < 12": True,
    "sys.version_info.major == 3": True,
    "sys.version_info >= (3,)": True,
    "sys.version_info >= (4,)": False,
    "not sys.platform == 'win32'": True,
    "sys.platform == 'win32' and x": False,
    "sys.platform == 'linux' or x": True,
    "sys.platform == 'linux' and sys.version_info >= (3, 8)": True,
    "not (sys.platform == 'linux') and x": False,
}

UNDECIDED = [
    "x",
    "x and sys.platform == 'linux'",
    "x or sys.platform == 'win32'",
    "sys.version_info >= (3, 11, 4)",
    "sys.version_info == x",
    "sys.platform == PLATFORM",
    "f(sys.platform)",
    "sys.version_info[2] > 3",
    "sys.version_info.releaselevel == 'final'",
    "hasattr(os, 'fork')",
    "sys.maxsize > 2**32",
    "...",
    "(",
]


@pytest.mark.parametrize("text", DECIDED)
def test_decided_by_the_target(text: str) -> None:
    assert evaluate_text(text, LINUX) is DECIDED[text]


@pytest.mark.parametrize("text", UNDECIDED)
def test_decided_by_more_than_the_target(text: str) -> None:
    assert evaluate_text(text, LINUX) is None


OPERATORS = ("<", "<=", ">", ">=", "==", "!=")
VERSIONS = ("(3,)", "(3, 10)", "(3, 11)", "(3, 12)", "(4,)", "(2, 7)", "(3, 11, 0)", "(3, 10, 9)")


@pytest.mark.parametrize("operator", OPERATORS)
def test_versions_as_python_compares_them(operator: str) -> None:
    """Whatever patch release of the target runs, what is decided is what Python says."""
    for literal, form in itertools.product(VERSIONS, ("sys.version_info", "sys.version_info[:2]")):
        text = f"{form} {operator} {literal}"
        decided = evaluate_text(text, LINUX)
        for patch in (0, 1, 14):
            info = (3, 11, patch, "final", 0)
            scope = {"sys": types.SimpleNamespace(version_info=info)}
            value = eval(compile(ast.parse(text, mode="eval"), "", "eval"), scope)
            assert decided is None or decided == value, text


def test_every_known_target_decides_its_own_platform() -> None:
    for target in make_targets(python_versions=["3.12"]):
        name = target.environment["sys_platform"]
        assert evaluate_text(f"sys.platform == {name!r}", target.environment) is True

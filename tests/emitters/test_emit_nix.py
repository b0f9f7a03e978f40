"""What is written for Nix; where ``nix-instantiate`` is on the path, what Nix makes of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from torch_plans import FROM_TORCH, make_cut, make_plan

from distcycle.emitters import nix
from distcycle.plan import Plan

# As much of nixpkgs as an overlay touches; packages show what they were given.
NIXPKGS = """
let
  overlay = import ./overlay.nix;
  package = arguments: arguments // {
    overridePythonAttrs = change: package (arguments // change arguments);
  };
  prev = {
    lib.getName = package: package.pname;
    pythonPackagesExtensions = [ ];
  };
  python-prev = builtins.mapAttrs (pname: rest: package ({ inherit pname; } // rest)) {
    filelock = { };
    torch.dependencies = [ python.filelock python.triton ];
    triton = {
      propagatedBuildInputs = [ python.filelock python.torch ];
      pythonRemoveDeps = [ "cmake" ];
    };
    "3to2".dependencies = [ python.torch ];
  };
  extend = packages: extension: packages // extension python python-prev;
  python = builtins.foldl' extend python-prev (overlay { } prev).pythonPackagesExtensions;
  show = package: {
    removed = package.pythonRemoveDeps or [ ];
    inputs = map prev.lib.getName (
      (package.dependencies or [ ]) ++ (package.propagatedBuildInputs or [ ])
    );
  };
in
builtins.mapAttrs (name: show) python
"""


def evaluate(text: str, folder: Path) -> dict[str, Any]:
    tool = shutil.which("nix-instantiate")
    if tool is None:
        pytest.skip("NO nix-instantiate ON THE PATH, so no overlay was evaluated")
    (folder / "overlay.nix").write_text(text, encoding="utf-8")
    (folder / "nixpkgs.nix").write_text(NIXPKGS, encoding="utf-8")
    done = subprocess.run(
        [tool, "--eval", "--strict", "--json", "--readonly-mode", "nixpkgs.nix"],
        cwd=folder,
        env={**os.environ, "NIX_STATE_DIR": str(folder), "NIX_STORE_DIR": str(folder / "store")},
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    packages: dict[str, Any] = json.loads(done.stdout)
    return packages


@pytest.mark.network
def test_the_overlay_takes_the_package_out(plan: Plan, tmp_path: Path) -> None:
    packages = evaluate(nix.emit(plan), tmp_path)
    assert packages["torch"] == {"removed": ["triton"], "inputs": ["filelock"]}
    assert packages["triton"] == {"removed": ["cmake"], "inputs": ["filelock", "torch"]}


@pytest.mark.network
def test_the_overlay_adds_to_what_stands(tmp_path: Path) -> None:
    plan = make_plan(make_cut("triton", "torch"), make_cut("3to2", "torch"))
    packages = evaluate(nix.emit(plan), tmp_path)
    assert packages["triton"] == {"removed": ["cmake", "torch"], "inputs": ["filelock"]}
    assert packages["3to2"] == {"removed": ["torch"], "inputs": []}


def test_metadata_is_searched_for_the_name_as_it_is_spelled_there() -> None:
    cut = make_cut("a", "ruamel-yaml", removed=("Ruamel.YAML>=1", "ruamel_yaml; os_name == 'nt'"))
    text = nix.emit(make_plan(cut))
    assert '++ [ "Ruamel.YAML" "ruamel_yaml" ];' in text
    assert 'without [ "Ruamel.YAML" "ruamel-yaml" "ruamel_yaml" ]' in text


def test_names_that_begin_alike_are_said_to_go_too() -> None:
    cut = replace(FROM_TORCH, remaining=("tritonclient>=2", "filelock", "triton-rocm"))
    assert "Goes with it, for its name begins alike: triton-rocm, tritonclient" in nix.emit(
        make_plan(cut)
    )


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ('torch = prev.torch.overridePythonAttrs { pythonRemoveDeps = [ "Triton" ]; };', True),
        ("torch = prev.torch.overridePythonAttrs (_: { pythonRemoveDeps = true; });", True),
        ('torch = prev."torch".overridePythonAttrs { pythonRemoveDeps = [ "triton" ]; };', True),
        ('torch = prev.torch.overridePythonAttrs { pythonRelaxDeps = [ "triton" ]; };', False),
        ('triton = prev.triton.overridePythonAttrs { pythonRemoveDeps = [ "torch" ]; };', False),
        ('# torch.overridePythonAttrs { pythonRemoveDeps = [ "triton" ]; }', False),
        ('/* torch.overridePythonAttrs { pythonRemoveDeps = [ "triton" ]; } */', False),
    ],
)
def test_check_searches_the_text(plan: Plan, text: str, held: bool) -> None:
    lacks = nix.check(plan, f"final: prev: {{\n{text}\n}}\n")
    assert lacks == (() if held else ("torch 2.0.0 -> triton: not in pythonRemoveDeps",))

"""Plans made by hand, and the wheels that they are about, complete enough for any tool."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import Version

from distcycle.plan import Plan, PlannedCut, PlannedGroup

LINUX = 'platform_system == "Linux" and platform_machine == "x86_64"'
TO_TRITON = f"triton (==2.0.0) ; {LINUX}"

# The wheels of torch 2.0.0 differ: that for Linux alone requires triton, which requires torch.
WHEELS: tuple[tuple[str, str, tuple[str, ...], str], ...] = (
    ("torch", "2.0.0", ("filelock", TO_TRITON), "py3-none-manylinux1_x86_64"),
    ("torch", "2.0.0", ("filelock",), "py3-none-macosx_11_0_arm64"),
    ("triton", "2.0.0", ("cmake", "filelock", "torch"), "py3-none-manylinux_2_17_x86_64"),
    ("filelock", "3.0", (), "py3-none-any"),
    ("cmake", "3.0", (), "py3-none-any"),
)


def make_cut(package: str, requires: str, **values: Any) -> PlannedCut:
    return PlannedCut(
        **{
            "package": canonicalize_name(package),
            "version": Version("2.0.0"),
            "requires": canonicalize_name(requires),
            "removed": (requires,),
            "remaining": (),
            "condition": "",
            **values,
        }
    )


def make_group(*packages: str, **values: Any) -> PlannedGroup:
    names = tuple(sorted(map(canonicalize_name, packages)))
    return PlannedGroup(**{"name": names[0], "packages": names, "condition": "", **values})


def make_plan(*cuts: PlannedCut, groups: tuple[PlannedGroup, ...] = ()) -> Plan:
    return Plan(input="uv.lock", kind="uv-lock", cuts=cuts, groups=groups)


FROM_TORCH = make_cut(
    "torch",
    "triton",
    removed=(TO_TRITON,),
    remaining=("filelock",),
    condition="sys_platform == 'linux' and platform_machine == 'x86_64'",
    targets=("cp310-linux_x86_64", "cp311-linux_x86_64"),
    loses=("the bound ==2.0.0 on triton",),
)
FROM_TRITON = make_cut("triton", "torch", remaining=("cmake", "filelock"), extra="torch")
TORCH = make_group("torch", "triton", name="torch", condition=FROM_TORCH.condition)


def write_wheel(
    folder: Path, name: str, version: str, requires: tuple[str, ...], tags: str
) -> None:
    info = f"{name}-{version}.dist-info"
    members = {
        f"{info}/METADATA": "\n".join(
            [
                "Metadata-Version: 2.1",
                f"Name: {name}",
                f"Version: {version}",
                *(f"Requires-Dist: {line}" for line in requires),
                "",
            ]
        ),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: {tags}\n",
    }
    rows = [f"{path},{_digest(text)},{len(text)}" for path, text in members.items()]
    members[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""])
    with zipfile.ZipFile(folder / f"{name}-{version}-{tags}.whl", "w") as archive:
        for path, text in members.items():
            archive.writestr(zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0)), text)


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"

"""Patches are applied by the real ``patch`` and ``git apply``, and give what a repair gives."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from distcycle.emitters.patch import edits_of, patch_names, patches_for_wheel, snippet
from distcycle.errors import InputError
from distcycle.plan import PlannedCut
from distcycle.wheelwork.repair import Texts, edit_texts

INFO = "triton-2.0.0.dist-info"
WHEEL = "triton-2.0.0-1-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
TOOLS = {
    "patch": ["patch", "-p1", "--binary", "--no-backup-if-mismatch", "-s", "-i"],
    "git": ["git", "apply", "-p1"],
}


def cut(
    requires: str = "torch", extra: str | None = None, removed: Sequence[str] = ("torch",)
) -> PlannedCut:
    return PlannedCut(
        package=canonicalize_name("triton"),
        version=Version("2.0.0"),
        requires=canonicalize_name(requires),
        removed=tuple(removed),
        remaining=(),
        extra=None if extra is None else canonicalize_name(extra),
        loses=("the bound >=2\npip.override()",),
    )


def texts(end: str = "\n", *, last: str = "\n", rows_after: int = 1) -> Texts:
    head = ["Metadata-Version: 2.1", "Name: triton", "Version: 2.0.0", "Requires-Dist: cmake"]
    head += ["Requires-Dist: torch", "Requires-Dist: lit ; extra == 'tests'", "", "A text", "-- "]
    rows = [f"triton/{i}.py,sha256=x,1" for i in range(40)]
    rows += [f"{INFO}/METADATA,sha256=old,99"]
    rows += [f"{INFO}/top{i},sha256=z,2" for i in range(rows_after)]
    return Texts(
        metadata=(end.join(head) + last).encode() + b"\xe9",
        record=(end.join([*rows, f"{INFO}/RECORD,,"]) + last).encode(),
    )


def patched(texts: Texts, patches: Sequence[bytes], tool: str, folder: Path) -> Texts:
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    info = folder / INFO
    info.mkdir(parents=True)
    (info / "METADATA").write_bytes(texts.metadata)
    (info / "RECORD").write_bytes(texts.record)
    for number, patch in enumerate(patches):
        file = folder / f"{number}.patch"
        file.write_bytes(patch)
        done = subprocess.run(
            [*TOOLS[tool], str(file)], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return Texts(metadata=(info / "METADATA").read_bytes(), record=(info / "RECORD").read_bytes())


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("extra", [None, "torch"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["\n", ""])
def test_patched_is_repaired(
    tool: str, extra: str | None, end: str, last: str, tmp_path: Path
) -> None:
    old = texts(end, last=last)
    cuts = [cut(extra=extra)]
    patches = patches_for_wheel(WHEEL, old.metadata, old.record, cuts)
    assert patched(old, patches, tool, tmp_path) == edit_texts(old, INFO, edits_of(cuts))


@pytest.mark.parametrize("tool", TOOLS)
def test_several_cuts_are_one_patch(tool: str, tmp_path: Path) -> None:
    old = texts()
    cuts = [cut(), cut("cmake", removed=())]
    patches = patches_for_wheel(WHEEL, old.metadata, old.record, cuts)
    new = patched(old, patches, tool, tmp_path)
    assert b"torch" not in new.metadata
    assert b"cmake" not in new.metadata


def test_what_a_patch_says() -> None:
    old = texts()
    metadata, record = patches_for_wheel(WHEEL, old.metadata, old.record, [cut()])
    assert metadata.decode() == (
        f"--- a/{INFO}/METADATA\n+++ b/{INFO}/METADATA\n@@ -2,7 +2,6 @@\n Name: triton\n"
        " Version: 2.0.0\n Requires-Dist: cmake\n-Requires-Dist: torch\n"
        " Requires-Dist: lit ; extra == 'tests'\n \n A text\n"
    )
    changed = [line for line in record.decode().splitlines() if line[0] in "+-"]
    assert changed[:3] == [
        f"--- a/{INFO}/RECORD",
        f"+++ b/{INFO}/RECORD",
        f"-{INFO}/METADATA,sha256=old,99",
    ]
    assert changed[3].startswith(f"+{INFO}/METADATA,sha256=")
    assert len(changed) == 4


def test_context_spares_the_line_that_older_bazels_cannot_read() -> None:
    old = texts(last="", rows_after=1)
    _, record = patches_for_wheel(WHEEL, old.metadata, old.record, [cut()])
    assert b"No newline" not in record
    old = texts(last="", rows_after=0)
    _, record = patches_for_wheel(WHEEL, old.metadata, old.record, [cut()])
    assert record.endswith(b"RECORD,,\n\\ No newline at end of file\n")


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (b"", "expected one row for the METADATA of triton"),
        (b"numpy-1.dist-info/METADATA,,\n", "expected one row"),
        (b'"triton-2;evil\xc2\xa0.dist-info/METADATA",,\n', "expected one row"),
        (b"triton-1.dist-info/METADATA,,\ntriton-2.dist-info/METADATA,,\n", "expected one row"),
    ],
)
def test_record_that_names_no_folder(record: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        patches_for_wheel(WHEEL, texts().metadata, record, [cut()])


def test_wheel_that_does_not_require_it() -> None:
    with pytest.raises(InputError, match="no such requirement of numpy"):
        patches_for_wheel(WHEEL, texts().metadata, texts().record, [cut("numpy", removed=())])


def test_snippet() -> None:
    stem = WHEEL.removesuffix(".whl")
    assert patch_names(WHEEL) == (f"{stem}.metadata.patch", f"{stem}.record.patch")
    assert snippet({WHEEL: [cut(extra="torch")], "a-1-py3-none-any.whl": []}).splitlines()[2:] == [
        "",
        "pip.override(",
        '    file = "a-1-py3-none-any.whl",',
        "    patch_strip = 1,",
        "    patches = [",
        '        "//patches:a-1-py3-none-any.metadata.patch",',
        '        "//patches:a-1-py3-none-any.record.patch",',
        "    ],",
        ")",
        "",
        "# triton 2.0.0 requires torch no longer, but under its extra torch.",
        "# Lost: the bound >=2 pip.override()",
        "pip.override(",
        f'    file = "{WHEEL}",',
        "    patch_strip = 1,",
        "    patches = [",
        f'        "//patches:{stem}.metadata.patch",',
        f'        "//patches:{stem}.record.patch",',
        "    ],",
        ")",
    ]

"""Markdown for people: what stands first, what is folded, and that it always fits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hostile import EMPTY, HOSTILE, NASTY, many, unjudged
from reading_back import markdown_text, rendered

from distcycle.api import render
from distcycle.findings import (
    Change,
    Component,
    Cycle,
    Edge,
    Finding,
    Member,
    Opened,
    Report,
    Severity,
)

EDGE = Edge(
    source="torch",
    target="triton",
    requirement="triton==2.0.0",
    marker="",
    origin="wheel",
    wheel="torch-2.0.0-cp311-cp311-manylinux1_x86_64.whl",
    path="uv.lock",
    line=4,
    targets=("cp310-linux_x86_64", "cp311-linux_x86_64"),
)
LOOP = Component(
    id="wheel-cycle:torch+triton",
    input="uv.lock",
    code="wheel-cycle",
    severity=Severity.DENY,
    packages=(Member(name="torch", version="2.0.0"), Member(name="triton", version="2.0.0")),
    requested_by=(),
    targets=("cp310-linux_x86_64", "cp311-linux_x86_64"),
    condition="sys_platform == 'linux'",
    variants=(),
    edges=(EDGE, replace(EDGE, source="triton", target="torch", requirement="torch", line=9)),
    cycles=(
        Cycle(packages=("torch", "triton"), hops=((0,), (1,)), targets=("cp310-linux_x86_64",)),
    ),
    capped=False,
    breakers=((("torch", "triton"),),),
)
FINDING = Finding(
    code="wheel-cycle",
    severity=Severity.DENY,
    message="torch -> triton -> torch",
    packages=("torch", "triton"),
    targets=LOOP.targets,
    path="uv.lock",
    line=4,
    component=LOOP.id,
)
ADDED = Change(
    kind="added",
    code="wheel-cycle",
    component=LOOP.id,
    packages=("torch", "triton"),
    where="where sys_platform == 'linux'",
    details=("triton 2.1.0 -> 2.0.0 adds triton -> torch",),
)
REPORT = replace(
    EMPTY,
    components=(LOOP,),
    findings=(FINDING,),
    summary=replace(EMPTY.summary, components=1, deny=1),
    command="distcycle audit uv.lock",
)


def test_the_table_says_where() -> None:
    rows = [
        ["".join(cell.itertext()) for cell in row]
        for row in rendered(render(REPORT, "markdown")).iter("tr")
    ]
    assert rows == [
        ["loop", "linux_x86_64", "macos_arm64", "windows_amd64"],
        ["torch, triton", "cp310-cp311", "-", "-"],
    ]


def test_a_loop_is_folded_with_its_evidence() -> None:
    page = rendered(render(REPORT, "markdown"))
    (details,) = page.iter("details")
    assert details.get("open") is None
    text = "".join(details.itertext())
    assert text.startswith("denied wheel-cycle torch -> triton -> torch")
    assert "where sys_platform == 'linux'" in text
    assert f"torch 2.0.0 requires triton==2.0.0 ({EDGE.wheel}) at uv.lock:4" in text
    assert "opened by removing 1 edge: torch -> triton" in text


def test_changes_come_first() -> None:
    text = markdown_text(render(replace(REPORT, changes=(ADDED,)), "markdown"))
    assert text.index("added wheel-cycle torch, triton") < text.index("linux_x86_64")
    assert "triton 2.1.0 -> 2.0.0 adds triton -> torch" in text


def test_the_head_and_the_foot() -> None:
    text = markdown_text(render(REPORT, "markdown")).strip()
    assert text.startswith("distcycle: 1 loop, 1 denied, no warnings")
    assert text.endswith("3 of 3 packages judged in uv.lock, by distcycle audit uv.lock")
    assert "nothing could be judged" in render(unjudged(), "markdown")


HUGE = NASTY * 300
LARGE = {
    "1000 findings": many(),
    "5000 findings": many(5000),
    "1000 loops": replace(REPORT, components=(LOOP,) * 1000, findings=(FINDING,) * 1000),
    "huge values": replace(
        HOSTILE,
        notes=(HUGE,) * 40,
        command=HUGE,
        findings=tuple(replace(f, message=HUGE, details=(HUGE,)) for f in HOSTILE.findings * 30),
    ),
    "a change of many causes": replace(REPORT, changes=(replace(ADDED, details=(HUGE,) * 500),)),
    "many changes": replace(REPORT, changes=(ADDED,) * 5000),
    "many cuts": replace(
        REPORT,
        opened=(
            Opened(
                input="x",
                code="wheel-cycle",
                packages=("a", "b"),
                cuts=(HUGE,) * 500,
                reasons=(HUGE,) * 500,
            ),
        ),
    ),
}


@pytest.mark.parametrize("report", LARGE.values(), ids=LARGE)
def test_it_always_fits(report: Report) -> None:
    text = render(report, "markdown")
    assert len(text) < 65_000
    page = rendered(text)
    assert "left out" in "".join(page.itertext())
    assert text.count("<details>") == text.count("</details>")
    assert "packages judged" in text.strip().splitlines()[-1]


def test_what_is_left_out_is_counted() -> None:
    page = rendered(render(LARGE["many changes"], "markdown"))
    text = "".join(page.itertext())
    shown = text.count("triton 2.1.0 -> 2.0.0 adds")
    assert f"{5000 - shown} more left out" in text
    assert "torch 2.0.0 requires triton" in text, "one section keeps no other out"

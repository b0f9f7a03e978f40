"""The nearest versions without real loops, on the recorded index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from resolution_cases import Target
from resolving import ways_of
from upgrade_cases import UpgradeCase, find_upgrade_cases, upgrade_words

from benchmarks.recorded_index import Server, read_index
from distcycle import api
from distcycle.cycles import find_components
from distcycle.emitters.pins import PIN_EMITTERS
from distcycle.judgement import Options as JudgementOptions
from distcycle.metadata import Library, Options
from distcycle.model import Snapshot
from distcycle.plan import UpgradePlan
from distcycle.policy import Policy
from distcycle.resolution.nearest import find_nearest
from distcycle.resolution.shelf import Shelf
from distcycle.resolution.upgrades import Upgrade, loosen
from distcycle.selection import Selection

CASES = find_upgrade_cases()
PAIRS = [(case, target) for case in CASES for target in case.targets]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(read_index()) as server:
        yield server


def upgrade_of(
    case: UpgradeCase, target: Target, server: Server, folder: Path
) -> tuple[Upgrade, UpgradePlan]:
    path = folder / "requirements.in"
    path.write_text(case.requirements, encoding="utf-8")
    with ways_of(upgrade_words(path, target), server.url, folder) as (library, rules, ways):
        [(scope, facts)] = ways
        (upgrade,), plan = api.find_upgrades(
            scope, library, Policy(), rules, resolved=facts, allow_pins=True
        )
    return upgrade, plan


@pytest.mark.parametrize(
    ("case", "target"), PAIRS, ids=[f"{case.name}-{target.name}" for case, target in PAIRS]
)
def test_loops_open_by_the_nearest_versions(
    case: UpgradeCase, target: Target, server: Server, tmp_path: Path
) -> None:
    upgrade, plan = upgrade_of(case, target, server, tmp_path)
    if case.none:
        assert (upgrade.changes, upgrade.exhausted) == (None, True)
        assert set(case.ranges) <= upgrade.ranges.keys()
        return
    assert upgrade.changes is not None
    moved = {change.name: str(change.new) for change in upgrade.changes if change.new}
    if case.more:
        assert moved.items() >= dict(case.changes).items()
    else:
        assert moved == dict(case.changes)
    assert [change.name for change in upgrade.changes if change.new is None] == list(case.leave)
    assert [line for change in upgrade.changes for line in change.why] == list(case.why)
    assert list(upgrade.loses) == list(case.loses)
    assert upgrade.exhausted or case.more
    assert findings_of(PIN_EMITTERS["requirements"](plan), target, server, tmp_path) == []


def findings_of(pins: str, target: Target, server: Server, folder: Path) -> list[str]:
    """What an audit says of pins that were written down, but for what was so before."""
    path = folder / "requirements.txt"
    path.write_text(pins, encoding="utf-8")
    snapshot = api.read(str(path))
    scope = api.make_scope(snapshot, platforms=[target.platform], python_versions=[target.python])
    with Library(Options(index_url=server.url, cache_dir=None), environ={}) as library:
        report = api.judge_scope(scope, library, JudgementOptions())
    loops = {"wheel-cycle", "missing-package", "version-conflict", "no-wheel-for-target"}
    return [finding.message for finding in report.findings if finding.code in loops]


def test_what_people_pinned_stays(server: Server, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == "torch-2.0.0")
    path = tmp_path / "requirements.in"
    path.write_text(case.requirements, encoding="utf-8")
    with ways_of(upgrade_words(path, case.targets[0]), server.url, tmp_path) as (
        library,
        rules,
        [(scope, facts)],
    ):
        (upgrade,), _ = api.find_upgrades(scope, library, Policy(), rules, resolved=facts)
    assert upgrade.changes is None
    assert upgrade.pinned == ("torch==2.0.0",)


def test_a_search_that_is_cut_says_what_it_had(server: Server, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == "sphinx-7.2.0")
    path = tmp_path / "requirements.in"
    path.write_text(case.requirements, encoding="utf-8")
    with ways_of(upgrade_words(path, case.targets[0]), server.url, tmp_path) as (
        library,
        rules,
        [(scope, _)],
    ):
        shelf_source = library.releases(index=scope.snapshot.index)
        with shelf_source as source:
            shelf = Shelf(replace(scope.snapshot, packages=()), scope.targets, source, rules)
            selection = api.gather(scope, library)[0]
            loose = loosen(selection, compiled=False, allow_pins=True)
            names = [package.name for package in loose.packages]

            def select(snapshot: Snapshot) -> Selection:
                return api.gather(replace(scope, snapshot=snapshot), library)[0]

            before = select(loose)
            [loop] = find_components(before.edges, names, before.space.full, max_cycles=1)
            nothing = find_nearest(loop, before, shelf, select, most_tried=2)
            assert (nothing.found, nothing.exhausted, nothing.tried) == (None, False, 2)
            some = find_nearest(loop, before, shelf, select, most_tried=8)
            assert some.found is not None
            assert not some.exhausted

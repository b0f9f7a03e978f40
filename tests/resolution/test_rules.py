"""What may be chosen, and what is said when nothing may: file by file."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from synthetic import Stock, ask, says

from distcycle.errors import MetadataError, ResolutionError
from distcycle.model import Artefact, FileRules, Metadata, Package, Place, Snapshot, Unknown
from distcycle.requirements import parse_requirement
from distcycle.resolution import Resolution, Rules, resolve
from distcycle.selection import Request
from distcycle.targets import make_targets

LINUX = make_targets(["linux_x86_64"], ["3.11"])
BOTH = make_targets(["linux_x86_64", "windows_amd64"], ["3.11"])
MAY, JUNE = (datetime(2026, month, 15, tzinfo=timezone.utc) for month in (5, 6))
LIMIT = datetime(2026, 6, 1, tzinfo=timezone.utc)


def wheel(name: str, tags: str = "py3-none-any", **more: object) -> Artefact:
    return Artefact(filename=f"{name}-{tags}.whl", **more)  # type: ignore[arg-type]


def sdist(name: str, **more: object) -> Artefact:
    return Artefact(filename=f"{name}.tar.gz", **more)  # type: ignore[arg-type]


def stock(*files: Artefact | tuple[Artefact, Metadata | Unknown]) -> Stock:
    """Files, each with the METADATA that its name says unless another is given."""
    pairs = [f if isinstance(f, tuple) else (f, says(f.filename)) for f in files]
    return Stock(dict(pairs))


def done(snapshot: Snapshot, source: Stock, rules: Rules | None = None) -> Resolution:
    (resolution,), failed = resolve(snapshot, LINUX, source, rules or Rules(), Request())
    assert failed == ()
    return resolution


def versions(snapshot: Snapshot, source: Stock, rules: Rules | None = None) -> dict[str, str]:
    packages = done(snapshot, source, rules).snapshot.packages
    return {package.name: str(package.version) for package in packages}


def failure(snapshot: Snapshot, source: Stock, rules: Rules | None = None) -> ResolutionError:
    resolved, (error,) = resolve(snapshot, LINUX, source, rules or Rules(), Request())
    assert resolved == ()
    return error


def test_releases_come_before_what_comes_before_them() -> None:
    source = stock(wheel("egg-1.0"), wheel("egg-2.0rc1"))
    assert versions(ask("egg"), source) == {"egg": "1.0"}
    assert versions(ask("egg>=2.0rc1"), source) == {"egg": "2.0rc1"}
    for names in (":all:", "egg"):
        rules = Rules(files=FileRules(pre=(names,)))
        assert versions(ask("egg"), source, rules) == {"egg": "2.0rc1"}
    assert versions(ask("hen"), stock(wheel("hen-1.0b1"), wheel("hen-1.0a1"))) == {"hen": "1.0b1"}


def test_what_was_withdrawn_serves_who_pins_it() -> None:
    source = stock(wheel("egg-1.0"), wheel("egg-2.0", yanked="broken"))
    assert versions(ask("egg"), source) == {"egg": "1.0"}
    assert versions(ask("egg==2.0"), source) == {"egg": "2.0"}
    assert versions(ask("egg===2.0"), source) == {"egg": "2.0"}
    assert "withdrawn" in " ".join(failure(ask("egg>=2.0"), source).causes)
    locked = Rules(prefer="locked", locked={canonicalize_name("egg"): Version("2.0")})
    assert versions(ask("egg"), source, locked) == {"egg": "2.0"}


def test_files_that_are_too_new_do_not_count() -> None:
    source = stock(
        wheel("egg-1.0", uploaded=MAY),
        wheel("egg-2.0", uploaded=JUNE),
        wheel("egg-3.0"),
        wheel("egg-4.0", path="wheels/egg-4.0-py3-none-any.whl", uploaded=None),
    )
    assert versions(ask("egg<4"), source) == {"egg": "3.0"}
    assert versions(ask("egg<4"), source, Rules(exclude_newer=LIMIT)) == {"egg": "1.0"}
    assert versions(ask("egg"), source, Rules(exclude_newer=LIMIT)) == {"egg": "4.0"}
    causes = failure(ask("egg<4,>1"), source, Rules(exclude_newer=LIMIT)).causes
    assert "  egg 3.0: the index does not say when it was uploaded" in causes
    assert "  egg 2.0: uploaded on or after 2026-06-01, and newer files are excluded" in causes


@pytest.mark.parametrize("names", [":all:", "egg"])
def test_kinds_of_files_that_are_not_wanted(names: str) -> None:
    static = {"metadata_version": "2.2"}
    said = says("egg-2.0.tar.gz", "hen", **static)
    source = stock(wheel("egg-1.0"), (sdist("egg-2.0"), said), wheel("hen-1.0"))
    assert versions(ask("egg"), source) == {"egg": "2.0", "hen": "1.0"}
    only = Rules(files=FileRules(only_binary=(names,)))
    assert versions(ask("egg"), source, only) == {"egg": "1.0"}
    never = Rules(files=FileRules(no_binary=(names,)))
    assert "a wheel, which is not wanted" in " ".join(failure(ask("egg<2"), source, never).causes)


def test_hashes_choose_files_and_must_cover_all() -> None:
    good, bad, fine, other = ((("sha256", letter * 64),) for letter in "abcd")
    source = stock(
        wheel("egg-1.0", hashes=good),
        wheel("egg-2.0", hashes=bad),
        (wheel("fox-1.0", hashes=fine), says("fox-1.0-py3-none-any.whl", "hen")),
        wheel("hen-1.0", hashes=other),
    )
    place = Place(path="x.in", line=1)
    given = Package(name="egg", version=None, hashes=good, place=place)  # type: ignore[arg-type]
    snapshot = ask("egg")
    hashed = Snapshot(path="x.in", kind="requirements", packages=(given,), roots=snapshot.roots)
    assert versions(hashed, source) == {"egg": "1.0"}
    also = Package(name="fox", version=None, hashes=fine, place=place)  # type: ignore[arg-type]
    both = Snapshot(
        path="x.in", kind="requirements", packages=(given, also), roots=ask("egg", "fox").roots
    )
    assert "no hash is given for it, and others have one" in " ".join(failure(both, source).causes)
    required = Rules(files=FileRules(require_hashes=True))
    assert "no hash is given" in " ".join(failure(ask("egg"), source, required).causes)


def test_the_python_that_is_required_is_that_of_the_index_or_of_the_wheel() -> None:
    source = stock(
        wheel("egg-1.0"),
        wheel("egg-2.0", requires_python=SpecifierSet(">=3.12")),
        (wheel("egg-1.5"), says("egg-1.5-py3-none-any.whl", python=">=3.12")),
    )
    assert versions(ask("egg"), source) == {"egg": "1.0"}
    causes = " ".join(failure(ask("egg>1.4,<2"), source).causes)
    assert "egg 1.5" in causes
    assert "requires Python >=3.12" in causes


def test_direct_references() -> None:
    url = "https://pypi.example/egg-1.0-py3-none-any.whl"
    source = stock(
        (wheel("egg-1.0"), says("egg-1.0-py3-none-any.whl", "hen")),
        wheel("egg-2.0"),
        wheel("hen-1.0"),
        (wheel("fox-1.0"), says("fox-1.0-py3-none-any.whl", "egg>=2")),
    )
    resolution = done(ask(f"egg @ {url}"), source)
    egg, hen = resolution.snapshot.packages
    assert (egg.url, str(egg.version), str(hen.version)) == (url, "1.0", "1.0")
    assert egg.source == "url"
    assert "egg" in " ".join(failure(ask(f"egg @ {url}", "fox"), source).causes)
    elsewhere = f"egg @ {url.replace('egg-1.0', 'egg-2.0')}"
    assert "egg" in " ".join(failure(ask(f"egg @ {url}", elsewhere), source).causes)


def test_constraints_bound_and_install_nothing() -> None:
    source = stock(wheel("egg-1.0"), wheel("egg-2.0"), wheel("hen-1.0"))
    bounds = tuple(map(parse_requirement, ["egg<2", "hen==9", "egg<1; sys_platform == 'win32'"]))
    snapshot = ask("egg")
    bounded = Snapshot(
        path="x.in", kind="requirements", packages=(), roots=snapshot.roots, constraints=bounds
    )
    assert versions(bounded, source) == {"egg": "1.0"}


def test_the_order_that_is_preferred() -> None:
    source = stock(*(wheel(f"egg-{n}.0") for n in (1, 2, 3)))
    assert versions(ask("egg"), source, Rules(prefer="highest")) == {"egg": "3.0"}
    assert versions(ask("egg>1"), source, Rules(prefer="lowest")) == {"egg": "2.0"}
    locked = Rules(prefer="locked", locked={canonicalize_name("egg"): Version("2.0")})
    assert versions(ask("egg"), source, locked) == {"egg": "2.0"}
    assert versions(ask("egg>2"), source, locked) == {"egg": "3.0"}


def test_a_source_distribution_is_known_by_itself_or_by_a_sibling() -> None:
    foreign = "cp311-cp311-win_amd64"
    source = stock(
        (sdist("egg-1.0"), says("egg-1.0.tar.gz")),
        (wheel("egg-1.0", foreign), says(f"egg-1.0-{foreign}.whl", "hen")),
        (sdist("fox-1.0"), says("fox-1.0.tar.gz", "hen", metadata_version="2.2")),
        (sdist("owl-1.0"), says("owl-1.0.tar.gz", "hen")),
        wheel("hen-1.0"),
    )
    assert versions(ask("egg"), source) == {"egg": "1.0", "hen": "1.0"}
    assert versions(ask("fox"), source) == {"fox": "1.0", "hen": "1.0"}
    assert versions(ask("owl"), source) == {"owl": "1.0"}


def test_what_is_broken_is_passed_over_and_what_does_not_answer_is_not() -> None:
    broken = Unknown(reason="not a readable wheel")
    away = Unknown(reason="HTTP 503", passing=True)
    foreign = says("hen-2.0-py3-none-any.whl")
    source = stock(wheel("egg-1.0"), (wheel("egg-2.0"), broken), (wheel("egg-3.0"), foreign))
    assert versions(ask("egg"), source) == {"egg": "1.0"}
    assert "not a readable wheel" in " ".join(failure(ask("egg==2"), source).causes)
    assert "is a file of hen 2.0" in " ".join(failure(ask("egg==3"), source).causes)
    with pytest.raises(MetadataError, match="HTTP 503"):
        versions(ask("egg"), stock(wheel("egg-1.0"), (wheel("egg-2.0"), away)))


def test_an_extra_that_does_not_exist_is_noted() -> None:
    assert done(ask("egg[fly]"), stock(wheel("egg-1.0"))).notes == ("egg 1.0 has no extra fly",)


def test_extras_are_of_the_version_that_is_chosen() -> None:
    fly = {"provides_extra": ("fly",)}
    source = stock(
        (wheel("egg-1.0"), says("egg-1.0-py3-none-any.whl", "hen; extra == 'fly'", **fly)),
        (wheel("egg-2.0"), says("egg-2.0-py3-none-any.whl", "fox; extra == 'fly'", **fly)),
        wheel("hen-1.0"),
        wheel("fox-1.0"),
    )
    resolution = done(ask("egg[fly]", "egg<2"), source)
    assert [package.name for package in resolution.snapshot.packages] == ["egg", "hen"]
    assert resolution.extras == {"egg": ("fly",), "hen": ()}


def test_rounds_are_bounded() -> None:
    files = []
    for n in range(1, 40):
        files.append((wheel(f"egg-{n}"), says(f"egg-{n}-py3-none-any.whl", f"hen=={n}")))
        files.append((wheel(f"hen-{n}"), says(f"hen-{n}-py3-none-any.whl", f"egg!={n}")))
    (cause,) = failure(ask("egg", "hen"), stock(*files), Rules(most_rounds=5)).causes
    assert "gave up after 5 choices" in cause


def test_targets_that_resolve_alike_are_resolved_once() -> None:
    source = stock(
        (wheel("egg-1.0"), says("egg-1.0-py3-none-any.whl", "hen; sys_platform == 'win32'")),
        wheel("hen-1.0"),
        wheel("fox-1.0"),
    )
    (one,), _ = resolve(ask("fox"), BOTH, source, Rules(), Request())
    assert one.targets == tuple(target.name for target in BOTH)
    assert source.asked.count("fox-1.0-py3-none-any.whl") == 1
    ways, _ = resolve(ask("egg"), BOTH, source, Rules(), Request())
    assert [(way.targets, len(way.snapshot.packages)) for way in ways] == [
        ((BOTH[0].name,), 1),
        ((BOTH[1].name,), 2),
    ]


def test_no_project_of_that_name() -> None:
    (cause,) = failure(ask("egg"), stock(wheel("hen-1.0"))).causes
    assert cause == "there is no project egg: asked for at x.in:1"


def test_a_project_named_by_one_list_is_no_part_of_all_in_the_other() -> None:
    said = says("egg-2.0.tar.gz", metadata_version="2.2")
    source = stock(wheel("egg-1.0"), (sdist("egg-2.0"), said))
    files = FileRules(only_binary=(":all:",), no_binary=("egg",))
    assert versions(ask("egg"), source, Rules(files=files)) == {"egg": "2.0"}
    files = FileRules(only_binary=("egg",), no_binary=(":all:",))
    assert versions(ask("egg"), source, Rules(files=files)) == {"egg": "1.0"}


def test_an_extra_of_what_only_a_direct_reference_brings() -> None:
    url = "https://pypi.example/egg-5.0-py3-none-any.whl"
    fly = says("egg-5.0-py3-none-any.whl", "hen; extra == 'fly'", provides_extra=("fly",))
    source = stock(
        (wheel("egg-5.0"), fly),
        wheel("egg-1.0"),
        wheel("hen-1.0"),
        (wheel("fox-1.0"), says("fox-1.0-py3-none-any.whl", f"egg @ {url}")),
        (wheel("owl-1.0"), says("owl-1.0-py3-none-any.whl", "egg[fly]")),
    )
    for lines in (("fox", "owl"), ("owl", "fox")):
        found = versions(ask(*lines), source)
        assert found == {"egg": "5.0", "fox": "1.0", "hen": "1.0", "owl": "1.0"}


def test_hashes_are_asked_of_direct_references_too() -> None:
    url = "https://pypi.example/egg-1.0-py3-none-any.whl"
    required = Rules(files=FileRules(require_hashes=True))
    causes = failure(ask(f"egg @ {url}"), stock(wheel("egg-1.0")), required).causes
    assert "no hash is given for it, and others have one" in " ".join(causes)


def test_a_source_distribution_of_another_project_is_refused() -> None:
    foreign = says("hen-2.0.tar.gz", metadata_version="2.2")
    source = stock(wheel("egg-1.0"), (sdist("egg-2.0"), foreign))
    assert versions(ask("egg"), source) == {"egg": "1.0"}


def test_a_requirement_that_cannot_be_read_is_none_where_nothing_has_its_name() -> None:
    source = stock(
        (wheel("egg-1.0"), says("egg-1.0-py3-none-any.whl", "go\x07od", "hen>=1,,<2")),
        wheel("hen-3.0"),
    )
    assert versions(ask("egg"), source) == {"egg": "1.0", "hen": "3.0"}

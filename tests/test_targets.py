"""Targets: every name means the right environment and wheel tags, and the host is never asked."""

from __future__ import annotations

import json
import platform as host_platform
import re
import sys
import sysconfig

import packaging.markers
import packaging.tags
import pytest
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet

from distcycle.errors import InputError, TargetError
from distcycle.host import host_environment, host_target
from distcycle.markers import Space
from distcycle.targets import (
    MARKER_VARIABLES,
    PLATFORMS,
    PYTHONS,
    Platform,
    Python,
    Target,
    custom_target,
    describe_targets,
    expand_tags,
    find_platforms,
    find_pythons,
    make_target,
    make_targets,
    read_target,
    tag_ranks,
)
from distcycle.targets import names as target_names
from distcycle.targets import platforms as target_platforms
from distcycle.targets.names import platform_names

ALL_PAIRS = [(p, python) for p in PLATFORMS for python in PYTHONS if p.has(python)]


def name_of(platform: Platform) -> str:
    return f"{platform.python.name}-{platform.name}" if platform.python else platform.name


def target(name: str) -> Target:
    (made,) = make_targets([name])
    return made


# Names


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("linux_x86_64", "linux_x86_64"),
        (" Linux_X86_64 ", "linux_x86_64"),
        ("manylinux1_x86_64", "manylinux_2_5_x86_64"),
        ("manylinux2010_i686", "manylinux_2_12_i686"),
        ("manylinux2014_x86_64", "manylinux_2_17_x86_64"),
        ("manylinux_2_28_aarch64", "manylinux_2_28_aarch64"),
        ("musllinux_1_2_x86_64", "musllinux_1_2_x86_64"),
        ("macosx_11_0_arm64", "macosx_11_0_arm64"),
        ("macosx_13_0_x86_64", "macosx_13_0_x86_64"),
        ("macosx_10_9_x86_64", "macosx_10_9_x86_64"),
        ("macosx-11.0-arm64", "macosx_11_0_arm64"),
        ("win_amd64", "windows_amd64"),
        ("win32", "windows_x86"),
        ("win_arm64", "windows_arm64"),
        ("ios_13_0_arm64_iphoneos", "ios_13_0_arm64_iphoneos"),
        ("ios_13_0_x86_64_iphonesimulator", "ios_13_0_x86_64_iphonesimulator"),
        ("android_24_arm64_v8a", "android_24_arm64_v8a"),
        ("pyodide_2025_0_wasm32", "cp313-pyodide_wasm32"),
        ("pyemscripten_2026_0_wasm32", "cp314-pyodide_wasm32"),
        ("freebsd_14_1_release_amd64", "freebsd_14_1_release_amd64"),
        # uv
        ("windows", "windows_amd64"),
        ("linux", "linux_x86_64"),
        ("macos", "macos_arm64"),
        ("x86_64-pc-windows-msvc", "windows_amd64"),
        ("aarch64-pc-windows-msvc", "windows_arm64"),
        ("i686-pc-windows-msvc", "windows_x86"),
        ("x86_64-unknown-linux-gnu", "linux_x86_64"),
        ("aarch64-unknown-linux-gnu", "linux_aarch64"),
        ("x86_64-unknown-linux-musl", "musllinux_x86_64"),
        ("aarch64-unknown-linux-musl", "musllinux_aarch64"),
        ("riscv64-unknown-linux", "linux_riscv64"),
        ("aarch64-apple-darwin", "macos_arm64"),
        ("x86_64-apple-darwin", "macos_x86_64"),
        ("x86_64-manylinux2014", "manylinux_2_17_x86_64"),
        ("x86_64-manylinux_2_28", "manylinux_2_28_x86_64"),
        ("aarch64-manylinux_2_40", "manylinux_2_40_aarch64"),
        ("aarch64-linux-android", "android_aarch64"),
        ("x86_64-linux-android", "android_x86_64"),
        ("wasm32-pyodide2024", "cp312-pyodide_wasm32"),
        ("wasm32-pyodide2025", "cp313-pyodide_wasm32"),
        ("arm64-apple-ios", "ios_arm64"),
        ("arm64-apple-ios-simulator", "ios_arm64_simulator"),
        ("x86_64-apple-ios-simulator", "ios_x86_64_simulator"),
        # PDM
        ("alpine", "musllinux_x86_64"),
        ("windows_x86", "windows_x86"),
        ("macos_14_0_arm64", "macosx_14_0_arm64"),
        ("macos_x86_64", "macos_x86_64"),
        # rules_python
        ("osx_aarch64", "macos_arm64"),
        ("osx_x86_64", "macos_x86_64"),
        ("windows_x86_64", "windows_amd64"),
        ("linux_arm", "linux_armv7l"),
        ("linux_ppc", "linux_ppc64le"),
        ("cp311_linux_x86_64", "cp311-linux_x86_64"),
        ("cp313_osx_aarch64_freethreaded", "cp313t-macos_arm64"),
        # pex and Pants
        ("manylinux2014_x86_64-cp-311-cp311", "cp311-manylinux_2_17_x86_64"),
        ("macosx_10.9_x86_64-cp-38-cp38", "cp38-macosx_10_9_x86_64"),
        ("linux_x86_64-cp-3.11.4-cp311", "cp311.4-linux_x86_64"),
        ("linux_x86_64-cp-313-cp313t", "cp313t-linux_x86_64"),
        ("linux_x86_64-pp-310-pypy310_pp73", "pp310-linux_x86_64"),
        # Nix, and the canonical ones with a Python
        ("x86_64-linux", "linux_x86_64"),
        ("aarch64-darwin", "macos_arm64"),
        ("cp311-linux_x86_64", "cp311-linux_x86_64"),
        ("cp311.4-manylinux_2_17_x86_64", "cp311.4-manylinux_2_17_x86_64"),
        ("pp311-windows_amd64", "pp311-windows_amd64"),
    ],
)
def test_a_name_means_one_platform(name: str, meant: str) -> None:
    assert [name_of(platform) for platform in find_platforms(name)] == [meant]


def test_universal2_means_both_machines() -> None:
    found = find_platforms("macosx_10_9_universal2")
    assert [p.name for p in found] == ["macosx_11_0_arm64", "macosx_10_9_x86_64"]


def test_freethreaded_without_a_python_means_every_one() -> None:
    found = find_platforms("linux_x86_64_freethreaded")
    assert [name_of(p) for p in found] == [f"cp3{n}t-linux_x86_64" for n in (13, 14, 15)]


def test_canonical_names_are_their_own() -> None:
    for platform in PLATFORMS:
        assert find_platforms(platform.name) == (platform,)


def test_no_name_means_two_platforms() -> None:
    seen: dict[str, str] = {}
    for canonical, names in platform_names().items():
        for name in names:
            plain = re.sub(r"[-.]", "_", name)
            assert seen.setdefault(plain, canonical) == canonical, name


def test_versioned_names_keep_their_meaning() -> None:
    # What a target is called in a report can be given back on the command line.
    for name in (
        "manylinux1_x86_64",
        "macos_14_0_arm64",
        "android_24_x86_64",
        "musllinux_1_0_i686",
    ):
        (platform,) = find_platforms(name)
        assert find_platforms(platform.name) == (platform,)


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("linux_x86_64", "linux_x86_64"),
        ("manylinux2014_x86_64", "linux_x86_64"),
        ("musllinux_1_1_aarch64", "musllinux_aarch64"),
        ("macosx_11_0_arm64", "macos_arm64"),
        ("cp311-win32", "windows_x86"),
    ],
)
def test_a_version_does_not_change_the_base(name: str, base: str) -> None:
    assert {made.base for made in make_targets([name])} == {base}


def test_tags_are_expanded_only_as_far_as_a_file_name_goes() -> None:
    assert expand_tags("py2.py3-none-any") == ("py2-none-any", "py3-none-any")
    assert expand_tags("-".join([".".join("a" * 999)] * 3)) == ()


def test_a_python_built_from_a_working_tree_has_a_version() -> None:
    environment = dict(target("cp315-linux_x86_64").environment)
    environment["python_full_version"] = "3.15.0a2+"
    space = Space.of_targets([custom_target(environment, ["py3-none-any"])])
    assert space.python(SpecifierSet(">=3.8"))
    assert space.condition(Marker("python_full_version >= '3.8'"))


def test_targets_from_elsewhere_have_a_base() -> None:
    environment = target("cp311-linux_x86_64").environment
    known = custom_target(environment, ["cp311-cp311-manylinux_2_36_x86_64"])
    assert (known.platform, known.base) == ("manylinux_2_36_x86_64", "linux_x86_64")
    assert custom_target(environment, ["cp311-cp311-beos_r5"]).base == "beos_r5"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("linux_x86_46", "unknown platform 'linux_x86_46'; did you mean linux_x86_64"),
        ("windows_amd46", "did you mean windows_amd64"),
        ("zzz", "unknown platform 'zzz'\\Z"),
        ("", "unknown platform ''\\Z"),
        ("manylinux_2_28_vax", "unknown platform"),
        ("macosx_10_9_arm64", "begins with macOS 11.0: .*; did you mean macosx_11_0_arm64"),
        ("manylinux_2_4_x86_64", "did you mean manylinux_2_5_x86_64"),
        ("manylinux1_aarch64", "did you mean manylinux_2_17_aarch64"),
        ("cp399-linux_x86_64", "unknown Python version 'cp399'"),
        ("cp38-ios_arm64", "Python cp38 does not run on ios_arm64"),
        ("cp312-pyodide_2025_0_wasm32", "Python cp312 does not run on pyodide_wasm32"),
        ("pyodide_2019_0_wasm32", "unknown platform"),
        ("host", "unknown platform 'host'"),
    ],
)
def test_other_names_are_refused(name: str, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        make_targets([name])


# Pythons


@pytest.mark.parametrize(
    ("version", "name", "full_version"),
    [
        ("3.11", "cp311", "3.11.18"),
        ("311", "cp311", "3.11.18"),
        ("cp311", "cp311", "3.11.18"),
        ("cpython3.8", "cp38", "3.8.20"),
        ("3.11.4", "cp311.4", "3.11.4"),
        ("3.11.18", "cp311", "3.11.18"),
        ("cp311.4", "cp311.4", "3.11.4"),
        ("3.13t", "cp313t", "3.13.18"),
        ("3.13.1t", "cp313.1t", "3.13.1"),
        ("3.15.0rc1", "cp315.0rc1", "3.15.0rc1"),
        ("pp311", "pp311", "3.11.15"),
        ("pypy@3.10", "pp310", "3.10.16"),
        ("2.7", "cp27", "2.7.18"),
    ],
)
def test_a_version_means_a_python(version: str, name: str, full_version: str) -> None:
    (python,) = find_pythons(version)
    assert (python.name, python.full_version) == (name, full_version)


def test_a_pythons_name_finds_it_again() -> None:
    for python in (*PYTHONS, *find_pythons("3.13.1t"), *find_pythons("3.15.0rc1")):
        assert find_pythons(python.name) == (python,)


@pytest.mark.parametrize("version", ["3.16", "3", "jython2.7", "", "3.11.x", "pp38", "3.12t"])
def test_unknown_versions_are_refused(version: str) -> None:
    with pytest.raises(TargetError, match="unknown Python version"):
        find_pythons(version)


def test_pypy_has_a_version_of_its_own() -> None:
    environment = target("pp311-linux_x86_64").environment
    assert environment["implementation_name"] == "pypy"
    assert environment["platform_python_implementation"] == "PyPy"
    assert environment["implementation_version"] == "7.3.23"
    assert environment["python_full_version"] == "3.11.15"


# Environments


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("linux_aarch64", ("posix", "linux", "Linux", "aarch64")),
        ("musllinux_x86_64", ("posix", "linux", "Linux", "x86_64")),
        ("macos_arm64", ("posix", "darwin", "Darwin", "arm64")),
        ("windows_amd64", ("nt", "win32", "Windows", "AMD64")),
        ("windows_arm64", ("nt", "win32", "Windows", "ARM64")),
        ("windows_x86", ("nt", "win32", "Windows", "x86")),
        ("cp312-pyodide_wasm32", ("posix", "emscripten", "Emscripten", "wasm32")),
        ("cp313-android_aarch64", ("posix", "android", "Android", "aarch64")),
        ("cp313-ios_arm64_simulator", ("posix", "ios", "iOS", "arm64")),
        ("cp313-freebsd_amd64", ("posix", "freebsd14", "FreeBSD", "amd64")),
        ("cp314-freebsd_amd64", ("posix", "freebsd", "FreeBSD", "amd64")),
    ],
)
def test_markers_have_the_values_of_cpython(name: str, expected: tuple[str, ...]) -> None:
    for made in make_targets([name]):
        environment = made.environment
        keys = ("os_name", "sys_platform", "platform_system", "platform_machine")
        assert tuple(environment[key] for key in keys) == expected


def test_pyodide_has_the_release_of_its_emscripten() -> None:
    found = make_targets(["pyodide_wasm32"])
    releases = {made.python: made.environment["platform_release"] for made in found}
    assert releases == {"cp312": "3.1.58", "cp313": "4.0.9", "cp314": "5.0.3"}


@pytest.mark.parametrize(("platform", "python"), ALL_PAIRS)
def test_every_target_is_complete(platform: Platform, python: Python) -> None:
    made = make_target(platform, python)
    assert tuple(made.environment) == MARKER_VARIABLES
    assert len(set(made.tags)) == len(made.tags)
    assert made.environment["python_full_version"].startswith(made.environment["python_version"])


def test_a_target_cannot_be_incomplete() -> None:
    with pytest.raises(ValueError, match=r"lacks .*os_name"):
        Target(name="x", platform="x", base="x", python="x", environment={}, tags=("py3-none-any",))
    whole = target("cp311-linux_x86_64")
    with pytest.raises(ValueError, match="lacks tags"):
        Target(name="x", platform="x", base="x", python="x", environment=whole.environment, tags=())
    with pytest.raises(TypeError):
        whole.environment["os_name"] = "nt"  # type: ignore[index]


# Wheel tags


def packaging_tags(platforms: list[str], python: Python) -> list[str]:
    if python.implementation == "cpython":
        native = packaging.tags.cpython_tags(python.minor, [python.abi], platforms)
        interpreter = python.tag
    else:
        native = packaging.tags.generic_tags(python.tag, [python.abi], platforms)
        interpreter = f"pp{python.minor[0]}"
    pure = packaging.tags.compatible_tags(python.minor, interpreter, platforms)
    return [str(tag) for tags in (native, pure) for tag in tags]


@pytest.mark.parametrize("python", PYTHONS, ids=lambda python: python.name)
@pytest.mark.parametrize("name", ["manylinux_2_17_x86_64", "musllinux_1_2_aarch64"])
def test_tags_are_those_of_packaging(name: str, python: Python) -> None:
    (platform,) = find_platforms(name)
    expected = packaging_tags(list(platform.tags(python)), python)
    assert list(make_target(platform, python).tags) == expected


def test_android_tags_are_those_of_packaging() -> None:
    (platform,) = find_platforms("android_30_arm64_v8a")
    (python,) = find_pythons("3.13")
    assert list(platform.tags(python)) == list(packaging.tags.android_platforms(30, "arm64_v8a"))


@pytest.mark.skipif(sys.platform != "linux", reason="compares with a host that has glibc")
@pytest.mark.skipif(sys.implementation.name != "cpython", reason="compares with CPython")
def test_tags_are_those_of_this_host() -> None:
    library, version = host_platform.libc_ver()
    if library != "glibc":
        pytest.skip("compares with a host that has glibc")
    machine = host_platform.machine()
    threads = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    (platform,) = find_platforms(f"manylinux_{version.replace('.', '_')}_{machine}")
    (python,) = find_pythons(f"{sys.version_info[0]}.{sys.version_info[1]}{threads}")
    assert list(make_target(platform, python).tags) == [str(t) for t in packaging.tags.sys_tags()]


@pytest.mark.parametrize(
    ("name", "tag", "taken"),
    [
        ("cp311-linux_x86_64", "cp311-cp311-manylinux_2_40_x86_64", True),
        ("cp311-linux_x86_64", "cp311-cp311-manylinux1_x86_64", True),
        ("cp311-linux_x86_64", "cp311-cp311-musllinux_1_1_x86_64", False),
        ("cp311-manylinux_2_17_x86_64", "cp311-cp311-manylinux2014_x86_64", True),
        ("cp311-manylinux_2_17_x86_64", "cp311-cp311-manylinux_2_18_x86_64", False),
        ("cp311-linux_aarch64", "cp311-cp311-manylinux2010_aarch64", False),
        ("cp311-musllinux_1_1_x86_64", "cp311-cp311-musllinux_1_2_x86_64", False),
        ("cp311-macosx_11_0_arm64", "cp311-none-macosx_11_0_arm64", True),
        ("cp311-macosx_11_0_arm64", "cp311-cp311-macosx_12_0_arm64", False),
        ("cp311-macos_arm64", "cp38-abi3-macosx_10_9_universal2", True),
        ("cp311-windows_x86", "cp311-cp311-win32", True),
        ("cp311-windows_amd64", "py2.py3-none-any", False),
        ("cp313t-linux_x86_64", "cp313-cp313-manylinux2014_x86_64", False),
        ("cp313t-linux_x86_64", "cp313-cp313t-manylinux2014_x86_64", True),
        ("cp313t-linux_x86_64", "cp38-abi3-manylinux2014_x86_64", False),
        ("cp27-linux_x86_64", "cp27-cp27mu-manylinux1_x86_64", True),
        ("cp27-windows_amd64", "cp27-cp27m-win_amd64", True),
        ("cp37-linux_x86_64", "cp37-cp37m-manylinux1_x86_64", True),
        ("cp312-pyodide_wasm32", "cp312-cp312-pyodide_2024_0_wasm32", True),
        ("cp312-pyodide_wasm32", "cp312-cp312-pyodide_2025_0_wasm32", False),
        ("cp313-ios_arm64", "cp313-cp313-ios_13_0_arm64_iphoneos", True),
        ("cp313-freebsd_amd64", "cp313-cp313-freebsd_14_3_release_amd64", True),
        ("pp312-linux_x86_64", "pp312-pypy312_pp80-manylinux_2_28_x86_64", True),
        ("pp311-linux_x86_64", "pp311-pypy311_pp73-manylinux_2_28_x86_64", True),
    ],
)
def test_wheels_that_a_target_takes(name: str, tag: str, taken: bool) -> None:
    assert (tag in tag_ranks(target(name))) is taken


def test_ranks_follow_the_order() -> None:
    made = target("cp311-linux_x86_64")
    ranks = tag_ranks(made)
    assert [ranks[tag] for tag in made.tags] == list(range(len(made.tags)))
    assert tag_ranks(made) is ranks
    doubled = custom_target(made.environment, [made.tags[0], made.tags[1], made.tags[0]])
    assert tag_ranks(doubled) == {made.tags[0]: 0, made.tags[1]: 1}


# Many at once


def test_without_names_tier_one_and_all_default_pythons() -> None:
    names = [made.name for made in make_targets()]
    platforms = ["linux_x86_64", "linux_aarch64", "macos_arm64", "macos_x86_64", "windows_amd64"]
    pythons = [f"cp3{minor}" for minor in range(8, 16)]
    assert names == [f"{python}-{platform}" for platform in platforms for python in pythons]
    assert {made.tier for made in make_targets()} == {1}


def test_platforms_and_pythons_multiply() -> None:
    made = make_targets(
        ["win_amd64", "cp39-linux_x86_64", "windows"],
        ["3.12", "pp311"],
        admits=SpecifierSet(">3.12"),
    )
    assert [t.name for t in made] == [
        "cp312-windows_amd64",
        "pp311-windows_amd64",
        "cp39-linux_x86_64",
    ]


@pytest.mark.parametrize(
    ("admits", "pythons"),
    [
        (">=3.12", "cp312 cp313 cp314 cp315"),
        (">=3.8,<3.9", "cp38"),
        ("==3.7.*", "cp37"),
        (">=3.6,<3.8", "cp36 cp37"),
        ("==2.7.*", "cp27"),
        (">=2.7,<3", "cp27"),
        ("==3.11.4", "cp311.4"),
        (">=3.9,<3.9.5", "cp39.4"),
    ],
)
def test_the_input_bounds_the_pythons(admits: str, pythons: str) -> None:
    made = make_targets(["linux"], admits=SpecifierSet(admits))
    assert [t.python for t in made] == pythons.split()


def test_an_input_for_no_known_python_is_refused() -> None:
    with pytest.raises(TargetError, match=r"no known Python is admitted by '>=4'"):
        make_targets(admits=SpecifierSet(">=4"))
    with pytest.raises(TargetError, match=r"no Python that <3.10 admits runs on 'ios_arm64'"):
        make_targets(["ios_arm64"], admits=SpecifierSet("<3.10"))
    with pytest.raises(TargetError, match="Python cp38 does not run on ios_arm64"):
        make_targets(["ios_arm64"], ["3.8"])


# Targets that are not in the table


def test_the_host_is_handed_in() -> None:
    host = host_target()
    assert host.name.endswith("@host")
    assert dict(host.environment) == host_environment()
    assert list(host.tags) == [str(tag) for tag in packaging.tags.sys_tags()]
    assert make_targets(["Host"], ["3.8"], host=host) == (host,)


def complete_platform(**changes: object) -> str:
    made = target("cp311-linux_x86_64")
    document = {
        "path": "/usr/bin/python3.11",
        "marker_environment": dict(made.environment) | {"platform_release": "6.1"},
        "compatible_tags": list(made.tags),
    }
    return json.dumps(document | changes)


def test_a_complete_platform_of_pex() -> None:
    made = read_target(complete_platform())
    assert re.fullmatch(r"cp311-linux_x86_64@[0-9a-f]{8}", made.name)
    assert (made.platform, made.python) == ("linux_x86_64", "cp311")
    assert made.environment["platform_release"] == "6.1"
    assert made.tags == target("cp311-linux_x86_64").tags
    assert make_targets([made]) == (made,)


def test_complete_platforms_that_differ_have_different_names() -> None:
    other = read_target(complete_platform(compatible_tags=["cp313-cp313t-linux_x86_64"]))
    assert other != read_target(complete_platform())
    assert other.python == "cp311t"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "expected an object"),
        ("[" * 100_000, "not valid JSON"),
        (complete_platform(marker_environment=None), "f.json: marker_environment: expected"),
        (complete_platform(marker_environment={}), "marker_environment.implementation_name: exp"),
        (complete_platform(compatible_tags=[]), "compatible_tags: expected an array"),
        (
            complete_platform(compatible_tags=["py3-none"]),
            r"compatible_tags\[0\]: expected a wheel",
        ),
        (complete_platform(compatible_tags=[3]), r"compatible_tags\[0\]: expected a wheel tag"),
    ],
)
def test_other_files_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_target(text, path="f.json")


# The listing, and the host


def test_the_listing_has_every_platform() -> None:
    rows = describe_targets()
    assert [row.name for row in rows] == [platform.name for platform in PLATFORMS]
    first = rows[0]
    assert "x86_64-unknown-linux-gnu" in first.names
    assert first.versioned == "manylinux_2_N_x86_64"
    assert first.environment["python_version"] == "3.15"
    for row in rows:
        for name in row.names:
            assert [platform.name for platform in find_platforms(name)] == [row.name]


def test_the_host_is_never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {make_target(*pair).name: make_target(*pair).tags for pair in ALL_PAIRS}

    def refuse(*args: object, **kwargs: object) -> object:
        raise AssertionError("the host was asked")

    monkeypatch.setattr(packaging.markers, "default_environment", refuse)
    for name in ("platform_tags", "sys_tags", "interpreter_name", "interpreter_version"):
        monkeypatch.setattr(packaging.tags, name, refuse)
    for name in ("system", "machine", "mac_ver", "release", "version", "libc_ver", "uname"):
        monkeypatch.setattr(host_platform, name, refuse)
    monkeypatch.setattr(sysconfig, "get_config_var", refuse)
    monkeypatch.setattr(sysconfig, "get_platform", refuse)
    for cached in (make_target, target_platforms._platform_tags, target_names._by_name):
        cached.cache_clear()
    assert {make_target(*pair).name: make_target(*pair).tags for pair in ALL_PAIRS} == expected
    assert find_platforms("x86_64-unknown-linux-musl")[0].name == "musllinux_x86_64"

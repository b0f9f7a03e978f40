"""Policies: what is read, and all that is wrong at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet

from distcycle.errors import InputError, PolicyError
from distcycle.findings import Severity
from distcycle.model import Place
from distcycle.policy import Cut, Deny, Group, Policy, Waiver, Where
from distcycle.policy.parse import merge_policies, parse_policy

DATA = Path(__file__).with_name("data")


def problems(text: str, *, table: str | None = None) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, path="p.toml", table=table)
    return [str(problem) for problem in caught.value.problems]


def waiver(lines: str = "") -> str:
    head = 'version = 1\n[[waive]]\ncode = "wheel-cycle"\npackages = ["a"]\nreason = "r"\n'
    return head + lines


# What is read ------------------------------------------------------------------------------------


def test_every_rule() -> None:
    text = (DATA / "valid" / "every-rule.toml").read_text("utf-8")
    policy = parse_policy(text, path="p.toml")

    def place(line: int, key: str) -> Place:
        return Place(path="p.toml", line=line, key=key)

    assert policy.severities == {
        "extra-cycle": Severity.ALLOW,
        "edges-unknown": Severity.DENY,
    }
    assert policy.flatten_extras
    first, second, third = policy.waivers
    assert first == Waiver(
        code="wheel-cycle",
        packages=("sphinx", "sphinxcontrib-*"),
        where=Where(
            versions=SpecifierSet(">=7,<8"),
            platforms=("linux_*", "macos_arm64"),
            python=SpecifierSet(">=3.9"),
            marker=Marker("os_name == 'posix'"),
        ),
        reason="fixed upstream",
        until=date(2027, 3, 1),
        place=place(8, "waive[0]"),
    )
    assert (second.until, second.until_fixed, second.place) == (
        date(2027, 3, 1),
        False,
        place(18, "waive[1]"),
    )
    assert (third.until, third.until_fixed, third.where) == (None, True, Where())
    assert policy.cuts == (
        Cut(
            package="triton",
            requires="torch",  # type: ignore[arg-type]
            where=Where(
                versions=SpecifierSet("<2.1"),
                platforms=("linux_x86_64",),
                python=SpecifierSet("!=3.12.*"),
                marker=Marker("sys_platform == 'linux'"),
            ),
            move_to_extra="torch",  # type: ignore[arg-type]
            reason="torch itself brings triton in",
            place=place(30, "cut[0]"),
        ),
    )
    assert policy.groups == (
        Group(
            name="airflow",
            packages=("apache-airflow", "apache-airflow-providers-*"),
            reason="released together",
            place=place(40, "group[0]"),
        ),
    )
    assert policy.denials == (
        Deny(packages=("internal-*",), place=place(45, "deny[0]")),
        Deny(packages=("x?",), reason="must build one by one", place=place(48, "deny[1]")),
    )
    assert policy.droppable == {("apache-airflow-providers-*", "apache-airflow"): 0}


def test_options_stand_under_their_names() -> None:
    text = (DATA / "valid" / "audit.toml").read_text("utf-8")
    options = parse_policy(text, path="p.toml").options
    assert options["platform"] == ("linux_x86_64", "host")
    assert options["edges"] == "lock"
    assert options["timeout"] == 0.5
    assert options["retries"] == 0
    assert options["no-cache"] is False


def test_nothing_said_is_nothing_decided() -> None:
    assert parse_policy("version = 1", path="p.toml") == Policy()


def test_table_of_pyproject() -> None:
    text = '[project]\nname = "x"\n[tool.distcycle]\nversion = 1\n[[tool.distcycle.deny]]\n'
    text += 'packages = ["Internal_*"]\n'
    policy = parse_policy(text, path="pyproject.toml", table="tool.distcycle")
    place = Place(path="pyproject.toml", line=5, key="tool.distcycle.deny[0]")
    assert policy.denials == (Deny(packages=("internal-*",), place=place),)


def test_rules_in_one_array_have_lines_too() -> None:
    text = 'version = 1\ndeny = [\n  { packages = ["a"] },\n  { packages = ["b"] },\n]\n'
    places = [deny.place.line for deny in parse_policy(text, path="p.toml").denials]
    assert places == [3, 4]


# What is wrong -----------------------------------------------------------------------------------


def test_waivers_of_modules_name_them_as_they_are_imported() -> None:
    names = ["torch._inductor.*", "torch._*", "_pytest.*", "torch.__config__", "Cython.*"]
    text = f"version = 1\n[[waive]]\ncode = 'import-cycle'\npackages = {names}\nreason = 'r'\n"
    (waiver,) = parse_policy(text, path="p.toml").waivers
    assert waiver.packages == tuple(names)
    text = text.replace("import-cycle", "wheel-cycle")
    (waiver,) = parse_policy(text, path="p.toml").waivers
    assert waiver.packages[:2] == ("torch-inductor-*", "torch-*")


def test_all_problems_in_file_order() -> None:
    text = """\
version = 3
[severity]
whel-cycle = "deny"
wheel-cycle = "denied"
[[waive]]
code = "wheel-cycl"
packages = ["a[b]", 3]
[[cut]]
package = "a"
requires = "b"
versions = "2"
reason = "r"
platform = ["linux_*"]
[audit]
offline = 1
"""
    assert problems(text) == [
        "p.toml:1: version: expected 1, found 3",
        "p.toml:3: severity.whel-cycle: unknown key; did you mean 'wheel-cycle'?",
        "p.toml:4: severity.wheel-cycle: expected 'allow', 'warn' or 'deny', found 'denied'; "
        "did you mean 'deny'?",
        "p.toml:5: waive[0].reason: expected a reason, in words, found nothing",
        "p.toml:6: waive[0].code: expected a code (see 'distcycle codes'), found 'wheel-cycl'; "
        "did you mean 'wheel-cycle'?",
        "p.toml:7: waive[0].packages[0]: expected a project's or module's name, or a pattern "
        "with * and ?, without extras and versions, found 'a[b]'",
        "p.toml:7: waive[0].packages[1]: expected a project's or module's name, or a pattern "
        "with * and ?, without extras and versions, found 3",
        "p.toml:11: cut[0].versions: expected version specifiers such as '>=2,<3', found '2'; "
        "did you mean '==2.*'?",
        "p.toml:13: cut[0].platform: unknown key; did you mean 'platforms'?",
        "p.toml:15: audit.offline: expected true or false, found 1",
    ]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('platforms = ["linux"]', "found 'linux'; did you mean 'linux_*'?"),
        ('platforms = ["win_amd64"]', "found 'win_amd64'; did you mean 'windows_amd64'?"),
        ('platforms = ["manylinux_2_28_x86_64"]', "did you mean 'linux_x86_64'?"),
        ('platforms = ["aarch64-apple-darwin"]', "did you mean 'macos_arm64'?"),
        ('platforms = ["linx_*"]', "found 'linx_*'; did you mean 'linux_*'?"),
        ('platforms = ["Windows_*"]', "did you mean 'windows_*'?"),
        ("platforms = [1]", "a pattern with * and ?, found 1"),
        ('python = "3.11.4"', "did you mean '==3.11.4'?"),
        ("python = 3.11", "found 3.11"),
        ('python = ">=x"', "found '>=x'"),
        ("marker = \"sys_platform = 'linux'\"", "found \"sys_platform = 'linux'\""),
        ("marker = \"python_version ~= '3'\"", "expected a marker such as"),
        ("marker = \"extra == 'x'\"", "no environment has 'extra'"),
        ("marker = \"'a' in extras\"", "no environment has 'extras'"),
        ("until = 2027-03-01T00:00:00", "found a time, or a date with a time"),
        ("until = 10:00:00", "found a time, or a date with a time"),
        ('until = "soon"', "expected a date such as 2027-03-01, found 'soon'"),
        ("until = 2027-03-01\nuntil-fixed = true", "either until or until-fixed, found both"),
        ('until-fixed = "yes"', "expected true or false, found 'yes'"),
        ("versions = []", "found an array"),
        ("versions = {}", "found a table"),
        ("versions = 1979-05-27", "found a date"),
        ("versions = 99999999999", "found another number"),
        (f'versions = "{"9" * 80}x"', f"found '{'9' * 57}...'"),
    ],
)
def test_one_problem(lines: str, said: str) -> None:
    (problem,) = problems(waiver(lines))
    assert problem.startswith(("p.toml:6: waive[0].", "p.toml:7: waive[0]."))
    assert said in problem


def test_one_wrong_table_hides_no_other() -> None:
    text = 'version = 1\nwaive = "x"\nseverity = 1\n[[group]]\nname = "a"\n'
    assert problems(text) == [
        "p.toml:2: waive: expected an array of tables, [[waive]], found 'x'",
        "p.toml:3: severity: expected a table, found 1",
        "p.toml:4: group[0].packages: expected an array, found nothing",
        "p.toml:4: group[0].reason: expected a reason, in words, found nothing",
    ]


def test_checks_across_keys_come_with_all_others() -> None:
    text = waiver("until = 2027-03-01\nuntil-fixed = true\nx = 1\n")
    text += '[[group]]\nname = "g"\npackages = ["a"]\nreason = "r"\n'
    text += '[[group]]\nname = "G"\npackages = ["b"]\nreason = "r"\n'
    assert problems(text) == [
        "p.toml:7: waive[0].until-fixed: expected either until or until-fixed, found both",
        "p.toml:8: waive[0].x: unknown key; expected one of code, packages, versions, platforms, "
        "python, marker, reason, until, until-fixed",
        "p.toml:14: group[1].name: expected a name that no other group has, found 'G' again",
    ]


def test_keys_of_pyproject_say_where_they_stand() -> None:
    text = "[tool.distcycle]\nversion = 1\nwave = []\n"
    assert problems(text, table="tool.distcycle") == [
        "p.toml:3: tool.distcycle.wave: unknown key; did you mean 'waive'?"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "p.toml: there is no table [tool.distcycle]"),
        ("tool = 1", "p.toml: there is no table [tool.distcycle]"),
        ("[tool]\ndistcycle = 1", "p.toml:2: tool.distcycle: expected a table, found 1"),
        ("[tool.distcycle]", "p.toml:1: tool.distcycle.version: expected 1, found nothing"),
    ],
)
def test_table_that_is_none(text: str, said: str) -> None:
    assert problems(text, table="tool.distcycle") == [said]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "p.toml: version: expected 1, found nothing"),
        ("version = 1\nversion = 1", "p.toml:2: not valid TOML: Cannot overwrite a value"),
        ("version = 1\nx = '", "p.toml:2: not valid TOML"),
        ("x = " + "[" * 5000, "p.toml: not valid TOML: nested too deeply"),
        ("x = 1" + "0" * 5000, "p.toml: not valid TOML: nested too deeply or a number too long"),
    ],
)
def test_text_that_is_no_policy(text: str, said: str) -> None:
    (problem,) = problems(text)
    assert problem.startswith(said)


def test_marker_nested_beyond_all_measure() -> None:
    marker = "(" * 5000 + "os_name == 'posix'" + ")" * 5000
    (problem,) = problems(waiver(f'marker = "{marker}"'))
    assert "expected a marker" in problem


# Several policies --------------------------------------------------------------------------------


def test_merge_adds_rules_and_takes_the_later_word() -> None:
    first = parse_policy(
        'version = 1\nflatten-extras = true\nseverity = {self-cycle = "deny", extra-cycle = "deny"}'
        '\naudit = {offline = true, retries = 1}\ndeny = [{packages = ["a"]}]\n'
        'droppable = [{package = "a", requires = "b", cost = 1}]',
        path="first.toml",
    )
    second = parse_policy(
        'version = 1\nseverity = {self-cycle = "allow"}\naudit = {retries = 2}\n'
        'deny = [{packages = ["b"]}]\ndroppable = [{package = "a", requires = "b", cost = 2}]',
        path="second.toml",
    )
    merged = merge_policies([first, second])
    assert merged.severities == {"self-cycle": Severity.ALLOW, "extra-cycle": Severity.DENY}
    assert merged.options == {"offline": True, "retries": 2}
    assert [(rule.packages, rule.place.path) for rule in merged.denials] == [
        (("a",), "first.toml"),
        (("b",), "second.toml"),
    ]
    assert merged.droppable == {("a", "b"): 2}
    assert merged.flatten_extras


def test_merge_of_one_and_of_none() -> None:
    text = (DATA / "valid" / "every-rule.toml").read_text("utf-8")
    policy = parse_policy(text, path="p.toml")
    assert merge_policies([policy]) == policy
    assert merge_policies([]) == Policy()
    assert merge_policies([policy, Policy()]) == replace(policy)


# Whatever the text -------------------------------------------------------------------------------

SCRAPS = [
    *("version = 1\n", "[severity]\n", "[audit]\n", "[[waive]]\n", "[[cut]]\n", "[waive]\n"),
    *('packages = ["a"]\n', 'code = "wheel-cycle"\n', 'reason = "r"\n', "until = 2027-03-01\n"),
    *(
        "[[",
        "]]",
        "[",
        "]",
        "{",
        "}",
        "=",
        ".",
        ",",
        '"',
        "'",
        '"""',
        "\\",
        "#",
        "\n",
        "\r\n",
        "\0",
    ),
    *("tool", "distcycle", "waive", "=1", "= nan\n", "= 1e999\n", "= 0x" + "f" * 5000 + "\n"),
    *("cost", "timeout", "\ud800", "é", "platforms = ['[!]*']\n", "marker = '()'\n"),
    *("python = '===x'\n", "[tool.distcycle]\n", '"a.b" = 1\n', "x.y.z = [[{}]]\n"),
]


@given(
    st.one_of(st.text(), st.lists(st.sampled_from(SCRAPS), max_size=30).map("".join)),
    st.sampled_from([None, "tool.distcycle"]),
)
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_policy_or_an_error(text: str, table: str | None) -> None:
    found: tuple[InputError, ...] = ()
    try:
        policy = parse_policy(text, path="p.toml", table=table)
    except PolicyError as error:
        found = error.problems
        policy = None
    assert (policy is None) == bool(found)
    assert all(problem.path == "p.toml" for problem in found)
    lines = [problem.line for problem in found if problem.line]
    assert lines == sorted(lines)

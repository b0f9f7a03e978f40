from __future__ import annotations

import pytest
from packaging.utils import canonicalize_name

from distcycle.model import Place
from distcycle.readers.requirement_entries import (
    Entry,
    NamelessError,
    NotARequirementError,
    parse_entry,
)
from distcycle.readers.requirement_lines import parse_command

PLACE = Place(path="r.txt", line=3)


def entry(text: str) -> Entry:
    return parse_entry(parse_command(text), place=PLACE)


def test_an_entry_carries_what_its_line_says() -> None:
    via = (canonicalize_name("bar"),)
    hashes = (("sha256", "ab"),)
    read = parse_entry(parse_command("foo==1"), place=PLACE, hashes=hashes, via=via)
    assert (read.package.hashes, read.package.via) == (hashes, via)
    assert read.package.place == read.requirement.place == PLACE


def test_the_name_before_a_reference_counts() -> None:
    read = entry("foo[x] @ https://h.example/bar-1.0.tar.gz")
    assert (read.package.name, read.package.version) == ("foo", None)
    assert read.requirement.extras == ("x",)


@pytest.mark.parametrize("text", ["foo (>=1)", "foo(==1)", "foo>=1,==x", "foo;nope"])
def test_what_looks_like_a_requirement_gives_a_name(text: str) -> None:
    assert entry(text).requirement.name == "foo"


@pytest.mark.parametrize(
    "text", ["foo bar", "foo[x", "f(x)", "x = 1", "a: b", "=====", "some/path and more"]
)
def test_what_does_not_is_refused(text: str) -> None:
    with pytest.raises(NotARequirementError):
        entry(text)


@pytest.mark.parametrize(
    "text", [".", "./x", "-e x", "git+https://h.example/x", "https://h.example"]
)
def test_a_nameless_reference_is_refused_as_such(text: str) -> None:
    with pytest.raises(NamelessError):
        entry(text)

"""Text of a policy to :class:`~distcycle.policy.Policy`; every problem is reported at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tomli
from packaging.utils import canonicalize_name

from distcycle.codes import OF_MODULES
from distcycle.errors import InputError, PolicyError
from distcycle.lines import find_lines
from distcycle.model import Place
from distcycle.policy import Cut, Deny, Group, Policy, Waiver, Where
from distcycle.policy.keys import Key, Section
from distcycle.policy.kinds import Refused, describe_value, suggest
from distcycle.policy.sections import SECTIONS, TOP

__all__ = ["merge_policies", "parse_policy"]

Values = dict[str, Any]


def parse_policy(text: str, *, path: str, table: str | None = None) -> Policy:
    """Read a policy.

    Args:
        text: A TOML document.
        path: The file, as the user named it.
        table: The table that holds the policy, such as ``tool.distcycle``; None for the whole.

    Returns:
        The policy; each of its rules knows its line.

    Raises:
        PolicyError: With everything that is wrong, in file order.

    Source: TOML 1.0, https://toml.io/en/v1.0.0.
    """
    reader = _Reader(text, path, table or "")
    policy = reader.read_policy(_find_table(_load(text, path), path, table))
    if reader.problems:
        raise PolicyError(reader.located_problems())
    return policy


def _load(text: str, path: str) -> Values:
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        problem = InputError(f"not valid TOML: {error.msg}", path=path, line=error.lineno)
    except (RecursionError, ValueError):
        problem = InputError("not valid TOML: nested too deeply or a number too long", path=path)
    raise PolicyError([problem]) from None


def _find_table(document: Values, path: str, table: str | None) -> object:
    value: object = document
    for name in table.split(".") if table else ():
        value = value.get(name) if isinstance(value, dict) else None
    if value is None:
        raise PolicyError([InputError(f"there is no table [{table}]", path=path)])
    return value


class _Reader:
    """Reads the tables of one document, and collects what is wrong with them.

    Args:
        text: The document.
        path: The file.
        top: The key path of the policy's table.
    """

    def __init__(self, text: str, path: str, top: str) -> None:
        self.text = text
        self.path = path
        self.top = top
        self.problems: list[tuple[str, str]] = []

    def located_problems(self) -> list[InputError]:
        """Everything that is wrong, in file order."""
        lines = find_lines(self.text, "toml", [key for key, _ in self.problems])
        errors = [
            InputError(problem, path=self.path, line=lines.get(key), key=key or None)
            for key, problem in self.problems
        ]
        return sorted(errors, key=lambda error: error.line or math.inf)

    def refuse(self, key: str, problem: str) -> None:
        """Note that something is wrong."""
        self.problems.append((key, problem))

    def read_policy(self, value: object) -> Policy:
        """Read the policy's table; what comes of it counts only if nothing was wrong."""
        if not isinstance(value, dict):
            self.refuse(self.top, f"expected a table, found {describe_value(value)}")
            return Policy()
        sections = {section.name: section for section in SECTIONS}
        top = self.read_table(TOP, value, self.top, also=sections)
        tables = {
            name: self.read_section(section, value.get(name)) for name, section in sections.items()
        }
        self.check_ends(tables["waive"])
        self.check_names(tables["group"])
        return Policy() if self.problems else self.build(top, tables)

    def read_section(self, section: Section, value: object) -> list[Values]:
        """Read a table or an array of tables; none when absent."""
        key = self.key_of(section.name)
        if value is None:
            return []
        if not section.repeated:
            return [self.read_table(section, value, key)]
        if not isinstance(value, list):
            problem = f"expected an array of tables, [[{key}]], found {describe_value(value)}"
            self.refuse(key, problem)
            return []
        return [self.read_table(section, item, f"{key}[{i}]") for i, item in enumerate(value)]

    def read_table(
        self, section: Section, value: object, key: str, *, also: Iterable[str] = ()
    ) -> Values:
        """Read what a table holds under the keys that it may have.

        Args:
            section: What the table may hold.
            value: The table.
            key: The path to it.
            also: Keys that it may have besides, read elsewhere.
        """
        if not isinstance(value, dict):
            self.refuse(key, f"expected a table, found {describe_value(value)}")
            return {}
        known = [*section.by_name, *also]
        for name in value:
            if name not in known:
                self.refuse(_join(key, name), f"unknown key{_hint(name, known)}")
        for each in section.keys:
            if each.required and each.name not in value:
                noun = "an array" if each.many else each.kind.noun
                self.refuse(_join(key, each.name), f"expected {noun}, found nothing")
        return {
            name: self.read_value(each, value[name], _join(key, name))
            for name, each in section.by_name.items()
            if name in value
        }

    def read_value(self, key: Key, value: object, path: str) -> Any:
        """Read the value of a key, or each item of it."""
        if not key.many:
            return self.read_item(key, value, path)
        if not isinstance(value, list):
            self.refuse(path, f"expected an array, found {describe_value(value)}")
            return ()
        if not value:
            self.refuse(path, "expected an array of one item or more, found none")
        return tuple(self.read_item(key, item, f"{path}[{i}]") for i, item in enumerate(value))

    def read_item(self, key: Key, value: object, path: str) -> Any:
        """Read one value of a key's kind; None, and a problem, when it is none."""
        try:
            return key.kind.read(value)
        except Refused as error:
            self.refuse(path, str(error))
            return None

    def key_of(self, name: str) -> str:
        """The path of a member of the policy's table."""
        return _join(self.top, name)

    def check_ends(self, waivers: Sequence[Values]) -> None:
        """Refuse waivers that end in two ways."""
        for i, waiver in enumerate(waivers):
            if "until" in waiver and waiver.get("until-fixed"):
                key = self.key_of(f"waive[{i}].until-fixed")
                self.refuse(key, "expected either until or until-fixed, found both")

    def check_names(self, groups: Sequence[Values]) -> None:
        """Refuse groups of one name: what is written for build tools has each name once."""
        seen: set[str] = set()
        for i, group in enumerate(groups):
            written = group.get("name") or ""
            name = canonicalize_name(written)
            if name in seen:
                problem = f"expected a name that no other group has, found {written!r} again"
                self.refuse(self.key_of(f"group[{i}].name"), problem)
            seen |= {name} if name else set()

    def build(self, top: Values, tables: Mapping[str, Sequence[Values]]) -> Policy:
        """Make the records out of values that were all read."""
        keys = [
            self.key_of(f"{name}[{i}]")
            for name in ("waive", "cut", "group", "deny")
            for i in range(len(tables[name]))
        ]
        options = {k: v for table in tables["audit"] for k, v in table.items()}
        option_keys = {name: self.key_of(f"audit.{name}") for name in options}
        keys += option_keys.values()
        lines = find_lines(self.text, "toml", keys)
        places = {key: Place(path=self.path, line=lines.get(key), key=key) for key in keys}

        def placed(name: str) -> Iterable[tuple[Values, Place]]:
            return (
                (values, places[self.key_of(f"{name}[{i}]")])
                for i, values in enumerate(tables[name])
            )

        return Policy(
            severities={k: v for table in tables["severity"] for k, v in table.items()},
            waivers=tuple(_waiver(values, place) for values, place in placed("waive")),
            cuts=tuple(_cut(values, place) for values, place in placed("cut")),
            groups=tuple(Group(**values, place=place) for values, place in placed("group")),
            denials=tuple(Deny(**values, place=place) for values, place in placed("deny")),
            droppable={(v["package"], v["requires"]): v["cost"] for v in tables["droppable"]},
            options=options,
            option_places={name: places[key] for name, key in option_keys.items()},
            flatten_extras=top.get("flatten-extras", False),
        )


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _hint(name: str, known: Sequence[str]) -> str:
    hint = suggest(name, known)
    return hint if hint or len(known) > 12 else f"; expected one of {', '.join(known)}"


def _where(values: Values) -> Where:
    return Where(
        versions=values.get("versions"),
        platforms=values.get("platforms", ()),
        python=values.get("python"),
        marker=values.get("marker"),
    )


def _waiver(values: Values, place: Place) -> Waiver:
    code, names = values["code"], values["packages"]
    return Waiver(
        code=code,
        packages=names if code in OF_MODULES else tuple(map(canonicalize_name, names)),
        where=_where(values),
        reason=values["reason"],
        until=values.get("until"),
        until_fixed=values.get("until-fixed", False),
        place=place,
    )


def _cut(values: Values, place: Place) -> Cut:
    return Cut(
        package=values["package"],
        requires=values["requires"],
        where=_where(values),
        move_to_extra=values.get("move-to-extra"),
        reason=values["reason"],
        place=place,
    )


def merge_policies(policies: Iterable[Policy]) -> Policy:
    """Make one policy of several.

    Rules add up. Of severities, options and costs the later wins. Extras that one policy flattens
    stay flattened.

    Args:
        policies: In the order in which they were named.
    """
    every = list(policies)
    return Policy(
        severities={k: v for policy in every for k, v in policy.severities.items()},
        waivers=tuple(rule for policy in every for rule in policy.waivers),
        cuts=tuple(rule for policy in every for rule in policy.cuts),
        groups=tuple(rule for policy in every for rule in policy.groups),
        denials=tuple(rule for policy in every for rule in policy.denials),
        droppable={k: v for policy in every for k, v in policy.droppable.items()},
        options={k: v for policy in every for k, v in policy.options.items()},
        option_places={k: v for policy in every for k, v in policy.option_places.items()},
        flatten_extras=any(policy.flatten_extras for policy in every),
    )

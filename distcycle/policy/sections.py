"""Every key of a policy file, in one table.

The reader, the schema, the template of ``distcycle policy init`` and the documentation follow it.
"""

from __future__ import annotations

from distcycle.findings import CODES
from distcycle.policy.keys import Key, Section
from distcycle.policy.kinds import (
    BOOLEAN,
    CODE,
    DATE,
    LABEL,
    MARKER,
    MEMBER_PATTERN,
    NAME,
    NAME_PATTERN,
    PLATFORM,
    REASON,
    SEVERITY,
    SPECIFIERS,
    integer_kind,
)
from distcycle.policy.options import OPTIONS

__all__ = ["SECTIONS", "TOP"]


def _packages(meaning: str, example: str) -> Key:
    return Key(
        name="packages",
        kind=NAME_PATTERN,
        many=True,
        required=True,
        meaning=f"{meaning} Names in any spelling, and patterns with `*` and `?`.",
        example=example,
    )


def _reason(meaning: str, example: str, *, required: bool = True) -> Key:
    return Key(name="reason", kind=REASON, required=required, meaning=meaning, example=example)


def _where(versions: str) -> tuple[Key, ...]:
    return (
        Key(
            name="versions",
            kind=SPECIFIERS,
            meaning=versions,
            example='"<2.1"',
            default="every version",
        ),
        Key(
            name="platforms",
            kind=PLATFORM,
            many=True,
            meaning="Where it holds: platforms of `distcycle targets`, and patterns with `*` "
            "and `?`.",
            example='["linux_*"]',
            default="every platform",
        ),
        Key(
            name="python",
            kind=SPECIFIERS,
            meaning="The versions of Python on which it holds.",
            example='">=3.8"',
            default="every version",
        ),
        Key(
            name="marker",
            kind=MARKER,
            meaning="Any other limit on environments, as a marker (PEP 508) without extras.",
            example="\"platform_python_implementation == 'CPython'\"",
            default="every environment",
        ),
    )


TOP = Section(
    name="",
    meaning="The policy as a whole.",
    keys=(
        Key(
            name="version",
            kind=integer_kind(1, 1),
            required=True,
            meaning="The version of this format.",
            example="1",
        ),
        Key(
            name="flatten-extras",
            kind=BOOLEAN,
            meaning="Whether a loop through an extra weighs like one without, as for build tools "
            "that know no extras (Bazel).",
            example="false",
            default="false",
        ),
    ),
)

_SEVERITY = Section(
    name="severity",
    meaning="What findings weigh: `allow`, `warn` or `deny`. The flags `-A`, `-W` and `-D` go "
    "before it.",
    keys=tuple(
        Key(
            name=code.name,
            kind=SEVERITY,
            meaning=code.meaning,
            example=f'"{code.severity}"',
            default=f'"{code.severity}"',
        )
        for code in CODES.values()
    ),
)

_WAIVE = Section(
    name="waive",
    repeated=True,
    meaning="Accepts a finding: it stays in the report, and is not counted. A loop is accepted "
    "only if every member of it is named or matched, so that one that has grown is new; only "
    "where the limits hold, so that what remains of it still counts; and only until the date.",
    keys=(
        Key(
            name="code",
            kind=CODE,
            required=True,
            meaning="The code of the finding.",
            example='"wheel-cycle"',
        ),
        Key(
            name="packages",
            kind=MEMBER_PATTERN,
            many=True,
            required=True,
            meaning="The packages that the finding may be about. Names in any spelling, and "
            "patterns with `*` and `?`. For `import-cycle` and `unreadable-module`, modules: names "
            "as they are imported, and patterns.",
            example='["sphinx", "sphinxcontrib-*"]',
        ),
        *_where("The versions of the packages for which it holds."),
        _reason("Why it is accepted.", '"fixed upstream in 1.1.10, blocked by our theme"'),
        Key(
            name="until",
            kind=DATE,
            meaning="The last day on which it holds, as a date of TOML or a string.",
            example="2027-03-01",
            default="for ever",
        ),
        Key(
            name="until-fixed",
            kind=BOOLEAN,
            meaning="Whether it ends once the index has releases without the loop. Not together "
            "with `until`.",
            example="false",
            default="false",
        ),
    ),
)

_CUT = Section(
    name="cut",
    repeated=True,
    meaning="Takes one edge out of the metadata, before loops are sought.",
    keys=(
        Key(
            name="package",
            kind=NAME_PATTERN,
            required=True,
            meaning="The project whose requirement goes, or a pattern.",
            example='"triton"',
        ),
        Key(
            name="requires",
            kind=NAME,
            required=True,
            meaning="The project that is no longer required.",
            example='"torch"',
        ),
        *_where("The versions of `package` for which it holds."),
        Key(
            name="move-to-extra",
            kind=NAME,
            meaning="The extra of `package` under which the requirement is kept.",
            example='"torch"',
            default="the requirement goes",
        ),
        _reason("Why the edge can go.", '"torch itself brings triton in"'),
    ),
)

_GROUP = Section(
    name="group",
    repeated=True,
    meaning="Contains every loop whose members it covers: they are built and installed as one "
    "unit. Such a loop stays in the report, and is not counted.",
    keys=(
        Key(
            name="name",
            kind=LABEL,
            required=True,
            meaning="The name of the group; no other has it.",
            example='"airflow"',
        ),
        _packages(
            "The members; more than a loop has are no finding.",
            '["apache-airflow", "apache-airflow-providers-*"]',
        ),
        _reason("Why they belong together.", '"released together"'),
    ),
)

_DENY = Section(
    name="deny",
    repeated=True,
    meaning="Denies every loop that one of its packages is in, whatever else this policy says.",
    keys=(
        _packages("The packages.", '["internal-*"]'),
        _reason("Why.", '"our own packages must build one by one"', required=False),
    ),
)

_DROPPABLE = Section(
    name="droppable",
    repeated=True,
    meaning="Says what it costs to take an edge out, where several cuts would open a loop.",
    keys=(
        Key(
            name="package",
            kind=NAME_PATTERN,
            required=True,
            meaning="The project that requires, or a pattern.",
            example='"apache-airflow-providers-*"',
        ),
        Key(
            name="requires",
            kind=NAME_PATTERN,
            required=True,
            meaning="The project that is required, or a pattern.",
            example='"apache-airflow"',
        ),
        Key(
            name="cost",
            kind=integer_kind(0, 100),
            required=True,
            meaning="From 0, which costs nothing, to 100.",
            example="0",
        ),
    ),
)

_AUDIT = Section(
    name="audit",
    meaning="Options of `distcycle audit` and `distcycle diff`, by their long names. The command "
    "line goes before them, and `--show-config` says which value holds and who gave it. Files and "
    "folders that are read are meant from the policy's folder.",
    keys=OPTIONS,
)

SECTIONS: tuple[Section, ...] = (
    _SEVERITY,
    _AUDIT,
    _WAIVE,
    _CUT,
    _GROUP,
    _DENY,
    _DROPPABLE,
)

"""The options of ``distcycle audit`` that a policy can give under ``[audit]``, by their long names.

What belongs to one run (inputs, ``--policy``, verbosity, ``--write-baseline``) has no place in a
policy, and ``--allow``, ``--warn`` and ``--deny`` have a table of their own.
"""

from __future__ import annotations

from distcycle.model import LONGEST_SILENCE_S
from distcycle.policy.keys import Key
from distcycle.policy.kinds import BOOLEAN, TEXT, integer_kind, number_kind, word_kind

__all__ = ["OPTIONS"]

OPTIONS: tuple[Key, ...] = (
    Key(
        name="platform",
        kind=TEXT,
        many=True,
        meaning="The platforms to judge: any name that `distcycle targets` lists, or `host`.",
        example='["linux_x86_64", "macos_arm64"]',
        default="every environment",
    ),
    Key(
        name="python-version",
        kind=TEXT,
        many=True,
        meaning="The versions of Python to judge.",
        example='["3.11", "3.12"]',
        default="those that the input admits",
    ),
    Key(
        name="targets",
        kind=TEXT,
        many=True,
        meaning="The targets to name where every environment is judged.",
        example='["tier1"]',
        default='["tier1"]',
    ),
    Key(
        name="extra",
        kind=TEXT,
        many=True,
        meaning="Extras of the project that are requested.",
        example='["docs"]',
        default="none",
    ),
    Key(
        name="group",
        kind=TEXT,
        many=True,
        meaning="Dependency groups of the project that are requested.",
        example='["test"]',
        default="those that the lock's tool installs",
    ),
    Key(
        name="all-extras",
        kind=BOOLEAN,
        meaning="Whether all extras of the project are requested.",
        example="false",
        default="false",
    ),
    Key(
        name="edges",
        kind=word_kind("'wheel' or 'lock'", ("wheel", "lock")),
        meaning="Whether each wheel is asked what it requires, or the lock is believed.",
        example='"wheel"',
        default='"wheel"',
    ),
    Key(
        name="fail-on-unknown",
        kind=BOOLEAN,
        meaning="Whether packages whose requirements could not be had fail the run.",
        example="false",
        default="false",
    ),
    Key(
        name="baseline",
        kind=TEXT,
        meaning="A file with the findings that are known.",
        example='"distcycle-baseline.json"',
        default="none",
        is_path=True,
    ),
    Key(
        name="max-cycles",
        kind=integer_kind(1),
        meaning="How many loops of a component are listed.",
        example="100",
        default="100",
    ),
    Key(
        name="format",
        kind=TEXT,
        many=True,
        meaning="The forms of the report, each with a file or for standard output.",
        example='["text"]',
        default='["text"]',
    ),
    Key(
        name="color",
        kind=word_kind("'auto', 'always' or 'never'", ("auto", "always", "never")),
        meaning="Whether text is coloured.",
        example='"auto"',
        default='"auto"',
    ),
    Key(
        name="offline",
        kind=BOOLEAN,
        meaning="Whether no socket is opened.",
        example="false",
        default="false",
    ),
    Key(
        name="bundle",
        kind=TEXT,
        meaning="A file with facts, saved by `distcycle bundle`.",
        example='"facts.json"',
        default="none",
        is_path=True,
    ),
    Key(
        name="index-url",
        kind=TEXT,
        meaning="The package index.",
        example='"https://pypi.example/simple"',
        default="what the input names, else what pip is configured for",
    ),
    Key(
        name="extra-index-url",
        kind=TEXT,
        many=True,
        meaning="Further indexes.",
        example='["https://pypi.example/more"]',
        default="as for `index-url`",
    ),
    Key(
        name="find-links",
        kind=TEXT,
        many=True,
        meaning="Folders and pages with wheels.",
        example='["wheels"]',
        default="as for `index-url`",
        is_path=True,
    ),
    Key(
        name="no-index",
        kind=BOOLEAN,
        meaning="Whether no index is asked.",
        example="false",
        default="false",
    ),
    Key(
        name="cache-dir",
        kind=TEXT,
        meaning="The folder in which facts are kept.",
        example='".distcycle-cache"',
        default="the user's cache folder",
        is_path=True,
    ),
    Key(
        name="no-cache",
        kind=BOOLEAN,
        meaning="Whether facts are kept nowhere.",
        example="false",
        default="false",
    ),
    Key(
        name="cert",
        kind=TEXT,
        meaning="A file with certificate authorities.",
        example='"authorities.pem"',
        default="as pip is configured",
        is_path=True,
    ),
    Key(
        name="proxy",
        kind=TEXT,
        meaning="The proxy for all requests.",
        example='"http://proxy.example:3128"',
        default="as pip is configured",
    ),
    Key(
        name="timeout",
        kind=number_kind(LONGEST_SILENCE_S),
        meaning="How long to wait for an index that says nothing, in seconds.",
        example="15",
        default="as pip is configured, else 15",
    ),
    Key(
        name="retries",
        kind=integer_kind(0),
        meaning="How often a failed request is repeated.",
        example="3",
        default="3",
    ),
    Key(
        name="concurrency",
        kind=integer_kind(1),
        meaning="How many requests are made at a time.",
        example="32",
        default="32",
    ),
)

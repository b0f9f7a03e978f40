"""From options to what is read, judged and asked: inputs, scopes, policies, the library."""

from __future__ import annotations

import os
import sys

from distcycle.errors import InputError

# Importing typing alone takes as long as starting Python; type checkers know this name by itself.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from datetime import date, datetime
    from pathlib import Path

    from distcycle.baseline import Baseline
    from distcycle.emitters import Emitter
    from distcycle.judgement import Options
    from distcycle.metadata import Library
    from distcycle.model import Facts, Snapshot
    from distcycle.plan import UpgradePlan
    from distcycle.policy import Policy
    from distcycle.resolution import Rules
    from distcycle.scope import Scope
    from distcycle.selection import Request
    from distcycle.settings import Setting
    from distcycle.surveying import ModuleJudge
    from distcycle.targets import Target
    from distcycle.witnesses import Means

__all__ = [
    "constrain",
    "find_cache_dir",
    "find_emitter",
    "find_pin_emitter",
    "find_target",
    "find_ways",
    "hint_nearest",
    "make_judgement",
    "make_library",
    "make_library_if_asked",
    "make_means",
    "make_module_judge",
    "make_request",
    "make_resolvable",
    "make_rules",
    "make_scope",
    "read_input",
    "read_pairs",
    "read_policy",
    "read_snapshots",
    "settle_options",
]


def read_pairs(options: argparse.Namespace) -> Iterator[tuple[Snapshot, Snapshot, str]]:
    """The old and the new state of each input, and what to call the old one."""
    from distcycle import api

    if options.python:
        raise InputError("--python names an environment as it is; diff needs two states")
    kind = options.input_kind
    if options.since:
        for path in options.inputs or [api.find_input(".")]:
            old = api.read_since(path, options.since, kind=kind)
            yield old, api.read(path, kind=kind), old.path
        return
    if len(options.inputs) != 2:
        raise InputError("expected the old and the new input, or --since REV")
    old_path, new_path = options.inputs
    yield api.read(old_path, kind=kind), api.read(new_path, kind=kind), old_path


def settle_options(options: argparse.Namespace) -> tuple[Policy, list[Setting]]:
    """Read the policy, and give the options that the command line leaves open their values."""
    from distcycle.settings import settle

    policy = read_policy(options)
    settings = settle(options, options.defaults, policy)
    given = {s.name for s in settings if s.source == "command line"}
    if not (options.resolve or options.show_config):
        _refuse_idle(given)
    fetches = options.allow_download and "allow-download" in given
    if fetches and not (options.imports or options.show_config):
        raise InputError("--allow-download goes with --imports")
    return policy, settings


_ONLY_RESOLVED = ("constraint", "pre", "only-binary", "no-binary", "exclude-newer", "prefer")


def _refuse_idle(given: set[str]) -> None:
    """Refuse options that say how to resolve where nothing is resolved."""
    for name in _ONLY_RESOLVED:
        if name in given:
            raise InputError(f"--{name} goes with --resolve")


def make_judgement(options: argparse.Namespace, policy: Policy) -> Options:
    """Make what the judgement is told: policy, date, baseline and limits."""
    from distcycle.judgement import Options

    return Options(
        request=make_request(options),
        policy=_weigh(policy, options),
        max_cycles=options.max_cycles,
        today=_today(options),
        baseline=_read_baseline(options),
        build=options.build,
        imports=options.imports,
    )


def _today(options: argparse.Namespace) -> date:
    from datetime import datetime, timezone

    today: date = options.today or datetime.now(timezone.utc).date()
    return today


def _read_baseline(options: argparse.Namespace) -> Baseline | None:
    from distcycle import api
    from distcycle.baseline import parse_baseline

    if not options.baseline or options.write_baseline:
        return None
    return parse_baseline(api.read_text(options.baseline), path=options.baseline)


def make_module_judge(options: argparse.Namespace) -> ModuleJudge:
    """Make what judges loops of modules; with --check those count that nobody weighed otherwise."""
    from dataclasses import replace

    from distcycle.findings import Severity
    from distcycle.surveying import CODE, ModuleJudge

    policy = _weigh(read_policy(options), options)
    if options.check and CODE not in policy.severities:
        policy = replace(policy, severities={**policy.severities, CODE: Severity.DENY})
    return ModuleJudge(policy, _read_baseline(options), _today(options))


def find_target(options: argparse.Namespace) -> Target | None:
    """The one target for which modules are looked at; None for all at once."""
    from distcycle import api

    return api.find_target(options.platform, options.python_version)


def find_cache_dir(options: argparse.Namespace) -> Path | None:
    """Where facts are kept; None for nowhere."""
    from pathlib import Path

    from distcycle.metadata.cache import default_cache_dir

    if options.no_cache:
        return None
    return Path(options.cache_dir) if options.cache_dir else default_cache_dir()


def find_emitter(options: argparse.Namespace) -> Emitter | None:
    """Find what writes for the tool that is named; None when none is."""
    from distcycle.emitters import EMITTERS
    from distcycle.emitters.pins import PIN_EMITTERS

    if options.emit is None:
        if options.check or options.output:
            raise InputError("--check and --output go with --emit")
        return None
    if options.emit == "patch":
        return None
    if options.emit in PIN_EMITTERS.keys() - EMITTERS.keys():
        raise InputError(f"--emit {options.emit} goes with --upgrade")
    if options.emit not in EMITTERS:
        hint = hint_nearest(options.emit, EMITTERS)
        raise InputError(f"nothing is written for {options.emit!r}{hint}")
    return EMITTERS[options.emit]


def read_snapshots(options: argparse.Namespace) -> list[Snapshot]:
    """Read the inputs, or the one that stands here."""
    from distcycle import api

    if options.python:
        if options.inputs:
            raise InputError("--python names an environment; no INPUT goes with it")
        return [api.read_environment(python=options.python)]
    if not options.inputs and getattr(options, "resolve", False):
        return [read_input(".", options)]
    inputs = options.inputs or [api.find_input(".")]
    return [read_input(path, options) for path in inputs]


def read_input(path: str, options: argparse.Namespace) -> Snapshot:
    """Read an input; with --resolve it may be a requirement, or a project without a lock."""
    from distcycle import api

    if not getattr(options, "resolve", False) or path == "-" or options.input_kind:
        if hasattr(options, "resolve") and not os.path.exists(path) and _is_requirement(path):
            raise InputError("there is no such file; --resolve judges a requirement", path=path)
        return api.read(path, kind=options.input_kind)
    if os.path.isdir(path):
        return api.read(api.find_unlocked(path))
    is_file = os.path.exists(path) and not path.endswith((".whl", ".tar.gz", ".zip"))
    return api.read(path) if is_file else api.read_requirement(path)


def _is_requirement(text: str) -> bool:
    """Whether a text can be meant as a requirement, and hardly as the name of a file."""
    from distcycle.requirements import parse_requirement

    try:
        requirement = parse_requirement(text)
    except ValueError:
        return False
    says_more = requirement.specifier or requirement.extras or requirement.url
    return requirement.problem is None and bool(says_more)


def make_rules(options: argparse.Namespace, snapshot: Snapshot, path: str) -> Rules:
    """Make the rules of a resolution from the options and from what the input says."""
    from distcycle import api
    from distcycle.model import FileRules
    from distcycle.resolution import Rules

    given = snapshot.rules
    return Rules(
        files=FileRules(
            pre=(":all:",) if options.pre else given.pre,
            only_binary=(*given.only_binary, *_names(options.only_binary)),
            no_binary=(*given.no_binary, *_names(options.no_binary)),
            require_hashes=given.require_hashes,
        ),
        exclude_newer=_moment(options.exclude_newer) if options.exclude_newer else None,
        prefer=options.prefer,
        locked=api.read_locked(path) if options.prefer == "locked" else {},
    )


def _names(values: Iterable[str]) -> Iterator[str]:
    from packaging.utils import canonicalize_name

    for name in ",".join(values).split(","):
        if name.strip():
            yield name.strip() if name.strip() == ":all:" else canonicalize_name(name.strip())


def _moment(text: str) -> datetime:
    """The moment after which files are too new; a day counts with all its hours."""
    from datetime import date, datetime, timedelta, timezone

    try:
        day = date.fromisoformat(text)
    except ValueError:
        pass
    else:
        start = datetime(day.year, day.month, day.day, tzinfo=timezone.utc)
        return start if day == date.max else start + timedelta(days=1)
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        problem = f"--exclude-newer: expected a date such as 2026-12-31, found {text!r}"
        raise InputError(problem) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def make_resolvable(
    snapshot: Snapshot, options: argparse.Namespace, request: Request, path: str = ""
) -> tuple[Scope, Rules | None]:
    """Make the scope of an input, and with --resolve the rules by which it is resolved.

    A lock is judged as it stands. ``path`` is where a lock of the input is sought, if elsewhere.
    """
    from distcycle.gathering import UNLOCKED

    scope = make_scope(constrain(snapshot, options.constraint), options, request)
    if not options.resolve or snapshot.kind not in UNLOCKED:
        return scope, None
    return scope, make_rules(options, snapshot, path or snapshot.path)


def find_ways(
    snapshot: Snapshot, options: argparse.Namespace, library: Library, *, is_one: bool = False
) -> Iterator[tuple[Scope, Facts | None]]:
    """The input as it stands, or with --resolve each way in which it resolves, told on stderr."""
    from distcycle import api

    if not (options.resolve or getattr(options, "upgrade", False)):
        values = ((name, getattr(options, name.replace("-", "_"))) for name in _ONLY_RESOLVED)
        _refuse_idle({name for name, value in values if value and value != "highest"})
    scope, rules = make_resolvable(snapshot, options, make_request(options))
    if rules is None:
        yield scope, None
        return
    ways, notes = api.resolve_scope(scope, library, rules)
    if is_one and len(ways) > 1:
        problem = f"resolves in {len(ways)} ways; name one target by --platform"
        raise InputError(f"{problem} and --python-version", path=snapshot.path)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    for way, facts in ways:
        if len(ways) > 1:
            print(f"# {', '.join(target.name for target in way.targets)}")
        yield way, facts


def find_pin_emitter(options: argparse.Namespace) -> Callable[[UpgradePlan], str] | None:
    """Find what writes the pins of an upgrade; None when they are only listed."""
    from distcycle.emitters.pins import PIN_EMITTERS

    if options.edges == "lock":
        raise InputError("--edges lock does not go with --upgrade, which asks wheels")
    for name in ("check", "write_wheels", "merge_wheels", "to_extra"):
        if getattr(options, name):
            raise InputError(f"--{name.replace('_', '-')} does not go with --upgrade")
    if options.emit is None:
        if options.output:
            raise InputError("--output goes with --emit")
        return None
    if options.emit not in PIN_EMITTERS:
        known = ", ".join(PIN_EMITTERS)
        raise InputError(f"--emit {options.emit}: with --upgrade expected one of {known}")
    return PIN_EMITTERS[options.emit]


def constrain(snapshot: Snapshot, files: Sequence[str]) -> Snapshot:
    """An input with the bounds of further files of constraints."""
    if not files:
        return snapshot
    from dataclasses import replace

    from distcycle import api

    further = [api.read(file, kind="requirements") for file in files]
    roots = [root.requirement for bounds in further for root in bounds.roots or ()]
    nested = [requirement for bounds in further for requirement in bounds.constraints]
    problems = [problem for bounds in further for problem in bounds.problems]
    return replace(
        snapshot,
        constraints=(*snapshot.constraints, *roots, *nested),
        problems=(*snapshot.problems, *problems),
    )


def make_scope(snapshot: Snapshot, options: argparse.Namespace, request: Request) -> Scope:
    """Make the scope of an input from the options on targets."""
    from distcycle import api

    return api.make_scope(
        snapshot,
        platforms=options.platform,
        python_versions=options.python_version,
        named=options.targets,
        request=request,
    )


def make_request(options: argparse.Namespace) -> Request:
    """Make the request from the options on extras, groups and edges."""
    from packaging.utils import canonicalize_name

    from distcycle.selection import Request

    return Request(
        extras=frozenset(map(canonicalize_name, options.extra)),
        groups=frozenset(map(canonicalize_name, options.group)),
        all_extras=options.all_extras,
        edges=options.edges,
    )


def read_policy(options: argparse.Namespace) -> Policy:
    """Read the policies that are named, or the one that stands here."""
    from distcycle import api

    return api.read_policies(options.policy, search=not options.no_policy)


def _weigh(policy: Policy, options: argparse.Namespace) -> Policy:
    """The policy of the files, then of the flags."""
    from dataclasses import replace

    from distcycle.errors import InputError
    from distcycle.findings import CODES, Severity

    fails = getattr(options, "fail_on_unknown", False)
    severities = {"edges-unknown": Severity.DENY} if fails else {}
    for code, severity in options.severities:
        if code not in CODES:
            raise InputError(f"unknown code {code!r}{hint_nearest(code, CODES)}")
        severities[code] = Severity(severity)
    return replace(policy, severities={**policy.severities, **severities})


def hint_nearest(name: str, known: Iterable[str]) -> str:
    """A hint at the nearest known name; nothing when none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def make_library_if_asked(options: argparse.Namespace) -> AbstractContextManager[Library | None]:
    """No library where the lock is believed: loading it takes as long as judging a lock."""
    from contextlib import nullcontext

    believes = options.edges == "lock" and not options.bundle
    believes = believes and not options.build and not options.imports
    return nullcontext() if believes else make_library(options)


def make_means(options: argparse.Namespace) -> Means | None:
    """How modules may be sought; None where it is not looked at what they import."""
    if not options.imports:
        return None
    from distcycle.witnesses import Means

    def tell(text: str) -> None:
        if not options.quiet:
            print(text, file=sys.stderr, flush=True)

    site = None
    if options.python and getattr(options, "input", None):
        from distcycle.readers.interpreter import ask_interpreter, search_path

        site = search_path(ask_interpreter(options.python)[1])
    return Means(
        download=options.allow_download and not options.offline,
        tell=tell,
        site=site,
        processes=os.cpu_count() or 1,
    )


def make_library(options: argparse.Namespace) -> Library:
    """Make what finds facts, from the options on metadata."""
    from pathlib import Path

    from distcycle.metadata import Library
    from distcycle.metadata import Options as FactOptions
    from distcycle.metadata.bundle import read_bundle
    from distcycle.metadata.urls import is_url

    bundle = None
    if options.bundle:
        try:
            text = Path(options.bundle).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8 text"
            raise InputError(f"cannot be read: {reason}", path=options.bundle) from None
        bundle = read_bundle(text, path=options.bundle)
    for place in options.find_links:
        if not is_url(place) and not os.path.exists(place):
            raise InputError("--find-links: there is no such file or folder", path=place)
    return Library(
        FactOptions(
            index_url=options.index_url,
            extra_index_urls=tuple(options.extra_index_url),
            find_links=tuple(options.find_links),
            no_index=options.no_index,
            offline=options.offline,
            bundle=bundle,
            concurrency=options.concurrency,
            timeout_s=options.timeout,
            retries=options.retries,
            cert=options.cert,
            proxy=options.proxy,
            cache_dir=find_cache_dir(options),
            progress=_progress(options),
        )
    )


def _progress(options: argparse.Namespace) -> Callable[[int, int], None] | None:
    """A line on stderr that counts and is erased in the end; only on a terminal."""
    if options.quiet or not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        text = f"metadata {done}/{total}" if done < total else ""
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    return show

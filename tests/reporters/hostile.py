"""Reports to feed every form with: a hostile one, an empty one, and a large one.

Names, markers, paths and reasons come out of files that anybody may have written. Each of them here
holds all that means something to a terminal, a browser, a parser or a CI system.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from distcycle.findings import (
    CODES,
    Change,
    Component,
    Cycle,
    Edge,
    Finding,
    Input,
    Member,
    Missing,
    NearMiss,
    Opened,
    Report,
    Rule,
    Severity,
    Summary,
    TargetRow,
    Variant,
)
from distcycle.sightings import (
    EntryFailure,
    ImportFix,
    ImportView,
    LoopDetail,
    MixedImport,
    Site,
    Survey,
)

__all__ = ["EMPTY", "HOSTILE", "HOSTILE_MODULES", "NASTY", "many", "unjudged"]

NASTY = (
    "\x00\x07\x1b[31m\r\n::error::x\n##[error]y\n%0A%25 a|b \\| `c` ``d ]]> --> &amp; &#60; "
    "<script>alert(1)</script> <img src=x onerror=alert(2)> </summary></details></code> "
    "\"'{0}{{x}} [text](http://evil.example) www.evil.example @everyone #1 !1 :smile: $x$ "
    "_a_ *b* ~~c~~ \u202e\u2028\u200b\ufeff\ufffe\uffff\x85\x9b\ud800 é 漢 🐍 \n# title\n\n- item\n"
)
"""What a value may hold."""


def _nasty(label: str) -> str:
    return f"{label} {NASTY}"


_LINUX = _nasty("cp311-linux")
_TARGETS = tuple(
    TargetRow(
        name=name,
        platform=_nasty(platform),
        python="cp311",
        environment={"os_name": _nasty("os"), _nasty("variable"): "x"},
        assumed=_nasty("assumed"),
    )
    for name, platform in ((_LINUX, "linux"), (_nasty("cp311-macos"), "macos"))
)
_PATH = _nasty("dir/a file.lock")
_RULES = tuple(
    Rule(kind=kind, path=_nasty("policy.toml"), line=line, reason=_nasty("reason"))
    for kind, line in (("waive", 3), ("group", None), ("baseline", None))
)


def _edge(source: str, target: str, line: int | None, wheel: str | None) -> Edge:
    return Edge(
        source=_nasty(source),
        target=_nasty(target),
        requirement=_nasty(f"{target}>=1"),
        marker=_nasty("marker"),
        origin="wheel" if wheel else "lock",
        wheel=wheel,
        path=_PATH,
        line=line,
        targets=(_LINUX,),
        condition=_nasty("os_name == 'x'"),
    )


def _component(identity: str, condition: str | None, rule: Rule | None) -> Component:
    names = (_nasty("a"), _nasty("b"))
    return Component(
        id=identity,
        input=_PATH,
        code="extra-cycle",
        severity=Severity.DENY,
        packages=(
            Member(name=names[0], version=_nasty("1.0"), extras=(_nasty("extra"),)),
            Member(name=names[1], version=None),
        ),
        requested_by=(_nasty("requested by"),),
        targets=(_LINUX,),
        condition=condition,
        variants=(Variant(packages=names, targets=(_LINUX,), condition=_nasty("where")),),
        edges=(
            _edge("a", "b", 3, _nasty("a.whl")),
            _edge("b", "a", None, None),
        ),
        cycles=(Cycle(packages=names, hops=((0,), (1,)), targets=(_LINUX,), condition=condition),),
        capped=True,
        breakers=((names,),),
        breakers_exact=False,
        accepted_by=rule,
    )


def _finding(code: str, severity: Severity, rule: Rule | None, **more: object) -> Finding:
    values: dict[str, object] = {
        "message": _nasty(f"message of {code}"),
        "packages": (_nasty("a"), _nasty("b")),
        "targets": (_LINUX,),
        "condition": _nasty("where"),
        "path": _PATH,
        "line": 7,
        "details": (_nasty("detail"),),
        "subject": _nasty("subject"),
    }
    return Finding(code=code, severity=severity, accepted_by=rule, **(values | more))  # type: ignore[arg-type]


def _findings() -> Iterable[Finding]:
    for identity, rule in (("extra-cycle:x", None), (_nasty("extra-cycle:y"), _RULES[0])):
        yield _finding("extra-cycle", Severity.DENY, rule, component=identity)
    yield _finding("version-conflict", Severity.DENY, None, path=_nasty("policy.toml"), line=None)
    yield _finding("missing-package", Severity.WARN, None, targets=(), condition=None)
    yield _finding("missing-package", Severity.WARN, None, targets=(), condition=None)
    yield _finding("self-cycle", Severity.ALLOW, None, packages=(), subject="")
    yield from (_finding("edges-unknown", Severity.WARN, rule) for rule in _RULES)


HOSTILE = Report(
    inputs=(
        Input(path=_PATH, kind=_nasty("kind"), packages=2),
        Input(path="b", kind="x", packages=1),
    ),
    targets=_TARGETS,
    summary=Summary(packages=3, judged=3, components=2, deny=2, warn=2, accepted=3, known=1),
    components=(
        _component("extra-cycle:x", _nasty("os_name == 'x'"), None),
        _component(_nasty("extra-cycle:y"), None, _RULES[0]),
    ),
    findings=tuple(_findings()),
    unknown=(Missing(input=_PATH, package=_nasty("c"), reason=_nasty("why")),),
    near_misses=(NearMiss(input=_PATH, packages=(_nasty("a"),), reasons=(_nasty("why"),)),),
    opened=(
        Opened(
            input=_PATH,
            code="wheel-cycle",
            packages=(_nasty("a"), _nasty("b")),
            cuts=(_nasty("a -> b"),),
            reasons=(_nasty("reason"),),
        ),
    ),
    changes=(
        Change(
            kind="added",
            code="extra-cycle",
            component="extra-cycle:x",
            packages=(_nasty("a"), _nasty("b")),
            where=_nasty("where"),
            details=(_nasty("cause"),),
        ),
    ),
    notes=(_nasty("note"),),
    command=_nasty("distcycle audit"),
)


def _import(source: str, target: str, line: int, origin: str) -> Edge:
    return replace(
        _edge(source, target, line, None),
        requirement=_nasty("from a import b, c, d, e"),
        origin=origin,
        targets=(),
        condition=None,
    )


_SITE = Site(
    module=_nasty("a"),
    path=_PATH,
    line=3,
    text=_nasty("import b"),
    kind="static",
    modifiers=("guarded",),
    scope=_nasty("A.f"),
    condition=_nasty("if"),
)
_MODULES = replace(
    _component("import-cycle:x", None, None),
    code="import-cycle",
    targets=(),
    variants=(),
    packages=tuple(Member(name=_nasty(name), version=None) for name in ("a", "b")),
    edges=(
        _import("a", "b", 3, "static"),
        _import("a", "b", 4, "lazy"),
        _import("b", "a", 5, "static"),
    ),
    cycles=(Cycle(packages=(_nasty("a"), _nasty("b")), hops=((0,), (2,)), targets=()),),
)
_DETAIL = LoopDetail(
    component="import-cycle:x",
    static=2,
    lazy=1,
    type_checking=0,
    names=2,
    mixed=(
        MixedImport(
            source=_nasty("a"),
            target=_nasty("b"),
            static=(_SITE,),
            lazy=(_SITE,),
            back=_SITE,
            early=(_nasty("x:1"),),
            late=(_nasty("y:9"),),
        ),
        MixedImport(source="a", target="b", static=(), lazy=()),
    ),
    fixes=(ImportFix(kind=_nasty("lazy"), site=_SITE, target=_nasty("b"), text=_nasty("do")),),
)
HOSTILE_MODULES = replace(
    HOSTILE,
    inputs=(Input(path=_PATH, kind="modules", packages=2),),
    targets=(),
    summary=Summary(packages=2, judged=2, edges=2, components=2, deny=2, warn=1, accepted=1),
    components=(
        _MODULES,
        replace(_MODULES, id=_nasty("import-cycle:y"), accepted_by=_RULES[0], breakers=()),
    ),
    findings=tuple(
        _finding(code, severity, rule, component=identity, targets=(), condition=None)
        for code, severity, rule, identity in (
            ("import-cycle", Severity.DENY, None, "import-cycle:x"),
            ("import-cycle", Severity.DENY, _RULES[0], _nasty("import-cycle:y")),
            ("unreadable-module", Severity.WARN, None, None),
            ("unreadable-module", Severity.DENY, None, None),
        )
    ),
    surveys=(
        Survey(
            name=_nasty("farm 1.0"),
            read_from=(_PATH,),
            modules={"python": 2, _nasty("kind"): 1},
            imports={"static": 3, _nasty("kind"): 1},
            modifiers={_nasty("modifier"): 1},
            unread=tuple(_nasty(f"unread {at}") for at in range(7)),
            views=(
                ImportView(name="names", pairs=0, loops=()),
                ImportView(name=_nasty("view"), pairs=2, loops=(2,)),
            ),
            loops=(_DETAIL,),
            failing=(
                EntryFailure(
                    entry=_nasty("a"),
                    site=_SITE,
                    symbol=_nasty("x"),
                    partial=_nasty("b"),
                    bound_line=7,
                    back_line=1,
                    chain=tuple(_nasty(f"m{at}") for at in range(12)),
                ),
                EntryFailure(entry="b", site=_SITE, symbol="x", partial=_nasty("b")),
            ),
            entries=2,
            blind_to=(_nasty("blind"),),
        ),
    ),
    opened=(),
    changes=(),
    unknown=(),
    near_misses=(),
)

_ROWS = tuple(
    TargetRow(name=f"{python}-{platform}", platform=platform, python=python, environment={})
    for platform in ("linux_x86_64", "macos_arm64", "windows_amd64")
    for python in ("cp310", "cp311", "cp312")
)
EMPTY = Report(
    inputs=(Input(path="uv.lock", kind="uv-lock", packages=3),),
    targets=_ROWS,
    summary=Summary(packages=3, judged=3, edges=2, wheels_read=3),
)


def unjudged() -> Report:
    """A report of which nothing is known."""
    return replace(EMPTY, summary=Summary(packages=3, unknown=3))


def many(number: int = 1000) -> Report:
    """A report with as many findings, of every code, severity and fate."""
    severities = list(Severity)
    fates = (None, None, None, *_plain_rules())
    codes = [code for code in CODES if not code.endswith("-cycle")]
    findings = tuple(
        Finding(
            code=codes[i % len(codes)],
            severity=severities[i % 3],
            message=f"something is wrong with package-{i % 700}",
            packages=(f"package-{i % 700}",),
            targets=tuple(row.name for row in _ROWS[: i % 5]),
            path="uv.lock",
            line=i or None,
            details=("a detail",) * (i % 3),
            accepted_by=fates[i % len(fates)],
        )
        for i in range(number)
    )
    return replace(EMPTY, findings=findings, summary=_summary(findings))


def _plain_rules() -> Iterable[Rule]:
    return (replace(rule, path="policy.toml", reason="because") for rule in _RULES)


def _summary(findings: Iterable[Finding]) -> Summary:
    counts = {"deny": 0, "warn": 0, "accepted": 0, "known": 0, "allow": 0}
    for finding in findings:
        rule = finding.accepted_by
        if rule is None:
            counts[finding.severity.value] += 1
        else:
            counts["known" if rule.kind == "baseline" else "accepted"] += 1
    del counts["allow"]
    return Summary(packages=3, judged=3, **counts)

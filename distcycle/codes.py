"""The codes of findings: stable, kebab-case, never used again for anything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

__all__ = ["CODES", "OF_MODULES", "Code", "Severity"]


class Severity(str, Enum):
    """How much a finding weighs: ``deny`` fails the run."""

    ALLOW = "allow"
    WARN = "warn"
    DENY = "deny"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Code:
    """A stable kind of finding.

    Attributes:
        name: Kebab-case, never reused.
        meaning: What it says, in one line.
        severity: What it weighs when neither policy nor flag says otherwise.
        advice: What to do about it.
        example: The least that causes it, in one or two sentences.
        see: What says more, by name: pages of the documentation, and specifications.
    """

    name: str
    meaning: str
    severity: Severity
    advice: str
    example: str = ""
    see: tuple[str, ...] = ()

    def explain(self) -> tuple[str, ...]:
        """What it says, the least that causes it, what to do, and what says more; a line each."""
        lines = [self.meaning]
        lines += [f"Example: {self.example}"] if self.example else []
        lines += [f"What to do: {self.advice}"]
        lines += [f"See: {', '.join(self.see)}"] if self.see else []
        return tuple(lines)


_A, _W, _D = Severity.ALLOW, Severity.WARN, Severity.DENY

CODES: Mapping[str, Code] = {
    code.name: code
    for code in (
        Code(
            "wheel-cycle",
            "Distributions require each other with no extra involved.",
            _D,
            "Choose versions without the loop, cut one edge, or build the members as one group.",
            "torch 2.0.0 requires triton==2.0.0 on Linux, and triton 2.0.0 requires torch.",
            ("docs/policy.md", "docs/remedies.md", "docs/bazel.md"),
        ),
        Code(
            "extra-cycle",
            "Distributions require each other, but only through a requested extra.",
            _W,
            "Do without the extra, or build the members as one group where extras are flattened.",
            "The project asks for fsspec[s3]; fsspec[s3] requires s3fs, and s3fs requires fsspec.",
            ("docs/policy.md", "docs/bazel.md"),
        ),
        Code(
            "self-cycle",
            "A distribution requires itself.",
            _W,
            "Report it to the project; installers ignore the requirement.",
            "egg 1.0 says Requires-Dist: egg.",
            ("docs/remedies.md",),
        ),
        Code(
            "import-cycle",
            "Modules import each other while they are imported.",
            _A,
            "Do what stands beside it: name the submodule that defines, import lazily or for type "
            "checkers only, or move what both need; 'distcycle imports --move' does the last.",
            "egg.py says 'from hen import Hen' at its top level, and hen.py 'from egg import Egg'.",
            ("docs/imports.md",),
        ),
        Code(
            "undeclared-import",
            "Modules import a project that no requirement of theirs declares.",
            _A,
            "Declare the requirement, behind an extra if need be, or guard the import.",
            "triton 2.1.0 requires no torch, and importing triton.ops imports it.",
            ("docs/imports.md",),
        ),
        Code(
            "unreadable-module",
            "A module could not be read or parsed; the rest was judged.",
            _W,
            "Look at the file; one for a newer Python than is known is read by a newer distcycle.",
            "egg/_py2.py says print 'x', which no Python 3 reads.",
            ("docs/imports.md",),
        ),
        Code(
            "build-cycle",
            "Build requirements form a loop, so that not everything can be built from source.",
            _D,
            "Take the packages that are named as wheels to begin with, then build the rest.",
            "hen's pyproject.toml says requires = ['egg'], and egg's says requires = ['hen'].",
            ("docs/build.md", "PEP 517", "PEP 518"),
        ),
        Code(
            "lock-edge-missing",
            "The wheel of a target declares an edge that the lock lacks.",
            _W,
            "Lock for that target alone, or restore the edge with the lock tool's override.",
            "The lock was made from torch's macOS wheel, which does not require triton; "
            "its Linux wheel does.",
            ("docs/remedies.md",),
        ),
        Code(
            "wheels-disagree",
            "Wheels of one version declare different requirements.",
            _W,
            "Judge each target by its own wheel, as is done here; a cross-platform lock cannot.",
            "torch 2.0.0 requires triton in its Linux wheel, and not in its macOS wheel.",
            ("docs/targets.md",),
        ),
        Code(
            "edges-unknown",
            "A package's requirements could not be had, so loops through it would not be seen.",
            _W,
            "Follow the reason given: allow network access, or give a bundle or a wheel directory.",
            "The lock pins egg 1.0, which has a source distribution only, and its "
            "metadata says that its requirements are dynamic.",
            ("PEP 643", "PEP 658"),
        ),
        Code(
            "missing-package",
            "A live requirement that no package of the input meets.",
            _D,
            "Lock again, or add the package; the details say how it is reached, and what your "
            "tool needs.",
            "hen 1.0 requires egg, and the lock has no egg.",
            ("PEP 508",),
        ),
        Code(
            "version-conflict",
            "The package that stands is outside the specifier.",
            _D,
            "Lock again, or choose a version that every requirement admits.",
            "hen 1.0 requires egg>=2, and the lock pins egg 1.0; or it pins egg 1.0 and egg 2.0 "
            "for one target.",
            ("PEP 440",),
        ),
        Code(
            "no-wheel-for-target",
            "Nothing installable exists for a target: no wheel fits and there is no source.",
            _W,
            "Limit the requirement by a marker, or do not build for that target.",
            "egg 1.0 has a wheel for Linux only and no source distribution, and macOS is judged.",
            ("docs/targets.md", "PEP 425"),
        ),
        Code(
            "requires-python",
            "What would fit a target is not for its Python.",
            _W,
            "Limit the requirement by a marker, or do not build for that Python.",
            "egg 1.0 says Requires-Python: >=3.10, and Python 3.9 is judged.",
            ("docs/targets.md", "PEP 345"),
        ),
        Code(
            "cut-ineffective",
            "A cut of the policy opens no loop.",
            _W,
            "Take the cut out of the policy, or add the cuts that it needs beside it.",
            "A [[cut]] takes out egg -> hen, while egg[all] -> hen keeps the loop closed.",
            ("docs/policy.md",),
        ),
        Code(
            "cut-unsafe",
            "A cut of the policy breaks an import.",
            _W,
            "Cut another edge, or see to it that what is imported is there all the same.",
            "A [[cut]] takes out triton 2.0.0 -> torch, triton/__init__.py imports torch, and "
            "nothing else brings torch.",
            ("docs/imports.md", "docs/policy.md"),
        ),
        Code(
            "cut-loses-bound",
            "A cut of the policy drops a version bound that nothing else holds.",
            _W,
            "Hold the bound elsewhere, such as in the project's own requirements or constraints.",
            "A [[cut]] takes out triton -> torch>=2, and nothing else requires torch at "
            "that version.",
            ("docs/policy.md",),
        ),
        Code(
            "group-incomplete",
            "A loop is held by no declared group as a whole, so that the build fails.",
            _D,
            "Add the members that are named; 'distcycle lint bazel --fix' does.",
            "The loop is egg -> hen -> chick -> egg, and the group names egg and hen.",
            ("docs/bazel.md",),
        ),
        Code(
            "group-excess",
            "A declared group names a package that is not in its loop.",
            _D,
            "Take it out of the group: whoever depends on one member gets all.",
            "The loop is egg -> hen -> egg, and the group names stone as well.",
            ("docs/bazel.md",),
        ),
        Code(
            "group-overlap",
            "Declared groups have a package in common, or one has it twice.",
            _D,
            "Name each package once; groups whose loops meet are one group.",
            "One group names egg and hen, another names hen and chick.",
            ("docs/bazel.md",),
        ),
        Code(
            "group-absent",
            "A declared group names a package that the lock does not have.",
            _D,
            "Take the name out of the group, or correct it.",
            "The group names egg, and the lock pins eggs.",
            ("docs/bazel.md",),
        ),
        Code(
            "unused-waiver",
            "A waiver matches nothing, or names a package that is not in the input.",
            _W,
            "Take the waiver, or the name, out of the policy.",
            "A [[waive]] names egg and hen, and an upgrade has opened their loop.",
            ("docs/policy.md",),
        ),
        Code(
            "unused-rule",
            "A cut, group or denial of the policy matches nothing.",
            _W,
            "Take the rule out of the policy.",
            "A [[cut]] takes out egg -> hen, and egg no longer requires hen.",
            ("docs/policy.md",),
        ),
        Code(
            "expired-waiver",
            "A waiver is past its date and no longer accepts anything.",
            _D,
            "Mend what was waived, or decide again and set a new date.",
            "A [[waive]] says until = 2026-01-31, and it is February.",
            ("docs/policy.md",),
        ),
        Code(
            "unreadable-requirement",
            "One requirement could not be read; the rest was judged.",
            _W,
            "Report it to whoever wrote it; the edge is kept, unconditionally if need be.",
            "A wheel says Requires-Dist: hen>=1,,<2.",
            ("PEP 508",),
        ),
        Code(
            "unreadable-metadata",
            "One entry or METADATA file could not be read; the rest was judged.",
            _W,
            "Report it to whoever wrote it, or install the distribution again.",
            "The lock has a package without a version, or an installed distribution has "
            "no METADATA.",
            ("PEP 566",),
        ),
    )
}

OF_MODULES = frozenset(("import-cycle", "unreadable-module"))
"""The codes of findings that are about modules: their names are those of modules, not projects."""

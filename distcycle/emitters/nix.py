"""An overlay for nixpkgs: requirements taken out of METADATA, and out of what Nix builds first.

``pythonRemoveDeps`` mends METADATA, or the check of runtime dependencies fails; the recursion ends
when the package that is no longer required is out of ``dependencies`` (formerly
``propagatedBuildInputs``), too. Names are sought in METADATA as they are spelled there.

Source: https://nixos.org/manual/nixpkgs/stable/#python (``pythonRemoveDeps``,
``overridePythonAttrs``, ``pythonPackagesExtensions``); its hook ``python-relax-deps-hook.sh``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.utils import canonicalize_name

from distcycle.emitters.comments import comment, describe_cut, describe_plan, name_cut
from distcycle.plan import Plan, PlannedCut

__all__ = ["check", "emit"]

_HINT = (
    "Put this among the overlays of nixpkgs. Packages are named as nixpkgs mostly does, by their"
    " normalised names; where one has another name there, change it."
)
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_-]*")
_KEYWORDS = {"assert", "else", "if", "in", "inherit", "let", "or", "rec", "then", "with"}
_HEAD = """\
final: prev:
let
  without =
    names: builtins.filter (dependency: !(builtins.elem (prev.lib.getName dependency) names));
in
{
  pythonPackagesExtensions = prev.pythonPackagesExtensions ++ [
    (python-final: python-prev: {"""
_FOOT = """\
    })
  ];
}
"""


def emit(plan: Plan) -> str:
    """Write the cuts of a plan as an overlay.

    Args:
        plan: The plan.

    Returns:
        A function in the Nix language.
    """
    lines = [*comment(describe_plan(plan, "nix", _HINT)), "", _HEAD]
    for name in sorted({cut.package for cut in plan.cuts}):
        cuts = sorted(
            (cut for cut in plan.cuts if cut.package == name),
            key=lambda cut: (cut.requires, str(cut.version)),
        )
        lines += comment(_describe(plan, cuts), indent="      ")
        lines += _override(name, cuts)
    return "\n".join([*lines, _FOOT])


def _describe(plan: Plan, cuts: list[PlannedCut]) -> Iterator[str]:
    for cut in cuts:
        yield from describe_cut(plan, cut)
        spelled = _spellings(cut)
        also = sorted(
            {n for line in cut.remaining for n in _names([line]) if n.startswith(spelled)}
        )
        if also:
            yield f"  Goes with it, for its name begins alike: {', '.join(also)}"


def _override(name: str, cuts: list[PlannedCut]) -> Iterator[str]:
    attribute = name if _is_identifier(name) else f'"{name}"'
    spelled = " ".join(f'"{n}"' for n in dict.fromkeys(n for c in cuts for n in _spellings(c)))
    normalised = {*(cut.requires for cut in cuts), *(n for cut in cuts for n in _spellings(cut))}
    names = " ".join(f'"{n}"' for n in sorted(normalised))
    yield f"      {attribute} = python-prev.{attribute}.overridePythonAttrs (old: {{"
    yield f"        pythonRemoveDeps = (old.pythonRemoveDeps or [ ]) ++ [ {spelled} ];"
    for inputs in ("dependencies", "propagatedBuildInputs"):
        yield f"        {inputs} = without [ {names} ] (old.{inputs} or [ ]);"
    yield "      });"


def _is_identifier(name: str) -> bool:
    return _IDENTIFIER.fullmatch(name) is not None and name not in _KEYWORDS


def _spellings(cut: PlannedCut) -> tuple[str, ...]:
    """The names by which the package requires the project; normalised when it is not known."""
    return tuple(dict.fromkeys(_names(cut.removed))) or (cut.requires,)


def _names(lines: list[str] | tuple[str, ...]) -> Iterator[str]:
    yield from (match[1].rstrip("._-") for line in lines if (match := _NAME.match(line)))


def check(plan: Plan, text: str) -> tuple[str, ...]:
    """Say which cuts an overlay does not have.

    Args:
        plan: The plan.
        text: The file. It is searched and not evaluated: what it computes is not seen.

    Returns:
        One line for each cut that is missing.
    """
    removed = _removed_in(re.sub(r"#.*|/\*[\s\S]*?\*/", "", text))
    return tuple(
        sorted(
            f"{name_cut(cut)}: not in pythonRemoveDeps"
            for cut in plan.cuts
            if not {"*", cut.requires} & removed.get(cut.package, set())
        )
    )


def _removed_in(text: str) -> dict[str, set[str]]:
    """For each package that is overridden, what it no longer requires; ``*`` for all."""
    found: dict[str, set[str]] = {}
    parts = re.split(r"([\w-]+)\"?\s*\.\s*overridePythonAttrs\b", text)
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        match = re.search(r"\bpythonRemoveDeps\s*=([^;]*);", body)
        if match is not None:
            names = {canonicalize_name(n) for n in re.findall(r'"([^"$]*)"', match[1])}
            whole = {"*"} if match[1].strip() == "true" else set()
            found.setdefault(canonicalize_name(name), set()).update(names, whole)
    return found

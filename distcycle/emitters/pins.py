"""The versions that an upgrade comes to, in the terms of pip, uv and Poetry.

Source: pip, "Constraints Files"; uv, "constraint-dependencies",
https://docs.astral.sh/uv/reference/settings/; Poetry, "Dependency specification",
https://python-poetry.org/docs/dependency-specification/
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from distcycle.emitters.comments import comment
from distcycle.emitters.literals import quote
from distcycle.plan import Pin, UpgradePlan

__all__ = ["PIN_EMITTERS"]


def _emit_requirements(plan: UpgradePlan) -> str:
    """Every package, with hashes where the input has them: a file in place of the input."""
    return "".join([_head(plan, "requirements"), *(f"{_line(pin)}\n" for pin in plan.pins)])


def _emit_constraints(plan: UpgradePlan) -> str:
    """What changes, as bounds."""
    lines = (f"{_bound(pin)}\n" for pin in plan.pins if pin.is_new)
    return "".join([_head(plan, "constraints"), *lines])


def _emit_uv(plan: UpgradePlan) -> str:
    lines = [f"    {quote(_bound(pin))},\n" for pin in plan.pins if pin.is_new]
    return "".join([_head(plan, "uv"), "[tool.uv]\nconstraint-dependencies = [\n", *lines, "]\n"])


def _emit_poetry(plan: UpgradePlan) -> str:
    lines = [f"{pin.name} = {_poetry_value(pin)}\n" for pin in plan.pins if pin.is_new]
    return "".join([_head(plan, "poetry"), "[tool.poetry.dependencies]\n", *lines])


def _head(plan: UpgradePlan, tool: str) -> str:
    paragraphs = [f"Written by distcycle for {plan.input} (fix --upgrade --emit {tool})."]
    if plan.pinned:
        paragraphs.append(
            f"Pinned where it is asked for, to be changed there: {', '.join(plan.pinned)}."
        )
    lines = comment(paragraphs)
    return "".join(f"{line}\n" for line in lines)


def _poetry_value(pin: Pin) -> str:
    version = quote(str(pin.version))
    return f"{{ version = {version}, markers = {quote(pin.marker)} }}" if pin.marker else version


def _bound(pin: Pin) -> str:
    marker = f" ; {pin.marker}" if pin.marker else ""
    return f"{pin.name}=={pin.version}{marker}"


def _line(pin: Pin) -> str:
    marker = f" ; {pin.marker}" if pin.marker else ""
    text = f"{pin.name} @ {pin.url}{marker}" if pin.url else _bound(pin)
    return " \\\n".join([text, *_hashes(pin)])


def _hashes(pin: Pin) -> Iterator[str]:
    return (f"    --hash={algorithm}:{digest}" for algorithm, digest in pin.hashes)


PIN_EMITTERS: Mapping[str, Callable[[UpgradePlan], str]] = {
    "requirements": _emit_requirements,
    "constraints": _emit_constraints,
    "uv": _emit_uv,
    "poetry": _emit_poetry,
}
"""What ``--emit`` writes with ``--upgrade``, by the name of the tool or file."""

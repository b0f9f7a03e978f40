"""Random packages that import each other in every way, for Hypothesis.

``Anything`` is a builtin where they are imported: it has every attribute and can be called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hypothesis import strategies as st

MODULES = ("p", "p.a", "p.b", "p.s", "p.s.c", "p.s.d", "q", "r", "r.e")
PACKAGES = ("p", "p.s", "r")
NAMES = ("x", "y", "z")
CHILDREN = ("a", "b", "s", "c", "d", "e", "none")
ATTRIBUTES = (*NAMES, *CHILDREN, "m")


class Place(NamedTuple):
    """A module, which others there are, and whether its tests cannot be decided.

    What fails under such a test is a doubt if nothing catches it; what a handler would then do is
    not looked at. So where there are such tests, there are no handlers.
    """

    name: str
    present: tuple[str, ...]
    doubtful: bool


_names = st.sampled_from(NAMES)
_modules = st.sampled_from(MODULES)
_children = st.sampled_from(CHILDREN)
_bound = st.sampled_from((*NAMES, "m", "a"))
_wanted = st.one_of(_names, _names, _children)


def _indent(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines()) or "    pass\n"


@st.composite
def _relative(draw: st.DrawFn, place: Place) -> str:
    """The name of a module as ``from`` takes it, with dots or without."""
    target = draw(_modules)
    package = place.name if place.name in PACKAGES else place.name.rpartition(".")[0]
    if not package or draw(st.booleans()):
        return target
    if target == package or target.startswith(f"{package}."):
        return "." + target[len(package) + 1 :]
    parent = package.rpartition(".")[0]
    if parent and (target == parent or target.startswith(f"{parent}.")):
        return ".." + target[len(parent) + 1 :]
    return target


@st.composite
def _plain(draw: st.DrawFn, place: Place) -> str:
    """A statement that stands anywhere."""
    kind = draw(st.integers(0, 17))
    module, name, bound = draw(_modules), draw(_names), draw(_bound)
    if kind in (0, 1, 2):
        return f"{name} = Anything"
    if kind == 3 and not place.doubtful:
        return f"{name} = Anything; del {name}"
    if kind == 4:
        return f"import {module}"
    if kind == 5:
        return f"import {module} as {bound}"
    if kind in (6, 7, 8, 9):
        source = draw(_relative(place))
        wanted = draw(st.lists(_wanted, min_size=1, max_size=2, unique=True))
        parts = [f"{each} as {bound}" if draw(st.booleans()) else each for each in wanted]
        return f"from {source} import {', '.join(parts)}"
    if kind == 10:
        return f"import {module}\n{module}.{name}"
    if kind in (11, 12):
        return f"import {module} as m\nm.{name}"
    if kind == 13:
        return f"import {module} as m\nm.{name} = Anything"
    if kind == 14:
        return f"import importlib\nm = importlib.import_module('{module}')\nm.{name}"
    if kind == 15:
        return f"import {module} as m\n{name} = m.{draw(_names)}"
    if kind == 16:
        return f"class {name.upper()}:\n    import {module} as m\n    m.{name}"
    error = draw(st.sampled_from(("ImportError", "ValueError", "AttributeError", "KeyError")))
    return f"raise {error}('no')" if kind == 17 and draw(st.integers(0, 3)) == 0 else "pass"


_ERRORS = (
    " ImportError",
    " ModuleNotFoundError",
    " AttributeError",
    " Exception",
    " (KeyError, ImportError)",
    " ValueError",
    "",
)


@st.composite
def _block(draw: st.DrawFn, place: Place, depth: int) -> str:
    """A compound statement."""
    inner: Callable[[], str] = lambda: _indent(draw(_body(place, depth - 1)))  # noqa: E731
    kind = draw(st.integers(4, 8) if place.doubtful else st.integers(0, 8))
    if kind <= 3:
        errors = draw(st.sampled_from(_ERRORS))
        bound = " as error" if errors and draw(st.booleans()) else ""
        text = f"try:\n{inner()}except{errors}{bound}:\n{inner()}"
        end = draw(st.sampled_from(("", "    raise\n", "    raise ImportError('again')\n")))
        text += end if draw(st.integers(0, 2)) == 0 else ""
        text += f"else:\n{inner()}" if draw(st.booleans()) else ""
        return text + (f"finally:\n{inner()}" if draw(st.integers(0, 3)) == 0 else "")
    if kind == 4:
        return f"class K:\n{inner()}"
    if kind == 5:
        test = draw(st.sampled_from(("True", "False", "__name__ == '__main__'")))
        return f"if {test}:\n{inner()}else:\n{inner()}"
    if kind == 6:
        test = draw(st.sampled_from(("sys.platform == 'nowhere'", "sys.version_info >= (3, 8)")))
        return f"import sys\nif {test}:\n{inner()}else:\n{inner()}"
    if kind == 7:
        return f"for i in (1,):\n{inner()}"
    if place.doubtful:
        # A raise under such a test is no doubt: it is seldom reached.
        return f"if Anything:\n{inner().replace('raise', 'Anything;')}"
    error = draw(st.sampled_from(("ImportError", "AttributeError", "Exception")))
    return f"import contextlib\nwith contextlib.suppress({error}):\n{inner()}"


@st.composite
def _function(draw: st.DrawFn, place: Place) -> str:
    """A function that imports, and is called or not."""
    name = draw(st.sampled_from(("f", "g")))
    body = _indent(draw(_body(place, 1)))
    use = draw(st.sampled_from(("", f"{name}()", f"@{name}\ndef h(*given): pass")))
    return f"def {name}(*given):\n{body}{use}"


@st.composite
def _special(draw: st.DrawFn, place: Place) -> str:
    """What stands at the top level only."""
    kind = draw(st.integers(0, 7))
    if kind <= 2:
        return f"from {draw(_relative(place))} import *"
    if kind == 3:
        names = draw(st.lists(_wanted, max_size=3, unique=True))
        return f"__all__ = {names!r}"
    if kind == 4:
        # The replay takes it to answer for every name but those of submodules.
        inside = {each for each in ATTRIBUTES if f"{place.name}.{each}" in place.present}
        known = sorted({*ATTRIBUTES} - inside)
        return (
            f"def __getattr__(name):\n    if name in {known!r}: return Anything\n"
            "    raise AttributeError(name)"
        )
    if kind == 5:
        name = draw(_names)
        value = draw(st.sampled_from(("True", "False", "None")))
        test = draw(st.sampled_from((name, f"not {name}", f"{name} is None")))
        return f"{name.upper()} = {value}\nif {test.replace(name, name.upper())}:\n" + _indent(
            draw(_body(place, 0))
        )
    if kind == 6:
        return "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n" + _indent(
            draw(_body(place, 0))
        )
    return draw(_function(place))


@st.composite
def _body(draw: st.DrawFn, place: Place, depth: int) -> str:
    statements = [draw(_plain(place)) for _ in range(draw(st.integers(1, 2)))]
    if depth > 0 and draw(st.integers(0, 2)) == 0:
        statements.append(draw(_block(place, depth)))
    return "\n".join(each.rstrip("\n") for each in statements)


@st.composite
def _source(draw: st.DrawFn, place: Place) -> str:
    statements = []
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.integers(0, 9))
        if kind <= 5:
            statements.append(draw(_plain(place)))
        elif kind <= 7:
            statements.append(draw(_block(place, 2)))
        else:
            statements.append(draw(_special(place)))
    return "\n".join(each.rstrip("\n") for each in statements) + "\n"


@st.composite
def packages(draw: st.DrawFn) -> dict[str, str]:
    """The files of a few packages; ``r`` and ``p.s`` are namespaces at times."""
    doubtful = draw(st.integers(0, 3)) == 0
    missing = draw(st.lists(st.sampled_from(MODULES[1:]), max_size=2))
    present = tuple(module for module in MODULES if module not in missing)
    return {
        module.replace(".", "/") + ("/__init__.py" if module in PACKAGES else ".py"): draw(
            _source(Place(module, present, doubtful))
        )
        for module in present
    }

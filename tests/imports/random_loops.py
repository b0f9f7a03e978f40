"""Random loops of two modules, small enough to be read when something is wrong with one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

__all__ = ["Loop", "loops"]

AID = """import logging

level = 0


def thing():
    return level
"""


@dataclass
class Loop:
    """Two modules that import each other, a third that both use, and what to ask of them.

    Attributes:
        files: The texts by path.
        calls: Expressions whose values must not depend on how the modules were imported.
        early: Those whose values the partner worked out while it was imported.
    """

    files: dict[str, str]
    calls: list[str]
    early: list[str]


@dataclass
class _Old:
    """The module that defines things, while it is made up."""

    draw: Any
    lines: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    decorators: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    has_back: bool = False
    count: int = 0

    def choose(self, among: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(list(among)))

    def add(self, kind: str) -> None:
        self.count += 1
        getattr(self, f"_{kind}")(self.count)

    def _bind(self, name: str, call: str = "") -> str:
        self.names.append(name)
        self.calls.append(call or name)
        return name

    def value(self) -> str:
        """An expression of what is bound already."""
        options = [str(self.draw(st.integers(0, 9))), "aid.thing()", "aid.level"]
        options += [name for name in self.names if name[0] in "cabs"]
        options += [f"len({name})" for name in self.tables]
        options += [f"{name}()" for name in self.functions]
        options += [f"{name}().m()" for name in self.classes]
        return self.choose(options)

    def _constant(self, i: int) -> None:
        name = self._bind(f"c{i}")
        self.lines.append(f"{name} = {self.draw(st.integers(0, 9))}")

    def _pair(self, i: int) -> None:
        value = self.value()
        self.lines.append(f"{self._bind(f'a{i}')}, {self._bind(f'b{i}')} = {i}, {value}")

    def _snapshot(self, i: int) -> None:
        value = self.value()
        self.lines.append(f"{self._bind(f's{i}')} = {value}")

    def _table(self, i: int) -> None:
        name = self._bind(f"t{i}")
        self.tables.append(name)
        self.lines.append(f"{name} = []")

    def _function(self, i: int) -> None:
        decorated = self.choose(["", *self.decorators])
        default = self.value()
        body = ", ".join(self.value() for _ in range(self.draw(st.integers(0, 3))))
        local = self.choose(["", "", *(n for n in self.names if n[0] == "c")])
        if decorated:
            self.lines.append(f"@{decorated}")
        name = self._bind(f"f{i}", f"f{i}()")
        self.lines.append(f"def {name}(x={default}):")
        if local:
            self.lines.append(f"    {local} = 'local'")
            body += f", {local}"
        late = self.choose(["", "", f"f{i + 1}", f"c{i + 1}", f"t{i + 1}"])
        if late:
            self.lines += [f"    y = bool({late}) if x == 'never' else 0"]
        if self.has_back and not self.draw(st.integers(0, 5)):
            self.lines.append("    y = h() if x == 'never' else 0")
        self.lines.append(f"    return repr([x, {body}])")
        self.functions.append(name)

    def _decorator(self, i: int) -> None:
        if not self.tables:
            return self._table(i)
        name = self._bind(f"d{i}", "1")
        self.decorators.append(name)
        table = self.choose(self.tables)
        self.lines.append(f"def {name}(g):\n    {table}.append(g.__name__)\n    return g")
        return None

    def _klass(self, i: int) -> None:
        base = self.choose(["", *self.classes])
        value, inner = self.value(), self.value()
        name = self._bind(f"K{i}", f"K{i}().m()")
        self.lines.append(f"class {name}({base}):\n    v = {value}")
        self.lines.append(f"    def m(self):\n        return [self.v, {inner}]")
        self.classes.append(name)

    def _change(self, i: int) -> None:
        options = [f"{name}.append({i})" for name in self.tables]
        options += [f"{name}.tag = {i}" for name in self.functions]
        options += ["aid.level = aid.level + 1"]
        self.lines.append(self.choose(options))

    def _call(self, i: int) -> None:
        if self.functions:
            self.lines.append(f"{self.choose(self.functions)}()")

    def _logger(self, i: int) -> None:
        name = self._bind(f"l{i}", "1")
        self.lines.append(f"{name} = logging.getLogger(__name__)")
        function = self._bind(f"f{i}", f"f{i}()")
        self.lines.append(f"def {function}():\n    {name}.info('called {i}')\n    return {i}")
        self.functions.append(function)

    def _guarded(self, i: int) -> None:
        name = self._bind(f"c{i}")
        self.lines.append(f"try:\n    import no_such_{i} as {name}\nexcept ImportError:")
        self.lines.append(f"    {name} = None")

    def _rebound(self, i: int) -> None:
        name = self._bind(f"c{i}")
        function = self._bind(f"f{i}", "1")
        self.lines.append(f"{name} = 0\ndef {function}():\n    global {name}\n    {name} += 1")

    def _back(self, i: int) -> None:
        if not self.has_back:
            self.has_back = True
            self.lines.append(self.choose(["from .user import h", "from pkg.user import h"]))


KINDS = (
    *("constant", "pair", "snapshot", "table", "function", "function", "function"),
    *("decorator", "klass", "change", "call", "logger", "guarded", "rebound", "back"),
)
_WEIGHTED = tuple(kind for kind in KINDS if kind != "rebound") * 2 + ("rebound",)


@st.composite
def loops(draw: st.DrawFn) -> Loop:
    """Loops that fail in some orders of import, or in none."""
    old = _Old(draw)
    for kind in draw(st.lists(st.sampled_from(_WEIGHTED), min_size=3, max_size=14)):
        old.add(kind)
    if not old.has_back:
        old.add("back")
    if not old.names:
        old.add("constant")
    user, early = _partner(draw, old)
    head = draw(st.sampled_from(["", '"""Old."""\n', "from __future__ import annotations\n"]))
    text = f"{head}import logging\nfrom . import aid\n\n" + "\n".join(old.lines) + "\n"
    calls = [f"pkg.old:{call}" for call in old.calls] + ["pkg.user:h()"]
    files = {"pkg/__init__.py": "", "pkg/aid.py": AID, "pkg/old.py": text, "pkg/user.py": user}
    return Loop(files, calls, [f"pkg.user:{name}" for name in early])


def _partner(draw: st.DrawFn, old: _Old) -> tuple[str, list[str]]:
    taken = draw(st.lists(st.sampled_from(old.names), min_size=1, max_size=4, unique=True))
    call_of = dict(zip(old.names, old.calls, strict=True))
    form = draw(st.sampled_from(["from", "from", "split", "lazy", "module", "dotted", "aliased"]))
    prefix = {"module": "old.", "dotted": "pkg.old.", "aliased": "o."}.get(form, "")
    head = {
        "from": f"from .old import {', '.join(taken)}",
        "split": "from .old import (\n"
        + "".join(f"    {each},  # {each}\n" for each in taken)
        + ")",
        "lazy": f"from .old import {taken[0]}",
        "module": "from . import old",
        "dotted": "import pkg.old",
        "aliased": "import pkg.old as o",
    }[form]
    uses = [prefix + call_of[name] for name in taken if call_of[name] != "1"]
    lines = [head]
    early = []
    if form != "lazy" and uses and draw(st.booleans()):
        lines.append(f"x = {uses[0]}")
        early = ["x"]
    lines.append("def h():")
    if form == "lazy":
        lines.append(f"    from .old import {', '.join(taken)}")
    lines.append(f"    return [{', '.join(uses)}]")
    return "\n".join(lines) + "\n", early

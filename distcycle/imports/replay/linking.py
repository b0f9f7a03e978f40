"""Fits programs to one place and target: names become absolute, and tests their values.

What other distributions' modules do is not known; that they are there, or are not, is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from distcycle.imports.conditions import evaluate_text
from distcycle.imports.modules import Module
from distcycle.imports.replay.operations import Block, Operation, Program

__all__ = ["Body", "Linked", "Linker", "is_or_is_in"]

_IMPORT_ERRORS = frozenset(("ImportError", "ModuleNotFoundError"))
_NO_EFFECT = frozenset(("bind", "unbind", "global", "return"))


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A function, as the value of a name."""

    operations: Block
    shared: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """A program that can be replayed.

    Besides the operations of programs it has ``absent`` (line, module, error: an import that fails
    for certain), ``open`` (names are bound that are not known) and ``flag`` (an ``if`` whose test
    is a name, with two more blocks for when its value is not known).

    Attributes:
        operations: What the module does.
        bound: The names that it binds, and the first line that does.
        is_open: Whether it may bind other names.
        makes_modules: Whether it may put modules into ``sys.modules``.
        fault: Why it could not be parsed.
        fault_line: Where.
    """

    operations: Block = ()
    bound: Mapping[str, int] = field(default_factory=dict)
    is_open: bool = False
    makes_modules: bool = False
    fault: str | None = None
    fault_line: int | None = None


class Linker:
    """Links programs.

    Args:
        modules: The modules that can be replayed, by name.
        environment: The target's marker variables; None when tests of them are not decided.
        absence: Says which module is missing when one of another distribution is imported; None
            when it is there.
    """

    def __init__(
        self,
        modules: Mapping[str, Module],
        environment: Mapping[str, str] | None,
        absence: Callable[[str], str | None],
    ) -> None:
        self.environment = environment
        self.absence = absence
        self.tops = {name.partition(".")[0] for name in modules}
        self.parts = {name.rpartition(".")[2] for name in modules}

    def link(self, module: Module, program: Program) -> Linked:
        """Link one program.

        Args:
            module: The module.
            program: Its program.

        Returns:
            What can be replayed.
        """
        linking = _Linking(self, module, program)
        return Linked(
            operations=linking.block(program.operations),
            bound=program.bound,
            is_open=program.makes_names,
            makes_modules=program.makes_modules,
            fault=program.fault,
            fault_line=program.fault_line,
        )


def is_or_is_in(name: str, package: str) -> bool:
    """Whether a module is a package, or in it."""
    return name == package or name.startswith(f"{package}.")


class _Linking:
    """Links the blocks of one program."""

    def __init__(self, linker: Linker, module: Module, program: Program) -> None:
        self._linker = linker
        self._name = module.name
        self._package = module.name if module.is_package else module.name.rpartition(".")[0]
        self._functions = program.functions
        self._bodies: dict[int, Body] = {}
        self._roots: set[str] = set()
        self._stars = False
        self._links: dict[str, Callable[[Operation], Iterator[Operation]]] = {
            "define": self._define,
            "import": self._import,
            "from": self._from,
            "star": self._star,
            "load": self._load,
            "get": self._get,
            "put": self._put,
            "drop": self._put,
            "copy": self._copy,
            "if": self._if,
            "try": self._try,
            "scope": self._scope,
            "global": _none,
        }

    def block(self, block: Block) -> Block:
        """Link a block, and leave out what has no effect."""
        out: list[Operation] = []
        seen: set[tuple[str, ...]] = set()
        for operation in block:
            link = self._links.get(operation[0])
            for linked in (operation,) if link is None else link(operation):
                if linked[0] == "get":
                    if linked[2] in seen and not linked[3]:
                        continue
                    seen.add(linked[2])
                elif linked[0] != "bind":
                    seen.clear()
                _append(out, linked)
        return tuple(out)

    def _define(self, operation: Operation) -> Iterator[Operation]:
        _, name, index = operation
        if index not in self._bodies:
            block = self._functions[index]
            shared = block[0][1] if block else ()
            known = self._stars, set(self._roots)
            # It is called later, when more names may stand for modules than do now.
            self._stars, self._roots = True, self._roots | self._linker.parts
            linked = self.block(block)
            self._stars, self._roots = known
            idle = not shared and all(each[0] in _NO_EFFECT for each in linked)
            self._bodies[index] = Body(() if idle else linked, shared)
        yield "bind", {name: self._bodies[index]}

    # Imports --------------------------------------------------------------------------------------

    def _absolute(self, module: str, level: int) -> str | None:
        """Resolve leading dots; None when they lead out of every package."""
        if not level:
            return module
        parts = self._package.split(".") if self._package else []
        if level > len(parts):
            return None
        return ".".join((*parts[: len(parts) - level + 1], *filter(None, (module,))))

    def _missing(self, line: int, name: str) -> Operation | None:
        """An import of what is missing; None when it is there, or its modules are known."""
        absent = self._linker.absence(name)
        if absent is None:
            return None
        return "absent", line, absent, "ModuleNotFoundError"

    def _is_known(self, name: str) -> bool:
        return name.partition(".")[0] in self._linker.tops

    def _import(self, operation: Operation) -> Iterator[Operation]:
        _, line, name, bound = operation
        top = name.partition(".")[0]
        missing = self._missing(line, name)
        if missing:
            yield missing
        elif not self._is_known(name):
            yield "bind", {bound or top: None}
        else:
            self._roots.add(bound or top)
            yield "import", line, name, bound, top

    def _from(self, operation: Operation) -> Iterator[Operation]:
        _, line, module, level, names = operation
        name = self._absolute(module, level)
        if name is None:
            yield "absent", line, "." * level + module, "ImportError"
            return
        missing = self._missing(line, name)
        for wanted, _ in () if missing else names:
            missing = missing or self._missing(line, f"{name}.{wanted}")
        if missing:
            yield missing
        elif not self._is_known(name):
            yield "bind", {bound: None for _, bound in names}
        else:
            self._roots.update(bound for wanted, bound in names if wanted in self._linker.parts)
            yield "from", line, name, names, frozenset(wanted for wanted, _ in names)

    def _star(self, operation: Operation) -> Iterator[Operation]:
        _, line, module, level = operation
        name = self._absolute(module, level)
        if name is None:
            yield "absent", line, "." * level + module, "ImportError"
            return
        missing = self._missing(line, name)
        if missing:
            yield missing
        elif not self._is_known(name):
            yield ("open",)
        else:
            self._stars = True
            yield "star", line, name

    def _load(self, operation: Operation) -> Iterator[Operation]:
        _, line, text, anchor, bound = operation
        name = self._loaded_name(text, anchor)
        if name is None:
            yield "absent", line, text, "ImportError"
            return
        missing = self._missing(line, name)
        if missing:
            yield missing
        elif self._is_known(name):
            if bound:
                self._roots.add(bound)
            yield "load", line, name, bound
        elif bound:
            yield "bind", {bound: None}

    def _loaded_name(self, text: str, anchor: str) -> str | None:
        """As ``importlib.util.resolve_name`` does it."""
        name = text.lstrip(".")
        level = len(text) - len(name)
        if not level:
            return name
        package = {"__package__": self._package, "__name__": self._name}.get(anchor, anchor)
        parts = package.rsplit(".", level - 1)
        if len(parts) < level or not parts[0]:
            return None
        return f"{parts[0]}.{name}" if name else parts[0]

    # Values ---------------------------------------------------------------------------------------

    def _may_be_module(self, name: str) -> bool:
        return name in self._roots or (self._stars and name in self._linker.parts)

    def _cut(self, chain: tuple[str, ...]) -> tuple[str, ...]:
        """The part of a chain that may still be about modules."""
        for count, part in enumerate(chain[1:-1], start=2):
            if part not in self._linker.parts:
                return chain[:count]
        return chain

    def _get(self, operation: Operation) -> Iterator[Operation]:
        what, line, chain, bound = operation
        cut = self._cut(chain)
        if not self._may_be_module(chain[0]):
            cut = ()
        whole = cut == chain
        if cut:
            yield what, line, cut, bound if whole else ""
        if bound and whole:
            self._roots.add(bound)
        elif bound:
            yield "bind", {bound: None}

    def _put(self, operation: Operation) -> Iterator[Operation]:
        if self._may_be_module(operation[2][0]):
            yield operation

    def _copy(self, operation: Operation) -> Iterator[Operation]:
        _, target, source = operation
        if self._may_be_module(source):
            self._roots.add(target)
            yield operation
        else:
            yield "bind", {target: None}

    # Branches -------------------------------------------------------------------------------------

    def _if(self, operation: Operation) -> Iterator[Operation]:
        _, line, test, body, otherwise = operation
        value: bool | None = None
        if isinstance(test, str) and self._linker.environment is not None:
            value = evaluate_text(test, self._linker.environment)
        if value is not None:
            yield from self.block(body if value else otherwise)
            return
        blocks = self.block(body), self.block(otherwise)
        soft = tuple(_weak(block, True) for block in blocks)
        if isinstance(test, tuple):
            yield ("flag", line, test, *blocks, *soft)
        elif all(each[0] == "bind" for block in soft for each in block):
            for block in soft:
                yield from block
        else:
            yield ("if", line, *soft)

    def _try(self, operation: Operation) -> Iterator[Operation]:
        what, *blocks = operation
        body, otherwise, final = (self.block(blocks[at]) for at in (0, 2, 3))
        handlers = tuple((errors, self.block(handler)) for errors, handler in blocks[1])
        if any(errors is None or not _IMPORT_ERRORS.issuperset(errors) for errors, _ in handlers):
            # What is caught here can come from anything in it, and so be raised unseen.
            body, otherwise = (_weak(block, False) for block in (body, otherwise))
        if any(each[0] != "bind" for each in body):
            yield what, body, handlers, otherwise, final
            return
        yield from body
        if final and any(each[0] != "bind" for each in otherwise):
            yield what, otherwise, (), (), final
        else:
            yield from (*otherwise, *final)

    def _scope(self, operation: Operation) -> Iterator[Operation]:
        block = self.block(operation[1])
        if any(each[0] not in _NO_EFFECT for each in block):
            yield "scope", block


def _none(_operation: Operation) -> Iterator[Operation]:
    return iter(())


def _append(out: list[Operation], operation: Operation) -> None:
    if operation[0] == "bind" and out and out[-1][0] == "bind":
        out[-1] = ("bind", out[-1][1] | operation[1])
    else:
        out.append(operation)


def _weakened(block: Block, *, may_not_run: bool) -> Iterator[Operation]:
    """A block whose constants are not to be relied on; if it may not run, it takes nothing away."""
    for operation in block:
        what = operation[0]
        if what == "bind":
            values = operation[1].items()
            yield what, {name: None if _is_constant(value) else value for name, value in values}
        elif what == "try":
            _, body, handlers, *others = operation
            handlers = tuple((errors, _weak(each, may_not_run)) for errors, each in handlers)
            others = [_weak(each, may_not_run) for each in others]
            yield (what, _weak(body, may_not_run), handlers, *others)
        elif what == "if":
            yield (*operation[:2], *(_weak(each, may_not_run) for each in operation[2:]))
        elif what == "flag":
            # The last two are weak already: weakened again at each level they would double.
            soft = operation[5:7]
            hard = soft if may_not_run else tuple(_weak(each, False) for each in operation[3:5])
            yield (*operation[:3], *hard, *soft)
        elif not may_not_run or what not in ("unbind", "drop"):
            yield operation


def _weak(block: Block, may_not_run: bool) -> Block:
    return tuple(_weakened(block, may_not_run=may_not_run))


def _is_constant(value: object) -> bool:
    return isinstance(value, bool | str)

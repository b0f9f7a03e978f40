"""Executes linked programs as CPython executes modules, as far as imports go.

Source: CPython 3.10 to 3.14: ``Lib/importlib/_bootstrap.py`` (``_find_and_load``,
``_load_unlocked``, ``_handle_fromlist``) and ``Python/ceval.c`` (``import_from``,
``import_all_from``).
"""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable, Generator, Mapping, MutableMapping
from typing import Any, TypeAlias

from distcycle.imports.modules import Module
from distcycle.imports.replay.linking import Body, Linked, Linker
from distcycle.imports.replay.operations import NOTHING, Block, Operation, Program
from distcycle.imports.replay.outcomes import Cause, Outcome, Step

__all__ = ["Execution", "Mark"]

_Values: TypeAlias = dict[str, Any]
Work: TypeAlias = Generator["Work", Any, Any]
"""It yields the loading of a module, so that a chain of imports is no chain of Python calls."""

Mark: TypeAlias = tuple[int, int]

_ABSENT = object()
_MOST_CALLS = 2_000
"""How many functions are followed for one entry."""
_OF_EVERY_MODULE = frozenset(dir(types.ModuleType)) | frozenset(
    f"__{name}__"
    for name in (
        *("annotations", "builtins", "cached", "dict", "doc", "file", "loader", "name"),
        *("package", "path", "spec"),
    )
)


class _Locals(dict[str, Any]):
    """The names of a function, which classes in it see; those of a class are seen by none."""


class _Live:
    """A module object."""

    __slots__ = ("is_open", "is_package", "line", "linked", "loading", "name", "names")

    def __init__(self, name: str, linked: Linked | None, *, is_package: bool) -> None:
        self.name = name
        self.linked = linked or Linked()
        self.names: _Values = {}
        self.loading = False
        self.line = 0
        self.is_package = is_package
        self.is_open = linked is None or linked.is_open

    def has(self, name: str) -> bool:
        """Whether an attribute is there, or a ``__getattr__`` answers for it."""
        names = self.names
        return name in names or "__getattr__" in names or name in _OF_EVERY_MODULE


class _Failure(Exception):
    """An exception of the program that is executed."""

    def __init__(self, cause: Cause, error: str) -> None:
        super().__init__(cause)
        self.cause = cause
        self.error = error


class Execution:
    """An interpreter's modules, and what executing more of them does to them.

    Args:
        modules: The modules that are known.
        programs: Their programs; of a module without one nothing is known.
        linker: Links the programs.
        namespaces_are_open: Whether packages without a file may have other parts elsewhere.
    """

    def __init__(
        self,
        modules: Mapping[str, Module],
        programs: Mapping[str, Program],
        linker: Linker,
        *,
        namespaces_are_open: bool,
    ) -> None:
        self._modules = modules
        self._programs = programs
        self._linker = linker
        self._namespaces_are_open = namespaces_are_open
        self._linked: dict[str, Linked | None] = {}
        self._loaded: dict[str, _Live] = {}
        self._stack: list[_Live] = []
        self._doubts: list[Cause] = []
        self._journal: list[tuple[MutableMapping[str, Any], str, Any]] = []
        self._guards: list[tuple[str, ...] | None] = []
        self._handling: list[tuple[_Live, _Failure]] = []
        self._calling: list[Body] = []
        self._calls = 0
        self._operations: dict[str, Callable[[_Live, _Values, Operation], Work | None]] = {
            "unbind": self._unbind,
            "copy": self._copy,
            "call": self._call,
            "import": self._import,
            "from": self._from,
            "star": self._star,
            "open": self._open,
            "absent": self._absent,
            "load": self._load_by_name,
            "get": self._get,
            "put": self._put,
            "drop": self._put,
            "export": self._export,
            "if": self._if,
            "flag": self._flag,
            "try": self._try,
            "scope": self._scope,
            "raise": self._raise,
            "return": self._return,
        }

    # From outside ---------------------------------------------------------------------------------

    def mark(self) -> Mark:
        """Note the state, to come back to it."""
        return len(self._journal), len(self._doubts)

    def undo(self, mark: Mark) -> None:
        """Go back to a state that was noted.

        A module that is new since then is gone with all its names, so that only what is done to
        older ones, and to the table of modules, has to be kept in the journal.
        """
        for table, key, old in reversed(self._journal[mark[0] :]):
            if old is _ABSENT:
                table.pop(key, None)
            else:
                table[key] = old
        del self._journal[mark[0] :]
        del self._doubts[mark[1] :]

    def since(self, mark: Mark) -> tuple[tuple[str, ...], tuple[Cause, ...]]:
        """The modules loaded, and the doubts met, since a state was noted."""
        touched = {
            key
            for table, key, _ in self._journal[mark[0] :]
            if table is self._loaded and key in self._loaded and key in self._modules
        }
        return tuple(sorted(touched)), tuple(dict.fromkeys(self._doubts[mark[1] :]))

    def enter(self, name: str) -> Cause | None:
        """Import a module as a program's first statement would.

        Args:
            name: The module.

        Returns:
            Why it fails; None when it does not.
        """
        if name in self._loaded:
            return None
        self._calls = 0
        try:
            _drive(self._find(name))
        except _Failure as failure:
            return failure.cause
        return None

    # The import system ----------------------------------------------------------------------------

    def _find(self, name: str) -> Work:
        """As ``importlib._bootstrap._find_and_load``."""
        live = self._loaded.get(name)
        if live is not None:
            return live
        parent, _, child = name.rpartition(".")
        package = None
        if parent:
            if parent not in self._loaded:
                yield from self._find(parent)
                if name in self._loaded:
                    return self._loaded[name]
            package = self._loaded[parent]
            self._look_into(package)
        module = self._modules.get(name)
        if module is None or (package is not None and not package.is_package):
            live = self._unknown(name, package)
        else:
            live = yield self._load(module)
        if package is not None:
            self._set(package.names, child, live)
        return live

    def _look_into(self, package: _Live) -> None:
        """A namespace asks the package it is in where to look, and that may have failed."""
        above = package.name.rpartition(".")[0]
        module = self._modules.get(package.name)
        if above and above not in self._loaded and module and module.kind == "namespace":
            raise self._failure("raised", "KeyError", package.name)

    def _unknown(self, name: str, package: _Live | None) -> _Live:
        """A module without a file: it is missing, unless code that is not seen can have made it."""
        missing = self._failure("missing", "ModuleNotFoundError", name)
        if package is None:
            raise missing
        module = self._modules.get(package.name)
        opaque = module is None or package.name not in self._programs
        if module is not None and module.kind == "namespace":
            opaque = self._namespaces_are_open
        if not opaque:
            if not package.linked.makes_modules:
                raise missing
            self._doubt(missing)
        live = _Live(name, None, is_package=True)
        self._set(self._loaded, name, live)
        return live

    def _load(self, module: Module) -> Work:
        """As ``importlib._bootstrap._load_unlocked``."""
        linked = self._link(module)
        live = _Live(module.name, linked, is_package=module.is_package)
        self._set(self._loaded, module.name, live)
        if linked is None or (not linked.operations and not linked.fault):
            return live
        self._stack.append(live)
        live.loading = True
        try:
            if linked.fault:
                self._fault(live, linked)
            yield from self._run(live, linked.operations, live.names)
        except _Failure:
            if module.name in self._loaded:
                self._unset(self._loaded, module.name)
            raise
        finally:
            live.loading = False
            self._stack.pop()
        return live

    def _link(self, module: Module) -> Linked | None:
        name = module.name
        if name not in self._linked:
            program = self._programs.get(name)
            if program is not None:
                self._linked[name] = self._linker.link(module, program)
            elif module.kind == "namespace" and not self._namespaces_are_open:
                self._linked[name] = Linked()
            else:
                self._linked[name] = None
        return self._linked[name]

    def _fault(self, live: _Live, linked: Linked) -> None:
        """What cannot be parsed here may be newer than the Python that reads it."""
        live.line = linked.fault_line or 0
        live.is_open = True
        self._doubt(self._failure("raised", "SyntaxError", live.name))

    # State ----------------------------------------------------------------------------------------

    def _set(self, table: MutableMapping[str, Any], key: str, value: object) -> None:
        self._journal.append((table, key, table.get(key, _ABSENT)))
        table[key] = value

    def _unset(self, table: MutableMapping[str, Any], key: str) -> None:
        self._journal.append((table, key, table.pop(key, _ABSENT)))

    def _failure(
        self, outcome: Outcome, error: str, module: str, symbol: str | None = None
    ) -> _Failure:
        stack = self._stack
        at = stack[-1] if stack else None
        cause = Cause(
            outcome=outcome,
            error=error,
            importer=at.name if at else module,
            line=at.line if at else 0,
            module=module,
            symbol=symbol,
            chain=tuple(Step(live.name, live.line) for live in stack),
        )
        return _Failure(cause, error)

    def _circular(
        self, error: str, source: _Live, symbol: str, submodule: _Live | None = None
    ) -> _Failure:
        at = self._stack[-1]
        partial = submodule if submodule is not None and not source.loading else source
        cause = Cause(
            outcome="circular",
            error=error,
            importer=at.name,
            line=at.line,
            module=source.name,
            symbol=symbol,
            bound_line=source.linked.bound.get(symbol),
            back_line=partial.line if partial.loading else None,
            chain=tuple(Step(live.name, live.line) for live in self._stack),
        )
        return _Failure(cause, error)

    def _doubt(self, failure: _Failure) -> None:
        """Note a failure that is not certain, unless something would catch it."""
        if not any(_catches(failure.error, errors) for errors in self._guards):
            self._doubts.append(failure.cause)

    def _value(self, live: _Live, names: _Values, name: str) -> Any:
        return names[name] if name in names else live.names.get(name)

    # Names of modules -----------------------------------------------------------------------------

    def _imported(self, source: _Live, symbol: str) -> Any:
        """As ``import_from``: the attribute, else the submodule that is being loaded."""
        if symbol in source.names:
            return source.names[symbol]
        submodule = self._loaded.get(f"{source.name}.{symbol}")
        if submodule is not None or source.has(symbol):
            return submodule
        return self._lacking(source, symbol, "ImportError")

    def _attribute(self, source: _Live, symbol: str) -> Any:
        """As ``getattr``, which does not look for submodules."""
        if symbol in source.names:
            return source.names[symbol]
        answers = source.has(symbol)
        name = f"{source.name}.{symbol}"
        submodule = self._loaded.get(name)
        loading = submodule is not None and submodule.loading
        if answers and not loading:
            return None
        if name in self._modules:
            failure = self._circular("AttributeError", source, symbol, submodule)
            if loading and not answers:
                raise failure
            self._doubt(failure)  # a __getattr__ or another function may have imported it
            return submodule
        return self._lacking(source, symbol, "AttributeError")

    def _lacking(self, source: _Live, symbol: str, error: str) -> None:
        """Fail for a name that is not there, unless it can be there by means that are not seen."""
        if source.loading and (symbol in source.linked.bound or not source.is_open):
            raise self._circular(error, source, symbol)
        if not source.is_open:
            raise self._failure("missing", error, source.name, symbol)

    # Operations -----------------------------------------------------------------------------------

    def _run(self, live: _Live, block: Block, names: _Values) -> Work:
        """Execute a block; whether it ended its function."""
        operations = self._operations
        for operation in block:
            if operation[0] == "bind":
                names.update(operation[1])
                continue
            work = operations[operation[0]](live, names, operation)
            if work is not None and (yield from work):
                return True
        return False

    def _unbind(self, _live: _Live, names: _Values, operation: Operation) -> None:
        for name in operation[1]:
            names.pop(name, None)

    def _copy(self, live: _Live, names: _Values, operation: Operation) -> None:
        names[operation[1]] = self._value(live, names, operation[2])

    def _call(self, live: _Live, names: _Values, operation: Operation) -> Work | None:
        body = self._value(live, names, operation[2])
        if not isinstance(body, Body) or not body.operations or body in self._calling:
            return None
        self._calls += 1
        if self._calls > _MOST_CALLS:
            return None  # functions that call each other twice and twice again never end
        live.line = operation[1]
        return self._called(live, body)

    def _called(self, live: _Live, body: Body) -> Work:
        local = _Locals()
        self._calling.append(body)
        try:
            yield from self._run(live, body.operations, local)
        finally:
            self._calling.pop()
            live.names.update({name: local[name] for name in body.shared if name in local})

    def _import(self, live: _Live, names: _Values, operation: Operation) -> Work | None:
        _, live.line, name, bound, top = operation
        if not bound and name in self._loaded and top in self._loaded:
            names[top] = self._loaded[top]
            return None
        return self._import_slowly(names, name, bound)

    def _import_slowly(self, names: _Values, name: str, bound: str) -> Work:
        yield from self._find(name)
        top, *rest = name.split(".")
        live = yield from self._find(top)  # it may have failed, and left its submodule behind
        if not bound:
            names[top] = live
            return
        for part in rest:
            live = self._imported(live, part) if isinstance(live, _Live) else None
        names[bound] = live

    def _from(self, live: _Live, names: _Values, operation: Operation) -> Work | None:
        _, live.line, name, wanted, symbols = operation
        source = self._loaded.get(name)
        if source is not None:
            have = source.names
            if have.keys() >= symbols:
                for symbol, bound in wanted:
                    names[bound] = have[symbol]
                return None
        return self._from_slowly(names, name, wanted)

    def _from_slowly(self, names: _Values, name: str, wanted: tuple[tuple[str, str], ...]) -> Work:
        source = yield from self._find(name)
        if source.is_package:
            for symbol, _ in wanted:
                yield from self._submodule(source, symbol)
        for symbol, bound in wanted:
            names[bound] = self._imported(source, symbol)

    def _submodule(self, source: _Live, symbol: str) -> Work:
        """As ``importlib._bootstrap._handle_fromlist`` for one name."""
        name = f"{source.name}.{symbol}"
        if symbol in source.names or name not in self._modules or name in self._loaded:
            return
        try:
            yield from self._find(name)
        except _Failure as failure:
            if source.has(symbol):
                self._doubt(failure)  # its __getattr__ may answer with something else
            elif failure.error != "ModuleNotFoundError" or failure.cause.module != name:
                raise

    def _star(self, live: _Live, names: _Values, operation: Operation) -> Work:
        _, live.line, name = operation
        source = yield from self._find(name)
        exported = source.names.get("__all__", _ABSENT)
        if isinstance(exported, tuple):
            if source.is_package:
                for symbol in exported:
                    yield from self._submodule(source, symbol)
            for symbol in exported:
                names[symbol] = self._attribute(source, symbol)
        else:
            public = {key: value for key, value in source.names.items() if key[0] != "_"}
            names.update(public)
            # What a computed __all__ names may be private.
            live.is_open |= source.is_open or "__all__" in source.names

    def _open(self, live: _Live, _names: _Values, _operation: Operation) -> None:
        live.is_open = True

    def _absent(self, live: _Live, _names: _Values, operation: Operation) -> None:
        _, live.line, name, error = operation
        raise self._failure("missing", error, name)

    def _load_by_name(self, live: _Live, names: _Values, operation: Operation) -> Work:
        _, live.line, name, bound = operation
        found = yield from self._find(name)
        if bound:
            names[bound] = found

    def _get(self, live: _Live, names: _Values, operation: Operation) -> None:
        _, line, chain, bound = operation
        value = self._value(live, names, chain[0])
        for part in chain[1:]:
            if not isinstance(value, _Live):
                value = None
                break
            if part in value.names:
                value = value.names[part]
            else:
                live.line = line
                value = self._attribute(value, part)
        if bound:
            names[bound] = value

    def _put(self, live: _Live, names: _Values, operation: Operation) -> None:
        what, _, chain = operation
        value = self._value(live, names, chain[0])
        for part in chain[1:-1]:
            value = value.names.get(part) if isinstance(value, _Live) else None
        if isinstance(value, _Live):
            if what == "put":
                self._set(value.names, chain[-1], None)
            else:
                self._unset(value.names, chain[-1])

    def _export(self, live: _Live, names: _Values, operation: Operation) -> None:
        _, _, parts, extends = operation
        whole: tuple[str, ...] | None = names.get("__all__") if extends else ()
        for kind, what in parts:
            more = what if kind == "names" else self._exported(live, names, what)
            whole = whole + more if whole is not None and isinstance(more, tuple) else None
        names["__all__"] = whole

    def _exported(self, live: _Live, names: _Values, chain: tuple[str, ...]) -> Any:
        value = self._value(live, names, chain[0])
        for part in chain[1:]:
            value = value.names.get(part) if isinstance(value, _Live) else None
        return value

    # Branches -------------------------------------------------------------------------------------

    def _if(self, live: _Live, names: _Values, operation: Operation) -> Work:
        """Look at both branches, one after the other."""
        body, otherwise = operation[-2:]
        ended, failure = yield from self._perhaps(live, names, body)
        also_ended, other = yield from self._perhaps(live, names, otherwise)
        if failure and other:
            raise other if failure.cause.outcome == "raised" else failure
        for each in filter(None, (failure, other)):
            own = each.cause.outcome == "raised" and each.cause.importer == live.name
            if not own:  # most tests before a raise are of what hardly ever is
                self._doubt(each)
        return ended and also_ended

    def _perhaps(self, live: _Live, names: _Values, block: Block) -> Work:
        try:
            ended = yield from self._run(live, block, names)
        except _Failure as failure:
            return False, failure
        return ended, None

    def _flag(self, live: _Live, names: _Values, operation: Operation) -> Work:
        _, _, (name, wanted), body, otherwise, *_ = operation
        value = self._value(live, names, name)
        if value is None:
            return self._if(live, names, operation)
        if wanted in ("none", "some"):
            answer = (value == NOTHING) is (wanted == "none")
        else:
            answer = (value in (False, NOTHING, ())) is (wanted == "false")
        return self._run(live, body if answer else otherwise, names)

    def _try(self, live: _Live, names: _Values, operation: Operation) -> Work:
        failure: _Failure | None = None
        ended = False
        try:
            ended = yield from self._guarded(live, names, operation)
        except _Failure as error:
            failure = error
        ended = (yield from self._run(live, operation[-1], names)) or ended
        if failure is not None:
            raise failure
        return ended

    def _guarded(self, live: _Live, names: _Values, operation: Operation) -> Work:
        _, body, handlers, otherwise, _ = operation
        count = len(self._guards)
        self._guards += [errors for errors, handler in handlers if not _raises(handler)]
        try:
            ended = yield from self._run(live, body, names)
        except _Failure as failure:
            del self._guards[count:]
            for errors, handler in handlers:
                if _catches(failure.error, errors):
                    return (yield from self._handled(live, names, handler, failure))
            raise
        del self._guards[count:]
        return ended or (yield from self._run(live, otherwise, names))

    def _handled(self, live: _Live, names: _Values, handler: Block, failure: _Failure) -> Work:
        self._handling.append((live, failure))
        try:
            return (yield from self._run(live, handler, names))
        finally:
            self._handling.pop()

    def _scope(self, live: _Live, names: _Values, operation: Operation) -> Work:
        return self._run(live, operation[1], dict(names) if isinstance(names, _Locals) else {})

    def _raise(self, live: _Live, _names: _Values, operation: Operation) -> None:
        _, line, error = operation
        handled = next((each for at, each in reversed(self._handling) if at is live), None)
        if handled is None:
            live.line = line
            raise self._failure("raised", error or "RuntimeError", live.name)
        raise _Failure(handled.cause, error or handled.error)

    def _return(self, _live: _Live, _names: _Values, _operation: Operation) -> Work:
        yield from ()  # a generator, as others that may end a function are
        return True


def _raises(block: Block) -> bool:
    """Whether a handler lets the error, or another, go on."""
    return any(operation[0] == "raise" for operation in block)


@functools.cache
def _catches(error: str, errors: tuple[str, ...] | None) -> bool:
    """Whether a handler of some errors is for this one; classes that are not Python's are equal."""
    if errors is None or "BaseException" in errors or error in errors:
        return True
    raised = getattr(builtins, error, Exception)
    classes = [getattr(builtins, name, None) for name in errors]
    return isinstance(raised, type) and any(
        isinstance(each, type) and issubclass(raised, each) for each in classes
    )


def _drive(work: Work) -> Any:
    """Run work to its end, with a stack of its own instead of Python's."""
    stack = [work]
    value: Any = None
    failure: _Failure | None = None
    while stack:
        work = stack[-1]
        try:
            if failure is None:
                stack.append(work.send(value))
            else:
                thrown, failure = failure.with_traceback(None), None
                stack.append(work.throw(thrown))
            value = None
        except StopIteration as stop:
            stack.pop()
            value = stop.value
        except _Failure as raised:
            stack.pop()
            failure = raised
    if failure is not None:
        raise failure
    return value

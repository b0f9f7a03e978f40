"""What a module's top level does, in order, as far as it decides which imports work.

A program is the same for every target and every place: relative names keep their dots and tests
their text, so that it can be kept by the file's digest. Operations are plain tuples, for marshal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

__all__ = ["NOTHING", "READER", "Block", "Operation", "Program"]

READER = 1
"""The version of what is read; programs that were kept by another version are not used."""

NOTHING = "None"
"""Stands for the constant None among the values of names, where None means "not known"."""

Operation: TypeAlias = tuple[Any, ...]
"""What it does, then what it needs:

========  =====================================  ================================================
bind      {name: value}                          a value is True, False, NOTHING or None
unbind    (name, ...)                            ``del``, and the end of ``except ... as name``
copy      target, source                         ``target = source``
define    name, index                            ``def name``, whose body is ``functions[index]``
call      line, name                             calls a function of the module's own
import    line, module, bound                    ``import module [as bound]``; ``""`` without ``as``
from      line, module, level, ((name, bound),)  ``from ..module import name as bound``
star      line, module, level                    ``from ..module import *``
load      line, name, anchor, bound              ``bound = importlib.import_module(name, anchor)``
get       line, (root, name, ...), bound         ``bound = root.name``
put       line, (root, name, ...)                ``root.name = ...``
drop      line, (root, name, ...)                ``del root.name``
export    line, parts, extends                   ``__all__ = parts`` or ``__all__ += parts``
if        line, test, body, otherwise            a test is text, (name, is), or None: not known
try       body, ((errors, block),), else, final  errors are class names; None for every error
scope     block                                  a class body: what it binds is not the module's
raise     line, error                            ``""`` for the error that is being handled
global    (name, ...)                            begins a function: these names are the module's
return                                           ends a function
========  =====================================  ================================================
"""

Block: TypeAlias = tuple[Operation, ...]


class Program(NamedTuple):
    """What a module does while it is imported.

    ``marshal`` keeps ``tuple(program)``, and ``Program(*kept)`` is it again.

    Attributes:
        operations: What its top level does, in order.
        functions: What those of its functions do that it calls itself while it is imported.
        bound: The names that it binds, and the first line that does.
        exported: Its ``__all__``, where that is literal; None when it is not, or there is none.
        computes_names: Whether it has a ``__getattr__`` of its own.
        makes_names: Whether it may bind names by other means, such as ``globals()``.
        makes_modules: Whether it touches ``sys.modules``.
        fault: Why it could not be parsed; None when it could.
        fault_line: Where.
    """

    operations: Block = ()
    functions: tuple[Block, ...] = ()
    bound: Mapping[str, int] = {}
    exported: tuple[str, ...] | None = None
    computes_names: bool = False
    makes_names: bool = False
    makes_modules: bool = False
    fault: str | None = None
    fault_line: int | None = None

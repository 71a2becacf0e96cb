"""Arguments of constructors that have no effect: nothing reads them, or what they are stored in."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType

from torch import nn

from hookcli.engine.probes.code.user_source import OwnText, definition_of, is_own
from hookcli.models import places

_ALL = {"locals", "vars", "exec", "eval", "super().__init__"}  # what may read any argument
_MANY = 5  # arguments that have no effect: the class has an interface to keep


@dataclass(frozen=True, slots=True)
class UnreadSetting:
    """An argument of a constructor, whether an attribute keeps it, and the line."""

    argument: str
    is_stored: bool
    place: str


def unread_settings(kind: type, own: OwnText) -> Iterator[UnreadSetting]:
    """Yield the arguments of a class's constructor that change nothing.

    Either the constructor does not read it, or it only stores it in an attribute of that name that
    no line of the user's files reads. Nothing is said of classes that inherit a constructor or a
    method of a class that is not the user's, other than of torch.nn.Module: that may read it.
    """
    made = vars(kind).get("__init__")
    if not isinstance(made, FunctionType) or not is_own(made) or not _is_plain(kind):
        return
    definition = definition_of(made)
    if definition is None or definition.decorator_list:
        return
    given = definition.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)][1:]
    nodes = [node for statement in definition.body for node in ast.walk(statement)]
    read = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    if not _ALL.isdisjoint(read):
        return
    file = places.show(made.__code__.co_filename)
    found = []
    for name in names:
        if name.startswith("_") or name in {"args", "kwargs", "self"}:
            continue
        if name not in read:
            found.append(UnreadSetting(name, False, f"{file}:{definition.lineno}"))
            continue
        stores = [node for node in nodes if isinstance(node, ast.Assign) and _stores(node, name)]
        if len(stores) == read.count(name) == 1 and _is_unread(name, own):
            found.append(UnreadSetting(name, True, f"{file}:{stores[0].lineno}"))
    if len(found) < _MANY:
        yield from found


def _stores(node: ast.Assign, name: str) -> bool:
    """Return whether a statement is `self.name = name`."""
    if len(node.targets) != 1:
        return False
    target, value = node.targets[0], node.value
    return (
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.attr == name
        and isinstance(value, ast.Name)
        and value.id == name
    )


def _is_plain(kind: type) -> bool:
    """Return whether all classes that a class inherits are the user's, or nn.Module or object."""
    for base in kind.__mro__:
        if base in (nn.Module, object):
            continue
        file = getattr(sys.modules.get(base.__module__), "__file__", None)
        made = [one for one in vars(base).values() if isinstance(one, FunctionType)]
        if file is None or not made or not all(is_own(one) for one in made):
            return False
        if inspect.getattr_static(base, "__getattr__", None) not in (None, nn.Module.__getattr__):
            return False
    return True


def _is_unread(name: str, own: OwnText) -> bool:
    """Return whether no line of the user's files reads an attribute, or has its name as a string.

    It is not known if there are very many lines.
    """
    escaped = re.escape(name)
    reads = re.compile(rf"\.{escaped}\b(?!\s*=(?!=))|[\"']{escaped}[\"']")
    return own.search(reads) is False

"""Clues in the source of forward: the keys that it looks up, the parts that it unpacks."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, TypeGuard

Parts: TypeAlias = "tuple[Parts | str, ...]"


@dataclass(frozen=True, slots=True)
class Use:
    """How forward uses a parameter. `parts`: the targets of `a, (b, c) = parameter`.

    `unpacked_into` is the attribute that is called with it as keywords: `self.net(**parameter)`.
    `layers` is the attribute whose layers take its items, one each: `zip(self.layers, parameter)`.
    The use with the name "" tells what holds for all parameters.
    """

    keys: tuple[str, ...] = ()
    parts: Parts = ()
    one_step: bool = False  # forward has a hard-coded `view(1, 1, -1)`
    unpacked_into: str = ""
    layers: str = ""


@lru_cache(maxsize=8)
def uses(forward: Callable[..., Any]) -> dict[str, Use]:
    """Return how forward uses its parameters; empty without its source."""
    try:
        source = textwrap.dedent(inspect.getsource(forward))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError, ValueError, RecursionError):
        return {}
    own = _own_name(tree)
    keys: dict[str, list[str]] = {}
    parts: dict[str, Parts] = {}
    steps, into, layers = False, dict[str, str](), dict[str, str]()
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
                keys.setdefault(name, []).append(key)
            case ast.Call(
                func=ast.Attribute(attr="view" | "reshape"),
                args=[ast.Constant(value=1), ast.Constant(value=1), *_],
            ):
                steps = True
            case ast.Call(
                func=ast.Attribute() as called,
                keywords=[*_, ast.keyword(arg=None, value=ast.Name(id=name))],
            ) if _is_own(called, own):
                into.setdefault(name, called.attr)
            case ast.Call(func=ast.Name(id="zip"), args=[_, _, *_] as zipped):
                names = [item.id for item in zipped if isinstance(item, ast.Name)]
                attributes = [item.attr for item in zipped if _is_own(item, own)]
                for name in names if attributes else ():
                    layers.setdefault(name, attributes[0])
            case ast.For():
                name, attribute = _numbered(node, own)
                if attribute:
                    layers.setdefault(name, attribute)
            case ast.Assign(targets=[ast.Tuple() as target], value=ast.Name(id=name)):
                parts.setdefault(name, _parts(target))
    return {
        name: Use(
            tuple(dict.fromkeys(keys.get(name, ()))),
            parts.get(name, ()),
            steps,
            into.get(name, ""),
            layers.get(name, ""),
        )
        for name in {*keys, *parts, *into, *layers, ""}
    }


def _own_name(tree: ast.Module) -> str:
    """Return the name that a method gives its object: `self`, mostly."""
    method = next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)), None)
    return method.args.args[0].arg if method is not None and method.args.args else "self"


def _is_own(node: ast.AST, own: str) -> TypeGuard[ast.Attribute]:
    """Whether an expression is an attribute of the object that a method calls `own`."""
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == own
    )


def _numbered(loop: ast.For, own: str) -> tuple[str, str]:
    """Return the name and attribute of `for i, x in enumerate(name): self.attribute[i](x)`."""
    match loop:
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=number), _]),
            iter=ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name(id=name)]),
        ):
            for node in ast.walk(loop):
                match node:
                    case ast.Call(
                        func=ast.Subscript(
                            value=ast.Attribute() as layers, slice=ast.Name(id=index)
                        )
                    ) if index == number and _is_own(layers, own):
                        return name, layers.attr
    return "", ""


def _parts(target: ast.Tuple) -> Parts:
    return tuple(
        _parts(item) if isinstance(item, ast.Tuple) else getattr(item, "id", "")
        for item in target.elts
    )

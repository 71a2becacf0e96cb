"""Values whose order is another one where they are read than where they are made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from hookcli.engine.probes.code.mistakes.searched_code import (
    Mistake,
    SearchedCode,
    called,
    short,
    target_of,
    text_of,
    words,
)

_STORES = {"append", "push", "add", "store", "put", "remember", "appendleft"}
_MOVES = re.compile(r"permute|transpose|movedim|rearrange|swapaxes|\.T\b|\.mT\b|einsum")
_MOST = 3  # values of a tuple
_X, _Y = {"x", "xs", "cx", "xc"}, {"y", "ys", "cy", "yc"}
_HEIGHT, _WIDTH = {"height", "h"}, {"width", "w"}


def unpacked_orders(code: SearchedCode) -> Iterator[Mistake]:
    """Yield values that are unpacked in another order than in which they are stored."""
    stored: dict[frozenset[str], list[list[str]]] = {}
    for call in code.all(ast.Call):
        if called(call) not in _STORES:
            continue
        rows = [call.args[0]] if len(call.args) == 1 else []
        for row in rows:
            names = _names(row)
            if len(names) > _MOST:
                stored.setdefault(frozenset(names), []).append(names)
    for node in code.all(ast.Assign):
        target = target_of(node)
        names = _names(target) if target is not None else []
        orders = stored.get(frozenset(names), [])
        if orders and names not in orders and "zip(*" in text_of(node.value):
            yield Mistake(", ".join(names), node.lineno, ", ".join(orders[0]))


def returned_orders(code: SearchedCode) -> Iterator[Mistake]:
    """Yield results of a function that get its names in another order."""
    returned: dict[str, list[list[str]]] = {}
    for function in code.functions:
        for node in ast.walk(function) if not function.name.startswith("__") else ():
            if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
                returned.setdefault(function.name, []).append(_names(node.value))
    for assignment in code.all(ast.Assign):
        target = target_of(assignment)
        orders = returned.get(called(assignment.value), [])
        names = _names(target) if isinstance(target, ast.Tuple) else []
        if len(names) < 2 or not orders or names in orders:
            continue
        if any(len(order) == len(names) and set(order) == set(names) for order in orders):
            yield Mistake(
                f"{text_of(target or assignment)} = {called(assignment.value)}(...)",
                assignment.lineno, ", ".join(orders[0]),
            )  # fmt: skip


def _names(node: ast.AST) -> list[str]:
    """Return the names of a tuple or list; [] if something else is in it."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List) else []
    parts = [_converted(one) for one in parts]
    found = [one.id for one in parts if isinstance(one, ast.Name)]
    return found if len(found) == len(parts) == len({*found}) else []


def _converted(node: ast.expr) -> ast.expr:
    """Return the argument of a call that converts a number, as float(done)."""
    is_call = isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords
    if (
        is_call
        and isinstance(node, ast.Call)
        and called(node) in {"float", "int", "bool", "tensor"}
    ):
        return node.args[0]
    return node


def class_numbers(code: SearchedCode) -> Iterator[Mistake]:
    """Yield maps from names to numbers that number the same names otherwise than a list does."""
    tree = code.tree
    known: dict[frozenset[str], tuple[str, list[str]]] = {}
    for node in tree.body if isinstance(tree, ast.Module) else ():
        target = target_of(node)
        value = node.value if isinstance(node, ast.Assign) else None
        names: list[str] = []
        if isinstance(value, ast.List | ast.Tuple):
            names = [
                one.value
                for one in value.elts
                if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            names = names if len(names) == len(value.elts) else []
        elif isinstance(value, ast.Dict):
            pairs = list(zip(value.keys, value.values, strict=True))
            numbered = {
                number.value: str(name.value)
                for name, number in pairs
                if isinstance(name, ast.Constant) and isinstance(number, ast.Constant)
            }
            if len(numbered) == len(pairs) and {*numbered} == {*range(len(pairs))}:
                names = [numbered[i] for i in range(len(pairs))]
        if target is None or len(names) < 2:
            continue
        key = frozenset(names)
        former, order = known.setdefault(key, (text_of(target), names))
        if order != names and len(key) == len(names):
            yield Mistake(text_of(target), node.lineno, former)


def joined_dimensions(code: SearchedCode) -> Iterator[Mistake]:
    """Yield reshapes that join two dimensions of a tensor between which another one lies."""
    for function in code.functions:
        sizes: dict[str, list[str]] = {}
        for node in ast.walk(function):
            target = target_of(node)
            value = node.value if isinstance(node, ast.Assign) else None
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Attribute | ast.Call):
                source = value if isinstance(value, ast.Attribute) else value.func
                if isinstance(source, ast.Attribute) and source.attr in {"shape", "size"}:
                    sizes[text_of(source.value)] = _names(target)
        for name in [*sizes]:
            changed = [
                one for one in ast.walk(function)
                if isinstance(one, ast.Assign) and name in map(text_of, one.targets)
            ]  # fmt: skip
            if any(_MOVES.search(text_of(one.value)) for one in changed):
                del sizes[name]
        for call in ast.walk(function) if sizes else ():
            if called(call) not in {"reshape", "view"} or not isinstance(call, ast.Call):
                continue
            base = call.func.value if isinstance(call.func, ast.Attribute) else None
            if base is None or _MOVES.search(text_of(base)):
                continue
            roots = [name for name in sizes if re.search(rf"\b{re.escape(name)}\b", text_of(base))]
            order = sizes[roots[0]] if len(roots) == 1 else []
            used = {one.id for one in ast.walk(call) if isinstance(one, ast.Name)}
            if not order or not used >= {*order}:
                continue
            for argument in call.args:
                factors = [one for one in _factors(argument) if one in order]
                places = [order.index(one) for one in factors]
                if len(places) > 1 and max(places) - min(places) >= len(places):
                    yield Mistake(
                        short(call), call.lineno, f"{text_of(base)}: [{', '.join(order)}]"
                    )
                    break


def _factors(node: ast.expr) -> list[str]:
    """Return the names that a product multiplies."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*_factors(node.left), *_factors(node.right)]
    return [node.id] if isinstance(node, ast.Name) else []


def crossed_sizes(code: SearchedCode) -> Iterator[Mistake]:
    """Yield coordinates of which x is divided by the height, and y by the width."""
    for function in code.functions:
        across: dict[bool, tuple[str, int]] = {}
        for node in ast.walk(function):
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
                continue
            left, right = words(text_of(node.left)), words(text_of(node.right))
            for is_x, own, other in ((True, _X, _HEIGHT), (False, _Y, _WIDTH)):
                if left & own and not left & (_Y if is_x else _X) and right & other:
                    across[is_x] = text_of(node), node.lineno
        if len(across) == 2:
            (first, line), (second, _) = across[True], across[False]
            yield Mistake(first, line, second)

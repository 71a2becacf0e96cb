"""Overlaps and losses of masks that differ from their definition: Dice, IoU and focal losses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from hookcli.engine.probes.code.mistakes.searched_code import (
    Mistake,
    SearchedCode,
    called,
    line_of,
    names_in,
    short,
    target_of,
    text_of,
    words,
)

_JOINED = {"union", "unions", "either", "or"}


def dice_without_two(code: SearchedCode) -> Iterator[Mistake]:
    """Yield Dice coefficients that divide the intersection by both sizes, without a factor 2."""
    for function in _named(code, "dice"):
        if re.search(r"\b2\b|\b2\.|0\.5|\b/ 2|f1|iou|jaccard", ast.unparse(function).lower()):
            continue
        for node in ast.walk(function):
            parts = _quotient(node)
            if parts and _has_sum(parts[1], 2) and not _has(parts[1], ast.Sub):
                yield Mistake(short(node), line_of(node))
                break


def unions_with_intersection(code: SearchedCode) -> Iterator[Mistake]:
    """Yield intersections over union whose union counts the intersection twice."""
    for function in _named(code, "iou", "jaccard"):
        text = ast.unparse(function).lower()
        if re.search(r"\bdice|logical_or|maximum|\||clamp\(.*max=1|max\(|> 0", text):
            continue
        for node in ast.walk(function):
            parts = _quotient(node)
            if not parts or _has(function, ast.Sub):
                continue
            union = _value_of(function, parts[1])
            if _has_sum(union, 2) and "2" not in text_of(parts[0]):
                yield Mistake(short(node), line_of(node))
                break


def unions_of_one_mask(code: SearchedCode) -> Iterator[Mistake]:
    """Yield unions of an IoU, by their names, that are the size of one mask alone."""
    for node in code.all(ast.Assign):
        target = target_of(node)
        if not isinstance(target, ast.Name) or not words(target.id) & {"union", "unions"}:
            continue
        value = node.value
        if called(value) != "sum" or not isinstance(value, ast.Call):
            continue
        owner = value.func.value if isinstance(value.func, ast.Attribute) else None
        name = owner.id if isinstance(owner, ast.Name) else ""
        if name and name not in {"torch", "np"} and not words(name) & _JOINED:
            yield Mistake(text_of(node), node.lineno)


def _named(code: SearchedCode, *names: str) -> Iterator[ast.FunctionDef]:
    """Yield the functions of these names, and the forwards of classes of these names."""
    for function in code.functions:
        if words(function.name.replace("IoU", "Iou")) & set(names):
            yield function
    for kind in code.all(ast.ClassDef):
        if words(kind.name.replace("IoU", "Iou")) & set(names):
            methods = {one.name: one for one in kind.body if isinstance(one, ast.FunctionDef)}
            if "forward" in methods:
                yield methods["forward"]


def _quotient(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return the numerator and denominator of a fraction of an intersection."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return None
    tells = any(name.lower().startswith("inter") for name in names_in(node.left))
    return (node.left, node.right) if tells else None


def _value_of(function: ast.FunctionDef, node: ast.expr) -> ast.expr:
    """Return the value of a name in a function, with what is added to it; else the node."""
    while isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant | ast.Name):
        if isinstance(node.left, ast.Name) and len(names_in(node.right)) <= 1:
            node = node.left
        else:
            break
    if not isinstance(node, ast.Name):
        return node
    values = [
        one.value
        for one in ast.walk(function)
        if isinstance(one, ast.Assign) and text_of(one.targets[0]) == node.id
    ]
    return values[0] if len(values) == 1 else node


def _has_sum(node: ast.expr, count: int) -> bool:
    """Return whether a value adds up at least so many parts that are sums of tensors."""
    return (
        isinstance(node, ast.BinOp) and sum(called(one) == "sum" for one in ast.walk(node)) >= count
    )


def _has(node: ast.AST, operator: type[ast.operator]) -> bool:
    return any(
        isinstance(one, ast.BinOp) and isinstance(one.op, operator) for one in ast.walk(node)
    )


def focal_powers(code: SearchedCode) -> Iterator[Mistake]:
    """Yield focal losses with `p ** gamma`, where the definition has `(1 - p) ** gamma`."""
    for function in code.functions if code.names("focal") else ():
        kind = code.parents.get(id(function))
        owner = kind.name if isinstance(kind, ast.ClassDef) else ""
        named = words(function.name) | words(owner)
        if "focal" not in named or named & {"tversky", "dice", "iou"}:
            continue
        text = ast.unparse(function)
        if re.search(r"1(\.0*)? ?- |ones|rsub|-= ?1|sigmoid\(-|\(-|- 1\b", text):
            continue
        for node in ast.walk(function):
            power = _power(node)
            if power is None or "loss" in text_of(power[0]).lower():
                continue
            if "gamma" in text_of(power[1]).lower():
                yield Mistake(short(node), line_of(node))
                break


def averaged_focal_losses(code: SearchedCode) -> Iterator[Mistake]:
    """Yield focal losses whose probability is exp(-loss) of a loss that is averaged already."""
    for function in code.functions if code.names("focal|gamma") else ():
        losses = {}
        for node in ast.walk(function):
            target = target_of(node)
            value = node.value if isinstance(node, ast.Assign) else None
            if not isinstance(target, ast.Name) or value is None:
                continue
            if "cross_entropy" in called(value) and _is_averaged(value, code):
                losses[target.id] = target.lineno
        text = ast.unparse(function) if losses else ""
        for name in losses:
            found = re.search(rf"(\w+) = torch\.exp\(-{name}\)|(\w+) = \(-{name}\)\.exp\(\)", text)
            share = (found[1] or found[2]) if found else None
            if share and re.search(rf"\(1(\.0)? - {share}\) \*\* |pow\(1(\.0)? - {share}", text):
                yield Mistake(name, losses[name], f"exp(-{name})")
        calls = [one for one in ast.walk(function) if isinstance(one, ast.Call)]
        for name, line in losses.items():
            for call in calls:
                given = [one.id if isinstance(one, ast.Name) else "" for one in call.args]
                if name in given and _makes_focal(code, call, given.index(name)):
                    yield Mistake(name, line, f"exp(-{name})")


def _makes_focal(code: SearchedCode, call: ast.Call, place: int) -> bool:
    """Return whether a call is one of a function of the file that weights a loss by its own exp."""
    made = [one for one in code.functions if one.name == called(call) == text_of(call.func)]
    if len(made) != 1 or place >= len(made[0].args.args):
        return False
    given, text = made[0].args.args[place].arg, ast.unparse(made[0])
    found = re.search(rf"(\w+) = torch\.exp\(-{given}\)|(\w+) = \(-{given}\)\.exp\(\)", text)
    share = (found[1] or found[2]) if found else None
    return (
        share is not None
        and re.search(
            rf"\(1(\.0)? - {share}\) \*\* .*\* {given}\b|{given} \* \(1(\.0)? - {share}\) \*\*",
            text,
        )
        is not None
    )


def _is_averaged(call: ast.expr, code: SearchedCode) -> bool:
    """Return whether a call of a loss reduces it, by its arguments or the default of a class."""
    keywords = {one.arg: one.value for one in call.keywords} if isinstance(call, ast.Call) else {}
    value = keywords.get("reduction")
    if value is None:
        return "reduce" not in keywords and None not in keywords
    if isinstance(value, ast.Constant):
        return value.value != "none"
    if not isinstance(value, ast.Attribute):
        return False
    for made in code.functions:
        if made.name == "__init__":
            names = [one.arg for one in made.args.args]
            defaults = dict(zip(reversed(names), reversed(made.args.defaults), strict=False))
            default = defaults.get(value.attr)
            if isinstance(default, ast.Constant):
                return default.value in {"mean", "sum"}
    return False


def _power(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return the base and the exponent of a power."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return node.left, node.right
    if isinstance(node, ast.Call) and called(node) == "pow" and node.args:
        if len(node.args) > 1:
            return node.args[0], node.args[1]
        if isinstance(node.func, ast.Attribute):
            return node.func.value, node.args[0]
    return None


def focal_sides(code: SearchedCode) -> Iterator[Mistake]:
    """Yield focal terms whose power is of the probability of the logarithm itself."""
    for node in code.all(ast.BinOp):
        parent = code.parents.get(id(node))
        is_part = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult)
        if not isinstance(node.op, ast.Mult) or is_part:
            continue
        powers, logs = set(), set()
        for one in ast.walk(node):
            pair: list[ast.expr] = []
            if called(one) == "pow" and isinstance(one, ast.Call):
                pair = one.args
            elif isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow):
                pair = [one.left, one.right]
            if len(pair) == 2 and "gamma" in text_of(pair[1]):
                powers.add(text_of(pair[0]))
            if called(one) == "log" and isinstance(one, ast.Call) and one.args:
                logs.add(text_of(one.args[0]))
        for base in sorted(powers & logs):
            yield Mistake(short(node), node.lineno, base)


def shifted_logsigmoids(code: SearchedCode) -> Iterator[Mistake]:
    """Yield logsigmoid(1 - x), where the logarithm of 1 - sigmoid(x) is meant."""
    for call in code.all(ast.Call):
        given = call.args[0] if called(call) == "logsigmoid" and call.args else None
        if not isinstance(given, ast.BinOp) or not isinstance(given.op, ast.Sub):
            continue
        if isinstance(given.left, ast.Constant) and given.left.value == 1:
            yield Mistake(short(call), call.lineno, text_of(given.right))

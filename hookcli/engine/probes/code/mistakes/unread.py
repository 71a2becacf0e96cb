"""Values that a formula needs and that nothing reads: ends of episodes, masks, a count's parts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from hookcli.engine.probes.code.mistakes.searched_code import (
    Mistake,
    SearchedCode,
    called,
    names_in,
    plain_names,
    short,
    target_of,
    text_of,
    words,
)

_ENDS = re.compile(r"(dones?|done_\w+|\w+_dones?|terminals?|terminateds?)$")
_DISCOUNT = re.compile(r"gamma|discount", re.IGNORECASE)
_TRAIN_MASK = re.compile(r"(idx_train|train_(mask|idx|index|indices|ids|nodes))$")
_MEASURES = re.compile(r"eval|test|valid|acc|score|metric|f1|print|log")
_TRAINS, _EVALUATES = {"train", "fit", "training"}, {"test", "val", "valid", "validation", "eval"}


def _loads(function: ast.AST, name: str) -> list[ast.Name]:
    """Return where a function reads a variable."""
    return [
        one
        for one in ast.walk(function)
        if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)
    ]


def unread_ends(code: SearchedCode) -> Iterator[Mistake]:
    """Yield targets of values that a function computes without the flags of ends that it has."""
    for function in code.functions:
        ends = {
            one.id
            for one in ast.walk(function)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and _ENDS.match(one.id)
        }
        for name in sorted(ends):
            own = {id(one) for node in ast.walk(function) for one in _of_itself(node, name)}
            # `unread_values` tells of what is never read at all.
            if own and all(id(one) in own for one in _loads(function, name)):
                yield from _targets(function, name)


def _of_itself(node: ast.AST, name: str) -> Iterator[ast.AST]:
    """Yield what an assignment reads to give a variable a new form of itself."""
    target = target_of(node)
    if isinstance(target, ast.Name) and target.id == name and isinstance(node, ast.Assign):
        yield from ast.walk(node.value)


def _targets(function: ast.AST, name: str) -> Iterator[Mistake]:
    for node in ast.walk(function):
        target = target_of(node)
        if target is None or not isinstance(node, ast.Assign):
            continue
        value = node.value
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
            continue
        rewarded = any("reward" in one.lower() for one in names_in(value.left))
        product = value.right
        discounted = isinstance(product, ast.BinOp) and any(
            _DISCOUNT.search(one) for one in names_in(product)
        )
        if rewarded and discounted:
            yield Mistake(short(node), node.lineno, name)
            return


def unread_train_masks(code: SearchedCode) -> Iterator[Mistake]:
    """Yield trainings that have a mask of training nodes, and use it for measures only."""
    for function in code.functions:
        arguments = {one.arg for one in function.args.args}
        masks = [name for name in sorted(arguments) if _TRAIN_MASK.match(name)]
        passes = [one for one in ast.walk(function) if called(one) == "backward"]
        if len(masks) != 1 or len(passes) != 1:
            continue
        measured = {
            id(one)
            for call in ast.walk(function)
            if isinstance(call, ast.Call) and _MEASURES.search(called(call).lower())
            for one in ast.walk(call)
        }
        loads = _loads(function, masks[0])
        if loads and all(id(one) in measured for one in loads):
            yield from _loss_of(function, passes[0], masks[0])


def _loss_of(function: ast.AST, call: ast.AST, mask: str) -> Iterator[Mistake]:
    """Yield the assignment to the loss whose backward a call computes."""
    owner = call.func.value if isinstance(call, ast.Call) else None  # type: ignore[attr-defined]
    for node in ast.walk(function):
        target = target_of(node)
        if target is None or owner is None or text_of(target) != text_of(owner):
            continue
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            yield Mistake(short(node), node.lineno, mask)
            return


def sizes_of_other_splits(code: SearchedCode) -> Iterator[Mistake]:
    """Yield sums of a training that are divided by the size of test data, and the reverse."""
    for function in code.functions:
        named = words(function.name)
        trains, evaluates = bool(named & _TRAINS), bool(named & _EVALUATES)
        if trains == evaluates:
            continue
        other = _EVALUATES if trains else {"train", "training"}
        loops = [one for one in ast.walk(function) if isinstance(one, ast.For | ast.comprehension)]
        looped = {name for one in loops for name in names_in(one.iter)}
        if not loops or any(words(_apart(name)) & other for name in looped):
            continue
        for node in ast.walk(function):
            size = _divisor(node)
            if size is None or called(size) != "len" or not isinstance(size, ast.Call):
                continue
            if any(words(_apart(name)) & other for name in names_in(size.args[0])):
                yield Mistake(short(node), size.lineno, function.name)


def _apart(name: str) -> str:
    """Return a name with the words apart that are often written together: test_loader."""
    return re.sub(r"(loader|set|data|ds|dl)", r"_\1", name, flags=re.IGNORECASE)


def _divisor(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return node.right
    is_division = isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div)
    return node.value if is_division else None  # type: ignore[attr-defined]


def counts_of_last_batches(code: SearchedCode) -> Iterator[Mistake]:
    """Yield hits that are counted after the loop over batches, and divided by a whole data set."""
    for block in code.blocks:
        for at, loop in enumerate(block):
            if not isinstance(loop, ast.For) or "loader" not in text_of(loop.iter).lower():
                continue
            inside = plain_names(loop.target) | _assigned(loop.body)
            before = _assigned(block[:at])
            derived = inside - before
            hits: set[str] = set()
            for node in block[at + 1 :]:
                target = target_of(node)
                value = node.value if isinstance(node, ast.Assign) else None
                if isinstance(target, ast.Name) and value is not None:
                    if _counts_hits(value) and plain_names(value) & derived:
                        hits.add(target.id)
                    elif plain_names(value) & derived:
                        derived.add(target.id)
                yield from _shares(node, hits, derived)


def _assigned(block: list[ast.stmt]) -> set[str]:
    return {
        one.id
        for node in block
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }


def _counts_hits(value: ast.expr) -> bool:
    compared = [
        one for one in ast.walk(value)
        if isinstance(one, ast.Compare) and isinstance(one.ops[0], ast.Eq)
    ]  # fmt: skip
    return bool(compared) and any(called(one) == "sum" for one in ast.walk(value))


def _shares(node: ast.AST, hits: set[str], derived: set[str]) -> Iterator[Mistake]:
    for one in ast.walk(node):
        if not isinstance(one, ast.BinOp) or not isinstance(one.op, ast.Div):
            continue
        size = text_of(one.right)
        of_all = re.match(r"len\(|\w+\.shape\[0\]$|\w+\.size\(0\)$", size)
        if plain_names(one.left) & hits and of_all and not plain_names(one.right) & derived:
            yield Mistake(short(one), one.lineno, next(iter(plain_names(one.left) & hits)))

"""Statements that do something else than they seem to: without a call, with a wrong name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

from hookcli.engine.probes.code.mistakes.searched_code import (
    Mistake,
    SearchedCode,
    called,
    line_of,
    names_in,
    short,
    target_of,
    text_of,
)

_SCORES = re.compile(r"logit|score|energy|attn|att\b|^out$|dots?$")
_TINY = 1e-3
_JOINS = {"cat", "concat", "concatenate", "stack", "hstack"}
_METHODS = {"zero_grad", "step", "backward", "eval", "train", "requires_grad_"}
_MISSPELLED = {
    "require_grad", "require_grads", "requires_grads", "required_grad", "requires_gradient",
    "requires_gradients", "required_grads", "requiresgrad",
}  # fmt: skip


def uncalled_methods(code: SearchedCode) -> Iterator[Mistake]:
    """Yield statements that only name a method, such as `optimizer.zero_grad`."""
    for node in code.all(ast.Expr):
        if isinstance(node.value, ast.Attribute) and node.value.attr in _METHODS:
            yield Mistake(text_of(node), node.lineno)


def lost_comparisons(code: SearchedCode) -> Iterator[Mistake]:
    """Yield statements that compare attributes with `==`, where `=` would assign."""
    for node in code.all(ast.Expr):
        value = node.value
        if not isinstance(value, ast.Compare) or len(value.ops) != 1:
            continue
        assignable = isinstance(value.left, ast.Attribute)
        constant = isinstance(value.comparators[0], ast.Constant)
        if assignable and constant and isinstance(value.ops[0], ast.Eq):
            yield Mistake(text_of(node), node.lineno)


def lost_sums(code: SearchedCode) -> Iterator[Mistake]:
    """Yield statements that only compute a sum or a product, as `x + self.position(x)`."""
    for node in code.all(ast.Expr):
        value = node.value
        if not isinstance(value, ast.BinOp) or isinstance(
            value.op, ast.LShift | ast.RShift | ast.BitOr
        ):
            continue
        block = code.parents.get(id(node))
        last = isinstance(block, ast.Module) and block.body[-1] is node  # as in a notebook
        if not last and any(isinstance(one, ast.Name) for one in ast.walk(value)):
            yield Mistake(short(value), node.lineno)


def types_joined_by_or(code: SearchedCode) -> Iterator[Mistake]:
    """Yield calls of isinstance with `A or B`, which is A."""
    for node in code.all(ast.Call):
        if called(node) != "isinstance" or len(node.args) != 2:
            continue
        kinds = node.args[1]
        if not isinstance(kinds, ast.BoolOp) or not isinstance(kinds.op, ast.Or):
            continue
        if all(isinstance(one, ast.Name | ast.Attribute) for one in kinds.values):
            yield Mistake(text_of(kinds), node.lineno, text_of(kinds.values[0]))


def texts_joined_by_or(code: SearchedCode) -> Iterator[Mistake]:
    """Yield conditions such as `name == "a" or "b"`, which are always true."""
    for node in code.conditions:
        test = node.test
        if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.Or):
            continue
        first, *rest = test.values
        texts = [first] if isinstance(first, ast.Constant) else rest
        if not any(isinstance(one, ast.Compare) for one in test.values):
            continue
        for one in texts:
            if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value:
                yield Mistake(short(test), node.lineno, text_of(one))
                break


def misspelled_attributes(code: SearchedCode) -> Iterator[Mistake]:
    """Yield assignments to an attribute that is nearly `requires_grad`."""
    for node in code.all(ast.Assign):
        target = target_of(node)
        if isinstance(target, ast.Attribute) and target.attr in _MISSPELLED:
            yield Mistake(text_of(target), node.lineno, "requires_grad")


def cut_fractions(code: SearchedCode) -> Iterator[Mistake]:
    """Yield tensors of integers that are made of quotients: their fractions are cut off."""
    for call in code.all(ast.Call):
        if called(call) not in {"tensor", "as_tensor", "LongTensor", "IntTensor"} or not call.args:
            continue
        kinds = [text_of(one.value) for one in call.keywords if one.arg == "dtype"]
        whole = called(call) in {"LongTensor", "IntTensor"}
        if not whole and not any(re.search(r"\b(int|long)\w*$", kind) for kind in kinds):
            continue
        given = call.args[0]
        parts = given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
        parts = [one.elt if isinstance(one, ast.ListComp) else one for one in parts]
        for one in parts:
            if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div):
                yield Mistake(text_of(one), call.lineno, short(call.func))
                break


def saved_methods(code: SearchedCode) -> Iterator[Mistake]:
    """Yield calls of torch.save with the method `state_dict` itself, which is not called."""
    for node in code.all(ast.Call):
        if called(node) != "save" or not node.args:
            continue
        given = node.args[0]
        parts = given.values if isinstance(given, ast.Dict) else [given]
        for one in parts:
            if isinstance(one, ast.Attribute) and one.attr == "state_dict":
                yield Mistake(text_of(one), one.lineno)


def cancelled_sums(code: SearchedCode) -> Iterator[Mistake]:
    """Yield sums such as `x + (y - x)`, which are y: as a rule, a `detach` is missing.

    A straight-through estimator is `x + (y - x).detach()`.
    """
    for node in code.all(ast.BinOp):
        if not isinstance(node.op, ast.Add):
            continue
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if not isinstance(other, ast.BinOp) or not isinstance(other.op, ast.Sub):
                continue
            plain = isinstance(one, ast.Name | ast.Attribute | ast.Subscript)
            if plain and text_of(one) == text_of(other.right) != text_of(other.left):
                yield Mistake(short(node), node.lineno, text_of(other.left))
                break


def joined_twice(code: SearchedCode) -> Iterator[Mistake]:
    """Yield concatenations of a part with itself, in a function that joins different ones too.

    `cat([c[-1, 0], c[-1, 0]])` beside `cat([h[-1, 0], h[-1, 1]])` takes one direction twice.
    """
    for function in code.functions:
        pairs = []
        for call in ast.walk(function):
            given = call.args[0] if isinstance(call, ast.Call) and call.args else None
            if called(call) not in _JOINS or not isinstance(given, ast.List | ast.Tuple):
                continue
            if len(given.elts) == 2 and all(map(_is_fixed_part, given.elts)):
                pairs.append((call, [text_of(one) for one in given.elts]))
        different = any(one != other for _, (one, other) in pairs)
        for call, (one, other) in pairs:
            if one == other and different:
                yield Mistake(short(call), line_of(call), one)


def _is_fixed_part(node: ast.expr) -> bool:
    """Return whether a node is a part of a tensor with fixed numbers, as `h[-1, 0]`."""
    if not isinstance(node, ast.Subscript):
        return False
    at = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return all(re.fullmatch(r"-?\d+|:", text_of(one)) for one in at) and any(
        re.fullmatch(r"-?\d+", text_of(one)) for one in at
    )


def tiny_fills(code: SearchedCode) -> Iterator[Mistake]:
    """Yield scores that a tiny positive number replaces before a softmax: it hides nothing."""
    softmax = code.names("softmax|categorical|multinomial|cross_entropy|CrossEntropyLoss")
    for node in code.all(ast.Assign) if softmax else ():
        target = target_of(node)
        if isinstance(target, ast.Subscript) and _is_tiny(node.value):
            compared = isinstance(target.slice, ast.Compare)
            if compared and _SCORES.search(text_of(target.value).lower()) is not None:
                yield Mistake(short(node), node.lineno, text_of(node.value))
    for call in code.all(ast.Call) if softmax else ():
        if called(call) not in {"masked_fill", "masked_fill_"} or not call.args:
            continue
        owner = call.func.value if isinstance(call.func, ast.Attribute) else call
        if _is_tiny(call.args[-1]) and _SCORES.search(text_of(owner).lower()) is not None:
            yield Mistake(short(call), call.lineno, text_of(call.args[-1]))


def _is_tiny(node: ast.expr) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, float) and 0 < value < _TINY


_GENERATORS = {"parameters", "named_parameters", "buffers", "named_buffers", "filter", "map", "zip"}


def used_up_generators(code: SearchedCode) -> Iterator[Mistake]:
    """Yield generators such as `model.parameters()` that are gone through twice.

    The second time, in the same block or in a loop after it, they are empty.
    """
    for block in code.blocks:
        for i, node in enumerate(block):
            target = target_of(node)
            made = node.value if isinstance(node, ast.Assign) else None
            if not isinstance(target, ast.Name) or not isinstance(made, ast.Call):
                continue
            is_builtin = called(made) in {"filter", "map", "zip"}
            if called(made) not in _GENERATORS or is_builtin != isinstance(made.func, ast.Name):
                continue
            uses: list[ast.Name] = []
            for later in block[i + 1 :]:
                again = target_of(later)
                if isinstance(again, ast.Name) and again.id == target.id:
                    break
                uses += _uses_in(later, target.id)
            if len(uses) > 1 and not any(_is_next(code, one) for one in uses):
                yield Mistake(short(made), uses[1].lineno, target.id)


def _uses_in(statement: ast.stmt, name: str) -> list[ast.Name]:
    """Return the first use of a generator in a statement, twice if a loop repeats it.

    Those behind a condition are left out, as another branch may have the other use.
    """
    if isinstance(statement, ast.If | ast.Try | ast.FunctionDef | ast.ClassDef):
        return []
    found = [one for one in ast.walk(statement) if _reads(one, name)]
    if not found or not isinstance(statement, ast.For | ast.While):
        return found[:1]
    body = [one for part in statement.body for one in ast.walk(part) if _reads(one, name)]
    return [body[0], body[0]] if body else found[:1]


def _reads(node: ast.AST, name: str) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)


def _is_next(code: SearchedCode, name: ast.Name) -> bool:
    """Return whether a generator is read in part on purpose, by next() or islice()."""
    parent = code.parents.get(id(name))
    return isinstance(parent, ast.Call) and called(parent) in {"next", "islice", "iter", "tee"}


def graphless_results(code: SearchedCode) -> Iterator[Mistake]:
    """Yield forwards that return a result of torch.autograd.grad without a graph."""
    for function in code.forwards:
        made: dict[str, ast.Call] = {}
        for node in ast.walk(function):
            target = target_of(node)
            if not isinstance(node, ast.Assign) or not isinstance(target, ast.Name):
                continue
            for call in ast.walk(node.value):
                if not isinstance(call, ast.Call) or "create_graph" in text_of(call):
                    continue
                if text_of(call.func).endswith("autograd.grad"):
                    made[target.id] = call
        for node in ast.walk(function) if made else ():
            if isinstance(node, ast.Return) and node.value is not None:
                for name in made.keys() & names_in(node.value):
                    yield Mistake(short(made[name]), made[name].lineno, name)

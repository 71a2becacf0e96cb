"""Mistakes in the code of an evaluation: sums that only keep the last batch, and wrong orders."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from hookcli.engine.probes.code.mistakes.searched_code import given_to
from hookcli.training.source.frame_source import own_nodes

_MODEL = r"(^|\.)(\w*(model|net|network|classifier))$"  # what a script calls its model
_LOOPS = (ast.For, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp)


def overwritten_sums(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the variables that begin with 0 and that a loop assigns instead of adding to them.

    Another variable of the loop is added up, and this one is read behind the loop only.
    """
    for block in blocks(tree):
        zeros: set[str] = set()
        for number, statement in enumerate(block):
            if isinstance(statement, ast.Assign):
                zeros |= _zeros(statement)
            if not isinstance(statement, _LOOPS):
                continue
            nodes = list(ast.walk(statement))
            read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
            added = {
                n.target.id
                for n in nodes
                if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
            }
            later = {
                one.id
                for after in block[number + 1 :]
                for one in ast.walk(after)
                if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
            }
            for node in nodes if added & zeros else ():
                if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant):
                    name = _assigned(node)
                    if name in (zeros & later) - read - added:
                        yield name, node.lineno


def blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield each list of statements."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield block


def _zeros(statement: ast.Assign) -> set[str]:
    """Return the names that an assignment gives the value 0."""
    found = set()
    for target in statement.targets:
        pairs = [(target, statement.value)]
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            pairs = list(zip(target.elts, statement.value.elts, strict=False))
        for name, value in pairs:
            number = value.value if isinstance(value, ast.Constant) else None
            if isinstance(name, ast.Name) and type(number) in (int, float) and number == 0:
                found.add(name.id)
    return found


def _assigned(node: ast.AST) -> str:
    """Return the name that an assignment gives alone; "" if it is none."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return ""
    target = node.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def argmax_of_all(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield comparisons with an argmax without a dimension, whose results are counted.

    It is one index of the whole tensor, not one for each row.
    """
    counted = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in {"sum", "mean", "float"}
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare) or id(node) not in counted:
            continue
        if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq):
            continue
        for side in (node.left, node.comparators[0]):
            if isinstance(side, ast.Call) and _is_argmax(side):
                yield ast.unparse(side), node.lineno


def _is_argmax(call: ast.Call) -> bool:
    """Return whether a call is of argmax, without a dimension."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "argmax" or call.keywords:
        return False
    owner = call.func.value
    of_module = isinstance(owner, ast.Name) and owner.id in {"torch", "np", "numpy"}
    return len(call.args) == of_module


def argmax_of_rows(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the largest of dimension 1 of what a model returns, by `argmax` or `torch.max`.

    If the model has one output, it is always index 0.
    """
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            continue
        made = {
            node.targets[0].id
            for node in own_nodes(function)
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Call)
            and re.search(_MODEL, ast.unparse(node.value.func))
        }
        for node in own_nodes(function):
            if isinstance(node, ast.Call) and (given := _given_to_argmax(node)) is not None:
                while isinstance(given, ast.Attribute | ast.Call):
                    given = given.value if isinstance(given, ast.Attribute) else given.func
                if isinstance(given, ast.Name) and given.id in made:
                    yield ast.unparse(node), node.lineno


def _given_to_argmax(call: ast.Call) -> ast.expr | None:
    """Return what the index of the largest value along dimension 1 is searched in."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr not in {"argmax", "max"}:
        return None
    given = given_to(call, "dim")
    return given[0] if given is not None and ast.unparse(given[1]) in {"1", "-1"} else None


def dropped_labels(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield loops without gradients over a loader that shuffles, which drop the labels.

    What they collect is in another order than the labels of the data set.
    """
    shuffled = {
        _assigned(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and "DataLoader" in ast.unparse(node.value.func)
        and any(k.arg == "shuffle" and _is_true(k.value) for k in node.value.keywords)
    } - {""}
    for block in ast.walk(tree) if shuffled else ():
        if not isinstance(block, ast.With) or "no_grad" not in ast.unparse(block.items[0]):
            continue
        for node in ast.walk(block):
            if isinstance(node, ast.For) and ".append(" in ast.unparse(node):
                pairs = [(node.iter, node.target)]
            elif isinstance(node, _COMPREHENSIONS):
                pairs = [(one.iter, one.target) for one in node.generators]
            else:
                continue
            for loader, target in pairs:
                drops = isinstance(target, ast.Tuple) and _is_dropped(target.elts[-1])
                if isinstance(loader, ast.Name) and loader.id in shuffled and drops:
                    yield loader.id, node.lineno


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _is_dropped(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "_"


def unread_targets(body: ast.AST) -> list[str]:
    """Return the targets of a batch, by their names, that a loop of a function never reads."""
    nodes = list(ast.walk(body))
    read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return [
        one.id
        for node in nodes
        if isinstance(node, ast.For) and isinstance(node.target, ast.Tuple)
        for one in node.target.elts
        if isinstance(one, ast.Name) and one.id not in read and _is_target(one.id)
    ]


def _is_target(name: str) -> bool:
    return any(word in name.lower() for word in ("target", "label", "truth")) or name == "y"

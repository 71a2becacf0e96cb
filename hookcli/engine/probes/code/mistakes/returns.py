"""Mistakes in code of reinforcement learning: returns, exploration, ends of episodes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from hookcli.engine.probes.code.mistakes.searched_code import (
    Mistake,
    SearchedCode,
    called,
    names_in,
    returns_value,
    short,
    target_of,
    text_of,
    words,
)

_DISCOUNT = re.compile(r"gamma|discount", re.IGNORECASE)
_EPSILON = re.compile(r"^(eps|epsilon|exploration\w*|explore\w*|eps_\w*|epsilon_\w*)$", re.I)
_DONE = re.compile(r"^(dones?|terminals?|terminated|is_done|terminal_\w*|done_\w*|dones_\w*)$")
_RETURNS = {"returns", "rewards", "deltas", "advantages", "advs", "adv"}
_BACKWARDS = re.compile(r"reversed|::-1|, -1\)|\.flip\(|\.reverse\(|insert\(0|appendleft")


def sums_of_earlier_rewards(code: SearchedCode) -> Iterator[Mistake]:
    """Yield loops that add up `reward + gamma * sum` from the first reward to the last.

    Each sum is then of the rewards before an action. Of a function that reverses a list anywhere,
    nothing is yielded.
    """
    for function in code.functions if code.names("gamma|discount") else ():
        text = ast.unparse(function)
        if _BACKWARDS.search(text) or not _DISCOUNT.search(text):
            continue
        for loop in ast.walk(function):
            if not isinstance(loop, ast.For) or "reward" not in text_of(loop.iter).lower():
                continue
            for node in loop.body:
                name = _running_return(node)
                kept = f"append({name})" in text_of(loop) if name else False
                if kept:
                    yield Mistake(text_of(node), node.lineno, f"for {text_of(loop.target)} in …")


def returns_in_reverse(code: SearchedCode) -> Iterator[Mistake]:
    """Yield loops over reversed rewards whose list of returns nothing reverses again."""
    for function in code.functions if code.names("gamma|discount") else ():
        for loop in ast.walk(function):
            if not isinstance(loop, ast.For):
                continue
            source = text_of(loop.iter)
            if "reward" not in source.lower() or not re.search(r"reversed|::-1", source):
                continue
            rest = ast.unparse(function).replace(ast.unparse(loop.iter), "")
            if _BACKWARDS.search(rest) or "sort" in rest:
                continue
            for node in loop.body:
                name = _running_return(node)
                kept = re.search(rf"([\w.]+)\.append\({re.escape(name)}\)", text_of(loop))
                if name and kept and _is_returned(function, kept.group(1)):
                    yield Mistake(kept.group(1), node.lineno, source)


def _is_returned(function: ast.FunctionDef, name: str) -> bool:
    """Return whether a function returns a list, or a tensor of it."""
    return any(
        isinstance(node, ast.Return) and node.value is not None and name in names_in(node.value)
        for node in ast.walk(function)
    )


def _running_return(node: ast.stmt) -> str:
    """Return the variable of `R = reward + gamma * R`; else ""."""
    target = target_of(node)
    value = node.value if isinstance(node, ast.Assign) else None
    if not isinstance(target, ast.Name) or not isinstance(value, ast.BinOp):
        return ""
    if not isinstance(value.op, ast.Add):
        return ""
    for product in (value.left, value.right):
        if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
            factors = names_in(product)
            if target.id in factors and any(map(_DISCOUNT.search, factors)):
                return target.id
    return ""


def rewards_alone(code: SearchedCode) -> Iterator[Mistake]:
    """Yield lists of rewards that are each multiplied by a power of gamma, and never added up."""
    for function in code.functions:
        if not re.search(r"discount|return", function.name, re.IGNORECASE):
            continue
        text = ast.unparse(function)
        if re.search(r"\bsum\(|cumsum|\+=|@|lfilter|convolve|accumulate", text):
            continue
        for node in ast.walk(function):
            elements = node.elt if isinstance(node, ast.ListComp | ast.GeneratorExp) else None
            if not isinstance(elements, ast.BinOp) or not isinstance(elements.op, ast.Mult):
                continue
            powers = [
                one
                for one in (elements.left, elements.right)
                if isinstance(one, ast.BinOp)
                and isinstance(one.op, ast.Pow)
                and any(map(_DISCOUNT.search, names_in(one.left)))
            ]
            if powers:
                yield Mistake(short(elements), elements.lineno, function.name)


def inverted_explorations(code: SearchedCode) -> Iterator[Mistake]:
    """Yield conditions that explore with the probability 1 - epsilon."""
    for node in code.all(ast.If):
        test = node.test
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            continue
        left, right = test.left, test.comparators[0]
        is_less = isinstance(test.ops[0], ast.Lt | ast.LtE)
        if not is_less and not isinstance(test.ops[0], ast.Gt | ast.GtE):
            continue
        if _is_epsilon(left) and _is_draw(right):
            left, right, is_less = right, left, not is_less
        if not _is_draw(left) or not _is_epsilon(right):
            continue
        other = node.orelse or _rest_of(code, node)
        greedy, random = (node.body, other) if is_less else (other, node.body)
        if _is_greedy(greedy) and _is_random(random):
            yield Mistake(text_of(test), node.lineno)


def _rest_of(code: SearchedCode, node: ast.If) -> list[ast.stmt]:
    """Return the statements after a condition whose body returns."""
    if not isinstance(node.body[-1], ast.Return):
        return []
    for block in code.blocks:
        if node in block:
            return block[block.index(node) + 1 :]
    return []


def _is_epsilon(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return bool(_EPSILON.match(name))


def _is_draw(node: ast.expr) -> bool:
    """Return whether a value is drawn between 0 and 1."""
    while isinstance(node, ast.Call) and called(node) == "item":
        node = node.func.value if isinstance(node.func, ast.Attribute) else node
    return called(node) in {"random", "rand", "uniform", "random_sample"}


def _is_random(block: list[ast.stmt]) -> bool:
    draws = {"randint", "randrange", "choice", "sample", "integers"}
    found = [called(one) for node in block for one in ast.walk(node)]
    return any(one in draws for one in found) and not _is_greedy(block)


def _is_greedy(block: list[ast.stmt]) -> bool:
    best = {"argmax", "max"}
    return any(called(one) in best for node in block for one in ast.walk(node))


def values_of_ends(code: SearchedCode) -> Iterator[Mistake]:
    """Yield targets that count the next value where an episode is done, and only there.

    The factor of the next value must be 1 - done.
    """
    for node in code.all(ast.BinOp):
        if not isinstance(node.op, ast.Add):
            continue
        for reward, product in ((node.left, node.right), (node.right, node.left)):
            if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
                continue
            factors = list(_factors(product))
            rewarded = any("reward" in name.lower() for name in names_in(reward))
            discounted = any(_DISCOUNT.search(name) for one in factors for name in names_in(one))
            if not rewarded or not discounted or len(factors) < 3:  # with done
                continue
            for one in factors:
                if _is_done(one):
                    yield Mistake(short(product), node.lineno, text_of(one))


def _factors(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the factors of a product."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _factors(node.left)
        yield from _factors(node.right)
    else:
        yield node


def _is_done(node: ast.expr) -> bool:
    """Return whether a factor is a flag of ends itself, perhaps as numbers."""
    while isinstance(node, ast.Call) and called(node) in {"float", "to", "int", "unsqueeze"}:
        if not isinstance(node.func, ast.Attribute):
            break
        node = node.func.value
    while isinstance(node, ast.Subscript):
        node = node.value
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return bool(_DONE.match(name))


def averaged_log_probabilities(code: SearchedCode) -> Iterator[Mistake]:
    """Yield means of log-probabilities that returns multiply: each has a return of its own."""
    for block in code.blocks:
        means: set[str] = set()
        for node in block:
            target = target_of(node)
            if target is not None and isinstance(node, ast.Assign):
                if _is_mean_of_logs(node.value):
                    means.add(text_of(target))
                elif text_of(target) in means:
                    means.discard(text_of(target))
            for one in ast.walk(node):
                if not isinstance(one, ast.BinOp) or not isinstance(one.op, ast.Mult):
                    continue
                for mean, other in ((one.left, one.right), (one.right, one.left)):
                    mean = mean.operand if isinstance(mean, ast.UnaryOp) else mean
                    is_mean = text_of(mean) in means or _is_mean_of_logs(mean)
                    reduced = re.search(r"mean|sum", text_of(other))
                    if is_mean and not reduced and _RETURNS & words(text_of(other)):
                        yield Mistake(short(one), one.lineno, text_of(mean))


def _is_mean_of_logs(node: ast.expr) -> bool:
    text = text_of(node)
    return (
        called(node) == "mean"
        and bool(re.search(r"log_?(prob|p\b|pi\b)", text))
        and ("*" not in text)
    )


def hooks_without_result(code: SearchedCode) -> Iterator[Mistake]:
    """Yield hooks of tensors that compute another gradient and do not return it.

    A hook that returns nothing leaves the gradient as it is.
    """
    functions = {one.name: one for one in code.functions}
    for call in code.all(ast.Call):
        given = call.args[0] if called(call) == "register_hook" and call.args else None
        hook = functions.get(given.id) if isinstance(given, ast.Name) else None
        if hook is None or len(hook.args.args) != 1 or returns_value(hook):
            continue
        name = hook.args.args[0].arg
        for node in hook.body:
            target = target_of(node)
            value = node.value if isinstance(node, ast.Assign) else None
            if value is not None and text_of(target or value) == name and name in names_in(value):
                yield Mistake(hook.name, node.lineno, short(node))
                break

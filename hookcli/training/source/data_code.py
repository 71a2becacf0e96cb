"""Mistakes in the code of data sets: random changes that a sample and its target get apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

# Changes of place that two tensors of one sample must share; noise may be apart.
_MOVES = re.compile(r"crop|flip|mirror|rotat|affine|translat|warp|shear|perspective|elastic")
_SAMPLES = re.compile(
    r"anchor|positive|negative|query|key|view|other|first|second|left|right|\bx\d"
)
_DRAWS = re.compile(r"\b(random|rng|np\.random|numpy\.random|torch\.(rand|randint|randperm))\b")


def separate_draws(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the functions that move two things of one sample apart, each with its own draw.

    `__getitem__` calls the function for both, with different arguments, and returns the results.
    Two views of one picture have one argument; pictures of a pair come from one place, or are named
    so.
    """
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for getter in ast.walk(tree):
        if not isinstance(getter, ast.FunctionDef) or getter.name != "__getitem__":
            continue
        calls: dict[str, list[tuple[str, int]]] = {}
        for node in ast.walk(getter):
            if not isinstance(node, ast.Call) or len(node.args) != 1:
                continue
            name = ast.unparse(node.func).removeprefix("self.")
            moves = functions.get(name)
            if moves is not None and _moves_at_random(moves):
                calls.setdefault(name, []).append((ast.unparse(node.args[0]), node.lineno))
        for name, found in calls.items():
            sources = {argument.partition("[")[0] for argument, _ in found}
            if len(sources) > 1 and not any(map(_SAMPLES.search, sources)):
                yield name, max(line for _, line in found)


def _moves_at_random(function: ast.FunctionDef) -> bool:
    """Return whether a function draws random numbers and changes the places of values."""
    text = ast.unparse(function)
    return bool(_MOVES.search(text.lower()) and _DRAWS.search(text))

"""Noise that code multiplies by the exponential of a log variance: that is the variance."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_LOG_VARIANCE = re.compile(
    r"log_?var(iance)?s?|logv|ln_?var|log_?sigma2|log_?sigma_?sq", re.IGNORECASE
)
_NOISE = {"randn_like", "randn", "normal"}


def variances_as_deviations(definition: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the exponentials of a log variance that scale noise, or a normal distribution."""
    noise: set[str] = set()
    deviations: dict[str, str] = {}
    for node in ast.walk(definition):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if _is_noise(node.value, set()):
                noise.add(name)
            elif (source := _exponential(node.value)) is not None:
                deviations[name] = source
    for node in ast.walk(definition):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                source = _exponential(one) or deviations.get(ast.unparse(one))
                if source is not None and _is_noise(other, noise):
                    yield source, node.lineno
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Normal"):
            scale = node.args[1] if len(node.args) > 1 else None
            source = None if scale is None else _exponential(scale)
            if source is None and scale is not None:
                source = deviations.get(ast.unparse(scale))
            if source is not None:
                yield source, node.lineno


def _is_noise(node: ast.expr, names: set[str]) -> bool:
    """Return whether an expression draws from a standard normal distribution, or has a name."""
    if isinstance(node, ast.Name):
        return node.id in names
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr in _NOISE


def _exponential(node: ast.expr) -> str | None:
    """Return the source of `log_var.exp()` or `torch.exp(log_var)`; None if it is neither."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr != "exp":
        return None
    given = node.args[0] if node.args else node.func.value
    name = ast.unparse(given).rpartition(".")[2]
    is_plain = isinstance(given, ast.Name | ast.Attribute)
    return ast.unparse(node) if is_plain and _LOG_VARIANCE.fullmatch(name.strip("_")) else None

"""Finds the operator between the output of a root and the loss that made the loss not finite.

Autograd's nodes save inputs or the result of their operators. They are read before backward frees
them, and only if the loss is already known to be not finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from hookcli.operators.finite import counts_of, described, is_readable
from hookcli.operators.gradients import forward_name
from hookcli.operators.names import written
from hookcli.operators.node_lines import node_name
from hookcli.operators.reasons import Operation, why
from hookcli.rules.first_operator import explanation
from hookcli.training.non_finite.forward_call import ForwardCall, Found
from hookcli.training.non_finite.plain_rows import facts_row

_MOST_NODES = 2_000
_aten = torch.ops.aten
_REDUCED = ("self", "target", "reduction")
# The operators of nodes that save all that is needed to run them again: their saved arguments.
_AGAIN: dict[str, tuple[Any, tuple[str, ...]]] = {
    "Log": (_aten.log.default, ("self",)),
    "Log2": (_aten.log2.default, ("self",)),
    "Log10": (_aten.log10.default, ("self",)),
    "Log1P": (_aten.log1p.default, ("self",)),
    "Acos": (_aten.acos.default, ("self",)),
    "Asin": (_aten.asin.default, ("self",)),
    "Acosh": (_aten.acosh.default, ("self",)),
    "Atanh": (_aten.atanh.default, ("self",)),
    "Div": (_aten.div.Tensor, ("self", "other")),
    "Mul": (_aten.mul.Tensor, ("self", "other")),
    "Pow": (_aten.pow.Tensor_Scalar, ("self", "exponent")),
    "Xlogy": (_aten.xlogy.Tensor, ("self", "other")),
    "Mm": (_aten.mm.default, ("self", "mat2")),
    "Bmm": (_aten.bmm.default, ("self", "mat2")),
    "Std": (_aten.std.correction, ("self", "dim")),
    "Var": (_aten.var.correction, ("self", "dim")),
    "MseLoss": (_aten.mse_loss.default, _REDUCED),
    "SmoothL1Loss": (_aten.smooth_l1_loss.default, _REDUCED),
    "HuberLoss": (_aten.huber_loss.default, _REDUCED),
    "NllLoss": (_aten.nll_loss_forward.default,
                ("self", "target", "weight", "reduction", "ignore_index")),
    "NllLoss2D": (_aten.nll_loss2d_forward.default,
                  ("self", "target", "weight", "reduction", "ignore_index")),
    "BinaryCrossEntropyWithLogits": (
        _aten.binary_cross_entropy_with_logits.default,
        ("self", "target", "weight", "pos_weight", "reduction"),
    ),
}  # fmt: skip
# The operators of nodes that save their result.
_RESULTS: dict[str, Any] = {
    "Exp": _aten.exp.default,
    "Sqrt": _aten.sqrt.default,
    "Rsqrt": _aten.rsqrt.default,
    "Reciprocal": _aten.reciprocal.default,
    "LogSoftmax": _aten._log_softmax.default,
    "Softmax": _aten._softmax.default,
    "Logsumexp": _aten.logsumexp.default,
    "LinalgVectorNorm": _aten.linalg_vector_norm.default,
    "Pow": _aten.pow.Tensor_Tensor,
    "Prod": _aten.prod.default,
    "Expm1": _aten.expm1.default,
    "Sinh": _aten.sinh.default,
}


def operator_of_loss(node: Any, calls: Sequence[ForwardCall]) -> Found | None:
    """Return the operator that made the loss not finite; None if no saved tensor shows it.

    `node` is the node of the loss, whose graph backward has not freed yet. The nodes that a call of
    a root made are not read.
    """
    with torch.no_grad():
        nodes = _after_root(node, calls)
        values = _values(nodes)
        for current in nodes:
            found = _judge(current, values)
            if found is not None:
                place = next((c.backward_place for c in calls if c.backward_place), None)
                found.place = place
                return found
    return None


def _after_root(start: Any, calls: Sequence[ForwardCall]) -> list[Any]:
    """Return the nodes that no call of a root made, each after those of its inputs."""
    order: list[Any] = []
    seen = {start}
    todo: list[tuple[Any, bool]] = [(start, False)]
    while todo and len(seen) < _MOST_NODES:
        node, done = todo.pop()
        if done:
            order.append(node)
            continue
        if node.name().endswith("AccumulateGrad") or any(c.made(node) for c in calls):
            continue
        todo.append((node, True))
        for other, _ in node.next_functions:
            if other is not None and other not in seen:
                seen.add(other)
                todo.append((other, False))
    return order


def _saved(node: Any, name: str) -> Any:
    """Return what a node saved under this name; None if it saved nothing."""
    try:
        return getattr(node, f"_saved_{name}", None)
    except RuntimeError:  # it was freed, or changed in place
        return None


def _values(nodes: list[Any]) -> dict[Any, torch.Tensor]:
    """Return the outputs of nodes, as far as they or the nodes that use them saved them."""
    values: dict[Any, torch.Tensor] = {}
    for node in nodes:
        result = _saved(node, "result")
        if isinstance(result, torch.Tensor):
            values[node] = result
        for (other, _), name in zip(node.next_functions, ("self", "other"), strict=False):
            value = _saved(node, name)
            if other is not None and isinstance(value, torch.Tensor):
                values.setdefault(other, value)
    return values


def _judge(node: Any, values: dict[Any, torch.Tensor]) -> Found | None:
    """Return a node whose output is not finite though its inputs are, as far as they are known."""
    name = forward_name(node_name(node))
    inputs = {key: _saved(node, key) for key in ("self", "other", "exponent", "mat2", "target")}
    for key, (other, _) in zip(("self", "other"), node.next_functions, strict=False):
        if inputs[key] is None and other in values:
            inputs[key] = values[other]
    known = {key: value for key, value in inputs.items() if value is not None}
    if any(is_readable(value) and counts_of(value) is not None for value in known.values()):
        return None
    divisor = known.get("other")
    if name == "Div" and isinstance(divisor, torch.Tensor) and "self" not in known:
        if not bool((divisor == 0).any()):
            return None
        return _found(_aten.div.Tensor, known, ("by_zero", {}), {"infs": 1})
    operation = _again(name, node, known)
    output = values.get(node) if operation is None else operation.output
    counts = None if output is None else counts_of(output)
    if counts is None:
        return None
    if operation is not None:
        return _found(operation.func, known, why(operation), counts)
    func = _RESULTS.get(name)
    if func is None:
        return Found("loss", operator=f"{name}", inputs=_rows(known), found_by="graph")
    reason = None
    if "self" in known and output is not None:
        reason = why(Operation(func, (known["self"],), {}, output))
    return _found(func, known, reason, counts)


def _again(name: str, node: Any, known: dict[str, Any]) -> Operation | None:
    """Run the operator of a node again; None if the node does not have its arguments."""
    func, names = _AGAIN.get(name, (None, ()))
    if func is None or "self" not in known:
        return None
    args = [known.get(key, _saved(node, key)) for key in names]
    if name in {"Div", "Mul", "Xlogy", "Mm", "Bmm"} and args[1] is None:
        return None
    if isinstance(known.get("exponent"), torch.Tensor):
        return None
    args = [_signed(arg) for arg in args]
    try:
        out = func(*args)
    except (RuntimeError, TypeError):
        return None
    return Operation(func, tuple(args), {}, out[0] if isinstance(out, tuple) else out)


def _signed(value: Any) -> Any:
    """Return a saved integer; autograd shows negative ones as unsigned."""
    return value - (1 << 64) if type(value) is int and value >= 1 << 63 else value


def _rows(known: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    return tuple(facts_row(described(key, value)) for key, value in known.items())


def _found(func: Any, known: dict[str, Any], reason: Any, counts: dict[str, int]) -> Found:
    rows = _rows(known)
    value = {
        "written": written(func),
        "reason": None if reason is None else reason[0],
        "facts": facts_row({} if reason is None else reason[1]),
        "inputs": rows,
        "node": None,
        "from": None,
        "becomes_nan": None,
        **{key: counts.get(key, 0) for key in ("nans", "infs", "minus_infs")},
    }
    text = explanation(value, inputs=False)
    return Found("loss", None, written(func), None, rows, text, "graph")

"""Finds the operator between the output of a root and the loss that made the loss not finite.

Autograd's nodes save inputs or the result of their operators. They are read if backward has not
freed them. Otherwise the names and the structure of the nodes are kept, as plain data, and the
operators run again in a replay, on its outputs, as far as they need nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from hookcli.operators.finite import counts_of, described, first_place, is_readable
from hookcli.operators.gradients import forward_name
from hookcli.operators.names import written
from hookcli.operators.nodes import node_name
from hookcli.operators.reasons import Operation, why
from hookcli.rules.first_operator import explanation
from hookcli.torch_private import disable_current_modes
from hookcli.training.non_finite.bad_variable import bad_variable
from hookcli.training.non_finite.forward_call import ForwardCall, NonFiniteValue
from hookcli.training.non_finite.loss_expression import bad_part
from hookcli.training.non_finite.plain_rows import facts_row
from hookcli.training.source.frame_source import loss_place

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
# The operators of nodes that save their result, or that can run again without saved tensors.
_FUNCTIONS: dict[str, Any] = {
    **{name: func for name, (func, _) in _AGAIN.items()},
    "Exp": _aten.exp.default,
    "Expm1": _aten.expm1.default,
    "Sqrt": _aten.sqrt.default,
    "Rsqrt": _aten.rsqrt.default,
    "Reciprocal": _aten.reciprocal.default,
    "LogSoftmax": _aten._log_softmax.default,
    "Softmax": _aten._softmax.default,
    "Logsumexp": _aten.logsumexp.default,
    "LinalgVectorNorm": _aten.linalg_vector_norm.default,
    "Prod": _aten.prod.default,
    "Sinh": _aten.sinh.default,
    "Neg": _aten.neg.default,
    "Abs": _aten.abs.default,
    "Sigmoid": _aten.sigmoid.default,
    "Tanh": _aten.tanh.default,
    "Relu": _aten.relu.default,
    "Softplus": _aten.softplus.default,
    "Clamp": _aten.clamp.default,
    "Add": _aten.add.Tensor,
    "Sub": _aten.sub.Tensor,
    "Sum": _aten.sum.dim_IntList,
    "Mean": _aten.mean.dim,
    "BinaryCrossEntropy": _aten.binary_cross_entropy.default,
}
# What they need besides their inputs, by position.
_ARGUMENTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("Log", "Log2", "Log10", "Log1P", "Acos", "Asin", "Acosh", "Atanh", "Exp", "Expm1", "Sqrt",
         "Rsqrt", "Reciprocal", "Sinh", "Neg", "Abs", "Sigmoid", "Tanh", "Relu", "Mul", "Div",
         "Xlogy", "Mm", "Bmm"),
        (),
    ),
    "LogSoftmax": ("dim",),
    "Softmax": ("dim",),
    "Logsumexp": ("dim", "keepdim"),
    "Sum": ("dim", "keepdim"),
    "Mean": ("dim", "keepdim"),
    "Softplus": ("beta", "threshold"),
    "Clamp": ("min", "max"),
    "Pow": ("exponent",),
    "Add": ("alpha",),
    "Sub": ("alpha",),
}  # fmt: skip


@dataclass(slots=True)
class LossNode:
    """A node without its tensors. `inputs` are indices of nodes, outputs of a call, or unknown."""

    name: str
    inputs: tuple[int | tuple[int, int] | None, ...]
    saved: dict[str, Any]


@dataclass(slots=True)
class ScriptLossGraph:
    """The nodes from the outputs of roots to a loss, each after those of its inputs.

    `found` is what made the loss not finite, if the source of the script or tensors that nodes
    saved show it. `variable` is one that is not finite, which matters if the outputs are. `place`
    is the line that computes the loss.
    """

    nodes: list[LossNode]
    place: str | None
    found: NonFiniteValue | None = None
    variable: NonFiniteValue | None = None

    @property
    def operators(self) -> tuple[str, ...]:
        """The names of the operators, in the order in which they first ran."""
        named = (_FUNCTIONS.get(node.name) for node in self.nodes)
        return tuple(dict.fromkeys(written(func) for func in named if func is not None))


def graph_of_loss(
    start: Any, calls: Sequence[ForwardCall], frame: FrameType | None = None
) -> ScriptLossGraph:
    """Return the graph of a loss that is not finite; `start` is its node.

    It references no tensor and no node. The nodes that a call of a root made are not in it. `frame`
    is that of the script's line that calls backward.
    """
    place = loss_place(frame) or next((c.backward_place for c in calls if c.backward_place), None)
    with torch.no_grad(), disable_current_modes():
        nodes = _after_root(start, calls)
        values = _values(nodes)
        numbers = {node: i for i, node in enumerate(nodes)}
        graph = ScriptLossGraph([_plain(node, numbers, calls) for node in nodes], place)
        graph.found = None if frame is None else bad_part(frame)
        for node in () if graph.found is not None else nodes:
            graph.found = _judge(node, values)
            if graph.found is not None:
                graph.found.place = place
                break
        if graph.found is None and frame is not None:
            graph.variable = bad_variable(frame)
    return graph


def _plain(node: Any, numbers: dict[Any, int], calls: Sequence[ForwardCall]) -> LossNode:
    inputs: list[int | tuple[int, int] | None] = []
    for other, which in node.next_functions:
        if other is None or other in numbers:
            # A node with several outputs stands for its first.
            inputs.append(None if other is None or which else numbers[other])
            continue
        key = (other._sequence_nr(), which)
        made = ((i, call.made_by[key]) for i, call in enumerate(calls) if key in call.made_by)
        inputs.append(next(made, None))
    saved = {
        name: _signed(value)
        for name in ("dim", "keepdim", "exponent", "alpha", "beta", "threshold", "min", "max")
        if not isinstance(value := _saved(node, name), torch.Tensor)
    }
    return LossNode(forward_name(node_name(node)), tuple(inputs), saved)


def run_again(
    graph: ScriptLossGraph, outputs: Sequence[Sequence[torch.Tensor]]
) -> NonFiniteValue | None:
    """Return the operator that returns NaN or Inf for finite inputs, computed from these outputs.

    `outputs` are the tensors that each call returned.
    """
    values: list[torch.Tensor | None] = []
    for node in graph.nodes:
        given = [_given(source, values, outputs) for source in node.inputs]
        operation = _operation(node, given)
        if operation is None:
            values.append(None)
            continue
        counts = counts_of(operation.output)
        if counts is not None and all(
            counts_of(value) is None for value in given if value is not None
        ):
            known = dict(zip(("self", "other"), given, strict=False))
            found = _found(operation.func, known, why(operation), counts)
            found.place, found.found_by = graph.place, "replay"
            return found
        values.append(operation.output)
    return None


def _given(
    source: int | tuple[int, int] | None,
    values: list[torch.Tensor | None],
    outputs: Sequence[Sequence[torch.Tensor]],
) -> torch.Tensor | None:
    if isinstance(source, int):
        return values[source]
    if source is None or source[0] >= len(outputs) or source[1] >= len(outputs[source[0]]):
        return None
    return outputs[source[0]][source[1]]


def _operation(node: LossNode, given: list[torch.Tensor | None]) -> Operation | None:
    func = _FUNCTIONS.get(node.name)
    names = _ARGUMENTS.get(node.name)
    if func is None or names is None or any(value is None for value in given):
        return None
    saved = [
        list(value) if isinstance(value := node.saved[name], tuple) else value for name in names
    ]
    if isinstance(saved[0] if saved else None, list):
        saved[0] = [_signed(item) for item in saved[0]]
    if node.name in {"LogSoftmax", "Softmax"}:
        saved.append(False)
    keywords = {}
    if node.name in {"Add", "Sub"}:
        keywords, saved = {"alpha": saved[0]}, []
    args = (*given, *saved)
    try:
        with torch.no_grad():
            out = func(*args, **keywords)
    except (RuntimeError, TypeError, IndexError):
        return None
    return Operation(func, args, keywords, out)


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


def _judge(node: Any, values: dict[Any, torch.Tensor]) -> NonFiniteValue | None:
    """Return a node whose output is not finite though its inputs are, as far as they are known."""
    name = forward_name(node_name(node))
    inputs = {key: _saved(node, key) for key in ("self", "other", "exponent", "mat2", "target")}
    for key, (other, _) in zip(("self", "other"), node.next_functions, strict=False):
        if inputs[key] is None and other in values:
            inputs[key] = values[other]
    known = {key: value for key, value in inputs.items() if value is not None}
    given = _given_value(name, node, known)
    if given is not None:
        return given
    if any(map(_is_bad, known.values())):
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
    func = _FUNCTIONS.get(name)
    if func is None:
        return NonFiniteValue("loss", operator=f"{name}", inputs=_rows(known), found_by="graph")
    reason = None
    if "self" in known and output is not None:
        reason = why(Operation(func, (known["self"],), {}, output))
    return _found(func, known, reason, counts)


def _given_value(name: str, node: Any, known: dict[str, Any]) -> NonFiniteValue | None:
    """Return an input that is not finite and has no gradient, if the others are finite."""
    bad = {key: value for key, value in known.items() if _is_bad(value)}
    inside = dict(zip(("self", "other"), (other for other, _ in node.next_functions), strict=False))
    if len(bad) != 1 or inside.get(next(iter(bad)), node) is not None or name not in _FUNCTIONS:
        return None
    [tensor] = bad.values()
    counts = counts_of(tensor) or {}
    kind = "NaN" if counts["nans"] else "Inf" if counts["infs"] else "-Inf"
    operator = written(_FUNCTIONS[name])
    reason = (
        f"`{operator}` got {kind} from a tensor without a gradient{first_place(tensor)}: data, or "
        "a detached value"
    )
    return NonFiniteValue("loss", None, operator, None, _rows(known), reason, "graph")


def _is_bad(value: Any) -> bool:
    return is_readable(value) and counts_of(value) is not None


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


def _found(func: Any, known: dict[str, Any], reason: Any, counts: dict[str, int]) -> NonFiniteValue:
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
    return NonFiniteValue(
        "loss",
        None,
        written(func),
        None,
        rows,
        text,
        "graph",
        cause=None if reason is None else reason[0],
    )

"""Why gradients of parameters are exactly zero: where in backward they become so.

One more forward and backward, in which each node of the graph notes which gradients that it gets
and passes on are zero. The gradient of a parameter is followed towards the loss, to the nodes that
got a gradient and passed on zeros; what these nodes saved tells the reason.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch.autograd.function import BackwardCFunction
from torch.overrides import TorchFunctionMode

from hookcli.engine.gradient_path.analysis import grouped
from hookcli.engine.gradient_path.parameter_reach import ParameterReach, reachable
from hookcli.engine.probes.context import Requests, RerunContext
from hookcli.engine.probes.rerun import Rerun
from hookcli.models import places
from hookcli.models.model import Call
from hookcli.report.findings import Measurement
from hookcli.spec.request import Mode
from hookcli.torch_private import next_sequence_nr

PROBE = "zero_reasons"
_MOST_NODES = 50_000

# Nodes whose derivative is zero where the input is out of a range.
_CLIPS = {
    "ReluBackward0": "relu", "HardtanhBackward0": "hardtanh", "ThresholdBackward0": "threshold",
    "ClampBackward0": "clamp", "ClampBackward1": "clamp", "ClampMinBackward0": "clamp_min",
    "ClampMinBackward1": "clamp_min", "ClampMaxBackward0": "clamp_max",
    "ClampMaxBackward1": "clamp_max", "HardsigmoidBackward0": "hardsigmoid",
    "HardswishBackward0": "hardswish", "LeakyReluBackward0": "leaky_relu",
    "SoftshrinkBackward0": "softshrink", "HardshrinkBackward0": "hardshrink",
}  # fmt: skip
_MASKS = {"WhereBackward0": "where", "MaskedFillBackward0": "masked_fill",
          "MaximumBackward0": "maximum", "MinimumBackward0": "minimum"}  # fmt: skip
# Nodes whose derivative is zero where the result is at an end of its range.
_FLAT = {"TanhBackward0": "tanh", "SigmoidBackward0": "sigmoid",
         "SoftmaxBackward0": "softmax", "LogSoftmaxBackward0": "log_softmax"}  # fmt: skip
_ROUNDS = {"RoundBackward0": "round", "FloorBackward0": "floor", "CeilBackward0": "ceil",
           "TruncBackward0": "trunc", "SignBackward0": "sign", "SgnBackward0": "sgn"}  # fmt: skip
# Products, with the attributes that saved the other factor of each argument.
_FACTORS: dict[str, dict[int, str]] = {
    "MulBackward0": {0: "other", 1: "self"},
    "MmBackward0": {0: "mat2", 1: "self"},
    "BmmBackward0": {0: "mat2", 1: "self"},
    "AddmmBackward0": {1: "mat2", 2: "mat1"},
    "BaddbmmBackward0": {1: "batch2", 2: "batch1"},
    "ConvolutionBackward0": {0: "weight", 1: "input"},
    "LinearBackward0": {0: "weight", 1: "input"},
}
_EMBEDDING = "EmbeddingBackward0"
_TERMS = (_FACTORS.keys() - {"MulBackward0", "LinearBackward0"}) | {_EMBEDDING}  # sums of products
# The arguments of layers that are weights: what multiplies them is the input of the layer.
_INPUTS = {"AddmmBackward0": 2, "ConvolutionBackward0": 1, "LinearBackward0": 1}
_CONVOLUTION = "ConvolutionBackward0"
_DROPOUT = {"dropout", "dropout1d", "dropout2d", "dropout3d"}
_VIEWS = {
    "ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0", "SqueezeBackward0",
    "SqueezeBackward1", "UnsqueezeBackward0", "TransposeBackward0",
}  # fmt: skip
_RECURRENT = ("MkldnnRnnLayer",)  # one call for each layer and direction
_HIDDEN_WEIGHT = 2  # the argument that multiplies the state
_SUMS = {"AddmmBackward0": 0, "ConvolutionBackward0": 2, "AddBackward0": None,
         "ExpandBackward0": None, "SubBackward0": None}  # fmt: skip


class Zeros(NamedTuple):
    """Which gradients that a node got, and passed on, have an element that is not zero."""

    got: bool
    passed: tuple[bool, ...]


class _Lines(TorchFunctionMode):
    """Notes which operator of the user's code made the nodes with which numbers.

    `dropping` are the numbers of the nodes of a dropout of every value.
    """

    def __init__(self) -> None:
        super().__init__()
        self.dropping: set[int] = set()
        self._starts: list[int] = []
        self._ends: list[tuple[int, str | None]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        start = next_sequence_nr()
        result = func(*args, **(kwargs or {}))
        end = next_sequence_nr()
        if end > start and (not self._starts or start > self._starts[-1]):
            self._starts.append(start)
            self._ends.append((end, places.of_frame(sys._getframe(1))))
        if getattr(func, "__name__", "") in _DROPOUT:
            given = (kwargs or {}).get("p", args[1] if len(args) > 1 else None)
            if isinstance(given, int | float) and given == 1:
                self.dropping.update(range(start, end))
        return result

    def of(self, node: Any) -> str | None:
        """Return the line that made a node."""
        number = node._sequence_nr()
        i = bisect_right(self._starts, number) - 1
        return self._ends[i][1] if i >= 0 and number < self._ends[i][0] else None


@dataclass(frozen=True, slots=True)
class ZeroCause:
    """Why a node passed on zeros; `what` is the operator or the factor."""

    why: str
    what: str = ""
    place: str | None = None
    layer: str = ""
    count: int = 0


@dataclass(slots=True)
class Backward:
    """What the nodes of a graph did in one backward.

    `users` are the nodes that use the result of each node, with the position of the argument.
    `grads` are what the sums of products got that passed on zeros to an argument.
    """

    zeros: dict[Any, Zeros]
    grads: dict[Any, torch.Tensor] = field(default_factory=dict)
    users: dict[Any, list[tuple[Any, int]]] = field(default_factory=dict)

    def stops(self, leaf: Any) -> Iterator[tuple[Any, int]]:
        """Yield the nodes that got a gradient and passed on zeros towards a leaf."""
        todo, seen = [leaf], {leaf}
        for node in todo:  # grows meanwhile
            for user, argument in self.users.get(node, ()):
                known = self.zeros.get(user)
                if known is None:
                    continue
                if known.got:
                    yield user, -1 if known.passed[argument] else argument
                elif user not in seen:
                    seen.add(user)
                    todo.append(user)


def zero_reasons(again: Rerun, zero: frozenset[str]) -> list[Measurement]:
    """Return a measurement for each reason, with the parts of the model that it concerns."""
    lines, calls = _Lines(), _Calls()
    infos = [info for info in again.model.parameters() if info.name in zero]
    mode: Mode = "eval" if again.plan.mode == "eval" else "train"
    with again.training(mode) as forward:  # a hook may step an optimizer in backward
        with _watched(again, lines, calls):
            loss = again.loss(forward())
        nodes = reachable(loss)
        if len(nodes) > _MOST_NODES:
            return []
        done = _backward(again, loss, nodes)
        leaves = {id(node.variable): node for node in nodes if hasattr(node, "variable")}
        held = (*again.model.parameters(), *again.model.buffers())
        names = {info.tensor.data_ptr(): info.name for info in held if info.tensor.numel()}
        found: dict[str, ZeroCause] = {}
        for info in infos:
            leaf = leaves.get(id(info.tensor))
            if leaf is not None and not _has_value(info.tensor.grad):
                stops = list(dict.fromkeys(done.stops(leaf)))
                reason = _of_stops(stops, done, leaf, lines, calls, names)
                if reason is not None:
                    found[info.name] = reason
    return list(_rows(again, found))


def _rows(again: Rerun, found: dict[str, ZeroCause]) -> Iterator[Measurement]:
    reach = ParameterReach(again.model.parameters())
    for reason, _ in Counter(found.values()).most_common():
        names = {name for name, own in found.items() if own == reason}
        bits = sum(1 << i for i, info in enumerate(reach.infos) if info.name in names)
        parts = grouped(reach, bits)
        value = {
            "why": reason.why, "what": reason.what, "place": reason.place, "count": reason.count,
            "parameters": len(names), "cut_off": parts,
        }  # fmt: skip
        yield Measurement(PROBE, reason.layer, None, value, None)
    reach.clear()


@contextmanager
def _watched(again: Rerun, lines: _Lines, calls: _Calls) -> Iterator[None]:
    with again.model.observe(calls.enter, calls.leave), lines:
        yield


class _Calls:
    """The places and names of calls, by the numbers of the nodes that they make."""

    def __init__(self) -> None:
        self._running: list[tuple[Call, int]] = []
        self._spans: list[tuple[int, int, Call]] = []

    def enter(self, call: Call, _batch: Any) -> None:
        self._running.append((call, next_sequence_nr()))

    def leave(self, call: Call, _output: Any, _error: BaseException | None) -> None:
        while self._running:
            one, start = self._running.pop()
            self._spans.append((start, next_sequence_nr(), one))
            if one is call:
                return

    def of(self, node: Any) -> Call | None:
        """Return the innermost call that made a node: inner ones end first."""
        number = node._sequence_nr()
        return next((c for start, end, c in self._spans if start <= number < end), None)


def _has_value(tensor: torch.Tensor | None) -> bool:
    if tensor is None:
        return False
    plain = tensor.coalesce().values() if tensor.is_sparse else tensor
    return bool(plain.any())


def _backward(again: Rerun, loss: torch.Tensor, nodes: Any) -> Backward:
    """Run backward, and return what each node did."""
    done = Backward({})
    with ExitStack() as stack:
        for node in nodes:
            for argument, (behind, _) in enumerate(node.next_functions):
                if behind is not None:
                    done.users.setdefault(behind, []).append((node, argument))
            if node.next_functions:
                stack.callback(node.register_hook(_noting(node, done)).remove)
        again.backward_from(loss, retain_graph=True)  # what nodes saved is read later
    return done


def _noting(node: Any, done: Backward) -> Any:
    is_product = node.name() in _TERMS

    def hook(to_inputs: Any, to_outputs: Any) -> None:
        got = any(_has_value(grad) for grad in to_outputs)
        passed = tuple(_has_value(grad) for grad in to_inputs)
        done.zeros[node] = Zeros(got, passed)
        if is_product and got and not all(passed):
            done.grads[node] = to_outputs[0]

    return hook


def _of_stops(
    stops: list[tuple[Any, int]],
    done: Backward,
    leaf: Any,
    lines: _Lines,
    calls: _Calls,
    names: dict[int, str],
) -> ZeroCause | None:
    """Return the one reason of all nodes that stop a gradient; None if they differ."""
    own = {user for user, _ in done.users.get(leaf, ())}
    reasons = set()
    for node, argument in stops:
        call = calls.of(node)
        where = lines.of(node) or (None if call is None else call.place)
        layer = "" if call is None else call.name or ""
        if argument < 0:  # it passed on a gradient, which is zero in the end
            several = len(stops) > 1 or len(done.users.get(leaf, ())) > 1
            why, what, count = ("hook" if node in own and not several else "cancelled"), "", 0
        else:
            why, what, count = _why(node, argument, names, done.grads.get(node))
            dropping = _dropping(node, argument, why, lines)
            if dropping is not None:
                why, what, count, where = "dropped", "", 0, lines.of(dropping) or where
        if not why:
            return None
        reasons.add(ZeroCause(why, what, where, layer, count))
    kinds = {(reason.why, reason.what) for reason in reasons}
    return next(iter(reasons)) if len(kinds) == 1 and reasons else None


def _dropping(node: Any, argument: int, why: str, lines: _Lines) -> Any:
    """Return the node of a dropout of every value that made the factor zero; None if none did."""
    if why == "zero_input":
        inputs = min(_FACTORS[node.name()])
        node = node.next_functions[inputs][0]
        while node is not None and node.name() in _VIEWS:
            node = node.next_functions[0][0]
    elif why != "zero_factor":
        return None
    return node if node is not None and node._sequence_nr() in lines.dropping else None


def _why(
    node: Any, argument: int, names: dict[int, str], grad: torch.Tensor | None
) -> tuple[str, str, int]:
    """Return the reason why a node passed on zeros; "" if it is not known."""
    name = node.name()
    if isinstance(node, BackwardCFunction):
        return "function", name.removesuffix("Backward"), 0
    for table, why in ((_CLIPS, "clipped"), (_MASKS, "masked"), (_ROUNDS, "rounded")):
        if name in table:
            return why, table[name], _elements(node)
    try:
        if name.startswith(_RECURRENT) and argument == _HIDDEN_WEIGHT:
            known = not _has_value(node._saved_hx_)
            return ("zero_state", "", 0) if known else ("", "", 0)
        if name in _FLAT:
            return _flat(node, _FLAT[name])
        factor = _FACTORS.get(name, {}).get(argument)
        if factor is not None:
            return _factor(node, argument, getattr(node, f"_saved_{factor}"), names, grad)
        if name == _EMBEDDING:
            return _of_embedding(node, grad)
    except (AttributeError, RuntimeError):  # not saved, or changed in place
        return "", "", 0
    if name in _SUMS and _SUMS[name] in {argument, None}:
        return "cancelled", "", 0
    return "", "", 0


def _elements(node: Any) -> int:
    described = getattr(node, "_input_metadata", None)
    return int(torch.Size(described[0].shape).numel()) if described else 0


def _flat(node: Any, name: str) -> tuple[str, str, int]:
    """Return that a function is flat at its inputs, if each result is at an end of its range.

    If not, a softmax passes on zeros where the gradients of all results are equal.
    """
    result = node._saved_result
    if name not in {"tanh", "sigmoid"}:
        if name == "softmax" and result.shape[node._saved_dim] == 1:
            return "one_element", name, result.numel()
        ends = result.max(node._saved_dim).values if name == "softmax" else None
        if ends is None or not bool((ends == 1).all()):
            return "cancelled", "", 0
        return "flat", name, result.numel()
    ends = result.abs() if name == "tanh" else (result * 2 - 1).abs()
    return ("flat", name, result.numel()) if bool((ends == 1).all()) else ("", "", 0)


def _factor(
    node: Any,
    argument: int,
    factor: torch.Tensor | None,
    names: dict[int, str],
    grad: torch.Tensor | None,
) -> tuple[str, str, int]:
    """Return that the other factor of a product is zero, or that the terms of the sum cancel.

    If each term is zero, although neither the factor nor the gradient is, no terms cancel.
    """
    if factor is None:
        return "", "", 0
    if _has_value(factor):
        if node.name() not in _TERMS or grad is None:
            return "", "", 0
        if _has_value(_sum_of_sizes(node, argument, factor, grad)):
            return "cancelled", "", 0
        is_weight = _INPUTS.get(node.name()) == argument
        return ("zero_rows", "", 0) if is_weight else ("", "", 0)
    if _INPUTS.get(node.name()) == argument and factor.data_ptr() not in names:
        return "zero_input", "", factor.numel()
    return "zero_factor", names.get(factor.data_ptr(), ""), factor.numel()


def _sum_of_sizes(
    node: Any, argument: int, factor: torch.Tensor, grad: torch.Tensor
) -> torch.Tensor:
    """Return the sums that a product passes on, of the absolute values of their terms."""
    grad, factor = grad.abs(), factor.abs()
    if node.name() != _CONVOLUTION:
        turned = factor.transpose(-2, -1)
        is_first = argument == min(_FACTORS[node.name()])
        return grad @ turned if is_first else turned @ grad
    made = torch.ops.aten.convolution_backward(
        grad, node._saved_input.abs(), node._saved_weight.abs(), None, node._saved_stride,
        node._saved_padding, node._saved_dilation, node._saved_transposed,
        node._saved_output_padding, node._saved_groups, [argument == 0, argument == 1, False],
    )  # fmt: skip
    result: torch.Tensor = made[argument]
    return result


def _of_embedding(node: Any, grad: torch.Tensor | None) -> tuple[str, str, int]:
    """Return that only padding has a gradient, of which an embedding passes on none."""
    indices, padding = node._saved_indices, node._saved_padding_idx
    if grad is None or not 0 <= padding < int(node._saved_weight_sym_argsize_0):
        return "", "", 0
    others = grad.reshape(indices.numel(), -1)[indices.flatten() != padding]
    return ("cancelled", "", 0) if _has_value(others) else ("padding", str(int(padding)), 0)


def measure(_requests: Requests, context: RerunContext) -> list[Measurement]:
    """Find why gradients are zero."""
    return zero_reasons(context.again, context.lost.zero) if context.lost.zero else []

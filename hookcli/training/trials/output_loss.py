"""The loss of a script as a function of what a root returns, read from the graph of autograd.

The functions of PyTorch for losses save their targets and options in their nodes. The outputs of a
repeated forward that have the values that the node saved are its input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import torch
from torch.nn import functional

from hookcli.engine.probes.trainability.loss_graph import Node, signed
from hookcli.training.non_finite.forward_call import ForwardCall

Function: TypeAlias = Callable[[torch.Tensor], torch.Tensor]
_CLOSE = 1e-3  # relative difference of losses and outputs that are computed again
_REDUCTIONS = ("none", "mean", "sum")
_SQUARE, _DIFFERENCE = "PowBackward0", "SubBackward0"
_REDUCED: dict[str, Function] = {"MeanBackward0": torch.mean, "SumBackward0": torch.sum}
_OF_DIFFERENCE: dict[str, Function] = {_SQUARE: torch.square, "AbsBackward0": torch.abs}
# Nodes that change a loss by a factor only.
_FACTORS = ("DivBackward0", "MulBackward0")


@dataclass(frozen=True, slots=True)
class OutputLoss:
    """A loss that is computed from a tensor of the output of a root.

    `output` is the number of that tensor.
    """

    output: int
    function: Function

    def of(self, outputs: Sequence[torch.Tensor]) -> torch.Tensor:
        """Return the loss of other outputs: a tensor with one element."""
        return self.function(outputs[self.output])


def loss_of_outputs(
    start: torch.Tensor, run: ForwardCall, outputs: Sequence[torch.Tensor]
) -> OutputLoss | None:
    """Return the loss from which backward begins as a function of outputs; None if it is unknown.

    `outputs` are those of the forward `run`, which was repeated. The function returns the value of
    `start` for them, up to a factor.
    """
    value = float(start.detach())
    for number, output in enumerate(outputs):
        if output.numel() == 1 and math.isclose(float(output.detach()), value, rel_tol=_CLOSE):
            return OutputLoss(number, lambda tensor: tensor.reshape(()))
    node = _loss_node(start)
    if node is None:
        return None
    try:
        if node.name() in _REDUCED:
            return _of_difference(node, run, outputs)
        given = _FUNCTIONS[node.name()](node)
    except RuntimeError:  # what it saved was changed in place
        return None
    for number, output in enumerate(outputs):
        form = _form(output, given)
        if form is not None:
            return OutputLoss(number, partial(_of_form, given.function, form))
    return None


def guess_of(start: torch.Tensor) -> float | None:
    """Return the cross entropy of equal probabilities, if a backward pass starts from one."""
    node = _loss_node(start)
    try:
        if node is not None and node.name() in ("NllLossBackward0", "NllLoss2DBackward0"):
            logs = node._saved_self
            return math.log(logs.shape[1 if logs.dim() > 1 else 0])
        if node is not None and node.name() == "BinaryCrossEntropyWithLogitsBackward0":
            return math.log(2)
    except RuntimeError:  # what it saved was changed in place
        return None
    return None


def _of_form(function: Function, form: Function, tensor: torch.Tensor) -> torch.Tensor:
    return function(form(tensor))


def _loss_node(start: torch.Tensor) -> Node | None:
    """Return the node of the only loss, if a backward pass starts from it, or from a part of it."""
    node = start.grad_fn
    while node is not None and node.name() in _FACTORS:
        graded = [one for one, _ in node.next_functions if one is not None]
        if len(graded) != 1:
            return None
        node = graded[0]
    if node is None:
        return None
    if node.name() in _REDUCED:
        return node if _difference_in(node) is not None else None
    return node if node.name() in _FUNCTIONS else None


def _difference_in(node: Node) -> Node | None:
    """Return the node of a difference, of whose squares or sizes `node` is the mean or the sum."""
    inner: Node | None = node.next_functions[0][0]
    if inner is None or inner.name() not in _OF_DIFFERENCE:
        return None
    if inner.name() == _SQUARE and inner._saved_exponent != 2:
        return None
    difference: Node | None = inner.next_functions[0][0]
    return difference if difference is not None and difference.name() == _DIFFERENCE else None


def _of_difference(
    node: Node, run: ForwardCall, outputs: Sequence[torch.Tensor]
) -> OutputLoss | None:
    """Return a mean or a sum of squares or sizes of the differences of an output and targets.

    The targets are not saved, but the differences are.
    """
    difference = _difference_in(node)
    graded = () if difference is None else [pair for pair in difference.next_functions if pair[0]]
    if difference is None or len(graded) != 1:
        return None
    [(made, which)] = graded
    inner = node.next_functions[0][0]
    number = run.made_by.get((made._sequence_nr(), which))
    values = inner._saved_self.detach()
    if number is None or number >= len(outputs) or outputs[number].shape != values.shape:
        return None
    is_first = difference.next_functions[0][0] is made  # else the output is subtracted
    now = outputs[number].detach()
    target = now - values if is_first else now + values
    reduced, size = _REDUCED[node.name()], _OF_DIFFERENCE[inner.name()]
    return OutputLoss(number, lambda new: reduced(size(new - target)))


# What a node of a loss got, and the loss as a function of that.


@dataclass(frozen=True, slots=True)
class _Given:
    """The values that a loss got; `dim` is that of their softmax, if the loss computes it."""

    values: torch.Tensor
    function: Function
    dim: int | None = None


def _nll(node: Node) -> _Given:
    target, weight = node._saved_target, node._saved_weight
    ignored, reduction = signed(node._saved_ignore_index), _reduction(node)
    logs = node._saved_self.detach()

    def function(new: torch.Tensor) -> torch.Tensor:
        return functional.nll_loss(new, target, weight, ignore_index=ignored, reduction=reduction)

    return _Given(logs, function, dim=1 if logs.dim() > 1 else 0)


def _logits(node: Node) -> _Given:
    target, weight, positive = node._saved_target, node._saved_weight, node._saved_pos_weight
    reduction = _reduction(node)

    def function(new: torch.Tensor) -> torch.Tensor:
        return functional.binary_cross_entropy_with_logits(
            new, target, weight, pos_weight=positive, reduction=reduction
        )

    return _Given(node._saved_self.detach(), function)


def _binary(node: Node) -> _Given:
    target, weight, reduction = node._saved_target, node._saved_weight, _reduction(node)

    def function(new: torch.Tensor) -> torch.Tensor:
        return functional.binary_cross_entropy(new, target, weight, reduction=reduction)

    return _Given(node._saved_self.detach(), function)


def _difference(loss: Callable[..., torch.Tensor], *options: str) -> Callable[[Node], _Given]:
    """Return what reads the node of a loss of outputs and targets of one shape."""

    def read(node: Node) -> _Given:
        target, reduction = node._saved_target.detach(), _reduction(node)
        more = {name: getattr(node, f"_saved_{name}") for name in options}

        def function(new: torch.Tensor) -> torch.Tensor:
            return loss(new, target, reduction=reduction, **more)

        return _Given(node._saved_self.detach(), function)

    return read


def _reduction(node: Node) -> str:
    return _REDUCTIONS[int(node._saved_reduction)]


_FUNCTIONS: dict[str, Callable[[Node], _Given]] = {
    "NllLossBackward0": _nll,
    "NllLoss2DBackward0": _nll,
    "BinaryCrossEntropyWithLogitsBackward0": _logits,
    "BinaryCrossEntropyBackward0": _binary,
    "MseLossBackward0": _difference(functional.mse_loss),
    "SmoothL1LossBackward0": _difference(functional.smooth_l1_loss, "beta"),
    "HuberLossBackward0": _difference(functional.huber_loss, "delta"),
}


def _form(output: torch.Tensor, given: _Given) -> Function | None:
    """Return how an output becomes what a loss got; None if no known way gives its values."""
    wanted = given.values
    if output.numel() != wanted.numel() or not output.is_floating_point():
        return None
    for change in _changes(output, wanted.shape):
        forms: list[Function] = [change]
        if (dim := given.dim) is not None:
            forms.append(lambda t, change=change: change(t).log_softmax(dim))  # type: ignore[misc]
        for form in forms:
            if _is_close(form(output.detach()), wanted):
                return form
    return None


def _changes(output: torch.Tensor, shape: torch.Size) -> list[Function]:
    """Return the usual ways to give an output another shape."""
    changes: list[Function] = [lambda t: t.reshape(shape)]
    if output.dim() > 2:
        changes.append(lambda t: t.movedim(-1, 1).reshape(shape))
        changes.append(lambda t: t.movedim(1, -1).reshape(shape))
        changes.append(lambda t: t.transpose(0, 1).reshape(shape))
        changes.append(lambda t: t.movedim(0, -1).reshape(shape))
    elif output.dim() == 2:
        changes.append(lambda t: t.t().reshape(shape))
    return changes


def _is_close(one: torch.Tensor, other: torch.Tensor) -> bool:
    scale = float(other.float().abs().amax()) if other.numel() else 0.0
    return bool(torch.allclose(one.float(), other.float(), rtol=_CLOSE, atol=_CLOSE * scale))

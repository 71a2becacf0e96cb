"""How the terms of a loss weigh, and what they share: divergences, returns and baselines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from hookcli.engine.probes.trainability.divergences import divergences, weighed_terms
from hookcli.engine.probes.trainability.loss_graph import (
    SAME_VALUES,
    Node,
    shape_of_node,
)

_ERRORS = {
    "NllLossBackward0", "NllLoss2DBackward0", "MseLossBackward0", "SmoothL1LossBackward0",
    "BinaryCrossEntropyBackward0",
    "BinaryCrossEntropyWithLogitsBackward0",
}  # fmt: skip
_VALUE_LOSSES = ("MseLossBackward0", "SmoothL1LossBackward0", "HuberLossBackward0")
_PICKS = {"GatherBackward0", "IndexBackward0"}  # of the actions that were taken
_MOST = 200  # nodes of a path
_FEW, _MANY = 4, 16  # latent values, and elements of a reconstruction
_LEAST = 4  # samples


def divergence_weight(start: torch.Tensor) -> tuple[str, dict[str, Any]] | None:
    """Return that one of two terms is a mean over the elements of a sample, and one is a sum.

    These are the divergence of a variational model and its reconstruction. A number that weighs a
    term is a choice, and nothing is said then.
    """
    sources = dict(divergences(start))
    if len(sources) != 1:
        return None
    ((source, exponential),) = sources.items()
    shape = shape_of_node(source)
    if shape is None or len(shape) < 2:
        return None
    latents = math.prod(shape[1:])
    weight = error = None
    for _, node, divisor, is_weighted in weighed_terms(start.grad_fn):
        if node is exponential:
            weight = divisor, is_weighted
        elif node.name() in _ERRORS and error is None:
            size = int(node._saved_target.numel())
            mean = int(node._saved_reduction) == 1
            error = divisor * (size if mean else 1), is_weighted, size // shape[0]
    if weight is None or error is None or weight[1] or error[1] or error[2] < _FEW:
        return None
    ratio = weight[0] / error[0]
    value = {"latents": latents, "elements": error[2]}
    if latents >= _FEW and math.isclose(ratio, latents, rel_tol=1e-3):
        return "divergence_mean", value
    if error[2] >= _MANY and math.isclose(ratio, 1 / error[2], rel_tol=1e-3):
        return "divergence_sum", value
    return None


def bare_returns(nodes: Sequence[Node]) -> tuple[str, dict[str, Any]] | None:
    """Return that log-probabilities are weighed by the very targets of a value.

    So the value is learned, and not subtracted.
    """
    targets = [node._saved_target for node in nodes if node.name() in _VALUE_LOSSES]
    for node in nodes if targets else ():
        behind = [one for one, _ in node.next_functions]
        if node.name() != "MulBackward0" or behind.count(None) != 1:
            continue
        weight = node._saved_other if behind[0] is not None else node._saved_self
        if weight is None or weight.numel() < _LEAST or not _is_log_probability(behind):
            continue
        flat = weight.detach().reshape(-1)
        for target in targets:
            same = target.detach().reshape(-1)
            if same.shape == flat.shape and bool((same == flat).all()):
                mean, std = float(flat.float().mean()), float(flat.float().std())
                return "bare_returns", {"mean": mean, "std": std}
    return None


def _is_log_probability(behind: list[Node | None]) -> bool:
    """Return whether one of these nodes picks the values of actions from a log-softmax."""
    node = behind[0] or behind[1]
    for _ in range(_MOST):
        if node is None:
            return False
        if node.name() in _PICKS:
            return True
        if node.name() not in SAME_VALUES | {"StackBackward0", "CatBackward0", "NegBackward0"}:
            return False
        node = node.next_functions[0][0]
    return False


def crossed_advantages(nodes: Sequence[Node]) -> tuple[str, dict[str, Any]] | None:
    """Return that [n] log-probabilities are multiplied by [n, n] weights.

    So the weights are differences of [n] and [n, 1]: each action has those of all samples.
    """
    for node in nodes:
        behind = [one for one, _ in node.next_functions]
        if node.name() != "MulBackward0" or behind.count(None) != 1:
            continue
        weight = node._saved_other if behind[0] is not None else node._saved_self
        shape = shape_of_node(behind[0] or behind[1])
        if weight is None or shape is None or not _is_log_probability(behind):
            continue
        many = math.prod(shape)
        if many >= _LEAST and shape in ((many,), (many, 1)) and tuple(weight.shape) == (many, many):
            return "crossed_advantage", {"samples": many}
    return None

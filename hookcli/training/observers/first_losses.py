"""Losses of the first step that are far above that of a guess, and the weights that make them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from hookcli.engine.probes.trainability.loss_graph import Node, behind, signed
from hookcli.models import module_tree
from hookcli.rules.gradients.wide_weights import WIDE, usual_deviation
from hookcli.torch_private import ConvNd

_MOST = 1 << 24  # elements of a tensor that is read
_NLL = ("NllLossBackward0", "NllLoss2DBackward0")
_BINARY = "BinaryCrossEntropyWithLogitsBackward0"
_FAR, _FAR_OF_TWO = 6.0, 3.0  # times the loss of a guess: of cross entropy, and of binary logits
_PRODUCTS = ("MulBackward0", "BmmBackward0", "MmBackward0")
_EMBEDDING = "EmbeddingBackward0"
_WIDE = 2.0  # standard deviation of a product of embeddings


def first_losses(nodes: Sequence[Node]) -> Iterator[dict[str, Any]]:
    """Yield the cross entropies that are far above that of a guess."""
    for node in nodes:
        try:
            found = _of_classes(node) if node.name() in _NLL else None
            found = _of_two(node) if node.name() == _BINARY else found
        except RuntimeError:  # changed in place
            continue
        if found is not None and math.isfinite(found["loss"]):
            yield found


def _of_classes(node: Node) -> dict[str, Any] | None:
    logs, target = node._saved_self.detach(), node._saved_target.detach()
    classes = logs.shape[1 if logs.dim() > 1 else 0]
    if classes < 2 or logs.numel() > _MOST or logs.is_meta or logs.dim() < 2:
        return None
    known = target != signed(node._saved_ignore_index)
    if not bool(known.any()):
        return None
    picked = logs.float().gather(1, target.clamp(0, classes - 1)[:, None])[:, 0]
    loss, guess = float(-picked[known].mean()), math.log(classes)
    if loss <= _FAR * guess:
        return None
    return {"loss": loss, "guess": guess, "classes": int(classes)}


def _of_two(node: Node) -> dict[str, Any] | None:
    """Return the mean of a binary cross entropy without weights."""
    logits, target = node._saved_self.detach(), node._saved_target.detach()
    if logits.is_meta or not 0 < logits.numel() <= _MOST or node._saved_pos_weight is not None:
        return None
    loss = functional.binary_cross_entropy_with_logits(logits.float(), target.float())
    guess = math.log(2)
    if float(loss) <= _FAR_OF_TWO * guess:
        return None
    return {"loss": float(loss), "guess": guess, "classes": 2}


def wide_products(nodes: Sequence[Node]) -> Iterator[dict[str, Any]]:
    """Yield the products of two embeddings that are large: the ids of their weights, and sizes.

    `terms` are the values of an embedding, `spread` is the standard deviation of the product.
    """
    for node in nodes:
        if node.name() not in _PRODUCTS or len(node.next_functions) < 2:
            continue
        factors = [behind(node, i) for i in (0, 1)]
        weights = [_weight(one) for one in factors]
        if any(weight is None or weight.dim() != 2 for weight in weights):
            continue
        one, two = weights
        assert one is not None and two is not None  # noqa: S101  # see above
        if one.numel() > _MOST or two.numel() > _MOST or one.shape[1] != two.shape[1]:
            continue
        stds = [float(weight.detach().float().std(unbiased=False)) for weight in (one, two)]
        spread = math.sqrt(one.shape[1]) * stds[0] * stds[1]
        if spread > _WIDE:
            yield {
                "factors": [id(one), id(two)], "terms": int(one.shape[1]), "stds": stds,
                "spread": spread,
            }  # fmt: skip


def _weight(node: Node | None) -> torch.Tensor | None:
    """Return the weight of an embedding by its node."""
    if node is None or node.name() != _EMBEDDING:
        return None
    weight: torch.Tensor | None = getattr(node.next_functions[0][0], "variable", None)
    return weight


def wide_weights(root: nn.Module) -> Iterator[tuple[str, float, float]]:
    """Yield the weights of layers that are spread much wider than torch initializes them."""
    for module, names in module_tree.modules(root):
        weight = module_tree.own_parameter(module, "weight")
        if weight is None or weight.dim() < 2 or weight.is_meta or weight.numel() > _MOST:
            continue
        if isinstance(module, nn.Linear | ConvNd) and type(weight) is nn.Parameter:
            fan_in = weight[0].numel()
            std = float(weight.detach().float().std(unbiased=False))
            usual = usual_deviation(fan_in)
            if std > WIDE * usual:
                yield f"{names[0]}.weight" if names[0] else "weight", std, usual

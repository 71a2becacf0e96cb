"""Finds masks that leave nothing: arguments of attention layers, and masks in the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hookcli.engine.probes.activations.reading import distinct, thin
from hookcli.engine.statistics.readable import readable
from hookcli.hooks.attach.graph import saved_tensor
from hookcli.models.batch import forward_signature
from hookcli.models.model import CallInputs

LAYERS = frozenset(
    {"MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer",
     "TransformerEncoder", "TransformerDecoder", "Transformer"}
)  # fmt: skip
SOFTMAX = frozenset({"SoftmaxBackward0", "SafeSoftmaxBackward0", "LogSoftmaxBackward0"})
# Fused attentions, with the name under which each keeps its mask. Others take no mask.
FUSED = {
    "ScaledDotProductFlashAttentionForCpuBackward0": "attn_mask",
    "ScaledDotProductEfficientAttentionBackward0": "attn_bias",
    "ScaledDotProductCudnnAttentionBackward0": "attn_bias",
    "ScaledDotProductFusedAttentionOverrideableBackward0": "attn_bias",
}
_CLEARS = {"MulBackward0", "WhereBackward0", "MaskedFillBackward0", "NanToNumBackward0"}
_BETWEEN = ("Add", "Mul", "Div", "ToCopy", "View", "UnsafeView", "Expand", "Clone", "Where")
_STEPS = 6
_FEW = 64


def of_arguments(module: Any, batch: CallInputs) -> dict[str, Any] | None:
    """Return facts about the first mask among the arguments of an attention layer that is empty."""
    args, kwargs = batch
    signature = forward_signature(module)
    if signature is None:
        return None
    try:
        given = signature.bind_partial(*args, **kwargs).arguments
    except TypeError:
        return None
    for name, mask in given.items():
        if "mask" in name and isinstance(mask, Tensor) and mask.numel():
            facts = _empty(mask, per_sample="padding" in name)
            if facts is not None:
                return {"mask": name, **facts}
    return None


def _empty(mask: Tensor, *, per_sample: bool) -> dict[str, Any] | None:
    """Return how many rows of a mask leave nothing; a mask per sample has one row for each."""
    result = readable(mask)
    if result is None or result[1]:
        return None
    rows = _masked(distinct(result[0])).all(-1)
    if per_sample:
        masked = int(rows.sum())
        facts = {"masked": masked, "rows": rows.numel(), "what": "sample"}
        return facts if masked else None
    return _of_queries(rows if rows.dim() > 1 else rows[None])


def _masked(mask: Tensor) -> Tensor:
    """Return a boolean mask, True where a value is masked."""
    if mask.dtype is torch.bool:
        return mask
    if not mask.is_floating_point():
        return torch.zeros_like(mask, dtype=torch.bool)
    return mask <= torch.finfo(mask.dtype).min / 2


def of_fused(node: Any) -> dict[str, Any] | None:
    """Return facts about the mask of a fused attention, which has the shape [B, H, L, S]."""
    mask = saved_tensor(node, FUSED[node.name()])
    if mask is None or mask.dim() < 2 or not mask.is_floating_point():
        return None
    result = readable(mask)
    return None if result is None else _named("attn_mask", distinct(result[0]))


def _of_queries(empty: Tensor) -> dict[str, Any] | None:
    """Return facts about empty queries, of the shape [B, ..., L].

    Of several samples only those count of which every query is empty: the queries of padding may
    be empty. A mask of one sample, which is the same for all, has no padding.
    """
    samples = empty.flatten(1).all(1)
    masked, what = int(samples.sum()), "sample"
    if samples.numel() == 1:
        samples = empty.reshape(-1, empty.shape[-1]).all(0)
        masked, what = int(samples.sum()), "query"
    if not masked:
        return None
    return {"masked": masked, "rows": samples.numel(), "what": what}


def of_softmax(node: Any) -> dict[str, Any] | None:
    """Return facts about the mask before a softmax along the last dimension; None if none is empty.

    Either masked_fill saved its mask; or a mask was added, and all entries of a row are equal
    although queries and keys are not zero.
    """
    result = saved_tensor(node, "result")
    if result is None or result.dim() < 2 or result.shape[-1] < 2:
        return None
    filled, product = _behind(node)
    if filled is not None:
        mask = saved_tensor(filled, "mask")
        return None if mask is None else _of_fill(mask, result)
    if product is None:
        return None
    read = readable(result)
    if read is None:
        return None
    few = thin(read[0], _FEW, 0, -1)
    equal = (few.amax(-1) == few.amin(-1)).flatten(1).all(1)
    if not bool(equal.any()):
        return None
    factors = [saved_tensor(product, name) for name in ("self", "mat2")]
    if any(factor is None or not bool((factor != 0).any()) for factor in factors):
        return None
    uniform = read[0].amax(-1) == read[0].amin(-1)
    samples = uniform.flatten(1).all(1)
    masked = int(samples.sum())
    if not masked:
        return None
    return {"mask": "added mask", "masked": masked, "rows": samples.numel(), "what": "sample"}


def is_cleared(softmax: Any, nodes: Sequence[Any]) -> bool:
    """Return whether the weights of a softmax are replaced afterwards, where all was masked.

    A product with a mask does so, `where`, a second masked_fill or nan_to_num.
    """
    for node in nodes:
        name = node.name()
        if name not in _CLEARS or softmax not in (edge for edge, _ in node.next_functions):
            continue
        if name != "MulBackward0":
            return True
        for factor in (saved_tensor(node, "self"), saved_tensor(node, "other")):
            if factor is None or not factor.dim() or factor.is_meta:
                continue
            if bool(((factor == 0) | (factor == 1)).all()):
                return True
    return False


def _of_fill(mask: Tensor, result: Tensor) -> dict[str, Any] | None:
    read = readable(mask)
    if read is None or mask.dtype is not torch.bool or mask.shape[-1] != result.shape[-1]:
        return None
    return _named("masked_fill", distinct(read[0]))


def _named(name: str, mask: Tensor) -> dict[str, Any] | None:
    rows = _masked(mask).all(-1)
    facts = _of_queries(rows if rows.dim() > 1 else rows[None])
    return None if facts is None else {"mask": name, **facts}


def _behind(node: Any) -> tuple[Any, Any]:
    """Return the masked_fill and the product of queries and keys before a softmax, if found."""
    added = False
    for _ in range(_STEPS):
        edges = (following for following, _ in node.next_functions)
        node = next((one for one in edges if one is not None), None)
        name = "" if node is None else node.name()
        if name == "MaskedFillBackward0":
            return node, None
        if name.startswith("Bmm"):
            return None, node if added else None
        added |= name.startswith("Add")
        if not name.startswith(_BETWEEN):
            break
    return None, None

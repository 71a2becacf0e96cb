"""Masks and scales that attentions get, in calls of nn.MultiheadAttention and in the graph."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

import torch

from hookcli.engine.probes.activations.masks import FUSED
from hookcli.engine.probes.function_calls import Finding
from hookcli.engine.probes.trainability.loss_graph import Found, Node, behind
from hookcli.hooks.attach.graph import saved_tensor

_FUSED = "ScaledDotProduct"
_HIDDEN = -1e4  # a score that a softmax turns into zero, also in half precision
_LARGEST = 1 << 22  # elements of a mask
_SAME = 1e-3  # relative: a scale in half precision
_LOST = 1e-2  # of the weights of a row
_SOFTMAX = ("SoftmaxBackward0", "SafeSoftmaxBackward0")
_PRODUCT, _QUOTIENT = "MulBackward0", "DivBackward0"


def masks_of_call(frame: FrameType) -> Finding:
    """Return what is wrong with a mask of multi_head_attention_forward.

    Its query is [L, B, E], or [L, E] of one sample; masks are additive by then.
    """
    given = frame.f_locals
    for name in ("attn_mask", "key_padding_mask"):
        mask = _readable(given.get(name))
        if mask is not None and _is_zero_one(mask):
            return "zero_one_mask", {"argument": name, "shape": [*mask.shape]}
    mask, query = _readable(given.get("attn_mask")), given["query"]
    if mask is None or mask.dim() < 2:
        return None
    hidden = mask if mask.dtype is torch.bool else mask <= _HIDDEN
    length = hidden.shape[-1]
    square = hidden.reshape(-1, *hidden.shape[-2:])
    if hidden.shape[-2] == length > 2:
        past = torch.ones(length, length, dtype=torch.bool, device=hidden.device).tril()
        if bool((square == past).all()):
            return "past_hidden", {"argument": "attn_mask", "size": length}
    heads, samples = given["num_heads"], query.shape[1] if query.dim() == 3 else 1
    if hidden.dim() == 3 and len(hidden) == heads * samples and min(heads, samples) > 1:
        by_head = hidden.view(heads, samples, *hidden.shape[1:])
        by_sample = hidden.view(samples, heads, *hidden.shape[1:])
        if bool((by_head == by_head[:1]).all()) and not bool((by_sample == by_sample[:, :1]).all()):
            return "repeated_mask", {"heads": heads, "samples": samples}
    return None


def _readable(mask: Any) -> torch.Tensor | None:
    """Return a mask whose values can be read."""
    is_tensor = isinstance(mask, torch.Tensor) and not mask.is_meta
    return mask if is_tensor and 0 < mask.numel() <= _LARGEST else None


def _is_zero_one(mask: torch.Tensor) -> bool:
    """Return whether a mask that is added to scores has zeros and ones, and nothing else."""
    if not mask.is_floating_point() or mask.requires_grad:
        return False
    ones, zeros = mask == 1, mask == 0
    return bool(ones.any()) and bool(zeros.any()) and bool((ones | zeros).all())


def fused_attentions(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield what is wrong with the masks and scales of scaled_dot_product_attention."""
    for node in nodes:
        if not node.name().startswith(_FUSED):
            continue
        query, key = node._saved_query, node._saved_key
        queries, keys = int(query.shape[-2]), int(key.shape[-2])
        if getattr(node, "_saved_is_causal", False) and 1 <= queries < keys:
            yield node, "causal_offset", {"queries": queries, "keys": keys}
        mask = _readable(saved_tensor(node, FUSED[node.name()]) if node.name() in FUSED else None)
        if mask is not None and _is_zero_one(mask):
            yield node, "zero_one_mask", {"argument": "attn_mask", "shape": [*mask.shape]}
        scale = 1 / math.sqrt(query.shape[-1])
        if getattr(node, "_saved_scale", None) is None and query.shape[-1] > 1:
            for argument in (0, 1):
                factor = _factor(behind(node, argument))
                if factor is not None and math.isclose(factor, scale, rel_tol=_SAME):
                    side = ("query", "key")[argument]
                    found = {"side": side, "scale": factor, "size": int(query.shape[-1])}
                    yield node, "scaled_twice", found


def _factor(node: Node | None) -> float | None:
    """Return the number by which a node multiplies a tensor."""
    if node is None or node.name() not in {_PRODUCT, _QUOTIENT}:
        return None
    other = node._saved_other
    if not isinstance(other, torch.Tensor) or other.dim() or other.is_meta:
        return None
    value = float(other)
    return value if node.name() == _PRODUCT else 1 / value if value else None


def masked_weights(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield the softmaxes whose weights a mask of padding or of the future sets to zero afterwards.

    The mask hides the end of each row. Rows that are hidden as a whole are meant, and so are
    weights that are divided by their sum.
    """
    normalized = {behind(node) for node in nodes if node.name() == _QUOTIENT}
    for node in nodes:
        if node.name() != _PRODUCT or node in normalized:
            continue
        for argument, attribute in ((0, "other"), (1, "self")):
            softmax, mask = behind(node, argument), _readable(saved_tensor(node, attribute))
            if softmax is None or softmax.name() not in _SOFTMAX or mask is None:
                continue
            plain = mask.to(torch.float32)
            if not _is_zero_one(plain) or not _hides_ends(plain):
                continue
            weights = saved_tensor(softmax, "result")
            made = behind(softmax)
            while made is not None and made.name() in {"AddBackward0", "DivBackward0"}:
                made = behind(made)
            if weights is None or (made is not None and made.name() == "MaskedFillBackward0"):
                continue
            dim = softmax._saved_dim
            if weights.dim() != plain.dim() or dim not in {weights.dim() - 1, 2**64 - 1, -1}:
                continue
            sums = (weights.float() * plain).sum(-1)
            partly = plain.expand_as(weights).any(-1) & (sums < 1 - _LOST)
            if bool(partly.any()):
                found = {"least": float(sums[partly].min()), "rows": int(partly.sum())}
                yield softmax, "masked_weights", found


def _hides_ends(mask: torch.Tensor) -> bool:
    """Return whether the zeros of each row come after its ones."""
    return mask.shape[-1] > 2 and bool((mask[..., 1:] <= mask[..., :-1]).all())

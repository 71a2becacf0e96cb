"""FLOPs of one operator: torch's own registry, and formulas for operators that it lacks.

A multiply-accumulate is two FLOPs. Elementwise operations, reductions, normalizations and copies
are not counted, as in other FLOP counters. An operator that multiplies matrices and has no formula
here is unknown; it does not count as 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from torch.utils.flop_counter import flop_registry

from hookcli.torch_private import OpOverload

_Formula = Callable[..., Any]


def _attention(q: Any, k: Any, v: Any, *_: Any, **__: Any) -> Any:
    """QKᵀ and its product with V. Every query head uses the grouped keys and values."""
    batch, heads, queries, size = q.shape
    return 2 * batch * heads * queries * k.shape[-2] * (size + v.shape[-1])


def _attention_backward(_grad: Any, q: Any, k: Any, v: Any, *_: Any, **__: Any) -> Any:
    """The scores again, then the gradients of V, of the scores, of Q and of K."""
    batch, heads, queries, size = q.shape
    return 2 * batch * heads * queries * k.shape[-2] * (3 * size + 2 * v.shape[-1])


def _rnn_layer_backward(x: Any, w_input: Any, w_hidden: Any, *_: Any, **__: Any) -> Any:
    """For both products, the gradients of the weight and of its input."""
    return 2 * _rnn_layer(x, w_input, w_hidden)


def _rnn_layer(x: Any, w_input: Any, w_hidden: Any, *_: Any, **__: Any) -> Any:
    """Both products of one direction of one layer, for every step of every sample."""
    return 2 * math.prod(x.shape[:-1]) * (w_input.numel() + w_hidden.numel())


def _cudnn_rnn(x: Any, weights: Any, *_: Any, **__: Any) -> Any:
    return 2 * math.prod(x.shape[:-1]) * sum(w.numel() for w in weights if w.dim() == 2)


def _self_attention(batch: int, steps: int, size: int) -> int:
    """Input projection, scores, their product with the values, output projection."""
    return 2 * batch * steps * size * (3 * size + 2 * steps + size)


def _native_attention(q: Any, *_: Any, **__: Any) -> Any:
    return _self_attention(*q.shape)


def _encoder_layer(src: Any, *rest: Any, **_: Any) -> Any:
    """torch._transformer_encoder_layer_fwd: its feed-forward weights are arguments 14 and 16."""
    up, down = rest[13], rest[15]
    return _self_attention(*src.shape) + 2 * math.prod(src.shape[:-1]) * (up.numel() + down.numel())


def _linear(x: Any, weight: Any, *_: Any, **__: Any) -> Any:
    return 2 * math.prod(x.shape[:-1]) * int(weight.numel())


def _grouped(a: Any, b: Any, *_: Any, **__: Any) -> Any:
    """Each row of `a` times one group's matrix; two 2-d operands share their inner dimension."""
    return 2 * int(a.numel()) * int(b.shape[-1])


def _trilinear(
    a: Any, b: Any, c: Any, grow_a: Any, grow_b: Any, grow_c: Any, *_: Any, **__: Any
) -> Any:
    """All products of the three operands, after each has all dimensions."""
    shapes = []
    for tensor, grow in ((a, grow_a), (b, grow_b), (c, grow_c)):
        shape = list(tensor.shape)
        for dim in sorted(grow):
            shape.insert(dim, 1)
        shapes.append(shape)
    return 2 * math.prod(max(sizes) for sizes in zip(*shapes, strict=True))


def _embedding_bag(weight: Any, indices: Any, *_: Any, **__: Any) -> Any:
    """The product of the table with a sparse matrix that has one entry for each index."""
    return 2 * int(indices.numel()) * int(weight.shape[-1])


_OWN: dict[str, _Formula] = {
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "_scaled_dot_product_flash_attention": _attention,
    "_scaled_dot_product_efficient_attention": _attention,
    "_scaled_dot_product_cudnn_attention": _attention,
    "_scaled_dot_product_fused_attention_overrideable": _attention,
    "_scaled_dot_product_attention_math_for_mps": _attention,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
    "_scaled_dot_product_fused_attention_overrideable_backward": _attention_backward,
    "mkldnn_rnn_layer": _rnn_layer,
    "mkldnn_rnn_layer_backward": _rnn_layer_backward,
    "_cudnn_rnn": _cudnn_rnn,
    "_cudnn_rnn_backward": lambda x, weights, *_, **__: 2 * _cudnn_rnn(x, weights),
    "_native_multi_head_attention": _native_attention,
    "_transformer_encoder_layer_fwd": _encoder_layer,
    "linear": _linear,
    "_addmm_activation": lambda _bias, a, b, *_, **__: 2 * a.numel() * b.shape[1],
    "mv": lambda a, *_, **__: 2 * a.numel(),
    "addmv": lambda _bias, a, *_, **__: 2 * a.numel(),
    "dot": lambda a, *_, **__: 2 * a.numel(),
    "vdot": lambda a, *_, **__: 2 * a.numel(),
    "addbmm": lambda _bias, a, b, *_, **__: 2 * a.numel() * b.shape[-1],
    "_grouped_mm": _grouped,
    "_scaled_grouped_mm": _grouped,
    "_trilinear": _trilinear,
    "_embedding_bag": _embedding_bag,
    "_embedding_bag_forward_only": _embedding_bag,
    "_embedding_bag_dense_backward": lambda grad, ids, *_, **__: 2 * ids.numel() * grad.shape[-1],
    "_embedding_bag_sparse_backward": lambda grad, ids, *_, **__: 2 * ids.numel() * grad.shape[-1],
}

# Prefixes of ATen operators that multiply matrices, or cost more, and have no formula here.
_HEAVY = (
    "_fft", "fft_", "linalg_", "_linalg", "lu_", "cholesky", "triangular_solve", "_cdist",
    "_pdist", "_sparse", "sparse_", "hspmm", "sspmm", "_int_mm", "_weight_int", "quantized_",
    "fbgemm_", "mkldnn_linear", "_mkl_linear", "ormqr", "geqrf", "_ctc_loss",
    "deform", "_flex", "_mixed_dtypes_linear", "_sparse_mm", "addmm_dtype",
)  # fmt: skip
_LIGHT = ("_linalg_check_errors", "linalg_vector_norm", "linalg_cross")
_BUILT_IN = ("aten", "prims", "prim", "profiler", "inductor")


@cache
def _formula_of(func: Any) -> _Formula | int | None:
    """Return the formula of an operator; 0 if it is not counted, None if its cost is unknown."""
    packet = getattr(func, "overloadpacket", func)
    name = str(getattr(packet, "__name__", packet))
    namespace = getattr(func, "namespace", "aten")
    if namespace == "aten" and name in _OWN:
        own = _OWN[name]
        return lambda *args, out_val, **kwargs: own(*args, **kwargs)
    if packet in flop_registry:
        registered: _Formula = flop_registry[packet]
        return registered
    known = isinstance(func, OpOverload) and namespace in _BUILT_IN
    return 0 if known and (name in _LIGHT or not name.startswith(_HEAVY)) else None


def flops_of(func: Any, args: Any, kwargs: Any, out: Any) -> int | None:
    """Return the FLOPs of a call of an operator; 0 if not counted, None if unknown."""
    formula = _formula_of(func)
    if formula is None or isinstance(formula, int):
        return formula
    try:
        return int(formula(*args, **kwargs, out_val=out))
    except RecursionError:  # the model's own, which the formula was the last to reach
        raise
    except Exception:  # noqa: BLE001  # an overload that the formula does not support
        return None

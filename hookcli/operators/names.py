"""The names of operators as users of torch write them: torch.softmax for aten._softmax."""

from __future__ import annotations

import re
from typing import Any

import torch

from hookcli.models.model import Call

# Operators that torch's functions run under another name. A name without a dot is of `torch`.
_FUNCTIONAL = "torch.nn.functional"
_WRITTEN = {
    "_softmax": "torch.softmax",
    "_safe_softmax": "torch.softmax",
    "_log_softmax": "torch.log_softmax",
    "_to_copy": "Tensor.to",
    "_cdist_forward": "torch.cdist",
    "_pdist_forward": f"{_FUNCTIONAL}.pdist",
    "convolution": f"{_FUNCTIONAL}.conv",
    "native_layer_norm": f"{_FUNCTIONAL}.layer_norm",
    "native_group_norm": f"{_FUNCTIONAL}.group_norm",
    "_fused_rms_norm": f"{_FUNCTIONAL}.rms_norm",
    "native_dropout": f"{_FUNCTIONAL}.dropout",
    "nll_loss_forward": f"{_FUNCTIONAL}.nll_loss",
    "nll_loss2d_forward": f"{_FUNCTIONAL}.nll_loss",
    "_ctc_loss": f"{_FUNCTIONAL}.ctc_loss",
    "_embedding_bag": f"{_FUNCTIONAL}.embedding_bag",
    "_unsafe_view": "Tensor.view",
    "_local_scalar_dense": "Tensor.item",
    "_linalg_det": "torch.linalg.det",
    "_linalg_slogdet": "torch.linalg.slogdet",
    "_linalg_solve_ex": "torch.linalg.solve",
    "_linalg_eigh": "torch.linalg.eigh",
    "_linalg_svd": "torch.linalg.svd",
    "linalg_inv_ex": "torch.linalg.inv",
    "linalg_cholesky_ex": "torch.linalg.cholesky",
    "mm": "torch.matmul",
    "bmm": "torch.matmul",
    "mv": "torch.matmul",
    "dot": "torch.dot",
    "_fft_r2c": "torch.fft.rfft",
    "_fft_c2c": "torch.fft.fft",
}
_LINEAR = {"addmm", "mm", "bmm", "baddbmm"}
_FAMILIES = (
    (re.compile(r"_scaled_dot_product_\w+"), f"{_FUNCTIONAL}.scaled_dot_product_attention"),
    (re.compile(r"(_native|native|cudnn|_)?_?batch_norm\w*"), f"{_FUNCTIONAL}.batch_norm"),
    (re.compile(r"(max|avg|_adaptive_avg|adaptive_avg)_pool(\d)d\w*"), None),
    (re.compile(r"linalg_(\w+)"), None),
    (re.compile(r"special_(\w+)"), None),
)  # fmt: skip


def operator_name(func: Any) -> str:
    """Return the full name of an operator: aten.div.Tensor."""
    return str(getattr(func, "name", lambda: func)()).replace("::", ".")


def packet_name(func: Any) -> str:
    """Return the name of an operator without namespace and overload: div."""
    packet = getattr(func, "overloadpacket", func)
    return str(getattr(packet, "__name__", packet))


def written(func: Any, call: Call | None = None) -> str:
    """Return the name that users of torch know an operator by: torch.div, Tensor.div_.

    `call` is the one that runs it.
    """
    name = packet_name(func)
    if call is not None and call.type == "Linear" and name in _LINEAR:
        return f"{_FUNCTIONAL}.linear"
    namespace = str(getattr(func, "namespace", "aten"))
    if namespace not in {"aten", "prims"}:
        return f"torch.ops.{namespace}.{name}"
    known = _WRITTEN.get(name)
    if known is not None:
        return known
    for pattern, whole in _FAMILIES:
        if pattern.fullmatch(name):
            return whole or _of_family(name)
    for prefix, owner in (
        ("torch", torch),
        ("Tensor", torch.Tensor),
        (_FUNCTIONAL, torch.nn.functional),
    ):
        if hasattr(owner, name) and not name.startswith("_"):
            return f"{prefix}.{name}"
    return f"aten.{name}"


def short_name(func: Any) -> str:
    """Return the name as `written` does, without its module: softmax, add for Tensor.add_.

    `func` is an operator, or the name of one without namespace and overload.
    """
    return written(func).rpartition(".")[2].rstrip("_")


def _of_family(name: str) -> str:
    for family, owner in (("linalg_", "torch.linalg."), ("special_", "torch.special.")):
        if name.startswith(family):
            return owner + name.removeprefix(family)
    return f"{_FUNCTIONAL}.{re.sub(r'_with_indices$|^_', '', name)}"

"""Faults of ports, planted into a module of a right model: each can be undone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass(frozen=True)
class PortFault:
    """A fault: the modules it can be planted into, and how. `plant` returns what undoes it."""

    name: str
    places: Callable[[nn.Module], list[str]]
    plant: Callable[[nn.Module], Callable[[], None]]


def _named(model, choose):
    """Return the names of the modules that are chosen: the first, one in the middle, the last."""
    found = [name for name, module in model.named_modules() if name and choose(name, module)]
    return list(dict.fromkeys([*found[:1], *found[len(found) // 2 :][:1], *found[-1:]]))


def _is_activation(_, module):
    kind = type(module).__name__.lower()
    return not list(module.children()) and any(w in kind for w in ("gelu", "relu", "silu", "swish"))


def _is_norm(_, module):
    return (hasattr(module, "eps") or hasattr(module, "variance_epsilon")) and not list(
        module.children()
    )


def _is_square(_, module):
    return type(module) is nn.Linear and module.in_features == module.out_features


def _is_linear(_, module):
    return type(module) is nn.Linear


def _is_positions(name, module):
    return isinstance(module, nn.Embedding) and any(w in name for w in ("pos", "place", "wpe"))


def _mixes(_, module):
    """Whether a module calls attention, or multiplies scores, in its own code."""
    kind = type(module).__name__.lower()
    return (
        "attention" in kind
        and any(isinstance(m, nn.Linear) for m in module.modules())
        and not any("attention" in type(child).__name__.lower() for child in module.children())
    )


def _with(module, forward):
    old = module.__dict__.get("forward")
    module.forward = forward

    def undo():
        if old is None:
            del module.forward
        else:
            module.forward = old

    return undo


def _wrapped(change):
    """Return a fault that changes what a module returns."""

    def plant(module):
        plain = module.forward

        def forward(*args, **kwargs):
            result = plain(*args, **kwargs)
            if isinstance(result, tuple):
                return (change(result[0]), *result[1:])
            return change(result)

        return _with(module, forward)

    return plant


def _other_activation(module):
    plain = type(module).__name__.lower()
    other = F.relu if "gelu" in plain or "silu" in plain or "swish" in plain else F.gelu
    if "gelu" in plain:
        tanh = getattr(module, "approximate", "") == "tanh" or "tanh" in plain or "new" in plain
        other = F.gelu if tanh else (lambda x: F.gelu(x, approximate="tanh"))
    return _with(module, lambda x: other(x))


def _epsilon(module):
    name = "eps" if hasattr(module, "eps") else "variance_epsilon"
    old = getattr(module, name)
    setattr(module, name, max(old, 1e-6) * 1e3)
    return lambda: setattr(module, name, old)


def _transposed(module):
    return _with(module, lambda x: F.linear(x, module.weight.T, module.bias))


def _without_bias(module):
    return _with(module, lambda x: F.linear(x, module.weight))


def _shifted(module):
    most = module.num_embeddings - 1
    return _with(module, lambda ids: F.embedding((ids + 1).clamp(max=most), module.weight))


def _in_attention(change):
    """Return a fault in the code of attention: of its softmax or of its fused function."""

    def plant(module):
        plain = module.forward

        def forward(*args, **kwargs):
            fused, soft, own = F.scaled_dot_product_attention, F.softmax, torch.Tensor.softmax
            change(fused, soft, own)
            try:
                return plain(*args, **kwargs)
            finally:
                torch.nn.functional.scaled_dot_product_attention = fused
                torch.nn.functional.softmax = soft
                torch.Tensor.softmax = own

        return _with(module, forward)

    return plant


def _set(fused, soft, own):
    torch.nn.functional.scaled_dot_product_attention = fused
    torch.nn.functional.softmax = soft
    torch.Tensor.softmax = own


def _wrong_scale(fused, soft, own):
    def scaled(q, k, v, *args, **kwargs):
        return fused(q * 1.3, k, v, *args, **kwargs)

    _set(
        scaled,
        lambda x, *args, **kwargs: soft(x * 1.3, *args, **kwargs),
        lambda x, *args, **kwargs: own(x * 1.3, *args, **kwargs),
    )


def _wrong_axis(fused, soft, own):
    def wrong(q, k, v, *args, **kwargs):
        k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
        return soft(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, -2) @ v

    _set(
        wrong,
        lambda x, *args, **kwargs: soft(x, -2),
        lambda x, *args, **kwargs: own(x, -2),
    )


def _without_mask(fused, soft, own):
    def unmasked(q, k, v, *args, **kwargs):
        kwargs["is_causal"], kwargs["attn_mask"] = not kwargs.get("is_causal", False), None
        return fused(q, k, v, **{k: w for k, w in kwargs.items() if k != "dropout_p"})

    def finite(x):
        return x.clamp(min=-5)

    _set(
        unmasked,
        lambda x, *args, **kwargs: soft(finite(x), *args, **kwargs),
        lambda x, *args, **kwargs: own(finite(x), *args, **kwargs),
    )


def _dropped(x):
    generator = torch.Generator().manual_seed(3)
    return x * (torch.rand(x.shape, generator=generator) > 0.1) / 0.9


FAULTS = (
    PortFault("another activation", lambda m: _named(m, _is_activation), _other_activation),
    PortFault("epsilon", lambda m: _named(m, _is_norm), _epsilon),
    PortFault("transposed weight", lambda m: _named(m, _is_square), _transposed),
    PortFault("lost bias", lambda m: _named(
        m, lambda n, one: _is_linear(n, one) and one.bias is not None), _without_bias),
    PortFault("positions off by one", lambda m: _named(m, _is_positions), _shifted),
    PortFault("bfloat16 inside", lambda m: _named(m, _is_linear),
              _wrapped(lambda x: x.bfloat16().to(x.dtype))),
    PortFault("missing scale", lambda m: _named(m, _is_linear), _wrapped(lambda x: x * 1.02)),
    PortFault("dropout left on", lambda m: _named(m, _is_linear), _wrapped(_dropped)),
    PortFault("scale of attention", lambda m: _named(m, _mixes), _in_attention(_wrong_scale)),
    PortFault("axis of softmax", lambda m: _named(m, _mixes), _in_attention(_wrong_axis)),
    PortFault("mask", lambda m: _named(m, _mixes), _in_attention(_without_mask)),
)  # fmt: skip

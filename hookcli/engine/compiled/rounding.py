"""How much rounding alone changes the values of a model: the measure for what the compiler changes.

A compiler may compute in another order, which rounds in another way. Eager runs in which each
result of an operator is multiplied by 1 + u, with u at random up to the machine epsilon of its
dtype, show how much this changes each tensor: stochastic arithmetic, as of Verrou and CADNA
(Févotte and Lathuilière 2016, Vignes 2004).
"""

from __future__ import annotations

from typing import Any

import torch

from hookcli.torch_private import TorchDispatchMode

# Operators whose results are exact, by the name without its namespace: they move or choose values.
_MOVING = """clone copy_ cat stack _to_copy index index_select gather embedding where masked_fill
arange full zeros ones empty empty_like full_like zeros_like ones_like new_zeros new_ones new_full
new_empty constant_pad_nd roll flip repeat scalar_tensor tril triu one_hot scatter lift_fresh detach
linspace eye reflection_pad1d reflection_pad2d replication_pad2d upsample_nearest2d"""
_CHOOSING = """max_pool2d_with_indices max_pool3d_with_indices relu neg abs sort topk max min amax
amin floor round ceil trunc sign threshold hardtanh clamp maximum minimum argmax"""
_RANDOM = """native_dropout bernoulli rand randn rand_like randn_like randint randperm"""
_EXACT = frozenset(f"{_MOVING} {_CHOOSING} {_RANDOM}".split())


class RoundingNoise(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Multiplies the result of each operator that rounds by 1 + u."""

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._seed = seed
        self._generators: dict[torch.device, torch.Generator] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        name = func._schema.name.rpartition("::")[2]
        if name in _EXACT or any(r.alias_info is not None for r in func._schema.returns):
            return output
        if isinstance(output, torch.Tensor):
            return self._noisy(output)
        if isinstance(output, (tuple, list)):
            items = [self._noisy(o) if isinstance(o, torch.Tensor) else o for o in output]
            return type(output)(items)
        return output

    def _noisy(self, tensor: torch.Tensor) -> torch.Tensor:
        dtype = tensor.dtype
        if not dtype.is_floating_point or dtype.itemsize < 2 or tensor.layout != torch.strided:
            return tensor
        if type(tensor) is not torch.Tensor or tensor.is_nested:
            return tensor
        generator = self._generators.get(tensor.device)
        if generator is None:
            generator = torch.Generator(tensor.device).manual_seed(self._seed)
            self._generators[tensor.device] = generator
        eps = torch.finfo(dtype).eps
        wide = torch.float64 if dtype is torch.float64 else torch.float32
        noise = torch.empty_like(tensor, dtype=wide).uniform_(-eps, eps, generator=generator)
        return tensor + tensor * noise if dtype == wide else (tensor * (1 + noise)).to(dtype)

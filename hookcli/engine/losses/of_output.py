"""Losses of the output alone: `probe`, `sum`, `mean`, and a part of the output.

The `sum` of a softmax or a LayerNorm has a zero gradient for all weights. The default, `probe`,
avoids that: it contracts each floating-point output with seeded Gaussian vectors of unit norm, one
for each dimension. This is a random projection that needs no tensor of the output's size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from hookcli.errors import ModelError, RequestError
from hookcli.models.nested import leaves


def _graded(output: Any) -> list[tuple[str, torch.Tensor]]:
    """Return the outputs that require grad with their paths, each distinct tensor once."""
    tensors: dict[int, tuple[str, torch.Tensor]] = {}
    for path, tensor, _ in leaves(output):
        if tensor.requires_grad:
            tensors.setdefault(id(tensor), (path, tensor))
    return list(tensors.values())


def graded_or_refuse(output: Any) -> list[tuple[str, torch.Tensor]]:
    """Return the outputs that require grad with their paths.

    Raises
    ------
    ModelError : there is none, so backward cannot start.
    """
    tensors = _graded(output)
    if tensors:
        return tensors
    has = "no tensor" if not leaves(output) else "no tensor that requires grad"
    raise ModelError(
        f"backward cannot start: the output contains {has}",
        place="loss",
        hint="check for frozen parameters, detach() and no_grad() in the model, or choose another "
        "loss: `--loss output:PATH`, `--loss file.py:function`",
    )


def own_loss(output: Any) -> torch.Tensor | None:
    """Return the entry `loss` of an output mapping, if backward can start from it."""
    loss = output.get("loss") if isinstance(output, Mapping) else None
    fits = isinstance(loss, torch.Tensor) and loss.requires_grad and loss.numel() == 1
    return loss.reshape(()) if fits and loss is not None else None


def probe(output: Any, notes: Callable[[str], None], *, seed: int, values: bool) -> torch.Tensor:
    """Return the sum of the random projections of all outputs.

    Entries that are -inf (masked logits) are ignored, with a note. `values` is False for fake
    tensors, whose values cannot be read.
    """
    generator = torch.Generator().manual_seed(seed)
    terms = []
    for path, tensor in graded_or_refuse(output):
        plain = _strided(tensor)
        plain = plain.float() if plain.dtype.itemsize < 2 else plain  # float8 has few operators
        if values and plain.numel() and bool(plain.detach().amin() == -torch.inf):
            notes(f"the loss ignores the -inf entries of output{path}")
            plain = torch.where(plain == -torch.inf, torch.zeros_like(plain), plain)
        terms.append(_project(plain, generator))
    return _sum(terms)


def _strided(tensor: torch.Tensor) -> torch.Tensor:
    """Return the elements as real numbers in one strided tensor."""
    if tensor.is_nested:
        return torch.cat([_strided(component).reshape(-1) for component in tensor.unbind()])
    plain = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    return plain if plain.layout is torch.strided else plain.to_dense()


def _project(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    while tensor.dim():
        vector = torch.randn(tensor.shape[-1], generator=generator, dtype=torch.float64)
        norm = torch.linalg.vector_norm(vector)
        unit = vector / torch.where(norm > 0, norm, 1.0)
        unit = unit.to(device=tensor.device, dtype=tensor.dtype)
        tensor = torch.tensordot(tensor, unit, dims=1) if tensor.numel() else tensor.sum(-1)
    return tensor


def _sum(terms: list[torch.Tensor]) -> torch.Tensor:
    """Return the sum of the terms in the widest of their dtypes, on the first one's device."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term.to(total.device)
    return total


def reduced(output: Any, reduce: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """Return the sum of what `reduce` returns of each output, computed in at least float32."""
    terms = []
    for _, tensor in graded_or_refuse(output):
        plain = _strided(tensor)
        wide = plain.float() if plain.dtype.itemsize < 4 else plain
        terms.append(reduce(wide))
    return _sum(terms)


def at(output: Any, path: str, place: str) -> torch.Tensor:
    """Return the tensor at a path of the output.

    Raises
    ------
    RequestError : there is none.
    ModelError : it does not require grad.
    """
    for leaf_path, tensor, _ in leaves(output):
        if leaf_path in {path, f".{path}"}:
            if not tensor.requires_grad:
                raise ModelError(
                    f"output:{path} does not require grad",
                    place=place,
                    hint="check whether it is detached or computed under no_grad",
                )
            return tensor
    known = ", ".join(path or "(the output itself)" for path, _, _ in leaves(output))
    raise RequestError(
        f"the output has no tensor at '{path}'",
        place=place,
        hint=f"choose from {known}" if known else "return a tensor from forward",
    )

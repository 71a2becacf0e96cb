"""A tensor in 16 numbers, from which the norm of its difference to another can be estimated.

A sketch is `s = G x`: 16 inner products of the flattened tensor with seeded Gaussian vectors. For
two tensors of one shape `G a - G b = G (a - b)`, each entry is normal with variance
`||a - b||²`, and so `mean((s_a - s_b)²)` estimates `||a - b||²`; the quotient is chi-squared with
16 degrees of freedom over 16. The estimate of the norm has a standard error of `1/sqrt(2 * 16)`,
18 %: with 95 % probability the norm lies between 0.74 and 1.53 times the estimate (Johnson and
Lindenstrauss 1984; Dasgupta and Gupta 2003, "An elementary proof of a theorem of Johnson and
Lindenstrauss").

Vectors for 2**19 elements are kept. Beyond, each element takes one of them that is drawn for it,
and a random sign: a count sketch in front of the projection (Charikar, Chen and Farach-Colton
2002), which adds at most 1 % of variance. Vectors are seeded by their index alone, so that all
tensors share them. Sums are in float64, piece by piece.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from hookcli.run.chunks import chunks

WIDTH = 16
CHUNK = 1 << 15  # elements
_KEPT = 16  # chunks whose vectors are kept: 64 MiB
_SEED = 0x5CE7C4


@dataclass(frozen=True, slots=True)
class Sketch:
    """What is kept of a tensor. NaN and infinite elements count as 0, but for their number.

    `digest` is a hash of the elements' bits; `projections` and `norm` are those of the elements
    as float64, of complex ones as pairs.
    """

    digest: str
    norm: float
    nonfinite: int
    projections: tuple[float, ...]

    def row(self) -> dict[str, Any]:
        """As it stands in a report."""
        return {
            "digest": self.digest,
            "norm": self.norm,
            "nonfinite": self.nonfinite,
            "projections": list(self.projections),
        }


class Projector:
    """Makes sketches; keeps the vectors that it drew."""

    def __init__(self) -> None:
        self._kept: dict[int, torch.Tensor] = {}

    def sketch(self, tensor: torch.Tensor) -> Sketch | None:
        """The sketch; None of a tensor without readable elements (fake, on meta, batched)."""
        with torch.no_grad(), _disable_current_modes():
            try:
                return self._sketch(_plain(tensor.detach()))
            except (RuntimeError, NotImplementedError, TypeError):
                return None

    def _sketch(self, tensor: torch.Tensor) -> Sketch:
        digest = hashlib.sha256(f"{tensor.dtype} {list(tensor.shape)} ".encode())
        total = torch.zeros(WIDTH, dtype=torch.float64)
        square, nonfinite = 0.0, 0
        for index, chunk in enumerate(chunks(tensor, CHUNK)):
            flat = chunk.cpu().contiguous().view(-1)
            digest.update(flat.view(torch.uint8).numpy().data)
            values = flat.double()
            scalar = values.dot(values).item()
            if not scalar < float("inf"):  # NaN neither
                wild = ~values.isfinite()
                nonfinite += int(wild.sum())
                values = values.masked_fill_(wild, 0.0)
                scalar = values.dot(values).item()
            square += scalar
            total += self._project(values, index)
        projections = tuple(total.tolist())
        return Sketch(digest.hexdigest()[:32], square**0.5, nonfinite, projections)

    def _project(self, values: torch.Tensor, index: int) -> torch.Tensor:
        vectors = self._vectors(index % _KEPT)
        if index < _KEPT:
            return values @ vectors[: values.numel()]
        generator = torch.Generator().manual_seed(_SEED + index)
        signs = torch.randint(0, 2, values.shape, generator=generator).double()
        shift = int(torch.randint(0, CHUNK, (1,), generator=generator))
        signed = values * (signs * 2 - 1)
        head, tail = signed[: CHUNK - shift], signed[CHUNK - shift :]
        return head @ vectors[shift : shift + head.numel()] + tail @ vectors[: tail.numel()]

    def _vectors(self, index: int) -> torch.Tensor:
        if index not in self._kept:
            generator = torch.Generator().manual_seed(_SEED + index)
            self._kept[index] = torch.randn(
                (CHUNK, WIDTH), dtype=torch.float64, device="cpu", generator=generator
            )
        return self._kept[index]


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """A strided tensor of real numbers with the same elements."""
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    tensor = tensor.resolve_conj().resolve_neg()
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor

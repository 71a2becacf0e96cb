"""A sketch: 16 numbers from which the norm of the difference of two tensors can be estimated.

A sketch is `s = G x`: 16 inner products of the flattened tensor with seeded Gaussian vectors. For
two tensors of one shape `G a - G b = G (a - b)`. Each entry is normal with variance `||a - b||²`,
so `mean((s_a - s_b)²)` estimates `||a - b||²`; the quotient is chi-squared with 16 degrees of
freedom over 16. The estimate of the norm has a standard error of `1/sqrt(2 * 16)`, 18 %. With 95 %
probability the norm is between 0.74 and 1.53 times the estimate (Johnson and Lindenstrauss 1984;
Dasgupta and Gupta 2003, "An elementary proof of a theorem of Johnson and Lindenstrauss").

There are vectors for 2**19 elements. The rest of a larger tensor is folded first: each element is
added, with a random sign, to one of 2**19 sums, which are then projected. This is a count sketch
(Charikar, Chen and Farach-Colton 2002). Its variance, at most `2 / 2**19` of the norm's, is
negligible compared with that of the projection. All seeds depend on the position only, so that all
tensors share the vectors. Sums are computed in float64, piece by piece.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from hookcli.engine.statistics.chunks import chunks
from hookcli.models.bits import memory_of
from hookcli.refusals import raise_if_external
from hookcli.torch_private import disable_current_modes

WIDTH = 16
CHUNK = 1 << 15  # elements that are read at a time
SPAN = 1 << 19  # elements that have vectors: 64 MiB, drawn when they are needed
_SEED = 0x5CE7C4


@dataclass(frozen=True, slots=True)
class Sketch:
    """The sketch of a tensor. NaN and infinite elements count as 0, and in `nonfinite`.

    `digest` is a hash of dtype, shape and the elements' bits. `projections` and `norm` are computed
    from the elements as float64, with complex elements as pairs. `sums` are those of x, |x| and x²,
    and `ordered` the projections of the sorted elements, if they were asked for: both are the same
    whatever the order of the elements.
    """

    digest: str
    norm: float
    nonfinite: int
    projections: tuple[float, ...]
    sums: tuple[float, float, float]
    ordered: tuple[float, ...] = ()

    def row(self) -> dict[str, Any]:
        """Return the sketch as it is written in a report."""
        return {
            "digest": self.digest,
            "norm": self.norm,
            "nonfinite": self.nonfinite,
            "projections": list(self.projections),
            "sums": list(self.sums),
            **({"ordered": list(self.ordered)} if self.ordered else {}),
        }


class Projector:
    """Makes sketches, and keeps the vectors that it has drawn.

    With `ordered`, the sorted elements of tensors of at most SPAN elements are projected too.
    """

    def __init__(self, *, ordered: bool = False) -> None:
        self._ordered = ordered
        self._blocks: dict[int, torch.Tensor] = {}
        self._signs: torch.Tensor | None = None

    def sketch(self, tensor: torch.Tensor) -> Sketch | None:
        """Return the sketch; None for a tensor without readable elements (fake, meta, batched)."""
        with torch.no_grad(), disable_current_modes(), _one_thread():
            try:
                return self._sketch(_plain(tensor.detach()))
            except (RuntimeError, NotImplementedError, TypeError) as error:
                raise_if_external(error)
                return None

    def _sketch(self, tensor: torch.Tensor) -> Sketch:
        digest = hashlib.sha256(f"{tensor.dtype} {list(tensor.shape)} ".encode())
        total = torch.zeros(WIDTH, dtype=torch.float64)
        square, plain, absolute, nonfinite, position = 0.0, 0.0, 0.0, 0, 0
        folded: _Folded | None = None
        for chunk in chunks(tensor, CHUNK):
            # a copy: the model could not resize a tensor whose memory is read
            flat = chunk.to("cpu", copy=True).contiguous().view(-1)
            digest.update(memory_of(flat))
            values = flat.double()
            scalar = values.dot(values).item()
            if not scalar < math.inf:  # inf or NaN
                mask = ~values.isfinite()
                nonfinite += int(mask.sum())
                values = values.masked_fill_(mask, 0.0)
                scalar = values.dot(values).item()
            square += scalar
            plain += values.sum().item()
            absolute += values.abs().sum().item()
            if folded is None and position + values.numel() <= SPAN:
                total += self._project(values, position)
                position += values.numel()
                continue
            folded = folded or _Folded(self._all_signs())
            folded.add(values)
        if folded is not None:
            total += self._project(folded.sums(), 0)
        return Sketch(
            digest.hexdigest()[:32],
            math.sqrt(square),
            nonfinite,
            tuple(total.tolist()),
            (plain, absolute, square),
            self._of_sorted(tensor),
        )

    def _of_sorted(self, tensor: torch.Tensor) -> tuple[float, ...]:
        if not self._ordered or not 0 < tensor.numel() <= SPAN:
            return ()
        values = tensor.to("cpu", copy=True).contiguous().view(-1).double()
        values = torch.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
        return tuple(self._project(values.sort().values, 0).tolist())

    def _project(self, values: torch.Tensor, position: int) -> torch.Tensor:
        """Return the inner products with the vectors from a position on."""
        total = torch.zeros(WIDTH, dtype=torch.float64)
        done = 0
        while done < values.numel():
            index, start = divmod(position + done, CHUNK)
            piece = values[done : done + CHUNK - start]
            total += piece @ self._block(index)[start : start + piece.numel()]
            done += piece.numel()
        return total

    def _block(self, index: int) -> torch.Tensor:
        if index not in self._blocks:
            generator = torch.Generator().manual_seed(_SEED + index)
            self._blocks[index] = torch.randn(
                (CHUNK, WIDTH), dtype=torch.float64, device="cpu", generator=generator
            )
        return self._blocks[index]

    def _all_signs(self) -> torch.Tensor:
        """Return a sign for each of SPAN positions, twice, so that SPAN follow any start."""
        if self._signs is None:
            generator = torch.Generator().manual_seed(_SEED - 1)
            drawn = torch.randint(0, 2, (SPAN,), device="cpu", generator=generator) * 2 - 1
            self._signs = drawn.double().repeat(2)
        return self._signs


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread: pieces are small, and a second thread may wait for a busy core."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class _Folded:
    """SPAN sums of signed elements; every SPAN elements start at a new random sum and sign."""

    def __init__(self, signs: torch.Tensor) -> None:
        self._signs = signs
        self._sums = torch.zeros(SPAN + CHUNK, dtype=torch.float64, device="cpu")
        self._generator = torch.Generator().manual_seed(_SEED - 2)
        self._position = SPAN
        self._start = self._first_sign = 0

    def add(self, values: torch.Tensor) -> None:
        """Add the next elements; `values` is overwritten."""
        count = values.numel()
        if self._position + count > SPAN:
            drawn = torch.randint(0, SPAN, (2,), device="cpu", generator=self._generator)
            self._start, self._first_sign = drawn.tolist()
            self._position = 0
        sign = self._first_sign + self._position
        at = (self._start + self._position) % SPAN
        self._sums[at : at + count] += values.mul_(self._signs[sign : sign + count])
        self._position += count

    def sums(self) -> torch.Tensor:
        """Return the sums, with the part beyond the last one added to the first."""
        self._sums[:CHUNK] += self._sums[SPAN:]
        return self._sums[:SPAN]


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """Return a strided tensor with the same elements; a nested tensor is concatenated."""
    if tensor.is_quantized:
        return tensor.dequantize()
    if tensor.is_nested:
        return torch.cat([part.reshape(-1) for part in tensor.unbind()])
    return tensor if tensor.layout is torch.strided else tensor.to_dense()


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """Return a strided tensor of real numbers with the same elements."""
    tensor = dense(tensor).resolve_conj().resolve_neg()
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor

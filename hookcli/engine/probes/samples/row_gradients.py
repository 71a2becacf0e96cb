"""The gradient of parameters by samples: each gives the gradient of its rows of the outputs.

The gradient of the parameters is linear in that of the outputs. So the backward of the rows of one
sample, with zeros for all others, is what it adds to the whole: g = g_1 + … + g_n, exactly. It is
the gradient of the sample alone if its outputs do not depend on the other samples, which
`are_independent` checks by replacing them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from hookcli.engine.probes.determinism import change
from hookcli.engine.probes.samples.batch_independence import number_of_samples, taken
from hookcli.models.batch import Batch
from hookcli.models.nested import dtype_name
from hookcli.rules.batch_independent import limit_of
from hookcli.torch_private import BatchNormBase

MOST_SAMPLES = 1_024
LARGEST = 5  # norms that are told
_SHARE = 0.1  # of the samples, the most that can dominate
_HALF = 0.5
_ALIKE = 0.25  # of the largest norm, the least of a further sample that dominates


class SamplesUnknownError(Exception):
    """The gradients of single samples are not known; the message tells why."""


def given_by_loss(
    outputs: Sequence[torch.Tensor], gradients: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """Return the gradients that the loss gives to outputs, from their whole gradients.

    An output may be a value from which another one was made, such as the mean of a variational
    autoencoder: its whole gradient has a part that the other one passes on to it.
    """
    order = sorted(range(len(outputs)), key=lambda i: -_made(outputs[i]))
    found: dict[int, torch.Tensor] = {}
    for i in order:
        passed = None
        if found:
            later, starts = [outputs[k] for k in found], list(found.values())
            (passed,) = torch.autograd.grad(
                later, [outputs[i]], starts, retain_graph=True, allow_unused=True
            )
        found[i] = gradients[i] if passed is None else gradients[i] - passed
    return [found[i] for i in range(len(outputs))]


def _made(tensor: torch.Tensor) -> int:
    """Return the number of the node that made a tensor: later ones have larger numbers."""
    number: int = -1 if tensor.grad_fn is None else tensor.grad_fn._sequence_nr()
    return number


@dataclass(slots=True)
class SampleRows:
    """The outputs of a forward, the gradients that the loss gives to them, and its batch.

    The samples are along `dim`, which `find_samples` finds. A sample may have several rows of an
    output, next to each other, as the positions of a text do.
    """

    outputs: list[torch.Tensor]
    starts: list[torch.Tensor]
    batch: Batch
    dim: int = 0
    size: int = 0

    def start_of(self, sample: int) -> list[torch.Tensor]:
        """Return the gradients of the outputs, with zeros but for one sample."""
        found = []
        for start in self.starts:
            alone = torch.zeros_like(start)
            self.rows(alone, sample).copy_(self.rows(start, sample))
            found.append(alone)
        return found

    def rows(self, tensor: torch.Tensor, sample: int) -> torch.Tensor:
        """Return the part of an output that belongs to a sample."""
        each = tensor.shape[self.dim] // self.size
        return tensor.narrow(self.dim, sample * each, each)

    def gradient(self, parameters: list[torch.Tensor], sample: int) -> list[torch.Tensor]:
        """Return what a sample adds to the gradients of the parameters, in double precision."""
        found = torch.autograd.grad(
            self.outputs, parameters, self.start_of(sample), retain_graph=True, allow_unused=True
        )
        return [
            torch.zeros_like(p, dtype=torch.float64) if one is None else one.detach().double()
            for p, one in zip(parameters, found, strict=True)
        ]

    def find_samples(
        self, root: nn.Module, again: Callable[[Batch], Sequence[torch.Tensor] | None]
    ) -> None:
        """Find the dimension of the samples, of which none may depend on the others.

        `again` runs the forward on another batch, from the same states of random generators; it
        returns None if the outputs are others.

        Raises
        ------
        SamplesUnknownError : there is none, or the samples depend on each other.
        """
        why = "the outputs do not have the samples of the inputs in their first dimensions"
        for dim in (0, 1):
            size = number_of_samples(self.batch, dim) or 0
            if size < dim + 1 or any(o.dim() <= dim or o.shape[dim] % size for o in self.outputs):
                continue  # one sample is a batch, but one channel is none
            self.dim, self.size = dim, size
            if size == 1 or self.are_independent(again):
                return
            why = coupled(root)
        raise SamplesUnknownError(why)

    def are_independent(self, again: Callable[[Batch], Sequence[torch.Tensor] | None]) -> bool:
        """Return whether the outputs of a sample stay the same if the others are replaced.

        The sample with the largest gradient replaces all others, and is then replaced itself.
        """
        kept = self._heaviest()
        other = (kept + 1) % self.size
        rest = [i for i in range(self.size) if i != kept]
        alone = [kept] * self.size
        replaced = [other if i == kept else i for i in range(self.size)]
        for which, same in ((alone, [kept]), (replaced, rest)):
            made = again(taken(self.batch, self.dim, which))
            if made is None:
                return False
            for before, after in zip(self.outputs, made, strict=True):
                limit = limit_of(dtype_name(before.dtype))
                if after.shape != before.shape or not all(
                    change(self.rows(before, i), self.rows(after, i)) <= limit for i in same
                ):
                    return False
        return True

    def _heaviest(self) -> int:
        norms = [
            sum(float(self.rows(start, i).double().square().sum()) for start in self.starts)
            for i in range(self.size)
        ]
        return norms.index(max(norms))


def coupled(root: nn.Module) -> str:
    """Return that samples depend on each other, with the batch norm that makes them."""
    for name, module in root.named_modules():
        uses_batch = module.training or not getattr(module, "track_running_stats", True)
        if isinstance(module, BatchNormBase) and uses_batch:
            return f"the samples share the statistics of '{name}' ({type(module).__name__})"
    return "the outputs of a sample depend on the other samples of the batch"


def norm_of_all(tensors: Sequence[torch.Tensor]) -> float:
    """Return the 2-norm of all elements."""
    return math.hypot(*(float(torch.linalg.vector_norm(one)) for one in tensors))


@dataclass(slots=True)
class SampleNorms:
    """The norms of the gradients of samples, as (forward, sample, norm), and their sum `total`.

    `dominant` are the fewest samples without which the norm of the sum is less than half, and the
    next ones as long as each halves it again and is not much smaller than the first: it is
    `without` then. There is none if that takes more than a tenth of the samples.
    """

    norms: list[tuple[int, int, float]]
    total: list[torch.Tensor]
    dominant: list[tuple[int, int, float]]
    without: float | None


def norms_by_sample(forwards: Sequence[SampleRows], parameters: list[torch.Tensor]) -> SampleNorms:
    """Return the norms of the samples of several forwards, whose gradients are added.

    Raises
    ------
    SamplesUnknownError : there are too many samples.
    """
    count = sum(one.size for one in forwards)
    if count > MOST_SAMPLES:
        raise SamplesUnknownError(f"there are {count:,} samples, more than {MOST_SAMPLES:,}")
    total = [torch.zeros_like(p, dtype=torch.float64) for p in parameters]
    norms: list[tuple[int, int, float]] = []
    for number, one in enumerate(forwards):
        for sample in range(one.size):
            part = one.gradient(parameters, sample)
            norms.append((number, sample, norm_of_all(part)))
            for whole, more in zip(total, part, strict=True):
                whole += more
    ordered = sorted(norms, key=lambda row: -row[2])
    parts = (forwards[row[0]].gradient(parameters, row[1]) for row in ordered)
    many, without = dominating(total, parts, count)
    return SampleNorms(norms, total, ordered[:many], without)


def dominating(
    total: Sequence[torch.Tensor], parts: Iterable[Sequence[torch.Tensor]], count: int
) -> tuple[int, float | None]:
    """Return how many of `count` samples dominate, and the norm of the rest; see `SampleNorms`.

    `parts` are the gradients of the samples, those with the largest norms first.
    """
    rest = [one.clone() for one in total]
    whole = norm = norm_of_all(total)
    largest = 0.0
    found: tuple[int, float | None] = 0, None
    for i, part in enumerate(itertools.islice(parts, max(1, math.floor(_SHARE * count))), 1):
        for left, gone in zip(rest, part, strict=True):
            left -= gone
        before, norm = norm, norm_of_all(rest)
        size = norm_of_all(part)
        largest = max(largest, size)
        if found[0] and (norm >= _HALF * before or size < _ALIKE * largest):
            break
        if norm < _HALF * whole:
            found = i, norm
    return found

"""The gradient of a step by its samples, from a replay of its forward.

The gradient of the parameters is linear in the gradient of the outputs, which is known from the
step itself, labels and loss included. So the backward of the rows of one sample, with zeros for all
others, is what this sample adds to the gradient of the step: g = g_1 + … + g_n, exactly. It is that
of the sample alone if its outputs do not depend on the other samples. This is checked: the forward
runs again with the other samples replaced by copies of one, and with that one replaced, from the
same states of the random generators. The sum is compared with the gradient of the step.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from hookcli.engine.neutrality.model_state import room_for_hooks
from hookcli.engine.probes.determinism import change
from hookcli.engine.probes.rerun import copied
from hookcli.engine.probes.samples.batch_independence import number_of_samples, taken
from hookcli.models.batch import Batch
from hookcli.models.converted.compiled import run_eagerly
from hookcli.models.nested import dtype_name, leaves
from hookcli.rules.batch_independent import limit_of
from hookcli.torch_private import BatchNormBase
from hookcli.training.non_finite.forward_call import ForwardCall

MOST_SAMPLES = 1_024
_SAME = 1e-2  # how much a replayed gradient may differ, relative to its norm
_LARGEST = 5  # norms that are told
_SHARE = 0.1  # of the samples, the most that can dominate
_HALF = 0.5


class UnknownError(Exception):
    """The gradients of single samples are not known; the message tells why."""


@dataclass(slots=True)
class _Repeated:
    """A forward that ran again, and the gradients that the loss gave to its outputs."""

    outputs: list[torch.Tensor]
    starts: list[torch.Tensor]
    batch: Batch
    dim: int = 0
    size: int = 0

    def of_sample(self, sample: int) -> list[torch.Tensor]:
        """Return the gradients of the outputs, with zeros but for one sample."""
        found = []
        for start in self.starts:
            alone = torch.zeros_like(start)
            place = self._rows(start, sample)
            alone.narrow(*place).copy_(start.narrow(*place))
            found.append(alone)
        return found

    def _rows(self, tensor: torch.Tensor, sample: int) -> tuple[int, int, int]:
        each = tensor.shape[self.dim] // self.size
        return self.dim, sample * each, each

    def rows(self, tensor: torch.Tensor, sample: int) -> torch.Tensor:
        """Return the part of an output that belongs to a sample."""
        return tensor.narrow(*self._rows(tensor, sample))


def by_sample(
    root: nn.Module, parameters: Sequence[torch.Tensor], calls: Sequence[ForwardCall]
) -> dict[str, Any]:
    """Return the fields of `SpikeSamples`.

    `parameters` have the gradient of the step. The forwards run again in this process, and change
    buffers and the states of generators.
    """
    own = [p for p in parameters if p.requires_grad and p.grad is not None]
    try:
        return _of_step(root, own, calls)
    except UnknownError as error:
        return {"why": str(error)}
    except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError) as error:
        return {"why": f"the replay failed: {' '.join(str(error).split())[:200]}"}


def _of_step(
    root: nn.Module, own: list[torch.Tensor], calls: Sequence[ForwardCall]
) -> dict[str, Any]:
    forwards = []
    for call in calls:
        once = _repeat(root, call)
        _find_samples(root, call, once)
        forwards.append(once)
    count = sum(once.size for once in forwards)
    if count > MOST_SAMPLES:
        raise UnknownError(f"the step has {count:,} samples, more than {MOST_SAMPLES:,}")
    total = [torch.zeros_like(p, dtype=torch.float64) for p in own]
    norms: list[tuple[int, int, float]] = []
    for number, once in enumerate(forwards):
        for sample in range(once.size):
            part = _gradient(once, own, sample)
            norms.append((number, sample, _norm(part)))
            for whole, one in zip(total, part, strict=True):
                whole += one
    factor = _factor(total, own)
    ordered = sorted(norms, key=lambda row: -row[2])
    most = max(1, math.floor(_SHARE * count))
    dominant, without = _dominant(forwards, own, total, ordered[:most])
    return {
        "count": count,
        "median": sorted(norm for *_, norm in norms)[count // 2] * factor,
        "largest": [[*row[:2], row[2] * factor] for row in ordered[:_LARGEST]],
        "dominant": [[*row[:2], row[2] * factor] for row in dominant],
        "without": None if without is None else without * factor,
    }


def _dominant(
    forwards: Sequence[_Repeated],
    own: list[torch.Tensor],
    total: list[torch.Tensor],
    ordered: Sequence[tuple[int, int, float]],
) -> tuple[list[tuple[int, int, float]], float | None]:
    """Return the fewest samples without which the norm is less than half; [] if too many are."""
    whole, rest = _norm(total), [one.clone() for one in total]
    named = []
    for row in ordered:
        named.append(row)
        for left, one in zip(rest, _gradient(forwards[row[0]], own, row[1]), strict=True):
            left -= one
        without = _norm(rest)
        if without < _HALF * whole:
            return named, without
    return [], None


def _repeat(root: nn.Module, call: ForwardCall) -> _Repeated:
    """Run a forward again; its outputs have the gradients that training gave them."""
    if call.is_changed():
        raise UnknownError("the batch was changed in place after the forward")
    if not call.gradients or not call.has_all_gradients:
        raise UnknownError("the gradient of the outputs is too large to be kept, or not known")
    batch = Batch(call.args, call.kwargs)
    made = _forward(root, call, batch)
    if not call.gradients.keys() <= made.keys():
        raise UnknownError("a replay of the forward gave other outputs")
    outputs = [made[i] for i in call.gradients]
    starts = [gradient.detach() for gradient in call.gradients.values()]
    if any(o.shape != s.shape for o, s in zip(outputs, starts, strict=True)):
        raise UnknownError("a replay of the forward gave other outputs")
    return _Repeated(outputs, starts, batch)


def _forward(root: nn.Module, call: ForwardCall, batch: Batch) -> dict[int, torch.Tensor]:
    call.generators.restore()
    given = copied(batch)
    with run_eagerly(), room_for_hooks(), torch.enable_grad(), call.autocast.again():
        output = root(*given.args, **given.kwargs)
    return {i: t for i, (_, t, _) in enumerate(leaves(output)) if t.requires_grad}


def _find_samples(root: nn.Module, call: ForwardCall, once: _Repeated) -> None:
    """Find the dimension of the samples, of which none may depend on the others."""
    why = "the outputs do not have the samples of the inputs in their first dimensions"
    for dim in (0, 1):
        size = number_of_samples(once.batch, dim) or 0
        if size < dim + 1 or any(o.dim() <= dim or o.shape[dim] % size for o in once.outputs):
            continue  # one sample is a batch, but one channel is none
        once.dim, once.size = dim, size
        if size == 1 or _are_independent(root, call, once):
            return
        why = _coupled(root)
    raise UnknownError(why)


def _are_independent(root: nn.Module, call: ForwardCall, once: _Repeated) -> bool:
    """Return whether the outputs of a sample stay the same if the other samples are replaced."""
    kept = _heaviest(once)
    other = (kept + 1) % once.size
    alone = taken(once.batch, once.dim, [kept] * once.size)
    replaced = [other if i == kept else i for i in range(once.size)]
    rest = [i for i in range(once.size) if i != kept]
    pairs = ((alone, [kept]), (taken(once.batch, once.dim, replaced), rest))
    for batch, same in pairs:
        made = _forward(root, call, batch)
        for index, before in zip(call.gradients, once.outputs, strict=True):
            after = made.get(index)
            if after is None or after.shape != before.shape:
                return False
            limit = limit_of(dtype_name(before.dtype))
            for i in same:
                if not change(once.rows(before, i), once.rows(after, i)) <= limit:
                    return False
    return True


def _heaviest(once: _Repeated) -> int:
    """Return the sample whose outputs have the largest gradient."""
    norms = [
        sum(float(once.rows(start, i).double().square().sum()) for start in once.starts)
        for i in range(once.size)
    ]
    return norms.index(max(norms))


def _coupled(root: nn.Module) -> str:
    """Return that samples depend on each other, with the batch norm that makes them."""
    for name, module in root.named_modules():
        uses_batch = module.training or not getattr(module, "track_running_stats", True)
        if isinstance(module, BatchNormBase) and uses_batch:
            return f"the samples share the statistics of '{name}' ({type(module).__name__})"
    return "the outputs of a sample depend on the other samples of the batch"


def _gradient(once: _Repeated, own: list[torch.Tensor], sample: int) -> list[torch.Tensor]:
    found = torch.autograd.grad(
        once.outputs, own, once.of_sample(sample), retain_graph=True, allow_unused=True
    )
    return [
        torch.zeros_like(p, dtype=torch.float64) if one is None else one.detach().double()
        for p, one in zip(own, found, strict=True)
    ]


def _norm(tensors: Sequence[torch.Tensor]) -> float:
    return math.hypot(*(float(torch.linalg.vector_norm(one)) for one in tensors))


def _factor(total: Sequence[torch.Tensor], own: Sequence[torch.Tensor]) -> float:
    """Return the factor from the replayed gradient to that of the step, as of clipping.

    Raises
    ------
    UnknownError : they do not have the same direction.
    """
    whole, product, square = _norm(total), 0.0, 0.0
    for one, parameter in zip(total, own, strict=True):
        grad = torch.zeros_like(one) if parameter.grad is None else parameter.grad.double()
        product += float((one * grad).sum())
        square += float(grad.square().sum())
    if not whole or not square or not math.isfinite(whole):
        raise UnknownError("the gradient of the replay is zero, or not finite")
    if product < (1 - _SAME**2) * whole * math.sqrt(square):  # the cosine of the angle
        raise UnknownError("a replay of the step gave another gradient than the step")
    return math.sqrt(square) / whole


def encode(found: dict[str, Any]) -> bytes:
    """Return what was found as bytes, to leave a copy of the process."""
    return json.dumps(found).encode()


def decode(text: bytes) -> dict[str, Any]:
    """Return what `encode` wrote."""
    found: dict[str, Any] = json.loads(text)
    return found

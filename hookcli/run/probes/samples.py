"""Whether the output for one sample depends on the others: they are replaced, and it is compared.

The batch dimension is found by running one sample more: every output must then be longer by one in
one dimension. Scalars are left out: a loss is of all samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from hookcli.inputs.batch import Batch, map_batch
from hookcli.models.failures import first_line
from hookcli.models.trees import argument_leaves, dtype_name
from hookcli.rules.batch_independent import limit_of
from hookcli.run.digests import digest
from hookcli.run.probes.again import Again
from hookcli.run.probes.repeat import as_number, change


@dataclass(frozen=True, slots=True)
class _Along:
    """A dimension along which inputs hold samples, and that of each output."""

    dim: int
    size: int
    outputs: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Moved:
    """How far an output of one sample moved when the others were replaced."""

    relative: float
    output: str
    sample: int
    dtype: str

    @property
    def is_coupled(self) -> bool:
        """Whether that is more than rounding."""
        return not self.relative <= limit_of(self.dtype)


def samples(again: Again, dim: int | None) -> dict[str, Any]:
    """What was found, or `why` nothing could be."""
    base = again.twice()[0]
    found, why = [], ""
    for one in (0, 1) if dim is None else (dim,):
        along = _along(again, base, one)
        if isinstance(along, str):
            why = why or along
        else:
            found.append(along)
    if not found:
        return {"why": f"the batch dimension is not known: {why}"}
    return _verdict(again, base, found)


def _verdict(again: Again, base: dict[str, torch.Tensor], found: list[_Along]) -> dict[str, Any]:
    """Of the first dimension; coupled along one of two, that one may be time."""
    first = found[0]
    moved = _moved(again, base, first)
    if isinstance(moved, str):
        return {"why": moved}
    if len(found) > 1 and moved.is_coupled:
        other = _moved(again, base, found[1])
        if isinstance(other, str) or not other.is_coupled:
            said = f"outputs grow along dimension {first.dim} and along {found[1].dim}"
            return {"why": f"{said}: say which holds the samples with dim"}
    return {
        "dim": first.dim,
        "samples": first.size,
        "relative": as_number(moved.relative),
        "output": moved.output,
        "sample": moved.sample,
        "dtype": moved.dtype,
    }


def _size(batch: Batch, dim: int) -> int | None:
    """How many samples the inputs hold along a dimension: what the first that has it says."""
    for _, tensor, _ in argument_leaves(batch.args, batch.kwargs):
        if tensor.dim() > dim:
            return tensor.shape[dim]
    return None


def _along(again: Again, base: dict[str, torch.Tensor], dim: int) -> _Along | str:
    """The dimension of samples of each output, or why there is none."""
    size = _size(again.batch, dim)
    if size is None:
        return f"no input has a dimension {dim}"
    if size < 2:
        return f"dimension {dim} holds {size} sample: --batch-size 2 gives two"

    def longer(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() <= dim or tensor.shape[dim] != size:
            return tensor
        return torch.cat((tensor, tensor.narrow(dim, 0, 1)), dim)

    try:
        more = again.forward("eval", map_batch(again.batch, longer))
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        said = first_line(str(error))
        return (
            f"{size + 1} samples along dimension {dim} do not run: {type(error).__name__}: {said}"
        )
    outputs = {}
    for path, tensor in base.items():
        if tensor.dim() == 0 or path not in more:
            continue
        grown = _grown(tensor.shape, more[path].shape, size)
        if grown is None:
            return f"output{path} does not grow with the samples along dimension {dim}"
        outputs[path] = grown
    if not outputs or more.keys() != base.keys():
        return f"no output grows with the samples along dimension {dim}"
    return _Along(dim, size, outputs)


def _grown(before: torch.Size, after: torch.Size, size: int) -> int | None:
    """The one dimension that went from as many as there are samples to one more."""
    if len(before) != len(after):
        return None
    other = [i for i, (b, a) in enumerate(zip(before, after, strict=True)) if a != b]
    if len(other) != 1 or (before[other[0]], after[other[0]]) != (size, size + 1):
        return None
    return other[0]


def _moved(again: Again, base: dict[str, torch.Tensor], along: _Along) -> _Moved | str:
    """The output that moved most, with the first sample kept and with the last."""
    most = _Moved(0.0, next(iter(along.outputs)), 0, "")
    replaced = False
    for kept in (0, along.size - 1):
        batch = map_batch(again.batch, lambda t, kept=kept: _alone(t, along, kept))
        if _same(batch, again.batch):
            continue
        replaced = True
        output = again.forward("eval", batch)
        for path, dim in along.outputs.items():
            if path not in output or output[path].shape != base[path].shape:
                return f"output{path} has another shape with other samples"
            if not (base[path].is_floating_point() or base[path].is_complex()):
                continue
            pair = (t.narrow(dim, kept, 1) for t in (base[path], output[path]))
            relative = change(*pair)
            if relative > most.relative or not most.dtype:
                most = _Moved(relative, path, kept, dtype_name(base[path].dtype))
    if not replaced:
        return "all samples of the batch are the same: there is nothing to replace"
    return most if most.dtype else "no output has floating values to compare"


def _alone(tensor: torch.Tensor, along: _Along, kept: int) -> torch.Tensor:
    """Copies of one sample in the place of all."""
    if tensor.dim() <= along.dim or tensor.shape[along.dim] != along.size:
        return tensor
    where = torch.full((along.size,), kept, dtype=torch.int64, device=tensor.device)
    return tensor.index_select(along.dim, where)


def _same(one: Batch, other: Batch) -> bool:
    pairs = zip(
        argument_leaves(one.args, one.kwargs),
        argument_leaves(other.args, other.kwargs),
        strict=True,
    )
    return all(a is b or digest(a) == digest(b) for (_, a, _), (_, b, _) in pairs)

"""Whether outputs depend on later inputs: these are replaced, and earlier outputs compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from hookcli.engine.probes.context import Requests, RerunContext, single
from hookcli.engine.probes.determinism import as_number, change, compare
from hookcli.engine.probes.rerun import Outputs, Rerun
from hookcli.models.batch import Batch, map_batch
from hookcli.models.nested import argument_leaves, dtype_name, shape_of
from hookcli.refusals import raise_if_external
from hookcli.report.findings import Measurement

PROBE = "causality"
_FEW = 2  # distinct integers of a mask, whose values mean something else than those of tokens


@dataclass(frozen=True, slots=True)
class _Time:
    """The inputs whose later part is replaced, by path, and the time dimension of each output."""

    dim: int
    size: int
    inputs: tuple[str, ...]
    outputs: dict[str, int]


def causality(
    again: Rerun,
    *,
    dim: int,
    input: str | None,  # noqa: A002  # the option's name
    output: str | None,
    strict: bool = False,
) -> dict[str, Any]:
    """Return the largest change of an output at a time, when only later inputs are replaced.

    `input` and `output` are paths, as in the report; None are all that have the time dimension.
    With `strict`, the model must accept shorter inputs, and outputs may be one shorter than those;
    only the inputs after the middle are replaced.
    """
    twice = again.twice()
    if compare(*twice)["differ"]:
        return {"why": "two runs with the same seed differ"}
    base = again.base_predictions()
    time = _time(again, base, dim, input, output, strict=strict)
    if isinstance(time, str):
        return {"why": time}
    moved, later = [], 0.0
    middle = max(0, time.size // 2 - 1)
    for last in [middle] if strict else sorted({0, middle, time.size - 2}):
        other = again.predictions(_replaced(again.batch, time, last))
        for path, along in time.outputs.items():
            if path not in other or shape_of(other[path]) != shape_of(base[path]):
                return {"why": f"the shape of output{path} depends on later inputs"}
            moved.append((_changed(base[path], other[path], along, last), path, last))
            later = max(later, change(base[path], other[path])) if strict else 1.0
    if not later:
        return {"why": "no output depends on this input"}
    relative, path, last = max(moved, key=lambda move: move[0])
    return {
        "dim": dim,
        "size": time.size,
        "relative": as_number(relative),
        "output": path,
        "time": last,
        "dtype": dtype_name(base[path].dtype),
        "inputs": list(time.inputs),
        "outputs": list(time.outputs),
    }


def _changed(before: torch.Tensor, after: torch.Tensor, dim: int, last: int) -> float:
    """Return the largest change at the times up to `last`, relative to the largest value."""
    moved = change(before.narrow(dim, 0, last + 1), after.narrow(dim, 0, last + 1))
    return float("inf") if moved != moved else moved


def _time(
    again: Rerun, base: Outputs, dim: int, wanted: str | None, output: str | None, *, strict: bool
) -> _Time | str:
    """Return what to replace and what to compare, or why that is not known."""
    tensors = {path: t for path, t, _ in argument_leaves(again.batch.args, again.batch.kwargs)}
    if wanted is not None and wanted not in tensors:
        return f"no input has the path '{wanted}': choose from {', '.join(tensors) or 'none'}"
    long = {path: t for path, t in tensors.items() if t.dim() > dim and wanted in (None, path)}
    size = next((shape_of(t)[dim] or 0 for t in long.values() if wanted or is_replaced(t)), 0)
    if size < 2:
        return f"no input has two times along dimension {dim}"
    inputs = tuple(
        path for path, t in long.items() if shape_of(t)[dim] == size and (wanted or is_replaced(t))
    )
    outputs = _outputs(again, base, dim, size, inputs, strict=strict)
    if output is not None and output not in base:
        return f"no output has the path '{output}': choose from {', '.join(map(repr, base))}"
    outputs = {path: along for path, along in outputs.items() if output in (None, path)}
    return _Time(dim, size, inputs, outputs) if outputs else "no output has the time dimension"


def is_replaced(tensor: torch.Tensor) -> bool:
    """Whether a tensor may be one of the sequence: not a mask, and not constant."""
    if tensor.is_floating_point() or tensor.is_complex():
        return True
    return tensor.dtype is not torch.bool and len(torch.unique(tensor)) > _FEW


def _outputs(
    again: Rerun, base: Outputs, dim: int, size: int, inputs: tuple[str, ...], *, strict: bool
) -> dict[str, int]:
    """Return the time dimension of each output: the only one that gets shorter with the inputs.

    If the model does not accept shorter inputs, it is the same dimension as that of the inputs.
    """

    def shorter(path: str, tensor: torch.Tensor) -> torch.Tensor:
        fits = tensor.dim() > dim and shape_of(tensor)[dim] == size
        return tensor.narrow(dim, 0, size - 1) if fits else tensor

    kept = {
        path: t
        for path, t in base.items()
        if t.layout is torch.strided and not t.is_nested and t.dtype.is_floating_point
    }
    try:
        less = again.predictions(_changed_at(again.batch, shorter))
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        raise_if_external(error)
        if strict:
            return {}
        return {path: dim for path, t in kept.items() if t.dim() > dim and t.shape[dim] == size}
    found = {}
    for path, tensor in kept.items():
        if path not in less or less[path].dim() != tensor.dim():
            continue
        sizes = zip(tensor.shape, less[path].shape, strict=True)
        changed = [i for i, (now, then) in enumerate(sizes) if now != then]
        sized = {size, size - 1} if strict else {size}
        if len(changed) == 1 and tensor.shape[changed[0]] in sized:
            found[path] = changed[0]
    return found


def _replaced(batch: Batch, time: _Time, last: int) -> Batch:
    """Return the batch with other values after the time `last`."""

    def other(path: str, tensor: torch.Tensor) -> torch.Tensor:
        if path not in time.inputs:
            return tensor
        later = tensor.narrow(time.dim, last + 1, time.size - last - 1)
        wide = _computed_in(tensor.dtype)
        fresh = _different(later.to(wide), tensor.to(wide)).to(tensor.dtype)
        return torch.cat((tensor.narrow(time.dim, 0, last + 1), fresh), time.dim).detach()

    return _changed_at(batch, other)


def _computed_in(dtype: torch.dtype) -> torch.dtype:
    """Return a dtype with the values of this one in which torch can compute."""
    if dtype.is_floating_point and dtype.itemsize < 2:
        return torch.float32
    return torch.int64 if dtype in {torch.uint16, torch.uint32, torch.uint64} else dtype


def _different(later: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
    """Return other values in the range of the whole tensor, so that tokens stay known ones."""
    if whole.is_complex():
        return -later + 1
    low, high = whole.amin(), whole.amax()
    if bool(low == high):
        return later + 1 if whole.is_floating_point() else later
    fresh = low + high - later
    middle = fresh == later  # its own mirror image
    return torch.where(middle, high, fresh)


def _changed_at(batch: Batch, change_of: Any) -> Batch:
    """Return the batch with each tensor changed by a function of its path and itself."""
    tensors = [(path, t) for path, t, _ in argument_leaves(batch.args, batch.kwargs)]
    paths = {id(t): path for path, t in tensors}
    return map_batch(batch, lambda t: change_of(paths.get(id(t), ""), t))


def measure(requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure how outputs depend on later inputs, for each set of options."""
    rows = []
    for request in requests:
        options = request.given()
        rows += single(PROBE, {**causality(context.again, **options), "options": options})
    return rows

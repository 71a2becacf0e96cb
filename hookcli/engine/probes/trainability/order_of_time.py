"""How outputs depend on the order of the positions of an input.

`later_positions`: whether outputs depend on later positions, of models whose code or loss tells
that they must not. `position_effect`: whether tensors of positions have an effect: without one, an
attention returns the same for positions in another order, in that order.
"""

from __future__ import annotations

from typing import Any

import torch

from hookcli.engine.probes.context import Requests, RerunContext, single
from hookcli.engine.probes.determinism import change, compare
from hookcli.engine.probes.rerun import Outputs, Rerun
from hookcli.engine.probes.samples.batch_independence import has_time_first
from hookcli.engine.probes.trainability.causality import causality, is_replaced
from hookcli.models.batch import Batch, map_batch
from hookcli.models.nested import argument_leaves
from hookcli.report.findings import Measurement

LATER, POSITIONS = "later_positions", "position_effect"
_LEAST = 3  # positions
_EXACT = 1e-4  # relative to the largest value: sums in another order


def _time_of(again: Rerun) -> int:
    """Return the dimension of time: 1, or 0 if the samples are in dimension 1."""
    return 0 if has_time_first(again) else 1


def _sequences(again: Rerun, time: int) -> list[tuple[str, int, int]]:
    """Return the inputs that may be sequences: path, dimension of time and length."""
    batch = again.batch
    found = []
    for path, tensor, _ in argument_leaves(batch.args, batch.kwargs):
        may_be_last = time == 1 and tensor.dim() == 3 and tensor.is_floating_point()
        dims = (1, 2) if may_be_last else (time,)
        found += [
            (path, dim, int(tensor.shape[dim]))
            for dim in (dims if 2 <= tensor.dim() <= 3 else ())
            if tensor.shape[dim] >= _LEAST and is_replaced(tensor)
        ]
    return found


def later(requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure how outputs depend on later positions of each input; the least of these counts."""
    again = context.again
    values: list[dict[str, Any]] = []
    for path, dim, _ in _sequences(again, _time_of(again)):
        value = causality(again, dim=dim, input=path, output=None, strict=True)
        if "why" not in value:
            values.append(value)
    if not values:
        return single(LATER, {"why": "no input is a sequence whose outputs are one, too"})
    least = min(values, key=lambda value: float(value["relative"]))
    kept = ("dim", "size", "relative", "output", "time", "dtype")
    return single(LATER, {name: least[name] for name in kept})


def effect(requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure whether the outputs of reversed positions are the reversed outputs, or the same."""
    return single(POSITIONS, _effect(context.again))


def _effect(again: Rerun) -> dict[str, Any]:
    time = _time_of(again)
    lengths = {length for _, dim, length in _sequences(again, time) if dim == time}
    if compare(*again.twice())["differ"] or len(lengths) != 1:
        return {"why": "no input is a sequence, or there are sequences of several lengths"}
    (length,), base = lengths, again.base_predictions()
    flipped = again.predictions(_reversed(again.batch, time, length))
    kinds = {
        path: _kind(tensor, flipped.get(path), time, length)
        for path, tensor in base.items()
        if tensor.dim() and tensor.is_floating_point() and not tensor.is_nested
    }
    if not kinds or not _varies(again, base):
        return {"why": "no output depends on the positions"}
    if "moves" in kinds.values() and not _affect_each_other(again, base, time, length):
        return {"why": f"the entries along dimension {time} are apart, as samples are"}
    return {"size": length, "moves": not {"other", "constant"} & set(kinds.values())}


def _varies(again: Rerun, base: Outputs) -> bool:
    """Return whether the outputs depend on the values of the inputs at all."""

    def rolled(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.roll(1, 0) if tensor.dim() else tensor

    if any(len(torch.unique_consecutive(t, dim=0)) > 1 for t in base.values() if t.dim() > 1):
        return True
    return bool(compare(base, again.predictions(map_batch(again.batch, rolled)))["differ"])


def _affect_each_other(again: Rerun, base: Outputs, time: int, length: int) -> bool:
    """Return whether another first position changes the outputs of the last one."""

    def replaced(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() < 2 or tensor.shape[time] != length:
            return tensor
        first = tensor.narrow(time, 1, 1)
        return torch.cat([first, tensor.narrow(time, 1, length - 1)], time)

    other = again.predictions(map_batch(again.batch, replaced))
    for path, before in base.items():
        after = other.get(path)
        if after is None or after.shape != before.shape or before.dim() < 2:
            continue
        if before.shape[time] == length and before.is_floating_point():
            last = (tensor.narrow(time, length - 1, 1) for tensor in (before, after))
            if change(*last) >= _EXACT:
                return True
    return False


def _reversed(batch: Batch, time: int, length: int) -> Batch:
    def reverse(tensor: torch.Tensor) -> torch.Tensor:
        fits = tensor.dim() > 1 and tensor.shape[time] == length
        return tensor.flip(time) if fits else tensor

    return map_batch(batch, reverse)


def _kind(before: torch.Tensor, after: torch.Tensor | None, time: int, length: int) -> str:
    """Return how an output changes when the positions are reversed."""
    if after is None or after.shape != before.shape:
        return "other"
    if before.dim() > 1 and before.shape[time] == length:
        return "moves" if change(before.flip(time), after) < _EXACT else "other"
    return "same" if change(before, after) < _EXACT else "other"

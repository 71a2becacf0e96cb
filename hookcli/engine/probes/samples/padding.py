"""Padding at the ends of samples, and whether the outputs depend on how much of it there is."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from hookcli.engine.probes.context import Requests, RerunContext, single
from hookcli.engine.probes.determinism import as_number, change
from hookcli.engine.probes.rerun import Rerun
from hookcli.models.batch import Batch, map_batch
from hookcli.models.failures import message_of, type_name
from hookcli.models.nested import argument_leaves, dtype_name
from hookcli.refusals import raise_if_external
from hookcli.report.findings import Measurement
from hookcli.text import first_line

PROBE = "padding_effect"
_LEAST, _PADDED = 4, 0.5  # samples, and the share of them that end with padding
_SHARE = 0.1  # of the positions
_MOST = 1 << 22  # elements of an input
_MORE = 2  # positions of padding that are added


class PaddedInput(NamedTuple):
    """An input of which most samples end with padding.

    `ends` are the numbers of positions of padding of each sample, and `what` is the padding.
    Positions are in dimension `time`, 0 or 1, and samples in the other one.
    """

    what: str
    ends: torch.Tensor
    time: int
    length: int
    padded: int
    samples: int
    share: float

    def facts(self) -> dict[str, Any]:
        """Return what a measurement has of it."""
        kept = ("what", "padded", "samples", "share")
        return {name: getattr(self, name) for name in kept}


def padded_ends(args: tuple[Any, ...], kwargs: dict[str, Any]) -> PaddedInput | None:
    """Return the first input most of whose samples end with zeros, or with one token.

    None if there are few, if all end at one position, or if what may be padding is elsewhere too.
    The token of padding is the one with which most samples end. Inputs are [samples, positions] or
    [positions, samples], with features in a third dimension.
    """
    for _, tensor, _ in argument_leaves(args, kwargs):
        if tensor.dim() not in (2, 3) or tensor.is_meta or not 0 < tensor.numel() <= _MOST:
            continue
        if tensor.layout is not torch.strided or tensor.is_complex():
            continue
        for time in (1, 0):
            found = _padded(tensor if time else tensor.transpose(0, 1), time)
            if found is not None:
                return found
    return None


def _padded(tensor: torch.Tensor, time: int) -> PaddedInput | None:
    """Return the padding of an input [samples, positions, ...]."""
    is_tokens = tensor.dim() == 2 and not tensor.is_floating_point()
    if len(tensor) < _LEAST or (
        tensor.dim() == 2 and (not is_tokens or tensor.dtype is torch.bool)
    ):
        return None
    last = tensor[:, -1].mode().values if is_tokens else None
    empty = (tensor == 0).all(2) if last is None else tensor == last
    ends = empty.flip(1).long().cumprod(1).sum(1)
    if bool((empty.sum(1) > ends).any()):  # padding is at the ends only
        return None
    whole = int(tensor.shape[1])
    many = int(((ends > int(is_tokens)) & (ends < whole)).sum())
    share = float(ends.sum()) / empty.numel()
    if many < _PADDED * len(tensor) or share < _SHARE or len(torch.unique(ends)) < 3:
        return None
    what = "zeros" if last is None else f"the token {int(last)}"
    return PaddedInput(what, ends, time, whole, many, len(tensor), share)


class _UnclearError(Exception):
    """More padding cannot be added, or its effect not be seen."""


def padding_effect(again: Rerun) -> dict[str, Any]:
    """Return how much the outputs of samples change with more padding, or `why` that is unknown.

    Each sample gets more positions, with the values that the longest padding ends with: the token,
    zeros, and what masks have there. Outputs at positions of padding do not count.
    """
    batch = again.batch
    padded = padded_ends(batch.args, batch.kwargs)
    if padded is None:
        return {"why": "no input ends with padding"}
    try:
        longer = _longer(batch, padded)
        base = again.base_predictions()
        more = again.predictions(longer)
        changes = [
            _change(path, base[path], more.get(path), padded)
            for path in base
            if base[path].is_floating_point() and not base[path].is_nested
        ]
    except _UnclearError as error:
        return {"why": str(error)}
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        raise_if_external(error)
        reason = f"{type_name(error)}: {first_line(message_of(error))}"
        return {"why": f"more positions failed: {reason}"}
    if not changes:
        return {"why": "no output is of floating point"}
    relative, path = max(changes)
    return {
        "relative": as_number(relative),
        "output": path,
        "dtype": dtype_name(base[path].dtype),
        "more": _MORE,
        "masked": _has_mask(batch, padded),
        **padded.facts(),
    }


def _longer(batch: Batch, padded: PaddedInput) -> Batch:
    """Return a batch with more padding at the end of each sample."""
    samples, length, time = padded.samples, padded.length, padded.time
    longest = int(padded.ends.argmax())

    def extended(tensor: torch.Tensor) -> torch.Tensor:
        dims = [dim for dim in range(tensor.dim()) if tensor.shape[dim] == length]
        if not dims:
            return tensor
        of_samples = tensor.dim() > 1 and tensor.shape[1 - time] == samples
        first = dims[0] == time or (time == 1 and dims[0] > 1)
        if len(dims) > 1 or samples == length or not of_samples or not first:
            raise _UnclearError("it is not clear which dimension of an input has the positions")
        end = tensor.narrow(dims[0], length - 1, 1).narrow(1 - time, longest, 1)
        shape = [*tensor.shape]
        shape[dims[0]] = _MORE
        return torch.cat([tensor, end.expand(shape)], dims[0]).detach()

    return map_batch(batch, extended)


def _change(
    path: str, before: torch.Tensor, after: torch.Tensor | None, padded: PaddedInput
) -> tuple[float, str]:
    """Return the largest change of an output of a sample, relative to the largest value."""
    if after is None or after.dim() != before.dim():
        raise _UnclearError(f"output{path} has other dimensions with more positions")
    if after.shape == before.shape:
        return change(before, after), path
    length, time = padded.length, padded.time
    along = before.dim() > 1 and before.shape[time] == length == after.shape[time] - _MORE
    if not along or before.shape[1 - time] != padded.samples or before.shape[2:] != after.shape[2:]:
        raise _UnclearError(f"output{path} has another shape with more positions")
    seen = torch.arange(length)[None] < (length - padded.ends.cpu())[:, None]
    seen = seen if time else seen.t()
    return change(before[seen], after.narrow(time, 0, length)[seen]), path


def _has_mask(batch: Batch, padded: PaddedInput) -> bool:
    """Return whether the batch has a mask of the positions, or the lengths of its samples."""
    tensors = [tensor.detach() for _, tensor, _ in argument_leaves(batch.args, batch.kwargs)]
    for plain in tensors:
        if padded.samples not in plain.shape or plain.numel() > _MOST:
            continue
        is_mask = plain.dtype is torch.bool or bool(((plain == 0) | (plain == 1)).all())
        if padded.length in plain.shape and plain.dim() > 1 and is_mask:
            return True
        is_integer = not plain.is_floating_point() and plain.dtype is not torch.bool
        if plain.dim() == 1 and is_integer and int(plain.max()) == padded.length:
            return True
    return False


def measure(_requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure the effect of padding."""
    return single(PROBE, padding_effect(context.again))

"""Finds the function that makes the output of one sample depend on other samples.

The model runs three times under a TorchFunctionMode: as it is, with the other samples replaced, and
with the sample itself replaced. An element that changes in the second run depends on the others,
one that changes in the third depends on the sample. The first function whose result has elements
that depend on both mixes samples. If its input has samples in the wrong places already, the view
or the selection that put them there is the cause.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from hookcli.engine.probes.function_calls import RunningCalls, caller
from hookcli.engine.probes.rerun import Rerun
from hookcli.models import places
from hookcli.models.batch import Batch
from hookcli.models.model import Call
from hookcli.models.nested import argument_leaves
from hookcli.torch_private import BatchNormBase

_MOST_VALUES = 2**25  # elements of all results of a run that are compared
_MOST_CALLS = 20_000
_ROUNDED = 1e-5  # relative to the largest value of a tensor
_LONGEST = 100  # steps back from the one that mixes
_NAMES = {"__getitem__": "indexing"}


@dataclass(frozen=True)
class _Step:
    """One call of a function: which steps made its arguments, and copies of its results."""

    function: str
    place: str | None
    call: Call | None
    arguments: tuple[torch.Tensor, ...]
    results: tuple[torch.Tensor, ...]
    values: tuple[torch.Tensor, ...]


class _TooLargeError(Exception):
    """There are too many results to compare."""


class _Trace(TorchFunctionMode):
    """Notes each function of torch that runs, with its tensors."""

    def __init__(self, calls: RunningCalls) -> None:
        self.steps: list[_Step] = []
        self._calls, self._size = calls, 0

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        options = kwargs or {}
        made = func(*args, **options)
        results = tuple(_tensors(made))
        if results:
            self._size += sum(one.numel() for one in results)
            if self._size > _MOST_VALUES or len(self.steps) > _MOST_CALLS:
                raise _TooLargeError
            frame, _ = caller(sys._getframe(1))
            self.steps.append(
                _Step(
                    str(getattr(func, "__name__", "")),
                    None if frame is None else places.of_frame(frame),
                    self._calls.stack[-1] if self._calls.stack else None,
                    tuple(_tensors((args, options))),
                    results,
                    tuple(one.detach().clone() for one in results),
                )
            )
        return made


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in the arguments or the result of a function."""
    if isinstance(value, torch.Tensor):
        if value.layout is torch.strided and not value.is_nested:
            yield value
    elif isinstance(value, dict):
        yield from _tensors(tuple(value.values()))
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _tensors(one)


@dataclass(frozen=True)
class _Depends:
    """The elements of a tensor that depend on the sample, and those that depend on others."""

    own: torch.Tensor
    others: torch.Tensor

    @property
    def is_mixed(self) -> bool:
        """Whether an element depends on both."""
        return bool((self.own & self.others).any())

    def dimension(self, size: int, kept: int) -> int | None:
        """Return the dimension of which the sample is an index; None if there is none."""
        for dim in range(self.own.dim()):
            if self.own.shape[dim] != size:
                continue
            rest = self.own.any(tuple(i for i in range(self.own.dim()) if i != dim))
            if not bool(self.others.select(dim, kept).any()) and int(rest.sum()) == bool(
                rest[kept]
            ):
                return dim
        return None

    @property
    def has_mixed_rows(self) -> bool:
        """Whether a row along the last dimension has elements of the sample and of others."""
        if not self.own.dim():
            return False
        return bool((self.own.any(-1) & self.others.any(-1)).any())


class _Runs:
    """The steps of three runs, and what each tensor depends on."""

    def __init__(self, again: Rerun, batches: tuple[Batch, Batch, Batch]) -> None:
        self._given = []
        runs = []
        for batch in batches:
            calls = RunningCalls()
            trace = _Trace(calls)
            with (
                again.model.observe(calls.enter, calls.leave),
                again.running("eval", batch, within=trace),
            ):
                given = again.running_batch
            runs.append(trace.steps)
            self._given.append([t for _, t, _ in argument_leaves(*_parts(given))])
        self.steps = runs[0]
        self._others, self._own = runs[1], runs[2]
        self._made = {
            id(result): (number, i)
            for number, step in enumerate(self.steps)
            for i, result in enumerate(step.results)
            if all(result is not given for given in step.arguments)  # as dropout in eval mode
        }
        self._inputs = {id(tensor): i for i, tensor in enumerate(self._given[0])}

    @property
    def agree(self) -> bool:
        """Whether all runs called the same functions."""
        names = [[step.function for step in run] for run in (self.steps, self._others, self._own)]
        return names[0] == names[1] == names[2]

    def of_result(self, number: int, i: int) -> _Depends | None:
        """Return what a result depends on; None if its shape depends on the values."""
        triple = tuple(run[number].values[i] for run in (self.steps, self._others, self._own))
        return _depends(*triple)

    def of_argument(self, tensor: torch.Tensor) -> _Depends | None:
        """Return what an argument depends on; None if it is neither an input nor a result."""
        at = self._made.get(id(tensor))
        if at is not None:
            return self.of_result(*at)
        given = self._inputs.get(id(tensor))
        return None if given is None else _depends(*(run[given] for run in self._given))

    def behind(self, tensor: torch.Tensor) -> _Step | None:
        """Return the step that made a tensor."""
        at = self._made.get(id(tensor))
        return None if at is None else self.steps[at[0]]


def _depends(base: torch.Tensor, others: torch.Tensor, own: torch.Tensor) -> _Depends | None:
    if not base.shape == others.shape == own.shape:
        return None
    return _Depends(_changed(base, own), _changed(base, others))


def _changed(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """Return which elements changed by more than rounding."""
    before, after = before.detach(), after.detach()
    if not before.is_floating_point():
        return before != after
    limit = _ROUNDED * torch.nan_to_num(before.abs(), 0.0, 0.0, 0.0).max() if before.numel() else 0
    return ((before - after).abs() > limit) | (before.isnan() != after.isnan())


def locate(
    again: Rerun, batches: tuple[Batch, Batch, Batch], size: int, kept: int
) -> dict[str, Any] | None:
    """Return what makes samples depend on each other; None if that was not found.

    The batches are: as it is, with the other samples replaced, and with the sample replaced.
    """
    try:
        runs = _Runs(again, batches)
    except _TooLargeError:
        return None
    if not runs.agree:
        return None
    for number, step in enumerate(runs.steps):
        for i in range(len(step.results)):
            made = runs.of_result(number, i)
            if made is not None and made.is_mixed:
                return _cause(runs, step, size, kept)
    return None


def _cause(runs: _Runs, step: _Step, size: int, kept: int) -> dict[str, Any]:
    """Return the cause of the first step that mixes samples."""
    given = [(tensor, made) for tensor in step.arguments if (made := runs.of_argument(tensor))]
    for tensor, made in given:
        if made.others.any() and not made.own.any():
            return _row("sample", _origin(runs, tensor, size, kept) or step, None, tensor)
    for tensor, made in given:
        if not made.others.any():
            continue
        dim = made.dimension(size, kept)
        if dim is not None:
            return _row("mixes", step, dim, tensor)
        moved = _origin(runs, tensor, size, kept) if made.has_mixed_rows else None
        if moved is not None:
            return _row("places", moved, None, tensor)
    return _row("mixes", step, None, None)


def _origin(runs: _Runs, tensor: torch.Tensor, size: int, kept: int) -> _Step | None:
    """Return the view or selection after which the samples are no longer one dimension."""
    for _ in range(_LONGEST):
        step = runs.behind(tensor)
        if step is None:
            return None
        known = [(one, made) for one in step.arguments if (made := runs.of_argument(one))]
        moved = [(one, made) for one, made in known if made.own.any() or made.others.any()]
        if not moved:
            return None
        lost = [one for one, made in moved if made.dimension(size, kept) is None]
        if not lost:
            return step
        tensor = lost[0]
    return None


def locate_place(again: Rerun, copies: Batch, size: int) -> dict[str, Any] | None:
    """Return what makes equal samples different: the tensor of the model, and the line.

    The batch consists of copies of one sample. The first function is looked for that gets equal
    samples, and whose result differs between them.
    """
    calls = RunningCalls()
    trace = _Trace(calls)
    try:
        with (
            again.model.observe(calls.enter, calls.leave),
            again.running("eval", copies, within=trace),
        ):
            given = [t for _, t, _ in argument_leaves(*_parts(again.running_batch))]
    except _TooLargeError:
        return None
    equal = {id(tensor) for tensor in given if _is_uniform(tensor, size)}
    for step in trace.steps:
        from_samples = [tensor for tensor in step.arguments if id(tensor) in equal]
        if not from_samples:
            continue
        for tensor, value in zip(step.results, step.values, strict=True):
            if _is_uniform(value, size):
                equal.add(id(tensor))
            elif size in value.shape:
                owner = next(filter(None, (_name_of(again, t) for t in step.arguments)), None)
                return {**_row("place", step, None, None), "tensor": owner}
    return None


def _parts(batch: Batch) -> tuple[Any, Any]:
    return batch.args, batch.kwargs


def _is_uniform(tensor: torch.Tensor, size: int) -> bool:
    """Return whether all entries along a dimension of this size are equal."""
    for dim in range(tensor.dim()):
        if tensor.shape[dim] == size:
            first = tensor.detach().narrow(dim, 0, 1).expand_as(tensor)
            if not bool(_changed(first, tensor).any()):
                return True
    return False


def _name_of(again: Rerun, tensor: torch.Tensor) -> str | None:
    """Return the name of the parameter or buffer whose memory a tensor has."""
    memory = tensor.untyped_storage().data_ptr()
    for info in (*again.model.parameters(), *again.model.buffers()):
        if memory and info.tensor.untyped_storage().data_ptr() == memory:
            return info.name
    return None


def _row(kind: str, step: _Step, dim: int | None, tensor: torch.Tensor | None) -> dict[str, Any]:
    call = step.call
    module = None if call is None else call.module
    return {
        "kind": kind,
        "function": _NAMES.get(step.function, step.function.strip("_")),
        "name": None if call is None else call.name,
        "module": None if call is None else call.type,
        "dim": dim,
        "shape": None if tensor is None else [*tensor.shape],
        "time_first": dim == 0 and _takes_time_first(module, call),
        "meant": isinstance(module, BatchNormBase) and not module.track_running_stats,
        "place": step.place,
    }


def _takes_time_first(module: Any, call: Call | None) -> bool:
    """Return whether a layer of torch takes dimension 0 for time, since batch_first is False."""
    kinds = (nn.RNNBase, nn.MultiheadAttention)
    return isinstance(module, kinds) and call is not None and not module.batch_first

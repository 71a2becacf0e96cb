"""Notes the gradient buckets of DistributedDataParallel, before and after they are averaged."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter_ns
from typing import Any

import torch
import torch.distributed as dist

from hookcli.distributed.group import Group
from hookcli.distributed.traffic import Wire, ring_all_reduce
from hookcli.hooks.hook import Hook
from hookcli.report.distributed import BucketRow
from hookcli.report.rows.events import number
from hookcli.spec.hooks import FunctionRef, is_average

OnBucket = Callable[[int, int, int, int], None]  # step, index, start and end in nanoseconds


def _norm(tensor: torch.Tensor) -> float:
    """Return the 2-norm, computed in float64."""
    wide = torch.complex128 if tensor.is_complex() else torch.float64
    return float(torch.linalg.vector_norm(tensor.detach(), dtype=wide))


class Buckets:
    """The rows of the buckets: each is completed by the result of averaging it.

    With `one_by_one` a bucket waits for the previous one. If callbacks of several buckets send at
    once, the order differs between ranks; gloo then mixes up their data and aborts.
    """

    @property
    def would_mix(self) -> bool:
        """Whether several buckets of a step sent from callbacks, which gloo could mix up."""
        return self.wire.sent_later and any(row.order for row in self.rows)

    def __init__(
        self, group: Group, names: dict[int, str], on_bucket: OnBucket | None, *, one_by_one: bool
    ) -> None:
        self.rows: list[BucketRow] = []  # with the norms of this rank only
        self.wire = Wire()
        self._group, self._names, self._on_bucket = group, names, on_bucket
        self._one_by_one = one_by_one
        self._lock = threading.Lock()
        self._step = -1
        self._count = 0

    def take(
        self, step: int, bucket: Any, average: Callable[[], torch.futures.Future[torch.Tensor]]
    ) -> Any:
        """Note a bucket and the result of `average`; return the Future for torch."""
        started = perf_counter_ns()
        buffer = bucket.buffer()
        position = self._begin(step, bucket, buffer)
        with torch.no_grad():
            exact = self._mean(buffer)
        with self.wire.counting(position):
            future = average()
        with self.wire.counting(None):
            ended = future.then(lambda done: self._end(position, done, exact, started))
        if self._one_by_one:
            ended.wait()
        return ended

    def _begin(self, step: int, bucket: Any, buffer: torch.Tensor) -> int:
        """Add the row of a bucket that is not averaged yet; return its position."""
        with self._lock:
            self._count = self._count + 1 if step == self._step else 0
            self._step = step
            size = buffer.numel() * buffer.element_size()
            row = BucketRow(
                step=step,
                index=bucket.index(),
                order=self._count,
                last=bucket.is_last(),
                bytes=size,
                dtype=str(buffer.dtype).removeprefix("torch."),
                parameters=tuple(self._names.get(id(p), "?") for p in bucket.parameters()),
                norms_before=(number(_norm(buffer)),),
                norm_after=None,
                norm_exact=None,
                error=None,
                wire_bytes=None,
                plain_bytes=round(ring_all_reduce(size, self._group.world)),
            )
            self.rows.append(row)
            return len(self.rows) - 1

    def _mean(self, buffer: torch.Tensor) -> torch.Tensor:
        """Return the mean over the ranks in float64, exchanged by a separate process group."""
        wide = buffer.to(torch.complex128 if buffer.is_complex() else torch.float64)
        if self._group.world > 1:
            with self.wire.counting(None):
                dist.all_reduce(wide, group=self._group.exact)
            wide /= self._group.world
        return wide

    def _end(self, position: int, done: Any, exact: torch.Tensor, started: int) -> Any:
        """Compare the hook's result with the exact mean, and return it."""
        value = done.value()
        tensor = value[0] if isinstance(value, list | tuple) else value
        with torch.no_grad():
            after, mean = _norm(tensor), _norm(exact)
            away = _norm(tensor.to(exact.dtype) - exact)
        error = away / mean if mean else (0.0 if not away else None)
        row = self.rows[position] = replace(
            self.rows[position],
            norm_after=number(after),
            norm_exact=number(mean),
            error=None if error is None else number(error),
            wire_bytes=self.wire.sent(position),
        )
        if self._on_bucket is not None:
            self._on_bucket(row.step, row.index, started, perf_counter_ns())
        return value


def hook_name(hook: Hook | None) -> str:
    """Return the name of the averaging hook: torch's name, or the place of the user's function."""
    action = None if hook is None else next(filter(is_average, hook.spec.actions), None)
    if action is None:
        return "allreduce"
    if isinstance(action.argument, FunctionRef):
        return action.argument.function
    return str(action.argument["name"])

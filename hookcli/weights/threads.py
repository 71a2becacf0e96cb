"""The sums over the elements of many tensors, which several threads read at once."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeAlias

from hookcli.weights.figures import PowerSums, moments
from hookcli.weights.stored import StoredTensor, Values
from hookcli.weights.values import Reader, parts

_MOST_THREADS = 4
_SMALL = 1 << 24  # bytes that one thread reads sooner than several start
_BATCH = 1 << 24  # bytes of small tensors that a thread reads at once
_MOST_PARTS = 500  # of a batch
_WAITING = 4  # batches of each thread that wait

_Batch: TypeAlias = list[tuple[int, Values]]  # each with the position of its tensor
_Sums: TypeAlias = list[tuple[int, PowerSums]]


def moments_of(tensors: Sequence[StoredTensor]) -> Iterator[PowerSums]:
    """Yield the sums over the elements of each tensor, in their order.

    The figures do not depend on the number of threads.

    Raises
    ------
    OSError, ValueError : a file changed or cannot be read.
    """
    whole, current = PowerSums(), 0
    for at, sums in _sums(tensors):
        while current < at:
            yield whole
            whole, current = PowerSums(), current + 1
        whole.join(sums)
    while current < len(tensors):
        yield whole
        whole, current = PowerSums(), current + 1


def _sums(tensors: Sequence[StoredTensor]) -> Iterator[tuple[int, PowerSums]]:
    threads = min(_processors(), _MOST_THREADS)
    if threads > 1 and sum(tensor.size for tensor in tensors) > _SMALL:
        yield from _in_threads(tensors, threads)
        return
    with Reader() as reader:
        for batch in _batches(tensors):
            yield from _read(batch, reader)


def _processors() -> int:
    with suppress(AttributeError, OSError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _batches(tensors: Sequence[StoredTensor]) -> Iterator[_Batch]:
    batch: _Batch = []
    size = 0
    for at, tensor in enumerate(tensors):
        found = [] if tensor.values is None else parts(tensor.values)
        for part in found:
            batch.append((at, part))
            size += tensor.size // len(found)
            if size >= _BATCH or len(batch) == _MOST_PARTS:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def _read(batch: _Batch, reader: Reader) -> _Sums:
    return [(at, moments(reader.pieces(part))) for at, part in batch]


def _in_threads(tensors: Sequence[StoredTensor], threads: int) -> Iterator[tuple[int, PowerSums]]:
    """Yield the sums of each part in order. Only a few batches wait, however many there are."""
    own = threading.local()
    readers: list[Reader] = []

    def read(batch: _Batch) -> _Sums:
        if not hasattr(own, "reader"):
            own.reader = Reader()
            readers.append(own.reader)
        return _read(batch, own.reader)

    waiting: deque[Future[_Sums]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="hookcli-weights")
    try:
        for batch in _batches(tensors):
            if len(waiting) >= threads * _WAITING:
                yield from waiting.popleft().result()
            try:
                waiting.append(pool.submit(read, batch))
            except RuntimeError:  # no thread can be started
                waiting.append(Future())
                waiting[-1].set_result(read(batch))
        while waiting:
            yield from waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
        for reader in readers:
            reader.close()

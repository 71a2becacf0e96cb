"""Sends the reports of all ranks to rank 0, under torchrun, which starts each rank separately."""

from __future__ import annotations

import time
import zlib
from datetime import timedelta

from torch.distributed import Store  # type: ignore[attr-defined]

from hookcli.spec.request import Rank
from hookcli.torch_private import get_default_store

_WAIT = 4.0  # seconds that rank 0 waits for late ranks after it has finished


def _key(rank: int) -> str:
    return f"hookcli/report/{rank}"


def exchange(text: str, rank: Rank, store: Store | None = None) -> tuple[str | None, ...]:
    """Send this rank's report to rank 0; on rank 0 return the reports of the others.

    The report of a rank that sent none in time is None. On other ranks the result is empty.
    """
    where: Store = get_default_store() if store is None else store
    if rank.number:
        where.set(_key(rank.number), zlib.compress(text.encode()))  # type: ignore[arg-type]
        return ()
    until = time.monotonic() + _WAIT
    return tuple(_received(where, i, until) for i in range(1, rank.world))


def _received(store: Store, rank: int, until: float) -> str | None:
    left = max(until - time.monotonic(), 0.1)
    try:
        store.wait([_key(rank)], timedelta(seconds=left))
        return zlib.decompress(store.get(_key(rank))).decode()
    except (RuntimeError, ValueError, zlib.error):
        return None

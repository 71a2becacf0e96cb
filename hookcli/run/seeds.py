"""The seed protocol: torch, random and numpy start anew before build, inputs and every forward."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def seed_all(seed: int) -> None:
    """Seed every generator that the process has loaded."""
    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


@contextmanager
def generators_kept() -> Iterator[None]:
    """Put the state of every generator back on leaving, bit by bit."""
    state = random.getstate()
    numpy = sys.modules.get("numpy")
    numpy_state = None if numpy is None else numpy.random.get_state()
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(devices=devices):
        try:
            yield
        finally:
            random.setstate(state)
            if numpy is not None and numpy_state is not None:
                numpy.random.set_state(numpy_state)

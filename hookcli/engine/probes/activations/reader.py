"""The context in which an observer reads tensors: nothing of the model's sees its operators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hookcli.engine.statistics.readable import aside
from hookcli.torch_private import DisableTorchFunction, ExcludeDispatchKeyGuard

_UNREADABLE = (RuntimeError, NotImplementedError, TypeError, IndexError)  # a device or a subclass


@contextmanager
def reading() -> Iterator[None]:
    """Read values here; the block ends without an error where a tensor cannot be read."""
    with suppress(*_UNREADABLE), DisableTorchFunction(), ExcludeDispatchKeyGuard(aside):
        yield

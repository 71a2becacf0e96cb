"""Fails a test that leaves handlers of signals or global hooks, which others would meet."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest

_SIGNALS = (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
_HOOKS = (
    "_global_forward_pre_hooks", "_global_forward_hooks", "_global_forward_hooks_always_called",
    "_global_backward_hooks", "_global_backward_pre_hooks",
)  # fmt: skip
_LEFT_BY_TORCH = "_global_forward_hooks_with_kwargs"  # which the removal of a hook does not clear


def _hooks() -> list[dict]:
    """Return torch's tables of global hooks; none if a test has not imported torch."""
    module = sys.modules.get("torch.nn.modules.module")
    return [] if module is None else [getattr(module, name, {}) for name in _HOOKS]


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Compare the state of the process before and after a test, and restore it."""
    handlers = [signal.getsignal(number) for number in _SIGNALS]
    yield
    left = []
    for number, before in zip(_SIGNALS, handlers, strict=True):
        if signal.getsignal(number) is not before:
            handler = signal.getsignal(number)
            if getattr(handler, "__module__", "").partition(".")[0] not in {"torch", "pdb"}:
                left.append(f"a handler of {number.name}: {handler}")
            signal.signal(number, signal.SIG_DFL if before is None else before)
    for name, table in zip(_HOOKS, _hooks(), strict=False):
        if table:
            left.append(name)
            table.clear()
    if module := sys.modules.get("torch.nn.modules.module"):
        getattr(module, _LEFT_BY_TORCH, {}).clear()
    if left:
        pytest.fail(f"the test leaves {', '.join(left)}")

"""What loss functions and distributions are called with, in some forwards of a script."""

from __future__ import annotations

from typing import Any

import torch

from hookcli.engine.probes.losses.loss_values import ARGUMENTS, PROBE, CallLooks
from hookcli.torch_private import disable_current_modes
from hookcli.training.backward import only_tensor
from hookcli.training.observers.observer import Observer, is_looked_at
from hookcli.training.script.watched_function import TorchCall

_FIRST = 8  # forwards: a script may have several losses
_MOST_CALLS = 20_000  # of functions of Python until backward


class LossCallLook(Observer):
    """Looks at what is called between a forward with gradients and backward.

    Compiled code is left alone: it would be compiled again where a profile function is set.
    """

    kinds = (PROBE, ARGUMENTS)
    before = {"backward": "backward"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._calls = CallLooks(most=_MOST_CALLS)
        self._forwards = 0
        self._is_on = False

    def forward(self) -> None:
        """Look at the calls that follow, if this forward is one of those that are looked at."""
        if self._is_on or self.seen.compiles:
            return
        self._forwards += 1
        if self._forwards <= _FIRST or is_looked_at(self._forwards):
            self._is_on = self._calls.start()

    def backward(self, call: TorchCall) -> None:
        """Add what was found."""
        if not self._is_on:
            return
        self._is_on = False
        self._calls.stop()
        start = only_tensor(call.argument(0, "tensors"))
        if start is None or start.grad_fn is None:
            self._calls.forget()
            return
        with torch.no_grad(), disable_current_modes():
            for found in self._calls.conclude(start):
                self.facts.add(found.probe, found.what, found.place, **found.values)

    def finish(self) -> None:
        """Look at no more calls."""
        self._calls.stop()
        self._calls.forget()

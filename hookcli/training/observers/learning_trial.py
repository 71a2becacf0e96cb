"""Whether the loss of one batch falls in a few steps: tried once, if that of the training does not.

The steps are made in a copy of the process. A training whose loss falls makes none.
"""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import Sequence
from typing import Any

import torch

from hookcli.report.findings import Measurement
from hookcli.rules.training.series import Series, middle, thirds
from hookcli.torch_private import disable_current_modes
from hookcli.training.backward import only_tensor
from hookcli.training.non_finite.find import obstacle_of
from hookcli.training.non_finite.forward_call import ForwardCall
from hookcli.training.non_finite.isolated import run_isolated
from hookcli.training.observers.observer import Observer
from hookcli.training.record.optimizer_groups import parameters_of
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.script.own_imports import own_imports
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.trials.output_loss import guess_of

TRIAL = "batch_trial"  # a measurement
_ASKED = (20, 60, 200, 600)  # steps after which the losses are looked at
_FELL = 0.97  # of the median of the first third
_BETTER = 0.93  # of the loss of a guess
_MOST_KEPT = 1 << 22  # elements of the first values of parameters
_LEAST_PATIENCE, _PART = 2.0, 0.02  # seconds, and of the time since the first step
STEPS = 20  # of a try
_GRACE = 2.0  # seconds in which the last step of a try ends
# Optimizers whose steps need nothing but the gradients.
_PLAIN = {
    "Adadelta", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop",
    "SGD",
}  # fmt: skip


class LearningTrial(Observer):
    """Trains a root on one batch with several learning rates, if its loss has not fallen."""

    before = {"backward": "backward"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._optimizer: weakref.ref[Any] | None = None  # the only one, until another one steps
        self._record: Record | None = None
        self._first: list[torch.Tensor] | None = None  # values before the first step
        self._began = 0.0
        self._asked: Series | None = None  # losses
        self._left = [*_ASKED]  # steps that are waited for
        self._is_over = False

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Keep the first values of the parameters; later, look whether the loss has fallen."""
        if self._is_over:
            return
        if self._optimizer is None:
            self._begin(optimizer, records)
        elif optimizer is not self._optimizer() or not self._left:
            self._end()  # several models, or parts, are trained in turn; or nothing is left to do
        elif self._record is not None and (total := self._record.steps.total) >= self._left[0]:
            self._left = [step for step in self._left if step > total]
            self._asked = _losses(self._record)  # which the next backward pass decides by

    def _begin(self, optimizer: Any, records: Sequence[Record]) -> None:
        parameters = parameters_of(optimizer)
        on_cpu = all(type(p.data) is torch.Tensor and p.device.type == "cpu" for p in parameters)
        if len(records) != 1 or type(optimizer).__name__ not in _PLAIN or not on_cpu:
            self._end()
            return
        self._optimizer, [self._record] = weakref.ref(optimizer), records
        self._began = time.monotonic()
        if sum(p.numel() for p in parameters) <= _MOST_KEPT:
            with torch.no_grad(), disable_current_modes():
                self._first = [p.detach().clone() for p in parameters]

    def _end(self) -> None:
        self._is_over = True
        self._optimizer = self._record = self._first = self._asked = None

    def backward(self, call: TorchCall) -> None:
        """Try the batch of a backward pass, if the loss has not fallen."""
        losses, self._asked = self._asked, None
        if losses is None or self._record is None:
            return
        start = only_tensor(call.argument(0, "tensors"))
        root = self._record.root
        if start is None or start.numel() != 1 or start.grad_fn is None or not root.recent:
            return
        with disable_current_modes():
            guess = guess_of(start)
            if _has_fallen(losses, guess):
                return
        run = root.recent[-1]
        if obstacle_of(root.root, [run]) is not None or root.compiled:
            self._end()
            return
        tries = self._tries(root, run, start, guess)
        if tries:
            value = {
                "step": self._record.steps.total,
                "steps": STEPS,
                "guess": guess,
                "tries": tries,
            }
            root.measured.append(Measurement(TRIAL, "", None, value, None))
            self._end()

    def _tries(
        self, root: RootWatch, run: ForwardCall, start: torch.Tensor, guess: float | None
    ) -> list[dict[str, Any]]:
        spent = time.monotonic() - self._began
        patience = max(_LEAST_PATIENCE, _PART * spent)
        optimizer = None if self._optimizer is None else self._optimizer()
        first = self._first
        last = None if self._record is None else self._record.steps.last
        most = None if last is None or last.clipped is None else last.clipped.most

        def work() -> bytes:
            with own_imports():
                from hookcli.training.non_finite.replay import unshare
                from hookcli.training.trials.one_batch import BatchTrial

            unshare(root.root)
            trial = BatchTrial(root.root, run, optimizer, start, most)
            return json.dumps(
                trial.tries(first, STEPS, guess, time.monotonic() + patience)
            ).encode()

        result = run_isolated(work, patience=patience + _GRACE)
        return [] if result is None else list(json.loads(result))


def _losses(record: Record) -> Series | None:
    """Return the losses so far; None if some are below 0, or if there are too few."""
    rows = [(row.step, row.loss) for row in record.steps.rows()]
    losses = [(step, value) for step, value in rows if isinstance(value, float)]
    if len(losses) < _ASKED[0] or min(value for _, value in losses) < 0:
        return None
    return losses


def _has_fallen(losses: Series, guess: float | None) -> bool:
    """Return whether losses have fallen, and below that of a guess if that is known."""
    early, late = thirds(losses)
    least = _FELL * middle(early)
    return middle(late) < (least if guess is None else min(least, _BETTER * guess))

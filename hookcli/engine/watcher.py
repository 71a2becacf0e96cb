"""The protocol of watchers: what sees a run. They change nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from hookcli.models.batch import Batch
from hookcli.models.model import Call, CallInputs, Model
from hookcli.report.recording import Recording
from hookcli.spec.plan import Plan


@dataclass(frozen=True, slots=True)
class AfterRun:
    """A run that has ended. `again` tells whether the model can be run again."""

    model: Model
    plan: Plan
    recording: Recording
    again: bool = True


class Watcher:
    """Watches a run. A subclass defines the methods that it needs; these do nothing.

    The watchers of a run are in one ordered list. Each method is called for all of them, in this
    order.
    """

    def begin(self, model: Model) -> None:
        """Handle the model before it runs."""

    def begin_phase(self, name: str, step: int) -> None:
        """Handle a phase that begins."""

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Handle a call that starts."""

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Handle a call that ended, with its output or the error that it raised."""

    def forward_ended(self, model: Model, batch: Batch, output: Any) -> None:
        """Handle the output of the model, before the loss."""

    def graph(self, start: torch.Tensor, owners: Any) -> None:
        """Handle the graph behind the tensor that backward will start from, before it starts.

        `owners` is a `NodeOwners`, which is a watcher itself: it finds the call that made a node.
        Saved results of operators can be read.
        """

    def backward_ended(self, model: Model) -> None:
        """Handle the end of backward, also of a run with fake tensors."""

    def gradients(self, model: Model) -> None:
        """Handle the gradients of the parameters, after backward and before the optimizer."""

    def end(self, batch: Batch) -> None:
        """Handle the end of the run, after success or failure."""

    def conclude(self, after: AfterRun) -> None:
        """Add results to the recording; the hooks are removed, and the model may run again."""

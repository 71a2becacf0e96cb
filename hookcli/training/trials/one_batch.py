"""Trains a root on one batch for a few steps, with several learning rates.

It changes the parameters and the state of the optimizer: it is made for a copy of the process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from hookcli.models.eager import EagerModel
from hookcli.models.nested import leaves
from hookcli.report.rows.events import number
from hookcli.training.non_finite.forward_call import ForwardCall
from hookcli.training.non_finite.replay import output_of
from hookcli.training.record.optimizer_groups import parameters_of
from hookcli.training.trials.output_loss import OutputLoss, loss_of_outputs

# Factors of the learning rate: those that are tried if its steps lower the loss a little, or not.
_HIGHER, _LOWER = (10.0, 100.0, 1000.0), (0.1, 0.01, 0.001)
_LEARNED = 0.5  # of the first loss: no other rate needs to be tried
_LAST = 3  # losses whose mean is the last one


class BatchTrial:
    """Steps of an optimizer on one batch, each try from the same values of the parameters.

    `start` is the loss of the training, whose graph is still there, and `run` the forward that it
    was computed from. `most` is the norm to which the script clips the gradients, if it does.
    """

    def __init__(
        self,
        root: nn.Module,
        run: ForwardCall,
        optimizer: Any,
        start: torch.Tensor,
        most: float | None = None,
    ) -> None:
        self._model, self._run, self._start = EagerModel(root), run, start
        self._optimizer, self._most = optimizer, most
        self._parameters = parameters_of(optimizer)
        self._rates = [float(group["lr"]) for group in optimizer.param_groups]

    def tries(
        self,
        first_values: Sequence[torch.Tensor] | None,
        steps: int,
        guess: float | None,
        deadline: float,
    ) -> list[dict[str, Any]]:
        """Return the learning rates that were tried, each with the first loss and that of `steps`.

        `first_values` are those of the parameters before the training; by default the present ones
        are used. No other rate is tried if that of the script halves the loss, also that of a
        `guess`. The list is empty if the loss of the training cannot be computed again. No try
        begins or goes on after the deadline, by time.monotonic().
        """
        loss = loss_of_outputs(self._start, self._run, self._outputs())
        if loss is None:
            return []
        values = [p.detach() for p in self._parameters] if first_values is None else first_values
        begin = [value.clone() for value in values]
        found: list[dict[str, Any]] = []
        factors = [1.0]
        for factor in factors:  # grows meanwhile
            losses = self._losses(loss, begin, factor, steps, deadline)
            if losses is None:
                break
            first, last = losses[0], losses[-1]
            if math.isfinite(last):
                last = sum(losses[-_LAST:]) / _LAST
            found.append(
                {
                    "lr": factor * max(self._rates), "factor": factor, "first": number(first),
                    "last": number(last),
                }
            )  # fmt: skip
            if not math.isfinite(first) or last < _LEARNED * min(first, guess or math.inf):
                break
            if factor == 1:
                factors += (*_HIGHER, *_LOWER) if last < first else (*_LOWER, *_HIGHER)
        return found

    def _losses(
        self,
        loss: OutputLoss,
        begin: Sequence[torch.Tensor],
        factor: float,
        steps: int,
        deadline: float,
    ) -> list[float] | None:
        """Return the losses of the steps with a learning rate of `factor` times the usual one.

        The last one is that after the steps. They end at a loss that is not finite.
        """
        optimizer = self._optimizer
        with torch.no_grad():
            for parameter, value in zip(self._parameters, begin, strict=True):
                parameter.copy_(value)
        optimizer.state.clear()
        for group, rate in zip(optimizer.param_groups, self._rates, strict=True):
            group["lr"] = factor * rate
        losses: list[float] = []
        while True:
            value = loss.of(self._outputs())
            losses.append(float(value.detach()))
            if len(losses) > steps or not math.isfinite(losses[-1]):
                return losses
            if time.monotonic() > deadline:
                return None
            gradients = torch.autograd.grad(value, self._graded, allow_unused=True)
            for parameter, gradient in zip(self._graded, gradients, strict=True):
                parameter.grad = gradient
            if self._most is not None:
                clip_grad_norm_(self._graded, self._most)
            # The function of the optimizer itself, without the hooks on its steps.
            type(optimizer).step.__wrapped__(optimizer)

    @property
    def _graded(self) -> list[torch.Tensor]:
        return [p for p in self._parameters if p.requires_grad]

    def _outputs(self) -> list[torch.Tensor]:
        """Return the tensors of the output of the forward, which is repeated."""
        return [tensor for _, tensor, _ in leaves(output_of(self._model, self._run))]

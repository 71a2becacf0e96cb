"""Makes the loss that a request names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from hookcli.engine.losses.criterion import Criterion, Loss, Notes
from hookcli.engine.losses.named import NamedCriterion
from hookcli.engine.losses.of_output import at, own_loss, probe, reduced
from hookcli.engine.losses.own_of_model import LabelsCriterion, TrainingStepCriterion
from hookcli.engine.losses.user_function import FunctionCriterion, name_of
from hookcli.errors import RequestError
from hookcli.models.batch import Batch
from hookcli.models.python.functions import function_of
from hookcli.spec.losses import LABELS, TRAINING_STEP, parse_named_loss
from hookcli.spec.plan import Plan


class OutputCriterion(Criterion):
    """A loss of the output alone."""

    def __init__(self, name: str, compute: Callable[[Any], torch.Tensor]) -> None:
        super().__init__(name)
        self._compute = compute

    def loss(self, output: Any, batch: Batch) -> torch.Tensor:
        """Return the loss of the output."""
        return self._compute(output)


class DefaultCriterion(Criterion):
    """The loss that the model itself returns, else a random projection of its output."""

    def __init__(self, notes: Notes, *, seed: int, values: bool) -> None:
        super().__init__("probe")
        self._notes, self._seed, self._values = notes, seed, values

    def name_for(self, output: Any) -> str:
        """Return which of the two it is."""
        return self.name if own_loss(output) is None else "output:loss"

    def loss(self, output: Any, batch: Batch) -> torch.Tensor:
        """Return the loss of the output."""
        own = own_loss(output)
        if own is not None:
            return own
        if batch.target is not None:
            self._notes(
                "the loss probe ignores the target: pass `--loss cross_entropy` or another one"
            )
        return probe(output, self._notes, seed=self._seed, values=self._values)


def criterion_of(plan: Plan, loss: Loss | None, notes: Notes, *, values: bool) -> Criterion:
    """Return the loss of a plan, or the function `loss` in place of it.

    `values` is False for fake tensors.

    Raises
    ------
    RequestError, ModelError : a function of the user's cannot be imported.
    """
    if loss is not None:
        return FunctionCriterion(loss, name_of(loss), "loss", notes)
    text, seed = plan.loss, plan.seed
    if text == "probe":
        return DefaultCriterion(notes, seed=seed, values=values)
    if text in {"sum", "mean"}:
        return OutputCriterion(text, lambda output: reduced(output, getattr(torch, text)))
    if text == LABELS:
        return LabelsCriterion()
    if text == TRAINING_STEP:
        return TrainingStepCriterion()
    if text.startswith("output:"):
        return OutputCriterion(text, lambda output: _summed(output, text))
    try:
        named = parse_named_loss(text)
    except ValueError as error:  # from Python: the command line has checked it before
        message, hint = error.args
        raise RequestError(message, place=f"--loss {text}", hint=hint) from None
    if named is not None:
        return NamedCriterion(text, named, notes, seed=seed + plan.rank)
    flag = f"--loss {text}"
    return FunctionCriterion(function_of(text, flag), text, flag, notes)


def _summed(output: Any, text: str) -> torch.Tensor:
    tensor = at(output, text.removeprefix("output:"), f"--loss {text}")
    return tensor if tensor.numel() == 1 else tensor.sum()

"""Losses that the model computes itself: from `labels`, or in its `training_step`."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from hookcli.engine.losses.criterion import Criterion, checked
from hookcli.engine.losses.of_output import own_loss
from hookcli.engine.losses.user_function import place_of
from hookcli.errors import ModelError, RequestError
from hookcli.models.batch import Batch
from hookcli.models.model import Model
from hookcli.models.scripted import type_of
from hookcli.spec.losses import LABELS, TRAINING_STEP

_LABELS_PLACE = f"--loss {LABELS}"
_STEP_PLACE = f"--loss {TRAINING_STEP}"


class LabelsCriterion(Criterion):
    """The loss that the model returns when it gets `labels`, as models of transformers do."""

    def __init__(self) -> None:
        super().__init__(LABELS)

    def loss(self, output: Any, batch: Batch) -> torch.Tensor:
        """Return the entry `loss` of the output, or the first item of a tuple.

        Raises
        ------
        ModelError : the output contains no loss.
        """
        loss = own_loss(output)
        if loss is not None:
            return loss
        first = output[0] if isinstance(output, tuple) and output else None
        if isinstance(first, torch.Tensor) and first.numel() == 1:
            return checked(first, LABELS, _LABELS_PLACE)
        raise ModelError(
            "the model got labels, but its output contains no loss",
            place=_LABELS_PLACE,
            hint="choose another loss, such as `--loss cross_entropy`",
        )


class TrainingStepCriterion(Criterion):
    """The model's `training_step(batch, batch_idx)`, which runs forward and returns the loss."""

    forward_is_loss = True

    def __init__(self) -> None:
        super().__init__(TRAINING_STEP)

    def forward(self, model: Model, batch: Batch) -> Any:
        """Run `training_step` on the batch as a loader gives it.

        Raises
        ------
        RequestError : the model has no such method, or is wrapped for several ranks.
        """
        step = method_of(model.root)
        self.place = place_of(step)
        if model.wrapper is not None:
            raise RequestError(
                f"--loss {TRAINING_STEP} cannot be combined with DistributedDataParallel, which "
                "wraps forward",
                place=_STEP_PLACE,
                hint="omit `--nproc` and communication hooks, or choose another loss",
            )
        return run_step(model.root, batch.as_loaded())

    def loss(self, output: Any, batch: Batch) -> torch.Tensor:
        """Return the loss that training_step returned, by itself or as the entry `loss`.

        Raises
        ------
        ModelError : it returned no loss.
        """
        loss = output.get("loss") if isinstance(output, Mapping) else output
        if loss is None:
            raise ModelError(
                f"{TRAINING_STEP} must return a loss, or a dict with the key 'loss'",
                place=self.place or _STEP_PLACE,
                hint="return the loss instead of calling `manual_backward`, or pass another "
                "`--loss`",
            )
        return checked(loss, TRAINING_STEP, self.place or _STEP_PLACE)


def run_step(root: nn.Module, loaded: Any) -> Any:
    """Return what `training_step` returns for a batch as a loader gives it, without a trainer."""
    step = method_of(root)
    with _without_trainer(root):
        return step(loaded, *([0] * _indices(step)))


def method_of(root: nn.Module) -> Any:
    """Return the model's training_step.

    Raises
    ------
    RequestError : it has none.
    """
    step = getattr(root, TRAINING_STEP, None)
    if not callable(step):
        raise RequestError(
            f"{type_of(root)} has no method {TRAINING_STEP}",
            place=_STEP_PLACE,
            hint=f"define `{TRAINING_STEP}(self, batch, batch_idx)`, or choose another loss",
        )
    return step


def _indices(step: Any) -> int:
    """Return how many indices training_step takes after the batch: batch_idx, dataloader_idx."""
    try:
        parameters = list(inspect.signature(step).parameters.values())[1:]
    except (TypeError, ValueError):
        return 1
    return sum(
        p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
        for p in parameters
    )


def _ignore(*_: Any, **__: Any) -> None:
    """Do nothing: there is no trainer that collects what is logged."""


_STAND_INS: dict[str, Any] = {
    "log": _ignore,
    "log_dict": _ignore,
    "current_epoch": 0,
    "global_step": 0,
    "trainer": None,
    "logger": None,
}


@contextmanager
def _without_trainer(root: nn.Module) -> Iterator[None]:
    """Give the model stand-ins for what Lightning's base class has, as far as it has none.

    Lightning itself ignores `log` without a trainer, and warns about it.
    """
    kept = {*vars(root), *root._parameters, *root._buffers, *root._modules}
    added = {
        name: value
        for name, value in _STAND_INS.items()
        if name not in kept and not any(name in vars(kind) for kind in type(root).__mro__)
    }
    vars(root).update(added)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "You are trying to `self.log", Warning)
            yield
    finally:
        for name, value in added.items():
            if vars(root).get(name, _ignore) is value:
                vars(root).pop(name, None)

"""Whether a parameter has an entry for each sample of the batch: then no other batch size runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from hookcli.engine.probes.rerun import Outputs, Rerun
from hookcli.models.batch import Batch
from hookcli.models.nested import shape_of
from hookcli.refusals import raise_if_external

_MOST = 4  # parameters that are tried


def parameter_of_samples(again: Rerun, fewer: Batch, size: int) -> dict[str, Any] | None:
    """Return the parameter with which a batch of one sample less runs, if it too has one less.

    `fewer` is that batch, which does not run with the parameters as they are. An output must then
    have one sample less: else the dimension may count something else, as the channels of one
    picture.
    """
    if _outputs(again, fewer) is not None:
        return None
    candidates = [
        info
        for info in again.model.parameters()
        if info.tensor.dim() > 1 and info.tensor.shape[0] == size
    ]
    for info in candidates[:_MOST]:
        with _shortened(info.tensor):
            outputs = _outputs(again, fewer)
        base = again.base_predictions()
        if outputs is not None and any(
            _is_shorter(base[path], tensor, size)
            for path, tensor in outputs.items()
            if path in base
        ):
            shape = [*shape_of(info.tensor)]
            return {"sized": info.name, "shape": shape, "samples": size}
    return None


def _is_shorter(before: torch.Tensor, after: torch.Tensor, size: int) -> bool:
    """Return whether an output has one sample less."""
    return before.shape[:1] == (size,) and after.shape == (size - 1, *before.shape[1:])


@contextmanager
def _shortened(parameter: torch.Tensor) -> Iterator[None]:
    """Let a parameter have one entry less along dimension 0."""
    whole = parameter.data
    parameter.data = whole[:-1].clone()
    try:
        yield
    finally:
        parameter.data = whole


def _outputs(again: Rerun, batch: Batch) -> Outputs | None:
    """Return the outputs for a batch; None if the model raises an error."""
    try:
        return again.predictions(batch)
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        raise_if_external(error)
        return None

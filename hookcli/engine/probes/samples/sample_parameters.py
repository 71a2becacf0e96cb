"""Whether a parameter has an entry for each sample of the batch: then no other batch size runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from hookcli.engine.probes.rerun import Rerun
from hookcli.models.batch import Batch
from hookcli.models.nested import shape_of
from hookcli.refusals import raise_if_external

_MOST = 4  # parameters that are tried


def parameter_of_samples(again: Rerun, fewer: Batch, size: int) -> dict[str, Any] | None:
    """Return the parameter with which a batch of one sample less runs, if it too has one less.

    `fewer` is that batch, which does not run with the parameters as they are.
    """
    if _runs(again, fewer):
        return None
    candidates = [
        (info, dim)
        for info in again.model.parameters()
        for dim, many in enumerate(info.tensor.shape)
        if many == size and info.tensor.dim() > 1
    ]
    for info, dim in candidates[:_MOST]:
        with _shortened(info.tensor, dim):
            runs = _runs(again, fewer)
        if runs:
            shape = [*shape_of(info.tensor)]
            return {"sized": info.name, "shape": shape, "samples": size}
    return None


@contextmanager
def _shortened(parameter: torch.Tensor, dim: int) -> Iterator[None]:
    """Let a parameter have one entry less along a dimension."""
    whole = parameter.data
    parameter.data = whole.narrow(dim, 0, whole.shape[dim] - 1).clone()
    try:
        yield
    finally:
        parameter.data = whole


def _runs(again: Rerun, batch: Batch) -> bool:
    try:
        again.predictions(batch)
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        raise_if_external(error)
        return False
    return True

"""Adds to a batch what the loss needs: the target of `--target`, and the model's `labels`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from hookcli.engine.batch.functions import caller
from hookcli.errors import RequestError
from hookcli.inputs.labels import fitting_labels
from hookcli.inputs.materialise import given_target
from hookcli.models.batch import Batch, LossTarget, forward_signature
from hookcli.models.nested import describe
from hookcli.models.scripted import type_of
from hookcli.spec.losses import LABELS
from hookcli.spec.request import Spec


def with_target(
    batch: Batch, spec: Spec, root: nn.Module, floating: torch.dtype, note: Callable[[str], None]
) -> Batch:
    """Return the batch with the target of the request, and with labels if the loss needs them.

    Raises
    ------
    RequestError, ModelError : the target is malformed; the model does not take labels, or it is not
        known which labels fit.
    """
    run = spec.run
    if run.targets:
        call = caller(run.batch_size)
        value = given_target(run.targets, floating=floating, device=run.device, call=call)
        batch = replace(batch, target=LossTarget(value, "given"), whole=None)
    return _with_labels(batch, spec, root, note) if run.loss == LABELS else batch


def _with_labels(batch: Batch, spec: Spec, root: nn.Module, note: Callable[[str], None]) -> Batch:
    signature = forward_signature(root)
    names = [] if signature is None else list(signature.parameters)
    bound = {} if signature is None else dict(signature.bind_partial(*batch.args).arguments)
    given = {**bound, **batch.kwargs}
    if batch.target is not None and LABELS in names and LABELS not in bound:
        return replace(batch, kwargs={**batch.kwargs, LABELS: batch.target.value}, whole=None)
    if not given.keys().isdisjoint((LABELS, "start_positions")):
        return batch
    made = fitting_labels(root, given, names, spec.run.seed + spec.run.rank)
    if made is None:
        takes = LABELS in names or "start_positions" in names
        what = "it is not known which labels fit" if takes else "it has no parameter 'labels'"
        raise RequestError(
            f"{type_of(root)}.forward: {what}",
            place=f"--loss {LABELS}",
            hint="pass `--input labels=SPEC`" if takes else "choose another loss",
        )
    note(f"{', '.join(made.values)} were made up to fit {type_of(root)}: {made.what}")
    return replace(batch, kwargs={**batch.kwargs, **made.values}, whole=None)


def target_fields(batch: Batch) -> dict[str, Any]:
    """Return the fields of the report's inputs that describe the target, if there is one."""
    if batch.target is None:
        return {}
    return {"target": describe(batch.target.value), "target_origin": batch.target.origin}

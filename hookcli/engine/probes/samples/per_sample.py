"""The loss and the gradient norm of each sample of the batch, in the mode of the run.

The gradient of a sample is that of its rows of the outputs (`row_gradients`), compared with the
gradient of the whole loss. Its loss is that of its rows alone, with its part of the target: if the
mean or the sum over all samples is the loss of the batch. If the model returns the loss itself,
each sample runs alone, and both sums are compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from hookcli.engine.probes.context import Requests, RerunContext, single
from hookcli.engine.probes.rerun import Rerun
from hookcli.engine.probes.samples.batch_independence import number_of_samples, taken
from hookcli.engine.probes.samples.row_gradients import (
    MOST_SAMPLES,
    SampleRows,
    SamplesUnknownError,
    coupled,
    dominating,
    given_by_loss,
    norm_of_all,
    norms_by_sample,
)
from hookcli.models.batch import Batch, map_batch
from hookcli.models.nested import leaves
from hookcli.refusals import raise_if_external
from hookcli.report.rows.events import number

PROBE = "per_sample"
_SAME = 1e-3  # of the norm of a gradient, or of a loss, beyond which sums are not equal
_ALONE = 256  # samples that run alone at most


def measure(_requests: Requests, context: RerunContext) -> list[Any]:
    """Measure the loss and the gradient norm of each sample; or why they are not known."""
    try:
        return single(PROBE, _measured(context.again))
    except SamplesUnknownError as error:
        return single(PROBE, {"why": str(error)})


def _measured(again: Rerun) -> dict[str, Any]:
    size = number_of_samples(again.batch, 0) or 0
    if not size:
        raise SamplesUnknownError("no input has a dimension of samples")
    if size > MOST_SAMPLES:
        raise SamplesUnknownError(f"there are {size:,} samples, more than {MOST_SAMPLES:,}")
    parameters = [info.tensor for info in again.model.parameters() if info.tensor.requires_grad]
    if not parameters:
        raise SamplesUnknownError("no parameter is trainable")
    with again.running(again.plan.mode) as output:
        loss = again.loss(output)
        whole = _gradients(loss, parameters)
        outputs = [t for _, t, _ in leaves(output) if t.requires_grad and t.is_floating_point()]
        starts = torch.autograd.grad(loss, outputs, retain_graph=True, allow_unused=True)
        reached = [i for i, start in enumerate(starts) if start is not None]
        if any(outputs[i].dim() == 0 for i in reached) or not reached:
            value = None
        else:
            own = [outputs[i] for i in reached]
            direct = given_by_loss(own, [starts[i] for i in reached])
            rows = SampleRows(own, direct, again.batch)
            value = _by_rows(again, rows, parameters, whole, (output, loss), reached)
    return _alone(again, parameters, whole, float(loss.detach()), size) if value is None else value


def _gradients(loss: torch.Tensor, parameters: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    found = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
    return [
        torch.zeros_like(p, dtype=torch.float64) if one is None else one.detach().double()
        for p, one in zip(parameters, found, strict=True)
    ]


def _by_rows(
    again: Rerun,
    rows: SampleRows,
    parameters: list[torch.Tensor],
    whole: list[torch.Tensor],
    made: tuple[Any, torch.Tensor],
    reached: Sequence[int],
) -> dict[str, Any]:
    rows.find_samples(again.model.root, lambda batch: _outputs(again, batch, reached))
    found = norms_by_sample([rows], parameters)
    _check_sum(found.total, whole)
    output, loss = made
    losses, reduction = _losses(again, rows, output, float(loss.detach()))
    norms = [norm for *_, norm in found.norms]
    dominant = [row[1] for row in found.dominant]
    value = float(loss.detach())
    return _value(rows.dim, value, whole, norms, losses, reduction, dominant, found.without)


def _outputs(again: Rerun, batch: Batch, reached: Sequence[int]) -> list[torch.Tensor] | None:
    """Return the outputs of another batch, which reaches no loss."""
    with again.running(again.plan.mode, batch) as output:
        made = [t for _, t, _ in leaves(output) if t.requires_grad and t.is_floating_point()]
        return [made[i].detach() for i in reached] if len(made) > max(reached) else None


def _check_sum(total: Sequence[torch.Tensor], whole: Sequence[torch.Tensor]) -> None:
    """Raise SamplesUnknownError if the gradients of the samples do not add up to the whole."""
    rest = norm_of_all([one - other for one, other in zip(total, whole, strict=True)])
    if not rest <= _SAME * norm_of_all(whole):
        raise SamplesUnknownError(
            "the gradients of the samples do not add up to that of the batch: the loss has other "
            "terms, such as the norm of the weights"
        )


def _losses(
    again: Rerun, rows: SampleRows, output: Any, loss: float
) -> tuple[list[float] | None, str | None]:
    """Return the loss of each sample, and how they make that of the batch; None if they do not."""
    losses = []
    sizes = {one.shape for one in rows.outputs}
    for sample in range(rows.size):

        def part(tensor: torch.Tensor, which: int = sample) -> torch.Tensor:
            return rows.rows(tensor, which) if tensor.shape in sizes else tensor

        batch = taken(again.batch, rows.dim, [sample])
        alone = map_batch(Batch((output,)), part).args[0]
        try:
            losses.append(float(again.loss_of(alone, batch).detach()))
        except Exception as error:  # noqa: BLE001  # the user's loss may need the whole batch
            raise_if_external(error)
            return None, None
    return losses, _reduction(losses, loss)


def _reduction(losses: Sequence[float], loss: float) -> str | None:
    """Return whether a loss is the mean or the sum of those of its samples; None if neither."""
    if not all(map(math.isfinite, (*losses, loss))):
        return None
    total = math.fsum(losses)
    scale = math.fsum(map(abs, losses))
    if abs(total / len(losses) - loss) <= _SAME * scale / len(losses):
        return "mean"
    return "sum" if abs(total - loss) <= _SAME * scale else None


def _alone(
    again: Rerun,
    parameters: list[torch.Tensor],
    whole: list[torch.Tensor],
    loss: float,
    size: int,
) -> dict[str, Any]:
    """Run each sample alone, as a model that returns the loss itself must."""
    if size > _ALONE:
        raise SamplesUnknownError(f"there are {size:,} samples that run alone, more than {_ALONE}")
    losses, norms = [], []
    total = [torch.zeros_like(one) for one in whole]
    parts = []
    for sample in range(size):
        with again.running(again.plan.mode, taken(again.batch, 0, [sample])) as output:
            one = again.loss(output)
            part = _gradients(one, parameters)
        losses.append(float(one.detach()))
        norms.append(norm_of_all(part))
        parts.append(part)
        for added, more in zip(total, part, strict=True):
            added += more
    reduction = _reduction(losses, loss)
    if reduction is None:
        raise SamplesUnknownError(_why_not_alone(again))
    factor = 1 / size if reduction == "mean" else 1.0
    try:
        _check_sum([one * factor for one in total], whole)
    except SamplesUnknownError:
        raise SamplesUnknownError(_why_not_alone(again)) from None
    norms = [norm * factor for norm in norms]
    order = sorted(range(size), key=lambda i: -norms[i])
    ordered = ([gone * factor for gone in parts[sample]] for sample in order)
    many, without = dominating(whole, ordered, size)
    dominant = order[:many]
    return _value(0, loss, whole, norms, losses, reduction, dominant, without)


def _why_not_alone(again: Rerun) -> str:
    """Return why samples that run alone do not add up to the batch."""
    again.forward(again.plan.mode)
    if again.draws:
        return "the forward draws random numbers, others for each sample: pass `--mode eval`"
    return coupled(again.model.root)


def _value(
    dim: int,
    loss: float,
    whole: Sequence[torch.Tensor],
    norms: Sequence[float],
    losses: Sequence[float] | None,
    reduction: str | None,
    dominant: Sequence[int],
    without: float | None,
) -> dict[str, Any]:
    return {
        "dim": dim,
        "loss": number(loss),
        "grad_norm": number(norm_of_all(whole)),
        "norms": [number(norm) for norm in norms],
        "losses": None
        if losses is None or reduction is None
        else [number(value) for value in losses],
        "reduction": reduction,
        "dominant": list(dominant),
        "without": None if without is None else number(without),
    }

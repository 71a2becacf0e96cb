"""Runs the model once more to find where the paths of gradients end."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from hookcli.engine.gradient_path.analysis import (
    Ends,
    Reasons,
    cut_rows,
    find_swallowed,
    has_custom_functions,
    layer_rows,
    term_rows,
)
from hookcli.engine.gradient_path.tracer import Cut, GradientTracer
from hookcli.engine.probes.context import LostGradients, Requests, RerunContext
from hookcli.engine.probes.rerun import Rerun
from hookcli.models.batch import map_batch
from hookcli.models.nested import leaves
from hookcli.models.scripted import is_scripted
from hookcli.report.findings import Measurement
from hookcli.report.path_ends.end_rows import CUT, REASON

_SCRIPTED = "the operators of a TorchScript model have no lines of Python"


def cuts(again: Rerun, lost: LostGradients, *, everything: bool) -> list[Measurement]:
    """Return why parameters got no gradient, or only zeros.

    With `everything`, also each cut on the way to the loss, and the layers that the loss is
    connected to.
    """
    if is_scripted(again.model.root):
        return [Measurement(probe, "", None, {"why": _SCRIPTED}, None) for probe in (CUT, REASON)]
    tracer = GradientTracer(again.model)
    with again.running(again.plan.mode, within=_traced(again, tracer)) as output:
        tracer.active = again.loss_is_users
        start = _start(again, output)
        tracer.active = False
        ends = Ends.of(tracer, output, start)
        missing, zero = _bits(tracer, lost.missing), _bits(tracer, lost.zero)
        stops = _stops(again, ends, missing, everything=everything)
        rows = [*cut_rows(ends, stops), *layer_rows(ends)] if everything else []
        reasons = Reasons(ends, stops)
        rows += [reasons.header(missing, zero), *reasons.rows(missing)]
        rows += reasons.rounded(zero) if zero else []
    tracer.reach.clear()
    return rows


@contextmanager
def _traced(again: Rerun, tracer: GradientTracer) -> Iterator[None]:
    with again.model.observe(tracer.enter, tracer.leave), tracer:
        yield


def _start(again: Rerun, output: Any) -> torch.Tensor | None:
    """Return the tensor that backward starts from; None if no output requires grad."""
    graded = [tensor for _, tensor, _ in leaves(output) if tensor.requires_grad]
    if not graded:
        return None
    return graded[0] if again.plan.backward.gradient is not None else again.loss(output)


def _stops(again: Rerun, ends: Ends, missing: int, *, everything: bool) -> list[Cut]:
    """Run backward if a custom Function may lose gradients, and return where that happens."""
    start = ends.start
    if start is None or not has_custom_functions(ends):
        return []
    if not everything and not missing & ends.live:  # the graph has those, so backward loses them
        return []
    return find_swallowed(ends, lambda: again.backward_from(start))


def idle_terms(again: Rerun) -> list[Measurement]:
    """Return the terms of the loss that have no gradient.

    The inputs get one, to tell the terms that train what computed the inputs.
    """
    if is_scripted(again.model.root):
        return []
    tracer = GradientTracer(again.model)
    batch = map_batch(again.batch, _graded)
    with again.running(again.plan.mode, batch, within=_traced(again, tracer)) as output:
        tracer.active = again.loss_is_users
        start = _start(again, output)
        tracer.active = False
        rows = list(term_rows(Ends.of(tracer, output, start)))
    tracer.reach.clear()
    return rows


def _graded(tensor: torch.Tensor) -> torch.Tensor:
    is_real = tensor.is_floating_point() and tensor.layout is torch.strided
    return tensor.detach().requires_grad_() if is_real else tensor


def measure_terms(_requests: Requests, context: RerunContext) -> list[Measurement]:
    """Find the terms of the loss that have no gradient."""
    return idle_terms(context.again)


def _bits(tracer: GradientTracer, names: Collection[str]) -> int:
    wanted = set(names)
    return sum(1 << i for i, info in enumerate(tracer.reach.infos) if info.name in wanted)


def measure(requests: Requests, context: RerunContext) -> list[Measurement]:
    """Find where gradients end: everywhere on the way to the loss, or only for those missing."""
    everything = any(request.name == CUT for request in requests)
    return cuts(context.again, context.lost, everything=everything)

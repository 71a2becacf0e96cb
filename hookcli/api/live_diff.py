"""Runs two modules in this process, one after the other, and compares them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import nn

from hookcli.api.live import batch_for, run_live
from hookcli.comparison.diff import Diff, ExactDiff, exact_diff
from hookcli.comparison.locate import closely, locate
from hookcli.comparison.ports.plan import is_port, port_settings
from hookcli.comparison.ports.port_diff import compare_ports
from hookcli.comparison.tolerance import Tolerances
from hookcli.engine.batch.candidates import floating_dtype
from hookcli.engine.diff.adapted_batch import adapted_batch
from hookcli.engine.diff.capture import TensorCapture, compare_tensors
from hookcli.engine.diff.sketches import SketchObserver
from hookcli.engine.losses.criterion import Loss
from hookcli.engine.rule_watchers import rule_watchers
from hookcli.engine.seeds import generators_kept
from hookcli.engine.watcher import Watcher
from hookcli.errors import HookcliError, ModelError
from hookcli.models.batch import Batch, map_batch, misfit
from hookcli.report.path_ends.end_rows import CUT
from hookcli.report.recording import Recording
from hookcli.report.report import Report
from hookcli.spec.checks import request_probe
from hookcli.spec.request import Spec

_PARTS = ("inputs", "outputs")


def diff_live(
    a: nn.Module,
    b: nn.Module,
    given: Any,
    spec: Spec,
    tolerances: Tolerances,
    *,
    loss: Loss | None = None,
) -> Diff:
    """Run both modules with the same batch, restore their state, and return the diff.

    If names differ, calls are matched by weights, values and place.

    Raises
    ------
    RequestError : there is no batch, or it does not fit a forward.
    ModelError : a forward failed.
    """
    pair = _Live(a, b, given, spec, loss)
    reports = pair.run(0), pair.run(1)
    if is_port(*reports):
        settings = port_settings(*reports, None, own_weights=True, tolerances=tolerances)
        ours, theirs = pair.run(0, ordered=True), pair.run(1, ordered=True)
        return closely(
            lambda exact: compare_ports(ours, theirs, replace(settings, exact=exact)), pair.closely
        )
    return locate(*reports, tolerances, pair.closely)


class _Live:
    """The two modules, and the batch that both run with."""

    def __init__(
        self, a: nn.Module, b: nn.Module, given: Any, spec: Spec, loss: Loss | None
    ) -> None:
        self._models, self._spec, self._loss = (a, b), spec, loss
        with generators_kept():
            _, self._batch = batch_for(a, given, spec, [])

    def _batch_of(self, side: int) -> Batch:
        """Return a copy of the batch, since a forward may write to it; for B in B's dtype."""
        ours, theirs = (floating_dtype(model, self._spec) for model in self._models)

        def copied(tensor: torch.Tensor) -> torch.Tensor:
            cast = side == 1 and tensor.dtype == ours != theirs
            return tensor.detach().clone().to(theirs if cast else tensor.dtype)

        batch = map_batch(self._batch, copied)
        root = self._models[side]
        if side == 1 and misfit(root, batch) is not None:
            other = adapted_batch(root, batch)
            batch = batch if other is None else other[0]
        try:
            return copy.deepcopy(batch)  # objects of the user's classes too
        except Exception:  # noqa: BLE001  # objects that cannot be copied are shared
            return batch

    def run(self, side: int, *, ordered: bool = False) -> Report:
        """Return the report of one side (0 is A, 1 is B), with its sketches."""
        return self._run(side, partial(self._sketching, ordered=ordered))

    def _sketching(self, batch: Batch, recording: Recording, *, ordered: bool) -> Iterator[Watcher]:
        """Yield what sketches tensors, and finds where gradients end if they are compared."""
        yield SketchObserver(recording.measured, ordered=ordered)
        if self._spec.command == "grads":
            spec = replace(self._spec, probes=(request_probe(CUT),))
            yield from rule_watchers(spec, batch, self._loss)

    def _run(self, side: int, watchers: Callable[[Batch, Recording], Iterable[Watcher]]) -> Report:
        name = "AB"[side]
        try:
            report = run_live(
                self._models[side],
                self._batch_of(side),
                self._spec,
                loss=self._loss,
                watchers=watchers,
            )
        except HookcliError as error:
            error.message = f"{name}: {error.message}"
            raise
        failed = report.error
        if failed is not None:
            raise ModelError(
                f"{name} raised {failed.type} in {failed.phase}: {failed.message}",
                place=failed.place or report.model.source,
                hint="run hookcli.inspect on this model alone to see how far it gets",
            )
        return report

    def closely(self, a: int, b: int) -> dict[tuple[int, str], tuple[ExactDiff, ...]]:
        """Run both sides again and compare one call of each, element by element.

        `a` and `b` are the orders of the two calls.
        """
        calls = []
        for side, order in enumerate((a, b)):
            capture = TensorCapture([order])
            self._run(side, partial(_only, capture))
            calls.append(capture.calls[order])
        return {
            (a, part): tuple(
                exact_diff(value) for value in compare_tensors(calls[0][part], calls[1][part])
            )
            for part in _PARTS
        }


def _only(watcher: Watcher, _batch: Batch, _recording: Recording) -> tuple[Watcher]:
    return (watcher,)

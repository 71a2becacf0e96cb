"""Reads every value of outputs, parameters and gradients: their ranges, and their spread."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hookcli.engine.probes.activations.layers import torch_class, units_of
from hookcli.engine.probes.activations.reading import distinct, pieces, reading
from hookcli.engine.probes.context import ProbeWatcher, Requests
from hookcli.engine.statistics.readable import readable
from hookcli.engine.statistics.statistics import statistics
from hookcli.models.model import Call, Model
from hookcli.models.nested import leaves
from hookcli.report.findings import Measurement
from hookcli.rules.activations.measured import RANGE, SPREAD
from hookcli.spec.request import Spec


def range_of(tensor: Tensor, tiny: float) -> dict[str, Any] | None:
    """Return the largest value, and how many values are not zero but below `tiny`.

    Values that are not finite are ignored. None if the tensor cannot be read, or has no values.
    """
    if not tensor.is_floating_point() or tensor.is_nested or not tensor.numel():
        return None
    found: list[dict[str, Any]] = []
    with reading():
        result = readable(tensor)
        if result is not None:
            found.append(_range(distinct(result[0]), tiny))
    return found[0] if found else None


def _range(values: Tensor, tiny: float) -> dict[str, Any]:
    most, others, below = 0.0, 0, 0
    for piece in pieces(values if values.dim() else values[None]):
        sizes = piece.abs()
        sizes = sizes.float() if sizes.element_size() < 4 else sizes
        sizes = torch.where(sizes.isfinite(), sizes, 0)
        most = max(most, float(sizes.amax()))
        others += int((sizes > 0).sum())
        below += int(((sizes > 0) & (sizes < tiny)).sum())
    return {"abs_max": most, "values": others, "tiny": below}


class RangeObserver(ProbeWatcher):
    """Observes the ranges of the outputs of calls, and of parameters and their gradients.

    `scale` is the factor by which the loss will be scaled in the narrow dtype.
    """

    def __init__(self, measurements: list[Measurement], dtype: str, scale: float) -> None:
        info = torch.finfo(getattr(torch, dtype))
        self.measurements = measurements
        self._tiny, self._scale, self._dtype = float(info.tiny), scale, dtype
        self._most = float(info.max)
        self._rows: dict[tuple[str, str], dict[str, Any]] = {}

    def begin(self, model: Model) -> None:
        """Read the parameters before the run."""
        self._rows.clear()
        for info in model.parameters():
            self._add("parameter", info.name, range_of(info.tensor, self._tiny))

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Read the outputs of a call that has no submodules, and those of the model."""
        if error is not None or call.recomputed or call.name is None:
            return
        if call.parent is None or not call.module._modules:
            for _, tensor, _ in leaves(output):
                facts = range_of(tensor, self._tiny)
                self._add("output", call.name, facts, {"order": call.order, "type": call.type})

    def gradients(self, model: Model) -> None:
        """Read the gradients of parameters, as they are if the loss is scaled."""
        for info in model.parameters():
            if info.tensor.grad is not None:
                facts = range_of(info.tensor.grad, self._tiny / self._scale)
                if facts is not None:
                    facts["abs_max"] *= self._scale
                self._add("gradient", info.name, facts)

    def complete(self) -> None:
        """Add a row for each tensor."""
        settings = {"dtype": self._dtype, "max": self._most, "tiny": self._tiny}
        self.measurements.append(Measurement(RANGE, "", None, settings, None))
        for (at, name), facts in self._rows.items():
            self.measurements.append(Measurement(RANGE, name, None, {"at": at, **facts}, None))
        self._rows.clear()

    def _add(
        self,
        at: str,
        name: str,
        facts: dict[str, Any] | None,
        call: dict[str, Any] | None = None,
    ) -> None:
        """Add facts to those of other calls and steps of the same module or parameter."""
        if facts is None:
            return
        row = self._rows.setdefault((at, name), {"abs_max": 0.0, "values": 0, "tiny": 0})
        row["abs_max"] = max(row["abs_max"], facts["abs_max"])
        row["values"] += facts["values"]
        row["tiny"] += facts["tiny"]
        for key, value in (call or {}).items():
            row.setdefault(key, value)


class SpreadObserver(ProbeWatcher):
    """Observes the standard deviation of the output of each linear layer and convolution."""

    def __init__(self, measurements: list[Measurement]) -> None:
        self.measurements = measurements
        self._classes: dict[type, str | None] = {}
        self._rows: dict[str, Measurement] = {}

    def begin(self, model: Model) -> None:
        """Forget what an earlier run measured."""
        self._rows.clear()

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Read the output of the first call of a layer."""
        layer = torch_class(call.module, self._classes)
        if error is not None or call.name is None or call.name in self._rows:
            return
        if units_of(layer) is None or "Norm" in str(layer) or not isinstance(output, Tensor):
            return
        row = statistics(output)
        if row is not None and row["std"] is not None and not (row["nans"] or row["infs"]):
            facts = {"std": row["std"], "mean": row["mean"], "order": call.order}
            self._rows[call.name] = Measurement(SPREAD, call.name, call.index, facts, None)

    def complete(self) -> None:
        """Add a row for each layer, in the order of their first calls."""
        self.measurements += self._rows.values()
        self._rows.clear()


def observe_spreads(_requests: Requests, _spec: Spec) -> list[ProbeWatcher]:
    """Return the watcher of the spread of outputs."""
    return [SpreadObserver([])]


def observe_ranges(requests: Requests, _spec: Spec) -> list[ProbeWatcher]:
    """Return a watcher for each dtype and scale."""
    given = [request.given() for request in requests]
    return [RangeObserver([], of["dtype"], float(of["scale"])) for of in given]

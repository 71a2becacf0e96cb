"""The shapes of every call with one more sample, which show the dimensions of samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from hookcli.engine.probes.context import Requests, RerunContext
from hookcli.engine.probes.rerun import Outputs, Rerun
from hookcli.models.batch import map_batch
from hookcli.models.model import Call, CallInputs
from hookcli.models.nested import argument_leaves, leaves, shape_of
from hookcli.refusals import raise_if_external
from hookcli.report.findings import Measurement

PROBE = "grown"


def grown(again: Rerun, measured: Sequence[Measurement]) -> list[Measurement]:
    """Return a measurement for each call: the shapes of its inputs and outputs, by path.

    The batch dimension is that of `measured`. Without one, it is the first or second dimension if
    exactly one of them lets the model run with one more sample, with all outputs changing shape. If
    it is unknown, the list is empty.
    """
    known: dict[str, Any] = next(
        (measurement.value for measurement in measured if measurement.probe == "samples"), {}
    )
    dims = (known["dim"],) if "dim" in known else (0, 1)
    results = [measurements for dim in dims if (measurements := _run(again, dim))]
    return results[0] if len(results) == 1 else []


def _run(again: Rerun, dim: int) -> list[Measurement]:
    """Return the shapes of all calls with one more sample; empty if the outputs do not grow."""
    sizes = [
        shape_of(t)[dim]
        for _, t, _ in argument_leaves(again.batch.args, again.batch.kwargs)
        if t.dim() > dim
    ]
    if not sizes or not sizes[0]:
        return []
    size = sizes[0]

    def longer(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() <= dim or shape_of(tensor)[dim] != size:
            return tensor
        return torch.cat((tensor, tensor.narrow(dim, 0, 1)), dim).detach()

    shapes = _Shapes(dim, size)
    try:
        base = again.twice()[0]
        observed = again.model.observe(shapes.enter, shapes.leave)
        more = again.forward("eval", map_batch(again.batch, longer), within=observed)
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything: shapes are unknown
        raise_if_external(error)
        return []
    return shapes.measurements if _grew(base, more) else []


def _grew(base: Outputs, more: Outputs) -> bool:
    """Whether every output that has dimensions changed its shape."""
    shaped = [path for path, tensor in base.items() if tensor.dim()]
    return bool(shaped) and all(
        path in more
        and more[path].dim() == base[path].dim()
        and shape_of(more[path]) != shape_of(base[path])
        for path in shaped
    )


class _Shapes:
    """Observes the shapes of each call of a registered module."""

    def __init__(self, dim: int, size: int) -> None:
        self.measurements: list[Measurement] = []
        self._known = {"dim": dim, "samples": size}
        self._inputs: dict[int, dict[str, Any]] = {}

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Note the shapes of a call's inputs."""
        self._inputs[call.order] = {p: list(shape_of(t)) for p, t, _ in argument_leaves(*batch)}

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Note the shapes of a call's outputs."""
        inputs = self._inputs.pop(call.order, {})
        if call.late:
            inputs |= {p: list(shape_of(t)) for p, t, _ in argument_leaves((), call.late)}
        if error is None and call.name is not None:
            outputs = {path: list(shape_of(tensor)) for path, tensor, _ in leaves(output)}
            value = {**self._known, "input": inputs, "output": outputs}
            self.measurements.append(Measurement(PROBE, call.name, call.index, value, None))


def measure(_requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure the shapes with one more sample, along the dimension of samples if it is known."""
    return grown(context.again, context.measured)

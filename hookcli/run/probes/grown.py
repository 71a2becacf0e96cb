"""The shapes of every call with one sample more: they tell which dimensions hold samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from hookcli.inputs.batch import map_batch
from hookcli.models.base import Call
from hookcli.models.trees import argument_leaves, leaves, shape_of
from hookcli.report.findings import Measurement
from hookcli.run.probes.again import Again

PROBE = "grown"


def grown(again: Again, measured: Sequence[Measurement]) -> list[Measurement]:
    """A measurement for each call: the shapes of its inputs and outputs, by path.

    There is none where `measured` does not say along which dimension the samples are, or where
    the model does not run with one more.
    """
    known: dict[str, Any] = next((one.value for one in measured if one.probe == "samples"), {})
    if "dim" not in known:
        return []
    dim, size = known["dim"], known["samples"]

    def longer(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() <= dim or tensor.shape[dim] != size:
            return tensor
        return torch.cat((tensor, tensor.narrow(dim, 0, 1)), dim).detach()

    found: list[Measurement] = []

    def enter(call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        shapes[call.order] = {p: list(shape_of(t)) for p, t, _ in argument_leaves(*batch)}

    def leave(call: Call, output: Any, error: BaseException | None) -> None:
        inputs = shapes.pop(call.order, {})
        if call.late:
            inputs |= {p: list(shape_of(t)) for p, t, _ in argument_leaves((), call.late)}
        if error is None and call.name is not None:
            outputs = {path: list(shape_of(tensor)) for path, tensor, _ in leaves(output)}
            value = {"dim": dim, "samples": size, "input": inputs, "output": outputs}
            found.append(Measurement(PROBE, call.name, call.index, value, None))

    shapes: dict[int, dict[str, Any]] = {}
    try:
        with again.model.observe(enter, leave):
            again.forward("eval", map_batch(again.batch, longer))
    except Exception:  # noqa: BLE001  # the user's code may raise anything: then it is not known
        return []
    return found

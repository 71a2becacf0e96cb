"""Sums over the steps of a training that keep the graph of each step."""

from __future__ import annotations

from typing import Any

import torch

from hookcli.engine.probes.trainability.loss_graph import nodes_behind
from hookcli.models import places
from hookcli.system.frame_variables import variables_of
from hookcli.training.backward import only_tensor
from hookcli.training.observers.observer import LookSchedule, Observer, line_of
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import user_frame

_ADD = "AddBackward0"
_LEAST = 8  # terms of a sum
_MOST = 1_000  # variables


class KeptGraphs(Observer):
    """Looks at the variables of the function that calls backward."""

    kinds = ("kept_graph",)
    before = {"backward": "backward"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._schedule = LookSchedule()
        self._counts: dict[Any, int] = {}

    def backward(self, call: TorchCall) -> None:
        """Look for sums of the losses of earlier steps."""
        line = line_of(call)
        count = self._counts[line] = self._counts.get(line, 0) + 1
        if not self._schedule.is_due(line) or count <= _LEAST:
            return
        start, frame = only_tensor(call.argument(0, "tensors")), user_frame(call.frame)
        variables = {} if start is None or frame is None else variables_of(frame)
        if start is None or frame is None or len(variables) > _MOST:
            return
        self.facts.look("kept_graph")
        sums = [
            (name, value)
            for name, value in list(variables.items())
            if type(value) is torch.Tensor and value.numel() == 1 and value is not start
            if value.grad_fn is not None and _terms(value.grad_fn) >= _LEAST
        ]
        if not sums:
            return
        own = set(nodes_behind(start))
        for name, value in sums:
            if value.grad_fn not in own:
                self.facts.add(
                    "kept_graph", name, places.of_frame(frame), terms=_terms(value.grad_fn, count)
                )


def _terms(node: Any, most: int = _LEAST) -> int:
    """Return how many terms a sum has, which was made by one addition after another."""
    count = 0
    while node is not None and node.name() == _ADD and count < most:
        count += 1
        node = node.next_functions[0][0]
    return count

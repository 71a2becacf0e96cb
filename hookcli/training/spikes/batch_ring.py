"""Steps that are not judged yet, with their batches, as far as these need little memory.

On the CPU a step is judged before it updates the weights, so that nothing is kept of the steps
before it. Values on a GPU are read some steps later, as each read would wait for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from hookcli.models.batch import Batch, map_batch
from hookcli.training.non_finite.forward_call import ForwardCall
from hookcli.training.record.records import Record
from hookcli.training.steps import TrainingStep

_MOST = 256  # steps


@dataclass(slots=True)
class AwaitedStep:
    """A step that is not judged yet. `calls` is empty if its batches were too large to keep."""

    record: Record
    step: TrainingStep
    calls: tuple[ForwardCall, ...]
    size: int = 0

    @property
    def is_known(self) -> bool:
        """Whether its figures are read."""
        return not (
            isinstance(self.step.loss, torch.Tensor)
            or isinstance(self.step.grad_norm, torch.Tensor)
        )


class BatchRing:
    """The last steps that wait; the batches of the oldest are dropped beyond `most` bytes.

    Batches are references, without their graphs: a batch that the script overwrites is told as
    such (`ForwardCall.is_changed`), and nothing is copied.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._steps: deque[AwaitedStep] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def bytes(self) -> int:
        """The bytes of the batches that are kept."""
        return self._bytes

    def add(self, record: Record, step: TrainingStep, calls: Sequence[ForwardCall]) -> None:
        """Keep a step that waits."""
        size = sum(call.size() for call in calls)
        kept = tuple(_without_graph(call) for call in calls) if size <= self._most else ()
        self._steps.append(AwaitedStep(record, step, kept, size if kept else 0))
        self._bytes += self._steps[-1].size
        for old in self._steps:
            if self._bytes <= self._most:
                break
            self._bytes -= old.size
            old.calls, old.size = (), 0
        if len(self._steps) > _MOST:
            self._bytes -= self._steps.popleft().size

    def known(self) -> list[AwaitedStep]:
        """Return the steps whose figures are read by now, and forget them."""
        found: list[AwaitedStep] = []
        while self._steps and self._steps[0].is_known:
            found.append(self._steps.popleft())
            self._bytes -= found[-1].size
        return found


def _without_graph(call: ForwardCall) -> ForwardCall:
    """Return the call with references to the same memory, which keep no graph of autograd."""

    def plain(tensor: torch.Tensor) -> Any:
        return tensor.detach() if tensor.grad_fn is not None else tensor

    batch = map_batch(Batch(call.args, call.kwargs), plain)
    return ForwardCall(batch.args, batch.kwargs, call.generators, call.autocast)

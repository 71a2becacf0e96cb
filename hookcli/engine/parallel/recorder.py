"""Records the calls, outputs, parameters and gradients of the reference, for the comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from hookcli.engine.parallel.records import (
    REFERENCE,
    RecordWriter,
    file_of,
    tensor_record,
    tensor_records,
)
from hookcli.engine.watcher import Watcher
from hookcli.models.batch import Batch
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import argument_leaves, leaves

INPUTS, OUTPUTS, RESULT, START = "inputs", "outputs", "result", "start"
VALUE, GRADIENT, OUTPUT_GRADIENT = "value", "gradient", "output_gradient"


def note_output_gradients(
    write: Callable[..., None], name: str, index: int, tensors: Iterable[tuple[str, Any, Any]]
) -> None:
    """Record the gradient of each output of a call when backward reaches it."""
    for path, tensor, _ in tensors:
        if not tensor.requires_grad:
            continue

        def note(gradient: Any, path: str = path) -> None:
            write(what=OUTPUT_GRADIENT, name=name, index=index,
                  tensor=tensor_record(gradient, path))  # fmt: skip

        tensor.register_hook(note)


def direct_gradients(
    loss: torch.Tensor, outputs: Sequence[tuple[str, torch.Tensor]]
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the gradients of the loss with respect to outputs, without paths through others.

    A model may return its loss beside the logits: then backward starts from the loss alone. What
    an output passes back to another one is subtracted, those that were made last first.
    """
    made = [item for item in outputs if item[1].grad_fn is not None]
    made.sort(key=lambda item: item[1].grad_fn._sequence_nr(), reverse=True)  # type: ignore[union-attr]
    tensors = [tensor for _, tensor in made]
    totals: Sequence[torch.Tensor | None] = torch.autograd.grad(
        loss, tensors, retain_graph=True, allow_unused=True
    )
    known: list[tuple[torch.Tensor, torch.Tensor]] = []
    for (path, tensor), total in zip(made, totals, strict=True):
        if total is None:
            continue
        direct = total
        for other, gradient in known:
            (passed,) = torch.autograd.grad(
                other, [tensor], gradient, retain_graph=True, allow_unused=True
            )
            direct = direct if passed is None or other is tensor else direct - passed
        if tensor is loss or direct.count_nonzero():
            known.append((tensor, direct))
            yield path, direct


class ReferenceRecorder(Watcher):
    """Writes the records of the reference, whose output gradients start the ranks' backward."""

    def __init__(self, folder: str) -> None:
        self._file = file_of(folder, REFERENCE)
        self._writer: RecordWriter | None = None
        self._backward = self._is_muted = False
        self._outputs: list[tuple[str, torch.Tensor]] = []

    def begin(self, model: Model) -> None:
        """Start again, as an earlier run may have failed; record the parameters."""
        if self._writer is not None:
            self._writer.close()
        self._writer, self._backward = RecordWriter(self._file), False
        for info in model.parameters():
            self._write(what=VALUE, name=info.name, tensor=tensor_record(info.tensor))

    def _write(self, **record: Any) -> None:
        if self._writer is not None and not self._is_muted:
            self._writer.write(**record)

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Record the inputs of a call, before it can write to them."""
        if not self._backward and call.name is not None:
            self._write(what=INPUTS, name=call.name, index=call.index,
                        tensors=tensor_records(argument_leaves(*batch)))  # fmt: skip

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Record the outputs of a call."""
        if self._backward or call.name is None or error is not None:
            return
        found = leaves(output)
        self._write(what=OUTPUTS, name=call.name, index=call.index, tensors=tensor_records(found))
        note_output_gradients(self._write, call.name, call.index, found)

    def forward_ended(self, model: Model, batch: Batch, output: Any) -> None:
        """Record what the model returned, and later the gradient of each output."""
        self._backward = True
        found = leaves(output)
        self._write(what=RESULT, tensors=tensor_records(found))
        self._outputs = [(path, tensor) for path, tensor, _ in found if tensor.requires_grad]

    def graph(self, start: torch.Tensor, owners: Any) -> None:
        """Record the gradient of each output that the loss itself passes back."""
        outputs, self._outputs = self._outputs, []
        self._is_muted = True
        for path, gradient in direct_gradients(start, outputs):
            self._start(path, gradient)
        self._is_muted = False

    def _start(self, path: str, gradient: torch.Tensor) -> None:
        if self._writer is not None:
            self._writer.write(what=START, path=path, tensor=tensor_record(gradient))

    def gradients(self, model: Model) -> None:
        """Record the gradients of the parameters."""
        for info in model.parameters():
            if info.tensor.grad is not None:
                self._write(what=GRADIENT, name=info.name, tensor=tensor_record(info.tensor.grad))

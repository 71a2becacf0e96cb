"""Losses of torch.nn by name, such as `cross_entropy(label_smoothing=0.1)`."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from hookcli.engine.batch.fake_checks import is_inconclusive
from hookcli.engine.losses.criterion import Criterion, Notes, checked
from hookcli.engine.losses.made_targets import CTC_PARTS, complete_sequences, made_target
from hookcli.engine.losses.of_output import at, graded_or_refuse
from hookcli.errors import ModelError, RequestError
from hookcli.models.batch import Batch
from hookcli.models.failures import message_of, type_name
from hookcli.models.nested import describe, dtype_name, leaves, shape_of
from hookcli.spec.losses import TENSOR_OPTIONS, NamedLoss
from hookcli.torch_private import FakeTensor

# The outputs that a loss is computed from, if forward returns several, by their usual names.
_USUAL = (
    ".logits", ".out", ".output", ".pred", ".preds", ".prediction", ".predictions", ".scores",
)  # fmt: skip
_RAISED = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError)


class NamedCriterion(Criterion):
    """A loss of torch.nn.functional. Without a target, one is made up from `seed`."""

    def __init__(self, name: str, loss: NamedLoss, notes: Notes, *, seed: int) -> None:
        super().__init__(name)
        self._row, self._chosen = loss.row, loss.output
        self._options = dict(loss.options)
        self._notes, self._seed = notes, seed
        self._place = f"--loss {name}"

    def loss(self, output: Any, batch: Batch) -> torch.Tensor:
        """Return the loss of the output and the target.

        Raises
        ------
        RequestError : the output or the target has other parts than the loss takes.
        ModelError : torch refuses the output, the target or an option.
        """
        tensors = self._tensors(output)
        target, origin = self._target(tensors, batch)
        try:
            loss = self._call(tensors, target)
        except _RAISED as error:
            if is_inconclusive(error) and any(isinstance(t, FakeTensor) for t in tensors):
                raise
            raise ModelError(
                f"{type_name(error)}: {' '.join(message_of(error).split())}",
                place=self._place,
                hint=self._hint(tensors, target, origin),
            ) from error
        return checked(loss, self._row.name, self._place)

    def _call(self, tensors: list[torch.Tensor], target: Any) -> Any:
        row, first = self._row, tensors[0]
        options = {
            name: torch.tensor(value, dtype=first.dtype, device=first.device)
            if name in TENSOR_OPTIONS
            else value
            for name, value in self._options.items()
        }
        arguments: list[Any] = list(tensors)
        if row.made == "sequences":
            return functional.ctc_loss(first, **{**target, **options})
        if row.made is not None:
            where = len(arguments) if row.target_at is None else row.target_at
            arguments.insert(where, target)
        return getattr(functional, row.function)(*arguments, **options)

    def _tensors(self, output: Any) -> list[torch.Tensor]:
        """Return the tensors of the output that the loss is computed from."""
        if self._chosen is not None:
            return [at(output, self._chosen, self._place)]
        graded = graded_or_refuse(output)
        named = {path: tensor for path, tensor, _ in leaves(output)}
        count = self._row.outputs
        if count == 1:
            usual = next((p for p in _USUAL if p in named and named[p].requires_grad), None)
            path, tensor = (usual, named[usual]) if usual is not None else graded[0]
            if len(graded) > 1:
                self._notes(f"the loss {self._row.name} is computed from output{path} only")
            return [tensor]
        if len(graded) < count:
            raise RequestError(
                f"{self._row.name} requires {count} tensors of the output, got {len(graded)}",
                place=self._place,
                hint="choose another loss, or write a function: `--loss file.py:function`",
            )
        return [tensor for _, tensor in graded[:count]]

    def _target(self, tensors: list[torch.Tensor], batch: Batch) -> tuple[Any, str]:
        """Return the target and its origin."""
        row = self._row
        if row.made is None:
            return None, "none"
        if batch.target is None:
            target = made_target(row.made, tensors, self._options, self._seed)
            self.made_target = describe(target)
            self._notes(
                "the target of the loss was made up to fit the output: pass `--target` for your own"
            )
            return target, "made up"
        target = batch.target.value
        if row.made == "sequences":
            target = complete_sequences(tensors[0], target)
            if target is None:
                raise self._misfit(f"a tensor, or a mapping of {', '.join(CTC_PARTS)}", batch)
        elif not isinstance(target, torch.Tensor):
            raise self._misfit("one tensor", batch)
        if row.made == "classes":
            target = self._with_classes_last(tensors, target)
        return target, batch.target.origin

    def _with_classes_last(self, tensors: list[torch.Tensor], target: torch.Tensor) -> Any:
        """Put the dimension of the classes where torch has it, if the target's shape tells."""
        output = tensors[0]
        shape, classes = shape_of(output), shape_of(target)
        if len(shape) > 2 and classes != (shape[0], *shape[2:]) and classes == shape[:-1]:
            tensors[0] = output.movedim(-1, 1)
            self._notes("the last dimension of the output was taken for the classes of the loss")
        return target

    def _misfit(self, what: str, batch: Batch) -> RequestError:
        kind = "nothing" if batch.target is None else type(batch.target.value).__name__
        return RequestError(
            f"the target of {self._row.name} must be {what}, got {kind}",
            place=self._place,
            hint="pass `--target SPEC`, or write a function: `--loss file.py:function`",
        )

    def _hint(self, tensors: list[torch.Tensor], target: Any, origin: str) -> str:
        outputs = ", ".join(map(_shown, tensors))
        if isinstance(target, torch.Tensor):
            outputs += f" with the target {_shown(target)}, which was {_ORIGINS[origin]}"
        return f"compare the output {outputs}, or pass another `--target` or `--loss`"


_ORIGINS = {"given": "given", "batch": "in the batch", "made up": "made up"}


def _shown(tensor: torch.Tensor) -> str:
    return f"{dtype_name(tensor.dtype)} {list(shape_of(tensor))}"

"""The memory of training steps: of the run itself, and of other batches, dtypes and optimizers.

For another batch or dtype the model runs again, with fake tensors if it can: memory does not grow
in proportion to the batch, so nothing is scaled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn

from hookcli.engine.batch.fake_checks import is_inconclusive
from hookcli.engine.batch.placement import batch_on_device
from hookcli.engine.hook_engine.build import engine_for
from hookcli.engine.optimizers import optimizer_memory
from hookcli.engine.runner import RunOptions, run
from hookcli.errors import RequestError
from hookcli.memory import available
from hookcli.models import module_tree
from hookcli.models.batch import Batch, map_batch
from hookcli.models.fake.fake import Faker, replace_tensors
from hookcli.models.model import Model
from hookcli.models.nested import argument_leaves
from hookcli.report.memory import TrainingMemory
from hookcli.report.recording import Recording
from hookcli.report.rows.memory import training_memory
from hookcli.report.sinks import Kept
from hookcli.spec.hooks import OptimizerSpec
from hookcli.spec.plan import Plan
from hookcli.spec.request import Spec
from hookcli.spec.what_if import WhatIf
from hookcli.text import first_line

_OPTIMIZERS = (OptimizerSpec("SGD", {}), OptimizerSpec("Adam", {}))  # if the request names none


class TrainingSteps:
    """Measures the training steps that a request asks for, after its own run.

    `faker` is that of the run; without one, `may_fake` tells whether fake tensors may be tried. The
    model can be used as before afterwards, unless it was fake.
    """

    def __init__(
        self,
        model: Model,
        batch: Batch,
        spec: Spec,
        plan: Plan,
        *,
        faker: Faker | None,
        may_fake: bool,
        doing: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._model, self._batch, self._spec = model, batch, spec
        self._plan = dataclasses.replace(
            plan, flops=False, timings=False, digests=False, steps=1, optimizer=None
        )
        self._faker = faker
        self._may_fake = may_fake
        self._doing = doing

    def measure(self, recording: Recording) -> tuple[TrainingMemory, ...]:
        """Return a row for the run itself with each optimizer, then one for each what-if.

        Raises
        ------
        RequestError : the model does not run as asked, or an optimizer does not accept its
            parameters.
        """
        note = recording.memory
        own = _OPTIMIZERS if self._spec.run.optimizer is None else (self._spec.run.optimizer,)
        if note is None or note.backward_peak is None:
            why = "the run has no backward pass"
            asked = self._spec.run.what_if
            return tuple(_unknown(one, one.optimizer or own[-1], why) for one in asked)
        rows = [self._row(recording, optimizer, None) for optimizer in own]
        for what_if in self._spec.run.what_if:
            self._doing(f"measuring {what_if.text}")
            optimizer = what_if.optimizer or own[-1]
            made = self._run(what_if, recording) if what_if.runs_again else recording
            if isinstance(made, str):
                rows.append(_unknown(what_if, optimizer, made))
            else:
                rows.append(self._row(made, optimizer, what_if))
        return tuple(rows)

    def _row(
        self, recording: Recording, optimizer: OptimizerSpec, what_if: WhatIf | None
    ) -> TrainingMemory:
        note = recording.memory
        assert note is not None  # noqa: S101  # the callers check it
        place = "run.optimizer" if what_if is None else what_if.place
        state, step = optimizer_memory(optimizer, note.trained, self._spec.run.device, place)
        return training_memory(
            recording,
            note,
            optimizer.name,
            state_bytes=state,
            step_bytes=step,
            what_if=None if what_if is None else what_if.text,
            autocast=None if what_if is None else what_if.autocast,
        )

    def _run(self, what_if: WhatIf, base: Recording) -> Recording | str:
        """Return the recording of a run with another batch or dtype, or why there is none."""
        if self._faker is not None:
            made = self._attempt(what_if, self._faker)
            if made.error is not None and is_inconclusive(made.error):
                return "fake tensors cannot run this: pass `--tensors real`"
            return self._checked(made, what_if)
        if self._may_fake:
            faker = Faker(self._spec.run.device)
            try:
                faker.module(self._model.root)
                made = self._attempt(what_if, faker)
            finally:
                faker.undo(self._model.root)
            if made.error is None or not is_inconclusive(made.error):
                return self._checked(made, what_if)
        need = _need(base, what_if)
        most = min((m for m in (available(), self._spec.run.max_memory) if m), default=None)
        if most is not None and need > most:
            return "the model requires real tensors, and memory is too small for them"
        return self._checked(self._attempt(what_if, None), what_if)

    def _checked(self, made: Recording, what_if: WhatIf) -> Recording:
        error, made.error = made.error, None
        if made.failure is not None:
            failure = made.failure
            raise RequestError(
                f"the model does not run with {what_if.text}: "
                f"{failure.type}: {first_line(failure.message)}",
                place=what_if.place,
                hint="remove this what-if, or choose other values",
                details=failure.details,
            ) from error
        return made

    def _attempt(self, what_if: WhatIf, faker: Faker | None) -> Recording:
        recording = Recording()
        around = nullcontext() if faker is None else faker.mode
        with _cast(self._model.root, what_if.dtype, around) as dtypes:
            with around:
                batch = _changed(self._batch, what_if, dtypes)
            engine = engine_for(dataclasses.replace(self._spec, hooks=()), Kept())
            plan = dataclasses.replace(self._plan, autocast=what_if.autocast)
            with batch_on_device(batch, self._spec.run, faker, lambda _: None) as (placed, _):
                options = RunOptions(lambda *_: None, recording, fake=faker is not None)
                run(self._model, placed, plan, engine, options)
        if recording.memory is not None and what_if.batch is not None:
            recording.memory.batch = what_if.batch
        return recording


@contextmanager
def _cast(
    root: nn.Module, name: str | None, around: AbstractContextManager[Any]
) -> Iterator[tuple[torch.dtype, torch.dtype] | None]:
    """Cast the model as `root.to(dtype)` does, and put the tensors back afterwards.

    Yields the dtype that inputs change from, and that they change to.
    """
    if name is None:
        yield None
        return
    dtype: torch.dtype = getattr(torch, name)
    before = next((t.dtype for t in _floating(root)), torch.get_default_dtype())
    made: dict[int, torch.Tensor] = {}
    originals: dict[int, torch.Tensor] = {}
    with around:
        for tensor in _floating(root):
            if id(tensor) not in made:
                cast = tensor.detach().to(dtype)
                if isinstance(tensor, nn.Parameter):
                    cast = nn.Parameter(cast, requires_grad=tensor.requires_grad)
                made[id(tensor)], originals[id(cast)] = cast, tensor
    replace_tensors(root, lambda tensor: made.get(id(tensor), tensor))
    try:
        yield before, dtype
    finally:
        replace_tensors(root, lambda tensor: originals.get(id(tensor), tensor))


def _floating(root: nn.Module) -> Iterator[torch.Tensor]:
    """Yield the floating-point parameters and buffers."""
    for table in ("_parameters", "_buffers"):
        for tensor, _, _ in module_tree.tensors(root, table):
            if tensor.is_floating_point():
                yield tensor


def _changed(
    batch: Batch, what_if: WhatIf, dtypes: tuple[torch.dtype, torch.dtype] | None
) -> Batch:
    """Return the batch with another number of samples, and in the dtype of the cast model.

    Samples are repeated, so that their values stay valid.

    Raises
    ------
    RequestError : the inputs have different sizes in the dimension of the batch.
    """
    dim = what_if.batch_dim
    if what_if.batch is not None:
        _check_dim(batch, what_if)

    def change(tensor: torch.Tensor) -> torch.Tensor:
        changed = tensor.detach()
        if what_if.batch is not None and tensor.dim() > dim:
            indices = torch.arange(what_if.batch, device=tensor.device) % tensor.shape[dim]
            changed = changed.index_select(dim, indices)
        if dtypes is not None and tensor.dtype == dtypes[0]:
            changed = changed.to(dtypes[1])
        return changed.requires_grad_(tensor.requires_grad)

    return map_batch(batch, change)


def _check_dim(batch: Batch, what_if: WhatIf) -> None:
    dim = what_if.batch_dim
    sizes = sorted(
        {
            int(tensor.shape[dim])
            for _, tensor, _ in argument_leaves(batch.args, batch.kwargs)
            if tensor.dim() > dim
        }
    )
    if len(sizes) == 1 and sizes[0]:
        return
    found = ", ".join(map(str, sizes)) or "none"
    raise RequestError(
        f"the batch size is not known: the sizes of the inputs in dimension {dim} are {found}",
        place=what_if.place,
        hint="pass inputs of one batch size with `-i`, or the dimension, such as `batch_dim=1`",
    )


def _need(base: Recording, what_if: WhatIf) -> int:
    """Return about how many bytes a real run needs: the peaks of the base grow with the batch."""
    note = base.memory
    assert note is not None  # noqa: S101  # the callers check it
    factor = 1.0
    if what_if.batch is not None and note.batch:
        factor = max(1.0, what_if.batch / note.batch)
    fixed = sum(p.nbytes or 0 for p in base.parameters)
    return int(fixed + factor * max(note.forward_peak, note.backward_peak or 0))


def _unknown(what_if: WhatIf, optimizer: OptimizerSpec, note: str) -> TrainingMemory:
    """Return a row without figures."""
    return TrainingMemory(
        what_if=what_if.text,
        optimizer=optimizer.name,
        batch=what_if.batch,
        dtype=what_if.dtype,
        autocast=what_if.autocast,
        parameter_bytes=None,
        buffer_bytes=None,
        input_bytes=None,
        gradient_bytes=None,
        state_bytes=None,
        forward_peak_bytes=None,
        backward_peak_bytes=None,
        step_peak_bytes=None,
        total_bytes=None,
        note=note,
    )

"""Runs the model again from the same state and seed, apart from the run that is reported."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import torch

from hookcli.models import module_tree
from hookcli.models.batch import Batch, map_batch
from hookcli.models.bits import once
from hookcli.models.model import Model
from hookcli.models.nested import leaves
from hookcli.models.python.functions import function_of
from hookcli.run.loss import Loss, loss_function
from hookcli.run.neutrality.model_state import ModelState
from hookcli.run.prepare import set_mode
from hookcli.run.probes.pass_counts import PassCounts
from hookcli.run.seeds import generators_kept, seed_all
from hookcli.spec.plan import Plan
from hookcli.spec.request import Mode

Outputs: TypeAlias = dict[str, torch.Tensor]  # by path


def copied(batch: Batch) -> Batch:
    """Return a copy of a batch, since a model may write to its inputs."""
    return map_batch(batch, lambda t: t.detach().clone().requires_grad_(t.requires_grad))


def is_used_up(batch: Batch) -> bool:
    """Whether one run exhausts the batch, because it contains an iterator."""
    todo = [*batch.args, *batch.kwargs.values()]
    while todo:
        value = todo.pop()
        kind = type(value)
        if issubclass(kind, Iterator):
            return True
        if kind in {list, tuple}:
            todo += value
        elif kind is dict:
            todo += value.values()
    return False


def copy_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy without gradient; repeated elements (stride 0) are copied once.

    The functions of tensor subclasses are not called.
    """
    with torch._C.DisableTorchFunctionSubclass():
        plain = tensor.detach()
        distinct = once(plain)
        return plain.clone() if distinct is plain else distinct.clone().expand_as(plain)


class Rerun:
    """Runs a model several times, each time from the same state.

    The gradients of the model's parameters are removed.
    """

    def __init__(
        self, model: Model, batch: Batch, plan: Plan, device: str, *, loss: Loss | None = None
    ) -> None:
        self.model, self.plan = model, plan
        self._loss: Loss | str = plan.loss if loss is None else loss
        self.batch = batch
        self._device = device
        self._careful = False
        self._snapshot: ModelState | None = None
        self._twice: tuple[Outputs, Outputs] | None = None
        self._passes = PassCounts()

    def twice(self) -> tuple[Outputs, Outputs]:
        """Return the outputs of two runs in eval mode; the runs happen once."""
        if self._twice is None:
            self._twice = (self.forward("eval"), self.forward("eval"))
        return self._twice

    def forward(self, mode: Mode, batch: Batch | None = None) -> Outputs:
        """Return the tensors of the output by path. Errors of the model are passed on."""
        with self.running(mode, batch) as output:
            return {path: copy_of(tensor) for path, tensor, _ in leaves(output)}

    def backward(self, output: Any) -> None:
        """Run backward from the plan's loss."""
        plan = self.plan
        self._passes = replace(self._passes, backwards=self._passes.backwards + 1)
        loss = loss_function(
            self._loss, lambda _: None, seed=plan.seed, values=True, function=function_of
        )
        loss(output).backward()  # type: ignore[no-untyped-call]

    def passes(self) -> PassCounts:
        """Return the forwards and backwards since the last call of this method."""
        counts, self._passes = self._passes, PassCounts()
        return counts

    def wrote_unseen(self) -> bool:
        """Whether a forward changed a parameter without torch counting it, as through `.data`.

        In that case the runs did not start from the same state. The state is restored now, and from
        now on completely after each run.
        """
        snapshot = self._snapshot
        if snapshot is None or self._careful or not snapshot.differs():
            return False
        snapshot.restore()
        self._careful, self._twice = True, None
        return True

    @contextmanager
    def running(self, mode: Mode, batch: Batch | None = None) -> Iterator[Any]:
        """Yield the output of one forward, and restore the model at the end of the block."""
        plan = self.plan
        with self._restored(), torch.set_grad_enabled(plan.grad):
            if plan.mode != "as-is":  # such a model has only one mode
                set_mode(self.model, mode)
            seed_all(plan.seed)
            inputs = copied(self.batch if batch is None else batch)
            if self._device != "cpu":
                inputs = map_batch(inputs, lambda t: t.to(self._device))
            actual: Mode = "as-is" if plan.mode == "as-is" else mode
            self._passes = self._passes.and_then(PassCounts(actual, 1))
            yield self.model.call(inputs.args, inputs.kwargs)

    @contextmanager
    def _restored(self) -> Iterator[None]:
        """Restore what the block writes to the model."""
        root = self.model.root
        for info in self.model.parameters():
            info.tensor.grad = None
        modules = [module for module, _ in module_tree.modules(root)]
        with _generators(modules), generators_kept():
            if self.model.state_in_python:
                snapshot = self._snapshot = self._snapshot or ModelState(root)
                try:
                    yield
                finally:
                    snapshot.restore(careful=self._careful)
                return
            copies = [(info.tensor, info.tensor.detach().clone()) for info in self.model.buffers()]
            try:
                yield
            finally:
                for tensor, before in copies:
                    tensor.data.copy_(before)


_COMMON = {dict, bool, int, float, str, tuple, list, set, type(None), OrderedDict}


@contextmanager
def _generators(modules: list[Any]) -> Iterator[None]:
    """Restore the states of random generators that are attributes of modules."""
    torch_generators, python_generators = [], []
    for module in modules:
        for value in vars(module).values():
            kind = type(value)
            if kind in _COMMON:
                continue
            if issubclass(kind, random.Random):
                python_generators.append((value, value.getstate()))
            elif isinstance(value, torch.Generator):
                torch_generators.append((value, value.get_state()))
    try:
        yield
    finally:
        for generator, state in torch_generators:
            generator.set_state(state)
        for python_generator, before in python_generators:
            python_generator.setstate(before)

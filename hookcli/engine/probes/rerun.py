"""Runs the model again from the same state and seed, apart from the run that is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any, TypeAlias

import torch
from torch.nn.parameter import is_lazy

from hookcli.engine.losses.criteria import criterion_of
from hookcli.engine.losses.criterion import Loss
from hookcli.engine.neutrality.model_state import ModelState
from hookcli.engine.prepare import set_mode
from hookcli.engine.probes.loss_inputs import LossInputs
from hookcli.engine.probes.pass_counts import PassCounts
from hookcli.engine.seeds import (
    ModuleGenerators,
    generators_kept,
    has_drawn,
    has_drawn_any,
    seed_all,
)
from hookcli.memory import available
from hookcli.models import module_tree
from hookcli.models.batch import Batch, map_batch
from hookcli.models.bits import once, same_bits
from hookcli.models.model import Model
from hookcli.models.nested import leaves
from hookcli.spec.plan import Plan
from hookcli.spec.request import Mode
from hookcli.torch_private import DisableTorchFunctionSubclass

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
    with DisableTorchFunctionSubclass():
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
        self._criterion = criterion_of(plan, loss, lambda _: None, values=True)
        own = plan.loss in {"probe", "sum", "mean"} or plan.loss.startswith("output:")
        self.loss_is_users = loss is not None or not own  # hookcli's own is no code to follow
        self.batch = self._running = batch
        self.device = device
        self._careful = False
        self._snapshot: ModelState | None = None
        self._twice: tuple[Outputs, Outputs] | None = None
        self._predictions: Outputs | None = None
        self.time_is_first: bool | None = None  # whether dimension 0 is time, once that is known
        self._passes = PassCounts()
        self.draws = False  # whether the last run of `forward` drew random numbers of torch
        self.draws_any = False  # whether those of `twice` did, also of random or numpy

    def twice(self) -> tuple[Outputs, Outputs]:
        """Return the outputs of two runs in eval mode; the runs happen once."""
        if self._twice is None:
            self._twice = (self.forward("eval"), self.forward("eval"))
        return self._twice

    def forward(
        self,
        mode: Mode,
        batch: Batch | None = None,
        *,
        within: AbstractContextManager[None] | None = None,
        seed: int | None = None,
    ) -> Outputs:
        """Return the tensors of the output by path. Errors of the model are passed on.

        The seed is that of the plan, if no other is given.
        """
        with self.running(mode, batch, within=within, seed=seed) as output:
            self.draws = has_drawn(self.plan.seed, self.device)
            if self._twice is None:
                self.draws_any = self.draws or has_drawn_any(self.plan.seed, self.device)
            return {path: copy_of(tensor) for path, tensor, _ in leaves(output)}

    @contextmanager
    def running_predictions(self, batch: Batch | None = None) -> Iterator[Outputs]:
        """Yield the tensors of the output of a forward in eval mode, by path, with their graph.

        If the model returns only scalars, what its loss functions got is added.
        """
        seen = LossInputs() if self._returns_scalars() else None
        with self.running("eval", batch, within=seen) as output:
            self.draws = has_drawn(self.plan.seed, self.device)
            tensors = {path: tensor for path, tensor, _ in leaves(output)}
            yield tensors if seen is None else {**tensors, **seen.found}

    def predictions(self, batch: Batch | None = None) -> Outputs:
        """Return copies of what `running_predictions` yields."""
        with self.running_predictions(batch) as tensors:
            return {path: copy_of(tensor) for path, tensor in tensors.items()}

    def base_predictions(self) -> Outputs:
        """Return `predictions` of the batch itself; the run happens once."""
        if self._predictions is None:
            scalars = self._returns_scalars()
            self._predictions = self.predictions() if scalars else self.twice()[0]
        return self._predictions

    def _returns_scalars(self) -> bool:
        floating = [t for t in self.twice()[0].values() if t.is_floating_point()]
        return bool(floating) and not any(tensor.dim() for tensor in floating)

    def backward(self, output: Any) -> None:
        """Run backward from the plan's loss."""
        self.backward_from(self.loss(output))

    def backward_from(self, start: torch.Tensor, *, retain_graph: bool = False) -> None:
        """Run backward from a tensor; if it is no scalar, with a gradient of ones."""
        self._passes = replace(self._passes, backwards=self._passes.backwards + 1)
        start.backward(torch.ones_like(start), retain_graph=retain_graph)  # type: ignore[no-untyped-call]

    def loss(self, output: Any) -> torch.Tensor:
        """Return the plan's loss of the output of the forward that ran last."""
        return self._criterion.loss(output, self._running)

    def loss_of(self, output: Any, batch: Batch) -> torch.Tensor:
        """Return the plan's loss of a part of an output, with that part of the batch."""
        return self._criterion.loss(output, batch)

    @property
    def running_batch(self) -> Batch:
        """The batch of the forward that ran last."""
        return self._running

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
        self._careful, self._twice, self._predictions = True, None, None
        return True

    @contextmanager
    def running(
        self,
        mode: Mode,
        batch: Batch | None = None,
        *,
        within: AbstractContextManager[None] | None = None,
        seed: int | None = None,
    ) -> Iterator[Any]:
        """Yield the output of one forward, and restore the model at the end of the block.

        The forward runs `within` a context, which may attach hooks. One that is opened outside of
        this block would have them restored by the next run.
        """
        with (
            self._restored(),
            torch.set_grad_enabled(self.plan.grad),
            within or nullcontext(),
        ):
            self._start(mode, seed)
            yield self._call(mode, self.batch if batch is None else batch)

    @contextmanager
    def training(self, mode: Mode) -> Iterator[Callable[..., Any]]:
        """Yield a function that runs one forward, each from the state that the last one left.

        It takes a batch, if it is not that of the run.

        At the end of the block the model is restored bit by bit, also what an optimizer changed.

        Raises
        ------
        MemoryError : there is no memory for a copy of the parameters.
        """
        with self._parameters_kept(), self._restored(), torch.enable_grad():
            self._start(mode)
            yield lambda batch=None: self._call(mode, self.batch if batch is None else batch)

    def _start(self, mode: Mode, seed: int | None = None) -> None:
        if self.plan.mode != "as-is":  # such a model has only one mode
            set_mode(self.model, mode)
        seed_all(self.plan.seed if seed is None else seed)

    def _call(self, mode: Mode, batch: Batch) -> Any:
        inputs = copied(batch)
        if self.device != "cpu":
            inputs = map_batch(inputs, lambda t: t.to(self.device))
        actual: Mode = "as-is" if self.plan.mode == "as-is" else mode
        self._passes = self._passes.and_then(PassCounts(actual, 1))
        self._running = inputs
        return self._criterion.forward(self.model, inputs)

    @contextmanager
    def _parameters_kept(self) -> Iterator[None]:
        """Restore the values and gradients of all parameters, which a forward cannot change."""
        tensors = [info.tensor for info in self.model.parameters() if not is_lazy(info.tensor)]
        free = available()
        if free is not None and sum(t.numel() * t.element_size() for t in tensors) > free // 2:
            raise MemoryError("no memory for a copy of the parameters")
        copies = [(tensor, tensor.detach().clone()) for tensor in tensors]
        try:
            yield
        finally:
            for tensor, before in copies:
                if not same_bits(tensor, before):
                    tensor.data.copy_(before)
                tensor.grad = None

    @contextmanager
    def _restored(self) -> Iterator[None]:
        """Restore what the block writes to the model."""
        root = self.model.root
        for info in self.model.parameters():
            info.tensor.grad = None
        generators = ModuleGenerators(module for module, _ in module_tree.modules(root))
        with generators_kept(), generators.kept():
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

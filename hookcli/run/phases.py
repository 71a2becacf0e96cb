"""The phases of a run, one after another: forward, loss, backward, optimizer, state dict."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from hookcli.errors import RequestError
from hookcli.hooks.attach.graph import let_go, nodes_since
from hookcli.inputs.materialise import make_tensor
from hookcli.models.batch import Batch
from hookcli.models.model import Model
from hookcli.models.nested import leaves
from hookcli.models.python.functions import function_of
from hookcli.report.recording import Recording
from hookcli.run.cost.training_memory import training
from hookcli.run.hook_engine.engine import HookEngine
from hookcli.run.loss import Loss, loss_function, own_loss
from hookcli.run.observe.gradients import note_gradients
from hookcli.run.observe.observers import Observers
from hookcli.run.seeds import seed_all
from hookcli.run.statistics.digest import digests_of_model, digests_of_output
from hookcli.sentences import unknown
from hookcli.spec.inputs import TensorSpec, parse_inputs
from hookcli.spec.plan import Plan

if TYPE_CHECKING:
    from hookcli.run.grad_inputs import GradInputs


class Phases:
    """Runs a plan, step by step."""

    def __init__(
        self,
        model: Model,
        plan: Plan,
        engine: HookEngine,
        recording: Recording,
        watch: Observers,
        *,
        fake: bool,
        loss: Loss | None = None,
    ) -> None:
        self._model = model
        self._plan = plan
        self._engine = engine
        self._recording = recording
        self._watch = watch
        self._loss_name = plan.loss if loss is None else getattr(loss, "__name__", "a function")
        self._fake = fake
        self._optimizer: torch.optim.Optimizer | None = None
        self._taken: dict[int, torch.Tensor | None] | None = None
        self._loss = loss_function(
            plan.loss if loss is None else loss,
            self._note,
            seed=plan.seed,
            values=not fake,
            function=function_of,
        )

    def _note(self, text: str) -> None:
        if text not in self._recording.warnings:
            self._recording.warnings.append(text)

    def _phase(self, name: Any) -> None:
        self._engine.context.phase = name
        self._watch.phase(name)

    def run(self, batch: Batch, counting: AbstractContextManager[Any], stack: ExitStack) -> None:
        """Run every step, then the phases that run once."""
        plan = self._plan
        if plan.optimizer is not None:
            self._optimizer = self._make_optimizer(stack)
        with counting, self._engine.operators():
            for number in range(plan.steps):
                self._engine.start_step(number)
                self._step(batch)
        if "state_dict" in plan.phases:
            self._phase("state_dict")
            self._model.root.load_state_dict(self._model.root.state_dict())

    def came_this_far(self) -> None:
        """Note the gradients so far, as the run ended early."""
        if self._engine.context.phase == "backward" and not self._fake:
            self._recording.gradients.append(note_gradients(self._model, None, partly=True))

    def after(self) -> None:
        """Run the phases after all hooks were removed from the model."""
        if "package" in self._plan.phases:
            self._phase("package")
            self._engine.package(self._model)

    def _step(self, batch: Batch) -> None:
        plan = self._plan
        if plan.goes_backward:
            self._clear()
        seed_all(plan.seed)
        self._phase("forward")
        with self._engine.around_forward():
            output = self._model.call(batch.args, batch.kwargs)
            if plan.digests:
                self._digests(digests_of_output(output, self._engine.context.step))
            if not plan.goes_backward or self._cannot(output):
                if plan.grad:
                    self._recording.training, nodes = training(
                        self._model.root, (batch.args, batch.kwargs), output
                    )
                    del output
                    let_go(nodes)
                return
            start, gradient = self._start(output)
        del output
        self._backward(start, gradient)
        behind = nodes_since([start], 0)
        del start, gradient
        let_go(behind)
        if not self._fake:
            noted = note_gradients(self._model, self._taken, norms=plan.norms)
            self._recording.gradients.append(noted)
            self._watch.after_backward()
        if self._optimizer is not None:
            self._phase("optimizer")
            self._optimizer.step()
        if plan.digests:
            self._digests(digests_of_model(self._model, self._engine.context.step))

    def _cannot(self, output: Any) -> bool:
        """Whether backward cannot start, in a run where that is not an error."""
        if not self._plan.where_it_can or any(t.requires_grad for _, t, _ in leaves(output)):
            return False
        self._note("there was no backward pass: nothing in the output requires grad")
        return True

    def _digests(self, digests: dict[str, str]) -> None:
        self._recording.digests.update(digests)

    def _clear(self) -> None:
        for info in self._model.parameters():
            info.tensor.grad = None

    def _start(self, output: Any) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the tensor that backward starts from, and its gradient (None for a loss)."""
        self._phase("loss")
        given = self._plan.backward.gradient
        if given is None:
            default = self._loss_name == "probe"
            self._recording.loss = (
                "output:loss" if default and own_loss(output) is not None else self._loss_name
            )
            loss = self._loss(output)
            if not self._fake:
                with _disable_current_modes():  # operator hooks see only the model's operators
                    self._recording.losses.append(float(loss.detach()))
            return loss, None
        self._recording.loss = "gradient"
        graded = [t for _, t, _ in leaves(output) if t.requires_grad]
        if not graded:
            return self._loss(output), None  # raises the error that nothing requires grad
        return graded[0], _gradient(given, graded[0])

    def _backward(self, start: torch.Tensor, gradient: torch.Tensor | None) -> None:
        self._phase("backward")
        self._watch.backward_from(start)
        how = self._plan.backward
        for i in range(how.times):
            last = i == how.times - 1
            keep = how.create_graph or not last if how.retain_graph is None else how.retain_graph
            if self._watch.wanted is not None:
                self._take(self._watch.wanted, start, gradient, keep)
            else:
                start.backward(  # type: ignore[no-untyped-call]
                    gradient, retain_graph=keep, create_graph=how.create_graph
                )

    def _take(
        self, wanted: GradInputs, start: torch.Tensor, gradient: torch.Tensor | None, keep: bool
    ) -> None:
        """Compute the gradients with respect to chosen tensors, by torch.autograd.grad."""
        gradients = torch.autograd.grad(
            start,
            wanted.tensors(),
            gradient,
            retain_graph=keep,
            create_graph=self._plan.backward.create_graph,
            allow_unused=True,
        )
        self._taken = wanted.sort(gradients, self._engine.context)

    def _make_optimizer(self, stack: ExitStack) -> torch.optim.Optimizer:
        spec = self._plan.optimizer
        name = "SGD" if spec is None else spec.name
        kind = getattr(torch.optim, name, None)
        if not (isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)):
            raise RequestError(
                unknown("optimizer", name),
                place="run.optimizer.name",
                hint="use a class of torch.optim, such as SGD, Adam, AdamW or RMSprop",
            )
        infos = [p for p in self._model.parameters() if p.tensor.requires_grad]
        try:
            made: torch.optim.Optimizer = kind(
                [p.tensor for p in infos], **({} if spec is None else spec.options)
            )
        except (TypeError, ValueError) as error:
            raise RequestError(
                f"cannot create the optimizer {name}: {error}",
                place="run.optimizer",
                hint="use the keyword arguments of the class as keys",
            ) from None
        if self._plan.stepped_by_default:
            self._note(f"steps use {name} with lr 0.01: set run.optimizer to use another")
        names = {id(p.tensor): p.name for p in infos}
        self._engine.on_optimizer(made, names, stack)
        return made


def _gradient(given: Any, output: torch.Tensor) -> torch.Tensor:
    """Return the gradient of the output that the configuration gives: numbers, or a shape."""
    if isinstance(given, str):
        spec = parse_inputs((given,))[0].spec
        if not isinstance(spec, TensorSpec):
            raise RequestError(
                f"'{given}' is not a tensor",
                place="run.backward.gradient",
                hint="write nested lists of numbers, or a shape such as `2x10:float32:ones`",
            )
        made = make_tensor(spec, output.dtype, str(output.device))
    else:
        made = torch.tensor(given, dtype=output.dtype, device=output.device)
    if made.shape != output.shape:
        try:
            made = (
                made.expand(output.shape).contiguous()
                if made.dim() == 0
                else made.reshape(output.shape)
            )
        except RuntimeError:
            raise RequestError(
                f"the gradient must have the output's shape {list(output.shape)}, got "
                f"{list(made.shape)}",
                place="run.backward.gradient",
                hint="use the same shape, or one number for all elements",
            ) from None
    return made

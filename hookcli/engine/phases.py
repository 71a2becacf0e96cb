"""The phases of a run, one after another: forward, loss, backward, optimizer, state dict."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

import torch

from hookcli.engine.cost.training_memory import lacks_workspace, training
from hookcli.engine.hook_engine.engine import HookEngine
from hookcli.engine.losses.criteria import criterion_of
from hookcli.engine.losses.criterion import Loss
from hookcli.engine.losses.of_output import graded_or_refuse
from hookcli.engine.observe.gradients import note_gradients
from hookcli.engine.optimizers import make_optimizer
from hookcli.engine.seeds import seed_all
from hookcli.engine.statistics.digest import digests_of_model, digests_of_output
from hookcli.engine.watchers import Watchers
from hookcli.errors import ModelError, RequestError
from hookcli.hooks.attach.graph import let_go, nodes_since
from hookcli.inputs.materialise import make_tensor
from hookcli.models.batch import Batch
from hookcli.models.converted.quantized import quantized_types
from hookcli.models.model import Model
from hookcli.models.nested import argument_leaves, leaves, shape_of
from hookcli.report.recording import Recording
from hookcli.sentences import QUANTIZED_HINT, quantized_layers
from hookcli.spec.hooks import OptimizerSpec
from hookcli.spec.inputs import TensorSpec, parse_inputs
from hookcli.spec.plan import Plan
from hookcli.text import join_names
from hookcli.torch_private import disable_current_modes

if TYPE_CHECKING:
    from hookcli.engine.grad_inputs import GradInputs


_NO_WORKSPACE = (
    "the bytes saved for backward do not include the workspace of recurrent layers, which fake "
    "tensors do not have"
)


class Phases:
    """Runs a plan, step by step."""

    def __init__(
        self,
        model: Model,
        plan: Plan,
        engine: HookEngine,
        recording: Recording,
        watch: Watchers,
        *,
        fake: bool,
        loss: Loss | None = None,
    ) -> None:
        self._model = model
        self._plan = plan
        self._engine = engine
        self._recording = recording
        self._watch = watch
        self._fake = fake
        self._optimizer: torch.optim.Optimizer | None = None
        self._taken: dict[int, torch.Tensor | None] | None = None
        self._criterion = criterion_of(plan, loss, self._note, values=not fake)

    def _note(self, text: str) -> None:
        if text not in self._recording.warnings:
            self._recording.warnings.append(text)

    def _phase(self, name: Any) -> None:
        self._engine.context.phase = name
        self._watch.begin_phase(name)

    def run(self, batch: Batch, stack: ExitStack) -> None:
        """Run every step, then the phases that run once."""
        plan = self._plan
        if plan.optimizer is not None:
            self._optimizer = self._make_optimizer(stack)
        with self._watch.operators(), self._engine.operators():
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
            with self._autocast(batch):
                output = self._forward(batch)
            if plan.digests:
                self._digests(digests_of_output(output, self._engine.context.step))
            self._watch.forward_ended(batch, output)
            if not plan.goes_backward or self._cannot(output):
                if plan.grad and not (plan.memory or plan.compiled):
                    self._recording.training, nodes = training(
                        self._model.root, (batch.args, batch.kwargs), output
                    )
                    del output
                    if self._fake and lacks_workspace(nodes):
                        self._note(_NO_WORKSPACE)
                    let_go(nodes)
                return
            start, gradient = self._start(output, batch)
        del output
        self._backward(start, gradient)
        behind = nodes_since([start], 0)
        self._engine.release()  # what its hooks keep of the graph, while all of it is kept
        del start, gradient
        let_go(behind)
        self._watch.backward_ended()
        if not self._fake:
            noted = note_gradients(self._model, self._taken, norms=plan.norms)
            self._recording.gradients.append(noted)
            self._watch.gradients()
        if self._optimizer is not None:
            self._phase("optimizer")
            self._optimizer.step()
        if plan.digests:
            self._digests(digests_of_model(self._model, self._engine.context.step))

    def _forward(self, batch: Batch) -> Any:
        """Return the output of forward; an error outside all modules is one of a training_step."""
        criterion = self._criterion
        if criterion.forward_is_loss:
            self._recording.loss = criterion.name
        try:
            return criterion.forward(self._model, batch)
        except Exception as error:
            if criterion.forward_is_loss and self._watch.recorder.failed_in(error) is None:
                self._phase("loss")
            raise

    def _cannot(self, output: Any) -> bool:
        """Whether backward cannot start, in a run where that is not an error."""
        if not self._plan.where_it_can or any(t.requires_grad for _, t, _ in leaves(output)):
            return False
        self._note("there was no backward pass: nothing in the output requires grad")
        return True

    def _autocast(self, batch: Batch) -> AbstractContextManager[Any]:
        """Return the context that casts operators of forward, if the plan has one."""
        name = self._plan.autocast
        if name is None:
            return nullcontext()
        tensors = [t for _, t, _ in argument_leaves(batch.args, batch.kwargs)]
        device = tensors[0].device.type if tensors else "cpu"
        return torch.autocast(device, getattr(torch, name))

    def _digests(self, digests: dict[str, str]) -> None:
        self._recording.digests.update(digests)

    def _clear(self) -> None:
        for info in self._model.parameters():
            info.tensor.grad = None

    def _start(self, output: Any, batch: Batch) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the tensor that backward starts from, and its gradient (None for a loss)."""
        self._phase("loss")
        self._check_quantized(output)
        given = self._plan.backward.gradient
        if given is None:
            return self._loss(output, batch), None
        self._recording.loss = "gradient"
        graded = graded_or_refuse(output)[0][1]
        return graded, _gradient(given, graded)

    def _loss(self, output: Any, batch: Batch) -> torch.Tensor:
        criterion, recording = self._criterion, self._recording
        recording.loss, recording.loss_place = criterion.name_for(output), criterion.place
        loss = criterion.loss(output, batch)
        recording.made_target = criterion.made_target
        if not self._fake:
            with disable_current_modes():  # operator hooks see only the model's operators
                recording.losses.append(float(loss.detach()))
        return loss

    def _check_quantized(self, output: Any) -> None:
        """Raise the error that names the layers, if backward cannot start as they are quantized."""
        if any(tensor.requires_grad for _, tensor, _ in leaves(output)):
            return
        types = quantized_types(self._model.root)
        if types:
            raise ModelError(
                quantized_layers(join_names(types)),
                place="loss",
                hint=QUANTIZED_HINT,
            )

    def _backward(self, start: torch.Tensor, gradient: torch.Tensor | None) -> None:
        self._phase("backward")
        self._watch.backward_from(start)
        how = self._plan.backward
        for i in range(how.times):
            last = i == how.times - 1
            keep = how.create_graph or not last if how.retain_graph is None else how.retain_graph
            if self._watch.grad_inputs is not None:
                self._take(self._watch.grad_inputs, start, gradient, keep)
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
        spec = self._plan.optimizer or OptimizerSpec("SGD", {})
        infos = [p for p in self._model.parameters() if p.tensor.requires_grad]
        made = make_optimizer(
            spec,
            [p.tensor for p in infos],
            "run.optimizer",
            name_place="run.optimizer.name",
            hint="use the keyword arguments of the class as keys",
        )
        if self._plan.stepped_by_default:
            self._note(f"steps use {spec.name} with lr 0.01: set run.optimizer to use another")
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
    if shape_of(made) != shape_of(output):
        try:
            made = (
                made.expand(output.shape).contiguous()
                if made.dim() == 0
                else made.reshape(output.shape)
            )
        except RuntimeError:
            raise RequestError(
                f"the gradient must have the output's shape {list(shape_of(output))}, got "
                f"{list(shape_of(made))}",
                place="run.backward.gradient",
                hint="use the same shape, or one number for all elements",
            ) from None
    return made

"""Notes on calls whose hooks do not fire, or whose values need an explanation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from hookcli.engine.watcher import Watcher
from hookcli.models import module_tree
from hookcli.models.converted.compiled import DISABLED, is_wrapper
from hookcli.models.model import Call, CallInputs, Model, lost_checkpoint
from hookcli.report.recording import NO_GRAD, NO_GRAD_INPUT, NO_OUTPUT, Recording
from hookcli.text import join_names
from hookcli.torch_private import peek_interpreter_stack

_TRANSFORM = "ran inside a function transform: shapes and hooks are those inside the transform"
_OTHERS = "ran with parameters other than its own: hooks on its own parameters do not see them"


class CallNotes(Watcher):
    """Adds notes to calls when they start; `backward` tells whether the run goes backward."""

    def __init__(self, model: Model, *, backward: bool) -> None:
        self._backward = backward
        self._own = {id(tensor) for tensor, _, _ in module_tree.tensors(model.root, "_parameters")}
        self._registered = {id(module) for module, _ in module_tree.modules(model.root)}

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Add notes about unusual conditions to a call."""
        if peek_interpreter_stack() is not None:
            call.note(_TRANSFORM)
        if not self._backward:
            return
        if not torch.is_grad_enabled():
            call.note(NO_GRAD if lost_checkpoint() is None else NO_GRAD_INPUT)
        if call.key in self._registered and any(
            parameter is not None and id(parameter) not in self._own
            for parameter in call.module._parameters.values()
        ):
            call.note(_OTHERS)

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Note that the model has returned None, as without a `return`."""
        if self._backward and output is None and error is None and call.name == "":
            call.note(NO_OUTPUT)


def note_compiled(model: Model, recording: Recording) -> None:
    """Add the warning that compiled modules run eagerly."""
    if any(is_wrapper(module) for module, _ in module_tree.modules(model.root)):
        recording.warnings.append(DISABLED)


def note_bypassed(recording: Recording, used: Iterable[int]) -> None:
    """Add a warning with the modules that were used without a call, so their hooks cannot fire.

    `used` are the ids of parameters that were arguments of operators, or that have a gradient.
    """
    called = {call.key for call in recording.calls}
    used_parameters = set(used)
    shared = {key for info in recording.modules if info.key in called for key in info.own}
    names = [
        info.name
        for info in recording.modules
        if info.callable
        and info.key not in called
        and set(info.own) & used_parameters
        and not set(info.own) <= shared  # a tied weight is used by its other owner
    ]
    if names:
        listed = join_names(names, 5)
        recording.warnings.append(
            f"hooks on {listed} do not fire: forward() was called directly, or another module "
            "used the weights"
        )


def with_gradients(model: Model) -> list[int]:
    """Return the ids of the parameters that have a gradient."""
    return [id(info.tensor) for info in model.parameters() if info.tensor.grad is not None]

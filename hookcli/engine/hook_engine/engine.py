"""The hooks of a run: the methods that a run calls. Without hooks these do nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from hookcli.engine.watcher import Watcher
from hookcli.hooks.context import Context
from hookcli.models.model import Model
from hookcli.report.recording import EventNote, Recording

if TYPE_CHECKING:
    from hookcli.hooks.hook import Hook


class HookEngine(Watcher):
    """The engine of a run without hooks, and the base of that with hooks, `AttachedHooks`.

    It does not import the code of hooks.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.hooks: list[Hook] = []

    def take_over(self, earlier: HookEngine) -> None:
        """Continue the counts and findings of the engine that saw the model being built."""

    def judge(self, recording: Recording, alive: Callable[[], list[torch.Tensor]] | None) -> None:
        """Add the findings about hooks to the recording, after the run.

        `alive` returns the tensors that may still be alive: those of the model and the batch. It is
        None if variables of the user's loop may reference any tensor.
        """
        self.context.open = False
        recording.findings = list(self.context.findings)

    def watched_by(self, callback: Callable[[EventNote], None]) -> None:
        """Call a function with each event."""
        note = self.context.note

        def both(event: EventNote) -> None:
            note(event)
            callback(event)

        self.context.note = both

    def building(self) -> AbstractContextManager[None]:
        """Attach the hooks that fire while the model is built."""
        return nullcontext()

    def resolve(self, model: Model) -> None:
        """Find the targets of every hook.

        Raises
        ------
        ProblemsError, RequestError : selectors match nothing; all are reported.
        """

    def references(self, module: nn.Module) -> int:
        """Return how many references to a module the hooks have, while they are not attached."""
        return 0

    def attached(self) -> AbstractContextManager[None]:
        """Attach the hooks on modules and tensors, in the order of the configuration."""
        return nullcontext()

    def around_forward(self) -> AbstractContextManager[None]:
        """Attach the hooks that are active during a whole forward."""
        return nullcontext()

    def root_ended(self) -> None:
        """Register the hooks on tensors of several calls, after the root's call."""

    def release(self, *, only_fired: bool = False) -> None:
        """Remove the hooks on tensors of previous calls; with `only_fired`, those that fired."""

    def operators(self) -> AbstractContextManager[Any]:
        """Return the mode in which `op` hooks fire."""
        return nullcontext()

    def on_optimizer(
        self, optimizer: torch.optim.Optimizer, names: dict[int, str], stack: ExitStack
    ) -> None:
        """Attach the hooks that fire around the optimizer's steps."""

    def averaging(self) -> Hook | None:
        """Return the hook that averages gradients over ranks, if there is one."""
        return None

    def package(self, model: Model) -> None:
        """Package the model, for the hooks that fire then."""

    def start_step(self, number: int) -> None:
        """Begin a step: the calls of each module count from 0 again."""
        self.context.step = number
        self.context.calls.restart()

"""The protocol between a run and its hooks: the methods that a run calls."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any, Protocol

import torch

from hookcli.hooks.context import Context
from hookcli.models.model import Call, Model
from hookcli.report.recording import EventNote, Recording

if TYPE_CHECKING:
    from hookcli.hooks.hook import Hook


class HookEngine(Protocol):
    """The hooks of a run. `NoHooks` and `AttachedHooks` implement it."""

    context: Context
    hooks: list[Hook]

    def take_over(self, earlier: HookEngine) -> None:
        """Continue the counts and findings of the engine that saw the model being built."""

    def judge(self, recording: Recording, alive: Callable[[], list[torch.Tensor]] | None) -> None:
        """Add the findings about hooks to the recording, after the run.

        `alive` returns the tensors that may still be alive: those of the model and the batch. It is
        None if variables of the user's loop may reference any tensor.
        """

    def watched_by(self, callback: Callable[[EventNote], None]) -> None:
        """Call a function with each event."""

    def building(self) -> AbstractContextManager[None]:
        """Attach the hooks that fire while the model is built."""

    def resolve(self, model: Model) -> None:
        """Find the targets of every hook.

        Raises
        ------
        ProblemsError, RequestError : selectors match nothing; all are reported.
        """

    def attached(self) -> AbstractContextManager[None]:
        """Attach the hooks on modules and tensors, in the order of the configuration."""

    def enter(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        """Handle a call that starts."""

    def leave(self, call: Call, output: Any, *, raised: bool = False) -> None:
        """Handle a call that ended; `output` is None if it `raised`."""

    def around_forward(self) -> AbstractContextManager[None]:
        """Attach the hooks that are active during a whole forward."""

    def forward_ended(self) -> None:
        """Register the hooks on tensors of several calls, after the root's call."""

    def release(self, *, only_fired: bool = False) -> None:
        """Remove the hooks on tensors of previous calls; with `only_fired`, those that fired."""

    def operators(self) -> AbstractContextManager[Any]:
        """Return the mode in which `op` hooks fire."""

    def before_backward(self, start: torch.Tensor) -> None:
        """Attach the hooks on the backward pass that starts from this tensor."""

    def on_optimizer(
        self, optimizer: torch.optim.Optimizer, names: dict[int, str], stack: ExitStack
    ) -> None:
        """Attach the hooks that fire around the optimizer's steps."""

    def averaging(self) -> Hook | None:
        """Return the hook that averages gradients over ranks, if there is one."""

    def package(self, model: Model) -> None:
        """Package the model, for the hooks that fire then."""

    def start_step(self, number: int) -> None:
        """Begin a step: the calls of each module count from 0 again."""


class ContextKeeper:
    """The common base of both implementations, which has the context of the run."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.hooks: list[Hook] = []

    def watched_by(self, callback: Callable[[EventNote], None]) -> None:
        """Call a function with each event."""
        note = self.context.note

        def both(event: EventNote) -> None:
            note(event)
            callback(event)

        self.context.note = both

    def start_step(self, number: int) -> None:
        """Begin a step: the calls of each module count from 0 again."""
        self.context.step = number
        self.context.calls.restart()

    def judge(self, recording: Recording, alive: Callable[[], list[torch.Tensor]] | None) -> None:
        """Add the findings to the recording, after the run."""
        self.context.open = False
        recording.findings = list(self.context.findings)

"""The protocol between a run and its hooks: what a run tells them, and in which order."""

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
        """Leave in the recording what was found of hooks; the run has ended.

        `alive` gives the tensors that may still be there: the model's, and the batch. None where a
        loop's own variables may hold any.
        """

    def watched_by(self, told: Callable[[EventNote], None]) -> None:
        """Let somebody know of each firing as it is noted."""

    def building(self) -> AbstractContextManager[None]:
        """What fires while the model is built is in place."""

    def resolve(self, model: Model) -> None:
        """Find the targets of every hook.

        Raises
        ------
        ProblemsError, RequestError : selectors that match nothing, all of them.
        """

    def attached(self) -> AbstractContextManager[None]:
        """The hooks of modules and tensors are in place, in the order of the configuration."""

    def enter(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        """A call starts."""

    def leave(self, call: Call, output: Any, *, raised: bool = False) -> None:
        """A call ended; `output` is None where it `raised`."""

    def around_forward(self) -> AbstractContextManager[None]:
        """What stands around a forward is in place."""

    def forward_ended(self) -> None:
        """The root's call is over: hooks on tensors of several calls can be registered."""

    def release(self, *, told: bool = False) -> None:
        """Take back what stands on tensors of calls before; `told`, only what has fired."""

    def operators(self) -> AbstractContextManager[Any]:
        """The mode in which `op` hooks fire."""

    def before_backward(self, start: torch.Tensor) -> None:
        """Backward is about to start from this tensor."""

    def on_optimizer(
        self, optimizer: torch.optim.Optimizer, names: dict[int, str], stack: ExitStack
    ) -> None:
        """Attach what fires around its steps."""

    def averaging(self) -> Hook | None:
        """The hook that averages gradients over ranks, where there is one."""

    def package(self, model: Model) -> None:
        """Package the model, for the hooks that fire then."""

    def start_step(self, number: int) -> None:
        """Another step begins: calls count from 0."""


class ContextKeeper:
    """What both implementations do alike: they keep the context of the run."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.hooks: list[Hook] = []

    def watched_by(self, told: Callable[[EventNote], None]) -> None:
        """Let somebody know of each firing as it is noted."""
        note = self.context.note

        def both(event: EventNote) -> None:
            note(event)
            told(event)

        self.context.note = both

    def start_step(self, number: int) -> None:
        """Another step begins: calls count from 0."""
        self.context.step = number
        self.context.calls.restart()

    def judge(self, recording: Recording, alive: Callable[[], list[torch.Tensor]] | None) -> None:
        """Leave the findings in the recording; the run has ended."""
        self.context.open = False
        recording.findings = list(self.context.findings)

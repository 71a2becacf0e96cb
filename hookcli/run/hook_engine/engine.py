"""What a run tells its hooks. Without any it does nothing, and imports none of their code."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

import torch

from hookcli.hooks.context import Context
from hookcli.models.model import Call, Model
from hookcli.report.recording import EventNote, Recording
from hookcli.report.sinks import Sink
from hookcli.spec.request import Spec

if TYPE_CHECKING:
    from hookcli.hooks.hook import Hook


class Engine:
    """The hooks of a run that has none; `HookedEngine` has some."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.hooks: list[Hook] = []

    def after(self, spec: Spec, sink: Sink) -> Engine:
        """A fresh engine for a run of the model that this one saw being built."""
        return engine_for(spec, sink)

    def judge(self, recording: Recording, alive: Callable[[], list[torch.Tensor]] | None) -> None:
        """Leave in the recording what was found of hooks; the run has ended.

        `alive` gives the tensors that may still be there: the model's, and the batch. None where a
        loop's own variables may hold any.
        """
        self.context.open = False
        recording.findings = list(self.context.findings)

    def watched_by(self, told: Callable[[EventNote], None]) -> None:
        """Let somebody know of each firing as it is noted."""
        note = self.context.note

        def both(event: EventNote) -> None:
            note(event)
            told(event)

        self.context.note = both

    def building(self) -> AbstractContextManager[None]:
        """What fires while the model is built is in place."""
        return nullcontext()

    def resolve(self, model: Model) -> None:
        """Find the targets of every hook.

        Raises
        ------
        ProblemsError, RequestError : selectors that match nothing, all of them.
        """

    def attached(self) -> AbstractContextManager[None]:
        """The hooks of modules and tensors are in place, in the order of the configuration."""
        return nullcontext()

    def enter(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        """A call starts."""

    def leave(self, call: Call, output: Any, *, raised: bool = False) -> None:
        """A call ended; `output` is None where it `raised`."""

    def around_forward(self) -> AbstractContextManager[None]:
        """What stands around a forward is in place."""
        return nullcontext()

    def forward_ended(self) -> None:
        """The root's call is over: hooks on tensors of several calls can be registered."""

    def release(self, *, told: bool = False) -> None:
        """Take back what stands on tensors of calls before; `told`, only what has fired."""

    def operators(self) -> AbstractContextManager[Any]:
        """The mode in which `op` hooks fire."""
        return nullcontext()

    def before_backward(self, start: torch.Tensor) -> None:
        """Backward is about to start from this tensor."""

    def on_optimizer(
        self, optimizer: torch.optim.Optimizer, names: dict[int, str], stack: ExitStack
    ) -> None:
        """Attach what fires around its steps."""

    def averaging(self) -> Hook | None:
        """The hook that averages gradients over ranks, where there is one."""
        return None

    def package(self, model: Model) -> None:
        """Package the model, for the hooks that fire then."""

    def start_step(self, number: int) -> None:
        """Another step begins: calls count from 0."""
        self.context.step = number
        self.context.calls.restart()


def engine_for(spec: Spec, sink: Sink, *, clock: type[Context] = Context) -> Engine:
    """The engine for the hooks of a request.

    Raises
    ------
    ProblemsError, RequestError, ModelError : actions that cannot be had.
    """
    if not spec.hooks:
        return Engine(clock(sink.add, lambda _: None, lambda _: None, _nothing, _nothing))
    from hookcli.run.hook_engine.attached import HookedEngine
    from hookcli.run.statistics.cache import StatisticsCache
    from hookcli.run.statistics.statistics import norm_of, norm_of_change, norm_of_sum, statistics

    context = clock(
        note=sink.add,
        statistics=StatisticsCache(statistics),
        norm=StatisticsCache(norm_of),
        norm_of_sum=StatisticsCache(norm_of_sum),
        difference=norm_of_change,
    )
    return HookedEngine(spec, context)


def _nothing(*_: torch.Tensor) -> None:
    return None

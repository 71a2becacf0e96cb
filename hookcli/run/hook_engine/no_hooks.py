"""The engine of a run without hooks: it does nothing, and does not import their code."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

import torch

from hookcli.models.model import Call, Model
from hookcli.run.hook_engine.engine import ContextKeeper, HookEngine

if TYPE_CHECKING:
    from hookcli.hooks.hook import Hook


class NoHooks(ContextKeeper):
    """An engine without hooks: every method of `HookEngine` does nothing."""

    def take_over(self, earlier: HookEngine) -> None:
        pass

    def building(self) -> AbstractContextManager[None]:
        return nullcontext()

    def resolve(self, model: Model) -> None:
        pass

    def attached(self) -> AbstractContextManager[None]:
        return nullcontext()

    def enter(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        pass

    def leave(self, call: Call, output: Any, *, raised: bool = False) -> None:
        pass

    def around_forward(self) -> AbstractContextManager[None]:
        return nullcontext()

    def forward_ended(self) -> None:
        pass

    def release(self, *, only_fired: bool = False) -> None:
        pass

    def operators(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def before_backward(self, start: torch.Tensor) -> None:
        pass

    def on_optimizer(
        self, optimizer: torch.optim.Optimizer, names: dict[int, str], stack: ExitStack
    ) -> None:
        pass

    def averaging(self) -> Hook | None:
        return None

    def package(self, model: Model) -> None:
        pass

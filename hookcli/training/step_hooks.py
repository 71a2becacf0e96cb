"""The hooks on one root in its steps in detail: those of the run, and those asked for meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from hookcli.engine.loop.hooks import LoopHooks
from hookcli.report.sinks import Sink
from hookcli.spec.request import Spec


@dataclass(slots=True)
class HookSet:
    """Hooks, and whether those on modules are attached now."""

    spec: Spec
    hooks: LoopHooks
    sink: Sink
    is_attached: bool = False
    is_reported: bool = False  # whether the events are in the recording

    def observe(
        self,
        called: nn.Module,
        step: int,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        is_part: bool,
    ) -> tuple[Any, ...] | None:
        """Begin a step in a forward pre-hook of `called`; return new arguments of its call."""
        hooks = self.hooks
        hooks.part_runs = is_part
        hooks.forget_optimizers()
        hooks.start_step(step)
        hooks.clock.open = True
        if self.is_attached:
            return None
        self.is_attached = True
        return hooks.attach_during_call(called, args, kwargs)

    def references(self, root: nn.Module) -> int:
        """Return how many references to a root this has, while no hooks are attached."""
        return self.hooks.references(root)

    def detach(self) -> None:
        """Remove the hooks on modules."""
        if self.is_attached:
            self.is_attached = False
            self.hooks.detach()


@dataclass(slots=True)
class AskedSet(HookSet):
    """Hooks that somebody asked for while the script runs, with their first and last step."""

    first: int = 0
    last: int = 0


@dataclass(slots=True)
class StepHooks:
    """The hooks of the run on one root, if it has any so far, and those of each question.

    The hooks of a question are attached beside those of the run, in the steps that it is about.
    """

    run: HookSet | None = None
    asked: dict[str, AskedSet] = field(default_factory=dict)
    is_attached: bool = False  # whether hooks on modules are there
    old: list[str] = field(default_factory=list)  # questions that were answered

    def _sets(self) -> Iterator[HookSet]:
        if self.run is not None:
            yield self.run
        yield from self.asked.values()

    def observe(
        self,
        called: nn.Module,
        step: int,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        is_part: bool,
    ) -> tuple[Any, ...] | None:
        """Begin a step in a forward pre-hook of `called`; return new arguments of its call."""
        replaced = None
        self.is_attached = True
        for one in self._sets():
            if isinstance(one, AskedSet) and not one.first <= step <= one.last:
                continue
            now = args if replaced is None else replaced
            result = one.observe(called, step, now, kwargs, is_part=is_part)
            replaced = replaced if result is None else result
        return replaced

    def go_on(self, step: int) -> None:
        """Begin a step whose number was not known when its first forward began."""
        for one in self._sets():
            if one.hooks.clock.step != step:
                one.hooks.start_step(step)

    def set_part_runs(self, is_running: bool) -> None:
        """Set whether a call of a part alone belongs to the loop."""
        for one in self._sets():
            one.hooks.part_runs = is_running

    def set_optimizing(self, is_stepping: bool) -> None:
        """Set whether the optimizer steps now."""
        for one in self._sets():
            one.hooks.clock.optimizing = is_stepping

    def follow(self, optimizer: Any) -> None:
        """Attach the hooks on optimizers to one more, where a step is observed."""
        for one in self._sets():
            if one.hooks.clock.open:
                one.hooks.follow(optimizer)

    def forget_optimizers(self) -> None:
        """Remove the hooks on optimizers."""
        for one in self._sets():
            one.hooks.forget_optimizers()

    def open_again(self, step: int) -> None:
        """Observe the rest of a step, after `close`."""
        for one in self._sets():
            if one.hooks.clock.step == step:
                one.hooks.clock.open = True

    def close(self) -> None:
        """End the observation of a step. The hooks stay until `detach`."""
        for one in self._sets():
            one.hooks.clock.open = False

    def detach(self) -> None:
        """Remove the hooks on modules."""
        self.is_attached = False
        for one in self._sets():
            one.detach()

    def references(self, root: nn.Module) -> int:
        """Return how many references to a root the hooks have, while none are attached."""
        return sum(one.references(root) for one in self._sets())

    def let_go(self) -> None:
        """Free the hooks, after the last report."""
        for one in self._sets():
            one.hooks.forget_optimizers()
            one.hooks.let_go()
        self.run = None
        self.asked.clear()

    def answered(self, identity: str) -> None:
        """Note that the hooks of a question are not needed any more: see `forget_answered`."""
        if identity in self.asked:
            self.asked[identity].hooks.clock.open = False
            self.old.append(identity)

    def forget_answered(self) -> None:
        """Remove the hooks of answered questions.

        This is called when a forward begins: at the end of a step, torch iterates over the hooks of
        the optimizer.
        """
        for identity in self.old:
            one = self.asked.pop(identity)
            one.hooks.forget_optimizers()
            one.detach()
        self.old.clear()

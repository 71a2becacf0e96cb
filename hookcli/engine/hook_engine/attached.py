"""The engine of a run with hooks: builds and attaches them, and follows every call."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from importlib import import_module
from typing import Any

import torch
from torch import nn

from hookcli.catalogue.kind import Kind, Stage
from hookcli.engine.hook_engine.engine import HookEngine
from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.errors import RequestError
from hookcli.hooks.attach.attachments import Attachments
from hookcli.hooks.attach.operators import Operators
from hookcli.hooks.backends import check_backend
from hookcli.hooks.build import build_hooks, refuse
from hookcli.hooks.context import Context
from hookcli.hooks.hook import Hook
from hookcli.hooks.misuse.firings import Runs, fired_otherwise, unfulfilled
from hookcli.hooks.resolve import Known, Targets, missed, resolve
from hookcli.models.converted.compiled import is_wrapper, wrappers_around
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.scripted import format_of
from hookcli.report.recording import HookFinding, Recording
from hookcli.spec.request import Spec


class AttachedHooks(HookEngine):
    """All hooks of a run; see `HookEngine` for its methods."""

    def __init__(self, spec: Spec, context: Context) -> None:
        super().__init__(context)
        self.hooks = build_hooks(spec, context)
        self._patterns = spec.run.package
        self._attachments = Attachments()
        # Imported before the model's code runs, which may change what can be imported.
        self._functions = {hook.kind.name: attach_function(hook.kind) for hook in self.hooks}
        self._targets: dict[int, Targets] = {}
        self._runs = Runs(context)

    def take_over(self, earlier: HookEngine) -> None:
        fired = sum(sum(hook.fired.values()) for hook in earlier.hooks)
        self.context.sequence = itertools.count(fired)
        self.context.findings = list(earlier.context.findings)
        for hook, before in zip(self.hooks, earlier.hooks, strict=True):
            hook.fired.update(before.fired)
            hook.attached += before.attached

    def judge(self, recording: Recording, alive: Callable[[], list[torch.Tensor]] | None) -> None:
        self.context.open = False
        if recording.failure is None:
            for finding in (*unfulfilled(self.hooks, alive), *self._fired_otherwise()):
                self.context.find(finding)
        super().judge(recording, alive)

    def _fired_otherwise(self) -> Iterator[HookFinding]:
        """Yield findings about hooks that fired more or less often than their modules ran."""
        for i, hook in enumerate(self.hooks):
            if i in self._targets:
                yield from fired_otherwise(hook, self._targets[i].modules, self._runs)

    def _at(self, stage: Stage) -> list[Hook]:
        """Return the hooks that are attached at this stage of the run."""
        return [hook for hook in self.hooks if hook.kind.stage is stage]

    @contextmanager
    def building(self) -> Iterator[None]:
        self.context.phase = "build"
        with ExitStack() as stack:
            for hook in self._at(Stage.BUILD):
                self._functions[hook.kind.name](hook, stack)
            yield

    def resolve(self, model: Model) -> None:
        known = Known.of(model)
        self.context.names = {id(module): names[0] for module, names in known.modules}
        problems: list[RequestError] = []
        for i, hook in enumerate(self.hooks):
            try:
                check_backend(hook.spec, format_of(model.root))
                if hook.kind.stage is Stage.MODEL:
                    targets = self._targets[i] = resolve(hook.spec, known)
                    wrappers = [is_wrapper(module) for _, module in targets.modules]
                    hook.on_wrappers = bool(wrappers) and all(wrappers)
                    if not targets.values:
                        named = [name for name, _ in targets.modules]
                        hook.targets = (*named, *(info.name for info in targets.parameters))
            except RequestError as problem:
                problems.append(problem)
        refuse(problems)
        self.context.called_as_written = wrappers_around(model.root, self._watched_in_backward())
        for finding in missed(((self.hooks[i].spec, t) for i, t in self._targets.items()), known):
            self.context.find(finding)

    def _watched_in_backward(self) -> set[int]:
        """Return the ids of the modules that backward hooks are attached to."""
        module_ids: set[int] = set()
        for i, targets in self._targets.items():
            kind = self.hooks[i].kind
            if "backward" not in kind.phases or kind.target == "CUDA graph":  # not on a module
                continue
            module_ids.update(id(module) for _, module, _ in targets.values)
            module_ids.update(id(module) for _, module in targets.modules)
        return module_ids

    @contextmanager
    def attached(self) -> Iterator[None]:
        self._attachments = Attachments()  # without those of an earlier time
        with ExitStack() as stack:
            stack.callback(self._attachments.calls.release)
            for i, hook in enumerate(self.hooks):
                if hook.kind.stage is Stage.MODEL:
                    attach = self._functions[hook.kind.name]
                    attach(hook, self._targets[i], self._attachments, stack)
            yield

    def references(self, module: nn.Module) -> int:
        return sum(
            target is module
            for targets in self._targets.values()
            for target in (*(t for _, t in targets.modules), *(t for _, t, _ in targets.values))
        )

    def enter(self, call: Call, batch: CallInputs) -> None:
        self._runs.enter(call)
        self._attachments.calls.enter(call, batch)
        for pair in self._attachments.saved:
            pair.enter(call)

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        raised = error is not None
        output = None if raised else output
        self._runs.leave(call, raised=raised)
        for pair in reversed(self._attachments.saved):
            pair.leave(call)
        self._attachments.calls.leave(call, output)
        if not raised:
            for ended in self.context.ended:
                ended(call, output)

    @contextmanager
    def around_forward(self) -> Iterator[None]:
        with ExitStack() as stack:
            for pair in self._attachments.saved:
                stack.enter_context(pair.everywhere())
            yield
        self.root_ended()

    def release(self, *, only_fired: bool = False) -> None:
        if only_fired:
            self._attachments.calls.release_fired()
        else:
            self._attachments.calls.release()

    def root_ended(self) -> None:
        self._attachments.calls.forward_ended()
        for attach in self._attachments.late:
            attach()
        self._attachments.late.clear()

    def operators(self) -> AbstractContextManager[Any]:
        hooks = self._attachments.operators
        return Operators(hooks) if hooks else nullcontext()

    def graph(self, start: torch.Tensor, owners: NodeOwners) -> None:
        by_function: dict[Callable[[list[Hook]], Any], list[Hook]] = {}
        for hook in self._at(Stage.BACKWARD):
            by_function.setdefault(self._functions[hook.kind.name], []).append(hook)
            hook.attached += 1
        for attach, hooks in by_function.items():
            start.register_hook(attach(hooks))  # type: ignore[no-untyped-call]

    def on_optimizer(
        self, optimizer: torch.optim.Optimizer, names: dict[int, str], stack: ExitStack
    ) -> None:
        for hook in self._at(Stage.OPTIMIZER):
            self._functions[hook.kind.name](hook, optimizer, names, stack)

    def averaging(self) -> Hook | None:
        return next(iter(self._at(Stage.DISTRIBUTED)), None)

    def package(self, model: Model) -> None:
        by_function: dict[Callable[..., None], list[Hook]] = {}
        for hook in self._at(Stage.PACKAGE):
            by_function.setdefault(self._functions[hook.kind.name], []).append(hook)
        for export, hooks in by_function.items():
            export(model.root, hooks, self._patterns)

    def start_step(self, number: int) -> None:
        super().start_step(number)
        self._attachments.calls.release()
        for restart in self.context.restarts:
            restart()


def attach_function(kind: Kind) -> Any:
    """Return the function that attaches hooks of a kind, which its row names.

    The row's `stage` defines its arguments.
    """
    file, _, name = kind.attach.partition(":")
    return getattr(import_module(f"hookcli.hooks.attach.{file}"), name)

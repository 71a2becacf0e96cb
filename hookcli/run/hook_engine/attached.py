"""An engine with hooks: built from the configuration, attached to the model, told of every call."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.errors import RequestError
from hookcli.hooks.attach.call_tensors import CallTensorHook, CallTensorHooks
from hookcli.hooks.attach.engine import Queue, SavedTensors
from hookcli.hooks.attach.module import attach_global, attach_modules
from hookcli.hooks.attach.operators import Operators
from hookcli.hooks.attach.optimizer import attach_optimizer
from hookcli.hooks.attach.registration import attach_registration
from hookcli.hooks.attach.state import attach_state
from hookcli.hooks.attach.tensors import attach_parameters, attach_together
from hookcli.hooks.backends import check_backend
from hookcli.hooks.build import build_hooks, refuse
from hookcli.hooks.context import Context
from hookcli.hooks.hook import Hook
from hookcli.hooks.misuse.firings import Runs, fired_otherwise, unfulfilled
from hookcli.hooks.resolve import Known, Targets, missed, resolve
from hookcli.models.compiled import is_wrapper, wrappers_around
from hookcli.models.model import Call, Model, TensorInfo
from hookcli.models.scripted import format_of
from hookcli.report.recording import HookFinding, Recording
from hookcli.run.hook_engine.engine import ContextKeeper, HookEngine
from hookcli.spec.hooks import Match
from hookcli.spec.request import Spec


class AttachedHooks(ContextKeeper):
    """All hooks of a run; see `HookEngine` for its methods."""

    def __init__(self, spec: Spec, context: Context) -> None:
        super().__init__(context)
        self.hooks = build_hooks(spec, context)
        self._patterns = spec.run.package
        self._taps = CallTensorHooks()
        self._saved: list[SavedTensors] = []
        self._late: list[Callable[[], None]] = []  # what waits for the end of a forward
        self._operators: list[tuple[Hook, list[tuple[Match, dict[int, str]]] | None]] = []
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
        """Of hooks that fired more or less often than their modules ran."""
        for i, hook in enumerate(self.hooks):
            if i in self._targets:
                yield from fired_otherwise(hook, self._targets[i].modules, self._runs)

    def _of(self, family: str) -> list[Hook]:
        """The hooks of one family of kinds."""
        return [hook for hook in self.hooks if CATALOGUE[hook.spec.kind].family == family]

    @contextmanager
    def building(self) -> Iterator[None]:
        self.context.phase = "build"
        with ExitStack() as stack:
            for hook in self._of("registration"):
                attach_registration(hook, stack)
            yield

    def resolve(self, model: Model) -> None:
        known = Known.of(model)
        self.context.names = {id(module): names[0] for module, names in known.modules}
        problems: list[RequestError] = []
        for i, hook in enumerate(self.hooks):
            try:
                check_backend(hook.spec, format_of(model.root))
                if CATALOGUE[hook.spec.kind].target in {"optimizer", "package"}:
                    continue
                targets = self._targets[i] = resolve(hook.spec, known)
                wrappers = [is_wrapper(module) for _, module in targets.modules]
                hook.on_wrappers = bool(wrappers) and all(wrappers)
            except RequestError as problem:
                problems.append(problem)
        refuse(problems)
        self.context.called_as_written = wrappers_around(model.root, self._watched_in_backward())
        for finding in missed(((self.hooks[i].spec, t) for i, t in self._targets.items()), known):
            self.context.find(finding)

    def _watched_in_backward(self) -> set[int]:
        """Identities of the modules at which hooks do more than look at a forward."""
        found: set[int] = set()
        for i, targets in self._targets.items():
            kind = CATALOGUE[self.hooks[i].spec.kind]
            if "backward" not in kind.phases:
                continue
            found.update(id(module) for _, module, _ in targets.values)
            found.update(id(module) for _, module in targets.modules)
        return found

    @contextmanager
    def attached(self) -> Iterator[None]:
        with ExitStack() as stack:
            stack.callback(self._taps.release)
            for i, hook in enumerate(self.hooks):
                attach = _ATTACH.get(CATALOGUE[hook.spec.kind].family)
                if attach is not None:
                    attach(self, hook, self._targets[i], stack)
            yield

    def enter(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        self._runs.enter(call)
        self._taps.enter(call, batch)
        for pair in self._saved:
            pair.enter(call)

    def leave(self, call: Call, output: Any, *, raised: bool = False) -> None:
        self._runs.leave(call, raised=raised)
        for pair in reversed(self._saved):
            pair.leave(call)
        self._taps.leave(call, output)
        if not raised:
            for ended in self.context.ended:
                ended(call, output)

    @contextmanager
    def around_forward(self) -> Iterator[None]:
        with ExitStack() as stack:
            for pair in self._saved:
                stack.enter_context(pair.everywhere())
            yield
        self.forward_ended()

    def release(self, *, told: bool = False) -> None:
        if told:
            self._taps.release_told()
        else:
            self._taps.release()

    def forward_ended(self) -> None:
        self._taps.forward_ended()
        for attach in self._late:
            attach()
        self._late.clear()

    def operators(self) -> AbstractContextManager[Any]:
        return Operators(self._operators) if self._operators else nullcontext()

    def before_backward(self, start: torch.Tensor) -> None:
        hooks = [hook for hook in self.hooks if hook.spec.kind == "engine_callback"]
        if hooks:
            start.register_hook(Queue(hooks))  # type: ignore[no-untyped-call]
            for hook in hooks:
                hook.attached += 1

    def on_optimizer(
        self, optimizer: torch.optim.Optimizer, names: dict[int, str], stack: ExitStack
    ) -> None:
        for hook in self._of("optimizer"):
            attach_optimizer(hook, optimizer, names, stack)

    def averaging(self) -> Hook | None:
        return next(iter(self._of("distributed")), None)

    def package(self, model: Model) -> None:
        hooks = self._of("packaging")
        if hooks:
            from hookcli.hooks.attach.packaging import export

            export(model.root, hooks, self._patterns)

    def start_step(self, number: int) -> None:
        super().start_step(number)
        self._taps.release()
        for restart in self.context.restarts:
            restart()

    # One for each family that stands on a model.

    def _modules(self, hook: Hook, targets: Targets, stack: ExitStack) -> None:
        attach_modules(hook, targets.modules, stack)

    def _every_module(self, hook: Hook, targets: Targets, stack: ExitStack) -> None:
        attach_global(hook, targets.modules, stack)

    def _tensors(self, hook: Hook, targets: Targets, stack: ExitStack) -> None:
        self._on_parameters(hook, targets.parameters, stack)
        self._nodes(hook, targets, stack)

    def _on_parameters(self, hook: Hook, infos: list[TensorInfo], stack: ExitStack) -> None:
        """Now, or once the forward has given lazy ones a shape: torch takes no hooks before."""
        together = hook.spec.kind == "multi_grad"
        attach = attach_together if together else attach_parameters
        lazy = [info for info in infos if is_lazy(info.tensor)]
        later = infos if together and lazy else lazy
        attach(hook, [] if later is infos else [i for i in infos if not is_lazy(i.tensor)], stack)
        if later:
            self._late.append(lambda: attach(hook, later, stack))

    def _nodes(self, hook: Hook, targets: Targets, stack: ExitStack) -> None:
        if hook.spec.kind == "accumulate_grad":
            self._on_parameters(hook, targets.parameters, stack)
        for name, module in targets.modules:
            self._taps.add(id(module), CallTensorHook(hook, Match(), name))
        for name, module, match in targets.values:
            self._taps.add(id(module), CallTensorHook(hook, match, name))

    def _in_engine(self, hook: Hook, targets: Targets, stack: ExitStack) -> None:
        if hook.spec.kind != "saved_tensors":
            return  # the callback is queued as backward starts
        names = {id(module): name for name, module in targets.modules}
        pair = SavedTensors(hook, None if hook.spec.at is None else names)
        stack.callback(pair.close)
        self._saved.append(pair)
        hook.attached += 1

    def _on_operators(self, hook: Hook, targets: Targets, _stack: ExitStack) -> None:
        hook.attached += 1
        if hook.spec.at is None:
            self._operators.append((hook, None))
            return
        conditions = [(match, {id(module): name}) for name, module, match in targets.values] + [
            (Match(), {id(module): name}) for name, module in targets.modules
        ]
        self._operators.append((hook, conditions))


_ATTACH: dict[str, Callable[[AttachedHooks, Hook, Targets, ExitStack], None]] = {
    "module": AttachedHooks._modules,
    "global module": AttachedHooks._every_module,
    "tensor": AttachedHooks._tensors,
    "autograd node": AttachedHooks._nodes,
    "autograd engine": AttachedHooks._in_engine,
    "state": lambda _, hook, targets, stack: attach_state(hook, targets.modules, stack),
    "operators": AttachedHooks._on_operators,
}

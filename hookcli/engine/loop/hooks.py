"""The hooks of a configuration on a model whose training loop is the user's own.

They can be attached and removed many times: a loop may be observed in some of its steps only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as torch_module

from hookcli.catalogue.kind import Stage
from hookcli.engine.cost.flops import Activations
from hookcli.engine.hook_engine.build import build_context, build_engine
from hookcli.engine.loop.clock import LoopClock
from hookcli.engine.neutrality.model_state import room_for_hooks
from hookcli.engine.observe.call_notes import CallNotes
from hookcli.engine.observe.edges import EdgeObserver
from hookcli.engine.observe.inventory import note_buffers
from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.observe.recorder import Recorder
from hookcli.hooks.attach.engine import Queue
from hookcli.hooks.backends import check_torch_has
from hookcli.models.backend import backend_of
from hookcli.models.existing_hooks.find import existing_hooks
from hookcli.models.model import Call
from hookcli.models.nested import describe, leaves
from hookcli.models.python.libraries import load_libraries
from hookcli.report.recording import Recording
from hookcli.report.report import Inputs
from hookcli.report.sinks import Sink
from hookcli.spec.plan import plan
from hookcli.spec.request import Spec

# Forwards of the root in one step. After these, the rows and the hooks that wait for backward are
# dropped.
_FORWARDS = 64
_MOST_NODES = 5_000  # that are read of a graph which the loop frees, for its edges
# Those that hooks read in one step, for each MiB of the stack: one of 8 MiB frees 50,000 nodes.
_READ_PER_MIB = 2_500
_LARGEST_STACK = 8  # MiB


@cache
def most_nodes_read() -> int:
    """Return how many nodes may be read of a graph that the loop frees, on any of its threads."""
    try:
        limits = Path("/proc/self/limits").read_text()
    except OSError:  # only Linux has it; elsewhere the threads of a loop may have this little
        return _READ_PER_MIB
    size = re.search(r"^Max stack size +(\d+)", limits, re.MULTILINE)
    mib = int(size[1]) >> 20 if size else _LARGEST_STACK  # else it is unlimited
    return _READ_PER_MIB * max(1, min(_LARGEST_STACK, mib))


class LoopHooks:
    """The hooks on one model, and what they record.

    `first` is the step whose calls become rows. `on_forward` is called when a forward of the root
    has ended. With `inside_only`, calls outside of the root's are not seen.

    After `most_calls` calls of modules in a step, or once the observation has taken more than
    `most_seconds` and half of the time of the step, calls that begin are not observed, and
    `on_full` is called. Python must not read many more nodes: torch then frees their graph
    recursively.

    `failed` gets an error of hookcli's own in a hook, and the loop goes on. What a function of the
    user raises in the action `call`, and a value that `assert_finite` refuses, end the loop as the
    user asked. Without `failed`, all errors are raised.
    """

    def __init__(
        self,
        root: nn.Module,
        spec: Spec,
        sink: Sink,
        *,
        first: int = 0,
        on_forward: Callable[[], None] = lambda: None,
        inside_only: bool = False,
        failed: Callable[[Exception], bool] | None = None,
        most_calls: int | None = None,
        most_seconds: float = math.inf,
        on_full: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._most_calls, self._most_seconds = most_calls, most_seconds
        self._on_full = on_full
        self._began = perf_counter()  # this step
        self._plan = replace(plan(spec), mode="as-is")
        self.model = backend_of(root)
        self.existing = existing_hooks(root)
        check_torch_has(spec.hooks)
        load_libraries(spec.libraries)
        self.clock = build_context(spec, sink, LoopClock)
        self.engine = build_engine(spec, self.clock)
        self._failed = failed
        if failed is not None:
            self.clock.failed = self.clock.calls.failed = self._is_own
        self.recording = Recording()
        self._recorder = Recorder(self.recording, lambda *_: None, self.clock, first=first)
        self._recorder.counted = False
        self._call_notes = CallNotes(self.model, backward=True)
        self.first = first
        self._owners = NodeOwners()
        self._edges = EdgeObserver(
            self.recording.edges, self._owners, most_nodes=min(_MOST_NODES, most_nodes_read())
        )
        self.inputs: Inputs | None = None
        self._on_forward = on_forward
        self._inside_only = inside_only
        self._outside: set[int] = set()  # orders of the running calls outside of the root's
        self.part_runs = False  # whether a call of a part alone belongs to the loop
        self._noting = True  # whether calls become rows
        self.opened = False  # whether a forward has begun in this step
        self.forwards = self.module_calls = 0  # in this step
        at_end = [hook for hook in self.engine.hooks if hook.kind.stage is Stage.BACKWARD]
        self._callbacks = Queue(at_end) if at_end else None
        self._stack = ExitStack()
        self._optimizers: dict[int, ExitStack] = {}
        self.engine.resolve(self.model)
        self.buffers_before = note_buffers(self.model, copies=False)

    def _is_own(self, error: Exception) -> bool:
        """Tell of an error of hookcli's own; return False for one that the user's code raised."""
        if error is self.clock.intended or self._failed is None:
            return False
        return self._failed(error)

    def attach(self, optimizers: Iterable[torch.optim.Optimizer] = ()) -> None:
        """Attach all hooks."""
        with ExitStack() as stack:
            stack.enter_context(room_for_hooks())
            stack.enter_context(
                self.model.observe(
                    self._enter,
                    self._leave,
                    calls=self.clock.calls,
                    between=self.engine.attached(),
                )
            )
            for optimizer in optimizers:
                self._follow(optimizer, stack)
            stack.enter_context(self.engine.around_forward())
            stack.enter_context(self.engine.operators())
            self._stack = stack.pop_all()

    def attach_during_call(
        self, root: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, ...] | None:
        """Attach all hooks on modules from a forward pre-hook of `root`, and run those for it.

        PyTorch has listed the pre-hooks of this call already, and would not call the new ones.
        Return the arguments if a hook replaced them. New keyword arguments are put into `kwargs`.
        """
        on_all, own = torch_module._global_forward_pre_hooks, root._forward_pre_hooks
        known = {*on_all, *own}
        self.attach()
        replaced = None
        for key, hook in [*on_all.items(), *own.items()]:
            if key in known:
                continue
            now = args if replaced is None else replaced
            if key in root._forward_pre_hooks_with_kwargs:
                result = hook(root, now, kwargs)
                if result is not None:
                    replaced, new = result
                    kwargs.clear()
                    kwargs.update(new)
            else:
                result = hook(root, now)
                if result is not None:
                    replaced = result if isinstance(result, tuple) else (result,)
        return replaced

    def follow(self, optimizer: torch.optim.Optimizer) -> None:
        """Attach the hooks on optimizers to one more, until `forget_optimizers`."""
        if id(optimizer) not in self._optimizers:
            stack = self._optimizers[id(optimizer)] = ExitStack()
            self._follow(optimizer, stack)

    def forget_optimizers(self) -> None:
        """Remove the hooks on optimizers. Not while one of them steps: torch iterates over them."""
        for stack in self._optimizers.values():
            stack.close()
        self._optimizers.clear()

    def _follow(self, optimizer: torch.optim.Optimizer, stack: ExitStack) -> None:
        names = {id(p.tensor): p.name for p in self.model.parameters()}
        self.engine.on_optimizer(optimizer, names, stack)

    def detach(self) -> None:
        """Remove the hooks on modules, and those on the optimizers that `attach` got."""
        self._stack.close()

    def references(self, module: nn.Module) -> int:
        """Return how many references to a module these have, while they are not attached."""
        own = int(self.model.root is module)
        return own + self._recorder.references(module) + self.engine.references(module)

    def let_go(self) -> None:
        """Free everything, after the last report; no other method may be called after this one.

        The hooks refer to this object, so that it would only be freed with them, by Python's
        collector of cycles, and the model with it.
        """
        self.detach()
        vars(self).clear()

    def start_step(self, number: int) -> None:
        """Begin a step. Calls become rows only in the first one."""
        self.engine.start_step(number)
        self.opened, self.forwards, self.module_calls = False, 0, 0
        self._began, self.clock.spent = perf_counter(), 0.0
        self.clock.nodes_left = most_nodes_read()
        if self.recording.calls:
            self._note_no_more()

    def _note_no_more(self) -> None:
        """Stop adding rows: the report has those of the first forwards of one step."""
        self._noting = self.clock.calls.placed = False
        self._edges.clear()

    def _is_outside(self, call: Call) -> bool:
        """Whether a call that starts is neither one of the root nor below one.

        A call of a part counts like one of the root if it belongs to the loop.
        """
        if not self._inside_only:
            return False
        if not self.clock.open:
            return True
        if call.parent is not None:
            return call.parent in self._outside
        return call.name != "" and not self.part_runs

    def _enter(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        began = perf_counter()
        try:
            self._note_enter(call, batch, began)
        finally:
            self.clock.spent += perf_counter() - began

    def _note_enter(
        self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]], now: float
    ) -> None:
        if self._is_outside(call):
            self._outside.add(call.order)
            return
        self.module_calls += 1
        if call.name == "":
            self._enter_root(call, batch)
        elif self.part_runs and call.parent is None and not call.recomputed:
            self._begin_forward()
        if self.module_calls == self._most_calls or self._is_spent(now):
            self.clock.calls.full = True
            self._on_full(self.clock.step)
        if self._noting:
            self._recorder.enter(call, batch)
            self._call_notes.enter(call, batch)
            if self.clock.step == self.first:
                self._owners.enter(call, batch)
                self._edges.enter(call, batch)
        self.engine.enter(call, batch)

    def _is_spent(self, now: float) -> bool:
        """Return whether the observation of this step has taken as long as it may."""
        spent = self.clock.spent
        return spent > self._most_seconds and spent > (now - self._began) / 2

    def _enter_root(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        is_outermost = call.parent is None or call.parent in self._outside
        if not call.recomputed and is_outermost:  # a root may call itself
            self._begin_forward()
        if self.inputs is None:
            self.inputs = Inputs(
                "given",
                tuple(describe(a) for a in batch[0]),
                {k: describe(v) for k, v in batch[1].items()},
            )
            self._recorder.activations = Activations(self.model.root, batch)

    def _leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        began = perf_counter()
        try:
            self._note_leave(call, output, error)
        finally:
            self.clock.spent += perf_counter() - began

    def _note_leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        if call.order in self._outside:
            self._outside.discard(call.order)
            return
        if self._recorder.knows(call):
            self._recorder.leave(call, output, error)
            self._owners.leave(call, output, error)
            self._edges.leave(call, output, error)
        self.engine.leave(call, output, error)
        if call.parent is None:
            self.engine.root_ended()
            self._on_forward()
            if self._callbacks is not None and error is None:
                self._callbacks.stand_on([t for _, t, _ in leaves(output) if t.requires_grad])

    def _begin_forward(self) -> None:
        """Count a forward of the root, the first or another one of this step."""
        self.opened = True
        self.forwards += 1
        if self.forwards > _FORWARDS:
            self._note_no_more()
        if self.forwards % _FORWARDS == 0:
            self.engine.release()
            self.clock.calls.forget_passes()
        else:
            self.engine.release(only_fired=True)

"""One root of a training: its calls, its batch, and the hooks of sampled steps."""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef

from hookcli.engine.assemble import assemble, run_info
from hookcli.engine.loop.given_module import device_of, source_of
from hookcli.engine.loop.hooks import LoopHooks
from hookcli.engine.loop.step_gradients import StepGradients
from hookcli.engine.observe.inventory import note_buffers, take_inventory
from hookcli.errors import RequestError
from hookcli.hooks.attach.graph import edge_of
from hookcli.hooks.portable import Portable
from hookcli.hooks.traced.rows import LayerSteps
from hookcli.models.backend import backend_of
from hookcli.models.model import Model
from hookcli.models.nested import leaves
from hookcli.models.scripted import is_scripted
from hookcli.report.findings import Measurement
from hookcli.report.recording import Recording
from hookcli.report.report import Inputs, Report
from hookcli.report.sinks import Kept, Sink
from hookcli.report.steps import TrainingInfo
from hookcli.spec.plan import unjudged
from hookcli.spec.request import Spec
from hookcli.system.references import count_references
from hookcli.torch_private import disable_current_modes
from hookcli.training.backward import BackwardPass
from hookcli.training.forward_modes import (
    ForwardModes,
    RootModes,
    UngradedForwards,
    note_trained,
)
from hookcli.training.guard import Guard
from hookcli.training.non_finite.forward_call import Autocast, ForwardCall
from hookcli.training.non_finite.generators import GeneratorKeeper
from hookcli.training.norms import is_not_zero, local, outside_modes
from hookcli.training.roots import (
    LooseParameters,
    UnmatchedHooks,
    hooks_of_root,
    is_compiled,
    name_of,
    parameter_ids,
    unwrap,
)
from hookcli.training.selection.sampling import MOST_CALLS, MOST_SECONDS
from hookcli.training.step_hooks import AskedSet, HookSet, StepHooks

_RECENT = 8  # forwards whose batches are kept until the step, if gradients are accumulated
_MOST_BYTES = 1 << 24  # of the batches of several forwards
_MOST_EVENTS = 20_000  # of a question
_OUTPUTS = 64  # tensors of an output that tell when backward begins
_PARAMETERS = 16  # those that tell it, if the outputs are not seen
_RETURNED = 8  # outputs whose memory is known, of the last calls
CHANGED_INPUTS = "changed_inputs"  # a probe
_MOST_NOTED = 500  # calls after which it is not noted any more


_NUMBERS = itertools.count(1)


class RootWatch:
    """The hooks on one root, from its first call on. Each has another `number`.

    `forward_begins(watch)` is called before a forward with gradients, and returns its step if that
    is sampled. `backward_begins(watch)` is called when a backward pass reaches an output of the
    root, and returns that pass.
    """

    def __init__(
        self,
        called: nn.Module,
        spec: Spec,
        *,
        forward_begins: Callable[[RootWatch], int | None],
        backward_begins: Callable[[RootWatch], BackwardPass],
        guard: Guard,
        unmatched: UnmatchedHooks,
        failed: Callable[[Exception], bool],
        sink: Sink | None = None,
        limited: bool = True,
        most_kept: int | None = None,
    ) -> None:
        self.number = next(_NUMBERS)
        self.root, self.wrappers = unwrap(called)
        self._spec = spec
        self._forward_begins, self._backward_begins = forward_begins, backward_begins
        self._guarded, self._failed = guard, failed
        self._output_reached = guard(_OutputReached(self))
        self._unmatched = unmatched
        self.name = self._found_name(sys._getframe(1))
        compiled = is_compiled(called)
        self.compiled: tuple[str, ...] = (type(self.root).__name__,) if compiled else ()
        self.graph_steps = LayerSteps()  # what compiled code wrote
        self._sees_calls = not (
            compiled or is_scripted(self.root) or isinstance(called, LooseParameters)
        )
        self._sink: Sink = sink or Kept(100_000)
        self._steps = StepHooks()
        self.is_observed = False  # in a sampled step
        self.running = 0  # calls of the root
        self.sees_backward = False  # whether an output tells when backward reaches it
        self._edges: list[tuple[Any, Any]] = []  # nodes of parameters, with handles of hooks
        self.model = backend_of(self.root)
        self._before = note_buffers(self.model, copies=False)
        self._started = time.perf_counter()
        self.calls = 0
        self.ungraded = UngradedForwards()
        # Inside transforms of torch.func, and after torch.compile: they are not counted.
        self.has_hidden_calls = False
        self.forwards = 0  # with gradients, since the last step
        self.own_forwards = 0  # those of them that are calls of the root, not of a part of it
        self.apart = 0  # calls with gradients that were not inside a call of another root
        self.wholes: list[RootWatch] = []  # trained roots that this module is a part of
        self.began: float | None = None  # the first of them, by time.perf_counter
        self._limited = limited  # whether the calls that a step observes are
        self._most_kept = most_kept  # elements of the gradient of an output
        self._is_reached = False  # by a backward pass, since the last forward
        self._reached_by: BackwardPass | None = None  # the last one of the step
        self.partly: dict[int, int] = {}  # steps, with how many forwards were observed whole
        self.recent: deque[ForwardCall] = deque(maxlen=_RECENT)  # since the last step
        self._generators: GeneratorKeeper | None = None
        self.is_bound = False  # whether an optimizer trains it
        self.names_in_call: dict[int, str] = {}  # of the parameters during a call
        self.modes = RootModes(self.root)
        # Weak references to the memory of tensors that the last calls returned.
        self.returned: deque[StorageWeakRef] = deque(maxlen=_RETURNED)
        self.measured: list[Measurement] = []  # of the inputs and losses that were looked at
        self._looks_at_inputs = False
        self.losses = 0

    def hide_calls(self) -> None:
        """Attach no hooks to its modules from now on: the compiler would trace them."""
        self._sees_calls = False

    def _found_name(self, frame: FrameType | None) -> str:
        if isinstance(self.root, LooseParameters):
            return "parameters"
        return name_of(self.root, frame) or type(self.root).__name__

    def name_again(self) -> None:
        """Look for the name again: a variable may have got the module after its first call."""
        if self.name == type(self.root).__name__:
            self.name = self._found_name(None)

    @property
    def is_plain(self) -> bool:
        """Whether its calls are seen, and none of its modules has hooks of a sampled step."""
        return self._sees_calls and not self._steps.is_attached

    @property
    def known_calls(self) -> int | None:
        """The number of calls; None if some were not counted."""
        return None if self.has_hidden_calls else self.calls

    @property
    def is_part(self) -> bool:
        """Whether its calls are those of larger roots, and it is not trained as a root itself."""
        return bool(self.wholes) and not self.is_bound

    def is_inside(self, other: RootWatch) -> bool:
        """Return whether this module is a part of another root."""
        return other is not self and any(part is self.root for part in other.root.modules())

    def join(self, whole: RootWatch) -> None:
        """Become a part of a larger root: calls and backward passes are those of that root."""
        self.wholes.append(whole)
        whole.calls += self.apart
        whole.forwards += self.apart
        begins = [began for began in (self.began, whole.began) if began is not None]
        whole.began = min(begins, default=None)
        self.apart = 0
        self.ended_step()
        if self.running:
            self.stop()
        else:
            self.close()

    def watch_parameters(self) -> None:
        """Be called when a backward pass reaches a parameter: the outputs are not seen."""
        if self._edges:
            return
        begins = self._guarded(_Begins(self))
        trainable = [p.tensor for p in self.model.parameters() if p.tensor.requires_grad]
        for parameter in trainable[:_PARAMETERS]:
            if parameter.is_leaf:
                # The node is kept, because the parameter does not keep it.
                node, _ = edge_of(parameter)
                self._edges.append((node, node.register_prehook(begins)))

    def parameter_ids(self) -> set[int]:
        """Return the identities of the parameters: a model may get more, or others, at any time."""
        return parameter_ids(self.root)

    def names(self) -> dict[int, str]:
        """Return the names of the parameters by their identities."""
        return {id(info.tensor): info.name for info in self.model.parameters()}

    def enter(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], *, nested: bool = False
    ) -> tuple[Any, ...] | None:
        """Note a call that begins; return its new arguments if a hook of the user replaced them.

        It is `nested` if another root is called now.
        """
        self.calls += 1
        if not torch.is_grad_enabled():
            self.ungraded.note(args, training=self.root.training)
            return None
        self.ungraded.trained()
        if not self.is_bound:
            self._note_names()
        step = self._begin_forward()
        self.own_forwards += 1
        self.apart += not nested
        if self._generators is None:
            self._generators = GeneratorKeeper(self.root)
        call = ForwardCall(args, kwargs, self._generators.keep(), Autocast.now())
        call.most_kept = self._most_kept
        self._keep(call)
        return self._observe_call(self.root, step, args, kwargs)

    def enter_part(
        self, part: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, ...] | None:
        """Note a call of a part alone, as `enter` does. Without gradients it is not a call."""
        if not torch.is_grad_enabled():
            return None
        self.calls += 1
        step = self._begin_forward()
        return self._observe_call(part, step, args, kwargs)

    def _begin_forward(self) -> int | None:
        """Count a forward; return its step if that is observed."""
        step = self._forward_begins(self)
        if not self.forwards:
            self.began = time.perf_counter()
        self.forwards += 1
        if step is not None and step in self.partly:
            if self._is_reached and self.is_observed:
                self.pause()
            step = None
        self._is_reached = False
        return step

    def _observe_call(
        self, called: nn.Module, step: int | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, ...] | None:
        """Observe a call of the root or of a part, if its step is; return its new arguments."""
        replaced = None
        if self._steps.old and not self.running:
            self._steps.forget_answered()
        self._steps.set_part_runs(called is not self.root)
        if step is not None and self._sees_calls and not self.is_observed:
            replaced = self._observe(called, step, args, kwargs)
        elif step is not None:
            self._steps.go_on(step)
        if self._sees_calls and self.modes.depends:
            self.modes.note(step if self.is_observed else None, called)
        return replaced

    def _full(self, step: int) -> None:
        """Note that enough calls of a step were observed, in the forward that runs now.

        The gradients of these calls are still observed.
        """
        if self._steps.run is not None:
            self.partly[step] = max(0, self._steps.run.hooks.forwards - 1)

    def partly_seen(self) -> dict[int, int]:
        """Return the steps of which some forwards were not observed, with the number of others."""
        return dict(self.partly)

    def _note_names(self) -> None:
        """Note the names of the parameters, which torch.func.functional_call replaces.

        Views that FSDP1 puts in their place are not noted: no optimizer has them, and after the
        call a new parameter may get the identity of one.
        """
        first = next(self.root.parameters(), None)
        if id(first) not in self.names_in_call:  # a root without an optimizer keeps its own
            self.names_in_call = {
                id(info.tensor): info.name
                for info in self.model.parameters()
                if isinstance(info.tensor, nn.Parameter)
                or (info.tensor.is_leaf and info.tensor.requires_grad)
            }

    def _keep(self, call: ForwardCall) -> None:
        """Keep a forward until the step, and earlier ones if their batches are small."""
        recent = self.recent
        recent.append(call)
        if len(recent) > 1 and sum(one.size() for one in recent) > _MOST_BYTES:
            recent.clear()
            recent.append(call)

    def note_output(self, output: Any) -> None:
        """Note the memory of an output, by which the input of another root is recognized."""
        if type(output) is torch.Tensor and self.calls < _MOST_NOTED and not output.is_meta:
            with contextlib.suppress(RuntimeError, NotImplementedError):  # without a storage
                memory = output.untyped_storage()
                self.returned.append(StorageWeakRef(memory))  # type: ignore[no-untyped-call]

    def _note_written(self, call: ForwardCall) -> None:
        """Note the inputs that a call has written to, each once."""
        if not self._looks_at_inputs:
            self._looks_at_inputs = True
            self.measured.append(Measurement(CHANGED_INPUTS, "", None, {"count": 1}, None))
        if not call.written:
            return
        known = {one.target for one in self.measured if one.probe == CHANGED_INPUTS}
        for path, tensor in call.written:
            if path not in known:
                first = next((one for one in call.args if isinstance(one, torch.Tensor)), tensor)
                place = self.model.place("")
                value = {"first": tensor is first, "shape": [*tensor.shape], "place": place}
                self.measured.append(Measurement(CHANGED_INPUTS, path, None, value, None))

    def watch_backward(self, output: Any) -> None:
        """Be called when a backward pass reaches an output."""
        if type(output) is torch.Tensor:
            outputs = [output]
        else:
            outputs = [tensor for _, tensor, _ in leaves(output)[:_OUTPUTS]]
        number = -1
        if self.recent:
            self.recent[-1].end(outputs)
            self._note_written(self.recent[-1])
            number = self.recent[-1].first_node
        watches = self.wholes if self.is_part else [self]
        modes = [last for watch in watches if (last := watch.modes.last) is not None]
        for i, tensor in enumerate(outputs):
            if tensor.requires_grad and tensor.grad_fn is not None:
                # partial: many are made in a training
                begins = partial(self._output_reached, number, i, modes)
                tensor.register_hook(begins)  # type: ignore[no-untyped-call]
                self.sees_backward = True
        if not outputs:  # of an unknown form
            note_trained(modes)

    def gradient_came(self, number: int, index: int, gradient: torch.Tensor) -> None:
        """Keep the gradient of an output of the call whose first node has this number."""
        for call in self.recent:
            if call.first_node == number:
                call.keep_gradient(index, gradient)

    def backward_reached(self) -> None:
        """Tell that a backward pass reached an output of this root, or of a part of others."""
        for whole in self.wholes:
            whole.backward_reached()
        if self.is_part:
            return
        self._is_reached = True
        if self._steps.is_attached and not self.is_observed:
            self.rest()
        self._reached_by = self._backward_begins(self)

    def is_trained_now(self) -> bool:
        """Return whether the last backward pass computes gradients of its own parameters."""
        if self.is_part:
            return any(whole.is_trained_now() for whole in self.wholes)
        return self._reached_by is not None and self._reached_by.computes(self.root.parameters())

    def _observe(
        self, called: nn.Module, step: int, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, ...] | None:
        """Attach the hooks of a sampled step; return new arguments of the call that begins now."""
        if self._steps.run is None:
            hooks = self._loop_hooks(self._spec, self._sink, step, self._unmatched)
            self._steps.run = HookSet(self._spec, hooks, self._sink)
        self.is_observed = True
        return self._steps.observe(called, step, args, kwargs, is_part=called is not self.root)

    def _loop_hooks(
        self, spec: Spec, sink: Sink, first: int, unmatched: UnmatchedHooks
    ) -> LoopHooks:
        """Return the hooks of a request that have targets in this root."""
        chosen = hooks_of_root(spec.hooks, self.model, self.name, unmatched)
        return LoopHooks(
            self.root,
            replace(spec, hooks=chosen),
            sink,
            first=first,
            inside_only=True,
            failed=self._failed,
            most_calls=MOST_CALLS if self._limited else None,
            most_seconds=MOST_SECONDS if self._limited else math.inf,
            on_full=self._full,
        )

    def ask(self, identity: str, spec: Spec, steps: tuple[int, int]) -> None:
        """Attach the hooks of a request too, from the first to the last of these steps.

        Raises
        ------
        RequestError : the installed torch does not have one of their kinds, or no call is seen.
        """
        if not self._sees_calls:
            raise RequestError(
                f"calls inside {self.name} are not seen: it is compiled or scripted",
                place=self.name,
                hint="run the script with `--eager` or `--compiled eager-samples`",
            )
        sink = Kept(_MOST_EVENTS, "ask for fewer steps")
        unmatched = UnmatchedHooks()
        hooks = self._loop_hooks(spec, sink, steps[0], unmatched)
        hooks.recording.warnings += unmatched.warnings()
        self._steps.asked[identity] = AskedSet(spec, hooks, sink, first=steps[0], last=steps[1])

    def has_asked(self, identity: str) -> bool:
        """Return whether it has hooks of a question."""
        return identity in self._steps.asked

    def forget_asked(self, identity: str) -> None:
        """Remove the hooks of a question when the next forward begins."""
        self._steps.answered(identity)

    def follow(self, optimizer: Any) -> None:
        """Attach the configured hooks on optimizers, in a sampled step."""
        run = self._steps.run
        if run is None:
            return
        step = run.hooks.clock.step
        if step in self.partly and not self.running:  # the optimizer is observed again
            self.rest()
            self._steps.open_again(step)
        self._steps.follow(optimizer)

    def has_gradients(self) -> bool:
        """Return whether a parameter has a gradient, as far as that is known without waiting.

        Of a gradient on the CPU a part is read; one of zeros is none.
        """
        with torch.no_grad(), outside_modes():
            for info in self.model.parameters():
                grad = info.tensor.grad
                if grad is not None and (grad.device.type != "cpu" or is_not_zero(local(grad))):
                    return True
        return False

    def fingerprint(self) -> tuple[float, ...]:
        """Return a few values of the parameters, which an update changes."""
        with torch.no_grad(), disable_current_modes():
            return tuple(
                float(local(info.tensor.detach()).abs().sum())
                for info in self.model.parameters()
                if info.tensor.requires_grad and info.tensor.numel() and not info.tensor.is_meta
            )

    def part_ended(self) -> None:
        """Note that the call of a part alone has ended."""
        self.running = 0
        self._steps.set_part_runs(False)

    def optimizing(self, *, now: bool) -> None:
        """Set whether the optimizer steps now."""
        self._steps.set_optimizing(now)

    def pause(self) -> None:
        """End the observation of a sampled step. The hooks stay until `rest`."""
        self.is_observed = False
        self._steps.close()

    def rest(self) -> None:
        """Remove the hooks on modules, after a sampled step.

        Not during a call of the root: PyTorch has listed its hooks, and would call them wrongly.
        """
        self.pause()
        if self._steps.is_attached and not self.running:
            self._steps.detach()

    def ended_step(self, number: int | None = None) -> None:
        """Forget what belongs to the step that ended. Its `number` is None if it is no step."""
        self.modes.ended_step(number)
        self._reached_by = None
        self.forwards = self.own_forwards = 0
        self.began = None
        self.recent.clear()

    def stop(self) -> None:
        """Observe nothing more, while PyTorch may be iterating over any of the hooks.

        They do nothing now, and those on modules are removed when the running call ends.
        """
        self.pause()
        if self._steps.is_attached:
            last = _Last(self)
            register: Any = nn.Module.register_forward_hook
            last.handle = register(self.root, last, always_call=True)

    def close(self) -> None:
        """Remove all hooks."""
        self.running = 0
        self.modes.ended_step(None)
        for _, handle in self._edges:
            handle.remove()
        self._edges.clear()
        self.rest()
        self._steps.forget_optimizers()

    def is_dropped(self) -> bool:
        """Return whether nothing but this watch has a reference to the root, as far as is known."""
        if isinstance(self.root, LooseParameters):
            return True  # it is hookcli's own; the script has the parameters
        own = 2 + self.modes.references() + self._steps.references(self.root)  # `model` has one too
        return count_references([self.root]) <= own

    def let_go(self) -> None:
        """Keep nothing of a root that the script has dropped: an empty module takes its place."""
        self.close()
        self.root = _empty(type(self.root))
        self.model = backend_of(self.root)
        self.modes.let_go()
        self._steps.let_go()
        self._before = {}
        self.names_in_call = {}
        self.recent.clear()
        self._generators = self._reached_by = None

    def report(
        self,
        model: Model,
        gradients: StepGradients,
        training: TrainingInfo,
        *,
        final: bool,
        asked: str | None = None,
    ) -> Report:
        """Return the report of a record of this root; `model` has the parameters of the record.

        One that is not `final` has no events, and none of the findings about hooks. With `asked`
        it is that of the hooks of a question.
        """
        chosen = self._steps.run if asked is None else self._steps.asked.get(asked)
        hooks = None if chosen is None else chosen.hooks
        spec = self._spec if chosen is None else chosen.spec
        recording = Recording() if hooks is None else hooks.recording
        if chosen is not None and hooks is not None and final and not chosen.is_reported:
            chosen.is_reported = True
            chosen.sink.close(recording)
            if self.partly:  # what is missing may be in the calls that were not observed
                hooks.clock.open = False
                recording.findings = list(hooks.clock.findings)
            else:
                hooks.engine.judge(recording, None)
        recording = replace(
            recording,
            calls=list(recording.calls),
            events=list(recording.events),
            warnings=list(recording.warnings),
            measured=[*recording.measured, *self.measured],
        )
        if not gradients.empty:
            gradients.record(recording)
        take_inventory(model, recording, self._before)
        if asked is None:
            self.graph_steps.add_to(recording, spec.hooks)
        inputs: Inputs | None = None if hooks is None else hooks.inputs
        report = assemble(
            model,
            recording,
            command=spec.command,
            source=source_of(self.root),
            run=run_info(spec, "as-is", recording, tensors="real", device=device_of(self.root)),
            inputs=inputs,
            hooks=() if hooks is None else hooks.existing,
            warnings=[*unjudged(spec), *gradients.warnings()],
            started=self._started,
        )
        run = replace(report.run, steps=training.total, seed=torch.initial_seed())
        if hooks is not None and hooks.first in self.partly:  # others ran perhaps, unobserved
            report = replace(report, uncalled=())
        return replace(report, run=run, training=training)


def _empty(kind: type[nn.Module]) -> nn.Module:
    """Return a module without parameters whose class has the name of another one.

    It is not of that class, whose code may do anything when an instance is made.
    """
    if issubclass(kind, LooseParameters):
        return LooseParameters({})
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    made: nn.Module = type(kind.__name__, (nn.Module,), names)()
    return made


class _Last(Portable):
    """Removes the hooks on modules when a call of the root ends, and then itself."""

    def __init__(self, watch: RootWatch) -> None:
        self._watch = watch
        self.handle: Any = None

    def __call__(self, module: nn.Module, _args: Any, _output: Any) -> None:
        """Remove them; PyTorch calls this. While it handles an error, it iterates over them."""
        if module is self._watch.root and sys.exc_info()[1] is None:
            with contextlib.suppress(Exception):
                self.handle.remove()
                self._watch.close()


class _Begins:
    """A hook on an output of a root; it does not keep the root alive."""

    def __init__(self, watch: RootWatch) -> None:
        self._watch = weakref.ref(watch)

    def __call__(self, _gradient: Any) -> None:
        """Tell the root; autograd calls this when backward reaches the output or parameter."""
        watch = self._watch()
        if watch is not None:
            watch.backward_reached()


class _OutputReached(_Begins):
    """The hook on the outputs of all calls."""

    def __call__(  # type: ignore[override]
        self, number: int, index: int, modes: Sequence[ForwardModes], gradient: Any
    ) -> None:
        """Tell the root, and give it the gradient of an output of one call: see `gradient_came`."""
        watch = self._watch()
        if watch is not None:
            watch.backward_reached()
            if modes and not modes[0].trains and watch.is_trained_now():
                note_trained(modes)
            watch.gradient_came(number, index, gradient)

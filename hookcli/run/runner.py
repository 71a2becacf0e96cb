"""One observed run: mode, seed, grad mode, hooks, phases; what is raised becomes data."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import torch

from hookcli.config.spec import Mode
from hookcli.errors import HookcliError, ModelError
from hookcli.inputs.batch import Batch
from hookcli.models.base import Call, Model
from hookcli.models.failures import failure_of
from hookcli.report.recording import Failure, Recording
from hookcli.run.asides import Asides, note_bypassed, note_compiled, with_gradients
from hookcli.run.counter import Activations, OperatorCounter
from hookcli.run.doubts import Doubts
from hookcli.run.engine import Engine
from hookcli.run.explain import explain
from hookcli.run.inventory import note_buffers, take_inventory
from hookcli.run.loss import Loss
from hookcli.run.owners import Owners
from hookcli.run.phases import Phases
from hookcli.run.plan import Plan
from hookcli.run.recorder import Progress, Recorder
from hookcli.run.scope import room_for_hooks
from hookcli.run.timeline import Timeline


def set_mode(model: Model, mode: Mode) -> None:
    """Put the model in train or eval mode, or leave it."""
    if mode != "as-is":
        model.root.train(mode == "train")


@contextmanager
def _eager() -> Iterator[None]:
    """Run compiled modules as written: hooks set after the first compiled call do not fire."""
    if "torch._dynamo" not in sys.modules:
        yield
        return
    with torch.compiler.set_stance("force_eager"), warnings.catch_warnings():
        # torch tells of our own hooks, which count a call of the wrapper as what it is
        warnings.filterwarnings("ignore", "Using `torch.compile.*global hooks", UserWarning)
        yield


class _Observer:
    """Tells recorder, engine and owners of every call."""

    def __init__(
        self,
        recorder: Recorder,
        engine: Engine,
        owners: Owners,
        timeline: Timeline | None,
        asides: Asides,
    ) -> None:
        self._recorder, self._engine, self._owners = recorder, engine, owners
        self._timeline = timeline
        self._asides = asides
        self._hooked = bool(engine.hooks)

    def enter(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        self._owners.enter(call)
        self._asides.enter(call)
        self._recorder.enter(call, batch)
        if self._hooked:
            self._engine.enter(call, batch)
        if self._timeline is not None:
            self._timeline.enter(call)

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        if self._timeline is not None:
            self._timeline.leave(call)
        self._owners.leave(call, torch._C._autograd._get_sequence_nr())
        self._recorder.leave(call, output, error)
        if self._hooked:
            self._engine.leave(call, None if error is not None else output)


def run(
    model: Model,
    batch: Batch,
    plan: Plan,
    engine: Engine,
    *,
    progress: Progress,
    recording: Recording,
    doubts: Doubts | None = None,
    fake: bool = False,
    loss: Loss | None = None,
) -> None:
    """Carry out a plan and note it. The model's own exceptions end up in `recording.failure`.

    `doubts` checks each call of a fake run; `loss` takes the place of the plan's.

    Raises
    ------
    RequestError : what was asked for does not fit this model.
    """
    set_mode(model, plan.mode)
    engine.resolve(model)
    before = note_buffers(model)
    recorder = Recorder(recording, progress, engine.context, doubts)
    owners = Owners()
    timeline = Timeline() if plan.timings else None
    asides = Asides(model, backward=plan.goes_backward)
    observer = _Observer(recorder, engine, owners, timeline, asides)
    known = {id(info.tensor) for info in model.parameters()}
    counter = OperatorCounter(recorder.cost_of(owners), known) if plan.flops else None

    def told(phase: str) -> None:
        recorder.phase = phase
        progress(phase, None)
        if timeline is not None:
            timeline.phase(engine.context.step, phase)

    def backward_from(start: torch.Tensor) -> None:
        engine.before_backward(start)
        if timeline is not None:
            timeline.watch(start, owners)

    if plan.goes_backward:
        engine.watched_by(recorder.fired)
    if timeline is not None:
        engine.watched_by(timeline.event)
    phases = Phases(model, plan, engine, recording, told, backward_from, fake=fake, loss=loss)
    try:
        with ExitStack() as stack:
            stack.enter_context(torch.set_grad_enabled(plan.grad))
            stack.enter_context(_eager())
            stack.enter_context(room_for_hooks())
            stack.enter_context(
                model.observe(
                    observer.enter,
                    observer.leave,
                    calls=engine.context.calls,
                    between=engine.attached(),
                )
            )
            recorder.activations = Activations(model.root, (batch.args, batch.kwargs))
            recorder.counted = plan.flops
            phases.run(batch, counter or nullcontext(), stack)
        phases.after()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and the like: failure is data
        if isinstance(error, HookcliError) and not isinstance(error, ModelError):
            raise
        recording.error = error
        recording.failure = _failure(error, recorder)
        explain(recording.failure, engine.hooks)
    finally:
        engine.judge(recording)
        if timeline is not None:
            recording.timings = timeline.data()
    take_inventory(model, recording, before)
    note_compiled(model, recording)
    if recording.failure is None:
        note_bypassed(recording, counter.used if counter else with_gradients(model))
    recorder.size_strangers()


def _failure(error: BaseException, recorder: Recorder) -> Failure:
    failure = failure_of(error, recorder.phase)
    failure.call = recorder.failed_in(error)
    if isinstance(error, ModelError):
        failure.message, failure.place = error.message, error.place
    if failure.place is None and failure.call is not None:
        failure.place = failure.call.place
    return failure

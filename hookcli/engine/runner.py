"""One observed run: mode, seed, grad mode, hooks, phases. The model's errors become data."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from hookcli.engine.batch.fake_checks import FakeTensorChecks
from hookcli.engine.cost.flops import Activations
from hookcli.engine.hook_engine.engine import HookEngine
from hookcli.engine.hook_engine.errors import explain
from hookcli.engine.losses.criterion import Loss
from hookcli.engine.neutrality.model_state import room_for_hooks
from hookcli.engine.observe.inventory import note_buffers, take_inventory
from hookcli.engine.observe.recorder import Progress
from hookcli.engine.phases import Phases
from hookcli.engine.prepare import set_mode
from hookcli.engine.watcher import Watcher
from hookcli.engine.watchers import Watchers
from hookcli.errors import ModelError, is_own
from hookcli.models.batch import Batch
from hookcli.models.converted.compiled import run_eagerly
from hookcli.models.failures import failure_of
from hookcli.models.model import Model
from hookcli.report.recording import Failure, Recording
from hookcli.spec.plan import Plan

if TYPE_CHECKING:
    from hookcli.engine.distributed import DistributedRun


@dataclass(slots=True)
class RunOptions:
    """How a run is recorded and observed.

    `doubts` checks each call of a fake run. `loss` replaces the plan's. `watchers` watch the run
    in addition to the hooks. `together` are the ranks of a distributed run.
    """

    progress: Progress
    recording: Recording
    doubts: FakeTensorChecks | None = None
    fake: bool = False
    loss: Loss | None = None
    watchers: Sequence[Watcher] = ()
    together: DistributedRun | None = None


def run(model: Model, batch: Batch, plan: Plan, engine: HookEngine, around: RunOptions) -> None:
    """Run a plan and record it. Exceptions of the model are stored in `recording.failure`.

    Raises
    ------
    RequestError : the request does not fit this model.
    """
    recording, together = around.recording, around.together or _alone(engine)
    if together is not None:
        together.ready(model, batch, plan, engine.averaging())
    set_mode(model, plan.mode)
    engine.resolve(model)
    before = note_buffers(model)
    watch = Watchers(
        model, plan, engine, recording, around.progress, around.doubts, around.watchers
    )
    phases = Phases(model, plan, engine, recording, watch, fake=around.fake, loss=around.loss)
    try:
        with ExitStack() as stack:
            stack.enter_context(torch.set_grad_enabled(plan.grad))
            _attach(model, engine, watch, together, stack)
            watch.recorder.activations = Activations(model.root, (batch.args, batch.kwargs))
            watch.edges.batch(batch.args, batch.kwargs)
            phases.run(batch, stack)
        phases.after()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and the like: failure is data
        if is_own(error) and type(error) is not ModelError:
            raise
        error = error if together is None else together.original(error)
        recording.error = error
        recording.failure = _failure(error, watch)
        explain(recording.failure, error, engine.hooks, engine.context)
        phases.came_this_far()
    finally:
        watch.end(batch)
    take_inventory(model, recording, before)
    watch.conclude()
    if together is not None:
        together.conclude(model, recording)


def _alone(engine: HookEngine) -> DistributedRun | None:
    """Return a group of this process only, if a communication hook needs one."""
    if engine.averaging() is None:
        return None
    from hookcli.engine.distributed import DistributedRun  # the import takes a tenth of a second

    return DistributedRun()


def _attach(
    model: Model,
    engine: HookEngine,
    watch: Watchers,
    together: DistributedRun | None,
    stack: ExitStack,
) -> None:
    """Attach everything until the stack is closed; the model is wrapped before its hooks."""
    if watch.compiled:  # the compiler traces the hooks that a watcher has attached
        return
    stack.enter_context(run_eagerly())
    stack.enter_context(room_for_hooks())
    if together is not None:  # PyTorch loses some hooks that are set before
        together.wrap(model, engine.averaging(), engine.context, stack, watch.timeline)
    calls = engine.context.calls
    stack.enter_context(
        model.observe(watch.enter, watch.leave, calls=calls, between=engine.attached())
    )


def _of_compiler(failure: Failure, error: BaseException) -> None:
    """Make one sentence of what torch.compile raised, whose messages have many lines."""
    from hookcli.engine.compiled.failures import compile_failure  # imports no compiler

    if type(error).__module__.startswith("torch._"):
        found = compile_failure(error)
        failure.message, failure.place = found.message, found.place


def _failure(error: BaseException, watch: Watchers) -> Failure:
    failure = failure_of(error, watch.recorder.phase)
    failure.call = watch.recorder.failed_in(error)
    if type(error) is ModelError and is_own(error):
        failure.message = error.message
        # The place "loss" only repeats the phase.
        failure.place = None if error.place == failure.phase else error.place
        failure.hint = error.hint if failure.phase == "loss" else None
    if watch.compiled:
        _of_compiler(failure, error)
    if failure.place is None and failure.call is not None:
        failure.place = failure.call.place
    return failure

"""One observed forward: mode, seed, grad mode, hooks; what is raised becomes data."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch

from hookcli.config.spec import Mode
from hookcli.inputs.batch import Batch
from hookcli.models.base import Model
from hookcli.models.failures import failure_of
from hookcli.report.recording import Recording
from hookcli.run.counter import Activations, OperatorCounter
from hookcli.run.doubts import Doubts
from hookcli.run.inventory import note_buffers, take_inventory
from hookcli.run.recorder import Progress, Recorder
from hookcli.run.scope import room_for_hooks
from hookcli.run.seeds import seed_all


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run the forward. `around` is entered around the batch and the forward."""

    mode: Mode
    seed: int
    grad: bool


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
    with torch.compiler.set_stance("force_eager"):
        yield


def forward(
    model: Model,
    batch: Batch,
    settings: Settings,
    *,
    progress: Progress,
    recording: Recording,
    doubts: Doubts | None = None,
) -> None:
    """Run one forward and note it. The model's own exceptions end up in `recording.failure`.

    `doubts` checks each call of a fake run.
    """
    set_mode(model, settings.mode)
    before = note_buffers(model)

    recorder = Recorder(recording, progress, doubts)
    seed_all(settings.seed)
    try:
        with ExitStack() as stack:
            stack.enter_context(torch.set_grad_enabled(settings.grad))
            stack.enter_context(_eager())
            stack.enter_context(room_for_hooks())
            stack.enter_context(model.observe(recorder.enter, recorder.leave))
            recorder.activations = Activations(model.root, (batch.args, batch.kwargs))
            stack.enter_context(OperatorCounter(lambda: recorder.running))
            progress("forward", None)
            model.call(batch.args, batch.kwargs)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # SystemExit and the like: failure is data
        recording.error = error
        recording.failure = failure_of(error, "forward")
        recording.failure.call = recorder.failed_in(error)
        if recording.failure.place is None and recording.failure.call is not None:
            recording.failure.place = recording.failure.call.place
    take_inventory(model, recording, before)
    recorder.size_strangers()
